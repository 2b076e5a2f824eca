/** Waits on the clock of the environment. */
import type { Environment } from '../ports/Environment.js'
import type { Clock } from '../ports/Clock.js'
import { onAbort } from './onAbort.js'

/** Runs a function in the next turn of the event loop. Read when this module loads, before a test may replace it by a fake. */
export const { setImmediate: nextTurn } = globalThis

/** How often a waiting process looks for answers and requests, at most. */
export const LOOK_MILLIS = 1_000

/** Resolves in the next turn. A loop that sleeps waits for it, too: a clock that ends each sleep at once would block the process. */
export const turn = (): Promise<void> => new Promise((resolve) => void nextTurn(resolve))

/** Resolves after the time, or when the signal fires, even if the clock then rejects, as `node:timers/promises` does. */
export const sleep = async (clock: Clock, millis: number, signal: AbortSignal): Promise<void> => {
  try {
    const sleeping: unknown = clock.sleep(millis, signal)
    // A clock in plain JavaScript may return a promise.
    await (typeof sleeping === 'function' ? (sleeping as () => unknown)() : sleeping)
  } catch {
    // The caller checks its signal.
  }
}

/** Sleeps, and leaves no listener on the signal `stopping`, which outlives the sleep. */
export const sleepUnless = async (clock: Clock, millis: number, stopping: AbortSignal): Promise<void> => {
  const waking = new AbortController()
  const ignore = onAbort(stopping, () => waking.abort())
  await sleep(clock, millis, waking.signal)
  ignore()
}

/** Milliseconds to measure a duration within this process. */
export const ticks = (clock: Clock): number => clock.monotonic?.() ?? clock.now()

/** Returns a function that returns the elapsed milliseconds: those of the clock, which may be set meanwhile, or real ones, whichever are fewer. */
export const stopwatch = (clock: Clock): (() => number) => {
  const [from, since] = [clock.now(), performance.now()]
  return () => Math.max(0, Math.min(clock.now() - from, performance.now() - since))
}

/** Returns a number for jitter: that of the environment, or 0.5, which adds none, if it throws or is no number from 0 to below 1. */
export const randomOf = (environment: Pick<Environment, 'random'>): number => {
  try {
    const given: unknown = environment.random()
    return typeof given === 'number' && given >= 0 && given < 1 ? given : 0.5
  } catch {
    return 0.5
  }
}
