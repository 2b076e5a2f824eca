/** Cases about superseded owners that still live. */
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import type { Json } from '../../../domain/data/Json.js'
import type { StorageError } from '../../../ports/CheckpointStorage.js'
import type { ConformanceCase } from '../Case.js'
import { conformanceCase } from '../Case.js'
import {
  answerOf,
  assertGoesOn,
  assertLoads,
  assertNotLost,
  begun,
  claimed,
  left,
  OTHER,
  overlapping,
  OWNER,
  revisions,
  right,
  takeover,
  until
} from '../fixtures.js'
import { assertSame } from '../difference.js'

export const fenceCases: ReadonlyArray<ConformanceCase> = [
  conformanceCase(
    'CS-FENCE-01',
    "a superseded owner's saves are refused and stored nowhere",
    async ({ storage, reopen }) => {
      const { former, zombie, latter, owner } = await takeover(storage, reopen)
      for (let n = 0; n < 3; n++) {
        const { runId, epoch, by } = await left(former.save(zombie, revisions(['first', 'zombie'])), 'Fenced')
        assertSame({ runId, epoch }, { runId: 'a', epoch: zombie.epoch }, 'the claim in Fenced')
        if (O.isSome(by)) assertSame(by.value, owner.epoch, '`by` of Fenced')
      }
      await assertLoads(latter, 'a', ['first'])
    }
  ),

  conformanceCase(
    'CS-FENCE-02',
    'a superseded owner stays refused after its successor saved, released and died',
    async ({ storage, reopen }) => {
      const { former, zombie, latter, owner } = await takeover(storage, reopen)
      await right(latter.save(owner, revisions(['first', 'second'])))
      await left(former.save(zombie, revisions(['first', 'zombie'])), 'Fenced')
      await left(former.save(zombie, revisions(['first', 'second', 'zombie'])), 'Fenced')
      await assertLoads(latter, 'a', ['first', 'second'])
      await right(latter.release(owner))
      await left(former.save(zombie, revisions(['first', 'second', 'zombie'])), 'Fenced')
      const third = await reopen()
      await left(former.save(zombie, revisions(['first', 'second', 'zombie'])), 'Fenced')
      await begun(third, 'a', ['first', 'second', 'third'])
      await left(former.save(zombie, revisions(['first', 'second', 'third', 'zombie'])), 'Fenced')
      await assertLoads(third, 'a', ['first', 'second', 'third'])
    }
  ),

  conformanceCase(
    'CS-FENCE-03',
    "a superseded owner's lost signal fires with the reason, at the latest when a save is refused",
    async ({ storage, reopen }) => {
      const { former, zombie, owner } = await takeover(storage, reopen)
      await left(former.save(zombie, revisions(['first', 'zombie'])), 'Fenced')
      assertSame(zombie.lost.aborted, true, 'whether the lost signal of the superseded claim has fired')
      const { _tag, runId, epoch } = zombie.lost.reason as Extract<StorageError, { _tag: 'Fenced' }>
      assertSame(
        { _tag, runId, epoch },
        { _tag: 'Fenced', runId: 'a', epoch: zombie.epoch },
        'the reason of the lost signal'
      )
      assertNotLost(owner)
    }
  ),

  conformanceCase('CS-FENCE-04', "a superseded owner's release frees nothing", async ({ storage, reopen }) => {
    const { former, zombie, latter, owner } = await takeover(storage, reopen)
    await answerOf(former.release(zombie))
    await left(latter.claim('a', OWNER), 'HeldBy')
    await right(latter.save(owner, revisions(['first', 'second'])))
    assertNotLost(owner)
  }),

  conformanceCase(
    'CS-FENCE-05',
    'a superseded owner that saves concurrently with its successor never has a revision accepted',
    async ({ storage, reopen }) => {
      const { former, zombie, latter, owner } = await takeover(storage, reopen)
      const payloads: Array<Json> = ['first']
      for (let n = 1; n <= 20; n++) {
        const [stale, good] = await Promise.all([
          answerOf(former.save(zombie, revisions([...payloads, 'zombie']))),
          answerOf(latter.save(owner, revisions([...payloads, n])))
        ])
        const became = E.isLeft(stale) ? stale.left._tag : 'success'
        assertSame(became, 'Fenced', `save ${n} of the superseded owner`)
        assertSame(E.isLeft(good) ? good.left._tag : 'success', 'success', `save ${n} of the owner`)
        payloads.push(n)
      }
      await assertLoads(latter, 'a', payloads)
    }
  ),

  conformanceCase(
    'CS-FENCE-06',
    "a superseded owner can't write into a run that reuses the id of a removed one",
    async ({ storage, reopen }) => {
      const former = storage
      const zombie = await begun(former, 'a', ['old'], OWNER)
      const latter = await reopen()
      await right(latter.remove('a'))
      await left(former.save(zombie, revisions(['old', 'zombie'])), 'Fenced')
      await left(former.save(zombie, revisions(['zombie'])), 'Fenced')
      await assertLoads(latter, 'a', [])

      const { claim, stored } = await right(latter.claim('a', OTHER))
      assertSame(stored, O.none, 'what a claim of a reused id found stored')
      await left(former.save(zombie, revisions(['zombie'])), 'Fenced')
      await right(latter.save(claim, revisions(['new'])))
      await left(former.save(zombie, revisions(['new', 'zombie'])), 'Fenced')
      await assertLoads(latter, 'a', ['new'])
      await right(latter.save(claim, revisions(['new', 'newer'])))
    }
  ),

  conformanceCase('CS-FENCE-07', 'a takeover of one run affects no other', async ({ storage, reopen }) => {
    const { former, zombie, latter } = await takeover(storage, reopen)
    const other = await claimed(latter, 'b')
    await left(former.save(zombie, revisions(['first', 'zombie'])), 'Fenced')
    await right(latter.save(other, revisions(['of b'])))
    assertNotLost(other, 'the claim of another run')
    await assertLoads(latter, 'b', ['of b'])
  }),

  conformanceCase('CS-FENCE-08', 'a claim that was never granted writes nothing', async ({ storage }) => {
    const lost = new AbortController().signal
    await left(storage.save({ runId: 'a', epoch: 1, lost }, revisions(['forged'])), 'Fenced')
    const claim = await claimed(storage, 'a')
    await left(storage.save({ runId: 'a', epoch: claim.epoch + 1, lost }, revisions(['forged'])), 'Fenced')
    await right(storage.save(claim, revisions([1])))
    await assertLoads(storage, 'a', [1])
  }),

  conformanceCase(
    'CS-FENCE-09',
    'of three owners, each declared dead in turn, only the last one writes',
    async ({ storage, reopen }) => {
      const { former, zombie, latter, owner } = await takeover(storage, reopen)
      await right(latter.save(owner, revisions(['first', 'second'])))
      const last = await reopen()
      const claim = await claimed(last, 'a')
      await left(former.save(zombie, revisions(['first', 'second', 'zombie'])), 'Fenced')
      await left(latter.save(owner, revisions(['first', 'second', 'zombie'])), 'Fenced')
      await right(last.save(claim, revisions(['first', 'second', 'third'])))
      await left(former.save(zombie, revisions(['first', 'second', 'third', 'zombie'])), 'Fenced')
      await left(latter.save(owner, revisions(['first', 'second', 'third', 'zombie'])), 'Fenced')
      await assertLoads(last, 'a', ['first', 'second', 'third'])
    }
  ),

  conformanceCase(
    'CS-FENCE-10',
    "an idle superseded owner's lost signal fires within two seconds",
    async ({ storage, reopen }) => {
      const { zombie, owner } = await takeover(storage, reopen)
      await until(() => zombie.lost.aborted, 2_000, 'the lost signal of an idle superseded claim')
      assertNotLost(owner)
    },
    { needs: ['watch'] }
  ),

  conformanceCase(
    'CS-FENCE-11',
    'a save in flight during a takeover is found by the new owner, or refused',
    async ({ storage, reopen }) => {
      let former = storage
      for (let round = 0; round < 12; round++) {
        const runId = `run-${round}`
        const zombie = await begun(former, runId, ['first'], OWNER)
        const latter = await reopen()
        const late = former.save(zombie, revisions(['first', 'late']))
        const [saved, next] = await overlapping(
          round,
          () => answerOf(late),
          () => right(latter.claim(runId, OTHER))
        )
        const payloads = await assertGoesOn(latter, next, saved)
        await left(former.save(zombie, revisions([...payloads, 'zombie'])), 'Fenced')
        former = latter
      }
    }
  )
]
