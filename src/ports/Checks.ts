/** The port that decides what happens after a failed check. */
import type { ReadonlyNonEmptyArray } from 'fp-ts/lib/ReadonlyNonEmptyArray.js'
import type { Unit } from '../domain/workflow/Unit.js'

/**
 * A failed check, `before` its unit ran or `after`. `wrong`: all failures, as text; `answers`: the possible answers;
 * `previousWave`: the path of the wave that the answer of this name runs again, if possible.
 *
 * @category model
 */
export interface FailedCheck {
  readonly runId: string
  readonly unit: Unit
  readonly stepIndex: number
  readonly when: 'before' | 'after'
  readonly wrong: ReadonlyNonEmptyArray<string>
  readonly answers: ReadonlyNonEmptyArray<CheckAnswer>
  readonly previousWave?: string
}

/**
 * What to do with a unit or wave whose check failed.
 *
 * - `retry`: run it again, a wave with all its groups. Before anything has run, or for a composite inside a wave or map, this repeats only
 *   the check.
 * - `lookAgain`: repeat only the check.
 * - `previousWave`: run the previous wave again, with all its groups and all later steps.
 * - `continue`: count it as passed. `abort`: fail.
 *
 * @category model
 */
export type CheckAnswer = 'retry' | 'lookAgain' | 'previousWave' | 'continue' | 'abort'

/**
 * Answers a failed check. A rejected promise, or an answer that is not possible, counts as `abort`; but `retry` counts as `lookAgain` if only
 * that is possible.
 *
 * @category model
 */
export type OnCheckFailed = (failed: FailedCheck) => Promise<CheckAnswer>
