/** Rebases a checkpoint onto an edited workflow. */
import type { Fields } from '../checkpoint/Checkpoint.js'
import type { CheckpointState, InFlight } from '../checkpoint/CheckpointState.js'
import * as State from '../checkpoint/CheckpointState.js'
import type { CompletedStep } from '../checkpoint/CompletedStep.js'
import * as Units from '../checkpoint/Units.js'
import { renewed } from '../checkpoint/IdempotencyKey.js'
import type { Items } from '../checkpoint/Items.js'
import { add, none } from '../checkpoint/Items.js'
import type { PendingUnit } from '../checkpoint/Pending.js'
import { isBegun, isRunning, unrecorded } from './transitionParts.js'
import { find, taskAround } from '../checkpoint/Tree.js'
import { hasCode, isSameKind } from '../workflow/Node.js'
import type { Unit } from '../workflow/Unit.js'
import { isTop, parent } from '../workflow/Unit.js'
import type { StepIdentity, WorkflowIdentity } from '../workflow/WorkflowIdentity.js'

/** Matches units by path and drops deleted ones. Records keep their fingerprints, maps their items. */
export const adopted = (
  self: Fields,
  workflow: WorkflowIdentity
): Pick<
  Fields,
  'workflow' | 'state' | 'completedSteps' | 'items' | 'pending' | 'answers' | 'submissions' | 'renewals'
> => {
  const items = itemsIn(workflow, self.items)
  const taskOf = tasksIn(self, { workflow, items })
  const records: Array<CompletedStep> = []
  const dropped = new Set<Unit>()
  for (const record of self.completedSteps) {
    const { unit, stepIndex: expected, subStep } = record
    const found = subStep === undefined ? find(workflow, items, unit, expected) : taskOf(unit)
    if (found === undefined) {
      dropped.add(record.unit)
      continue
    }
    const { stepIndex } = found
    records.push(stepIndex === record.stepIndex ? record : { ...record, stepIndex })
  }
  const completedSteps = withoutReopened(records, { workflow, items })
  const canWait = (unit: Unit, kind: PendingUnit['_tag']): boolean => {
    const definition = find(workflow, items, unit)?.definition
    // A wait that is not in the tree was called by the code of the task right above it.
    if (definition === undefined) return kind !== 'Job' && !isTop(unit) && taskOf(unit)?.unit === parent(unit)
    return definition._tag === 'Task' && (definition.wait ?? 'Job') === kind
  }
  const remaining = <A extends Units.OfUnit & { readonly _tag?: PendingUnit['_tag'] }>(
    all: Units.Units<A>
  ): Units.Units<A> =>
    // Submissions have no tag: they are of jobs.
    Units.filter(all, ({ unit, _tag = 'Job' }) => {
      const stays = canWait(unit, _tag)
      if (!stays) dropped.add(unit)
      return stays
    })
  const [pending, submissions] = [remaining(self.pending), remaining(self.submissions)]
  return {
    workflow,
    completedSteps,
    items,
    state: stateAfterEdit({ ...self, pending }, { completedSteps, workflow, items }, taskOf),
    pending,
    answers: Units.filter(self.answers, ({ unit }) => canWait(unit, 'Answer')),
    submissions,
    // If a later edit restores a dropped unit, its old key would stand for other work.
    renewals: dropped.size === 0 ? self.renewals : renewed(self.renewals, dropped)
  }
}

type TaskOf = (subStep: Unit) => ReturnType<typeof taskAround<StepIdentity>>

/** Finds the task of a sub-step, if it is now a task with code. Former parts of a composite are no sub-steps of the task in its place. */
const tasksIn =
  (
    before: Pick<Fields, 'workflow' | 'items' | 'state'>,
    { workflow, items }: Pick<Fields, 'workflow' | 'items'>
  ): TaskOf =>
  (subStep) => {
    const { stepIndex } = before.state
    const now = taskAround(workflow, items, subStep, stepIndex)
    const was = taskAround(before.workflow, before.items, subStep, stepIndex)
    return hasCode(now?.definition) && now?.unit === was?.unit ? now : undefined
  }

/** The items of maps that still exist; outer maps come before inner ones. */
const itemsIn = (workflow: WorkflowIdentity, items: Items): Items => {
  let known = none
  for (const [map, list] of items)
    if (find(workflow, known, map)?.definition._tag === 'Map') known = add(known, map, list)
  return known
}

/** Drops the record of a composite that gained a part; the records of its parts stay. Parts are recorded before their composite. */
const withoutReopened = (
  records: ReadonlyArray<CompletedStep>,
  { workflow, items }: Pick<Fields, 'workflow' | 'items'>
): Units.Units<CompletedStep> => {
  let completedSteps: Units.Units<CompletedStep> = Units.none
  for (const record of records) {
    const definition = find(workflow, items, record.unit, record.stepIndex)?.definition
    if (definition === undefined || unrecorded({ items, completedSteps }, record.unit, definition) === undefined)
      completedSteps = Units.append(completedSteps, record)
  }
  return completedSteps
}

/** Keeps the state of units that still exist with the same kind. Marks the attempts of edited tasks that were cut short. */
const stateAfterEdit = (
  { state, workflow: before, items: known, pending }: Pick<Fields, 'state' | 'workflow' | 'items' | 'pending'>,
  { completedSteps, workflow, items }: Pick<Fields, 'completedSteps' | 'workflow' | 'items'>,
  taskOf: TaskOf
): CheckpointState => {
  const stays = ({ unit }: { readonly unit: Unit }): boolean => {
    const definition = find(workflow, items, unit, state.stepIndex)?.definition
    if (definition === undefined) return taskOf(unit) !== undefined
    return isSameKind(find(before, known, unit, state.stepIndex)?.definition, definition)
  }
  const isEdited = (one: InFlight): boolean => {
    const was = find(before, known, one.unit, state.stepIndex)?.definition
    return (
      isRunning(one) && was?.fingerprint !== find(workflow, items, one.unit, state.stepIndex)?.definition.fingerprint
    )
  }
  const kept = Units.filter(State.inFlight(state), stays)
  const failures = Units.filter(State.failures(state), stays)
  const inFlight = [...kept]
    .filter(isEdited)
    .reduce((all, { unit, attempt }) => Units.replace(all, { unit, attempt, edited: true }), kept)
  const open = { inFlight, failures }
  const found = find(workflow, items, state.step, state.stepIndex)
  if (found === undefined || (state._tag === 'Completed' && !Units.has(completedSteps, state.step)))
    return State.withOpen(atFirstUnrecorded(workflow, completedSteps), open)
  const { step, stepIndex } = found
  const next = State.withOpen({ ...state, stepIndex }, open)
  if (next._tag !== 'Interrupted') return next
  const isStillBegun =
    isSameKind(before.steps[state.stepIndex], step) || isBegun({ completedSteps, pending }, step.name, open)
  return { ...next, inProgress: next.inProgress && isStillBegun }
}

/** The state before the first step without a record, or after the last step. */
const atFirstUnrecorded = (
  { steps }: WorkflowIdentity,
  completedSteps: Units.Units<CompletedStep>
): CheckpointState => {
  const index = steps.findIndex(({ name }) => !Units.has(completedSteps, name))
  const last = steps.length - 1
  return index === -1
    ? State.completed(last, steps[last]?.name ?? '')
    : State.beforeStep(index, steps[index]?.name ?? '')
}
