/** Cases about removal. */
import { strict as assert } from 'node:assert'
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import type { CheckpointStorage } from '../../../ports/CheckpointStorage.js'
import type { ConformanceCase } from '../Case.js'
import { conformanceCase } from '../Case.js'
import { assertSame } from '../difference.js'
import {
  answerOf,
  assertHolds,
  assertListing,
  assertLoads,
  atOnce,
  begun,
  claimed,
  LATER,
  left,
  newest,
  OTHER,
  overlapping,
  OWNER,
  revisions,
  revisionsAt,
  right,
  seed,
  some
} from '../fixtures.js'

const assertIsRemoved = async (storage: CheckpointStorage, runId: string): Promise<void> => {
  assertSame(await right(storage.load(runId)), O.none, 'a removed run, as loaded')
  assertSame(await right(storage.history(runId)), [], 'the history of a removed run')
  assertSame(await right(storage.loadRevision(runId, 0)), O.none, 'revision 0 of a removed run')
}

export const removalCases: ReadonlyArray<ConformanceCase> = [
  conformanceCase(
    'CS-REMOVE-01',
    'a removed run is deleted, and removing an unknown run does nothing',
    async ({ storage }) => {
      await seed(storage, 'a', [1, 2])
      await seed(storage, 'b', [1])
      await right(storage.remove('a'))
      await right(storage.remove('a'))
      await assertIsRemoved(storage, 'a')
      await assertListing(storage, ['b'])
      await assertLoads(storage, 'b', [1])
    }
  ),

  conformanceCase('CS-REMOVE-02', 'a run held by a live owner is not removed', async ({ storage }) => {
    const claim = await begun(storage, 'a', [1])
    const { holder } = await left(storage.remove('a'), 'HeldBy')
    assertSame(holder.pid, OWNER.pid, 'the pid of the holder in HeldBy')
    await right(storage.save(claim, revisions([1, 2])))
    await assertLoads(storage, 'a', [1, 2])
  }),

  conformanceCase('CS-REMOVE-03', 'the run of a dead owner can be removed', async ({ storage, reopen }) => {
    await begun(storage, 'a', [1])
    const restarted = await reopen()
    await right(restarted.remove('a'))
    await assertIsRemoved(restarted, 'a')
  }),

  conformanceCase('CS-REMOVE-04', 'a reused id starts at revision 0', async ({ storage }) => {
    await seed(storage, 'a', ['old', 'old'])
    await right(storage.remove('a'))
    const { claim, stored } = await right(storage.claim('a', OWNER))
    assertSame(stored, O.none, 'what a claim of a reused id found stored')
    await left(storage.save(claim, revisions(['old', 'old', 'new'])), 'RevisionConflict')
    await right(storage.save(claim, revisions(['new'])))
    await assertLoads(storage, 'a', ['new'])
    assertSame((await right(storage.history('a'))).length, 1, 'the length of the history of a reused id')
    assertSame(await right(storage.loadRevision('a', 1)), O.none, 'revision 1 of the removed run')
  }),

  conformanceCase(
    'CS-REMOVE-05',
    'no part of a removed run reappears when the store is reopened',
    async ({ storage, reopen }) => {
      await seed(storage, 'a', ['old', 'old', 'old'])
      await right(storage.load('a'))
      await right(storage.remove('a'))
      const next = await reopen()
      await assertIsRemoved(next, 'a')
      await assertListing(next, [])
      await seed(next, 'a', ['new'])
      const last = await reopen()
      await assertLoads(last, 'a', ['new'])
      assertSame((await right(last.history('a'))).length, 1, 'the length of the history of a reused id')
    }
  ),

  conformanceCase(
    'CS-REMOVE-06',
    'no save that a superseded owner makes during a removal survives it',
    async ({ storage, reopen }) => {
      let former = storage
      for (let round = 0; round < 10; round++) {
        const zombie = await begun(former, 'a', ['old'])
        const latter = await reopen()
        const [late] = await Promise.all([
          answerOf(former.save(zombie, revisions(['old', 'late']))),
          right(latter.remove('a')),
          answerOf(former.save(zombie, revisions(['old', 'late', 'later'])))
        ])
        if (E.isLeft(late)) assertSame(late.left._tag, 'Fenced', 'the error of a save during a removal')
        await left(former.save(zombie, revisions(['old', 'late'])), 'Fenced')
        await assertIsRemoved(latter, 'a')
        const { claim, stored } = await right(latter.claim('a', OTHER))
        assertSame(stored, O.none, 'what a claim of a reused id found stored')
        await right(latter.release(claim))
        await right(latter.remove('a'))
        former = latter
      }
    }
  ),

  conformanceCase(
    'CS-REMOVE-07',
    'of ten concurrent removals at least one succeeds, and the run is deleted',
    async ({ storage }) => {
      await seed(storage, 'a', [1, 2, 3])
      const results = await atOnce(Array.from({ length: 10 }, () => storage.remove('a')))
      for (const result of results)
        if (E.isLeft(result)) assertSame(result.left._tag, 'HeldBy', 'the error of a concurrent removal')
      assert.ok(results.some(E.isRight), 'ten concurrent removals: expected at least one success, found none')
      await assertIsRemoved(storage, 'a')
      await claimed(storage, 'a')
    }
  ),

  conformanceCase(
    'CS-REMOVE-08',
    'a run that was claimed and never saved is not removed while its owner lives',
    async ({ storage }) => {
      const claim = await claimed(storage, 'a')
      await left(storage.remove('a'), 'HeldBy')
      await left(storage.claim('a', OTHER), 'HeldBy')
      await right(storage.save(claim, revisions([1])))
      await assertLoads(storage, 'a', [1])
    }
  ),

  conformanceCase(
    'CS-REMOVE-09',
    'a claim that is granted during a concurrent removal finds what it returned stored',
    async ({ storage }) => {
      for (let round = 0; round < 12; round++) {
        const runId = `run-${round}`
        await seed(storage, runId, ['old'])
        const [granted, removed] = await overlapping(
          round,
          () => answerOf(storage.claim(runId, OWNER)),
          () => answerOf(storage.remove(runId))
        )
        if (E.isLeft(removed)) assertSame(removed.left._tag, 'HeldBy', 'the error of the removal')
        if (E.isLeft(granted)) {
          assertSame(granted.left._tag, 'HeldBy', 'the error of the claim')
          continue
        }
        const { claim, stored } = granted.right
        if (E.isRight(removed)) assertSame(stored, O.none, 'what the claim of a removed run found stored')
        const payloads = O.isSome(stored) ? ['old', 'new'] : ['new']
        await right(storage.save(claim, revisions(payloads)))
        await assertLoads(storage, runId, payloads)
      }
    }
  ),

  conformanceCase(
    'CS-REMOVE-10',
    'a removal that names the newest revision deletes the run, and does nothing if no revision is stored',
    async ({ storage }) => {
      await seed(storage, 'a', [1, 2])
      await seed(storage, 'b', [1])
      await right(storage.remove('a', newest(1)))
      await assertIsRemoved(storage, 'a')
      await right(storage.remove('a', newest(1)))
      await right(storage.release((await right(storage.claim('b', OWNER))).claim))
      await right(storage.remove('b', newest(0)))
      await assertIsRemoved(storage, 'b')
      await right(storage.release(await claimed(storage, 'c')))
      await right(storage.remove('c', newest(0)))
      await assertListing(storage, [])
    }
  ),

  conformanceCase(
    'CS-REMOVE-11',
    'a removal that names another revision than the newest fails with RunChanged, and the run stays',
    async ({ storage, reopen }) => {
      await seed(storage, 'a', [1])
      const resumed = await right(storage.claim('a', OWNER))
      await right(storage.save(resumed.claim, revisions([1, 2])))
      await left(storage.remove('a', newest(0)), 'HeldBy')
      await right(storage.release(resumed.claim))
      for (const revision of [0, 2]) {
        const { runId, expected, found } = await left(storage.remove('a', newest(revision)), 'RunChanged')
        assertSame({ runId, expected, found }, { runId: 'a', expected: revision, found: 1 }, 'the facts of RunChanged')
        await assertLoads(storage, 'a', [1, 2])
      }
      const next = await reopen()
      await assertListing(next, ['a'])
      const { claim, stored } = await right(next.claim('a', OTHER))
      assertHolds(some(stored), [1, 2], 'the run that a removal left, as claimed')
      await right(next.save(claim, revisions([1, 2, 3])))
      await assertLoads(next, 'a', [1, 2, 3])
    }
  ),

  conformanceCase(
    'CS-REMOVE-12',
    'a removal that names a revision of an earlier run with the id fails with RunChanged',
    async ({ storage }) => {
      await seed(storage, 'a', ['old'])
      await right(storage.remove('a'))
      const claim = await claimed(storage, 'a')
      await right(storage.save(claim, revisionsAt(LATER, ['new'])))
      await right(storage.release(claim))
      const { expected, found } = await left(storage.remove('a', newest(0)), 'RunChanged')
      assertSame({ expected, found }, { expected: 0, found: 0 }, 'the facts of RunChanged')
      assertSame(some(await right(storage.load('a'))).revision, 0, 'the revision of the run that stays')
      await right(storage.remove('a', newest(0, LATER)))
      await assertIsRemoved(storage, 'a')
    }
  ),

  conformanceCase(
    'CS-REMOVE-13',
    'a removal that names the newest revision deletes nothing that a concurrent resume saves',
    async ({ storage }) => {
      for (let round = 0; round < 12; round++) {
        const runId = `run-${round}`
        await seed(storage, runId, ['old'])
        const resume = async (): Promise<ReadonlyArray<string> | undefined> => {
          const granted = await answerOf(storage.claim(runId, OWNER))
          if (E.isLeft(granted)) {
            assertSame(granted.left._tag, 'HeldBy', 'the error of the claim')
            return undefined
          }
          const { claim, stored } = granted.right
          const payloads = O.isSome(stored) ? ['old', 'new'] : ['new']
          await right(storage.save(claim, revisionsAt(LATER, payloads)))
          await right(storage.release(claim))
          return payloads
        }
        const remove = storage.remove(runId, newest(0))
        const [payloads, removed] = await overlapping(round, resume, () => answerOf(remove))
        if (E.isLeft(removed) && removed.left._tag !== 'HeldBy')
          assertSame(removed.left._tag, 'RunChanged', 'the error of the removal')
        if (payloads === undefined) continue
        const stored = some(await right(storage.load(runId)), `the run ${runId}, which was saved during its removal`)
        assertSame(stored.revision, payloads.length - 1, `the revision of ${runId}, which was saved during its removal`)
      }
    }
  )
]
