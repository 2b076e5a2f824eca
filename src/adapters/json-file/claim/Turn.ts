/** One at a time, in the order of asking; and at once if nobody is at it. */

/** Whose turn it is. */
export interface Turn {
  taken: boolean
  readonly waiting: Array<() => void>
}

export const make = (): Turn => ({ taken: false, waiting: [] })

/** Does work when its turn comes; the work calls `done` once. Nothing is awaited if nobody else is at it. */
export const take = <A>(self: Turn, work: (done: (result: A) => void) => void): Promise<A> =>
  new Promise((resolve) => {
    const pass = (): void => {
      const next = self.waiting.shift()
      if (next === undefined) self.taken = false
      else next()
    }
    const begin = (): void => {
      const result = new Promise<A>((settle) => {
        work((value) => {
          settle(value)
          pass()
        })
      })
      // Work that throws is a bug of the caller's. It is theirs to see, and must not keep the next one waiting.
      result.catch(pass)
      resolve(result)
    }
    if (self.taken) self.waiting.push(begin)
    else {
      self.taken = true
      begin()
    }
  })
