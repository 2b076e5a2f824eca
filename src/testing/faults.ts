/** Fault injection for stores. */
import * as E from 'fp-ts/lib/Either.js'
import type { TaskEither } from 'fp-ts/lib/TaskEither.js'
import * as fc from 'fast-check'
import { readFailed, STORE, writeFailed } from '../executor/callPort.js'
import type { CheckpointStorage, StorageError } from '../ports/CheckpointStorage.js'
import type { Clock } from '../ports/Clock.js'
import type { OptionTable } from '../domain/data/Options.js'
import { anything, fieldsOf, kindOf, millis, oneOf, wholeFrom } from '../domain/data/Options.js'
import { STORE_METHODS } from '../domain/data/portMethods.js'
import { orList } from '../domain/data/Suggestion.js'
import type { TableOf } from './arguments.js'
import { problemsOf, refuse } from './arguments.js'
import { plainObject, taggedObject } from './arbitraryObjects.js'

/**
 * A method of `CheckpointStorage`.
 *
 * @category model
 */
export type StorageCall = keyof CheckpointStorage

/**
 * A fault of one store call.
 *
 * - `Fail`: the store reports an error, `before` or `after` the call takes effect. `error`: default `WriteFailed` for
 *   calls that write and `ReadFailed` for calls that read, with the code `EIO`.
 * - `Delay`: the call starts `millis` milliseconds later.
 * - `Drop`: the store acknowledges the call without making it. Applies to `save`, `release` and `remove`; other calls
 *   are made as usual.
 * - `Duplicate`: the call is made twice in sequence; the first result is returned.
 * - `Hang`: the call never returns, `before` or `after` it takes effect.
 *
 * @category model
 */
export type Fault =
  | { readonly _tag: 'Fail'; readonly when: 'before' | 'after'; readonly error?: StorageError }
  | { readonly _tag: 'Delay'; readonly millis: number }
  | { readonly _tag: 'Drop' }
  | { readonly _tag: 'Duplicate' }
  | { readonly _tag: 'Hang'; readonly when: 'before' | 'after' }

/**
 * A fault, and the calls that it applies to.
 *
 * - `call`: those of one method; default all methods, counted together.
 * - `nth`: only the n-th of them, from 1.
 * - `from`: the n-th and every later one. Without `nth` and `from`: each of them.
 *
 * @category model
 */
export interface FaultRule {
  readonly fault: Fault
  readonly call?: StorageCall
  readonly nth?: number
  readonly from?: number
}

/**
 * The faults of a store, as plain JSON. The first rule that matches a call applies.
 *
 * @category model
 */
export type FaultSchedule = ReadonlyArray<FaultRule>

/**
 * Wraps a store so that its calls fail as the schedule says. Calls are counted from the first call of the returned
 * store. `clock`: the clock of a `Delay`, default the real one. Throws for an invalid rule.
 *
 * @example
 * import * as E from 'fp-ts/lib/Either.js'
 * import { memoryStorage } from 'dogear/memory'
 * import { runOutcome, workflow } from 'dogear/promise'
 * import { withFaults } from 'dogear/testing'
 * import assert from 'node:assert/strict'
 *
 * const full = withFaults(memoryStorage(), [{ call: 'save', nth: 2, fault: { _tag: 'Fail', when: 'before' } }])
 * const work = workflow('work').step('one', () => 1).step('two', () => 2)
 * const outcome = await runOutcome(work, { id: 'work-1', storage: full })
 * assert.equal(outcome._tag === 'Refused' && outcome.error._tag, 'WriteFailed')
 * assert.ok(E.isRight(await full.load('work-1')()))
 *
 * @category stores
 */
export const withFaults = (
  storage: CheckpointStorage,
  schedule: FaultSchedule,
  options: { readonly clock?: Pick<Clock, 'sleep'> } = {}
): CheckpointStorage => {
  const rules = checked(schedule)
  const sleep = options.clock?.sleep ?? realSleep
  const counts = new Map<StorageCall | undefined, number>()
  const count = (of: StorageCall | undefined): number => {
    const now = (counts.get(of) ?? 0) + 1
    counts.set(of, now)
    return now
  }
  return aroundEach(storage, (call, task) => async () => {
    const [ofMethod, ofAll] = [count(call), count(undefined)]
    const rule = rules.find((one) => fits(one, call, one.call === undefined ? ofAll : ofMethod))
    return rule === undefined ? await task() : await applyFault(rule.fault, call, task, sleep)
  })
}

const WHEN = { when: oneOf('before', 'after') }

/** The fields of each fault. */
const FAULTS: Readonly<Record<Fault['_tag'], OptionTable>> = {
  Fail: { ...WHEN, error: anything },
  Delay: { millis },
  Drop: {},
  Duplicate: {},
  Hang: WHEN
}

const isFault = (tag: unknown): tag is Fault['_tag'] => typeof tag === 'string' && Object.hasOwn(FAULTS, tag)

const RULE: TableOf<FaultRule> = {
  fault: (value) => {
    const { _tag } = fieldsOf(value)
    if (!isFault(_tag)) return `a fault with the _tag ${orList(Object.keys(FAULTS))}`
    const [wrong] = problemsOf(
      value,
      { _tag: anything, ...FAULTS[_tag] },
      Object.keys(FAULTS[_tag]).filter((field) => field !== 'error')
    )
    return wrong === undefined ? undefined : `a valid ${_tag}: ${wrong}`
  },
  call: oneOf(...STORE_METHODS),
  nth: wholeFrom(1),
  from: wholeFrom(1)
}

/** Throws for an invalid rule, which would inject nothing. */
const checked = (schedule: FaultSchedule): FaultSchedule => {
  refuse(
    'withFaults',
    Array.isArray(schedule)
      ? schedule.flatMap((rule: FaultRule, index) =>
          problemsOf(rule, RULE, ['fault']).map((problem) => `rule ${index + 1}: ${problem}`)
        )
      : [`the schedule must be an array of rules, not ${kindOf(schedule)}`]
  )
  return schedule
}

const fits = ({ call, nth, from }: FaultRule, made: StorageCall, count: number): boolean =>
  (call === undefined || call === made) && (nth === undefined || count === nth) && (from === undefined || count >= from)

const realSleep: Clock['sleep'] = (millis) => () => new Promise((resolve) => setTimeout(resolve, millis))

const NEVER = new AbortController().signal

const applyFault = async <A>(
  fault: Fault,
  call: StorageCall,
  task: StorageTask<A>,
  sleep: Clock['sleep']
): Promise<E.Either<StorageError, A>> => {
  switch (fault._tag) {
    case 'Fail':
      if (fault.when === 'after') await task()
      return E.left(fault.error ?? failureOf(call))
    case 'Delay':
      await sleep(fault.millis, NEVER)()
      return await task()
    case 'Drop':
      return RETURN_NOTHING.has(call) ? E.right(undefined as A) : await task()
    case 'Duplicate': {
      const first = await task()
      await task()
      return first
    }
    case 'Hang':
      if (fault.when === 'after') await task()
      return await new Promise<never>(() => undefined)
  }
}

const RETURN_NOTHING: ReadonlySet<StorageCall> = new Set<StorageCall>(['save', 'release', 'remove'])

const READS: ReadonlySet<StorageCall> = new Set<StorageCall>(['load', 'history', 'loadRevision', 'list'])

export const failureOf = (call: StorageCall): StorageError => {
  const failed = READS.has(call) ? readFailed : writeFailed
  return failed(STORE)(call, 'a planned fault', 'EIO')
}

type StorageTask<A> = TaskEither<StorageError, A>

/** Wraps each call of a store. A task that is not run makes no call. */
export const aroundEach = (
  storage: CheckpointStorage,
  around: <A>(call: StorageCall, task: StorageTask<A>) => StorageTask<A>
): CheckpointStorage => ({
  claim: (runId, owner, options) => around('claim', () => storage.claim(runId, owner, options)()),
  save: (claim, revisions) => around('save', () => storage.save(claim, revisions)()),
  release: (claim) => around('release', () => storage.release(claim)()),
  load: (runId) => around('load', () => storage.load(runId)()),
  history: (runId) => around('history', () => storage.history(runId)()),
  loadRevision: (runId, revision) => around('loadRevision', () => storage.loadRevision(runId, revision)()),
  list: (options) => around('list', () => storage.list(options)()),
  remove: (runId, options) => around('remove', () => storage.remove(runId, options)())
})

/**
 * An arbitrary fault. Delays are at most a minute: pass a clock to {@link withFaults}.
 *
 * @example
 * import * as fc from 'fast-check'
 * import { memoryStorage } from 'dogear/memory'
 * import { fault, withFaults } from 'dogear/testing'
 * import assert from 'node:assert/strict'
 *
 * const [one] = fc.sample(fault, { numRuns: 1, seed: 1 })
 * const storage = withFaults(memoryStorage(), one === undefined ? [] : [{ call: 'save', nth: 2, fault: one }])
 * assert.equal(typeof storage.save, 'function')
 *
 * @category arbitraries
 */
export const fault: fc.Arbitrary<Fault> = fc.oneof(
  taggedObject('Fail', { when: fc.constantFrom('before', 'after') }),
  taggedObject('Delay', { millis: fc.nat({ max: 60_000 }) }),
  taggedObject('Drop', {}),
  taggedObject('Duplicate', {}),
  taggedObject('Hang', { when: fc.constantFrom('before', 'after') })
)

/**
 * An arbitrary schedule of up to `maxRules` (4) rules, whose `nth` or `from` is at most `maxCalls` (20). `faults`: default
 * {@link fault}. It shrinks towards no rule and the first call.
 *
 * @example
 * import * as fc from 'fast-check'
 * import { faultSchedule } from 'dogear/testing'
 * import assert from 'node:assert/strict'
 *
 * fc.assert(
 *   fc.property(faultSchedule({ maxRules: 2 }), (schedule) => {
 *     assert.ok(schedule.length <= 2)
 *     assert.deepEqual(JSON.parse(JSON.stringify(schedule)), schedule)
 *   })
 * )
 *
 * @category arbitraries
 */
export const faultSchedule = (
  options: {
    readonly maxRules?: number
    readonly maxCalls?: number
    readonly faults?: fc.Arbitrary<Fault>
  } = {}
): fc.Arbitrary<FaultSchedule> => {
  const nth = fc.integer({ min: 1, max: options.maxCalls ?? 20 })
  const faults = options.faults ?? fault
  const call = fc.constantFrom(...STORE_METHODS)
  return fc.array(
    fc.oneof(
      plainObject({ fault: faults, nth }),
      plainObject({ fault: faults, call, nth }),
      plainObject({ fault: faults, call, from: nth })
    ),
    { maxLength: options.maxRules ?? 4 }
  )
}
