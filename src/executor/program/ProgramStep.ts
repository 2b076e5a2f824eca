/**
 * The steps of a program: tasks, sequences, waves and maps that can run.
 *
 * @module
 */
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import type { TaskEither } from 'fp-ts/lib/TaskEither.js'
import type { ExpectedEvidence } from '../../domain/checkpoint/CompletedStep.js'
import { isExpectedEvidence } from '../../domain/checkpoint/CompletedStep.js'
import type { Json } from '../../domain/data/Json.js'
import { defined } from '../../domain/data/defined.js'
import type { OptionProblem } from '../../domain/data/Options.js'
import { fieldsOf, kindOf, optionProblems } from '../../domain/data/Options.js'
import type { RetryPolicy } from '../../domain/workflow/RetryPolicy.js'
import { policyOf } from '../../domain/workflow/RetryPolicy.js'
import type { Wait } from '../../domain/checkpoint/Pending.js'
import type { MapStep, Needing, Sequence, Task, Wave } from '../../domain/workflow/Workflow.js'
import * as W from '../../domain/workflow/Workflow.js'
import { sleepOf, waitForOf } from './awaits.js'
import type { Conversions } from './conversions.js'
import { conversions } from './conversions.js'
import type { Checks } from './UnitChecks.js'
import { fromSpec as checksFrom } from './UnitChecks.js'
import { ITEM_SOURCE, MAP, NEEDS, notReuse, SEQUENCE, taskProblems, WAVE } from './stepOptions.js'
import { settling } from '../steps/callUserCode.js'
import type {
  ForJob,
  Job,
  JobSpec,
  MapSource,
  OnFailure,
  Reuse,
  SequenceOptions,
  StepContext,
  StepSpec,
  TaskOptions,
  TaskSpec,
  WaitForSpec,
  WaveOptions
} from './StepSpec.js'

/** How a task polls its submitted job, and collects its result. */
export interface RunnableJob {
  /** Returns the status of the job. */
  readonly poll: (context: StepContext<unknown, unknown> & ForJob) => TaskEither<unknown, unknown>
  /** Fetches the result of the job. */
  readonly collect: (context: StepContext<unknown, unknown> & ForJob) => TaskEither<unknown, unknown>
  /** The checks of the collected result. */
  readonly checks: UnitChecks | undefined
}

/** The fields that a task adds to its definition in order to run. */
export interface Runnable extends Conversions {
  /** Runs the task, or submits its job. */
  readonly run: (context: StepContext<unknown, unknown>) => TaskEither<unknown, unknown>
  readonly job: RunnableJob | undefined
  /** The invalid options of an untyped author. */
  readonly problems: ReadonlyArray<OptionProblem>
  /** Starts the wait of a task without code. */
  readonly awaits: ((now: number) => Wait) | undefined
  readonly retry: RetryPolicy
  readonly timeoutMillis: number | undefined
  /** Its own folder: empty for each attempt, or the existing one. */
  readonly workspace: 'fresh' | 'kept' | undefined
  /** For a job, only the checks before its submission. */
  readonly checks: UnitChecks | undefined
}

/** The checks around a task or a composite. */
export type UnitChecks = Checks<StepContext<unknown, unknown>, unknown>

/** A task that can run. */
export interface ProgramTask extends Task, Runnable {}

/** A sequence that can run. */
export interface ProgramSequence extends Sequence {
  readonly steps: ReadonlyArray<ProgramStep>
  readonly problems: ReadonlyArray<OptionProblem>
  readonly checks: UnitChecks | undefined
}

/** A group that can run. */
export type ProgramGroup = ProgramStep & Needing

/** A wave that can run. */
export interface ProgramWave extends Wave {
  readonly groups: ReadonlyArray<ProgramGroup>
  readonly concurrency: number
  readonly onFailure: OnFailure
  readonly problems: ReadonlyArray<OptionProblem>
  readonly checks: UnitChecks | undefined
}

/** Computes the items of a map. On the left: what the author's function threw. */
export interface ItemSource {
  /** The items. */
  readonly forEach: (source: MapSource<unknown, unknown>) => E.Either<unknown, ReadonlyArray<unknown>>
  /** The name of an item. */
  readonly key: (item: unknown, index: number) => E.Either<unknown, string>
}

/** A map that can run. `items`: how its items are stored and decoded. */
export interface ProgramMap extends MapStep, ItemSource, Omit<ProgramWave, '_tag' | 'groups'> {
  readonly each: ProgramStep
  readonly items: Pick<ProgramTask, 'encode' | 'decode'>
}

/**
 * A step that can run.
 *
 * @category model
 */
export type ProgramStep = ProgramTask | ProgramSequence | ProgramWave | ProgramMap

/**
 * A task that can run, for programs built from data; {@link step} is the typed way.
 *
 * @category constructors
 */
export const task = <C>(
  name: string,
  step: StepSpec<never, C>,
  definition?: Json,
  artifactPaths?: NonNullable<Task['artifactPaths']>
): ProgramTask => {
  const waiting = waitingOf(step)
  const spec = specOf(step, waiting)
  const { accepts, encode, decode, seen } = conversions(spec.output)
  const loose = spec as unknown as Loose
  const { summary, idempotent, numbered, capture } = spec
  const named = artifactPaths ?? artifactPathsOf(spec)
  // An invalid option is reported, and not hashed: it may be no JSON. Field by field, because spreads slow down a long chain.
  const options: Writable<W.TaskOptions> = {
    accepts,
    definition: definition === undefined ? definitionOf(spec, waiting) : definition
  }
  if (named !== undefined) options.artifactPaths = named
  if (summary !== undefined) options.summary = summary
  if (typeof idempotent === 'boolean') options.idempotent = idempotent
  if (numbered !== undefined) options.numbered = numbered
  if (typeof capture === 'string') options.captures = [capture]
  if (waiting !== undefined) options.wait = waiting.wait
  const domainTask = W.task(nameFrom(name), options)
  const checks = checksFrom(loose, evidenceOf(loose.evidence, seen))
  const problems = taskProblems(step)
  // An unknown option may be a misspelled option of the wait, which would be reported twice. `needs` is an option of a group.
  const mayBeMisspelled = problems.some((one) => 'known' in one && one.option !== 'needs')
  const isWrongWait = waiting !== undefined && E.isLeft(waiting.awaits) && !mayBeMisspelled
  // Field by field, not spread: all tasks then share one hidden class, which makes large plans fast.
  return {
    _tag: domainTask._tag,
    name: domainTask.name,
    summary: domainTask.summary,
    fingerprint: domainTask.fingerprint,
    idempotent: domainTask.idempotent,
    captures: domainTask.captures,
    numbered: domainTask.numbered,
    wait: domainTask.wait,
    accepts,
    artifactPaths: domainTask.artifactPaths,
    encode,
    decode,
    seen,
    run: settling('job' in spec ? jobOf(spec).submit : spec.run) as Runnable['run'],
    job: 'job' in spec ? runnableJob(jobOf(spec), checks) : undefined,
    problems: isWrongWait ? [...problems, waiting.awaits.left] : problems,
    awaits: waiting === undefined ? undefined : O.toUndefined(O.fromEither(waiting.awaits)),
    retry: policyOf(spec.retry),
    timeoutMillis: spec.timeoutMillis,
    workspace: spec.workspace,
    checks: 'job' in spec && checks !== undefined ? beforeOnly(checks) : checks
  }
}

type Writable<A> = { -readonly [K in keyof A]: A[K] }

type SpecOf<C> = TaskSpec<never, C> | JobSpec<never, C>

interface Waiting {
  readonly wait: NonNullable<Task['wait']>
  readonly awaits: ReturnType<typeof sleepOf>
}

const waitingOf = <C>(step: StepSpec<never, C>): Waiting | undefined => {
  if (typeof step !== 'object' || step === null) return undefined
  if ('sleep' in step) return { wait: 'Timer', awaits: sleepOf(step.sleep) }
  return 'waitFor' in step ? { wait: 'Answer', awaits: waitForOf(step.waitFor) } : undefined
}

/** Returns the options of a task. A task that waits has no code, and only some of the options. */
const specOf = <C>(step: StepSpec<never, C>, waiting: Waiting | undefined): SpecOf<C> => {
  if (typeof step !== 'object' || step === null) return { run: step }
  if (waiting === undefined) return step as SpecOf<C>
  const run = (() => undefined) as unknown as TaskSpec<never, C>['run']
  const { summary, output, capture } = step as Partial<WaitForSpec<C>>
  return { run, ...defined(waiting.wait === 'Timer' ? { summary } : { summary, output, capture }) }
}

/** The options of a task with its context and output untyped. */
type Loose = Omit<TaskOptions<StepContext<unknown, unknown>, unknown>, 'evidence'> & {
  readonly evidence?: ReadonlyArray<ExpectedEvidence> | NonNullable<UnitChecks['evidence']>
}

/** Evidence is computed from the output as readers see it. An output that is not storable fails the step in any case. */
const evidenceOf = (evidence: Loose['evidence'], seen: Conversions['seen']): Loose['evidence'] => {
  if (typeof evidence !== 'function') return evidence
  return (output, context) => {
    const value = seen(output)
    return E.isRight(value) ? evidence(value.right, context) : []
  }
}

/** Returns the paths of the artifacts in an `evidence` array. A step with its own folder shares no path with other steps. */
const artifactPathsOf = <C>({ evidence, workspace }: TaskOptions<never, C>): Task['artifactPaths'] => {
  if (!Array.isArray(evidence) || workspace !== undefined) return undefined
  const paths = evidence.filter(isExpectedEvidence).flatMap((one) => (one._tag === 'Artifact' ? [one.path] : []))
  return () => paths
}

/** Returns what the fingerprint covers besides the domain's own options: the version, the own folder, and whether the task submits a job or waits. */
const definitionOf = <C>(spec: TaskOptions<never, C>, waiting: Waiting | undefined): Json => {
  const { version, workspace } = spec
  const isJob = 'job' in spec
  if (typeof version !== 'string' && typeof workspace !== 'string' && !isJob && waiting === undefined) return null
  return {
    ...(typeof version === 'string' ? { version } : {}),
    ...(typeof workspace === 'string' ? { workspace } : {}),
    ...(isJob ? { job: true } : {}),
    ...(waiting === undefined ? {} : { wait: waiting.wait })
  }
}

/** Keeps the `before` check, which runs before the submission of a job. All others run after the collection. */
const beforeOnly = ({ before, ...checks }: UnitChecks): UnitChecks | undefined =>
  before === undefined ? undefined : { ...checks, before, expect: {}, after: undefined, evidence: undefined }

/** Untyped authors may pass anything. */
const jobOf = <C>({ job }: JobSpec<never, C>): Job<never, C> => Object(job) as Job<never, C>

const runnableJob = <C>(job: Job<never, C>, checks: UnitChecks | undefined): RunnableJob => ({
  poll: settling(job.poll) as RunnableJob['poll'],
  collect: settling(job.collect) as RunnableJob['collect'],
  checks: checks === undefined ? undefined : { ...checks, before: undefined }
})

/**
 * A step or group that copies an artifact of another run. Its output is `reuse:<run>/<artifact>`. If the artifact is missing the step
 * fails permanently, with nothing applied.
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
 */
export const reuse = (from: Reuse): TaskSpec<Pick<StepContext<unknown>, 'artifacts'>, Promise<string>> => {
  // `reuse` is no option of a step. Its check describes what is wrong with the argument.
  if (notReuse(from) !== undefined) return { run: () => undefined, reuse: from ?? null } as never
  const source = `reuse:${from.fromRun}/${from.artifact}`
  return {
    run: ({ artifacts }) =>
      artifacts.reuse(from).then(
        () => source,
        (error: Error) => Promise.reject(Object.assign(error, { outcome: 'notApplied' }))
      ),
    summary: source,
    version: source
  }
}

/**
 * A sequence that can run, for programs built from data.
 *
 * @category constructors
 */
export const sequenceOf = (
  name: string,
  steps: ReadonlyArray<ProgramStep>,
  options: SequenceOptions<StepContext<unknown, unknown>> = {},
  definition?: Json
): ProgramSequence => {
  const given = fieldsOf(options) as typeof options
  const members = stepsIn(steps)
  return {
    ...W.sequence(nameFrom(name), members, given.summary, definition),
    steps: members,
    problems: [...stepProblems(steps), ...optionProblems(options, SEQUENCE)],
    checks: checksFrom(given, given.evidence as UnitChecks['evidence'])
  }
}

/**
 * A wave that can run, for programs built from data; `Program.wave` is the typed way.
 *
 * @category constructors
 */
export const waveOf = (
  name: string,
  groups: ReadonlyArray<ProgramGroup>,
  options: WaveOptions<StepContext<unknown, unknown>> = {},
  definition?: Json
): ProgramWave => {
  const given = fieldsOf(options) as typeof options
  const members = stepsIn(groups).map(withNeeds)
  return {
    ...W.wave(nameFrom(name), members, given.summary, definition),
    groups: members,
    concurrency: given.concurrency ?? Infinity,
    problems: [...stepProblems(groups, 'group'), ...optionProblems(options, WAVE)],
    onFailure: given.onFailure ?? (members.some((group) => group.needs.length > 0) ? 'continue' : 'finish'),
    checks: checksFrom(given, given.evidence as UnitChecks['evidence'])
  }
}

/**
 * A map that can run, for programs built from data; `Program.map` is the typed way.
 *
 * @category constructors
 */
export const mapOf = (
  name: string,
  each: ProgramStep,
  source: ItemSource & { readonly item?: unknown },
  options: WaveOptions<StepContext<unknown, unknown>> = {},
  definition?: Json
): ProgramMap => {
  const { forEach, key, item } = fieldsOf(source) as Partial<typeof source> as typeof source
  const { groups: _, _tag: __, ...wave } = waveOf(name, [], options)
  const body = isStep(each) ? each : task(name, () => undefined)
  const domainMap = W.mapOf(nameFrom(name), body, wave.summary, definition)
  const problems = [
    ...(isStep(each) ? [] : [{ option: 'each', expected: stepExpected(each) }]),
    ...optionProblems({ forEach, key, item }, ITEM_SOURCE, { required: ['forEach', 'key'] }),
    ...optionProblems(options, MAP)
  ]
  return {
    ...wave,
    ...domainMap,
    problems,
    each: domainMap.each as ProgramStep,
    items: conversions(item),
    forEach,
    key
  }
}

/** A name that is no string becomes its kind, and a missing one is empty: both are refused as invalid names. */
const nameFrom = (name: unknown): string =>
  typeof name === 'string' ? name : name === undefined || name === null ? '' : kindOf(name)

/** Untyped authors may pass anything as steps, such as a combinator. */
const isStep = (step: unknown): boolean => Array.isArray(fieldsOf(step)['problems'])

const isList = (steps: unknown): boolean => Array.isArray(steps)

const stepsIn = <S>(steps: ReadonlyArray<S>): ReadonlyArray<S> => (isList(steps) ? steps.filter(isStep) : [])

/** Returns a problem for each element that is not a step. */
export const stepProblems = (
  steps: unknown,
  kind = 'step'
): ReadonlyArray<Extract<OptionProblem, { readonly expected: string }>> => {
  if (!Array.isArray(steps)) return [{ option: `${kind}s`, expected: `an array of ${kind}s, not ${kindOf(steps)}` }]
  // Avoids an array for each step of a long workflow.
  if (steps.every(isStep)) return []
  return steps.flatMap((step: unknown, index) =>
    isStep(step) ? [] : [{ option: `${kind} ${index + 1}`, expected: stepExpected(step) }]
  )
}

const stepExpected = (step: unknown): string => `made by Program.task, sequenceOf, waveOf or mapOf, not ${kindOf(step)}`

/** Untyped authors may omit the needs of a group, or pass invalid ones. */
export const withNeeds = (group: ProgramGroup): ProgramGroup => {
  const { needs } = fieldsOf(group)
  const problems = optionProblems({ needs }, NEEDS)
  return needs !== undefined && problems.length === 0
    ? group
    : { ...group, needs: [], problems: [...group.problems, ...problems] }
}
