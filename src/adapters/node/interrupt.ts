/** Requests to stop, from the host's AbortSignal or from signals of the operating system. */
import { setMaxListeners } from 'node:events'
import { constants } from 'node:os'
import * as O from 'fp-ts/lib/Option.js'
import type { Interrupt } from '../../ports/Interrupt.js'
import { killAll } from './processGroup.js'

/**
 * A signal that asks a process to end.
 *
 * @category model
 */
export type StopSignal =
  | 'SIGINT'
  | 'SIGTERM'
  | 'SIGHUP'
  | 'SIGQUIT'
  | 'SIGABRT'
  | 'SIGALRM'
  | 'SIGIO'
  | 'SIGPWR'
  | 'SIGUSR2'
  | 'SIGVTALRM'
  | 'SIGXCPU'

/**
 * Installed signal handlers.
 *
 * @category model
 */
export interface SignalHandlers {
  readonly interrupt: Interrupt
  /** Returns the signal that came first. */
  readonly received: () => O.Option<StopSignal>
  /** Removes the handlers; the process then reacts to signals as before. */
  readonly dispose: () => void
}

/**
 * Never requests a stop.
 *
 * @category constructors
 */
export const neverInterrupted: Interrupt = {
  /** A new signal each time, so that listeners cannot accumulate. */
  get signal() {
    return new AbortController().signal
  },
  reason: () => 'aborted'
}

/**
 * Requests a stop when the host's signal fires.
 *
 * @example
 * import { interruptFrom } from 'dogear/node'
 * import assert from 'node:assert/strict'
 *
 * const interrupt = interruptFrom(AbortSignal.abort())
 * assert.equal(interrupt.signal.aborted, true)
 * assert.equal(interrupt.reason(), 'aborted')
 *
 * @category constructors
 */
export const interruptFrom = (signal: AbortSignal): Interrupt => ({ signal, reason: () => 'aborted' })

/** Within this time after the first signal, the same signal is no second request, and after a SIGHUP no signal is. */
const REPEATED_MILLIS = 500

/** The signals that a terminal, a service manager or a user sends to end a program. */
const USUAL: ReadonlyArray<StopSignal> = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT']

/** Other names of the same signals. Packages with exit hooks end the process unless another listener exists for each name. */
const ALIASES: Readonly<Partial<Record<StopSignal, NodeJS.Signals>>> = { SIGABRT: 'SIGIOT', SIGIO: 'SIGPOLL' }

const ignore = (): void => undefined

/**
 * Installs signal handlers: the first signal requests a stop, a second one ends the process at once. Call it once, in
 * the outermost program; a library leaves signals to its host. Default: SIGINT, SIGTERM, SIGHUP and SIGQUIT. A process
 * that dies of another signal leaves its commands running, so list every signal you expect.
 *
 * The same signal within half a second of the first does not count as a second one, because a program under npm
 * receives a Ctrl+C twice: from the terminal and from npm. A SIGHUP never counts as a second one: the terminal hangs
 * up when Ctrl+\\ ends the shell that started the program. As the two may arrive in either order, no signal within
 * half a second of a first SIGHUP counts.
 *
 * The second signal also kills the commands that are still running. The process then dies of the signal, as a shell
 * expects (it reports 130 for SIGINT, 143 for SIGTERM). If that is impossible, because another handler catches the
 * signal or the process is the first of its container, it exits with that code.
 *
 * @example
 * import * as O from 'fp-ts/lib/Option.js'
 * import { abortOnSignals } from 'dogear/node'
 * import assert from 'node:assert/strict'
 *
 * const before = process.listenerCount('SIGINT')
 * const handlers = abortOnSignals()
 * assert.equal(process.listenerCount('SIGINT'), before + 1)
 * assert.deepEqual(handlers.received(), O.none)
 * handlers.dispose()
 * assert.equal(process.listenerCount('SIGINT'), before)
 *
 * @category constructors
 */
export const abortOnSignals = (options: { readonly signals?: ReadonlyArray<StopSignal> } = {}): SignalHandlers => {
  const signals = [...new Set(options.signals ?? USUAL)]
  const stop = new AbortController()
  setMaxListeners(0, stop.signal)
  let received: O.Option<StopSignal> = O.none
  let receivedAt = 0

  const aliases = signals.flatMap((signal) => ALIASES[signal] ?? [])
  const dispose = (): void => {
    for (const signal of signals) process.off(signal, handle)
    for (const alias of aliases) process.off(alias, ignore)
  }
  const handle = (signal: NodeJS.Signals): void => {
    if (O.isNone(received)) {
      received = O.some(signal as StopSignal)
      receivedAt = performance.now()
      stop.abort(new DOMException(`The process received ${signal}`, 'AbortError'))
    } else if (isSecondRequest(received.value, signal, performance.now() - receivedAt)) {
      dispose()
      endNow(signal as StopSignal)
    }
  }
  for (const signal of signals) process.on(signal, handle)
  for (const alias of aliases) process.on(alias, ignore)

  return { interrupt: { signal: stop.signal, reason: () => 'signal' }, received: () => received, dispose }
}

const isSecondRequest = (first: StopSignal, signal: NodeJS.Signals, afterMillis: number): boolean =>
  signal !== 'SIGHUP' && ((signal !== first && first !== 'SIGHUP') || afterMillis >= REPEATED_MILLIS)

const endNow = (signal: StopSignal): void => {
  killAll()
  process.kill(process.pid, signal)
  setImmediate(() => process.exit(exitCode(signal)))
}

/**
 * The exit code for a process that a signal ended: 128 plus the signal's number.
 *
 * @example
 * import { exitCode } from 'dogear/node'
 * import assert from 'node:assert/strict'
 *
 * assert.equal(exitCode('SIGINT'), 130)
 * assert.equal(exitCode('SIGTERM'), 143)
 *
 * @category destructors
 */
export const exitCode = (signal: StopSignal): number => 128 + constants.signals[signal]
