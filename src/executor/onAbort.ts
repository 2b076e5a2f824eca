/** Shares one listener per AbortSignal. */

/** Node.js reports more than ten listeners on one signal as a leak. */
const LISTENERS = new WeakMap<AbortSignal, Listeners>()

interface Listeners {
  readonly all: Set<() => void>
  readonly notify: () => void
}

/** Calls `then` when the signal fires, at once if it already has. Returns a function that removes it. */
export const onAbort = (signal: AbortSignal, then: () => void): (() => void) => {
  if (signal.aborted) {
    then()
    return () => undefined
  }
  const listeners = LISTENERS.get(signal) ?? listen(signal)
  listeners.all.add(then)
  return () => ignoreAbort(signal, then)
}

/** Removes a function that `onAbort` added, for callers that cannot afford to keep its remover. */
export const ignoreAbort = (signal: AbortSignal, then: () => void): void => {
  const listeners = LISTENERS.get(signal)
  if (listeners?.all.delete(then) !== true || listeners.all.size > 0) return
  LISTENERS.delete(signal)
  signal.removeEventListener('abort', listeners.notify)
}

const listen = (signal: AbortSignal): Listeners => {
  const all = new Set<() => void>()
  const notify = (): void => {
    for (const one of [...all]) one()
  }
  const listeners = { all, notify }
  LISTENERS.set(signal, listeners)
  signal.addEventListener('abort', notify, { once: true })
  return listeners
}
