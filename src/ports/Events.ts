/**
 * What an observer is told.
 *
 * @since 0.1.0
 */
import type { ReadonlyNonEmptyArray } from 'fp-ts/lib/ReadonlyNonEmptyArray.js'
import type { CheckpointState } from '../domain/CheckpointState.js'
import type { Json } from '../domain/Json.js'
import type { ContinueHere } from '../domain/Pause.js'
import type { Evidence } from '../domain/CompletedStep.js'
import type { ResumePlan, Run } from '../domain/Plan.js'
import type { StepError } from '../domain/StepError.js'
import type { OwnWorkspace } from '../domain/Workspace.js'
import type { CheckAnswer, FailedCheck } from './Checks.js'
import type { LostFiles, StorageError } from './CheckpointStorage.js'
import type { PointerError } from './Pauses.js'
import type { WorkspaceError } from './Workspaces.js'

/**
 * A step, or a group of a wave or map, and where it stands in the workflow: `stepIndex` is that of the step, from 0; `group` is the
 * name of the group, or the key of the item.
 *
 * @category model
 * @since 0.1.0
 */
export interface EventUnit {
  readonly runId: string
  readonly stepIndex: number
  readonly step: string
  readonly group?: string
}

/**
 * Something that happened in a run. What tells of a change is reported after the change is durable; those that tell of something
 * else say so. Every event has `runId`, and one about a step or group has the fields of {@link EventUnit}.
 *
 * - `RunPlanned`: what will be done, before anything is written. `resumed`: whether the run existed; `plan`: the decisions.
 * - `StepsRunAgain`: completed units that this execution runs again, before anything is written. `units`: their decisions, each with
 *   its reason.
 * - `EvidenceKept`: what a completed unit left was changed, and counts as it is now. `evidence`: all that its record has.
 * - `CheckpointSaved`: a save is durable. `revision`: the newest one in it; `state`: where the run stands then.
 * - `CheckpointRecovered`: the newest state is damaged, before anything is written. `from`: what is used instead; `lost`: what is
 *   missing, both in words.
 * - `MapExpanded`: the items of a map are recorded. `items`: how many there are.
 * - `WorkspaceReady`: the run's own workspace exists, before its first step. `workspace`: its kind and place; `renamed`: the new name
 *   of a branch with earlier work that had its name.
 * - `StepStarted`: an attempt of a unit is recorded and starts now. `summary`: its line for people; `attempt`: from 1.
 * - `StepRetrying`: an attempt failed, and another one follows. `attempt`: the number of the failed one; `attempts`: how many the
 *   policy allows; `delayMillis`: the pause before the next; `error`: why it failed.
 * - `StepCompleted`: a unit ended well, or all groups of a wave did. `attempts`: how many it took; `durationMillis`: of the last
 *   attempt, or from the start of the wave to its end.
 * - `JobSubmitted`: a unit has handed its work over, and waits. `job`: what the submission returned, if anything.
 * - `StepFailed`: a unit failed and its retries are spent, or its job ended badly. `error`: why; `attempts`: the number of the last.
 * - `CheckFailed`: a check around a unit does not hold, before any of it is recorded. `when`: `before` or `after` the unit ran;
 *   `wrong`: all that does not hold, in words; `answer`: what is done about it; `answers`: what could be; `previousWave`: the name of the wave before, if it can run
 *   again.
 * - `RunWentBack`: after a `CheckFailed` that was answered so: a wave runs again. `StepsRunAgain` lists what was taken back.
 *   `stepIndex` and `step`: the wave.
 * - `RunCompleted`: all steps are done.
 * - `RunFailed`: the run failed. `stepIndex` and `step`: where.
 * - `RunInterrupted`: the run was stopped, or rests until its jobs have ended. `stepIndex` and `step`: where.
 * - `RunPaused`: after the `RunInterrupted` of a pause. `pointer`: where the run goes on, and its commits; `where`: the file with that;
 *   `unreadable`: why the request to pause could not be read, or not be told to be for this process, so that nothing was committed;
 *   `problems`: what of the pause could not be done.
 * - `RunFenced`: another process has taken the run over, or the run's `files` were removed, deleted or replaced. Nothing more is
 *   written.
 * - `ReleaseFailed`: the claim could not be released, and why (`error`). The outcome stands, and this process can claim the run
 *   again; to others it may look held as long as this process lives.
 * - `RunRemoved`: a completed run was removed, as its program says. `archivedAt`: where it was archived. It comes last.
 * - `RunLeft`: a completed run should have been removed and was left as it is. `why`, in words. It comes last.
 *
 * @category model
 * @since 0.1.0
 */
export type Event =
  | { readonly _tag: 'RunPlanned'; readonly runId: string; readonly resumed: boolean; readonly plan: ResumePlan }
  | { readonly _tag: 'StepsRunAgain'; readonly runId: string; readonly units: ReadonlyNonEmptyArray<Run> }
  | (EventUnit & { readonly _tag: 'EvidenceKept'; readonly evidence: ReadonlyArray<Evidence> })
  | {
      readonly _tag: 'CheckpointSaved'
      readonly runId: string
      readonly revision: number
      readonly state: CheckpointState
    }
  | { readonly _tag: 'CheckpointRecovered'; readonly runId: string; readonly from: string; readonly lost: string }
  | (EventUnit & { readonly _tag: 'MapExpanded'; readonly items: number })
  | {
      readonly _tag: 'WorkspaceReady'
      readonly runId: string
      readonly workspace: OwnWorkspace
      readonly renamed?: string
    }
  | (EventUnit & { readonly _tag: 'StepStarted'; readonly summary: string; readonly attempt: number })
  | (EventUnit & {
      readonly _tag: 'StepRetrying'
      readonly attempt: number
      readonly attempts: number
      readonly delayMillis: number
      readonly error: StepError
    })
  | (EventUnit & { readonly _tag: 'StepCompleted'; readonly attempts: number; readonly durationMillis: number })
  | (EventUnit & { readonly _tag: 'JobSubmitted'; readonly job?: Json })
  | (EventUnit & { readonly _tag: 'StepFailed'; readonly error: StepError; readonly attempts: number })
  | (FailedCheck & { readonly _tag: 'CheckFailed'; readonly answer: CheckAnswer })
  | { readonly _tag: 'RunWentBack'; readonly runId: string; readonly stepIndex: number; readonly step: string }
  | { readonly _tag: 'RunCompleted'; readonly runId: string }
  | { readonly _tag: 'RunFailed'; readonly runId: string; readonly stepIndex: number; readonly step: string }
  | { readonly _tag: 'RunInterrupted'; readonly runId: string; readonly stepIndex: number; readonly step: string }
  | {
      readonly _tag: 'RunPaused'
      readonly runId: string
      readonly pointer: ContinueHere
      readonly where?: string
      readonly unreadable?: StorageError
      readonly problems: ReadonlyArray<PointerError | WorkspaceError>
    }
  | { readonly _tag: 'RunFenced'; readonly runId: string; readonly files?: LostFiles }
  | { readonly _tag: 'ReleaseFailed'; readonly runId: string; readonly error: StorageError }
  | { readonly _tag: 'RunRemoved'; readonly runId: string; readonly archivedAt?: string }
  | { readonly _tag: 'RunLeft'; readonly runId: string; readonly why: string }

/**
 * The one hook for logs, metrics and progress. An observer that throws is ignored.
 *
 * @category model
 * @since 0.1.0
 */
export interface Events {
  /** Takes an event. What it throws is ignored. */
  readonly report: (event: Event) => void
}
