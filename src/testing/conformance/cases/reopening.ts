/** Cases about several instances on the same data. */
import type { Json } from '../../../domain/data/Json.js'
import type { ConformanceCase } from '../Case.js'
import { conformanceCase } from '../Case.js'
import {
  assertHigherEpoch,
  assertHolds,
  assertListing,
  assertLoads,
  begun,
  claimed,
  left,
  OTHER,
  OWNER,
  revisions,
  right,
  seed,
  some
} from '../fixtures.js'
import { assertSame } from '../difference.js'

export const reopeningCases: ReadonlyArray<ConformanceCase> = [
  conformanceCase(
    'CS-OPEN-01',
    'a new instance finds every save that resolved, of every run',
    async ({ storage, reopen }) => {
      const ids = ['a', 'b', 'c']
      for (const runId of ids) {
        const claim = await claimed(storage, runId)
        await right(storage.save(claim, revisions([runId, 1], 2)))
        await right(storage.save(claim, revisions([runId, 1, 2])))
      }
      const next = await reopen()
      await assertListing(next, ids)
      for (const runId of ids) await assertLoads(next, runId, [runId, 1, 2])
      assertSame(
        (await right(next.history('a')))[0]?.revision,
        2,
        'the newest revision of the history in a new instance'
      )
    }
  ),

  conformanceCase(
    'CS-OPEN-02',
    'an instance that loaded a run before sees later saves of another instance',
    async ({ storage, reopen }) => {
      await seed(storage, 'a', [1])
      const next = await reopen()
      for (const one of [storage, next]) await assertLoads(one, 'a', [1])
      const claim = await begun(next, 'a', [1, 2], OTHER)
      await assertLoads(storage, 'a', [1, 2])
      assertSame((await right(storage.history('a')))[0]?.revision, 1, 'the newest revision of the history')
      await right(next.save(claim, revisions([1, 2, 3])))
      assertHolds(some(await right(storage.load('a'))), [1, 2, 3])
      await right(next.release(claim))
      await right(next.remove('a'))
      await assertLoads(storage, 'a', [])
      await assertListing(storage, [])
    }
  ),

  conformanceCase(
    'CS-OPEN-03',
    'over twenty deaths in a row, each owner finds everything that earlier ones saved',
    async ({ storage, reopen }) => {
      const payloads: Array<Json> = []
      let store = storage
      for (let life = 0; life < 20; life++) {
        const { claim, stored } = await right(store.claim('a', OWNER))
        if (life > 0) assertHolds(some(stored), payloads)
        for (const part of ['begun', 'done']) {
          payloads.push(`${part} ${life}`)
          await right(store.save(claim, revisions(payloads)))
        }
        store = await reopen()
      }
      await assertLoads(store, 'a', payloads)
    }
  ),

  conformanceCase(
    'CS-OPEN-04',
    'over twenty owners that die without a save, the run and the order of claims stay unchanged',
    async ({ storage, reopen }) => {
      await seed(storage, 'a', [1, 2])
      let epoch = -1
      let store = storage
      for (let life = 0; life < 20; life++) {
        store = await reopen()
        const { claim, stored } = await right(store.claim('a', OWNER))
        assertHolds(some(stored), [1, 2])
        assertHigherEpoch(claim, epoch)
        epoch = claim.epoch
        await left(store.claim('a', OTHER), 'HeldBy')
      }
      await assertLoads(await reopen(), 'a', [1, 2])
    }
  )
]
