/** A process that can be killed; from then on it has no effect. */
import * as E from 'fp-ts/lib/Either.js'
import type { CheckpointStorage, StorageError } from '../../../ports/CheckpointStorage.js'
import type { StorageCall } from '../../faults.js'
import { aroundEach } from '../../faults.js'

/** `signal` fires when the process is killed. */
export interface Life {
  readonly alive: () => boolean
  readonly kill: () => void
  readonly killed: Promise<'killed'>
  readonly signal: AbortSignal
}

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

/** `death` decides whether the n-th call (from 1) kills the process. `delayed` receives a call to make when the next process claims. */
export interface CallWatch {
  readonly death: (call: StorageCall, n: number) => DeathAtCall | undefined
  readonly delayed?: (call: StorageCall, how: Delayed, make: () => Promise<E.Either<StorageError, unknown>>) => void
  readonly begun?: (call: StorageCall) => void
  readonly ended?: (call: StorageCall, result: E.Either<StorageError, unknown>) => void
}

export const startLife = (): Life => {
  const controller = new AbortController()
  let tell: (value: 'killed') => void = () => undefined
  const killed = new Promise<'killed'>((resolve) => (tell = resolve))
  return {
    alive: () => !controller.signal.aborted,
    killed,
    signal: controller.signal,
    kill: () => {
      controller.abort('the process was killed')
      tell('killed')
    }
  }
}

export const never = <A>(): Promise<A> => new Promise<A>(() => undefined)

/** Wraps a store so that the process can die at a call. After that no call takes effect or returns. */
export const killable = (life: Life, storage: CheckpointStorage, watch: CallWatch): CheckpointStorage => {
  let count = 0
  return aroundEach(storage, (call, task) => async () => {
    count += 1
    if (!life.alive()) return await never()
    const death = watch.death(call, count)
    if (death !== undefined && death !== 'after' && death !== 'torn') {
      if (death !== 'before') watch.delayed?.(call, death, task)
      life.kill()
      return await never()
    }
    watch.begun?.(call)
    const made = settle(task)
    if (death === 'torn') life.kill()
    const result = await made
    watch.ended?.(call, result)
    if (death === 'after') life.kill()
    return life.alive() ? result : await never()
  })
}

/** A store that throws has failed as well. */
const settle = async <A>(task: () => Promise<E.Either<StorageError, A>>): Promise<E.Either<StorageError, A>> => {
  try {
    return await task()
  } catch (cause) {
    return E.left({
      _tag: 'WriteFailed',
      committed: 'unknown',
      where: 'the store',
      operation: 'call',
      code: 'THREW',
      cause
    })
  }
}
