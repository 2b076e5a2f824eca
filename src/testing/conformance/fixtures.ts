/** What the cases are written with. */
import { strict as assert } from 'node:assert'
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import type { ReadonlyNonEmptyArray } from 'fp-ts/lib/ReadonlyNonEmptyArray.js'
import type { TaskEither } from 'fp-ts/lib/TaskEither.js'
import type { Change } from '../../domain/Change.js'
import type { Json } from '../../domain/Json.js'
import type { CheckpointStorage, Claim, Revision, StorageError, Stored } from '../../ports/CheckpointStorage.js'

export const OWNER = { host: 'build-1', pid: 100 }
export const OTHER = { host: 'build-2', pid: 200 }

// The checkpoint of such a run is the list of what each of its revisions carried, so any mixture of two histories shows.

export const AT = '2026-01-02T03:04:05.678Z'

const change = (payload: Json): Change => ({
  _tag: 'StepCompleted',
  at: AT,
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

/** That what is stored is a run whose revisions carried these payloads, found exactly. */
export const assertHolds = (stored: Stored, payloads: ReadonlyArray<Json>): void => {
  assert.deepEqual(stored.found, { _tag: 'Exact' })
  assertCarries(stored, payloads)
}

/** The same, however it was found. */
export const assertCarries = (stored: Stored, payloads: ReadonlyArray<Json>): void => {
  assert.equal(stored.revision, payloads.length - 1, 'the revision that is stored')
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
  if (payloads.length === 0) assert.deepEqual(stored, O.none, 'what is stored of a run without a checkpoint')
  else assertHolds(some(stored), payloads)
}

/** What a function of the store came to. Stores are written in plain JavaScript too, so their types may not hold. */
const answerOf = async <A>(task: TaskEither<StorageError, A>): Promise<E.Either<StorageError, A>> => {
  const due = 'a TaskEither is due: a function that, when it is called, gives a promise of an Either'
  if (typeof task !== 'function') {
    const given: unknown = task
    return assert.fail(`the store gave ${given instanceof Promise ? 'a promise' : inWords(given)}, and ${due}`)
  }
  const result = (await task()) as E.Either<StorageError, A> | undefined
  return result?._tag === 'Left' || result?._tag === 'Right'
    ? result
    : assert.fail(`the store's task came to ${inWords(result)}, and ${due}`)
}

export const right = async <A>(task: TaskEither<StorageError, A>): Promise<A> => {
  const result = await answerOf(task)
  return E.isRight(result) ? result.right : assert.fail(`refused: ${inWords(result.left)}`)
}

export const left = async <Tag extends StorageError['_tag']>(
  task: TaskEither<StorageError, unknown>,
  tag: Tag
): Promise<Extract<StorageError, { _tag: Tag }>> => {
  const result = await answerOf(task)
  if (E.isRight(result)) {
    const what = result.right === undefined ? '' : `: ${inWords(result.right)}`
    return assert.fail(`it was accepted, and ${tag} was due${what}`)
  }
  assert.equal(result.left._tag, tag, `${tag} was due: ${inWords(result.left)}`)
  return result.left as Extract<StorageError, { _tag: Tag }>
}

/** Any value as a short text. */
export const inWords = (value: unknown): string => {
  try {
    const text = JSON.stringify(value) ?? String(value)
    return text.length > 300 ? `${text.slice(0, 300)}…` : text
  } catch {
    return String(value)
  }
}

export const some = <A>(option: O.Option<A>, what = 'something'): A =>
  O.isSome(option) ? option.value : assert.fail(`${what} should be stored, and nothing is`)

export const claimed = async (storage: CheckpointStorage, runId: string, owner = OWNER): Promise<Claim> =>
  (await right(storage.claim(runId, owner))).claim

/** Makes a run of one save for each payload, and gives it back. */
export const seed = async (storage: CheckpointStorage, runId: string, payloads: ReadonlyArray<Json>): Promise<void> => {
  const claim = await claimed(storage, runId)
  for (let n = 1; n <= payloads.length; n++) await right(storage.save(claim, revisions(payloads.slice(0, n))))
  await right(storage.release(claim))
}

/** How often each answer was given. */
export const tally = <A>(results: ReadonlyArray<E.Either<StorageError, A>>): Record<string, number> => {
  const counts: Record<string, number> = {}
  for (const result of results) {
    const outcome = E.isRight(result) ? 'granted' : result.left._tag
    counts[outcome] = (counts[outcome] ?? 0) + 1
  }
  return counts
}

export const upTo = (n: number): ReadonlyArray<number> => Array.from({ length: n }, (_, index) => index)

/** Waits until something is so, at most so long. */
export const until = async (isSo: () => boolean, limitMillis: number, what: string): Promise<void> => {
  const end = Date.now() + limitMillis
  while (!isSo() && Date.now() < end) await new Promise((resolve) => setTimeout(resolve, 5))
  assert.ok(isSo(), `${what}, and it did not within ${limitMillis} ms`)
}

/** An owner that lives on though it counts as dead, and its successor. The run has one revision. */
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
  const zombie = await claimed(storage, 'a', OWNER)
  await right(storage.save(zombie, revisions(['first'])))
  const latter = await reopen()
  return { former: storage, zombie, latter, owner: await claimed(latter, 'a', OTHER) }
}

/**
 * Saves revisions, so many at a time, while others load again and again. A load sees whole saves, and nothing older than what
 * was acknowledged before it began.
 */
export const assertLoadsWhileSaving = async (
  writer: CheckpointStorage,
  readers: ReadonlyArray<CheckpointStorage>,
  { count, atATime }: { readonly count: number; readonly atATime: number }
): Promise<void> => {
  const claim = await claimed(writer, 'a')
  let acknowledged = 0
  let over = false
  const look = async (reader: CheckpointStorage): Promise<void> => {
    while (!over) {
      const before = acknowledged
      const stored = await right(reader.load('a'))
      const seen = O.isSome(stored) ? stored.value.revision + 1 : 0
      assert.ok(seen >= before, `a load saw ${seen} revisions after ${before} were acknowledged`)
      assert.equal(seen % atATime, 0, `a load saw ${seen} revisions, which is a part of a save`)
      if (O.isSome(stored)) assertCarries(stored.value, upTo(seen))
      await soon()
    }
  }
  const write = async (): Promise<void> => {
    for (let n = atATime; n <= count && !over; n += atATime) {
      await right(writer.save(claim, revisions(upTo(n), atATime)))
      acknowledged = n
      await soon()
    }
  }
  const ending = (work: Promise<void>): Promise<void> => work.finally(() => (over = true))
  await Promise.all([write(), ...readers.map(look)].map(ending))
  for (const reader of readers) await assertLoads(reader, 'a', upTo(count))
}

const soon = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 0))
