/** Random workflows under random kills, pauses, cancels, answers, overrides and lost evidence: 10,000 in a sweep. */
import assert from 'node:assert/strict'
import * as fc from 'fast-check'
import { describe, test } from 'vitest'
import type { CrashCase, CrashReport } from '../../../src/testing/crash/CrashReport.js'
import { toText } from '../../../src/testing/crash/CrashReport.js'
import type { CrashPoint } from '../../../src/testing/crash/CrashPoint.js'
import { crashCase } from '../../../src/testing/crash/crashCase.js'
import type { Invariant } from '../../../src/testing/crash/crashOptions.js'
import { crashEverywhere } from '../../../src/testing/crash/crashEverywhere.js'
import type { ProcessContext } from '../../../src/testing/crash/process/Process.js'
import { seed, sweep } from '../../sweep.js'
import { DOUBTS, FAULTS, planted } from './plantedExecutor.js'
import type { TraceEntry } from '../../../src/testing/crash/Trace.js'
import type { Outside, WorkflowSpec } from './randomWorkflow.js'
import { repliesTo, answerTo } from './randomWaits.js'
import { askingOf, itemUnitsOf, leavingOf, outside, programOf, task, workflowSpec } from './randomWorkflow.js'

const COUNT = sweep ? 10_000 : 200

/** The number of tests. */
const PARTS = 4

/** The seed of a schedule; a failure prints it, and DOGEAR_SEED repeats it first. Consecutive numbers would start alike. */
const seedOf = (first: number, index: number): number =>
  index === 0 ? first : Math.imul(first + Math.imul(index, 0x9e3779b1), 0x85ebca6b) & 0x3fffffff

/** A workflow and its disturbances. */
interface Schedule {
  readonly spec: WorkflowSpec
  readonly only: CrashCase
}

const NO_SCENE = {} as ProcessContext<Outside>

const schedules: fc.Arbitrary<Schedule> = workflowSpec.chain((spec) =>
  fc.record(
    {
      spec: fc.constant(spec),
      only: fc
        .tuple(
          crashCase(programOf(spec)(NO_SCENE), { leaving: leavingOf(spec), items: itemUnitsOf(spec) }),
          repliesTo(askingOf(spec))
        )
        .map(([one, replies]) => ({ ...one, interventions: [...(one.interventions ?? []), ...replies] }))
    },
    { noNullPrototype: true }
  )
)

const perform = (
  { spec, only }: Schedule,
  tally: Tally = new Map(),
  simulate = crashEverywhere
): Promise<CrashReport> =>
  simulate(programOf(spec), {
    world: outside,
    only,
    mayFail: 20,
    maxWaits: 200,
    reply: answerTo,
    invariants: { counts: counting(tally) }
  })

/** The number of events of each kind. */
type Tally = Map<string, number>

/** Counts events, so that an unexercised law shows. */
const counting =
  (tally: Tally): Invariant<Outside> =>
  ({ trace, completed }) => {
    if (!completed) return
    for (const entry of trace) {
      const what = whatOf(entry)
      tally.set(what, (tally.get(what) ?? 0) + 1)
    }
  }

const whatOf = (entry: TraceEntry): string => {
  switch (entry._tag) {
    case 'Intervened':
      return entry.by._tag === 'Pause' && entry.by.when === 'late' ? 'late Pause' : entry.by._tag
    case 'Recorded':
      return entry.what
    case 'Ended':
      return /^(paused|cancelled) at/.exec(entry.how)?.[1] ?? entry._tag
    case 'Died':
      return entry.where.includes('of its requests') ? 'died while pausing' : entry._tag
    default:
      return entry._tag
  }
}

const NOWHERE: CrashPoint = { _tag: 'AtCall', n: 1000, how: 'before' }

const TIMEOUT = sweep ? 3_600_000 : 240_000

/** The time limit for shrinking a failed schedule. */
const SHRINKING_MILLIS = 60_000

describe('random workflows', () => {
  const tally: Tally = new Map()
  let tried = 0

  test.each(Array.from({ length: PARTS }, (_, part) => part))(
    'a random workflow keeps every law under crashes, pauses, overrides and lost evidence (part %i)',
    { timeout: TIMEOUT },
    async (part) => {
      for (let index = part; index < COUNT; index += PARTS) {
        tried += 1
        const details = await fc.check(
          fc.asyncProperty(schedules, async (one) => (await perform(one, tally)).violations.length === 0),
          { seed: seedOf(seed, index), numRuns: 1, interruptAfterTimeLimit: SHRINKING_MILLIS }
        )
        assert.ok(details.failed || !details.interrupted, `DOGEAR_SEED=${seedOf(seed, index)} takes too long`)
        if (!details.failed) continue
        const [found] = details.counterexample ?? assert.fail('it failed, and nothing was found')
        const where = `schedule ${index} of ${COUNT}: DOGEAR_SEED=${seedOf(seed, index)} begins with it`
        assert.fail([where, JSON.stringify(found), toText(await perform(found))].join('\n'))
      }
    }
  )

  test('random schedules contain each kind of event often', ({ skip }) => {
    if (tried < COUNT) skip('not all parts were run')
    console.log(`${COUNT} schedules, seed ${seed}:`, Object.fromEntries(tally))
    for (const what of WHAT) assert.ok((tally.get(what) ?? 0) > 20, `${what} hardly ever happened`)
    for (const what of ['EditEvidence', 'kept', 'cancelled'])
      assert.ok((tally.get(what) ?? 0) > 2, `${what} hardly ever happened`)
  })

  test('an answer about an item is accepted, even if a later answer makes the map run again', async () => {
    const subSteps = [{ idempotent: false, parallel: true, fails: 'always', nested: false } as const]
    const report = await perform({
      spec: [
        task({ leaves: 'artifact', subSteps }),
        { _tag: 'Map', each: task({ idempotent: false }), items: 2, concurrency: 2 }
      ],
      only: {
        schedule: [{ _tag: 'AtEffect', n: 3, how: 'before' }],
        answer: 'again',
        interventions: [{ _tag: 'EditEvidence', life: 2, unit: 's0', answer: 'again' }]
      }
    })
    assert.deepEqual(report.violations, [], toText(report))
  })

  test('a refused resume may record an answer that was left for the previous process', async () => {
    const ask = { wait: { _tag: 'Ask' }, how: 'dropped' } as const
    const report = await perform({
      spec: [
        task(),
        task({ idempotent: false, job: 'forgotten' }),
        task({ subSteps: [{ idempotent: true, parallel: false, fails: 'never', nested: false, waits: ask }] })
      ],
      only: {
        schedule: [
          { _tag: 'AtUnit', unit: 's0', n: 1, how: 'before' },
          { _tag: 'AtCall', n: 8, how: 'fails' }
        ],
        answer: 'again',
        interventions: [
          { _tag: 'FromStep', life: 2, step: 's1' },
          { _tag: 'AnswerWait', life: 2, n: 2, unit: 's2/x0.0', value: 17 }
        ]
      }
    })
    assert.deepEqual(report.violations, [], toText(report))
  })

  test('a refused resume may record a pause that arrives before its release', async () => {
    const report = await perform({
      spec: [task({ leaves: 'file' }), task({ idempotent: false }), task({ wait: { _tag: 'Ask' } })],
      only: {
        schedule: [{ _tag: 'AtCall', n: 4, how: 'after' }],
        answer: 'again',
        interventions: [
          { _tag: 'DeleteEvidence', life: 2, unit: 's0' },
          { _tag: 'PauseAtCall', life: 2, n: 2, how: 'before' }
        ]
      }
    })
    assert.deepEqual(report.violations, [], toText(report))
  })

  test('a save of a dead process that arrives after a pause is not counted as recorded', async () => {
    const report = await perform({
      spec: [task({ sleeps: 1, wait: { _tag: 'Ask' } })],
      only: {
        schedule: [
          { _tag: 'AtCall', n: 1, how: 'before' },
          { _tag: 'AtCall', n: 6, how: 'meanwhile' }
        ],
        answer: 'again',
        interventions: [{ _tag: 'PauseAtCall', life: 3, n: 1, how: 'before' }]
      }
    })
    assert.deepEqual(report.violations, [], toText(report))
  })

  test('a cancel that arrives while a paused run is released leaves no pointer', async () => {
    const [sleep, ask] = [{ _tag: 'Sleep', halves: 3 } as const, { _tag: 'Ask', timesOut: 0 } as const]
    const calls = [
      { idempotent: true, parallel: false, fails: 'never', nested: false, waits: { wait: sleep, how: 'awaited' } },
      { idempotent: true, parallel: false, fails: 'always', nested: true, waits: { wait: ask, how: 'awaited' } }
    ] as const
    const report = await perform({
      spec: [
        task({ idempotent: false, sleeps: 1, job: 'done' }),
        { _tag: 'Map', each: task({ subSteps: calls }), items: 1, concurrency: 2 }
      ],
      only: {
        schedule: [],
        answer: 'again',
        interventions: [
          { _tag: 'Pause', life: 1, unit: 's1/i0', when: 'during' },
          { _tag: 'Cancel', life: 1, unit: 's1/i0' }
        ]
      }
    })
    assert.deepEqual(report.violations, [], toText(report))
  })

  test('the next process may fence the pause of an ended process', async () => {
    const waits = { wait: { _tag: 'Ask' }, how: 'awaited' } as const
    const pause = { _tag: 'Pause', life: 1, unit: 's0', when: 'during' } as const
    const report = await perform({
      spec: [
        task({
          subSteps: [
            { idempotent: true, parallel: false, fails: 'never', nested: false },
            { idempotent: true, parallel: true, fails: 'never', nested: false, waits }
          ]
        })
      ],
      only: { schedule: [], answer: 'again', interventions: [pause, pause, pause] }
    })
    assert.deepEqual(report.violations, [], toText(report))
  })

  test('idempotency keys follow the rewinds even after a map lost its recorded items', async () => {
    const report = await perform({
      spec: [
        task(),
        {
          _tag: 'Map',
          each: task({ trouble: ['permanent', 'permanent'] }),
          items: 1,
          concurrency: 1
        },
        {
          _tag: 'Wave',
          groups: [{ step: task(), needs: 0 }],
          concurrency: 1,
          onFailure: 'halt',
          leaves: false
        }
      ],
      only: {
        schedule: [NOWHERE, NOWHERE, { _tag: 'AtCall', n: 3, how: 'before' }],
        answer: 'again',
        interventions: [
          { _tag: 'RestartWave', life: 2, wave: 's2' },
          { _tag: 'FromStep', life: 3, step: 's0' }
        ]
      }
    })
    assert.equal(report.violations.length, 0, toText(report))
  })

  test.each(DOUBTS)('$what', async (one) => {
    const report = await perform(one)
    assert.equal(report.violations.length, 0, toText(report))
  })

  test.each(FAULTS.map((fault) => [fault.breaks, fault.what, fault] as const))(
    'a workflow breaks %s under an executor that %s',
    async (_, __, fault) => {
      const holds = await perform(fault)
      assert.equal(holds.violations.length, 0, toText(holds))
      const report = await perform(fault, undefined, await planted(fault))
      assert.ok(
        report.violations.some(({ law }) => law === fault.breaks),
        toText(report)
      )
    }
  )
})

/** Events that must occur. */
const WHAT = [
  'Died',
  'FromStep',
  'RestartWave',
  'DeleteEvidence',
  'Pause',
  'late Pause',
  'PauseAtCall',
  'Cancel',
  'paused',
  'rewound',
  'assumed done',
  'to run again',
  'job failed',
  'waiting',
  'wait over',
  'answered',
  'AnswerWait'
]
