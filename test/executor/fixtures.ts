/** Helpers for the executor's laws: virtual time, a process that can be killed, and faulty stores. */
import assert from 'node:assert/strict'
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import { memoryData, memoryRequests, memoryStorage } from '../../src/adapters/memory.js'
import type { MemoryData } from '../../src/adapters/memory.js'
import type {
  CheckpointStorage,
  Environment,
  Event,
  Executor,
  Interrupt,
  Stored,
  WriteFailed
} from '../../src/index.js'
import type * as Change from '../../src/domain/change/Change.js'
import type * as Checkpoint from '../../src/domain/checkpoint/Checkpoint.js'
import * as Program from '../../src/executor/program/Program.js'
import { restoreStored } from '../../src/executor/storage/stored.js'
import * as RetryPolicy from '../../src/domain/workflow/RetryPolicy.js'
import type { RunError } from '../../src/executor/errors/RunError.js'
import type { RunOutcome } from '../../src/executor/RunOutcome.js'
import type { VirtualClock as FakeClock } from '../../src/testing/crash/process/VirtualClock.js'
import { quiet, virtualClock as fakeClock } from '../../src/testing/crash/process/VirtualClock.js'
import type { DeathAtCall, Life } from '../../src/testing/crash/process/Life.js'
import { killable, startLife } from '../../src/testing/crash/process/Life.js'
import type { StorageCall } from '../../src/testing/faults.js'
import type { TreeData } from '../../src/testing/memoryTree.js'
import { memoryTree, treeData } from '../../src/testing/memoryTree.js'
import { aroundEach, withFaults } from '../../src/testing/faults.js'

export type { Life } from '../../src/testing/crash/process/Life.js'
export { quiet, START, virtualClock as fakeClock } from '../../src/testing/crash/process/VirtualClock.js'

/** `killed`: resolves when the process is killed. */
export const newLife = () => {
  const life = startLife()
  const killed = new Promise<'killed'>((resolve) => life.signal.addEventListener('abort', () => resolve('killed')))
  return { ...life, killed }
}

/** Awaits a promise and advances time to the next sleeper whenever nothing else can run. */
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

export const killingAt =
  (life: Life, n: number, how: DeathAtCall) =>
  (storage: CheckpointStorage): CheckpointStorage =>
    killable(life, storage, { at: (_, count) => (count === n ? how : undefined) })

// ---------------------------------------------------------------------------------------------------------------------
// a process
// ---------------------------------------------------------------------------------------------------------------------

/** What outlives a process: the store's data, files and commits, and outside effects. */
export interface World {
  readonly data: MemoryData
  readonly tree: TreeData
  readonly log: Array<string>
}

/** One process: its ports, the events that its observer received, and a way to stop it. */
export interface Process {
  readonly world: World
  readonly clock: FakeClock
  readonly storage: CheckpointStorage
  /** The calls of the store in order, and the revisions of each save. */
  readonly calls: ReadonlyArray<StorageCall>
  readonly saves: ReadonlyArray<ReadonlyArray<Change.Change>>
  readonly events: ReadonlyArray<Event>
  readonly environment: Environment
  readonly stop: (reason?: 'signal' | 'aborted') => void
  /** Runs to the end and advances time as needed. */
  readonly perform: (executor: Executor<RunOutcome>) => Promise<E.Either<RunError, RunOutcome>>
}

export const newWorld = (): World => ({ data: memoryData(), tree: treeData(), log: [] })

export const newProcess = (
  world: World = newWorld(),
  given: Partial<Omit<Environment, 'around'>> & {
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
    tree: memoryTree(world.tree),
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

interface Asked {
  readonly runId: string
  readonly world: World
  readonly requests: ReturnType<typeof memoryRequests>
}

/** A process that calls `ask` once, before it releases the run. */
export const askedBeforeRelease = (
  ask: (process: Process) => Promise<unknown>,
  { runId = 'r', world = newWorld(), requests = memoryRequests() }: Partial<Asked> = {}
): Pick<Asked, 'requests'> & { readonly process: Process } => {
  let asked = false
  const process: Process = newProcess(world, {
    requests,
    around: (storage) => ({
      ...storage,
      release: (claim) => async () => {
        if (claim.runId === runId && !asked) {
          asked = true
          await ask(process)
        }
        return storage.release(claim)()
      }
    })
  })
  return { process, requests }
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
  Object.fromEntries([...checkpoint.completedSteps].map(({ unit, output }) => [unit, output]))

// ---------------------------------------------------------------------------------------------------------------------
// programs
// ---------------------------------------------------------------------------------------------------------------------

export const policy = (given: Partial<RetryPolicy.RetryPolicy>): RetryPolicy.RetryPolicy =>
  right(RetryPolicy.make({ jitter: 0, ...given }))

type Spec = Program.TaskSpec<never, unknown>
type Context = Program.StepContext<never, never>

/** What an untyped task may pass to its spec: its `run` receives everything as unknown. */
export interface LooseSpec extends Omit<Spec, 'run'> {
  readonly run: (context: Program.StepContext<Readonly<Record<string, unknown>>, unknown>) => unknown
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
// faulty stores
// ---------------------------------------------------------------------------------------------------------------------

interface Counted {
  readonly storage: CheckpointStorage
  /** The calls in order. */
  readonly calls: Array<StorageCall>
  /** The revisions of each save. */
  readonly saves: Array<ReadonlyArray<Change.Change>>
}

const counting = (storage: CheckpointStorage): Counted => {
  const calls: Array<StorageCall> = []
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
  committed: 'unknown',
  where: 'the disk',
  operation: 'fdatasync',
  code: 'ENOSPC',
  cause: 'full'
}

/** A full disk: nothing was saved. */
export const FULL: WriteFailed = { ...WRITE_FAILED, committed: 'no', where: 'B', operation: 'write', cause: undefined }

/** A store whose n-th save (from 1) and all later ones fail: before they take effect, or the n-th after. */
export const failingSave =
  (n: number, when: 'before' | 'after' = 'before') =>
  (storage: CheckpointStorage): CheckpointStorage =>
    withFaults(storage, [
      { call: 'save', nth: n, fault: { _tag: 'Fail', when, error: WRITE_FAILED } },
      { call: 'save', from: n + 1, fault: { _tag: 'Fail', when: 'before', error: WRITE_FAILED } }
    ])

/** A store whose saves take this long in virtual time. */
export const slowSaves =
  (clock: FakeClock, millis: number) =>
  (storage: CheckpointStorage): CheckpointStorage =>
    withFaults(storage, [{ call: 'save', fault: { _tag: 'Delay', millis } }], { clock })

/** A store whose claims can be lost on demand while its saves still succeed. */
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
