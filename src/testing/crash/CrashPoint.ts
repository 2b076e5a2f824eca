/** Crash points: where and how a simulated process dies. */
import * as fc from 'fast-check'
import type { StorageCall } from '../faults.js'
import { byTag } from '../byTag.js'
import { taggedObject } from '../arbitraryObjects.js'
import type { DeathAtCall } from './process/Life.js'

/**
 * A fault at the `n`-th store call (from 1) of a process. `call` is the method that was called when the point was
 * found; it is informative only.
 * The process dies `before`, `after`, `torn`, `slow`, `meanwhile` or `late` (see {@link DeathAtCall}). Or it survives
 * and the store reports a failure: `fails` before the call took effect, `failsAfter` after it.
 *
 * @category model
 */
export interface AtCall {
  readonly _tag: 'AtCall'
  readonly n: number
  readonly how: DeathAtCall | 'fails' | 'failsAfter'
  readonly call?: StorageCall
}

/**
 * A crash at the `n`-th time (from 1) that the process runs a `unit`, which is a path such as `step` or `step/group`.
 *
 * - `before`: its start is recorded and none of its code ran.
 * - `during`: its code ran up to its first `await`. Its `signal` fires; code that ignores the signal cannot be stopped.
 * - `after`: it ended, and its outcome is not recorded.
 * - `waits`: the process survives. The unit, a group of a wave, starts only after all other work that takes no time. It
 *   reveals steps that depend on the order of independent groups.
 *
 * @category model
 */
export interface AtUnit {
  readonly _tag: 'AtUnit'
  readonly unit: string
  readonly n: number
  readonly how: 'before' | 'during' | 'after' | 'waits'
}

/**
 * A crash `before` or `after` the `n`-th effect (from 1) that a process announces with `ProcessContext.effect`. `name`
 * is informative only.
 *
 * @category model
 */
export interface AtEffect {
  readonly _tag: 'AtEffect'
  readonly n: number
  readonly how: 'before' | 'after'
  readonly name?: string
}

/**
 * A method of `Requests` by which an owner changes what is stored.
 *
 * @category model
 */
export type RequestCall = 'withdraw' | 'clearPause' | 'point' | 'unpoint'

/**
 * A fault at the `n`-th call (from 1) by which a process changes stored requests: it dies `before` or `after` the call,
 * or it survives and the call fails without effect (`fails`). `call` is informative only.
 *
 * @category model
 */
export interface AtRequest {
  readonly _tag: 'AtRequest'
  readonly n: number
  readonly how: 'before' | 'after' | 'fails'
  readonly call?: RequestCall
}

/**
 * Where a process dies, or which call fails.
 *
 * @category model
 */
export type CrashPoint = AtCall | AtUnit | AtEffect | AtRequest

/**
 * The n-th process dies at the n-th point. A process without a point, or one that does not reach its point, survives.
 *
 * @category model
 */
export type CrashSchedule = ReadonlyArray<CrashPoint>

const AT_CALL: Readonly<Record<AtCall['how'], (call: string) => string>> = {
  before: (call) => `killed before ${call}`,
  after: (call) => `killed after ${call}`,
  torn: (call) => `killed during ${call}`,
  slow: (call) => `killed during ${call}, which arrives just before the next claim`,
  meanwhile: (call) => `killed during ${call}, which arrives along with the next claim`,
  late: (call) => `killed during ${call}, which arrives after the next claim`,
  fails: (call) => `${call} failed without effect`,
  failsAfter: (call) => `${call} failed after its effect`
}

/** The faults that are possible at every point of a kind. A group of a wave may also wait (`waits`). */
export const HOWS = {
  AtCall: Object.keys(AT_CALL) as ReadonlyArray<AtCall['how']>,
  AtUnit: ['before', 'during', 'after'],
  AtEffect: ['before', 'after'],
  AtRequest: ['before', 'after', 'fails']
} as const satisfies { readonly [Tag in CrashPoint['_tag']]: ReadonlyArray<Extract<CrashPoint, { _tag: Tag }>['how']> }

/** Returns whether two points are at the same place, however the process dies there. */
export const isSamePlace = (one: CrashPoint, other: CrashPoint): boolean =>
  one._tag === other._tag &&
  one.n === other.n &&
  ('unit' in one ? one.unit : '') === ('unit' in other ? other.unit : '')

const named = (name: string | undefined): string => (name === undefined ? '' : ` (${name})`)

export const describePoint = (point: CrashPoint): string =>
  byTag(point, {
    AtCall: ({ how, n, call }) => AT_CALL[how](`call ${n}${named(call)}`),
    AtUnit: ({ how, unit, n }) =>
      `${how === 'waits' ? `${unit} started after all others` : `killed ${how} ${unit}`}${n === 1 ? '' : `, run ${n}`}`,
    AtEffect: ({ how, n, name }) => `killed ${how} effect ${n}${named(name)}`,
    AtRequest: ({ how, n, call }) => AT_CALL[how](`call ${n} of its requests${named(call)}`)
  })

/**
 * Up to four crashes within the first `maxCalls` store calls, `maxEffects` effects and `maxRequests` request calls of each process, and at `units`.
 * Shrinks towards none.
 */
export const crashSchedule = (
  options: {
    readonly units?: ReadonlyArray<string>
    readonly maxCalls?: number
    readonly maxEffects?: number
    readonly maxRequests?: number
  } = {}
): fc.Arbitrary<CrashSchedule> => {
  const { units = [], maxCalls = 16, maxEffects = 0, maxRequests = 0 } = options
  const at = (tag: CrashPoint['_tag'], max: number, unit = {}): ReadonlyArray<fc.Arbitrary<CrashPoint>> => {
    if (max <= 0) return []
    const how = fc.constantFrom(...(HOWS[tag] as ReadonlyArray<CrashPoint['how']>))
    return [taggedObject(tag, { ...unit, n: fc.integer({ min: 1, max }), how }) as fc.Arbitrary<CrashPoint>]
  }
  const atUnit = units.length === 0 ? [] : at('AtUnit', 2, { unit: fc.constantFrom(...units) })
  const [atEffect, atRequest] = [at('AtEffect', maxEffects), at('AtRequest', maxRequests)]
  return fc.array(fc.oneof(...at('AtCall', maxCalls), ...atUnit, ...atEffect, ...atRequest), { maxLength: 4 })
}
