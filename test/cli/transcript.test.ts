import { afterEach, describe, expect, test } from 'vitest'
import { linesOf, type Sandbox, sandbox, timeless } from './dogear.js'
import { hasTerminal, onTerminal } from './onTerminal.js'

let place: Sandbox
afterEach(() => place.remove())

/** The progress of a command, without durations and times. */
const told = async (words: readonly string[]): Promise<readonly string[]> => {
  const { stderr } = await place.process(words)
  return linesOf(timeless(stderr).replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'TIME'))
}

const release = `
name: release
steps:
  - { name: build, shell: echo built }
  - { name: upload, shell: 'test -e online || { echo "no network" >&2; exit 1; }' }
  - { name: announce, shell: echo out }
`

describe('the transcript', () => {
  test('a run has a line for each completed step with its duration, and a summary at the end', async () => {
    place = sandbox({ 'w.yml': release, online: '' })
    expect(await told(['run', 'w.yml', '--id', 'r'])).toEqual([
      'Run r started',
      'Executing step 1/3: build',
      '✓ build (T)',
      'Executing step 2/3: upload',
      '✓ upload (T)',
      'Executing step 3/3: announce',
      '✓ announce (T)',
      'Run completed in T: 3 steps ran'
    ])
  })

  test('a failure is printed once with its error, and a resume names what it skips in one line', async () => {
    place = sandbox({ 'w.yml': release })
    expect(await told(['run', 'w.yml', '--id', 'r'])).toEqual([
      'Run r started',
      'Executing step 1/3: build',
      '✓ build (T)',
      'Executing step 2/3: upload',
      'no network',
      '✗ Step 2/3 failed: upload',
      '  command: test -e online || { echo "no network" >&2; exit 1; }',
      '  error: exit code 1: no network',
      `  folder: ${place.folder}`,
      'Run failed after T: 1 step completed, 1 failed',
      'After fixing this, resume with:',
      '  dogear resume r'
    ])
    place.write('online', '')
    expect(await told(['resume', 'r'])).toEqual([
      'Resuming run r',
      'Loaded checkpoint: 1/3 steps completed',
      '↷ 1 step completed earlier: build',
      'Retrying step 2/3: upload',
      '✓ upload (T)',
      'Executing step 3/3: announce',
      '✓ announce (T)',
      'Run completed in T: 2 steps ran, 1 skipped'
    ])
    expect(await told(['resume', 'r'])).toEqual(['Run r: nothing left to do'])
  })

  test('a killed run shows its completed steps, and its resume starts with the step in flight', async () => {
    place = sandbox({
      'w.yml':
        'steps: [{ name: a, shell: "true" }, { name: b, shell: "true" }, { name: c, shell: "test -e go || { echo begun; sleep 60; }" }]'
    })
    const running = place.start(['run', 'w.yml', '--id', 'r'])
    await running.said('begun')
    process.kill(running.pid, 'SIGKILL')
    expect(linesOf(timeless((await running.ended).stderr))).toEqual([
      'Run r started',
      'Executing step 1/3: a',
      '✓ a (T)',
      'Executing step 2/3: b',
      '✓ b (T)',
      'Executing step 3/3: c'
    ])
    place.write('go', '')
    expect(await told(['resume', 'r'])).toEqual([
      'Resuming run r',
      'Loaded checkpoint: 2/3 steps completed',
      '↷ 2 steps completed earlier: a, b',
      'Retrying step 3/3: c',
      '✓ c (T)',
      'Run completed in T: 1 step ran, 2 skipped'
    ])
  })

  test('a wave has a line for each group and one for itself, and a resume skips completed groups', async () => {
    place = sandbox({
      'w.yml': `
steps:
  - wave: checks
    groups:
      unit: { shell: "true" }
      lint: { shell: test -e fixed, needs: [unit] }
      types: { shell: "true", needs: [lint] }
`
    })
    expect((await told(['run', 'w.yml', '--id', 'r'])).slice(1, 8)).toEqual([
      'Executing step 1/1: checks/unit',
      '✓ checks/unit (T)',
      'Executing step 1/1: checks/lint',
      '✗ Step 1/1 failed: checks/lint',
      '  command: test -e fixed',
      '  error: exit code 1',
      `  folder: ${place.folder}`
    ])
    place.write('fixed', '')
    expect((await told(['resume', 'r'])).slice(2)).toEqual([
      '↷ 1 unit completed earlier: checks/unit',
      'Retrying step 1/1: checks/lint',
      '✓ checks/lint (T)',
      'Executing step 1/1: checks/types',
      '✓ checks/types (T)',
      '✓ checks (3 groups, T)',
      'Run completed in T: 2 tasks ran, 1 skipped'
    ])
  })

  test('a group that fails before its siblings end is printed at once with its error, and the error is not printed again', async () => {
    place = sandbox({
      'w.yml':
        'steps: [{ wave: w, groups: { bad: { shell: "echo broken >&2; exit 7" }, slow: { shell: "while ! test -e go; do sleep 0.1; done" } } }]'
    })
    const running = place.start(['run', 'w.yml', '--id', 'r'])
    await running.said('  error: exit code 7: broken')
    place.write('go', '')
    const lines = linesOf(timeless((await running.ended).stderr))
    expect(lines.filter((line) => /[✗✓]|error:|Run failed/.test(line))).toEqual([
      '✗ Step 1/1 failed: w/bad (others still running)',
      '  error: exit code 7: broken',
      '✓ w/slow (T)',
      '✗ Step 1/1 failed: w/bad (see above)',
      'Run failed after T: 1 task completed, 1 failed'
    ])
  })

  test('a map has a line for each item and one with the number of items; a sequence has one line with its steps', async () => {
    place = sandbox({
      'w.yml': `
steps:
  - { wave: pages, concurrency: 1, forEach: [a, b], key: item, each: { shell: "true" } }
  - { name: end, steps: [{ name: last, shell: "true" }] }
`
    })
    expect(await told(['run', 'w.yml', '--id', 'r'])).toEqual([
      'Run r started',
      'Step 1/2 pages: 2 items',
      'Executing step 1/2: pages/a',
      '✓ pages/a (T)',
      'Executing step 1/2: pages/b',
      '✓ pages/b (T)',
      '✓ pages (2 items, T)',
      'Executing step 2/2: end/last',
      '✓ end/last (T)',
      '✓ end (1 step, T)',
      'Run completed in T: 3 tasks ran'
    ])
  })

  test('a run that waits for a job ends with what it waits for, a summary and the next command', async () => {
    place = sandbox({
      'w.yml': 'steps: [{ name: train, job: { submit: echo job-7, poll: test -e done } }, { name: end, shell: "true" }]'
    })
    expect(await told(['run', 'w.yml', '--id', 'r'])).toEqual([
      'Run r started',
      'Executing step 1/2: train',
      'Step 1/2 train has submitted its job: job-7',
      'Waiting for the job of train (job-7), submitted TIME',
      'Run pending after T: 1 step pending',
      expect.stringMatching(/^Poll the job with:/),
      '  dogear poll r'
    ])
  })

  test('a wave with more than 20 groups has one line when it completes', async () => {
    const all = Array.from({ length: 21 }, (_, number) => `g${number}: { run: ["true"] }`).join(', ')
    place = sandbox({ 'w.yml': `steps: [{ wave: many, groups: { ${all} } }]` })
    expect(await told(['run', 'w.yml', '--id', 'r'])).toEqual([
      'Run r started',
      'Executing step 1/1: many (21 groups)',
      '✓ many (21 groups, T)',
      'Run completed in T: 21 tasks ran'
    ])
  })

  test('a resume names the first six completed steps and counts the others', async () => {
    const steps = Array.from({ length: 9 }, (_, number) => `{ name: s${number}, shell: "true" }`).join(', ')
    place = sandbox({ 'w.yml': `steps: [${steps}, { name: last, shell: test -e fixed }]` })
    await place.process(['run', 'w.yml', '--id', 'r'])
    expect(await told(['resume', 'r'])).toContain('↷ 9 steps completed earlier: s0, s1, s2, s3, s4, s5 and 3 more')
  })

  test('a pipe gets no control characters', async () => {
    place = sandbox({ 'w.yml': release })
    const { stdout, stderr } = await place.process(['run', 'w.yml'])

    expect(stdout + stderr).not.toMatch(/[\x00-\x09\x0b-\x1f]/)
  })
})

/** What a terminal shows after this output. Knows the control sequences that dogear writes. */
const screenAfter = (output: string): readonly string[] => {
  const lines = ['']

  for (const part of output.split(/(\r\n|\r|\n|\x1b\[2K|\x1b\[1A|\x1b\[\d*m)/)) {
    if (part === '\n' || part === '\r\n') lines.push('')
    else if (part === '\x1b[2K') lines[lines.length - 1] = ''
    else if (part === '\x1b[1A') lines.pop()
    else if (part !== '\r' && !part.startsWith('\x1b')) lines[lines.length - 1] += part
  }
  return lines.slice(0, -1)
}

describe.skipIf(!hasTerminal)('the transcript on a terminal', () => {
  const wave = `
name: w
steps:
  - { name: build, shell: "sleep 0.3" }
  - wave: checks
    groups: { unit: { shell: "sleep 1.2" }, lint: { shell: "sleep 1.2" }, types: { shell: exit 1 } }
`

  test('a terminal shows a live row for each running group, and in the end the same lines as a pipe', async () => {
    place = sandbox({ 'w.yml': wave })
    const { stdout } = await onTerminal(place, ['run', 'w.yml', '--id', 'a']).ended
    expect(stdout).toContain('0/2 steps done (0%), build 0 s')
    expect(stdout).toMatch(/1\/2 steps done \(50%\), checks: 0\/3 groups\r\n {2}⚡ unit 1 s\r\n {2}⚡ lint 1 s/)
    expect(stdout).not.toContain('2/2 steps')
    const piped = await told(['run', 'w.yml', '--id', 'a', '--home', 'other'])
    // Node warns that FORCE_COLOR, which vitest sets, wins over NO_COLOR.
    const shown = screenAfter(stdout).flatMap((line) => (line.startsWith('(') ? [] : [timeless(line)]))
    expect(shown.toSorted()).toEqual(piped.map((line) => line.replace(/ --home .*/, '')).toSorted())
  })

  test('on a dumb terminal the lines have no control characters', async () => {
    place = sandbox({ 'w.yml': wave })
    const { stdout } = await onTerminal(place, ['run', 'w.yml', '--id', 'a'], { TERM: 'dumb' }).ended
    expect(stdout).toContain('+ checks/unit (')

    expect(stdout.replaceAll('\r\n', '\n')).not.toMatch(/[\x00-\x09\x0b-\x1f]/)
  })

  test('the mark of a completed step is green and its duration dim', async () => {
    place = sandbox({ 'w.yml': 'steps: [{ name: build, shell: "true" }]' })
    const { stdout } = await onTerminal(place, ['run', 'w.yml'], { NO_COLOR: '' }).ended

    expect(stdout).toMatch(/\x1b\[32m✓\x1b\[39m build \x1b\[2m\(\d+ ms\)\x1b\[22m/)
  })
})
