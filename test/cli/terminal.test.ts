import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { type Ended, main, type Running, type Sandbox, sandbox, timeless, watch } from './dogear.js'
import { answering, hasTerminal, onTerminal as onTerminalIn } from './onTerminal.js'

let place: Sandbox
afterEach(() => place.remove())

const failing = `
name: w
steps:
  - { name: one, shell: echo one >> log }
  - { name: two, shell: test -e fixed && echo two >> log }
`

const crashing = `
name: w
steps:
  - { name: publish, shell: 'echo published >> log; test -e fixed || kill -9 $PPID; sleep 0.2', idempotent: false }
`

/** With colours, unless the environment says otherwise. */
const onTerminal = (words: readonly string[], environment: Readonly<Record<string, string>> = {}): Running =>
  onTerminalIn(place, words, { NO_COLOR: '', ...environment })

describe.skipIf(!hasTerminal)('a terminal', () => {
  const withFailedRun = async (text = failing): Promise<void> => {
    place = sandbox({ 'w.yml': text })
    await place.process(['run', 'w.yml', '--id', 'first'])
    place.write('fixed', '')
  }
  const offer = 'Previous execution found. Resume? [Y/n] '

  test.each(['y\n', '\n', 'YES\n', 'what?\ny\n'])(
    'an earlier run is offered on a terminal, and %j resumes it',
    async (answer) => {
      await withFailedRun()
      const { code, stdout } = await answering(onTerminal(['run', 'w.yml']), [offer, answer])
      expect(code).toBe(0)
      expect(stdout).toContain('Run first: w, failed, 1/2 steps done (50%), updated ')
      expect(stdout).toContain('Resuming run first')
      expect(stdout.includes('Please type "y", "n" or "a"\n')).toBe(answer.startsWith('what?'))
      expect(place.read('log')).toBe('one\ntwo\n')
    }
  )

  test('tables wrap between words on a narrow terminal', async () => {
    await withFailedRun(
      'name: nightly\nsteps: [{ name: integration-tests, shell: "echo no connection to the test database >&2; exit 1" }]'
    )
    const narrow = async (...words: ReadonlyArray<string>): Promise<ReadonlyArray<string>> =>
      (await onTerminalIn(place, words, {}, 40).ended).stdout.split('\r\n')
    expect(await narrow('plan', 'first')).toEqual(
      expect.arrayContaining([
        '  1/1  retry    integration-tests',
        '                failed: exit code 1: no',
        '                connection to the test',
        '                database'
      ])
    )
    const [heading, below, run, facts] = await narrow('runs')
    expect([heading, below, run]).toEqual(['RUN-ID  NAME', '  STATUS  STARTED               STEPS', 'first   nightly'])
    expect(facts).toMatch(/^ {2}failed {2}\d{4}-\d\d-\d\d \d\d:\d\d UTC {2}0\/1$/)
  })

  test('on a terminal of a CI service dogear shows no prompt and redraws no line', async () => {
    await withFailedRun()
    const { code, stdout } = await onTerminal(['run', 'w.yml'], { CI: 'true' }).ended
    expect(code).toBe(0)
    expect(stdout).toContain('An earlier run of w is unfinished')
    expect(stdout).not.toContain('\x1b[2K')
    const asked = await answering(onTerminal(['run', 'w.yml'], { CI: 'false' }), [offer, 'y\n'])
    expect(asked.stdout).toContain('\x1b[2K')
  })

  test('the answer "no" to the offer of an earlier run starts a new run', async () => {
    await withFailedRun()
    const { code } = await answering(onTerminal(['run', 'w.yml']), [offer, 'n\n'])
    expect(code).toBe(0)
    expect(place.read('log')).toBe('one\none\ntwo\n')
  })

  test.each([
    ['\x04', 4],
    ['\x03', 130]
  ])('the input %j at a question changes nothing', async (answer, code) => {
    await withFailedRun()
    const ended = await answering(onTerminal(['run', 'w.yml']), [offer, answer])
    expect(ended.code).toBe(code)
    expect(ended.stdout).toContain('Nothing was changed')
    expect(place.read('log')).toBe('one\n')
  })

  /** Two waves have started and one has not: a group of the second failed, and one never started. */
  const waves = `
name: w
steps:
  - { wave: first, groups: { a: { shell: "true" } } }
  - wave: second
    concurrency: 1
    groups:
      good: { shell: echo good >> log }
      bad: { shell: 'test -e fixed || { echo "no such" >&2; exit 3; }' }
      late: { shell: "true" }
  - { wave: third, groups: { b: { shell: "true" } } }
`

  test('the offer shows every wave, group and task with its progress, and the possible answers', async () => {
    await withFailedRun(waves)
    const { code, stdout } = await answering(onTerminal(['run', 'w.yml'], { NO_COLOR: '1' }), [offer, 'a\n'])
    expect(code).toBe(4)
    const shown = stdout.replace(/\d{4}-\d\d-\d\d \d\d:\d\d/, 'T').replace(/\d+ ms/g, 'N ms')
    expect(shown.slice(shown.indexOf('Run first'), shown.indexOf(offer)).split('\n')).toEqual([
      'Run first: w, failed, 1/3 waves done (33%), updated T UTC',
      '✓   1 first   completed, 1/1 groups, N ms',
      '✓       a     completed, N ms',
      '✗   2 second  failed, 1/3 groups',
      '✓       good  completed, N ms',
      '✗       bad   failed',
      '        exit code 3: no such',
      '○       late  not started',
      '○   3 third   not started, 0/1 groups',
      '○       b     not started',
      'y: resume it. w: run all groups of second again, then continue. n: start a new run. a: abort',
      ''
    ])
    expect(stdout).toContain('Nothing was changed')
    expect(place.read('log')).toBe('good\n')
  })

  test.each([
    ['w\n', 'good\ngood\n'],
    ['y\n', 'good\n']
  ])(
    'the answer w to the offer of a failed run restarts its failed wave, and y continues the wave: %j',
    async (answer, log) => {
      await withFailedRun(waves)
      const { code, stdout } = await answering(onTerminal(['run', 'w.yml']), [offer, answer])
      expect(code).toBe(0)
      expect(stdout).toContain('Resuming run first')
      expect(place.read('log')).toBe(log)
    }
  )

  test('an interrupted task is marked at its position, and a workflow without a wave offers no restart', async () => {
    place = sandbox({ 'w.yml': 'name: w\nsteps: [{ name: slow, shell: "echo $$ > pid; kill -9 $PPID; sleep 0.2" }]' })
    await place.process(['run', 'w.yml', '--id', 'first'])
    const running = onTerminal(['run', 'w.yml'], { NO_COLOR: '1' })
    const { code, stdout } = await answering(
      running,
      [offer, 'w\n'],
      ['Please type "y", "n" or "a"\r\nPrevious', 'a\n']
    )
    expect(code).toBe(4)
    expect(stdout).toContain('Run first: w, interrupted, 0/1 steps done (0%), updated ')
    expect(stdout).toContain('\n⚡   1 slow  was running (attempt 1) when the process ended\n')
    expect(stdout).toContain('\ny: resume it. n: start a new run. a: abort\n')
  })

  test('if the id of a run is in use, its resume is offered, and the answer "no" leaves it unchanged', async () => {
    await withFailedRun()
    const asked = onTerminal(['run', 'w.yml', '--id', 'first'])
    const { code, stdout } = await answering(asked, [offer, 'n\n'])
    expect(code).toBe(4)
    expect(stdout).toContain('y: resume it. n: leave it as it is. a: abort')
    expect(stdout).toContain('Run first already exists')
    expect(place.read('log')).toBe('one\n')
  })

  test('nothing resumes if the run changed while the offer was shown', async () => {
    await withFailedRun()
    const asked = onTerminal(['run', 'w.yml'])
    await asked.said(offer)
    expect((await place.dogear(['resume', 'first'])).code).toBe(0)
    const { code, stdout } = await answering(asked, [offer, 'y\n'])
    expect(code).toBe(4)
    expect(stdout).toContain('Run first changed in the meantime, so nothing was done')
  })

  test.each([[{ LC_ALL: 'C' }], [{ LC_ALL: '', LC_CTYPE: '', LANG: 'C' }], [{ TERM: 'dumb' }]])(
    'a terminal without UTF-8 gets ASCII symbols: %j',
    async (environment) => {
      await withFailedRun(waves)
      const { stdout } = await answering(onTerminal(['run', 'w.yml'], { NO_COLOR: '1', ...environment }), [
        offer,
        'a\n'
      ])
      const rows = stdout.slice(stdout.indexOf('Run first'), stdout.indexOf(offer))
      expect(rows).toMatch(/^\+ {3}1 first/m)
      expect(rows).toMatch(/^x {7}bad/m)
      expect(rows).toMatch(/^- {3}3 third/m)
      expect([...rows].filter((character) => character > '~')).toEqual([])
    }
  )

  test('rows are cut to the width of the terminal', async () => {
    const long = 'a'.repeat(120)
    await withFailedRun(`name: w\nsteps: [{ name: ${long}, shell: "true" }, { shell: test -e fixed }]`)
    const narrow = `stty cols 40; exec '${process.execPath}' '${main}' run w.yml`
    const child = spawn('script', ['-qefc', narrow, '/dev/null'], {
      cwd: place.folder,
      env: { ...process.env, TERM: 'xterm', NO_COLOR: '1', FORCE_COLOR: '', DOGEAR_HOME: '', CI: '' },
      stdio: ['pipe', 'pipe', 'pipe']
    })
    const { stdout } = await answering(watch(child), [offer, 'a\n'])
    const row = stdout.split('\n').find((line) => line.startsWith('✓')) ?? ''
    expect(row).toMatch(/^✓ {3}1 a+… {2}completed, [\d.]+ m?s\s*$/)
    expect(row.length).toBeLessThanOrEqual(40)
  })

  const warning = '--force runs 1 completed step again. Continue? [y/N] '

  const checked = `
name: w
steps:
  - wave: w
    groups:
      a: { shell: echo a, after: 'false' }
      b: { shell: sleep 1; echo said by b | tr ' ' -, after: 'false' }
`
  const whatNow = 'or abort? [retry/continue/abort] '

  test('checks that fail in parallel prompt one at a time, and no output breaks into a prompt', async () => {
    place = sandbox({ 'w.yml': checked })
    const running = onTerminal(['run', 'w.yml'])
    await running.said(whatNow)
    // Longer than a redraw of the live line, and than the other group takes.
    await new Promise((resolve) => setTimeout(resolve, 1500))
    await running.said(/said-by-b[^]*abort\] $/)
    const { code, stdout } = await answering(
      running,
      [whatNow, 'continue\n'],
      // The line about the first group repeats the second question, whenever it is printed.
      [/✓\S* w\/a [^]*abort\] $/, 'continue\n']
    )
    expect(code).toBe(0)
    expect(stdout.split(`${whatNow}continue\n`)).toHaveLength(3)
  })

  test.each(['before', 'after'])(
    'Ctrl+C while a check runs %s a step does not count as a failed check',
    async (when) => {
      const text = `name: w\nsteps:\n  - { shell: echo ran >> log, ${when}: sleep 20, onCheckFailure: continue }\n`
      place = sandbox({ 'w.yml': text })
      const { code, stdout } = await answering(onTerminal(['run', 'w.yml']), ['Executing step', '\u0003'])
      expect(code).toBe(130)
      expect(stdout).not.toContain('continuing anyway')
    }
  )

  test('--force asks for consent, and the answer y restarts at the first step', async () => {
    await withFailedRun()
    const { code } = await answering(onTerminal(['resume', 'first', '--force']), [warning, 'y\n'])
    expect(code).toBe(0)
    expect(place.read('log')).toBe('one\none\ntwo\n')
  })

  test.each(['n\n', '\n', '\x04'])('--force answered with %j changes nothing', async (answer) => {
    await withFailedRun()
    const before = await place.dogear(['show', 'first', '--json'])
    const { code } = await answering(onTerminal(['resume', 'first', '--force']), [warning, answer])
    expect(code).toBe(4)
    expect(await place.dogear(['show', 'first', '--json'])).toEqual(before)
  })

  test('--force changes nothing if the run changed while the question was shown', async () => {
    await withFailedRun()
    const asked = onTerminal(['resume', 'first', '--force'])
    await asked.said(warning)
    expect((await place.dogear(['resume', 'first'])).code).toBe(0)
    const { code, stdout } = await answering(asked, [warning, 'y\n'])
    expect(code).toBe(4)
    expect(stdout).toContain('Run first changed in the meantime, so nothing was done')
    expect(place.read('log')).toBe('one\ntwo\n')
  })

  const question = 'Run it again, or count it as done? [again/done] '

  test.each([
    ['again', 'published\npublished\n'],
    ['a', 'published\npublished\n'],
    ['done', 'published\n'],
    ['d', 'published\n']
  ])('a step that may have taken effect raises a question, and the answer %s is obeyed', async (answer, log) => {
    await withFailedRun(crashing)
    const { code, stdout } = await answering(onTerminal(['resume']), [question, `perhaps\n${answer}\n`])
    expect(stdout).toContain('Please type "again" or "done"\n')
    expect(code).toBe(0)
    expect(stdout).toContain('"publish" may already have taken effect, and is not idempotent')
    expect(place.read('log')).toBe(log)
  })

  test.each([
    ['y\n', 0, 'one\ntwo\n'],
    ['n\n', 5, 'one\n']
  ])(
    'the recovered state of a damaged run is offered with what was lost, and the answer %j is obeyed',
    async (answer, code, log) => {
      await withFailedRun()
      const journal = '.dogear/runs/first/history/e000001.jsonl'
      const lines = place.read(journal).split('\n')
      place.write(
        journal,
        lines.map((line, at) => (at === lines.length - 3 ? line.replace('"', "'") : line)).join('\n')
      )
      const ended = await answering(onTerminal(['resume', 'first']), [
        'Continue from the recovered state? [y/N] ',
        answer
      ])
      expect(ended.stdout).toContain('The newest state of run first is damaged')
      expect(ended.stdout).not.toContain('onRecovered')
      expect(ended.stdout).toMatch(/These steps will run, some possibly a second time: .*two/)
      expect(ended.code).toBe(code)
      expect(place.read('log').slice(-log.length)).toBe(log)
    }
  )

  test('a live line shows what runs and for how long, and is erased at the end', async () => {
    place = sandbox({
      'w.yml': 'steps: [{ name: quick, shell: "true" }, { name: slow, shell: "sleep 1.3; echo done" }]'
    })
    const { stdout } = await onTerminal(['run', 'w.yml']).ended
    expect(stdout).toContain('0/2 steps done (0%), quick 0 s')
    expect(stdout).toContain('1/2 steps done (50%), slow 0 s')
    expect(stdout).toContain('1/2 steps done (50%), slow 1 s')
    expect(stdout).not.toMatch(/2\/2 steps|100%/)
    expect(stdout).toContain('\r\x1b[2Kdone\r\n')
    const lastLine = stdout.split('\n').at(-2) ?? ''
    expect(lastLine.slice(lastLine.lastIndexOf('\x1b[2K') + 4)).toContain('Run completed')
  })

  test('the live line of a wave shows its name and its completed groups', async () => {
    place = sandbox({
      'w.yml': `
steps:
  - { wave: one, groups: { a: { shell: "true" } } }
  - { wave: two, groups: { quick: { shell: "true" }, slow: { shell: "sleep 1.3" } } }
  - { wave: three, groups: { a: { shell: "true" } } }
`
    })
    const { stdout } = await onTerminal(['run', 'w.yml']).ended
    expect(stdout).toContain('1/3 waves done (33%), two: 1/2 groups, slow 0 s')
    expect(stdout).toContain('1/3 waves done (33%), two: 1/2 groups, slow 1 s')
    expect(stdout).not.toContain('3/3 waves')
  })

  test('a terminal gets colours unless NO_COLOR is set; a dumb one gets neither colours nor a live line', async () => {
    place = sandbox({ 'w.yml': 'steps: [{ shell: "true" }]' })
    expect((await onTerminal(['run', 'w.yml']).ended).stdout).toContain('\x1b[32mRun completed in ')
    expect((await onTerminal(['run', 'w.yml'], { NO_COLOR: '1' }).ended).stdout).not.toContain('\x1b[3')
    expect((await onTerminal(['run', 'w.yml'], { TERM: 'dumb' }).ended).stdout).not.toContain('\x1b')
  })
})

test('a closed standard input starts a new run without a prompt', async () => {
  place = sandbox({ 'w.yml': failing })
  await place.process(['run', 'w.yml'])
  place.write('fixed', '')
  const { code, stderr } = await place.shell(`'${process.execPath}' '${main}' run w.yml <&-`)
  expect(code).toBe(0)
  expect(stderr).not.toContain('[Y/n]')
  expect(place.exists(join('.dogear', 'runs'))).toBe(true)
})

describe('an unterminated line of a step', () => {
  const unended = `steps:
  - { shell: "printf 'no newline'" }
  - { shell: "printf 'nor here' >&2" }
  - { shell: "printf last" }`
  const progress = (word: string): string => timeless(word.replaceAll(/^Run .* started\n/gm, ''))

  test('an unterminated line is ended before progress on the same stream', async () => {
    place = sandbox({ 'w.yml': unended })
    const { stdout } = await place.shell('dogear run w.yml 2>&1')
    expect(stdout).toContain('no newline\n✓ step-1 (')
    expect(stdout).toContain('nor here\n✓ step-2 (')
    expect(stdout).toContain('last\n✓ step-3 (')
    await place.shell('dogear run w.yml > all 2>&1')
    expect(progress(place.read('all'))).toBe(progress(stdout))
  })

  test('an unterminated line is left unchanged on a stream without progress', async () => {
    place = sandbox({ 'w.yml': unended })
    const { stdout, stderr } = await place.process(['run', 'w.yml'])
    expect(stdout).toBe('no newlinelast')
    expect(timeless(stderr).split('\n').slice(2)).toEqual([
      '✓ step-1 (T)',
      expect.stringContaining('Executing step 2/3'),
      'nor here',
      '✓ step-2 (T)',
      expect.stringContaining('Executing step 3/3'),
      '✓ step-3 (T)',
      'Run completed in T: 3 steps ran',
      ''
    ])
  })
})

describe('unwritable output', () => {
  test.each([['--help'], ['run --help'], ['--version'], ['help runs'], ['runs']])(
    'output to a closed pipe is dropped: dogear %s',
    async (words) => {
      place = sandbox()
      const { stdout, stderr } = await place.shell(`{ dogear ${words}; echo $? > code; } | true`)
      expect({ stdout, stderr, code: place.read('code') }).toEqual({ stdout: '', stderr: '', code: '0\n' })
    }
  )

  const isFull = 'dogear: standard output could not be written: ENOSPC'

  test.skipIf(process.platform !== 'linux').each([
    ['--help', 5],
    ['--version', 5],
    ['runs --json', 5],
    ['run w.yml', 5],
    ['run w.yml --json', 5],
    ['run failing.yml --json', 1]
  ])('a command whose output cannot be written to a full disk fails: dogear %s', async (words, code) => {
    place = sandbox({ 'w.yml': 'steps: [{ shell: echo out }]', 'failing.yml': 'steps: [{ shell: "false" }]' })
    const ended = await place.shell(`dogear ${words} > /dev/full`)
    expect(ended.stderr.split('\n').filter((line) => line.startsWith('dogear:'))).toEqual([
      expect.stringContaining(isFull)
    ])
    expect(ended.code).toBe(code)
  })

  test.skipIf(process.platform !== 'linux')('unwritable progress does not stop a run', async () => {
    place = sandbox({ 'w.yml': 'steps: [{ shell: echo one }, { shell: echo two > done }]' })
    expect((await place.shell('dogear run w.yml 2> /dev/full')).code).toBe(5)
    expect(place.read('done')).toBe('two\n')
    expect((await place.dogear(['resume', '--json'])).code).toBe(0)
  })

  describe('a completed run in a worktree', () => {
    const question = 'Merge dogear/r (1 commit, 1 path not committed) into main? [y/N] '
    const inWorktree = async (...answer: readonly string[]): Promise<Ended> => {
      place = sandbox({
        'w.yml':
          'name: w\nworkspace: worktree\nsteps: [{ shell: "echo b > b; git add b; git commit -qm b; echo c > c" }]',
        '.gitignore': '.bin\n'
      })
      await place.shell(
        'git init -qb main .; git config user.email a@example.org; git config user.name A; git add .; git commit -qm begin'
      )
      return answering(onTerminal(['run', 'w.yml', '--id', 'r']), ...answer.map((one) => [question, one] as const))
    }

    test('the answer "yes" merges the worktree and deletes it', async () => {
      const { code, stdout } = await inWorktree('y\n')
      expect(code).toBe(0)
      expect(stdout).toContain('Merged dogear/r into main, and deleted the worktree and its branch')
      expect([place.read('b'), place.read('c')]).toEqual(['b\n', 'c\n'])
      expect(place.exists('.dogear/workspaces/r')).toBe(false)
    })

    test.each(['n\n', '\n', '\x03', '\x04'])(
      'the answer %j keeps the worktree, and the run is completed',
      async (answer) => {
        const { code, stdout } = await inWorktree(answer)
        expect(code).toBe(0)
        expect(stdout).toContain('dogear resume r --merge')
        expect(place.exists('b')).toBe(false)
        expect(place.read('.dogear/workspaces/r/c')).toBe('c\n')
        const cleaned = await answering(onTerminal(['clean', 'r']), ['Delete this folder? [y/N] ', 'n\n'])
        expect(cleaned.code).toBe(4)
        expect(place.exists('.dogear/workspaces/r')).toBe(true)
      }
    )
  })
})
