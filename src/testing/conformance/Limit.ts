/** Work that may not take for ever. */
import { strict as assert } from 'node:assert'

/** The outcome of some work; rejects with these words if it has not ended by then. The work itself can't be stopped. */
export const within = async <A>(work: () => Promise<A>, limitMillis: number, late: string): Promise<A> => {
  let timer: ReturnType<typeof setTimeout> | undefined
  const expired = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new assert.AssertionError({ message: late })), limitMillis)
  })
  try {
    return await Promise.race([work(), expired])
  } finally {
    clearTimeout(timer)
  }
}
