/**
 * What an edited workflow makes of a checkpoint.
 *
 * @since 0.1.0
 */
import type { Fields } from './Checkpoint.js'
import type { CheckpointState } from './CheckpointState.js'
import * as State from './CheckpointState.js'
import type { CompletedStep, CompletedSteps } from './CompletedStep.js'
import * as Steps from './CompletedStep.js'
import { carried } from './Expansion.js'
import type { Submission } from './PendingJob.js'
import type { StepIdentity, WorkflowIdentity } from './WorkflowIdentity.js'
import { groupOf, groupsOf } from './WorkflowIdentity.js'

/**
 * Rebases a checkpoint onto an edited workflow: steps match by name, deleted ones are dropped; records keep their fingerprints,
 * maps their items.
 */
export const adopted = (
  self: Fields,
  edited: WorkflowIdentity
): Pick<Fields, 'workflow' | 'state' | 'completedSteps' | 'pending' | 'submissions'> => {
  const workflow = carried(self.workflow, edited)
  const indexOf = new Map(workflow.steps.map((step, index) => [step.name, index]))
  const records: Array<CompletedStep> = []
  for (const record of self.completedSteps) {
    const stepIndex = indexOf.get(record.step)
    if (stepIndex === undefined) continue
    const step = workflow.steps[stepIndex] as StepIdentity
    const unit = record.group === undefined ? step : groupOf(step, record.group)
    if (unit !== undefined) records.push(stepIndex === record.stepIndex ? record : { ...record, stepIndex })
  }
  const completedSteps = Steps.from(finishedOnly(records, workflow))
  const taken = <A extends Submission>(all: ReadonlyArray<A>): ReadonlyArray<A> =>
    all.flatMap((one) => {
      const stepIndex = indexOf.get(one.step)
      const step = stepIndex === undefined ? undefined : workflow.steps[stepIndex]
      const unit = step === undefined || one.group === undefined ? step : groupOf(step, one.group)
      return stepIndex === undefined || unit?.kind !== 'task' ? [] : [{ ...one, stepIndex }]
    })
  return {
    workflow,
    completedSteps,
    state: stateAfterEdit(self, completedSteps, workflow, indexOf),
    pending: taken(self.pending),
    submissions: taken(self.submissions)
  }
}

/** A wave that got another group is not finished any more: its own record falls away, its groups' records stay. */
const finishedOnly = (
  records: ReadonlyArray<CompletedStep>,
  workflow: WorkflowIdentity
): ReadonlyArray<CompletedStep> => {
  const groups = new Map<number, number>()
  for (const { group, stepIndex } of records)
    if (group !== undefined) groups.set(stepIndex, (groups.get(stepIndex) ?? 0) + 1)
  return records.filter((record) => {
    const step = workflow.steps[record.stepIndex]
    if (step === undefined || step.kind === 'task') return record.group === undefined
    return record.group !== undefined || (groups.get(record.stepIndex) ?? 0) === groupsOf(step).length
  })
}

/** What is said of units that are still there. A wave that became a task, or the other way round, is another unit. */
const stateAfterEdit = (
  { state, workflow: before }: Pick<Fields, 'state' | 'workflow'>,
  completedSteps: CompletedSteps,
  workflow: WorkflowIdentity,
  indexOf: ReadonlyMap<string, number>
): CheckpointState => {
  const stepIndex = indexOf.get(state.step)
  const step = stepIndex === undefined ? undefined : workflow.steps[stepIndex]
  if (
    stepIndex !== undefined &&
    step !== undefined &&
    (state._tag !== 'Completed' || Steps.hasStep(completedSteps, stepIndex))
  ) {
    const isSame = before.steps[state.stepIndex]?.kind === step.kind
    const known = ({ group }: { readonly group?: string }): boolean =>
      isSame && (group === undefined || groupOf(step, group) !== undefined)
    switch (state._tag) {
      case 'Completed':
        return { ...state, stepIndex }
      case 'Failed':
        return { ...state, stepIndex, failures: state.failures.filter(known) }
      case 'BeforeStep':
        return { ...state, stepIndex, inFlight: state.inFlight.filter(known), failures: state.failures.filter(known) }
      case 'Interrupted': {
        const [inFlight, failures] = [state.inFlight.filter(known), state.failures.filter(known)]
        return { ...state, stepIndex, inProgress: state.inProgress && isSame, inFlight, failures }
      }
    }
  }
  const open = workflow.steps.findIndex((_, index) => !Steps.hasStep(completedSteps, index))
  const at = open === -1 ? workflow.steps.length - 1 : open
  const name = workflow.steps[at]?.name ?? ''
  return open === -1 ? State.completed(at, name) : State.beforeStep(at, name)
}
