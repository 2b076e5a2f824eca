/** A mutex with a first-in, first-out queue. */

export interface Mutex {
  locked: boolean
  readonly waiting: Array<() => void>
}

export const make = (): Mutex => ({ locked: false, waiting: [] })

/** Runs the work under the lock; the work calls `done` once. A free lock starts it synchronously. */
export const runExclusive = <A>(self: Mutex, work: (done: (result: A) => void) => void): Promise<A> =>
  new Promise((resolve) => {
    const unlock = (): void => {
      const next = self.waiting.shift()
      if (next === undefined) self.locked = false
      else next()
    }
    const begin = (): void => {
      const result = new Promise<A>((settle) => {
        work((value) => {
          settle(value)
          unlock()
        })
      })
      // An exception in the work is the caller's bug: it rejects the caller and must not block the next one.
      result.catch(unlock)
      resolve(result)
    }
    if (self.locked) self.waiting.push(begin)
    else {
      self.locked = true
      begin()
    }
  })
