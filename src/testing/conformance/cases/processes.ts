/** Cases about several live processes. */
import type { Json } from '../../../domain/data/Json.js'
import { lawsOf } from '../Case.js'
import { assertLoadsWhileSaving, atOnce, tally } from '../concurrency.js'
import { assertSame } from '../difference.js'
import type { Client, ClientClaim } from '../fixtures.js'
import { asOwner, assertHigherEpoch, assertHolds, left, OTHER, OWNER, pause, some, upTo } from '../fixtures.js'

const processLaw = lawsOf({ needs: ['processes'] })
const stressProcessLaw = lawsOf({ needs: ['processes'], level: 'stress' })

export const processCases = [
  processLaw(
    'CS-PROC-01',
    'a run held by another live process can be neither claimed nor removed, and the error names the holder',
    async ({ storage, beside }) => {
      const other = await beside()
      const claim = await other.storage.begin('a', [1], OTHER)
      assertSame(asOwner(await storage.assertHeld('a', OWNER)), OTHER, 'the holder in HeldBy')
      await left(storage.raw.remove('a'), 'HeldBy')
      await claim.save([1, 2])
      await storage.assertLoads('a', [1, 2])
    }
  ),

  processLaw(
    'CS-PROC-02',
    'once the store detects the death of a killed process, a claim of its run returns every acknowledged save',
    async ({ storage, beside }) => {
      const other = await beside()
      const claim = await other.storage.begin('a', [1], OTHER)
      await claim.save([1, 2, 3], 2)
      await other.kill()
      const next = await storage.claim('a')
      next.assertFound([1, 2, 3])
      assertHigherEpoch(next, claim.epoch)
      await next.save([1, 2, 3, 4])
    }
  ),

  processLaw(
    'CS-PROC-03',
    'exactly one of the concurrent claims in three processes is granted',
    async ({ storage, beside }) => {
      const stores = [storage, (await beside()).storage, (await beside()).storage]
      for (let round = 0; round < 5; round++) {
        const runId = `run-${round}`
        const results = await atOnce(stores.flatMap((one) => [one.claiming(runId), one.claiming(runId, OTHER)]))
        assertSame(tally(results), { success: 1, HeldBy: 5 }, 'the results of six concurrent claims in three processes')
      }
    }
  ),

  processLaw(
    'CS-PROC-04',
    'another process loads every acknowledged save at once, and never part of a save',
    async (context) => {
      const others = [(await context.beside()).storage, (await context.beside()).storage]
      await assertLoadsWhileSaving(context, others, { count: 100, atATime: 2 })
    }
  ),

  processLaw(
    'CS-PROC-05',
    'processes killed one after another lose no acknowledged save and leave the run free to claim',
    async ({ storage, beside }) => {
      let payloads: ReadonlyArray<Json> = []
      let late: Promise<unknown> = Promise.resolve()
      // A save in flight when its process died may still arrive; the next claim decides whether it counts.
      const takeOver = async (claimant: Client, life: number): Promise<ClientClaim> => {
        const claim = await claimant.claim('a', OTHER)
        if (life === 0) return claim
        const found = some(claim.stored, 'the run of the dead processes')
        if (found.revision === payloads.length) payloads = [...payloads, `late ${life - 1}`]
        assertHolds(found, payloads, `the run that process ${life} found`)
        await Promise.race([late, pause(50)])
        await storage.assertLoads('a', payloads, `the run loaded after the claim of process ${life}`)
        return claim
      }
      for (let life = 0; life < 5; life++) {
        const other = await beside()
        const claim = await takeOver(other.storage, life)
        payloads = [...payloads, `begun ${life}`, `done ${life}`]
        await claim.save(payloads, 2)
        late = claim
          .saving([...payloads, `late ${life}`])()
          .catch(() => undefined)
        await other.kill()
      }
      await takeOver(storage, 5)
    }
  ),

  processLaw(
    'CS-PROC-06',
    'processes that write different runs do not affect one another',
    async ({ storage, beside }) => {
      const stores = [storage, (await beside()).storage, (await beside()).storage]
      await Promise.all(stores.map((one, n) => one.seed(`run-${n}`, upTo(20))))
      for (const n of [0, 1, 2]) await (stores[(n + 1) % 3] ?? storage).assertLoads(`run-${n}`, upTo(20))
      const claims = await atOnce(stores.map((one, n) => one.claiming(`run-${n}`)))
      assertSame(tally(claims), { success: claims.length }, 'the results of claims of different runs')
    }
  ),

  processLaw(
    'CS-PROC-07',
    'when a run passes between two processes, each finds at once what the other saved and who holds the run',
    async ({ storage, beside }) => {
      const stores = [storage, (await beside()).storage] as const
      const payloads: Array<Json> = []
      let former: (() => Promise<unknown>) | undefined
      for (let round = 0; round < 6; round++) {
        const [one, other] = round % 2 === 0 ? stores : ([stores[1], stores[0]] as const)
        const owner = round % 2 === 0 ? OWNER : OTHER
        const claim = await one.claim('a', owner)
        if (round > 0) claim.assertFound(payloads, 'the run that the next process found')
        await former?.()
        payloads.push(`of round ${round}`)
        await claim.save(payloads)
        const seen = await other.stored('a', 'the run loaded by the other process')
        assertHolds(seen, payloads, 'the run loaded by the other process')
        assertSame(some(seen.heldBy, 'the holder').pid, owner.pid, 'the pid of the holder, seen by the other process')
        await other.assertHeld('a')
        await claim.release()
        former = () => claim.assertFenced([...payloads, 'late'])
      }
      await stores[1].remove('a')
      await storage.assertLoads('a', [])
      await storage.assertLists([])
    }
  ),

  stressProcessLaw(
    'CS-PROC-08',
    'an owner in another process that makes no call for seven seconds still holds its run',
    async ({ storage, beside }) => {
      const other = await beside()
      const claim = await other.storage.begin('a', [1], OTHER)
      await pause(7_000)
      await storage.assertHeld('a', OWNER, 'a claim of another process')
      await claim.save([1, 2])
      claim.assertNotLost('a silent owner')
    }
  )
]
