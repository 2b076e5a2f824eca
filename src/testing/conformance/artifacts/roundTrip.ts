/** Cases about reading what was put. */
import * as O from 'fp-ts/lib/Option.js'
import { assertSame } from '../difference.js'
import { pause, right } from '../fixtures.js'
import { law, lawsNeeding } from './ArtifactCase.js'
import { assertGets, assertLists, BINARY, infoOf, putAll } from './contents.js'

export const roundTripCases = [
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
  })
]
