/** Moves virtual time on while a process runs, until it ends, dies or is found to be stuck. */
import { quiet } from './VirtualClock.js'
import type { VirtualClock } from './VirtualClock.js'

/** How long a process may take. */
export interface Limits {
  /** How long, in real milliseconds, something may be under way that can't be seen into, before time moves on without it. */
  readonly patienceMillis: number
  /** How often virtual time may be moved on. */
  readonly maxWaits: number
}

/** What is driven. */
interface Driven {
  readonly clock: VirtualClock
  readonly alive: () => boolean
  readonly progress: () => number
  readonly busy: () => { readonly calls: number; readonly units: number }
}

/** How the drive ended: what is awaited has settled, the process was killed, nothing goes on any more, or time was moved on too often. */
export type Driving = 'settled' | 'killed' | 'stuck' | 'endless'

/** A store's call may take longer than a step: a disk may be busy. */
export const STORE_PATIENCE = 10

/**
 * Waits for a promise. While only sleepers wait, virtual time moves to the next of them at once. While a call of the store
 * or a step is under way that does not sleep in virtual time, it is given real time first.
 */
export const drive = async (process: Driven, promise: Promise<unknown>, limits: Limits): Promise<Driving> => {
  let over = false
  const end = (): void => {
    over = true
  }
  promise.then(end, end)
  const { clock } = process
  let [seen, since, turns, waits] = [process.progress(), performance.now(), 0, 0]
  for (;;) {
    await turn(turns)
    if (over) return 'settled'
    if (!process.alive()) return 'killed'
    const now = performance.now()
    if (process.progress() !== seen) {
      ;[seen, since, turns] = [process.progress(), now, 0]
      continue
    }
    turns += 1
    const { calls, units } = process.busy()
    const patience = limits.patienceMillis * (calls > 0 ? STORE_PATIENCE : 1)
    const spent = now - since >= patience
    if ((calls > 0 || units > 0) && !spent) continue
    const next = clock.sleeping()[0]
    if (next !== undefined) {
      waits += 1
      if (waits > limits.maxWaits) return 'endless'
      await clock.advance(next)
      ;[since, turns] = [performance.now(), 0]
    } else if (spent) return 'stuck'
  }
}

/** After some turns of the loop in which nothing happened, turns take a millisecond. */
const turn = (turns: number): Promise<void> => (turns < 50 ? quiet() : new Promise((resolve) => setTimeout(resolve, 1)))
