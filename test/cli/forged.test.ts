import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Ended, linesOf, type Sandbox, sandbox } from './dogear.js'

/** Terminal controls and line breaks: C0, DEL, C1, bidirectional marks, line and paragraph separators. */
const STEERING = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]/

/** Sets colours, clears, renames the window, reverses text and forges a line. */
const HOSTILE =
  'x\u001b[31m\u001b[2K\u001b]0;t\u0007\r\b\t\u009b2J\u0085\u007f\u202e\u2066\u200f\u061c\u2028\u2029\nFORGED'

/** The same as a double-quoted YAML string. */
const quoted = (text: string): string =>
  `"${[...text].map((one) => (/[ -!#-[\]-~]/.test(one) ? one : `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`)).join('')}"`

const Q = quoted(HOSTILE)

let place: Sandbox
beforeAll(async () => {
  place = sandbox({
    [`${HOSTILE}.yml`]: 'steps: [{ shell: "true", bad: 1 }]',
    'summary.yml': `name: summary\nsteps: [{ name: a, shell: "true", summary: ${Q} }]`,
    'fails.yml': `name: fails\nsteps: [{ name: a, shell: ${quoted(`printf %s '${HOSTILE}' >&2; exit 3`)} }]`,
    'group.yml': `name: group\nsteps: [{ wave: w, groups: { a: { shell: exit 3, summary: ${Q} } } }]`,
    'retried.yml': `name: retried\nsteps: [{ name: a, shell: ${quoted(`printf 'x\u001b[31m' >&2; exit 1`)}, retry: { attempts: 2, delay: 1ms } }]`,
    'job.yml': `name: job\nsteps: [{ name: a, job: { submit: [printf, '%s', ${Q}], poll: [sh, -c, exit 9] } }]`,
    'captured.yml': `name: captured\nsteps: [{ name: a, run: [printf, '%s', ${Q}], capture: v }, { name: b, shell: exit 1 }]`,
    'items.yml': `name: items\nsteps: [{ wave: w, forEach: [${Q}], key: item, each: { shell: "true" } }]`,
    'list.yml': `name: list\ninput: { v: ${quoted(`[${HOSTILE}`)} }\nsteps: [{ wave: w, forEach: v, each: { shell: "true" } }]`,
    'missing.yml': `name: missing\nsteps: [{ name: a, shell: "true", expect: { files: [${Q}] } }]`,
    'left.yml': `name: left\nsteps: [{ name: a, run: [touch, ${Q}], expect: { files: [${Q}] } }, { name: b, shell: exit 1 }]`,
    'send.yml': `name: send\nsteps: [{ name: a, shell: ${quoted(`printf %s '${HOSTILE}' >&2; exit 1`)}, idempotent: false }]`,
    'secret.yml': 'name: secret\nsecrets: [TOKEN]\nsteps: [{ shell: exit 1 }]',
    'input.yml': `name: input\ninput: { v: 1 }\nsteps: [{ shell: exit 1 }]`,
    'throws.mjs': `throw new Error(${JSON.stringify(HOSTILE)})`,
    'named.mjs': `export const ${'x'} = 1; export default { create() {}, reopen() {}, name: ${JSON.stringify(HOSTILE)} }`,
    'spec.mjs': `export const spec = { name: ${JSON.stringify(HOSTILE)}, create: () => { throw new Error(${JSON.stringify(HOSTILE)}) }, reopen() {}, capabilities: [], [${JSON.stringify('creat' + HOSTILE)}]: 1 }`
  })
  for (const name of ['fails', 'captured', 'left', 'send', 'input', 'job']) {
    await place.dogear(['run', `${name}.yml`, '--id', name])
  }
  await place.shell(`rm -f -- x*FORGED`)
  mkdirSync(join(place.folder, 'damaged/runs/bad/history'), { recursive: true })
  writeFileSync(join(place.folder, 'damaged/runs/bad/history/e000001.jsonl'), `{"${HOSTILE}`)
  writeFileSync(join(place.folder, 'damaged/runs/bad/checkpoint.json'), HOSTILE)
  mkdirSync(join(place.folder, 'pointed'))
  writeFileSync(
    join(place.folder, 'pointed/continue-here.json'),
    JSON.stringify({ [HOSTILE]: HOSTILE, runId: HOSTILE })
  )
  mkdirSync(join(place.folder, HOSTILE), { recursive: true })
}, 120_000)
afterAll(() => place.remove())

/** `passedOn`: what the steps printed, each once. */
const expectPlain = ({ stdout, stderr }: Ended, passedOn: readonly string[] = []): void => {
  for (const all of [stdout, stderr]) {
    const text = passedOn.reduce((rest, one) => rest.replace(one, ''), all)
    expect(STEERING.exec(text)?.[0]).toBe(undefined)
    expect(linesOf(text).filter((line) => line.trimStart().startsWith('FORGED'))).toEqual([])
  }
}

/** The sweep tries every case as JSON too; other runs try every third, by title. */
const isAlsoJson = (title: string): boolean => process.env['DOGEAR_SWEEP'] === '1' || title.length % 3 === 0

describe('hostile text on a terminal', () => {
  const run = (file: string, ...words: readonly string[]): readonly string[] => ['run', file, ...words]
  const commands: ReadonlyArray<readonly [string, readonly string[]]> = [
    ['a missing workflow file', run(`${HOSTILE}no.yml`)],
    ['a folder as a workflow file', run(HOSTILE)],
    ['a workflow file with problems', run(`${HOSTILE}.yml`)],
    ['a run id', run('summary.yml', '--id', HOSTILE)],
    ['a summary', run('summary.yml')],
    ['a summary of a group', run('group.yml')],
    ['a verbose summary', run('summary.yml', '-v')],
    ['error output and a script', run('fails.yml')],
    ['the error of an attempt', run('retried.yml', '-v')],
    ['a job', run('job.yml')],
    ['an item', run('items.yml')],
    ['a list of items', run('list.yml')],
    ['a file that is missing', run('missing.yml')],
    ['the name of an input', run('input.yml', '--input', `${HOSTILE}=1`)],
    ['an input without a name', run('input.yml', '--input', HOSTILE)],
    ['the value of an input', run('input.yml', '--id', 'input', '--resume', '--input', `v=${HOSTILE}`)],
    ['a step to run from', run('input.yml', '--from-step', HOSTILE)],
    ['a run to resume', run('input.yml', '--run', HOSTILE)],
    ['runs with --home', ['runs', '--home', HOSTILE]],
    ['runs with --home of a file', ['runs', '--home', `${HOSTILE}.yml`]],
    ['resume with --home', ['resume', '--home', HOSTILE]],
    ['verify with --home', ['verify', '--home', HOSTILE]],
    ['prune with --home', ['prune', '--keep', '0', '--home', HOSTILE]],
    ['clean with --home', ['clean', '--home', HOSTILE]],
    ...['resume', 'show', 'plan', 'poll', 'pause', 'verify', 'clean'].flatMap((command) => [
      [`${command} of an id`, [command, HOSTILE]] as const,
      [`${command} of too many ids`, [command, 'input', HOSTILE]] as const
    ]),
    ['a plan from a step on', ['plan', 'input', '--from-step', HOSTILE]],
    ['a plan with a wave', ['plan', 'input', '--restart-wave', HOSTILE]],
    ['a plan with an answer', ['plan', 'input', '--confirm', HOSTILE]],
    ['a plan with two answers', ['plan', 'input', '--confirm', `${HOSTILE}=again`, '--confirm', `${HOSTILE}=again`]],
    ['a plan with an answer for an unknown step', ['plan', 'input', '--confirm', `${HOSTILE}=done`]],
    ['a policy', ['plan', 'input', '--changes', HOSTILE]],
    ['the hash of a plan', ['resume', 'input', '--plan', HOSTILE]],
    ['a plan after a hostile error', ['plan', 'fails']],
    ['a plan for a hostile evidence path', ['plan', 'left']],
    ['a resume with a question', ['resume', 'send']],
    ['a shown error', ['show', 'fails', '--history']],
    ['a shown variable', ['show', 'captured', '--history']],
    ['a shown job', ['show', 'job', '--history']],
    ['a check of all runs', ['verify']],
    ['a status', ['runs', '--status', HOSTILE]],
    ['an output format', ['runs', '--output', HOSTILE]],
    ['a status to prune', ['prune', '--keep', '0', '--status', HOSTILE]],
    ['a number to keep', ['prune', '--keep', HOSTILE]],
    ['an age', ['prune', '--older-than', HOSTILE]],
    ['a damaged run', ['runs', '--home', 'damaged']],
    ['a damaged run, shown', ['show', 'bad', '--home', 'damaged']],
    ['a damaged run, verified', ['verify', '--home', 'damaged']],
    ['a pointer', ['resume', '--home', 'pointed']],
    ['a command', [HOSTILE]],
    ['a flag', ['runs', `--${HOSTILE}`]],
    ['a flag similar to another', ['runs', `--jso${HOSTILE}`]],
    ['help for a command', ['help', HOSTILE]],
    ['a missing spec', ['conformance', HOSTILE]],
    ['a spec of another name', ['conformance', 'named.mjs', '--export', HOSTILE]],
    ['an invalid spec', ['conformance', 'named.mjs', '--export', 'default']],
    ['a level', ['conformance', 'spec.mjs', '--level', HOSTILE]],
    ['a case', ['conformance', 'spec.mjs', '--only', HOSTILE]],
    ['a limit', ['conformance', 'spec.mjs', '--limit', HOSTILE]]
  ]

  const printed: Readonly<Record<string, readonly string[]>> = {
    'fails.yml': [HOSTILE],
    'retried.yml': ['x\u001b[31m', 'x\u001b[31m'],
    'job.yml': [HOSTILE]
  }

  test.each(commands)('hostile text is printed without escape sequences: %s', async (title, words) => {
    const passedOn = words.flatMap((word) => printed[word] ?? [])
    const ended = await place.dogear(words)
    expect(`${ended.stdout}${ended.stderr}`).not.toBe('')
    expectPlain(ended, passedOn)
    if (!isAlsoJson(title)) return
    const json = await place.dogear([...words, '--json'])
    expectPlain(json, passedOn)
    if (!words.includes('help')) expect(() => JSON.parse(json.stdout) as unknown).not.toThrow()
  })

  test.each([
    ['a spec that throws', ['conformance', 'throws.mjs']],
    ['a store that throws', ['conformance', 'spec.mjs', '--only', 'CS-CLAIM-01']],
    ['a store that throws, as TAP', ['conformance', 'spec.mjs', '--only', 'CS-CLAIM-01', '--tap']]
  ])('hostile text of several lines is printed without escape sequences: %s', async (_, words) => {
    const json = words.includes('--tap') ? [] : [await place.dogear([...words, '--json'])]
    for (const { stdout, stderr } of [await place.dogear(words), ...json]) {
      expect(`${stdout}${stderr}`).toContain('FORGED')
      for (const text of [stdout, stderr]) expect(STEERING.exec(text)?.[0]).toBe(undefined)
    }
  })

  /** Workflow files with one hostile string each, in place of `$`. */
  const files: ReadonlyArray<readonly [string, string]> = [
    ['a name', 'name: $\nsteps: [{ shell: "true" }]'],
    ['a key', '$: 1\nsteps: [{ shell: "true" }]'],
    ['a key of a step', 'steps: [{ shell: "true", $: 1 }]'],
    ['a key of a group', 'steps: [{ wave: w, groups: { a: { shell: "true", $: 1 } } }]'],
    ['a key of a retry', 'steps: [{ shell: "true", retry: { $: 1 } }]'],
    ['a key of an expectation', 'steps: [{ shell: "true", expect: { $: 1 } }]'],
    ['a duplicate key', 'name: w\nsteps: [{ shell: "true" }]\n$: 1\n$: 2'],
    ['a name of a step', 'steps: [{ name: $, shell: "true" }, { name: $, shell: "true" }]'],
    ['a name of a wave', 'steps: [{ wave: $, groups: {} }]'],
    ['a name of a group', 'steps: [{ wave: w, groups: { $: { shell: "true" } } }]'],
    ['a group that is needed', 'steps: [{ wave: w, groups: { a: { shell: "true", needs: [$] } } }]'],
    ['a variable', 'steps: [{ shell: "true", capture: $ }]'],
    ['a field of the input', 'input: { $: 1 }\nsteps: [{ shell: "true" }]'],
    ['a secret', 'secrets: [$, $]\nsteps: [{ shell: "true" }]'],
    ['a policy', 'onSuccess: $\nsteps: [{ shell: "true" }]'],
    ['a workspace', 'workspace: $\nsteps: [{ shell: "true" }]'],
    ['a duration', 'steps: [{ shell: "true", timeout: $ }]'],
    ['a number', 'steps: [{ shell: "true", retry: { attempts: $ } }]'],
    ['a flag', 'steps: [{ shell: "true", idempotent: $ }]'],
    ['an unknown strategy', 'steps: [{ shell: "true", retry: { strategy: $ } }]'],
    ['a template', 'steps: [{ run: [echo, $] }]'],
    ['a run to reuse from', 'steps: [{ reuse: { fromRun: $, artifact: $ } }]'],
    ['a list of steps', 'steps: $'],
    ['a workflow that is a string', '$'],
    ['a tag', 'steps: [{ shell: !\u009b2J\u202eFORGED "true" }]'],
    ['an alias', 'steps: [{ shell: *\u009b2J\u202eFORGED }]'],
    ['an unquoted string', 'steps: [{ shell: "true" }]\n\u009b2J\u202eFORGED'],
    ['a directive', '%\u009b2J\u202eFORGED\n---\nsteps: [{ shell: "true" }]']
  ]

  test.each(files)('hostile text in a workflow file is printed without escape sequences: %s', async (title, text) => {
    place.write('w.yml', text.replaceAll('$', title === 'a template' ? quoted(`\${${HOSTILE}`) : Q))
    const ended = await place.dogear(['run', 'w.yml'])
    expect(`${ended.stdout}${ended.stderr}`).not.toBe('')
    expectPlain(ended)
    if (!isAlsoJson(title)) return
    const json = await place.dogear(['run', 'w.yml', '--json'])
    expectPlain(json)
    expect(() => JSON.parse(json.stdout) as unknown).not.toThrow()
  })

  test('the folder of a workspace is printed without escape sequences', async () => {
    const cwd = join(place.folder, HOSTILE)
    for (const words of [
      ['run', '../input.yml'],
      ['runs'],
      ['resume'],
      ['plan'],
      ['verify'],
      ['clean'],
      ['pause', 'xxxx']
    ]) {
      const ended = await place.dogear(words, { cwd })
      expect(`${ended.stdout}${ended.stderr}`).not.toBe('')
      expectPlain(ended)
      expectPlain(await place.dogear([...words, '--json'], { cwd }))
    }
  })

  test('the environment is printed without escape sequences', async () => {
    for (const words of [['run', 'secret.yml'], ['runs'], ['show', 'nobody']]) {
      expectPlain(await place.dogear(words, { environment: { DOGEAR_HOME: HOSTILE, TOKEN: 'x\u001b' } }))
    }
  })
})

test('step output passes through unchanged', async () => {
  place.write('prints.yml', `name: prints\nsteps: [{ run: [printf, '%s', ${Q}] }]`)
  expect((await place.dogear(['run', 'prints.yml'])).stdout).toBe(HOSTILE)
})

test('a command to copy works even if a folder’s name has a newline and an escape sequence', async () => {
  const home = `state\n\u001b[31m'\\%\u202e"`
  await place.dogear(['run', 'summary.yml', '--id', 'odd', '--home', home])
  place.write('odd.yml', 'name: odd\nsteps: [{ name: a, shell: test -e fixed-odd }]')
  const failed = await place.dogear(['run', 'odd.yml', '--id', 'odd-1', '--home', home])
  expectPlain(failed)
  const [, command = ''] = /^After fixing this, resume with:\n {2}(dogear .*)$/m.exec(failed.stderr) ?? []
  place.write('fixed-odd', '')
  expect(await place.shell(command)).toMatchObject({ code: 0 })
})
