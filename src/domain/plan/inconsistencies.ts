/** Finds inconsistencies of a checkpoint. */
import type { Checkpoint } from '../checkpoint/Checkpoint.js'
import * as State from '../checkpoint/CheckpointState.js'
import type { CompletedStep } from '../checkpoint/CompletedStep.js'
import * as Units from '../checkpoint/Units.js'
import type { PlanProblem } from './PlanProblem.js'
import { unrecorded } from '../change/transitionParts.js'
import { find, findIn, findOrTask } from '../checkpoint/Tree.js'
import type { Unit } from '../workflow/Unit.js'
import { isWithin, top } from '../workflow/Unit.js'

/** Yields inconsistencies of a checkpoint. Transitions never cause one; a hand-edited file may. */
export function* inconsistencies(checkpoint: Checkpoint): Iterable<PlanProblem> {
  const { state, workflow, items, completedSteps } = checkpoint
  const steps = workflow.steps.length
  const wrong = (why: string): PlanProblem => ({ _tag: 'InconsistentCheckpoint', why })
  const named = Number.isInteger(state.stepIndex) ? workflow.steps[state.stepIndex]?.name : undefined
  if (named === undefined) yield { _tag: 'StepOutOfRange', stepIndex: state.stepIndex, steps }
  else if (named !== state.step)
    yield wrong(`step ${state.stepIndex + 1} is "${named}", but the state calls it "${state.step}"`)
  for (const record of Units.all(completedSteps)) {
    const why = wrongRecord(record, checkpoint)
    if (why !== undefined) yield wrong(why)
  }
  if (completedSteps.twice !== undefined) yield wrong(`"${completedSteps.twice}" is recorded twice`)
  for (const { unit } of [...State.inFlight(state), ...State.failures(state)])
    if (top(unit) !== state.step || !isUnit(checkpoint, unit, state.stepIndex))
      yield wrong(`the run is at step "${state.step}", but its state lists "${unit}"`)
  for (const [unit] of items)
    if (find(workflow, items, unit)?.definition._tag !== 'Map')
      yield wrong(`"${unit}" has items, but there is no such map`)
  for (const why of wrongPending(checkpoint)) yield wrong(why)
  const why = named === state.step ? wrongState(state, Units.has(completedSteps, state.step)) : undefined
  if (why !== undefined) yield wrong(why)
}

/** Finds the unit, or the task of a sub-step. */
const isUnit = ({ workflow, items }: Checkpoint, unit: Unit, stepIndex: number): boolean =>
  findOrTask(workflow, items, unit, stepIndex) !== undefined

const wrongRecord = ({ unit, stepIndex, subStep }: CompletedStep, checkpoint: Checkpoint): string | undefined => {
  const { workflow, items } = checkpoint
  const step = workflow.steps[stepIndex]
  if (step === undefined) return `a record names step ${stepIndex + 1}, but there are ${workflow.steps.length} steps`
  if (!isWithin(unit, step.name)) return `step ${stepIndex + 1} is "${step.name}", but a record calls it "${top(unit)}"`
  const found = findIn(step, items, unit)
  if (found === undefined && subStep !== undefined)
    return isUnit(checkpoint, unit, stepIndex) ? undefined : `"${unit}" is recorded, but there is no such task`
  if (found === undefined || subStep !== undefined) return `"${unit}" is recorded, but there is no such unit`
  const missing = found._tag === 'Task' ? undefined : unrecorded(checkpoint, unit, found)
  return missing === undefined ? undefined : `"${unit}" is recorded completed, but its part "${missing}" is not`
}

/** A unit waits for at most one thing, and a completed one for nothing. */
function* wrongPending(checkpoint: Checkpoint): Iterable<string> {
  const { pending, submissions, workflow, items, state, completedSteps } = checkpoint
  if (pending.size + submissions.size === 0) return
  const seen = new Set<Unit>()
  for (const one of [...pending, ...submissions]) {
    const { unit } = one
    const kind = '_tag' in one ? one._tag : 'Job'
    const task = find(workflow, items, unit)?.definition
    const isTask =
      task === undefined
        ? kind !== 'Job' && isUnit(checkpoint, unit, state.stepIndex)
        : task._tag === 'Task' && (task.wait ?? 'Job') === kind
    if (!isTask) yield `"${unit}" is pending (${kind}), but there is no such task`
    if (Units.has(completedSteps, unit)) yield `"${unit}" is pending, but is recorded completed`
    if (seen.has(unit)) yield `"${unit}" is pending twice`
    seen.add(unit)
  }
  for (const { unit } of pending)
    if (Units.has(State.inFlight(state), unit)) yield `"${unit}" is in flight, but is pending`
}

const wrongState = (state: State.CheckpointState, done: boolean): string | undefined => {
  switch (state._tag) {
    case 'Completed':
      return done ? undefined : `the state says that "${state.step}" completed, but it has no record`
    case 'Interrupted':
      return done && state.inProgress
        ? `the state says that "${state.step}" is in progress, but it is recorded completed`
        : undefined
    case 'BeforeStep':
    case 'Failed':
      return done ? `the run is at step "${state.step}", but that step is recorded completed` : undefined
  }
}
