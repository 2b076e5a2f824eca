/** Decides what a plan needs of the workspace of its run. */
import type { Checkpoint } from '../checkpoint/Checkpoint.js'
import * as State from '../checkpoint/CheckpointState.js'
import type { CompletedStep, Evidence } from '../checkpoint/CompletedStep.js'
import type { MissingEvidence, ResumePlan } from './Plan.js'

/**
 * What a plan needs of the workspace. `Make`: create it unless it exists; nothing was attempted in it, or everything runs again. `Find`: it
 * must exist, because it holds results. `Nothing`: the plan runs nothing, or the run has no workspace.
 */
export type WorkspaceNeed = 'Make' | 'Find' | 'Nothing'

/** Returns whether anything of a run was attempted or assumed done, since its start or last full restart. */
export const wasAttempted = ({ state, completedSteps, pending, submissions }: Checkpoint): boolean =>
  completedSteps.size > 0 ||
  pending.size + submissions.size > 0 ||
  State.inFlight(state).size + State.failures(state).size > 0 ||
  (state._tag === 'Interrupted' && state.inProgress)

/** A missing workspace is created again only if the user restarts the whole run; otherwise completed steps would lose their results. */
export const needOf = (checkpoint: Checkpoint, plan: ResumePlan): WorkspaceNeed => {
  const { workspace } = checkpoint
  const isAnyScheduled = plan.decisions.some(({ _tag }) => _tag === 'Run' || _tag === 'Retry' || _tag === 'Confirm')
  if (workspace === undefined || !isAnyScheduled) return 'Nothing'
  return workspace.kind !== 'none' && (!wasAttempted(checkpoint) || startsOver(plan)) ? 'Make' : 'Find'
}

/** Returns whether the first step was forced, so that everything runs again. */
const startsOver = ({ decisions: [first, ...others] }: ResumePlan): boolean =>
  first?._tag === 'Run' &&
  first.reason._tag === 'Forced' &&
  others.every(
    (one) => one._tag === 'Run' && (one.reason._tag === 'Forced' || one.reason._tag === 'EarlierStepRunsAgain')
  )

/** Returns the files and artifacts that completed steps left in the workspace. */
export const leftIn = ({ completedSteps }: Checkpoint): ReadonlyArray<MissingEvidence> =>
  Array.from(completedSteps).flatMap(({ unit, evidence }: CompletedStep) => {
    const [first, ...more] = evidence.filter(isFile)
    if (first === undefined) return []
    return [{ unit, missing: [first, ...more] as const }]
  })

const isFile = ({ _tag }: Evidence): boolean => _tag === 'Artifact' || _tag === 'File'
