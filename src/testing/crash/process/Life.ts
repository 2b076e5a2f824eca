/** A process that can be killed: from then on nothing of it has an effect any more. */
import * as E from 'fp-ts/lib/Either.js'
import type { CheckpointStorage, StorageError } from '../../../ports/CheckpointStorage.js'
import type { StorageCall } from '../../faults.js'
import { aroundEach } from '../../faults.js'

/** One process. `signal` fires when it is killed. */
export interface Life {
  readonly alive: () => boolean
  readonly kill: () => void
  readonly killed: Promise<'killed'>
  readonly signal: AbortSignal
}

/**
 * How a process dies at a call of its store.
 *
 * - `before`: the call is never made.
 * - `after`: it has taken effect, and the process dies before it hears of it.
 * - `torn`: it is under way. The process does not live to see how it ends; the store goes on with it, or not, at the same
 *   time as the next process starts.
 * - `slow`: it is under way, and reaches the store right before the next process claims the run: what that process has
 *   looked at before is old.
 * - `meanwhile`: it is under way, and reaches the store at the same time as the claim of the next process. What it then
 *   acknowledges, that process must have been given.
 * - `late`: it is under way, and reaches the store only when the next process has claimed the run.
 *
 * A save of several revisions is never split: the port promises all or nothing, and whether a store keeps that promise is
 * for its conformance test to say.
 *
 * @category model
 */
export type DeathAtCall = 'before' | 'after' | 'torn' | Delayed

/**
 * When a call reaches the store that a process made before it died: see {@link DeathAtCall}.
 *
 * @category model
 */
export type Delayed = 'slow' | 'meanwhile' | 'late'

/**
 * What is told of the calls of a killable process, and what it asks: the n-th call (from 1) is made; how does it die there?
 * `delayed`: a call that is yet to be made, when the next process claims. `begun` and `ended`: a call is under way.
 */
export interface CallWatch {
  readonly death: (call: StorageCall, n: number) => DeathAtCall | undefined
  readonly delayed?: (call: StorageCall, how: Delayed, make: () => Promise<E.Either<StorageError, unknown>>) => void
  readonly begun?: (call: StorageCall) => void
  readonly ended?: (call: StorageCall, result: E.Either<StorageError, unknown>) => void
}

/** A process that was just started. */
export const newLife = (): Life => {
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

/** What a dead process waits for. */
export const never = <A>(): Promise<A> => new Promise<A>(() => undefined)

/**
 * A store as a killable process has it: at some call the process dies, and from then on nothing that it calls takes effect
 * or comes back, nor does the answer to what was under way.
 */
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

/** A store that throws where it should tell has failed as well. */
const settle = async <A>(task: () => Promise<E.Either<StorageError, A>>): Promise<E.Either<StorageError, A>> => {
  try {
    return await task()
  } catch (cause) {
    return E.left({ _tag: 'WriteFailed', where: 'the store', operation: 'call', code: 'THREW', cause })
  }
}

/** A store at whose n-th call (from 1) the process dies. */
export const killingAt =
  (life: Life, n: number, how: DeathAtCall) =>
  (storage: CheckpointStorage): CheckpointStorage =>
    killable(life, storage, { death: (_, count) => (count === n ? how : undefined) })
