/** The system clock. */
import { LONGEST_TIMER } from '../../domain/data/Options.js'
import type { Clock } from '../../ports/Clock.js'

/**
 * The system clock. A sleep keeps the process alive, supports any duration, and ends at once when its signal fires; it
 * leaves neither a timer nor a listener behind.
 *
 * @example
 * import { systemClock } from 'dogear/node'
 * import assert from 'node:assert/strict'
 *
 * const stop = new AbortController()
 * const before = systemClock.now()
 * const sleeping = systemClock.sleep(60_000, stop.signal)()
 * stop.abort()
 * await sleeping
 * assert.ok(systemClock.now() - before < 1_000)
 *
 * @category constructors
 */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  sleep: (millis, signal) => () =>
    new Promise((resolve) => {
      if (signal.aborted) return resolve()
      let timer: NodeJS.Timeout
      const end = (): void => {
        clearTimeout(timer)
        signal.removeEventListener('abort', end)
        resolve()
      }
      const wait = (left: number): void => {
        timer =
          left > LONGEST_TIMER ? setTimeout(() => wait(left - LONGEST_TIMER), LONGEST_TIMER) : setTimeout(end, left)
      }
      signal.addEventListener('abort', end)
      wait(Math.max(0, millis))
    })
}
