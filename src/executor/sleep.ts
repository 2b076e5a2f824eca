/** Waits on the clock of the environment. */
import type { Clock } from '../ports/Clock.js'
import { onAbort } from './onAbort.js'

/** Runs at the next turn of the event loop. Taken at load time, before a test may replace it by a fake. */
export const { setImmediate: nextTurn } = globalThis

/** How often a waiting process looks for answers and requests, at most. */
export const LOOK_MILLIS = 1_000

/** Resolves after the time, or when the signal fires. Some clocks reject then, as `node:timers/promises` does. */
export const sleep = async (clock: Clock, millis: number, signal: AbortSignal): Promise<void> => {
  try {
    const sleeping: unknown = clock.sleep(millis, signal)
    // In plain JavaScript it may return a promise.
    await (typeof sleeping === 'function' ? (sleeping as () => unknown)() : sleeping)
  } catch {
    // The caller checks its signal.
  }
}

/** For a signal that outlives the sleep: leaves no listener on it. */
export const sleepUnless = async (clock: Clock, millis: number, stopping: AbortSignal): Promise<void> => {
  const waking = new AbortController()
  const ignore = onAbort(stopping, () => waking.abort())
  await sleep(clock, millis, waking.signal)
  ignore()
}

/** Returns a function that returns the elapsed milliseconds. The clock may be set meanwhile, and a virtual one moves by itself, so the shorter of two measures counts. */
export const stopwatch = (clock: Clock): (() => number) => {
  const [from, since] = [clock.now(), performance.now()]
  return () => Math.max(0, Math.min(clock.now() - from, performance.now() - since))
}
