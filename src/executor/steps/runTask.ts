/** Runs a task: records its start, its attempts and its end. */
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import { failures } from '../../domain/checkpoint/CheckpointState.js'
import { get } from '../../domain/checkpoint/Units.js'
import type { StepFailure } from '../../domain/data/StepFailure.js'
import type { RetryPolicy } from '../../domain/workflow/RetryPolicy.js'
import type { AttemptResult } from './AttemptResult.js'
import { nextDelay, redacted } from './AttemptResult.js'
import type { Running, RawEnd } from './runAttempt.js'
import { conclude, start } from './runAttempt.js'
import {
  attemptFailed,
  attemptsStarted,
  droppedWaits,
  jobSubmitted,
  nextAttempt,
  stageCompleted,
  unitFailed,
  taskStopped,
  taskSuspended,
  unitCompleted
} from '../storage/changes.js'
import { endFailed } from './endFailed.js'
import { CHECK_FAILED } from './unitChecks.js'
import type { ProgramTask } from '../program/Program.js'
import type { Ending, AttemptTimes, StepToRun, RunScope, StepEnd } from '../RunScope.js'
import { report } from '../RunScope.js'
import { sleepUnless } from '../sleep.js'
import type { Place } from '../Values.js'

export const runTask = async (scope: RunScope, toRun: StepToRun<ProgramTask>): Promise<Ending> => {
  const { recorder } = scope
  const { place, step: task, node } = toRun
  const attempt = nextAttempt(scope, node.decision)
  recorder.stage([attemptsStarted(scope, [{ unit: place.unit, attempt, job: task.job }])])
  const started = await recorder.commit()
  if (E.isLeft(started)) return started
  const ended = await new Promise<Ending>((resolve) => runStarted(scope, toRun, attempt, resolve))
  return E.isRight(ended) && ended.right._tag === 'Failed' ? await endFailed(scope, [], ended.right.retryable) : ended
}

/** A task whose start is recorded. Later attempts are recorded, each before it starts. */
interface TaskRun extends Running<TaskRun> {
  readonly toRun: StepToRun<ProgramTask>
  readonly done: (ending: Ending | Promise<Ending>) => void
  readonly startedAt: number
  /** The start of the first attempt, from which `withinMillis` counts. */
  readonly firstStartedAt: number
}

/** Runs a task whose start is recorded, stages its end, and calls `done`. */
export const runStarted = (
  scope: RunScope,
  toRun: StepToRun<ProgramTask>,
  number: number,
  done: TaskRun['done'],
  firstStartedAt = number === 1 ? undefined : firstStartBefore(scope, toRun.place)
): void => {
  const startedAt = scope.environment.clock.now()
  const run: TaskRun = {
    scope,
    toRun,
    number,
    onEnd,
    calls: undefined,
    done,
    startedAt,
    firstStartedAt: firstStartedAt ?? startedAt
  }
  start(run)
}

const onEnd = (run: TaskRun, settled: RawEnd): void =>
  void afterAttempt(run, settled).catch((bug: unknown) => run.done(Promise.reject(bug as Error)))

const afterAttempt = async (run: TaskRun, settled: RawEnd): Promise<void> => {
  const { scope, toRun, number: attempt, startedAt, firstStartedAt, done } = run
  const { place, step: task, stopping } = toRun
  const { environment, recorder } = scope
  const result = redacted(environment, task, await conclude(run, settled))
  const times = { attempt, startedAt, endedAt: environment.clock.now() }
  const end = (how: AttemptResult): void => done(E.right(stageEnd(scope, toRun, how, times)))
  if (result._tag !== 'Failed') return end(result)
  const { failure } = result
  const retry = retryOf(task, failure)
  const { idempotent } = task
  const wait = nextDelay(scope, place.unit, result, times, { retry, idempotent, firstStartedAt })
  if (O.isNone(wait)) return end(result)
  recorder.stage([{ ...attemptFailed(place.unit, failure, times, wait.value), ...droppedWaits(scope, place.unit) }])
  const saved = await recorder.commit()
  if (E.isLeft(saved)) return done(saved)
  const { runId } = saved.right
  const again = { attempt, maxAttempts: retry.attempts, delayMillis: wait.value }
  report(environment, { _tag: 'StepRetrying', runId, ...place, ...again, error: failure.error })
  await sleepUnless(environment.clock, wait.value, stopping)
  if (stopping.aborted) return end({ _tag: 'Stopped', failure: undefined })
  recorder.stage([attemptsStarted(scope, [{ unit: place.unit, attempt: attempt + 1, job: task.job }])])
  const started = await recorder.commit()
  return E.isLeft(started) ? done(started) : runStarted(scope, toRun, attempt + 1, done, firstStartedAt)
}

const stageEnd = (
  scope: RunScope,
  { place, step: task }: StepToRun<ProgramTask>,
  result: AttemptResult,
  times: AttemptTimes
): StepEnd => {
  const { recorder } = scope
  const { unit } = place
  switch (result._tag) {
    case 'Stopped':
      recorder.stage(taskStopped(scope, place, task, result.failure, times))
      return { _tag: 'Stopped' }
    case 'Suspended':
      recorder.stage([taskSuspended(scope, unit, result)])
      return { _tag: 'Pending' }
    case 'Done':
      if (task.job !== undefined) {
        recorder.stage([jobSubmitted(unit, result.output, times)])
        return { _tag: 'Pending' }
      }
      stageCompleted(scope, place, unitCompleted(unit, times, { ...result, captured: task.captures }))
      return { _tag: 'Done' }
    case 'Failed':
      recorder.stage([{ ...unitFailed(unit, result.failure, times), ...droppedWaits(scope, unit) }])
      return { _tag: 'Failed', retryable: result.failure._tag === 'Transient' }
  }
}

/** Returns the retry policy of the checks if a check failed, else that of the task. */
const retryOf = ({ checks, retry }: ProgramTask, { error }: StepFailure): RetryPolicy =>
  checks !== undefined && error.code === CHECK_FAILED ? checks.retry : retry

/** Returns the recorded start of the first attempt, which an earlier process may have made. */
const firstStartBefore = ({ recorder }: RunScope, place: Place): number | undefined => {
  const [oldest] = get(failures(recorder.checkpoint().state), place.unit)?.attempts ?? []
  return oldest === undefined ? undefined : Date.parse(oldest.startedAt)
}
