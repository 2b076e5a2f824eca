/** The port for time. */
import type { Task } from 'fp-ts/lib/Task.js'

/**
 * Reads the time, and waits.
 *
 * @category model
 */
export interface Clock {
  /** Milliseconds since 1970-01-01 UTC. */
  readonly now: () => number
  /** Milliseconds since any moment, which setting the clock does not change. Without it, a clock that is set ends or prolongs some timeouts. */
  readonly monotonic?: () => number
  /** Resolves after this number of milliseconds, or once the signal fires. A rejection then counts as resolved. */
  readonly sleep: (millis: number, signal: AbortSignal) => Task<void>
}
