/**
 * What a task is declared with that hands its work over as a job.
 *
 * @since 0.1.0
 */
import type { TaskEither } from 'fp-ts/lib/TaskEither.js'
import type { Json } from '../domain/Json.js'
import type { ReturnOf, StepContext, TaskSpec } from './StepSpec.js'

/**
 * What a task gets when it asks for its job, or collects what that gave: what it got when it submitted, and the `job` itself
 * (`null` if the submission gave nothing). `idempotencyKey` is the one under which the job was submitted.
 *
 * @category model
 * @since 0.1.0
 */
export interface JobContext<Outputs, Input = Json> extends StepContext<Outputs, Input> {
  readonly job: Json
}

/**
 * What became of a job: not ended yet (`done` of `total`, if that is known), or ended well, or badly, or nobody knows of it.
 *
 * @category model
 * @since 0.1.0
 */
export type JobStatus =
  | { readonly _tag: 'Unfinished'; readonly done?: number; readonly total?: number }
  | { readonly _tag: 'Finished' }
  | { readonly _tag: 'Failed'; readonly error: unknown }
  | { readonly _tag: 'Missing' }

/**
 * How a task hands its work over to something outside, to rest until that is done.
 *
 * - `submit`: starts the job, and gives what is needed to find it again. It may be called again under the same
 *   `idempotencyKey`, if it is not known whether it did.
 * - `poll`: asks what became of the job. It changes nothing.
 * - `collect`: fetches what the job gave, which is the output of the task.
 *
 * Of its checks `before` is looked at before the submission, all others once the job is collected, for its output. How many
 * commits were made meanwhile nobody can tell: a job with `expect.commits` is refused.
 *
 * @category model
 * @since 0.1.0
 */
export interface Job<Outputs, Input, C, Given = unknown> {
  /** Starts the job, and gives what is needed to find it again. */
  readonly submit: (context: StepContext<Outputs, Input> & Given) => TaskEither<unknown, Json | undefined>
  /** Asks what became of the job. */
  readonly poll: (context: JobContext<Outputs, Input> & Given) => TaskEither<unknown, JobStatus>
  /** Fetches what the job gave. */
  readonly collect: (context: JobContext<Outputs, Input> & Given) => TaskEither<unknown, ReturnOf<C>>
}

/**
 * A task that hands its work over: with a `job` in place of what it runs. `retry` is for the submission, `timeoutMillis` for
 * each call.
 *
 * @category model
 * @since 0.1.0
 */
export interface JobSpec<Outputs, Input, C, Given = unknown> extends Omit<TaskSpec<Outputs, Input, C, Given>, 'run'> {
  readonly job: Job<Outputs, Input, C, Given>
}
