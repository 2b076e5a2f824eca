/** Work that may not take for ever. */
import { strict as assert } from 'node:assert'
import { reasonOf } from './difference.js'

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

/** A place that a law is tried in. */
interface Place<Data> {
  readonly create: () => Promise<Data>
  readonly destroy?: (data: Data) => Promise<void>
}

/** The minimum time a spec has to clean up. */
const CLEANUP_MILLIS = 10_000

/** Tries a law in a place of its own. `ends`: what else has to end before that is done away with. */
export const tryLaw = async <Data>(
  place: Place<Data>,
  law: (data: Data, ends: Array<() => Promise<void>>, isOver: () => boolean) => Promise<void>,
  limitMillis: number
): Promise<void> => {
  const late = `did not end within ${limitMillis} ms`
  const data = await within(async () => place.create(), limitMillis, `\`create\` ${late}`)
  const ends: Array<() => Promise<void>> = []
  let over = false
  const cleanUp = async (): Promise<void> => {
    try {
      await Promise.all(ends.map((end) => end()))
    } finally {
      await place.destroy?.(data)
    }
  }
  const tried = within(async () => law(data, ends, () => over), limitMillis, `it ${late}`)
  const holds = await tried.then(
    () => true,
    () => false
  )
  over = true
  const cleanUpMillis = Math.max(CLEANUP_MILLIS, limitMillis)
  const cleaned = within(cleanUp, cleanUpMillis, `it did not end within ${cleanUpMillis} ms`)
  await cleaned.catch((error: unknown) => {
    // A law that does not hold is what the report is about.
    if (holds) assert.fail(`the law holds, but \`kill\` or \`destroy\` of the spec failed: ${reasonOf(error)}`)
  })
  return tried
}
