/** Time that stands still until somebody moves it. */
import type { Clock } from '../../../ports/Clock.js'

/**
 * A clock that is moved by hand. `sleeping`: how many milliseconds each sleeper still sleeps, shortest first.
 *
 * @category model
 */
export interface VirtualClock extends Clock {
  /** Moves time on by milliseconds, waking sleepers in order of their time. */
  readonly advance: (millis: number) => Promise<void>
  /** How long each sleeper still sleeps, in milliseconds, shortest first. */
  readonly sleeping: () => ReadonlyArray<number>
}

interface Sleeper {
  readonly until: number
  readonly wake: () => void
}

/** When virtual time begins: 2026-01-02T03:04:05Z, in milliseconds. */
export const START = Date.UTC(2026, 0, 2, 3, 4, 5)

/**
 * A clock at `start` (milliseconds). `tick`: by how many milliseconds each look at it moves it on, default 0.
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
  let now = start
  let sleepers: ReadonlyArray<Sleeper> = []
  return {
    now: () => (now += tick),
    sleep: (millis, signal) => () =>
      new Promise((resolve) => {
        if (signal.aborted) return resolve()
        const wake = (): void => {
          sleepers = sleepers.filter((one) => one !== sleeper)
          signal.removeEventListener('abort', wake)
          resolve()
        }
        const sleeper: Sleeper = { until: now + millis, wake }
        sleepers = [...sleepers, sleeper].sort((a, b) => a.until - b.until)
        signal.addEventListener('abort', wake)
      }),
    advance: async (millis) => {
      const end = now + millis
      for (let next = sleepers[0]; next !== undefined && next.until <= end; next = sleepers[0]) {
        now = Math.max(now, next.until)
        next.wake()
        // As in Node: promises are settled between two timers, the rest of the loop waits until all that are due fired.
        if (sleepers[0]?.until === now) await settled()
        else await quiet()
      }
      now = Math.max(now, end)
      await quiet()
    },
    sleeping: () => sleepers.map(({ until }) => until - now)
  }
}

/** Whatever promises can bring about has happened. */
const settled = async (): Promise<void> => {
  await new Promise<void>((resolve) => process.nextTick(() => process.nextTick(resolve)))
}

/** Resolves when everything has happened that promises alone can bring about. */
export const quiet = async (): Promise<void> => {
  await new Promise<void>((resolve) => setImmediate(resolve))
}

/** Waits for a promise, moving time to the next sleeper whenever nothing else can happen. */
export const patiently = async <A>(clock: VirtualClock, promise: Promise<A>): Promise<A> => {
  let over = false
  const end = (): void => {
    over = true
  }
  promise.then(end, end)
  for (;;) {
    await quiet()
    if (over) return await promise
    const next = clock.sleeping()[0]
    if (next !== undefined) await clock.advance(next)
  }
}
