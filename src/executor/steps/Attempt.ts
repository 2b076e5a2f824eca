/** One attempt of a unit: its signal, its timeout and its artifacts. It must not know checkpoints. */
import type { Evidence } from '../../domain/checkpoint/CompletedStep.js'
import type { Clock } from '../../ports/Clock.js'
import { onAbort } from '../onAbort.js'
import { sleep } from '../sleep.js'

/** The first reason counts. */
export type Halt = 'timeout' | 'stop'

export interface Attempt {
  readonly number: number
  /** Fires when the attempt ends early. Created on first use: most attempts never use it, and it is expensive. */
  readonly signal: () => AbortSignal
  /** Stops the clock while a user answers a prompt. */
  readonly outsideTimeout: <A>(act: () => Promise<A>) => Promise<A>
  readonly halted: () => Halt | undefined
  readonly isOver: () => boolean
  /** Records an artifact, in place of an earlier one with its id. */
  readonly put: (artifact: Evidence & { readonly _tag: 'Stored' }) => void
  readonly stored: () => ReadonlyArray<Evidence>
  /** Ends it without an outcome: its signal fires, and its code is dropped. */
  readonly suspend: () => void
  /** Stops its clock. Artifacts that its code puts later are refused: they could replace those of the next attempt. */
  readonly end: () => void
}

/** When an attempt ends early: after its timeout, or when the execution stops; and the grace of its code then. */
export interface Limits {
  readonly stopping: AbortSignal
  readonly timeoutMillis: number | undefined
  readonly graceMillis: number
}

/** `giveUp` is called if the grace ends before `end`. */
export const begin = (clock: Clock, number: number, limits: Limits, giveUp: () => void): Attempt => {
  const { stopping, timeoutMillis, graceMillis } = limits
  let controller: AbortController | undefined
  let halted: { readonly why: Halt; readonly reason: unknown } | undefined
  let grace: AbortController | undefined
  let isOver = false
  let artifacts: Map<string, Evidence> | undefined
  const halt = (why: Halt, reason: unknown): void => {
    if (halted !== undefined) return
    halted = { why, reason }
    controller?.abort(reason)
    grace = new AbortController()
    onceSlept(clock, graceMillis, grace.signal, giveUp)
  }
  const ignore = onAbort(stopping, () => halt('stop', stopping.reason))
  const timer =
    timeoutMillis === undefined
      ? undefined
      : makeTimer(clock, timeoutMillis, () => halt('timeout', timedOut(timeoutMillis)))
  const end = (): void => {
    isOver = true
    ignore()
    timer?.end()
    grace?.abort()
  }
  return {
    number,
    signal: () => {
      controller ??= new AbortController()
      if (halted !== undefined) controller.abort(halted.reason)
      return controller.signal
    },
    outsideTimeout: (act) => (timer === undefined ? act() : timer.outsideTimeout(act)),
    halted: () => halted?.why,
    isOver: () => isOver,
    put: (artifact) => void (artifacts ??= new Map()).set(artifact.id, artifact),
    stored: () => (artifacts === undefined ? NOTHING : [...artifacts.values()]),
    suspend: () => {
      end()
      controller?.abort(SUSPENDED)
    },
    end
  }
}

const SUSPENDED = new DOMException('the attempt is suspended: its code runs again when a wait ends', 'Suspended')

/** For code that runs outside of an attempt: a check of a composite, or the items of a map. */
export const noAttempt = (signal: AbortSignal): Attempt => ({
  number: 1,
  signal: () => signal,
  outsideTimeout: (act) => act(),
  halted: () => undefined,
  isOver: () => false,
  put: () => undefined,
  stored: () => NOTHING,
  suspend: () => undefined,
  end: () => undefined
})

const NOTHING: ReadonlyArray<Evidence> = []

export const timedOut = (millis = 0): DOMException => new DOMException(`timed out after ${millis} ms`, 'TimeoutError')

type Timer = Pick<Attempt, 'outsideTimeout' | 'end'>

const makeTimer = (clock: Clock, millis: number, over: () => void): Timer => {
  let left = millis
  let isOver = false
  let stop: () => void = () => undefined
  const go = (): void => {
    if (isOver) return
    const [since, waking] = [clock.now(), new AbortController()]
    stop = () => {
      left = Math.max(0, left - (clock.now() - since))
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
