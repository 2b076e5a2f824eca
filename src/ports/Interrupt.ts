/** The port for stopping a run. */
import type { InterruptReason } from '../domain/checkpoint/CheckpointState.js'

/**
 * Stops a run when `signal` fires. The executor aborts the step in flight with the same `signal.reason`, records the interruption and ends.
 *
 * @category model
 */
export interface Interrupt {
  readonly signal: AbortSignal
  /** Returns why the run stops; called only after `signal` fired. Other values are recorded as `aborted`. */
  readonly reason: () => Extract<InterruptReason, 'signal' | 'aborted' | 'paused'>
}
