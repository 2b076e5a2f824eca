import * as E from 'fp-ts/lib/Either.js'
import * as TE from 'fp-ts/lib/TaskEither.js'
import { afterEach, describe, expect, test } from 'vitest'
import type { StepFailure } from '../../src/domain/data/StepFailure.js'
import { CAPTURE_BYTES, commandStep } from '../../src/cli/steps/commandStep.js'
import { type Sandbox, sandbox } from './dogear.js'

let place: Sandbox
afterEach(() => place.remove())

describe('a script', () => {
  const script = (...lines: readonly string[]): string =>
    ['steps:', '  - shell: |', ...lines.map((line) => `      ${line}`)].join('\n')

  test('a script stops at its first failing command, and the step fails', async () => {
    place = sandbox({ 'w.yml': script('echo one >> log', 'false', 'echo two >> log') })
    const { code, stderr } = await place.dogear(['run', 'w.yml'])
    expect(stderr).toContain('error: exit code 1\n')
    expect(code).toBe(1)
    expect(place.read('log')).toBe('one\n')
  })

  test.each([
    ['set +e', 'false', 'echo two >> log'],
    ['false || true', 'if false; then exit 1; fi', '! true', 'echo two >> log']
  ])('a script continues past a tolerated failure: %s', async (...lines) => {
    place = sandbox({ 'w.yml': script(...lines) })
    expect((await place.dogear(['run', 'w.yml'])).code).toBe(0)
    expect(place.read('log')).toBe('two\n')
  })
})

describe('a captured output', () => {
  test.skipIf(process.platform !== 'linux')(
    'of variables that exceed the limit of the system, the one with the most bytes is named',
    async () => {
      const argv = (script: string) => `[sh, -c, ${JSON.stringify(script)}]`
      place = sandbox({
        'w.yml': `steps:
  - { run: ${argv("head -c 100000 /dev/zero | tr '\\0' x")}, capture: ascii }
  - { run: ${argv("head -c 60000 /dev/zero | sed 's/./é/g'")}, capture: accents }
  - { run: [echo, '\${accents}\${ascii}'] }`
      })
      const { stderr } = await place.dogear(['run', 'w.yml'])
      expect(stderr).toContain('the biggest: "accents" with 120000 bytes')
    }
  )

  const capturing = (command: string): string =>
    `steps:\n  - { name: big, shell: ${JSON.stringify(command)}, capture: name }\n  - { name: uses, shell: 'echo "$name" > used' }`
  const letters = (count: number): string => `head -c ${count} /dev/zero | tr '\\0' x`
  const MOST = 131_072 - 'name'.length - 2

  test.skipIf(process.platform !== 'linux')(
    'a captured output may be as long as one environment variable can be',
    async () => {
      place = sandbox({ 'w.yml': capturing(letters(MOST)) })
      const { code, stderr } = await place.dogear(['run', 'w.yml'])
      expect(code, stderr).toBe(0)
      expect(place.read('used')).toBe(`${'x'.repeat(MOST)}\n`)
    }
  )

  test.skipIf(process.platform !== 'linux').each([MOST + 1, 2_000_000])(
    'a step that captures %i bytes fails, and a fixed one resumes',
    async (bytes) => {
      place = sandbox({ 'w.yml': capturing(letters(bytes)) })
      const failed = await place.dogear(['run', 'w.yml'])
      expect(failed.stderr).toContain(
        `its output cannot become the variable "name": it has ${bytes} bytes (limit: ${MOST}); use a file instead\n`
      )
      expect(failed.code).toBe(1)
      expect(JSON.parse((await place.dogear(['runs', '--json'])).stdout)).toMatchObject([{ steps_completed: 0 }])
      place.write('w.yml', capturing('echo less'))
      expect((await place.dogear(['resume'])).code).toBe(0)
      expect(place.read('used')).toBe('less\n')
    }
  )

  test.each([
    ['a lone byte', '\\377'],
    ['a character that is not finished', 'abc\\360\\237\\230']
  ])('a captured output that is not UTF-8 fails the step: %s', async (_, bytes) => {
    place = sandbox({ 'w.yml': capturing(`printf '${bytes}'`) })
    const { code, stderr } = await place.dogear(['run', 'w.yml'])
    expect(stderr).toContain(`its output cannot become the variable "name": it is not UTF-8; use a file instead\n`)
    expect(code).toBe(1)
  })

  test('a captured output may contain multi-byte characters and the replacement character', async () => {
    place = sandbox({ 'w.yml': capturing("printf '\\360\\237'; sleep 0.1; printf '\\230\\200\\357\\277\\275'") })
    expect((await place.dogear(['run', 'w.yml'])).code).toBe(0)
    expect(place.read('used')).toBe('😀\ufffd\n')
  })

  test('a captured output is truncated with a warning on other systems than Linux', async () => {
    const warnings: string[] = []
    const stdout = 'x'.repeat(CAPTURE_BYTES)
    const ended = await onPlatform('darwin', () => captured({ stdout, truncatedBytes: 5 }, warnings))
    expect(ended).toEqual(E.right(stdout))
    expect(warnings).toEqual(['"v" holds only the first 1048576 of 1048581 bytes of output; use a file for more'])
  })
})

describe('an input from the command line', () => {
  const file = 'input: { channel: stable }\nsteps: [{ shell: "echo $channel $tag" }]'
  const given = async (word: string, text = file): Promise<string> => {
    place = sandbox({ 'w.yml': text })
    const { code, stderr } = await place.dogear(['run', 'w.yml', '--input', word])
    expect(code, stderr).toBe(0)
    return stderr
  }

  test('an input with an unknown name is refused before anything is written if the workflow file declares inputs', async () => {
    place = sandbox({ 'w.yml': file })
    for (const [name, hint] of [
      ['chanel', '. Did you mean "channel"?'],
      ['other', '. It has "channel"; if a step reads "other", add it to "input" of the file']
    ] as const) {
      const { code, stderr } = await place.dogear(['run', 'w.yml', '--input', `${name}=beta`])
      expect({ code, stderr }).toMatchObject({
        code: 2,
        stderr: expect.stringContaining(`dogear: --input "${name}": w.yml has no such input${hint}\n`) as string
      })
    }
    expect(place.exists('.dogear')).toBe(false)
  })

  test.each([
    ['the file declares it', 'channel=beta', file],
    ['a step names it', 'tag=beta', file],
    ['a check names it', 'tag=beta', 'input: { a: 1 }\nsteps: [{ shell: echo, before: [test "$tag" = beta] }]'],
    [
      'a program in a script names it',
      'tag=beta',
      'input: { a: 1 }\nsteps: [{ shell: test "$(printenv tag)" = beta }]'
    ],
    ['the file has no input', 'chanel=beta', 'steps: [{ shell: echo }]']
  ])('an input raises no warning if %s', async (_, word, text) => {
    expect(await given(word, text)).not.toContain('warning')
  })
})

describe('a workflow without a name', () => {
  test('a workflow without a name takes the name of its file', async () => {
    place = sandbox({ 'my-flow.yml': 'steps: [{ shell: "true" }]' })
    await place.dogear(['run', 'my-flow.yml'])
    expect((await place.dogear(['runs'])).stdout).toContain('my-flow')
  })

  test.each(['my flow.yml', '_private.yml', 'größe.yml'])(
    'a workflow without a name is refused if the file name is not a valid one: %s',
    async (name) => {
      place = sandbox({ [name]: 'steps: [{ shell: "true" }]' })
      const { code, stderr } = await place.dogear(['run', name])
      expect(stderr).toContain(`${name}:1:1: the file name is no valid name for the workflow; set "name"`)
      expect(code).toBe(2)
      place.write(name, 'name: fine\nsteps: [{ shell: "true" }]')
      expect((await place.dogear(['run', name])).code).toBe(0)
    }
  )
})

describe('wrong use', () => {
  test.each([
    ['run --json', 'missing required argument "file"'],
    ['run w.yml --json --bogus', 'unknown option "--bogus"'],
    ['bogus --json', 'unknown command "bogus"'],
    ['reusme --json', 'unknown command "reusme". Did you mean "resume"?'],
    ['runs --output json --bogus', 'unknown option "--bogus"'],
    ['runs --output=json too many', 'too many arguments for']
  ])('wrong use with --json prints a document: dogear %s', async (words, message) => {
    place = sandbox()
    const { code, stdout, stderr } = await place.dogear(words.split(' '))
    expect(code).toBe(2)
    expect(JSON.parse(stdout)).toEqual({
      error: { code: 'Usage', message: expect.stringContaining(message) as unknown }
    })
    expect(stderr).toContain(`dogear: ${message}`)
  })

  test('wrong use without --json prints no document, and help is no error', async () => {
    place = sandbox()
    expect(await place.dogear(['run', '--', '--json', 'x'])).toMatchObject({ code: 2, stdout: '' })
    const help = await place.dogear(['run', '--json', '--help'])
    expect(help).toMatchObject({ code: 0, stderr: '' })
    expect(help.stdout).toMatch(/^Usage/)
  })

  test.each(['seal --help', 'cleanse -h', 'sweep x --help', '--home x gather --help'])(
    'the help of an unknown command is wrong use: dogear %s',
    async (words) => {
      place = sandbox()
      const { code, stdout, stderr } = await place.dogear(words.split(' '))
      expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
      expect(stderr).toMatch(/^dogear: unknown command "(seal|cleanse|sweep|gather)"(\. Did you mean "\w+"\?)?\n/)
    }
  )
})

/** Returns the captured output of a command. */
const captured = (
  { stdout, truncatedBytes }: { readonly stdout: string; readonly truncatedBytes: number },
  warnings: string[]
): Promise<E.Either<StepFailure, string | undefined>> => {
  const at = { line: 1, column: 1 }
  const step = commandStep(
    {
      subprocess: {
        run: () => TE.right({ exit: { _tag: 'Code', code: 0 }, stdout, truncatedBytes, stderrTail: '' })
      },
      inherited: {},
      folder: '.',
      home: '.dogear',
      onOutput: () => undefined,
      onWarning: (_, message) => warnings.push(message)
    },
    {
      ...{ _tag: 'Task', at, name: 'a', action: { _tag: 'Shell', script: 'x' }, summary: 'a' },
      ...{ capture: 'v', idempotent: true }
    },
    { _tag: 'Shell', script: 'x' }
  )
  return step({
    ...{
      runId: 'r',
      step: 'a',
      attempt: 1,
      idempotencyKey: 'k',
      input: {},
      outputs: {},
      variables: new Map(),
      secrets: {}
    },
    signal: new AbortController().signal
  } as unknown as Parameters<typeof step>[0])()
}

const onPlatform = async <A>(platform: NodeJS.Platform, body: () => Promise<A>): Promise<A> => {
  const own = process.platform
  Object.defineProperty(process, 'platform', { value: platform })
  try {
    return await body()
  } finally {
    Object.defineProperty(process, 'platform', { value: own })
  }
}
