/** Changes every byte of a small run, truncates its files everywhere, and deletes whole files. */
import assert from 'node:assert/strict'
import { cpSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import { describe, test } from 'vitest'
import type { FileSystem } from '../../../src/adapters/json-file/files/FileSystem.js'
import { nodeFileSystem } from '../../../src/adapters/json-file/files/nodeFileSystem.js'
import { parse } from '../../../src/adapters/json-file/journal/Journal.js'
import type { Json } from '../../../src/domain/data/Json.js'
import type { Stored } from '../../../src/ports/CheckpointStorage.js'
import { assertLoads, claimed, left, OTHER, revisions, right, some } from '../../../src/testing/conformance/fixtures.js'
import { sweep } from '../../sweep.js'
import {
  digestOf,
  folder,
  journalName,
  journalOf,
  journalsOf,
  next,
  placesOf,
  systemError,
  untilCopied,
  work
} from './kit.js'
import { quickest } from '../../quickest.js'

const upTo = (n: number): ReadonlyArray<number> => Array.from({ length: n }, (_, index) => index)

const SAVED = 5

/** Prevents later copies by an owner that only counts as killed. */
const copyingOnce = (): FileSystem => {
  let copies = 0
  const replace: FileSystem['replace'] = (path, text) =>
    copies++ === 0 ? nodeFileSystem.replace(path, text) : Promise.reject(systemError('EIO'))
  return { ...nodeFileSystem, replace }
}

/** A run of two claims that was released, or whose second owner was killed. */
const make = async (isAtRest: boolean): Promise<string> => {
  const root = folder()
  const first = next(root)
  await right(first.release(await work(first, [0, 1])))
  const second = next(root, isAtRest ? {} : { fs: copyingOnce() })
  const claim = await work(second, [2, 3, 4], [0, 1])
  if (isAtRest) await right(second.release(claim))
  else await untilCopied(root, 2)
  return root
}

/** The payloads in a checkpoint and its changes. */
const payloadsOf = ({ checkpoint, changes }: Stored): ReadonlyArray<Json> => [
  ...(checkpoint as { payloads: ReadonlyArray<Json> }).payloads,
  ...changes.map((change) => (change as { output: Json }).output)
]

/** Exact and complete; or recovered, correct as far as it goes, and reported; or an error. Nothing on disk changes. */
const assertIsHonest = async (root: string, what: string): Promise<string> => {
  const before = digestOf(root)
  const result = await next(root).load('a')()
  assert.equal(digestOf(root), before, `${what}: something was written`)
  if (E.isLeft(result)) {
    assert.ok(['Corrupt', 'UnsupportedFormat'].includes(result.left._tag), `${what}: ${JSON.stringify(result.left)}`)
    return result.left._tag
  }
  const stored = O.isSome(result.right) ? result.right.value : assert.fail(`${what}: nothing found`)
  assert.deepEqual(payloadsOf(stored), upTo(stored.revision + 1), what)
  if (stored.found._tag === 'Exact') assert.equal(stored.revision, SAVED - 1, what)
  else assert.ok(stored.found.from.length > 0 && stored.found.lost.length > 0, what)
  return stored.found._tag
}

const filesOf = (root: string): ReadonlyArray<string> => [
  ...journalsOf(root).map((name) => join(placesOf(root).history, name)),
  placesOf(root).copy
]

const tallyOf = async (root: string, file: string, mutations: Iterable<readonly [string, Buffer]>) => {
  const original = readFileSync(file)
  const tally: Record<string, number> = {}
  for (const [what, bytes] of mutations) {
    writeFileSync(file, bytes)
    const outcome = await assertIsHonest(root, `${relative(root, file)} ${what}`)
    tally[outcome] = (tally[outcome] ?? 0) + 1
  }
  writeFileSync(file, original)
  return tally
}

const MASKS = sweep ? [0x01, 0x02, 0x04, 0x08, 0x10, 0x20, 0x40, 0x80, 0xff] : [0x01]

/** Every nth byte is changed. */
const STRIDE = sweep ? 1 : 4

function* flips(bytes: Buffer): Iterable<readonly [string, Buffer]> {
  for (let at = 0; at < Math.min(bytes.length, contentLength(bytes) + 3); at += STRIDE) {
    for (const mask of MASKS) {
      const changed = Buffer.from(bytes)
      changed[at] = (changed[at] as number) ^ mask
      yield [`with byte ${at} changed by ${mask}`, changed]
    }
    if (at % (4 * STRIDE) > 0 && !sweep) continue
    const emptied = Buffer.from(bytes)
    emptied[at] = 0
    yield [`with byte ${at} NUL`, emptied]
  }
}

const contentLength = (bytes: Buffer): number => {
  const end = bytes.indexOf(0)
  return end === -1 ? bytes.length : end
}

function* cuts(bytes: Buffer): Iterable<readonly [string, Buffer]> {
  for (let at = 0; at < bytes.length; at += sweep ? 1 : 5) yield [`cut at ${at}`, bytes.subarray(0, at)]
}

describe('damage to a run without an owner', () => {
  test('with any byte changed, a run loads exactly, or recovers and reports the loss, or is refused', async () => {
    const root = await make(true)
    for (const file of filesOf(root)) {
      const tally = await tallyOf(root, file, flips(readFileSync(file)))
      if (file === journalOf(root, 2)) assert.ok((tally['Recovered'] ?? 0) > 500 / STRIDE, JSON.stringify(tally))
      else if (file === journalOf(root, 1)) assert.deepEqual(Object.keys(tally), ['Exact'])
      // The copy may claim a revision that never existed; the stored state is complete all the same.
      else assert.ok((tally['Exact'] ?? 0) > 300 / STRIDE && (tally['Recovered'] ?? 0) < 10, JSON.stringify(tally))
    }
  })

  test('with any file truncated anywhere, a run loads exactly, or recovers and reports the loss, or is refused', async () => {
    const root = await make(true)
    for (const file of filesOf(root)) await tallyOf(root, file, cuts(readFileSync(file)))
  })

  test('a run that lost its newest journal recovers completely from checkpoint.json', async () => {
    const root = await make(true)
    rmSync(journalOf(root, 2))
    const { revision, found } = some(await right(next(root).load('a')))
    assert.equal(revision, SAVED - 1)
    assert.ok(found._tag === 'Recovered' && found.from.includes('checkpoint.json'))
  })

  test('a run without journals recovers from checkpoint.json; a run with neither counts as missing only if its folder is missing', async () => {
    const root = await make(true)
    rmSync(placesOf(root).history, { recursive: true })
    assert.equal(await assertIsHonest(root, 'no journals'), 'Recovered')
    const { found } = some(await right(next(root).load('a')))
    assert.match(
      found._tag === 'Recovered' ? found.lost : '',
      /^no file in history\/ has a readable checkpoint; revisions after/
    )
    writeFileSync(placesOf(root).copy, '{}')
    assert.equal(await assertIsHonest(root, 'no journals, and nothing in checkpoint.json'), 'Corrupt')
  })

  test('damage to every checkpoint in the journals is reported as one loss, with the damaged line and what remains', async () => {
    const root = await make(true)
    for (const number of [1, 2])
      writeFileSync(
        journalOf(root, number),
        readFileSync(journalOf(root, number), 'utf8').replaceAll('"kind":"base"', '"kind":"bas3"')
      )
    const { found } = some(await right(next(root).load('a')))
    assert.match(
      found._tag === 'Recovered' ? found.lost : '',
      /^line \d+ of history\/e000002.jsonl is damaged .*; no other file in history\/ has a readable checkpoint; revisions after/
    )
  })

  test('a run in which everything is damaged is refused and never counts as missing', async () => {
    const root = await make(true)
    for (const file of filesOf(root)) truncateSync(file, 100)
    const { where, why } = await left(next(root).load('a'), 'Corrupt')
    assert.ok(where.includes(root) && why.length > 0)
    const before = digestOf(root)
    await left(next(root).claim('a', OTHER), 'Corrupt')
    assert.equal(digestOf(root), before)
    await right(next(root).remove('a'))
    assert.deepEqual(await right(next(root).load('a')), O.none)
  })
})

describe('damage to a run whose owner was killed', () => {
  test('with any byte changed, the run of a killed owner loads exactly, or recovers and reports the loss, or is refused', async () => {
    const root = await make(false)
    const file = journalOf(root, 2)
    const tally = await tallyOf(root, file, flips(readFileSync(file)))
    assert.ok((tally['Recovered'] ?? 0) > 500 / STRIDE, JSON.stringify(tally))
  })

  test('a run whose last line ends in NUL is recovered with a warning, also where the NUL begins a sector', async () => {
    const SECTOR = 512
    for (let length = 0; ; length++) {
      assert.ok(length < SECTOR, 'no line ends there')
      const root = folder()
      await work(next(root), [0, 'x'.repeat(length)])
      const file = journalOf(root, 1)
      const bytes = readFileSync(file)
      const last = contentLength(bytes) - 2
      if (last % SECTOR !== 0) {
        length += SECTOR - (last % SECTOR) - 1
        continue
      }
      bytes[last] = 0
      writeFileSync(file, bytes)
      const { revision, found } = some(await right(next(root).load('a')))
      assert.deepEqual([revision, found._tag], [0, 'Recovered'])
      return
    }
  })

  test('a run whose owner was killed during a write has exactly what was acknowledged, wherever the write was torn', async () => {
    const root = await make(false)
    const file = journalOf(root, 2)
    const bytes = readFileSync(file)
    const content = bytes.subarray(0, contentLength(bytes))
    const line = content.subarray(content.lastIndexOf(10, content.length - 2) + 1)
    for (let length = 1; length < line.length - 1; length++) {
      for (const tail of [0, 1000]) {
        writeFileSync(file, Buffer.concat([content, line.subarray(0, length), Buffer.alloc(tail)]))
        assert.equal(await assertIsHonest(root, `torn after ${length} of ${line.length} bytes`), 'Exact')
      }
    }
  })

  test('after a power cut a run has exactly what was acknowledged, whichever sectors of the last line are missing', async () => {
    const root = folder()
    // Without checkpoint.json, which would contain the lost line.
    const fs = { ...nodeFileSystem, replace: () => Promise.reject(new Error('not now')) }
    const storage = next(root, { fs })
    const claim = await work(storage, upTo(SAVED))
    const file = journalOf(root, 1)
    const before = contentLength(readFileSync(file))
    await right(storage.save(claim, revisions([...upTo(SAVED), 'x'.repeat(3000)])))
    const bytes = readFileSync(file)
    const end = contentLength(bytes)
    const sectors = upTo(Math.ceil(end / 512)).filter((sector) => (sector + 1) * 512 > before)
    for (let lost = 1; lost < 2 ** sectors.length; lost++) {
      const torn = Buffer.from(bytes)
      sectors.forEach((sector, bit) => {
        if ((lost >> bit) & 1) torn.fill(0, Math.max(before, sector * 512), (sector + 1) * 512)
      })
      writeFileSync(file, torn)
      assert.equal(await assertIsHonest(root, `sectors ${lost.toString(2)} lost`), 'Exact')
    }
  })
})

describe('continuing after damage', () => {
  const damaged = async (): Promise<string> => {
    const root = await make(true)
    rmSync(placesOf(root).copy)
    const bytes = readFileSync(journalOf(root, 2))
    const third = bytes.lastIndexOf(10, bytes.lastIndexOf(10, bytes.length - 2) - 1) + 60
    bytes[third] = (bytes[third] as number) ^ 1
    writeFileSync(journalOf(root, 2), bytes)
    return root
  }

  test('refusing a recovery changes nothing, and the next load finds the same damage', async () => {
    const root = await damaged()
    const first = some(await right(next(root).load('a')))
    assert.equal(first.found._tag, 'Recovered')
    for (let n = 0; n < 3; n++) {
      const storage = next(root)
      const { claim, stored } = await right(storage.claim('a', OTHER))
      assert.deepEqual(some(stored).found, first.found)
      assert.equal(some(stored).revision, first.revision)
      if (n !== 1) await right(storage.release(claim))
      assert.deepEqual(some(await right(next(root).load('a'))).found, first.found)
    }
  })

  test('the first save makes the run exact again, and pruning keeps the damaged journal under another name', async () => {
    const root = await damaged()
    const evidence = readFileSync(journalOf(root, 2))
    let payloads: ReadonlyArray<Json> = []
    for (let n = 0; n < 5; n++) {
      const storage = next(root, { keep: 2 })
      const { claim, stored } = await right(storage.claim('a', OTHER))
      payloads = [...upTo(some(stored).revision + 1).map((index) => payloads[index] ?? index), `after ${n}`]
      await right(storage.save(claim, revisions(payloads)))
      await right(storage.release(claim))
      await assertLoads(next(root), 'a', payloads)
    }
    assert.deepEqual(journalsOf(root).length, 2)
    const { history } = placesOf(root)
    const kept = readdirSync(history).find((name) => name.startsWith('damaged-') && name.endsWith(journalName(2)))
    assert.deepEqual(readFileSync(join(history, kept ?? '')), evidence)
  })

  test('the history has every revision that can still be read', async () => {
    const root = await damaged()
    const entries = await right(next(root).history('a'))
    assert.deepEqual(
      entries.map(({ revision }) => revision),
      [3, 2, 1, 0]
    )
    for (const { revision } of entries) {
      assert.deepEqual(payloadsOf(some(await right(next(root).loadRevision('a', revision)))), upTo(revision + 1))
    }
    assert.deepEqual(await right(next(root).loadRevision('a', 4)), O.none)
  })
})

describe('damage of the first line', () => {
  const withDamage = async (...lines: ReadonlyArray<number>): Promise<string> => {
    const root = await make(true)
    rmSync(placesOf(root).copy)
    const bytes = readFileSync(journalOf(root, 2))
    for (const line of lines) {
      let at = 0
      for (let n = 1; n < line; n++) at = bytes.indexOf(10, at) + 1
      bytes.writeUInt8(bytes.readUInt8(at + 60) ^ 1, at + 60)
    }
    writeFileSync(journalOf(root, 2), bytes)
    return root
  }

  test('damage of the first line alone loses no revision and is reported', async () => {
    const { revision, found } = some(await right(next(await withDamage(1)).load('a')))
    assert.equal(revision, SAVED - 1)
    assert.ok(
      found._tag === 'Recovered' && found.lost.includes('the revisions in the lines after it are intact'),
      JSON.stringify(found)
    )
  })

  test('damage of the first line does not hide the loss of other lines', async () => {
    const { revision, found } = some(await right(next(await withDamage(1, 4)).load('a')))
    assert.equal(revision, 2)
    assert.ok(found._tag === 'Recovered' && !found.lost.includes('below it'), JSON.stringify(found))
    assert.ok(found.lost.includes('line 1') && found.lost.includes('line 4'), found.lost)
  })

  test('a damaged journal of 8 MiB of newlines is read within a second', () => {
    const millis = quickest(1, () => assert.ok(E.isRight(parse(Buffer.alloc(8 * 1_048_576, '\n'), 'a', 1))))
    assert.ok(millis < 1000, `${millis} ms`)
  })
})

describe('mismatched journals', () => {
  const swapped = async (change: (root: string) => void | Promise<void>): Promise<string> => {
    const root = await make(true)
    rmSync(placesOf(root).copy)
    await change(root)
    return root
  }

  test('a journal that was copied to another number counts as damaged, and the damage names its own file', async () => {
    const root = await swapped((at) => cpSync(journalOf(at, 1), journalOf(at, 3)))
    const { found } = some(await right(next(root).load('a')))
    assert.ok(found._tag === 'Recovered')
    assert.match(found.lost, /it belongs to the file e000001\.jsonl/)
  })

  test('a journal that was copied from another run counts as damaged', async () => {
    const root = await swapped(async (at) => {
      const storage = next(at)
      const claim = await claimed(storage, 'b')
      await right(storage.save(claim, revisions(['alien'])))
      await right(storage.release(claim))
      cpSync(join(placesOf(at, 'b').history, 'e000001.jsonl'), journalOf(at, 3))
    })
    const stored = some(await right(next(root).load('a')))
    assert.equal(stored.found._tag, 'Recovered')
    assert.deepEqual(payloadsOf(stored), upTo(SAVED))
  })

  test('missing, repeated or reordered lines are damage', async () => {
    const lines = (at: string) => readFileSync(journalOf(at, 2), 'utf8').split('\n').slice(0, -1)
    const cases: Record<string, (all: ReadonlyArray<string>) => ReadonlyArray<string>> = {
      'the base left out': (all) => all.filter((line) => !line.includes('"base"')),
      'a save left out': (all) => all.filter((_, index) => index !== 3),
      'a save doubled': (all) => [...all.slice(0, 4), ...all.slice(3)],
      'two saves swapped': (all) => [...all.slice(0, 3), all[4] as string, all[3] as string, ...all.slice(5)],
      'a second claim': (all) => [...all.slice(0, 4), all[0] as string, ...all.slice(4)],
      'a second base': (all) => [...all.slice(0, 4), all[2] as string, ...all.slice(4)],
      'something after the end': (all) => [...all, all[4] as string]
    }
    for (const [what, change] of Object.entries(cases)) {
      const root = await swapped((at) => writeFileSync(journalOf(at, 2), `${change(lines(at)).join('\n')}\n`))
      assert.equal(await assertIsHonest(root, what), 'Recovered', what)
    }
  })
})
