/** Cases about removal. */
import { strict as assert } from 'node:assert'
import * as E from 'fp-ts/lib/Either.js'
import { law } from '../Case.js'
import { atOnce, continued, overlapping } from '../concurrency.js'
import { assertSame } from '../difference.js'
import type { Client } from '../fixtures.js'
import { LATER, left, newest, OTHER, OWNER } from '../fixtures.js'

const assertIsRemoved = async (storage: Client, runId: string): Promise<void> => {
  await storage.assertLoads(runId, [], 'a removed run, as loaded')
  assertSame(await storage.history(runId), [], 'the history of a removed run')
  await storage.assertLoadsRevision(runId, 0, [], 'revision 0 of a removed run')
}

export const removalCases = [
  law(
    'CS-REMOVE-01',
    'a removal deletes a run, and the removal of an unknown run does nothing',
    async ({ storage }) => {
      await storage.seed('a', [1, 2])
      await storage.seed('b', [1])
      await storage.remove('a')
      await storage.remove('a')
      await assertIsRemoved(storage, 'a')
      await storage.assertLists(['b'])
      await storage.assertLoads('b', [1])
    }
  ),

  law('CS-REMOVE-02', 'a run held by a live owner is not removed', async ({ storage }) => {
    const claim = await storage.begin('a', [1])
    const { holder } = await left(storage.raw.remove('a'), 'HeldBy')
    assertSame(holder.pid, OWNER.pid, 'the pid of the holder in HeldBy')
    await claim.save([1, 2])
    await storage.assertLoads('a', [1, 2])
  }),

  law('CS-REMOVE-03', 'the run of a dead owner can be removed', async ({ storage, reopen }) => {
    await storage.begin('a', [1])
    const restarted = await reopen()
    await restarted.remove('a')
    await assertIsRemoved(restarted, 'a')
  }),

  law('CS-REMOVE-04', 'a reused id starts at revision 0', async ({ storage }) => {
    await storage.seed('a', ['old', 'old'])
    await storage.remove('a')
    const claim = await storage.claim('a')
    claim.assertFound([], 'what a claim of a reused id found stored')
    await left(claim.saving(['old', 'old', 'new']), 'RevisionConflict')
    await claim.save(['new'])
    await storage.assertLoads('a', ['new'])
    assertSame((await storage.history('a')).length, 1, 'the length of the history of a reused id')
    await storage.assertLoadsRevision('a', 1, [], 'revision 1 of the removed run')
  }),

  law('CS-REMOVE-05', 'no part of a removed run reappears when the store is reopened', async ({ storage, reopen }) => {
    await storage.seed('a', ['old', 'old', 'old'])
    await storage.load('a')
    await storage.remove('a')
    const next = await reopen()
    await assertIsRemoved(next, 'a')
    await next.assertLists([])
    await next.seed('a', ['new'])
    const last = await reopen()
    await last.assertLoads('a', ['new'])
    assertSame((await last.history('a')).length, 1, 'the length of the history of a reused id')
  }),

  law(
    'CS-REMOVE-06',
    'no save that a superseded owner makes during a removal survives it',
    async ({ storage, reopen }) => {
      let former = storage
      for (let round = 0; round < 10; round++) {
        const zombie = await former.begin('a', ['old'])
        const restarted = await reopen()
        const [late] = await Promise.all([
          zombie.saving(['old', 'late'])(),
          restarted.remove('a'),
          zombie.saving(['old', 'late', 'later'])()
        ])
        if (E.isLeft(late)) assertSame(late.left._tag, 'Fenced', 'the error of a save during a removal')
        await zombie.assertFenced(['old', 'late'])
        await assertIsRemoved(restarted, 'a')
        const claim = await restarted.claim('a', OTHER)
        claim.assertFound([], 'what a claim of a reused id found stored')
        await claim.release()
        await restarted.remove('a')
        former = restarted
      }
    }
  ),

  law(
    'CS-REMOVE-07',
    'of ten concurrent removals at least one succeeds, and the run is deleted',
    async ({ storage }) => {
      await storage.seed('a', [1, 2, 3])
      const results = await atOnce(Array.from({ length: 10 }, () => storage.raw.remove('a')))
      for (const result of results)
        if (E.isLeft(result)) assertSame(result.left._tag, 'HeldBy', 'the error of a concurrent removal')
      assert.ok(results.some(E.isRight), 'ten concurrent removals: expected at least one success, found none')
      await assertIsRemoved(storage, 'a')
      await storage.claim('a')
    }
  ),

  law(
    'CS-REMOVE-08',
    'a run that was claimed and never saved is not removed while its owner lives',
    async ({ storage }) => {
      const claim = await storage.claim('a')
      await left(storage.raw.remove('a'), 'HeldBy')
      await storage.assertHeld('a')
      await claim.save([1])
      await storage.assertLoads('a', [1])
    }
  ),

  law(
    'CS-REMOVE-09',
    'a claim granted during a concurrent removal returns only what is still stored',
    async ({ storage }) => {
      for (let round = 0; round < 12; round++) {
        const runId = `run-${round}`
        await storage.seed(runId, ['old'])
        const [granted, removed] = await overlapping(
          round,
          () => storage.claiming(runId)(),
          () => storage.raw.remove(runId)()
        )
        if (E.isLeft(removed)) assertSame(removed.left._tag, 'HeldBy', 'the error of the removal')
        if (E.isLeft(granted)) {
          assertSame(granted.left._tag, 'HeldBy', 'the error of the claim')
          continue
        }
        const claim = granted.right
        if (E.isRight(removed)) claim.assertFound([], 'what the claim of a removed run found stored')
        await claim.save(continued(claim))
        await storage.assertLoads(runId, continued(claim))
      }
    }
  ),

  law(
    'CS-REMOVE-10',
    'a removal that names the newest revision deletes the run, or does nothing if no revision is stored',
    async ({ storage }) => {
      await storage.seed('a', [1, 2])
      await storage.seed('b', [1])
      await storage.remove('a', newest(1))
      await assertIsRemoved(storage, 'a')
      await storage.remove('a', newest(1))
      await (await storage.claim('b')).release()
      await storage.remove('b', newest(0))
      await assertIsRemoved(storage, 'b')
      await (await storage.claim('c')).release()
      await storage.remove('c', newest(0))
      await storage.assertLists([])
    }
  ),

  law(
    'CS-REMOVE-11',
    'a removal of a released run that names another revision than the newest fails with RunChanged, and the run stays',
    async ({ storage, reopen }) => {
      await storage.seed('a', [1])
      const resumed = await storage.claim('a')
      await resumed.save([1, 2])
      await left(storage.raw.remove('a', newest(0)), 'HeldBy')
      await resumed.release()
      for (const revision of [0, 2]) {
        const { runId, expected, found } = await left(storage.raw.remove('a', newest(revision)), 'RunChanged')
        assertSame({ runId, expected, found }, { runId: 'a', expected: revision, found: 1 }, 'the facts of RunChanged')
        await storage.assertLoads('a', [1, 2])
      }
      const next = await reopen()
      await next.assertLists(['a'])
      const claim = await next.claim('a', OTHER)
      claim.assertFound([1, 2], 'the run that a removal left, as claimed')
      await claim.save([1, 2, 3])
      await next.assertLoads('a', [1, 2, 3])
    }
  ),

  law(
    'CS-REMOVE-12',
    'a removal that names a revision of an earlier run with the same id fails with RunChanged',
    async ({ storage }) => {
      await storage.seed('a', ['old'])
      await storage.remove('a')
      const claim = await storage.claim('a')
      await claim.saveAt(LATER, ['new'])
      await claim.release()
      const { expected, found } = await left(storage.raw.remove('a', newest(0)), 'RunChanged')
      assertSame({ expected, found }, { expected: 0, found: 0 }, 'the facts of RunChanged')
      assertSame((await storage.stored('a')).revision, 0, 'the revision of the run that stays')
      await storage.remove('a', newest(0, LATER))
      await assertIsRemoved(storage, 'a')
    }
  ),

  law(
    'CS-REMOVE-13',
    'a removal that names the newest revision deletes nothing that a concurrent resume saves',
    async ({ storage }) => {
      for (let round = 0; round < 12; round++) {
        const runId = `run-${round}`
        await storage.seed(runId, ['old'])
        const resume = async (): Promise<ReadonlyArray<string> | undefined> => {
          const granted = await storage.claiming(runId)()
          if (E.isLeft(granted)) {
            assertSame(granted.left._tag, 'HeldBy', 'the error of the claim')
            return undefined
          }
          await granted.right.saveAt(LATER, continued(granted.right))
          await granted.right.release()
          return continued(granted.right)
        }
        const remove = storage.raw.remove(runId, newest(0))
        const [payloads, removed] = await overlapping(round, resume, () => remove())
        if (E.isLeft(removed) && removed.left._tag !== 'HeldBy')
          assertSame(removed.left._tag, 'RunChanged', 'the error of the removal')
        if (payloads === undefined) continue
        const stored = await storage.stored(runId, `the run ${runId}, which was saved during its removal`)
        assertSame(stored.revision, payloads.length - 1, `the revision of ${runId}, which was saved during its removal`)
      }
    }
  )
]
