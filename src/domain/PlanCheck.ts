/**
 * What stands against a plan: a checkpoint that contradicts itself, and edits that a policy refuses.
 *
 * @since 0.1.0
 */
import type { Checkpoint } from './Checkpoint.js'
import * as State from './CheckpointState.js'
import type { CompletedStep } from './CompletedStep.js'
import * as Steps from './CompletedStep.js'
import { indexOfStep } from './indexed.js'
import type { Changes, Edit, PlanProblem } from './Plan.js'
import type { PlanContext } from './PlanContext.js'
import type { Unit } from './Unit.js'
import { join, nameOf, top } from './Unit.js'
import type { Step, Workflow } from './Workflow.js'
import { groupNamed } from './Workflow.js'
import type { StepIdentity } from './WorkflowIdentity.js'
import { definitionOf as identityOf, find, groupsOf } from './WorkflowIdentity.js'

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
  const { state, workflow, completedSteps } = checkpoint
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
    if (top(unit) !== state.step || find(workflow, unit, state.stepIndex) === undefined)
      yield wrong(`the run stands at "${state.step}", but the state speaks of "${unit}"`)
  for (const why of wrongJobs(checkpoint)) yield wrong(why)
  const why = named === state.step ? wrongState(state, Steps.has(completedSteps, state.step)) : undefined
  if (why !== undefined) yield wrong(why)
}

const wrongRecord = (
  { unit, stepIndex }: CompletedStep,
  { completedSteps, workflow: { steps } }: Checkpoint
): string | undefined => {
  const step = steps[stepIndex]
  if (step === undefined) return `a record names step ${stepIndex}, but there are ${steps.length} steps`
  const name = top(unit)
  if (step.name !== name) return `step ${stepIndex} is "${step.name}", but a record calls it "${name}"`
  if (unit !== name)
    return identityOf(step, unit) === undefined ? `"${unit}" is recorded, but there is no such group` : undefined
  const missing = groupsOf(step).find((group) => !Steps.has(completedSteps, join(name, group.name)))
  return missing === undefined
    ? undefined
    : `wave "${name}" is recorded completed, but its group "${missing.name}" is not`
}

/** A unit has one job at most, and what is done waits for none. */
function* wrongJobs({ pending, submissions, workflow, state, completedSteps }: Checkpoint): Iterable<string> {
  if (pending.length === 0 && submissions.length === 0) return
  const seen = new Set<Unit>()
  for (const { unit } of [...pending, ...submissions]) {
    if (find(workflow, unit)?.definition.kind !== 'task') yield `"${unit}" has a job, but there is no such task`
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
  const { checkpoint, redoneFrom } = context
  if (policy === 'ignore' || checkpoint.workflow.name !== workflow.name) return []
  const first = workflow.steps[redoneFrom]?.name
  const redoneWas =
    first === undefined ? Infinity : (indexOfStep(checkpoint.workflow.steps, first, redoneFrom) ?? Infinity)
  const edit = { checkpoint, workflow, context, redoneWas }
  return policy === 'strict'
    ? [...editsOfAll(edit), ...vanished(edit)]
    : [...editsOfRecorded(edit), ...misplaced(edit), ...editsOfPending(edit), ...vanished(edit)]
}

/** Two workflows. `redoneWas`: the step of the one that ran from which everything runs again. */
interface Edited {
  readonly checkpoint: Checkpoint
  readonly workflow: Workflow
  readonly context: PlanContext
  readonly redoneWas: number
}

const changed = (edit: Edit, unit: Unit, recorded?: string, present?: string): PlanProblem => ({
  _tag: 'WorkflowChanged',
  edit,
  unit,
  ...(recorded === undefined ? {} : { recorded }),
  ...(present === undefined ? {} : { present })
})

/** Whether a unit that was part of a step runs again in any case. */
const isRedone = ({ context: { redoneFrom }, redoneWas }: Edited, was: number, is: number | undefined): boolean =>
  is === undefined ? was >= redoneWas : is >= redoneFrom

/** Completed units that are gone or are defined otherwise now, but for those that run again in any case. */
function* editsOfRecorded(edited: Edited): Iterable<PlanProblem> {
  const { checkpoint, workflow } = edited
  const maps = new Set<string>()
  for (const record of checkpoint.completedSteps) {
    const { unit, stepIndex, fingerprint } = record
    const name = top(unit)
    const index = indexOfStep(workflow.steps, name, stepIndex)
    if (isRedone(edited, stepIndex, index)) continue
    const now = index === undefined ? undefined : definitionOf(workflow.steps[index] as Step, unit)
    const map = checkpoint.workflow.steps[stepIndex]
    if (now !== undefined && (now.fingerprint === fingerprint || isAdopted(map, unit, now))) continue
    if (map?.kind !== 'expanded') {
      yield changed(now === undefined ? 'removed' : 'changed', unit, fingerprint, now?.fingerprint)
    } else if (!maps.has(name)) {
      // All groups of a map are defined at once, and there may be many.
      maps.add(name)
      const whole = index === undefined ? undefined : workflow.steps[index]?.fingerprint
      yield changed(now === undefined ? 'removed' : 'changed', name, map.fingerprint, whole)
    }
  }
}

/** Only an accepted plan lets a recorded run adopt another definition. */
const isAdopted = (step: StepIdentity | undefined, unit: Unit, now: Step): boolean => {
  const was = step === undefined ? undefined : identityOf(step, unit)
  return was?.fingerprint === now.fingerprint
}

/** Units whose job is pending that are gone or are defined otherwise now, but for those that run again in any case. */
function* editsOfPending(edited: Edited): Iterable<PlanProblem> {
  const { checkpoint, workflow } = edited
  for (const { unit } of checkpoint.pending) {
    const was = find(checkpoint.workflow, unit)
    if (was === undefined) continue
    const index = indexOfStep(workflow.steps, top(unit), was.stepIndex)
    if (isRedone(edited, was.stepIndex, index)) continue
    const { fingerprint } = was.definition
    const now = index === undefined ? undefined : definitionOf(workflow.steps[index] as Step, unit)
    if (now?._tag === 'Task' && now.fingerprint === fingerprint) continue
    const edit = changed(now === undefined ? 'removed' : 'changed', unit, fingerprint, now?.fingerprint)
    yield { ...edit, pending: true } as PlanProblem
  }
}

/** Steps with completed work that changed their order, and steps that were put before such. */
function* misplaced({ checkpoint, workflow, context }: Edited): Iterable<PlanProblem> {
  let before = -1
  let last = -1
  for (const [stepIndex, { name }] of checkpoint.workflow.steps.entries()) {
    if (context.begun[stepIndex] !== true) continue
    const index = indexOfStep(workflow.steps, name, stepIndex)
    if ((index ?? -1) >= context.redoneFrom) continue
    last = stepIndex
    if (index === undefined) continue
    if (index < before) yield changed('reordered', name)
    before = Math.max(before, index)
  }
  for (let index = 0; index < before; index++) {
    const { name, fingerprint } = workflow.steps[index] as Step
    const stood = indexOfStep(checkpoint.workflow.steps, name, index) ?? Infinity
    if (stood >= last && context.begun[stood] !== true) yield changed('insertedBefore', name, undefined, fingerprint)
  }
}

/** Every difference, for those who want none. */
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
function* vanished({ checkpoint, workflow }: Edited): Iterable<PlanProblem> {
  const { state } = checkpoint
  const index = indexOfStep(workflow.steps, state.step, state.stepIndex)
  const now = index === undefined ? undefined : workflow.steps[index]
  for (const unit of State.inDoubt(state)) {
    const was = find(checkpoint.workflow, unit, state.stepIndex)?.definition
    if (was?.kind !== 'task' || was.idempotent) continue
    const present = now === undefined ? undefined : definitionOf(now, unit)
    const isAnother = present?._tag === 'Task' && present.numbered && present.fingerprint !== was.fingerprint
    if (present?._tag === 'Task' && !isAnother) continue
    const edit = isAnother
      ? changed('changed', unit, was.fingerprint, present.fingerprint)
      : changed('removed', unit, was.fingerprint)
    yield { ...edit, inDoubt: true } as PlanProblem
  }
}

/** What a unit of a step is defined as. */
const definitionOf = (step: Step, unit: Unit): Step | undefined =>
  unit === step.name ? step : step._tag === 'Wave' ? groupNamed(step, nameOf(unit)) : undefined
