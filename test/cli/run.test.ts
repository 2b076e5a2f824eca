import { afterEach, describe, expect, test } from 'vitest'
import { linesOf, runIdOf, type Sandbox, sandbox, timeless } from './dogear.js'

let place: Sandbox
const within = (files: Readonly<Record<string, string>>): Sandbox => (place = sandbox(files))
afterEach(() => place.remove())

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/

describe('a run', () => {
  test('results go to standard output, progress to standard error', async () => {
    within({ 'w.yml': 'name: w\nsteps: [{ name: hello, shell: "echo out; echo err >&2" }]' })
    const { code, stdout, stderr } = await place.process(['run', 'w.yml', '--id', 'one'])
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'out\n' })
    expect(linesOf(timeless(stderr))).toEqual([
      'Run one started',
      'Executing step 1/1: hello',
      'err',
      '✓ hello (T)',
      'Run completed in T: 1 step ran'
    ])
  })

  test('a run without an id gets a UUID', async () => {
    within({ 'w.yml': 'steps: [{ shell: "true" }]' })
    expect(runIdOf(await place.process(['run', 'w.yml']))).toMatch(uuid)
  })

  test('a captured output and the input reach later steps through environment variables, strings unchanged and other values as JSON', async () => {
    within({
      'w.yml': `
input: { greeting: hi, list: [1, { a: null }], yes: true, number: 7 }
steps:
  - { shell: 'printf "\\n  two words \\n\\n"', capture: words }
  - { shell: 'echo "[$words] [$greeting] [$list] [$yes] [$number]"' }
`
    })
    const { stdout } = await place.process(['run', 'w.yml', '--input', 'greeting=a=b'])
    expect(linesOf(stdout).at(-1)).toBe('[two words] [a=b] [[1,{"a":null}]] [true] [7]')
  })

  test('a step gets its run, step and attempt in its environment', async () => {
    within({
      'w.yml':
        'steps: [{ wave: w, groups: { g: { shell: \'echo "$DOGEAR_RUN_ID $DOGEAR_STEP $DOGEAR_ATTEMPT $DOGEAR_HOME $DOGEAR_IDEMPOTENCY_KEY"\' } } }]'
    })
    const { stdout } = await place.process(['run', 'w.yml', '--id', 'r'])
    expect(stdout).toMatch(new RegExp(`^g \\| r w/g 1 ${place.folder}/.dogear [0-9a-f]{32}\n$`))
  })

  test('git ignores the state folder', async () => {
    within({ 'w.yml': 'steps: [{ shell: "true" }]' })
    await place.process(['run', 'w.yml'])
    expect(place.read('.dogear/.gitignore')).toBe('*\n')
  })

  test('a failure names the step, its number and command, and a resume command that works when it is copied', async () => {
    within({ 'my flow.yml': 'name: w\nsteps: [{ name: build, shell: "echo \'no space left\' >&2; test -e fixed" }]' })
    const home = `${place.folder}/my state`
    const failed = await place.process(['run', 'my flow.yml', '--id', 'one', '--home', 'my state'])
    expect(failed.code).toBe(1)
    expect(linesOf(timeless(failed.stderr)).slice(-7)).toEqual([
      '✗ Step 1/1 failed: build',
      "  command: echo 'no space left' >&2; test -e fixed",
      '  error: exit code 1: no space left',
      `  folder: ${place.folder}`,
      'Run failed after T: 1 step failed',
      'After fixing this, resume with:',
      `  dogear resume one --home '${home}'`
    ])
    place.write('fixed', '')
    const copied = linesOf(failed.stderr).at(-1)?.trim() ?? ''
    expect((await place.shell(copied, { cwd: '/' })).code).toBe(0)
  })

  test('a command that cannot be started fails with that reason', async () => {
    within({ 'w.yml': 'steps: [{ run: [no-such-command] }]' })
    const { code, stderr } = await place.process(['run', 'w.yml'])
    expect(code).toBe(1)
    expect(stderr).toContain('  error: could not be started: not found: no-such-command\n')
  })

  test('a step that could not be started needs no confirmation, even if it is not idempotent', async () => {
    within({ 'w.yml': 'steps: [{ run: [./publish.sh], idempotent: false }]' })
    expect((await place.process(['run', 'w.yml'])).code).toBe(1)
    await place.shell("printf '#!/bin/sh\\necho published' > publish.sh; chmod 755 publish.sh")
    expect(await place.process(['resume'])).toMatchObject({ code: 0, stdout: 'published\n' })
  })

  test.each([
    ['', false],
    [', retry: { attempts: 1 }', true]
  ])('the failure of a step with the options %j is reported with retryable: %s', async (retry, retryable) => {
    within({ 'w.yml': `steps: [{ shell: exit 1${retry} }]` })
    await place.process(['run', 'w.yml', '--id', 'r'])
    expect(JSON.parse((await place.process(['show', 'r', '--json'])).stdout)).toMatchObject({ retryable })
  })

  test('dogear makes only the configured retries, and reports each of them', async () => {
    const script = 'n=$(cat n || echo 0); n=$((n+1)); echo $n > n; echo "try $n" >&2; test $n -ge 3'
    within({
      'w.yml': `steps:\n  - { name: flaky, shell: '${script}', retry: { strategy: constant, attempts: 5, delay: 50ms, jitter: 0 } }\n  - shell: exit 3`
    })
    const { code, stderr } = await place.process(['run', 'w.yml'])
    expect(code).toBe(1)
    const lines = linesOf(timeless(stderr)).filter((line) => /attempt|Retrying/.test(line))
    expect(lines).toEqual([
      'attempt 1/5 failed: exit code 1: try 1',
      'Retrying in T',
      'attempt 2/5 failed: exit code 1: try 2',
      'Retrying in T',
      '✓ flaky (T, succeeded on attempt 3)'
    ])
    expect(stderr.match(/exit code 3/g)).toHaveLength(1)
  })

  test('an attempt that takes longer than its timeout is ended, with every process that it started', async () => {
    within({ 'w.yml': 'steps: [{ shell: "sleep 60 & echo $! > pid; wait", timeout: 500ms }]' })
    const { code, stderr } = await place.process(['run', 'w.yml'])
    expect(code).toBe(1)
    expect(stderr).toContain('timed out after')
  })

  test('a captured output that no environment variable can hold fails its step with the reason', async () => {
    within({ 'nul.yml': 'steps: [{ shell: "printf \'a\\\\0b\'", capture: v }]' })
    expect((await place.process(['run', 'nul.yml'])).stderr).toContain(
      `its output cannot become the variable "v": it contains a NUL character`
    )
  })

  test('a wave finishes its other groups after a failure, and names the failed group', async () => {
    within({
      'w.yml': `
steps:
  - wave: checks
    groups:
      bad: { shell: 'echo broken >&2; exit 7' }
      good: { shell: 'sleep 0.3; echo good > good' }
  - shell: echo never > never
`
    })
    const { code, stderr } = await place.process(['run', 'w.yml'])
    expect(code).toBe(1)
    expect(linesOf(stderr)).toEqual(
      expect.arrayContaining(['Executing step 1/2: checks/bad', 'bad | broken', '✗ Step 1/2 failed: checks/bad'])
    )
    expect(stderr.match(/exit code 7/g)).toHaveLength(1)
    expect([place.exists('good'), place.exists('never')]).toEqual([true, false])
  })

  const failing = (sibling: string): string =>
    `steps: [{ wave: w, groups: { bad: { shell: exit 7 }, good: { shell: '${sibling}' } } }]`

  test('the failure of a group is printed once if the run ends soon after it', async () => {
    within({ 'w.yml': failing('sleep 0.1') })
    const { stderr } = await place.process(['run', 'w.yml'])
    expect(stderr.match(/failed: w\/bad/g)).toHaveLength(1)
  })

  test('the failure of a group is printed while another group runs for long', async () => {
    within({ 'w.yml': failing('sleep 60') })
    const running = place.start(['run', 'w.yml'])
    await running.said('✗ Step 1/1 failed: w/bad (others still running)')
    process.kill(running.pid, 'SIGINT')
    expect((await running.ended).code).toBe(130)
  })

  test('the failure of a group is printed even if the run is interrupted right after it', async () => {
    within({
      'w.yml': failing('until grep -q UnitFailed .dogear/runs/r/history/*; do :; done; kill -INT $PPID; sleep 60')
    })
    const { code, stderr } = await place.process(['run', 'w.yml', '--id', 'r'])
    expect([code, stderr.match(/failed: w\/bad/g)]).toEqual([130, ['failed: w/bad']])
  })

  test('-v adds lines to the output and changes none', async () => {
    within({ 'w.yml': 'steps: [{ shell: "true" }, { shell: "true" }]' })
    const terse = linesOf(timeless((await place.process(['run', 'w.yml', '--id', 'a'])).stderr))
    const verbose = linesOf(timeless((await place.process(['run', 'w.yml', '--id', 'a', '-v', '--home', 'b'])).stderr))
    expect(verbose.length).toBeGreaterThan(terse.length)
    expect(verbose.filter((line) => terse.includes(line))).toEqual(terse)
  })
})

describe('an earlier run', () => {
  const failing = 'name: w\ninput: { v: 1 }\nsteps: [{ shell: "echo one" }, { shell: "test -e fixed" }]'

  test('in a pipe, dogear starts a new run and prints the command that resumes the earlier one', async () => {
    within({ 'w.yml': failing })
    const first = await place.process(['run', 'w.yml'])
    const second = await place.process(['run', 'w.yml'], { input: 'y\n' })
    expect(runIdOf(second)).not.toBe(runIdOf(first))
    expect(second.stderr).toMatch(/^An earlier run of w is unfinished \(failed, 1\/2 steps completed, started .* UTC\)/)
    expect(linesOf(second.stderr)[1]).toBe(`  dogear resume ${runIdOf(first)}`)
  })

  test.each(['--resume', '--yes'])('%s resumes an earlier run without a prompt', async (flag) => {
    within({ 'w.yml': failing })
    const id = runIdOf(await place.process(['run', 'w.yml']))
    place.write('fixed', '')
    const { code, stdout, stderr } = await place.process(['run', 'w.yml', flag])
    expect({ code, stdout }).toEqual({ code: 0, stdout: '' })
    expect(linesOf(stderr)[0]).toBe(`Resuming run ${id}`)
  })

  test('--resume starts a run if there is none', async () => {
    within({ 'w.yml': failing })
    expect((await place.process(['run', 'w.yml', '--resume', '--id', 'new'])).stderr).toContain('Run new started')
  })

  test('an earlier run with another input is not resumed', async () => {
    within({ 'w.yml': failing })
    await place.process(['run', 'w.yml', '--id', 'first', '--input', 'v=2'])
    const { code, stderr } = await place.process(['run', 'w.yml', '--resume', '--input', 'v=3'])
    expect(code).toBe(4)
    expect(linesOf(stderr).slice(0, 2)).toEqual([
      'dogear: Run first has another input',
      '  v: given "3", started with "2"'
    ])
  })

  test('an id in use is refused, and --resume resumes the run with that id', async () => {
    within({ 'w.yml': failing })
    await place.process(['run', 'w.yml', '--id', 'mine'])
    const { code, stderr } = await place.process(['run', 'w.yml', '--id', 'mine'])
    expect(code).toBe(4)
    expect(stderr).toContain('Run mine already exists')
    expect(stderr).toContain('  dogear resume mine\n')
    place.write('fixed', '')
    expect((await place.process(['run', 'w.yml', '--id', 'mine', '--resume'])).code).toBe(0)
    const finished = await place.process(['run', 'w.yml', '--id', 'mine'])
    expect(finished.code).toBe(4)
    expect((await place.process(['run', 'w.yml', '--id', 'mine', '--resume'])).stderr).toBe(
      'Run mine: nothing left to do\n'
    )
  })

  test.skipIf(process.platform !== 'linux')(
    'a run without a saved checkpoint has not started: the printed command starts it again and does not resume it',
    async () => {
      within({ 'f.yml': failing })
      // No user can create a folder there.
      const home = ['--home', '/proc/dogear']
      const { code, stderr } = await place.process(['run', 'f.yml', '--id', 'f-2', '--input', 'v=a b', ...home])
      expect(code).toBe(5)
      expect(stderr).not.toContain('dogear resume')
      expect(linesOf(stderr).slice(-2)).toEqual([
        'After fixing this:',
        "  dogear run f.yml --id f-2 --input 'v=a b' --home /proc/dogear"
      ])
    }
  )

  test('two runs of one workflow keep their records apart', async () => {
    within({ 'w.yml': failing })
    await place.process(['run', 'w.yml', '--id', 'a'])
    const before = await place.process(['show', 'a', '--json', '--history'])
    await place.process(['run', 'w.yml', '--id', 'b', '--input', 'v=2'])
    expect(await place.process(['show', 'a', '--json', '--history'])).toEqual(before)
  })
})

describe('wrong use', () => {
  test.each([
    [['run', 'w.yml', '--input', 'x'], '--input: expected NAME=VALUE, got "x"'],
    [['run', 'w.yml', '--input', 'PATH=x'], '"PATH" cannot be a variable: it would change how commands are found'],
    [['run', 'w.yml', '--input', 'a=1', '--input', 'a=2'], '--input: "a" is set twice; pass it once'],
    [['run', 'w.yml', '--id', 'Not/An/Id'], '"Not/An/Id" is not a valid run id'],
    [['run', 'nowhere.yml'], 'Cannot read workflow nowhere.yml: the file does not exist'],
    [['run', '.'], 'Cannot read workflow .: it is a folder'],
    [['run', 'w.yml', '--home', ''], '--home: the value is empty; pass a folder'],
    [['run', 'w.yml', '--run', 'x'], '--run has no effect alone; add --from-step or --restart-wave'],
    [
      ['run', 'w.yml', '--from-step', 'a', '--id', 'x'],
      '--id cannot be combined with --from-step; name the earlier run with --run'
    ],
    [['run', 'w.yml', '--from-step', 'a', '--restart-wave', 'b'], '--from-step and --restart-wave cannot be combined'],
    [['rnu', 'w.yml'], 'Did you mean "run"?'],
    [['run', 'w.yml', '--jsn'], 'Did you mean "--json"?'],
    [['run'], 'missing required argument "file"'],
    [['run', 'w.yml', 'x'], 'too many arguments'],
    [['runs', '--status', 'fialed'], 'Did you mean "failed"?'],
    [['runs', '--output', 'yaml'], '--output: unknown form "yaml"; use json or table'],
    [['resume', 'x', '--force', '--from-step', 'a'], '--force and --from-step cannot be combined'],
    [
      ['resume', 'x', '--confirm', 'a'],
      '--confirm: expected STEP=again, STEP=keep, STEP=done or STEP=done:OUTPUT, got "a"'
    ],
    [['resume', 'x', '--changes', 'all'], '--changes: unknown policy "all"; use strict, completed or ignore']
  ])('the command line %j is a usage error and exits with 2', async (words, message) => {
    within({ 'w.yml': 'steps: [{ shell: "test -e fixed" }]' })
    if (words[0] === 'resume' || words.includes('--restart-wave')) await place.process(['run', 'w.yml', '--id', 'x'])
    const { code, stdout, stderr } = await place.process(words)
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toContain(message)
    expect(stderr).toMatch(/^dogear: /)
  })

  test('all mistakes of a workflow file are listed, and nothing runs', async () => {
    within({ 'w.yml': 'steps:\n  - shell: touch ran\n  - shel: x\n  - run: [a, "${b}"]\n    timeout: soon\n' })
    const { code, stderr } = await place.process(['run', 'w.yml'])
    expect(code).toBe(2)
    expect(linesOf(stderr)).toEqual([
      'dogear: w.yml has 2 problems:',
      'w.yml:3:5: a step has no key "shel". Did you mean "shell"?',
      'w.yml:5:14: "timeout" must be false, or a duration like 250ms, 5s, 2m or 1h, not the string "soon"'
    ])
    expect([place.exists('ran'), place.exists('.dogear')]).toEqual([false, false])
  })

  test('an unknown variable is found before anything runs', async () => {
    within({ 'w.yml': 'steps:\n  - shell: touch ran\n  - run: [echo, "${nobody}"]\n' })
    const { code, stderr } = await place.process(['run', 'w.yml'])
    expect(code).toBe(2)
    expect(stderr).toContain('w.yml:3:17: unknown variable "nobody"')
    expect(place.exists('ran')).toBe(false)
    expect((await place.process(['run', 'w.yml', '--input', 'nobody=me'])).stdout).toBe('me\n')
  })
})

describe('--json', () => {
  test('standard output is one document, and what steps print goes to standard error', async () => {
    within({ 'w.yml': 'name: w\nsteps: [{ shell: "echo noise; echo 1", capture: v }, { shell: "exit 2" }]' })
    const { code, stdout, stderr } = await place.process(['run', 'w.yml', '--json', '--id', 'r'])
    expect(code).toBe(1)
    expect(stderr).toContain('noise')
    expect(JSON.parse(stdout)).toMatchObject({
      run_id: 'r',
      run_name: 'w',
      status: 'failed',
      steps_completed: 1,
      steps_total: 2,
      variables: { v: 'noise\n1' },
      failures: [{ step_index: 1, unit: 'step-2', attempts: 1, error: { name: 'ExitError', code: '2' } }],
      resume_command: 'dogear resume r'
    })
  })

  test.each([
    [['run', 'bad.yml', '--json'], 2, { code: 'InvalidWorkflow', problems: [{ line: 1, column: 8 }] }],
    [['resume', 'nobody', '--json'], 3, { code: 'NoSuchRun' }],
    [['show', 'nobody', '--json'], 3, { code: 'NoSuchRun' }],
    [['plan', '--json'], 3, { code: 'NothingToResume' }]
  ])('with --json the command line %j prints its error as a document, too', async (words, code, error) => {
    within({ 'bad.yml': 'steps: 1' })
    const ended = await place.process(words)
    expect(ended.code).toBe(code)
    expect(JSON.parse(ended.stdout)).toMatchObject({ error })
  })
})

describe('output', () => {
  test('a closed pipe on standard output stops neither the run nor its record', async () => {
    within({ 'w.yml': 'steps: [{ shell: "yes | head -n 100000" }, { shell: "echo done > done; echo more" }]' })
    const { stdout, stderr } = await place.shell('dogear run w.yml --id r | head -n 1; dogear show r --json')
    expect(stdout.split('\n')[0]).toBe('y')
    expect(JSON.parse(stdout.slice(2))).toMatchObject({ status: 'completed' })
    expect(stderr).not.toMatch(/EPIPE|at .*\.js/)
    expect(place.exists('done')).toBe(true)
  })

  test('a closed pipe on standard error stops neither the run nor its record', async () => {
    within({ 'w.yml': 'steps: [{ shell: "echo out" }]' })
    expect((await place.shell('dogear run w.yml -v 2>&1 >/dev/null | true; dogear runs --json')).stdout).toContain(
      '"completed"'
    )
  })

  test.each([
    [{}, false],
    [{ FORCE_COLOR: '1' }, true],
    [{ FORCE_COLOR: '0' }, false],
    [{ FORCE_COLOR: '1', NO_COLOR: '1' }, true],
    [{ NO_COLOR: '1' }, false]
  ])('output in a pipe with the environment %j has colours: %s', async (environment, coloured) => {
    within({ 'w.yml': 'steps: [{ shell: "true" }]' })
    const { stderr } = await place.process(['run', 'w.yml'], { environment })
    expect(stderr.includes('\x1b[')).toBe(coloured)
  })

  test('control characters of the workflow file are printed escaped, and those of an error of a command are left out', async () => {
    within({
      'w.yml': `steps: [{ name: a, summary: "x\\ty \\e[31mz", shell: "printf '\\\\033[2J\\\\007gone' >&2; exit 1" }]`
    })
    const { stderr } = await place.process(['run', 'w.yml'])
    expect(stderr).toContain('Executing step 1/1: a (x y \\u001b[31mz)\n')
    expect(stderr).toContain('error: exit code 1: gone\n')
  })
})

test.each([
  ['--help'],
  ['run --help'],
  ['resume --help'],
  ['plan --help'],
  ['runs --help'],
  ['show --help'],
  ['verify --help']
])('dogear %s prints help with an example', async (words) => {
  within({})
  const { code, stdout, stderr } = await place.process(words.split(' '))
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect(stdout).toMatch(/^Usage: dogear/)
  expect(stdout).toMatch(/Example:|A workflow file:/)
})
