import assert from 'node:assert/strict'
import { pipe } from 'fp-ts/lib/function.js'
import type { TaskEither } from 'fp-ts/lib/TaskEither.js'
import * as TE from 'fp-ts/lib/TaskEither.js'
import * as fc from 'fast-check'
import * as t from 'io-ts'
import { describe, test } from 'vitest'
import type * as Checkpoint from '../../src/domain/checkpoint/Checkpoint.js'
import type * as ProgramType from '../../src/executor/program/Program.js'
import * as Digest from '../../src/domain/data/Digest.js'
import { Json, Program } from '../../src/index.js'
import type { Observation } from '../../src/testing/crash/crashOptions.js'
import { crashEverywhere } from '../../src/testing/crash/crashEverywhere.js'
import type { CrashSchedule } from '../../src/testing/crash/CrashPoint.js'
import { crashSchedule } from '../../src/testing/crash/CrashPoint.js'
import { toText } from '../../src/testing/crash/CrashReport.js'
import type { ProcessContext } from '../../src/testing/crash/process/Process.js'
import { sweep } from '../sweep.js'
import { group, policy, right, task } from './fixtures.js'

// ---------------------------------------------------------------------------------------------------------------------
// random programs
// ---------------------------------------------------------------------------------------------------------------------

interface UnitModel {
  /** Its duration in virtual milliseconds. */
  readonly millis: number
  /** The number of attempts that fail before one succeeds. */
  readonly failing: number
  readonly capture: boolean
  readonly codec: boolean
  readonly silent: boolean
  /** Only for a unit that does not fail: one that may have taken effect is not retried without confirmation. */
  readonly idempotent: boolean
}

interface GroupModel extends UnitModel {
  /** The earlier groups that it needs. */
  readonly needs: ReadonlyArray<number>
}

type StepModel =
  | { readonly _tag: 'Task'; readonly unit: UnitModel }
  | { readonly _tag: 'Wave'; readonly groups: ReadonlyArray<GroupModel>; readonly concurrency: number }

const unitModel = fc.record<UnitModel>({
  millis: fc.constantFrom(0, 0, 10, 10, 20, 35),
  failing: fc.constantFrom(0, 0, 0, 1, 2),
  capture: fc.boolean(),
  codec: fc.boolean(),
  silent: fc.constantFrom(false, false, false, true),
  idempotent: fc.constantFrom(true, true, false)
})

const stepModel: fc.Arbitrary<StepModel> = fc.oneof(
  fc.record({ _tag: fc.constant('Task' as const), unit: unitModel }),
  fc.record({
    _tag: fc.constant('Wave' as const),
    groups: fc
      .array(fc.tuple(unitModel, fc.array(fc.nat({ max: 3 }), { maxLength: 2 })), { minLength: 1, maxLength: 4 })
      .map((groups) =>
        groups.map(([unit, needs], index) => ({ ...unit, needs: needs.filter((need) => need < index) }))
      ),
    concurrency: fc.constantFrom(1, 2, Infinity)
  })
)

const programModel = fc.array(stepModel, { minLength: 1, maxLength: 5 })

/** A date in the program, a string in the record. */
const DateText = new t.Type<Date, string>(
  'DateText',
  (value): value is Date => value instanceof Date,
  (value, context) =>
    typeof value === 'string' && !Number.isNaN(Date.parse(value))
      ? t.success(new Date(value))
      : t.failure(value, context),
  (date) => date.toISOString()
)

/** Everything that a unit can see, as a string: two runs that see the same return the same. */
const seenBy = (context: ProgramType.StepContext<Readonly<Record<string, unknown>>, unknown>): string => {
  const json = Json.fromUnknown(
    JSON.parse(
      JSON.stringify([
        context.input,
        { ...context.outputs },
        Object.keys(context.outputs),
        [...context.variables],
        context.idempotencyKey
      ])
    )
  )
  return Digest.sha256(Json.canonical(right(json)))
}

const work =
  (scene: ProcessContext<undefined>, name: string, model: UnitModel) =>
  (context: ProgramType.StepContext<Readonly<Record<string, unknown>>, unknown>): TaskEither<unknown, unknown> => {
    const seen = seenBy(context)
    return pipe(
      TE.fromTask(() => scene.sleep(model.millis, context.signal)),
      TE.chain((): TaskEither<unknown, unknown> => {
        if (context.signal.aborted) return TE.left('told to stop')
        if (context.attempt <= model.failing) return TE.left({ status: 500, name })
        if (model.silent) return TE.right(undefined)
        return TE.right(model.codec ? new Date(Number.parseInt(seen.slice(0, 10), 16)) : { seen })
      })
    )
  }

const programOf = (scene: ProcessContext<undefined>, steps: ReadonlyArray<StepModel>): ProgramType.Program<unknown> => {
  const spec = (name: string, model: UnitModel) => ({
    ...(model.capture ? { capture: name.replace('/', '_') } : {}),
    ...(model.codec && !model.silent ? { output: DateText } : {}),
    idempotent: model.idempotent || model.failing > 0,
    retry: policy({ attempts: 3, delayMillis: 5 }),
    run: work(scene, name, model)
  })
  return Program.fromSteps(
    'random',
    steps.map((step, index) =>
      step._tag === 'Task'
        ? task(`s${index}`, spec(`s${index}`, step.unit))
        : Program.waveOf(
            `s${index}`,
            step.groups.map((one, at) =>
              group(`g${at}`, { ...spec(`s${index}/g${at}`, one), needs: one.needs.map((need) => `g${need}`) })
            ),
            { concurrency: step.concurrency }
          )
    )
  )
}

const unitsOf = (steps: ReadonlyArray<StepModel>): ReadonlyMap<string, UnitModel> =>
  new Map(
    steps.flatMap((step, index): ReadonlyArray<readonly [string, UnitModel]> =>
      step._tag === 'Task'
        ? [[`s${index}`, step.unit]]
        : step.groups.map((one, at) => [`s${index}/g${at}`, one] as const)
    )
  )

// ---------------------------------------------------------------------------------------------------------------------
// one life after another
// ---------------------------------------------------------------------------------------------------------------------

const INPUT = { channel: 'beta', list: [1, 2] }

/** The number of attempts of each unit. */
const attemptsOf = (checkpoint: Checkpoint.Checkpoint | undefined): ReadonlyArray<readonly [string, number]> =>
  [...(checkpoint?.completedSteps ?? [])].map((one) => [one.unit, one.attempts] as const).sort()

/** Each unit must have started as often as required, and not more often than allowed. */
const startedAsDue =
  (steps: ReadonlyArray<StepModel>) =>
  ({ trace, checkpoint, undisturbed, completed }: Observation<undefined>): void => {
    if (!completed || undisturbed === undefined) return
    assert.deepEqual(attemptsOf(checkpoint), attemptsOf(undisturbed))
    assert.deepEqual(checkpoint?.state, undisturbed.state)
    const lives = trace.at(-1)?.life ?? 0
    for (const [unit, model] of unitsOf(steps)) {
      const starts = trace.filter((entry) => entry._tag === 'Started' && entry.unit === unit).length
      assert.ok(starts >= model.failing + 1, `${unit} started ${starts} times`)
      assert.ok(starts <= model.failing + lives, `${unit} started ${starts} times in ${lives} lives`)
    }
  }

/** Runs lives through all crashes and then undisturbed; checks the laws after each life. */
const survives = async (steps: ReadonlyArray<StepModel>, schedule: CrashSchedule): Promise<void> => {
  const report = await crashEverywhere((scene: ProcessContext<undefined>) => programOf(scene, steps), {
    input: INPUT,
    invariants: { 'starts as often as it has to': startedAsDue(steps) },
    only: { schedule, answer: 'again' }
  })
  assert.equal(report.violations.length, 0, toText(report))
  assert.equal(report.runs, 2)
}

/** The names that units of random programs may have. A crash point at another name is never reached. */
const UNITS = ['s0', 's1', 's2', 's0/g0', 's0/g1', 's1/g0', 's1/g1', 's2/g2']

describe('a run that is killed', () => {
  test(
    'a run that is killed at any points neither repeats nor loses a recorded unit, and ends like an undisturbed run',
    { timeout: sweep ? 3_600_000 : 60_000 },
    async () => {
      await fc.assert(
        fc.asyncProperty(programModel, crashSchedule({ units: UNITS }), survives),
        sweep ? { numRuns: 200_000 } : { numRuns: 300, interruptAfterTimeLimit: 6_000 }
      )
    }
  )

  const everything: ReadonlyArray<StepModel> = [
    { _tag: 'Task', unit: { millis: 10, failing: 1, capture: true, codec: true, silent: false, idempotent: true } },
    {
      _tag: 'Wave',
      concurrency: 2,
      groups: [
        { millis: 10, failing: 0, capture: true, codec: false, silent: false, idempotent: true, needs: [] },
        { millis: 20, failing: 2, capture: true, codec: true, silent: false, idempotent: true, needs: [] },
        { millis: 0, failing: 0, capture: true, codec: false, silent: false, idempotent: true, needs: [0] },
        { millis: 10, failing: 0, capture: false, codec: false, silent: true, idempotent: true, needs: [1, 2] }
      ]
    },
    { _tag: 'Task', unit: { millis: 0, failing: 2, capture: true, codec: false, silent: false, idempotent: true } }
  ]

  test(
    'a run of every kind of step survives a kill at every call',
    { timeout: sweep ? 3_600_000 : 120_000 },
    async () => {
      const report = await crashEverywhere((scene: ProcessContext<undefined>) => programOf(scene, everything), {
        input: INPUT,
        invariants: { 'starts as often as it has to': startedAsDue(everything) },
        twice: sweep ? 20_000 : 60
      })
      assert.equal(report.violations.length, 0, toText(report))
      assert.ok(report.points.length > 100)
    }
  )

  test.each([
    ['a death before a store call', 'before'],
    ['a death after a store call', 'after'],
    ['a store call that fails', 'fails'],
    ['a store call that takes effect and fails', 'failsAfter'],
    ['a death during a store call', 'torn'],
    ['a store call that arrives after the next claim', 'late']
  ] as const)(
    'a run of every kind of step survives %s, even if the process dies at another call too',
    { timeout: 120_000 },
    async (_, how) => {
      for (let first = 1; first <= 22; first += sweep ? 1 : 2) {
        await survives(everything, [{ _tag: 'AtCall', n: first, how }])
        for (let second = 1; second <= 22; second += sweep ? 1 : 7) {
          await survives(everything, [
            { _tag: 'AtCall', n: first, how },
            { _tag: 'AtCall', n: second, how: 'after' }
          ])
        }
      }
    }
  )
})
