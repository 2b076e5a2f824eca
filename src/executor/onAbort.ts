/** Shares one listener per AbortSignal. */

/** Node reports more than ten listeners on one signal as a leak. */
const HEARERS = new WeakMap<AbortSignal, Hearers>()

interface Hearers {
  readonly all: Set<() => void>
  readonly tell: () => void
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
  signal.removeEventListener('abort', hearers.tell)
}

const listen = (signal: AbortSignal): Hearers => {
  const all = new Set<() => void>()
  const tell = (): void => {
    for (const one of [...all]) one()
  }
  const hearers = { all, tell }
  HEARERS.set(signal, hearers)
  signal.addEventListener('abort', tell, { once: true })
  return hearers
}
