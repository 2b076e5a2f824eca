/**
 * The options of steps, and their contexts.
 *
 * @module
 */
import type { Variables } from '../../domain/checkpoint/Checkpoint.js'
import type { ExpectedEvidence } from '../../domain/checkpoint/CompletedStep.js'
import type { Json } from '../../domain/data/Json.js'
import type { RetryPolicy } from '../../domain/workflow/RetryPolicy.js'
import type { Unit } from '../../domain/workflow/Unit.js'
import type { Workspace } from '../../domain/workflow/Workspace.js'
import type { ArtifactInfo } from '../../ports/ArtifactStore.js'
import type { CheckOptions } from './UnitChecks.js'
import type { OutputOf, Returned, ReturnOf, Schema, Storable, Accepted } from './Output.js'

/**
 * The context of a running task.
 *
 * - `unit`: its path.
 * - `input`: the run's input; `outputs`: the outputs of earlier steps, by name, that of a map as an array in item order, that of any other
 *   composite as an object by the names of its parts; `variables`: input fields and captured outputs. A task sees its earlier siblings and
 *   those of its ancestors; of its own wave, the groups that it needs. All are copies of stored values: the same on a resume as in an
 *   undisturbed run.
 * - `attempt`: from 1. `idempotencyKey`: the same for all attempts and resumes of this unit; a rewind of the unit changes it.
 * - `signal` fires when the attempt must stop: interrupted, timed out, fenced or suspended, or because another group of its wave failed
 *   (`onFailure: 'halt'`). Its `reason` says why.
 * - `secrets`: the values of the program's secrets, by name. No other field contains them.
 * - `workspace`: that of the run, if it has one. `folder`: the step's own folder, or else that of the workspace; absent if there is neither.
 * - `artifacts`: the artifacts of the run, by id. `step`: runs and records a sub-step. `sleep` and `waitFor`: wait in the task's
 *   code.
 *
 * @category model
 */
export interface StepContext<Outputs, Input = Json> {
  readonly runId: string
  readonly unit: Unit
  readonly attempt: number
  readonly idempotencyKey: string
  readonly input: Input
  readonly outputs: Outputs
  readonly variables: Variables
  readonly secrets: Readonly<Record<string, string>>
  readonly signal: AbortSignal
  readonly workspace?: Workspace
  readonly folder?: string
  readonly artifacts: StepArtifacts
  readonly step: RunSubStep
  readonly sleep: SleepUntil
  readonly waitFor: WaitForAnswer
}

/** An artifact of another run, to use instead of making it again. */
export interface Reuse {
  readonly fromRun: string
  readonly artifact: string
}

/**
 * The artifacts of the run, for a step. The record of a step names the artifacts that its attempts in this execution have put or reused, failed
 * attempts included. A failure rejects with an `Error` that is a `StepFailure` as well. Its `code` is the `_tag` of the `ArtifactError`,
 * `NoArtifactStore` if the run has no store, `Fenced` once another process superseded this one, `AttemptOver` once the attempt has ended,
 * `ReadOnly` in `submit` and `poll` of a job, or `NotBytes` or `SecretInArtifact` for invalid data. Ids that begin with `_` are reserved.
 *
 * @category model
 */
export interface StepArtifacts {
  /** Stores bytes, or a string as UTF-8, and replaces an earlier artifact with the id; durable when it resolves. */
  readonly put: (id: string, data: Uint8Array | string) => Promise<ArtifactInfo>
  /** Returns the bytes that this or an earlier step put; `undefined` if the artifact is missing. */
  readonly get: (id: string) => Promise<Uint8Array | undefined>
  /** Returns whether there is an artifact of this id. */
  readonly has: (id: string) => Promise<boolean>
  /** Copies an artifact of another run, under the same id. Rejects with the code `ArtifactMissing` if there is none. */
  readonly reuse: (from: Reuse) => Promise<ArtifactInfo>
}

/**
 * Runs work inside a task and records it: `step(name, run)` or `step(name, options, run)`. If it is recorded already, nothing runs and the
 * recorded output is returned. It is durable when the promise resolves.
 *
 * A failure is recorded, too, and rejects with an `Error` that has name, message, code and data. In an attempt that is repeated after a crash
 * the call rejects with the recorded error; a new attempt runs the sub-step again.
 *
 * A repeated name is numbered: the second `turn` is `agent/turn#2`. That requires a fixed order, so the call is refused while another
 * sub-step or wait of the same code is open. Code between sub-steps runs again with each attempt, and must have no side effects.
 *
 * @example
 * import { memoryStorage } from 'dogear/memory'
 * import { runOrResume, workflow } from 'dogear/promise'
 * import assert from 'node:assert/strict'
 *
 * const crawl = workflow('crawl').step('pages', async ({ step }) => {
 *   const links = await step('index', () => ['start', 'about'])
 *   return await Promise.all(links.map((link) => step(link, () => `text of ${link}`)))
 * })
 * const outputs = await runOrResume(crawl, { id: 'crawl-1', storage: memoryStorage() })
 * assert.deepEqual(outputs.pages, ['text of start', 'text of about'])
 *
 * @category model
 */
export interface RunSubStep {
  <C = unknown>(name: string, run: Run<SubStepContext, C>): Promise<OutputOf<C>>
  <C = unknown>(name: string, options: SubStepOptions<C>, run: Run<SubStepContext, C>): Promise<OutputOf<C>>
}

/**
 * Sleeps in the code of a task, under a name that is numbered like that of a sub-step.
 *
 * While the code only waits, the attempt is suspended: its code is dropped, its promises never settle, no `catch` or `finally` runs, and
 * `signal` fires with the reason `Suspended`. When a wait ends the code runs again from the top, in the same attempt, and recorded calls
 * return at once.
 */
export type SleepUntil = (name: string, sleep: Sleep) => Promise<void>

/** The options of a wait for an answer in the code of a task: see {@link WaitForSpec}. */
export interface WaitForOptions<C> extends WaitFor {
  readonly output?: C extends Schema ? C : undefined
}

/**
 * Waits for an answer in the code of a task, and resolves with it. It suspends as {@link SleepUntil} does. Without an answer in time it
 * rejects with the code `WAIT_TIMEOUT`.
 */
export type WaitForAnswer = <C = unknown>(name: string, options?: WaitForOptions<C>) => Promise<OutputOf<C>>

/**
 * The options of a sub-step.
 *
 * - `input`: plain JSON that the work depends on. Its fingerprint is recorded, and a later call with another one is refused.
 * - `version`: a call with another one drops the recorded sub-step and all that earlier attempts recorded after it.
 * - `idempotent`: default true. If false, its start is recorded first, and a resume asks about it if it was running.
 * - `output`, `retry`, `timeoutMillis`: as those of a task.
 *
 * @category model
 */
export interface SubStepOptions<C> {
  readonly input?: unknown
  readonly version?: string
  readonly idempotent?: boolean
  readonly output?: C extends Schema ? C : undefined
  readonly retry?: Partial<RetryPolicy>
  readonly timeoutMillis?: number
}

/**
 * The context of a running sub-step: some fields of {@link StepContext}, for its own path. `step` is for sub-steps of this one.
 *
 * @category model
 */
export interface SubStepContext extends Pick<
  StepContext<unknown, unknown>,
  'unit' | 'attempt' | 'idempotencyKey' | 'signal' | 'artifacts' | 'step'
> {
  readonly unit: Unit
}

/**
 * The fields that a task gets besides its context when it polls or collects its job: the `job` that `submit` returned (`null` if
 * nothing). `idempotencyKey` of its context is the key under which the job was submitted.
 */
export interface ForJob {
  readonly job: Json
}

/** The fields that a step gets besides its context when it runs for an item: `item`, as a copy of the recorded one, and `itemKey`, its name. */
export interface ForItem<I> {
  readonly item: I
  readonly itemKey: string
}

/**
 * The code of a step. It returns a `TaskEither`, a promise or a value. A `StepFailure` on the left, rejected or thrown is kept unchanged;
 * `StepFailure.fromUnknown` classifies everything else.
 *
 * `C`: the schema of the output, or without one the type that the function returns.
 */
export type Run<Context, C> = (context: Context) => ReturnOf<C>

/**
 * The options of a task.
 *
 * - `output`: the codec or schema of the output. With one, the step returns the type that the schema takes, which is recorded as JSON;
 *   readers get what the schema returns for it. Without one, the output must be plain JSON and its type is that of `run`.
 * - `version`: raise it when `run` changes so much that a run of the old version must not continue with the new one.
 * - `idempotent`: default true. `capture`: the variable that is set to the output.
 * - `retry`: default none. It retries transient failures only; a plain `Error` is permanent. `timeoutMillis`: for each attempt with its checks,
 *   but without prompts; default none.
 * - `evidence`: what the step leaves behind, or a function that computes it from the output. The step completes only if all of it
 *   exists, and its record counts only as long as it does; see also {@link CheckOptions}.
 * - `workspace`: `fresh` runs each attempt in its own empty folder (`folder` of its context); the files of earlier attempts are kept
 *   beside it. Evidence is looked up there. The environment needs `workspaces`.
 * - `summary`: for people, default its name. `numbered`: its name is its position, so an edit may give that name to another task; default
 *   false.
 */
export interface TaskOptions<Context, C> extends CheckOptions<Context> {
  readonly output?: C
  readonly summary?: string
  readonly version?: string
  readonly idempotent?: boolean
  readonly capture?: string
  readonly numbered?: boolean
  readonly retry?: Partial<RetryPolicy>
  readonly timeoutMillis?: number
  readonly workspace?: 'fresh'
  /** The evidence that the task must leave behind. */
  readonly evidence?:
    ReadonlyArray<ExpectedEvidence> | ((output: OutputOf<C>, context: Context) => ReadonlyArray<ExpectedEvidence>)
}

/**
 * A task: its code and its options.
 *
 * @category model
 */
export interface TaskSpec<Context, C> extends TaskOptions<Context, C> {
  /** The code of the task. */
  readonly run: Run<Context, C>
}

/**
 * A task that submits a job: with a `job` in place of its code. `retry` applies to the submission, `timeoutMillis` to
 * each call.
 *
 * @category model
 */
export interface JobSpec<Context, C> extends TaskOptions<Context, C> {
  readonly job: Job<Context, C>
}

/**
 * How long a step sleeps: this number of milliseconds from its start, or until a time, a `Date` or ISO 8601 string with its zone. The wake time is
 * recorded when the step starts, and survives crashes and edits.
 */
export type Sleep = { readonly millis: number } | { readonly until: Date | string }

/**
 * A step that sleeps.
 *
 * @category model
 */
export interface SleepSpec {
  readonly sleep: Sleep
  readonly summary?: string
}

/**
 * How a step waits for an answer. `question`: for people. `timeoutMillis`: the step fails with the code `WAIT_TIMEOUT` without an answer in
 * time; default: no limit.
 */
export interface WaitFor {
  readonly question?: string
  readonly timeoutMillis?: number
}

/**
 * A step that waits for an answer, which becomes its output: see `answer`. `output`: its codec or schema; an answer that does not match is
 * reported, and the step waits again. `capture`: the variable that is set to it.
 *
 * @category model
 */
export interface WaitForSpec<C> {
  readonly waitFor: WaitFor
  readonly output?: C
  readonly capture?: string
  readonly summary?: string
}

/**
 * A step that is one task: a bare function, a {@link TaskSpec} or a {@link JobSpec}; or one that waits: a {@link SleepSpec} or a
 * {@link WaitForSpec}.
 *
 * @category model
 */
export type StepSpec<Context, C> =
  Run<Context, C> | TaskSpec<Context, C> | JobSpec<Context, C> | SleepSpec | WaitForSpec<C>

/**
 * The status of a job: unfinished (`done` of `total`, if known), finished, failed, or missing.
 *
 * @category model
 */
export type JobStatus =
  | { readonly _tag: 'Unfinished'; readonly done?: number; readonly total?: number }
  | { readonly _tag: 'Finished' }
  | { readonly _tag: 'Failed'; readonly error: unknown }
  | { readonly _tag: 'Missing' }

/**
 * A job outside of the process, for which the run waits.
 *
 * - `submit`: starts the job, and returns what identifies it. It may be called again under the same `idempotencyKey`, if its effect is
 *   unknown.
 * - `poll`: returns the status of the job. It changes nothing.
 * - `collect`: fetches the result of the job, which is the output of the task.
 *
 * `before` runs before the submission, all other checks after the collection, for its output. Commits that a job makes cannot
 * be counted: a job with `expect.commits` is refused.
 *
 * @category model
 */
export interface Job<Context, C> {
  /** Starts the job, and returns what identifies it. */
  readonly submit: (context: Context) => Returned<Json | undefined>
  /** Returns the status of the job. */
  readonly poll: (context: Context & ForJob) => Returned<JobStatus>
  /** Fetches the result of the job. */
  readonly collect: (context: Context & ForJob) => ReturnOf<C>
}

/** The groups of the same wave that a group needs, by name. It starts when they have completed. */
export interface Needs<Groups extends string = string> {
  readonly needs?: ReadonlyArray<Groups>
}

/**
 * The options of a sequence: its checks and evidence.
 *
 * @category model
 */
export interface SequenceOptions<Context> extends CheckOptions<Context> {
  readonly summary?: string
  /** The evidence that the sequence must leave behind. */
  readonly evidence?:
    ReadonlyArray<ExpectedEvidence> | ((output: undefined, context: Context) => ReadonlyArray<ExpectedEvidence>)
}

/**
 * The options of a wave. `concurrency`: the maximum number of groups that run at once, a whole number of at least 1, default all.
 * `onFailure`, when a group failed: `finish` lets the running groups end and starts no more; `continue` runs all groups that do not need the
 * failed one; `halt` stops the running ones. Default: `continue` if groups need one another, else `finish`.
 *
 * @category model
 */
export interface WaveOptions<Context> extends SequenceOptions<Context> {
  readonly concurrency?: number
  readonly onFailure?: OnFailure
}

/** What a wave does after one of its groups failed. */
export type OnFailure = 'finish' | 'continue' | 'halt'

/**
 * The values that the items of a map are computed from: the same in every execution and after a resume. A map in the body of another map
 * also sees the `item` of that.
 */
export type MapSource<Outputs, Input = Json> = Pick<
  StepContext<Outputs, Input>,
  'runId' | 'unit' | 'input' | 'outputs' | 'variables'
>

/**
 * The items of a map, and its options.
 *
 * - `forEach`: returns the items, at most 100,000, each plain JSON or the type that `item`, their codec or schema, takes. It is called once,
 *   when the map is due, and the items are recorded: a resume continues with the same ones. It is called again after a rewind of the map, or
 *   of an earlier step.
 * - `key`: the name of an item, and so of its group; default its position, counted from 1. Keys must be unique.
 * - the rest are the options of a wave.
 *
 * @category model
 */
export interface MapOptions<Outputs, Input, I, Given = unknown> extends WaveOptions<
  StepContext<Outputs, Input> & Given
> {
  /** The items. */
  readonly forEach: (source: MapSource<Outputs, Input> & Given) => ReadonlyArray<ItemOf<I>>
  readonly item?: I
  /** The name of an item. */
  readonly key?: (item: OutputOf<I>, index: number) => string
}

/** The type of an item that `forEach` returns. `I`: the schema of the items, or without one the type itself, if JSON can store it. */
export type ItemOf<I> = I extends Schema ? Accepted<I> : CanStoreItem<I> extends true ? I : StoredItem<I>

type CanStoreItem<I> = [I] extends [Storable<I>] ? true : false

type StoredItem<I> = I extends infer A ? Storable<A> : never
