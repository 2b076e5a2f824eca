/**
 * One simulated process: the program as it runs there, its ports, and what of it is under way.
 *
 * @since 0.1.0
 */
import * as E from 'fp-ts/lib/Either.js'
import type { TaskEither } from 'fp-ts/lib/TaskEither.js'
import { unitName } from '../../domain/Plan.js'
import { fromUnknown } from '../../domain/StepFailure.js'
import type { Program, ProgramStep, ProgramTask, StepContext } from '../../executor/Program.js'
import type { CheckpointStorage, Claim, Claimed, Revision } from '../../ports/CheckpointStorage.js'
import type { Environment } from '../../ports/Environment.js'
import { withFaults } from '../faults.js'
import { memoryTree, treeData } from '../memoryTree.js'
import type { AtUnit, CrashPoint } from './CrashPoint.js'
import { describePoint } from './CrashPoint.js'
import type { CallWatch, DeathAtCall } from './Life.js'
import { mortal, never, newLife } from './Life.js'
import type { TraceEntry } from './Trace.js'
import { START, virtualClock } from './VirtualClock.js'
import type { VirtualClock } from './VirtualClock.js'

// ---------------------------------------------------------------------------------------------------------------------
// model
// ---------------------------------------------------------------------------------------------------------------------

/**
 * What a workflow's steps may use of the simulation. The program is made anew for each simulated process, as a process makes
 * it when it starts; `world` is the outside, one for each simulated run.
 *
 * - `life`: the number of this process, from 1.
 * - `now`: virtual time, in milliseconds since 1970-01-01 UTC.
 * - `sleep`: virtual sleep, in milliseconds. It ends early when the signal fires.
 * - `effect`: does something outside, at once or asynchronously; the process may die before it and after it. In a
 *   process that is dead nothing is done.
 *
 * @category model
 * @since 0.1.0
 */
export interface Scene<World> {
  readonly world: World
  readonly life: number
  /** The virtual time, in milliseconds since 1970-01-01 UTC. */
  readonly now: () => number
  /** Waits in virtual time, or until the signal fires. */
  readonly sleep: (millis: number, signal?: AbortSignal) => Promise<void>
  /** Does something to the outside: the process can die right before it and right after it. */
  readonly effect: <A>(name: string, act: () => A | Promise<A>) => Promise<A>
}

/** A process as the simulation sees it. */
export interface Process<World> {
  readonly scene: Scene<World>
  readonly clock: VirtualClock
  readonly killed: Promise<'killed'>
  readonly kill: () => void
  readonly alive: () => boolean
  /** What its program runs in. */
  readonly environment: Environment
  /** The program as this process runs it. */
  readonly program: Program<unknown, unknown>
  /** The points that it came to, in order, each with one way to die there. */
  readonly points: ReadonlyArray<CrashPoint>
  /** Whether its store told it of a failure that was planned. */
  readonly failed: () => boolean
  /** The claims that it was given. */
  readonly claims: ReadonlyArray<Claim>
  /** How much has happened: it stands still when nothing happens that can be seen. */
  readonly progress: () => number
  /** How many calls of the store, and how many units that don't sleep, are under way. */
  readonly busy: () => { readonly calls: number; readonly units: number }
  /** Resolves when nothing of it is under way in the store. */
  readonly storeIsQuiet: () => boolean
}

/** What a process is made of. */
export interface ProcessParts<World> {
  readonly world: World
  readonly life: number
  readonly storage: CheckpointStorage
  readonly startsAt: number | undefined
  readonly point: CrashPoint | undefined
  readonly programOf: (scene: Scene<World>) => Program<unknown, unknown>
  readonly note: (entry: TraceEntry) => void
  /** The store said that these revisions are durable. */
  readonly acknowledged: (revisions: ReadonlyArray<Revision>) => void
  /** An observer was told that a unit is completed. */
  readonly told: (unit: string) => void
  /** A call that is made when the next process claims: right before that, at the same time, or after it. */
  readonly delayed: NonNullable<CallWatch['delayed']>
  readonly claiming: () => Promise<void>
  readonly claimed: (granted: Claimed) => Promise<void>
}

/** What the parts of a process share. */
interface Inside<World> extends ProcessParts<World> {
  readonly state: { progress: number; calls: number; running: number; asleep: number; failed: boolean }
  readonly points: Array<CrashPoint>
  readonly claims: Array<Claim>
  readonly clock: VirtualClock
  readonly life_: ReturnType<typeof newLife>
  readonly die: () => void
  readonly othersFirst: () => Promise<void>
}

// ---------------------------------------------------------------------------------------------------------------------
// constructors
// ---------------------------------------------------------------------------------------------------------------------

/** A process that was just started. */
export const startProcess = <World>(parts: ProcessParts<World>): Process<World> => {
  const life = newLife()
  const clock = virtualClock(0, parts.startsAt ?? START)
  const { point } = parts
  const inside: Inside<World> = {
    ...parts,
    state: { progress: 0, calls: 0, running: 0, asleep: 0, failed: false },
    points: [],
    claims: [],
    clock,
    life_: life,
    die: () => {
      if (!life.alive()) return
      parts.note({ _tag: 'Died', life: parts.life, where: point === undefined ? 'killed' : describePoint(point) })
      life.kill()
    },
    // Whoever sleeps for no time is woken when nothing else goes on that takes none.
    othersFirst: () => clock.sleep(0, life.signal)()
  }
  const scene = sceneOf(inside)
  const { state } = inside
  return {
    scene,
    clock,
    killed: life.killed,
    kill: life.kill,
    alive: life.alive,
    environment: environmentOf(inside),
    program: programIn(inside, parts.programOf(scene)),
    points: inside.points,
    failed: () => state.failed,
    claims: inside.claims,
    progress: () => state.progress,
    busy: () => ({ calls: state.calls, units: state.running - state.asleep }),
    storeIsQuiet: () => state.calls === 0
  }
}

const environmentOf = <World>(inside: Inside<World>): Environment => ({
  storage: storageIn(inside),
  clock: inside.clock,
  tree: memoryTree(treeData()),
  owner: { host: 'simulated', pid: inside.life },
  interrupt: { signal: new AbortController().signal, reason: () => 'aborted' },
  events: {
    report: (event) => {
      if (event._tag === 'StepCompleted' && inside.life_.alive()) inside.told(unitName(event))
    }
  },
  random: () => 0.5,
  graceMillis: 10_000
})

// ---------------------------------------------------------------------------------------------------------------------
// the store
// ---------------------------------------------------------------------------------------------------------------------

const storageIn = <World>(inside: Inside<World>): CheckpointStorage => {
  const { point, state, points, life } = inside
  const storage = noting(inside)
  const faulty =
    point?._tag === 'AtCall' && (point.how === 'fails' || point.how === 'failsAfter')
      ? withFaults(storage, [
          { nth: point.n, fault: { _tag: 'Fail', when: point.how === 'fails' ? 'before' : 'after' } }
        ])
      : storage
  const deaths: ReadonlyMap<string, DeathAtCall> = new Map(DEATHS.map((how) => [how, how]))
  const watched = mortal({ ...inside.life_, kill: inside.die }, faulty, {
    death: (call, n) => {
      points.push({ _tag: 'AtCall', n, how: 'before', call })
      if (point?._tag !== 'AtCall' || point.n !== n) return undefined
      const how = deaths.get(point.how)
      if (how === undefined) {
        state.failed = true
        inside.note({ _tag: 'Died', life, where: describePoint({ ...point, call }) })
      }
      return how
    },
    delayed: inside.delayed,
    begun: () => {
      state.calls += 1
      state.progress += 1
    },
    ended: () => {
      state.calls -= 1
      state.progress += 1
    }
  })
  return {
    ...watched,
    claim: (runId, owner) => async () => {
      await inside.claiming()
      const claimed = await watched.claim(runId, owner)()
      if (E.isRight(claimed)) {
        inside.claims.push(claimed.right.claim)
        await inside.claimed(claimed.right)
      }
      return claimed
    }
  }
}

/** What a store acknowledges is durable, whether the process lives to hear it or not. */
const noting = <World>({ storage, acknowledged }: Inside<World>): CheckpointStorage => ({
  ...storage,
  save: (claim, revisions) => async () => {
    const saved = await storage.save(claim, revisions)()
    if (E.isRight(saved)) acknowledged(revisions)
    return saved
  }
})

const DEATHS: ReadonlyArray<DeathAtCall> = ['before', 'after', 'torn', 'slow', 'meanwhile', 'late']

// ---------------------------------------------------------------------------------------------------------------------
// the steps
// ---------------------------------------------------------------------------------------------------------------------

const sceneOf = <World>(inside: Inside<World>): Scene<World> => {
  const { state, point, clock, life_: life } = inside
  let effects = 0
  return {
    world: inside.world,
    life: inside.life,
    now: clock.now,
    sleep: async (millis, signal) => {
      if (!life.alive()) return await never()
      state.asleep += 1
      state.progress += 1
      await clock.sleep(millis, signal ?? new AbortController().signal)()
      state.asleep -= 1
      return life.alive() ? undefined : await never()
    },
    effect: async (name, act) => {
      if (!life.alive()) return await never()
      effects += 1
      state.progress += 1
      const how = point?._tag === 'AtEffect' && point.n === effects ? point.how : undefined
      inside.points.push({ _tag: 'AtEffect', n: effects, how: 'before', name })
      if (how === 'before') {
        inside.die()
        return await never()
      }
      const given = await act()
      inside.note({ _tag: 'Effect', life: inside.life, name })
      if (how === 'after') inside.die()
      return life.alive() ? given : await never()
    }
  }
}

const programIn = <World>(inside: Inside<World>, program: Program<unknown, unknown>): Program<unknown, unknown> => ({
  name: program.name,
  decodeInput: program.decodeInput,
  encodeInput: program.encodeInput,
  get identity() {
    return program.identity
  },
  steps: program.steps.map((step): ProgramStep =>
    step._tag === 'Task'
      ? { ...step, run: watchedRun(inside, step.name, step), job: mortalJob(inside, step) }
      : step._tag === 'Map'
        ? {
            ...step,
            each: { ...step.each, run: watchedRun(inside, step.name, step.each), job: mortalJob(inside, step.each) }
          }
        : {
            ...step,
            groups: step.groups.map((group) => ({
              ...group,
              run: watchedRun(inside, unitName({ step: step.name, group: group.name }), group),
              job: mortalJob(inside, group)
            }))
          }
  )
})

/** A unit's own code, called in a process that may die before it, in the middle of it and after it. */
const watchedRun = <World>(inside: Inside<World>, unit: string, task: ProgramTask): ProgramTask['run'] => {
  const { state, point, note, life, life_ } = inside
  let n = 0
  const deathHere = (): AtUnit['how'] | undefined => {
    n += 1
    inside.points.push({ _tag: 'AtUnit', unit, n, how: 'before' })
    return point?._tag === 'AtUnit' && point.unit === unit && point.n === n ? point.how : undefined
  }
  return (context) => async () => {
    if (!life_.alive()) return await never()
    const how = deathHere()
    if (how === 'before') {
      inside.die()
      return await never()
    }
    if (how === 'waits') await inside.othersFirst()
    if (!life_.alive()) return await never()
    state.running += 1
    state.progress += 1
    note({ _tag: 'Started', life, unit, attempt: context.attempt, key: context.idempotencyKey })
    const ending = attempted(task, mortalContext(context, life_.signal))
    if (how === 'during') inside.die()
    const result = await ending
    state.running -= 1
    state.progress += 1
    if (!life_.alive()) return await never()
    note(E.isRight(result) ? { _tag: 'Done', life, unit } : { _tag: 'Failed', life, unit, ...failureOf(result.left) })
    if (how === 'after') inside.die()
    return life_.alive() ? result : await never()
  }
}

/** Of a dead process no job is asked for, and nobody hears what was said of one. */
const mortalJob = <World>({ state, life_ }: Inside<World>, { job }: ProgramTask): ProgramTask['job'] => {
  if (job === undefined) return undefined
  const mortal =
    <A, B>(work: (context: A) => TaskEither<unknown, B>) =>
    (context: A): TaskEither<unknown, B> =>
    async () => {
      if (!life_.alive()) return await never()
      state.running += 1
      state.progress += 1
      try {
        const said = await work(context)()
        return life_.alive() ? said : await never()
      } finally {
        state.running -= 1
        state.progress += 1
      }
    }
  return { ...job, poll: mortal(job.poll), collect: mortal(job.collect) }
}

/** What is thrown is classified as what is returned. */
const attempted = async (
  task: ProgramTask,
  context: StepContext<unknown, unknown>
): Promise<E.Either<unknown, unknown>> => {
  try {
    return await task.run(context)()
  } catch (error) {
    return E.left(error)
  }
}

const failureOf = (error: unknown): { readonly applied: boolean; readonly message: string } => {
  const failure = fromUnknown(error)
  return { applied: failure.outcome === 'unknown', message: failure.error.message }
}

/** The same context, whose signal fires as well when the process dies. */
const mortalContext = (context: StepContext<unknown, unknown>, killed: AbortSignal): StepContext<unknown, unknown> => {
  let signal: AbortSignal | undefined
  return Object.defineProperties({} as StepContext<unknown, unknown>, {
    ...Object.getOwnPropertyDescriptors(context),
    signal: { enumerable: true, get: () => (signal ??= AbortSignal.any([context.signal, killed])) }
  })
}
