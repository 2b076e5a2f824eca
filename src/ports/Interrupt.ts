/** A request to stop, as a value. */
import type { InterruptReason } from '../domain/checkpoint/CheckpointState.js'

/**
 * Fires when somebody wants the run to stop. The executor then aborts the step that runs, for the same `signal.reason`,
 * records the interruption and ends; `reason` says what for.
 *
 * @category model
 */
export interface Interrupt {
  readonly signal: AbortSignal
  /** What the stop is for; asked only after `signal` fired. Anything else than these reasons is recorded as `aborted`. */
  readonly reason: () => Extract<InterruptReason, 'signal' | 'aborted' | 'paused'>
}
