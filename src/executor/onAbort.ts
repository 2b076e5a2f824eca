/** Shares one listener per AbortSignal. */

/** Node reports more than ten listeners on one signal as a leak. */
const HEARERS = new WeakMap<AbortSignal, Listeners>()

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
  const hearers = HEARERS.get(signal) ?? listen(signal)
  hearers.all.add(then)
  return () => ignoreAbort(signal, then)
}

/** Removes what `onAbort` was given, for those who do not want to keep a function for that. */
export const ignoreAbort = (signal: AbortSignal, then: () => void): void => {
  const hearers = HEARERS.get(signal)
  if (hearers?.all.delete(then) !== true || hearers.all.size > 0) return
  HEARERS.delete(signal)
  signal.removeEventListener('abort', hearers.notify)
}

const listen = (signal: AbortSignal): Listeners => {
  const all = new Set<() => void>()
  const notify = (): void => {
    for (const one of [...all]) one()
  }
  const hearers = { all, notify }
  HEARERS.set(signal, hearers)
  signal.addEventListener('abort', notify, { once: true })
  return hearers
}
