/** What pending units wait for: jobs, timers and answers. */
import * as IdempotencyKey from './IdempotencyKey.js'
import type { Json } from '../data/Json.js'
import type { Unit } from '../workflow/Unit.js'
import type { OutputMismatch } from '../workflow/Workflow.js'
import type { Units } from './Units.js'
import { get } from './Units.js'

/**
 * A pending job. `key`: the key that it was submitted under; `job`: what `submit` returned, absent if nothing; `attempt`: the attempt that
 * submitted it, absent if the first; `submittedAt`: UTC, ISO 8601.
 */
export interface PendingJob {
  readonly _tag: 'Job'
  readonly unit: Unit
  readonly key: string
  readonly job?: Json
  readonly attempt?: number
  readonly submittedAt: string
}

/**
 * A wait: until a time, or for an answer. `question`: for people; `until`: when the wait for an answer fails with `WAIT_TIMEOUT`; `rejected`: why
 * the last answer did not fit. Times are UTC, ISO 8601.
 */
export type Wait =
  | { readonly _tag: 'Timer'; readonly wakeAt: string }
  | { readonly _tag: 'Answer'; readonly question?: string; readonly until?: string; readonly rejected?: RejectedAnswer }

/** Why an answer does not fit the output of its unit. `by`: who answered; `path`: where in the answer something else was `expected`. */
export interface RejectedAnswer extends OutputMismatch {
  readonly by: string
}

/** A pending wait of a unit. `startedAt`: UTC, ISO 8601. */
export type PendingWait = Wait & { readonly unit: Unit; readonly startedAt: string }

/**
 * A pending unit, and what it waits for.
 *
 * @category model
 */
export type PendingUnit = PendingJob | PendingWait

/** An answer that no wait has taken yet. `by`: who answered; `at`: UTC, ISO 8601. */
export interface BufferedAnswer {
  readonly unit: Unit
  readonly value: Json
  readonly by: string
  readonly at: string
}

/**
 * The key that a unit submits its job under. It is recorded before the first submission, and stays until a submission has a known result:
 * a submission that may have happened is repeated under the same key.
 */
export interface Submission {
  readonly unit: Unit
  readonly key: string
}

/**
 * Returns the key of a unit's next submission: the recorded one, if it may have submitted, else its idempotency key. After a failed job the
 * key changes; under the old one the provider would return the failed job.
 */
export const keyFor = (
  run: IdempotencyKey.KeyedRun & { readonly submissions: Units<Submission> },
  unit: Unit
): string => get(run.submissions, unit)?.key ?? IdempotencyKey.of(run, unit)

/** Returns when a unit started to wait. */
export const since = (pending: PendingUnit): string =>
  pending._tag === 'Job' ? pending.submittedAt : pending.startedAt

/** Returns the number of the attempt that waits. */
export const attemptOf = (pending: PendingUnit): number => (pending._tag === 'Job' ? (pending.attempt ?? 1) : 1)

/** Returns the next time (UTC, ISO 8601) at which a wait ends by itself, or undefined. */
export const wakeAt = (all: Iterable<PendingUnit>): string | undefined => {
  let first: string | undefined
  for (const one of all) {
    const time = endOf(one)
    if (time !== undefined && (first === undefined || time < first)) first = time
  }
  return first
}

/** Returns when a wait ends by itself (UTC, ISO 8601): at its time, or at its timeout. */
export const endOf = (pending: Wait | PendingJob): string | undefined => {
  if (pending._tag === 'Job') return undefined
  return pending._tag === 'Timer' ? pending.wakeAt : pending.until
}

/** Returns the open wait of a unit. */
export const waitOf = ({ pending }: { readonly pending: Units<PendingUnit> }, unit: Unit): PendingWait | undefined => {
  const found = get(pending, unit)
  return found?._tag === 'Job' ? undefined : found
}
