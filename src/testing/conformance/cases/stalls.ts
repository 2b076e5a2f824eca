/** Holds one call below the store while others proceed. */
import { strict as assert } from 'node:assert'
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import type { TaskEither } from 'fp-ts/lib/TaskEither.js'
import type { Json } from '../../../domain/data/Json.js'
import type { CheckpointStorage, Claim, Claimed, StorageError, Stored } from '../../../ports/CheckpointStorage.js'
import type { CaseContext, ConformanceCase } from '../Case.js'
import { casesNeeding } from '../Case.js'
import { assertSame, inWords } from '../difference.js'
import {
  answerOf,
  assertGoesOn,
  assertHolds,
  assertLoads,
  assertNotLost,
  begun,
  claimed,
  LATER,
  left,
  newest,
  OTHER,
  OWNER,
  revisions,
  revisionsAt,
  right,
  seed,
  some
} from '../fixtures.js'
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
        const zombie = await begun(former, runId, ['first'], OWNER)
        const late = await hold(former.save(zombie, revisions(['first', 'late'])))
        const latter = await reopen()
        const next = await meanwhile((first) => first(latter.claim(runId, OTHER)))
        const payloads = await assertGoesOn(latter, next, await late.outcome)
        await left(former.save(zombie, revisions([...payloads, 'zombie'])), 'Fenced')
      })
  ),

  stallCase(
    'CS-STALL-02',
    'a load stalled below the store while its run is removed and recreated never mixes the two',
    async (context) => {
      await assertLooksAreWhole(context, 'load', (storage, runId) => storage.load(runId))
      await assertLooksAreWhole(context, 'revision', (storage, runId) => storage.loadRevision(runId, 1))
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
        await seed(former, runId, ['old'])
        const removal = await hold(former.remove(runId))
        const latter = await reopen()
        const { claim, payloads } = await meanwhile(async (first) => {
          const granted = await first(latter.claim(runId, OTHER))
          const saved = [...(O.isSome(granted.stored) ? ['old'] : []), 'new']
          await right(latter.save(granted.claim, revisions(saved)))
          return { claim: granted.claim, payloads: saved }
        })
        await removal.outcome
        await assertLoads(latter, runId, payloads, 'the run that the new owner saved during a removal')
        await right(latter.save(claim, revisions([...payloads, 'newer'])))
      })
  ),

  stallCase(
    'CS-STALL-05',
    'a release stalled below the store during a takeover frees nothing',
    ({ reopen, ...context }) =>
      atEachPlace(context, async ({ former, runId, hold, meanwhile }) => {
        const zombie = await begun(former, runId, ['first'], OWNER)
        const release = await hold(former.release(zombie))
        const latter = await reopen()
        const { claim } = await meanwhile((first) => first(latter.claim(runId, OTHER)))
        await release.outcome
        await left(latter.claim(runId, OWNER), 'HeldBy', 'a claim after the late release of the former owner')
        await right(latter.save(claim, revisions(['first', 'second'])))
        assertNotLost(claim, 'the new owner')
      })
  ),

  stallCase(
    'CS-STALL-06',
    'a removal that names the newest revision and stalls below the store deletes nothing that another process saves and releases meanwhile',
    ({ reopen, ...context }) =>
      atEachPlace(context, async ({ former, runId, hold, meanwhile }) => {
        await seed(former, runId, ['old'])
        const removal = await hold(former.remove(runId, newest(0)))
        const latter = await reopen()
        const payloads = await meanwhile(async (first) => {
          const { claim, stored } = await first(latter.claim(runId, OTHER))
          const saved = [...(O.isSome(stored) ? ['old'] : []), 'new']
          await right(latter.save(claim, revisionsAt(LATER, saved)))
          await right(latter.release(claim))
          return saved
        })
        await removal.outcome
        const found = some(await right(latter.load(runId)), 'the run that was resumed and released during a removal')
        assertSame(found.revision, payloads.length - 1, 'the revision of the run that was resumed during a removal')
      })
  ),

  stallCase(
    'CS-STALL-07',
    'a removal that names the newest revision and stalls below the store deletes nothing that an owner saves after it counted as dead',
    ({ reopen, stall, ...context }) => {
      let former: CheckpointStorage | undefined
      let zombie: Claim | undefined
      let runs = 0
      const opened = async () => {
        former = await reopen()
        zombie = await claimed(former, `run-${runs++}`, OWNER)
        await right(former.save(zombie, revisions(['first'])))
        return stall()
      }
      return atEachPlace({ ...context, stall: opened }, async ({ former: storage, runId, hold, meanwhile }) => {
        const removal = await hold(storage.remove(runId, newest(0)))
        const save = (former as CheckpointStorage).save(zombie as Claim, revisionsAt(LATER, ['first', 'late']))
        const late = await meanwhile(() => answerOf(save))
        await removal.outcome
        if (E.isRight(late)) {
          const found = some(await right(storage.load(runId)), 'the run that its former owner saved during a removal')
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
      await seed(former, runId, ['old'])
      const removal = await hold(former.remove(runId, newest(0)))
      const latter = await reopen()
      const save = async (claim: Claim): Promise<void> => {
        await right(latter.save(claim, revisionsAt(LATER, ['new'])))
        await right(latter.release(claim))
      }
      const claim = await meanwhile(async (first) => {
        const replaced = await answerOf(latter.remove(runId))
        if (E.isLeft(replaced)) return undefined
        const granted = await first(latter.claim(runId, OTHER))
        if (before === 'saved') await save(granted.claim)
        return granted.claim
      })
      await removal.outcome
      if (claim === undefined) return
      if (before === 'claimed') await save(claim)
      await assertLoads(latter, runId, ['new'])
    },
    before
  )

/** A held load finds the old run, the new one or none. */
const assertLooksAreWhole = (
  { reopen, ...context }: CaseContext,
  named: string,
  lookAt: (storage: CheckpointStorage, runId: string) => TaskEither<StorageError, O.Option<Stored>>
): Promise<void> =>
  atEachPlace(
    context,
    async ({ former, runId, hold, meanwhile }) => {
      await seed(former, runId, OLD)
      const look = await hold(lookAt(former, runId))
      const other = await reopen()
      await meanwhile(async (first) => {
        await first(other.remove(runId))
        await seed(other, runId, NEW)
      })
      const result = await look.outcome
      if (E.isLeft(result))
        assert.fail(`a load during a removal: expected a run or none, found ${inWords(result.left)}`)
      if (O.isSome(result.right)) assertIsOneOf(result.right.value, [OLD, NEW])
      await assertLoads(other, runId, NEW)
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
      await seed(former, runId, ['first'])
      const waiting = await hold(former.claim(runId, OWNER))
      const latter = await reopen()
      const other = await meanwhile(async (first) => {
        const granted = await first(latter.claim(runId, OTHER))
        await right(latter.save(granted.claim, revisions(['first', 'second'])))
        if (between === 'released') await right(latter.release(granted.claim))
        return granted.claim
      })
      const result = await waiting.outcome
      if (E.isLeft(result)) assertSame(result.left._tag, 'HeldBy', 'the error of the held claim')
      else await assertIsBeforeOrAfter(former, result.right, other.epoch, between)
      if (between === 'held') await right(latter.save(other, revisions(['first', 'second', 'third'])))
      else await left(latter.save(other, revisions(['first', 'second', 'late'])), 'Fenced')
    },
    between
  )

/** If it came first, the other claim has superseded it. */
const assertIsBeforeOrAfter = async (
  storage: CheckpointStorage,
  { claim, stored }: Claimed,
  epoch: number,
  between: 'released' | 'held'
): Promise<void> => {
  assert.notEqual(claim.epoch, epoch, `the epochs of two claims: expected different ones, found ${epoch} twice`)
  if (claim.epoch < epoch)
    return void (await left(storage.save(claim, revisions(['first', 'second', 'zombie'])), 'Fenced'))
  assertSame(between, 'released', 'the other claim when the held claim was granted')
  assertHolds(
    some(stored, 'the run that the other owner saved'),
    ['first', 'second'],
    'the run that the held claim found'
  )
  // Its process counts as dead, so the claim may be lost as soon as it is granted.
  const saved = await answerOf(storage.save(claim, revisions(['first', 'second', 'third'])))
  if (E.isLeft(saved))
    assert.ok(claim.lost.aborted, `a save of a granted claim: expected success, found ${inWords(saved.left)}`)
}
