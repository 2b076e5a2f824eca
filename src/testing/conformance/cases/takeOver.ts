/** Takeover of owners whose liveness is undecided. */
import type { CheckpointStorage, Claim } from '../../../ports/CheckpointStorage.js'
import type { CaseContext, ConformanceCase } from '../Case.js'
import { casesNeeding, conformanceCase } from '../Case.js'
import { assertSame } from '../difference.js'
import {
  assertHigherEpoch,
  assertHolds,
  assertLoads,
  assertNotLost,
  atOnce,
  begun,
  left,
  OTHER,
  OWNER,
  revisions,
  right,
  some,
  tally,
  until
} from '../fixtures.js'

const undecidedCase = casesNeeding('takeOver')

const TAKE_OVER = { takeOver: true }

export const takeOverCases: ReadonlyArray<ConformanceCase> = [
  conformanceCase(
    'CS-TAKE-01',
    'a claim with takeOver is refused while the owner is proven alive, and does not affect it',
    async ({ storage }) => {
      const claim = await begun(storage, 'a', [1], OWNER)
      const { holder } = await left(storage.claim('a', OTHER, TAKE_OVER), 'HeldBy')
      assertSame(holder.liveness, 'alive', 'the liveness of a living owner')
      const seen = some(some(await right(storage.load('a'))).heldBy, 'the holder')
      assertSame(seen.liveness, 'alive', 'the liveness of a living owner in a load')
      assertNotLost(claim)
      await right(storage.save(claim, revisions([1, 2])))
      await assertLoads(storage, 'a', [1, 2])
    }
  ),

  conformanceCase(
    'CS-TAKE-02',
    'a claim with takeOver on a free run is granted like any other',
    async ({ storage, reopen }) => {
      const first = (await right(storage.claim('a', OWNER, TAKE_OVER))).claim
      await right(storage.save(first, revisions([1])))
      await right(storage.release(first))
      const second = await right(storage.claim('a', OWNER, TAKE_OVER))
      assertHolds(some(second.stored), [1])
      await right(storage.save(second.claim, revisions([1, 2])))
      const next = await reopen()
      const third = await right(next.claim('a', OTHER, TAKE_OVER))
      assertHolds(some(third.stored), [1, 2])
      assertHigherEpoch(third.claim, second.claim.epoch)
      await right(next.save(third.claim, revisions([1, 2, 3])))
    }
  ),

  undecidedCase(
    'CS-TAKE-03',
    'an owner whose liveness is undecided holds its run, and claims, loads and removals report it as undecided',
    async (context) => {
      const { other, zombie, storage } = await undecided(context)
      const { holder } = await left(other.claim('a', OTHER), 'HeldBy')
      assertSame({ host: holder.host, pid: holder.pid }, OWNER, 'the holder that a refused claim reports')
      assertSame(holder.liveness, 'undecided', 'the liveness that a refused claim reports')
      const seen = some(some(await right(other.load('a'))).heldBy, 'the holder')
      assertSame(seen.liveness, 'undecided', 'the liveness that a load reports')
      await left(other.remove('a'), 'HeldBy')
      assertNotLost(zombie)
      await right(storage.save(zombie, revisions(['first', 'second'])))
    }
  ),

  undecidedCase(
    'CS-TAKE-04',
    'a claim with takeOver supersedes an undecided owner, and returns every save that resolved',
    async (context) => {
      const { other, zombie, storage } = await undecided(context)
      await right(storage.save(zombie, revisions(['first', 'second', 'third'], 2)))
      const { claim, stored } = await right(other.claim('a', OTHER, TAKE_OVER))
      assertHolds(some(stored), ['first', 'second', 'third'])
      assertSame(some(stored).heldBy, { _tag: 'None' }, 'the holder that a claim found')
      assertHigherEpoch(claim, zombie.epoch)
      await right(other.save(claim, revisions(['first', 'second', 'third', 'fourth'])))
      await assertLoads(other, 'a', ['first', 'second', 'third', 'fourth'])
    }
  ),

  undecidedCase(
    'CS-TAKE-05',
    'an owner superseded by takeOver stays fenced: its saves store nothing, and its lost signal fires',
    async (context) => {
      const { other, zombie, storage } = await undecided(context)
      const { claim } = await right(other.claim('a', OTHER, TAKE_OVER))
      await left(storage.save(zombie, revisions(['first', 'late'])), 'Fenced')
      await until(() => zombie.lost.aborted, 2_000, 'the lost signal of the superseded owner')
      await right(other.save(claim, revisions(['first', 'second'])))
      await left(storage.save(zombie, revisions(['first', 'second', 'later'])), 'Fenced')
      await right(storage.release(zombie))
      await right(other.save(claim, revisions(['first', 'second', 'third'])))
      await assertLoads(other, 'a', ['first', 'second', 'third'])
    }
  ),

  undecidedCase(
    'CS-TAKE-06',
    'of concurrent claims with takeOver one is granted, and the others are refused because its owner lives',
    async (context) => {
      const { other } = await undecided(context)
      const results = await atOnce(Array.from({ length: 10 }, () => other.claim('a', OTHER, TAKE_OVER)))
      assertSame(tally(results), { success: 1, HeldBy: 9 }, 'the results of ten concurrent claims')
      const { holder } = await left(other.claim('a', OWNER, TAKE_OVER), 'HeldBy')
      assertSame(holder.liveness, 'alive', 'the liveness of the new owner')
    }
  )
]

/** An owner with one revision, and a store that cannot tell whether it lives. */
const undecided = async ({
  storage,
  unsure
}: CaseContext): Promise<{
  readonly storage: CheckpointStorage
  readonly zombie: Claim
  readonly other: CheckpointStorage
}> => {
  const zombie = await begun(storage, 'a', ['first'], OWNER)
  return { storage, zombie, other: await unsure() }
}
