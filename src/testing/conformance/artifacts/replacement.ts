/** Cases about replaced and missing artifacts. */
import { strict as assert } from 'node:assert'
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import { assertSame, inWords } from '../difference.js'
import { atOnce } from '../concurrency.js'
import { right, upTo } from '../fixtures.js'
import { law } from './ArtifactCase.js'
import { assertGets, assertLists, assertNone, BINARY, named, putAll } from './contents.js'

const assertIsOneOf = (found: O.Option<Uint8Array>, contents: ReadonlyArray<Buffer>, expected: string): void => {
  assert.ok(O.isSome(found), `${expected}, found none`)
  assert.ok(
    contents.some((one) => one.equals(found.value)),
    `${expected}, found another one`
  )
}

export const replacementCases = [
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
  })
]

export const absenceCases = [
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
  )
]
