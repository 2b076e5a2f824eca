/** Decides which units run again, keep the current state, or need an answer, given missing and changed evidence. */
import type { Checkpoint } from '../checkpoint/Checkpoint.js'
import type { CompletedStep, Evidence } from '../checkpoint/CompletedStep.js'
import type { Unfinished } from './ownChanges.js'
import { unfinishedIn, isExplained } from './ownChanges.js'
import type { Answer, Changed, FoundEvidence, PlanOptions, RunReason } from './Plan.js'
import type { Demands } from './demands.js'
import { pushTo } from '../data/indexed.js'
import { find } from '../checkpoint/Tree.js'
import type { Unit } from '../workflow/Unit.js'
import { isWithin } from '../workflow/Unit.js'
import type { Step, Workflow } from '../workflow/Workflow.js'

/** Why a unit runs again or needs an answer: its evidence changed. */
export type EvidenceChanged = RunReason & { readonly _tag: 'EvidenceChanged' }

/**
 * The accepted changes of a unit. `evidence`: that of its new record. `survivesRerun`: an answer, `onChanged` or `fromStep` keeps this
 * record, even if an earlier unit runs. `isWhole`: the answer is about a map with all its parts.
 */
export interface Kept {
  readonly changed: ReadonlyArray<Changed>
  readonly evidence: ReadonlyArray<Evidence>
  readonly survivesRerun: boolean
  readonly isWhole?: true
}

/**
 * Decisions about evidence, by unit.
 *
 * - `missing`: the missing evidence of recorded units.
 * - `rerun`: units that run again because of their own evidence.
 * - `again`: these, and composites that were declared done although their evidence changed: what follows them runs again.
 * - `kept`: units whose record stays, with the current evidence.
 * - `changedByUser`: units that would overwrite a user's change and need an answer to run.
 * - `keepable`: units with a user's change that an answer can keep, also where nothing asks about it.
 * - `open`: units in `changedByUser` whose question is unanswered. The plan asks about them even if nothing else runs them again.
 * - `covered`: all units that recorded a place whose question was answered with `Again`; each may be declared done instead.
 * - `changed`: all changes by unit, also those in a map that runs again as a whole.
 */
export interface EvidencePlan {
  readonly missing: ReadonlyMap<string, ReadonlyArray<Evidence>>
  readonly rerun: ReadonlyMap<string, RunReason>
  readonly again: ReadonlySet<Unit>
  readonly kept: ReadonlyMap<string, Kept>
  readonly changedByUser: ReadonlyMap<string, EvidenceChanged>
  readonly keepable: ReadonlyMap<string, EvidenceChanged>
  readonly open: ReadonlySet<string>
  readonly covered: ReadonlySet<string>
  readonly changed: ReadonlyMap<string, ReadonlyArray<Changed>>
}

/** A unit that recorded a place (an artifact path or id, a file, or a commit). `exists`: the workflow still has the unit. */
interface RecordedAt {
  readonly unit: Unit
  readonly record: CompletedStep
  readonly was: Evidence
  readonly isComposite: boolean
  readonly exists: boolean
}

interface Draft {
  readonly missing: Map<string, Array<Evidence>>
  readonly rerun: Map<string, Array<Changed>>
  readonly kept: Map<string, KeptDraft>
  readonly changedByUser: Map<string, Array<Changed>>
  readonly keepable: Map<string, Array<Changed>>
  readonly open: Set<string>
  readonly covered: Set<string>
  readonly changed: Map<string, Array<Changed>>
  /** Composites declared done; what follows them runs again. */
  readonly done: Set<string>
}

interface KeptDraft {
  readonly record: CompletedStep
  readonly changed: Array<Changed>
  survivesRerun: boolean
}

const NOTHING: EvidencePlan = {
  missing: new Map(),
  rerun: new Map(),
  again: new Set(),
  kept: new Map(),
  changedByUser: new Map(),
  keepable: new Map(),
  open: new Set(),
  covered: new Set(),
  changed: new Map()
}

/** Decides about the collected evidence. `demands`: those of the options alone. */
export const planEvidence = (
  checkpoint: Checkpoint,
  workflow: Workflow,
  options: PlanOptions,
  demands: Demands
): EvidencePlan => {
  const { evidence = [], fromStep } = options
  if (evidence.length === 0) return NOTHING
  const draft: Draft = {
    missing: new Map(),
    rerun: new Map(),
    kept: new Map(),
    changedByUser: new Map(),
    keepable: new Map(),
    open: new Set(),
    covered: new Set(),
    changed: new Map(),
    done: new Set()
  }
  const now = changesByPlace(evidence)
  const recorders = recordersOf(checkpoint, workflow, evidence, now, draft)
  const unfinished = now.size === 0 ? NOTHING_UNFINISHED : unfinishedIn(checkpoint, workflow)
  const isDone = (unit: string): boolean => options.confirm?.get(unit)?._tag === 'Done'
  const notDone = now.size === 0 ? NOTHING_UNFINISHED : unfinishedIn(checkpoint, workflow, isDone)
  for (const [place, { is }] of now) {
    const all = recorders.get(place) ?? []
    const last = all.at(-1)
    // Accepting the removal of the last recorder accepts its evidence.
    if (last === undefined || !last.exists || isSame(last.was, is)) continue
    const present = all.filter(({ exists }) => exists)
    for (const one of present) add(draft.changed, one, is)
    const beside = fromStep === undefined ? present : present.filter(({ unit }) => isBeside(unit, options, demands))
    if (!beside.includes(last)) keepBefore(draft, present, is, demands)
    else if (beside.some(({ was }) => isSame(was, is)) || !isExplained(unfinished, last))
      judge(draft, beside, is, options)
    // The unit that explains the change is declared done, so no unit restores the evidence.
    else if (!isExplained(notDone, last)) keepUnlessRerun(draft, last, is)
  }
  return planned(draft, options, demands)
}

const NOTHING_UNFINISHED: Unfinished = { all: new Map(), paths: new Map() }

/** The current state of each place with a change. */
const changesByPlace = (evidence: ReadonlyArray<FoundEvidence>): ReadonlyMap<string, Changed> => {
  const now = new Map<string, Changed>()
  for (const found of evidence) {
    if ('missing' in found) continue
    for (const changed of found.changed) if (!now.has(placeOf(changed.was))) now.set(placeOf(changed.was), changed)
  }
  return now
}

/** The file, commit or artifact that evidence names. */
export const placeOf = (one: Evidence): string => {
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

/** The units that recorded each changed place, oldest first. Fills `missing` of the draft. */
const recordersOf = (
  checkpoint: Checkpoint,
  workflow: Workflow,
  evidence: ReadonlyArray<FoundEvidence>,
  now: ReadonlyMap<string, Changed>,
  draft: Draft
): ReadonlyMap<string, ReadonlyArray<RecordedAt>> => {
  const { missing, changed } = byUnit(evidence)
  const recorders = new Map<string, Array<RecordedAt>>()
  for (const record of checkpoint.completedSteps) {
    const { unit } = record
    const isFound = missing.has(unit) || changed.has(unit)
    if (!isFound && (now.size === 0 || record.evidence.length === 0)) continue
    const step = find<Step>(workflow, checkpoint.items, unit, record.stepIndex)?.definition
    const exists = step !== undefined || record.subStep !== undefined
    const lost = missing.get(unit)
    if (exists && lost !== undefined) draft.missing.set(unit, lost)
    const left = new Map([...(changed.get(unit) ?? []), ...record.evidence].map((one) => [placeOf(one), one]))
    for (const [place, was] of left) {
      if (!now.has(place)) continue
      pushTo(recorders, place, { unit, record, was, isComposite: step !== undefined && step._tag !== 'Task', exists })
    }
  }
  return recorders
}

/** The missing evidence, and the recorded evidence that changed, by unit. */
const byUnit = (
  evidence: ReadonlyArray<FoundEvidence>
): {
  readonly missing: ReadonlyMap<string, Array<Evidence>>
  readonly changed: ReadonlyMap<string, ReadonlyArray<Evidence>>
} => {
  const missing = new Map<string, Array<Evidence>>()
  const changed = new Map<string, Array<Evidence>>()
  for (const found of evidence)
    if ('missing' in found) for (const one of found.missing) pushTo(missing, found.unit, one)
    else for (const { was } of found.changed) pushTo(changed, found.unit, was)
  return { missing, changed }
}

/** Detects units that neither run again nor count as done because of `fromStep`, such as other groups of the same wave. */
const isBeside = (
  unit: Unit,
  { fromStep, restartWave }: { readonly fromStep?: Unit | undefined; readonly restartWave?: Unit | undefined },
  demands: Demands
): boolean =>
  ![fromStep, restartWave].some((named) => named !== undefined && isWithin(named, unit)) && demands.of(unit) === 'none'

/** Accepts the current state for all units before the one that `fromStep` names. */
const keepBefore = (draft: Draft, all: ReadonlyArray<RecordedAt>, is: Evidence | undefined, demands: Demands): void => {
  const before = all.filter(({ unit }) => demands.of(unit) === 'assumed')
  const last = before.at(-1)
  if (last !== undefined && !isSame(last.was, is)) keepAll(draft, before, is)
}

/** Accepts the state of a place for its last recorder; that of a commit for all, because each record is checked for it. */
const keepAll = (draft: Draft, all: ReadonlyArray<RecordedAt>, is: Evidence | undefined): void => {
  const last = all.at(-1)
  if (last !== undefined) keepOne(draft, last, is)
  keepCommits(draft, all.slice(0, -1), is)
}

const keepCommits = (draft: Draft, all: ReadonlyArray<RecordedAt>, is: Evidence | undefined): void => {
  for (const one of all) if (one.was._tag === 'Commit') keepUnlessRerun(draft, one, is)
}

const keepOne = (draft: Draft, recorded: RecordedAt, is: Evidence | undefined): void => {
  keepUnlessRerun(draft, recorded, is).survivesRerun = true
}

const keepUnlessRerun = ({ kept }: Draft, { unit, record, was }: RecordedAt, is: Evidence | undefined): KeptDraft => {
  const accepted = kept.get(unit) ?? { record, changed: [], survivesRerun: false }
  if (!accepted.changed.some((one) => placeOf(one.was) === placeOf(was))) accepted.changed.push(changedTo(was, is))
  kept.set(unit, accepted)
  return accepted
}

const changedTo = (was: Evidence, is: Evidence | undefined): Changed => (is === undefined ? { was } : { was, is })

/** Decides about one changed place. No recorder may overwrite it without an answer that covers it. */
const judge = (draft: Draft, all: ReadonlyArray<RecordedAt>, is: Evidence | undefined, options: PlanOptions): void => {
  const last = all.at(-1) as RecordedAt
  // The state matches an earlier recorder, so running the later ones again overwrites no user's work.
  const match = all.findLastIndex(({ was }) => isSame(was, is))
  if (match >= 0) {
    for (const one of all.slice(match + 1)) add(draft.rerun, one, is)
    return
  }
  for (const one of all) add(draft.keepable, one, is)
  const { answerOf, isExempt } = answersAt(all, options)
  const answer = answerOf(last)
  if (answer === 'Again') {
    for (const one of all) {
      draft.covered.add(one.unit)
      if (answerOf(one) === 'Keep') keepOne(draft, one, is)
      else add(draft.rerun, one, is)
    }
    return
  }
  if (answer === 'Keep') keepAll(draft, all, is)
  else if (answer === 'Done' && !last.isComposite) {
    add(draft.rerun, last, is)
    keepCommits(draft, all.slice(0, -1), is)
  } else if (answer === undefined && !isExempt(last)) draft.open.add(last.unit)
  for (const one of all) {
    if (!isExempt(one)) add(draft.changedByUser, one, is)
    if (one.isComposite && answerOf(one) === 'Done') {
      keepOne(draft, one, is)
      draft.done.add(one.unit)
    } else if (one !== last && answerOf(one) === 'Keep') keepOne(draft, one, is)
  }
}

const add = (to: Map<string, Array<Changed>>, { unit, was }: RecordedAt, is: Evidence | undefined): void =>
  pushTo(to, unit, changedTo(was, is))

/** The answers for one place. Restarting a wave exempts its units from the question, unless an answer keeps one of the recorders. */
const answersAt = (
  all: ReadonlyArray<RecordedAt>,
  { confirm, onChanged, restartWave }: PlanOptions
): {
  readonly answerOf: (one: RecordedAt) => Answer['_tag'] | undefined
  readonly isExempt: (one: RecordedAt) => boolean
} => {
  const isNamed = ({ unit }: RecordedAt): boolean => restartWave !== undefined && isWithin(unit, restartWave)
  const givenTo = ({ unit }: RecordedAt): Answer['_tag'] | undefined => confirm?.get(unit)?._tag
  const last = all.at(-1) as RecordedAt
  const isKept =
    all.some((one) => givenTo(one) === 'Keep') ||
    (onChanged === 'keep' && givenTo(last) === undefined && !isNamed(last))
  const isExempt = (one: RecordedAt): boolean => isNamed(one) && !isKept
  const answerOf = (one: RecordedAt): Answer['_tag'] | undefined =>
    isExempt(one) ? undefined : (givenTo(one) ?? (onChanged === 'keep' ? 'Keep' : undefined))
  return { answerOf, isExempt }
}

const planned = (draft: Draft, { fromStep, restartWave }: PlanOptions, demands: Demands): EvidencePlan => {
  const hasStart = fromStep !== undefined
  const mayRerun = (unit: Unit): boolean => !hasStart || isBeside(unit, { fromStep, restartWave }, demands)
  const { missing, open, covered, changed, done } = draft
  const withMissing = (unit: string, changed: ReadonlyArray<Changed>): EvidenceChanged => {
    const lost = missing.get(unit)
    return { _tag: 'EvidenceChanged', changed, ...(lost === undefined ? {} : { missing: lost }) }
  }
  const kept = new Map<string, Kept>()
  for (const [unit, { record, changed: all, survivesRerun }] of draft.kept) {
    // With `fromStep`, later steps still need the missing evidence of earlier ones.
    const lost = hasStart ? undefined : missing.get(unit)
    kept.set(unit, { changed: all, evidence: evidenceWith(record, all, lost), survivesRerun })
  }
  const isKept = (unit: string): boolean => kept.get(unit)?.survivesRerun === true
  const rerun = new Map<string, RunReason>()
  for (const [unit, lost] of missing)
    if (mayRerun(unit) && !isKept(unit)) rerun.set(unit, { _tag: 'EvidenceMissing', missing: lost })
  for (const [unit, all] of draft.rerun) if (!isKept(unit)) rerun.set(unit, withMissing(unit, all))
  const inQuestion = (units: Draft['changedByUser']): ReadonlyMap<string, EvidenceChanged> =>
    new Map(Array.from(units, ([unit, all]) => [unit, withMissing(unit, all)]))
  const [changedByUser, keepable] = [inQuestion(draft.changedByUser), inQuestion(draft.keepable)]
  const again = new Set([...rerun.keys(), ...done])
  return { missing, rerun, again, kept, changedByUser, keepable, open, covered, changed }
}

/** The evidence of a record, with changes applied and missing entries dropped. */
export const evidenceWith = (
  { evidence }: Pick<CompletedStep, 'evidence'>,
  changed: ReadonlyArray<Changed> = [],
  missing: ReadonlyArray<Evidence> = []
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

/**
 * Returns the artifacts that dropped records have replaced, by the last record of each that stays. Without the dropped records a user would
 * seem to have changed the artifacts.
 */
export const replacedByDropped = (
  records: Iterable<CompletedStep>,
  stays: (record: CompletedStep) => boolean,
  found: ReadonlyArray<FoundEvidence>
): ReadonlyMap<CompletedStep, ReadonlyArray<Changed>> => {
  const places = new Map<string, { readonly newest: Evidence; readonly by?: CompletedStep; readonly was?: Evidence }>()
  for (const record of records)
    for (const one of record.evidence) {
      if (!('sha256' in one)) continue
      const place = placeOf(one)
      places.set(place, stays(record) ? { newest: one, by: record, was: one } : { ...places.get(place), newest: one })
    }
  const now = changesByPlace(found)
  const replaced = new Map<CompletedStep, Array<Changed>>()
  for (const [place, { newest, by, was }] of places) {
    // What a user changed stays in question.
    if (now.has(place) || by === undefined || was === undefined || isSame(was, newest)) continue
    pushTo(replaced, by, { was, is: newest })
  }
  return replaced
}
