/** Tries laws and sequences of commands, each on new data, and limits their time. */
import { strict as assert } from 'node:assert'
import type { InFlight } from './checkedStore.js'
import { reasonOf } from './difference.js'
import type { StorageSpec } from './Spec.js'

/** The default limit of a case. */
export const LIMIT_MILLIS = 30_000

const LIMIT = 'limit'

/** Detects the error of work that took longer than its limit. */
export const isLate = (error: unknown): boolean => error instanceof assert.AssertionError && error.operator === LIMIT

/** Rejects after the limit. The work itself cannot be stopped. */
export const within = async <A>(
  work: () => Promise<A>,
  limitMillis: number,
  messageOf: (late: string) => string
): Promise<A> => {
  let timer: ReturnType<typeof setTimeout> | undefined
  const expired = new Promise<never>((_, reject) => {
    const lateError = () =>
      new assert.AssertionError({ message: messageOf(`did not end within ${limitMillis} ms`), operator: LIMIT })
    timer = setTimeout(() => reject(lateError()), limitMillis)
  })
  try {
    return await Promise.race([work(), expired])
  } finally {
    clearTimeout(timer)
  }
}

type Place<Data> = Pick<StorageSpec<Data>, 'create' | 'destroy'>

/** One trial. `ends`: called before its data is deleted. `isOver`: whether its work has ended. */
export interface Trial {
  readonly ends: Array<() => Promise<void>>
  readonly inFlight: InFlight
  readonly isOver: () => boolean
}

/** Describes the calls in flight with `inWords`; empty if there are none. */
export const callsIn = (inFlight: InFlight, inWords: (calls: string) => string): string =>
  inFlight.size === 0 ? '' : inWords(Array.from(inFlight, ({ call }) => call).join(', '))

/** Creates data, does the work on it, and cleans up. A failure of the work takes precedence over one of the cleanup. */
export const inPlace = async <Data>(
  place: Place<Data>,
  limitMillis: number,
  work: (data: Data, trial: Trial) => Promise<void>,
  cleaning: (cleanUp: () => Promise<void>, trial: Trial) => Promise<void>
): Promise<void> => {
  const data = await within(
    async () => place.create(),
    limitMillis,
    (late) => `\`create\` ${late}`
  )
  let over = false
  const trial: Trial = { ends: [], inFlight: new Set(), isOver: () => over }
  const cleanUp = async (): Promise<void> => {
    try {
      await Promise.all(trial.ends.map((end) => end()))
    } finally {
      await place.destroy?.(data)
    }
  }
  const worked = work(data, trial)
  const hasSucceeded = await worked.then(
    () => true,
    () => false
  )
  over = true
  const cleaned = cleaning(cleanUp, trial)
  await (hasSucceeded ? cleaned : cleaned.catch(() => undefined))
  return worked
}

/** The minimum time that a spec has to clean up. */
const CLEANUP_MILLIS = 10_000

/** Runs a law on new data. */
export const tryLaw = <Data>(
  place: Place<Data>,
  law: (data: Data, trial: Trial) => Promise<void>,
  limitMillis: number
): Promise<void> =>
  inPlace(
    place,
    limitMillis,
    (data, trial) =>
      within(
        async () => law(data, trial),
        limitMillis,
        (late) => `it ${late}${callsIn(trial.inFlight, (calls) => `; in flight: ${calls}`)}`
      ),
    (cleanUp) =>
      within(cleanUp, Math.max(CLEANUP_MILLIS, limitMillis), (late) => `it ${late}`).catch((error: unknown) =>
        assert.fail(`the law holds, but the cleanup by \`destroy\` or a tool of the spec failed: ${reasonOf(error)}`)
      )
  )
