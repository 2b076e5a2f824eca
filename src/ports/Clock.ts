/** Time, as something that can be replaced. */
import type { Task } from 'fp-ts/lib/Task.js'

/**
 * The time and the wait for it.
 *
 * @category model
 */
export interface Clock {
  /** Milliseconds since 1970-01-01 UTC. */
  readonly now: () => number
  /** Resolves after so many milliseconds, or as soon as the signal fires. One that rejects then has woken as well. */
  readonly sleep: (millis: number, signal: AbortSignal) => Task<void>
}
