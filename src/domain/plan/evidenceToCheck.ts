/** Selects the completed units whose evidence must be checked. */
import type { Checkpoint } from '../checkpoint/Checkpoint.js'
import type { CompletedStep } from '../checkpoint/CompletedStep.js'
import type { PlanOptions } from './Plan.js'
import { demandsOf } from './demands.js'
import { targetsOf } from './PlanContext.js'
import { subStepsOf } from './subSteps.js'
import { find } from '../checkpoint/Tree.js'
import type { Step, Workflow } from '../workflow/Workflow.js'

/** Returns the completed units whose evidence a plan must check: none if everything before `fromStep` left none, else all. */
export const unitsInNeed = (
  checkpoint: Checkpoint,
  workflow: Workflow,
  { fromStep }: Pick<PlanOptions, 'fromStep'>
): Pick<Checkpoint, 'runId' | 'workspace'> & { readonly completedSteps: Iterable<CompletedStep> } => {
  const { runId, workspace, completedSteps, items } = checkpoint
  const run = workspace === undefined ? { runId } : { runId, workspace }
  const from =
    fromStep === undefined ? undefined : targetsOf(workflow, items, { fromStep }, subStepsOf(checkpoint)).from
  if (from === undefined) return { ...run, completedSteps }
  const demands = demandsOf(workflow, items, { from, restart: undefined, rerun: new Map(), again: [] })
  const stays = [...completedSteps].some(({ unit, evidence, subStep }) => {
    const isThere = subStep !== undefined || find<Step>(workflow, items, unit) !== undefined
    if (evidence.length === 0 || !isThere) return false
    const demand = demands.of(unit)
    return demand === 'assumed' || demand === 'none'
  })
  return { ...run, completedSteps: stays ? completedSteps : [] }
}

/** Returns the evidence of a place after the last that is intact, oldest first. */
export const afterIntact = <A>(left: ReadonlyArray<A>, isIntact: (one: A) => boolean): ReadonlyArray<A> =>
  left.slice(left.findLastIndex(isIntact) + 1)
