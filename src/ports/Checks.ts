/**
 * What somebody is asked when a check around a unit fails.
 *
 * @since 0.1.0
 */
import type { ReadonlyNonEmptyArray } from 'fp-ts/lib/ReadonlyNonEmptyArray.js'

/**
 * A check that failed, `before` its unit ran or `after`; `wrong`: all that does not hold, in words; `answers`: what can be answered;
 * `previousWave`: the wave that this goes back to, where it can be answered.
 *
 * @category model
 * @since 0.1.0
 */
export interface FailedCheck {
  readonly runId: string
  readonly stepIndex: number
  readonly step: string
  readonly group?: string
  readonly when: 'before' | 'after'
  readonly wrong: ReadonlyNonEmptyArray<string>
  readonly answers: ReadonlyNonEmptyArray<CheckAnswer>
  readonly previousWave?: string
}

/**
 * What becomes of a unit or wave of which a check failed.
 *
 * - `retry`: it is tried again, a wave with all its groups. Where nothing has run yet that is to look again.
 * - `lookAgain`: only the check is repeated.
 * - `previousWave`: the wave before runs again, with all its groups and what follows.
 * - `continue`: it counts all the same. `abort`: it has failed.
 *
 * @category model
 * @since 0.1.0
 */
export type CheckAnswer = 'retry' | 'lookAgain' | 'previousWave' | 'continue' | 'abort'

/**
 * Answers for a check that failed. One that rejects, or gives what can not be answered, answers `abort`.
 *
 * @category model
 * @since 0.1.0
 */
export type OnCheckFailed = (failed: FailedCheck) => Promise<CheckAnswer>
