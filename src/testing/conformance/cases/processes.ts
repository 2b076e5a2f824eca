/** Cases about several live processes. */
import type { Json } from '../../../domain/data/Json.js'
import type { CheckpointStorage, Claim } from '../../../ports/CheckpointStorage.js'
import type { ConformanceCase } from '../Case.js'
import { casesNeeding } from '../Case.js'
import {
  answerOf,
  assertHigherEpoch,
  assertHolds,
  assertListing,
  assertLoads,
  assertLoadsWhileSaving,
  assertNotLost,
  atOnce,
  begun,
  left,
  OTHER,
  OWNER,
  pause,
  revisions,
  right,
  seed,
  some,
  tally,
  upTo
} from '../fixtures.js'
import { assertSame } from '../difference.js'

const processCase = casesNeeding('processes')

export const processCases: ReadonlyArray<ConformanceCase> = [
  processCase(
    'CS-PROC-01',
    'a run held by another live process is refused, with its holder, and not removed',
    async ({ storage, beside }) => {
      const other = await beside()
      const claim = await begun(other.storage, 'a', [1], OTHER)
      const { holder } = await left(storage.claim('a', OWNER), 'HeldBy')
      assertSame({ host: holder.host, pid: holder.pid }, OTHER, 'the holder in HeldBy')
      await left(storage.remove('a'), 'HeldBy')
      await right(other.storage.save(claim, revisions([1, 2])))
      await assertLoads(storage, 'a', [1, 2])
    }
  ),

  processCase(
    'CS-PROC-02',
    'the run of a killed process can be claimed once the store can detect the death, with every save that resolved',
    async ({ storage, beside }) => {
      const other = await beside()
      const claim = await begun(other.storage, 'a', [1], OTHER)
      await right(other.storage.save(claim, revisions([1, 2, 3], 2)))
      await other.kill()
      const next = await right(storage.claim('a', OWNER))
      assertHolds(some(next.stored), [1, 2, 3])
      assertHigherEpoch(next.claim, claim.epoch)
      await right(storage.save(next.claim, revisions([1, 2, 3, 4])))
    }
  ),

  processCase('CS-PROC-03', 'of concurrent claims in three processes one is granted', async ({ storage, beside }) => {
    const stores = [storage, (await beside()).storage, (await beside()).storage]
    for (let round = 0; round < 5; round++) {
      const runId = `run-${round}`
      const results = await atOnce(stores.flatMap((one) => [one.claim(runId, OWNER), one.claim(runId, OTHER)]))
      assertSame(tally(results), { success: 1, HeldBy: 5 }, 'the results of six concurrent claims in three processes')
    }
  }),

  processCase(
    'CS-PROC-04',
    'another process loads every acknowledged save at once, and never part of a save',
    async (context) => {
      const others = [(await context.beside()).storage, (await context.beside()).storage]
      await assertLoadsWhileSaving(context, others, { count: 100, atATime: 2 })
    }
  ),

  processCase(
    'CS-PROC-05',
    'processes killed one after the other lose nothing and leave the run free',
    async ({ storage, beside }) => {
      let payloads: ReadonlyArray<Json> = []
      let late: Promise<unknown> = Promise.resolve()
      // A save in flight when its process died may still arrive; the next claim decides whether it counts.
      const takeOver = async (claimant: CheckpointStorage, life: number): Promise<Claim> => {
        const { claim, stored } = await right(claimant.claim('a', OTHER))
        if (life === 0) return claim
        const found = some(stored, 'the run of the dead processes')
        if (found.revision === payloads.length) payloads = [...payloads, `late ${life - 1}`]
        assertHolds(found, payloads, `the run that process ${life} found`)
        await Promise.race([late, pause(50)])
        await assertLoads(storage, 'a', payloads, `the run loaded after the claim of process ${life}`)
        return claim
      }
      for (let life = 0; life < 5; life++) {
        const other = await beside()
        const claim = await takeOver(other.storage, life)
        payloads = [...payloads, `begun ${life}`, `done ${life}`]
        await right(other.storage.save(claim, revisions(payloads, 2)))
        late = answerOf(other.storage.save(claim, revisions([...payloads, `late ${life}`]))).catch(() => undefined)
        await other.kill()
      }
      await takeOver(storage, 5)
    }
  ),

  processCase(
    'CS-PROC-06',
    'processes that write different runs do not affect one another',
    async ({ storage, beside }) => {
      const stores = [storage, (await beside()).storage, (await beside()).storage]
      await Promise.all(stores.map((one, n) => seed(one, `run-${n}`, upTo(20))))
      for (const n of [0, 1, 2]) await assertLoads(stores[(n + 1) % 3] ?? storage, `run-${n}`, upTo(20))
      const claims = await atOnce(stores.map((one, n) => one.claim(`run-${n}`, OWNER)))
      assertSame(tally(claims), { success: claims.length }, 'the results of claims of different runs')
    }
  ),

  processCase(
    'CS-PROC-07',
    'a run passes from process to process: each process finds at once what its predecessor saved and who holds the run',
    async ({ storage, beside }) => {
      const stores = [storage, (await beside()).storage] as const
      const payloads: Array<Json> = []
      let former: (() => Promise<unknown>) | undefined
      for (let round = 0; round < 6; round++) {
        const [one, other] = round % 2 === 0 ? stores : ([stores[1], stores[0]] as const)
        const owner = round % 2 === 0 ? OWNER : OTHER
        const { claim, stored } = await right(one.claim('a', owner))
        if (round > 0) assertHolds(some(stored), payloads, 'the run that the next process found')
        await former?.()
        payloads.push(`of round ${round}`)
        await right(one.save(claim, revisions(payloads)))
        const seen = some(await right(other.load('a')), 'the run loaded by the other process')
        assertHolds(seen, payloads, 'the run loaded by the other process')
        assertSame(some(seen.heldBy, 'the holder').pid, owner.pid, 'the pid of the holder, seen by the other process')
        await left(other.claim('a', OTHER), 'HeldBy')
        await right(one.release(claim))
        former = () => left(one.save(claim, revisions([...payloads, 'late'])), 'Fenced')
      }
      await right(stores[1].remove('a'))
      await assertLoads(storage, 'a', [])
      await assertListing(storage, [])
    }
  ),

  processCase(
    'CS-PROC-08',
    'an owner in another process that is silent for seven seconds still holds its run',
    async ({ storage, beside }) => {
      const other = await beside()
      const claim = await begun(other.storage, 'a', [1], OTHER)
      await pause(7_000)
      await left(storage.claim('a', OWNER), 'HeldBy', 'a claim of another process')
      await right(other.storage.save(claim, revisions([1, 2])))
      assertNotLost(claim, 'a silent owner')
    },
    'stress'
  )
]
