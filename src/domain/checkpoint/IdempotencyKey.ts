/** Idempotency keys of units, by which services recognize a repeated call. */
import { fingerprint } from '../data/Digest.js'
import * as UnitMap from './UnitMap.js'
import type { Unit } from '../workflow/Unit.js'
import { parent } from '../workflow/Unit.js'

/**
 * How often the key of a unit, and of its parts, changed: with each rewind that named it, each failed job, and each edit that dropped its
 * record.
 */
export type Renewals = ReadonlyMap<Unit, number>

/** The parts of a key beside its unit. A checkpoint is one. */
export interface KeyedRun {
  readonly runId: string
  readonly createdAt: string
  readonly renewals: Renewals
}

/** No key has changed yet. */
export const none: Renewals = UnitMap.empty

/** Changes the keys of these units and their parts. */
export const renewed = (self: Renewals, units: Iterable<Unit>): Renewals => {
  let renewals = UnitMap.from(self)
  for (const unit of units) renewals = UnitMap.set(renewals, unit, (renewals.get(unit) ?? 0) + 1)
  return renewals
}

/**
 * Returns the key of a unit, 32 hex digits: a hash of run id, creation time, unit, and how often the key changed. Attempts and resumes do
 * not change it, and neither does a change of a unit other than its ancestors.
 */
export const of = ({ runId, createdAt, renewals }: KeyedRun, unit: Unit): string => {
  let times = 0
  for (let part: Unit | undefined = unit; part !== undefined; part = parent(part)) times += renewals.get(part) ?? 0
  return fingerprint([runId, createdAt, unit, times]).slice(3, 35)
}
