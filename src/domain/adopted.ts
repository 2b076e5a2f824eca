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
import { renewed } from './IdempotencyKey.js'
import type { Submission } from './PendingJob.js'
import type { Unit } from './Unit.js'
import { join } from './Unit.js'
import type { WorkflowIdentity } from './WorkflowIdentity.js'
import { find, groupsOf } from './WorkflowIdentity.js'

/**
 * Rebases a checkpoint onto an edited workflow: steps match by name, deleted ones are dropped; records keep their fingerprints,
 * maps their items.
 */
export const adopted = (
  self: Fields,
  edited: WorkflowIdentity
): Pick<Fields, 'workflow' | 'state' | 'completedSteps' | 'pending' | 'submissions' | 'renewals'> => {
  const workflow = carried(self.workflow, edited)
  const records: Array<CompletedStep> = []
  const dropped = new Set<Unit>()
  for (const record of self.completedSteps) {
    const found = find(workflow, record.unit, record.stepIndex)
    if (found === undefined) {
      dropped.add(record.unit)
      continue
    }
    const { stepIndex } = found
    records.push(stepIndex === record.stepIndex ? record : { ...record, stepIndex })
  }
  const completedSteps = Steps.from(finishedOnly(records, workflow))
  const taken = <A extends Submission>(all: ReadonlyArray<A>): ReadonlyArray<A> =>
    all.filter(({ unit }) => {
      const isThere = find(workflow, unit)?.definition.kind === 'task'
      if (!isThere) dropped.add(unit)
      return isThere
    })
  const [pending, submissions] = [taken(self.pending), taken(self.submissions)]
  return {
    workflow,
    completedSteps,
    state: stateAfterEdit(self, completedSteps, workflow),
    pending,
    submissions,
    // If a later edit restores a dropped unit, its old key would stand for other work.
    renewals: dropped.size === 0 ? self.renewals : renewed(self.renewals, dropped)
  }
}

/** A wave that got another group is not finished any more: its own record falls away, its groups' records stay. */
const finishedOnly = (
  records: ReadonlyArray<CompletedStep>,
  workflow: WorkflowIdentity
): ReadonlyArray<CompletedStep> => {
  const recorded = new Set(records.map(({ unit }) => unit))
  return records.filter(({ unit, stepIndex }) => {
    const step = workflow.steps[stepIndex]
    return unit !== step?.name || groupsOf(step).every(({ name }) => recorded.has(join(unit, name)))
  })
}

/** What is said of units that are still there. A wave that became a task, or the other way round, is another unit. */
const stateAfterEdit = (
  { state, workflow: before }: Pick<Fields, 'state' | 'workflow'>,
  completedSteps: CompletedSteps,
  workflow: WorkflowIdentity
): CheckpointState => {
  const found = find(workflow, state.step, state.stepIndex)
  if (found !== undefined && (state._tag !== 'Completed' || Steps.has(completedSteps, state.step))) {
    const { step, stepIndex } = found
    const isSame = before.steps[state.stepIndex]?.kind === step.kind
    const known = ({ unit }: { readonly unit: Unit }): boolean =>
      isSame && find(workflow, unit, stepIndex) !== undefined
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
  const open = workflow.steps.findIndex(({ name }) => !Steps.has(completedSteps, name))
  const at = open === -1 ? workflow.steps.length - 1 : open
  const name = workflow.steps[at]?.name ?? ''
  return open === -1 ? State.completed(at, name) : State.beforeStep(at, name)
}
