/** What the storage laws are written with. */
import assert from 'node:assert/strict'
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import type { ReadonlyNonEmptyArray } from 'fp-ts/lib/ReadonlyNonEmptyArray.js'
import type { TaskEither } from 'fp-ts/lib/TaskEither.js'
import type { Change } from '../../src/domain/Change.js'
import type { Json } from '../../src/domain/Json.js'
import type { CheckpointStorage, Claim, Revision, StorageError, Stored } from '../../src/ports/CheckpointStorage.js'

/** The store of a test, and the same one as the next process finds it. */
export interface Under {
  readonly storage: () => CheckpointStorage
  readonly reopen: () => CheckpointStorage
}

export const OWNER = { host: 'build-1', pid: 100 }
export const OTHER = { host: 'build-2', pid: 200 }

// A test run's checkpoint is the list of what each of its revisions carried, so any mixture of two histories shows.

const change = (payload: Json): Change => ({
  _tag: 'StepCompleted',
  at: '2026-01-02T03:04:05.678Z',
  stepIndex: 0,
  step: 'pack',
  output: payload,
  captured: [],
  attempts: 1,
  startedAt: '2026-01-02T03:04:05.000Z',
  durationMillis: 678,
  evidence: []
})

const checkpoint = (payloads: ReadonlyArray<Json>): Json => ({ format: 1, revision: payloads.length - 1, payloads })

/** The last `count` revisions of a run whose revisions carry these payloads. */
export const revisions = (payloads: ReadonlyArray<Json>, count = 1): ReadonlyNonEmptyArray<Revision> => {
  const first = payloads.length - count
  const made = payloads.slice(first).map((payload, index) => ({
    revision: first + index,
    change: change(payload),
    checkpoint: () => checkpoint(payloads.slice(0, first + index + 1))
  }))
  return made as unknown as ReadonlyNonEmptyArray<Revision>
}

const json = (value: unknown): Json => JSON.parse(JSON.stringify(value)) as Json

export const assertHolds = (stored: Stored, payloads: ReadonlyArray<Json>): void => {
  assert.equal(stored.revision, payloads.length - 1)
  assert.deepEqual(stored.found, { _tag: 'Exact' })
  const based = payloads.length - stored.changes.length
  assert.deepEqual(stored.checkpoint, json(checkpoint(payloads.slice(0, based))))
  assert.deepEqual(stored.changes, json(payloads.slice(based).map(change)))
}

export const assertLoads = async (
  storage: CheckpointStorage,
  runId: string,
  payloads: ReadonlyArray<Json>
): Promise<void> => {
  const stored = await right(storage.load(runId))
  if (payloads.length === 0) assert.deepEqual(stored, O.none)
  else assertHolds(some(stored), payloads)
}

export const right = async <A>(task: TaskEither<StorageError, A>): Promise<A> => {
  const result = await task()
  return E.isRight(result) ? result.right : assert.fail(`refused: ${JSON.stringify(result.left)}`)
}

export const left = async <Tag extends StorageError['_tag']>(
  task: TaskEither<StorageError, unknown>,
  tag: Tag
): Promise<Extract<StorageError, { _tag: Tag }>> => {
  const result = await task()
  if (E.isRight(result)) return assert.fail(`accepted, but ${tag} was due: ${JSON.stringify(result.right)}`)
  assert.equal(result.left._tag, tag, JSON.stringify(result.left))
  return result.left as Extract<StorageError, { _tag: Tag }>
}

export const some = <A>(option: O.Option<A>): A => (O.isSome(option) ? option.value : assert.fail('nothing there'))

export const claimed = async (storage: CheckpointStorage, runId: string, owner = OWNER): Promise<Claim> =>
  (await right(storage.claim(runId, owner))).claim

/** Makes a run of one save for each payload, and gives it back. */
export const seed = async (storage: CheckpointStorage, runId: string, payloads: ReadonlyArray<Json>): Promise<void> => {
  const claim = await claimed(storage, runId)
  for (let n = 1; n <= payloads.length; n++) await right(storage.save(claim, revisions(payloads.slice(0, n))))
  await right(storage.release(claim))
}

export const tally = <A>(results: ReadonlyArray<E.Either<StorageError, A>>): Record<string, number> => {
  const counts: Record<string, number> = {}
  for (const result of results) {
    const outcome = E.isRight(result) ? 'granted' : result.left._tag
    counts[outcome] = (counts[outcome] ?? 0) + 1
  }
  return counts
}
