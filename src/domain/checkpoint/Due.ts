/** Whether a run that no process works on is due: it was interrupted, or one of its waits is over. */
import type { Checkpoint, Status } from './Checkpoint.js'
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
