/** The options of resuming all runs. */
import type { Check } from '../domain/data/Options.js'
import { callback, flag, wholeFrom } from '../domain/data/Options.js'
import { PLAN_OPTIONS } from '../domain/plan/planOptions.js'
import type { ResumeOptions } from '../executor/RunOptions.js'
import type { ResumedRun } from './ResumedRun.js'

/**
 * How to resume all runs.
 *
 * - `concurrency`: how many runs are resumed at once, a whole number of at least 1, default 10. Only the checkpoints of these runs are in memory.
 * - `watch`: stay until the environment is interrupted: wake runs when they are due, and take over those whose owner died. Without it the call ends
 *   with the last of the runs that it found.
 * - `undecidedMillis`: how long to retry a run while the store cannot decide whether its owner lives, default 70,000: more than the default stale
 *   time of every store. If you raise `heartbeat.staleMillis` or `leaseMillis` above that, raise it, too. A run whose owner is alive is left at once.
 * - `changes`, `onChanged`: as in `ResumeOptions`, for each run.
 *
 * @category model
 */
export interface ResumeAllOptions extends Pick<ResumeOptions, 'changes' | 'onChanged'> {
  readonly concurrency?: number
  readonly watch?: boolean
  /** Called for each run when its resume has ended or it is left, and again when that changes. Exceptions and rejections are ignored. */
  readonly onRun?: (run: ResumedRun) => void
  readonly undecidedMillis?: number
}

const number: Check = (value) => (typeof value === 'number' && !Number.isNaN(value) ? undefined : 'a number')

/** The checks of the options of `resumeAll`. */
export const RESUME_ALL: Readonly<Record<keyof ResumeAllOptions, Check>> = {
  changes: PLAN_OPTIONS.changes,
  onChanged: PLAN_OPTIONS.onChanged,
  concurrency: wholeFrom(1),
  watch: flag,
  onRun: callback,
  undecidedMillis: number
}
