/** Cases about artifact ids. */
import { left, right } from '../fixtures.js'
import { law } from './ArtifactCase.js'
import { assertGets, assertLists, assertNone, named, putAll } from './contents.js'
import { assertSame } from '../difference.js'

// prettier-ignore
const INVALID = [
  '', '/', '/x', '//', 'x/', 'a//b', '.', '..', '../x', './x', 'a/../b', 'a/../../b', 'a/./b', 'a/..', 'a\\b', '..\\x',
  'a\0b', 'a\nb', '\u0085', '\ud800', 'a'.repeat(513)
]

/** Ids that some file system, pattern or encoding could confuse. */
// prettier-ignore
const ALIKE = [
  'a', 'A', 'a/b', 'a/b/c', 'A/b', 'a_b', 'a-b', 'a.b', 'a b', 'ab', 'a%2fb', 'a_002fb', 'a:b', 'a*', 'a?', 'a.', 'a ', ' a',
  'é', 'e\u0301', 'É', 'ß', 'ss', '日本語/レポート', '😀', 'con', 'nul.txt', '~', '-rf', '$HOME', 'constructor', '__proto__',
  'a.tmp', 'a.lock', 'h-a', 'checkpoint.json'
]

export const idCases = [
  law(
    'AS-ID-01',
    'every function refuses an invalid artifact id, reports it, and leaves no trace',
    async ({ store }) => {
      for (const id of INVALID) {
        const refused = await left(store.put('a', id, 'x'), 'InvalidArtifactId')
        assertSame(refused.id, id, 'the id in InvalidArtifactId')
        await left(store.get('a', id), 'InvalidArtifactId')
        await left(store.has('a', id), 'InvalidArtifactId')
        await left(store.remove('a', id), 'InvalidArtifactId')
      }
      await assertLists(store, 'a', {})
    }
  ),

  law('AS-ID-02', 'every function refuses an invalid run id and reports it', async ({ store }) => {
    for (const runId of ['', '.', '..', '../a', 'a/b', 'A', 'a.', 'con', '_a', 'a'.repeat(129)]) {
      const refused = await left(store.put(runId, 'x', 'x'), 'InvalidRunId')
      assertSame(refused.runId, runId, 'the run id in InvalidRunId')
      await left(store.get(runId, 'x'), 'InvalidRunId')
      await left(store.has(runId, 'x'), 'InvalidRunId')
      await left(store.remove(runId, 'x'), 'InvalidRunId')
      await left(store.list(runId), 'InvalidRunId')
      await left(store.clear(runId), 'InvalidRunId')
    }
  }),

  law('AS-ID-03', 'ids that differ in any character are separate, even look-alikes', async ({ store, reopen }) => {
    await putAll(store, 'a', named(ALIKE))
    const next = await reopen()
    for (const id of ALIKE) await assertGets(next, 'a', id, id)
    for (const [n, id] of ALIKE.entries()) {
      await right(next.remove('a', id))
      await assertNone(next, 'a', id)
      await assertLists(next, 'a', named(ALIKE.slice(n + 1)))
    }
  }),

  law('AS-ID-04', 'the longest ids work and are separate if their last characters differ', async ({ store }) => {
    const ids = ['x', 'y', 'é', '語'].map((end) => '語/'.repeat(255) + 'a' + end)
    await putAll(store, 'a', named(ids))
    for (const id of ids) await assertGets(store, 'a', id, id)
    await assertLists(store, 'a', named(ids))
  }),

  law('AS-ID-05', 'one id may be a prefix of another', async ({ store }) => {
    const ids = ['reports', 'reports/unit', 'reports/unit/1.txt', 'reports.txt']
    await putAll(store, 'a', named([...ids].reverse()))
    await right(store.remove('a', 'reports'))
    await assertNone(store, 'a', 'reports')
    for (const id of ids.slice(1)) await assertGets(store, 'a', id, id)
  })
]
