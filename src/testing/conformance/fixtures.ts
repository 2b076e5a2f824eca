/** The revisions that cases save, and the checks of what a store returns. */
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
  ListOptions,
  Owner,
  RemoveOptions,
  Revision,
  Stored
} from '../../ports/CheckpointStorage.js'
import { callOf } from './checkedStore.js'
import { assertSame, inWords } from './difference.js'

export const OWNER = { host: 'build-1', pid: 100 }
export const OTHER = { host: 'build-2', pid: 200 }

/** The owner without the other fields of a holder. */
export const asOwner = ({ host, pid }: Owner): Owner => ({ host, pid })

/** The time of each change. */
export const AT = '2026-01-02T03:04:05.678Z'

/** A time after {@link AT}. */
export const LATER = '2026-01-02T03:04:06.789Z'

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

/** A checkpoint lists the payload of each revision, so that a mixture of two histories differs from both. */
const checkpoint = (payloads: ReadonlyArray<Json>): Json => ({ format: 1, revision: payloads.length - 1, payloads })

/** The last `count` of the revisions with these payloads. */
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

/** The removal option that names this revision as the newest. */
export const newest = (revision: number, at = AT): RemoveOptions => ({ newest: { revision, at } })

/** The newest revision, with this time of its change. */
export const revisionsAt = (at: string, payloads: ReadonlyArray<Json>): ReadonlyNonEmptyArray<Revision> => {
  const [one] = revisions(payloads)
  return [{ ...one, change: { ...one.change, at } }]
}

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
  (await right(storage.list(options))).map(({ runId }) => runId)

/** Asserts that the stored run has these payloads and was found exactly. */
export const assertHolds = (stored: Stored, payloads: ReadonlyArray<Json>, what = 'the stored run'): void => {
  assertSame(stored.found, { _tag: 'Exact' }, `\`found\` of ${what}`)
  assertCarries(stored, payloads, what)
}

/** Asserts that the content of the stored run is that of these payloads, however it was found. */
export const assertCarries = (stored: Stored, payloads: ReadonlyArray<Json>, what = 'the stored run'): void => {
  assertSame(stored.revision, payloads.length - 1, `the revision of ${what}`)
  const based = payloads.length - stored.changes.length
  assertSame(stored.checkpoint, checkpoint(payloads.slice(0, based)), `the checkpoint of ${what}`)
  assertSame(stored.changes, payloads.slice(based).map(change), `the changes of ${what}`)
}

/** Asserts that these payloads are stored, or nothing if there are none. */
export const assertStored = (stored: O.Option<Stored>, payloads: ReadonlyArray<Json>, what: string): void => {
  if (payloads.length === 0) assertSame(stored, O.none, what)
  else assertHolds(some(stored, what), payloads, what)
}

export const assertLoads = async (
  storage: CheckpointStorage,
  runId: string,
  payloads: ReadonlyArray<Json>,
  what = `the run ${runId}, as loaded`
): Promise<void> => {
  assertStored(await right(storage.load(runId)), payloads, what)
}

interface Tagged {
  readonly _tag: string
}

export const right = async <A>(task: TaskEither<Tagged, A>): Promise<A> => {
  const result = await task()
  return E.isRight(result)
    ? result.right
    : assert.fail(`${callOf(task)}: expected success, found ${inWords(result.left)}`)
}

export const left = async <Failure extends Tagged, Tag extends Failure['_tag']>(
  task: TaskEither<Failure, unknown>,
  tag: Tag,
  what = callOf(task)
): Promise<Extract<Failure, { _tag: Tag }>> => {
  const result = await task()
  if (E.isRight(result)) {
    const given = result.right === undefined ? '' : ` with ${inWords(result.right)}`
    return assert.fail(`${what}: expected ${tag}, found success${given}`)
  }
  if (result.left._tag !== tag) assert.fail(`${what}: expected ${tag}, found ${inWords(result.left)}`)
  return result.left as Extract<Failure, { _tag: Tag }>
}

export const some = <A>(option: O.Option<A>, what = 'the stored run'): A =>
  O.isSome(option) ? option.value : assert.fail(`${what}: expected a value, found none`)

export const assertHigherEpoch = ({ epoch }: Claim, than: number): void =>
  assert.ok(epoch > than, `the epoch of a claim: expected one above ${than}, found ${epoch}`)

export const claimed = async (storage: CheckpointStorage, runId: string, owner = OWNER): Promise<Claim> =>
  (await right(storage.claim(runId, owner))).claim

export const seed = async (storage: CheckpointStorage, runId: string, payloads: ReadonlyArray<Json>): Promise<void> => {
  const claim = await claimed(storage, runId)
  for (let n = 1; n <= payloads.length; n++) await right(storage.save(claim, revisions(payloads.slice(0, n))))
  await right(storage.release(claim))
}

export const upTo = (n: number): ReadonlyArray<number> => Array.from({ length: n }, (_, index) => index)

export const until = async (
  isSo: () => boolean | Promise<boolean>,
  limitMillis: number,
  what: string
): Promise<void> => {
  const end = Date.now() + limitMillis
  while (!(await isSo())) {
    assert.ok(Date.now() < end, `${what}: expected within ${limitMillis} ms, found not yet`)
    await pause(5)
  }
}

export const pause = (millis: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, millis))
