/**
 * The type of a program, and the types of what `sequence`, `wave` and `map` add to it.
 *
 * @module
 */
import type * as E from 'fp-ts/lib/Either.js'
import type { ExpectedEvidence } from '../../domain/checkpoint/CompletedStep.js'
import type { OptionProblem } from '../../domain/data/Options.js'
import type { Json } from '../../domain/data/Json.js'
import type { OnSuccess } from '../../domain/checkpoint/Retention.js'
import type { OutputMismatch, Workflow } from '../../domain/workflow/Workflow.js'
import type { WorkflowIdentity } from '../../domain/workflow/WorkflowIdentity.js'
import type { IsAny, OutputOf } from './Output.js'
import type { ProgramStep } from './ProgramStep.js'
import type { JobSpec, Needs, Run, SequenceOptions, SleepSpec, StepContext, TaskSpec, WaitForSpec } from './StepSpec.js'

/**
 * A workflow that can run. `Outputs`: the output types of its steps, by name; `Input`: the type of the input that starts a run. `Given`:
 * what its steps need besides their context: an item, in the body of a map. `Seen`: the input type that its steps see, which differs
 * from `Input` if a schema transforms it. `onSuccess`: what happens to a completed run, default `keep`.
 */
export interface Program<Outputs, Input = Json, Given = unknown, Seen = SeenOf<Input>> extends Workflow {
  readonly steps: ReadonlyArray<ProgramStep>
  readonly identity: WorkflowIdentity
  /** Returns the input that steps see for a stored one. */
  readonly decodeInput: (input: Json) => E.Either<OutputMismatch, Seen>
  /** Returns an input as JSON. */
  readonly encodeInput: (input: Input) => E.Either<OutputMismatch, Json>
  /** The invalid options of an untyped author. */
  readonly problems?: ReadonlyArray<OptionProblem> | undefined
  readonly onSuccess?: OnSuccess
  /** Only a type: the outputs of the steps. */
  readonly Outputs?: Outputs
  /** Only a type: what the steps need besides their context. */
  readonly Given?: (given: Given) => void
}

/** The type of the input that steps see, if no schema transforms it. */
// Every program is a `Program<unknown, never>`, whatever its steps see.
export type SeenOf<Input> = [Input] extends [never] ? unknown : Input

/**
 * Steps in order, as a group of a `wave` or as the body of a `map`. `steps` adds them to a program without steps. The output is
 * an object of their outputs by name. The checks are those of a sequence.
 */
export interface StepsSpec<
  Outputs,
  Input,
  C,
  Given = unknown,
  Start = Program<Outputs, Input, Given, Input>
> extends Omit<SequenceOptions<StepContext<Outputs, Input> & Given>, 'evidence'> {
  /** Adds the steps. */
  readonly steps: (
    start: Start
  ) => C extends Program<unknown, Input, Given, Input> ? C : Program<unknown, Input, Given, Input>
  /** The evidence that they must leave behind. */
  readonly evidence?: ReadonlyArray<ExpectedEvidence>
}

/**
 * The groups of a wave by name, each a task or steps in order. `Cs` has for each group the type argument of its {@link PartOf}.
 *
 * In a group with an `evidence` function annotate its parameter and the context of `run`: `(output: number) => …`,
 * `({ unit }: { unit: string }) => …`. Otherwise TypeScript infers `Json` for the outputs of the wave.
 */
export type Groups<Outputs, Input, Cs, Given = unknown, Start = Program<Outputs, Input, Given, Input>> = {
  readonly [G in keyof Cs]:
    | Run<StepContext<Outputs, Input> & Given, Cs[G]>
    | (Needs<Extract<keyof Cs, string>> &
        (
          | TaskSpec<StepContext<Outputs, Input> & Given, Cs[G]>
          | JobSpec<StepContext<Outputs, Input> & Given, Cs[G]>
          | SleepSpec
          | WaitForSpec<Cs[G]>
          | StepsSpec<Outputs, Input, Cs[G], Given, Start>
        ))
}

/** The body of a map: a task or steps in order. A task captures nothing: each item would set the same variable. */
export type EachSpec<Outputs, Input, C, Given, Start = Program<Outputs, Input, Given, Input>> =
  | Run<StepContext<Outputs, Input> & Given, C>
  | Omit<TaskSpec<StepContext<Outputs, Input> & Given, C>, 'capture' | 'numbered'>
  | Omit<JobSpec<StepContext<Outputs, Input> & Given, C>, 'capture' | 'numbered'>
  | SleepSpec
  | Omit<WaitForSpec<C>, 'capture'>
  | StepsSpec<Outputs, Input, C, Given, Start>

/** The outputs that the steps of a sequence add. `Names` is inferred, so that an editor shows the object and not this alias. */
export type Added<Inner, Outputs> =
  Exclude<keyof Inner, keyof Outputs> extends infer Names extends keyof Inner
    ? { readonly [P in Names]: Inner[P] }
    : never

/**
 * The output of a group, or of an item of a map. `C`: the schema of a task, the type that its `run` returns, or the program of a {@link
 * StepsSpec}.
 */
export type PartOf<C, Outputs> =
  IsAny<C> extends true
    ? Json
    : C extends Program<infer Inner, infer _, infer _Given, infer _Seen>
      ? Added<Inner, Outputs>
      : OutputOf<C>

/**
 * The options of a program: see `start`.
 *
 * @category model
 */
export interface ProgramOptions {
  readonly secrets?: ReadonlyArray<string>
  readonly onSuccess?: OnSuccess
}

/** A new step name. A union is refused: its type would promise the outputs of both names. */
export type NewName<N extends string, Outputs, All = N> = N extends unknown
  ? [All] extends [N]
    ? | Exclude<N, keyof Outputs>
      | (N extends keyof Outputs ? WrongName<'an earlier step has this name; choose another'> : never)
    : WrongName<'a union; pass one literal name'>
  : never

/** A name that a step cannot have. `Why` says the reason and the remedy. */
export type WrongName<Why extends string> = string & { readonly 'not a new name': Why }
