/** A process that can be killed; from then on it has no effect. */
import * as E from 'fp-ts/lib/Either.js'
import { callPort, STORE, writeFailed } from '../../../executor/callPort.js'
import type { CheckpointStorage, StorageError } from '../../../ports/CheckpointStorage.js'
import type { StorageCall } from '../../faults.js'
import { aroundEach, failureOf } from '../../faults.js'

/**
 * How a process dies at a store call.
 *
 * - `before`: the call is never made.
 * - `after`: the call takes effect; the process dies before it gets the reply.
 * - `torn`: the process dies while the call is in flight. The store may finish it while the next process starts.
 * - `slow`: the call reaches the store right before the next process claims the run, after that process has read it.
 * - `meanwhile`: the call reaches the store together with the next claim. If the store acknowledges it, that claim must
 *   return it.
 * - `late`: the call reaches the store after the next process has claimed the run.
 *
 * A save of several revisions is never split: the conformance kit tests that saves are atomic.
 *
 * @category model
 */
export type DeathAtCall = 'before' | 'after' | 'torn' | Delayed

/**
 * When a call of a dead process reaches the store: see {@link DeathAtCall}.
 *
 * @category model
 */
export type Delayed = 'slow' | 'meanwhile' | 'late'

/**
 * `at` decides what goes wrong at the n-th call (from 1). `delayed` receives a call to make when the next process
 * claims. `around` watches a call that is made.
 */
export interface CallWatch {
  readonly at: (call: StorageCall, n: number) => DeathAtCall | 'fails' | 'failsAfter' | undefined
  readonly delayed?: (call: StorageCall, how: Delayed, make: () => Promise<E.Either<StorageError, unknown>>) => void
  readonly around?: <A>(make: () => Promise<A>) => Promise<A>
}

/** `signal` fires when the process is killed. */
export interface Life {
  readonly signal: AbortSignal
  readonly alive: () => boolean
  readonly kill: () => void
}

export const startLife = (): Life => {
  const controller = new AbortController()
  const { signal } = controller
  return { signal, alive: () => !signal.aborted, kill: () => controller.abort('the process was killed') }
}

export const never = <A>(): Promise<A> => new Promise<A>(() => undefined)

/** A dead process starts nothing and gets no result. */
export const whileAlive = async <A>({ alive }: Pick<Life, 'alive'>, work: () => Promise<A>): Promise<A> => {
  if (!alive()) return await never()
  const result = await work()
  return alive() ? result : await never()
}

/** A call of a port: at it the process may die, or the port may report a failure. `how` runs only if the process is alive. */
export const callWhileAlive = <A>(
  life: Life,
  how: () => 'before' | 'torn' | 'after' | 'fails' | 'failsAfter' | undefined,
  make: () => Promise<A>,
  failure: () => A | Promise<A>
): Promise<A> =>
  whileAlive(life, async () => {
    const planned = how()
    if (planned === 'fails') return failure()
    if (planned === 'before') {
      life.kill()
      return await never()
    }
    const made = make()
    if (planned === 'torn') life.kill()
    const result = await made
    if (planned === 'after') life.kill()
    return planned === 'failsAfter' ? failure() : result
  })

/** Wraps a store so that a call can fail, or the process can die at it. A dead process makes no call and gets no result. */
export const killable = (life: Life, storage: CheckpointStorage, watch: CallWatch): CheckpointStorage => {
  const { at, delayed, around = (make) => make() } = watch
  let count = 0
  return aroundEach(storage, (call, task) => () => {
    const n = (count += 1)
    const how = () => {
      const planned = at(call, n)
      if (planned !== 'slow' && planned !== 'meanwhile' && planned !== 'late') return planned
      delayed?.(call, planned, task)
      return 'before'
    }
    return callWhileAlive(
      life,
      how,
      () => around(() => callPort('call', () => task, writeFailed(STORE))),
      () => E.left(failureOf(call))
    )
  })
}

/** The work of a process in flight. `progress` changes whenever something observable happens. */
export interface Activity {
  progress: number
  /** Store calls and requests. */
  calls: number
  /** Units that run, and those among them that sleep. */
  running: number
  asleep: number
  /** The store reported a planned failure. */
  failed: boolean
}

export const counted = async <A>(
  activity: Activity,
  kind: Exclude<keyof Activity, 'progress' | 'failed'>,
  work: () => Promise<A>
): Promise<A> => {
  activity[kind] += 1
  activity.progress += 1
  try {
    return await work()
  } finally {
    activity[kind] -= 1
    activity.progress += 1
  }
}
