import assert from 'node:assert/strict'
import { pipe } from 'fp-ts/lib/function.js'
import type { TaskEither } from 'fp-ts/lib/TaskEither.js'
import * as TE from 'fp-ts/lib/TaskEither.js'
import * as fc from 'fast-check'
import * as t from 'io-ts'
import { describe, test } from 'vitest'
import { memoryStorage } from '../../src/adapters/memory.js'
import type { Checkpoint, Program as ProgramType } from '../../src/index.js'
import { Digest, Json, Program, runOrResume } from '../../src/index.js'
import type { Life, World } from './fixtures.js'
import {
  failingSave,
  group,
  killingAt,
  loaded,
  newLife,
  newProcess,
  newWorld,
  outputsOf,
  patiently,
  policy,
  right,
  stored,
  task
} from './fixtures.js'

// ---------------------------------------------------------------------------------------------------------------------
// random programs
// ---------------------------------------------------------------------------------------------------------------------

interface UnitModel {
  /** How long it works, in virtual milliseconds. */
  readonly millis: number
  /** How many attempts fail before one works. */
  readonly failing: number
  readonly capture: boolean
  readonly codec: boolean
  readonly silent: boolean
}

interface GroupModel extends UnitModel {
  /** Which earlier groups it needs. */
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
  silent: fc.constantFrom(false, false, false, true)
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

/** A date in, a text stored. */
const DateText = new t.Type<Date, string>(
  'DateText',
  (value): value is Date => value instanceof Date,
  (value, context) =>
    typeof value === 'string' && !Number.isNaN(Date.parse(value))
      ? t.success(new Date(value))
      : t.failure(value, context),
  (date) => date.toISOString()
)

interface Running {
  readonly world: World
  readonly life: Life
  readonly sleep: (millis: number, signal: AbortSignal) => Promise<void>
}

/** Everything that a unit can see, as text: two runs that see the same give the same. */
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
  (running: Running, name: string, model: UnitModel) =>
  (context: ProgramType.StepContext<Readonly<Record<string, unknown>>, unknown>): TaskEither<unknown, unknown> => {
    if (!running.life.alive()) return () => new Promise(() => undefined)
    running.world.log.push(`${name}#${context.attempt}`)
    const seen = seenBy(context)
    return pipe(
      TE.fromTask(() => running.sleep(model.millis, context.signal)),
      TE.chain((): TaskEither<unknown, unknown> => {
        if (context.signal.aborted) return TE.left('told to stop')
        if (context.attempt <= model.failing) return TE.left({ status: 500, name })
        if (model.silent) return TE.right(undefined)
        return TE.right(model.codec ? new Date(Number.parseInt(seen.slice(0, 10), 16)) : { seen })
      })
    )
  }

const programOf = (running: Running, steps: ReadonlyArray<StepModel>): ProgramType.Program<unknown> => {
  const spec = (name: string, model: UnitModel) => ({
    ...(model.capture ? { capture: name.replace('/', '_') } : {}),
    ...(model.codec && !model.silent ? { output: DateText } : {}),
    retry: policy({ attempts: 3, delayMillis: 5 }),
    run: work(running, name, model)
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

/** What a run comes to: what each unit gave, the variables, and the state. */
const result = (checkpoint: Checkpoint.Checkpoint): Json.Json =>
  right(
    Json.fromUnknown({
      outputs: outputsOf(checkpoint),
      variables: Object.fromEntries(checkpoint.variables),
      attempts: Object.fromEntries(
        [...checkpoint.completedSteps].map((one) => [`${one.step}/${one.group ?? ''}`, one.attempts])
      ),
      state: checkpoint.state
    })
  )

// ---------------------------------------------------------------------------------------------------------------------
// one life after the other
// ---------------------------------------------------------------------------------------------------------------------

const INPUT = { channel: 'beta', list: [1, 2] }

/** One process: to the end, or until it is killed or its store fails. Says whether it came to the end. */
const live = async (
  world: World,
  steps: ReadonlyArray<StepModel>,
  around: (life: Life) => Parameters<typeof newProcess>[1]
): Promise<{ readonly over: boolean; readonly told: ReadonlyArray<string> }> => {
  const life = newLife()
  const told: Array<string> = []
  const process = newProcess(world, {
    ...around(life),
    // Time goes on from life to life by nothing: creation time and key stay what they are.
    events: {
      report: (event) => {
        if (event._tag === 'StepCompleted')
          told.push(`${event.step}${event.group === undefined ? '' : `/${event.group}`}`)
      }
    }
  })
  const running: Running = { world, life, sleep: (millis, signal) => process.clock.sleep(millis, signal)() }
  const executor = runOrResume(programOf(running, steps), 'r', INPUT)
  const ended = executor(process.environment)().then(
    (outcome) => outcome._tag === 'Right' && outcome.right._tag === 'Completed'
  )
  const over = await patiently(process.clock, Promise.race([ended, life.killed.then(() => false)]))
  life.kill()
  return { over, told }
}

const completedIn = async (world: World): Promise<ReadonlySet<string>> => {
  const found = await loaded(memoryStorage(world.data))
  if (found._tag === 'None') return new Set()
  const checkpoint = await stored(memoryStorage(world.data))
  return new Set(
    [...checkpoint.completedSteps].map((one) => (one.group === undefined ? one.step : `${one.step}/${one.group}`))
  )
}

type Disturbance = {
  readonly call: number
  readonly how: 'killed before' | 'killed after' | 'failed before' | 'failed after'
}

const disturbance = fc.record<Disturbance>({
  call: fc.integer({ min: 1, max: 16 }),
  how: fc.constantFrom('killed before', 'killed after', 'failed before', 'failed after')
})

const around =
  ({ call, how }: Disturbance) =>
  (life: Life): Parameters<typeof newProcess>[1] => {
    const when = how.endsWith('before') ? 'before' : 'after'
    return { around: how.startsWith('killed') ? killingAt(life, call, when) : failingSave(call, when) }
  }

/** Lives through all disturbances and then undisturbed; checks the laws after each life. */
const survives = async (steps: ReadonlyArray<StepModel>, disturbances: ReadonlyArray<Disturbance>): Promise<void> => {
  const calm = newWorld()
  assert.ok((await live(calm, steps, () => ({}))).over)
  const undisturbed = result(await stored(memoryStorage(calm.data)))

  const world = newWorld()
  let acknowledged: ReadonlySet<string> = new Set()
  let lives = 0
  for (const one of [...disturbances, undefined]) {
    const started = world.log.length
    lives += 1
    const { over, told } = await live(world, steps, one === undefined ? () => ({}) : around(one))
    for (const line of world.log.slice(started)) {
      const unit = line.split('#')[0] ?? ''
      assert.ok(!acknowledged.has(unit), `${unit} was recorded completed and ran again`)
    }
    const now = await completedIn(world)
    for (const unit of acknowledged) assert.ok(now.has(unit), `the record of ${unit} was lost`)
    for (const unit of told) assert.ok(now.has(unit), `${unit} was reported completed and is not recorded`)
    acknowledged = now
    if (over) break
    assert.ok(one !== undefined, 'an undisturbed life did not come to the end')
  }

  const checkpoint = await stored(memoryStorage(world.data))
  assert.deepEqual(result(checkpoint), undisturbed)
  for (const [unit, model] of unitsOf(steps)) {
    const starts = world.log.filter((line) => line.startsWith(`${unit}#`)).length
    assert.ok(starts >= model.failing + 1, `${unit} started ${starts} times`)
    assert.ok(starts <= model.failing + lives, `${unit} started ${starts} times in ${lives} lives`)
  }
}

const sweep = process.env['DOGEAR_SWEEP'] === '1'

describe('a run that is killed', () => {
  test(
    'whenever and however often it is killed, no acknowledged unit runs again, none is lost, and it ends as if undisturbed',
    { timeout: sweep ? 3_600_000 : 60_000 },
    async () => {
      await fc.assert(
        fc.asyncProperty(programModel, fc.array(disturbance, { maxLength: 4 }), survives),
        sweep ? { numRuns: 200_000 } : { numRuns: 3_000, interruptAfterTimeLimit: 12_000 }
      )
    }
  )

  const everything: ReadonlyArray<StepModel> = [
    { _tag: 'Task', unit: { millis: 10, failing: 1, capture: true, codec: true, silent: false } },
    {
      _tag: 'Wave',
      concurrency: 2,
      groups: [
        { millis: 10, failing: 0, capture: true, codec: false, silent: false, needs: [] },
        { millis: 20, failing: 2, capture: true, codec: true, silent: false, needs: [] },
        { millis: 0, failing: 0, capture: true, codec: false, silent: false, needs: [0] },
        { millis: 10, failing: 0, capture: false, codec: false, silent: true, needs: [1, 2] }
      ]
    },
    { _tag: 'Task', unit: { millis: 0, failing: 2, capture: true, codec: false, silent: false } }
  ]

  test.each(['killed before', 'killed after', 'failed before', 'failed after'] as const)(
    'a run of everything survives being %s at every single call, and at every pair of calls',
    async (how) => {
      for (let first = 1; first <= 22; first++) {
        await survives(everything, [{ call: first, how }])
        for (let second = 1; second <= 22; second += 3) {
          await survives(everything, [
            { call: first, how },
            { call: second, how: 'killed after' }
          ])
        }
      }
    }
  )
})
