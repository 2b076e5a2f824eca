/** Cases about revisions and atomic saves. */
import { strict as assert } from 'node:assert'
import * as E from 'fp-ts/lib/Either.js'
import type { ReadonlyNonEmptyArray } from 'fp-ts/lib/ReadonlyNonEmptyArray.js'
import type { Revision } from '../../../ports/CheckpointStorage.js'
import { law } from '../Case.js'
import { assertLoadsWhileSaving, atOnce, tally } from '../concurrency.js'
import { assertSame } from '../difference.js'
import { left, OTHER, revisions, upTo } from '../fixtures.js'

export const revisionCases = [
  law('CS-REV-01', 'a first save that does not start at revision 0 is refused', async ({ storage }) => {
    const claim = await storage.claim('a')
    const { runId, expected, found } = await left(claim.saving([1, 2]), 'RevisionConflict')
    assertSame({ runId, expected, found }, { runId: 'a', expected: 0, found: 1 }, 'the facts of RevisionConflict')
    await storage.assertLoads('a', [])
  }),

  law(
    'CS-REV-02',
    'a save that skips a revision is refused, and a later save of the right revision is accepted',
    async ({ storage }) => {
      const claim = await storage.begin('a', [1])
      const { expected, found } = await left(claim.saving([1, 2, 3]), 'RevisionConflict')
      assertSame({ expected, found }, { expected: 1, found: 2 }, 'the facts of RevisionConflict')
      await storage.assertLoads('a', [1])
      await claim.save([1, 2])
      await storage.assertLoads('a', [1, 2])
    }
  ),

  law('CS-REV-03', 'a save of an existing revision is refused', async ({ storage }) => {
    const claim = await storage.claim('a')
    await claim.save([1, 2], 2)
    const { expected, found } = await left(claim.saving([1, 9]), 'RevisionConflict')
    assertSame({ expected, found }, { expected: 2, found: 1 }, 'the facts of RevisionConflict')
    await storage.assertLoads('a', [1, 2])
  }),

  law('CS-REV-04', 'a save with a gap stores nothing', async ({ storage }) => {
    const claim = await storage.begin('a', [1])
    const [second, , fourth] = revisions([1, 2, 3, 4], 3)
    const gap = [second, fourth] as unknown as ReadonlyNonEmptyArray<Revision>
    await left(claim.savingRevisions(gap), 'RevisionConflict')
    await storage.assertLoads('a', [1])
    await storage.assertNewest('a', 0)
  }),

  law('CS-REV-05', 'exactly one of ten concurrent saves of one revision is stored', async ({ storage }) => {
    const claim = await storage.begin('a', [0])
    const rivals = Array.from({ length: 10 }, (_, rival) => claim.saving([0, `rival ${rival}`]))
    const results = await atOnce(rivals)
    assertSame(
      tally(results),
      { success: 1, RevisionConflict: 9 },
      'the results of ten concurrent saves of one revision'
    )
    await storage.assertLoads('a', [0, `rival ${results.findIndex(E.isRight)}`])
  }),

  law('CS-REV-06', 'the next owner continues at the next revision and at no other', async ({ storage, reopen }) => {
    await storage.seed('a', [1, 2, 3])
    const next = await reopen()
    const claim = await next.claim('a', OTHER)
    for (const wrong of [[9], [1, 2, 9], [1, 2, 3, 4, 9]]) {
      const { expected } = await left(claim.saving(wrong), 'RevisionConflict')
      assertSame(expected, 3, '`expected` of RevisionConflict')
    }
    await claim.save([1, 2, 3, 4])
    await next.assertLoads('a', [1, 2, 3, 4])
  }),

  law('CS-ATOM-01', 'a save of several revisions stores each of them', async ({ storage, reopen }) => {
    const claim = await storage.claim('a')
    await claim.save([1, 2, 3], 3)
    await claim.save([1, 2, 3, 4, 5], 2)
    await storage.assertLoads('a', [1, 2, 3, 4, 5])
    await (await reopen()).assertLoads('a', [1, 2, 3, 4, 5])
  }),

  law(
    'CS-ATOM-02',
    'while revisions are saved three at a time, a load returns only whole saves, and at least the newest acknowledged one',
    (context) =>
      assertLoadsWhileSaving(context, [context.storage, context.storage, context.storage], { count: 120, atATime: 3 })
  ),

  law(
    'CS-ATOM-03',
    'concurrent saves are refused or stored completely, in the order of their revisions',
    async ({ storage }) => {
      const claim = await storage.claim('a')
      const results = await atOnce(Array.from({ length: 30 }, (_, n) => claim.saving(upTo(n + 1))))
      const stored = results.filter(E.isRight).length
      for (const [n, result] of results.entries()) {
        if (E.isLeft(result)) assertSame(result.left._tag, 'RevisionConflict', `the error of save ${n}`)
      }
      assert.ok(stored >= 1, 'concurrent saves: expected at least one stored, found none')
      await storage.assertLoads('a', upTo(stored))
    }
  ),

  law('CS-ATOM-04', 'a save of five hundred revisions is stored completely', async ({ storage, reopen }) => {
    const claim = await storage.claim('a')
    await claim.save(upTo(500), 500)
    await claim.save(upTo(501))
    await (await reopen()).assertLoads('a', upTo(501))
  })
]
