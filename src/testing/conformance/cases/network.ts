/** Cases about a network between the store and its storage: lost replies, broken connections, failovers, owners that slept. */
import { strict as assert } from 'node:assert'
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import type { StorageError } from '../../../ports/CheckpointStorage.js'
import type { CaseContext } from '../Case.js'
import { lawsOf } from '../Case.js'
import { assertSame, inWords } from '../difference.js'
import type { Client } from '../fixtures.js'
import { assertHolds, OTHER, some, until } from '../fixtures.js'

/** The codes of a connection that ended: the call may have taken effect. */
const LOST = ['ECONNRESET', '08006', '57P01']

/** The codes of a canceled statement and a read-only server: the call took no effect. */
const REFUSED = ['57014', '25006']

/** A save sends no more messages than this. */
const MAX_MESSAGES = 60

const networkLaw = lawsOf({ needs: ['network'] })
const stressNetworkLaw = lawsOf({ needs: ['network'], level: 'stress' })
const failoverLaw = lawsOf({ needs: ['failover'] })
const leaseLaw = lawsOf({ needs: ['leases'] })

export const networkCases = [
  networkLaw(
    'CS-NET-01',
    'a save whose reply is lost is stored once, and never reported as not committed',
    async ({ lossy, reopen }) => {
      for (const code of [...LOST, ...REFUSED]) {
        const runId = `run-${code.toLowerCase()}`
        const { storage, lose, heal } = await lossy()
        const claim = await storage.begin(runId, [1])
        const tookEffect = LOST.includes(code)
        await lose('write', code, tookEffect ? 'taken' : 'none')
        const saved = await claim.saving([1, 2])()
        await heal()
        if (E.isRight(saved)) await claim.save([1, 2, 3])
        await assertNextClaimContinues(
          reopen,
          runId,
          saved,
          E.isRight(saved) ? [1, 2, 3] : [1, 2].slice(0, tookEffect ? 2 : 1)
        )
      }
    }
  ),

  networkLaw(
    'CS-NET-02',
    'after a claim whose reply is lost, the same instance can claim the run',
    async ({ storage, lossy, reopen }) => {
      await storage.seed('a', [1])
      const { storage: next, lose, heal } = await lossy()
      await lose('write', 'ECONNRESET', 'taken')
      const first = await next.claiming('a')()
      await heal()
      if (E.isLeft(first)) assertSame(first.left._tag, 'WriteFailed', 'the error of a claim whose reply was lost')
      const claim = E.isRight(first) ? first.right : await next.claim('a')
      await claim.save([1, 2])
      await (await reopen()).assertLoads('a', [1, 2])
    }
  ),

  networkLaw(
    'CS-NET-03',
    'a load whose reply is lost fails or finds the run, and never reports it as missing',
    async ({ storage, lossy }) => {
      await storage.seed('a', [1, 2])
      const { storage: next, lose, heal } = await lossy()
      for (const code of LOST) {
        await lose('read', code, 'taken')
        const loaded = await next.raw.load('a')()
        await heal()
        if (E.isRight(loaded)) assertHolds(some(loaded.right, 'a run whose load had no reply'), [1, 2])
        else assertSame(loaded.left._tag, 'ReadFailed', 'the error of a load whose reply was lost')
      }
    }
  ),

  networkLaw(
    'CS-NET-04',
    'a release or removal whose reply is lost takes effect, and the run can be claimed',
    async ({ lossy, reopen }) => {
      const { storage, lose, heal } = await lossy()
      const claim = await storage.begin('a', [1])
      await lose('write', 'ECONNRESET', 'taken')
      await claim.releasing()()
      await heal()
      await (await storage.claim('a', OTHER)).release()
      await lose('write', 'ECONNRESET', 'taken')
      await storage.raw.remove('a')()
      await heal()
      await storage.remove('a')
      const next = await reopen()
      const fresh = await next.claim('a', OTHER)
      fresh.assertFound([], 'the run after its removal')
      await fresh.save(['new'])
    }
  ),

  stressNetworkLaw(
    'CS-NET-05',
    'a connection that breaks at any message of a save loses no acknowledged save and stores none twice',
    (context) => assertSurvivesCuts(context, 'break')
  ),

  stressNetworkLaw(
    'CS-NET-06',
    'a connection that freezes at any message of a save does not block it, loses no acknowledged save and stores none twice',
    (context) => assertSurvivesCuts(context, 'freeze')
  ),

  failoverLaw(
    'CS-OVER-01',
    'if a failover lost an acknowledged save, the next save is refused and the history has no gap',
    async ({ failover }) => {
      const { storage, mark, rollBack } = await failover()
      const claim = await storage.begin('a', [1])
      await mark()
      await claim.save([1, 2])
      await rollBack()
      const saved = await claim.saving([1, 2, 3])()
      if (E.isRight(saved))
        assert.fail('a save after a failover lost the one before it: expected an error, found success')
      assert.ok(
        saved.left._tag === 'RevisionConflict' || saved.left._tag === 'Fenced',
        `a save after a failover: expected RevisionConflict or Fenced, found ${inWords(saved.left)}`
      )
      await storage.assertLoads('a', [1])
    }
  ),

  failoverLaw(
    'CS-OVER-02',
    'an owner is fenced if a failover lost its claim, even if the same epoch is granted again',
    async ({ failover, reopen }) => {
      const { storage, mark, rollBack } = await failover()
      await storage.seed('a', [1])
      await mark()
      const lost = await storage.claim('a')
      await rollBack()
      const restarted = await reopen()
      const claim = await restarted.claim('a', OTHER)
      await lost.assertFenced([1, 'lost'], 'a save of a claim that a failover lost')
      await claim.save([1, 'kept'])
      await restarted.assertLoads('a', [1, 'kept'])
    }
  ),

  leaseLaw(
    'CS-LEASE-01',
    'a run can be claimed when its owner slept past its lease, and that owner is fenced when it wakes',
    async ({ sleeper, storage: other }) => {
      const { storage, sleep, wake } = await sleeper()
      const former = await storage.begin('a', [1])
      await sleep()
      const claim = await other.begin('a', [1, 2], OTHER)
      await wake()
      await former.assertFenced([1, 'late'], 'a save of an owner that slept')
      await claim.save([1, 2, 3])
      await other.assertLoads('a', [1, 2, 3])
    }
  ),

  leaseLaw(
    'CS-LEASE-02',
    'an owner that slept past its lease while no other process claimed its run soon holds it again, or its `lost` signal fires',
    async ({ sleeper, storage: other }) => {
      const { storage, sleep, wake } = await sleeper()
      const claim = await storage.begin('a', [1])
      await sleep()
      await wake()
      const isDecided = async () => claim.lost.aborted || O.isSome((await other.stored('a')).heldBy)
      await until(isDecided, 10_000, 'the owner that woke holds its run, or has lost it')
      if (claim.lost.aborted) return
      await other.assertHeld('a')
      await claim.save([1, 2])
    }
  )
]

/**
 * Asserts that the next claim finds the acknowledged payloads, and continues. `known`: the payloads that must be stored; absent if the save may or
 * may not be.
 */
const assertNextClaimContinues = async (
  reopen: () => Promise<Client>,
  runId: string,
  saved: E.Either<StorageError, void>,
  known: ReadonlyArray<number> | undefined
): Promise<void> => {
  const restarted = await reopen()
  const claim = await restarted.claim(runId, OTHER)
  const found = some(claim.stored, 'the acknowledged run')
  if (E.isLeft(saved)) {
    const { left } = saved
    if (left._tag !== 'WriteFailed' && left._tag !== 'ReadFailed')
      assert.fail(`a save without a reply: expected success, WriteFailed or ReadFailed, found ${inWords(left)}`)
    assert.ok(
      (left._tag === 'WriteFailed' && left.committed === 'unknown') || found.revision === 0,
      'a save without a reply that is stored: expected WriteFailed with "unknown" as `committed`, found another error'
    )
  }
  const payloads = known ?? [1, 2].slice(0, found.revision + 1)
  assertHolds(found, payloads, 'the run after a save without a reply')
  await claim.save([...payloads, 'next'])
  await restarted.assertLoads(runId, [...payloads, 'next'])
}

const assertSurvivesCuts = async ({ cutting, reopen, isOver }: CaseContext, how: 'break' | 'freeze'): Promise<void> => {
  for (const direction of ['request', 'reply'] as const)
    for (let n = 1; n <= MAX_MESSAGES && !isOver(); n++) {
      const runId = `${direction}-${n}`
      const { storage, cut, cuts, heal } = await cutting()
      const claim = await storage.begin(runId, [1])
      await cut(direction, n, how)
      const saved = await claim.saving([1, 2])()
      const wasCut = (await cuts()) > 0
      assert.ok(wasCut || n > 1, 'a save over a connection that is cut: found no cut; check `cut` of the spec')
      await heal()
      await assertNextClaimContinues(reopen, runId, saved, E.isRight(saved) ? [1, 2] : undefined)
      if (!wasCut) break
    }
}
