import assert from 'node:assert/strict'
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import type { ReadonlyNonEmptyArray } from 'fp-ts/lib/ReadonlyNonEmptyArray.js'
import { describe, test } from 'vitest'
import { memoryData, memoryStorage } from '../../src/adapters/memory.js'
import type { CheckpointStorage, Claim, Revision } from '../../src/ports/CheckpointStorage.js'
import { summary } from '../../src/testing/conformance/fixtures.js'

const OWNER = { host: 'build-1', pid: 100 }
const AT = '2026-01-02T03:04:05.678Z'

const claimed = async (storage: CheckpointStorage, runId = 'a'): Promise<Claim> => {
  const result = await storage.claim(runId, OWNER)()
  return E.isRight(result) ? result.right.claim : assert.fail(result.left._tag)
}

/** A revision with a change of about 200 characters and a checkpoint as large as a run with this many records. */
const revision = (
  number: number,
  checkpoint = (): string => 'x'.repeat(number * 150)
): ReadonlyNonEmptyArray<Revision> => [
  {
    revision: number,
    change: { _tag: 'Confirmed', at: AT, unit: `${number}`.padEnd(128, 'x') },
    checkpoint,
    summary: () => summary([number])
  }
]

const saved = async (storage: CheckpointStorage, claim: Claim, from: number, to: number): Promise<void> => {
  for (let n = from; n < to; n++) {
    const result = await storage.save(claim, revision(n))()
    if (E.isLeft(result)) assert.fail(result.left._tag)
  }
}

describe('the memory store', () => {
  test('a second store on the same data simulates a restart: the first store loses its claims at once', async () => {
    const data = memoryData()
    const killed = memoryStorage(data)
    const claim = await claimed(killed)
    assert.equal(claim.lost.aborted, false)
    memoryStorage(data)
    assert.deepEqual(claim.lost.reason, { _tag: 'Fenced', runId: 'a', epoch: 1, by: O.none })
    const late = await killed.save(claim, revision(0))()
    assert.equal(E.isLeft(late) && late.left._tag, 'Fenced')
  })

  test('a claim of a killed store is lost at once', async () => {
    const data = memoryData()
    const killed = memoryStorage(data)
    const restarted = memoryStorage(data)
    const late = await claimed(killed)
    assert.equal(late.lost.aborted, true)
    assert.ok(E.isLeft(await killed.save(late, revision(0))()))
    const claim = await claimed(restarted)
    assert.ok(claim.epoch > late.epoch)
    await saved(restarted, claim, 0, 2)
  })

  test('a store with separate data shares nothing', async () => {
    await claimed(memoryStorage())
    await claimed(memoryStorage())
  })

  test('a fenced save reports the epoch that superseded its claim', async () => {
    const data = memoryData()
    const killed = memoryStorage(data)
    const claim = await claimed(killed)
    await claimed(memoryStorage(data))
    const late = await killed.save(claim, revision(0))()
    assert.deepEqual(late, E.left({ _tag: 'Fenced', runId: 'a', epoch: 1, by: O.some(2) }))
  })

  test('the epoch keeps counting after a removal', async () => {
    const storage = memoryStorage()
    const first = await claimed(storage)
    await storage.release(first)()
    await storage.remove('a')()
    assert.equal((await claimed(storage)).epoch, first.epoch + 1)
  })

  test('a checkpoint that cannot be encoded leaves the run unchanged', async () => {
    const storage = memoryStorage()
    const claim = await claimed(storage)
    const unwritable = (): never => {
      throw new Error('a bug in the codec')
    }
    await assert.rejects(storage.save(claim, revision(0, unwritable))(), /a bug in the codec/)
    assert.deepEqual(await storage.load('a')(), E.right(O.none))
    await saved(storage, claim, 0, 1)
  })

  test('100,000 saves of a growing run write a linear number of characters, because each save writes only what it adds', async () => {
    const storage = memoryStorage()
    const claim = await claimed(storage)
    let characters = 0
    const counted = (n: number) => () => {
      characters += n * 150
      return 'x'.repeat(n * 150)
    }
    for (let n = 0; n < 100_000; n++) await storage.save(claim, revision(n, counted(n)))()
    assert.ok(characters <= 3 * 100_000 * 150, `${characters} characters of whole checkpoints`)
    const stored = await storage.load('a')()
    assert.ok(E.isRight(stored) && O.isSome(stored.right) && stored.right.value.revision === 99_999)
  })

  test('the history is bounded by the size of the checkpoint, and its remaining revisions load', async () => {
    const storage = memoryStorage()
    const claim = await claimed(storage)
    for (let n = 0; n < 100_000; n++)
      await storage.save(
        claim,
        revision(n, () => `checkpoint ${n}`)
      )()
    const history = await storage.history('a')()
    const kept = E.isRight(history) ? history.right : assert.fail()
    assert.ok(kept.length > 40_000 && kept.length < 70_000, `${kept.length} revisions`)
    const oldest = kept.at(-1)?.revision ?? assert.fail()
    const first = await storage.loadRevision('a', oldest)()
    assert.ok(E.isRight(first) && O.isSome(first.right))
    assert.equal(first.right.value.checkpoint, `checkpoint ${oldest}`)
    assert.deepEqual(await storage.loadRevision('a', oldest - 1)(), E.right(O.none))
  })
})
