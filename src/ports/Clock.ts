/**
 * Time, as something that can be replaced.
 *
 * @since 0.1.0
 */
import type { Task } from 'fp-ts/lib/Task.js'

/**
 * The time and the wait for it.
 *
 * @category model
 * @since 0.1.0
 */
export interface Clock {
  /** Milliseconds since 1970-01-01 UTC. */
  readonly now: () => number
  /** Resolves after so many milliseconds, or as soon as the signal fires. One that rejects then has woken as well. */
  readonly sleep: (millis: number, signal: AbortSignal) => Task<void>
}
