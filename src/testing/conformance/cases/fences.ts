/** Cases about superseded owners that still live. */
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import type { Json } from '../../../domain/data/Json.js'
import type { StorageError } from '../../../ports/CheckpointStorage.js'
import { law, lawsOf } from '../Case.js'
import { assertSuccessorContinues, overlapping } from '../concurrency.js'
import { assertSame } from '../difference.js'
import type { Client } from '../fixtures.js'
import { left, OTHER, OWNER, revisions, until } from '../fixtures.js'

export const fenceCases = [
  law('CS-FENCE-01', "a superseded owner's saves are refused and stored nowhere", async ({ storage, reopen }) => {
    const { zombie, restarted, successor } = await takeover(storage, reopen)
    for (let n = 0; n < 3; n++) {
      const { runId, epoch, by } = await zombie.assertFenced(['first', 'zombie'])
      assertSame({ runId, epoch }, { runId: 'a', epoch: zombie.epoch }, 'the claim in Fenced')
      if (O.isSome(by)) assertSame(by.value, successor.epoch, '`by` of Fenced')
    }
    await restarted.assertLoads('a', ['first'])
  }),

  law(
    'CS-FENCE-02',
    "a superseded owner's saves stay refused after its successor saved, released and died",
    async ({ storage, reopen }) => {
      const { zombie, restarted, successor } = await takeover(storage, reopen)
      await successor.save(['first', 'second'])
      await zombie.assertFenced(['first', 'zombie'])
      await zombie.assertFenced(['first', 'second', 'zombie'])
      await restarted.assertLoads('a', ['first', 'second'])
      await successor.release()
      await zombie.assertFenced(['first', 'second', 'zombie'])
      const third = await reopen()
      await zombie.assertFenced(['first', 'second', 'zombie'])
      await third.begin('a', ['first', 'second', 'third'])
      await zombie.assertFenced(['first', 'second', 'third', 'zombie'])
      await third.assertLoads('a', ['first', 'second', 'third'])
    }
  ),

  law(
    'CS-FENCE-03',
    'the `lost` signal of a superseded owner fires with the reason, at the latest when one of its saves is refused',
    async ({ storage, reopen }) => {
      const { zombie, successor } = await takeover(storage, reopen)
      await zombie.assertFenced(['first', 'zombie'])
      assertSame(zombie.lost.aborted, true, 'whether the `lost` signal of the superseded claim has fired')
      const { _tag, runId, epoch } = zombie.lost.reason as Extract<StorageError, { _tag: 'Fenced' }>
      assertSame(
        { _tag, runId, epoch },
        { _tag: 'Fenced', runId: 'a', epoch: zombie.epoch },
        'the reason of the `lost` signal'
      )
      successor.assertNotLost()
    }
  ),

  law('CS-FENCE-04', "a superseded owner's release frees nothing", async ({ storage, reopen }) => {
    const { zombie, restarted, successor } = await takeover(storage, reopen)
    await zombie.releasing()()
    await restarted.assertHeld('a', OWNER)
    await successor.save(['first', 'second'])
    successor.assertNotLost()
  }),

  law(
    'CS-FENCE-05',
    "of concurrent saves by a superseded owner and its successor, only the successor's are stored",
    async ({ storage, reopen }) => {
      const { zombie, restarted, successor } = await takeover(storage, reopen)
      const payloads: Array<Json> = ['first']
      for (let n = 1; n <= 20; n++) {
        const [stale, good] = await Promise.all([
          zombie.saving([...payloads, 'zombie'])(),
          successor.saving([...payloads, n])()
        ])
        const became = E.isLeft(stale) ? stale.left._tag : 'success'
        assertSame(became, 'Fenced', `save ${n} of the superseded owner`)
        assertSame(E.isLeft(good) ? good.left._tag : 'success', 'success', `save ${n} of the owner`)
        payloads.push(n)
      }
      await restarted.assertLoads('a', payloads)
    }
  ),

  law(
    'CS-FENCE-06',
    "a superseded owner can't write into a run that reuses the id of a removed one",
    async ({ storage, reopen }) => {
      const zombie = await storage.begin('a', ['old'])
      const restarted = await reopen()
      await restarted.remove('a')
      await zombie.assertFenced(['old', 'zombie'])
      await zombie.assertFenced(['zombie'])
      await restarted.assertLoads('a', [])

      const claim = await restarted.claim('a', OTHER)
      claim.assertFound([], 'what a claim of a reused id found stored')
      await zombie.assertFenced(['zombie'])
      await claim.save(['new'])
      await zombie.assertFenced(['new', 'zombie'])
      await restarted.assertLoads('a', ['new'])
      await claim.save(['new', 'newer'])
    }
  ),

  law('CS-FENCE-07', 'a takeover of one run affects no other', async ({ storage, reopen }) => {
    const { zombie, restarted } = await takeover(storage, reopen)
    const other = await restarted.claim('b')
    await zombie.assertFenced(['first', 'zombie'])
    await other.save(['of b'])
    other.assertNotLost('the claim of another run')
    await restarted.assertLoads('b', ['of b'])
  }),

  law('CS-FENCE-08', 'a claim that was never granted writes nothing', async ({ storage }) => {
    const lost = new AbortController().signal
    await left(storage.raw.save({ runId: 'a', epoch: 1, lost }, revisions(['forged'])), 'Fenced')
    const claim = await storage.claim('a')
    await left(storage.raw.save({ runId: 'a', epoch: claim.epoch + 1, lost }, revisions(['forged'])), 'Fenced')
    await claim.save([1])
    await storage.assertLoads('a', [1])
  }),

  law(
    'CS-FENCE-09',
    'of three owners, each declared dead in turn, only the last one writes',
    async ({ storage, reopen }) => {
      const { zombie, successor } = await takeover(storage, reopen)
      await successor.save(['first', 'second'])
      const last = await reopen()
      const claim = await last.claim('a')
      await zombie.assertFenced(['first', 'second', 'zombie'])
      await successor.assertFenced(['first', 'second', 'zombie'])
      await claim.save(['first', 'second', 'third'])
      await zombie.assertFenced(['first', 'second', 'third', 'zombie'])
      await successor.assertFenced(['first', 'second', 'third', 'zombie'])
      await last.assertLoads('a', ['first', 'second', 'third'])
    }
  ),

  lawsOf({ needs: ['watch'] })(
    'CS-FENCE-10',
    'the `lost` signal of an idle superseded owner fires within two seconds',
    async ({ storage, reopen }) => {
      const { zombie, successor } = await takeover(storage, reopen)
      await until(() => zombie.lost.aborted, 2_000, 'the `lost` signal of an idle superseded claim')
      successor.assertNotLost()
    }
  ),

  law(
    'CS-FENCE-11',
    'a save in flight during a takeover is found by the new owner, or refused',
    async ({ storage, reopen }) => {
      let former = storage
      for (let round = 0; round < 12; round++) {
        const runId = `run-${round}`
        const zombie = await former.begin(runId, ['first'])
        const restarted = await reopen()
        const late = zombie.saving(['first', 'late'])
        const [saved, next] = await overlapping(
          round,
          () => late(),
          () => restarted.claim(runId, OTHER)
        )
        const payloads = await assertSuccessorContinues(restarted, next, saved)
        await zombie.assertFenced([...payloads, 'zombie'])
        former = restarted
      }
    }
  )
]

/** A superseded owner that still lives, and its successor. The run has one revision. */
const takeover = async (storage: Client, reopen: () => Promise<Client>) => {
  const zombie = await storage.begin('a', ['first'])
  const restarted = await reopen()
  return { zombie, restarted, successor: await restarted.claim('a', OTHER) }
}
