/**
 * Runs a workflow step by step, records each step durably, and resumes at the right one.
 *
 * @module
 * @since 0.1.0
 */
export * as Change from './domain/Change.js'
export * as Checkpoint from './domain/Checkpoint.js'
export * as CheckpointCodec from './domain/CheckpointCodec.js'
export * as CheckpointState from './domain/CheckpointState.js'
export * as CompletedStep from './domain/CompletedStep.js'
export * as Digest from './domain/Digest.js'
export * as Explain from './domain/Explain.js'
export * as Json from './domain/Json.js'
export * as Plan from './domain/Plan.js'
export * as RetryPolicy from './domain/RetryPolicy.js'
export * as RunId from './domain/RunId.js'
export * as Sequence from './domain/Sequence.js'
export * as StepError from './domain/StepError.js'
export * as StepFailure from './domain/StepFailure.js'
export * as Transition from './domain/Transition.js'
export * as Workflow from './domain/Workflow.js'
export * as WorkflowIdentity from './domain/WorkflowIdentity.js'
export type { Malformed } from './domain/JsonCodec.js'
export type { Workspace } from './domain/Workspace.js'
export { explain } from './domain/Explain.js'
export { hashPlan } from './domain/Plan.js'
export { planResume } from './domain/planResume.js'

export type * from './ports/CheckpointStorage.js'
export type * from './ports/Clock.js'
export type * from './ports/Environment.js'
export type * from './ports/Events.js'
export type * from './ports/Interrupt.js'
export type * from './ports/Subprocess.js'

export * as Program from './executor/Program.js'
export * as RunError from './executor/RunError.js'
export * as RunOutcome from './executor/RunOutcome.js'
export type { Executor } from './executor/Executor.js'
export type { Recovery, ResumeOptions, RunOptions } from './executor/run.js'
export { restoreStored, resume, run, runOrResume } from './executor/run.js'
export type { ListedRun, RunSummary, RunView } from './executor/runs.js'
export { listRuns, viewRun } from './executor/runs.js'
