/** Cases about history. */
import * as E from 'fp-ts/lib/Either.js'
import type { CaseContext } from '../Case.js'
import { law, lawsOf } from '../Case.js'
import { assertAtLeast, assertSame } from '../difference.js'
import type { Client } from '../fixtures.js'
import { AT, OTHER, upTo } from '../fixtures.js'

const historyLaw = lawsOf({ needs: ['history'] })

export const historyCases = [
  law(
    'CS-HIST-01',
    'the history is newest first and without gaps, and reports each change and its time',
    async ({ storage, reopen }) => {
      await storage.seed('a', [1, 2, 3])
      for (const one of [storage, await reopen()]) {
        const history = await one.history('a')
        const expected = [2, 1, 0].map((revision) => ({ revision, change: 'UnitCompleted', at: AT }))
        assertAtLeast(history.length, 1, 'the history of a run with three revisions', ' entry')
        assertSame(history, expected.slice(0, history.length), 'the history')
      }
    }
  ),

  law('CS-HIST-02', 'exactly the revisions of the history can be loaded, each unchanged', ({ storage }) =>
    assertHistoryLoads(storage, 500)
  ),

  historyLaw('CS-HIST-03', 'at least ten revisions before the newest can be loaded', async ({ storage, reopen }) => {
    const payloads = upTo(30)
    await storage.seed('a', payloads)
    const next = await reopen()
    const kept = await next.kept('a')
    assertAtLeast(kept.length, 11, 'the history of a run with 30 revisions', ' entries')
    for (const revision of kept.slice(0, 11)) {
      await next.assertLoadsRevision('a', revision, payloads.slice(0, revision + 1))
    }
  }),

  historyLaw('CS-HIST-04', 'the history spans a change of owners', async ({ storage, reopen }) => {
    await storage.seed('a', [0, 1, 2])
    const next = await reopen()
    await next.begin('a', [0, 1, 2, 3], OTHER)
    const kept = await next.kept('a')
    assertSame(kept, [3, 2, 1, 0], 'the revisions of the history')
    await next.assertLoadsRevision('a', 1, [0, 1])
  }),

  lawsOf({ needs: ['large'], level: 'stress' })(
    'CS-HIST-05',
    'each large revision of the history can be loaded unchanged',
    ({ storage }) => assertHistoryLoads(storage, 200_000)
  ),

  law(
    'CS-HIST-06',
    'after saves of several revisions, each revision of the history can be loaded unchanged, newest first',
    async ({ storage, reopen }) => {
      const payloads = upTo(12)
      const claim = await storage.claim('a')
      for (const [end, count] of [
        [1, 1],
        [4, 3],
        [6, 2],
        [12, 6]
      ] as const)
        await claim.save(payloads.slice(0, end), count)
      for (const one of [storage, await reopen()]) {
        const kept = await one.kept('a')
        assertSame(kept[0], 11, 'the newest revision of the history')
        assertSame(
          kept,
          [...new Set(kept)].sort((a, b) => b - a),
          'the revisions of the history'
        )
        for (const revision of payloads) {
          if (kept.includes(revision)) await one.assertLoadsRevision('a', revision, payloads.slice(0, revision + 1))
          else await assertIsNotKept(one, revision)
        }
      }
    }
  ),

  lawsOf({ needs: ['faults', 'history'] })(
    'CS-HIST-07',
    'whichever write fails, also during pruning, every revision of the history can be loaded',
    async (context) => {
      for (let failing = 12; failing < 18; failing++) await assertHistorySurvives(context, `run-${failing}`, failing)
    }
  ),

  law('CS-HIST-08', 'the history reports the exact time of each change', async ({ storage, reopen }) => {
    const seconds = '2026-01-02T03:04:05'
    const times = ['Z', '.6Z', '.000Z', '.670Z', '.600Z', '.678901Z'].map((rest) => `${seconds}${rest}`)
    const claim = await storage.claim('a')
    for (const [n, at] of times.entries()) {
      await claim.saveAt(at, upTo(n + 1))
      assertSame((await storage.history('a'))[0]?.at, at, `the time of revision ${n}`)
    }
    for (const { revision, at } of await (await reopen()).history('a'))
      assertSame(at, times[revision], `the time of revision ${revision} in a new instance`)
  })
]

const assertHistoryLoads = async (storage: Client, chars: number): Promise<void> => {
  const payloads = Array.from({ length: 40 }, (_, n) => (n % 4 === 0 ? 'x'.repeat(chars) : n))
  await storage.seed('a', payloads)
  const history = await storage.history('a')
  assertSame(history[0]?.revision, 39, 'the newest revision of the history')
  for (const { revision } of history) {
    await storage.assertLoadsRevision('a', revision, payloads.slice(0, revision + 1))
  }
  for (const revision of [-1, 40, 1.5, Number.NaN, Number.POSITIVE_INFINITY]) await assertIsNotKept(storage, revision)
}

const assertIsNotKept = (storage: Client, revision: number): Promise<void> =>
  storage.assertLoadsRevision('a', revision, [], `revision ${revision}, which is not in the history`)

/** Owners save in turn. The writes of save number `failing` fail; by then pruning is due. */
const assertHistorySurvives = async (
  { faulty, reopen }: CaseContext,
  runId: string,
  failing: number
): Promise<void> => {
  const { storage, fail, heal } = await faulty()
  for (let n = 1; n <= failing; n++) {
    const claim = await storage.claim(runId)
    if (n === failing) fail('write', 'ENOSPC')
    const result = await claim.saving(upTo(n))()
    assertSame(E.isRight(result), n < failing, `whether save ${n} succeeds while writes fail from save ${failing} on`)
    await claim.releasing()()
  }
  heal()
  const next = await reopen()
  const history = await next.history(runId)
  const newest = history[0]?.revision ?? -1
  assertAtLeast(newest, failing - 2, 'the newest revision of the history', ', which was acknowledged')
  for (const { revision } of history) await next.assertLoadsRevision(runId, revision, upTo(revision + 1))
}
