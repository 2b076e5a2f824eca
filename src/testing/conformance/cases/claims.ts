/** Cases about who may write a run. */
import { strict as assert } from 'node:assert'
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import type { Owner } from '../../../ports/CheckpointStorage.js'
import { law, stressLaw } from '../Case.js'
import { assertSuccessorContinues, atOnce, tally, turns } from '../concurrency.js'
import { assertSame } from '../difference.js'
import type { Client } from '../fixtures.js'
import { asOwner, assertHolds, left, OTHER, OWNER, pause, some, upTo } from '../fixtures.js'

export const claimCases = [
  law(
    'CS-CLAIM-01',
    'a claim of a new run writes no checkpoint and reports that nothing is stored',
    async ({ storage }) => {
      const claim = await storage.claim('a')
      claim.assertFound([], 'what a claim of a new run found stored')
      assertSame(claim.runId, 'a', 'the run id of the claim')
      assertSame(Number.isSafeInteger(claim.epoch), true, 'whether the epoch of the claim is a safe integer')
      claim.assertNotLost()
      await storage.assertLoads('a', [])
    }
  ),

  law(
    'CS-CLAIM-02',
    'a claim of a run that a live owner holds fails with HeldBy, which names the owner and the time of its claim',
    async ({ storage }) => {
      await storage.claim('a')
      const { runId, holder } = await left(storage.raw.claim('a', OTHER), 'HeldBy')
      assertSame({ runId, ...asOwner(holder) }, { runId: 'a', ...OWNER }, 'the holder in HeldBy')
      // The time may be that of a server with another clock.
      const isNow = holder.since.endsWith('Z') && Math.abs(Date.parse(holder.since) - Date.now()) < 60_000
      assert.ok(isNow, `\`since\` of the holder: expected the present time in UTC, found ${holder.since}`)
    }
  ),

  law('CS-CLAIM-03', 'a refused claim does not affect the owner', async ({ storage }) => {
    const claim = await storage.claim('a')
    await storage.assertHeld('a')
    await claim.save([1])
    claim.assertNotLost()
    await storage.assertHeld('a')
    await claim.save([1, 2])
  }),

  law('CS-CLAIM-04', 'a load reports the live owner until the claim is released', async ({ storage }) => {
    const claim = await storage.begin('a', [1])
    assertSame(asOwner(await storage.holder('a')), OWNER, 'the holder in a load')
    await claim.release()
    assertSame((await storage.stored('a')).heldBy, O.none, 'the holder after a release')
  }),

  law(
    'CS-CLAIM-05',
    'a released run can be claimed at once, and the claim returns what is stored',
    async ({ storage }) => {
      await storage.seed('a', [1, 2])
      const next = await storage.claim('a', OTHER)
      const stored = some(next.stored)
      assertHolds(stored, [1, 2])
      assertSame(stored.heldBy, O.none, 'the holder that a claim found')
      await next.save([1, 2, 3])
      await storage.assertLoads('a', [1, 2, 3])
    }
  ),

  law(
    'CS-CLAIM-06',
    'the run of a dead owner can be claimed at once, and the claim returns every acknowledged save',
    async ({ storage, reopen }) => {
      const dead = await storage.begin('a', [1])
      await dead.save([1, 2, 3], 2)
      const restarted = await reopen()
      const next = await restarted.claim('a', OTHER)
      next.assertFound([1, 2, 3])
      await next.save([1, 2, 3, 4])
      await restarted.assertLoads('a', [1, 2, 3, 4])
    }
  ),

  law(
    'CS-CLAIM-07',
    'each claim of a run has a higher epoch than all earlier ones, whether they were released or their owner died',
    async ({ storage, reopen }) => {
      const first = await storage.claim('a')
      await first.release()
      const second = await storage.claim('a')
      const restarted = await reopen()
      const third = await restarted.begin('a', [1])
      await third.release()
      const fourth = await restarted.claim('a')
      const epochs = [first, second, third, fourth].map(({ epoch }) => epoch)
      const rising = [...new Set(epochs)].sort((a, b) => a - b)
      assertSame(epochs, rising, 'the epochs of four consecutive claims')
    }
  ),

  law('CS-CLAIM-08', 'a released claim saves nothing, and releasing it again has no effect', async ({ storage }) => {
    const claim = await storage.begin('a', [1])
    await claim.release()
    await claim.release()
    await claim.assertFenced([1, 2])
    await storage.assertLoads('a', [1])
    const next = await storage.claim('a', OTHER)
    await claim.releasing()()
    await storage.assertHeld('a', OWNER)
    await next.save([1, 2])
  }),

  law('CS-CLAIM-09', 'exactly one of ten concurrent claims is granted', async ({ storage }) => {
    const results = await atOnce(Array.from({ length: 10 }, () => storage.claiming('a')))
    assertSame(tally(results), { success: 1, HeldBy: 9 }, 'the results of ten concurrent claims')
    for (const result of results) if (E.isRight(result)) await result.right.save([1])
    await storage.assertLoads('a', [1])
  }),

  law(
    'CS-CLAIM-10',
    "exactly one of ten concurrent claims of a dead owner's run is granted",
    async ({ storage, reopen }) => {
      await storage.begin('a', [1])
      const restarted = await reopen()
      const results = await atOnce(Array.from({ length: 10 }, () => restarted.claiming('a', OTHER)))
      assertSame(tally(results), { success: 1, HeldBy: 9 }, 'the results of ten concurrent claims')
      await restarted.assertLoads('a', [1])
    }
  ),

  law('CS-CLAIM-11', 'creating a TaskEither without running it has no effect', async ({ storage }) => {
    const claim = await storage.begin('a', [1])
    claim.saving([1, 2])
    claim.releasing()
    storage.raw.remove('a')
    storage.raw.claim('b', OWNER)
    await pause(20)
    await storage.assertLoads('a', [1])
    await storage.assertHeld('a')
    await storage.claim('b', OTHER)
  }),

  law('CS-CLAIM-12', 'claims of different runs are independent', async ({ storage }) => {
    const [first, second] = [await storage.claim('a'), await storage.claim('b')]
    await first.save(['of a'])
    await second.save(['of b'])
    await first.release()
    await second.save(['of b', 'more'])
    second.assertNotLost()
    await storage.assertLoads('a', ['of a'])
    await storage.assertLoads('b', ['of b', 'more'])
  }),

  stressLaw(
    'CS-CLAIM-13',
    'among concurrent claims and releases, each owner finds what its predecessor saved',
    async ({ storage, isOver }) => {
      const contender = async (pid: number): Promise<number> => {
        let saved = 0
        for (let tries = 0; saved < 5 && tries < 2_000 && !isOver(); tries++) {
          const result = await storage.claiming('a', { host: 'h', pid })()
          if (E.isLeft(result)) {
            assertSame(result.left._tag, 'HeldBy', 'the error of a concurrent claim')
            await pause(1)
            continue
          }
          const claim = result.right
          const next = O.isSome(claim.stored) ? claim.stored.value.revision + 1 : 0
          await claim.save(upTo(next + 1))
          await claim.release()
          saved += 1
        }
        return saved
      }
      const saved = await Promise.all([1, 2, 3, 4, 5, 6].map(contender))
      assertSame(saved, [5, 5, 5, 5, 5, 5], 'the saves of six concurrent owners')
      await storage.assertLoads('a', upTo(30))
    }
  ),

  law(
    'CS-CLAIM-14',
    'a load reports the host and pid of the owner, no holder once it is dead, and then its successor',
    async ({ storage, reopen }) => {
      const first = { host: 'fe80::1:2%eth0', pid: 4_194_304 }
      await storage.begin('a', [1], first)
      await assertHolder(storage, first)
      const next = await reopen()
      assertSame((await next.stored('a')).heldBy, O.none, 'the holder of the run of a dead owner')
      const second = { host: 'Büro 7, "oben"', pid: 1 }
      const granted = await next.claim('a', second)
      assertSame(some(granted.stored).heldBy, O.none, 'the holder that a claim found')
      await assertHolder(next, second)
    }
  ),

  law(
    'CS-CLAIM-15',
    'operations on an earlier claim affect neither a later claim of the same process nor another run',
    async ({ storage }) => {
      const earlier = await storage.begin('a', [1])
      await earlier.release()
      const [later, other] = [await storage.claim('a'), await storage.claim('b')]
      await earlier.assertFenced([1, 'late'], 'a save with the earlier claim')
      await earlier.releasing()()
      later.assertNotLost('the later claim')
      other.assertNotLost('the claim of another run')
      await storage.assertHeld('a', OTHER, 'a third claim')
      await later.save([1, 2])
      await other.save(['of b'])
      await storage.assertLoads('a', [1, 2])
    }
  ),

  law(
    'CS-CLAIM-16',
    'a save in flight during a release is found by the next claim, or refused',
    async ({ storage }) => {
      for (let round = 0; round < 12; round++) {
        const runId = `run-${round}`
        const claim = await storage.begin(runId, ['first'])
        const handOver = async () => {
          await turns(round % 6)
          await claim.release()
          return storage.claim(runId, OTHER)
        }
        const late = claim.saving(['first', 'late'])()
        const [saved, next] = await Promise.all([late, handOver()])
        await assertSuccessorContinues(storage, next, saved)
      }
    }
  ),

  stressLaw('CS-CLAIM-17', 'an owner that makes no call for three seconds still holds its run', async ({ storage }) => {
    const claim = await storage.begin('a', [1])
    await pause(3_000)
    claim.assertNotLost('a silent owner')
    await storage.assertHeld('a', OTHER, 'a claim of another process')
    await claim.save([1, 2])
  }),

  law(
    'CS-CLAIM-18',
    'a refused claim leaves `host`, `pid` and `since` of the holder unchanged',
    async ({ storage }) => {
      await storage.begin('a', [1])
      const before = await storage.holder('a')
      for (let n = 0; n < 3; n++) {
        await pause(5)
        const holder = await storage.assertHeld('a')
        assertSame(holder, before, 'the holder that a refused claim reports')
        assertSame(await storage.holder('a'), before, 'the holder after a refused claim')
      }
    }
  ),

  law('CS-CLAIM-19', '`since` of a holder is the same at each load and after each save', async ({ storage }) => {
    const claim = await storage.begin('a', upTo(1))
    const before = await storage.holder('a')
    for (let n = 2; n <= 4; n++) {
      await pause(500)
      assertSame(await storage.holder('a'), before, 'the holder at a later load')
      await claim.save(upTo(n))
      assertSame(await storage.holder('a'), before, 'the holder after a save')
    }
  }),

  law('CS-CLAIM-20', 'a release does not fire the `lost` signal of its claim', async ({ storage }) => {
    const claim = await storage.begin('a', [1])
    await claim.release()
    await pause(20)
    claim.assertNotLost('a released claim')
  }),

  stressLaw('CS-CLAIM-21', 'an owner that makes no call for seven seconds still holds its run', async ({ storage }) => {
    const claim = await storage.begin('a', [1])
    const before = await storage.holder('a')
    await pause(7_000)
    claim.assertNotLost('a silent owner')
    assertSame(await storage.holder('a'), before, 'the holder after seven seconds')
    await storage.assertHeld('a', OTHER, 'a claim of another process')
    await claim.save([1, 2])
  })
]

/** Checks that loads and refused claims report the holder. */
const assertHolder = async (storage: Client, owner: Owner): Promise<void> => {
  assertSame(asOwner(await storage.holder('a')), owner, 'the holder in a load')
  const holder = await storage.assertHeld('a', { host: 'elsewhere', pid: 7 })
  assertSame(asOwner(holder), owner, 'the holder in a refused claim')
}
