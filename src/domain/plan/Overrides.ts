/**
 * Computes the facts of a plan that override the record. They are saved before the first effect, so that a plain resume after a crash keeps
 * to them.
 */
import { adopted } from '../change/adopted.js'
import type * as Change from '../change/Change.js'
import type { Checkpoint } from '../checkpoint/Checkpoint.js'
import * as State from '../checkpoint/CheckpointState.js'
import type { CompletedStep, Evidence } from '../checkpoint/CompletedStep.js'
import * as Units from '../checkpoint/Units.js'
import type { Json } from '../data/Json.js'
import { equals } from '../data/Json.js'
import { evidenceWith, replacedByDropped } from './changedEvidence.js'
import type { Decision, DecisionTree, PlanOptions, ResumePlan, Skip, SkipReason } from './Plan.js'
import type { SubStep } from '../checkpoint/SubStep.js'
import { decisionTrees } from './Plan.js'
import { isSubStepInDoubt, subStepsOf } from './subSteps.js'
import { find } from '../checkpoint/Tree.js'
import { hasCode } from '../workflow/Node.js'
import type { Unit } from '../workflow/Unit.js'
import { ancestors, isTop } from '../workflow/Unit.js'
import type { Step, Workflow } from '../workflow/Workflow.js'
import type { WorkflowIdentity } from '../workflow/WorkflowIdentity.js'
import { current, isUnedited } from '../workflow/WorkflowIdentity.js'

/**
 * Computes the changes to save before a plan is executed: adopt the edited workflow, rewind completed work, record answers, add
 * assumed records, update accepted evidence and replace the input. Returns none for a plan without overrides. `at`: UTC, ISO
 * 8601.
 */
export const overrides = (
  checkpoint: Checkpoint,
  workflow: Workflow & { readonly identity: WorkflowIdentity },
  plan: ResumePlan,
  options: PlanOptions,
  at: string
): ReadonlyArray<Change.Change> => {
  const known: PlanFacts = { checkpoint, workflow, plan }
  const edit = adoptedEdit(known, at)
  const isPlain = plan.input === undefined && options.confirm === undefined
  if (isPlain && edit.length === 0 && plan.decisions.every((decision) => isAsRecorded(known, decision))) return []
  const back = rewound(known, at)
  const taken = takenBack(back)
  return [
    ...edit,
    ...(back === undefined ? [] : [back]),
    ...answered(known, options, taken, at),
    ...assumed(known, taken, at),
    ...kept(known, options, taken, at),
    // The input changes last, when no open attempt can have seen the old one.
    ...(plan.input === undefined ? [] : [{ _tag: 'InputReplaced', at, input: plan.input } as const])
  ]
}

/** Returns whether a decision keeps to the record: it skips or continues what is recorded, or runs a unit of the workflow that is not. */
const isAsRecorded = (known: PlanFacts, decision: Decision): boolean => {
  switch (decision._tag) {
    case 'Skip':
      return !isGiven(decision.reason)
    case 'Run':
      return (
        decision.reason._tag === 'NotStarted' && (isTop(decision.unit) || definitionOf(known, decision) !== undefined)
      )
    case 'Poll':
    case 'Retry':
      return true
    case 'Confirm':
      return false
  }
}

interface PlanFacts {
  readonly checkpoint: Checkpoint
  readonly workflow: Workflow & { readonly identity: WorkflowIdentity }
  readonly plan: ResumePlan
}

const definitionOf = ({ checkpoint, workflow }: PlanFacts, { unit, stepIndex }: Decision): Step | undefined =>
  find<Step>(workflow, checkpoint.items, unit, stepIndex)?.definition

/** Returns the record of a unit or sub-step. Ignores that of a sub-step if an edit put a unit at its path. */
const recordOf = (known: PlanFacts, decision: Decision): CompletedStep | undefined => {
  const record = Units.get(known.checkpoint.completedSteps, decision.unit)
  return record?.subStep !== undefined && definitionOf(known, decision) !== undefined ? undefined : record
}

const adoptedEdit = (known: PlanFacts, at: string): ReadonlyArray<Change.WorkflowEdited> => {
  const { checkpoint, workflow } = known
  if (isUnedited(checkpoint.workflow, workflow)) return []
  const abandons = abandoning(known, (unit) => !polls(known, unit))
  return [{ _tag: 'WorkflowEdited', at, workflow: current(workflow), ...abandons }]
}

/** The abandoned jobs that a change names. */
const abandoning = (
  { plan: { abandons = [] } }: PlanFacts,
  isNamed: (unit: Unit) => boolean
): { readonly abandons?: ReadonlyArray<Unit> } => {
  const units = abandons.flatMap(({ unit }) => (isNamed(unit) ? [unit] : []))
  return units.length === 0 ? {} : { abandons: units }
}

/** Returns whether the edited workflow keeps the job of a unit. */
const polls = ({ checkpoint, workflow }: PlanFacts, unit: Unit): boolean =>
  hasCode(find<Step>(workflow, checkpoint.items, unit)?.definition)

/** The fields of the checkpoint after the edit is recorded. */
const afterEdit = ({ checkpoint, workflow }: PlanFacts): ReturnType<typeof adopted> =>
  isUnedited(checkpoint.workflow, workflow) ? checkpoint : adopted(checkpoint, current(workflow))

/** The subtrees whose records are dropped. `keeps`: a part of them keeps its record. */
interface Dropped {
  readonly units: ReadonlyArray<Unit>
  readonly keeps: boolean
}

/** A walk over the decisions of a plan. `isHeld`: whether a unit has records or state; `first`: the first decision that drops records. */
interface Walk {
  readonly known: PlanFacts
  readonly accepted: ReadonlySet<Unit>
  readonly isHeld: (unit: Unit) => boolean
  first: Decision | undefined
}

/**
 * Drops the records of units that run again, of later units in their sequence unless they completed and are skipped, and of units whose
 * output an answer replaces.
 */
const rewound = (known: PlanFacts, at: string): Change.Rewound | undefined => {
  let held: ReadonlySet<Unit> | undefined
  const isHeld = (unit: Unit): boolean => (held ??= heldUnits(known.checkpoint)).has(unit)
  const walk: Walk = { known, accepted: unitsAccepted(known.plan), isHeld, first: undefined }
  const { units } = inOrder(walk, decisionTrees(known.plan), false)
  if (walk.first === undefined) return undefined
  const back: Change.Rewound = { _tag: 'Rewound', at, units, why: walk.first.reason._tag }
  const isTakenBack = takenBack(back)
  return { ...back, ...abandoning(known, (unit) => polls(known, unit) && isTakenBack({ unit })) }
}

const inOrder = (walk: Walk, parts: ReadonlyArray<DecisionTree>, isAfter: boolean): Dropped => {
  const dropped: Array<Dropped> = []
  let isLater = isAfter
  for (const part of parts) {
    const one = ofNode(walk, part, isLater)
    isLater ||= one.units.length > 0
    dropped.push(one)
  }
  return joined(dropped)
}

/** `isAfter`: an earlier step of a sequence loses records, so that only completed units that are skipped keep theirs. */
const ofNode = (walk: Walk, { decision, parts }: DecisionTree, isAfter: boolean): Dropped => {
  const { known, isHeld } = walk
  const { _tag, unit } = decision
  const whole: Dropped = { units: [unit], keeps: false }
  const kind = parts.length === 0 ? undefined : definitionOf(known, decision)?._tag
  const isLeaf = kind === undefined || kind === 'Task'
  if (isAfter && isLeaf && !(_tag === 'Skip' && recordOf(known, decision) !== undefined))
    return isHeld(unit) ? whole : NOTHING
  if (kind === undefined) return ofLeaf(walk, decision)
  if (kind === 'Task') return ofTask(walk, decision, parts)
  const below =
    kind === 'Sequence'
      ? inOrder(walk, parts, isAfter)
      : joined(
          parts.map((part) => ofNode(walk, part, isAfter)),
          isAfter
        )
  // A map with decisions about its parts keeps its items, and so do its ancestors.
  if (kind === 'Map') return { units: below.units, keeps: true }
  const isWhole = !below.keeps && (below.units.length > 0 || (isAfter && isHeld(unit)))
  return isWhole ? whole : below
}

const ofLeaf = (walk: Walk, decision: Decision): Dropped => {
  const { known, accepted, isHeld } = walk
  const { items, pending } = known.checkpoint
  const { unit } = decision
  // A pending unit keeps its job, and a retried one its attempt and its key.
  if (decision._tag === 'Poll' || decision._tag === 'Retry') return KEPT
  const record = recordOf(known, decision)
  if (decision._tag === 'Skip' && record !== undefined && !isReplaced(known, { decision, record })) return KEPT
  // Attempts of a unit that is assumed done end with the assumption.
  if (decision._tag === 'Skip' && record === undefined && isHeld(unit) && !items.has(unit)) return KEPT
  const isWaiting = decision.reason._tag !== 'NotStarted' && Units.within(pending, unit).length > 0
  const isDropped =
    record !== undefined ||
    (walk.first !== undefined && isHeld(unit)) ||
    (items.get(unit)?.length ?? 0) > 0 ||
    (decision._tag === 'Run' && (isRequested(decision, accepted) || isWaiting))
  if (!isDropped) return NOTHING
  walk.first ??= decision
  return { units: [unit], keeps: false }
}

/** Drops only the sub-steps that run again, or whose record an answer replaces, if the task keeps others. */
const ofTask = (walk: Walk, decision: Decision, parts: ReadonlyArray<DecisionTree>): Dropped => {
  const losesRecord = (part: Decision): boolean => {
    const record = recordOf(walk.known, part)
    return part._tag === 'Skip'
      ? record !== undefined && isReplaced(walk.known, { decision: part, record })
      : part._tag === 'Run'
  }
  const again = parts.flatMap((part) => (losesRecord(part.decision) ? [part.decision.unit] : []))
  if (again.length === 0) return ofLeaf(walk, decision)
  walk.first ??= decision
  if (parts.every((part) => part.decision._tag !== 'Skip')) return { units: [decision.unit], keeps: false }
  // A rewind drops the records of the sub-steps around a named one as well.
  const around = new Set(again.flatMap((unit) => [...ancestors(unit)]))
  return { units: again.filter((unit) => !around.has(unit)), keeps: true }
}

const KEPT: Dropped = { units: [], keeps: true }

const NOTHING: Dropped = { units: [], keeps: false }

/** `isAll`: the whole may be named even if a part has nothing to drop. Otherwise that part keeps its key, under which it may have run earlier. */
const joined = (all: ReadonlyArray<Dropped>, isAll = true): Dropped => {
  const dropping = all.filter(({ units }) => units.length > 0)
  const keeps = all.some((one) => one.keeps) || (!isAll && dropping.length > 0 && dropping.length < all.length)
  return dropping.length === 0 ? (keeps ? KEPT : NOTHING) : { units: dropping.flatMap(({ units }) => units), keeps }
}

/** The units with records or state, and their ancestors. */
const heldUnits = ({ state, completedSteps, items, pending, submissions }: Checkpoint): ReadonlySet<Unit> => {
  const held = new Set<Unit>([state.step])
  const hold = (unit: Unit): void => {
    held.add(unit)
    for (const above of ancestors(unit)) held.add(above)
  }
  for (const { unit } of completedSteps) hold(unit)
  for (const map of items.keys()) hold(map)
  for (const { unit } of [...pending, ...submissions, ...State.inFlight(state), ...State.failures(state)]) hold(unit)
  return held
}

/** The units whose current evidence is accepted, and their ancestors. */
const unitsAccepted = ({ decisions }: ResumePlan): ReadonlySet<Unit> =>
  new Set(
    decisions.flatMap((one) =>
      one._tag === 'Skip' && evidenceIn(one.reason) !== undefined ? [one.unit, ...ancestors(one.unit)] : []
    )
  )

const evidenceIn = (reason: SkipReason): ReadonlyArray<Evidence> | undefined =>
  'evidence' in reason ? reason.evidence : undefined

/** Returns whether a unit is forced, or follows a step whose current evidence is accepted. */
const isRequested = ({ reason }: Decision, accepted: ReadonlySet<Unit>): boolean =>
  reason._tag === 'Forced' || (reason._tag === 'EarlierStepRunsAgain' && accepted.has(reason.step))

/** Returns whether the user's answer replaces the record. Accepting changed evidence keeps it, and so does an output that completes it. */
const isReplaced = (known: PlanFacts, { decision, record }: Recorded): boolean =>
  decision.reason._tag === 'Assumed' &&
  record.assumed !== true &&
  !lacksCaptured(definitionOf(known, decision), record) &&
  (decision.reason.evidence === undefined || isOther(decision.reason.output, record))

/** A skipped unit and its record. */
interface Recorded {
  readonly decision: Skip
  readonly record: CompletedStep
}

/** Returns whether an accepted edit captures a variable that the record never set. */
const lacksCaptured = (step: Step | undefined, { captured }: CompletedStep): boolean =>
  step?._tag === 'Task' && step.captures.some((name) => !captured.includes(name))

const isOther = (output: Json | undefined, record: CompletedStep): boolean =>
  output !== undefined && (record.output === undefined || !equals(output, record.output))

/** Returns whether the rewind drops records of a unit: a named unit, a part of one, or an ancestor of one. */
const takenBack = (back: Change.Rewound | undefined): ((decision: Pick<Decision, 'unit'>) => boolean) => {
  const named = new Set(back?.units)
  const above = new Set([...named].flatMap((unit) => [...ancestors(unit)]))
  return ({ unit }) =>
    named.size > 0 && (named.has(unit) || above.has(unit) || [...ancestors(unit)].some((one) => named.has(one)))
}

/** A `Confirmed` change for each answer "again" about a unit in doubt that is not idempotent. */
const answered = (
  known: PlanFacts,
  { confirm }: PlanOptions,
  isTakenBack: (decision: Decision) => boolean,
  at: string
): ReadonlyArray<Change.Confirmed> => {
  if (confirm === undefined) return []
  // The edit is recorded first, and drops the attempts of units that are now of another kind.
  const { state } = afterEdit(known)
  const inDoubt = State.inDoubt(state)
  const isHarmful = (decision: Decision): boolean => {
    const step = definitionOf(known, decision)
    return step === undefined ? isSubStepInDoubt(state, decision.unit) : step._tag === 'Task' && !step.idempotent
  }
  const units = known.plan.decisions.flatMap((decision) =>
    (decision._tag === 'Retry' || decision._tag === 'Run') &&
    inDoubt.has(decision.unit) &&
    isHarmful(decision) &&
    confirm.get(decision.unit)?._tag === 'Again' &&
    !isTakenBack(decision)
      ? [decision.unit]
      : []
  )
  // Confirming a task removes its sub-steps from the state, so they cannot be confirmed after it.
  const tasks = new Set(units)
  return units
    .filter((unit) => ![...ancestors(unit)].some((above) => tasks.has(above)))
    .map((unit) => ({ _tag: 'Confirmed', at, unit }))
}

/** A `Confirmed` change for each unit whose changed evidence is accepted, or whose artifact a dropped record has replaced. */
const kept = (
  known: PlanFacts,
  { evidence: found = [] }: PlanOptions,
  isTakenBack: (decision: Pick<Decision, 'unit'>) => boolean,
  at: string
): ReadonlyArray<Change.Confirmed> => {
  const changes = new Map<Unit, Change.Confirmed>()
  const change = (unit: Unit, evidence: ReadonlyArray<Evidence>) => ({ _tag: 'Confirmed', at, unit, evidence }) as const
  for (const { _tag, unit, reason } of known.plan.decisions) {
    const accepted = _tag === 'Skip' ? evidenceIn(reason) : undefined
    if (accepted !== undefined) changes.set(unit, change(unit, accepted))
  }
  const { completedSteps } = afterEdit(known)
  const stays = ({ unit }: CompletedStep): boolean =>
    changes.has(unit) || (Units.has(completedSteps, unit) && !isTakenBack({ unit }))
  for (const [record, changed] of replacedByDropped(known.checkpoint.completedSteps, stays, found)) {
    const { unit } = record
    const { evidence = record.evidence } = changes.get(unit) ?? {}
    const replaced = changes.has(unit) ? {} : ({ replaced: true } as const)
    changes.set(unit, { ...change(unit, evidenceWith({ evidence }, changed)), ...replaced })
  }
  return [...changes.values()]
}

/** An `Assumed` change for each unit that is assumed done and keeps no record, or one without this output. A composite comes after its parts. */
const assumed = (
  known: PlanFacts,
  isTakenBack: (decision: Decision) => boolean,
  at: string
): ReadonlyArray<Change.Assumed> => {
  // The edit is recorded first, and drops the records of composites that gained a part, at any depth.
  const { completedSteps } = afterEdit(known)
  const abandoned = new Set(known.plan.abandons?.map(({ unit }) => unit))
  const found: Array<Change.Assumed> = []
  let subSteps: ReadonlyMap<Unit, SubStep> | undefined
  const subStepAt = (unit: Unit): SubStep | undefined =>
    (subSteps ??= new Map([...subStepsOf(known.checkpoint).values()].flat().map(({ unit, call }) => [unit, call]))).get(
      unit
    )
  const visit = ({ decision, parts }: DecisionTree): void => {
    for (const part of parts) visit(part)
    if (decision._tag !== 'Skip' || !isGiven(decision.reason)) return
    const { unit } = decision
    const record = recordOf(known, decision)
    const step = definitionOf(known, decision)
    const output = 'output' in decision.reason ? decision.reason.output : record?.output
    const isOpen =
      record === undefined ||
      isTakenBack(decision) ||
      (record.assumed === true && isOther(output, record)) ||
      (output !== undefined && lacksCaptured(step, record))
    const captures = step?._tag === 'Task' ? step.captures : undefined
    const isReopened = step !== undefined && captures === undefined && !Units.has(completedSteps, unit)
    if (!isOpen && !isReopened) return
    const call = step === undefined ? subStepAt(unit) : undefined
    const { transient: _, ...subStep } = call ?? {}
    // The record of a composite has an output if the unit was a task before an edit.
    const hasOutput = output !== undefined && (captures !== undefined || call !== undefined)
    found.push({
      _tag: 'Assumed',
      at,
      unit,
      ...(hasOutput ? { output } : {}),
      captured: hasOutput ? (captures ?? []) : [],
      ...(abandoned.has(unit) && polls(known, unit) && !isTakenBack(decision) ? { abandons: [unit] } : {}),
      ...(call === undefined ? {} : { subStep })
    })
  }
  for (const node of decisionTrees(known.plan)) visit(node)
  return found
}

const isGiven = ({ _tag }: SkipReason): boolean => _tag === 'Assumed' || _tag === 'EvidenceChanged'
