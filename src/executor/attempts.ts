/**
 * One task, from its first attempt to its last: timeouts, retries, stops.
 *
 * @since 0.1.0
 */
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import type { Json } from '../domain/Json.js'
import { delay } from '../domain/RetryPolicy.js'
import * as StepError from '../domain/StepError.js'
import type { StepFailure } from '../domain/StepFailure.js'
import * as Failure from '../domain/StepFailure.js'
import type { TransitionError } from '../domain/Transition.js'
import type { StorageError } from '../ports/CheckpointStorage.js'
import type { Clock } from '../ports/Clock.js'
import { attemptFailed, attemptsStart } from './changes.js'
import { onAbort } from './onAbort.js'
import type { ProgramTask } from './Program.js'
import type { Session, TaskResult } from './Session.js'
import { contextFor } from './Session.js'
import type { Place } from './Values.js'

// ---------------------------------------------------------------------------------------------------------------------
// model
// ---------------------------------------------------------------------------------------------------------------------

/** How one attempt ended. */
type AttemptResult =
  | { readonly _tag: 'Done'; readonly output: Json | undefined }
  | { readonly _tag: 'Failed'; readonly failure: StepFailure; readonly settled: boolean }
  | { readonly _tag: 'Stopped' }

// ---------------------------------------------------------------------------------------------------------------------
// attempts
// ---------------------------------------------------------------------------------------------------------------------

/**
 * Runs a task whose attempt `first` is durably started. Further attempts are made durable here, each before it starts.
 *
 * @category effects
 * @since 0.1.0
 */
export const runAttempts = async (
  session: Session,
  place: Place,
  task: ProgramTask,
  first: number,
  stopping: AbortSignal
): Promise<E.Either<StorageError | TransitionError, TaskResult>> => {
  const { clock, random } = session.environment
  const begunAt = clock.now()
  for (let attempt = first; ; attempt++) {
    const startedAt = attempt === first ? begunAt : clock.now()
    const result = await runAttempt(session, place, task, attempt, stopping)
    const endedAt = clock.now()
    if (result._tag === 'Stopped') return E.right(result)
    if (result._tag === 'Done') return E.right({ ...result, attempt, startedAt, endedAt })
    const { failure } = result
    const wait = mayRetry(task, failure, result.settled)
      ? delay(task.retry, { attempt, elapsedMillis: endedAt - begunAt, random: random() })
      : O.none
    if (O.isNone(wait)) return E.right({ _tag: 'Failed', failure, attempt, startedAt, endedAt })
    const ended = { attempt, startedAt, endedAt }
    const saved = await session.recorder.record([attemptFailed(place, failure, ended, wait.value)])()
    if (E.isLeft(saved)) return saved
    await pause(clock, wait.value, stopping)
    if (stopping.aborted) return E.right({ _tag: 'Stopped' })
    const next = { ...(place.group === undefined ? {} : { group: place.group }), attempt: attempt + 1 }
    const started = await session.recorder.record([attemptsStart(session, place, [next])])()
    if (E.isLeft(started)) return started
    if (stopping.aborted) return E.right({ _tag: 'Stopped' })
  }
}

/** Waits, or until work is to stop. */
const pause = async (clock: Clock, millis: number, stopping: AbortSignal): Promise<void> => {
  const waking = new AbortController()
  const ignore = onAbort(stopping, () => waking.abort())
  await clock.sleep(millis, waking.signal)()
  ignore()
}

/** What is not idempotent is tried again only if the failed attempt is known to have done nothing. */
const mayRetry = (task: ProgramTask, failure: StepFailure, settled: boolean): boolean =>
  settled && failure._tag === 'Transient' && (task.idempotent || failure.outcome === 'notApplied')

// ---------------------------------------------------------------------------------------------------------------------
// one attempt
// ---------------------------------------------------------------------------------------------------------------------

const runAttempt = async (
  session: Session,
  place: Place,
  task: ProgramTask,
  attempt: number,
  stopping: AbortSignal
): Promise<AttemptResult> => {
  if (stopping.aborted) return { _tag: 'Stopped' }
  const { clock, graceMillis } = session.environment
  const { timeoutMillis } = task
  const leash = makeLeash()
  let timers: AbortController | undefined
  const after = (millis: number, then: () => void): void => {
    const { signal } = (timers ??= new AbortController())
    void clock
      .sleep(millis, signal)()
      .then(() => (signal.aborted ? undefined : then()))
  }
  let timedOut = false
  let giveUp: () => void = () => undefined
  const tell = (reason: unknown): void => {
    leash.pull(reason)
    after(graceMillis, giveUp)
  }
  const ignore = onAbort(stopping, () => tell(stopping.reason))
  const ended = await new Promise<Settled>((resolve) => {
    giveUp = () => resolve({ _tag: 'GivenUp' })
    if (timeoutMillis !== undefined) {
      after(timeoutMillis, () => {
        timedOut = true
        tell(new DOMException(`timed out after ${timeoutMillis} ms`, 'TimeoutError'))
      })
    }
    void settle(task, contextFor(session, place, attempt, leash.signal), resolve)
  })
  ignore()
  timers?.abort()
  return judge(task, ended, { timedOut, stopped: stopping.aborted })
}

/** A signal of its own for each attempt, made when the attempt first looks at it: most never do, and it is not cheap. */
const makeLeash = (): { readonly signal: () => AbortSignal; readonly pull: (reason: unknown) => void } => {
  let controller: AbortController | undefined
  let pulled: { readonly reason: unknown } | undefined
  return {
    signal: () => {
      controller ??= new AbortController()
      if (pulled !== undefined) controller.abort(pulled.reason)
      return controller.signal
    },
    pull: (reason) => {
      pulled ??= { reason }
      controller?.abort(pulled.reason)
    }
  }
}

/** What the work gave: a value, an error, or nothing within the grace after it was told to stop. */
type Settled =
  | { readonly _tag: 'Value'; readonly value: unknown }
  | { readonly _tag: 'Error'; readonly error: unknown }
  | { readonly _tag: 'GivenUp' }

/** Runs the task's own code and takes whatever comes of it, thrown or returned. */
const settle = async (
  task: ProgramTask,
  context: Parameters<ProgramTask['run']>[0],
  done: (settled: Settled) => void
): Promise<void> => {
  try {
    const result = await task.run(context)()
    done(E.isRight(result) ? { _tag: 'Value', value: result.right } : { _tag: 'Error', error: result.left })
  } catch (error) {
    done({ _tag: 'Error', error })
  }
}

/** Work that ended well counts, even if it was told to stop; what failed after that was stopped, not wrong. */
const judge = (
  task: ProgramTask,
  ended: Settled,
  told: { readonly timedOut: boolean; readonly stopped: boolean }
): AttemptResult => {
  if (ended._tag === 'Value') return keep(task, ended.value)
  if (told.timedOut) {
    const error = StepError.make('TimeoutError', `timed out after ${task.timeoutMillis} ms`, { code: 'TIMEOUT' })
    return { _tag: 'Failed', failure: Failure.transient(error), settled: ended._tag !== 'GivenUp' }
  }
  if (told.stopped || ended._tag === 'GivenUp') return { _tag: 'Stopped' }
  return { _tag: 'Failed', failure: Failure.fromUnknown(ended.error), settled: true }
}

/** An output that can't be kept is the step's failure: it ran, so its outcome is unknown. */
const keep = (task: ProgramTask, value: unknown): AttemptResult => {
  const encoded = task.encode(value)
  if (E.isRight(encoded)) return { _tag: 'Done', output: encoded.right }
  const error = StepError.make(
    'OutputNotStorable',
    `the output at ${encoded.left.path} is not ${encoded.left.expected}`,
    { code: 'OUTPUT_NOT_STORABLE' }
  )
  return { _tag: 'Failed', failure: Failure.permanent(error), settled: true }
}
