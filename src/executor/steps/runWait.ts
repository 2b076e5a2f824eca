/** A unit that only waits, as a step of its own. */
import * as E from 'fp-ts/lib/Either.js'
import type { JobEnded } from '../../domain/change/Change.js'
import type { GivenAnswer, PendingWait } from '../../domain/checkpoint/Pending.js'
import * as Redaction from '../../domain/data/Redaction.js'
import type { Awaits } from '../program/awaits.js'
import { taskCompleted } from '../storage/changes.js'
import { endFailed } from './ends.js'
import type { ProgramTask } from '../program/Program.js'
import type { RecordError } from '../storage/Recorder.js'
import type { DueStep, RunScope, StepEnd } from '../RunScope.js'
import { report, timestamp } from '../RunScope.js'
import { endOfWait, restarted, timeout, waitOf } from './waits.js'

/** Starts a wait, or ends it: with the answer that is recorded, at its time, or as failed if nobody answered in time. */
export const runWait = async (
  scope: RunScope,
  { place, step: task }: DueStep<ProgramTask>,
  awaits: Awaits
): Promise<E.Either<RecordError, StepEnd>> => {
  const { recorder, environment } = scope
  const { unit } = place
  const now = environment.clock.now()
  const at = timestamp(now)
  if (waitOf(recorder.checkpoint(), unit) === undefined)
    recorder.stage([{ _tag: 'WaitStarted', at, unit, wait: awaits(now) }])
  const wait = waitOf(recorder.checkpoint(), unit)
  // What could not be staged is reported by the commit.
  if (wait === undefined) return await endFailed(scope, [], false)
  const end = endOfWait(recorder.checkpoint(), wait, now)
  const startedAt = Date.parse(wait.startedAt)
  const completed = (output: GivenAnswer['value'] | undefined): E.Either<never, StepEnd> => {
    const result = { _tag: 'Done', output, evidence: [], attempt: 1, startedAt, endedAt: now } as const
    recorder.stage([taskCompleted(scope, place, task, result)])
    return E.right({ _tag: 'Done' })
  }
  switch (end._tag) {
    case 'Waits':
      return E.right({ _tag: 'Pending' })
    case 'Woken':
      return completed(undefined)
    case 'TimedOut':
      return await endFailed(scope, [timedOut(wait, at)], false)
    case 'Answered': {
      const { by } = end.answer
      const value = Redaction.json(environment.vault.redaction, end.answer.value)
      const fits = task.accepts(value)
      if (E.isRight(fits)) return completed(value)
      recorder.stage([{ _tag: 'WaitStarted', at, unit, wait: restarted(wait) }])
      const { runId } = recorder.checkpoint()
      report(environment, { _tag: 'AnswerRejected', runId, ...place, by, ...fits.left })
      return E.right({ _tag: 'Pending' })
    }
  }
}

const timedOut = (wait: PendingWait, at: string): JobEnded => {
  const { unit, retryable, last } = timeout(wait, at)
  return { _tag: 'JobEnded', at, unit, error: last.error, outcome: last.outcome, retryable }
}
