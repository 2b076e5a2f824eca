/**
 * Dogear for code with async and await: steps are functions that return promises, and a run resolves or rejects.
 *
 * It is the same engine. What fp-ts says with `TaskEither` this says with promises; nothing else differs.
 *
 * @module
 * @since 0.1.0
 */
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import * as TE from 'fp-ts/lib/TaskEither.js'
import { interruptFrom, nodeEnvironment } from './adapters/node/index.js'
import type { Checkpoint, Variables } from './domain/Checkpoint.js'
import type { Json } from './domain/Json.js'
import type { ResumePlan } from './domain/Plan.js'
import { unitName } from './domain/Plan.js'
import { planResume } from './domain/planResume.js'
import { unitsInNeed } from './domain/evidenceOf.js'
import { collectEvidence } from './executor/evidence.js'
import type { PollOutcome } from './executor/jobs.js'
import type { PauseAnswer, PauseOptions } from './executor/pause.js'
import { pause as askToPause } from './executor/pause.js'
import { poll as pollJobs } from './executor/jobs.js'
import { isStepFailure } from './domain/StepFailure.js'
import type { Workspace } from './domain/Workspace.js'
import type {
  GroupSpec,
  JobContext,
  JobSpec,
  ForItem,
  JobStatus,
  MapOptions,
  OutputCodec,
  OutputOf,
  Program,
  ProgramTask,
  StepContext,
  TaskSpec,
  WaveOptions
} from './executor/Program.js'
import * as P from './executor/Program.js'
import type { Recovery, ResumeOptions, RunOptions } from './executor/run.js'
import * as X from './executor/run.js'
import type { RunError } from './executor/RunError.js'
import { describe } from './executor/RunError.js'
import type { RunOutcome } from './executor/RunOutcome.js'
import { viewRun } from './executor/runs.js'
import { hasWorkspace, unlessGone } from './executor/workspace.js'
import type { Reuse } from './executor/StepArtifacts.js'
import type { ArtifactInfo } from './ports/ArtifactStore.js'
import type { CheckpointStorage } from './ports/CheckpointStorage.js'
import type { Environment } from './ports/Environment.js'

// ---------------------------------------------------------------------------------------------------------------------
// defining
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
    readonly run: Work<Outputs, Input, C extends OutputCodec ? P.OutputOf<C> : unknown, Given>
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
      ) => Promise<C extends OutputCodec ? P.OutputOf<C> : unknown> | (C extends OutputCodec ? P.OutputOf<C> : unknown)
    }
  }

/**
 * A group of a wave that hands its work over.
 *
 * @category model
 * @since 0.1.0
 */
export type AsyncJobGroup<Outputs, Input, C, Groups extends string = string> = AsyncJobSpec<Outputs, Input, C> &
  Pick<GroupSpec<Outputs, Input, C, Groups>, 'needs'>

/**
 * A group of a wave: a step that may need other groups.
 *
 * @category model
 * @since 0.1.0
 */
export type AsyncGroup<Outputs, Input, C, Groups extends string = string> = AsyncSpec<Outputs, Input, C> &
  Pick<GroupSpec<Outputs, Input, C, Groups>, 'needs'>

/**
 * A workflow that can be added to. It is a program, so planner and executor take it as it is.
 *
 * @category model
 * @since 0.1.0
 */
export interface AsyncWorkflow<Outputs, Input> extends Program<Outputs, Input> {
  /** Adds a step. Later steps see its output under its name. */
  readonly step: <N extends string, C extends OutputCodec | undefined = undefined>(
    name: P.NewName<N, Outputs>,
    work: Work<Outputs, Input, unknown> | AsyncSpec<Outputs, Input, C> | AsyncJobSpec<Outputs, Input, C>
  ) => AsyncWorkflow<Outputs & { readonly [K in N]: OutputOf<C> }, Input>
  /** Adds a wave of groups that run in parallel. */
  readonly wave: <N extends string, Cs extends Readonly<Record<string, unknown>>>(
    name: P.NewName<N, Outputs>,
    groups: {
      readonly [G in keyof Cs]:
        | Work<Outputs, Input, unknown>
        | AsyncGroup<Outputs, Input, Cs[G], Extract<keyof Cs, string>>
        | AsyncJobGroup<Outputs, Input, Cs[G], Extract<keyof Cs, string>>
    },
    options?: Omit<WaveOptions<Outputs, Input>, 'before' | 'after'> & AsyncChecks<Outputs, Input>
  ) => AsyncWorkflow<Outputs & { readonly [K in N]: { readonly [G in keyof Cs]: OutputOf<Cs[G]> } }, Input>
  /** Adds a map: a wave that has a group for each item of what earlier steps gave. */
  readonly map: <
    N extends string,
    I extends OutputCodec | undefined = undefined,
    C extends OutputCodec | undefined = undefined
  >(
    name: P.NewName<N, Outputs>,
    options: Omit<MapOptions<Outputs, Input, I>, 'before' | 'after'> & AsyncChecks<Outputs, Input>,
    each:
      | Work<Outputs, Input, unknown, ForItem<OutputOf<I>>>
      | AsyncEach<AsyncSpec<Outputs, Input, C, ForItem<OutputOf<I>>>>
      | AsyncEach<AsyncJobSpec<Outputs, Input, C, ForItem<OutputOf<I>>>>
  ) => AsyncWorkflow<Outputs & { readonly [K in N]: Readonly<Record<string, OutputOf<C>>> }, Input>
}

/**
 * What is done for each item of a map, with promises. It captures nothing: each item would set the same variable.
 *
 * @category model
 * @since 0.1.0
 */
export type AsyncEach<S> = Omit<S, 'capture' | 'numbered'>

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
export const workflow = <C extends OutputCodec | undefined = undefined>(
  name: string,
  options: P.ProgramOptions & { readonly input?: C } = {}
): AsyncWorkflow<object, OutputOf<C>> => extendable(P.start(name, options))

const extendable = <Outputs, Input>(program: Program<Outputs, Input>): AsyncWorkflow<Outputs, Input> => {
  const self: Omit<AsyncWorkflow<Outputs, Input>, keyof Program<Outputs, Input>> = {
    step: (name, work) =>
      extendable(P.step<string, Outputs, Input>(name as never, specOf(work) as never)(program) as never),
    wave: (name, groups, options) => {
      const specs = Object.entries(groups).map(([group, work]) => [group, specOf(work as never)])
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
          specOf(each as never) as never
        )(program) as never
      )
  }
  return Object.defineProperties(self, Object.getOwnPropertyDescriptors(program)) as AsyncWorkflow<Outputs, Input>
}

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
  for (const name of ['job', 'item']) {
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
  readonly step: string
  readonly group?: string
  readonly attempt: number
  readonly workspace?: Workspace
  readonly folder?: string

  constructor(context: StepContext<Outputs, Input>) {
    this.#of = context
    this.runId = context.runId
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
// running
// ---------------------------------------------------------------------------------------------------------------------

/**
 * Under which id a run is known, and where its state is kept. `signal` stops the run at the next safe point and the step
 * that is under way; `environment` replaces what `nodeEnvironment` gives.
 *
 * @category model
 * @since 0.1.0
 */
export interface Options {
  readonly id: string
  readonly storage: CheckpointStorage
  readonly signal?: AbortSignal
  readonly environment?: Partial<Omit<Environment, 'storage'>>
}

/**
 * The options of a run that may be new: its input, if the workflow takes one, and those of `RunOptions`.
 *
 * @category model
 * @since 0.1.0
 */
export type StartOptions<Input> = Options &
  RunOptions &
  (Json extends Input ? { readonly input?: Input } : { readonly input: Input })

/**
 * The options of a run that may exist: those of `ResumeOptions`. `onRecovered` answers who agrees to go on from a damaged
 * state, or `undefined` for nobody.
 *
 * @category model
 * @since 0.1.0
 */
export interface GoOnOptions extends Options, Omit<ResumeOptions, 'onRecovered'> {
  /** Who agrees to go on from what was recovered, or `undefined` for nobody. */
  readonly onRecovered?: (recovery: Recovery) => Promise<string | undefined> | string | undefined
}

/**
 * A run that came to no outcome, with the reason: refused before anything ran, or its state could not be written.
 *
 * @category model
 * @since 0.1.0
 */
export interface Refused {
  readonly _tag: 'Refused'
  readonly runId: string
  readonly error: RunError
}

/**
 * What a run rejects with when it does not complete, so that a host marks its job as failed. `outcome` is the data:
 * failed, interrupted, pending, fenced or refused. `retryable`: the step's error looked as if it may pass.
 *
 * @category errors
 * @since 0.1.0
 */
export class RunFailure extends Error {
  override readonly name = 'RunFailure'
  readonly outcome: Exclude<RunOutcome, { readonly _tag: 'Completed' }> | Refused
  readonly retryable: boolean

  constructor(outcome: RunFailure['outcome']) {
    super(messageOf(outcome))
    this.outcome = outcome
    this.retryable = outcome._tag === 'Failed' && outcome.retryable
  }
}

const messageOf = (outcome: RunFailure['outcome']): string => {
  switch (outcome._tag) {
    case 'Failed': {
      const why = outcome.failures.map(
        ({ group, error }) => `${group === undefined ? '' : `${group}: `}${error.message}`
      )
      return `Run ${outcome.runId} failed in step ${outcome.stepIndex + 1} (${outcome.step}): ${why.join('; ')}`
    }
    case 'Interrupted':
      return `Run ${outcome.runId} was stopped at step ${outcome.stepIndex + 1} (${outcome.step}): ${outcome.reason}`
    case 'Pending': {
      const units = outcome.jobs.map(unitName).join(', ')
      return `Run ${outcome.runId} waits for ${outcome.jobs.length === 1 ? 'the job' : 'the jobs'} of ${units}: ask for ${outcome.jobs.length === 1 ? 'it' : 'them'} with poll, then resume`
    }
    case 'Fenced':
      return `Run ${outcome.runId} was taken over by another process`
    case 'Refused':
      return describe(outcome.error)
  }
}

/**
 * Starts a new run and resolves with the outputs of its steps. Rejects with a {@link RunFailure}, also if there is a
 * run of this id already.
 *
 * @category running
 * @since 0.1.0
 */
export const run = async <Outputs, Input>(
  program: Program<Outputs, Input>,
  options: StartOptions<Input>
): Promise<Outputs> =>
  outputsOrThrow(program, await perform(options, X.run(program, options.id, inputOf(options), forRun(options))))

/**
 * Goes on with a run at the right step, and resolves with the outputs of all its steps.
 *
 * @category running
 * @since 0.1.0
 */
export const resume = async <Outputs, Input>(
  program: Program<Outputs, Input>,
  options: GoOnOptions
): Promise<Outputs> =>
  outputsOrThrow(program, await perform(options, X.resume(program, options.id, forResume(options))))

/**
 * Starts a run, or goes on with it if it exists: what a process that may be killed calls each time it starts.
 *
 * @category running
 * @since 0.1.0
 */
export const runOrResume = async <Outputs, Input>(
  program: Program<Outputs, Input>,
  options: StartOptions<Input> & GoOnOptions
): Promise<Outputs> => outputsOrThrow(program, await runOutcome(program, options))

/**
 * Starts a run, or goes on with it if it exists, and resolves with how it ended, as data. Never rejects.
 *
 * @example
 * import { memoryStorage } from 'dogear/memory'
 * import { runOutcome, workflow } from 'dogear/promise'
 * import assert from 'node:assert/strict'
 *
 * const broken = workflow('broken').step('build', async () => {
 *   throw new Error('no compiler')
 * })
 * const outcome = await runOutcome(broken, { id: 'broken-1', storage: memoryStorage() })
 * assert.equal(outcome._tag, 'Failed')
 *
 * @category running
 * @since 0.1.0
 */
export const runOutcome = <Outputs, Input>(
  program: Program<Outputs, Input>,
  options: StartOptions<Input> & GoOnOptions
): Promise<RunOutcome | Refused> => {
  const given = { ...forRun(options), ...forResume(options) }
  return perform(options, X.runOrResume(program, options.id, inputOf(options), given))
}

/**
 * Asks for every job that a run waits for, and keeps what they gave; see `poll` of `dogear`. Rejects with a
 * {@link RunFailure} if there is no such run, or it can't be asked for.
 *
 * @example
 * import { memoryStorage } from 'dogear/memory'
 * import { poll, resume, runOutcome, workflow } from 'dogear/promise'
 * import assert from 'node:assert/strict'
 *
 * const nightly = workflow('nightly').step('train', {
 *   job: {
 *     submit: async ({ idempotencyKey }) => `job-${idempotencyKey}`,
 *     poll: async () => ({ _tag: 'Finished' }),
 *     collect: async ({ job }) => ({ model: job })
 *   }
 * })
 * const options = { id: 'nightly-1', storage: memoryStorage() }
 * assert.equal((await runOutcome(nightly, options))._tag, 'Pending')
 * const polled = await poll(nightly, options)
 * assert.deepEqual(polled.jobs.map(({ end }) => end._tag), ['Collected'])
 * assert.ok('train' in (await resume(nightly, options)))
 *
 * @category running
 * @since 0.1.0
 */
export const poll = async <Outputs, Input>(
  program: Program<Outputs, Input>,
  options: Options
): Promise<Exclude<PollOutcome, { readonly _tag: 'Fenced' }>> => {
  const ended = await pollJobs(program, options.id)(environmentOf(options))()
  if (E.isLeft(ended)) throw new RunFailure({ _tag: 'Refused', runId: options.id, error: ended.left })
  if (ended.right._tag === 'Fenced') throw new RunFailure(ended.right)
  return ended.right
}

/**
 * Asks the process that runs a run to pause it; see `pause` of `dogear`. The environment needs `pauses`. Rejects with a
 * {@link RunFailure} if there is no such run, or the request can't be left.
 *
 * @example
 * import { memoryPauses, memoryStorage } from 'dogear/memory'
 * import { pause, run, workflow } from 'dogear/promise'
 * import assert from 'node:assert/strict'
 *
 * const options = { id: 'tidy-1', storage: memoryStorage(), environment: { pauses: memoryPauses() } }
 * await run(workflow('tidy').step('sweep', () => 'swept'), options)
 * assert.deepEqual(await pause(options), { _tag: 'AtRest', runId: 'tidy-1', status: 'completed' })
 *
 * @category running
 * @since 0.1.0
 */
export const pause = async (options: Options & PauseOptions): Promise<PauseAnswer> => {
  const asked = await askToPause(options.id, options)(environmentOf(options))()
  if (E.isLeft(asked)) throw new RunFailure({ _tag: 'Refused', runId: options.id, error: asked.left })
  return asked.right
}

/**
 * What a resume would do, and why. Runs and writes nothing. Rejects with a {@link RunFailure} if there is no such run or
 * no plan for it.
 *
 * @example
 * import { explain } from 'dogear'
 * import { memoryStorage } from 'dogear/memory'
 * import { plan, runOutcome, workflow } from 'dogear/promise'
 * import assert from 'node:assert/strict'
 *
 * const storage = memoryStorage()
 * const broken = workflow('broken').step('build', async () => {
 *   throw new Error('no compiler')
 * })
 * await runOutcome(broken, { id: 'broken-1', storage })
 * assert.match(explain(await plan(broken, { id: 'broken-1', storage })), /failed after 1 attempt: no compiler/)
 *
 * @category running
 * @since 0.1.0
 */
export const plan = async <Outputs, Input>(
  program: Program<Outputs, Input>,
  options: GoOnOptions
): Promise<ResumePlan> => {
  const refuse = (error: RunError): never => {
    throw new RunFailure({ _tag: 'Refused', runId: options.id, error })
  }
  const found = await viewRun(options.id)(environmentOf(options))()
  if (E.isLeft(found)) return refuse(found.left)
  if (O.isNone(found.right)) return refuse({ _tag: 'NoSuchRun', runId: options.id })
  const { checkpoint, found: how } = found.right.value
  const input = program.decodeInput(checkpoint.input)
  if (E.isLeft(input)) return refuse({ _tag: 'InvalidInput', ...input.left })
  const there = await hasWorkspace(checkpoint)(environmentOf(options))()
  if (E.isLeft(there)) return refuse(there.left)
  const needed = unitsInNeed(checkpoint, program, options)
  const gone =
    there.right && options.evidence === undefined
      ? await collectEvidence(needed)(environmentOf(options))()
      : E.right([])
  if (E.isLeft(gone)) return refuse(gone.left)
  const recovered = how._tag === 'Recovered'
  const planned = planResume(checkpoint, program, { evidence: gone.right, ...forResume(options), recovered })
  if (E.isLeft(planned)) return refuse(planned.left)
  const missed = unlessGone(checkpoint, planned.right, there.right)
  return E.isLeft(missed) ? refuse(missed.left) : planned.right
}

const inputOf = <Input>(options: StartOptions<Input>): Input => ('input' in options ? options.input : {}) as Input

const forRun = ({ workspace }: RunOptions): RunOptions => (workspace === undefined ? {} : { workspace })

const forResume = ({ onRecovered, ...options }: GoOnOptions): ResumeOptions => ({
  ...options,
  ...(onRecovered === undefined
    ? {}
    : { onRecovered: async (recovery: Recovery) => O.fromNullable(await onRecovered(recovery)) })
})

const environmentOf = ({ storage, signal, environment }: Options): Environment =>
  nodeEnvironment(storage, { ...(signal === undefined ? {} : { interrupt: interruptFrom(signal) }), ...environment })

const perform = async (
  options: Options,
  executor: (environment: Environment) => TE.TaskEither<RunError, RunOutcome>
): Promise<RunOutcome | Refused> => {
  const ended = await executor(environmentOf(options))()
  return E.isRight(ended) ? ended.right : { _tag: 'Refused', runId: options.id, error: ended.left }
}

// ---------------------------------------------------------------------------------------------------------------------
// outputs
// ---------------------------------------------------------------------------------------------------------------------

const outputsOrThrow = <Outputs, Input>(program: Program<Outputs, Input>, outcome: RunOutcome | Refused): Outputs => {
  if (outcome._tag !== 'Completed') throw new RunFailure(outcome)
  return outputsOf(program, outcome.checkpoint)
}

/** What all steps of a completed run gave, decoded, a wave's by group name. */
const outputsOf = <Outputs, Input>(program: Program<Outputs, Input>, checkpoint: Checkpoint): Outputs => {
  const recorded = new Map<string, Json | undefined>()
  for (const record of checkpoint.completedSteps) recorded.set(unitName(record), record.output)
  const valueOf = (task: ProgramTask, name: string): unknown => {
    const decoded = task.decode(recorded.get(name))
    return E.isRight(decoded) ? decoded.right : recorded.get(name)
  }
  const entries = P.expanded(program, checkpoint.workflow).steps.map((step) => [
    step.name,
    step._tag === 'Task'
      ? valueOf(step, step.name)
      : step._tag === 'Map'
        ? {}
        : Object.fromEntries(
            step.groups.map((group) => [group.name, valueOf(group, unitName({ step: step.name, group: group.name }))])
          )
  ])
  return Object.fromEntries(entries) as Outputs
}
