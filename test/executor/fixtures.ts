/** What the executor's laws are written with: virtual time, a process that can be killed, and stores that misbehave. */
import assert from 'node:assert/strict'
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import type { TaskEither } from 'fp-ts/lib/TaskEither.js'
import { memoryData, memoryStorage } from '../../src/adapters/memory.js'
import type { MemoryData } from '../../src/adapters/memory.js'
import type {
  Change,
  Checkpoint,
  CheckpointStorage,
  Clock,
  Environment,
  Event,
  Executor,
  Interrupt,
  Stored,
  WriteFailed
} from '../../src/index.js'
import type { RunError } from '../../src/executor/RunError.js'
import type { RunOutcome } from '../../src/executor/RunOutcome.js'
import { Program, restoreStored, RetryPolicy } from '../../src/index.js'

// ---------------------------------------------------------------------------------------------------------------------
// time
// ---------------------------------------------------------------------------------------------------------------------

export const START = Date.UTC(2026, 0, 2, 3, 4, 5)

export interface FakeClock extends Clock {
  /** Moves time on, waking sleepers in order of their time. */
  readonly advance: (millis: number) => Promise<void>
  /** How long each sleeper still sleeps, shortest first. */
  readonly sleeping: () => ReadonlyArray<number>
}

interface Sleeper {
  readonly until: number
  readonly wake: () => void
}

/** Time that stands still until somebody moves it. `tick`: how far each look at it moves it on. */
export const fakeClock = (tick = 0, start = START): FakeClock => {
  let now = start
  let sleepers: ReadonlyArray<Sleeper> = []
  return {
    now: () => (now += tick),
    sleep: (millis, signal) => () =>
      new Promise((resolve) => {
        if (signal.aborted) return resolve()
        const wake = (): void => {
          sleepers = sleepers.filter((one) => one !== sleeper)
          signal.removeEventListener('abort', wake)
          resolve()
        }
        const sleeper: Sleeper = { until: now + millis, wake }
        sleepers = [...sleepers, sleeper].sort((a, b) => a.until - b.until)
        signal.addEventListener('abort', wake)
      }),
    advance: async (millis) => {
      const end = now + millis
      for (let next = sleepers[0]; next !== undefined && next.until <= end; next = sleepers[0]) {
        now = Math.max(now, next.until)
        next.wake()
        // As in Node: promises are settled between two timers, the rest of the loop waits until all that are due fired.
        if (sleepers[0]?.until === now) await settled()
        else await quiet()
      }
      now = Math.max(now, end)
      await quiet()
    },
    sleeping: () => sleepers.map(({ until }) => until - now)
  }
}

/** Whatever promises can bring about has happened. */
const settled = async (): Promise<void> => {
  await new Promise<void>((resolve) => process.nextTick(() => process.nextTick(resolve)))
}

/** Everything that can happen without time passing has happened. */
export const quiet = async (): Promise<void> => {
  await new Promise<void>((resolve) => setImmediate(resolve))
}

/** Waits for a promise, moving time to the next sleeper whenever nothing else can happen. */
export const patiently = async <A>(clock: FakeClock, promise: Promise<A>): Promise<A> => {
  let over = false
  const end = (): void => {
    over = true
  }
  promise.then(end, end)
  for (;;) {
    await quiet()
    if (over) return await promise
    const next = clock.sleeping()[0]
    if (next !== undefined) await clock.advance(next)
  }
}

// ---------------------------------------------------------------------------------------------------------------------
// a process
// ---------------------------------------------------------------------------------------------------------------------

/** What outlives a process: the store's data, and what was done outside. */
export interface World {
  readonly data: MemoryData
  readonly log: Array<string>
}

/** One process: its ports, what its observer heard, and a way to stop it. */
export interface Process {
  readonly world: World
  readonly clock: FakeClock
  readonly storage: CheckpointStorage
  /** The calls of the store in order, and what each save brought. */
  readonly calls: ReadonlyArray<Call>
  readonly saves: ReadonlyArray<ReadonlyArray<Change.Change>>
  readonly events: ReadonlyArray<Event>
  readonly environment: Environment
  readonly stop: (reason?: 'signal' | 'aborted') => void
  /** Runs to the end, moving time on as needed. */
  readonly perform: (executor: Executor<RunOutcome>) => Promise<E.Either<RunError, RunOutcome>>
}

export const newWorld = (): World => ({ data: memoryData(), log: [] })

export const newProcess = (
  world: World = newWorld(),
  given: Partial<Environment> & {
    readonly clock?: FakeClock
    readonly around?: (storage: CheckpointStorage) => CheckpointStorage
  } = {}
): Process => {
  const { around = (storage: CheckpointStorage) => storage, ...ports } = given
  const clock = ports.clock ?? fakeClock()
  const events: Array<Event> = []
  const controller = new AbortController()
  let reason: 'signal' | 'aborted' = 'signal'
  const interrupt: Interrupt = { signal: controller.signal, reason: () => reason }
  const { storage, calls, saves } = counting(around(memoryStorage(world.data)))
  const environment: Environment = {
    storage,
    owner: { host: 'build-1', pid: 100 },
    interrupt,
    events: { report: (event) => void events.push(event) },
    random: () => 0.5,
    graceMillis: 10_000,
    ...ports,
    clock
  }
  return {
    world,
    clock,
    storage,
    calls,
    saves,
    events,
    environment,
    stop: (why = 'signal') => {
      reason = why
      controller.abort()
    },
    perform: (executor) => patiently(clock, executor(environment)())
  }
}

export const seconds = (count: number): number => count * 1000

// ---------------------------------------------------------------------------------------------------------------------
// outcomes
// ---------------------------------------------------------------------------------------------------------------------

export const right = <A>(result: E.Either<unknown, A>): A =>
  E.isRight(result) ? result.right : assert.fail(`refused: ${JSON.stringify(result.left)}`)

export const ended = <T extends RunOutcome['_tag']>(
  result: E.Either<RunError, RunOutcome>,
  tag: T
): Extract<RunOutcome, { readonly _tag: T }> => {
  const outcome = right(result)
  const why = outcome._tag === 'Failed' ? `: ${JSON.stringify(outcome.failures)}` : ''
  assert.equal(outcome._tag, tag, `${tag} was due, not ${outcome._tag}${why}`)
  return outcome as Extract<RunOutcome, { readonly _tag: T }>
}

export const refused = <T extends RunError['_tag']>(
  result: E.Either<RunError, unknown>,
  tag: T
): Extract<RunError, { readonly _tag: T }> => {
  if (E.isRight(result)) return assert.fail(`accepted, but ${tag} was due`)
  assert.equal(result.left._tag, tag, JSON.stringify(result.left))
  return result.left as Extract<RunError, { readonly _tag: T }>
}

export const loaded = async (storage: CheckpointStorage, runId = 'r'): Promise<O.Option<Stored>> =>
  right(await storage.load(runId)())

export const stored = async (storage: CheckpointStorage, runId = 'r'): Promise<Checkpoint.Checkpoint> => {
  const found = await loaded(storage, runId)
  return O.isSome(found) ? right(restoreStored(found.value)) : assert.fail(`nothing is stored of ${runId}`)
}

export const historyOf = async (storage: CheckpointStorage, runId = 'r'): Promise<ReadonlyArray<string>> =>
  right(await storage.history(runId)())
    .map(({ change }) => change)
    .reverse()

/** Every state that was ever durable, in order. */
export const statesOf = async (
  storage: CheckpointStorage,
  runId = 'r'
): Promise<ReadonlyArray<Checkpoint.Checkpoint>> => {
  const revisions = right(await storage.history(runId)()).map(({ revision }) => revision)
  const found: Array<Checkpoint.Checkpoint> = []
  for (const revision of revisions.reverse()) {
    const one = right(await storage.loadRevision(runId, revision)())
    found.push(O.isSome(one) ? right(restoreStored(one.value)) : assert.fail(`revision ${revision} is gone`))
  }
  return found
}

export const outputsOf = (checkpoint: Checkpoint.Checkpoint): Readonly<Record<string, unknown>> =>
  Object.fromEntries(
    [...checkpoint.completedSteps].map(({ step, group, output }) => [
      group === undefined ? step : `${step}/${group}`,
      output
    ])
  )

// ---------------------------------------------------------------------------------------------------------------------
// programs
// ---------------------------------------------------------------------------------------------------------------------

export const policy = (given: Partial<RetryPolicy.RetryPolicy>): RetryPolicy.RetryPolicy =>
  right(RetryPolicy.make({ jitter: 0, ...given }))

type Spec = Program.TaskSpec<never, never, Program.OutputCodec | undefined>
type Context = Program.StepContext<never, never>

/** What an untyped task may give its spec: its run sees everything as unknown. */
export interface LooseSpec extends Omit<Spec, 'run'> {
  readonly run: (
    context: Program.StepContext<Readonly<Record<string, unknown>>, unknown>
  ) => TaskEither<unknown, unknown>
}

export const task = (name: string, spec: LooseSpec): Program.ProgramTask =>
  Program.task(name, { ...spec, run: (context: Context) => spec.run(context) })

export const group = (
  name: string,
  spec: LooseSpec & { readonly needs?: ReadonlyArray<string> }
): Program.ProgramGroup => {
  const { needs = [], ...rest } = spec
  return { ...task(name, rest), needs }
}

// ---------------------------------------------------------------------------------------------------------------------
// stores that misbehave
// ---------------------------------------------------------------------------------------------------------------------

type Call = keyof CheckpointStorage

/** A store around which something happens at every call. */
const aroundEach = (
  storage: CheckpointStorage,
  around: <A>(call: Call, task: TaskEither<never, A>) => TaskEither<never, A>
): CheckpointStorage => {
  const wrap =
    <Args extends ReadonlyArray<unknown>, R>(call: Call, of: (...args: Args) => TaskEither<R, unknown>) =>
    (...args: Args) =>
      around(call, of(...args) as TaskEither<never, unknown>) as never
  return {
    claim: wrap('claim', storage.claim),
    save: wrap('save', storage.save),
    release: wrap('release', storage.release),
    load: wrap('load', storage.load),
    history: wrap('history', storage.history),
    loadRevision: wrap('loadRevision', storage.loadRevision),
    list: wrap('list', storage.list),
    remove: wrap('remove', storage.remove)
  }
}

interface Counted {
  readonly storage: CheckpointStorage
  /** The calls in order. */
  readonly calls: Array<Call>
  /** What each save brought. */
  readonly saves: Array<ReadonlyArray<Change.Change>>
}

const counting = (storage: CheckpointStorage): Counted => {
  const calls: Array<Call> = []
  const saves: Array<ReadonlyArray<Change.Change>> = []
  const counted = aroundEach(storage, (call, task) => () => {
    calls.push(call)
    return task()
  })
  return {
    calls,
    saves,
    storage: {
      ...counted,
      save: (claim, revisions) => () => {
        saves.push(revisions.map(({ change }) => change))
        return counted.save(claim, revisions)()
      }
    }
  }
}

export const WRITE_FAILED: WriteFailed = {
  _tag: 'WriteFailed',
  where: 'the disk',
  operation: 'fdatasync',
  code: 'ENOSPC',
  cause: 'full'
}

/** A store whose n-th save (from 1), and every later one, fails: before it took effect, or after. */
export const failingSave =
  (n: number, when: 'before' | 'after' = 'before') =>
  (storage: CheckpointStorage): CheckpointStorage => {
    let count = 0
    return {
      ...storage,
      save: (claim, revisions) => async () => {
        count += 1
        if (count < n) return await storage.save(claim, revisions)()
        if (when === 'after' && count === n) await storage.save(claim, revisions)()
        return E.left(WRITE_FAILED)
      }
    }
  }

/** A process that can be killed: nothing of it has an effect any more. */
export interface Life {
  readonly alive: () => boolean
  readonly kill: () => void
  readonly killed: Promise<'killed'>
}

export const newLife = (): Life => {
  let alive = true
  let tell: (value: 'killed') => void = () => undefined
  const killed = new Promise<'killed'>((resolve) => (tell = resolve))
  return {
    alive: () => alive,
    killed,
    kill: () => {
      alive = false
      tell('killed')
    }
  }
}

/**
 * A store at whose n-th call (from 1) the process is killed, before the call took effect or after. Nothing that is
 * called from then on takes effect or comes back. `reads`: whether loads count.
 */
export const killingAt =
  (life: Life, n: number, when: 'before' | 'after') =>
  (storage: CheckpointStorage): CheckpointStorage => {
    let count = 0
    return aroundEach(storage, (_, task) => async () => {
      count += 1
      if (!life.alive()) return await new Promise(() => undefined)
      if (count === n) {
        if (when === 'after') await task()
        life.kill()
        return await new Promise(() => undefined)
      }
      return await task()
    })
  }

/** A store whose saves take so long, in virtual time. */
export const slowSaves =
  (clock: FakeClock, millis: number) =>
  (storage: CheckpointStorage): CheckpointStorage => ({
    ...storage,
    save: (claim, revisions) => async () => {
      await clock.sleep(millis, new AbortController().signal)()
      return await storage.save(claim, revisions)()
    }
  })

/** A store whose claims can be lost on demand, while its saves go on to work. */
export const losable = (): {
  readonly around: (storage: CheckpointStorage) => CheckpointStorage
  readonly lose: () => void
} => {
  const lost = new AbortController()
  return {
    lose: () => lost.abort({ _tag: 'Fenced', runId: 'r', epoch: 1, by: O.none }),
    around: (storage) => {
      let given: Parameters<CheckpointStorage['save']>[0] | undefined
      return {
        ...storage,
        claim: (runId, owner) => async () => {
          const claimed = await storage.claim(runId, owner)()
          if (E.isLeft(claimed)) return claimed
          given = claimed.right.claim
          return E.right({ ...claimed.right, claim: { ...claimed.right.claim, lost: lost.signal } })
        },
        save: (claim, revisions) => storage.save(given ?? claim, revisions),
        release: (claim) => storage.release(given ?? claim)
      }
    }
  }
}
