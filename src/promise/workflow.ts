/**
 * Workflows whose steps are functions that return promises.
 *
 * @since 0.1.0
 */
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import * as TE from 'fp-ts/lib/TaskEither.js'
import type { Variables } from '../domain/Checkpoint.js'
import type { Json } from '../domain/Json.js'
import { isStepFailure } from '../domain/StepFailure.js'
import type { Workspace } from '../domain/Workspace.js'
import type {
  ForItem,
  JobContext,
  JobSpec,
  JobStatus,
  MapOptions,
  Needs,
  OutputOf,
  Program,
  ReturnOf,
  Schema,
  SequenceOptions,
  StartOf,
  StepContext,
  StepsSpec,
  TaskSpec,
  WaveOptions
} from '../executor/Program.js'
import * as P from '../executor/Program.js'
import type { Reuse } from '../executor/StepArtifacts.js'
import type { ArtifactInfo } from '../ports/ArtifactStore.js'

// ---------------------------------------------------------------------------------------------------------------------
// model
// ---------------------------------------------------------------------------------------------------------------------

/**
 * The artifacts of the run, with promises. What goes wrong rejects with an `Error` that is a `StepFailure` as well; its `code`
 * is that of `StepArtifacts`.
 *
 * @category model
 * @since 0.1.0
 */
export interface AsyncArtifacts {
  /** Keeps bytes, or a text as UTF-8, in place of what had the id before; durable when it resolves. */
  readonly put: (id: string, data: Uint8Array | string) => Promise<ArtifactInfo>
  /** The bytes that this or an earlier step put; `undefined` if there is no such artifact. */
  readonly get: (id: string) => Promise<Uint8Array | undefined>
  /** Whether there is an artifact of this id. */
  readonly has: (id: string) => Promise<boolean>
  /** Puts a copy of an artifact of another run, under the same id. */
  readonly reuse: (from: Reuse) => Promise<ArtifactInfo>
}

/**
 * What a step gets: a `StepContext` whose artifacts and `memo` are promises.
 *
 * @category model
 * @since 0.1.0
 */
export interface AsyncContext<Outputs, Input> extends Omit<StepContext<Outputs, Input>, 'artifacts' | 'memo'> {
  readonly artifacts: AsyncArtifacts
  /** The value that is kept of this key; computed, and kept, if there is none. See `Memo`. */
  readonly memo: <A>(key: string, compute: () => Promise<A> | A) => Promise<A>
}

/**
 * What a step does: gets its context, resolves with its output, or rejects. What it rejects with is classified by
 * `StepFailure.fromUnknown`, unless it is a `StepFailure`.
 *
 * @category model
 * @since 0.1.0
 */
export type Work<Outputs, Input, A, Given = unknown> = (context: AsyncContext<Outputs, Input> & Given) => Promise<A> | A

/**
 * A step: what it does, with the options of `Program.step`.
 *
 * @category model
 * @since 0.1.0
 */
export type AsyncSpec<Outputs, Input, C, Given = unknown> = Omit<
  TaskSpec<Outputs, Input, C, Given>,
  'run' | 'before' | 'after'
> &
  AsyncChecks<Outputs, Input, Given> & {
    readonly run: Work<Outputs, Input, ReturnOf<C>, Given>
  }

/**
 * What must not reject before a unit starts, and after it has ended well: see `GuardSpec`.
 *
 * @category model
 * @since 0.1.0
 */
export interface AsyncChecks<Outputs, Input, Given = unknown> {
  readonly before?: Work<Outputs, Input, unknown, Given>
  readonly after?: Work<Outputs, Input, unknown, Given>
}

/**
 * A step that hands its work over: `submit` starts a job, `poll` asks what became of it, `collect` fetches what it gave. See
 * `Program.Job`.
 *
 * @category model
 * @since 0.1.0
 */
export type AsyncJobSpec<Outputs, Input, C, Given = unknown> = Omit<
  JobSpec<Outputs, Input, C, Given>,
  'job' | 'before' | 'after'
> &
  AsyncChecks<Outputs, Input, Given> & {
    readonly job: {
      /** Starts the job, and gives what is needed to find it again. */
      readonly submit: (context: AsyncContext<Outputs, Input> & Given) => Promise<Json | undefined> | Json | undefined
      /** Asks what became of the job. */
      readonly poll: (
        context: AsyncContext<Outputs, Input> & Pick<JobContext<Outputs, Input>, 'job'> & Given
      ) => Promise<JobStatus> | JobStatus
      /** Fetches what the job gave. */
      readonly collect: (
        context: AsyncContext<Outputs, Input> & Pick<JobContext<Outputs, Input>, 'job'> & Given
      ) => Promise<ReturnOf<C>> | ReturnOf<C>
    }
  }

/**
 * Steps in order, as a group of a wave or as what a map does for each item: see `Program.StepsSpec`, and the example of
 * {@link AsyncWorkflow}.
 *
 * @category model
 * @since 0.1.0
 */
export type AsyncSteps<Outputs, Input, Inner, Given = unknown> = Omit<
  StepsSpec<Outputs, Input, Inner, Given>,
  'steps' | 'before' | 'after'
> &
  AsyncChecks<Outputs, Input, Given> & {
    /** Adds the steps. */
    readonly steps: (start: AsyncWorkflow<Outputs, Input, Given>) => Program<Inner, Input, Given, Input>
  }

/**
 * A workflow that can be added to. It is a program, so planner and executor take it as it is. `Given` is what its steps need beside their
 * context: an item, if they are the body of a map. `Seen` is the input as its steps see it, if a schema transforms it.
 *
 * @example
 * import * as t from 'io-ts'
 * import { memoryStorage } from 'dogear/memory'
 * import { runOrResume, workflow } from 'dogear/promise'
 * import assert from 'node:assert/strict'
 *
 * const release = workflow('release')
 *   .step('version', { output: t.string, run: () => '1.2.3' })
 *   .wave('checks', {
 *     unit: () => 'fine',
 *     app: {
 *       needs: ['unit'],
 *       steps: (app) =>
 *         app
 *           .step('build', { output: t.string, run: ({ outputs }) => `app-${outputs.version}.tgz` })
 *           .step('smoke', ({ outputs }) => `${outputs.build} starts`)
 *     }
 *   })
 *   .map(
 *     'regions',
 *     { forEach: () => ['asia', 'europe'], item: t.string },
 *     {
 *       steps: (region) =>
 *         region
 *           .step('push', { output: t.string, run: ({ item, outputs }) => `${outputs.checks.app.build} to ${item}` })
 *           .step('test', ({ item }) => `${item} answers`)
 *     }
 *   )
 *   .step('report', ({ outputs: { regions } }) => regions.map(({ push }) => push).join(', '))
 *
 * const outputs = await runOrResume(release, { id: 'release-1', storage: memoryStorage() })
 * assert.equal(outputs.report, 'app-1.2.3.tgz to asia, app-1.2.3.tgz to europe')
 *
 * @category model
 * @since 0.1.0
 */
export interface AsyncWorkflow<Outputs, Input, Given = unknown, Seen = Input> extends Program<
  Outputs,
  Input,
  Given,
  Seen
> {
  /** Adds a step. Later steps see its output under its name. */
  readonly step: <N extends string, C extends Schema | undefined = undefined>(
    name: P.NewName<N, Outputs>,
    work:
      Work<Outputs, Seen, unknown, Given> | AsyncSpec<Outputs, Seen, C, Given> | AsyncJobSpec<Outputs, Seen, C, Given>
  ) => AsyncWorkflow<Outputs & { readonly [K in N]: OutputOf<C> }, Input, Given, Seen>
  /** Adds steps that are done in order, as one step: `parts` adds them to a workflow without steps. */
  readonly sequence: <N extends string, Inner>(
    name: P.NewName<N, Outputs>,
    parts: (start: AsyncWorkflow<Outputs, Input, Given, Seen>) => Program<Inner, Input, Given, Seen>,
    options?: Omit<SequenceOptions<Outputs, Seen, Given>, 'before' | 'after'> & AsyncChecks<Outputs, Seen, Given>
  ) => AsyncWorkflow<Outputs & { readonly [K in N]: P.Added<Inner, Outputs> }, Input, Given, Seen>
  /** Adds a wave of groups that run in parallel. A group is a task, or steps in order. */
  readonly wave: <N extends string, Cs extends Readonly<Record<string, unknown>>>(
    name: P.NewName<N, Outputs>,
    groups: {
      readonly [G in keyof Cs]:
        | Work<Outputs, Seen, unknown, Given>
        | (Needs<Extract<keyof Cs, string>> &
            (
              | AsyncSpec<Outputs, Seen, Cs[G], Given>
              | AsyncJobSpec<Outputs, Seen, Cs[G], Given>
              | AsyncSteps<Outputs, Seen, Cs[G], Given>
            ))
    },
    options?: Omit<WaveOptions<Outputs, Seen, Given>, 'before' | 'after'> & AsyncChecks<Outputs, Seen, Given>
  ) => AsyncWorkflow<
    Outputs & { readonly [K in N]: { readonly [G in keyof Cs]: P.PartOf<Cs[G], Outputs> } },
    Input,
    Given,
    Seen
  >
  /** Adds a map: a task, or steps in order, for each item of what earlier steps gave. Later steps see a list of the outputs. */
  readonly map: <
    N extends string,
    I extends Schema | undefined = undefined,
    C extends Schema | undefined = undefined,
    Inner = undefined
  >(
    name: P.NewName<N, Outputs>,
    options: Omit<MapOptions<Outputs, Seen, I, Given>, 'before' | 'after'> & AsyncChecks<Outputs, Seen, Given>,
    each:
      | Work<Outputs, Seen, unknown, ForItem<OutputOf<I>>>
      | AsyncEach<AsyncSpec<Outputs, Seen, C, ForItem<OutputOf<I>>>>
      | AsyncEach<AsyncJobSpec<Outputs, Seen, C, ForItem<OutputOf<I>>>>
      | AsyncSteps<Outputs, Seen, Inner, ForItem<OutputOf<I>>>
  ) => AsyncWorkflow<
    Outputs & { readonly [K in N]: ReadonlyArray<Inner extends object ? P.Added<Inner, Outputs> : OutputOf<C>> },
    Input,
    Given,
    Seen
  >
}

/**
 * The task that a map does for each item, with promises. It captures nothing: each item would set the same variable.
 *
 * @category model
 * @since 0.1.0
 */
export type AsyncEach<S> = Omit<S, 'capture' | 'numbered'>

// ---------------------------------------------------------------------------------------------------------------------
// constructors
// ---------------------------------------------------------------------------------------------------------------------

/**
 * A workflow without steps yet.
 *
 * @example
 * import { memoryStorage } from 'dogear/memory'
 * import { runOrResume, workflow } from 'dogear/promise'
 * import assert from 'node:assert/strict'
 *
 * const greet = workflow('greet')
 *   .step('name', async () => 'world')
 *   .step('greeting', async ({ outputs }) => `hello ${String(outputs.name)}`)
 *
 * const outputs = await runOrResume(greet, { id: 'greet-1', storage: memoryStorage() })
 * assert.equal(outputs.greeting, 'hello world')
 *
 * @category defining
 * @since 0.1.0
 */
export const workflow = <C extends Schema | undefined = undefined>(
  name: string,
  options: P.ProgramOptions & { readonly input?: C } = {}
): AsyncWorkflow<object, StartOf<C>, unknown, OutputOf<C>> =>
  extendable<object, never>(P.start(name, options) as never) as never

const extendable = <Outputs, Input>(
  program: Program<Outputs, Input, unknown, Input>
): AsyncWorkflow<Outputs, Input> => {
  const self: Omit<AsyncWorkflow<Outputs, Input>, keyof Program<Outputs, Input>> = {
    step: (name, work) =>
      extendable(P.step<string, Outputs, Input>(name as never, specOf(work) as never)(program) as never),
    sequence: (name, parts, options) =>
      extendable(
        P.sequence<string, Outputs, Input, never>(
          name as never,
          (start) => parts(extendable(start)) as never,
          options === undefined ? {} : checksOf(options)
        )(program) as never
      ),
    wave: (name, groups, options) => {
      const specs = Object.entries(groups).map(([group, work]) => [group, partOf(work as never)])
      return extendable(
        P.wave<string, Outputs, Input, never>(
          name as never,
          Object.fromEntries(specs) as never,
          options === undefined ? {} : checksOf(options)
        )(program) as never
      )
    },
    map: (name, options, each) =>
      extendable(
        P.map<string, Outputs, Input>(
          name as never,
          checksOf<Outputs, Input, AsyncChecks<Outputs, Input>>(options) as never,
          partOf(each as never) as never
        )(program) as never
      )
  }
  return Object.defineProperties(self, Object.getOwnPropertyDescriptors(program)) as AsyncWorkflow<Outputs, Input>
}

/**
 * A step, or a group, that copies an artifact of another run instead of making it: `Program.reuse` for this style.
 *
 * @example
 * import { memoryArtifacts, memoryStorage } from 'dogear/memory'
 * import { reuse, runOrResume, workflow } from 'dogear/promise'
 * import assert from 'node:assert/strict'
 *
 * const artifacts = memoryArtifacts()
 * await artifacts.put('crawl-7', 'corpus', 'all of it')()
 * const train = workflow('train')
 *   .step('corpus', reuse({ fromRun: 'crawl-7', artifact: 'corpus' }))
 *   .step('fit', async ({ artifacts }) => (await artifacts.get('corpus'))?.length)
 * const outputs = await runOrResume(train, { id: 'train-1', storage: memoryStorage(), environment: { artifacts } })
 * assert.deepEqual(outputs, { corpus: 'reuse:crawl-7/corpus', fit: 9 })
 *
 * @category defining
 * @since 0.1.0
 */
export const reuse = <Outputs, Input>(from: Reuse): AsyncSpec<Outputs, Input, undefined> => {
  const { summary = '', version = '' } = P.reuse<Outputs, Input>(from)
  const run = async ({ artifacts }: Pick<AsyncContext<unknown, unknown>, 'artifacts'>): Promise<string> => {
    try {
      await artifacts.reuse(from)
    } catch (error) {
      throw isStepFailure(error) ? Object.assign(error, { outcome: 'notApplied' }) : error
    }
    return version
  }
  return { summary, version, run }
}

// ---------------------------------------------------------------------------------------------------------------------
// what a step gets
// ---------------------------------------------------------------------------------------------------------------------

const specOf = <Outputs, Input, C>(
  work: Work<Outputs, Input, unknown> | AsyncSpec<Outputs, Input, C> | AsyncJobSpec<Outputs, Input, C>
): TaskSpec<Outputs, Input, C> | JobSpec<Outputs, Input, C> => {
  const spec: AsyncSpec<Outputs, Input, C> | AsyncJobSpec<Outputs, Input, C> =
    typeof work === 'function' ? { run: work as AsyncSpec<Outputs, Input, C>['run'] } : work
  if (!('job' in spec)) return { ...checksOf(spec), run: settled(spec.run) }
  const { submit, poll, collect } = spec.job
  const job = { submit: settled(submit), poll: settled(poll), collect: settled(collect) }
  return { ...checksOf(spec), job }
}

const partOf = <Outputs, Input, C>(
  work: Parameters<typeof specOf<Outputs, Input, C>>[0] | AsyncSteps<Outputs, Input, C>
): ReturnType<typeof specOf<Outputs, Input, C>> | StepsSpec<Outputs, Input, C> =>
  typeof work === 'object' && 'steps' in work
    ? { ...checksOf(work), steps: (start) => work.steps(extendable(start)) }
    : specOf(work)

/** What resolves or rejects, as a value. */
const settled =
  <A, B>(call: (context: A) => Promise<B> | B) =>
  (context: StepContext<unknown, unknown>): TE.TaskEither<unknown, B> =>
    TE.tryCatch(
      async () => await call(viewOf(context) as A),
      (error) => error
    )

/** What a task is given beside its context is there too: the job that is asked for, the item of a map. */
const viewOf = <Outputs, Input>(context: StepContext<Outputs, Input>): AsyncContext<Outputs, Input> =>
  given(context, new View(context))

const given = <A extends object>(context: object, view: A): A => {
  for (const name of ['job', 'item', 'itemKey']) {
    const property = Object.getOwnPropertyDescriptor(context, name)
    if (property !== undefined) Object.defineProperty(view, name, property)
  }
  return view
}

const checksOf = <Outputs, Input, A extends AsyncChecks<Outputs, Input>>({
  before,
  after,
  ...rest
}: A): Omit<A, 'before' | 'after'> & Pick<TaskSpec<Outputs, Input, never>, 'before' | 'after'> => ({
  ...rest,
  ...(before === undefined ? {} : { before: settled(before) }),
  ...(after === undefined ? {} : { after: settled(after) })
})

/** A context with promises. Its fields are getters of the class: an attempt makes nothing that it does not look at. */
class View<Outputs, Input> implements AsyncContext<Outputs, Input> {
  readonly #of: StepContext<Outputs, Input>
  readonly runId: string
  readonly unit: string
  readonly step: string
  readonly group?: string
  readonly attempt: number
  readonly workspace?: Workspace
  readonly folder?: string

  constructor(context: StepContext<Outputs, Input>) {
    this.#of = context
    this.runId = context.runId
    this.unit = context.unit
    this.step = context.step
    if (context.group !== undefined) this.group = context.group
    this.attempt = context.attempt
    if (context.workspace !== undefined) this.workspace = context.workspace
    if (context.folder !== undefined) this.folder = context.folder
  }

  get idempotencyKey(): string {
    return this.#of.idempotencyKey
  }

  get input(): Input {
    return this.#of.input
  }

  get outputs(): Outputs {
    return this.#of.outputs
  }

  get variables(): Variables {
    return this.#of.variables
  }

  get secrets(): Readonly<Record<string, string>> {
    return this.#of.secrets
  }

  get signal(): AbortSignal {
    return this.#of.signal
  }

  get artifacts(): AsyncArtifacts {
    const { put, get, has, reuse: copy } = this.#of.artifacts
    return {
      put: (id, data) => rightOf(put(id, data)),
      get: async (id) => O.toUndefined(await rightOf(get(id))),
      has: (id) => rightOf(has(id)),
      reuse: (from) => rightOf(copy(from))
    }
  }

  get memo(): AsyncContext<Outputs, Input>['memo'] {
    const { memo } = this.#of
    return (key, compute) =>
      rightOf(
        memo(
          key,
          TE.tryCatch(
            async () => await compute(),
            (error) => error
          )
        )
      )
  }
}

/** What a task gives. What the step itself rejected with is thrown as it is. */
const rightOf = async <A>(task: TE.TaskEither<unknown, A>): Promise<A> => {
  const result = await task()
  if (E.isRight(result)) return result.right
  const { left } = result
  if (!isStepFailure(left) || left instanceof Error || left.error.name !== 'ArtifactError') throw left
  const { name, message, code } = left.error
  throw Object.assign(new Error(message), { ...left, name, code })
}
