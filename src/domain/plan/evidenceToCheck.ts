/** Selects the completed units whose evidence must be checked. */
import type { Checkpoint } from '../checkpoint/Checkpoint.js'
import type { CompletedStep } from '../checkpoint/CompletedStep.js'
import type { PlanOptions } from './Plan.js'
import { demandsOf } from './demands.js'
import { targetsOf } from './PlanContext.js'
import { subStepsOf } from './subSteps.js'
import { find } from '../checkpoint/Tree.js'
import type { Step, Workflow } from '../workflow/Workflow.js'

/** Returns the completed units whose evidence a plan must check: all, or none if no unit that `fromStep` keeps has evidence. */
export const unitsToCheck = (
  checkpoint: Checkpoint,
  workflow: Workflow,
  { fromStep }: Pick<PlanOptions, 'fromStep'>
): Pick<Checkpoint, 'runId' | 'workspace'> & { readonly completedSteps: Iterable<CompletedStep> } => {
  const { runId, workspace, completedSteps, items } = checkpoint
  const run = workspace === undefined ? { runId } : { runId, workspace }
  const from =
    fromStep === undefined ? undefined : targetsOf(workflow, items, { fromStep }, subStepsOf(checkpoint, workflow)).from
  if (from === undefined) return { ...run, completedSteps }
  const demands = demandsOf(workflow, items, { from, restart: undefined, rerun: new Map(), again: [] })
  const isAnyKept = [...completedSteps].some(({ unit, evidence, subStep }) => {
    const isThere = subStep !== undefined || find<Step>(workflow, items, unit) !== undefined
    if (evidence.length === 0 || !isThere) return false
    const demand = demands.of(unit)
    return demand === 'assumed' || demand === 'none'
  })
  return { ...run, completedSteps: isAnyKept ? completedSteps : [] }
}

/** Returns the recorded evidence of one place that is newer than the newest intact one; all if none is intact. `left`: oldest first. */
export const afterIntact = <A>(left: ReadonlyArray<A>, isIntact: (one: A) => boolean): ReadonlyArray<A> =>
  left.slice(left.findLastIndex(isIntact) + 1)
