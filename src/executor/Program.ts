/**
 * A workflow together with what it runs. The same value goes to the planner and to the executor.
 *
 * @module
 * @since 0.1.0
 */
import * as E from 'fp-ts/lib/Either.js'
import type { Json } from '../domain/Json.js'
import type { OnSuccess } from '../domain/Retention.js'
import { problemOf as problemOfRetry } from '../domain/RetryPolicy.js'
import { join } from '../domain/Unit.js'
import type { OutputMismatch, Workflow } from '../domain/Workflow.js'
import * as W from '../domain/Workflow.js'
import type { WorkflowIdentity } from '../domain/WorkflowIdentity.js'
import * as Identity from '../domain/WorkflowIdentity.js'
import { conversions, toJson } from './conversions.js'
import type { JobGroupSpec, JobSpec } from './JobSpec.js'
import type { EachSpec, MapOptions, MapSource } from './MapSpec.js'
import type { ProgramGroup, ProgramStep, ProgramTask } from './ProgramStep.js'
import { mapOf, sequenceOf, task, waveOf } from './ProgramStep.js'
import type { GroupSpec, OutputCodec, OutputOf, SequenceOptions, TaskSpec, WaveOptions } from './StepSpec.js'

export type * from './JobSpec.js'
export type * from './MapSpec.js'
export * from './ProgramStep.js'
export type * from './StepSpec.js'

// ---------------------------------------------------------------------------------------------------------------------
// model
// ---------------------------------------------------------------------------------------------------------------------

/**
 * A workflow that can run. `Outputs` are the types of what its steps give, by name; `Input` that of its input. `onSuccess`: what
 * becomes of a run that has completed, default `keep`.
 *
 * @category model
 * @since 0.1.0
 */
export interface Program<Outputs, Input = Json> extends Workflow {
  readonly steps: ReadonlyArray<ProgramStep>
  readonly identity: WorkflowIdentity
  /** What steps see of a stored input. */
  readonly decodeInput: (input: Json) => E.Either<OutputMismatch, unknown>
  /** An input as JSON. */
  readonly encodeInput: (input: Input) => E.Either<OutputMismatch, Json>
  /** The expected type, if the input codec is not a codec. */
  readonly inputExpected?: string | undefined
  readonly onSuccess?: OnSuccess
  /** Only a type: what the steps give. */
  readonly Outputs?: Outputs
}

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

/** The identity is made when it is first asked for: a builder's intermediate programs never are. */
const build = <Outputs, Input>(
  base: Pick<
    Program<Outputs, Input>,
    'name' | 'secrets' | 'onSuccess' | 'decodeInput' | 'encodeInput' | 'inputExpected'
  >,
  steps: ReadonlyArray<ProgramStep>,
  path?: string
): Program<Outputs, Input> => {
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
 * A program without steps, to which {@link step} and {@link wave} add. `input` is the codec of the run's input; without
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
export const start = <C extends OutputCodec | undefined = undefined>(
  name: string,
  options: ProgramOptions & { readonly input?: C } = {}
): Program<object, OutputOf<C>> => {
  const codec: OutputCodec | undefined = options.input
  const { input: _, ...more } = options
  if (codec === undefined) return build({ name, ...more, decodeInput: E.right, encodeInput: anyInput }, [])
  const { encode, decode, codecExpected } = conversions(codec)
  const encodeInput = (input: unknown): E.Either<OutputMismatch, Json> =>
    E.chain((json: Json | undefined) => (json === undefined ? E.left(NO_INPUT) : E.right(json)))(encode(input))
  return build({ name, ...more, decodeInput: decode, encodeInput, inputExpected: codecExpected }, [])
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
  <N extends string, Outputs, Input, C extends OutputCodec | undefined = undefined>(
    name: NewName<N, Outputs>,
    spec: TaskSpec<Outputs, Input, C> | JobSpec<Outputs, Input, C>
  ) =>
  (self: Program<Outputs, Input>): Program<Outputs & { readonly [K in N]: OutputOf<C> }, Input> =>
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
  <N extends string, Outputs, Input, Inner>(
    name: NewName<N, Outputs>,
    parts: (start: Program<Outputs, Input>) => Program<Inner, Input>,
    options: SequenceOptions<Outputs, Input> = {}
  ) =>
  (
    self: Program<Outputs, Input>
  ): Program<
    Outputs & { readonly [K in N]: { readonly [P in Exclude<keyof Inner, keyof Outputs>]: Inner[P] } },
    Input
  > =>
    build(self, [...self.steps, sequenceOf(name, parts(build(self, [])).steps, options as SequenceOptions)])

/**
 * Adds a wave: groups that run in parallel. Later steps see their outputs as one object by group name.
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
 *   Program.wave('checks', { unit: { output: t.number, run: () => TE.right(42) }, lint: { run: () => TE.right('clean') } }),
 *   Program.step('report', { run: ({ outputs: { checks } }) => TE.right(checks.unit + 1) })
 * )
 * assert.equal(checked.steps[0]?._tag, 'Wave')
 *
 * @category combinators
 * @since 0.1.0
 */
export const wave =
  <N extends string, Outputs, Input, Cs extends Readonly<Record<string, unknown>>>(
    name: NewName<N, Outputs>,
    groups: {
      readonly [G in keyof Cs]:
        | GroupSpec<Outputs, Input, Cs[G], Extract<keyof Cs, string>>
        | JobGroupSpec<Outputs, Input, Cs[G], Extract<keyof Cs, string>>
    },
    options: WaveOptions<Outputs, Input> = {}
  ) =>
  (
    self: Program<Outputs, Input>
  ): Program<Outputs & { readonly [K in N]: { readonly [G in keyof Cs]: OutputOf<Cs[G]> } }, Input> =>
    build(self, [...self.steps, waveOf(name, Object.entries(groups).map(groupFrom), options as WaveOptions)])

/**
 * Adds a map: a wave that has a group for each item of what earlier steps gave. Later steps see its outputs as one object by the
 * keys of the items.
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
 *     { output: t.number, run: ({ item }) => TE.right(item.length) }
 *   ),
 *   Program.step('total', { run: ({ outputs: { pages } }) => TE.right(Object.values(pages).length) })
 * )
 * const outcome = await run(crawl, 'crawl-1', {})(nodeEnvironment(memoryStorage()))()
 * assert.ok(E.isRight(outcome) && outcome.right._tag === 'Completed')
 * const outputs = [...outcome.right.checkpoint.completedSteps].map(({ unit, output }) => [unit, output])
 * assert.deepEqual(outputs.slice(1, 3), [['pages/start', 5], ['pages/about', 5]])
 *
 * @category combinators
 * @since 0.1.0
 */
export const map =
  <
    N extends string,
    Outputs,
    Input,
    I extends OutputCodec | undefined = undefined,
    C extends OutputCodec | undefined = undefined
  >(
    name: NewName<N, Outputs>,
    options: MapOptions<Outputs, Input, I>,
    each: EachSpec<Outputs, Input, I, C>
  ) =>
  (
    self: Program<Outputs, Input>
  ): Program<Outputs & { readonly [K in N]: Readonly<Record<string, OutputOf<C>>> }, Input> =>
    build(self, [
      ...self.steps,
      mapOf(name, task(name, each as never), itemsFrom(options as never), options as WaveOptions)
    ])

/** What an author's functions give, or throw. */
const itemsFrom = ({ forEach, key = position, item }: MapOptions<never, never, OutputCodec | undefined>) => ({
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

const groupFrom = ([name, spec]: readonly [
  string,
  GroupSpec<never, never, unknown> | JobGroupSpec<never, never, unknown>
]): ProgramGroup => ({
  ...task(name, spec as GroupSpec<never, never, OutputCodec | undefined>),
  needs: spec.needs ?? []
})
