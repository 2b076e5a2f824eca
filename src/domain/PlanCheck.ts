/**
 * What stands against a plan: a checkpoint that contradicts itself, and edits that a policy refuses.
 *
 * @since 0.1.0
 */
import type { Checkpoint } from './Checkpoint.js'
import * as State from './CheckpointState.js'
import type { CompletedStep } from './CompletedStep.js'
import * as Steps from './CompletedStep.js'
import { isAnew } from './demands.js'
import { indexOfStep } from './indexed.js'
import type { Changes, Edit, PlanProblem } from './Plan.js'
import type { PlanContext } from './PlanContext.js'
import { hasRecords } from './PlanContext.js'
import { unrecorded } from './transitionParts.js'
import type { Node } from './Tree.js'
import { find, listedParts, partNamed } from './Tree.js'
import type { Unit } from './Unit.js'
import { ancestors, join, nameOf, parent, top } from './Unit.js'
import type { Step, Workflow } from './Workflow.js'
import type { StepIdentity } from './WorkflowIdentity.js'

// ---------------------------------------------------------------------------------------------------------------------
// the checkpoint against itself
// ---------------------------------------------------------------------------------------------------------------------

/**
 * Everywhere that a checkpoint contradicts itself. Nothing that the transitions make does; one that came from outside
 * may.
 *
 * @category validation
 * @since 0.1.0
 */
export function* inconsistencies(checkpoint: Checkpoint): Iterable<PlanProblem> {
  const { state, workflow, items, completedSteps } = checkpoint
  const steps = workflow.steps.length
  const wrong = (why: string): PlanProblem => ({ _tag: 'InconsistentCheckpoint', why })
  const named = Number.isInteger(state.stepIndex) ? workflow.steps[state.stepIndex]?.name : undefined
  if (named === undefined) yield { _tag: 'StepOutOfRange', stepIndex: state.stepIndex, steps }
  else if (named !== state.step)
    yield wrong(`step ${state.stepIndex} is "${named}", but the state calls it "${state.step}"`)
  for (const record of completedSteps) {
    const why = wrongRecord(record, checkpoint)
    if (why !== undefined) yield wrong(why)
  }
  if (completedSteps.twice !== undefined) yield wrong(`"${completedSteps.twice}" is recorded twice`)
  for (const { unit } of [...State.inFlight(state), ...State.failures(state)])
    if (top(unit) !== state.step || find(workflow, items, unit, state.stepIndex) === undefined)
      yield wrong(`the run stands at "${state.step}", but the state speaks of "${unit}"`)
  for (const [unit] of items)
    if (find(workflow, items, unit)?.definition.kind !== 'map')
      yield wrong(`"${unit}" has items, but there is no such map`)
  for (const why of wrongJobs(checkpoint)) yield wrong(why)
  const why = named === state.step ? wrongState(state, Steps.has(completedSteps, state.step)) : undefined
  if (why !== undefined) yield wrong(why)
}

const wrongRecord = ({ unit, stepIndex }: CompletedStep, checkpoint: Checkpoint): string | undefined => {
  const { workflow, items } = checkpoint
  const step = workflow.steps[stepIndex]
  if (step === undefined) return `a record names step ${stepIndex}, but there are ${workflow.steps.length} steps`
  const name = top(unit)
  if (step.name !== name) return `step ${stepIndex} is "${step.name}", but a record calls it "${name}"`
  const found = find(workflow, items, unit, stepIndex)
  if (found === undefined) return `"${unit}" is recorded, but there is no such unit`
  const missing = unrecorded(checkpoint, unit, found.definition)
  return missing === undefined ? undefined : `"${unit}" is recorded completed, but its part "${missing}" is not`
}

/** A unit has one job at most, and what is done waits for none. */
function* wrongJobs({ pending, submissions, workflow, items, state, completedSteps }: Checkpoint): Iterable<string> {
  if (pending.length === 0 && submissions.length === 0) return
  const seen = new Set<Unit>()
  for (const { unit } of [...pending, ...submissions]) {
    if (find(workflow, items, unit)?.definition.kind !== 'task') yield `"${unit}" has a job, but there is no such task`
    if (Steps.has(completedSteps, unit)) yield `"${unit}" has a job, but is recorded completed`
    if (seen.has(unit)) yield `"${unit}" has two jobs`
    seen.add(unit)
  }
  const running = new Set(State.inFlight(state).map(({ unit }) => unit))
  for (const { unit } of pending) if (running.has(unit)) yield `"${unit}" is in flight, but its job is pending`
}

const wrongState = (state: State.CheckpointState, done: boolean): string | undefined => {
  switch (state._tag) {
    case 'Completed':
      return done ? undefined : `"${state.step}" is said to be completed, but has no record`
    case 'Interrupted':
      return done && state.inProgress
        ? `"${state.step}" is said to be in progress, but is recorded completed`
        : undefined
    case 'BeforeStep':
    case 'Failed':
      return done ? `the run stands at "${state.step}", but that is recorded completed` : undefined
  }
}

// ---------------------------------------------------------------------------------------------------------------------
// the workflow against the one that ran
// ---------------------------------------------------------------------------------------------------------------------

/**
 * Whether the checkpoint is of another workflow.
 *
 * @category validation
 * @since 0.1.0
 */
export const wrongWorkflow = (checkpoint: Checkpoint, { name: found }: Workflow): ReadonlyArray<PlanProblem> => {
  const { name: expected } = checkpoint.workflow
  return expected === found ? [] : [{ _tag: 'WrongWorkflow', expected, found }]
}

/**
 * The edits that a policy refuses. Returns none for workflows with different names. Units that run again may be edited.
 *
 * @category validation
 * @since 0.1.0
 */
export const compare = (context: PlanContext, workflow: Workflow, policy: Changes): ReadonlyArray<PlanProblem> => {
  const { checkpoint } = context
  if (policy === 'ignore' || checkpoint.workflow.name !== workflow.name) return []
  const edited: Edited = { checkpoint, workflow, context, redoneWas: new Map() }
  return policy === 'strict'
    ? [...editsOfAll(edited), ...vanished(edited)]
    : [
        ...editsOfRecorded(edited),
        ...misplaced(edited, checkpoint.workflow, workflow, undefined),
        ...editsOfPending(edited),
        ...vanished(edited)
      ]
}

/** The plan's context and its workflow. `redoneWas`: for each sequence, the former index of its first step that runs again whatever is recorded. */
interface Edited {
  readonly checkpoint: Checkpoint
  readonly workflow: Workflow
  readonly context: PlanContext
  readonly redoneWas: Map<Unit | undefined, number>
}

const changed = (edit: Edit, unit: Unit, recorded?: string, present?: string): PlanProblem => ({
  _tag: 'WorkflowChanged',
  edit,
  unit,
  ...(recorded === undefined ? {} : { recorded }),
  ...(present === undefined ? {} : { present })
})

/** What a unit is defined as now. */
const definitionOf = ({ workflow, checkpoint: { items } }: Edited, unit: Unit, expected?: number): Step | undefined =>
  find<Step>(workflow, items, unit, expected)?.definition

/** Whether the plan runs a unit again whatever is recorded. A removed unit counts by its former place. */
const isRedone = (edited: Edited, unit: Unit): boolean => {
  const { checkpoint, workflow, context, redoneWas } = edited
  if (isAnew(context.demands.of(unit))) return true
  const gone = [...ancestors(unit)]
    .reverse()
    .concat(unit)
    .find((one) => definitionOf(edited, one) === undefined)
  if (gone === undefined) return false
  const above = parent(gone)
  const was = above === undefined ? checkpoint.workflow : find(checkpoint.workflow, checkpoint.items, above)?.definition
  const now = above === undefined ? workflow : definitionOf(edited, above)
  if (was === undefined || now === undefined || !('steps' in was) || !('steps' in now)) return false
  let from = redoneWas.get(above)
  if (from === undefined) {
    const first = now.steps.find(({ name }) => isAnew(context.demands.of(join(above, name))))
    from = first === undefined ? Infinity : (indexOfStep(was.steps, first.name, 0) ?? Infinity)
    redoneWas.set(above, from)
  }
  return (indexOfStep(was.steps, nameOf(gone), 0) ?? -1) >= from
}

/** Completed units that were removed or changed, except those that run again whatever is recorded. */
function* editsOfRecorded(edited: Edited): Iterable<PlanProblem> {
  const { checkpoint, workflow } = edited
  const maps = new Set<Unit>()
  for (const { unit, stepIndex, fingerprint } of checkpoint.completedSteps) {
    const [before, after] = [checkpoint.workflow.steps[stepIndex], workflow.steps[stepIndex]]
    if (before?.name === after?.name && before?.fingerprint === after?.fingerprint) continue
    const now = definitionOf(edited, unit, stepIndex)
    if (now?.fingerprint === fingerprint || isRedone(edited, unit)) continue
    const was = find(checkpoint.workflow, checkpoint.items, unit, stepIndex)?.definition
    // Only an accepted plan lets a recorded run adopt another definition.
    if (now !== undefined && was?.fingerprint === now.fingerprint) continue
    const edit = now === undefined ? 'removed' : 'changed'
    const map = [...ancestors(unit)].reverse().find((one) => checkpoint.items.has(one))
    if (map === undefined) yield changed(edit, unit, fingerprint, now?.fingerprint)
    else if (!maps.has(map)) {
      // All items of a map are defined at once, and there may be many.
      maps.add(map)
      const recorded = find(checkpoint.workflow, checkpoint.items, map)?.definition.fingerprint
      yield changed(edit, map, recorded, definitionOf(edited, map)?.fingerprint)
    }
  }
}

/** Units whose job is pending that are gone or are defined otherwise now, but for those that run again in any case. */
function* editsOfPending(edited: Edited): Iterable<PlanProblem> {
  const { checkpoint } = edited
  for (const { unit } of checkpoint.pending) {
    const was = find(checkpoint.workflow, checkpoint.items, unit)
    if (was === undefined || isRedone(edited, unit)) continue
    const { fingerprint } = was.definition
    const now = definitionOf(edited, unit)
    if (now?._tag === 'Task' && now.fingerprint === fingerprint) continue
    const edit = changed(now === undefined ? 'removed' : 'changed', unit, fingerprint, now?.fingerprint)
    yield { ...edit, pending: true } as PlanProblem
  }
}

/** Steps of sequences with completed work that changed their order, and steps that were put before such. */
function* misplaced(edited: Edited, was: Node, now: Node, unit: Unit | undefined): Iterable<PlanProblem> {
  if (was.steps !== undefined && now.steps !== undefined)
    yield* misplacedIn(edited, was.steps as ReadonlyArray<StepIdentity>, now.steps as ReadonlyArray<Step>, unit)
  const isComposite = (node: Node | undefined): node is Node =>
    node?.steps !== undefined || node?.groups !== undefined || node?.each !== undefined
  const { items } = edited.checkpoint
  if (unit !== undefined && isComposite(was.each) && isComposite(now.each))
    for (const { key } of items.get(unit) ?? []) yield* misplaced(edited, was.each, now.each, join(unit, key))
  for (const part of listedParts(was)) {
    const other = isComposite(part) ? partNamed(now, unit ?? '', part.name, items) : undefined
    if (isComposite(other)) yield* misplaced(edited, part, other, join(unit, part.name))
  }
}

function* misplacedIn(
  { context }: Edited,
  was: ReadonlyArray<StepIdentity>,
  now: ReadonlyArray<Step>,
  parent: Unit | undefined
): Iterable<PlanProblem> {
  if (was.every(({ name }, index) => now[index]?.name === name)) return
  let before = -1
  let last = -1
  for (const [stood, { name }] of was.entries()) {
    const unit = join(parent, name)
    if (!hasRecords(context, unit)) continue
    const index = indexOfStep(now, name, stood)
    if (index !== undefined && isAnew(context.demands.of(unit))) continue
    last = stood
    if (index === undefined) continue
    if (index < before) yield changed('reordered', unit)
    before = Math.max(before, index)
  }
  for (let index = 0; index < before; index++) {
    const { name, fingerprint } = now[index] as Step
    const stood = indexOfStep(was, name, index) ?? Infinity
    const unit = join(parent, name)
    if (stood >= last && !(stood < Infinity && hasRecords(context, unit)))
      yield changed('insertedBefore', unit, undefined, fingerprint)
  }
}

/** Every difference of top-level steps, for those who want none. */
function* editsOfAll({ checkpoint, workflow }: Edited): Iterable<PlanProblem> {
  let before = -1
  for (const [stepIndex, step] of checkpoint.workflow.steps.entries()) {
    const index = indexOfStep(workflow.steps, step.name, stepIndex)
    if (index === undefined) {
      yield changed('removed', step.name, step.fingerprint)
      continue
    }
    const { fingerprint } = workflow.steps[index] as Step
    if (fingerprint !== step.fingerprint) yield changed('changed', step.name, step.fingerprint, fingerprint)
    if (index < before) yield changed('reordered', step.name)
    before = Math.max(before, index)
  }
  for (const [index, { name, fingerprint }] of workflow.steps.entries()) {
    if (indexOfStep(checkpoint.workflow.steps, name, index) === undefined)
      yield changed('added', name, undefined, fingerprint)
  }
}

/**
 * Units that may have had their effect, must not have it twice, and are gone, or whose number another bears now: nobody
 * could be asked about them.
 */
function* vanished(edited: Edited): Iterable<PlanProblem> {
  const { workflow, items, state } = edited.checkpoint
  for (const unit of State.inDoubt(state)) {
    const was = find(workflow, items, unit, state.stepIndex)?.definition
    if (was?.kind !== 'task' || was.idempotent) continue
    const present = definitionOf(edited, unit)
    const isAnother = present?._tag === 'Task' && present.numbered && present.fingerprint !== was.fingerprint
    if (present?._tag === 'Task' && !isAnother) continue
    const edit = isAnother
      ? changed('changed', unit, was.fingerprint, present.fingerprint)
      : changed('removed', unit, was.fingerprint)
    yield { ...edit, inDoubt: true } as PlanProblem
  }
}
