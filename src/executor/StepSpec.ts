/**
 * What a step, a group or a wave is declared with, and what it gets when it runs.
 *
 * @since 0.1.0
 */
import type { TaskEither } from 'fp-ts/lib/TaskEither.js'
import type { Variables } from '../domain/Checkpoint.js'
import type { ExpectedEvidence } from '../domain/CompletedStep.js'
import type { Json } from '../domain/Json.js'
import type { RetryPolicy } from '../domain/RetryPolicy.js'
import type { Unit } from '../domain/Unit.js'
import type { Workspace } from '../domain/Workspace.js'
import type { GuardSpec } from './Guard.js'
import type { SchemaInput, SchemaOutput, StandardSchema } from './StandardSchema.js'
import type { Memo, StepArtifacts } from './StepArtifacts.js'

/**
 * What a task gets when it runs.
 *
 * - `unit`: its path.
 * - `input`: the run's input; `outputs`: what earlier steps gave, by name, that of a map as a list in item order, that of any other
 *   composite as an object by the names of its parts; `variables`: input fields and captured outputs. It sees its earlier siblings and
 *   those of the units that it is part of; of its own wave, the groups that it needs. All are copies of what is stored: the same on a
 *   resume as in an undisturbed run.
 * - `attempt`: from 1. `idempotencyKey`: the same for all attempts and resumes of this unit, another after a rewind of it.
 * - `signal` fires when the attempt is to stop: interrupted, timed out, or the run was taken over. Its `reason` says why.
 * - `secrets`: the values of the secrets that the program declares, by name. They are in nothing else.
 * - `workspace`: where the run works; `folder`: where the step does, which is a folder of its own if it has one. Both absent if
 *   nothing is recorded of that.
 * - `artifacts`: what the run keeps beside outputs, by id. `memo`: a cache of the run for what is dear to compute again.
 *
 * @category model
 * @since 0.1.0
 */
export interface StepContext<Outputs, Input = Json> {
  readonly runId: string
  readonly unit: Unit
  readonly step: string
  readonly group?: string
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
  readonly memo: Memo
}

/**
 * An io-ts codec (`t.Mixed`), by the fields that are used of it. `encode` must return plain JSON.
 *
 * @category model
 * @since 0.1.0
 */
// The parameters are `never`, because a codec is invariant in its types and only its own `_A` counts.
export interface OutputCodec {
  readonly _A: unknown
  readonly name: string
  /** As in io-ts. */
  readonly is: (value: unknown) => boolean
  /** As in io-ts. */
  readonly validate: (value: never, context: never) => unknown
  /** As in io-ts. */
  readonly decode: (value: never) => unknown
  /** As in io-ts. */
  readonly encode: (value: never) => unknown
}

/**
 * What `output`, `input` and `item` take: an io-ts codec, or a Standard Schema (zod, valibot, arktype).
 *
 * @category model
 * @since 0.1.0
 */
export type Schema = StandardSchema | OutputCodec

/**
 * The type that readers see: the codec's, what the schema returns, or plain JSON without either (`null` if the step gave nothing).
 *
 * @category model
 * @since 0.1.0
 */
export type OutputOf<C> = C extends StandardSchema ? SchemaOutput<C> : C extends OutputCodec ? C['_A'] : Json

/**
 * The type that a step returns: the codec's, or what the schema takes.
 *
 * @category model
 * @since 0.1.0
 */
export type ReturnOf<C> = C extends StandardSchema ? SchemaInput<C> : C extends OutputCodec ? C['_A'] : unknown

/**
 * The type of the input that starts a run: the codec's, what the schema takes, or plain JSON without either.
 *
 * @category model
 * @since 0.1.0
 */
export type StartOf<C> = C extends Schema ? ReturnOf<C> : Json

/**
 * How a task is defined in code.
 *
 * - `run`: what it does. Its error may be anything: a `StepFailure` is taken at its word, everything else is classified
 *   by `StepFailure.fromUnknown`, as is what it throws or rejects with.
 * - `output`: the codec or the schema of its output; without one that must be plain JSON. With a schema the step returns what the schema
 *   takes, which is recorded as JSON; readers get what the schema returns for it.
 * - `version`: raise it when `run` changes so much that a run that did the old one must not go on with the new.
 * - `idempotent`: default true. `capture`: the variable that its output becomes.
 * - `retry`: default none. `timeoutMillis`: for each attempt, its checks included, default none.
 * - `evidence`: what it leaves behind, or a function that tells that from its output. It has completed only if all of that is
 *   there, and its record counts only as long as it is; see also {@link GuardSpec}.
 * - `workspace`: `fresh` gives each attempt an empty folder of its own (`folder` of its context); what an earlier one left is kept
 *   beside it. Its evidence is looked for there. The environment needs `workspaces`.
 * - `summary`: for people, default its name. `numbered`: its name is only its number, see `Workflow.Task`; default false.
 *
 * `Given` is what it gets beside its context: an item, if it is done for each of a map.
 *
 * @category model
 * @since 0.1.0
 */
export interface TaskSpec<Outputs, Input, C, Given = unknown> extends GuardSpec<StepContext<Outputs, Input> & Given> {
  /** What it does. */
  readonly run: (context: StepContext<Outputs, Input> & Given) => TaskEither<unknown, ReturnOf<C>>
  readonly output?: C
  readonly summary?: string
  readonly version?: string
  readonly idempotent?: boolean
  readonly capture?: string
  readonly numbered?: boolean
  readonly retry?: RetryPolicy
  readonly timeoutMillis?: number
  readonly workspace?: 'fresh'
  /** What it leaves behind. */
  readonly evidence?:
    | ReadonlyArray<ExpectedEvidence>
    | ((output: OutputOf<C>, context: StepContext<Outputs, Input> & Given) => ReadonlyArray<ExpectedEvidence>)
}

/**
 * The groups of the same wave that a group needs, by name. It starts when those have completed.
 *
 * @category model
 * @since 0.1.0
 */
export interface Needs<Groups extends string = string> {
  readonly needs?: ReadonlyArray<Groups>
}

/**
 * How a sequence runs: what has to hold before and after it, and what it leaves behind.
 *
 * @category model
 * @since 0.1.0
 */
export interface SequenceOptions<Outputs = unknown, Input = unknown, Given = unknown> extends GuardSpec<
  StepContext<Outputs, Input> & Given
> {
  readonly summary?: string
  /** What it leaves behind. */
  readonly evidence?:
    | ReadonlyArray<ExpectedEvidence>
    | ((output: undefined, context: StepContext<Outputs, Input> & Given) => ReadonlyArray<ExpectedEvidence>)
}

/**
 * How a wave runs. `concurrency`: how many groups at once, at least 1, default all. `onFailure`, when a group failed: `finish` those
 * that run and start no more; `continue` with all that do not need it; `halt` those that run. Default: `continue` if
 * groups need one another, else `finish`.
 *
 * @category model
 * @since 0.1.0
 */
export interface WaveOptions<Outputs = unknown, Input = unknown, Given = unknown> extends SequenceOptions<
  Outputs,
  Input,
  Given
> {
  readonly concurrency?: number
  readonly onFailure?: OnFailure
}

/**
 * What a wave does when one of its groups failed.
 *
 * @category model
 * @since 0.1.0
 */
export type OnFailure = 'finish' | 'continue' | 'halt'
