/** Finds the edits that a policy refuses. */
import type { Checkpoint } from '../checkpoint/Checkpoint.js'
import * as State from '../checkpoint/CheckpointState.js'
import * as Units from '../checkpoint/Units.js'
import { isForcedBy, isRerun } from './demands.js'
import { defined } from '../data/defined.js'
import { indexOfStep } from '../data/indexed.js'
import { neededBy } from '../workflow/needs.js'
import type { Changes } from './Plan.js'
import type { Edit, PlanProblem } from './PlanProblem.js'
import type { PlanContext } from './PlanContext.js'
import { hasRecords } from './PlanContext.js'
import { isSubStepInDoubt } from './subSteps.js'
import type { Node } from '../workflow/Node.js'
import { find, taskAround } from '../checkpoint/Tree.js'
import { hasCode, hasSameResult, isComposite, isIdempotent, listedParts, mayReplace } from '../workflow/Node.js'
import type { Unit } from '../workflow/Unit.js'
import { fromTop, join, nameOf, parent, top } from '../workflow/Unit.js'
import type { Group, Step, Workflow } from '../workflow/Workflow.js'
import { tasks } from '../workflow/Workflow.js'
import type { StepIdentity, WorkflowIdentity } from '../workflow/WorkflowIdentity.js'
import { areSame, recordedFingerprint } from '../workflow/WorkflowIdentity.js'

export const wrongWorkflow = (checkpoint: Checkpoint, { name: found }: Workflow): ReadonlyArray<PlanProblem> => {
  const { name: expected } = checkpoint.workflow
  return expected === found ? [] : [{ _tag: 'WrongWorkflow', expected, found }]
}

/** Returns the edits that a policy refuses; none for workflows with different names. */
export const refusedEdits = (context: PlanContext, workflow: Workflow, policy: Changes): ReadonlyArray<PlanProblem> => {
  const { checkpoint } = context
  if (checkpoint.workflow.name !== workflow.name) return []
  const comparison: Comparison = {
    checkpoint,
    workflow,
    context,
    firstRedone: new Map(),
    placesNow: new Map(),
    changed: new Set()
  }
  if (policy === 'ignore') return [...editsOfRecorded(comparison, true), ...editsOfPending(comparison, lacksJob)]
  if (policy === 'strict') return [...editsOfAll(checkpoint.workflow, workflow), ...vanished(comparison)]
  return inOrder(workflow, [
    ...editsOfRecorded(comparison),
    ...misplaced(comparison, checkpoint.workflow, workflow, undefined, false),
    ...editsOfPending(comparison),
    ...vanished(comparison)
  ])
}

/** Sorts edits by their top-level steps in the workflow, so that the first names the step to run from. Removed steps are first. */
const inOrder = ({ steps }: Workflow, problems: ReadonlyArray<PlanProblem>): ReadonlyArray<PlanProblem> => {
  const places = new Map(steps.map(({ name }, index) => [name, index]))
  const placeOf = (problem: PlanProblem): number =>
    ('unit' in problem ? places.get(top(problem.unit)) : undefined) ?? -1
  return [...problems].sort((one, other) => placeOf(one) - placeOf(other))
}

/**
 * The state of the comparison. `firstRedone`: for each sequence, the recorded index of its first step that runs again whatever is recorded;
 * `placesNow`: the places of new tasks by name and fingerprint, filled on first use; `changed`: the units with a reported edit;
 * `added`: the result of {@link addsUnforced} for the whole workflow, once it was needed.
 */
interface Comparison {
  readonly checkpoint: Checkpoint
  readonly workflow: Workflow
  readonly context: PlanContext
  readonly firstRedone: Map<Unit | undefined, number>
  readonly placesNow: Map<string, string>
  readonly changed: Set<Unit>
  added?: boolean
}

const editProblem = (edit: Edit, unit: Unit, recorded?: string, present?: string, otherKind?: true): PlanProblem => ({
  _tag: 'WorkflowChanged',
  edit,
  unit,
  ...defined({ recorded, present, otherKind })
})

const definitionOf = (
  { workflow, checkpoint: { items } }: Comparison,
  unit: Unit,
  expected?: number
): Step | undefined => find<Step>(workflow, items, unit, expected)?.definition

/** Returns whether the plan runs a unit again whatever is recorded. A removed unit counts by its former place. */
const isRedone = (comparison: Comparison, unit: Unit): boolean => {
  const { checkpoint, workflow, context, firstRedone } = comparison
  if (isRerun(context.demands.of(unit))) return true
  const removed = fromTop(unit).find((one) => definitionOf(comparison, one) === undefined)
  if (removed === undefined) return false
  const above = parent(removed)
  const was = above === undefined ? checkpoint.workflow : find(checkpoint.workflow, checkpoint.items, above)?.definition
  const now = above === undefined ? workflow : definitionOf(comparison, above)
  if (was === undefined || now === undefined || !('steps' in was) || !('steps' in now)) return false
  let from = firstRedone.get(above)
  if (from === undefined) {
    const first = now.steps.find(({ name }) => isRerun(context.demands.of(join(above, name))))
    from = first === undefined ? Infinity : (indexOfStep(was.steps, first.name) ?? Infinity)
    firstRedone.set(above, from)
  }
  return (indexOfStep(was.steps, nameOf(removed)) ?? -1) >= from
}

/** Returns whether an option asks to run the unit that has this path now. Missing evidence is no consent to repeat an effect. */
const isForced = (comparison: Comparison, unit: Unit): boolean =>
  definitionOf(comparison, unit) !== undefined && isForcedBy(comparison.context.demands.of(unit))

/**
 * Returns whether a resume could repeat an effect without a question: an edit changed the kind of a unit that is not idempotent; or it removed the
 * unit, made it a wait or took its number, and another step may do the same now. An option that forces that step is consent.
 */
const mayRepeat = (comparison: Comparison, unit: Unit, was: Node | undefined, now: Step | undefined): boolean => {
  const inside = Units.within(comparison.checkpoint.completedSteps, unit)
  const actsOnce = inside.some(({ subStep, inDoubt }) => subStep?.idempotent === false || inDoubt !== undefined)
  if (was === undefined || (isIdempotent(was) && !actsOnce)) return false
  if (now !== undefined && !hasSameResult(was, now)) return !isForced(comparison, unit)
  // A question protects the effect of a task with code, unless its number names another step now.
  if (now !== undefined && (now._tag !== 'Task' || (hasCode(now) && !now.numbered))) return false
  if (hasCode(now)) return addsUnforced(comparison, comparison.workflow.steps, undefined, unit)
  return (comparison.added ??= addsUnforced(comparison, comparison.workflow.steps))
}

/** Returns whether one of these parts, except `asked`, may do what a removed step did, and is neither forced nor assumed done. */
const addsUnforced = (comparison: Comparison, parts: ReadonlyArray<Step>, above?: Unit, asked?: Unit): boolean =>
  parts.some((part) => {
    const { workflow, items } = comparison.checkpoint
    const unit = join(above, part.name)
    const was = find(workflow, items, unit)?.definition
    if (unit === asked || was?.fingerprint === part.fingerprint) return false
    if (!mayReplace(was, part)) return addsUnforced(comparison, listedParts(part), unit, asked)
    const demand = comparison.context.demands.of(unit)
    return demand !== 'assumed' && !isForcedBy(demand)
  })

/**
 * Yields completed units that were removed or changed, except those that run again and repeat no effect unasked. `isOther`: only those whose recorded
 * result is no result of the present step.
 */
function* editsOfRecorded(comparison: Comparison, isOther = false): Iterable<PlanProblem> {
  const { checkpoint, workflow } = comparison
  if (areSame(checkpoint.workflow.steps, workflow.steps)) return
  for (const { unit, stepIndex, fingerprint, subStep, inDoubt } of Units.all(checkpoint.completedSteps)) {
    const [before, after] = [checkpoint.workflow.steps[stepIndex], workflow.steps[stepIndex]]
    if (before?.name === after?.name && before?.fingerprint === after?.fingerprint) continue
    if (subStep !== undefined) {
      if (!isOther && (subStep.idempotent === false || inDoubt !== undefined))
        yield* editsAround(comparison, unit, stepIndex)
      continue
    }
    const definition = definitionOf(comparison, unit, stepIndex)
    const now = definition === undefined ? undefined : recordedFingerprint(definition)
    if (now === fingerprint) continue
    const was = find(checkpoint.workflow, checkpoint.items, unit, stepIndex)?.definition
    const otherKind = !hasSameResult(was, definition) || undefined
    if (isRedone(comparison, unit) && !mayRepeat(comparison, unit, was, definition)) continue
    // The recorded workflow already has this definition: an earlier plan accepted the edit.
    if (now !== undefined && was !== undefined && recordedFingerprint(was) === now) continue
    if (isOther && (otherKind !== true || areAssumed(comparison, unit, definition))) continue
    yield* editOf(comparison, unit, fingerprint, now, otherKind)
  }
}

/** Yields the edit of a unit that ran; of a map, once for all items, because they share one definition. */
function* editOf(
  comparison: Comparison,
  unit: Unit,
  fingerprint: string,
  now: string | undefined,
  otherKind?: true
): Iterable<PlanProblem> {
  const { checkpoint, changed } = comparison
  const map = fromTop(unit).find((one) => checkpoint.items.has(one))
  if (changed.has(map ?? unit)) return
  changed.add(map ?? unit)
  if (map === undefined) {
    const edit = editProblem(now === undefined ? 'removed' : 'changed', unit, fingerprint, now, otherKind)
    yield now === undefined ? moved(comparison, edit, taskKey(nameOf(unit), fingerprint)) : edit
  } else {
    const [recorded, present] = [
      find(checkpoint.workflow, checkpoint.items, map)?.definition,
      definitionOf(comparison, map)
    ]
    const edit = present === undefined ? 'removed' : 'changed'
    yield editProblem(edit, map, recorded?.fingerprint, present?.fingerprint, otherKind)
  }
}

/**
 * Yields the edit of an unfinished task with a completed sub-step that must not run twice, if no task with code has its place. Else the task may
 * be edited: the executor compares each sub-step when the code calls it.
 */
function* editsAround(comparison: Comparison, subStep: Unit, stepIndex: number): Iterable<PlanProblem> {
  const { workflow, items, completedSteps } = comparison.checkpoint
  const task = taskAround(workflow, items, subStep, stepIndex)
  if (task === undefined || Units.has(completedSteps, task.unit)) return
  const now = definitionOf(comparison, task.unit, stepIndex)
  if (hasCode(now) || isForced(comparison, task.unit)) return
  yield* editOf(comparison, task.unit, task.definition.fingerprint, now?.fingerprint)
}

/** Returns whether a composite replaced a task, and `fromStep` assumes its parts done: `outputs` supplies their results. */
const areAssumed = ({ context }: Comparison, unit: Unit, now: Step | undefined): boolean =>
  now !== undefined && isComposite(now) && context.demands.of(unit) === 'assumed'

/** The key of a task: one with this name and fingerprint at another place is the same task. */
const taskKey = (name: string, fingerprint: string): string => `${name} ${fingerprint}`

/** Adds the new place of a removed task. */
const moved = ({ checkpoint, workflow, placesNow }: Comparison, edit: PlanProblem, removed: string): PlanProblem => {
  if (placesNow.size === 0)
    for (const { task, place } of tasks(workflow.steps)) {
      const isNew = find(checkpoint.workflow, checkpoint.items, place) === undefined
      const key = taskKey(task.name, task.fingerprint)
      if (isNew && !placesNow.has(key)) placesNow.set(key, place)
    }
  const movedTo = placesNow.get(removed)
  return movedTo === undefined ? edit : ({ ...edit, movedTo } as PlanProblem)
}

/** Yields removed or changed units whose job is pending, unless they run again and repeat nothing unasked. A wait may be edited: its record stays. */
function* editsOfPending(
  comparison: Comparison,
  isRefused: (now: Step | undefined) => boolean = () => true
): Iterable<PlanProblem> {
  const { checkpoint } = comparison
  for (const { unit, _tag } of checkpoint.pending) {
    if (_tag !== 'Job') continue
    const was = find(checkpoint.workflow, checkpoint.items, unit)
    if (was === undefined) continue
    const { fingerprint } = was.definition
    const now = definitionOf(comparison, unit)
    if (isRedone(comparison, unit) && !mayRepeat(comparison, unit, was.definition, now)) continue
    if ((now?._tag === 'Task' && now.fingerprint === fingerprint) || !isRefused(now)) continue
    // No other kind polls the job.
    const polls = hasCode(now) ? now.fingerprint : undefined
    const edit = editProblem(now === undefined ? 'removed' : 'changed', unit, fingerprint, polls)
    yield { ...edit, pending: true } as PlanProblem
  }
}

/** Detects a task of a program that submits no job, so that nothing could poll a pending one. */
const lacksJob = (step: Step | undefined): boolean => hasCode(step) && 'job' in step && step.job === undefined

/**
 * Yields units that were reordered after they ran, or inserted before one that ran, on this level and below. `isFollowed`: a unit after this
 * level has run.
 */
function* misplaced(
  comparison: Comparison,
  was: WorkflowIdentity | StepIdentity,
  now: Workflow | Step,
  unit: Unit | undefined,
  isFollowed: boolean
): Iterable<PlanProblem> {
  const present = 'fingerprint' in now ? now.fingerprint : undefined
  if (was.fingerprint === present) return
  if ('steps' in was && 'steps' in now) yield* misplacedSteps(comparison, was.steps, now.steps, unit, isFollowed)
  else if ('groups' in was && 'groups' in now)
    yield* misplacedGroups(comparison, was.groups, now.groups, unit, isFollowed)
  else if ('each' in was && 'each' in now && unit !== undefined) {
    for (const { key } of comparison.checkpoint.items.get(unit) ?? []) {
      const found = [...misplaced(comparison, was.each, now.each, join(unit, key), isFollowed)]
      yield* found
      // All items of a map share one definition, so one problem is enough.
      if (found.length > 0) return
    }
  } else if (unit !== undefined && isComposite(was) && isComposite(now)) {
    const { checkpoint, context, changed } = comparison
    const isKnown = Units.has(checkpoint.completedSteps, unit) || changed.has(unit)
    if (hasRecords(context, unit) && !isKnown && !isRedone(comparison, unit))
      yield editProblem('changed', unit, was.fingerprint, present)
  }
}

/** Returns whether a unit has records that the plan keeps. */
const hasKeptRecords = ({ context }: Comparison, unit: Unit): boolean =>
  hasRecords(context, unit) && !isRerun(context.demands.of(unit))

function* misplacedSteps(
  comparison: Comparison,
  was: ReadonlyArray<StepIdentity>,
  now: ReadonlyArray<Step>,
  parent: Unit | undefined,
  isFollowed: boolean
): Iterable<PlanProblem> {
  if (areSame(was, now)) return
  let furthest = -1
  let lastRecorded = -1
  for (const [formerIndex, { name }] of was.entries()) {
    const unit = join(parent, name)
    if (!hasRecords(comparison.context, unit)) continue
    const index = indexOfStep(now, name, formerIndex)
    if (index !== undefined && !hasKeptRecords(comparison, unit)) continue
    lastRecorded = formerIndex
    if (index === undefined) continue
    if (index < furthest) yield editProblem('reordered', unit)
    furthest = Math.max(furthest, index)
  }
  for (const [index, step] of now.entries()) {
    const formerIndex = indexOfStep(was, step.name, index)
    const unit = join(parent, step.name)
    const isBefore = isFollowed || index < furthest
    const isMoved =
      index < furthest &&
      formerIndex !== undefined &&
      formerIndex >= lastRecorded &&
      !hasRecords(comparison.context, unit)
    if ((formerIndex === undefined && isBefore) || isMoved)
      yield editProblem('insertedBefore', unit, undefined, step.fingerprint)
    else if (formerIndex !== undefined)
      yield* misplaced(comparison, was[formerIndex] as StepIdentity, step, unit, isBefore)
  }
}

function* misplacedGroups(
  comparison: Comparison,
  was: ReadonlyArray<StepIdentity>,
  now: ReadonlyArray<Group>,
  parent: Unit | undefined,
  isFollowed: boolean
): Iterable<PlanProblem> {
  const needed = isFollowed
    ? undefined
    : neededBy(
        now,
        now.map(({ name }) => name).filter((name) => hasKeptRecords(comparison, join(parent, name)))
      )
  for (const [index, group] of now.entries()) {
    const unit = join(parent, group.name)
    const isBefore = needed?.has(group.name) ?? true
    const formerIndex = indexOfStep(was, group.name, index)
    if (formerIndex !== undefined) yield* misplaced(comparison, was[formerIndex] as StepIdentity, group, unit, isBefore)
    else if (isBefore) yield editProblem('insertedBefore', unit, undefined, group.fingerprint)
  }
}

/** Yields every difference, for the `strict` policy: of a composite those of its parts, else its own. */
function* editsOfAll(was: Node, now: Node, parent?: Unit): Iterable<PlanProblem> {
  const [before, after] = [listedParts(was) as ReadonlyArray<StepIdentity>, listedParts(now) as ReadonlyArray<Step>]
  const isOrdered = was.steps !== undefined && now.steps !== undefined
  let last = -1
  for (const [formerIndex, part] of before.entries()) {
    const unit = join(parent, part.name)
    const index = indexOfStep(after, part.name, formerIndex)
    if (index === undefined) {
      yield editProblem('removed', unit, part.fingerprint)
      continue
    }
    const present = after[index] as Step
    if (present.fingerprint !== part.fingerprint) yield* differences(part, present, unit)
    if (isOrdered && index < last) yield editProblem('reordered', unit)
    last = Math.max(last, index)
  }
  for (const [index, { name, fingerprint }] of after.entries())
    if (indexOfStep(before, name, index) === undefined)
      yield editProblem('added', join(parent, name), undefined, fingerprint)
}

function* differences(was: StepIdentity, now: Step, unit: Unit): Iterable<PlanProblem> {
  const isSameKind = isComposite(was) && isComposite(now) && recordedFingerprint(was) === recordedFingerprint(now)
  const inside = isSameKind ? [...editsOfAll(was, now, unit)] : []
  if (inside.length === 0) yield editProblem('changed', unit, was.fingerprint, now.fingerprint)
  else yield* inside
}

/** Yields removed or replaced units that are not idempotent, may have taken effect and are not forced: a resume could not ask about them. */
function* vanished(comparison: Comparison): Iterable<PlanProblem> {
  const { workflow, items, state } = comparison.checkpoint
  for (const unit of State.inDoubt(state)) {
    const was = find(workflow, items, unit, state.stepIndex)?.definition
    if (was === undefined) yield* vanishedSubStep(comparison, unit)
    if (was?._tag !== 'Task' || was.idempotent) continue
    const present = definitionOf(comparison, unit)
    const isAnother = present?._tag === 'Task' && present.numbered && present.fingerprint !== was.fingerprint
    if (isForced(comparison, unit) || (present?._tag === 'Task' && !isAnother)) continue
    const edit =
      present === undefined
        ? editProblem('removed', unit, was.fingerprint)
        : editProblem('changed', unit, was.fingerprint, recordedFingerprint(present))
    yield { ...edit, inDoubt: true } as PlanProblem
  }
}

/** Yields a sub-step that may have taken effect, and whose task was removed, lost its code or was replaced, unless it is forced. */
function* vanishedSubStep(comparison: Comparison, unit: Unit): Iterable<PlanProblem> {
  const { checkpoint, workflow } = comparison
  const { state, items } = checkpoint
  const was = taskAround(checkpoint.workflow, items, unit, state.stepIndex)
  const now = taskAround<Step>(workflow, items, unit, state.stepIndex)
  if (!isSubStepInDoubt(state, unit) || (hasCode(now?.definition) && now?.unit === was?.unit)) return
  if (was !== undefined && isForced(comparison, was.unit)) return
  yield { ...editProblem('removed', unit, was?.definition.fingerprint), inDoubt: true } as PlanProblem
}
