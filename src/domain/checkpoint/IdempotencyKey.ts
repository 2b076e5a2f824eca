/**
 * The keys under which units call services, so that a service can recognize a repeated call.
 *
 * @module
 */
import { fingerprint } from '../data/Digest.js'
import type { Unit } from '../workflow/Unit.js'
import { parent } from '../workflow/Unit.js'

/**
 * How often the key of a unit, and those of its parts, became another: with each rewind that named it, with each job of it that
 * ended badly, and when an edit of the workflow dropped its record.
 *
 * @category model
 */
export type Renewals = ReadonlyMap<Unit, number>

/**
 * What a key is made of, beside its unit. A checkpoint is one.
 *
 * @category model
 */
export interface KeyedRun {
  readonly runId: string
  readonly createdAt: string
  readonly renewals: Renewals
}

/**
 * No unit has another key yet.
 *
 * @category constructors
 */
export const none: Renewals = new Map()

/**
 * Each of these units, and its parts, gets another key.
 *
 * @category combinators
 */
export const renewed = (self: Renewals, units: Iterable<Unit>): Renewals => {
  const renewals = new Map(self)
  for (const unit of units) renewals.set(unit, (renewals.get(unit) ?? 0) + 1)
  return renewals
}

/**
 * The key of a unit, 32 hex digits: a hash of run id, creation time and unit, and of how often it became another. It is the same
 * in all attempts and resumes, whatever happens to other units.
 *
 * @example
 * import { IdempotencyKey } from 'dogear'
 * import assert from 'node:assert/strict'
 *
 * const run = { runId: 'r', createdAt: '2026-01-02T03:04:05.000Z', renewals: IdempotencyKey.none }
 * const later = { ...run, renewals: IdempotencyKey.renewed(run.renewals, ['deploy']) }
 * assert.equal(IdempotencyKey.of(later, 'build'), IdempotencyKey.of(run, 'build'))
 * assert.notEqual(IdempotencyKey.of(later, 'deploy/eu'), IdempotencyKey.of(run, 'deploy/eu'))
 *
 * @category destructors
 */
export const of = ({ runId, createdAt, renewals }: KeyedRun, unit: Unit): string => {
  let times = 0
  for (let part: Unit | undefined = unit; part !== undefined; part = parent(part)) times += renewals.get(part) ?? 0
  return fingerprint([runId, createdAt, unit, times]).slice(3, 35)
}
