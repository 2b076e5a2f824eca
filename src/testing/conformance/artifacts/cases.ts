/**
 * Everything that the kit asks of a store of artifacts.
 *
 * @since 0.1.0
 */
import { strict as assert } from 'node:assert'
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import { sha256 } from '../../../domain/Digest.js'
import type { ArtifactInfo, ArtifactStore } from '../../../ports/ArtifactStore.js'
import { assertSame, inWords } from '../difference.js'
import { answerOf, atOnce, ignored, left, right, upTo } from '../fixtures.js'
import type { ArtifactBench, ArtifactCase } from './ArtifactCase.js'
import { artifactCase } from './ArtifactCase.js'

// ---------------------------------------------------------------------------------------------------------------------
// what the cases are written with
// ---------------------------------------------------------------------------------------------------------------------

type Content = Uint8Array | string

const bytesOf = (content: Content): Uint8Array =>
  typeof content === 'string' ? new TextEncoder().encode(content) : content

/** All bytes, in no order that a text has. */
const BINARY = Uint8Array.from({ length: 1_024 }, (_, n) => (n * 167 + (n >> 8)) % 256)

const infoOf = (id: string, content: Content): ArtifactInfo => {
  const bytes = bytesOf(content)
  return { id, size: bytes.length, sha256: sha256(bytes) }
}

/** A digest tells two contents apart as well as their bytes do, in a line. */
const shown = (bytes: Uint8Array): string =>
  bytes.length > 40 ? `${bytes.length} bytes, SHA-256 ${sha256(bytes)}` : `bytes ${[...bytes].join(' ')}`

const assertGets = async (store: ArtifactStore, runId: string, id: string, content: Content): Promise<void> => {
  const found = await right(store.get(runId, id))
  if (found._tag === 'None') assert.fail(`artifact "${id}" of ${runId} should be there, and is not`)
  const bytes: unknown = found.value
  if (!(bytes instanceof Uint8Array)) return assert.fail(`get should give bytes: ${inWords(bytes)}`)
  const wanted = bytesOf(content)
  if (Buffer.compare(bytes, wanted) !== 0)
    assert.fail(`artifact "${id}" of ${runId} has ${shown(bytes)} instead of ${shown(wanted)}`)
}

const assertNone = async (store: ArtifactStore, runId: string, id: string): Promise<void> => {
  assertSame(await right(store.get(runId, id)), O.none, `artifact "${id}" of ${runId}, which is not there,`)
  assert.equal(await right(store.has(runId, id)), false, `whether "${id}" of ${runId} is there`)
}

const assertLists = async (
  store: ArtifactStore,
  runId: string,
  contents: ReadonlyArray<readonly [id: string, content: Content]>
): Promise<void> => {
  const expected = contents.map(([id, content]) => infoOf(id, content))
  assertSame(await right(store.list(runId)), expected, `the artifacts of ${runId}`)
}

const putAll = async (
  store: ArtifactStore,
  runId: string,
  contents: ReadonlyArray<readonly [id: string, content: Content]>
): Promise<void> => {
  for (const [id, content] of contents) await right(store.put(runId, id, content))
}

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

// ---------------------------------------------------------------------------------------------------------------------
// cases
// ---------------------------------------------------------------------------------------------------------------------

const roundTripCases: ReadonlyArray<ArtifactCase> = [
  artifactCase('AS-TRIP-01', 'bytes come back as they were put, and put tells what they are', async ({ store }) => {
    assertSame(await right(store.put('a', 'raw', BINARY)), infoOf('raw', BINARY), 'what put tells')
    await assertGets(store, 'a', 'raw', BINARY)
    assert.equal(await right(store.has('a', 'raw')), true, 'whether it is there')
  }),

  artifactCase('AS-TRIP-02', 'a text comes back as its UTF-8 bytes', async ({ store }) => {
    const text = 'plain, é, 日本語, 😀, \0, \r\n, \ufeff'
    assertSame(await right(store.put('a', 'text', text)), infoOf('text', text), 'what put tells')
    await assertGets(store, 'a', 'text', text)
  }),

  artifactCase('AS-TRIP-03', 'nothing is something: an empty artifact is there', async ({ store }) => {
    await putAll(store, 'a', [
      ['none', ''],
      ['empty', new Uint8Array()]
    ])
    await assertGets(store, 'a', 'none', '')
    await assertGets(store, 'a', 'empty', '')
    await assertLists(store, 'a', [
      ['empty', ''],
      ['none', '']
    ])
  }),

  artifactCase('AS-TRIP-04', 'content that looks like a first line, or an end, is content', async ({ store }) => {
    const contents = [
      ['json', '{"format":1}\n'],
      ['lines', '\n\n'],
      ['nul', '\0'.repeat(5_000)]
    ] as const
    await putAll(store, 'a', contents)
    for (const [id, content] of contents) await assertGets(store, 'a', id, content)
  }),

  artifactCase('AS-TRIP-05', 'a hundred thousand bytes fit everywhere', async ({ store, reopen }) => {
    const content = Buffer.alloc(100_000, BINARY)
    await right(store.put('a', 'wide', content))
    await assertGets(await reopen(), 'a', 'wide', content)
  }),

  artifactCase(
    'AS-TRIP-06',
    '10 MB are put',
    async ({ store, reopen }) => {
      const content = Buffer.alloc(10_000_000, BINARY)
      await right(store.put('a', 'huge', content))
      await assertGets(await reopen(), 'a', 'huge', content)
    },
    ['large']
  ),

  artifactCase('AS-TRIP-07', 'what the giver and the taker do to their bytes changes nothing', async ({ store }) => {
    const given = Uint8Array.from(BINARY)
    await right(store.put('a', 'raw', given))
    given.fill(0)
    const taken = await right(store.get('a', 'raw'))
    if (O.isSome(taken)) taken.value.fill(1)
    await assertGets(store, 'a', 'raw', BINARY)
  }),

  artifactCase('AS-TRIP-08', 'a part of a larger buffer is put as that part', async ({ store }) => {
    await right(store.put('a', 'part', BINARY.subarray(3, 7)))
    await assertGets(store, 'a', 'part', BINARY.slice(3, 7))
  }),

  artifactCase('AS-TRIP-09', 'a task that is not run does nothing', async ({ store }) => {
    await right(store.put('a', 'kept', 'kept'))
    ignored(store.put('a', 'kept', 'lost'))
    ignored(store.remove('a', 'kept'))
    ignored(store.clear('a'))
    await new Promise((resolve) => setTimeout(resolve, 20))
    await assertGets(store, 'a', 'kept', 'kept')
  })
]

const idCases: ReadonlyArray<ArtifactCase> = [
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

const replacementCases: ReadonlyArray<ArtifactCase> = [
  artifactCase('AS-PUT-01', 'a second put replaces the first, the shorter the longer', async ({ store, reopen }) => {
    for (const content of ['a long first content', 'short', '', BINARY]) {
      await right(store.put('a', 'x', content))
      await assertGets(store, 'a', 'x', content)
      await assertGets(await reopen(), 'a', 'x', content)
      await assertLists(store, 'a', [['x', content]])
    }
  }),

  artifactCase('AS-PUT-02', 'of puts of one id at once, one is there, whole', async ({ store, reopen }) => {
    const other = await reopen()
    for (const round of upTo(5)) {
      const contents = upTo(8).map((n) => Buffer.alloc(20_000 + 1_000 * n, `${round}${n}`))
      const results = await atOnce(contents.map((content, n) => (n % 2 === 0 ? store : other).put('a', 'x', content)))
      for (const result of results) if (E.isLeft(result)) assert.fail(`a put was refused: ${inWords(result.left)}`)
      const found = await right(other.get('a', 'x'))
      assert.ok(O.isSome(found), 'none of the puts is there')
      assert.ok(
        contents.some((one) => one.equals(found.value)),
        'what is there nobody put'
      )
      assert.equal((await right(store.list('a'))).length, 1, 'how many artifacts there are')
    }
  }),

  artifactCase(
    'AS-PUT-03',
    'who reads while it is replaced gets the one or the other',
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
          assert.ok(O.isSome(found), 'it was gone while it was replaced')
          assert.ok(
            contents.some((one) => one.equals(found.value)),
            'what was read nobody put'
          )
          await new Promise((resolve) => setImmediate(resolve))
        }
      }
      await Promise.all([write().finally(() => (over = true)), read()])
    }
  ),

  artifactCase('AS-PUT-04', 'many put at once are all there', async ({ store, reopen }) => {
    const ids = upTo(40).map((n) => `many/${n}`)
    await atOnce(ids.map((id) => store.put('a', id, id)))
    await assertLists(
      await reopen(),
      'a',
      [...ids].sort().map((id) => [id, id])
    )
  })
]

const absenceCases: ReadonlyArray<ArtifactCase> = [
  artifactCase('AS-NONE-01', 'what is not there is none, and no error', async ({ store }) => {
    await assertNone(store, 'a', 'x')
    await assertLists(store, 'a', [])
    await right(store.put('a', 'x', 'x'))
    await assertNone(store, 'a', 'y')
    await assertNone(store, 'b', 'x')
  }),

  artifactCase('AS-NONE-02', 'removing what is not there does nothing', async ({ store }) => {
    await right(store.remove('a', 'x'))
    await right(store.clear('a'))
    await right(store.put('a', 'x', 'x'))
    await right(store.remove('a', 'y'))
    await assertGets(store, 'a', 'x', 'x')
  }),

  artifactCase(
    'AS-REMOVE-01',
    'what was removed is gone, also for who opens the store later, and can be put again',
    async ({ store, reopen }) => {
      await putAll(store, 'a', [
        ['x', 'old'],
        ['y', 'y']
      ])
      await right(store.remove('a', 'x'))
      await right(store.remove('a', 'x'))
      const next = await reopen()
      await assertNone(next, 'a', 'x')
      await assertLists(next, 'a', [['y', 'y']])
      await right(next.put('a', 'x', 'new'))
      await assertGets(next, 'a', 'x', 'new')
    }
  )
]

const runCases: ReadonlyArray<ArtifactCase> = [
  artifactCase('AS-RUN-01', 'the artifacts of one run are not those of another', async ({ store, reopen }) => {
    const runs = ['a', 'ab', 'a-b', 'a.b', 'b']
    for (const runId of runs)
      await putAll(store, runId, [
        ['x', runId],
        [`only/${runId}`, runId]
      ])
    await right(store.remove('ab', 'x'))
    await right(store.clear('b'))
    const next = await reopen()
    for (const runId of ['a', 'a-b', 'a.b'])
      await assertLists(next, runId, [
        [`only/${runId}`, runId],
        ['x', runId]
      ])
    await assertLists(next, 'ab', [['only/ab', 'ab']])
    await assertLists(next, 'b', [])
  }),

  artifactCase('AS-LIST-01', 'the list is in the order of the ids, with size and digest', async ({ store }) => {
    const ids = ['b', 'a/2', 'a/10', 'a', 'é', 'B', '😀', '～', 'z']
    await putAll(
      store,
      'a',
      ids.map((id) => [id, `of ${id}`])
    )
    await assertLists(
      store,
      'a',
      [...ids].sort().map((id) => [id, `of ${id}`])
    )
  }),

  artifactCase('AS-LIST-02', 'what is done to a list changes nothing', async ({ store }) => {
    await putAll(store, 'a', [
      ['x', 'x'],
      ['y', 'y']
    ])
    const taken = (await right(store.list('a'))) as Array<ArtifactInfo>
    for (const one of taken) Reflect.set(one, 'size', -1)
    if (!Object.isFrozen(taken)) taken.pop()
    await assertLists(store, 'a', [
      ['x', 'x'],
      ['y', 'y']
    ])
  }),

  artifactCase(
    'AS-CLEAR-01',
    "clearing deletes all that steps put, and keeps what is Dogear's own",
    async ({ store, reopen }) => {
      const own = `_memo/${'0'.repeat(64)}`
      const long = `_${'語'.repeat(300)}`
      await putAll(store, 'a', [
        ['x', 'x'],
        ['memo/x', 'x'],
        [own, 'kept'],
        [long, 'kept'],
        ['y/_memo/z', 'y'],
        ['語'.repeat(300), 'x']
      ])
      await right(store.clear('a'))
      const next = await reopen()
      await assertLists(next, 'a', [
        [own, 'kept'],
        [long, 'kept']
      ])
      await assertNone(next, 'a', 'x')
      await assertGets(next, 'a', own, 'kept')
    }
  ),

  artifactCase('AS-OPEN-01', 'what was put is there for who opens the store later', async ({ store, reopen }) => {
    await putAll(store, 'a', [
      ['x', BINARY],
      ['y/z', 'text']
    ])
    await assertGets(store, 'a', 'x', BINARY)
    const next = await reopen()
    await assertGets(next, 'a', 'x', BINARY)
    await assertGets(next, 'a', 'y/z', 'text')
    await right(next.put('a', 'x', 'newer'))
    await assertGets(store, 'a', 'x', 'newer')
    await assertLists(await reopen(), 'a', [
      ['x', 'newer'],
      ['y/z', 'text']
    ])
  })
]

const damageCases: ReadonlyArray<ArtifactCase> = [
  artifactCase(
    'AS-DAMAGE-01',
    'damaged content is Corrupt, never given, and hurts no other artifact',
    async (bench) => {
      const { store } = bench
      await damaged(bench)
      for (const one of [store, await bench.reopen()]) {
        const { runId } = await left(one.get('a', 'x'), 'Corrupt')
        assert.equal(runId, 'a', 'the run that the error names')
        await assertGets(one, 'a', 'y', 'y')
        await assertGets(one, 'b', 'x', BINARY)
      }
    },
    ['damage']
  ),

  artifactCase(
    'AS-DAMAGE-02',
    'what is damaged is replaced, removed and cleared like anything',
    async (bench) => {
      for (const mend of [
        (store: ArtifactStore) => right(store.put('a', 'x', 'mended')),
        (store: ArtifactStore) => right(store.remove('a', 'x')),
        (store: ArtifactStore) => right(store.clear('a'))
      ]) {
        await damaged(bench)
        await mend(bench.store)
        const found = await answerOf(bench.store.get('a', 'x'))
        assert.ok(E.isRight(found), 'it is damaged still')
        if (O.isSome(found.right)) await assertGets(bench.store, 'a', 'x', 'mended')
      }
    },
    ['damage']
  )
]

const damaged = async ({ store, damage }: ArtifactBench): Promise<void> => {
  await putAll(store, 'a', [
    ['x', BINARY],
    ['y', 'y']
  ])
  await right(store.put('b', 'x', BINARY))
  await damage('a', 'x')
}

/**
 * Everything that the kit asks of a store of artifacts, in order.
 *
 * @example
 * import { artifactStoreCases } from 'dogear/testing'
 * import assert from 'node:assert/strict'
 *
 * const first = artifactStoreCases.find(({ id }) => id === 'AS-PUT-02')
 * assert.match(first?.title ?? '', /one is there, whole/)
 *
 * @category cases
 * @since 0.1.0
 */
export const artifactStoreCases: ReadonlyArray<ArtifactCase> = [
  ...roundTripCases,
  ...idCases,
  ...replacementCases,
  ...absenceCases,
  ...runCases,
  ...damageCases
]
