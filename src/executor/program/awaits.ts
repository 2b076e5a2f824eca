/** Validates the options of a sleep or a wait for an answer, and makes the recorded wait from them. */
import * as E from 'fp-ts/lib/Either.js'
import type { Wait } from '../../domain/checkpoint/Pending.js'
import type { OptionProblem, OptionTable } from '../../domain/data/Options.js'
import { anything, kindOf, optionProblems, text, within } from '../../domain/data/Options.js'
import type { Sleep, WaitFor } from './StepSpec.js'

/** Makes the wait that starts at `now`. */
export type StartWait = (now: number) => Wait

export const sleepOf = (sleep: Sleep): E.Either<OptionProblem, StartWait> => {
  const given: unknown = sleep
  if (!isRecord(given)) return E.left({ option: 'sleep', expected: `{ millis } or { until }, not ${kindOf(given)}` })
  const { millis, until } = given
  const [wrong] = optionProblems(given, SLEEP)
  if (wrong !== undefined) return E.left(within('sleep', wrong))
  if (millis !== undefined && until !== undefined)
    return E.left({ option: 'sleep', expected: 'either { millis } or { until }, not both' })
  if (until === undefined)
    return isDelay(millis)
      ? E.right((now) => ({ _tag: 'Timer', wakeAt: isoTime(now + millis) }))
      : E.left({ option: 'sleep.millis', expected: DELAY })
  const at = millisOf(until)
  return at >= 0 && at <= LATEST
    ? E.right(() => ({ _tag: 'Timer', wakeAt: isoTime(at) }))
    : E.left({ option: 'sleep.until', expected: UNTIL })
}

/** Returns the milliseconds since 1970 of a Date or an ISO 8601 string; NaN for anything else. */
const millisOf = (until: unknown): number => {
  if (isDate(until)) return Date.prototype.getTime.call(until)
  return isTime(until) ? Date.parse(until) : NaN
}

/** `more`: the checks of options beside those of the wait. */
export const waitForOf = (waitFor: WaitFor, more: OptionTable = {}): E.Either<OptionProblem, StartWait> => {
  const given: unknown = waitFor
  if (!isRecord(given))
    return E.left({ option: 'waitFor', expected: `an object such as { question: "Publish?" }, not ${kindOf(given)}` })
  const [wrong] = optionProblems(given, { ...WAIT_FOR, ...more })
  if (wrong !== undefined) return E.left(within('waitFor', wrong))
  const { question, timeoutMillis } = waitFor
  return E.right((now) => ({
    _tag: 'Answer',
    ...(question === undefined ? {} : { question }),
    ...(timeoutMillis === undefined ? {} : { until: isoTime(now + timeoutMillis) })
  }))
}

/** The start of the last day whose year has four digits: times with longer years do not compare as strings. */
const LATEST = Date.UTC(9999, 11, 31)

const UNTIL = 'a Date, or a time with its zone, like 2026-01-02T03:04:05Z, from 1970 to 9999'

export const MAX_WAIT_MILLIS = 31_557_600_000_000

const DELAY = 'a number of milliseconds ≥ 0, at most 1,000 years'

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null

/** Without Z or an offset, `Date.parse` takes the time zone of the host. */
const isTime = (value: unknown): value is string =>
  typeof value === 'string' && /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)$/.test(value)

/** A Date of another realm, such as a vm context, is no instance of `Date`. */
const isDate = (value: unknown): value is Date => Object.prototype.toString.call(value) === '[object Date]'

const isDelay = (millis: unknown): millis is number =>
  typeof millis === 'number' && millis >= 0 && millis <= MAX_WAIT_MILLIS

const SLEEP = { millis: anything, until: anything }

const WAIT_FOR: OptionTable = { question: text, timeoutMillis: (value) => (isDelay(value) ? undefined : DELAY) }

const isoTime = (millis: number): string => new Date(millis).toISOString()
