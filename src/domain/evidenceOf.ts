/** The evidence that completed units must still have, and the part that is missing or changed. */
import type { Checkpoint } from './Checkpoint.js'
import type { CompletedStep } from './CompletedStep.js'
import type { PlanOptions } from './Plan.js'
import { top } from './Unit.js'
import type { Workflow } from './Workflow.js'

/**
 * The completed units at whose evidence a plan has to look. None, if those before the step that everything is to run from left
 * none: what runs in any case leaves its own anew. Else all, for a later one may have replaced what an earlier one left.
 *
 * @category destructors
 * @since 0.1.0
 */
export const unitsInNeed = (
  { runId, workspace, completedSteps }: Checkpoint,
  { steps }: Pick<Workflow, 'steps'>,
  { fromStep }: Pick<PlanOptions, 'fromStep'>
): Pick<Checkpoint, 'runId' | 'workspace'> & { readonly completedSteps: Iterable<CompletedStep> } => {
  const run = workspace === undefined ? { runId } : { runId, workspace }
  const from = fromStep === undefined ? -1 : steps.findIndex(({ name }) => name === fromStep)
  if (from === -1) return { ...run, completedSteps }
  const before = new Set(steps.slice(0, from).map(({ name }) => name))
  const isNeeded = [...completedSteps].some(({ unit, evidence }) => evidence.length > 0 && before.has(top(unit)))
  return { ...run, completedSteps: isNeeded ? completedSteps : [] }
}

/** The units, oldest first, after the last one whose evidence at a place is intact. */
export const otherAt = <A>(left: ReadonlyArray<A>, isThere: (one: A) => boolean): ReadonlyArray<A> =>
  left.slice(left.findLastIndex(isThere) + 1)
