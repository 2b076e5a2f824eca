/** Regressions: acknowledged saves that were once lost, hidden or forked. */
import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import { describe, test } from 'vitest'
import type { FileSystem } from '../../../src/adapters/json-file/files/FileSystem.js'
import { nodeFileSystem } from '../../../src/adapters/json-file/files/nodeFileSystem.js'
import type { Json } from '../../../src/domain/data/Json.js'
import {
  assertLoads,
  claimed,
  left,
  OTHER,
  revisions,
  right,
  seed,
  some
} from '../../../src/testing/conformance/fixtures.js'
import { folder, intercepted, journalName, journalOf, journalsOf, next, placesOf, systemError, work } from './kit.js'

const upTo = (n: number): ReadonlyArray<number> => Array.from({ length: n }, (_, index) => index)

const without = (call: keyof FileSystem): FileSystem =>
  intercepted((made) => {
    if (made.call === call) throw systemError('EIO')
  })

/** Changes one byte of a line, counted from 1. */
const damageLine = (path: string, line: number): void => {
  const bytes = readFileSync(path)
  let at = 0
  for (let n = 1; n < line; n++) at = bytes.indexOf(10, at) + 1
  bytes.writeUInt8(bytes.readUInt8(at + 60) ^ 1, at + 60)
  writeFileSync(path, bytes)
}

describe('pruning', () => {
  test('pruning during a compaction does not delete the only journal with a synced base', async () => {
    const root = folder()
    let copied: (() => void) | undefined
    let begun = false
    const fs: FileSystem = {
      ...nodeFileSystem,
      // The first copy ends when the base of the second journal is about to be synced.
      replace: async (path, text) => {
        if (!begun) {
          begun = true
          await new Promise<void>((resolve) => (copied = resolve))
        }
        return nodeFileSystem.replace(path, text)
      },
      fdatasync: (fd, done) => {
        if (!existsSync(journalOf(root, 2)) || copied === undefined) return nodeFileSystem.fdatasync(fd, done)
        copied()
        copied = undefined
        setTimeout(() => {
          seen = journalsOf(root)
          nodeFileSystem.fdatasync(fd, done)
        }, 200)
      }
    }
    let seen: ReadonlyArray<string> = []
    const claim = await work(next(root, { fs, keep: 1, limits: { compactBytes: 0 } }), upTo(8))
    assert.deepEqual(seen, [1, 2].map(journalName))
    assert.equal(claim.lost.aborted, false)
    await assertLoads(next(root), 'a', upTo(8))
  })

  test('pruning renames a damaged journal, so that its owner cannot believe that it still holds the run', async () => {
    const root = folder()
    const former = next(root)
    const zombie = await work(former, [0, 1])
    damageLine(journalOf(root, 1), 4)
    // The next owner is stopped too, and its damaged journal must be kept as well.
    const second = next(root)
    const { claim: other, stored: found } = await right(second.claim('a', OTHER))
    let payloads: ReadonlyArray<Json> = upTo(some(found).revision + 1)
    for (const payload of ['a', 'b']) {
      payloads = [...payloads, payload]
      await right(second.save(other, revisions(payloads)))
    }
    damageLine(journalOf(root, 2), 3)
    const evidence = [1, 2].map((number) => readFileSync(journalOf(root, number)))
    for (let n = 2; n < 6; n++) {
      const storage = next(root, { keep: 1 })
      const { claim, stored } = await right(storage.claim('a', OTHER))
      payloads = [...payloads.slice(0, some(stored).revision + 1), n]
      await right(storage.save(claim, revisions(payloads)))
      await right(storage.release(claim))
      await assertLoads(next(root), 'a', payloads)
    }
    const { history } = placesOf(root)
    const kept = readdirSync(history).map((name) => readFileSync(join(history, name)))
    for (const content of evidence) assert.ok(kept.some((one) => one.equals(content)))
    await left(former.save(zombie, revisions([0, 1, 'zombie'])), 'Fenced')
    await left(second.save(other, revisions([...payloads.slice(0, 3), 'zombie'])), 'Fenced')
  })
})

describe('a recovery from checkpoint.json', () => {
  test('a recovery that was refused is offered again until the next save', async () => {
    const root = folder()
    await seed(next(root), 'a', [0, 1, 2])
    rmSync(placesOf(root).history, { recursive: true })
    for (let n = 0; n < 3; n++) {
      const loaded = some(await right(next(root).load('a')))
      assert.deepEqual([loaded.revision, loaded.found._tag], [2, 'Recovered'])
      const storage = next(root)
      const { claim, stored } = await right(storage.claim('a', OTHER))
      assert.deepEqual([some(stored).revision, some(stored).found._tag], [2, 'Recovered'])
      await right(storage.release(claim))
    }
  })

  test('a recovery is offered to each claim until one saves, even if no journal has a readable checkpoint', async () => {
    const root = folder()
    await seed(next(root), 'a', [0, 1, 2])
    truncateSync(journalOf(root, 1), 100)
    for (let n = 0; n < 3; n++) {
      const storage = next(root)
      const { claim, stored } = await right(storage.claim('a', OTHER))
      assert.deepEqual([some(stored).revision, some(stored).found._tag], [2, 'Recovered'])
      await right(storage.release(claim))
    }
  })

  test('a recovery does not hide later saves, even if checkpoint.json has a higher number and cannot be rewritten', async () => {
    const root = folder()
    for (let n = 1; n <= 3; n++) {
      const storage = next(root)
      const claim = await claimed(storage, 'a')
      await right(storage.save(claim, revisions(upTo(n))))
      await right(storage.release(claim))
    }
    for (const number of [2, 3]) rmSync(journalOf(root, number))
    const storage = next(root, { fs: without('replace') })
    const { claim, stored } = await right(storage.claim('a', OTHER))
    assert.deepEqual([claim.epoch, some(stored).revision], [2, 2])
    await right(storage.save(claim, revisions(upTo(4))))
    await right(storage.save(claim, revisions(upTo(5))))
    await assertLoads(next(root), 'a', upTo(5))
    assert.equal(some((await right(next(root).claim('a', OTHER))).stored).revision, 4)
  })
})

describe('refused lines', () => {
  test('a damaged line whose save was refused does not count as a loss', async () => {
    const root = folder()
    const former = next(root)
    const zombie = await work(former, [0, 1])
    await claimed(next(root), 'a')
    await left(former.save(zombie, revisions([0, 1, 'zombie'])), 'Fenced')
    damageLine(journalOf(root, 1), 5)
    await assertLoads(next(root), 'a', [0, 1])
    await claimed(next(root), 'a')
    await assertLoads(next(root), 'a', [0, 1])
    damageLine(journalOf(root, 1), 4)
    assert.equal(some(await right(next(root).load('a'))).found._tag, 'Recovered')
  })

  test('a lost journal does not bring a refused save back into the history', async () => {
    const root = folder()
    const former = next(root)
    const zombie = await work(former, [0, 1])
    await claimed(next(root), 'a')
    await left(former.save(zombie, revisions([0, 1, 'refused'])), 'Fenced')
    await work(next(root), ['lost'], [0, 1])
    await claimed(next(root), 'a')
    rmSync(journalOf(root, 3))
    rmSync(placesOf(root).copy, { force: true })
    assert.equal(some(await right(next(root).load('a'))).revision, 1)
    const history = await right(next(root).history('a'))
    assert.deepEqual(
      history.map(({ revision }) => revision),
      [1, 0]
    )
    assert.deepEqual(await right(next(root).loadRevision('a', 2)), O.none)
  })
})

describe('the state that a claim found', () => {
  /** A file system in which a write becomes durable only by a sync; and the durable content. */
  const synced = () => {
    const names = new Map<number, string>()
    const journals: Array<string> = []
    const fs: FileSystem = {
      ...nodeFileSystem,
      open: async (path, how) => {
        const fd = await nodeFileSystem.open(path, how)
        names.set(fd, basename(path))
        return fd
      },
      write: (fd, bytes, position) => {
        if (Buffer.from(bytes).includes('"kind":"found"')) journals.push('found')
        return nodeFileSystem.write(fd, bytes, position)
      },
      fdatasync: (fd, done) => {
        journals.push(names.get(fd) ?? '')
        nodeFileSystem.fdatasync(fd, done)
      }
    }
    return { fs, journals }
  }

  test('a claim syncs the state that it found before it records it, because the previous owner may have been killed before its sync', async () => {
    const root = folder()
    await work(next(root), [0, 1])
    const { fs, journals } = synced()
    await claimed(next(root, { fs }), 'a')
    const noted = journals.indexOf('found')
    assert.ok(noted > 0 && journals.slice(0, noted).includes(journalName(1)), journals.join())
  })

  test('a claim does not sync the state that it found if its owner released it', async () => {
    const root = folder()
    await seed(next(root), 'a', [0, 1])
    const { fs, journals } = synced()
    await claimed(next(root, { fs }), 'a')
    assert.ok(!journals.includes(journalName(1)), journals.join())
  })

  test('a claim is refused if it cannot sync the state that it found', async () => {
    const root = folder()
    await work(next(root), [0, 1])
    const names = new Map<number, string>()
    const fs: FileSystem = {
      ...nodeFileSystem,
      open: async (path, how) => {
        const fd = await nodeFileSystem.open(path, how)
        names.set(fd, path)
        return fd
      },
      fdatasync: (fd, done) =>
        names.get(fd) === journalOf(root, 1)
          ? void setImmediate(() => done(systemError('EIO')))
          : nodeFileSystem.fdatasync(fd, done)
    }
    const { where, code } = await left(next(root, { fs }).claim('a', OTHER), 'WriteFailed')
    assert.deepEqual([where, code], [journalOf(root, 1), 'EIO'])
    assert.ok(!readFileSync(journalOf(root, 2), 'utf8').includes('"found"'))
    await assertLoads(next(root), 'a', [0, 1])
    assert.ok(E.isRight(await next(root).claim('a', OTHER)()))
  })
})
