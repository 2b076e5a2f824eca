/** What is looked at around a unit: before it runs, and before it is recorded as completed. */
import type { TaskEither } from 'fp-ts/lib/TaskEither.js'
import type { ExpectedEvidence } from '../../domain/checkpoint/CompletedStep.js'
import type { RetryPolicy } from '../../domain/workflow/RetryPolicy.js'
import type { CheckAnswer } from '../../ports/Checks.js'
import { settling } from '../steps/settle.js'

/**
 * What must hold of the files and commits when a unit has run: these files are there, so many commits were made meanwhile
 * (`true`: at least one), and nothing differs from HEAD. The commits of a wave are those that its groups have recorded.
 *
 * @category model
 */
export interface Expectation {
  readonly files?: ReadonlyArray<string>
  readonly commits?: number | true
  readonly cleanTree?: boolean
}

/**
 * What happens when a check fails: retry the unit under its `retry` policy (three attempts by default), count it as completed, or fail. A
 * wave runs up to three times, with all its groups; if one of them is not idempotent, only the check is repeated. `ask`, the default, calls
 * `Environment.onCheckFailed`; without that hook the unit fails.
 */
export type OnCheckFailure = Extract<CheckAnswer, 'retry' | 'continue' | 'abort'> | 'ask'

/**
 * What is looked at before and after a unit runs. `before` and `after` hold if they don't fail; `evidence` is what it has to leave behind
 * for its record to count.
 */
export interface Guard<Context, Output> {
  /** Must not fail before it starts. */
  readonly before: ((context: Context) => TaskEither<unknown, unknown>) | undefined
  readonly expect: Expectation
  /** Must not fail once it has ended well. */
  readonly after: ((context: Context) => TaskEither<unknown, unknown>) | undefined
  /** What it has to leave behind. */
  readonly evidence: ((output: Output, context: Context) => ReadonlyArray<ExpectedEvidence>) | undefined
  readonly onCheckFailure: OnCheckFailure
  /** How often it is tried when a check fails, where that is the policy. What fails by itself is not tried by this. */
  readonly retry: RetryPolicy
}

/**
 * How a guard is defined, around a unit or around a whole wave.
 *
 * - `before`: must not fail, else it is not started. `after`: must not fail once it has ended well.
 * - `expect`: what has to be there then. Its files and commits are evidence: if they are gone when the run is resumed, it runs
 *   again.
 */
export interface GuardSpec<Context> {
  /** Must not fail before it starts. */
  readonly before?: (context: Context) => unknown
  readonly expect?: Expectation
  /** Must not fail once it has ended well. */
  readonly after?: (context: Context) => unknown
  readonly onCheckFailure?: OnCheckFailure
}

/** The guard that is defined; none if nothing is to be looked at. */
export const fromSpec = <Context, Output>(
  { before, expect, after, onCheckFailure, retry = THRICE }: GuardSpec<Context> & { readonly retry?: RetryPolicy },
  evidence?: ReadonlyArray<ExpectedEvidence> | Guard<Context, Output>['evidence']
): Guard<Context, Output> | undefined =>
  [before, expect, after, onCheckFailure, evidence].every((one) => one === undefined)
    ? undefined
    : {
        before: before === undefined ? undefined : settling(before),
        expect: expect ?? {},
        after: after === undefined ? undefined : settling(after),
        evidence: evidence === undefined || typeof evidence === 'function' ? evidence : () => evidence,
        onCheckFailure: onCheckFailure ?? 'ask',
        retry
      }

/** For a check that is to be tried again, where nothing is said of how often. */
const THRICE: RetryPolicy = { _tag: 'Constant', attempts: 3, delayMillis: 1000, maxDelayMillis: 1000, jitter: 0 }
