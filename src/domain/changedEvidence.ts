/**
 * What evidence that is missing or was changed means for a plan: which units run again, what is kept, and what has to be asked.
 *
 * @since 0.1.0
 */
import type { Checkpoint } from './Checkpoint.js'
import type { CompletedStep, Evidence } from './CompletedStep.js'
import type { Begun } from './explained.js'
import { begunIn, isExplained } from './explained.js'
import type { Answer, Changed, FoundEvidence, PlanOptions, RunReason } from './Plan.js'
import { unitName } from './Plan.js'
import { finderIn } from './Records.js'
import type { Workflow } from './Workflow.js'
import { groupNamed, groupsOf } from './Workflow.js'

// ---------------------------------------------------------------------------------------------------------------------
// model
// ---------------------------------------------------------------------------------------------------------------------

/**
 * Why a unit runs again: evidence of it is missing.
 *
 * @category model
 * @since 0.1.0
 */
export type Missing = RunReason & { readonly _tag: 'EvidenceMissing' }

/**
 * Why a unit runs again, or is asked about: evidence of it was changed.
 *
 * @category model
 * @since 0.1.0
 */
export type Edited = RunReason & { readonly _tag: 'EvidenceChanged' }

/**
 * What is kept of a unit: what was `changed`, and all the `evidence` that its record has then. `own`: somebody said so of this very
 * unit, so that it does not run even if an earlier one does.
 *
 * @category model
 * @since 0.1.0
 */
export interface Kept {
  readonly changed: ReadonlyArray<Changed>
  readonly evidence: ReadonlyArray<Evidence>
  readonly own: boolean
}

/**
 * What a plan makes of evidence, by the names of units.
 *
 * - `missing`: the evidence of recorded units that is missing.
 * - `due`: why units run again of themselves; `first` is the index of the first of these, or infinity.
 * - `kept`: units whose record stays, with the evidence that is there now.
 * - `edited`: units that would overwrite what somebody changed: they run only by somebody's word.
 * - `open`: those of them at which a question is open though nothing else makes them run.
 * - `covered`: units that run again by what somebody answered for another one. They may be taken as done instead.
 * - `changed`: what was changed, by the units that something was changed of. Who answered for a group of a map did so before that was to be done anew.
 *
 * @category model
 * @since 0.1.0
 */
export interface EvidencePlan {
  readonly missing: ReadonlyMap<string, Missing>
  readonly due: ReadonlyMap<string, Missing | Edited>
  readonly first: number
  readonly kept: ReadonlyMap<string, Kept>
  readonly edited: ReadonlyMap<string, Edited>
  readonly open: ReadonlySet<string>
  readonly covered: ReadonlySet<string>
  readonly changed: ReadonlyMap<string, ReadonlyArray<Changed>>
}

/** A recorded unit that left evidence at a place, and what that was. */
interface Recorder {
  readonly unit: string
  readonly stepIndex: number
  readonly record: CompletedStep
  readonly was: Evidence
  /** Whether it is a wave or map as a whole. */
  readonly isWhole: boolean
  /** Whether the workflow still has it. */
  readonly isThere: boolean
}

/** What is collected of each unit. */
interface Draft {
  readonly missing: Map<string, Array<Evidence>>
  readonly due: Map<string, Array<Changed>>
  readonly kept: Map<string, { readonly record: CompletedStep; readonly changed: Array<Changed>; own: boolean }>
  readonly edited: Map<string, Array<Changed>>
  readonly open: Set<string>
  readonly covered: Set<string>
  readonly changed: Map<string, Array<Changed>>
  readonly places: Map<string, number>
  /** Waves and maps that are taken as done as they are: what follows them runs again. */
  readonly done: Set<string>
}

const NOTHING: EvidencePlan = {
  missing: new Map(),
  due: new Map(),
  first: Infinity,
  kept: new Map(),
  edited: new Map(),
  open: new Set(),
  covered: new Set(),
  changed: new Map()
}

// ---------------------------------------------------------------------------------------------------------------------
// planning
// ---------------------------------------------------------------------------------------------------------------------

/**
 * What a plan makes of the evidence that was found. `from`: the step that everything runs from, or infinity; `forced`: the one
 * of which it is asked that it runs again.
 *
 * @category planning
 * @since 0.1.0
 */
export const planEvidence = (
  checkpoint: Checkpoint,
  workflow: Workflow,
  options: PlanOptions,
  from: number
): EvidencePlan => {
  const { evidence = [] } = options
  if (evidence.length === 0) return NOTHING
  const draft: Draft = {
    missing: new Map(),
    due: new Map(),
    kept: new Map(),
    edited: new Map(),
    open: new Set(),
    covered: new Set(),
    changed: new Map(),
    places: new Map(),
    done: new Set()
  }
  const now = changesByPlace(evidence)
  const recorders = recordersOf(checkpoint, workflow, evidence, now, draft)
  const begun = now.size === 0 ? NOT_BEGUN : begunIn(checkpoint, workflow)
  const isDone = (unit: string): boolean => options.confirm?.get(unit)?._tag === 'Done'
  const open = now.size === 0 ? NOT_BEGUN : begunIn(checkpoint, workflow, isDone)
  for (const [place, { is }] of now) {
    const all = recorders.get(place) ?? []
    const last = all.at(-1)
    // Who accepts that the last one was removed accepts what it left.
    if (last === undefined || !last.isThere || isSame(last.was, is)) continue
    const there = all.filter(({ isThere }) => isThere)
    for (const one of there) add(draft.changed, one, is)
    if (from !== Infinity) keepBefore(draft, there, is, from)
    else if (there.some(({ was }) => isSame(was, is)) || !isExplained(begun, last)) judge(draft, there, is, options)
    // What explains it is taken as done: nobody makes it anew.
    else if (!isExplained(open, last)) keepOne(draft, last, is, false)
  }
  return planned(draft, from)
}

const NOT_BEGUN: Begun = { all: new Map(), paths: new Map() }

/** What stands at the places where something was changed, each looked at once. */
const changesByPlace = (evidence: ReadonlyArray<FoundEvidence>): ReadonlyMap<string, Changed> => {
  const now = new Map<string, Changed>()
  for (const found of evidence) {
    if ('missing' in found) continue
    for (const changed of found.changed) if (!now.has(placeOf(changed.was))) now.set(placeOf(changed.was), changed)
  }
  return now
}

const placeOf = (one: Evidence): string => {
  switch (one._tag) {
    case 'Artifact':
    case 'File':
      return `${one._tag} ${one.path}`
    case 'Commit':
      return `${one._tag} ${one.hash}`
    case 'Stored':
      return `${one._tag} ${one.id}`
  }
}

const isSame = (was: Evidence, is: Evidence | undefined): boolean =>
  is !== undefined &&
  'sha256' in was &&
  'sha256' in is &&
  placeOf(was) === placeOf(is) &&
  was.size === is.size &&
  was.sha256 === is.sha256

/**
 * The units that recorded something at each of these places, oldest first. Notes what is missing, and where each unit stands that
 * something was found of.
 */
const recordersOf = (
  checkpoint: Checkpoint,
  workflow: Workflow,
  evidence: ReadonlyArray<FoundEvidence>,
  now: ReadonlyMap<string, Changed>,
  draft: Draft
): ReadonlyMap<string, ReadonlyArray<Recorder>> => {
  const { missing, changed } = byUnit(evidence)
  const isAt = finderIn(workflow.steps)
  const recorders = new Map<string, Array<Recorder>>()
  for (const record of checkpoint.completedSteps) {
    const unit = unitName(record)
    const isFound = missing.has(unit) || changed.has(unit)
    if (!isFound && (now.size === 0 || record.evidence.length === 0)) continue
    const stepIndex = isAt(record.step, record.stepIndex)
    const step = stepIndex === undefined ? undefined : workflow.steps[stepIndex]
    const isThere =
      step !== undefined &&
      (record.group === undefined || groupNamed({ groups: groupsOf(step) }, record.group) !== undefined)
    const lost = missing.get(unit)
    if (isThere && lost !== undefined) draft.missing.set(unit, lost)
    if (isThere) draft.places.set(unit, stepIndex ?? Infinity)
    const left = new Map([...(changed.get(unit) ?? []), ...record.evidence].map((one) => [placeOf(one), one]))
    for (const [place, was] of left) {
      if (!now.has(place)) continue
      const isWhole = record.group === undefined && step?._tag !== 'Task'
      const one = { unit, stepIndex: stepIndex ?? Infinity, record, was, isWhole, isThere }
      const there = recorders.get(place)
      if (there === undefined) recorders.set(place, [one])
      else there.push(one)
    }
  }
  return recorders
}

/** What was found of each unit: what is missing, and what was recorded where something else is now. */
const byUnit = (
  evidence: ReadonlyArray<FoundEvidence>
): {
  readonly missing: ReadonlyMap<string, Array<Evidence>>
  readonly changed: ReadonlyMap<string, ReadonlyArray<Evidence>>
} => {
  const missing = new Map<string, Array<Evidence>>()
  const changed = new Map<string, Array<Evidence>>()
  const add = (all: Map<string, Array<Evidence>>, unit: string, more: ReadonlyArray<Evidence>): void => {
    const there = all.get(unit)
    if (there === undefined) all.set(unit, [...more])
    else there.push(...more)
  }
  for (const found of evidence) {
    if ('missing' in found) add(missing, unitName(found), found.missing)
    else
      add(
        changed,
        unitName(found),
        found.changed.map(({ was }) => was)
      )
  }
  return { missing, changed }
}

/** What comes before the step to run from is taken as done, with what is there now. */
const keepBefore = (draft: Draft, all: ReadonlyArray<Recorder>, is: Evidence | undefined, from: number): void => {
  const before = all.filter(({ stepIndex }) => stepIndex < from)
  const last = before.at(-1)
  if (last !== undefined && !isSame(last.was, is)) keepAll(draft, before, is)
}

/** Keeps what is at one place: for the unit that recorded it last, and of a commit for all, since each record needs its own. */
const keepAll = (draft: Draft, all: ReadonlyArray<Recorder>, is: Evidence | undefined): void => {
  const last = all.at(-1)
  if (last !== undefined) keepOne(draft, last, is, true)
  keepCommits(draft, all.slice(0, -1), is)
}

const keepCommits = (draft: Draft, all: ReadonlyArray<Recorder>, is: Evidence | undefined): void => {
  for (const one of all) if (one.was._tag === 'Commit') keepOne(draft, one, is, false)
}

const keepOne = ({ kept }: Draft, { unit, record, was }: Recorder, is: Evidence | undefined, own: boolean): void => {
  const there = kept.get(unit) ?? { record, changed: [], own: false }
  if (!there.changed.some((one) => placeOf(one.was) === placeOf(was))) there.changed.push(changedTo(was, is))
  there.own ||= own
  kept.set(unit, there)
}

const changedTo = (was: Evidence, is: Evidence | undefined): Changed => (is === undefined ? { was } : { was, is })

/** Decides about one place that was changed. Nothing that recorded it runs over it without an answer that covers that. */
const judge = (draft: Draft, all: ReadonlyArray<Recorder>, is: Evidence | undefined, options: PlanOptions): void => {
  const last = all.at(-1) as Recorder
  // It is as an earlier unit left it: nobody's work is overwritten if those after that one run again.
  const match = all.findLastIndex(({ was }) => isSame(was, is))
  if (match >= 0) {
    for (const one of all.slice(match + 1)) add(draft.due, one, is)
    return
  }
  const { answerOf, isExempt } = answersAt(all, options)
  const answer = answerOf(last)
  if (answer === 'Again') {
    for (const one of all) {
      draft.covered.add(one.unit)
      if (answerOf(one) === 'Keep') keepOne(draft, one, is, true)
      else add(draft.due, one, is)
    }
    return
  }
  if (answer === 'Keep') keepAll(draft, all, is)
  else if (answer === 'Done' && !last.isWhole) {
    add(draft.due, last, is)
    keepCommits(draft, all.slice(0, -1), is)
  } else if (answer === undefined && !isExempt(last)) draft.open.add(last.unit)
  for (const one of all) {
    if (!isExempt(one)) add(draft.edited, one, is)
    if (one.isWhole && answerOf(one) === 'Done') {
      keepOne(draft, one, is, true)
      draft.done.add(one.unit)
    } else if (one !== last && answerOf(one) === 'Keep') keepOne(draft, one, is, true)
  }
}

const add = (to: Map<string, Array<Changed>>, { unit, was }: Recorder, is: Evidence | undefined): void => {
  const there = to.get(unit)
  if (there === undefined) to.set(unit, [changedTo(was, is)])
  else there.push(changedTo(was, is))
}

/**
 * What is said of the units that recorded one place. Who restarts a wave lets that run over what was changed: its units are exempt
 * from the question, unless somebody says of one of these units that it is kept.
 */
const answersAt = (
  all: ReadonlyArray<Recorder>,
  { confirm, onChanged, restartWave }: PlanOptions
): {
  readonly answerOf: (one: Recorder) => Answer['_tag'] | undefined
  readonly isExempt: (one: Recorder) => boolean
} => {
  const isNamed = ({ record }: Recorder): boolean => record.step === restartWave
  const said = ({ unit }: Recorder): Answer['_tag'] | undefined => confirm?.get(unit)?._tag
  const last = all.at(-1) as Recorder
  const isKept =
    all.some((one) => said(one) === 'Keep') || (onChanged === 'keep' && said(last) === undefined && !isNamed(last))
  const isExempt = (one: Recorder): boolean => isNamed(one) && !isKept
  const answerOf = (one: Recorder): Answer['_tag'] | undefined =>
    isExempt(one) ? undefined : (said(one) ?? (onChanged === 'keep' ? 'Keep' : undefined))
  return { answerOf, isExempt }
}

const planned = (draft: Draft, from: number): EvidencePlan => {
  const { places, open, covered, changed, done } = draft
  const missing = new Map<string, Missing>()
  for (const [unit, lost] of draft.missing) missing.set(unit, { _tag: 'EvidenceMissing', missing: lost })
  const withMissing = (unit: string, changed: ReadonlyArray<Changed>): Edited => {
    const lost = draft.missing.get(unit)
    return { _tag: 'EvidenceChanged', changed, ...(lost === undefined ? {} : { missing: lost }) }
  }
  const kept = new Map<string, Kept>()
  for (const [unit, { record, changed: all, own }] of draft.kept) {
    // Who starts from a later step needs what is missing before it.
    const lost = from === Infinity ? (draft.missing.get(unit) ?? []) : []
    kept.set(unit, { changed: all, evidence: evidenceWith(record, all, lost), own })
  }
  const isKept = (unit: string): boolean => kept.get(unit)?.own === true
  const due = new Map<string, Missing | Edited>()
  if (from === Infinity) for (const [unit, reason] of missing) if (!isKept(unit)) due.set(unit, reason)
  for (const [unit, all] of draft.due) if (!isKept(unit)) due.set(unit, withMissing(unit, all))
  const edited = new Map<string, Edited>()
  for (const [unit, all] of draft.edited) edited.set(unit, withMissing(unit, all))
  const first = [...due.keys(), ...done].reduce(
    (least, unit) => Math.min(least, places.get(unit) ?? Infinity),
    Infinity
  )
  return { missing, due, first, kept, edited, open, covered, changed }
}

/**
 * The evidence of a record with what is there now, and without what is missing.
 *
 * @category destructors
 * @since 0.1.0
 */
export const evidenceWith = (
  { evidence }: CompletedStep,
  changed: ReadonlyArray<Changed>,
  missing: ReadonlyArray<Evidence>
): ReadonlyArray<Evidence> => {
  const instead = new Map(changed.map(({ was, is }) => [placeOf(was), is]))
  const lost = new Set(missing.map(placeOf))
  const left = new Map<string, Evidence>()
  for (const one of evidence) {
    const place = placeOf(one)
    const now = instead.has(place) ? instead.get(place) : lost.has(place) ? undefined : one
    if (now !== undefined) left.set(placeOf(now), now)
  }
  return [...left.values()]
}
