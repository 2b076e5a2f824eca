/** A workflow together with its code. The planner and the executor take the same value. */
import * as E from 'fp-ts/lib/Either.js'
import { identity } from 'fp-ts/lib/function.js'
import type { Json } from '../../domain/data/Json.js'
import type { Check } from '../../domain/data/Options.js'
import { arrayOf, extended, fieldsOf, isText, optionProblems } from '../../domain/data/Options.js'
import type { OutputMismatch } from '../../domain/workflow/Workflow.js'
import type { Base } from './chain.js'
import { add, build, withoutSteps } from './chain.js'
import { conversions, NO_INPUT, schema, toJson } from './conversions.js'
import type { OutputOf, Schema, SeenInput, StartOf } from './Output.js'
import type { Added, EachSpec, Groups, NewName, PartOf, Program, ProgramOptions, StepsSpec } from './ProgramSpec.js'
import type { ProgramGroup, ProgramStep } from './ProgramStep.js'
import { mapOf, sequenceOf, task, waveOf, withNeeds } from './ProgramStep.js'
import { mapProblems, ON_SUCCESS } from './stepOptions.js'
import type {
  ForItem,
  MapOptions,
  MapSource,
  SequenceOptions,
  Sleep,
  SleepSpec,
  StepContext,
  StepSpec,
  WaitFor,
  WaitForSpec,
  WaveOptions
} from './StepSpec.js'

export type * from './Output.js'
export { problems } from './programProblems.js'
export type * from './ProgramSpec.js'
export * from './ProgramStep.js'
export type * from './StandardSchema.js'
export type * from './StepSpec.js'

/**
 * A program of these steps. `path`: the file that it was read from; `options`: those of {@link start}.
 *
 * @category constructors
 */
export const fromSteps = (
  name: string,
  steps: ReadonlyArray<ProgramStep>,
  path?: string,
  options: ProgramOptions = {}
): Program<Readonly<Record<string, unknown>>> =>
  build(
    { ...baseFrom(name, options), decodeInput: E.right, encodeInput: anyInput },
    // An untyped author may pass anything, which is then refused as a step.
    Symbol.iterator in Object(steps) ? steps : [steps as unknown as ProgramStep],
    path
  )

/** A missing input becomes an empty object; `null` stays `null`. */
const anyInput = (input: unknown): E.Either<OutputMismatch, Json> =>
  E.map((json: Json | undefined) => (json === undefined ? {} : json))(toJson(input))

/**
 * A program without steps, to which {@link step} and {@link wave} add. `input`: the codec or schema of the run's input; default plain
 * JSON. `secrets`: the names of secrets, which are read at each start and resume; a checkpoint records only the names, and outputs are
 * recorded without the values. `onSuccess`: what happens to a completed run. Once its completion is durable it is archived or deleted, and
 * its id can be reused.
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
 */
export const start = <C extends Schema | undefined = undefined>(
  name: string,
  options: ProgramOptions & { readonly input?: C } = {}
): Program<object, StartOf<C>, unknown, SeenInput<C>> => {
  const base = baseFrom(name, options)
  const { input: codec } = fieldsOf(options) as typeof options
  const { encode, decode } = conversions(codec)
  const decodeInput = (codec === undefined ? E.right : decode) as (
    input: Json
  ) => E.Either<OutputMismatch, SeenInput<C>>
  if (codec === undefined) return build({ ...base, decodeInput, encodeInput: anyInput }, [])
  const encodeInput = (input: unknown): E.Either<OutputMismatch, Json> =>
    E.chain((json: Json | undefined) => (json === undefined ? E.left(NO_INPUT) : E.right(json)))(encode(input))
  return build({ ...base, decodeInput, encodeInput }, [])
}

/** Drops invalid options, and keeps their problems, with which the program is refused. */
const baseFrom = (
  name: string,
  options: ProgramOptions
): Pick<Base<never, unknown>, 'name' | 'secrets' | 'onSuccess' | 'problems'> => {
  const isCodec = options !== undefined && schema(options) === undefined
  const problems = isCodec ? [CODEC_AS_OPTIONS] : optionProblems(options, PROGRAM)
  const { secrets = [], onSuccess = 'keep' } = fieldsOf(options) as ProgramOptions
  return problems.length > 0 ? { name, problems } : { name, secrets, onSuccess }
}

const CODEC_AS_OPTIONS = { option: 'options', expected: 'an object such as { input: codec }, not the codec itself' }

const PROGRAM: Readonly<Record<keyof ProgramOptions | 'input', Check>> = {
  input: schema,
  secrets: arrayOf(isText, 'an array of names'),
  onSuccess: ON_SUCCESS
}

/**
 * Adds a step. Its name must be new; later steps see its output under it.
 *
 * @category combinators
 */
export const step =
  <N extends string, Outputs, Seen, C, Given = unknown, Input = Seen>(
    name: NewName<N, Outputs>,
    spec: StepSpec<StepContext<Outputs, Seen> & NoInfer<Given>, C>
  ) =>
  (
    self: Program<Outputs, Input, Given, Seen>
  ): Program<Outputs & { readonly [K in N]: OutputOf<C> }, Input, Given, Seen> =>
    add(self, task(name, spec as StepSpec<never, C>))

/**
 * Adds a step that sleeps, across processes: the wake time is recorded. A run that only waits returns `Pending`, and the first `resume`
 * after that time continues it.
 *
 * @example
 * import * as E from 'fp-ts/lib/Either.js'
 * import { pipe } from 'fp-ts/lib/function.js'
 * import { Program, run } from 'dogear'
 * import { memoryStorage } from 'dogear/memory'
 * import { nodeEnvironment } from 'dogear/node'
 * import assert from 'node:assert/strict'
 *
 * const trial = pipe(
 *   Program.start('trial'),
 *   Program.step('welcome', () => 'sent'),
 *   Program.sleep('trial', { millis: 20 }),
 *   Program.step('remind', () => 'sent')
 * )
 * const environment = nodeEnvironment(memoryStorage())
 * // Without `wait` the run returns `Pending`, and a later `resume` continues it.
 * const ended = await run(trial, 'trial-1', {}, { wait: true })(environment)()
 * assert.ok(E.isRight(ended) && ended.right._tag === 'Completed')
 *
 * @category combinators
 */
export const sleep =
  <N extends string, Outputs>(name: NewName<N, Outputs>, options: Sleep & Pick<SleepSpec, 'summary'>) =>
  <Input, Given, Seen>(self: Program<Outputs, Input, Given, Seen>): Program<Outputs, Input, Given, Seen> => {
    const { millis, until } = fieldsOf(options)
    const sleep = Object(options) === options ? { millis, until } : options
    return add(self, task(name, extended(options, { millis: undefined, until: undefined, sleep }) as SleepSpec))
  }

/**
 * Adds a step that waits for an answer, which later steps see as its output. Until then the run returns `Pending`; see `answer`.
 *
 * @example
 * import * as E from 'fp-ts/lib/Either.js'
 * import { pipe } from 'fp-ts/lib/function.js'
 * import * as t from 'io-ts'
 * import { answer, Program, resume, run } from 'dogear'
 * import { memoryStorage } from 'dogear/memory'
 * import { nodeEnvironment } from 'dogear/node'
 * import assert from 'node:assert/strict'
 *
 * const release = pipe(
 *   Program.start('release'),
 *   Program.waitFor('approve', { question: 'Release 1.2.3?', output: t.boolean }),
 *   Program.step('publish', ({ outputs }) => (outputs.approve ? 'published' : 'kept back'))
 * )
 * const environment = nodeEnvironment(memoryStorage())
 * const pending = await run(release, 'release-1', {})(environment)()
 * assert.ok(E.isRight(pending) && pending.right._tag === 'Pending')
 * await answer('release-1', 'approve', true)(environment)()
 * const ended = await resume(release, 'release-1')(environment)()
 * assert.ok(E.isRight(ended) && ended.right._tag === 'Completed')
 * assert.equal(ended.right.outputs.publish, 'published')
 *
 * @category combinators
 */
export const waitFor =
  <N extends string, Outputs, C = unknown>(
    name: NewName<N, Outputs>,
    options: WaitFor & Omit<WaitForSpec<C>, 'waitFor'> = {}
  ) =>
  <Input, Given, Seen>(
    self: Program<Outputs, Input, Given, Seen>
  ): Program<Outputs & { readonly [K in N]: OutputOf<C> }, Input, Given, Seen> => {
    const { question, timeoutMillis } = fieldsOf(options)
    const waitFor = typeof options === 'object' ? { question, timeoutMillis } : options
    const own = { question: undefined, timeoutMillis: undefined, waitFor }
    return add(self, task(name, extended(options, own) as WaitForSpec<unknown>))
  }

/**
 * Adds steps that run in order, as one step. `parts` adds them to a program without steps. They see the outputs of earlier steps; later
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
 */
export const sequence =
  <N extends string, Outputs, Seen, Inner, Given = unknown, Input = Seen>(
    name: NewName<N, Outputs>,
    parts: (start: Program<Outputs, Input, Given, Seen>) => Program<Inner, Input, Given, Seen>,
    options: SequenceOptions<StepContext<Outputs, Seen> & NoInfer<Given>> = {}
  ) =>
  (
    self: Program<Outputs, Input, Given, Seen>
  ): Program<Outputs & { readonly [K in N]: Added<Inner, Outputs> }, Input, Given, Seen> =>
    add(self, sequenceFrom(self, name, parts, options))

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
 */
export const wave =
  <N extends string, Outputs, Seen, Cs extends Readonly<Record<string, unknown>>, Given = unknown, Input = Seen>(
    name: NewName<N, Outputs>,
    groups: Groups<Outputs, Seen, Cs, NoInfer<Given>>,
    options: WaveOptions<StepContext<Outputs, Seen> & NoInfer<Given>> = {}
  ) =>
  (
    self: Program<Outputs, Input, Given, Seen>
  ): Program<
    Outputs & { readonly [K in N]: { readonly [G in keyof Cs]: PartOf<Cs[G], Outputs> } },
    Input,
    Given,
    Seen
  > => {
    const parts = Object.entries(fieldsOf(groups) as Readonly<Record<string, LoosePart>>).map(([group, spec]) =>
      groupFrom(self, group, spec)
    )
    return add(self, waveOf(name, parts, options as LooseOptions))
  }

/**
 * Adds a map: a wave with one group per item of earlier outputs. `each` is a task, or steps in order, which all see the item. Later steps
 * see the outputs as an array in item order.
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
 */
export const map =
  <N extends string, Outputs, Seen, I = unknown, C = unknown, Given = unknown, Input = Seen>(
    name: NewName<N, Outputs>,
    options: MapOptions<Outputs, Seen, I, NoInfer<Given>>,
    each: EachSpec<Outputs, Seen, C, ForItem<OutputOf<I>>>
  ) =>
  (
    self: Program<Outputs, Input, Given, Seen>
  ): Program<Outputs & { readonly [K in N]: ReadonlyArray<PartOf<C, Outputs>> }, Input, Given, Seen> => {
    const given = fieldsOf(options) as never
    const body = (each as LoosePart | undefined) ?? (() => undefined)
    const made = mapOf(name, partFrom(self, name, body), itemsFrom(given), given)
    return add(self, { ...made, problems: mapProblems(options, each) })
  }

/** Author code may return anything, or throw. */
const itemsFrom = ({ forEach, key = position, item }: MapOptions<unknown, unknown, unknown>) => ({
  forEach: (source: MapSource<unknown, unknown>) => E.tryCatch(() => forEach(source), identity),
  key: (value: unknown, index: number) => E.tryCatch(() => key(value as Json, index), identity),
  item
})

const position = (_: unknown, index: number): string => String(index + 1)

type LooseOptions = WaveOptions<StepContext<unknown, unknown>>

type LoosePart = StepSpec<never, unknown> | StepsSpec<never, never, unknown, never>

/** A body whose `steps` is not a function, or returns no program, becomes a task, which is refused. */
const partFrom = (self: Base<never, unknown>, name: string, spec: LoosePart): ProgramStep => {
  const { steps } = fieldsOf(spec)
  if (typeof steps !== 'function') return task(name, spec as StepSpec<never, unknown>)
  const made = sequenceFrom(self, name, steps, spec)
  return made._tag === 'Sequence' ? withoutProblem('steps', made) : made
}

const sequenceFrom = (self: Base<never, unknown>, name: string, steps: unknown, options: unknown): ProgramStep => {
  const parts = typeof steps === 'function' ? stepsAddedBy(self, steps as AddSteps) : undefined
  return Array.isArray(parts)
    ? sequenceOf(name, parts as ReadonlyArray<ProgramStep>, options as never)
    : task(name, { steps } as never)
}

/** Accepts an option that is valid only for a part of a composite. */
const withoutProblem = (option: string, step: ProgramStep): ProgramStep => ({
  ...step,
  problems: step.problems.filter((problem) => problem.option !== option)
})

type AddSteps = (start: Program<never, never, never, never>) => unknown

const stepsAddedBy = (self: Base<never, unknown>, steps: AddSteps): unknown =>
  fieldsOf(steps(withoutSteps(self as Base<never, never>) as never))['steps']

const groupFrom = (self: Base<never, unknown>, name: string, spec: LoosePart): ProgramGroup => {
  const { needs } = fieldsOf(spec)
  const part = withoutProblem('needs', partFrom(self, name, spec))
  return withNeeds({ ...part, needs } as ProgramGroup)
}
