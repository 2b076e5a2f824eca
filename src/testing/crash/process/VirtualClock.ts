/** A clock that tests advance. */
import type { Check, OptionTable } from '../../../domain/data/Options.js'
import { kindOf } from '../../../domain/data/Options.js'
import type { Clock } from '../../../ports/Clock.js'
import { problemsOf, refuse } from '../../arguments.js'

/**
 * A clock that only moves when a test advances it.
 *
 * @category model
 */
export interface VirtualClock extends Clock {
  /** Advances the clock by milliseconds and wakes sleepers in order of their time. */
  readonly advance: (millis: number) => Promise<void>
  /** The remaining milliseconds of each sleeper, shortest first. */
  readonly sleeping: () => ReadonlyArray<number>
}

interface Sleeper {
  readonly until: number
  readonly wake: () => void
}

/** 2026-01-02T03:04:05Z. */
export const START = Date.UTC(2026, 0, 2, 3, 4, 5)

/**
 * Creates a clock at `start` (milliseconds since 1970-01-01 UTC, default 2026-01-02T03:04:05Z). Each reading advances
 * it by `tick` milliseconds, default 0. Throws if one is no such number.
 *
 * @example
 * import { virtualClock } from 'dogear/testing'
 * import assert from 'node:assert/strict'
 *
 * const clock = virtualClock()
 * let awake = false
 * void clock.sleep(3_600_000, new AbortController().signal)().then(() => (awake = true))
 * await clock.advance(3_599_999)
 * assert.equal(awake, false)
 * await clock.advance(1)
 * assert.equal(awake, true)
 *
 * @category constructors
 */
export const virtualClock = (tick = 0, start = START): VirtualClock => {
  refuse('virtualClock', problemsOf({ tick, start }, CLOCK))
  let now = start
  let sleepers: ReadonlyArray<Sleeper> = []
  return {
    now: () => (now += tick),
    sleep: (forMillis, signal) => () =>
      new Promise((resolve) => {
        if (signal.aborted) return resolve()
        const wake = (): void => {
          sleepers = sleepers.filter((one) => one !== sleeper)
          signal.removeEventListener('abort', wake)
          resolve()
        }
        const sleeper: Sleeper = { until: now + forMillis, wake }
        sleepers = [...sleepers, sleeper].sort((a, b) => a.until - b.until)
        signal.addEventListener('abort', wake)
      }),
    advance: async (by) => {
      refuse('advance', problemsOf({ millis: by }, ADVANCE))
      const end = now + by
      for (let next = sleepers[0]; next !== undefined && next.until <= end; next = sleepers[0]) {
        now = Math.max(now, next.until)
        next.wake()
        // As in Node: promises settle between two timers; the rest of the event loop waits for all due timers.
        if (sleepers[0]?.until === now) await settled()
        else await quiet()
      }
      now = Math.max(now, end)
      await quiet()
    },
    sleeping: () => sleepers.map(({ until }) => until - now)
  }
}

const finite: Check = (value) => (Number.isFinite(value) ? undefined : 'a finite number')

/** A negative tick sets the clock back. */
const CLOCK: OptionTable = {
  tick: finite,
  start: (value) =>
    typeof value === 'number' && !Number.isNaN(new Date(value).getTime())
      ? undefined
      : `milliseconds since 1970-01-01 UTC, not ${kindOf(value)}`
}

const ADVANCE: OptionTable = { millis: finite }

/** Resolves when all settled promises have run their callbacks. */
const settled = async (): Promise<void> => {
  await new Promise<void>((resolve) => process.nextTick(() => process.nextTick(resolve)))
}

/** Resolves after one turn of the event loop. */
export const quiet = async (): Promise<void> => {
  await new Promise<void>((resolve) => setImmediate(resolve))
}
