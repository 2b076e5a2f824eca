/** The events that a run reports to an observer. */
import type { ReadonlyNonEmptyArray } from 'fp-ts/lib/ReadonlyNonEmptyArray.js'
import type { CheckpointState } from '../domain/checkpoint/CheckpointState.js'
import type { Json } from '../domain/data/Json.js'
import type { ContinueHere } from '../domain/request/Pause.js'
import type { Evidence } from '../domain/checkpoint/CompletedStep.js'
import type { Wait } from '../domain/checkpoint/Pending.js'
import type { ResumePlan, Run } from '../domain/plan/Plan.js'
import type { StepError } from '../domain/data/StepError.js'
import type { Unit } from '../domain/workflow/Unit.js'
import type { OutputMismatch } from '../domain/workflow/Workflow.js'
import type { OwnWorkspace } from '../domain/workflow/Workspace.js'
import type { CheckAnswer, FailedCheck } from './Checks.js'
import type { LostFiles, StorageError } from './CheckpointStorage.js'
import type { PointerError } from './Requests.js'
import type { WorkspaceError } from './Workspaces.js'

/**
 * A unit, by its path: `checks`, or `checks/unit` for a group or item of it. `stepIndex`: the 0-based index of its top-level step, -1 if
 * the unit is unknown.
 *
 * @category model
 */
export interface EventUnit {
  readonly runId: string
  readonly unit: Unit
  readonly stepIndex: number
}

/**
 * An event of a run. An event about a change is reported after the change is durable; of the others, the list says when. Every
 * event has `runId`; an event about a unit has the fields of {@link EventUnit}.
 *
 * - `RunPlanned`: the plan, before anything but answers from the inbox is written. `resumed`: whether the run existed; `plan`: the decisions.
 * - `StepsRunAgain`: follows a `RunPlanned` or `WaveRestarted`: completed units run again. `units`: their decisions, each with its reason.
 * - `EvidenceKept`: the changed evidence of a completed unit was accepted. `evidence`: the record's complete evidence.
 * - `CheckpointSaved`: a save is durable. `revision`: its newest revision; `state`: the state of the run at that revision.
 * - `CheckpointRecovered`: the newest state is damaged; reported before anything is written and before it is decided whether the run
 *   continues. `from`: the state used instead; `lost`: what is missing; both as text.
 * - `MapExpanded`: the items of a map are recorded. `items`: their number.
 * - `WorkspaceReady`: the run's own workspace exists, before its first step. `workspace`: its kind and place; `renamed`: the
 *   new name of an existing branch that had its name.
 * - `StepStarted`: an attempt of a unit is recorded and starts now. `summary`: its one-line description; `attempt`: from 1.
 * - `StepRetrying`: an attempt failed and another one follows. `attempt`: the number of the failed one; `maxAttempts`: the maximum
 *   of the policy; `delayMillis`: the delay before the next; `error`: why it failed.
 * - `StepCompleted`: a unit completed, or all parts of a composite did. `attempts`: how many it took; `durationMillis`: of the last
 *   attempt; of a composite the time in which a part of it ran or waited, over all processes.
 * - `JobSubmitted`: a unit has submitted its job and waits. `job`: the return value of the submission, if any.
 * - `StepWaiting`: a unit waits, until a time or for an answer. `wait`: what for.
 * - `StepSuspended`: an attempt ended without an outcome, because its code only waits. It is repeated when a wait ends.
 * - `AnswerRejected`: an answer was rejected: it does not fit the output of its unit, which waits again, or the unit does not wait for it.
 *   `by`: who answered; `path` and `expected`: why.
 * - `StepFailed`: a unit failed after its last retry, or its job failed. `error`: why; `attempt`: the number of the last
 *   attempt.
 * - `CheckFailed`: a check of a unit failed, before the result is recorded. `when`: `before` or `after` the unit ran; `wrong`:
 *   all failures, as text; `answer`: the chosen answer; `answers`: the possible ones; `previousWave`: the path of the previous
 *   wave, if it can run again.
 * - `WaveRestarted`: a wave runs again, after a `CheckFailed` with that answer. `StepsRunAgain` lists the rewound units.
 *   `unit`: the wave.
 * - `RunCompleted`: all steps are done.
 * - `RunFailed`: the run failed. `stepIndex` and `step`: where.
 * - `RunInterrupted`: the run stopped before its end: on request, or because only pending units are left. `stepIndex` and `step`: where.
 * - `RunPaused`: follows the `RunInterrupted` of a pause. `pointer`: where the run resumes, and its commits; `where`: the file
 *   of the pointer; `unreadable`: why the pause request could not be read or matched to this process, so that nothing was
 *   committed; `problems`: the parts of the pause that failed.
 * - `RunFenced`: another process superseded this one, or the run's `files` were removed, deleted or replaced. Nothing more is
 *   written.
 * - `ReleaseFailed`: the claim could not be released; `error`: why. The outcome stands, and this process can claim the run
 *   again; to others it may look held while this process lives.
 * - `RunRemoved`: a completed run was removed, as its program requests. `archivedAt`: the archive. The last event.
 * - `RunNotRemoved`: a completed run should have been removed but was not, or its artifacts were not. `why`: the reason, as
 *   text. The last event.
 *
 * @category model
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
      readonly maxAttempts: number
      readonly delayMillis: number
      readonly error: StepError
    })
  | (EventUnit & { readonly _tag: 'StepCompleted'; readonly attempts: number; readonly durationMillis: number })
  | (EventUnit & { readonly _tag: 'JobSubmitted'; readonly job?: Json })
  | (EventUnit & { readonly _tag: 'StepWaiting'; readonly wait: Wait })
  | (EventUnit & { readonly _tag: 'StepSuspended' })
  | (EventUnit & OutputMismatch & { readonly _tag: 'AnswerRejected'; readonly by: string })
  | (EventUnit & { readonly _tag: 'StepFailed'; readonly error: StepError; readonly attempt: number })
  | (FailedCheck & { readonly _tag: 'CheckFailed'; readonly answer: CheckAnswer })
  | (EventUnit & { readonly _tag: 'WaveRestarted' })
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
  | { readonly _tag: 'RunNotRemoved'; readonly runId: string; readonly why: string }

/**
 * The hook for logs, metrics and progress. Errors of the observer are ignored.
 *
 * @category model
 */
export interface Events {
  /** Reports an event. */
  readonly report: (event: Event) => void
}
