/** Cases about listing. */
import { strict as assert } from 'node:assert'
import { law, stressLaw } from '../Case.js'
import { assertSame } from '../difference.js'
import { OTHER } from '../fixtures.js'

export const listingCases = [
  law(
    'CS-LIST-01',
    'the listing has the ids of all runs with a checkpoint, in order, whoever holds them',
    async ({ storage, reopen }) => {
      for (const runId of ['b', 'c', 'a']) await storage.seed(runId, [runId])
      await storage.claim('c')
      await storage.assertLists(['a', 'b', 'c'])
      await (await reopen()).assertLists(['a', 'b', 'c'])
    }
  ),

  law(
    'CS-LIST-02',
    'a run that was claimed and never saved may be listed and does not disturb the listing',
    async ({ storage }) => {
      await storage.claim('b')
      await storage.seed('a', [1])
      const ids = await storage.listIds()
      assertSame(
        ids.filter((runId) => runId !== 'b'),
        ['a'],
        'the listing without the run that was only claimed'
      )
    }
  ),

  stressLaw(
    'CS-LIST-03',
    'more than a thousand runs are all listed, and each is complete',
    async ({ storage, reopen }) => {
      const ids = Array.from({ length: 1_050 }, (_, n) => `run-${String(n).padStart(4, '0')}`)
      for (let n = 0; n < ids.length; n += 50) {
        await Promise.all(ids.slice(n, n + 50).map((runId) => storage.seed(runId, [runId])))
      }
      const next = await reopen()
      await next.assertLists(ids)
      for (const runId of ids.filter((_, n) => n % 50 === 0)) await next.assertLoads(runId, [runId])
    }
  ),

  law(
    'CS-LIST-04',
    'a page has at most `limit` ids, the next ones after `after` in byte order, whether or not a run has that id',
    async ({ storage, reopen }) => {
      const ids = ['a', 'a-b', 'a-b-c', 'a.b', 'a1', 'a_b', 'ab', 'b', 'b-1', 'b0', 'ba']
      for (const runId of [...ids].reverse()) await storage.seed(runId, [runId])
      for (const one of [storage, await reopen()]) {
        for (const limit of [1, 2, 3, 100, Infinity]) {
          const seen: Array<string> = []
          for (let page = await one.listIds({ limit }); page.length > 0 && seen.length < 50;) {
            assert.ok(
              page.length <= limit,
              `a page with limit ${limit}: expected at most ${limit} runs, found ${page.length}`
            )
            seen.push(...page)
            page = await one.listIds({ after: page.at(-1) ?? '', limit })
          }
          assertSame(seen, ids, `the listing in pages of ${limit}`)
        }
        for (const after of ['', '-', 'a-', 'a-b', 'a.', 'aZ', 'a_', 'ab0', 'b', 'b-1x', 'ba', 'c', 'Ä', '%']) {
          const expected = ids.filter((runId) => runId > after)
          assertSame(await one.listIds({ after }), expected, `the listing after ${JSON.stringify(after)}`)
          assertSame(
            await one.listIds({ after, limit: 2 }),
            expected.slice(0, 2),
            `the page of two after ${JSON.stringify(after)}`
          )
        }
      }
    }
  ),

  law(
    'CS-LIST-05',
    'a listed run has the unchanged summary of its newest revision and the same owner as in a load',
    async ({ storage, reopen }) => {
      const claim = await storage.begin('a', [1])
      await storage.assertSummary('a', [1], 'the summary after a save')
      await claim.save([1, 2, 3, 4], 3)
      await storage.assertSummary('a', [1, 2, 3, 4], 'the summary after a save of three revisions')
      const inProgress = 'the summary that a new instance lists of a run in progress'
      await (await reopen()).assertSummary('a', [1, 2, 3, 4], inProgress)
      const next = await reopen()
      await (await next.claim('a', OTHER)).release()
      await next.assertSummary('a', [1, 2, 3, 4], 'the summary after a claim without a save')
      const later = await next.claim('a', OTHER)
      await next.assertSummary('a', [1, 2, 3, 4], 'the summary of a claimed run')
      await later.save([1, 2, 3, 4, 5])
      await later.release()
      const last = await reopen()
      await last.assertSummary('a', [1, 2, 3, 4, 5], 'the summary of a released run')
      await last.remove('a')
      await last.seed('a', ['new'])
      for (const one of [last, await reopen()]) await one.assertSummary('a', ['new'], 'the summary of a reused id')
    }
  )
]
