/**
 * Outside work that a run waits for, and the keys under which it is handed over.
 *
 * @module
 * @since 0.1.0
 */
import * as IdempotencyKey from './IdempotencyKey.js'
import type { Json } from './Json.js'
import type { Unit } from './Unit.js'

// ---------------------------------------------------------------------------------------------------------------------
// model
// ---------------------------------------------------------------------------------------------------------------------

/**
 * Outside work that a pending unit waits for. `key`: under which it was submitted; `job`: what the submission gave, absent
 * if it gave nothing; `attempt`: which attempt submitted it, absent if that was the first; `submittedAt`: UTC, ISO 8601.
 *
 * @category model
 * @since 0.1.0
 */
export interface PendingJob {
  readonly unit: Unit
  readonly key: string
  readonly job?: Json
  readonly attempt?: number
  readonly submittedAt: string
}

/**
 * A key under which a unit submits a job. It is there before the unit first submits, and until it is known what became
 * of that: a submission that may have happened is repeated under it.
 *
 * @category model
 * @since 0.1.0
 */
export interface Submission {
  readonly unit: Unit
  readonly key: string
}

// ---------------------------------------------------------------------------------------------------------------------
// constructors
// ---------------------------------------------------------------------------------------------------------------------

/**
 * None.
 *
 * @category constructors
 * @since 0.1.0
 */
export const none: ReadonlyArray<never> = []

/**
 * The key under which a unit submits its next job: the one that it has, if it may have submitted one already, or its
 * {@link IdempotencyKey.of}. Once a job ended badly that is another: under the old one a provider would give that job back for
 * ever.
 *
 * @category constructors
 * @since 0.1.0
 */
export const keyFor = (
  run: IdempotencyKey.KeyedRun & { readonly submissions: ReadonlyArray<Submission> },
  unit: Unit
): string => find(run.submissions, unit)?.key ?? IdempotencyKey.of(run, unit)

// ---------------------------------------------------------------------------------------------------------------------
// destructors
// ---------------------------------------------------------------------------------------------------------------------

/**
 * The one of a unit, if there is one.
 *
 * @category destructors
 * @since 0.1.0
 */
export const find = <A extends { readonly unit: Unit }>(all: ReadonlyArray<A>, unit: Unit): A | undefined =>
  all.length === 0 ? undefined : all.find((one) => one.unit === unit)

/**
 * All but that of a unit. The same list if it has none.
 *
 * @category combinators
 * @since 0.1.0
 */
export const without = <A extends { readonly unit: Unit }>(all: ReadonlyArray<A>, unit: Unit): ReadonlyArray<A> =>
  find(all, unit) === undefined ? all : all.filter((one) => one.unit !== unit)
