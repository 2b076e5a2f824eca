/** Runs the attempts of a task: timeouts, retries, stops. */
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import { failures } from '../../domain/checkpoint/CheckpointState.js'
import type { Evidence } from '../../domain/checkpoint/CompletedStep.js'
import type { RetryPolicy } from '../../domain/workflow/RetryPolicy.js'
import { delay } from '../../domain/workflow/RetryPolicy.js'
import type { Json } from '../../domain/data/Json.js'
import * as StepError from '../../domain/data/StepError.js'
import type { StepFailure } from '../../domain/data/StepFailure.js'
import * as Failure from '../../domain/data/StepFailure.js'
import type { OutputMismatch } from '../../domain/workflow/Workflow.js'
import type { TransitionError } from '../../domain/change/Transition.js'
import type { StorageError } from '../../ports/CheckpointStorage.js'
import type { Attempt } from './Attempt.js'
import type { AttemptResult, CodeEnd } from './AttemptResult.js'
import { judge, mayRetry, redacted } from './AttemptResult.js'
import { begin } from './Attempt.js'
import { attemptFailed, attemptsStart, subStepsUndone } from '../storage/changes.js'
import { toJson } from '../program/conversions.js'
import { CHECK_FAILED, guarded, NOT_STARTED } from './guarded.js'
import type { ProgramTask } from '../program/Program.js'
import type { AttemptTimes, RunScope, TaskResult } from '../RunScope.js'
import { contextFor, report } from '../RunScope.js'
import type { Place } from '../Values.js'
import { sleepUnless } from '../sleep.js'
import type { Closed } from '../subSteps/subSteps.js'
import { settledIn } from '../subSteps/subStepVersions.js'
import { subStepsOfAttempt } from '../subSteps/subSteps.js'
import { ownPlace, seenFrom } from '../workspace/workspace.js'
import { get } from '../../domain/checkpoint/Units.js'

/** The first attempt is durably started. Later ones are made durable here, each before it starts. */
export const runAttempts = async (
  scope: RunScope,
  place: Place,
  task: ProgramTask,
  first: number,
  stopping: AbortSignal
): Promise<E.Either<StorageError | TransitionError, TaskResult>> => {
  const { clock, random } = scope.environment
  let begunAt = first === 1 ? undefined : begunBefore(scope, place)
  for (let attempt = first; ; attempt++) {
    const startedAt = clock.now()
    begunAt ??= startedAt
    const result = redacted(scope.environment, task, await runAttempt(scope, place, task, attempt, stopping))
    const ended = { attempt, startedAt, endedAt: clock.now() }
    if (result._tag === 'Done') return E.right({ ...result, ...ended })
    if (result._tag === 'Suspended') return E.right(result)
    if (result._tag === 'Stopped') return E.right(stopped(result.failure, ended))
    const { failure } = result
    const retry = retryOf(task, failure)
    const wait =
      result.again === true
        ? AT_ONCE
        : mayRetry(result, task.idempotent)
          ? delay(retry, { attempt, elapsedMillis: ended.endedAt - begunAt, random: random() })
          : O.none
    if (O.isNone(wait)) return E.right({ _tag: 'Failed', failure, ...ended })
    scope.recorder.stage([attemptFailed(place, failure, ended, wait.value)])
    const saved = await scope.recorder.commit()
    if (E.isLeft(saved)) return saved
    tellOfRetry(scope, place, retry, failure, attempt, wait.value)
    await sleepUnless(clock, wait.value, stopping)
    if (stopping.aborted) return E.right({ _tag: 'Stopped' })
    const { unit } = place
    const next = { unit, attempt: attempt + 1 }
    scope.recorder.stage([attemptsStart(scope, [next], task.job === undefined ? [] : [unit])])
    const started = await scope.recorder.commit()
    if (E.isLeft(started)) return started
  }
}

const AT_ONCE = O.some(0)

/** The retry policy: the task's own, or the guard's if a check failed. */
const retryOf = ({ guard, retry }: ProgramTask, { error }: StepFailure): RetryPolicy =>
  guard !== undefined && error.code === CHECK_FAILED ? guard.retry : retry

const tellOfRetry = (
  { environment, recorder }: RunScope,
  place: Place,
  { attempts }: RetryPolicy,
  { error }: StepFailure,
  attempt: number,
  delayMillis: number
): void => {
  const { runId } = recorder.checkpoint()
  report(environment, { _tag: 'StepRetrying', runId, ...place, attempt, maxAttempts: attempts, delayMillis, error })
}

const stopped = (failure: StepFailure | undefined, ended: AttemptTimes): TaskResult =>
  failure === undefined ? { _tag: 'Stopped' } : { _tag: 'Stopped', failed: { failure, ...ended } }

/** The start of a first attempt in another process: `withinMillis` counts from there. */
const begunBefore = ({ recorder }: RunScope, place: Place): number | undefined => {
  const [oldest] = get(failures(recorder.checkpoint().state), place.unit)?.attempts ?? []
  return oldest === undefined ? undefined : Date.parse(oldest.startedAt)
}

/** Runs a task's code once, and stops waiting when the grace after a stop or timeout is over. */
export const runAttempt = async (
  scope: RunScope,
  place: Place,
  task: ProgramTask,
  number: number,
  stopping: AbortSignal
): Promise<AttemptResult> => {
  if (stopping.aborted) return { _tag: 'Stopped', failure: NOT_STARTED }
  const own = task.workspace === undefined ? undefined : await ownPlace(scope, place, task.workspace)
  if (own !== undefined && E.isLeft(own)) return { _tag: 'Failed', failure: own.left, settled: true }
  const { clock, graceMillis } = scope.environment
  const limits = { stopping, timeoutMillis: task.timeoutMillis, graceMillis }
  const { promise, resolve } = settling()
  const attempt = begin(clock, number, limits, () => resolve({ _tag: 'GraceExpired' }))
  const suspend = (): void => resolve({ _tag: 'Suspended' })
  const calls = subStepsOfAttempt(scope, place, task.idempotent, attempt, suspend)
  const context = contextFor(scope, place, attempt, { own: own?.right.folder, calls })
  void callTask(own?.right.scope ?? scope, place, task, context, attempt.outsideTimeout, resolve)
  const ended = await promise
  const closing = calls.close()
  const { left: open, waits, dropped, refused, isOverrun } = closing === undefined ? NOTHING_LEFT : await closing
  if (ended._tag === 'Suspended' && refused === undefined) {
    attempt.suspend()
    scope.interruptedUnits.add(place.unit)
    return { _tag: 'Suspended', waits, ...(dropped.length === 0 ? {} : { dropped }) }
  }
  attempt.end()
  const encode = (value: unknown): E.Either<StepFailure, Json | undefined> =>
    E.mapLeft(notStorable)(encodeOf(task)(value))
  const judged = judge(ended._tag === 'Suspended' ? REFUSED : ended, attempt, {
    timeoutMillis: task.timeoutMillis,
    refused,
    open,
    encode
  })
  // Its code may have caught the stop of a sub-step.
  if (judged._tag === 'Done' && closing !== undefined) scope.recorder.stage(subStepsUndone(scope, place.unit))
  return judged._tag === 'Failed' ? settledIn(scope, place, place.unit, judged, isOverrun) : judged
}

/** The code still waits although its attempt was refused. */
const REFUSED: CodeEnd = { _tag: 'Error', error: undefined }

const NOTHING_LEFT: Closed = { left: [], waits: [], dropped: [], refused: undefined, isOverrun: false }

/** A submission returns a job, which is recorded unchanged. */
const encodeOf = ({ job, encode }: ProgramTask): ProgramTask['encode'] => (job === undefined ? encode : toJson)

/** The step ran, so its outcome is unknown. */
const notStorable = ({ path, expected }: OutputMismatch): StepFailure =>
  Failure.permanent(
    StepError.make('OutputNotStorable', `the output at ${path} must be ${expected}`, { code: 'OUTPUT_NOT_STORABLE' })
  )

const settling = (): { readonly promise: Promise<Settled>; readonly resolve: (settled: Settled) => void } => {
  let resolve: (settled: Settled) => void = () => undefined
  const promise = new Promise<Settled>((settle) => (resolve = settle))
  return { promise, resolve }
}

type Settled = CodeEnd | { readonly _tag: 'Suspended' }

/** Catches what the task's code throws. */
const callTask = async (
  scope: RunScope,
  place: Place,
  task: ProgramTask,
  context: Parameters<ProgramTask['run']>[0],
  outsideTimeout: Attempt['outsideTimeout'],
  done: (settled: Settled) => void
): Promise<void> => {
  const { guard } = task
  try {
    if (guard !== undefined) {
      const ended = await guarded(scope, place, guard, context, () => task.run(context)(), outsideTimeout)
      const { folder } = context
      const isElsewhere = task.workspace !== undefined && folder !== undefined && ended._tag === 'Value'
      return done(isElsewhere ? { ...ended, evidence: seenFrom(folder, ended.evidence) } : ended)
    }
    const result = await task.run(context)()
    done(
      E.isRight(result)
        ? { _tag: 'Value', value: result.right, evidence: NO_EVIDENCE }
        : { _tag: 'Error', error: result.left }
    )
  } catch (error) {
    done({ _tag: 'Error', error })
  }
}

const NO_EVIDENCE: ReadonlyArray<Evidence> = []
