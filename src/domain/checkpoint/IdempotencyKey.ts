/** The keys under which units call services, so that a service can recognize a repeated call. */
import { fingerprint } from '../data/Digest.js'
import * as UnitMap from '../data/UnitMap.js'
import type { Unit } from '../workflow/Unit.js'
import { parent } from '../workflow/Unit.js'

/**
 * How often the key of a unit, and those of its parts, became another: with each rewind that named it, with each job of it that ended
 * badly, and when an edit of the workflow dropped its record.
 */
export type Renewals = ReadonlyMap<Unit, number>

/** What a key is made of, beside its unit. A checkpoint is one. */
export interface KeyedRun {
  readonly runId: string
  readonly createdAt: string
  readonly renewals: Renewals
}

/** No unit has another key yet. */
export const none: Renewals = UnitMap.empty

/** Each of these units, and its parts, gets another key. */
export const renewed = (self: Renewals, units: Iterable<Unit>): Renewals => {
  let renewals = UnitMap.from(self)
  for (const unit of units) renewals = UnitMap.set(renewals, unit, (renewals.get(unit) ?? 0) + 1)
  return renewals
}

/**
 * The key of a unit, 32 hex digits: a hash of run id, creation time and unit, and of how often it became another. It is the same in all
 * attempts and resumes, whatever happens to other units.
 */
export const of = ({ runId, createdAt, renewals }: KeyedRun, unit: Unit): string => {
  let times = 0
  for (let part: Unit | undefined = unit; part !== undefined; part = parent(part)) times += renewals.get(part) ?? 0
  return fingerprint([runId, createdAt, unit, times]).slice(3, 35)
}
