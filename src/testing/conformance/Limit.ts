/** Time limits for cases. */
import { strict as assert } from 'node:assert'
import type { InFlight } from './calls.js'
import { reasonOf } from './difference.js'

/** The default limit of a case. */
export const LIMIT_MILLIS = 30_000

/** Rejects with the message `late` after the limit. The work itself cannot be stopped. */
export const within = async <A>(work: () => Promise<A>, limitMillis: number, late: () => string): Promise<A> => {
  let timer: ReturnType<typeof setTimeout> | undefined
  const expired = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new assert.AssertionError({ message: late() })), limitMillis)
  })
  try {
    return await Promise.race([work(), expired])
  } finally {
    clearTimeout(timer)
  }
}

interface Place<Data> {
  readonly create: () => Promise<Data>
  readonly destroy?: (data: Data) => Promise<void>
}

/** The minimum time a spec has to clean up. */
const CLEANUP_MILLIS = 10_000

/** What a law is tried with. `ends`: what must end before the place is deleted. `isOver`: whether the law has ended. */
export interface Trial {
  readonly ends: Array<() => Promise<void>>
  readonly inFlight: InFlight
  readonly isOver: () => boolean
}

/** Runs a law in its own place. */
export const tryLaw = async <Data>(
  place: Place<Data>,
  law: (data: Data, trial: Trial) => Promise<void>,
  limitMillis: number
): Promise<void> => {
  const late = `did not end within ${limitMillis} ms`
  const data = await within(
    async () => place.create(),
    limitMillis,
    () => `\`create\` ${late}`
  )
  const ends: Trial['ends'] = []
  const inFlight: InFlight = new Set()
  let over = false
  const cleanUp = async (): Promise<void> => {
    try {
      await Promise.all(ends.map((end) => end()))
    } finally {
      await place.destroy?.(data)
    }
  }
  const tried = within(
    async () => law(data, { ends, inFlight, isOver: () => over }),
    limitMillis,
    () =>
      `it ${late}${inFlight.size === 0 ? '' : `; in flight: ${Array.from(inFlight, ({ call }) => call).join(', ')}`}`
  )
  const holds = await tried.then(
    () => true,
    () => false
  )
  over = true
  const cleanUpMillis = Math.max(CLEANUP_MILLIS, limitMillis)
  const cleaned = within(cleanUp, cleanUpMillis, () => `it did not end within ${cleanUpMillis} ms`)
  await cleaned.catch((error: unknown) => {
    // A failed law takes precedence over a failed cleanup.
    if (holds) assert.fail(`the law holds, but \`kill\` or \`destroy\` of the spec failed: ${reasonOf(error)}`)
  })
  return tried
}
