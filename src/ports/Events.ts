/**
 * What an observer is told.
 *
 * @since 0.1.0
 */
import type { CheckpointState } from '../domain/CheckpointState.js'
import type { Json } from '../domain/Json.js'
import type { ContinueHere } from '../domain/Pause.js'
import type { ResumePlan } from '../domain/Plan.js'
import type { StepError } from '../domain/StepError.js'
import type { OwnWorkspace } from '../domain/Workspace.js'
import type { CheckAnswer, FailedCheck } from './Checks.js'
import type { StorageError } from './CheckpointStorage.js'
import type { PointerError } from './Pauses.js'
import type { WorkspaceError } from './Workspaces.js'

/**
 * A step, or a group of it, and where it stands in the workflow.
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
 * Something that happened in a run. What tells of a change of the run is reported after that is durable. `RunPlanned` and
 * `CheckpointRecovered` tell what was found and decided before anything is written, and change nothing; `RunFenced` tells
 * that nothing more can be written. `CheckFailed` tells of a check around a unit and what was answered, before any of it is
 * recorded. `WorkspaceReady` tells that the workspace of a run is there, before its first step; `renamed`: what a branch with
 * earlier work is called now that had its name. `RunPaused` comes after the `RunInterrupted` of a pause and tells what that has left
 * behind: the pointer, `where` it is, what could not be done of that, and why the request was `unreadable`, or not known to be for this process: then nothing is
 * committed. `RunRemoved` and `RunLeft` come last: a completed run was removed, as its
 * program says, and where it was archived; or that failed, and it is left as it is.
 *
 * @category model
 * @since 0.1.0
 */
export type Event =
  | { readonly _tag: 'RunPlanned'; readonly runId: string; readonly resumed: boolean; readonly plan: ResumePlan }
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
  | { readonly _tag: 'RunFenced'; readonly runId: string }
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
