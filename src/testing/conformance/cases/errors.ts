/** Cases about errors below the store. */
import { strict as assert } from 'node:assert'
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import type { Json } from '../../../domain/data/Json.js'
import type { ReadFailed, StorageError, WriteFailed } from '../../../ports/CheckpointStorage.js'
import type { CaseContext } from '../Case.js'
import { lawsOf } from '../Case.js'
import { assertAtLeast, assertSame, inWords } from '../difference.js'
import type { Client } from '../fixtures.js'
import { assertCarries, assertHolds, left, OTHER, OWNER, some, upTo } from '../fixtures.js'

const faultLaw = lawsOf({ needs: ['faults'] })

const assertHasCode = ({ code }: ReadFailed | WriteFailed, expected: string): void =>
  assertSame(code, expected, 'the code of the error')

/** Asserts that a result is the injected failure, for calls that may read before they write. */
const assertFailed = (
  result: E.Either<StorageError, unknown>,
  code: string,
  what = 'a call while the storage below the store fails: expected ReadFailed or WriteFailed'
): void => {
  if (E.isRight(result)) assert.fail(`${what}, found success with ${inWords(result.right)}`)
  const { left } = result
  if (left._tag !== 'ReadFailed' && left._tag !== 'WriteFailed') assert.fail(`${what}, found ${inWords(left)}`)
  assertHasCode(left, code)
}

const CLAIM_WHILE_READS_FAIL =
  'a claim while reads fail: expected ReadFailed or WriteFailed (`fail` of the spec must fail a call that also reads)'

/** Numbers of writes that succeed before a save fails. */
const AFTER = [0, 1, 2, 3, 4]

/** `after`: the writes that succeed before the save fails; absent if it does not. `release`: what fails during the release. */
const FAILURES: ReadonlyArray<{ readonly after?: number; readonly release: 'read' | 'write' }> = [
  ...AFTER.map((after) => ({ after, release: 'write' as const })),
  { after: 0, release: 'read' },
  { release: 'write' }
]

export const errorCases = [
  faultLaw(
    'CS-ERROR-01',
    'a read error is reported as ReadFailed with its code, never as an empty or older result',
    async ({ storage, faulty }) => {
      await storage.seed('a', [1, 2, 3])
      const { storage: next, fail, heal } = await faulty()
      for (const code of ['EIO', 'EMFILE']) {
        fail('read', code)
        assertHasCode(await left(next.raw.load('a'), 'ReadFailed'), code)
        assertHasCode(await left(next.raw.history('a'), 'ReadFailed'), code)
        assertHasCode(await left(next.raw.loadRevision('a', 1), 'ReadFailed'), code)
        assertHasCode(await left(next.raw.list(), 'ReadFailed'), code)
        assertFailed(await next.raw.claim('a', OWNER)(), code, CLAIM_WHILE_READS_FAIL)
        heal()
        await next.assertLoads('a', [1, 2, 3])
      }
      await next.claim('a', OTHER)
    }
  ),

  faultLaw(
    'CS-ERROR-02',
    'a write error is reported as WriteFailed with its code, and earlier acknowledged saves survive',
    async ({ faulty, reopen }) => {
      const { storage, fail, heal } = await faulty()
      const claim = await storage.begin('a', [1])
      fail('write', 'ENOSPC')
      assertHasCode(await left(claim.saving([1, 2]), 'WriteFailed'), 'ENOSPC')
      heal()
      const found = await (await reopen()).stored('a', 'the run after a failed save')
      // The failed save may have reached the store.
      assertCarries(found, [1, 2].slice(0, found.revision + 1))
    }
  ),

  faultLaw(
    'CS-ERROR-03',
    'after a failed write, the run can be claimed again and continues from what is stored',
    async ({ faulty, reopen }) => {
      const { storage, fail, heal } = await faulty()
      const claim = await storage.begin('a', [1])
      fail('write', 'EIO')
      await left(claim.saving([1, 2]), 'WriteFailed')
      await claim.releasing()()
      heal()
      const next = await reopen()
      const again = await next.claim('a', OTHER)
      const found = some(again.stored, 'the run that a claim found after a failed save')
      const payloads = [1, 2].slice(0, found.revision + 1)
      assertCarries(found, payloads, 'the run that a claim found after a failed save')
      await again.save([...payloads, 'more'])
      await next.assertLoads('a', [...payloads, 'more'])
    }
  ),

  faultLaw(
    'CS-ERROR-04',
    'a claim or removal that cannot be written fails and changes nothing',
    async ({ storage, faulty }) => {
      await storage.seed('a', [1, 2])
      const { storage: next, fail, heal } = await faulty()
      fail('write', 'ENOSPC')
      assertFailed(await next.raw.claim('a', OWNER)(), 'ENOSPC')
      assertFailed(await next.raw.remove('a')(), 'ENOSPC')
      heal()
      await next.assertLoads('a', [1, 2])
    }
  ),

  faultLaw('CS-ERROR-05', 'whichever write fails, every acknowledged save is found afterwards', async (context) => {
    for (let goodSaves = 0; goodSaves < 8; goodSaves++) await assertSurvives(context, `run-${goodSaves}`, goodSaves)
  }),

  faultLaw(
    'CS-ERROR-06',
    'a run that cannot be read is not free: it is neither removed, claimed nor overwritten',
    async ({ faulty }) => {
      const { storage, fail, heal } = await faulty()
      const claim = await storage.begin('a', [1])
      fail('read', 'EIO')
      const removed = await storage.raw.remove('a')()
      assert.ok(E.isLeft(removed), 'a removal of a held run while reads fail: expected an error, found success')
      const granted = await storage.raw.claim('a', OTHER)()
      assert.ok(E.isLeft(granted), 'a claim of a held run while reads fail: expected an error, found success')
      const saved = await claim.saving([1, 2])()
      heal()
      const payloads = E.isRight(saved) ? [1, 2] : [1]
      const found = await storage.stored('a', 'the acknowledged run')
      // The failed save may have reached the store.
      assertCarries(found, found.revision === 1 ? [1, 2] : payloads)
    }
  ),

  faultLaw(
    'CS-ERROR-07',
    'after a failed save or a failed release, the same instance can claim the run again',
    async ({ faulty }) => {
      const { storage, fail, heal } = await faulty()
      let payloads: ReadonlyArray<Json> = []
      for (const [round, { after, release }] of FAILURES.entries()) {
        const claim = await storage.claim('a')
        payloads = [...payloads, `saved ${round}`]
        await claim.save(payloads)
        const late = [...payloads, `late ${round}`]
        if (after !== undefined) {
          fail('write', 'EIO', after)
          await claim.saving(late)()
        }
        fail(release, 'EIO')
        await claim.releasing()()
        heal()
        const again = await storage.claim('a')
        const found = some(again.stored, 'the acknowledged run')
        if (after !== undefined && found.revision === payloads.length) payloads = late
        assertHolds(found, payloads, 'the run that a claim after a failure found')
        payloads = [...payloads, `more ${round}`]
        await again.save(payloads)
        const zombie = await claim.saving([...payloads, 'zombie'])()
        assert.ok(E.isLeft(zombie), 'a save of a failed and superseded claim: expected an error, found success')
        await again.release()
        await storage.assertLoads('a', payloads)
      }
    }
  ),

  faultLaw(
    'CS-ERROR-08',
    'after a failed save, its instance neither loads nor builds on a revision that a new instance lacks',
    async (context) => {
      for (const after of AFTER) {
        await assertSeesStored(context, `looked-at-${after}`, { after, saves: false })
        await assertSeesStored(context, `saved-to-${after}`, { after, saves: true })
      }
    }
  ),

  faultLaw(
    'CS-ERROR-09',
    'a save of several revisions that fails midway is stored completely or not at all',
    async ({ faulty, reopen }) => {
      for (const after of AFTER) {
        const runId = `run-${after}`
        const { storage, fail, heal } = await faulty()
        const claim = await storage.begin(runId, [1])
        fail('write', 'EIO', after)
        const saved = await claim.saving([1, 2, 3, 4], 3)()
        heal()
        const { revision } = await (await reopen()).stored(runId, 'the acknowledged run')
        const allowed = E.isRight(saved) ? [3] : [0, 3]
        assert.ok(
          allowed.includes(revision),
          `the newest revision after a failed save of 1 to 3: expected ${allowed.join(' or ')}, found ${revision}`
        )
      }
    }
  ),

  faultLaw(
    'CS-ERROR-10',
    'a failed save reported as not committed is never found; for any other failed save, the next claim settles whether it is stored',
    async (context) => {
      for (const code of ['EIO', 'ENOSPC'])
        for (const after of AFTER)
          await assertNextClaimSettles(context, `run-${code.toLowerCase()}-${after}`, code, after)
    }
  )
]

const assertNextClaimSettles = async (
  { faulty, reopen }: CaseContext,
  runId: string,
  code: string,
  after: number
): Promise<void> => {
  const { storage, fail, heal } = await faulty()
  const claim = await storage.begin(runId, [1])
  fail('write', code, after)
  const saved = await claim.saving([1, 2])()
  if (E.isLeft(saved)) assertFailed(saved, code)
  heal()
  const isNotCommitted = E.isLeft(saved) && saved.left._tag === 'WriteFailed' && saved.left.committed === 'no'
  const found: Array<number> = []
  const look = async (one: Client): Promise<void> => {
    const { revision } = await one.stored(runId, 'what was acknowledged')
    const what = `the summary of revision ${revision}, which was loaded,`
    await one.assertSummary(runId, [1, 2].slice(0, revision + 1), what)
    found.push(revision)
  }
  await look(storage)
  const next = await reopen()
  await look(next)
  const again = await next.claim(runId, OTHER)
  const settled = some(again.stored, 'what was acknowledged').revision
  if (E.isRight(saved)) assertSame(settled, 1, 'the revision that a claim found after a successful save')
  for (const revision of [...found, settled])
    assert.ok(!isNotCommitted || revision === 0, 'a save was found although its error said that it was not committed')
  await claim.releasing()()
  const afterwards = (await (await reopen()).stored(runId, 'what was acknowledged')).revision
  assertSame(afterwards, settled, 'the newest revision in a new instance, compared with what a claim found before')
}

/**
 * Asserts that an instance whose save failed sees no revision that a new one lacks. `saves`: it then saves the next revision, which is accepted
 * only if the failed one is stored.
 */
const assertSeesStored = async (
  { faulty, reopen }: CaseContext,
  runId: string,
  { after, saves }: { readonly after: number; readonly saves: boolean }
): Promise<void> => {
  const { storage, fail, heal } = await faulty()
  const claim = await storage.begin(runId, [1])
  fail('write', 'EIO', after)
  const failed = await claim.saving([1, 2])()
  heal()
  if (E.isRight(failed)) return
  const seen = (await storage.stored(runId, 'the acknowledged run')).revision
  const inHistory = (await storage.kept(runId))[0] ?? 0
  const isSaved = saves && E.isRight(await claim.saving([1, 2, 3])())
  const next = await reopen()
  const found = await next.stored(runId, 'the acknowledged run')
  assertCarries(found, [1, 2, 3].slice(0, found.revision + 1))
  const what = 'the newest revision in a new instance'
  assertAtLeast(found.revision, seen, what, ', which was loaded before')
  assertAtLeast(found.revision, inHistory, what, ', which was in the history before')
  if (isSaved) assertSame(found.revision, 2, 'the newest revision after a successful save')
  const kept = await next.kept(runId)
  const gap = kept.find((revision, n) => n > 0 && revision + 1 !== kept[n - 1])
  if (gap !== undefined)
    assert.fail(`the history: expected no gap, found ${kept.join(', ')}; a save was accepted without the one before it`)
}

const assertSurvives = async ({ faulty, reopen }: CaseContext, runId: string, goodSaves: number): Promise<void> => {
  const { storage, fail, heal } = await faulty()
  const claim = await storage.claim(runId)
  let acknowledged = 0
  for (let n = 1; n <= goodSaves + 2; n++) {
    if (n > goodSaves) fail('write', 'EIO')
    const result = await claim.saving(upTo(n))()
    if (E.isRight(result)) acknowledged = n
    else break
  }
  heal()
  const found = await (await reopen()).load(runId)
  const stored = O.isSome(found) ? found.value.revision + 1 : 0
  assertAtLeast(stored, acknowledged, 'the run in a new instance', ' acknowledged revisions')
  if (O.isSome(found)) assertCarries(found.value, upTo(stored))
}
