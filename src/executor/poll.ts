/** Polls pending jobs and records their results. */
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import type { Checkpoint } from '../domain/checkpoint/Checkpoint.js'
import { canAdvanceTo } from '../domain/change/jobChanges.js'
import type { Json } from '../domain/data/Json.js'
import type { PendingJob } from '../domain/checkpoint/Pending.js'
import type { Decision } from '../domain/plan/Plan.js'
import { find } from '../domain/checkpoint/Tree.js'
import * as Redaction from '../domain/data/Redaction.js'
import * as StepError from '../domain/data/StepError.js'
import type { StepFailure } from '../domain/data/StepFailure.js'
import * as Failure from '../domain/data/StepFailure.js'
import type { TransitionError } from '../domain/change/Transition.js'
import type { Claim, StorageError, Stored } from '../ports/CheckpointStorage.js'
import { readOnly } from './workspace/artifacts.js'
import { load } from './callPort.js'
import type { AttemptResult } from './steps/AttemptResult.js'
import { redacted } from './steps/AttemptResult.js'
import { runAttempt } from './steps/runAttempt.js'
import { handleLateRequests, recordCancelIfAsked, stillPaused } from './requests/recordRequests.js'
import { stageCompleted, unitCompleted } from './storage/changes.js'
import type { Executor } from './ExecutorCall.js'
import { applyOnSuccess } from './workspace/onSuccess.js'
import type {
  ForJob,
  JobStatus,
  Program,
  ProgramStep,
  ProgramTask,
  RunnableJob,
  StepContext
} from './program/Program.js'
import type { RunError } from './errors/RunError.js'
import type { Fenced } from './RunOutcome.js'
import { checkDefinition, tryPlan } from './planRun.js'
import { makeRunScope } from './makeRunScope.js'
import type { RunScope } from './RunScope.js'
import { report, timestamp } from './RunScope.js'
import { NO_CALLS } from './steps/context.js'
import type { Place } from './Values.js'
import type { SecuredEnvironment } from './secrets.js'
import { redactingInput, secure } from './secrets.js'
import { reportFenced, recoveryRefused, restoreUnmoved, withClaim } from './storage/stored.js'
import { workspaceMissing } from './workspace/workspace.js'

/**
 * The state of a job after a poll.
 *
 * - `Unfinished`: nothing has changed; `done` of `total`, if known.
 * - `Collected`: its output is recorded, and its step or group has completed.
 * - `Failed`: the job failed or no longer exists (code `JOB_MISSING`), collecting it failed permanently, a check refused its result, or its
 *   output is not storable. Its step has failed.
 * - `Unknown`: polling failed, or collecting failed in a way that may pass; or the job was not polled, because an earlier step is unfinished
 *   (error `EarlierStepUnfinished`), or because its step has no job any more (`NoJob`). Nothing has changed.
 */
export type JobEnd =
  | { readonly _tag: 'Unfinished'; readonly done?: number; readonly total?: number }
  | { readonly _tag: 'Collected' }
  | { readonly _tag: 'Failed'; readonly error: StepError.StepError }
  | { readonly _tag: 'Unknown'; readonly error: StepError.StepError }

/** A polled job, and its state. */
export interface PolledJob extends PendingJob {
  readonly end: JobEnd
}

/**
 * How a poll ended. `Polled`: `jobs` are all pending jobs. `Stopped`: the environment was interrupted after these `jobs`. `Fenced`: another
 * process superseded this one.
 *
 * @category model
 */
export type PollOutcome =
  | {
      readonly _tag: 'Polled' | 'Stopped'
      readonly runId: string
      readonly checkpoint: Checkpoint
      readonly jobs: ReadonlyArray<PolledJob>
    }
  | Fenced

/**
 * Polls the pending jobs of a run, one after the other. A job is not polled (`Unknown`) while an earlier step is unfinished, because its result
 * cannot be recorded yet. Each result is recorded before the next job is polled. If no job has ended, nothing is written or claimed. A poll runs no
 * step and submits nothing; a resume does. A paused run stays paused.
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
 */
export const poll = <Outputs, Input>(
  program: Program<Outputs, Input, unknown, unknown>,
  runId: string
): Executor<PollOutcome> => applyOnSuccess(program, runId, redactingInput(program, pollRun(program, runId)))

const pollRun =
  <Outputs, Input>(program: Program<Outputs, Input, unknown, unknown>, runId: string): Executor<PollOutcome> =>
  (environment) =>
  async () => {
    const runnable = checkDefinition(program)
    if (E.isLeft(runnable)) return runnable
    const loaded = await load(environment, runId)
    if (E.isLeft(loaded)) return loaded
    const secured = await secure(environment, program)
    if (E.isLeft(secured)) return secured
    const known: KnownStatuses = new Map()
    const unclaimedEnd = await pollStored(secured.right, program, unclaimed(runId), loaded.right, {
      known,
      mayRecord: false
    })
    if (E.isLeft(unclaimedEnd) || unclaimedEnd.right !== NEEDS_CLAIM)
      return unclaimedEnd as E.Either<RunError, PollOutcome>
    const ended = await withClaim(secured.right, runId, async (claim, stored) => {
      const polled = await pollStored(secured.right, program, claim, stored, { known, mayRecord: true })
      return polled as E.Either<RunError, PollOutcome>
    })
    await handleLateRequests(secured.right, runId)
    return ended
  }

/**
 * `known`: statuses read before the run was claimed, by idempotency key, so that no job is polled twice. `mayRecord`: the claim is held, so results
 * can be recorded.
 */
interface PollState {
  readonly known: KnownStatuses
  readonly mayRecord: boolean
}

type KnownStatuses = Map<string, StatusRead>

/** A job has ended, and recording it requires the claim. Until then nothing is written. */
const NEEDS_CLAIM = 'NeedsClaim'

type PollResult = PollOutcome | typeof NEEDS_CLAIM

/** Stands in for a claim while nothing is saved. */
const unclaimed = (runId: string): Claim => ({ runId, epoch: -1, lost: new AbortController().signal })

const pollStored = async <Outputs, Input>(
  environment: SecuredEnvironment,
  program: Program<Outputs, Input, unknown, unknown>,
  claim: Claim,
  loaded: O.Option<Stored>,
  polling: PollState
): Promise<E.Either<RunError, PollResult>> => {
  const { runId } = claim
  if (O.isNone(loaded)) return E.left({ _tag: 'NoSuchRun', runId })
  const stored = loaded.value
  const restored = restoreUnmoved(stored, runId)
  if (E.isLeft(restored)) return restored
  if (stored.found._tag === 'Recovered') {
    const { from, lost } = stored.found
    report(environment, { _tag: 'CheckpointRecovered', runId, from, lost })
    return recoveryRefused(runId, stored.found)
  }
  const cancelled = polling.mayRecord ? await recordCancelIfAsked(environment, claim, restored.right) : E.right(O.none)
  if (E.isLeft(cancelled)) return cancelled
  if (O.isSome(cancelled.right)) return E.left({ _tag: 'RunCancelled', runId })
  const state = { checkpoint: restored.right, found: stored.found }
  const planResult = await tryPlan(program, state, { evidence: [] })(environment)()
  if (E.isLeft(planResult)) return planResult
  const { workspaceFound, plan } = planResult.right
  if (!workspaceFound && jobsOf(restored.right).length > 0) return E.left(workspaceMissing(restored.right))
  if (E.isLeft(plan)) return plan
  const { scope, dispose } = makeRunScope(environment, program, claim, { checkpoint: restored.right })
  try {
    const polled = await pollAll(scope, plan.right.decisions, polling)
    if (E.isLeft(polled) && polled.left._tag !== 'Fenced') return polled
    if (E.isLeft(polled) || scope.stopReason() === 'fenced')
      return reportFenced(environment, claim, E.isLeft(polled) ? polled.left : undefined)
    if (polled.right === NEEDS_CLAIM) return E.right(NEEDS_CLAIM)
    const checkpoint = scope.recorder.checkpoint()
    const _tag = polled.right.length < jobsOf(restored.right).length ? 'Stopped' : 'Polled'
    return E.right({ _tag, runId, checkpoint, jobs: polled.right })
  } finally {
    dispose()
  }
}

const jobsOf = ({ pending }: Checkpoint): ReadonlyArray<PendingJob> =>
  [...pending].flatMap((one) => (one._tag === 'Job' ? [one] : []))

interface JobToPoll {
  readonly job: PendingJob
  readonly task: ProgramTask & { readonly job: RunnableJob }
  readonly place: Place
}

const pollAll = async (
  scope: RunScope,
  decisions: ReadonlyArray<Decision>,
  { known, mayRecord }: PollState
): Promise<E.Either<StorageError | TransitionError, ReadonlyArray<PolledJob> | typeof NEEDS_CLAIM>> => {
  const polled: Array<PolledJob> = []
  const { recorder, environment } = scope
  const before = recorder.checkpoint()
  const planned = new Map(decisions.map((one) => [one.unit, one]))
  for (const job of jobsOf(before)) {
    if (scope.stopReason() !== undefined) break
    const toPoll = jobToPoll(scope, job, planned.get(job.unit))
    const status = E.isLeft(toPoll) ? toPoll.left : (known.get(job.key) ?? (await readStatus(scope, toPoll.right)))
    if (status === 'stopped') break
    known.set(job.key, status)
    if (!mayRecord && !isOpen(status)) return E.right(NEEDS_CLAIM)
    const end = E.isLeft(toPoll) ? toPoll.left : await stageJobEnd(scope, toPoll.right, status)
    if (end === 'stopped') break
    recorder.stage(stillPaused(before, recorder.checkpoint(), timestamp(environment.clock.now())))
    const saved = await recorder.commit()
    if (E.isLeft(saved)) return saved
    polled.push({ ...job, end: redactedEnd(environment.vault.redaction, end) })
  }
  return E.right(polled)
}

/** The output of a job was redacted when it was collected. */
const redactedEnd = (redaction: Redaction.Redaction, end: JobEnd): JobEnd =>
  'error' in end && !Redaction.isNone(redaction) ? { ...end, error: Redaction.error(redaction, end.error) } : end

type StatusUnknown = Extract<JobEnd, { readonly _tag: 'Unknown' }>

type StatusRead = JobStatus | StatusUnknown

const isOpen = ({ _tag }: StatusRead): boolean => _tag === 'Unfinished' || _tag === 'Unknown'

const jobToPoll = (
  scope: RunScope,
  job: PendingJob,
  decision: Decision | undefined
): E.Either<StatusUnknown, JobToPoll> => {
  const task = taskAt(scope, decision)
  if (decision?._tag !== 'Poll' || task === undefined) return E.left(statusUnknown(NO_JOB))
  const place = { unit: decision.unit, stepIndex: decision.stepIndex }
  return canAdvanceTo(scope.recorder.checkpoint(), job.unit)
    ? E.right({ job, task, place })
    : E.left(statusUnknown(STEP_UNFINISHED))
}

const readStatus = async (scope: RunScope, toPoll: JobToPoll): Promise<StatusRead | 'stopped'> => {
  const polled = await callJobCode(scope, toPoll, POLLING, (context) => toPoll.task.job.poll(readOnly(context)))
  if (polled._tag === 'Stopped' || polled._tag === 'Suspended') return 'stopped'
  if (polled._tag === 'Failed') return statusUnknown(polled.failure)
  return isStatus(polled.output) ? polled.output : statusUnknown(NO_STATUS)
}

/** Stages the end of a job, if it has ended. */
const stageJobEnd = async (scope: RunScope, toPoll: JobToPoll, status: StatusRead): Promise<JobEnd | 'stopped'> => {
  switch (status._tag) {
    case 'Unknown':
      return status
    case 'Unfinished':
      return { _tag: 'Unfinished', ...countsIn(status) }
    case 'Finished':
      return await collect(scope, toPoll)
    case 'Failed':
      return failed(scope, toPoll.job, Failure.fromUnknown(status.error))
    case 'Missing':
      return failed(scope, toPoll.job, MISSING)
  }
}

const STATUSES: ReadonlySet<unknown> = new Set<JobStatus['_tag']>(['Unfinished', 'Finished', 'Failed', 'Missing'])

/** Untyped code may return anything. */
const isStatus = (value: unknown): value is JobStatus =>
  typeof value === 'object' && value !== null && '_tag' in value && STATUSES.has(value._tag)

/** Omits counts that are not whole numbers, and a `total` below `done`. */
const countsIn = ({
  done,
  total
}: {
  readonly done?: unknown
  readonly total?: unknown
}): Pick<Extract<JobStatus, { readonly _tag: 'Unfinished' }>, 'done' | 'total'> => {
  if (!isCount(done)) return {}
  return isCount(total) && total >= done ? { done, total } : { done }
}

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0

const statusUnknown = ({ error }: Pick<StepFailure, 'error'>): StatusUnknown => ({ _tag: 'Unknown', error })

const NO_JOB = Failure.permanent(
  StepError.make('NoJob', 'the step has no job any more; restore the job, or run from that step')
)

const STEP_UNFINISHED = Failure.transient(
  StepError.make('EarlierStepUnfinished', 'an earlier step is unfinished; resume the run first')
)

const NO_STATUS = Failure.permanent(
  StepError.make(
    'NoStatus',
    'poll must return an object whose _tag is Unfinished, Finished, Failed or Missing, such as { _tag: "Finished" }'
  )
)

const MISSING = Failure.permanent(StepError.make('JobMissing', 'its job is missing', { code: 'JOB_MISSING' }))

const taskAt = ({ program, recorder }: RunScope, decision: Decision | undefined): JobToPoll['task'] | undefined => {
  if (decision === undefined) return undefined
  const { items } = recorder.checkpoint()
  const task = find<ProgramStep>(program, items, decision.unit, decision.stepIndex)?.definition
  return task?._tag !== 'Task' || task.job === undefined ? undefined : (task as JobToPoll['task'])
}

/** Collects the result of a job. A failed check or a permanent failure fails the job; after any other failure, the next poll collects again. */
const collect = async (scope: RunScope, toPoll: JobToPoll): Promise<JobEnd | 'stopped'> => {
  const { job, task, place } = toPoll
  const collecting = { checks: task.job.checks, encode: task.encode }
  for (;;) {
    const returned = await callJobCode(scope, toPoll, collecting, task.job.collect)
    // Without `job`: this is the output of the step, not the handle that `submit` returns.
    const collected = redacted(scope.environment, { ...task, job: undefined }, returned)
    if (collected._tag === 'Stopped' || collected._tag === 'Suspended') return 'stopped'
    if (collected._tag === 'Failed') {
      if (collected.again === true) continue
      return maySucceedLater(collected.failure)
        ? statusUnknown(collected.failure)
        : failed(scope, job, collected.failure)
    }
    const [startedAt, endedAt] = [Date.parse(job.submittedAt), scope.environment.clock.now()]
    const result = { attempt: job.attempt ?? 1, startedAt, endedAt }
    stageCompleted(scope, place, unitCompleted(place.unit, result, { ...collected, captured: task.captures }))
    return { _tag: 'Collected' }
  }
}

/** Returns whether collecting or checking may succeed later. A failed check has judged the result, also if its failure is transient. */
const maySucceedLater = ({ _tag, error }: StepFailure): boolean =>
  error.name === 'TreeUnreadable' || (_tag === 'Transient' && error.name !== 'CheckFailed')

const failed = (
  { recorder, environment }: RunScope,
  { unit }: PendingJob,
  { _tag, error, outcome }: StepFailure
): JobEnd => {
  const at = timestamp(environment.clock.now())
  recorder.stage([{ _tag: 'JobEnded', at, unit, error, outcome, retryable: _tag === 'Transient' }])
  return { _tag: 'Failed', error }
}

/** The result of a poll is not stored, and no checks run. */
const POLLING: Pick<ProgramTask, 'checks' | 'encode'> = { checks: undefined, encode: E.right as ProgramTask['encode'] }

/** Calls `poll` or `collect` of a task, as an attempt of the task. */
const callJobCode = async (
  scope: RunScope,
  { job, task, place }: JobToPoll,
  judged: Pick<ProgramTask, 'checks' | 'encode'>,
  work: (context: StepContext<unknown, unknown> & ForJob) => ReturnType<ProgramTask['run']>
): Promise<AttemptResult> => {
  const handle: Json = job.job === undefined ? null : structuredClone(job.job)
  const folder = task.workspace === undefined ? {} : ({ workspace: 'kept' } as const)
  const run: ProgramTask['run'] = (context) =>
    work(
      Object.defineProperties(context, {
        job: { value: handle, enumerable: true },
        step: { value: NO_CALLS.step, enumerable: true },
        sleep: { value: NO_CALLS.sleep, enumerable: true },
        waitFor: { value: NO_CALLS.waitFor, enumerable: true }
      }) as StepContext<unknown, unknown> & ForJob
    )
  const step = { ...task, ...judged, ...folder, run, job: undefined }
  return await runAttempt(scope, { place, step, stopping: scope.stopping }, job.attempt ?? 1)
}
