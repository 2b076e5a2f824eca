/** Decides whether a run without an owner is due: it was interrupted, or one of its waits is over. */
import type { Option } from 'fp-ts/lib/Option.js'
import { isSome } from 'fp-ts/lib/Option.js'
import type { Checkpoint, Status } from './Checkpoint.js'
import type { PendingJob, Wait } from './Pending.js'
import { endOf } from './Pending.js'
import { isText } from '../data/Options.js'
import { has } from './Units.js'

/**
 * Returns what a host does with a run without an owner: `look` means to check when its waits are due. A failed run is left because it
 * needs a fix, a paused one because it needs its user.
 */
export const byStatus = (status: Status): 'resume' | 'look' | 'leave' => BY_STATUS[status]

const BY_STATUS: Readonly<Record<Status, ReturnType<typeof byStatus>>> = {
  queued: 'resume',
  running: 'resume',
  interrupted: 'resume',
  pending: 'look',
  completed: 'leave',
  failed: 'leave',
  paused: 'leave',
  cancelled: 'leave',
  moved: 'leave'
}

/**
 * Returns when a waiting run is due (UTC, ISO 8601): `''` if the answer to a wait is recorded, undefined if it only waits for jobs and
 * answers. `past`: recorded answers and waits that were over at this time do not count, because a resume then found that the run cannot
 * continue before another wait ends.
 */
export const dueAt = ({ pending, answers }: Checkpoint, past = ''): string | undefined => {
  let first: string | undefined
  for (const one of pending) {
    const end = overFrom(one, past === '' && has(answers, one.unit))
    if (end === undefined || (past !== '' && end <= past)) continue
    if (first === undefined || end < first) first = end
  }
  return first
}

/** The code of the error of a wait that is `TimedOut`. */
export const WAIT_TIMEOUT = 'WAIT_TIMEOUT'

/** How a wait is over: its answer is recorded, its time has come, or no answer came in time. */
export type Over = 'Answered' | 'Due' | 'TimedOut'

/** Returns how a wait is over at a time (UTC, ISO 8601), so that a resume ends it; undefined if it is not over, or for a job or no wait. */
export const overAt = (
  wait: Wait | PendingJob | undefined,
  isAnswered: boolean,
  now: string | undefined
): Over | undefined => {
  const from = wait === undefined ? undefined : overFrom(wait, isAnswered)
  // An untyped caller may pass a `Date`: no string is greater than that.
  if (from === undefined || !isText(now) || from > now) return undefined
  if (from === '') return 'Answered'
  return wait?._tag === 'Timer' ? 'Due' : 'TimedOut'
}

/** Returns the time from which a wait is over: `''` if it is answered, undefined if only an answer or a poll ends it. */
const overFrom = (wait: Wait | PendingJob, isAnswered: boolean): string | undefined =>
  wait._tag === 'Answer' && isAnswered ? '' : endOf(wait)

/** Returns the time to pass to {@link overAt}: none while a process owns the run, because no resume can then end a wait. */
export const presentOf = (
  { heldBy }: { readonly heldBy: Option<unknown> },
  now: string | undefined
): string | undefined => (isSome(heldBy) ? undefined : now)
