/** What is an artifact id, and which are different. */
import { strict as assert } from 'node:assert'
import { left, right } from '../fixtures.js'
import type { ArtifactCase } from './ArtifactCase.js'
import { artifactCase } from './ArtifactCase.js'
import { assertGets, assertLists, assertNone, putAll } from './contents.js'

// prettier-ignore
const INVALID = [
  '', '/', '/x', '//', 'x/', 'a//b', '.', '..', '../x', './x', 'a/../b', 'a/../../b', 'a/./b', 'a/..', 'a\\b', '..\\x',
  'a\0b', 'a\nb', '\u0085', '\ud800', 'a'.repeat(513)
]

/** What differs in nothing that some file system, pattern or encoding could overlook. */
// prettier-ignore
const ALIKE = [
  'a', 'A', 'a/b', 'a/b/c', 'A/b', 'a_b', 'a-b', 'a.b', 'a b', 'ab', 'a%2fb', 'a_002fb', 'a:b', 'a*', 'a?', 'a.', 'a ', ' a',
  'é', 'e\u0301', 'É', 'ß', 'ss', '日本語/レポート', '😀', 'con', 'nul.txt', '~', '-rf', '$HOME', 'constructor', '__proto__',
  'a.tmp', 'a.lock', 'h-a', 'checkpoint.json'
]

/** What is an artifact id, and which are different. */
export const idCases: ReadonlyArray<ArtifactCase> = [
  artifactCase(
    'AS-ID-01',
    'what is no artifact id is refused by everything, told, and leaves no trace',
    async ({ store }) => {
      for (const id of INVALID) {
        const { id: told } = await left(store.put('a', id, 'x'), 'InvalidArtifactId')
        assert.equal(told, id)
        await left(store.get('a', id), 'InvalidArtifactId')
        await left(store.has('a', id), 'InvalidArtifactId')
        await left(store.remove('a', id), 'InvalidArtifactId')
      }
      await assertLists(store, 'a', [])
    }
  ),

  artifactCase('AS-ID-02', 'what is no run id is refused by everything, and told', async ({ store }) => {
    for (const runId of ['', '.', '..', '../a', 'a/b', 'A', 'a.', 'con', '_a', 'a'.repeat(129)]) {
      const { runId: told } = await left(store.put(runId, 'x', 'x'), 'InvalidRunId')
      assert.equal(told, runId)
      await left(store.get(runId, 'x'), 'InvalidRunId')
      await left(store.has(runId, 'x'), 'InvalidRunId')
      await left(store.remove(runId, 'x'), 'InvalidRunId')
      await left(store.list(runId), 'InvalidRunId')
      await left(store.clear(runId), 'InvalidRunId')
    }
  }),

  artifactCase(
    'AS-ID-03',
    'ids that differ in anything are apart, whatever they look like',
    async ({ store, reopen }) => {
      await putAll(
        store,
        'a',
        ALIKE.map((id) => [id, id])
      )
      const next = await reopen()
      for (const id of ALIKE) await assertGets(next, 'a', id, id)
      for (const [n, id] of ALIKE.entries()) {
        await right(next.remove('a', id))
        await assertNone(next, 'a', id)
        await assertLists(
          next,
          'a',
          [...ALIKE.slice(n + 1)].sort().map((one) => [one, one])
        )
      }
    }
  ),

  artifactCase('AS-ID-04', 'the longest ids are ids, and are apart in their last character', async ({ store }) => {
    const ids = ['x', 'y', 'é', '語'].map((end) => '語/'.repeat(255) + 'a' + end)
    for (const id of ids) await right(store.put('a', id, id))
    for (const id of ids) await assertGets(store, 'a', id, id)
    await assertLists(
      store,
      'a',
      [...ids].sort().map((id) => [id, id])
    )
  }),

  artifactCase('AS-ID-05', 'ids nest: one may be the beginning of another', async ({ store }) => {
    const ids = ['reports', 'reports/unit', 'reports/unit/1.txt', 'reports.txt']
    for (const id of [...ids].reverse()) await right(store.put('a', id, id))
    await right(store.remove('a', 'reports'))
    await assertNone(store, 'a', 'reports')
    for (const id of ids.slice(1)) await assertGets(store, 'a', id, id)
  })
]
