/**
 * Outside work that a run waits for, and the keys under which it is handed over.
 *
 * @module
 * @since 0.1.0
 */
import { fingerprint } from './Digest.js'
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
 * The key under which a unit submits its next job: the one that it has, if it may have submitted one already. Else a new
 * one, a hash of run id, creation time, generation and unit, and of how many jobs of the run ended badly, if any did:
 * under the key of a job that failed a provider would give that one back for ever.
 *
 * @category constructors
 * @since 0.1.0
 */
export const keyFor = (
  run: {
    readonly runId: string
    readonly createdAt: string
    readonly generation: number
    readonly submissions: ReadonlyArray<Submission>
    readonly endedJobs: number
  },
  unit: Unit
): string => find(run.submissions, unit)?.key ?? keyOf(run, unit, run.endedJobs)

/**
 * A hash of run id, creation time, generation and unit, and of a number if that is not 0. 32 hex digits.
 *
 * @category constructors
 * @since 0.1.0
 */
export const keyOf = (
  run: { readonly runId: string; readonly createdAt: string; readonly generation: number },
  unit: Unit,
  ended = 0
): string => {
  const named = [run.runId, run.createdAt, run.generation, unit]
  return fingerprint(ended === 0 ? named : [...named, ended]).slice(3, 35)
}

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
