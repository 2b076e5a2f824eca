/** Runs a task and records its start, its attempts and its end. */
import * as E from 'fp-ts/lib/Either.js'
import { runAttempts } from './attempts.js'
import {
  nextAttempt,
  attemptsStart,
  jobSubmitted,
  stageCompleted,
  taskFailed,
  taskStopped,
  taskSuspended,
  unitCompleted
} from '../storage/changes.js'
import { endFailed } from './ends.js'
import type { ProgramStep, ProgramTask } from '../program/Program.js'
import type { RecordError } from '../storage/Recorder.js'
import type { DueStep, RunScope, StepEnd } from '../RunScope.js'

export const hasCode = <S extends ProgramStep>(step: S): step is S & ProgramTask =>
  step._tag === 'Task' && (step.awaits === undefined || E.isLeft(step.awaits))

export const runTask = async (scope: RunScope, due: DueStep<ProgramTask>): Promise<E.Either<RecordError, StepEnd>> => {
  const { recorder } = scope
  const { place, step: task, node } = due
  const { unit } = place
  const attempt = nextAttempt(scope, node.decision)
  recorder.stage([attemptsStart(scope, [{ unit, attempt }], task.job === undefined ? [] : [unit])])
  const started = await recorder.commit()
  if (E.isLeft(started)) return started
  const ended = await runStarted(scope, due, attempt)
  return E.isRight(ended) && ended.right._tag === 'Failed' ? await endFailed(scope, [], ended.right.retryable) : ended
}

/** Runs a task whose start is recorded, and stages its end. */
export const runStarted = async (
  scope: RunScope,
  { place, step: task, stopping }: DueStep<ProgramTask>,
  attempt: number
): Promise<E.Either<RecordError, StepEnd>> => {
  const { recorder } = scope
  const result = await runAttempts(scope, place, task, attempt, stopping)
  if (E.isLeft(result)) return result
  const ended = result.right
  switch (ended._tag) {
    case 'Stopped':
      recorder.stage(taskStopped(scope, place, task, ended))
      return E.right({ _tag: 'Stopped' })
    case 'Suspended':
      recorder.stage([taskSuspended(scope, place.unit, ended)])
      return E.right({ _tag: 'Pending' })
    case 'Done':
      if (task.job !== undefined) {
        recorder.stage([jobSubmitted(place, ended)])
        return E.right({ _tag: 'Pending' })
      }
      stageCompleted(scope, place, unitCompleted(place.unit, ended, { ...ended, captured: task.captures }))
      return E.right({ _tag: 'Done' })
    case 'Failed':
      recorder.stage([taskFailed(place.unit, ended)])
      return E.right({ _tag: 'Failed', retryable: ended.failure._tag === 'Transient' })
  }
}
