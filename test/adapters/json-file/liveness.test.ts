/** Who is taken for alive, and what that decides: whether a claim may be tried, and nothing else. */
import assert from 'node:assert/strict'
import { mkdirSync, readdirSync, readFileSync, rmdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import * as O from 'fp-ts/lib/Option.js'
import { describe, test } from 'vitest'
import type { CheckpointStorage, Claim } from '../../../src/ports/CheckpointStorage.js'
import type { Processes } from '../../../src/adapters/json-file/index.js'
import { jsonFileStorage, nodeProcesses } from '../../../src/adapters/json-file/index.js'
import {
  assertLoads,
  claimed,
  left,
  OTHER,
  OWNER,
  revisions,
  right,
  some
} from '../../../src/testing/conformance/fixtures.js'
import { folder, journalsOf, next, placesOf, work } from './kit.js'

/** A process that can't see the others: on another host, or in another container. */
const faraway = (host: string): Processes => ({
  self: () => ({ ...nodeProcesses.self(), host, bootId: `boot of ${host}` }),
  isAlive: () => undefined
})

const heartbeatOf = (root: string): string => {
  const { run } = placesOf(root)
  return join(run, readdirSync(run).find((name) => name.startsWith('heartbeat-')) ?? assert.fail('no heartbeat'))
}

describe('an owner whose process cannot be seen', () => {
  const owned = async (heartbeat = {}) => {
    const root = folder()
    const storage = jsonFileStorage(root, { processes: faraway('near'), heartbeat })
    return {
      root,
      storage,
      claim: await work(storage, [1, 2]),
      other: jsonFileStorage(root, { processes: faraway('far') })
    }
  }

  test('is alive as long as its heartbeat is fresh', async () => {
    const { root, other } = await owned()
    const { holder } = await left(other.claim('a', OTHER), 'HeldBy')
    assert.deepEqual([holder.host, holder.pid], [OWNER.host, OWNER.pid])
    assert.ok(O.isSome(some(await right(other.load('a'))).heldBy))
    const soon = Date.now() / 1000 - 20
    utimesSync(heartbeatOf(root), soon, soon)
    await left(other.claim('a', OTHER), 'HeldBy')
  })

  test('keeps its heartbeat fresh itself', async () => {
    const { root } = await owned({ updateMillis: 1000 })
    const other = jsonFileStorage(root, { processes: faraway('far'), heartbeat: { staleMillis: 2500 } })
    await new Promise((resolve) => setTimeout(resolve, 3500))
    await left(other.claim('a', OTHER), 'HeldBy')
  })

  test('is not dead earlier than a heartbeat can be that proper-lockfile keeps, whatever one asks for', async () => {
    const { root } = await owned()
    const soon = Date.now() / 1000 - 1.5
    utimesSync(heartbeatOf(root), soon, soon)
    const other = jsonFileStorage(root, { processes: faraway('far'), heartbeat: { staleMillis: 100 } })
    await left(other.claim('a', OTHER), 'HeldBy')
    utimesSync(heartbeatOf(root), soon - 1, soon - 1)
    await right(other.claim('a', OTHER))
  })

  test('is dead when its heartbeat is stale, or gone; woken then, it is refused', async () => {
    for (const how of ['stale', 'gone']) {
      const { root, storage, claim, other } = await owned()
      const old = Date.now() / 1000 - 31
      if (how === 'stale') utimesSync(heartbeatOf(root), old, old)
      else rmdirSync(heartbeatOf(root))
      const taken = await right(other.claim('a', OTHER))
      assert.equal(some(taken.stored).revision, 1)
      await left(storage.save(claim, revisions([1, 2, 3])), 'Fenced')
      await right(other.save(taken.claim, revisions([1, 2, 'other'])))
      await assertLoads(other, 'a', [1, 2, 'other'])
    }
  })

  test('whose heartbeat is ahead of our clock is alive: to be refused is the lesser harm', async () => {
    const { root, other } = await owned()
    const tomorrow = Date.now() / 1000 + 86_400
    utimesSync(heartbeatOf(root), tomorrow, tomorrow)
    await left(other.claim('a', OTHER), 'HeldBy')
  })

  test('whose heartbeat somebody disturbed goes on, and nobody is hurt', async () => {
    const { root, storage, claim, other } = await owned({ updateMillis: 1000, staleMillis: 5000 })
    const old = Date.now() / 1000 - 10
    utimesSync(heartbeatOf(root), old, old)
    await new Promise((resolve) => setTimeout(resolve, 2500))
    await left(other.claim('a', OTHER), 'HeldBy')
    rmdirSync(heartbeatOf(root))
    await new Promise((resolve) => setTimeout(resolve, 2500))
    await left(other.claim('a', OTHER), 'HeldBy')
    assert.equal(claim.lost.aborted, false)
    await right(storage.save(claim, revisions([1, 2, 3])))
    await right(storage.release(claim))
    assert.deepEqual(readdirSync(placesOf(root).run).sort(), ['checkpoint.json', 'history'])
  })

  test('that was superseded learns it from its heartbeat, too', async () => {
    const root = folder()
    const storage = jsonFileStorage(root, {
      processes: faraway('near'),
      checkIntervalMillis: 3_600_000,
      heartbeat: { updateMillis: 1000 }
    })
    const claim = await work(storage, [1])
    await claimed(jsonFileStorage(root, { processes: { ...faraway('far'), isAlive: () => false } }), 'a')
    await new Promise((resolve) => claim.lost.addEventListener('abort', resolve))
    assert.equal((claim.lost.reason as { _tag: string })._tag, 'Fenced')
  })
})

describe('our own claim', () => {
  test('is alive, whatever store of this thread asks', async () => {
    const root = folder()
    await claimed(jsonFileStorage(root), 'a')
    await left(jsonFileStorage(root).claim('a', OTHER), 'HeldBy')
  })

  test('that is not released leaves no journal behind for each time that somebody is refused', async () => {
    const root = folder()
    await claimed(jsonFileStorage(root), 'a')
    for (let n = 0; n < 10; n++) await left(jsonFileStorage(root).claim('a', OTHER), 'HeldBy')
    assert.equal(journalsOf(root).length, 1)
  })
})

describe('an owner that lives, whose journal is damaged', () => {
  const damaged = async (end: (storage: CheckpointStorage, claim: Claim) => Promise<unknown>) => {
    const root = folder()
    const storage = jsonFileStorage(root)
    const claim = await work(storage, [1, 2])
    await end(storage, claim)
    const journal = join(placesOf(root).history, journalsOf(root).at(-1) ?? '')
    const bytes = readFileSync(journal)
    const lines = bytes.toString('latin1').split('\n')
    const middle = lines.slice(0, -2).join('\n').length - 5
    bytes.writeUInt8(bytes.readUInt8(middle) ^ 1, middle)
    writeFileSync(journal, bytes)
    return { root, storage }
  }

  test('is not taken for one that still holds the run, if it released it', async () => {
    const { root, storage } = await damaged((store, claim) => right(store.release(claim)))
    for (const store of [storage, jsonFileStorage(root, { processes: { ...nodeProcesses, isAlive: () => true } })]) {
      assert.equal(some(await right(store.load('a'))).heldBy, O.none)
    }
    assert.equal(some((await right(storage.claim('a', OTHER))).stored).found._tag, 'Recovered')
  })

  test('holds it as long as it has a heartbeat', async () => {
    const { storage } = await damaged(() => Promise.resolve())
    await left(storage.claim('a', OTHER), 'HeldBy')
  })
})

describe('what a claim found', () => {
  test('hides what its predecessor still wrote, and was refused', async () => {
    const root = folder()
    const former = next(root)
    const zombie = await work(former, [1, 2])
    const second = await claimed(next(root), 'a')
    await left(former.save(zombie, revisions([1, 2, 'zombie'])), 'Fenced')
    for (const storage of [next(root), next(root)]) {
      await assertLoads(storage, 'a', [1, 2])
      assert.deepEqual(
        (await right(storage.history('a'))).map(({ revision }) => revision),
        [1, 0]
      )
      assert.deepEqual(await right(storage.loadRevision('a', 2)), O.none)
      await claimed(storage, 'a')
    }
    assert.equal(second.epoch, 2)
  })

  test('hides a predecessor that had nothing yet', async () => {
    const root = folder()
    const former = next(root)
    const zombie = await claimed(former, 'a')
    await claimed(next(root), 'a')
    await left(former.save(zombie, revisions(['zombie'])), 'Fenced')
    assert.deepEqual(await right(next(root).load('a')), O.none)
    assert.deepEqual(await right(next(root).history('a')), [])
    const { stored } = await right(next(root).claim('a', OTHER))
    assert.deepEqual(stored, O.none)
  })

  test('is missed when it is gone: lines cut off exactly between two of them', async () => {
    const root = folder()
    const storage = next(root)
    await right(storage.release(await work(storage, [1, 2, 3])))
    await claimed(next(root), 'a')
    const { history, copy } = placesOf(root)
    const path = join(history, 'e000001.jsonl')
    writeFileSync(path, `${readFileSync(path, 'utf8').split('\n').slice(0, -3).join('\n')}\n`)
    rmSync(copy)
    const { revision, found } = some(await right(next(root).load('a')))
    assert.equal(revision, 1)
    assert.ok(found._tag === 'Recovered' && found.lost.includes('revision 2'), JSON.stringify(found))
  })
})

test('an empty folder of a run, as a claim leaves it that was killed early, holds nothing and is in nobody’s way', async () => {
  const root = folder()
  mkdirSync(placesOf(root).run, { recursive: true })
  assert.deepEqual(await right(next(root).load('a')), O.none)
  await right(next(root).remove('a'))
  mkdirSync(placesOf(root).history, { recursive: true })
  await claimed(next(root), 'a')
})
