/** When `resumeAll` resumes a run next. */
import { LOOK_MILLIS } from '../executor/sleep.js'
import type { FoundRun } from './ResumedRun.js'

/**
 * A run at a revision. `at`: when to resume it, in milliseconds since 1970-01-01 UTC, unless it changes before; `failedAttempts`: how often its
 * resume has failed.
 */
export interface KnownRun {
  readonly found: FoundRun
  readonly revision: number
  readonly at: number
  readonly failedAttempts: number
}

/** Converts the result of `dueAt`: `''` (an answer is recorded) means at once, undefined means never. */
export const millisOf = (time: string | undefined): number =>
  time === undefined ? Infinity : time === '' ? 0 : Date.parse(time)

const MAX_DELAY_MILLIS = 60_000

/** Returns when to retry. The delays grow. */
export const retryAt = (now: number, failedAttempts: number): number =>
  now + Math.min(MAX_DELAY_MILLIS, LOOK_MILLIS * 2 ** failedAttempts)

/** The clock may be set back at any time: the time of a retry that is further away than any delay no longer holds. */
export const isDue = ({ at, failedAttempts }: KnownRun, now: number): boolean =>
  at <= now || (failedAttempts > 0 && at < Infinity && at > now + MAX_DELAY_MILLIS)
