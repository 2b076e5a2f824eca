/** Cases about the takeover of owners whose liveness is undecided. */
import type { CaseContext } from '../Case.js'
import { law, lawsOf } from '../Case.js'
import { atOnce, tally } from '../concurrency.js'
import { assertSame } from '../difference.js'
import { asOwner, assertHigherEpoch, left, OTHER, OWNER, some, until } from '../fixtures.js'

const undecidedLaw = lawsOf({ needs: ['takeOver'] })

const TAKE_OVER = { takeOver: true }

export const takeOverCases = [
  law(
    'CS-TAKE-01',
    'a claim with takeOver is refused while the owner is proven alive, and does not affect that owner',
    async ({ storage }) => {
      const claim = await storage.begin('a', [1])
      const { holder } = await left(storage.raw.claim('a', OTHER, TAKE_OVER), 'HeldBy')
      assertSame(holder.liveness, 'alive', 'the liveness of a living owner')
      const seen = await storage.holder('a')
      assertSame(seen.liveness, 'alive', 'the liveness of a living owner in a load')
      claim.assertNotLost()
      await claim.save([1, 2])
      await storage.assertLoads('a', [1, 2])
    }
  ),

  law('CS-TAKE-02', 'a claim with takeOver on a free run is granted like any other', async ({ storage, reopen }) => {
    const first = await storage.claim('a', OWNER, TAKE_OVER)
    await first.save([1])
    await first.release()
    const second = await storage.claim('a', OWNER, TAKE_OVER)
    second.assertFound([1])
    await second.save([1, 2])
    const next = await reopen()
    const third = await next.claim('a', OTHER, TAKE_OVER)
    third.assertFound([1, 2])
    assertHigherEpoch(third, second.epoch)
    await third.save([1, 2, 3])
  }),

  undecidedLaw(
    'CS-TAKE-03',
    'an owner whose liveness is undecided holds its run, and claims, loads and removals report it as undecided',
    async (context) => {
      const { other, zombie } = await withUndecidedOwner(context)
      const holder = await other.assertHeld('a')
      assertSame(asOwner(holder), OWNER, 'the holder that a refused claim reports')
      assertSame(holder.liveness, 'undecided', 'the liveness that a refused claim reports')
      const seen = await other.holder('a')
      assertSame(seen.liveness, 'undecided', 'the liveness that a load reports')
      await left(other.raw.remove('a'), 'HeldBy')
      zombie.assertNotLost()
      await zombie.save(['first', 'second'])
    }
  ),

  undecidedLaw(
    'CS-TAKE-04',
    'a claim with takeOver supersedes an owner whose liveness is undecided, and returns every acknowledged save',
    async (context) => {
      const { other, zombie } = await withUndecidedOwner(context)
      await zombie.save(['first', 'second', 'third'], 2)
      const claim = await other.claim('a', OTHER, TAKE_OVER)
      claim.assertFound(['first', 'second', 'third'])
      assertSame(some(claim.stored).heldBy, { _tag: 'None' }, 'the holder that a claim found')
      assertHigherEpoch(claim, zombie.epoch)
      await claim.save(['first', 'second', 'third', 'fourth'])
      await other.assertLoads('a', ['first', 'second', 'third', 'fourth'])
    }
  ),

  undecidedLaw(
    'CS-TAKE-05',
    'an owner superseded by takeOver stays fenced: its saves store nothing, and its `lost` signal fires',
    async (context) => {
      const { other, zombie } = await withUndecidedOwner(context)
      const claim = await other.claim('a', OTHER, TAKE_OVER)
      await zombie.assertFenced(['first', 'late'])
      await until(() => zombie.lost.aborted, 2_000, 'the `lost` signal of the superseded owner')
      await claim.save(['first', 'second'])
      await zombie.assertFenced(['first', 'second', 'later'])
      await zombie.release()
      await claim.save(['first', 'second', 'third'])
      await other.assertLoads('a', ['first', 'second', 'third'])
    }
  ),

  undecidedLaw(
    'CS-TAKE-06',
    'exactly one of ten concurrent claims with takeOver is granted, and its owner then counts as alive',
    async (context) => {
      const { other } = await withUndecidedOwner(context)
      const results = await atOnce(Array.from({ length: 10 }, () => other.claiming('a', OTHER, TAKE_OVER)))
      assertSame(tally(results), { success: 1, HeldBy: 9 }, 'the results of ten concurrent claims')
      const { holder } = await left(other.raw.claim('a', OWNER, TAKE_OVER), 'HeldBy')
      assertSame(holder.liveness, 'alive', 'the liveness of the new owner')
    }
  )
]

/** An owner with one revision, and a store that cannot detect whether it lives. */
const withUndecidedOwner = async ({ storage, undecided }: CaseContext) => ({
  zombie: await storage.begin('a', ['first']),
  other: await undecided()
})
