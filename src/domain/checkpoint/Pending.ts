/** What the units of a run wait for: jobs, timers and answers. */
import * as IdempotencyKey from './IdempotencyKey.js'
import type { Json } from '../data/Json.js'
import type { Unit } from '../workflow/Unit.js'
import type { Units } from './Units.js'
import { get } from './Units.js'

// --- model

/**
 * Outside work that a unit waits for. `key`: the unit submitted it under this key; `job`: what the submission returned, absent if it
 * returned nothing; `attempt`: the attempt that submitted it, absent if it was the first; `submittedAt`: UTC, ISO 8601.
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
 * What a wait started for: until a time, or for an answer. `question`: for people; `until`: when the wait for an answer fails with
 * `WAIT_TIMEOUT`. Times are UTC, ISO 8601.
 */
export type Wait =
  | { readonly _tag: 'Timer'; readonly wakeAt: string }
  | { readonly _tag: 'Answer'; readonly question?: string; readonly until?: string }

/** A wait of a unit. `startedAt`: UTC, ISO 8601. */
export type PendingWait = Wait & { readonly unit: Unit; readonly startedAt: string }

/**
 * A unit that waits, and what for.
 *
 * @category model
 */
export type PendingUnit = PendingJob | PendingWait

/** An answer that no wait has taken yet. `by`: who gave it; `at`: UTC, ISO 8601. */
export interface GivenAnswer {
  readonly unit: Unit
  readonly value: Json
  readonly by: string
  readonly at: string
}

/**
 * A key under which a unit submits a job. It is there before the unit first submits, and until it is known what became of that: a
 * submission that may have happened is repeated under it.
 */
export interface Submission {
  readonly unit: Unit
  readonly key: string
}

// --- constructors

/**
 * The key under which a unit submits its next job: the one that it has, if it may have submitted one already, or its `IdempotencyKey.of`. Once a job ended badly that is another: under the old one a provider would give that job back for ever.
 */
export const keyFor = (
  run: IdempotencyKey.KeyedRun & { readonly submissions: Units<Submission> },
  unit: Unit
): string => get(run.submissions, unit)?.key ?? IdempotencyKey.of(run, unit)

// --- destructors

/** When a unit began to wait. */
export const since = (pending: PendingUnit): string =>
  pending._tag === 'Job' ? pending.submittedAt : pending.startedAt

/** The number of the attempt that waits. */
export const attemptOf = (pending: PendingUnit): number => (pending._tag === 'Job' ? (pending.attempt ?? 1) : 1)

/** The next time (UTC, ISO 8601) at which a wait ends by itself, if there is one. */
export const wakeAt = (all: Iterable<PendingUnit>): string | undefined => {
  let first: string | undefined
  for (const one of all) {
    const time = endOf(one)
    if (time !== undefined && (first === undefined || time < first)) first = time
  }
  return first
}

/** When a wait ends by itself (UTC, ISO 8601): a timer at its time, a wait for an answer when it times out. */
export const endOf = (pending: PendingUnit): string | undefined =>
  pending._tag === 'Timer' ? pending.wakeAt : pending._tag === 'Answer' ? pending.until : undefined
