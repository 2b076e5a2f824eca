/** Cases that stall one call below the store while others proceed. */
import { strict as assert } from 'node:assert'
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import type { Json } from '../../../domain/data/Json.js'
import type { Stored } from '../../../ports/CheckpointStorage.js'
import { lawsOf } from '../Case.js'
import type { ClientClaim } from '../Client.js'
import { assertSuccessorContinues, continued } from '../concurrency.js'
import { assertSame, inWords } from '../difference.js'
import { assertHolds, LATER, newest, OTHER, OWNER } from '../fixtures.js'
import type { Stall } from '../stalling.js'
import { atEachPlace } from '../stalling.js'

const oneStallLaw = lawsOf({ needs: ['stalls'] })

/** Makes a law that stalls one call, at each place below the store, once for each variant. */
const stallLawsOf =
  <Variant extends string>(...variants: ReadonlyArray<Variant>) =>
  (id: string, title: string, holds: (stall: Stall, variant: Variant) => Promise<void>) =>
    oneStallLaw(id, title, async (context) => {
      for (const variant of variants) await atEachPlace(context, (stall) => holds(stall, variant), variant)
    })

const stallLaw = stallLawsOf('run')

const OLD = ['old', 'old, second', 'old, third']
const NEW = ['new', 'new, second', 'new, third', 'new, fourth', 'new, fifth']

export const stallCases = [
  stallLaw(
    'CS-STALL-01',
    'a save that stalls in transit during a takeover is found by the new owner, or refused',
    async ({ former, runId, whileClaimed }) => {
      const zombie = await former.begin(runId, ['first'])
      const { restarted, claim, result } = await whileClaimed(zombie.saving(['first', 'late']))
      const payloads = await assertSuccessorContinues(restarted, claim, result)
      await zombie.assertFenced([...payloads, 'zombie'])
    }
  ),

  stallLawsOf('load', 'revision')(
    'CS-STALL-02',
    'a load that stalls in transit while its run is removed and recreated never mixes the old and the new run',
    async ({ former, runId, reopen, hold, meanwhile }, call) => {
      await former.seed(runId, OLD)
      const load = await hold(call === 'load' ? former.raw.load(runId) : former.raw.loadRevision(runId, 1))
      const other = await reopen()
      await meanwhile(async (retrying) => {
        await retrying(other.raw.remove(runId))
        await other.seed(runId, NEW)
      })
      const result = await load.outcome
      if (E.isLeft(result))
        assert.fail(`a load during a removal: expected a run or none, found ${inWords(result.left)}`)
      if (O.isSome(result.right)) assertIsOneOf(result.right.value, [OLD, NEW])
      await other.assertLoads(runId, NEW)
    }
  ),

  stallLawsOf('released', 'held')(
    'CS-STALL-03',
    'a claim that stalls in transit while another one is granted is refused, granted later, or superseded',
    async ({ former, runId, whileClaimed }, other) => {
      await former.seed(runId, ['first'])
      const { claim, result } = await whileClaimed(former.claiming(runId), async (granted) => {
        await granted.save(['first', 'second'])
        if (other === 'released') await granted.release()
      })
      if (E.isLeft(result)) assertSame(result.left._tag, 'HeldBy', 'the error of the stalled claim')
      else await assertIsBeforeOrAfter(result.right, claim.epoch, other)
      if (other === 'held') await claim.save(['first', 'second', 'third'])
      else await claim.assertFenced(['first', 'second', 'late'])
    }
  ),

  stallLaw(
    'CS-STALL-04',
    'a removal that stalls in transit while its run is claimed affects neither the new claim nor its saves',
    async ({ former, runId, whileClaimed }) => {
      await former.seed(runId, ['old'])
      const { restarted, claim } = await whileClaimed(former.raw.remove(runId), (granted) =>
        granted.save(continued(granted))
      )
      await restarted.assertLoads(runId, continued(claim), 'the run that the new owner saved during a removal')
      await claim.save([...continued(claim), 'newer'])
    }
  ),

  stallLaw(
    'CS-STALL-05',
    'a release that stalls in transit during a takeover frees nothing',
    async ({ former, runId, whileClaimed }) => {
      const zombie = await former.begin(runId, ['first'])
      const { restarted, claim } = await whileClaimed(zombie.releasing())
      await restarted.assertHeld(runId, OWNER, 'a claim after the late release of the former owner')
      await claim.save(['first', 'second'])
      claim.assertNotLost('the new owner')
    }
  ),

  stallLaw(
    'CS-STALL-06',
    'if a removal on condition of the newest revision stalls in transit, it deletes no save of a process that claims and releases the run meanwhile',
    async ({ former, runId, whileClaimed }) => {
      await former.seed(runId, ['old'])
      const { restarted, claim } = await whileClaimed(former.raw.remove(runId, newest(0)), async (granted) => {
        await granted.saveAt(LATER, continued(granted))
        await granted.release()
      })
      const { revision } = await restarted.stored(runId, 'the run that was resumed and released during a removal')
      assertSame(revision, continued(claim).length - 1, 'the revision of the run that was resumed during a removal')
    }
  ),

  oneStallLaw(
    'CS-STALL-07',
    'if a removal on condition of the newest revision stalls in transit, it deletes no save of an owner that was taken for dead',
    ({ stall, ...context }) => {
      let zombie: ClientClaim | undefined
      let runs = 0
      const stallAfterBegin = async () => {
        zombie = await (await context.reopen()).begin(`run-${runs++}`, ['first'])
        return stall()
      }
      return atEachPlace(
        { ...context, stall: stallAfterBegin },
        async ({ former: storage, runId, hold, meanwhile }) => {
          const removal = await hold(storage.raw.remove(runId, newest(0)))
          const save = (zombie as ClientClaim).savingAt(LATER, ['first', 'late'])
          const late = await meanwhile(save)
          await removal.outcome
          if (E.isLeft(late)) return
          const { revision } = await storage.stored(runId, 'the run that its former owner saved during a removal')
          assertSame(revision, 1, 'the revision of the run that its former owner saved during a removal')
        }
      )
    }
  ),

  stallLawsOf('saved', 'claimed')(
    'CS-STALL-08',
    'if a removal on condition of the newest revision stalls in transit, it affects no claim or save of a later run with the same id',
    async ({ former, runId, reopen, hold, meanwhile }, laterRun) => {
      await former.seed(runId, ['old'])
      const removal = await hold(former.raw.remove(runId, newest(0)))
      const restarted = await reopen()
      const save = async (claim: ClientClaim): Promise<void> => {
        await claim.saveAt(LATER, ['new'])
        await claim.release()
      }
      const claim = await meanwhile(async (retrying) => {
        const replaced = await restarted.raw.remove(runId)()
        if (E.isLeft(replaced)) return undefined
        const granted = await retrying(restarted.claiming(runId, OTHER))
        if (laterRun === 'saved') await save(granted)
        return granted
      })
      await removal.outcome
      if (claim === undefined) return
      if (laterRun === 'claimed') await save(claim)
      await restarted.assertLoads(runId, ['new'])
    }
  )
]

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

/** Asserts that the stalled claim was granted before the other one, which then superseded it, or after the other one's release. */
const assertIsBeforeOrAfter = async (claim: ClientClaim, epoch: number, other: 'released' | 'held'): Promise<void> => {
  assert.notEqual(claim.epoch, epoch, `the epochs of two claims: expected different ones, found ${epoch} twice`)
  if (claim.epoch < epoch) return void (await claim.assertFenced(['first', 'second', 'zombie']))
  assertSame(other, 'released', 'the other claim when the stalled claim was granted')
  claim.assertFound(['first', 'second'], 'the run that the stalled claim found')
  // Its process counts as dead, so the claim may be lost as soon as it is granted.
  const saved = await claim.saving(['first', 'second', 'third'])()
  if (E.isLeft(saved))
    assert.ok(claim.lost.aborted, `a save of a granted claim: expected success, found ${inWords(saved.left)}`)
}
