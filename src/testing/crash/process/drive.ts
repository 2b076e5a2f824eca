/** Advances virtual time while a process runs, until it ends, dies or is stuck. */
import type { Activity } from './Life.js'
import { quiet } from './VirtualClock.js'
import type { VirtualClock } from './VirtualClock.js'

export interface Limits {
  /** How long, in real milliseconds, unobservable work may take before virtual time advances without it. */
  readonly patienceMillis: number
  /** The maximum number of times that virtual time advances. */
  readonly maxWaits: number
}

interface Driven {
  readonly clock: VirtualClock
  readonly alive: () => boolean
  readonly state: Readonly<Activity>
}

export type DriveEnd = 'settled' | 'killed' | 'stuck' | 'endless'

/** How many times longer than a step a store call may take, because a disk may be busy. */
export const STORE_PATIENCE = 10

/** Waits for a promise and advances virtual time to the next sleeper. Store calls and steps that do not sleep get real time first. */
export const drive = async (process: Driven, promise: Promise<unknown>, limits: Limits): Promise<DriveEnd> => {
  let over = false
  const end = (): void => {
    over = true
  }
  promise.then(end, end)
  const { clock, state } = process
  let [seen, since, turns, waits] = [state.progress, performance.now(), 0, 0]
  for (;;) {
    await turn(turns)
    if (over) return 'settled'
    if (!process.alive()) return 'killed'
    const now = performance.now()
    if (state.progress !== seen) {
      ;[seen, since, turns] = [state.progress, now, 0]
      continue
    }
    turns += 1
    const isPatienceOver = now - since >= patienceWith(state, limits)
    if ((state.calls > 0 || isWorking(state)) && !isPatienceOver) continue
    const next = clock.sleeping()[0]
    if (next !== undefined) {
      waits += 1
      if (waits > limits.maxWaits) return 'endless'
      await clock.advance(next)
      ;[since, turns] = [performance.now(), 0]
    } else if (isPatienceOver) return 'stuck'
  }
}

/** The real time to wait for work in flight. */
export const patienceWith = ({ calls }: Activity, { patienceMillis }: Limits): number =>
  patienceMillis * (calls > 0 ? STORE_PATIENCE : 1)

/** Detects a unit that runs and does not sleep. */
export const isWorking = ({ running, asleep }: Activity): boolean => running > asleep

/** After 50 idle turns of the event loop, each turn takes a millisecond. */
const turn = (turns: number): Promise<void> => (turns < 50 ? quiet() : new Promise((resolve) => setTimeout(resolve, 1)))
