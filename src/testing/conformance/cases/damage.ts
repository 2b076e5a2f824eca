/** Cases about damaged content and newer formats. */
import { strict as assert } from 'node:assert'
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import type { Corrupt, StorageError, Stored } from '../../../ports/CheckpointStorage.js'
import { lawsOf } from '../Case.js'
import { assertAtLeast, assertSame } from '../difference.js'
import type { Client, ClientClaim } from '../fixtures.js'
import { assertCarries, left, OTHER, OWNER, summary } from '../fixtures.js'

const PAYLOADS = ['first', 'second', 'third']

/** Asserts that a read of the damaged run fails with `Corrupt`, or returns an older revision marked as recovered. */
const assertIsDetected = (result: E.Either<StorageError, O.Option<Stored>>): void => {
  if (E.isLeft(result)) {
    const { _tag, runId } = result.left as Corrupt
    return assertSame({ _tag, runId }, { _tag: 'Corrupt', runId: 'a' }, 'the error of reading a damaged run')
  }
  assert.ok(
    O.isSome(result.right),
    'a damaged run: expected Corrupt or a recovered revision, found none; a missing run and an unreadable one must differ'
  )
  const stored = result.right.value
  assertSame(stored.found._tag, 'Recovered', '`found` of a damaged run')
  assertCarries(stored, PAYLOADS.slice(0, stored.revision + 1))
}

/** What a claim found stored. */
const foundBy = E.map(({ stored }: ClientClaim) => stored)

const damageLaw = lawsOf({ needs: ['damage'] })
const formatLaw = lawsOf({ needs: ['formats'] })

export const damageCases = [
  damageLaw(
    'CS-DAMAGE-01',
    'a load of damaged content returns an error, or an older revision marked as recovered',
    async ({ storage, reopen, damage }) => {
      await storage.seed('a', PAYLOADS)
      await damage('a')
      assertIsDetected(await (await reopen()).raw.load('a')())
    }
  ),

  damageLaw(
    'CS-DAMAGE-02',
    'a claim of a damaged run finds the same as a load',
    async ({ storage, reopen, damage }) => {
      await storage.seed('a', PAYLOADS)
      await damage('a')
      const next = await reopen()
      const loaded = await next.raw.load('a')()
      const granted = await next.claiming('a')()
      assertIsDetected(foundBy(granted))
      assertSame(granted._tag, loaded._tag, 'the result of a claim of a damaged run, compared with a load')
      if (E.isRight(granted) && E.isRight(loaded)) {
        const withoutHolder = O.map(({ heldBy: _, ...rest }: Stored) => rest)
        assertSame(
          withoutHolder(granted.right.stored),
          withoutHolder(loaded.right),
          'the run that a claim found, compared with a load'
        )
      }
    }
  ),

  damageLaw(
    'CS-DAMAGE-03',
    'a damaged run affects neither the listing nor any other run',
    async ({ storage, reopen, damage }) => {
      for (const runId of ['a', 'b', 'c']) await storage.seed(runId, PAYLOADS)
      await damage('b')
      const next = await reopen()
      await next.assertLists(['a', 'b', 'c'])
      for (const runId of ['a', 'c']) await next.assertLoads(runId, PAYLOADS)
      await next.claim('c', OTHER)
    }
  ),

  damageLaw('CS-DAMAGE-04', 'reading a damaged run changes nothing', async ({ storage, reopen, damage, digest }) => {
    await storage.seed('a', PAYLOADS)
    const whole = await digest('a')
    await damage('a')
    const before = await digest('a')
    assert.notEqual(
      before,
      whole,
      'the digest after `damage`: expected another one, found the same; check `damage` and `digest` of the spec'
    )
    const next = await reopen()
    await next.raw.load('a')()
    await next.raw.history('a')()
    await next.raw.loadRevision('a', 0)()
    await next.raw.list()()
    assertSame(await digest('a'), before, 'the digest after reading')
  }),

  damageLaw(
    'CS-DAMAGE-05',
    'after a recovery, new saves are loaded as saved, and no damaged content reappears',
    async ({ storage, reopen, damage }) => {
      await storage.seed('a', PAYLOADS)
      await damage('a')
      const next = await reopen()
      const granted = await next.claiming('a')()
      assertIsDetected(foundBy(granted))
      if (E.isLeft(granted) || O.isNone(granted.right.stored)) return
      const claim = granted.right
      const payloads = [...PAYLOADS.slice(0, granted.right.stored.value.revision + 1), 'after', 'the recovery']
      await claim.save(payloads, 2)
      await next.assertLoads('a', payloads)
      await claim.release()
      const last = await reopen()
      await last.assertLoads('a', payloads, 'the run after a recovery, loaded by a new instance')
      await last.assertNewest('a', payloads.length - 1)
    }
  ),

  damageLaw(
    'CS-DAMAGE-06',
    'a damaged run can be removed, and its id can start a new run',
    async ({ storage, reopen, damage }) => {
      for (const runId of ['a', 'b']) await storage.seed(runId, PAYLOADS)
      await damage('a')
      const next = await reopen()
      await next.remove('a')
      await next.assertLoads('a', [])
      await next.assertLists(['b'])
      await next.seed('a', ['new'])
      await (await reopen()).assertLoads('a', ['new'])
    }
  ),

  damageLaw(
    'CS-DAMAGE-07',
    'a damaged run held by a live owner is not removed',
    async ({ storage, damage, digest }) => {
      await storage.seed('a', PAYLOADS)
      await storage.claim('a')
      await damage('a')
      const before = await digest('a')
      const removed = await storage.raw.remove('a')()
      assert.ok(E.isLeft(removed), 'the removal of a damaged run with a live owner: expected an error, found success')
      assertSame(await digest('a'), before, 'the digest after a refused removal')
    }
  ),

  damageLaw(
    'CS-DAMAGE-10',
    'a page of the listing includes damaged runs, each with the summary of its newest revision or none',
    async ({ storage, reopen, damage }) => {
      for (const runId of ['a', 'b', 'c']) await storage.seed(runId, PAYLOADS)
      await damage('b')
      const next = await reopen()
      assertSame(await next.listIds({ limit: 2 }), ['a', 'b'], 'the first page')
      assertSame(await next.listIds({ after: 'a', limit: 2 }), ['b', 'c'], 'the second page')
      for (const { runId, summary: found } of await next.list()) {
        if (found === undefined) continue
        const { heldBy: _, ...facts } = found
        assertSame(facts, summary(PAYLOADS), `the summary of ${runId}`)
      }
    }
  ),

  damageLaw(
    'CS-DAMAGE-08',
    'the store detects content that belongs to another run',
    async ({ storage, reopen, swap, digest }) => {
      for (const [revision] of PAYLOADS.entries()) {
        const [one, other] = [`one-${revision}`, `other-${revision}`]
        for (const runId of [one, other]) await seedInTurn(storage, runId)
        const before = await digest(one)
        await swap({ runId: one, revision }, { runId: other, revision })
        assert.notEqual(
          await digest(one),
          before,
          `the digest after \`swap\` of revision ${revision}: expected another one, found the same; check \`swap\` and \`digest\` of the spec`
        )
        const next = await reopen()
        for (const runId of [one, other]) await assertIsTrueOrDetected(next, runId)
      }
    }
  ),

  damageLaw(
    'CS-DAMAGE-09',
    'the store detects content that belongs to another revision',
    async ({ storage, reopen, swap }) => {
      for (const [first, second] of [
        [0, 1],
        [1, 2],
        [0, 2]
      ] as const) {
        const runId = `run-${first}-${second}`
        await seedInTurn(storage, runId)
        await swap({ runId, revision: first }, { runId, revision: second })
        await assertIsTrueOrDetected(await reopen(), runId)
      }
    }
  ),

  formatLaw(
    'CS-FORMAT-01',
    'content of a newer format is refused, and nothing older is used instead',
    async ({ storage, reopen, newer }) => {
      await storage.seed('a', PAYLOADS)
      await newer('a')
      await assertIsRefused(await reopen())
    }
  ),

  formatLaw('CS-FORMAT-02', 'content of a newer format stays unchanged', async ({ storage, reopen, newer, digest }) => {
    await storage.seed('a', PAYLOADS)
    await newer('a')
    const before = await digest('a')
    const next = await reopen()
    await assertIsRefused(next)
    await next.raw.history('a')()
    await next.raw.loadRevision('a', 0)()
    await next.raw.list()()
    assertSame(await digest('a'), before, 'the digest after reading')
  }),

  formatLaw(
    'CS-FORMAT-03',
    'a run of a newer format affects neither the listing nor any other run',
    async ({ storage, reopen, newer }) => {
      for (const runId of ['a', 'b']) await storage.seed(runId, PAYLOADS)
      await newer('a')
      const next = await reopen()
      await next.assertLists(['a', 'b'])
      await next.assertLoads('b', PAYLOADS)
    }
  )
]

const payloadsOf = (runId: string): ReadonlyArray<string> => PAYLOADS.map((payload) => `${payload} of ${runId}`)

/** Saves each revision under its own claim, so that a store with one file per claim has several. */
const seedInTurn = async (storage: Client, runId: string): Promise<void> => {
  for (const [n] of PAYLOADS.entries()) {
    const claim = await storage.begin(runId, payloadsOf(runId).slice(0, n + 1))
    await claim.release()
  }
}

/** Asserts that each load returns what was saved, possibly an older revision, or fails with `Corrupt`; none returns other content. */
const assertIsTrueOrDetected = async (storage: Client, runId: string): Promise<void> => {
  const payloads = payloadsOf(runId)
  const assertIsTrue = (
    result: E.Either<StorageError, O.Option<Stored>>,
    what: string,
    expectedOf: (stored: Stored) => number
  ): void => {
    if (E.isLeft(result)) return assertSame(result.left._tag, 'Corrupt', `the error of ${what}`)
    if (O.isNone(result.right)) return
    const stored = result.right.value
    assertSame(stored.revision, expectedOf(stored), `the revision of ${what}`)
    assertCarries(stored, payloads.slice(0, stored.revision + 1), what)
  }
  const loaded = await storage.raw.load(runId)()
  assert.ok(
    E.isLeft(loaded) || O.isSome(loaded.right),
    `the run ${runId} with exchanged content: expected Corrupt or a run, found none`
  )
  assertIsTrue(loaded, `a load of ${runId}`, ({ found, revision }) =>
    found._tag === 'Exact' ? payloads.length - 1 : revision
  )
  for (const revision of payloads.keys())
    assertIsTrue(await storage.raw.loadRevision(runId, revision)(), `revision ${revision} of ${runId}`, () => revision)
}

const assertIsRefused = async (storage: Client): Promise<void> => {
  for (const task of [storage.raw.load('a'), storage.raw.claim('a', OWNER)]) {
    const { found, supported } = await left<StorageError, 'UnsupportedFormat'>(task, 'UnsupportedFormat')
    assertAtLeast(found, supported + 1, '`found` of UnsupportedFormat', ', above `supported`')
  }
}
