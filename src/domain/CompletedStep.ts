/**
 * The record of a unit that ended well: what it is worth to a resume.
 *
 * @module
 */
import type { Json } from './Json.js'
import type { Sequence } from './Sequence.js'
import type { SubStep } from './SubStep.js'
import * as Seq from './Sequence.js'
import type { Unit } from './Unit.js'
import { isTop } from './Unit.js'

// --- model

/**
 * Something that must still exist for a completed step to count: a file or folder with this content, a commit, a file, an
 * artifact of the run with this content.
 *
 * @category model
 */
export type Evidence =
  | { readonly _tag: 'Artifact'; readonly path: string; readonly size: number; readonly sha256: string }
  | { readonly _tag: 'Commit'; readonly hash: string }
  | { readonly _tag: 'File'; readonly path: string }
  | { readonly _tag: 'Stored'; readonly id: string; readonly size: number; readonly sha256: string }

/**
 * What a unit is to leave when it has ended well, of which evidence is then taken: a file or folder whose content counts, a
 * commit, a file that has to be there.
 *
 * @category model
 */
export type ExpectedEvidence =
  | { readonly _tag: 'Artifact'; readonly path: string }
  | { readonly _tag: 'Commit'; readonly hash: string }
  | { readonly _tag: 'File'; readonly path: string }

/**
 * A unit that completed. `stepIndex`: the index of its top-level step, from 0.
 *
 * - `fingerprint`: of the definition that ran.
 * - `output`: what it gave, absent if nothing; `captured`: the variables that have this output as their value.
 * - `attempts`: how many it took; 0 if it never ran, which is so only with `assumed`.
 * - `startedAt` and `completedAt`: UTC, ISO 8601.
 * - `assumed`: a person or the host said that it is done.
 * - `subStep`: what is recorded of the call, if it is a sub-step of a task. Its fingerprint is that of the task.
 * - `inDoubt`: of a task, the sub-steps that failed, are not idempotent, and may have acted.
 *
 * @category model
 */
export interface CompletedStep {
  readonly unit: Unit
  readonly stepIndex: number
  readonly fingerprint: string
  readonly output?: Json
  readonly captured: ReadonlyArray<string>
  readonly attempts: number
  readonly startedAt: string
  readonly completedAt: string
  readonly durationMillis: number
  readonly evidence: ReadonlyArray<Evidence>
  readonly assumed?: true
  readonly subStep?: SubStep
  readonly inDoubt?: ReadonlyArray<Unit>
}

/**
 * The records of a run, in the order in which they were made, and by unit. `steps`: how many of them are of top-level steps.
 *
 * @category model
 */
export interface CompletedSteps extends Iterable<CompletedStep> {
  readonly size: number
  readonly steps: number
  /** A unit that has two records, which no run makes. */
  readonly twice: Unit | undefined
  /** @internal */
  readonly records: Sequence<CompletedStep>
  /**
   * The places of the units among the records. All versions of a list share it; only the newest extends it, and an older one
   * counts only the places that it has.
   *
   * @internal
   */
  readonly places: Places
  /** The records, as JSON and inspectors print them. */
  readonly toJSON: () => ReadonlyArray<CompletedStep>
  /** @internal */
  readonly [INSPECT]: () => ReadonlyArray<CompletedStep>
}

/** The places by unit, in a property that comparing and printing leave out: two equal lists may share it with longer ones. */
interface Places {
  readonly of: Map<Unit, number>
}

// --- constructors

function iterate(this: CompletedSteps): Iterator<CompletedStep> {
  return this.records[Symbol.iterator]()
}

function listed(this: CompletedSteps): ReadonlyArray<CompletedStep> {
  return [...this.records]
}

/** What Node and test runners print. */
const INSPECT: unique symbol = Symbol.for('nodejs.util.inspect.custom')

const make = (
  records: Sequence<CompletedStep>,
  places: Places,
  steps: number,
  twice: Unit | undefined
): CompletedSteps => ({
  size: records.length,
  steps,
  twice,
  records,
  places,
  toJSON: listed,
  [Symbol.iterator]: iterate,
  [INSPECT]: listed
})

/**
 * The records of any iterable, in order. Of two records of the same unit the first is found.
 *
 * @category constructors
 */
export const from = (records: Iterable<CompletedStep>): CompletedSteps => {
  const all = Seq.from(records)
  const places = new Map<Unit, number>()
  let [place, steps] = [0, 0]
  let twice: Unit | undefined
  for (const { unit } of all) {
    if (places.has(unit)) twice ??= unit
    else places.set(unit, place)
    place += 1
    if (isTop(unit)) steps += 1
  }
  return make(all, Object.defineProperty({}, 'of', { value: places }) as Places, steps, twice)
}

/**
 * No records.
 *
 * @category constructors
 */
export const none: CompletedSteps = from([])

// --- combinators

/**
 * The records with one more at the end; the argument stays as it is. O(log n) for the newest version, O(n) for an older one.
 *
 * @category combinators
 */
export const append = (self: CompletedSteps, record: CompletedStep): CompletedSteps => {
  const { records, size, steps, places, twice } = self
  if (places.of.size !== size || places.of.has(record.unit)) return from([...records, record])
  places.of.set(record.unit, size)
  return make(Seq.append(records, record), places, isTop(record.unit) ? steps + 1 : steps, twice)
}

/**
 * The records with the evidence of a unit replaced, or undefined if the unit has no record. O(log n).
 *
 * @category combinators
 */
export const withEvidence = (
  self: CompletedSteps,
  unit: Unit,
  evidence: ReadonlyArray<Evidence>
): CompletedSteps | undefined => {
  const place = placeOf(self, unit)
  const record = place === undefined ? undefined : Seq.at(self.records, place)
  if (place === undefined || record === undefined) return undefined
  return make(Seq.set(self.records, place, { ...record, evidence }), self.places, self.steps, self.twice)
}

/**
 * The records that are wanted, in O(n).
 *
 * @category combinators
 */
export const filter = (self: CompletedSteps, isWanted: (record: CompletedStep) => boolean): CompletedSteps =>
  from([...self].filter(isWanted))

// --- destructors

/**
 * The place of a unit's record among the records, from 0.
 *
 * @category destructors
 */
export const placeOf = ({ places, size }: CompletedSteps, unit: Unit): number | undefined => {
  const place = places.of.get(unit)
  return place !== undefined && place < size ? place : undefined
}

/**
 * The record of a unit, if it has one. O(log n). `expected`: its usual place; only elsewhere is it looked up.
 *
 * @category destructors
 */
export const get = (self: CompletedSteps, unit: Unit, expected = -1): CompletedStep | undefined => {
  const there = Seq.at(self.records, expected)
  if (there?.unit === unit && self.twice === undefined) return there
  const place = placeOf(self, unit)
  return place === undefined ? undefined : Seq.at(self.records, place)
}

/**
 * Whether a unit has a record. O(1).
 *
 * @category destructors
 */
export const has = (self: CompletedSteps, unit: Unit): boolean => placeOf(self, unit) !== undefined
