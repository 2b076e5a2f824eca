/** Holds one call below the store while others proceed. */
import { strict as assert } from 'node:assert'
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import type { TaskEither } from 'fp-ts/lib/TaskEither.js'
import type { Json } from '../../../domain/data/Json.js'
import type { StorageError, Stored } from '../../../ports/CheckpointStorage.js'
import type { CaseContext, ConformanceCase } from '../Case.js'
import { casesNeeding } from '../Case.js'
import type { Client, ClientClaim } from '../Client.js'
import { assertGoesOn } from '../concurrency.js'
import { assertSame, inWords } from '../difference.js'
import { assertHolds, LATER, newest, OTHER, OWNER, revisionsAt, right, some } from '../fixtures.js'
import { atEachPlace } from '../stalling.js'

const stallCase = casesNeeding('stalls')

const OLD = ['old', 'old, second', 'old, third']
const NEW = ['new', 'new, second', 'new, third', 'new, fourth', 'new, fifth']

export const stallCases: ReadonlyArray<ConformanceCase> = [
  stallCase(
    'CS-STALL-01',
    'a save stalled below the store during a takeover is found by the new owner, or refused',
    ({ reopen, ...context }) =>
      atEachPlace(context, async ({ former, runId, hold, meanwhile }) => {
        const zombie = await former.begin(runId, ['first'])
        const late = await hold(zombie.saving(['first', 'late']))
        const latter = await reopen()
        const next = await meanwhile((first) => first(latter.claiming(runId, OTHER)))
        const payloads = await assertGoesOn(latter, next, await late.outcome)
        await zombie.assertFenced([...payloads, 'zombie'])
      })
  ),

  stallCase(
    'CS-STALL-02',
    'a load stalled below the store while its run is removed and recreated never mixes the two',
    async (context) => {
      await assertLooksAreWhole(context, 'load', (storage, runId) => storage.raw.load(runId))
      await assertLooksAreWhole(context, 'revision', (storage, runId) => storage.raw.loadRevision(runId, 1))
    }
  ),

  stallCase(
    'CS-STALL-03',
    'a claim stalled below the store while another one is granted is refused, or granted after it',
    async (context) => {
      await assertClaimsAreInOrder(context, 'released')
      await assertClaimsAreInOrder(context, 'held')
    }
  ),

  stallCase(
    'CS-STALL-04',
    'a removal stalled below the store while its run is claimed leaves the new owner its claim and all that it saves',
    ({ reopen, ...context }) =>
      atEachPlace(context, async ({ former, runId, hold, meanwhile }) => {
        await former.seed(runId, ['old'])
        const removal = await hold(former.raw.remove(runId))
        const latter = await reopen()
        const { claim, payloads } = await meanwhile(async (first) => {
          const granted = await first(latter.claiming(runId, OTHER))
          const saved = [...(O.isSome(granted.stored) ? ['old'] : []), 'new']
          await granted.save(saved)
          return { claim: granted, payloads: saved }
        })
        await removal.outcome
        await latter.assertLoads(runId, payloads, 'the run that the new owner saved during a removal')
        await claim.save([...payloads, 'newer'])
      })
  ),

  stallCase(
    'CS-STALL-05',
    'a release stalled below the store during a takeover frees nothing',
    ({ reopen, ...context }) =>
      atEachPlace(context, async ({ former, runId, hold, meanwhile }) => {
        const zombie = await former.begin(runId, ['first'])
        const release = await hold(zombie.releasing())
        const latter = await reopen()
        const claim = await meanwhile((first) => first(latter.claiming(runId, OTHER)))
        await release.outcome
        await latter.assertHeld(runId, OWNER, 'a claim after the late release of the former owner')
        await claim.save(['first', 'second'])
        claim.assertNotLost('the new owner')
      })
  ),

  stallCase(
    'CS-STALL-06',
    'a removal that names the newest revision and stalls below the store deletes nothing that another process saves and releases meanwhile',
    ({ reopen, ...context }) =>
      atEachPlace(context, async ({ former, runId, hold, meanwhile }) => {
        await former.seed(runId, ['old'])
        const removal = await hold(former.raw.remove(runId, newest(0)))
        const latter = await reopen()
        const payloads = await meanwhile(async (first) => {
          const claim = await first(latter.claiming(runId, OTHER))
          const saved = [...(O.isSome(claim.stored) ? ['old'] : []), 'new']
          await right(claim.savingRevisions(revisionsAt(LATER, saved)))
          await claim.release()
          return saved
        })
        await removal.outcome
        const found = some(await latter.load(runId), 'the run that was resumed and released during a removal')
        assertSame(found.revision, payloads.length - 1, 'the revision of the run that was resumed during a removal')
      })
  ),

  stallCase(
    'CS-STALL-07',
    'a removal that names the newest revision and stalls below the store deletes nothing that an owner saves after it counted as dead',
    ({ reopen, stall, ...context }) => {
      let zombie: ClientClaim | undefined
      let runs = 0
      const opened = async () => {
        zombie = await (await reopen()).begin(`run-${runs++}`, ['first'])
        return stall()
      }
      return atEachPlace({ ...context, stall: opened }, async ({ former: storage, runId, hold, meanwhile }) => {
        const removal = await hold(storage.raw.remove(runId, newest(0)))
        const save = (zombie as ClientClaim).savingRevisions(revisionsAt(LATER, ['first', 'late']))
        const late = await meanwhile(() => save())
        await removal.outcome
        if (E.isRight(late)) {
          const found = some(await storage.load(runId), 'the run that its former owner saved during a removal')
          assertSame(found.revision, 1, 'the revision of the run that its former owner saved during a removal')
        }
      })
    }
  ),

  stallCase(
    'CS-STALL-08',
    'a removal that names the newest revision and stalls below the store ends no claim and deletes no save of a later run with the same id',
    async (context) => {
      await assertLaterRunStays(context, 'saved')
      await assertLaterRunStays(context, 'claimed')
    }
  )
]

/** `before`: what another process does under the id before the held removal proceeds. */
const assertLaterRunStays = ({ reopen, ...context }: CaseContext, before: 'saved' | 'claimed'): Promise<void> =>
  atEachPlace(
    context,
    async ({ former, runId, hold, meanwhile }) => {
      await former.seed(runId, ['old'])
      const removal = await hold(former.raw.remove(runId, newest(0)))
      const latter = await reopen()
      const save = async (claim: ClientClaim): Promise<void> => {
        await right(claim.savingRevisions(revisionsAt(LATER, ['new'])))
        await claim.release()
      }
      const claim = await meanwhile(async (first) => {
        const replaced = await latter.raw.remove(runId)()
        if (E.isLeft(replaced)) return undefined
        const granted = await first(latter.claiming(runId, OTHER))
        if (before === 'saved') await save(granted)
        return granted
      })
      await removal.outcome
      if (claim === undefined) return
      if (before === 'claimed') await save(claim)
      await latter.assertLoads(runId, ['new'])
    },
    before
  )

/** A held load finds the old run, the new one or none. */
const assertLooksAreWhole = (
  { reopen, ...context }: CaseContext,
  named: string,
  lookAt: (storage: Client, runId: string) => TaskEither<StorageError, O.Option<Stored>>
): Promise<void> =>
  atEachPlace(
    context,
    async ({ former, runId, hold, meanwhile }) => {
      await former.seed(runId, OLD)
      const look = await hold(lookAt(former, runId))
      const other = await reopen()
      await meanwhile(async (first) => {
        await first(other.raw.remove(runId))
        await other.seed(runId, NEW)
      })
      const result = await look.outcome
      if (E.isLeft(result))
        assert.fail(`a load during a removal: expected a run or none, found ${inWords(result.left)}`)
      if (O.isSome(result.right)) assertIsOneOf(result.right.value, [OLD, NEW])
      await other.assertLoads(runId, NEW)
    },
    named
  )

/** The load may fall after any save of the new run. */
const assertIsOneOf = (stored: Stored, runs: ReadonlyArray<ReadonlyArray<Json>>): void => {
  const isOf = (payloads: ReadonlyArray<Json>): boolean => {
    try {
      assertHolds(stored, payloads.slice(0, stored.revision + 1))
      return true
    } catch {
      return false
    }
  }
  if (!runs.some(isOf))
    assert.fail(`the loaded run: expected the old run or the new one, found ${inWords({ ...stored, heldBy: null })}`)
}

/** `between`: what the other claim does before the held one proceeds. */
const assertClaimsAreInOrder = ({ reopen, ...context }: CaseContext, between: 'released' | 'held'): Promise<void> =>
  atEachPlace(
    context,
    async ({ former, runId, hold, meanwhile }) => {
      await former.seed(runId, ['first'])
      const waiting = await hold(former.claiming(runId))
      const latter = await reopen()
      const other = await meanwhile(async (first) => {
        const granted = await first(latter.claiming(runId, OTHER))
        await granted.save(['first', 'second'])
        if (between === 'released') await granted.release()
        return granted
      })
      const result = await waiting.outcome
      if (E.isLeft(result)) assertSame(result.left._tag, 'HeldBy', 'the error of the held claim')
      else await assertIsBeforeOrAfter(result.right, other.epoch, between)
      if (between === 'held') await other.save(['first', 'second', 'third'])
      else await other.assertFenced(['first', 'second', 'late'])
    },
    between
  )

/** If it came first, the other claim has superseded it. */
const assertIsBeforeOrAfter = async (
  claim: ClientClaim,
  epoch: number,
  between: 'released' | 'held'
): Promise<void> => {
  assert.notEqual(claim.epoch, epoch, `the epochs of two claims: expected different ones, found ${epoch} twice`)
  if (claim.epoch < epoch) return void (await claim.assertFenced(['first', 'second', 'zombie']))
  assertSame(between, 'released', 'the other claim when the held claim was granted')
  claim.assertFound(['first', 'second'], 'the run that the held claim found')
  // Its process counts as dead, so the claim may be lost as soon as it is granted.
  const saved = await claim.saving(['first', 'second', 'third'])()
  if (E.isLeft(saved))
    assert.ok(claim.lost.aborted, `a save of a granted claim: expected success, found ${inWords(saved.left)}`)
}
