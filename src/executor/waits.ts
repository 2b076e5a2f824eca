/**
 * Waits: units that run nothing, until a time comes or somebody answers.
 *
 * @since 0.1.0
 */
import * as E from 'fp-ts/lib/Either.js'
import type { JobEnded } from '../domain/Change.js'
import type { Checkpoint } from '../domain/Checkpoint.js'
import type { GivenAnswer, PendingWait, Wait } from '../domain/Pending.js'
import { endOf, find } from '../domain/Pending.js'
import * as StepError from '../domain/StepError.js'
import type { Unit } from '../domain/Unit.js'
import { ancestors } from '../domain/Unit.js'
import type { Awaits } from './awaits.js'
import { taskCompleted } from './changes.js'
import type { ProgramTask } from './Program.js'
import type { RecordError } from './Recorder.js'
import type { DueStep, RunScope, StepEnd } from './RunScope.js'
import { report, timestamp } from './RunScope.js'

// ---------------------------------------------------------------------------------------------------------------------
// waking
// ---------------------------------------------------------------------------------------------------------------------

/** The waits that are over, because their time has come or an answer is recorded, and the units around them. */
export const awakeIn = ({ pending, answers }: Checkpoint, now: number): Set<Unit> => {
  const awake = new Set<Unit>()
  if (pending.length === 0) return awake
  const [time, answered] = [timestamp(now), new Set(answers.map(({ unit }) => unit))]
  for (const one of pending) {
    const end = endOf(one)
    if ((end === undefined || end > time) && !answered.has(one.unit)) continue
    awake.add(one.unit)
    for (const above of ancestors(one.unit)) awake.add(above)
  }
  return awake
}

// ---------------------------------------------------------------------------------------------------------------------
// waiting
// ---------------------------------------------------------------------------------------------------------------------

/** How a wait stands now. */
export type WaitEnd =
  { readonly _tag: 'Waits' | 'Woken' | 'TimedOut' } | { readonly _tag: 'Answered'; readonly answer: GivenAnswer }

export const endOfWait = ({ answers }: Checkpoint, wait: PendingWait, now: number): WaitEnd => {
  const answer = wait._tag === 'Answer' ? find(answers, wait.unit) : undefined
  if (answer !== undefined) return { _tag: 'Answered', answer }
  const end = endOf(wait)
  if (end === undefined || end > timestamp(now)) return { _tag: 'Waits' }
  return { _tag: wait._tag === 'Timer' ? 'Woken' : 'TimedOut' }
}

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
  if (wait === undefined) return await failedWith(scope)
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
      recorder.stage([timedOut(wait, at)])
      return await failedWith(scope)
    case 'Answered': {
      const { value, by } = end.answer
      const fits = task.accepts(value)
      if (E.isRight(fits)) return completed(value)
      recorder.stage([{ _tag: 'WaitStarted', at, unit, wait: withoutUnit(wait) }])
      const { runId } = recorder.checkpoint()
      report(environment, { _tag: 'AnswerRejected', runId, ...place, by, ...fits.left })
      return E.right({ _tag: 'Pending' })
    }
  }
}

const failedWith = async ({ recorder }: RunScope): Promise<E.Either<RecordError, StepEnd>> => {
  const saved = await recorder.commit()
  return E.isLeft(saved) ? saved : E.right({ _tag: 'Failed', retryable: false })
}

/** The wait of a unit, if it has started. */
export const waitOf = ({ pending }: Checkpoint, unit: Unit): PendingWait | undefined => {
  const found = find(pending, unit)
  return found?._tag === 'Job' ? undefined : found
}

/** The same wait from now on: an answer did not fit. Its time limit stays. */
export const withoutUnit = ({ unit: _, startedAt: __, ...wait }: PendingWait): Wait => wait

const timedOut = ({ unit, startedAt }: PendingWait, at: string): JobEnded => ({
  _tag: 'JobEnded',
  at,
  unit,
  error: StepError.make('WaitTimeout', `nobody answered since ${startedAt}`, { code: 'WAIT_TIMEOUT' }),
  outcome: 'notApplied',
  retryable: false
})
