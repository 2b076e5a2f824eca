/** Helpers for the cases. */
import { strict as assert } from 'node:assert'
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import type { ReadonlyNonEmptyArray } from 'fp-ts/lib/ReadonlyNonEmptyArray.js'
import type { TaskEither } from 'fp-ts/lib/TaskEither.js'
import type { Change } from '../../domain/change/Change.js'
import type { Summary } from '../../domain/checkpoint/Summary.js'
import type { Json } from '../../domain/data/Json.js'
import type {
  CheckpointStorage,
  Claim,
  Claimed,
  Listed,
  ListOptions,
  RemoveOptions,
  Revision,
  StorageError,
  Stored
} from '../../ports/CheckpointStorage.js'
import type { CaseContext } from './Case.js'
import { callOf, returnedBy } from './calls.js'
import { assertSame, inWords } from './difference.js'

export const OWNER = { host: 'build-1', pid: 100 }
export const OTHER = { host: 'build-2', pid: 200 }

// The checkpoint lists the payload of each revision, so any mixture of two histories shows.

export const AT = '2026-01-02T03:04:05.678Z'

const change = (payload: Json): Change => ({
  _tag: 'UnitCompleted',
  at: AT,
  unit: 'pack',
  output: payload,
  captured: [],
  attempts: 1,
  startedAt: '2026-01-02T03:04:05.000Z',
  durationMillis: 678,
  evidence: []
})

const checkpoint = (payloads: ReadonlyArray<Json>): Json => ({ format: 1, revision: payloads.length - 1, payloads })

export const revisions = (payloads: ReadonlyArray<Json>, count = 1): ReadonlyNonEmptyArray<Revision> => {
  const first = payloads.length - count
  const made = payloads.slice(first).map((payload, index) => ({
    revision: first + index,
    change: change(payload),
    checkpoint: () => checkpoint(payloads.slice(0, first + index + 1)),
    summary: () => summary(payloads.slice(0, first + index + 1))
  }))
  return made as unknown as ReadonlyNonEmptyArray<Revision>
}

/** A time after {@link AT}. */
export const LATER = '2026-01-02T03:04:06.789Z'

/** The removal option that names this revision as the newest. */
export const newest = (revision: number, at = AT): RemoveOptions => ({ newest: { revision, at } })

/** The revisions with another time of their changes. */
export const revisionsAt = (at: string, payloads: ReadonlyArray<Json>, count = 1): ReadonlyNonEmptyArray<Revision> =>
  revisions(payloads, count).map((one) => ({
    ...one,
    change: { ...one.change, at }
  })) as unknown as ReadonlyNonEmptyArray<Revision>

const STATUSES = ['queued', 'interrupted', 'failed', 'paused', 'completed'] as const

/** The summary of a run with these payloads. */
export const summary = (payloads: ReadonlyArray<Json>): Summary => ({
  revision: payloads.length - 1,
  workflow: { name: `kit of ${payloads.length}`, ...(payloads.length % 2 === 0 ? { path: 'kit.yaml' } : {}) },
  status: STATUSES[payloads.length % STATUSES.length] ?? 'queued',
  heldStatus: 'running',
  steps: { completed: payloads.length, total: 100 },
  createdAt: '2026-01-02T03:04:05.600Z',
  updatedAt: AT
})

/** The listed ids. */
export const idsIn = async (storage: CheckpointStorage, options?: ListOptions): Promise<ReadonlyArray<string>> =>
  (await listed(storage, options)).map(({ runId }) => runId)

export const listed = async (storage: CheckpointStorage, options?: ListOptions): Promise<ReadonlyArray<Listed>> => {
  const runs = await right(storage.list(options))
  assert.ok(isListing(runs), `the listing: expected an array of objects with a runId, found ${inWords(runs)}`)
  return runs
}

const isListing = (given: unknown): boolean =>
  Array.isArray(given) && given.every((one) => typeof (one as Partial<Listed> | undefined)?.runId === 'string')

/** Asserts that the summary of a run is that of these payloads, if the store keeps one. */
export const assertSummary = async (
  storage: CheckpointStorage,
  runId: string,
  payloads: ReadonlyArray<Json>,
  what = `the summary of ${runId}`
): Promise<void> => {
  const found = (await listed(storage)).find((one) => one.runId === runId)?.summary
  if (found === undefined) return
  const { heldBy, ...facts } = found
  assertSame(facts, summary(payloads), what)
  const stored = some(await right(storage.load(runId)), runId)
  assertSame(O.isSome(heldBy), O.isSome(stored.heldBy), `${what} says that an owner holds the run`)
}

const json = (value: unknown): Json => JSON.parse(JSON.stringify(value)) as Json

/** Asserts that the stored run has these payloads and was found exactly. */
export const assertHolds = (stored: Stored, payloads: ReadonlyArray<Json>, what = 'the stored run'): void => {
  assertSame(stored.found, { _tag: 'Exact' }, `\`found\` of ${what}`)
  assertCarries(stored, payloads, what)
}

export const assertCarries = (stored: Stored, payloads: ReadonlyArray<Json>, what = 'the stored run'): void => {
  assert.ok(
    Array.isArray(stored.changes),
    `\`changes\` of ${what}: expected an array, found ${inWords(stored.changes)}`
  )
  assertSame(stored.revision, payloads.length - 1, `the revision of ${what}`)
  const based = payloads.length - stored.changes.length
  assertSame(stored.checkpoint, json(checkpoint(payloads.slice(0, based))), `the checkpoint of ${what}`)
  assertSame(stored.changes, json(payloads.slice(based).map(change)), `the changes of ${what}`)
}

export const assertLoads = async (
  storage: CheckpointStorage,
  runId: string,
  payloads: ReadonlyArray<Json>,
  what = `the run ${runId}, as loaded`
): Promise<void> => {
  const stored = await right(storage.load(runId))
  if (payloads.length === 0) assertSame(stored, O.none, what)
  else assertHolds(some(stored, what), payloads, what)
}

interface Tagged {
  readonly _tag: string
}

/** Stores may be written in plain JavaScript, so their types may not hold. */
export const answerOf = async <Failure extends Tagged, A>(
  task: TaskEither<Failure, A>
): Promise<E.Either<Failure, A>> => {
  const expected = 'expected a TaskEither (a function that returns a promise of an Either), found'
  if (typeof task !== 'function') {
    ignored(task)
    const given = returnedBy(task)
    return assert.fail(`${callOf(task)}: ${expected} ${given instanceof Promise ? 'a promise' : inWords(given)}`)
  }
  const result = (await task()) as E.Either<Failure | undefined, A> | undefined
  if (result?._tag === 'Right') return result
  if (result?._tag !== 'Left' || !('left' in result))
    return assert.fail(`${callOf(task)}: ${expected} a function that returns ${inWords(result)}`)
  return typeof result.left?._tag === 'string'
    ? E.left(result.left)
    : assert.fail(`${callOf(task)}: the left must be an error with a "_tag", found ${inWords(result.left)}`)
}

/** Swallows the rejection of a promise that a store wrongly returned. */
export const ignored = (given: unknown): void => {
  if (given instanceof Promise) given.catch(() => undefined)
}

export const atOnce = <Failure extends Tagged, A>(
  tasks: ReadonlyArray<TaskEither<Failure, A>>
): Promise<ReadonlyArray<E.Either<Failure, A>>> => Promise.all(tasks.map(answerOf))

export const right = async <A>(task: TaskEither<Tagged, A>): Promise<A> => {
  const result = await answerOf(task)
  return E.isRight(result)
    ? result.right
    : assert.fail(`${callOf(task)}: expected success, found ${inWords(result.left)}`)
}

export const left = async <Failure extends Tagged, Tag extends Failure['_tag']>(
  task: TaskEither<Failure, unknown>,
  tag: Tag,
  what = callOf(task)
): Promise<Extract<Failure, { _tag: Tag }>> => {
  const result = await answerOf(task)
  if (E.isRight(result)) {
    const given = result.right === undefined ? '' : ` with ${inWords(result.right)}`
    return assert.fail(`${what}: expected ${tag}, found success${given}`)
  }
  if (result.left._tag !== tag) assert.fail(`${what}: expected ${tag}, found ${inWords(result.left)}`)
  return result.left as Extract<Failure, { _tag: Tag }>
}

export const some = <A>(option: O.Option<A>, what = 'the stored run'): A => {
  const given = option as O.Option<A> | undefined
  if (given?._tag === 'Some') return given.value
  return given?._tag === 'None'
    ? assert.fail(`${what}: expected a value, found none`)
    : assert.fail(`${what}: expected an Option, found ${inWords(given)}`)
}

/** Asserts that the lost signal of a claim has not fired. */
export const assertNotLost = ({ lost }: Claim, whose = 'the owner'): void =>
  assertSame(lost.aborted, false, `whether the lost signal of ${whose} has fired`)

export const assertHigherEpoch = ({ epoch }: Claim, than: number): void =>
  assert.ok(epoch > than, `the epoch of a claim: expected one above ${than}, found ${epoch}`)

export const assertListing = async (storage: CheckpointStorage, ids: ReadonlyArray<string>): Promise<void> =>
  assertSame(await idsIn(storage), ids, 'the listing')

export const claimed = async (storage: CheckpointStorage, runId: string, owner = OWNER): Promise<Claim> =>
  (await right(storage.claim(runId, owner))).claim

/** Claims a run and saves the last of these payloads. */
export const begun = async (
  storage: CheckpointStorage,
  runId: string,
  payloads: ReadonlyArray<Json>,
  owner = OWNER
): Promise<Claim> => {
  const claim = await claimed(storage, runId, owner)
  await right(storage.save(claim, revisions(payloads)))
  return claim
}

export const seed = async (storage: CheckpointStorage, runId: string, payloads: ReadonlyArray<Json>): Promise<void> => {
  const claim = await claimed(storage, runId)
  for (let n = 1; n <= payloads.length; n++) await right(storage.save(claim, revisions(payloads.slice(0, n))))
  await right(storage.release(claim))
}

export const tally = <A>(results: ReadonlyArray<E.Either<StorageError, A>>): Record<string, number> => {
  const counts: Record<string, number> = {}
  for (const result of results) {
    const outcome = E.isRight(result) ? 'success' : result.left._tag
    counts[outcome] = (counts[outcome] ?? 0) + 1
  }
  return counts
}

export const upTo = (n: number): ReadonlyArray<number> => Array.from({ length: n }, (_, index) => index)

export const until = async (isSo: () => boolean, limitMillis: number, what: string): Promise<void> => {
  const end = Date.now() + limitMillis
  while (!isSo() && Date.now() < end) await pause(5)
  assert.ok(isSo(), `${what}: expected within ${limitMillis} ms, found not yet`)
}

/** A superseded owner that still lives, and its successor. The run has one revision. */
export interface Takeover {
  readonly former: CheckpointStorage
  readonly zombie: Claim
  readonly latter: CheckpointStorage
  readonly owner: Claim
}

export const takeover = async (
  storage: CheckpointStorage,
  reopen: () => Promise<CheckpointStorage>
): Promise<Takeover> => {
  const zombie = await begun(storage, 'a', ['first'], OWNER)
  const latter = await reopen()
  return { former: storage, zombie, latter, owner: await claimed(latter, 'a', OTHER) }
}

export const pause = (millis: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, millis))

/** Yields to other work `turns` times. */
export const turns = async (count: number): Promise<void> => {
  for (let n = 0; n < count; n++) await new Promise((resolve) => setImmediate(resolve))
}

/** Does both at once; in round 0 the first starts three turns after the second, in round 3 at once, and later the second after the first. */
export const overlapping = async <A, B>(
  round: number,
  first: () => Promise<A>,
  second: () => Promise<B>
): Promise<[A, B]> => {
  const late = async <C>(count: number, act: () => Promise<C>): Promise<C> => {
    await turns(Math.max(0, count))
    return act()
  }
  return Promise.all([late(3 - round, first), late(round - 3, second)])
}

/** Asserts that a run stays whole if its former owner saves `late` during a change of owners: the new owner finds that save if it resolved, and continues from what it found. */
export const assertGoesOn = async (
  storage: CheckpointStorage,
  { claim, stored }: Claimed,
  saved: E.Either<StorageError, void>
): Promise<readonly Json[]> => {
  const found = some(stored, 'the first revision')
  const payloads = found.revision === 1 ? ['first', 'late'] : ['first']
  assertHolds(found, payloads, 'the run that the new owner found')
  if (E.isRight(saved))
    assertSame(found.revision, 1, 'the revision that the new owner found, after a save of revision 1 resolved')
  else assertSame(saved.left._tag, 'Fenced', 'the error of the save in flight')
  await right(storage.save(claim, revisions([...payloads, 'next'])))
  await assertLoads(storage, claim.runId, [...payloads, 'next'])
  return [...payloads, 'next']
}

/** Saves in batches while others load. A load must return complete saves and nothing older than was acknowledged before it. */
export const assertLoadsWhileSaving = async (
  { storage: writer, isOver }: Pick<CaseContext, 'storage' | 'isOver'>,
  readers: ReadonlyArray<CheckpointStorage>,
  { count, atATime }: { readonly count: number; readonly atATime: number }
): Promise<void> => {
  const claim = await claimed(writer, 'a')
  let acknowledged = 0
  let over = false
  const look = async (reader: CheckpointStorage): Promise<void> => {
    while (!over && !isOver()) {
      const before = acknowledged
      const stored = await right(reader.load('a'))
      const seen = O.isSome(stored) ? stored.value.revision + 1 : 0
      assert.ok(
        seen >= before,
        `a load during saves: expected at least ${before} acknowledged revisions, found ${seen}`
      )
      assertSame(seen % atATime, 0, `the revisions of an incomplete save (of ${atATime}) in a load that found ${seen}`)
      if (O.isSome(stored)) assertCarries(stored.value, upTo(seen))
      await pause(0)
    }
  }
  const write = async (): Promise<void> => {
    for (let n = atATime; n <= count && !over; n += atATime) {
      await right(writer.save(claim, revisions(upTo(n), atATime)))
      acknowledged = n
      await pause(0)
    }
  }
  const ending = (work: Promise<void>): Promise<void> => work.finally(() => (over = true))
  await Promise.all([write(), ...readers.map(look)].map(ending))
  for (const reader of readers) await assertLoads(reader, 'a', upTo(count))
}
