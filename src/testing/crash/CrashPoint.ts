/** Where and how a process dies. */
import * as fc from 'fast-check'
import type { StorageCall } from '../faults.js'
import type { DeathAtCall } from './process/Life.js'

/** Objects like those that people write. */
const PLAIN = { noNullPrototype: true } as const

/**
 * Something goes wrong at the `n`-th call of the store (from 1) in the life of a process. `call` is which method that was when
 * the point was found; it is there to be read.
 *
 * The process dies `before`, `after`, `torn`, `slow`, `meanwhile` or `late` (see {@link DeathAtCall}); or it lives, and the
 * store says that the call failed: `fails`, nothing was done; `failsAfter`, it was done all the same.
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
 * The process dies at the `n`-th time (from 1) that it runs a `unit` (`step` or `step/group`), or it lives and the unit waits.
 *
 * - `before`: its start is on record, and it has done nothing.
 * - `during`: it was begun, up to the first point where it waits. Its `signal` fires; what it does after that without
 *   looking at it can't be prevented.
 * - `after`: it has ended, well or not, and that is not on record.
 * - `waits`: the process does not die. The unit, a group of a wave, begins only when nothing else goes on that takes no time:
 *   whoever leans on the order of groups that don't need one another is found out.
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
 * The process dies at the `n`-th effect (from 1) of its life that a step has announced with `ProcessContext.effect`: `before` it or
 * `after`. `name` is there to be read.
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
 * A call by which a process changes what `Requests` keeps, by the name of its method.
 *
 * @category model
 */
export type RequestCall = 'withdraw' | 'clearPause' | 'point' | 'unpoint'

/**
 * Something goes wrong at the `n`-th such call (from 1) in the life of a process: it dies `before` it or `after`, or it lives, nothing was
 * done, and it is told so (`fails`). `call` is there to be read.
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
 * Where a process dies.
 *
 * @category model
 */
export type CrashPoint = AtCall | AtUnit | AtEffect | AtRequest

/**
 * The first process dies at the first point, the next one at the second, and so on; the one after the last point lives.
 * A process that does not come to its point lives too.
 *
 * @category model
 */
export type CrashSchedule = ReadonlyArray<CrashPoint>

const AT_CALL: Readonly<Record<AtCall['how'], string>> = {
  before: 'killed before',
  after: 'killed after',
  torn: 'killed during',
  slow: 'killed during, and it arrives just before the next claim,',
  meanwhile: 'killed during, and it arrives along with the next claim,',
  late: 'killed during, and it arrives late,',
  fails: 'told of a failure instead of',
  failsAfter: 'told of a failure after'
}

export const describePoint = (point: CrashPoint): string => {
  switch (point._tag) {
    case 'AtCall':
      return `${AT_CALL[point.how]} call ${point.n}${point.call === undefined ? '' : ` (${point.call})`}`
    case 'AtUnit':
      return `${point.how === 'waits' ? 'others went before' : `killed ${point.how}`} ${point.unit}${point.n === 1 ? '' : `, the ${point.n}. time it ran`}`
    case 'AtEffect':
      return `killed ${point.how} effect ${point.n}${point.name === undefined ? '' : ` (${point.name})`}`
    case 'AtRequest':
      return `${AT_CALL[point.how]} call ${point.n} of its requests${point.call === undefined ? '' : ` (${point.call})`}`
  }
}

const HOW: ReadonlyArray<AtCall['how']> = [
  'before',
  'after',
  'torn',
  'slow',
  'meanwhile',
  'late',
  'fails',
  'failsAfter'
]

/** Up to `maxCrashes` crashes within the first `maxCalls` store calls, `maxEffects` effects and `maxRequests` request calls of each process, and at `units`. Shrinks towards none. */
export const crashSchedule = (
  options: {
    readonly units?: ReadonlyArray<string>
    readonly maxCrashes?: number
    readonly maxCalls?: number
    readonly maxEffects?: number
    readonly maxRequests?: number
  } = {}
): fc.Arbitrary<CrashSchedule> => {
  const { units = [], maxCrashes = 4, maxCalls = 16, maxEffects = 0, maxRequests = 0 } = options
  const atCall: fc.Arbitrary<CrashPoint> = fc.record(
    {
      _tag: fc.constant('AtCall' as const),
      n: fc.integer({ min: 1, max: maxCalls }),
      how: fc.constantFrom(...HOW)
    },
    PLAIN
  )
  const atUnit = (): fc.Arbitrary<CrashPoint> =>
    fc.record(
      {
        _tag: fc.constant('AtUnit' as const),
        unit: fc.constantFrom(...units),
        n: fc.integer({ min: 1, max: 2 }),
        how: fc.constantFrom('before' as const, 'during' as const, 'after' as const)
      },
      PLAIN
    )
  const atEffect: fc.Arbitrary<CrashPoint> = fc.record(
    {
      _tag: fc.constant('AtEffect' as const),
      n: fc.integer({ min: 1, max: Math.max(1, maxEffects) }),
      how: fc.constantFrom('before' as const, 'after' as const)
    },
    PLAIN
  )
  const atRequest: fc.Arbitrary<CrashPoint> = fc.record(
    {
      _tag: fc.constant('AtRequest' as const),
      n: fc.integer({ min: 1, max: Math.max(1, maxRequests) }),
      how: fc.constantFrom('before' as const, 'after' as const, 'fails' as const)
    },
    PLAIN
  )
  const points = [
    atCall,
    ...(units.length === 0 ? [] : [atUnit()]),
    ...(maxEffects === 0 ? [] : [atEffect]),
    ...(maxRequests === 0 ? [] : [atRequest])
  ]
  return fc.array(fc.oneof(...points), { maxLength: maxCrashes })
}
