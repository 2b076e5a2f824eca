import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { type Ended, type Sandbox, sandbox } from './dogear.js'

let place: Sandbox
const within = (text: string): Sandbox => (place = sandbox({ 'w.yml': text }))
afterEach(() => place.remove())

const TOKEN = 'canary"zq7w-\u20ac-9c;end'

const environment = { TOKEN }

/** Forms that reveal the secret: plain, JSON, base64, or a part of it. */
const SIGNS = ['canary', 'zq7w', '9c;e', Buffer.from(TOKEN).toString('base64').slice(0, 8)]

/** The contents and names of all files of the state folder. */
const state = (): string =>
  readdirSync(join(place.folder, '.dogear'), { recursive: true, encoding: 'utf8' })
    .map((name) => join(place.folder, '.dogear', name))
    .map((path) => `${path}${statSync(path).isFile() ? readFileSync(path, 'latin1') : ''}`)
    .join('\n')

const expectNone = (text: string): void => {
  for (const sign of SIGNS) expect(text).not.toContain(sign)
}

const dogear = (...words: readonly string[]): Promise<Ended> => place.dogear(words, { environment })

/** Prints the secret in two pieces, cut in the middle of a character. */
const inTwo = `printf %s "$TOKEN" | head -c 13; sleep 0.2; printf '%s\\n' "$TOKEN" | tail -c +14`

const leaky = `
name: leaky
secrets: [TOKEN]
input: { url: none }
steps:
  - { name: prints, shell: '${inTwo.replaceAll("'", "''")}; echo "it is $TOKEN" >&2' }
  - { name: captures, shell: 'echo "login with $TOKEN"', capture: login }
  - { name: knows, shell: 'test ${'${#TOKEN}'} -gt 20 && echo "$login" >> log; echo "$url" >> log' }
  - wave: jobs
    groups:
      train:
        job: { submit: 'echo "job of $TOKEN"', poll: 'echo "asked for $TOKEN" >&2; echo "$DOGEAR_JOB" >> log', collect: 'echo "$TOKEN"' }
        capture: model
      json: { shell: 'node -p "JSON.stringify({ token: process.env.TOKEN })"', capture: json }
  - { name: checked, shell: 'true', before: ['echo "no: $TOKEN" >&2; test -e fixed'] }
  - { name: fails, shell: 'echo "$json" >> log; echo "failed with $TOKEN" >&2; exit 1' }
`

describe('a declared secret', () => {
  test('a secret reaches the steps, but no state file and no terminal', async () => {
    within(leaky)
    const ended = [await dogear('run', 'w.yml', '--id', 'r', '--input', `url=https://${TOKEN}@host`)]
    ended.push(await dogear('poll', 'r'), await dogear('resume', 'r', '-v'))
    expect(
      ended.map(({ code }) => code),
      ended.map(({ stderr }) => stderr).join('\n')
    ).toEqual([75, 0, 1])
    expect(ended[2]?.stderr).toContain('no: ***')
    expect(ended[0]?.stderr).toContain('warning: --input "url" contains the value of a secret: steps see *** instead\n')
    place.write('fixed', '')
    ended.push(await dogear('resume', 'r', '--json'))
    for (const words of [
      ['show', 'r', '--history'],
      ['show', 'r', '--history', '--json'],
      ['plan', 'r', '--json'],
      ['runs']
    ])
      ended.push(await dogear(...words))
    for (const { stdout, stderr } of ended) expectNone(stdout + stderr)
    expectNone(state())
    expect(ended[0]?.stdout).toContain('***\n')
    expect(ended[0]?.stderr).toContain('it is ***\n')
    expect(ended[3]?.code).toBe(1)
    expect(ended[3]?.stderr).toContain('failed with ***')
    expect(place.read('log')).toBe('login with ***\nhttps://***@host\njob of ***\n{"token":"***"}\n')
    expect(place.exists('.dogear/runs/r/checkpoint.json')).toBe(true)
    expect(state()).toContain('"TOKEN"')
  })

  test('all unset secrets are reported before anything runs, with exit code 4', async () => {
    within('name: w\nsecrets: [TOKEN, OTHER, SHORT]\nsteps:\n  - shell: echo ran >> log\n')
    const { code, stderr } = await place.dogear(['run', 'w.yml', '--id', 'r'], { environment: { TOKEN, SHORT: 'abc' } })
    expect(code).toBe(4)
    expect(stderr).toBe(
      'dogear: Unusable secrets in the environment variables of this process:\n' +
        '  OTHER is not set\n' +
        '  SHORT is too short to redact safely (minimum 4 characters)\n' +
        'Nothing was changed\n' +
        'After fixing this:\n' +
        '  dogear run w.yml --id r\n'
    )
    expect(place.exists('log') || place.exists('.dogear')).toBe(false)
  })

  test('a resume reads the secret again, and prints the next command if the secret is missing', async () => {
    within('name: w\nsecrets: [TOKEN]\nsteps:\n  - shell: test "$TOKEN" = second-value\n')
    expect((await dogear('run', 'w.yml', '--id', 'r')).code).toBe(1)
    const before = state()
    const refused = await place.dogear(['resume', 'r', '--json'])
    expect(refused.code).toBe(4)
    expect(refused.stderr).toContain('After fixing this:\n  dogear resume r --json\n')
    expect(JSON.parse(refused.stdout)).toMatchObject({ error: { code: 'SecretsMissing' } })
    expect(state()).toBe(before)
    expect((await place.dogear(['resume', 'r'], { environment: { TOKEN: 'second-value' } })).code).toBe(0)
  })

  test('the command after a missing secret repeats the flags of the resume', async () => {
    within('name: w\nsecrets: [TOKEN]\nsteps:\n  - shell: echo one >> log\n  - shell: echo two >> log\n')
    expect((await dogear('run', 'w.yml', '--id', 'r')).code).toBe(0)
    const refused = await place.dogear(['resume', 'r', '--from-step', 'step-2', '--yes'])
    expect(refused.stderr).toContain('After fixing this:\n  dogear resume r --from-step step-2 --yes\n')
    const through = await place.dogear(['run', 'w.yml', '--from-step', 'step-2'])
    expect(through.stderr).toContain('After fixing this:\n  dogear run w.yml --from-step step-2\n')
  })

  test('a secret cannot be an input or an argument, and its value in an input does not change which run is resumed', async () => {
    within('name: w\nsecrets: [TOKEN]\nsteps:\n  - shell: test -e fixed\n')
    const given = await dogear('run', 'w.yml', '--input', `TOKEN=${TOKEN}`)
    expect(given.code).toBe(2)
    expect(given.stderr).toContain('--input: "TOKEN" is a secret, and an input is stored; set it in the environment')
    const again = ['run', 'w.yml', '--id', 'r', '--resume', '--input', `url=${TOKEN}`]
    expect((await dogear(...again)).code).toBe(1)
    place.write('fixed', '')
    const resumed = await dogear(...again)
    expect([resumed.code, resumed.stderr]).toEqual([0, expect.stringContaining('Resuming run r')])
    place.write('w.yml', 'name: w\nsecrets: [TOKEN]\nsteps:\n  - run: [curl, "${TOKEN}"]\n')
    const argument = await dogear('run', 'w.yml')
    expect(argument.code).toBe(2)
    expect(argument.stderr).toContain(
      'w.yml:4:17: "TOKEN" is a secret, and other users can see the arguments of a command'
    )
    expectNone(given.stderr + resumed.stderr + argument.stderr)
  })

  test.each([
    ['secrets: TOKEN', '"secrets" must be a list, not the string "TOKEN"'],
    ['secrets: [4]', '"secrets" must be a list of names of environment variables, not the number 4'],
    ['secrets: [PATH]', '"PATH" cannot be a secret: it would change how commands are found or started'],
    ['secrets: [A, A]', '"A" is listed twice'],
    ['secrets: [A]\ninput: { A: 1 }', '"A" is a secret and a field of "input"'],
    ['secrets: [A]\nsteps: [{ shell: echo, capture: A }]', 'capture of "step-1" must be a name other than "A"']
  ])('an invalid secret is refused: %j', async (text, message) => {
    within(`name: w\n${text}\n${text.includes('steps') ? '' : 'steps: [{ shell: echo }]\n'}`)
    const { code, stderr } = await dogear('run', 'w.yml')
    expect([code, stderr]).toEqual([2, expect.stringContaining(message)])
  })
})
