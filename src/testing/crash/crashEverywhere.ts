/** Crashes a workflow at every point and checks that it ends in the same way. */
import * as E from 'fp-ts/lib/Either.js'
import * as fc from 'fast-check'
import type { CrashOptions, Invariant } from './crashOptions.js'
import { checkCall, checkMade } from './crashOptions.js'
import { memoryData, memoryStorage } from '../../adapters/memory.js'
import { defined } from '../../domain/data/defined.js'
import type { Checkpoint } from '../../domain/checkpoint/Checkpoint.js'
import type { Workflow } from '../../domain/workflow/Workflow.js'
import type { Program } from '../../executor/program/Program.js'
import type { StorageCall } from '../faults.js'
import type { AtCall, CrashPoint, CrashSchedule } from './CrashPoint.js'
import type { CrashCase, CrashReport } from './CrashReport.js'
import { HOWS, isSamePlace } from './CrashPoint.js'
import { isUndisturbed } from './CrashReport.js'
import type { CrashStorage } from './process/CrashStorage.js'
import type { Result } from './oracle/judge.js'
import { judge, resultOf } from './oracle/judge.js'
import { crashCase } from './crashCase.js'
import type { Pause, PauseAtCall } from './Intervention.js'
import type { ProcessContext } from './process/Process.js'
import type { Between, SimulatedCase } from './simulateRun.js'
import { simulateRun } from './simulateRun.js'
import type { Finding } from './oracle/Oracle.js'

/**
 * Runs a workflow once without faults, then again for every point at which its process can die: each store call
 * (before, during and after it, and delayed until the next claim), each failure that the store can report, each unit
 * and each announced effect. Each run is resumed to its end and checked against the laws of `CrashLaw`. Then it samples
 * pairs of points. With `pauses` it tries a pause at every store call and unit; with `overridden: n` it samples
 * n runs in which a user intervenes: starts from a step, restarts a wave, deletes or edits evidence, pauses or cancels.
 * The program comes from `dogear` or `dogear/promise`, or from a function that creates it for each process from a
 * {@link ProcessContext}. Pass a function to find steps that depend on the memory of an earlier process: a program
 * object is shared by all processes. Steps reach the outside world through `world`, sleep in virtual time, and announce
 * effects. A killed process has no further effect, except for step code that ignores its `signal`.
 * Rejects if an option is invalid, never because of what steps or the store do. Errors of the functions of
 * `storage`, of `world` and of the program function are passed on. A step that blocks the thread cannot be stopped.
 *
 * @example
 * import { workflow } from 'dogear/promise'
 * import { crashEverywhere, CrashReport } from 'dogear/testing'
 * import assert from 'node:assert/strict'
 *
 * const report = await crashEverywhere(
 *   ({ world, effect }) =>
 *     workflow('release')
 *       .step('version', () => '1.2.3')
 *       .step('publish', async ({ outputs }) => {
 *         await effect('publish', () => world.add(outputs.version))
 *         return outputs.version
 *       }),
 *   {
 *     world: () => new Set<unknown>(),
 *     invariants: { 'at most one version is published': ({ world }) => world.size <= 1 }
 *   }
 * )
 * assert.equal(report.violations.length, 0, CrashReport.toText(report))
 *
 * @category testing
 */
export const crashEverywhere = async <Outputs, Input, World = undefined, Data = unknown>(
  program:
    | Program<Outputs, Input, unknown, unknown>
    | ((context: ProcessContext<World>) => Program<Outputs, Input, unknown, unknown>),
  options: CrashOptions<World, Data, Input> = {}
): Promise<CrashReport> => {
  checkCall(program, options)
  const { seed = 1, twice = 100, overridden = 0, pauses = false, only, answers = 'both' } = options
  const test = testOf(program, options)
  const { report, each, tryCase, tryBoth } = test
  const [first = []] = (await tryCase(UNDISTURBED)).points
  if (report.violations.length > 0) return report
  if (only !== undefined) {
    await tryOnly(test, only)
    return report
  }
  const resumed: Array<Resumed> = []
  await each(first.flatMap(faultsAt), async (point) => {
    report.points.push(point)
    const [, next = []] = (await tryBoth([point])).points
    if (next.length > 0) resumed.push({ point, next })
  })
  await each(samples(resumed.length, twice, seed), async ([which, where, how]) => {
    const { point, next } = resumed[which] as Resumed
    const second = faultsAt(next[where % next.length] as CrashPoint)
    report.twice += 1
    await tryBoth([point, second[how % second.length] as CrashPoint])
  })
  if (pauses) await whilePausing(test, first)
  if (overridden === 0) return report
  const cases = fc.sample(crashCase(test.workflow(), { interventions: 1 }), { numRuns: overridden, seed })
  await each(cases, async (one) => {
    report.overridden += 1
    await tryCase(answers === 'both' ? one : { ...one, answer: answers })
  })
  return report
}

const UNDISTURBED: CrashCase = { schedule: [], answer: 'again' }

/** A `CrashReport` that can be added to. */
type Report = {
  -readonly [K in keyof CrashReport]: CrashReport[K] extends ReadonlyArray<infer A> ? Array<A> : CrashReport[K]
}

/** A run with one crash: its point, and the points that the second process reached. */
interface Resumed {
  readonly point: CrashPoint
  readonly next: ReadonlyArray<CrashPoint>
}

/** Samples indices: of a run, and of a point and a fault, modulo their number. */
const samples = (among: number, numRuns: number, seed: number): ReadonlyArray<readonly [number, number, number]> => {
  const any = fc.nat({ max: 1 << 20 })
  return among * numRuns === 0 ? [] : fc.sample(fc.tuple(fc.nat({ max: among - 1 }), any, any), { numRuns, seed })
}

/** Pauses the run before and after each store call and at the first start of each unit, and there also crashes at each later point. */
const whilePausing = async ({ report, each, tryBoth }: Test, points: ReadonlyArray<CrashPoint>): Promise<void> => {
  const tryPause = async (by: Pause | PauseAtCall, ...schedule: CrashSchedule): Promise<SimulatedCase> => {
    report.paused += 1
    return await tryBoth(schedule, { interventions: [by] })
  }
  await each(points, async (point) => {
    if (point._tag === 'AtCall')
      for (const how of ['before', 'after'] as const) await tryPause({ _tag: 'PauseAtCall', life: 1, n: point.n, how })
    if (point._tag !== 'AtUnit' || point.n > 1) return
    const { unit } = point
    const by: Pause = { _tag: 'Pause', life: 1, unit }
    const [reached = []] = (await tryPause(by)).points
    const since = reached.slice(reached.findIndex((one) => one._tag === 'AtUnit' && one.unit === unit))
    await each(since.flatMap(faultsAt), (where) => tryPause(by, where))
  })
}

/** Repeats a case and reports what did not happen, unless a broken law ended the run before that. */
const tryOnly = async ({ report, tryCase }: Test, only: CrashCase): Promise<void> => {
  const { points, trace, findings } = await tryCase(only)
  const { schedule, interventions = [] } = only
  const isReached = (point: CrashPoint, index: number): boolean =>
    points[index]?.some((one) => isSamePlace(one, point)) === true
  report.points.push(...schedule.filter(isReached))
  if (findings.length > 0) return
  const happened = new Set(trace.flatMap((entry) => (entry._tag === 'Intervened' ? [entry.by] : [])))
  report.unreached.push(
    ...schedule.filter((point, index) => !isReached(point, index)),
    ...interventions.filter((by) => !happened.has(by))
  )
}

/** Only a call with an effect can be torn, and only a save can arrive late: a late claim or release changes nothing for the next owner. */
const HOWS_AT_CALL: Partial<Readonly<Record<StorageCall, ReadonlyArray<AtCall['how']>>>> = {
  claim: ['before', 'after', 'torn', 'fails', 'failsAfter'],
  save: ['before', 'after', 'torn', 'slow', 'meanwhile', 'late', 'fails', 'failsAfter'],
  release: ['before', 'after', 'torn', 'fails', 'failsAfter']
}

const faultsAt = (point: CrashPoint): ReadonlyArray<CrashPoint> =>
  howsAt(point).map((how) => ({ ...point, how }) as CrashPoint)

const howsAt = (point: CrashPoint): ReadonlyArray<CrashPoint['how']> => {
  if (point._tag === 'AtCall') return HOWS_AT_CALL[point.call ?? 'save'] ?? ['before', 'fails']
  const isPart = point._tag === 'AtUnit' && point.unit.includes('/')
  return isPart ? [...HOWS.AtUnit, 'waits'] : HOWS[point._tag]
}

const MEMORY = {
  create: () => Promise.resolve(memoryData()),
  reopen: (data: ReturnType<typeof memoryData>) => Promise.resolve(memoryStorage(data))
}

type Test = ReturnType<typeof testOf>

/** A test in progress. */
const testOf = <Input, World, Data>(program: unknown, options: CrashOptions<World, Data, Input>) => {
  const { patienceMillis = 1000, maxWaits = 10_000, mayFail = 0, invariants = {} } = options
  const { seed = 1, stopAfter = 10, answers = 'both' } = options
  const mayDiffer = new Set(options.mayDiffer)
  const counts = { runs: 0, twice: 0, overridden: 0, paused: 0 }
  const report: Report = { workflow: '', points: [], unreached: [], ...counts, seed, violations: [] }
  let workflow: Workflow = { name: '', steps: [] }
  let undisturbed: { readonly checkpoint: Checkpoint; readonly result: Result } | undefined
  const make = typeof program === 'function' ? (program as (context: ProcessContext<World>) => unknown) : () => program
  const programOf = (context: ProcessContext<World>): Program<unknown, unknown> => {
    const made = make(context) as Program<unknown, unknown>
    checkMade(made)
    workflow = made
    return made
  }
  const tryCase = async (only: CrashCase): Promise<SimulatedCase> => {
    const found = await simulateRun<World, Data>(
      {
        programOf,
        input: 'input' in options ? options.input : {},
        world: options.world ?? (() => undefined as World),
        storage: options.storage ?? (MEMORY as unknown as CrashStorage<Data>),
        limits: { patienceMillis, maxWaits },
        judge: (between) => [
          ...judge(undisturbed?.result, mayDiffer)(between),
          ...brokenInvariants(invariants, between, undisturbed?.checkpoint)
        ],
        outputs: undisturbed?.result.outputs ?? new Map(),
        mayFail,
        reply: options.reply ?? (() => undefined)
      },
      only
    )
    const { checkpoint, findings, trace } = found
    const isFirst = isUndisturbed(only)
    if (isFirst && checkpoint !== undefined) undisturbed = { checkpoint, result: resultOf(checkpoint) }
    report.workflow = workflow.name
    report.runs += 1
    for (const finding of findings) {
      const law = isFirst && finding.law !== 'Invariant' ? 'Undisturbed' : finding.law
      report.violations.push({ ...finding, law, only, trace })
    }
    return found
  }
  return {
    report,
    /** The workflow that the newest process runs. */
    workflow: (): Workflow => workflow,
    tryCase,
    /** Tries a schedule with each answer that the options ask for. */
    tryBoth: async (schedule: CrashSchedule, given: Pick<CrashCase, 'interventions'> = {}): Promise<SimulatedCase> => {
      const found = await tryCase({ schedule, answer: answers === 'done' ? 'done' : 'again', ...given })
      if (found.asked && answers === 'both') await tryCase({ schedule, answer: 'done', ...given })
      return found
    },
    /** Calls `act` for each element, until there are `stopAfter` violations. */
    each: async <A>(all: ReadonlyArray<A>, act: (one: A) => Promise<unknown>): Promise<void> => {
      for (const one of all) {
        if (report.violations.length >= stopAfter) return
        await act(one)
      }
    }
  }
}

const brokenInvariants = <World>(
  invariants: Readonly<Record<string, Invariant<World>>>,
  { world, trace, checkpoint, completed }: Between<World>,
  undisturbed: Checkpoint | undefined
): ReadonlyArray<Finding> =>
  Object.entries(defined(invariants) as typeof invariants).flatMap(([name, holds]): ReadonlyArray<Finding> => {
    const wrong = problemOf(() => holds({ world, trace, checkpoint, completed, undisturbed }))
    return wrong === undefined ? [] : [{ law: 'Invariant', name, what: wrong }]
  })

const problemOf = (holds: () => unknown): string | undefined => {
  const said = E.tryCatch(holds, E.toError)
  if (E.isLeft(said)) return said.left.message
  if (said.right instanceof Promise) {
    said.right.catch(() => undefined)
    return 'it returned a promise; an invariant must be synchronous'
  }
  return said.right === false ? 'it does not hold' : typeof said.right === 'string' ? said.right : undefined
}
