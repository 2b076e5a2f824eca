/** Computes the wait of a step from its options. */
import * as E from 'fp-ts/lib/Either.js'
import type { Wait } from '../../domain/checkpoint/Pending.js'
import type { WorkflowProblem } from '../../domain/workflow/Workflow.js'
import type { Sleep, WaitFor } from './StepSpec.js'

/** Computes the wait that starts at this time. */
export type StartWait = (now: number) => Wait

export const sleepOf = (sleep: Sleep): E.Either<Problem, StartWait> => {
  const given: unknown = sleep
  if (!isRecord(given)) return E.left({ field: 'sleep', expected: '{ millis } or { until }' })
  const { millis, until } = given
  if (until === undefined)
    return isDelay(millis)
      ? E.right((now) => ({ _tag: 'Timer', wakeAt: isoTime(now + millis) }))
      : E.left({ field: 'sleep.millis', expected: DELAY })
  const at = isDate(until) ? Date.prototype.getTime.call(until) : isTime(until) ? Date.parse(until) : NaN
  return at >= 0 && at <= LATEST
    ? E.right(() => ({ _tag: 'Timer', wakeAt: isoTime(at) }))
    : E.left({ field: 'sleep.until', expected: 'a Date, or a time like 2026-01-02T03:04:05Z' })
}

export const waitForOf = (waitFor: WaitFor): E.Either<Problem, StartWait> => {
  const given: unknown = waitFor
  if (!isRecord(given)) return E.left({ field: 'waitFor', expected: '{ question?, timeoutMillis? }' })
  const { question, timeoutMillis } = given
  if (question !== undefined && typeof question !== 'string')
    return E.left({ field: 'waitFor.question', expected: 'a string' })
  if (timeoutMillis !== undefined && !isDelay(timeoutMillis))
    return E.left({ field: 'waitFor.timeoutMillis', expected: DELAY })
  return E.right((now) => ({
    _tag: 'Answer',
    ...(question === undefined ? {} : { question }),
    ...(timeoutMillis === undefined ? {} : { until: isoTime(now + timeoutMillis) })
  }))
}

export type Problem = Pick<Extract<WorkflowProblem, { readonly _tag: 'InvalidSetting' }>, 'field' | 'expected'>

/** The last time of a year of four digits: later ones do not compare as strings. */
const LATEST = Date.UTC(9999, 11, 31)

export const MAX_WAIT_MILLIS = 31_557_600_000_000

const DELAY = 'a number of milliseconds ≥ 0, at most 1,000 years'

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null

/** Without Z or an offset, `Date.parse` takes the time zone of the host. */
const isTime = (value: unknown): value is string =>
  typeof value === 'string' && /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)$/.test(value)

/** A Date of another realm is no instance of `Date`. */
const isDate = (value: unknown): value is Date => Object.prototype.toString.call(value) === '[object Date]'

const isDelay = (millis: unknown): millis is number =>
  typeof millis === 'number' && millis >= 0 && millis <= MAX_WAIT_MILLIS

const isoTime = (millis: number): string => new Date(millis).toISOString()
