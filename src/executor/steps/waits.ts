/** Decides whether waits are over: by time or by answer. */
import * as E from 'fp-ts/lib/Either.js'
import type { Checkpoint } from '../../domain/checkpoint/Checkpoint.js'
import { overAt, WAIT_TIMEOUT } from '../../domain/checkpoint/Due.js'
import type { PendingWait } from '../../domain/checkpoint/Pending.js'
import { endOf } from '../../domain/checkpoint/Pending.js'
import type { Json } from '../../domain/data/Json.js'
import * as Redaction from '../../domain/data/Redaction.js'
import * as StepError from '../../domain/data/StepError.js'
import type { Unit } from '../../domain/workflow/Unit.js'
import { ancestors } from '../../domain/workflow/Unit.js'
import { get, has } from '../../domain/checkpoint/Units.js'
import type { ProgramTask } from '../program/Program.js'
import type { RunScope } from '../RunScope.js'
import { report, timestamp } from '../RunScope.js'
import type { Place } from '../Values.js'

/** The waits that are over, and their ancestors. */
export const awakeIn = ({ pending, answers }: Checkpoint, now: number): Set<Unit> => {
  const awake = new Set<Unit>()
  const time = timestamp(now)
  for (const one of pending) {
    if (overAt(one, has(answers, one.unit), time) === undefined) continue
    awake.add(one.unit)
    for (const above of ancestors(one.unit)) awake.add(above)
  }
  return awake
}

export type WaitEnd =
  | { readonly _tag: 'Waits' | 'Rejected' | 'TimedOut' }
  | { readonly _tag: 'Completed'; readonly output: Json | undefined }

/** A mismatching answer is rejected: it is reported, and the wait starts again with its time limit. */
export const endOfWait = (
  { recorder, environment, rejected }: RunScope,
  place: Place,
  wait: PendingWait,
  accepts: ProgramTask['accepts'],
  now: number
): WaitEnd => {
  const { answers, runId } = recorder.checkpoint()
  const { unit, startedAt: _, ...again } = wait
  const answer = get(answers, wait.unit)
  const over = overAt(wait, answer !== undefined, timestamp(now))
  if (over === 'Answered' && answer !== undefined) {
    const output = Redaction.json(environment.vault.redaction, answer.value)
    const fits = accepts(output)
    if (E.isRight(fits)) return { _tag: 'Completed', output }
    recorder.stage([{ _tag: 'WaitStarted', at: timestamp(now), unit, wait: again }])
    rejected.set(unit, fits.left)
    report(environment, { _tag: 'AnswerRejected', runId, ...place, by: answer.by, ...fits.left })
    return { _tag: 'Rejected' }
  }
  if (over === undefined) return { _tag: 'Waits' }
  return over === 'Due' ? { _tag: 'Completed', output: undefined } : { _tag: 'TimedOut' }
}

export const timeout = (wait: PendingWait, at: string) => ({
  _tag: 'UnitFailed' as const,
  at,
  unit: wait.unit,
  retryable: false,
  last: {
    attempt: 1,
    startedAt: wait.startedAt,
    error: StepError.make(
      'WaitTimeout',
      `no answer came between ${wait.startedAt} and ${endOf(wait)}; resume to wait again`,
      {
        code: WAIT_TIMEOUT
      }
    ),
    outcome: 'notApplied' as const
  }
})
