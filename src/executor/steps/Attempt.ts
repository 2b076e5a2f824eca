/**
 * The state of one attempt of a unit: its signal and its timeout. Thousands may be in flight, so it has as few
 * closures as possible. It must not know checkpoints.
 */
import type { Clock } from '../../ports/Clock.js'
import { ignoreAbort, onAbort } from '../onAbort.js'
import { sleep, ticks } from '../sleep.js'

/** Why an attempt ends early: its timeout, or a stop of its step. The first one counts. */
export type Halt = 'timeout' | 'stop'

/** `limits`: what ends the attempt early. Code outside of an attempt has none, and gets a `signal` instead. */
export interface Attempt {
  readonly number: number
  readonly limits?: Limits
  readonly signal?: AbortSignal
  onStop: (() => void) | undefined
  isOver: boolean
  halt?: { readonly why: Halt; readonly reason: unknown }
  timer?: Timer
  controller?: AbortController
  grace?: AbortController
}

/** Ends an attempt early, at its timeout or at a stop. Its code then has `graceMillis` to end; after that `giveUp` is called. */
export interface Limits {
  readonly environment: { readonly clock: Clock; readonly graceMillis: number }
  readonly stopping: AbortSignal
  readonly timeoutMillis: number | undefined
  readonly giveUp: (end: { readonly _tag: 'GraceExpired' }) => void
}

export const begin = (number: number, limits: Limits): Attempt => {
  const attempt: Attempt = { number, limits, onStop: undefined, isOver: false }
  const onStop = onStopOf(attempt, limits)
  attempt.onStop = onStop
  onAbort(limits.stopping, onStop)
  if (limits.timeoutMillis !== undefined) attempt.timer = startTimer(attempt, limits, limits.timeoutMillis)
  return attempt
}

// Separate functions, because the closures of one function keep the variables of all of them.

const onStopOf = (attempt: Attempt, limits: Limits) => (): void => halt(attempt, limits, 'stop', limits.stopping.reason)

const startTimer = (attempt: Attempt, limits: Limits, millis: number): Timer =>
  makeTimer(limits.environment.clock, millis, () => halt(attempt, limits, 'timeout', timeoutError(millis)))

const halt = (attempt: Attempt, { environment, giveUp }: Limits, why: Halt, reason: unknown): void => {
  if (attempt.halt !== undefined) return
  attempt.halt = { why, reason }
  attempt.controller?.abort(reason)
  attempt.grace = new AbortController()
  onceSlept(environment.clock, environment.graceMillis, attempt.grace.signal, () => giveUp({ _tag: 'GraceExpired' }))
}

/** For code that runs outside of an attempt: a check of a composite, or the items of a map. */
export const noAttempt = (signal: AbortSignal): Attempt => ({ number: 1, signal, onStop: undefined, isOver: false })

/** Fires when the attempt ends early. Created on first use: most attempts never use it, and it is expensive. */
export const signalOf = (attempt: Attempt): AbortSignal => {
  if (attempt.signal !== undefined) return attempt.signal
  const controller = (attempt.controller ??= new AbortController())
  if (attempt.halt !== undefined) controller.abort(attempt.halt.reason)
  return controller.signal
}

/** Stops the clock of the timeout during `act`, while a user answers a prompt. */
export const outsideTimeout = <A>({ timer }: Attempt, act: () => Promise<A>): Promise<A> =>
  timer?.outsideTimeout(act) ?? act()

/** Ends an attempt whose code only waits: its signal fires, and its code is dropped. */
export const suspend = (attempt: Attempt): void => {
  end(attempt)
  attempt.controller?.abort(SUSPENDED)
}

const SUSPENDED = new DOMException('the attempt is suspended: its code runs again when a wait ends', 'Suspended')

/** Ends an attempt: removes its timers and listeners, and refuses later artifacts, which could replace those of the next attempt. */
export const end = (attempt: Attempt): void => {
  attempt.isOver = true
  if (attempt.onStop !== undefined && attempt.limits !== undefined) ignoreAbort(attempt.limits.stopping, attempt.onStop)
  attempt.timer?.end()
  attempt.grace?.abort()
}

export const timeoutError = (millis = 0): DOMException =>
  new DOMException(`timed out after ${millis} ms`, 'TimeoutError')

interface Timer {
  readonly outsideTimeout: <A>(act: () => Promise<A>) => Promise<A>
  readonly end: () => void
}

const makeTimer = (clock: Clock, millis: number, over: () => void): Timer => {
  let left = millis
  let isOver = false
  let stop: () => void = () => undefined
  const go = (): void => {
    if (isOver) return
    const [since, waking] = [ticks(clock), new AbortController()]
    stop = () => {
      left = Math.max(0, left - (ticks(clock) - since))
      waking.abort()
    }
    onceSlept(clock, left, waking.signal, over)
  }
  go()
  return {
    outsideTimeout: async (act) => {
      stop()
      try {
        return await act()
      } finally {
        go()
      }
    },
    end: () => {
      isOver = true
      stop()
    }
  }
}

const onceSlept = (clock: Clock, millis: number, signal: AbortSignal, then: () => void): void =>
  void sleep(clock, millis, signal).then(() => (signal.aborted ? undefined : then()))
