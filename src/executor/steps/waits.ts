/** Runs units that only wait, and decides whether a wait is over: by time or by answer. */
import * as E from 'fp-ts/lib/Either.js'
import type { Checkpoint } from '../../domain/checkpoint/Checkpoint.js'
import { overAt, WAIT_TIMEOUT } from '../../domain/checkpoint/Due.js'
import type { PendingWait } from '../../domain/checkpoint/Pending.js'
import { endOf, waitOf } from '../../domain/checkpoint/Pending.js'
import { cut } from '../../domain/data/Cut.js'
import type { Json } from '../../domain/data/Json.js'
import * as Redaction from '../../domain/data/Redaction.js'
import * as StepError from '../../domain/data/StepError.js'
import type { Unit } from '../../domain/workflow/Unit.js'
import { ancestors } from '../../domain/workflow/Unit.js'
import { get, has } from '../../domain/checkpoint/Units.js'
import type { StartWait } from '../program/awaits.js'
import type { ProgramTask } from '../program/Program.js'
import type { Ending, RunScope, StepToRun } from '../RunScope.js'
import { report, timestamp } from '../RunScope.js'
import { stageCompleted, unitCompleted } from '../storage/changes.js'
import type { Place } from '../Values.js'
import { endFailed } from './endFailed.js'

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

/** Starts a wait, or ends it: with the recorded answer, at its time, or as failed at its time limit. */
export const runWait = async (
  scope: RunScope,
  { place, step: task }: StepToRun<ProgramTask>,
  awaits: StartWait
): Promise<Ending> => {
  const { recorder, environment } = scope
  const { unit } = place
  const now = environment.clock.now()
  const at = timestamp(now)
  if (waitOf(recorder.checkpoint(), unit) === undefined)
    recorder.stage([{ _tag: 'WaitStarted', at, unit, wait: awaits(now) }])
  const wait = waitOf(recorder.checkpoint(), unit)
  // The change could not be staged: the commit fails and says why.
  if (wait === undefined) return await endFailed(scope, [], false)
  const end = endOfWait(scope, place, wait, task.accepts, now)
  switch (end._tag) {
    case 'Waits':
    case 'Rejected':
      return E.right({ _tag: 'Pending' })
    case 'TimedOut':
      return await endFailed(scope, [waitTimedOut(wait, at)], false)
    case 'Completed': {
      const { output } = end
      const times = { attempt: 1, startedAt: Date.parse(wait.startedAt), endedAt: now }
      stageCompleted(scope, place, unitCompleted(unit, times, { output, captured: task.captures }))
      return E.right({ _tag: 'Done' })
    }
  }
}

type WaitEnd =
  | { readonly _tag: 'Waits' | 'Rejected' | 'TimedOut' }
  | { readonly _tag: 'Completed'; readonly output: Json | undefined }

/** Returns how a wait ends now. A mismatching answer is reported as rejected, and the unit waits again, within the same time limit. */
export const endOfWait = (
  { recorder, environment, rejectedAnswers }: RunScope,
  place: Place,
  wait: PendingWait,
  accepts: ProgramTask['accepts'],
  now: number
): WaitEnd => {
  const { answers, runId } = recorder.checkpoint()
  const { unit, startedAt: _, ...again } = wait
  const answer = get(answers, wait.unit)
  const over = overAt(wait, answer !== undefined, timestamp(now))
  if (over === 'Answered' && answer !== undefined && again._tag === 'Answer') {
    const { redaction } = environment.vault
    const output = Redaction.json(redaction, answer.value)
    const fits = accepts(output)
    if (E.isRight(fits)) return { _tag: 'Completed', output }
    const expected = Redaction.text(redaction, fits.left.expected)
    // The path contains keys of the answer, which may be of any length.
    const path = Redaction.text(redaction, cut(fits.left.path, MAX_PATH))
    const why = { by: answer.by, path, expected }
    recorder.stage([{ _tag: 'WaitStarted', at: timestamp(now), unit, wait: { ...again, rejected: why } }])
    rejectedAnswers.set(unit, { path, expected })
    report(environment, { _tag: 'AnswerRejected', runId, ...place, ...why })
    return { _tag: 'Rejected' }
  }
  if (over === undefined) return { _tag: 'Waits' }
  return over === 'Due' ? { _tag: 'Completed', output: undefined } : { _tag: 'TimedOut' }
}

const MAX_PATH = 200

export const waitTimedOut = (wait: PendingWait, at: string) => ({
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
