/**
 * Runs a workflow step by step, records each step durably, and resumes at the right step.
 *
 * Some types share their name with the namespace of their functions: `Checkpoint` is a type, `Checkpoint.status` a function.
 *
 * @module
 */
import type * as types from './public/signatureTypes.js'

// --- run

export { cancel } from './executor/requests/cancel.js'
export type { CancelResult } from './executor/requests/cancel.js'
export { answer } from './executor/requests/answer.js'
export type { AnswerResult, AnswerOptions } from './executor/requests/answer.js'
export { confirm } from './executor/requests/confirm.js'
export { pause } from './executor/requests/pause.js'
export type { PauseOptions, PauseResult } from './executor/requests/pause.js'
export { planRun } from './executor/planRun.js'
export type { Planned, PlanRunOptions } from './executor/planRun.js'
export { poll } from './executor/poll.js'
export type { PollOutcome } from './executor/poll.js'
export { resume, run, runOrResume } from './executor/run.js'
export type { Executor } from './executor/Executor.js'
export type { ResumeOptions, RunOptions } from './executor/RunOptions.js'
export { fork } from './hosts/fork.js'
export type { ForkedRun, ForkOptions } from './hosts/fork.js'
export { resumeAll } from './hosts/resumeAll.js'
export type { AnyProgram } from './hosts/resumeAll.js'
export type { ResumeAllOptions } from './hosts/ResumeAllOptions.js'
export type { LeftWhy, ResumedRun } from './hosts/ResumedRun.js'
export { start } from './hosts/start.js'
export type { RunHandle } from './hosts/start.js'

/** Errors that end a call without an outcome. */
export type RunError = types.RunError
export * as RunError from './public/RunError.js'

/** How a run ended. */
export type RunOutcome<Outputs = unknown> = types.RunOutcome<Outputs>
export * as RunOutcome from './public/RunOutcome.js'

// --- look after runs

export { cleanWorkspace, hasWorkspace, mergeWorkspace } from './executor/workspace/workspace.js'
export { collectEvidence } from './executor/workspace/evidence.js'
export { findExpired, prune, removeRuns } from './executor/storage/prune.js'
export { listRuns, newestFirst, viewRun } from './executor/storage/runs.js'
export type { ListedRun, RunSummary, RunView } from './executor/storage/runs.js'
export { unitsOf } from './domain/explain/UnitView.js'
export type { UnitView } from './domain/explain/UnitView.js'
export { runChanges } from './executor/storage/history.js'
export { renderRun } from './view/page/renderRun.js'
export type { RunPage } from './view/page/RunPage.js'
export type { OnSuccess, RetentionPolicy } from './domain/checkpoint/Retention.js'

// --- define a program

/** A workflow together with its code. */
export type Program<Outputs, Input = types.Json, Given = unknown, Seen = types.SeenOf<Input>> = types.Program<
  Outputs,
  Input,
  Given,
  Seen
>
export * as Program from './public/Program.js'
export type { Expectation } from './executor/program/Guard.js'
export type { Schema } from './executor/program/Output.js'
export type { ProgramOptions } from './executor/program/ProgramSpec.js'
export type { ProgramStep } from './executor/program/ProgramStep.js'
export type {
  Job,
  JobSpec,
  JobStatus,
  MapOptions,
  RunSubStep,
  SequenceOptions,
  SleepSpec,
  StepArtifacts,
  StepContext,
  StepSpec,
  SubStepContext,
  SubStepOptions,
  TaskSpec,
  WaitForSpec,
  WaveOptions
} from './executor/program/StepSpec.js'

/** The maximum number of attempts of a step, and the delays between them. */
export type RetryPolicy = types.RetryPolicy
export * as RetryPolicy from './public/RetryPolicy.js'

/** A stored error. */
export type StepError = types.StepError
export * as StepError from './public/StepError.js'

/** An error with its class: transient or permanent. */
export type StepFailure = types.StepFailure
export * as StepFailure from './public/StepFailure.js'

// --- plan

export { planResume } from './domain/plan/planResume.js'
export { answersTo, hashPlan, openQuestions } from './domain/plan/Plan.js'
export { describeQuestion, describeReason, explain } from './domain/explain/Explain.js'
export type { Answer, Changes, Decision, FoundEvidence, PlanOptions, ResumePlan } from './domain/plan/Plan.js'
export type { PlanProblem } from './domain/plan/PlanProblem.js'

/** All problems of a plan. */
export type PlanError = types.PlanError
export * as PlanError from './public/PlanError.js'

/** A workflow as data that the planner reads. */
export type Workflow = types.Workflow
export * as Workflow from './public/Workflow.js'
export type { OptionProblem } from './domain/data/Options.js'
export type { Step } from './domain/workflow/Workflow.js'
export type { WorkflowProblem } from './domain/workflow/WorkflowProblem.js'
export type { OwnWorkspace, Workspace } from './domain/workflow/Workspace.js'

/** The recorded definition of a workflow: names, kinds and fingerprints. */
export type WorkflowIdentity = types.WorkflowIdentity
export * as WorkflowIdentity from './public/WorkflowIdentity.js'

/** The path of a unit: `checks/unit`. */
export type Unit = types.Unit
export * as Unit from './public/Unit.js'

// --- the record of a run

/** The whole state of a run at one revision. */
export type Checkpoint = types.Checkpoint
export * as Checkpoint from './public/Checkpoint.js'
export * as CheckpointCodec from './public/CheckpointCodec.js'
export type { Status, Variables } from './domain/checkpoint/Checkpoint.js'
export type { Summary } from './domain/checkpoint/Summary.js'
export type { CompletedStep, Evidence, ExpectedEvidence } from './domain/checkpoint/CompletedStep.js'
export type { PendingUnit } from './domain/checkpoint/Pending.js'
export type { SubStep } from './domain/checkpoint/SubStep.js'
export type { Units } from './domain/checkpoint/Units.js'

/** The state of a run. */
export type CheckpointState = types.CheckpointState
export * as CheckpointState from './public/CheckpointState.js'
export type {
  BeforeStep,
  Completed,
  Failed,
  Failure,
  InFlight,
  Interrupted,
  InterruptReason
} from './domain/checkpoint/CheckpointState.js'

export * as Transition from './public/Transition.js'
export type { Change } from './domain/change/Change.js'
export type { TransitionError } from './domain/change/Transition.js'

/** Plain JSON, read-only. */
export type Json = types.Json
export * as Json from './public/Json.js'
export type { NotJson } from './domain/data/Json.js'

export * as RunId from './public/RunId.js'

// --- write a backend

export type {
  Claim,
  Claimed,
  ClaimOptions,
  Encoded,
  Found,
  HistoryEntry,
  Holder,
  KeptSummary,
  Listed,
  ListOptions,
  Liveness,
  Owner,
  RemoveOptions,
  CheckpointStorage,
  Revision,
  StorageError,
  Stored,
  Corrupt,
  Fenced,
  HeldBy,
  Insecure,
  LostFiles,
  ReadFailed,
  TooLarge,
  UnsupportedFormat,
  WriteFailed
} from './ports/CheckpointStorage.js'
export type { RevisionConflict } from './domain/checkpoint/RevisionConflict.js'
export type { RunChanged } from './domain/checkpoint/RunChanged.js'
export type { InvalidRunId } from './domain/checkpoint/RunId.js'
export type { Archive, ArchiveError } from './ports/Archive.js'
export * as ArtifactId from './public/ArtifactId.js'
export type { ArtifactError, ArtifactInfo, ArtifactStore } from './ports/ArtifactStore.js'
export type { Requests, RequestError } from './ports/Requests.js'
export * as RequestCodec from './public/RequestCodec.js'
export type { Request } from './domain/request/Request.js'
export type { ContinueHere } from './domain/request/Pause.js'

// --- the environment of a run

export type { CheckAnswer, FailedCheck, OnCheckFailed } from './ports/Checks.js'
export type { Clock } from './ports/Clock.js'
export type { Around, Environment } from './ports/Environment.js'
export type { Event, Events, EventUnit } from './ports/Events.js'
export type { Interrupt } from './ports/Interrupt.js'
export type { AsyncContext } from './ports/AsyncContext.js'
export type { Secrets } from './ports/Secrets.js'
export type { WorkingTree } from './ports/WorkingTree.js'
export type { WorkspaceError, Workspaces } from './ports/Workspaces.js'
