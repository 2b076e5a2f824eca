/** Cases about removal. */
import { strict as assert } from 'node:assert'
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import type { TaskEither } from 'fp-ts/lib/TaskEither.js'
import type { CheckpointStorage, StorageError } from '../../../ports/CheckpointStorage.js'
import type { ConformanceCase } from '../Case.js'
import { conformanceCase } from '../Case.js'
import { assertSame } from '../difference.js'
import {
  answerOf,
  assertLoads,
  atOnce,
  claimed,
  idsIn,
  left,
  OTHER,
  OWNER,
  revisions,
  right,
  seed,
  turns
} from '../fixtures.js'

const assertIsGone = async (storage: CheckpointStorage, runId: string): Promise<void> => {
  assert.deepEqual(await right(storage.load(runId)), O.none, 'what is stored of a removed run')
  assert.deepEqual(await right(storage.history(runId)), [], 'the history of a removed run')
  assert.deepEqual(await right(storage.loadRevision(runId, 0)), O.none, 'revision 0 of a removed run')
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
      await assertIsGone(storage, 'a')
      assert.deepEqual(await idsIn(storage), ['b'])
      await assertLoads(storage, 'b', [1])
    }
  ),

  conformanceCase('CS-REMOVE-02', 'a run held by a live owner is not removed', async ({ storage }) => {
    const claim = await claimed(storage, 'a')
    await right(storage.save(claim, revisions([1])))
    const { holder } = await left(storage.remove('a'), 'HeldBy')
    assert.equal(holder.pid, OWNER.pid)
    await right(storage.save(claim, revisions([1, 2])))
    await assertLoads(storage, 'a', [1, 2])
  }),

  conformanceCase('CS-REMOVE-03', 'the run of a dead owner can be removed', async ({ storage, reopen }) => {
    const dead = await claimed(storage, 'a')
    await right(storage.save(dead, revisions([1])))
    const restarted = await reopen()
    await right(restarted.remove('a'))
    await assertIsGone(restarted, 'a')
  }),

  conformanceCase('CS-REMOVE-04', 'a reused id starts at revision 0', async ({ storage }) => {
    await seed(storage, 'a', ['old', 'old'])
    await right(storage.remove('a'))
    const { claim, stored } = await right(storage.claim('a', OWNER))
    assert.deepEqual(stored, O.none)
    await left(storage.save(claim, revisions(['old', 'old', 'new'])), 'RevisionConflict')
    await right(storage.save(claim, revisions(['new'])))
    await assertLoads(storage, 'a', ['new'])
    assert.equal((await right(storage.history('a'))).length, 1)
    assert.deepEqual(await right(storage.loadRevision('a', 1)), O.none)
  }),

  conformanceCase(
    'CS-REMOVE-05',
    'no part of a removed run reappears when the store is reopened',
    async ({ storage, reopen }) => {
      await seed(storage, 'a', ['old', 'old', 'old'])
      await right(storage.load('a'))
      await right(storage.remove('a'))
      const next = await reopen()
      await assertIsGone(next, 'a')
      assert.deepEqual(await idsIn(next), [])
      await seed(next, 'a', ['new'])
      const last = await reopen()
      await assertLoads(last, 'a', ['new'])
      assert.equal((await right(last.history('a'))).length, 1)
    }
  ),

  conformanceCase(
    'CS-REMOVE-06',
    'no save that a superseded owner makes during a removal survives it',
    async ({ storage, reopen }) => {
      let former = storage
      for (let round = 0; round < 10; round++) {
        const zombie = await claimed(former, 'a')
        await right(former.save(zombie, revisions(['old'])))
        const latter = await reopen()
        const [late] = await Promise.all([
          answerOf(former.save(zombie, revisions(['old', 'late']))),
          right(latter.remove('a')),
          answerOf(former.save(zombie, revisions(['old', 'late', 'later'])))
        ])
        if (E.isLeft(late)) assert.equal(late.left._tag, 'Fenced')
        await left(former.save(zombie, revisions(['old', 'late'])), 'Fenced')
        await assertIsGone(latter, 'a')
        const { claim, stored } = await right(latter.claim('a', OTHER))
        assert.deepEqual(stored, O.none)
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
      for (const result of results) if (E.isLeft(result)) assert.equal(result.left._tag, 'HeldBy')
      assert.ok(results.some(E.isRight), 'none of ten removals removed the run')
      await assertIsGone(storage, 'a')
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
    'of a concurrent claim and removal, a granted claim finds what it returned stored',
    async ({ storage }) => {
      for (let round = 0; round < 12; round++) {
        const runId = `run-${round}`
        await seed(storage, runId, ['old'])
        const late = async <A>(count: number, task: TaskEither<StorageError, A>) => {
          await turns(Math.max(0, count))
          return answerOf(task)
        }
        const [granted, removed] = await Promise.all([
          late(3 - round, storage.claim(runId, OWNER)),
          late(round - 3, storage.remove(runId))
        ])
        if (E.isLeft(removed)) assert.equal(removed.left._tag, 'HeldBy', 'the removal was refused')
        if (E.isLeft(granted)) {
          assert.equal(granted.left._tag, 'HeldBy', 'the claim was refused')
          continue
        }
        const { claim, stored } = granted.right
        if (E.isRight(removed)) assertSame(stored, O.none, 'what the owner of a removed run was told is stored')
        const payloads = O.isSome(stored) ? ['old', 'new'] : ['new']
        await right(storage.save(claim, revisions(payloads)))
        await assertLoads(storage, runId, payloads)
      }
    }
  )
]
