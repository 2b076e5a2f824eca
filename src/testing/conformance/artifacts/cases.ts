/** All cases for artifact stores. */
import { strict as assert } from 'node:assert'
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import type { ArtifactError, ArtifactInfo } from '../../../ports/ArtifactStore.js'
import { atOnce } from '../concurrency.js'
import { callOf } from '../checkedStore.js'
import { assertSame, inWords } from '../difference.js'
import { left, pause, right, upTo } from '../fixtures.js'
import type { ArtifactCase, ArtifactCaseContext } from './ArtifactCase.js'
import { law, lawsNeeding } from './ArtifactCase.js'
import { assertGets, assertLists, assertNone, BINARY, infoOf, named, putAll } from './contents.js'

const damageLaw = lawsNeeding('damage')

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

/**
 * All cases for artifact stores, in order.
 *
 * @example
 * import { artifactStoreCases } from 'dogear/testing'
 * import assert from 'node:assert/strict'
 *
 * const first = artifactStoreCases.find(({ id }) => id === 'AS-PUT-02')
 * assert.match(first?.title ?? '', /the complete content of one/)
 *
 * @category cases
 */
export const artifactStoreCases: ReadonlyArray<ArtifactCase> = [
  // --- reading what was put

  law(
    'AS-TRIP-01',
    'a get returns the bytes that were put, and the put returns their size and digest',
    async ({ store }) => {
      assertSame(await right(store.put('a', 'raw', BINARY)), infoOf('raw', BINARY), 'the info that put returned')
      await assertGets(store, 'a', 'raw', BINARY)
      assertSame(await right(store.has('a', 'raw')), true, 'has of the artifact')
    }
  ),

  law('AS-TRIP-02', 'a string is stored as its UTF-8 bytes', async ({ store }) => {
    const text = 'plain, é, 日本語, 😀, \0, \r\n, \ufeff'
    assertSame(await right(store.put('a', 'text', text)), infoOf('text', text), 'the info that put returned')
    await assertGets(store, 'a', 'text', text)
  }),

  law('AS-TRIP-03', 'an empty artifact exists', async ({ store }) => {
    await putAll(store, 'a', { none: '', empty: new Uint8Array() })
    await assertGets(store, 'a', 'none', '')
    await assertGets(store, 'a', 'empty', '')
    await assertLists(store, 'a', { empty: '', none: '' })
  }),

  law('AS-TRIP-04', 'content that resembles a header or a terminator is stored as content', async ({ store }) => {
    const contents = { json: '{"format":1}\n', lines: '\n\n', nul: '\0'.repeat(5_000) }
    await putAll(store, 'a', contents)
    for (const [id, content] of Object.entries(contents)) await assertGets(store, 'a', id, content)
  }),

  law('AS-TRIP-05', 'every store accepts an artifact of 100,000 bytes', async ({ store, reopen }) => {
    const content = Buffer.alloc(100_000, BINARY)
    await right(store.put('a', 'wide', content))
    await assertGets(await reopen(), 'a', 'wide', content)
  }),

  lawsNeeding('large')('AS-TRIP-06', 'a store accepts an artifact of 10 MB', async ({ store, reopen }) => {
    const content = Buffer.alloc(10_000_000, BINARY)
    await right(store.put('a', 'huge', content))
    await assertGets(await reopen(), 'a', 'huge', content)
  }),

  law('AS-TRIP-07', 'changing bytes after a put or a get does not affect the store', async ({ store }) => {
    const given = Uint8Array.from(BINARY)
    await right(store.put('a', 'raw', given))
    given.fill(0)
    const taken = await right(store.get('a', 'raw'))
    if (O.isSome(taken)) taken.value.fill(1)
    await assertGets(store, 'a', 'raw', BINARY)
  }),

  law('AS-TRIP-08', 'of a view of a larger buffer, only the bytes of the view are stored', async ({ store }) => {
    await right(store.put('a', 'part', BINARY.subarray(3, 7)))
    await assertGets(store, 'a', 'part', BINARY.slice(3, 7))
  }),

  law('AS-TRIP-09', 'creating a TaskEither without running it has no effect', async ({ store }) => {
    await right(store.put('a', 'kept', 'kept'))
    store.put('a', 'kept', 'lost')
    store.remove('a', 'kept')
    store.clear('a')
    await pause(20)
    await assertGets(store, 'a', 'kept', 'kept')
  }),

  // --- ids

  law(
    'AS-ID-01',
    'every function refuses an invalid artifact id, reports it, and leaves no trace',
    async ({ store }) => {
      for (const id of INVALID) {
        for (const call of [store.put('a', id, 'x'), store.get('a', id), store.has('a', id), store.remove('a', id)]) {
          const refused = await left<ArtifactError, 'InvalidArtifactId'>(call, 'InvalidArtifactId')
          assertSame(refused.id, id, `the id in InvalidArtifactId of ${callOf(call)}`)
        }
      }
      await assertLists(store, 'a', {})
    }
  ),

  law('AS-ID-02', 'every function refuses an invalid run id and reports it', async ({ store }) => {
    for (const runId of ['', '.', '..', '../a', 'a/b', 'A', 'a.', 'con', '_a', 'a'.repeat(129)]) {
      const ofArtifact = [
        store.put(runId, 'x', 'x'),
        store.get(runId, 'x'),
        store.has(runId, 'x'),
        store.remove(runId, 'x')
      ]
      for (const call of [...ofArtifact, store.list(runId), store.clear(runId)]) {
        const refused = await left<ArtifactError, 'InvalidRunId'>(call, 'InvalidRunId')
        assertSame(refused.runId, runId, `the run id in InvalidRunId of ${callOf(call)}`)
      }
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
  }),

  // --- replaced and missing artifacts

  law('AS-PUT-01', 'a second put replaces all of the first, even if it is shorter', async ({ store, reopen }) => {
    for (const content of ['a long first content', 'short', '', BINARY]) {
      await right(store.put('a', 'x', content))
      await assertGets(store, 'a', 'x', content)
      await assertGets(await reopen(), 'a', 'x', content)
      await assertLists(store, 'a', { x: content })
    }
  }),

  law('AS-PUT-02', 'concurrent puts of one id leave the complete content of one of them', async ({ store, reopen }) => {
    const other = await reopen()
    for (const round of upTo(5)) {
      const contents = upTo(8).map((n) => Buffer.alloc(20_000 + 1_000 * n, `${round}${n}`))
      const results = await atOnce(contents.map((content, n) => (n % 2 === 0 ? store : other).put('a', 'x', content)))
      for (const result of results)
        if (E.isLeft(result)) assert.fail(`a concurrent put: expected success, found ${inWords(result.left)}`)
      const found = await right(other.get('a', 'x'))
      assertIsOneOf(found, contents, 'the artifact after concurrent puts: expected one of the contents')
      assertSame((await right(store.list('a'))).length, 1, 'the number of artifacts')
    }
  }),

  law(
    'AS-PUT-03',
    'a read during a replacement returns the old or the new content',
    async ({ store, reopen, isOver }) => {
      const contents = upTo(2).map((n) => Buffer.alloc(200_000 - 50_000 * n, String(n)))
      const reader = await reopen()
      await right(store.put('a', 'x', contents[0] as Buffer))
      let over = false
      const write = async (): Promise<void> => {
        for (const n of upTo(20)) await right(store.put('a', 'x', contents[n % 2] as Buffer))
      }
      const read = async (): Promise<void> => {
        while (!over && !isOver()) {
          const found = await right(reader.get('a', 'x'))
          assertIsOneOf(found, contents, 'an artifact during its replacement: expected the old or the new content')
          await new Promise((resolve) => setImmediate(resolve))
        }
      }
      await Promise.all([write().finally(() => (over = true)), read()])
    }
  ),

  law('AS-PUT-04', 'concurrent puts of different ids are all stored', async ({ store, reopen }) => {
    const ids = upTo(40).map((n) => `many/${n}`)
    await atOnce(ids.map((id) => store.put('a', id, id)))
    await assertLists(await reopen(), 'a', named(ids))
  }),

  law('AS-NONE-01', 'reading a missing artifact returns None, not an error', async ({ store }) => {
    await assertNone(store, 'a', 'x')
    await assertLists(store, 'a', {})
    await right(store.put('a', 'x', 'x'))
    await assertNone(store, 'a', 'y')
    await assertNone(store, 'b', 'x')
  }),

  law('AS-NONE-02', 'removing a missing artifact does nothing', async ({ store }) => {
    await right(store.remove('a', 'x'))
    await right(store.clear('a'))
    await right(store.put('a', 'x', 'x'))
    await right(store.remove('a', 'y'))
    await assertGets(store, 'a', 'x', 'x')
  }),

  law(
    'AS-REMOVE-01',
    'a removed artifact is missing in every instance and can be put again',
    async ({ store, reopen }) => {
      await putAll(store, 'a', { x: 'old', y: 'y' })
      await right(store.remove('a', 'x'))
      await right(store.remove('a', 'x'))
      const next = await reopen()
      await assertNone(next, 'a', 'x')
      await assertLists(next, 'a', { y: 'y' })
      await right(next.put('a', 'x', 'new'))
      await assertGets(next, 'a', 'x', 'new')
    }
  ),

  // --- runs

  law('AS-RUN-01', 'artifacts of different runs are separate', async ({ store, reopen }) => {
    const runs = ['a', 'ab', 'a-b', 'a.b', 'b']
    for (const runId of runs) await putAll(store, runId, { x: runId, [`only/${runId}`]: runId })
    await right(store.remove('ab', 'x'))
    await right(store.clear('b'))
    const next = await reopen()
    for (const runId of ['a', 'a-b', 'a.b']) await assertLists(next, runId, { [`only/${runId}`]: runId, x: runId })
    await assertLists(next, 'ab', { 'only/ab': 'ab' })
    await assertLists(next, 'b', {})
  }),

  law('AS-LIST-01', 'the list is sorted by id and has sizes and digests', async ({ store }) => {
    const contents = named(['b', 'a/2', 'a/10', 'a', 'é', 'B', '😀', '～', 'z'])
    await putAll(store, 'a', contents)
    await assertLists(store, 'a', contents)
  }),

  law('AS-LIST-02', 'changing a list does not affect the store', async ({ store }) => {
    await putAll(store, 'a', { x: 'x', y: 'y' })
    const taken = (await right(store.list('a'))) as Array<ArtifactInfo>
    for (const one of taken) Reflect.set(one, 'size', -1)
    if (!Object.isFrozen(taken)) taken.pop()
    await assertLists(store, 'a', { x: 'x', y: 'y' })
  }),

  law(
    'AS-CLEAR-01',
    'clearing deletes all artifacts of steps and keeps those with reserved ids',
    async ({ store, reopen }) => {
      const own = `_own/${'0'.repeat(64)}`
      const long = `_${'語'.repeat(300)}`
      const reserved = { [own]: 'kept', [long]: 'kept' }
      await putAll(store, 'a', { x: 'x', 'own/x': 'x', ...reserved, 'y/_own/z': 'y', ['語'.repeat(300)]: 'x' })
      await right(store.clear('a'))
      const next = await reopen()
      await assertLists(next, 'a', reserved)
      await assertNone(next, 'a', 'x')
      await assertGets(next, 'a', own, 'kept')
    }
  ),

  law('AS-OPEN-01', 'a new instance finds every artifact', async ({ store, reopen }) => {
    await putAll(store, 'a', { x: BINARY, 'y/z': 'text' })
    await assertGets(store, 'a', 'x', BINARY)
    const next = await reopen()
    await assertGets(next, 'a', 'x', BINARY)
    await assertGets(next, 'a', 'y/z', 'text')
    await right(next.put('a', 'x', 'newer'))
    await assertGets(store, 'a', 'x', 'newer')
    await assertLists(await reopen(), 'a', { x: 'newer', 'y/z': 'text' })
  }),

  // --- damage

  damageLaw(
    'AS-DAMAGE-01',
    'reading a damaged artifact fails with Corrupt, and other artifacts stay readable',
    async (context) => {
      const { store } = context
      await damaged(context)
      for (const one of [store, await context.reopen()]) {
        const { runId } = await left(one.get('a', 'x'), 'Corrupt')
        assertSame(runId, 'a', 'the run id in Corrupt')
        await assertGets(one, 'a', 'y', 'y')
        await assertGets(one, 'b', 'x', BINARY)
      }
    }
  ),

  damageLaw('AS-DAMAGE-02', 'a damaged artifact can be replaced, removed and cleared', async (context) => {
    const { store } = context
    await damaged(context)
    await right(store.put('a', 'x', 'repaired'))
    await assertGets(store, 'a', 'x', 'repaired')
    for (const repair of [() => right(store.remove('a', 'x')), () => right(store.clear('a'))]) {
      await damaged(context)
      await repair()
      await assertNone(store, 'a', 'x')
    }
  })
]

const assertIsOneOf = (found: O.Option<Uint8Array>, contents: ReadonlyArray<Buffer>, expected: string): void => {
  assert.ok(O.isSome(found), `${expected}, found none`)
  assert.ok(
    contents.some((one) => one.equals(found.value)),
    `${expected}, found another one`
  )
}

const damaged = async ({ store, damage }: ArtifactCaseContext): Promise<void> => {
  await putAll(store, 'a', { x: BINARY, y: 'y' })
  await right(store.put('b', 'x', BINARY))
  await damage('a', 'x')
}
