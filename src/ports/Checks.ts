/**
 * What somebody is asked when a check around a unit fails.
 *
 * @since 0.1.0
 */
import type { ReadonlyNonEmptyArray } from 'fp-ts/lib/ReadonlyNonEmptyArray.js'

/**
 * A check that failed, `before` its unit ran or `after`; `wrong`: all that does not hold, in words.
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
}

/**
 * Try it again, let it count all the same, or let it have failed.
 *
 * @category model
 * @since 0.1.0
 */
export type CheckAnswer = 'retry' | 'continue' | 'abort'

/**
 * Answers for a check that failed. One that rejects answers `abort`.
 *
 * @category model
 * @since 0.1.0
 */
export type OnCheckFailed = (failed: FailedCheck) => Promise<CheckAnswer>
