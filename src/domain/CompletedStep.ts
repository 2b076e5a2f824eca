/**
 * The record of a step, or of one group of a wave, that ended well: what it is worth to a resume.
 *
 * @module
 * @since 0.1.0
 */
import type { Json } from './Json.js'
import type { Sequence } from './Sequence.js'
import * as Seq from './Sequence.js'

// ---------------------------------------------------------------------------------------------------------------------
// model
// ---------------------------------------------------------------------------------------------------------------------

/**
 * Something that must still exist for a completed step to count: a file or folder with this content, a commit, a file, an
 * artifact of the run with this content.
 *
 * @category model
 * @since 0.1.0
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
 * @since 0.1.0
 */
export type ExpectedEvidence =
  | { readonly _tag: 'Artifact'; readonly path: string }
  | { readonly _tag: 'Commit'; readonly hash: string }
  | { readonly _tag: 'File'; readonly path: string }

/**
 * A step, or with `group` one group of a wave, that completed.
 *
 * - `fingerprint`: of the definition that ran.
 * - `output`: what it gave, absent if nothing; `captured`: the variables that have this output as their value.
 * - `attempts`: how many it took; 0 if it never ran, which is so only with `assumed`.
 * - `startedAt` and `completedAt`: UTC, ISO 8601.
 * - `assumed`: a person or the host said that it is done.
 *
 * @category model
 * @since 0.1.0
 */
export interface CompletedStep {
  readonly stepIndex: number
  readonly step: string
  readonly group?: string
  readonly fingerprint: string
  readonly output?: Json
  readonly captured: ReadonlyArray<string>
  readonly attempts: number
  readonly startedAt: string
  readonly completedAt: string
  readonly durationMillis: number
  readonly evidence: ReadonlyArray<Evidence>
  readonly assumed?: true
}

/**
 * The records of a run in the order in which they were made. `steps` counts those of whole steps: the first `inTurn`
 * steps of the workflow, and those in `ahead`, done out of turn. Usually there are none of these, and membership is a
 * comparison. `ordered`: no record has a lower step index than the one before it.
 *
 * @category model
 * @since 0.1.0
 */
export interface CompletedSteps extends Iterable<CompletedStep> {
  readonly length: number
  readonly steps: number
  /** @internal */
  readonly inTurn: number
  /** @internal */
  readonly ahead: ReadonlySet<number>
  /** @internal */
  readonly ordered: boolean
  /** @internal */
  readonly records: Sequence<CompletedStep>
  /** @internal */
  readonly open: OpenWave | undefined
}

/**
 * Where the groups of the wave that is being recorded stand among the records. All versions of a list share it; only
 * the newest, the one of this `length`, extends it, and an older one counts only the positions that it has.
 */
interface OpenWave {
  readonly stepIndex: number
  readonly positions: Map<string, number>
  length: number
}

// ---------------------------------------------------------------------------------------------------------------------
// constructors
// ---------------------------------------------------------------------------------------------------------------------

function iterate(this: CompletedSteps): Iterator<CompletedStep> {
  return this.records[Symbol.iterator]()
}

const wrap = (
  records: Sequence<CompletedStep>,
  steps: number,
  { inTurn, ahead }: Done,
  ordered: boolean,
  open?: OpenWave
): CompletedSteps => ({
  length: records.length,
  steps,
  inTurn,
  ahead,
  ordered,
  records,
  open,
  [Symbol.iterator]: iterate
})

/** Which steps are done. */
type Done = Pick<CompletedSteps, 'inTurn' | 'ahead'>

const NOTHING: Done = { inTurn: 0, ahead: new Set() }

const withStep = ({ inTurn, ahead }: Done, stepIndex: number): Done => {
  if (stepIndex !== inTurn) return { inTurn, ahead: new Set([...ahead, stepIndex]) }
  let next = inTurn + 1
  while (ahead.has(next)) next++
  return { inTurn: next, ahead }
}

/**
 * No records.
 *
 * @category constructors
 * @since 0.1.0
 */
export const none: CompletedSteps = wrap(Seq.empty, 0, NOTHING, true)

/**
 * The records of any iterable, in order.
 *
 * @category constructors
 * @since 0.1.0
 */
export const from = (records: Iterable<CompletedStep>): CompletedSteps => {
  let [steps, ordered, last] = [0, true, 0]
  const all = Seq.from(records)
  const done = new Set<number>()
  for (const { group, stepIndex } of all) {
    ordered &&= last <= stepIndex
    last = stepIndex
    if (group !== undefined) continue
    steps += 1
    done.add(stepIndex)
  }
  let inTurn = 0
  while (done.delete(inTurn)) inTurn++
  return wrap(all, steps, { inTurn, ahead: done }, ordered)
}

// ---------------------------------------------------------------------------------------------------------------------
// combinators
// ---------------------------------------------------------------------------------------------------------------------

/**
 * The records with one more at the end. O(log n) for a step in its turn; the argument stays as it is.
 *
 * @category combinators
 * @since 0.1.0
 */
export const append = (self: CompletedSteps, record: CompletedStep): CompletedSteps => {
  const { stepIndex, group } = record
  const ordered = self.ordered && (Seq.last(self.records)?.stepIndex ?? 0) <= stepIndex
  const records = Seq.append(self.records, record)
  return group === undefined
    ? wrap(records, self.steps + 1, withStep(self, stepIndex), ordered)
    : wrap(records, self.steps, self, ordered, openWith(self, stepIndex, group))
}

const openWith = (self: CompletedSteps, stepIndex: number, group: string): OpenWave => {
  const { open, length } = self
  if (open?.stepIndex === stepIndex && open.length === length) {
    if (!open.positions.has(group)) open.positions.set(group, length)
    open.length += 1
    return open
  }
  const positions = new Map([...groupsOf(self, stepIndex), group].map((name) => [name, 0]))
  return { stepIndex, positions, length: length + 1 }
}

/**
 * Returns the records with a unit's evidence replaced, or undefined if the unit has no record. The first call indexes the list
 * in O(n); each later update takes O(log n).
 *
 * @category combinators
 * @since 0.1.0
 */
export const withEvidence = (
  self: CompletedSteps,
  unit: { readonly stepIndex: number; readonly group?: string },
  evidence: ReadonlyArray<Evidence>
): CompletedSteps | undefined => {
  const places = PLACES.get(self.records) ?? placesIn(self.records)
  const place = places.get(placeOf(unit))
  const record = place === undefined ? undefined : Seq.at(self.records, place)
  if (place === undefined || record === undefined) return undefined
  const records = Seq.set(self.records, place, { ...record, evidence })
  PLACES.set(records, places)
  return wrap(records, self.steps, self, self.ordered, self.open)
}

/** The index of each unit by list; updating evidence moves no record. */
const PLACES = new WeakMap<Sequence<CompletedStep>, ReadonlyMap<string, number>>()

const placeOf = ({ stepIndex, group }: { readonly stepIndex: number; readonly group?: string }): string =>
  group === undefined ? String(stepIndex) : `${stepIndex}/${group}`

const placesIn = (records: Sequence<CompletedStep>): ReadonlyMap<string, number> => {
  const places = new Map<string, number>()
  let place = 0
  for (const record of records) places.set(placeOf(record), place++)
  return places
}

/**
 * Whether the step at an index has its record. O(1).
 *
 * @category combinators
 * @since 0.1.0
 */
export const hasStep = ({ inTurn, ahead }: CompletedSteps, stepIndex: number): boolean =>
  stepIndex < inTurn || ahead.has(stepIndex)

/**
 * The groups of a wave that have their record. Those of the wave at which the run stands are the last ones, unless a
 * later unit was taken as done before it or the workflow was edited against the rules: then the whole list is searched.
 *
 * @category combinators
 * @since 0.1.0
 */
export const groupsOf = (self: CompletedSteps, stepIndex: number): ReadonlySet<string> => {
  const names = new Set<string>()
  for (let index = self.length - 1; index >= 0; index--) {
    const record = Seq.at(self.records, index) as CompletedStep
    if (record.stepIndex < stepIndex && self.ordered) break
    if (record.stepIndex === stepIndex && record.group !== undefined) names.add(record.group)
  }
  return names
}

/**
 * Whether a group of a wave has its record. O(1) for the wave that is being recorded, and for any that is asked about again.
 *
 * @category combinators
 * @since 0.1.0
 */
export const hasGroup = (self: CompletedSteps, stepIndex: number, group: string): boolean => {
  if (self.open?.stepIndex !== stepIndex) return lastAsked(self, stepIndex).has(group)
  const position = self.open.positions.get(group)
  return position !== undefined && position < self.length
}

/** The groups of the wave that was asked about last, for each list. When thousands of groups start, each is asked about. */
const ASKED = new WeakMap<CompletedSteps, { readonly stepIndex: number; readonly groups: ReadonlySet<string> }>()

const lastAsked = (self: CompletedSteps, stepIndex: number): ReadonlySet<string> => {
  const known = ASKED.get(self)
  if (known?.stepIndex === stepIndex) return known.groups
  const groups = groupsOf(self, stepIndex)
  ASKED.set(self, { stepIndex, groups })
  return groups
}
