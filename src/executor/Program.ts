/**
 * A workflow together with what it runs. The same value goes to the planner and to the executor.
 *
 * @module
 * @since 0.1.0
 */
import * as E from 'fp-ts/lib/Either.js'
import type { ExpectedEvidence } from '../domain/CompletedStep.js'
import type { Json } from '../domain/Json.js'
import type { OnSuccess } from '../domain/Retention.js'
import { problemOf as problemOfRetry } from '../domain/RetryPolicy.js'
import { join } from '../domain/Unit.js'
import type { OutputMismatch, Workflow } from '../domain/Workflow.js'
import * as W from '../domain/Workflow.js'
import type { WorkflowIdentity } from '../domain/WorkflowIdentity.js'
import * as Identity from '../domain/WorkflowIdentity.js'
import { conversions, toJson } from './conversions.js'
import type { JobSpec } from './JobSpec.js'
import type { EachSpec, ForItem, MapOptions, MapSource } from './MapSpec.js'
import type { ProgramStep, ProgramTask } from './ProgramStep.js'
import { mapOf, sequenceOf, task, waveOf } from './ProgramStep.js'
import type { Needs, OutputOf, Schema, SequenceOptions, StartOf, TaskSpec, WaveOptions } from './StepSpec.js'

export type * from './JobSpec.js'
export type * from './MapSpec.js'
export * from './ProgramStep.js'
export type * from './StandardSchema.js'
export type * from './StepSpec.js'

// ---------------------------------------------------------------------------------------------------------------------
// model
// ---------------------------------------------------------------------------------------------------------------------

/**
 * A workflow that can run. `Outputs` are the types of what its steps give, by name; `Input` that of the input that starts a run. `Given` is
 * what its steps need beside their context: an item, if they are the body of a map. `Seen` is the type of the input that its steps see:
 * another one than `Input` if the schema of the input transforms it. `onSuccess`: what becomes of a run that has completed, default `keep`.
 *
 * @category model
 * @since 0.1.0
 */
export interface Program<Outputs, Input = Json, Given = unknown, Seen = SeenOf<Input>> extends Workflow {
  readonly steps: ReadonlyArray<ProgramStep>
  readonly identity: WorkflowIdentity
  /** What steps see of a stored input. */
  readonly decodeInput: (input: Json) => E.Either<OutputMismatch, Seen>
  /** An input as JSON. */
  readonly encodeInput: (input: Input) => E.Either<OutputMismatch, Json>
  /** The expected type, if the input's codec is neither a codec nor a schema. */
  readonly inputExpected?: string | undefined
  readonly onSuccess?: OnSuccess
  /** Only a type: what the steps give. */
  readonly Outputs?: Outputs
  /** Only a type: what the steps need beside their context. */
  readonly Given?: (given: Given) => void
}

/**
 * The type of the input that steps see, if no schema transforms it.
 *
 * @category model
 * @since 0.1.0
 */
// Every program is a `Program<unknown, never>`, whatever its steps see.
export type SeenOf<Input> = [Input] extends [never] ? unknown : Input

/**
 * Steps in order, as a group of a {@link wave} or as what a {@link map} does for each item. `steps` adds them to a program without steps.
 * The output is an object of their outputs by name. The checks are those of a sequence.
 *
 * In a wave with such a group an `evidence` function must annotate its output, `(output: number) => …`. Otherwise TypeScript infers `Json`
 * for the output of the group.
 *
 * @category model
 * @since 0.1.0
 */
export interface StepsSpec<Outputs, Input, Inner, Given = unknown> extends Omit<
  SequenceOptions<Outputs, Input, Given>,
  'evidence'
> {
  /** Adds the steps. */
  readonly steps: (start: Program<Outputs, Input, Given, Input>) => Program<Inner, Input, Given, Input>
  /** What they leave behind. */
  readonly evidence?: ReadonlyArray<ExpectedEvidence>
}

/**
 * The outputs that the steps of a sequence add to the outputs that they see.
 *
 * @category model
 * @since 0.1.0
 */
export type Added<Inner, Outputs> = { readonly [P in Exclude<keyof Inner, keyof Outputs>]: Inner[P] }

/**
 * The output of a group. `C`: the codec or the schema of a task, or the outputs of a {@link StepsSpec} and of the steps before it.
 *
 * @category model
 * @since 0.1.0
 */
export type PartOf<C, Outputs> = C extends Schema ? OutputOf<C> : C extends object ? Added<C, Outputs> : Json

/**
 * What a program is declared with beside its steps: see {@link start}.
 *
 * @category model
 * @since 0.1.0
 */
export interface ProgramOptions {
  readonly secrets?: ReadonlyArray<string>
  readonly onSuccess?: OnSuccess
}

// ---------------------------------------------------------------------------------------------------------------------
// constructors
// ---------------------------------------------------------------------------------------------------------------------

/**
 * A program of these steps. `path` is the file that it came from; `options` are those of {@link start}.
 *
 * @category constructors
 * @since 0.1.0
 */
export const fromSteps = (
  name: string,
  steps: ReadonlyArray<ProgramStep>,
  path?: string,
  options: ProgramOptions = {}
): Program<Readonly<Record<string, unknown>>> =>
  build({ name, ...options, decodeInput: E.right, encodeInput: anyInput }, steps, path)

/**
 * Everything that is wrong with a program: with its definition, and with how its tasks are to be tried.
 *
 * @category destructors
 * @since 0.1.0
 */
export const problems = (
  program: Pick<Program<unknown, never>, 'name' | 'steps' | 'secrets' | 'onSuccess' | 'inputExpected'>
): ReadonlyArray<W.WorkflowProblem> => {
  const found = [...W.problems(program)]
  const mustBe = (place: string, field: string, expected: string | undefined): void => {
    if (expected !== undefined) found.push({ _tag: 'InvalidSetting', place, field, expected })
  }
  mustBe(program.name, 'input', program.inputExpected)
  // A host in JavaScript may say anything, and nothing is deleted on a word that we do not know.
  if (program.onSuccess !== undefined && !Object.hasOwn(ON_SUCCESS, program.onSuccess))
    found.push({ _tag: 'InvalidSetting', place: program.name, field: 'onSuccess', expected: 'keep, archive or delete' })
  const look = (place: string, { retry, timeoutMillis, job, workspace, guard, codecExpected }: ProgramTask): void => {
    mustBe(place, 'output', codecExpected)
    const wrong = problemOfRetry(retry)
    if (wrong !== undefined)
      found.push({ _tag: 'InvalidSetting', place, field: `retry.${wrong.field}`, expected: wrong.expected })
    if (timeoutMillis !== undefined && !(timeoutMillis >= 0 && timeoutMillis < Infinity))
      found.push({ _tag: 'InvalidSetting', place, field: 'timeoutMillis', expected: 'a finite number ≥ 0' })
    if (job?.guard?.expect.commits !== undefined)
      found.push({ _tag: 'InvalidSetting', place, field: 'expect.commits', expected: NOT_COUNTED })
    if (workspace !== undefined && (guard?.expect.commits !== undefined || guard?.expect.cleanTree !== undefined))
      found.push({ _tag: 'InvalidSetting', place, field: 'expect', expected: NO_REPOSITORY })
  }
  const lookAt = (step: ProgramStep, place: string): void => {
    if (step._tag === 'Task') look(place, step)
    else if (step._tag === 'Map') {
      mustBe(place, 'item', step.items.codecExpected)
      lookAt(step.each, step.each._tag === 'Task' ? place : `${place}/*`)
    } else for (const part of step._tag === 'Sequence' ? step.steps : step.groups) lookAt(part, join(place, part.name))
  }
  for (const step of program.steps) lookAt(step, step.name)
  return found
}

const ON_SUCCESS: Readonly<Record<OnSuccess, true>> = { keep: true, archive: true, delete: true }

const NO_REPOSITORY = 'without commits and cleanTree: the folder of its own that the step has is no repository'

const NOT_COUNTED = 'left out: the commits that a job makes are not counted, name them as its evidence'

/** No input is an empty one; `null` is `null`. */
const anyInput = (input: unknown): E.Either<OutputMismatch, Json> =>
  E.map((json: Json | undefined) => (json === undefined ? {} : json))(toJson(input))

/** A program without its steps. */
type Base<Input, Seen> = Pick<
  Program<unknown, Input, unknown, Seen>,
  'name' | 'secrets' | 'onSuccess' | 'decodeInput' | 'encodeInput' | 'inputExpected'
>

/** The identity is made when it is first asked for: a builder's intermediate programs never are. */
const build = <Outputs, Input, Given, Seen>(
  base: Base<Input, Seen>,
  steps: ReadonlyArray<ProgramStep>,
  path?: string
): Program<Outputs, Input, Given, Seen> => {
  let identity: WorkflowIdentity | undefined
  const { name, secrets = [], onSuccess = 'keep', decodeInput, encodeInput, inputExpected } = base
  return {
    name,
    steps,
    secrets,
    onSuccess,
    decodeInput,
    encodeInput,
    inputExpected,
    get identity() {
      identity ??= Identity.of({ name, steps, secrets }, path)
      return identity
    }
  }
}

/**
 * A program without steps, to which {@link step} and {@link wave} add. `input` is the codec or the schema of the run's input; without
 * one that is plain JSON. `secrets` are the names of what the steps get from whoever keeps secrets, at each start and resume
 * anew: a checkpoint keeps the names alone, and what steps give is recorded without the values. `onSuccess`: what becomes of a
 * run that has completed. Once that is durable it is archived or deleted; its id is free then.
 *
 * @example
 * import { pipe } from 'fp-ts/lib/function.js'
 * import * as TE from 'fp-ts/lib/TaskEither.js'
 * import * as t from 'io-ts'
 * import { Program } from 'dogear'
 * import assert from 'node:assert/strict'
 *
 * const release = pipe(
 *   Program.start('release'),
 *   Program.step('version', { output: t.string, run: () => TE.right('1.2.3') }),
 *   Program.step('pack', { run: ({ outputs: { version } }) => TE.right(`dogear-${version}.tgz`) })
 * )
 * assert.deepEqual(release.steps.map((step) => step.name), ['version', 'pack'])
 *
 * @category constructors
 * @since 0.1.0
 */
export const start = <C extends Schema | undefined = undefined>(
  name: string,
  options: ProgramOptions & { readonly input?: C } = {}
): Program<object, StartOf<C>, unknown, OutputOf<C>> => {
  const codec: Schema | undefined = options.input
  const { input: _, ...more } = options
  const { encode, decode, codecExpected } = conversions(codec)
  const decodeInput = (codec === undefined ? E.right : decode) as (input: Json) => E.Either<OutputMismatch, OutputOf<C>>
  if (codec === undefined) return build({ name, ...more, decodeInput, encodeInput: anyInput }, [])
  const encodeInput = (input: unknown): E.Either<OutputMismatch, Json> =>
    E.chain((json: Json | undefined) => (json === undefined ? E.left(NO_INPUT) : E.right(json)))(encode(input))
  return build({ name, ...more, decodeInput, encodeInput, inputExpected: codecExpected }, [])
}

/** What a codec makes nothing of could not be told from no input on a resume. */
const NO_INPUT: OutputMismatch = { path: '$', expected: 'something that is encoded as JSON' }

// ---------------------------------------------------------------------------------------------------------------------
// combinators
// ---------------------------------------------------------------------------------------------------------------------

/**
 * A name that no step has yet. One that may be this or that is refused: its type would promise the outputs of both.
 *
 * @category model
 * @since 0.1.0
 */
export type NewName<N extends string, Outputs, All = N> = N extends unknown
  ? [All] extends [N]
    ? Exclude<N, keyof Outputs>
    : never
  : never

/**
 * Adds a step. Its name must be new; later steps see its output under it.
 *
 * @category combinators
 * @since 0.1.0
 */
export const step =
  <N extends string, Outputs, Seen, C extends Schema | undefined = undefined, Given = unknown, Input = Seen>(
    name: NewName<N, Outputs>,
    spec: TaskSpec<Outputs, Seen, C, NoInfer<Given>> | JobSpec<Outputs, Seen, C, NoInfer<Given>>
  ) =>
  (
    self: Program<Outputs, Input, Given, Seen>
  ): Program<Outputs & { readonly [K in N]: OutputOf<C> }, Input, Given, Seen> =>
    build(self, [...self.steps, task(name, spec as TaskSpec<never, never, C>)])

/**
 * Adds steps that are done in order, as one step. `parts` adds them to a program without steps. They see what earlier steps gave; later
 * steps see their outputs as one object by name.
 *
 * @example
 * import { pipe } from 'fp-ts/lib/function.js'
 * import * as TE from 'fp-ts/lib/TaskEither.js'
 * import * as t from 'io-ts'
 * import { Program } from 'dogear'
 * import assert from 'node:assert/strict'
 *
 * const release = pipe(
 *   Program.start('release'),
 *   Program.step('version', { output: t.string, run: () => TE.right('1.2.3') }),
 *   Program.sequence('deploy', (deploy) =>
 *     pipe(
 *       deploy,
 *       Program.step('push', { output: t.string, run: ({ outputs }) => TE.right(`v${outputs.version}`) }),
 *       Program.step('smoke', { run: ({ outputs }) => TE.right(outputs.push.length) })
 *     )
 *   ),
 *   Program.step('announce', { run: ({ outputs: { deploy } }) => TE.right(`${deploy.push} is out`) })
 * )
 * assert.deepEqual(release.steps.map(({ _tag }) => _tag), ['Task', 'Sequence', 'Task'])
 *
 * @category combinators
 * @since 0.1.0
 */
export const sequence =
  <N extends string, Outputs, Seen, Inner, Given = unknown, Input = Seen>(
    name: NewName<N, Outputs>,
    parts: (start: Program<Outputs, Input, Given, Seen>) => Program<Inner, Input, Given, Seen>,
    options: SequenceOptions<Outputs, Seen, NoInfer<Given>> = {}
  ) =>
  (
    self: Program<Outputs, Input, Given, Seen>
  ): Program<Outputs & { readonly [K in N]: Added<Inner, Outputs> }, Input, Given, Seen> =>
    build(self, [...self.steps, sequenceOf(name, parts(build(self, [])).steps, options as SequenceOptions)])

/**
 * Adds a wave: groups that run in parallel. A group is a task, or steps in order. Later steps see their outputs as one object by group
 * name.
 *
 * @example
 * import { pipe } from 'fp-ts/lib/function.js'
 * import * as TE from 'fp-ts/lib/TaskEither.js'
 * import * as t from 'io-ts'
 * import { Program } from 'dogear'
 * import assert from 'node:assert/strict'
 *
 * const checked = pipe(
 *   Program.start('checked'),
 *   Program.wave('checks', {
 *     unit: { output: t.number, run: () => TE.right(42) },
 *     app: {
 *       needs: ['unit'],
 *       steps: (app) =>
 *         pipe(
 *           app,
 *           Program.step('build', { output: t.string, run: () => TE.right('app.tgz') }),
 *           Program.step('smoke', { run: ({ outputs: { build } }) => TE.right(`${build} starts`) })
 *         )
 *     }
 *   }),
 *   Program.step('report', { run: ({ outputs: { checks } }) => TE.right(checks.unit + checks.app.build.length) })
 * )
 * const wave = checked.steps[0]
 * assert.ok(wave?._tag === 'Wave')
 * assert.deepEqual(wave.groups.map(({ _tag }) => _tag), ['Task', 'Sequence'])
 *
 * @category combinators
 * @since 0.1.0
 */
export const wave =
  <N extends string, Outputs, Seen, Cs extends Readonly<Record<string, unknown>>, Given = unknown, Input = Seen>(
    name: NewName<N, Outputs>,
    groups: {
      readonly [G in keyof Cs]: Needs<Extract<keyof Cs, string>> &
        (
          | TaskSpec<Outputs, Seen, Cs[G], NoInfer<Given>>
          | JobSpec<Outputs, Seen, Cs[G], NoInfer<Given>>
          | StepsSpec<Outputs, Seen, Cs[G], NoInfer<Given>>
        )
    },
    options: WaveOptions<Outputs, Seen, NoInfer<Given>> = {}
  ) =>
  (
    self: Program<Outputs, Input, Given, Seen>
  ): Program<
    Outputs & { readonly [K in N]: { readonly [G in keyof Cs]: PartOf<Cs[G], Outputs> } },
    Input,
    Given,
    Seen
  > => {
    const parts = Object.entries<LoosePart & Needs>(groups as never).map(([group, spec]) => ({
      ...partFrom(self, group, spec),
      needs: spec.needs ?? []
    }))
    return build(self, [...self.steps, waveOf(name, parts, options as WaveOptions)])
  }

/**
 * Adds a map: a wave that has a group for each item of what earlier steps gave. `each` is a task, or steps in order, which all see the
 * item. Later steps see the outputs as a list in item order.
 *
 * @example
 * import * as E from 'fp-ts/lib/Either.js'
 * import { pipe } from 'fp-ts/lib/function.js'
 * import * as TE from 'fp-ts/lib/TaskEither.js'
 * import * as t from 'io-ts'
 * import { Program, run } from 'dogear'
 * import { memoryStorage } from 'dogear/memory'
 * import { nodeEnvironment } from 'dogear/node'
 * import assert from 'node:assert/strict'
 *
 * const crawl = pipe(
 *   Program.start('crawl'),
 *   Program.step('list', { output: t.array(t.string), run: () => TE.right(['start', 'about']) }),
 *   Program.map(
 *     'pages',
 *     { forEach: ({ outputs }) => outputs.list, item: t.string, key: (page) => page, concurrency: 10 },
 *     {
 *       steps: (page) =>
 *         pipe(
 *           page,
 *           Program.step('fetch', { output: t.string, run: ({ item }) => TE.right(`text of ${item}`) }),
 *           Program.step('size', { output: t.number, run: ({ outputs }) => TE.right(outputs.fetch.length) })
 *         )
 *     }
 *   ),
 *   Program.step('total', { run: ({ outputs: { pages } }) => TE.right(pages.reduce((sum, { size }) => sum + size, 0)) })
 * )
 * const outcome = await run(crawl, 'crawl-1', {})(nodeEnvironment(memoryStorage()))()
 * assert.ok(E.isRight(outcome) && outcome.right._tag === 'Completed')
 * assert.deepEqual(outcome.right.outputs.pages[0], { fetch: 'text of start', size: 13 })
 * assert.equal(outcome.right.outputs.total, 26)
 *
 * @category combinators
 * @since 0.1.0
 */
export const map =
  <
    N extends string,
    Outputs,
    Seen,
    I extends Schema | undefined = undefined,
    C extends Schema | undefined = undefined,
    Inner = undefined,
    Given = unknown,
    Input = Seen
  >(
    name: NewName<N, Outputs>,
    options: MapOptions<Outputs, Seen, I, NoInfer<Given>>,
    each: EachSpec<Outputs, Seen, I, C> | StepsSpec<Outputs, Seen, Inner, ForItem<OutputOf<I>>>
  ) =>
  (
    self: Program<Outputs, Input, Given, Seen>
  ): Program<
    Outputs & { readonly [K in N]: ReadonlyArray<Inner extends object ? Added<Inner, Outputs> : OutputOf<C>> },
    Input,
    Given,
    Seen
  > =>
    build(self, [
      ...self.steps,
      mapOf(name, partFrom(self, name, each as never), itemsFrom(options as never), options as never)
    ])

/** What an author's functions give, or throw. */
const itemsFrom = ({ forEach, key = position, item }: MapOptions<never, never, Schema | undefined>) => ({
  forEach: (source: MapSource<unknown, unknown>) =>
    E.tryCatch(
      (): ReadonlyArray<unknown> => forEach(source as MapSource<never, never>),
      (thrown) => thrown
    ),
  key: (value: unknown, index: number) =>
    E.tryCatch(
      () => key(value as never, index),
      (thrown) => thrown
    ),
  item
})

const position = (_: unknown, index: number): string => String(index + 1)

/** A group, or what a map does for each item. */
type LoosePart =
  | TaskSpec<never, never, Schema | undefined>
  | JobSpec<never, never, Schema | undefined>
  | StepsSpec<never, never, unknown, never>

const partFrom = (self: Base<never, unknown>, name: string, spec: LoosePart): ProgramStep =>
  'steps' in spec
    ? sequenceOf(name, spec.steps(build(self as Base<never, never>, [])).steps, spec as never)
    : task(name, spec)
