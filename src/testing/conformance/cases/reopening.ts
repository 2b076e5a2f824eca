/** Cases about several instances on the same data. */
import type { Json } from '../../../domain/data/Json.js'
import { law } from '../Case.js'
import { assertSame } from '../difference.js'
import { assertHigherEpoch, assertHolds, OTHER } from '../fixtures.js'

export const reopeningCases = [
  law('CS-OPEN-01', 'a new instance finds every acknowledged save of every run', async ({ storage, reopen }) => {
    const ids = ['a', 'b', 'c']
    for (const runId of ids) {
      const claim = await storage.claim(runId)
      await claim.save([runId, 1], 2)
      await claim.save([runId, 1, 2])
    }
    const next = await reopen()
    await next.assertLists(ids)
    for (const runId of ids) await next.assertLoads(runId, [runId, 1, 2])
    assertSame((await next.kept('a'))[0], 2, 'the newest revision of the history in a new instance')
  }),

  law(
    'CS-OPEN-02',
    'an instance that has loaded a run sees later saves of another instance',
    async ({ storage, reopen }) => {
      await storage.seed('a', [1])
      const next = await reopen()
      for (const one of [storage, next]) await one.assertLoads('a', [1])
      const claim = await next.begin('a', [1, 2], OTHER)
      await storage.assertLoads('a', [1, 2])
      await storage.assertNewest('a', 1)
      await claim.save([1, 2, 3])
      assertHolds(await storage.stored('a'), [1, 2, 3])
      await claim.release()
      await next.remove('a')
      await storage.assertLoads('a', [])
      await storage.assertLists([])
    }
  ),

  law(
    'CS-OPEN-03',
    'in a chain of twenty owners that die, each owner finds everything that earlier ones saved',
    async ({ storage, reopen }) => {
      const payloads: Array<Json> = []
      let store = storage
      for (let life = 0; life < 20; life++) {
        const claim = await store.claim('a')
        if (life > 0) claim.assertFound(payloads)
        for (const part of ['begun', 'done']) {
          payloads.push(`${part} ${life}`)
          await claim.save(payloads)
        }
        store = await reopen()
      }
      await store.assertLoads('a', payloads)
    }
  ),

  law(
    'CS-OPEN-04',
    'in a chain of twenty owners that die without a save, the run stays unchanged and each epoch is higher',
    async ({ storage, reopen }) => {
      await storage.seed('a', [1, 2])
      let epoch = -1
      let store = storage
      for (let life = 0; life < 20; life++) {
        store = await reopen()
        const claim = await store.claim('a')
        claim.assertFound([1, 2])
        assertHigherEpoch(claim, epoch)
        epoch = claim.epoch
        await store.assertHeld('a')
      }
      await (await reopen()).assertLoads('a', [1, 2])
    }
  )
]
