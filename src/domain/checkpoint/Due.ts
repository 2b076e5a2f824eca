/** Whether a run that no process works on is due: it was interrupted, or one of its waits is over. */
import type { Checkpoint, Status } from './Checkpoint.js'
import type { Wait } from './Pending.js'
import { endOf } from './Pending.js'
import { has } from './Units.js'

/**
 * What a host does with a run without an owner, by its status: it resumes an interrupted one, looks when a pending one is due, and leaves the
 * others. A failed run needs a fix, a paused one its user.
 */
export const byStatus = (status: Status): 'resume' | 'look' | 'leave' => {
  switch (status) {
    case 'queued':
    case 'running':
    case 'interrupted':
      return 'resume'
    case 'pending':
      return 'look'
    case 'completed':
    case 'failed':
    case 'paused':
    case 'cancelled':
    case 'moved':
      return 'leave'
  }
}

/**
 * Returns when a waiting run is due (UTC, ISO 8601): `''` if the answer to a wait is recorded, undefined if it only waits for jobs and
 * answers. `past`: waits that ended until then do not count, because a resume has found that another one is before them.
 */
export const dueAt = ({ pending, answers }: Checkpoint, past = ''): string | undefined => {
  let first: string | undefined
  for (const one of pending) {
    const end = past === '' && has(answers, one.unit) ? '' : endOf(one)
    if (end === undefined || end < past || (end === past && past !== '')) continue
    if (first === undefined || end < first) first = end
  }
  return first
}

/** How a wait is over: its answer is recorded, its time has come, or no answer came in time. */
export type Over = 'Answered' | 'Due' | 'TimedOut'

/** Returns how a wait is over at a time (UTC, ISO 8601), so that a resume ends it; undefined if it is not. */
export const overAt = (wait: Wait, isAnswered: boolean, now: string): Over | undefined => {
  if (wait._tag === 'Answer' && isAnswered) return 'Answered'
  const end = wait._tag === 'Timer' ? wait.wakeAt : wait.until
  if (end === undefined || end > now) return undefined
  return wait._tag === 'Timer' ? 'Due' : 'TimedOut'
}
