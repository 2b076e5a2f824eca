/**
 * The types that the types of `dogear` refer to, such as members of unions. You need not import them: the documentation shows them, and
 * declarations that TypeScript infers import them from `dogear/types`.
 *
 * @module
 */
export type { Either, Left, Right } from 'fp-ts/lib/Either.js'
export type { None, Option, Some } from 'fp-ts/lib/Option.js'
export type { ReaderTaskEither } from 'fp-ts/lib/ReaderTaskEither.js'
export type { Task } from 'fp-ts/lib/Task.js'
export type { TaskEither } from 'fp-ts/lib/TaskEither.js'
export type { Checkpoint, Move, Origin } from '../domain/checkpoint/Checkpoint.js'
export type { CheckpointState } from '../domain/checkpoint/CheckpointState.js'
export type { Json, JsonArray, JsonObject } from '../domain/data/Json.js'
export type { PlanError } from '../domain/plan/PlanProblem.js'
export type { Program, SeenOf } from '../executor/program/ProgramSpec.js'
export type { ProgramMap, ProgramSequence, ProgramTask, ProgramWave } from '../executor/program/ProgramStep.js'
export type { InvalidRetryPolicy, RetryPolicy } from '../domain/workflow/RetryPolicy.js'
export type { RunError } from '../executor/errors/RunError.js'
// Renamed, because states of a checkpoint have the same names. A declaration cannot name a type that only a namespace exports.
export type {
  Completed as CompletedRun,
  Failed as FailedRun,
  Fenced as FencedRun,
  Interrupted as InterruptedRun,
  Pending as PendingRun,
  RunOutcome
} from '../executor/RunOutcome.js'
export type { StepError } from '../domain/data/StepError.js'
export type { Permanent, StepFailure, Transient } from '../domain/data/StepFailure.js'
export type { Unit } from '../domain/workflow/Unit.js'
export type { Workflow } from '../domain/workflow/Workflow.js'
export type { WorkflowIdentity } from '../domain/workflow/WorkflowIdentity.js'

export type * from '../domain/checkpoint/IdempotencyKey.js'
export type * from '../domain/checkpoint/Pending.js'
export type * from '../domain/checkpoint/Retention.js'
export type * from '../domain/data/Malformed.js'
export type * from '../domain/request/Request.js'
export type * from '../domain/request/RequestCodec.js'
export type * from '../ports/Archive.js'
export type * from '../domain/workflow/Workspace.js'
export type { Recovery, ResumeOptions, RunOptions, Policy } from '../executor/RunOptions.js'
export type * from '../executor/poll.js'
export type { AnswerRefused } from '../executor/errors/AnswerRefused.js'
export type * from '../executor/storage/prune.js'
export type { CompletedUnits } from '../executor/workspace/evidence.js'
export type * from '../executor/program/UnitChecks.js'
export type * from '../executor/program/StandardSchema.js'
export type * from '../ports/Requests.js'
export type * from '../ports/Secrets.js'
export type * from '../ports/WorkingTree.js'
export type * from '../ports/Workspaces.js'
export type * as ArtifactIds from '../domain/data/ArtifactId.js'
export type * as Changes from '../domain/change/Change.js'
export type * as Codecs from '../domain/change/restore.js'
export type * as Errors from '../executor/errors/RunError.js'
export type * as Failures from '../domain/data/StepFailure.js'
export type * as Identities from '../domain/workflow/WorkflowIdentity.js'
export type * as ItemLists from '../domain/checkpoint/Items.js'
export type * as Jsons from '../domain/data/Json.js'
export type * as Lists from '../domain/checkpoint/Units.js'
export type * as Outputs from '../executor/program/Output.js'
export type * as Outcomes from '../executor/RunOutcome.js'
export type * as Plans from '../domain/plan/Plan.js'
export type * as PlanProblems from '../domain/plan/PlanProblem.js'
export type * as Programs from '../executor/program/ProgramSpec.js'
export type * as ProgramSteps from '../executor/program/ProgramStep.js'
export type * as Retries from '../domain/workflow/RetryPolicy.js'
export type * as RunIds from '../domain/checkpoint/RunId.js'
export type * as States from '../domain/checkpoint/CheckpointState.js'
export type * as Steps from '../executor/program/StepSpec.js'
export type * as Workflows from '../domain/workflow/Workflow.js'
