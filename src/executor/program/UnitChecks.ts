/** The checks around a unit: before it runs, and before it is recorded as completed. */
import type { TaskEither } from 'fp-ts/lib/TaskEither.js'
import type { ExpectedEvidence } from '../../domain/checkpoint/CompletedStep.js'
import type { RetryPolicy } from '../../domain/workflow/RetryPolicy.js'
import { policyOf } from '../../domain/workflow/RetryPolicy.js'
import type { CheckAnswer } from '../../ports/Checks.js'
import { settling } from '../steps/callUserCode.js'

/**
 * What must hold after a unit ran: these files exist, exactly this number of commits was made meanwhile (`true`: at least one), and nothing
 * differs from HEAD. The commits of a composite are those that its parts recorded.
 *
 * @category model
 */
export interface Expectation {
  readonly files?: ReadonlyArray<string>
  readonly commits?: number | true
  readonly cleanTree?: boolean
}

/**
 * What happens when a check fails: `retry` the unit under its `retry` policy (three attempts by default), `continue` as if it had passed, or
 * `abort`. With `retry`, a sequence, wave or map runs up to three times, with all its parts. Only the check is repeated before the start, if a
 * part is not idempotent, or if a wave or map contains the composite, on any level. `ask`, the default, calls
 * `Environment.onCheckFailed`; without that hook the unit fails.
 */
export type OnCheckFailure = Extract<CheckAnswer, 'retry' | 'continue' | 'abort'> | 'ask'

/** A unit's checks, for the executor. A `Left` or false is a failure. The unit's record counts only while its `evidence` exists. */
export interface Checks<Context, Output> {
  /** Runs before the unit starts. If it fails, `onCheckFailure` decides; by default the unit does not start. */
  readonly before: ((context: Context) => TaskEither<unknown, unknown>) | undefined
  readonly expect: Expectation
  /** Runs after the work of the unit. If it fails, `onCheckFailure` decides; by default the unit does not complete. */
  readonly after: ((context: Context) => TaskEither<unknown, unknown>) | undefined
  /** The evidence that the unit must leave behind. */
  readonly evidence: ((output: Output, context: Context) => ReadonlyArray<ExpectedEvidence>) | undefined
  readonly onCheckFailure: OnCheckFailure
  /** The retry policy for failed checks with `onCheckFailure: 'retry'`; other failures ignore it. */
  readonly retry: RetryPolicy
}

/**
 * The checks of a task, sequence, wave or map, as users declare them.
 *
 * - `before`, `after`: they fail by throwing, rejecting, a `Left`, or `false`.
 * - `expect`: what must exist after the unit ran. Its files and commits are evidence: if they are missing on a resume, the unit runs again.
 */
export interface CheckOptions<Context> {
  /** Runs before the unit starts. If it fails, `onCheckFailure` decides; by default the unit does not start. */
  readonly before?: (context: Context) => unknown
  readonly expect?: Expectation
  /** Runs after the work of the unit. If it fails, `onCheckFailure` decides; by default the unit does not complete. */
  readonly after?: (context: Context) => unknown
  readonly onCheckFailure?: OnCheckFailure
}

/** Makes the checks of a unit for the executor; undefined if there is nothing to check. */
export const fromSpec = <Context, Output>(
  { before, expect, after, onCheckFailure, retry }: CheckOptions<Context> & { readonly retry?: Partial<RetryPolicy> },
  evidence?: ReadonlyArray<ExpectedEvidence> | Checks<Context, Output>['evidence']
): Checks<Context, Output> | undefined =>
  before === undefined &&
  expect === undefined &&
  after === undefined &&
  onCheckFailure === undefined &&
  evidence === undefined
    ? undefined
    : {
        before: before === undefined ? undefined : settling(before),
        expect: expect ?? {},
        after: after === undefined ? undefined : settling(after),
        evidence: evidence === undefined || typeof evidence === 'function' ? evidence : () => evidence,
        onCheckFailure: onCheckFailure ?? 'ask',
        retry: retry === undefined ? THREE_ATTEMPTS : policyOf(retry)
      }

const THREE_ATTEMPTS: RetryPolicy = {
  _tag: 'Constant',
  attempts: 3,
  delayMillis: 1000,
  maxDelayMillis: 1000,
  jitter: 0
}
