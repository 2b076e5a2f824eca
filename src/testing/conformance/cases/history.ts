/** Cases about history. */
import { strict as assert } from 'node:assert'
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import type { CheckpointStorage } from '../../../ports/CheckpointStorage.js'
import type { ConformanceCase } from '../Case.js'
import { conformanceCase } from '../Case.js'
import type { Faulty } from '../Spec.js'
import { assertSame } from '../difference.js'
import { assertHolds, AT, begun, claimed, OTHER, revisions, right, seed, some, upTo } from '../fixtures.js'

export const historyCases: ReadonlyArray<ConformanceCase> = [
  conformanceCase(
    'CS-HIST-01',
    'the history is newest first and without gaps, and reports each change and its time',
    async ({ storage, reopen }) => {
      await seed(storage, 'a', [1, 2, 3])
      for (const one of [storage, await reopen()]) {
        const history = await right(one.history('a'))
        const expected = [2, 1, 0].map((revision) => ({ revision, change: 'UnitCompleted', at: AT }))
        assert.ok(
          history.length > 0,
          'the history of a run with three revisions: expected at least one entry, found none'
        )
        assertSame(history, expected.slice(0, history.length), 'the history')
      }
    }
  ),

  conformanceCase('CS-HIST-02', 'exactly the revisions of the history can be loaded, each unchanged', ({ storage }) =>
    assertHistoryLoads(storage, 500)
  ),

  conformanceCase(
    'CS-HIST-03',
    'at least ten revisions before the newest can be loaded',
    async ({ storage, reopen }) => {
      const payloads = upTo(30)
      await seed(storage, 'a', payloads)
      const next = await reopen()
      const kept = (await right(next.history('a'))).map(({ revision }) => revision)
      assert.ok(
        kept.length > 10,
        `the history of a run with 30 revisions: expected more than 10 entries, found ${kept.length}`
      )
      for (const revision of kept.slice(0, 11)) {
        const stored = some(await right(next.loadRevision('a', revision)), `revision ${revision}`)
        assertHolds(stored, payloads.slice(0, revision + 1), `revision ${revision}`)
      }
    },
    { needs: ['history'] }
  ),

  conformanceCase(
    'CS-HIST-04',
    'the history spans a change of owners',
    async ({ storage, reopen }) => {
      await seed(storage, 'a', [0, 1, 2])
      const next = await reopen()
      await begun(next, 'a', [0, 1, 2, 3], OTHER)
      const kept = (await right(next.history('a'))).map(({ revision }) => revision)
      assertSame(kept, [3, 2, 1, 0], 'the revisions of the history')
      assertHolds(some(await right(next.loadRevision('a', 1)), 'revision 1'), [0, 1])
    },
    { needs: ['history'] }
  ),

  conformanceCase(
    'CS-HIST-05',
    'each large revision of the history can be loaded unchanged',
    ({ storage }) => assertHistoryLoads(storage, 200_000),
    { needs: ['large'], level: 'stress' }
  ),

  conformanceCase(
    'CS-HIST-06',
    'after saves of several revisions, each revision of the history can be loaded unchanged, newest first',
    async ({ storage, reopen }) => {
      const payloads = upTo(12)
      const claim = await claimed(storage, 'a')
      for (const [end, count] of [
        [1, 1],
        [4, 3],
        [6, 2],
        [12, 6]
      ] as const)
        await right(storage.save(claim, revisions(payloads.slice(0, end), count)))
      for (const one of [storage, await reopen()]) {
        const kept = (await right(one.history('a'))).map(({ revision }) => revision)
        assertSame(kept[0], 11, 'the newest revision of the history')
        assertSame(
          kept,
          [...new Set(kept)].sort((a, b) => b - a),
          'the revisions of the history'
        )
        for (const revision of payloads) {
          const stored = await right(one.loadRevision('a', revision))
          const what = `revision ${revision}`
          if (kept.includes(revision)) assertHolds(some(stored, what), payloads.slice(0, revision + 1), what)
          else assertSame(stored, O.none, `${what}, which is not in the history`)
        }
      }
    }
  ),

  conformanceCase(
    'CS-HIST-07',
    'whichever write fails, also during pruning, every revision of the history can be loaded',
    async ({ faulty, reopen }) => {
      for (let good = 0; good < 6; good++) await assertHistorySurvives(await faulty(), reopen, `run-${good}`, good)
    },
    { needs: ['faults', 'history'] }
  ),

  conformanceCase('CS-HIST-08', 'the history reports the exact time of each change', async ({ storage, reopen }) => {
    const seconds = '2026-01-02T03:04:05'
    const times = ['Z', '.6Z', '.000Z', '.670Z', '.600Z', '.678901Z'].map((rest) => `${seconds}${rest}`)
    const claim = await claimed(storage, 'a')
    for (const [n, at] of times.entries()) {
      const [revision] = revisions(upTo(n + 1))
      await right(storage.save(claim, [{ ...revision, change: { ...revision.change, at } }]))
      assertSame((await right(storage.history('a')))[0]?.at, at, `the time of revision ${n}`)
    }
    for (const { revision, at } of await right((await reopen()).history('a')))
      assertSame(at, times[revision], `the time of revision ${revision} in a new instance`)
  })
]

const assertHistoryLoads = async (storage: CheckpointStorage, chars: number): Promise<void> => {
  const payloads = Array.from({ length: 40 }, (_, n) => (n % 4 === 0 ? 'x'.repeat(chars) : n))
  await seed(storage, 'a', payloads)
  const history = await right(storage.history('a'))
  assertSame(history[0]?.revision, 39, 'the newest revision of the history')
  for (const { revision } of history) {
    const stored = some(await right(storage.loadRevision('a', revision)), `revision ${revision}`)
    assertHolds(stored, payloads.slice(0, revision + 1), `revision ${revision}`)
  }
  for (const revision of [-1, 40, 1.5, Number.NaN, Number.POSITIVE_INFINITY]) {
    assertSame(
      await right(storage.loadRevision('a', revision)),
      O.none,
      `revision ${revision}, which is not in the history`
    )
  }
}

/** Owners save in turn until pruning is due; then writes of one of them fail. */
const assertHistorySurvives = async (
  { storage, fail, heal }: Faulty,
  reopen: () => Promise<CheckpointStorage>,
  runId: string,
  good: number
): Promise<void> => {
  const saved = 12 + good
  for (let n = 1; n <= saved; n++) {
    const claim = await claimed(storage, runId)
    if (n === saved) fail('write', 'ENOSPC')
    const result = await storage.save(claim, revisions(upTo(n)))()
    assertSame(E.isRight(result), n < saved, `whether save ${n} succeeds while writes fail from save ${saved} on`)
    await storage.release(claim)()
  }
  heal()
  const next = await reopen()
  const history = await right(next.history(runId))
  const newest = history[0]?.revision ?? -1
  assert.ok(
    newest >= saved - 2,
    `the newest revision of the history: expected at least ${saved - 2}, which was acknowledged, found ${newest}`
  )
  for (const { revision } of history) {
    assertHolds(some(await right(next.loadRevision(runId, revision)), `revision ${revision}`), upTo(revision + 1))
  }
}
