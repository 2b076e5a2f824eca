/** Cases about who may write a run. */
import { strict as assert } from 'node:assert'
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import type { CheckpointStorage, Holder, Owner } from '../../../ports/CheckpointStorage.js'
import type { ConformanceCase } from '../Case.js'
import { assertSame } from '../difference.js'
import { conformanceCase } from '../Case.js'
import {
  answerOf,
  assertGoesOn,
  assertHolds,
  assertLoads,
  assertNotLost,
  atOnce,
  begun,
  claimed,
  ignored,
  left,
  OTHER,
  OWNER,
  pause,
  revisions,
  right,
  seed,
  some,
  tally,
  turns,
  upTo
} from '../fixtures.js'

export const claimCases: ReadonlyArray<ConformanceCase> = [
  conformanceCase(
    'CS-CLAIM-01',
    'a claim writes no checkpoint and reports that nothing is stored',
    async ({ storage }) => {
      const { claim, stored } = await right(storage.claim('a', OWNER))
      assertSame(stored, O.none, 'what a claim of a new run found stored')
      assertSame(claim.runId, 'a', 'the run id of the claim')
      assert.ok(
        Number.isSafeInteger(claim.epoch),
        `the epoch of the claim: expected a safe integer, found ${claim.epoch}`
      )
      assertNotLost(claim)
      await assertLoads(storage, 'a', [])
    }
  ),

  conformanceCase(
    'CS-CLAIM-02',
    'a claim of a run that a live owner holds is refused, with the holder and the time of its claim',
    async ({ storage }) => {
      await claimed(storage, 'a', OWNER)
      const { runId, holder } = await left(storage.claim('a', OTHER), 'HeldBy')
      assertSame({ runId, host: holder.host, pid: holder.pid }, { runId: 'a', ...OWNER }, 'the holder in HeldBy')
      // The time may be that of a server with another clock.
      const isNow = holder.since.endsWith('Z') && Math.abs(Date.parse(holder.since) - Date.now()) < 60_000
      assert.ok(isNow, `\`since\` of the holder: expected the present time in UTC, found ${holder.since}`)
    }
  ),

  conformanceCase('CS-CLAIM-03', 'a refused claim does not affect the owner', async ({ storage }) => {
    const claim = await claimed(storage, 'a')
    await left(storage.claim('a', OTHER), 'HeldBy')
    await right(storage.save(claim, revisions([1])))
    assertNotLost(claim)
    await left(storage.claim('a', OTHER), 'HeldBy')
    await right(storage.save(claim, revisions([1, 2])))
  }),

  conformanceCase('CS-CLAIM-04', 'a load reports the live owner until the claim is released', async ({ storage }) => {
    const claim = await begun(storage, 'a', [1], OWNER)
    const { host, pid } = some(some(await right(storage.load('a'))).heldBy, 'the holder')
    assertSame({ host, pid }, OWNER, 'the holder in a load')
    await right(storage.release(claim))
    assertSame(some(await right(storage.load('a'))).heldBy, O.none, 'the holder after a release')
  }),

  conformanceCase(
    'CS-CLAIM-05',
    'a released run can be claimed at once, and the claim returns what is stored',
    async ({ storage }) => {
      await seed(storage, 'a', [1, 2])
      const next = await right(storage.claim('a', OTHER))
      const stored = some(next.stored)
      assertHolds(stored, [1, 2])
      assertSame(stored.heldBy, O.none, 'the holder that a claim found')
      await right(storage.save(next.claim, revisions([1, 2, 3])))
      await assertLoads(storage, 'a', [1, 2, 3])
    }
  ),

  conformanceCase(
    'CS-CLAIM-06',
    'the run of a dead owner can be claimed at once, and the claim returns every save that resolved',
    async ({ storage, reopen }) => {
      const dead = await begun(storage, 'a', [1])
      await right(storage.save(dead, revisions([1, 2, 3], 2)))
      const restarted = await reopen()
      const next = await right(restarted.claim('a', OTHER))
      assertHolds(some(next.stored), [1, 2, 3])
      await right(restarted.save(next.claim, revisions([1, 2, 3, 4])))
      await assertLoads(restarted, 'a', [1, 2, 3, 4])
    }
  ),

  conformanceCase(
    'CS-CLAIM-07',
    'each claim of a run has a higher epoch than all earlier ones, after a release and after a death',
    async ({ storage, reopen }) => {
      const first = await claimed(storage, 'a')
      await right(storage.release(first))
      const second = await claimed(storage, 'a')
      const restarted = await reopen()
      const third = await begun(restarted, 'a', [1])
      await right(restarted.release(third))
      const fourth = await claimed(restarted, 'a')
      const epochs = [first, second, third, fourth].map(({ epoch }) => epoch)
      const rising = [...new Set(epochs)].sort((a, b) => a - b)
      assertSame(epochs, rising, 'the epochs of four consecutive claims')
    }
  ),

  conformanceCase(
    'CS-CLAIM-08',
    'a released claim writes nothing, and a second release is harmless',
    async ({ storage }) => {
      const claim = await begun(storage, 'a', [1])
      await right(storage.release(claim))
      await right(storage.release(claim))
      await left(storage.save(claim, revisions([1, 2])), 'Fenced')
      await assertLoads(storage, 'a', [1])
      const next = await claimed(storage, 'a', OTHER)
      await answerOf(storage.release(claim))
      await left(storage.claim('a', OWNER), 'HeldBy')
      await right(storage.save(next, revisions([1, 2])))
    }
  ),

  conformanceCase('CS-CLAIM-09', 'of ten concurrent claims one is granted', async ({ storage }) => {
    const results = await atOnce(Array.from({ length: 10 }, () => storage.claim('a', OWNER)))
    assertSame(tally(results), { success: 1, HeldBy: 9 }, 'the results of ten concurrent claims')
    const winner =
      results.find(E.isRight)?.right.claim ?? assert.fail('ten concurrent claims: expected one granted, found none')
    await right(storage.save(winner, revisions([1])))
    await assertLoads(storage, 'a', [1])
  }),

  conformanceCase(
    'CS-CLAIM-10',
    "of ten concurrent claims of a dead owner's run one is granted",
    async ({ storage, reopen }) => {
      await begun(storage, 'a', [1])
      const restarted = await reopen()
      const results = await atOnce(Array.from({ length: 10 }, () => restarted.claim('a', OTHER)))
      assertSame(tally(results), { success: 1, HeldBy: 9 }, 'the results of ten concurrent claims')
      await assertLoads(restarted, 'a', [1])
    }
  ),

  conformanceCase('CS-CLAIM-11', 'a task that is not run does nothing', async ({ storage }) => {
    const claim = await begun(storage, 'a', [1])
    ignored(storage.save(claim, revisions([1, 2])))
    ignored(storage.release(claim))
    ignored(storage.remove('a'))
    ignored(storage.claim('b', OWNER))
    await pause(20)
    await assertLoads(storage, 'a', [1])
    await left(storage.claim('a', OTHER), 'HeldBy')
    await claimed(storage, 'b', OTHER)
  }),

  conformanceCase('CS-CLAIM-12', 'claims of different runs are independent', async ({ storage }) => {
    const [first, second] = [await claimed(storage, 'a'), await claimed(storage, 'b')]
    await right(storage.save(first, revisions(['of a'])))
    await right(storage.save(second, revisions(['of b'])))
    await right(storage.release(first))
    await right(storage.save(second, revisions(['of b', 'more'])))
    assertNotLost(second)
    await assertLoads(storage, 'a', ['of a'])
    await assertLoads(storage, 'b', ['of b', 'more'])
  }),

  conformanceCase(
    'CS-CLAIM-13',
    'among concurrent claims and releases, each owner finds what its predecessor saved',
    async ({ storage, isOver }) => {
      const contender = async (name: number): Promise<number> => {
        let saved = 0
        for (let tries = 0; saved < 5 && tries < 2_000 && !isOver(); tries++) {
          const result = await answerOf(storage.claim('a', { host: 'h', pid: name }))
          if (E.isLeft(result)) {
            assertSame(result.left._tag, 'HeldBy', 'the error of a concurrent claim')
            await pause(1)
            continue
          }
          const { claim, stored } = result.right
          const next = O.isSome(stored) ? stored.value.revision + 1 : 0
          await right(storage.save(claim, revisions(Array.from({ length: next + 1 }, (_, n) => n))))
          await right(storage.release(claim))
          saved += 1
        }
        return saved
      }
      const saved = await Promise.all([1, 2, 3, 4, 5, 6].map(contender))
      assertSame(saved, [5, 5, 5, 5, 5, 5], 'the saves of six concurrent owners')
      await assertLoads(
        storage,
        'a',
        Array.from({ length: 30 }, (_, n) => n)
      )
    },
    { level: 'stress' }
  ),

  conformanceCase(
    'CS-CLAIM-14',
    'the holder is reported as it claimed, a dead owner holds nothing, and its successor is reported instead',
    async ({ storage, reopen }) => {
      const first = { host: 'fe80::1:2%eth0', pid: 4_194_304 }
      await begun(storage, 'a', [1], first)
      await assertHolder(storage, first)
      const next = await reopen()
      assertSame(some(await right(next.load('a'))).heldBy, O.none, 'the holder of the run of a dead owner')
      const second = { host: 'Büro 7, "oben"', pid: 1 }
      const granted = await right(next.claim('a', second))
      assertSame(some(granted.stored).heldBy, O.none, 'the holder that a claim found')
      await assertHolder(next, second)
    }
  ),

  conformanceCase(
    'CS-CLAIM-15',
    'operations on an earlier claim affect neither a later claim of the same process nor another run',
    async ({ storage }) => {
      const earlier = await begun(storage, 'a', [1])
      await right(storage.release(earlier))
      const [later, other] = [await claimed(storage, 'a'), await claimed(storage, 'b')]
      await left(storage.save(earlier, revisions([1, 'late'])), 'Fenced', 'a save with the earlier claim')
      await answerOf(storage.release(earlier))
      assertNotLost(later, 'the later claim')
      assertNotLost(other, 'the claim of another run')
      await left(storage.claim('a', OTHER), 'HeldBy', 'a third claim')
      await right(storage.save(later, revisions([1, 2])))
      await right(storage.save(other, revisions(['of b'])))
      await assertLoads(storage, 'a', [1, 2])
    }
  ),

  conformanceCase(
    'CS-CLAIM-16',
    'a save in flight during a release is found by the next claim, or refused',
    async ({ storage }) => {
      for (let round = 0; round < 12; round++) {
        const runId = `run-${round}`
        const claim = await begun(storage, runId, ['first'])
        const handOver = async () => {
          await turns(round % 6)
          await right(storage.release(claim))
          return right(storage.claim(runId, OTHER))
        }
        const late = answerOf(storage.save(claim, revisions(['first', 'late'])))
        const [saved, next] = await Promise.all([late, handOver()])
        await assertGoesOn(storage, next, saved)
      }
    }
  ),

  conformanceCase(
    'CS-CLAIM-17',
    'an owner that is silent for three seconds still holds its run',
    async ({ storage }) => {
      const claim = await begun(storage, 'a', [1])
      await pause(3_000)
      assertNotLost(claim, 'a silent owner')
      await left(storage.claim('a', OTHER), 'HeldBy', 'a claim of another process')
      await right(storage.save(claim, revisions([1, 2])))
    },
    { level: 'stress' }
  ),

  conformanceCase(
    'CS-CLAIM-18',
    'a refused claim leaves the host, pid and since of the holder unchanged',
    async ({ storage }) => {
      await begun(storage, 'a', [1], OWNER)
      const before = await holderIn(storage)
      for (let n = 0; n < 3; n++) {
        await pause(5)
        const { holder } = await left(storage.claim('a', OTHER), 'HeldBy')
        assertSame(holder, before, 'the holder that a refused claim reports')
        assertSame(await holderIn(storage), before, 'the holder after a refused claim')
      }
    }
  ),

  conformanceCase(
    'CS-CLAIM-19',
    'the since of a holder is the same at each load and after each save',
    async ({ storage }) => {
      const claim = await begun(storage, 'a', upTo(1), OWNER)
      const before = await holderIn(storage)
      for (let n = 2; n <= 4; n++) {
        await pause(500)
        assertSame(await holderIn(storage), before, 'the holder at a later load')
        await right(storage.save(claim, revisions(upTo(n))))
        assertSame(await holderIn(storage), before, 'the holder after a save')
      }
    }
  ),

  conformanceCase('CS-CLAIM-20', 'a release does not fire the lost signal of its claim', async ({ storage }) => {
    const claim = await begun(storage, 'a', [1])
    await right(storage.release(claim))
    await pause(20)
    assertNotLost(claim, 'a released claim')
  }),

  conformanceCase(
    'CS-CLAIM-21',
    'an owner that is silent for seven seconds still holds its run',
    async ({ storage }) => {
      const claim = await begun(storage, 'a', [1])
      const before = await holderIn(storage)
      await pause(7_000)
      assertNotLost(claim, 'a silent owner')
      assertSame(await holderIn(storage), before, 'the holder after seven seconds')
      await left(storage.claim('a', OTHER), 'HeldBy', 'a claim of another process')
      await right(storage.save(claim, revisions([1, 2])))
    },
    { level: 'stress' }
  )
]

const holderIn = async (storage: CheckpointStorage): Promise<Holder> =>
  some(some(await right(storage.load('a')), 'the run').heldBy, 'the holder')

/** Checks that loads and refused claims report the holder. */
const assertHolder = async (storage: CheckpointStorage, { host, pid }: Owner): Promise<void> => {
  const told = some(some(await right(storage.load('a'))).heldBy, 'the holder')
  assertSame({ host: told.host, pid: told.pid }, { host, pid }, 'the holder in a load')
  const { holder } = await left(storage.claim('a', { host: 'elsewhere', pid: 7 }), 'HeldBy')
  assertSame({ host: holder.host, pid: holder.pid }, { host, pid }, 'the holder in a refused claim')
}
