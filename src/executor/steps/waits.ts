/** Whether waits are over: at their time, or because somebody answered. */
import type { Checkpoint } from '../../domain/checkpoint/Checkpoint.js'
import type { GivenAnswer, PendingWait, Wait } from '../../domain/checkpoint/Pending.js'
import { endOf } from '../../domain/checkpoint/Pending.js'
import * as StepError from '../../domain/data/StepError.js'
import type { Unit } from '../../domain/workflow/Unit.js'
import { ancestors } from '../../domain/workflow/Unit.js'
import { get, has } from '../../domain/data/Units.js'
import { timestamp } from '../RunScope.js'

/** The waits that are over, because their time has come or an answer is recorded, and the units around them. */
export const awakeIn = ({ pending, answers }: Checkpoint, now: number): Set<Unit> => {
  const awake = new Set<Unit>()
  const time = timestamp(now)
  for (const one of pending) {
    const end = endOf(one)
    if ((end === undefined || end > time) && !has(answers, one.unit)) continue
    awake.add(one.unit)
    for (const above of ancestors(one.unit)) awake.add(above)
  }
  return awake
}

/** How a wait stands now. */
export type WaitEnd =
  { readonly _tag: 'Waits' | 'Woken' | 'TimedOut' } | { readonly _tag: 'Answered'; readonly answer: GivenAnswer }

export const endOfWait = ({ answers }: Checkpoint, wait: PendingWait, now: number): WaitEnd => {
  const answer = wait._tag === 'Answer' ? get(answers, wait.unit) : undefined
  if (answer !== undefined) return { _tag: 'Answered', answer }
  const end = endOf(wait)
  if (end === undefined || end > timestamp(now)) return { _tag: 'Waits' }
  return { _tag: wait._tag === 'Timer' ? 'Woken' : 'TimedOut' }
}

/** The wait of a unit, if it has started. */
export const waitOf = ({ pending }: Checkpoint, unit: Unit): PendingWait | undefined => {
  const found = get(pending, unit)
  return found?._tag === 'Job' ? undefined : found
}

/** The same wait from now on: an answer did not fit. Its time limit stays. */
export const restarted = ({ unit: _, startedAt: __, ...wait }: PendingWait): Wait => wait

/** Nobody answered in time. */
export const timeout = ({ unit, startedAt }: PendingWait, at: string) => ({
  at,
  unit,
  retryable: false,
  last: {
    attempt: 1,
    startedAt,
    error: StepError.make('WaitTimeout', `no answer came since ${startedAt}; resume to wait again`, {
      code: 'WAIT_TIMEOUT'
    }),
    outcome: 'notApplied' as const
  }
})
