/**
 * Asking what became of the jobs that a run waits for.
 *
 * @since 0.1.0
 */
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import type { Change } from '../domain/Change.js'
import type { Checkpoint } from '../domain/Checkpoint.js'
import { mayStandAt } from '../domain/jobChanges.js'
import type { Json } from '../domain/Json.js'
import type { PendingJob } from '../domain/PendingJob.js'
import type { Decision } from '../domain/Plan.js'
import { unitName } from '../domain/Plan.js'
import { planResume } from '../domain/planResume.js'
import * as Redaction from '../domain/Redaction.js'
import * as StepError from '../domain/StepError.js'
import type { StepFailure } from '../domain/StepFailure.js'
import * as Failure from '../domain/StepFailure.js'
import type { TransitionError } from '../domain/Transition.js'
import { groupNamed } from '../domain/Workflow.js'
import type { Claim, StorageError, Stored } from '../ports/CheckpointStorage.js'
import { answering } from './answering.js'
import type { AttemptResult } from './attempts.js'
import { hidden, runAttempt } from './attempts.js'
import { taskCompleted } from './changes.js'
import type { Executor } from './Executor.js'
import { disposing } from './onSuccess.js'
import type { JobContext, JobStatus, Program, ProgramTask, RunnableJob } from './Program.js'
import type { RunError } from './RunError.js'
import { checkDefinition, releaseClaim, restoreStored, scopeOf } from './run.js'
import type { RunScope } from './RunScope.js'
import { report, timestamp } from './RunScope.js'
import type { Secured } from './secrets.js'
import { secure } from './secrets.js'

// ---------------------------------------------------------------------------------------------------------------------
// model
// ---------------------------------------------------------------------------------------------------------------------

/**
 * What became of a job, and of its step.
 *
 * - `Unfinished`: nothing has changed; `done` of `total`, if that is known.
 * - `Collected`: what it gave is recorded, and its step or group is done.
 * - `Failed`: it failed, or nobody knows of it (code `JOB_MISSING`), or what it gave can't be kept. Its step has failed.
 * - `NotKnown`: it could not be asked, or not collected, for now. Nothing has changed.
 *
 * @category model
 * @since 0.1.0
 */
export type JobEnd =
  | { readonly _tag: 'Unfinished'; readonly done?: number; readonly total?: number }
  | { readonly _tag: 'Collected' }
  | { readonly _tag: 'Failed'; readonly error: StepError.StepError }
  | { readonly _tag: 'NotKnown'; readonly error: StepError.StepError }

/**
 * A job that was asked for, and what became of it.
 *
 * @category model
 * @since 0.1.0
 */
export interface PolledJob extends PendingJob {
  readonly end: JobEnd
}

/**
 * How asking ended: all jobs were asked for (none, if none was pending); or it was stopped, after these; or another process
 * has taken the run over.
 *
 * @category model
 * @since 0.1.0
 */
export type PollOutcome =
  | {
      readonly _tag: 'Polled' | 'Stopped'
      readonly runId: string
      readonly checkpoint: Checkpoint
      readonly jobs: ReadonlyArray<PolledJob>
    }
  | { readonly _tag: 'Fenced'; readonly runId: string }

// ---------------------------------------------------------------------------------------------------------------------
// polling
// ---------------------------------------------------------------------------------------------------------------------

/**
 * Asks for every job that a run waits for, one after the other. What one gave is recorded before the next is asked for;
 * where nothing has ended nothing is written. It runs no step and submits nothing: that is for a resume.
 *
 * @example
 * import * as E from 'fp-ts/lib/Either.js'
 * import { pipe } from 'fp-ts/lib/function.js'
 * import * as TE from 'fp-ts/lib/TaskEither.js'
 * import { poll, Program, resume, run } from 'dogear'
 * import { memoryStorage } from 'dogear/memory'
 * import { nodeEnvironment } from 'dogear/node'
 * import assert from 'node:assert/strict'
 *
 * const program = pipe(
 *   Program.start('nightly'),
 *   Program.step('train', {
 *     job: {
 *       submit: ({ idempotencyKey }) => TE.right(`job-${idempotencyKey}`),
 *       poll: () => TE.right({ _tag: 'Finished' }),
 *       collect: ({ job }) => TE.right({ model: job })
 *     }
 *   })
 * )
 * const environment = nodeEnvironment(memoryStorage())
 * const started = await run(program, 'nightly-1', {})(environment)()
 * assert.ok(E.isRight(started) && started.right._tag === 'Pending')
 * const polled = await poll(program, 'nightly-1')(environment)()
 * assert.ok(E.isRight(polled) && polled.right._tag === 'Polled')
 * assert.deepEqual(polled.right.jobs.map(({ end }) => end._tag), ['Collected'])
 * const ended = await resume(program, 'nightly-1')(environment)()
 * assert.ok(E.isRight(ended) && ended.right._tag === 'Completed')
 *
 * @category running
 * @since 0.1.0
 */
export const poll = <Outputs, Input>(program: Program<Outputs, Input>, runId: string): Executor<PollOutcome> =>
  disposing(program, runId, ask(program, runId))

const ask =
  <Outputs, Input>(program: Program<Outputs, Input>, runId: string): Executor<PollOutcome> =>
  (environment) =>
  async () => {
    const runnable = checkDefinition(program)
    if (E.isLeft(runnable)) return runnable
    const { storage, owner } = environment
    const there = await answering('load', () => storage.load(runId))
    if (E.isLeft(there)) return there
    if (O.isNone(there.right)) return E.left({ _tag: 'NoSuchRun', runId })
    const secured = await secure(environment, program)
    if (E.isLeft(secured)) return secured
    const claimed = await answering('claim', () => storage.claim(runId, owner))
    if (E.isLeft(claimed)) return claimed
    const { claim, stored } = claimed.right
    try {
      return O.isNone(stored)
        ? E.left({ _tag: 'NoSuchRun', runId })
        : await pollStored(secured.right, program, claim, stored.value)
    } finally {
      await releaseClaim(environment, claim)
    }
  }

const pollStored = async <Outputs, Input>(
  environment: Secured,
  program: Program<Outputs, Input>,
  claim: Claim,
  stored: Stored
): Promise<E.Either<RunError, PollOutcome>> => {
  const { runId } = claim
  const restored = restoreStored(stored, runId)
  if (E.isLeft(restored)) return restored
  if (stored.found._tag === 'Recovered') {
    const { from, lost } = stored.found
    report(environment, { _tag: 'CheckpointRecovered', runId, from, lost })
    return E.left({ _tag: 'RecoveryRefused', runId, from, lost, cause: undefined })
  }
  const input = program.decodeInput(restored.right.input)
  if (E.isLeft(input)) return E.left({ _tag: 'InvalidInput', ...input.left })
  const plan = planResume(restored.right, program)
  if (E.isLeft(plan)) return plan
  const { scope, dispose } = scopeOf(environment, program, claim, restored.right)
  try {
    const polled = await pollAll(scope, plan.right.decisions)
    if (E.isLeft(polled)) {
      if (polled.left._tag !== 'Fenced') return polled
    } else if (scope.stop()?._tag !== 'Fenced') {
      const checkpoint = scope.recorder.checkpoint()
      const how = polled.right.length < restored.right.pending.length ? 'Stopped' : 'Polled'
      return E.right({ _tag: how, runId, checkpoint, jobs: polled.right })
    }
    report(environment, { _tag: 'RunFenced', runId })
    return E.right({ _tag: 'Fenced', runId })
  } finally {
    dispose()
  }
}

/** A unit whose job is asked for. */
interface Waiting {
  readonly job: PendingJob
  readonly task: ProgramTask & { readonly job: RunnableJob }
  readonly place: { readonly stepIndex: number; readonly step: string; readonly group?: string }
}

const pollAll = async (
  scope: RunScope,
  decisions: ReadonlyArray<Decision>
): Promise<E.Either<StorageError | TransitionError, ReadonlyArray<PolledJob>>> => {
  const polled: Array<PolledJob> = []
  const planned = new Map(decisions.map((one) => [unitName(one), one]))
  for (const job of scope.recorder.checkpoint().pending) {
    if (scope.stop() !== undefined) break
    const found = await endOf(scope, job, planned.get(unitName(job)))
    if (found === 'stopped') break
    const saved = found.change === undefined ? E.right(undefined) : await scope.recorder.record([found.change])()
    if (E.isLeft(saved)) return saved
    polled.push({ ...job, end: endWithout(scope.environment.vault.redaction, found.end) })
  }
  return E.right(polled)
}

/** What a job gave was hidden when it was collected. */
const endWithout = (redaction: Redaction.Redaction, end: JobEnd): JobEnd =>
  'error' in end && !Redaction.isNone(redaction) ? { ...end, error: Redaction.error(redaction, end.error) } : end

/** What is found out about a job, and what is to be recorded of it. */
interface Found {
  readonly end: JobEnd
  readonly change?: Change
}

const endOf = async (scope: RunScope, job: PendingJob, decision: Decision | undefined): Promise<Found | 'stopped'> => {
  const task = taskAt(scope.program, decision)
  if (decision?._tag !== 'Poll' || task === undefined) return notKnown(NO_JOB)
  const { stepIndex, step, group } = decision
  const place = { stepIndex, step, ...(group === undefined ? {} : { group }) }
  const waiting: Waiting = { job, task, place }
  if (!mayStandAt(scope.recorder.checkpoint(), job.stepIndex)) return notKnown(NOT_THERE)
  const asked = await call(scope, waiting, ASKING, task.job.poll)
  if (asked._tag === 'Stopped') return 'stopped'
  if (asked._tag === 'Failed') return notKnown(asked.failure)
  const status: unknown = asked.output
  if (!isStatus(status)) return notKnown(NO_STATUS)
  switch (status._tag) {
    case 'Unfinished':
      return { end: status }
    case 'Finished':
      return await collect(scope, waiting)
    case 'Failed':
      return failed(scope, job, Failure.fromUnknown(status.error))
    case 'Missing':
      return failed(scope, job, MISSING)
  }
}

const STATUSES: ReadonlySet<unknown> = new Set<JobStatus['_tag']>(['Unfinished', 'Finished', 'Failed', 'Missing'])

/** A step in JavaScript may say anything. */
const isStatus = (said: unknown): said is JobStatus =>
  typeof said === 'object' && said !== null && '_tag' in said && STATUSES.has(said._tag)

const notKnown = ({ error }: Pick<StepFailure, 'error'>): Found => ({ end: { _tag: 'NotKnown', error } })

const NO_JOB = Failure.permanent(
  StepError.make('NoJob', 'the step does not hand its work over any more: put its "job" back, or force it')
)

const NOT_THERE = Failure.transient(
  StepError.make('NotThere', 'an earlier step was left open, and has to be ended first: resume the run')
)

const NO_STATUS = Failure.permanent(
  StepError.make('NoStatus', 'poll must give Unfinished, Finished, Failed or Missing')
)

const MISSING = Failure.permanent(
  StepError.make('JobMissing', 'its job is missing: nobody knows of it', { code: 'JOB_MISSING' })
)

const taskAt = (program: Program<unknown, never>, decision: Decision | undefined): Waiting['task'] | undefined => {
  const step = decision === undefined ? undefined : program.steps[decision.stepIndex]
  const task = step?._tag === 'Wave' ? groupNamed(step, decision?.group ?? '') : step
  return task?.job === undefined ? undefined : (task as Waiting['task'])
}

/**
 * Fetches what a job gave, and looks at what has to hold then. It may be there later if that fails for a reason that passes;
 * else the job has failed.
 */
const collect = async (scope: RunScope, waiting: Waiting): Promise<Found | 'stopped'> => {
  const { job, task, place } = waiting
  const collecting = { guard: task.job.guard, encode: task.encode }
  for (;;) {
    const given = await call(scope, waiting, collecting, task.job.collect)
    const collected = hidden(scope.environment, { ...task, job: undefined }, given)
    if (collected._tag === 'Stopped') return 'stopped'
    if (collected._tag === 'Failed') {
      if (collected.again === true) continue
      return mayComeLater(collected.failure) ? notKnown(collected.failure) : failed(scope, job, collected.failure)
    }
    const [startedAt, endedAt] = [Date.parse(job.submittedAt), scope.environment.clock.now()]
    const result = { ...collected, attempt: job.attempt ?? 1, startedAt, endedAt }
    const change = { ...taskCompleted(scope, place, task, result), stepIndex: job.stepIndex } as Change
    return { end: { _tag: 'Collected' }, change }
  }
}

/** Whether it may still be fetched, or looked at, another time. What was fetched and looked at and does not hold has failed. */
const mayComeLater = ({ _tag, error }: StepFailure): boolean =>
  error.name === 'TreeUnreadable' || (_tag === 'Transient' && error.name !== 'CheckFailed')

const failed = (scope: RunScope, job: PendingJob, { _tag, error, outcome }: StepFailure): Found => {
  const { stepIndex, step, group } = job
  return {
    end: { _tag: 'Failed', error },
    change: {
      _tag: 'JobEnded',
      at: timestamp(scope.environment.clock.now()),
      stepIndex,
      step,
      ...(group === undefined ? {} : { group }),
      error,
      outcome,
      retryable: _tag === 'Transient'
    }
  }
}

/** What is asked for is not kept, and nothing is looked at. */
const ASKING: Pick<ProgramTask, 'guard' | 'encode'> = { guard: undefined, encode: E.right as ProgramTask['encode'] }

/** Calls a task's own code about its job, as an attempt of the task. */
const call = async (
  scope: RunScope,
  { job, task, place }: Waiting,
  how: Pick<ProgramTask, 'guard' | 'encode'>,
  work: (context: JobContext<unknown, unknown>) => ReturnType<ProgramTask['run']>
): Promise<AttemptResult> => {
  const given: Json = job.job === undefined ? null : structuredClone(job.job)
  const run: ProgramTask['run'] = (context) =>
    work(Object.defineProperty(context, 'job', { value: given, enumerable: true }) as JobContext<unknown, unknown>)
  return await runAttempt(scope, place, { ...task, ...how, run, job: undefined }, job.attempt ?? 1, scope.stopping)
}
