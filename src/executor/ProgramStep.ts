/**
 * The steps of a program: tasks, sequences, waves and maps that can run.
 *
 * @since 0.1.0
 */
import * as E from 'fp-ts/lib/Either.js'
import { pipe } from 'fp-ts/lib/function.js'
import type { TaskEither } from 'fp-ts/lib/TaskEither.js'
import * as TE from 'fp-ts/lib/TaskEither.js'
import type { ExpectedEvidence } from '../domain/CompletedStep.js'
import type { Json } from '../domain/Json.js'
import type { RetryPolicy } from '../domain/RetryPolicy.js'
import { never as noRetry } from '../domain/RetryPolicy.js'
import type { MapStep, Needing, Sequence, Task, Wave } from '../domain/Workflow.js'
import * as W from '../domain/Workflow.js'
import type { Conversions } from './conversions.js'
import { conversions } from './conversions.js'
import type { Guard, GuardSpec } from './Guard.js'
import { fromSpec as guardFrom } from './Guard.js'
import type { Job, JobContext, JobSpec, JobStatus } from './JobSpec.js'
import type { MapSource } from './MapSpec.js'
import type { Reuse } from './StepArtifacts.js'
import type { OnFailure, Schema, SequenceOptions, StepContext, TaskSpec, WaveOptions } from './StepSpec.js'

// ---------------------------------------------------------------------------------------------------------------------
// model
// ---------------------------------------------------------------------------------------------------------------------

/**
 * How a task asks for the job that it has submitted, and collects what that gave.
 *
 * @category model
 * @since 0.1.0
 */
export interface RunnableJob {
  /** Asks what became of the job. */
  readonly poll: (context: JobContext<unknown, unknown>) => TaskEither<unknown, JobStatus>
  /** Fetches what the job gave. */
  readonly collect: (context: JobContext<unknown, unknown>) => TaskEither<unknown, unknown>
  /** What is looked at once that is fetched. */
  readonly guard: UnitGuard | undefined
}

/**
 * What a task adds to its definition in order to run.
 *
 * @category model
 * @since 0.1.0
 */
export interface Runnable extends Conversions {
  /** What it does; of a job, its submission. */
  readonly run: (context: StepContext<unknown, unknown>) => TaskEither<unknown, unknown>
  readonly job: RunnableJob | undefined
  readonly retry: RetryPolicy
  readonly timeoutMillis: number | undefined
  /** A folder of its own: an empty one for each attempt, or the one that is there. */
  readonly workspace: 'fresh' | 'kept' | undefined
  /** Of a job, only what is looked at before it is submitted. */
  readonly guard: UnitGuard | undefined
}

/**
 * What is looked at around a task or a wave.
 *
 * @category model
 * @since 0.1.0
 */
export type UnitGuard = Guard<StepContext<unknown, unknown>, unknown>

/**
 * A task that can run.
 *
 * @category model
 * @since 0.1.0
 */
export interface ProgramTask extends Task, Runnable {}

/**
 * A sequence that can run.
 *
 * @category model
 * @since 0.1.0
 */
export interface ProgramSequence extends Sequence {
  readonly steps: ReadonlyArray<ProgramStep>
  readonly guard: UnitGuard | undefined
}

/**
 * A group that can run.
 *
 * @category model
 * @since 0.1.0
 */
export type ProgramGroup = ProgramStep & Needing

/**
 * A wave that can run.
 *
 * @category model
 * @since 0.1.0
 */
export interface ProgramWave extends Wave {
  readonly groups: ReadonlyArray<ProgramGroup>
  readonly concurrency: number
  readonly onFailure: OnFailure
  readonly guard: UnitGuard | undefined
}

/**
 * Where a map has its items from. On the left: why it has none.
 *
 * @category model
 * @since 0.1.0
 */
export interface Items {
  /** The items. */
  readonly forEach: (source: MapSource<unknown, unknown>) => E.Either<unknown, ReadonlyArray<unknown>>
  /** The name of an item. */
  readonly key: (item: unknown, index: number) => E.Either<unknown, string>
}

/**
 * A map that can run. `items`: how its items are stored, and what its groups see of them.
 *
 * @category model
 * @since 0.1.0
 */
export interface ProgramMap extends MapStep, Items, Omit<ProgramWave, '_tag' | 'groups'> {
  readonly each: ProgramStep
  readonly items: Pick<ProgramTask, 'encode' | 'decode' | 'codecExpected'>
}

/**
 * A step that can run.
 *
 * @category model
 * @since 0.1.0
 */
export type ProgramStep = ProgramTask | ProgramSequence | ProgramWave | ProgramMap

// ---------------------------------------------------------------------------------------------------------------------
// constructors
// ---------------------------------------------------------------------------------------------------------------------

/**
 * A task that can run, for programs that are put together from data; {@link step} is the typed way.
 *
 * @category constructors
 * @since 0.1.0
 */
export const task = (
  name: string,
  spec: TaskSpec<never, never, Schema | undefined> | JobSpec<never, never, Schema | undefined>,
  definition: Json = definitionOf(spec),
  leaves = leavesOf(spec)
): ProgramTask => {
  const { accepts, encode, decode, codecExpected, seen } = conversions(spec.output)
  const defined = W.task(name, {
    definition,
    accepts,
    ...(leaves === undefined ? {} : { leaves }),
    ...(spec.summary === undefined ? {} : { summary: spec.summary }),
    ...(spec.idempotent === undefined ? {} : { idempotent: spec.idempotent }),
    ...(spec.numbered === undefined ? {} : { numbered: spec.numbered }),
    ...(spec.capture === undefined ? {} : { captures: [spec.capture] })
  })
  const guard = guardFrom(spec as GuardSpec<never>, evidenceOf(spec.evidence, seen) as never) as UnitGuard | undefined
  // Field by field, not spread: all tasks are then objects of one kind to the engine, and a plan of many is quick.
  return {
    _tag: defined._tag,
    name: defined.name,
    summary: defined.summary,
    fingerprint: defined.fingerprint,
    idempotent: defined.idempotent,
    captures: defined.captures,
    numbered: defined.numbered,
    accepts,
    leaves: defined.leaves,
    encode,
    decode,
    codecExpected,
    seen,
    run: ('job' in spec ? spec.job.submit : spec.run) as Runnable['run'],
    job: 'job' in spec ? runnableJob(spec.job as unknown as Job<unknown, unknown, undefined>, guard) : undefined,
    retry: spec.retry ?? noRetry,
    timeoutMillis: spec.timeoutMillis,
    workspace: spec.workspace,
    guard: 'job' in spec && guard !== undefined ? beforeOnly(guard) : guard
  }
}

/** A schema's output is what its evidence is computed from. An output that the schema refuses fails the step anyway. */
const evidenceOf = (
  evidence: TaskSpec<never, never, undefined>['evidence'],
  seen: Conversions['seen']
): TaskSpec<never, never, undefined>['evidence'] => {
  if (typeof evidence !== 'function') return evidence
  return (output, context) => {
    const value = seen(output)
    return E.isRight(value) ? evidence(value.right as Json, context) : []
  }
}

/** The paths of its artifacts, if they are listed. A step in its own folder shares none with other steps. */
const leavesOf = (spec: {
  readonly evidence?: unknown
  readonly workspace?: 'fresh'
}): NonNullable<Task['leaves']> | undefined => {
  const { evidence, workspace } = spec
  if (!Array.isArray(evidence) || workspace !== undefined) return undefined
  const paths = (evidence as ReadonlyArray<ExpectedEvidence>).flatMap((one) =>
    one._tag === 'Artifact' ? [one.path] : []
  )
  return () => paths
}

/** What a fingerprint covers beside the options: the version, a folder of its own, and whether the work is handed over. */
const definitionOf = (spec: object & { readonly version?: string; readonly workspace?: 'fresh' }): Json => {
  const definition = {
    ...(spec.version === undefined ? {} : { version: spec.version }),
    ...(spec.workspace === undefined ? {} : { workspace: spec.workspace }),
    ...('job' in spec ? { job: true } : {})
  }
  return Object.keys(definition).length === 0 ? null : definition
}

/** Before a job is submitted there is nothing else to look at. */
const beforeOnly = ({ before, ...guard }: UnitGuard): UnitGuard | undefined =>
  before === undefined ? undefined : { ...guard, before, expect: {}, after: undefined, evidence: undefined }

const runnableJob = (
  { poll, collect }: Job<unknown, unknown, undefined>,
  guard: UnitGuard | undefined
): RunnableJob => ({ poll, collect, guard: guard === undefined ? undefined : { ...guard, before: undefined } })

/**
 * A step, or a group, that copies an artifact of another run instead of making it. Its output says where it is from:
 * `reuse:<run>/<artifact>`. If there is no such artifact the step fails, permanently, and nothing was done.
 *
 * @example
 * import * as E from 'fp-ts/lib/Either.js'
 * import { pipe } from 'fp-ts/lib/function.js'
 * import { Program, run } from 'dogear'
 * import { memoryArtifacts, memoryStorage } from 'dogear/memory'
 * import { nodeEnvironment } from 'dogear/node'
 * import assert from 'node:assert/strict'
 *
 * const artifacts = memoryArtifacts()
 * await artifacts.put('crawl-7', 'corpus', 'all of it')()
 * const train = pipe(
 *   Program.start('train'),
 *   Program.step('corpus', Program.reuse({ fromRun: 'crawl-7', artifact: 'corpus' })),
 *   Program.step('fit', { run: ({ artifacts }) => artifacts.has('corpus') })
 * )
 * const outcome = await run(train, 'train-1', {})(nodeEnvironment(memoryStorage(), { artifacts }))()
 * assert.ok(E.isRight(outcome) && outcome.right._tag === 'Completed')
 * assert.deepEqual([...outcome.right.checkpoint.completedSteps].map(({ output }) => output), ['reuse:crawl-7/corpus', true])
 *
 * @category constructors
 * @since 0.1.0
 */
export const reuse = <Outputs, Input>(from: Reuse): TaskSpec<Outputs, Input, undefined> => {
  const source = `reuse:${from.fromRun}/${from.artifact}`
  return {
    run: ({ artifacts }) =>
      pipe(
        artifacts.reuse(from),
        TE.bimap(
          (failure) => ({ ...failure, outcome: 'notApplied' }),
          () => source
        )
      ),
    summary: source,
    version: source
  }
}

/**
 * A sequence that can run, for programs that are put together from data.
 *
 * @category constructors
 * @since 0.1.0
 */
export const sequenceOf = (
  name: string,
  steps: ReadonlyArray<ProgramStep>,
  options: SequenceOptions = {},
  definition?: Json
): ProgramSequence => ({
  ...W.sequence(name, steps, options.summary, definition),
  steps,
  guard: guardFrom(options as GuardSpec<never>, options.evidence as never) as UnitGuard | undefined
})

/**
 * A wave that can run, for programs that are put together from data; {@link wave} is the typed way.
 *
 * @category constructors
 * @since 0.1.0
 */
export const waveOf = (
  name: string,
  groups: ReadonlyArray<ProgramGroup>,
  options: WaveOptions = {},
  definition?: Json
): ProgramWave => ({
  ...W.wave(name, groups, options.summary, definition),
  groups,
  concurrency: atLeastOne(options.concurrency ?? Infinity),
  onFailure: options.onFailure ?? (groups.some((group) => group.needs.length > 0) ? 'continue' : 'finish'),
  guard: guardFrom(options as GuardSpec<never>, options.evidence as never) as UnitGuard | undefined
})

/**
 * A map that can run, for programs that are put together from data; {@link map} is the typed way.
 *
 * @category constructors
 * @since 0.1.0
 */
export const mapOf = (
  name: string,
  each: ProgramStep,
  { forEach, key, item }: Items & { readonly item?: Schema | undefined },
  options: WaveOptions = {},
  definition?: Json
): ProgramMap => {
  const { groups: _, _tag: __, ...wave } = waveOf(name, [], options)
  const defined = W.mapOf(name, each, options.summary, definition)
  return { ...wave, ...defined, each, items: conversions(item), forEach, key }
}

/** With no group at a time a wave would never end. */
const atLeastOne = (concurrency: number): number => (concurrency >= 1 ? Math.floor(concurrency) : 1)
