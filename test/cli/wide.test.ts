import { afterEach, describe, expect, test } from 'vitest'
import * as Reporter from '../../src/cli/report/Reporter.js'
import * as Style from '../../src/cli/terminal/Style.js'
import type { StepEntry } from '../../src/cli/workflow/WorkflowFile.js'
import type { EventUnit } from '../../src/ports/Events.js'
import { linesOf, type Sandbox, sandbox, timeless } from './dogear.js'

/** A reporter of one wave, its output and its clock. */
const narrated = (
  groups: number,
  { verbose = false, live = false }: { readonly verbose?: boolean; readonly live?: boolean } = {}
): {
  readonly lines: string[]
  readonly start: (group: number) => void
  readonly end: (group: number) => void
  readonly retry: (group: number) => void
  readonly pass: (millis: number) => void
} => {
  const lines: string[] = []
  let now = 0
  const at = { line: 1, column: 1 }
  const names = Array.from({ length: groups }, (_, number) => ({ name: `g${number}` }))
  const steps = [{ _tag: 'Wave', at, name: 'checks', summary: 'checks', groups: names }] as unknown as StepEntry[]
  const { report } = Reporter.make({
    screen: {
      print: () => undefined,
      out: () => undefined,
      line: (text) => lines.push(text),
      warn: (text) => lines.push(text),
      output: () => undefined,
      status: () => undefined,
      question: () => () => undefined,
      live,
      outStyle: Style.none,
      style: Style.none
    },
    verbose,
    steps,
    loaded: { completed: 0, total: steps.length },
    assumed: new Set(),
    now: () => now
  })
  const unit = (group: number): EventUnit => ({ runId: 'r', unit: `checks/g${group}`, stepIndex: 0 })
  const error = { name: 'Error', message: 'broken' }
  return {
    lines,
    start: (group) => report({ ...unit(group), _tag: 'StepStarted', summary: 's', attempt: 1 }),
    end: (group) => report({ ...unit(group), _tag: 'StepCompleted', attempts: 1, durationMillis: 1 }),
    retry: (group) =>
      report({ ...unit(group), _tag: 'StepRetrying', attempt: 1, maxAttempts: 2, delayMillis: 5, error }),
    pass: (millis) => {
      now += millis
    }
  }
}

describe('a wave', () => {
  test('a narrow wave reports each group that starts', () => {
    const { lines, start } = narrated(3)
    for (const group of [0, 1, 2]) start(group)
    expect(lines).toEqual([0, 1, 2].map((group) => `Executing step 1/1: checks/g${group} (s)`))
  })

  test('a wave reports its progress for each tenth of its groups, and never in quick succession', () => {
    const { lines, start, end, pass } = narrated(30)
    for (let group = 0; group < 30; group++) start(group)
    lines.length = 0
    for (const group of [0, 1, 2]) end(group)
    expect(lines).toEqual([])
    pass(2_000)
    for (const group of [3, 4, 5]) end(group)
    expect(lines).toEqual(['checks: 4/30 groups'])
    pass(10_000)
    end(6)
    expect(lines).toEqual(['checks: 4/30 groups', 'checks: 7/30 groups'])
  })

  test('a live line replaces the progress lines of a wave', () => {
    const { lines, end, pass } = narrated(30, { live: true })
    pass(60_000)
    end(0)
    expect(lines).toEqual([])
  })

  test('a wave of ten thousand groups is reported in a few lines, however long it takes', () => {
    const { lines, start, end, pass } = narrated(10_000)
    for (let group = 0; group < 10_000; group++) {
      start(group)
      pass(1_000)
      end(group)
    }
    expect(lines).toEqual([
      'Executing step 1/1: checks (10,000 groups)',
      ...[1, 2, 3, 4, 5, 6, 7, 8, 9].map((tenth) => `checks: ${tenth},000/10,000 groups`)
    ])
  })

  test('--verbose reports each group of a wave of ten thousand', () => {
    const { lines, start, end } = narrated(10_000, { verbose: true })
    start(7)
    end(7)
    expect(lines).toEqual(['Executing step 1/1: checks/g7 (s)', '✓ checks/g7 (1 ms)'])
  })

  test('a wave reports its first retries, and how to see all of them', () => {
    const { lines, retry } = narrated(10_000)
    for (let group = 0; group < 10_000; group++) retry(group)
    expect(lines).toHaveLength(21)
    expect(lines[0]).toBe('checks/g0: attempt 1/2 failed: broken')
    expect(lines.at(-1)).toBe('checks: more attempts fail; -v reports each')
  })
})

describe('a wave of many shell steps', () => {
  let place: Sandbox
  afterEach(() => place.remove())
  const groups = 120

  test('a wave of many shell steps runs, fails, is shown and resumes in few lines', async () => {
    const of = (number: number): string =>
      number === 60 ? `g60: { shell: 'test -e fixed' }` : `g${number}: { run: ["true"] }`
    place = sandbox({
      'w.yml': `name: w\nsteps: [{ wave: many, concurrency: 8, groups: { ${Array.from({ length: groups }, (_, number) => of(number)).join(', ')} } }]`
    })
    const failed = await place.dogear(['run', 'w.yml', '--id', 'r'])
    expect(failed.code).toBe(1)
    expect(linesOf(failed.stderr).length).toBeLessThan(25)
    expect(failed.stderr).toContain('Executing step 1/1: many (120 groups)\n')
    expect(failed.stderr).toContain('Step 1/1 failed: many/g60\n')
    const shown = linesOf((await place.dogear(['show', 'r'])).stdout)
    expect(shown.length).toBeLessThan(25)
    expect(shown).toContainEqual(expect.stringMatching(/^✗ {3}1 many {3}failed, \d+\/120 groups$/))
    expect(shown).toContainEqual(expect.stringMatching(/^✗ {7}g60 {2}failed$/))
    expect(shown).toContainEqual(expect.stringMatching(/^✓ {7}… \d+ more groups completed$/))
    const { steps } = JSON.parse((await place.dogear(['show', 'r', '--json'])).stdout) as {
      readonly steps: ReadonlyArray<{ readonly unit: string }>
    }
    expect(steps.filter(({ unit }) => unit.startsWith('many/'))).toHaveLength(groups)
    place.write('fixed', '')
    const resumed = await place.dogear(['resume', 'r'])
    expect(resumed.code).toBe(0)
    expect(resumed.stderr).toMatch(/^Retrying step 1\/1: many \(\d+ of 120 groups\)$/m)
    expect(linesOf(resumed.stderr).length).toBeLessThan(10)
  })

  test('a stopped wave names some running groups and counts the others', async () => {
    const all = Array.from({ length: 25 }, (_, number) => `g${number}: { shell: "echo begun; sleep 60" }`).join(', ')
    place = sandbox({ 'w.yml': `name: w\nsteps: [{ wave: many, groups: { ${all} } }]` })
    const running = place.start(['run', 'w.yml', '--id', 'r'])
    await running.said(/^(g\d+ \| begun\n){25}/)
    process.kill(running.pid, 'SIGTERM')
    const { code, stderr } = await running.ended
    expect(code).toBe(143)
    const named = Array.from({ length: 10 }, (_, number) => `many/g${number}`).join(', ')
    expect(stderr).toContain(`\nStopping ${named} and 15 more …\n`)
    const shown = linesOf((await place.dogear(['show', 'r'])).stdout)
    expect(shown.filter((line) => line.endsWith('was stopped (signal)')).length).toBe(25)
  })

  test('a wave whose steps all fail ends with the first failures and their number', async () => {
    const all = Array.from({ length: 30 }, (_, number) => `g${number}: { run: ["false"] }`).join(', ')
    place = sandbox({ 'w.yml': `name: w\nsteps: [{ wave: many, onFailure: continue, groups: { ${all} } }]` })
    const { code, stderr } = await place.dogear(['run', 'w.yml', '--id', 'r'])
    expect(code).toBe(1)
    expect(stderr.match(/^✗ Step 1\/1 failed: many\/g\d+$/gm)).toHaveLength(10)
    expect(timeless(stderr)).toContain(
      '\nmany: 20 more groups failed\nRun failed after T: 30 tasks failed\nAfter fixing this, resume with:\n  dogear resume r\n'
    )
  })
})

test('a rewound wave does not count as done until it has completed again', () => {
  const shown: Array<string | undefined> = []
  const at = { line: 1, column: 1 }
  const steps = ['one', 'two', 'three'].map((name) => ({
    _tag: 'Wave',
    at,
    name,
    summary: name,
    groups: [{ name: 'g' }]
  }))
  const { report } = Reporter.make({
    screen: {
      print: () => undefined,
      out: () => undefined,
      line: () => undefined,
      warn: () => undefined,
      output: () => undefined,
      status: (status) => shown.push(status === undefined ? undefined : [status()].flat().join('\n')),
      question: () => () => undefined,
      live: true,
      outStyle: Style.none,
      style: Style.none
    },
    verbose: false,
    steps: steps as unknown as StepEntry[],
    loaded: { completed: 0, total: steps.length },
    assumed: new Set(),
    now: () => 0
  })
  const start = (stepIndex: number, step: string): void =>
    report({ _tag: 'StepStarted', runId: 'r', stepIndex, unit: `${step}/g`, summary: 's', attempt: 1 })
  const end = (stepIndex: number, step: string): void => {
    report({ _tag: 'StepCompleted', runId: 'r', stepIndex, unit: `${step}/g`, attempts: 1, durationMillis: 1 })
    report({ _tag: 'StepCompleted', runId: 'r', stepIndex, unit: step, attempts: 1, durationMillis: 1 })
  }
  start(0, 'one')
  end(0, 'one')
  report({ _tag: 'WaveRestarted', runId: 'r', stepIndex: 0, unit: 'one' })
  start(0, 'one')
  expect(shown.at(-1)).toMatch(/^0\/3 waves done/)
  end(0, 'one')
  start(1, 'two')
  end(1, 'two')
  start(2, 'three')
  expect(shown.at(-1)).toMatch(/^2\/3 waves done/)
})
