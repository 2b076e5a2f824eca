/** What a plan needs of the workspace of its run. */
import type { Checkpoint } from '../checkpoint/Checkpoint.js'
import * as State from '../checkpoint/CheckpointState.js'
import type { CompletedStep, Evidence } from '../checkpoint/CompletedStep.js'
import type { MissingEvidence, ResumePlan } from './Plan.js'

/**
 * What has to be done about a workspace before a plan is executed. `Make`: it is made, unless it is there; nothing was
 * attempted in it, or all of that is to be done again. `Find`: it has to be there, since it has work in it that nothing
 * can make again. `Nothing`: the plan runs nothing, or the run has none.
 */
export type WorkspaceNeed = 'Make' | 'Find' | 'Nothing'

/** Whether anything of a run was attempted, or is taken as done, since it began or was last started over. */
export const wasAttempted = ({ state, completedSteps, pending, submissions }: Checkpoint): boolean =>
  completedSteps.size > 0 ||
  pending.size + submissions.size > 0 ||
  State.inFlight(state).size + State.failures(state).size > 0 ||
  (state._tag === 'Interrupted' && state.inProgress)

/**
 * What a plan needs of the workspace. A missing one is made again only where all work of the run is to be done again by
 * somebody's word: a step that is recorded as completed would else miss what it has left.
 */
export const needOf = (checkpoint: Checkpoint, plan: ResumePlan): WorkspaceNeed => {
  const { workspace } = checkpoint
  const runs = plan.decisions.some(({ _tag }) => _tag === 'Run' || _tag === 'Retry' || _tag === 'Confirm')
  if (workspace === undefined || !runs) return 'Nothing'
  return workspace.kind !== 'none' && (!wasAttempted(checkpoint) || startsOver(plan)) ? 'Make' : 'Find'
}

/** Whether the first step was asked for again, and so everything runs anew. */
const startsOver = ({ decisions: [first, ...others] }: ResumePlan): boolean =>
  first?._tag === 'Run' &&
  first.reason._tag === 'Forced' &&
  others.every(
    (one) => one._tag === 'Run' && (one.reason._tag === 'Forced' || one.reason._tag === 'EarlierStepRunsAgain')
  )

/** What completed steps have left in the workspace, and is gone if that is: files and artifacts. */
export const leftIn = ({ completedSteps }: Checkpoint): ReadonlyArray<MissingEvidence> =>
  Array.from(completedSteps).flatMap(({ unit, evidence }: CompletedStep) => {
    const [first, ...more] = evidence.filter(isFile)
    if (first === undefined) return []
    return [{ unit, missing: [first, ...more] as const }]
  })

const isFile = ({ _tag }: Evidence): boolean => _tag === 'Artifact' || _tag === 'File'
