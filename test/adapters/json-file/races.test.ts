/** Calls of other processes between two calls of one: each case fails in a protocol with one rule less. */
import assert from 'node:assert/strict'
import { cpSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { basename, join, relative } from 'node:path'
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import { describe, test } from 'vitest'
import type { FileSystem } from '../../../src/adapters/json-file/files/FileSystem.js'
import { nodeFileSystem } from '../../../src/adapters/json-file/files/nodeFileSystem.js'
import { describeStorage } from '../../../src/executor/errors/portErrors.js'
import type { Fenced } from '../../../src/ports/CheckpointStorage.js'
import {
  assertCarries,
  assertLoads,
  claimed,
  left,
  OTHER,
  revisions,
  right,
  seed,
  some
} from '../../../src/testing/conformance/fixtures.js'
import { folder, intercepted, journalName, journalOf, journalsOf, next, placesOf, untilCopied, work } from './kit.js'

type Asynchronous = 'readdir' | 'mkdir' | 'link' | 'open' | 'read' | 'fsyncFolder'

/** A file system in which something happens once, before or after the first matching call. */
const meanwhile = (
  call: Asynchronous,
  happens: () => Promise<unknown>,
  when: 'before' | 'after' = 'before',
  fits: (target: string | number) => boolean = () => true
): FileSystem => {
  let pending = true
  const original = nodeFileSystem[call] as unknown as (...args: ReadonlyArray<unknown>) => Promise<unknown>
  const replaced = async (...args: ReadonlyArray<unknown>): Promise<unknown> => {
    const now = pending && fits(args[0] as string | number)
    if (now) pending = false
    if (now && when === 'before') await happens()
    const result = await original(...args)
    if (now && when === 'after') await happens()
    return result
  }
  return { ...nodeFileSystem, [call]: replaced }
}

const upTo = (n: number): ReadonlyArray<number> => Array.from({ length: n }, (_, index) => index)

const isFile =
  (name: string) =>
  (target: string | number): boolean =>
    basename(String(target)) === name

// Each store of this file counts as a process: a later one is alive for earlier ones, and they are dead for it.

describe('races of a claim', () => {
  test('a claim finds what the previous owner acknowledged before the new file had its name', async () => {
    const root = folder()
    const former = next(root)
    const claim = await work(former, [0, 1])
    const fs = meanwhile('link', () => right(former.save(claim, revisions(upTo(3)))))
    const storage = next(root, { fs })
    const { claim: second, stored } = await right(storage.claim('a', OTHER))
    assert.equal(some(stored).revision, 2)
    await right(storage.save(second, revisions(upTo(4))))
    await assertLoads(next(root), 'a', upTo(4))
  })

  test('of two concurrent claims for one number, the slower one is refused', async () => {
    const root = folder()
    await work(next(root), [0])
    const fs = meanwhile('link', () => claimed(next(root), 'a'))
    await left(next(root, { fs }).claim('a', OTHER), 'HeldBy')
    assert.deepEqual(journalsOf(root), [1, 2].map(journalName))
  })

  test('a claim that always loses the race against another one writes nothing, and its error says to try again', async () => {
    const root = folder()
    const link = (): Promise<never> => Promise.reject(Object.assign(new Error('EEXIST'), { code: 'EEXIST' }))
    const refused = await left(next(root, { fs: { ...nodeFileSystem, link } }).claim('a', OTHER), 'WriteFailed')
    assert.match(
      describeStorage(refused),
      /EAGAIN: another claim was quicker, 100 times; try again\. .*nothing of this/
    )
  })

  test('a claim does not take a number that pruning has freed', async () => {
    const root = folder()
    await work(next(root), [0])
    const others = async (): Promise<void> => {
      for (let n = 2; n <= 4; n++) {
        const storage = next(root, { keep: 1 })
        const claim = await claimed(storage, 'a')
        await right(storage.save(claim, revisions(upTo(n))))
        await right(storage.release(claim))
      }
      assert.deepEqual(journalsOf(root), [journalName(4)])
    }
    const storage = next(root, { fs: meanwhile('link', others) })
    const { claim, stored } = await right(storage.claim('a', OTHER))
    assert.equal(claim.epoch, 5)
    assert.equal(some(stored).revision, 3)
    await right(storage.save(claim, revisions(upTo(5))))
    await assertLoads(next(root), 'a', upTo(5))
  })

  test('a slow claim of a removed run writes nothing into a new run with its id', async () => {
    for (let nth = 1; nth <= 8; nth++) {
      const root = folder()
      for (let n = 1; n <= 5; n++) {
        const storage = next(root)
        await right(storage.release(await claimed(storage, 'a')))
      }
      const replace = async (): Promise<void> => {
        const successor = next(root)
        await right(successor.remove('a'))
        await right(successor.save(await claimed(successor, 'a'), revisions(['new'])))
      }
      // Once after each listing, or before the link.
      let seen = 0
      const isNth = (path: string | number): boolean => path === placesOf(root).history && ++seen === nth
      const fs = nth === 8 ? meanwhile('link', replace) : meanwhile('readdir', replace, 'after', isNth)
      const storage = next(root, { fs })
      const result = await storage.claim('a', OTHER)()
      // It may also have been granted just before.
      if (E.isRight(result)) await left(storage.save(result.right.claim, revisions(['old'])), 'Fenced')
      else assert.equal(result.left._tag, 'HeldBy')
      assert.deepEqual(journalsOf(root), [journalName(1)], `after listing ${nth}`)
      await assertLoads(next(root), 'a', ['new'])
      if (nth < 8 && seen < nth) break
    }
  })

  for (const when of ['fsyncFolder', 'read'] as const) {
    test(`a claim that another claim overtakes after its ${when} call gets a later number, and finds what the other one saved`, async () => {
      const root = folder()
      await work(next(root), [0, 1])
      let armed = false
      const quicker = async (): Promise<void> => {
        const other = next(root)
        const claim = await claimed(other, 'a')
        await right(other.save(claim, revisions([0, 1, 'quicker'])))
        await right(other.release(claim))
      }
      const base = meanwhile(when, quicker, 'after', () => armed)
      const fs: FileSystem = {
        ...base,
        link: async (from, to) => {
          await base.link(from, to)
          armed = true
        }
      }
      const storage = next(root, { fs })
      const { claim, stored } = await right(storage.claim('a', OTHER))
      assert.equal(some(stored).revision, 2)
      assert.equal(claim.epoch, 4)
    })
  }
})

describe('races of a load', () => {
  test('a load finds the newer journal if the journal that it listed was pruned', async () => {
    const root = folder()
    const first = next(root)
    await right(first.release(await work(first, [0])))
    const replace = async (): Promise<void> => {
      const storage = next(root, { keep: 1 })
      const claim = await claimed(storage, 'a')
      await right(storage.save(claim, revisions(upTo(2))))
      await right(storage.release(claim))
      assert.deepEqual(journalsOf(root), [journalName(2)])
    }
    const fs = meanwhile('open', replace, 'before', isFile(journalName(1)))
    await assertLoads(next(root, { fs }), 'a', upTo(2))
  })

  test('a load returns nothing older if the newest listed journals were pruned', async () => {
    const root = folder()
    for (let n = 1; n <= 3; n++) {
      const storage = next(root)
      const claim = await claimed(storage, 'a')
      await right(storage.save(claim, revisions(upTo(n))))
      await right(storage.release(claim))
    }
    const lose = async (): Promise<void> => {
      const storage = next(root)
      const claim = await claimed(storage, 'a')
      await right(storage.save(claim, revisions(upTo(4))))
      await right(storage.release(claim))
      nodeFileSystem.unlinkSync(journalOf(root, 3))
    }
    // The copy would reveal the loss.
    nodeFileSystem.unlinkSync(placesOf(root).copy)
    const fs = meanwhile('open', lose, 'before', isFile(journalName(3)))
    await assertLoads(next(root, { fs }), 'a', upTo(4))
  })

  test('a load lists again if the listing misses the only journal', async () => {
    const root = folder()
    await work(next(root), [0, 1])
    let times = 0
    const fs: FileSystem = {
      ...nodeFileSystem,
      readdir: async (path) => (path === placesOf(root).history && times++ === 0 ? [] : nodeFileSystem.readdir(path))
    }
    await assertLoads(next(root, { fs }), 'a', [0, 1])
  })

  test('a load reads a line that begins with zeros again before it reports damage', async () => {
    const root = folder()
    await work(next(root), [0, 1, 2])
    const content = readFileSync(journalOf(root, 1))
    const last = content.lastIndexOf('{"sum"')
    const before = content.lastIndexOf('{"sum"', last - 1)
    let times = 0
    const fs: FileSystem = {
      ...nodeFileSystem,
      read: async (fd, into, position) => {
        const count = await nodeFileSystem.read(fd, into, position)
        if (into.length > 10_000 && times++ === 0) into.fill(0, before + 5, before + 50)
        return count
      }
    }
    await assertLoads(next(root, { fs }), 'a', upTo(3))
    assert.ok(times >= 2)
  })

  test('a copy written during a load does not count as lost lines', async () => {
    for (const call of ['open', 'readdir', 'read'] as const) {
      for (const when of ['before', 'after'] as const) {
        const root = folder()
        const storage = next(root)
        const claim = await work(storage, [0])
        const more = async (): Promise<void> => {
          await right(storage.save(claim, revisions(upTo(2))))
          await right(storage.release(claim))
        }
        const { found } = some(await right(next(root, { fs: meanwhile(call, more, when) }).load('a')))
        assert.deepEqual(found, { _tag: 'Exact' })
      }
    }
  })

  test('a load whose listed files are always missing fails with the advice to try again', async () => {
    const root = folder()
    await work(next(root), [0])
    const open: FileSystem['open'] = (path, how) =>
      basename(path) === journalName(1)
        ? Promise.reject(Object.assign(new Error('ENOENT'), { code: 'ENOENT' }))
        : nodeFileSystem.open(path, how)
    const failed = await left(next(root, { fs: { ...nodeFileSystem, open } }).load('a'), 'ReadFailed')
    assert.match(describeStorage(failed), /EAGAIN: its files changed during each of 100 reads; try again$/)
  })

  test('a load returns None if the run is removed during the load', async () => {
    for (const call of ['readdir', 'open'] as const) {
      const root = folder()
      const first = next(root)
      await right(first.release(await work(first, [0])))
      const fs = meanwhile(call, () => right(next(root).remove('a')))
      assert.deepEqual(await right(next(root, { fs }).load('a')), O.none)
    }
  })
})

/** Journal 1 has "first". The owner of 2 was superseded before its first save, which is fenced. Journal 3 has "second", which follows journal 1. */
const withRefusedSave = async (root: string, keep: number): Promise<void> => {
  const first = next(root)
  await right(first.release(await work(first, ['first'])))
  const superseded = next(root)
  const claim = await claimed(superseded, 'a')
  const second = next(root, { keep })
  const owned = await claimed(second, 'a')
  await left(superseded.save(claim, revisions(['first', 'refused'])), 'Fenced')
  await right(second.save(owned, revisions(['first', 'second'])))
  await right(second.release(owned))
  nodeFileSystem.unlinkSync(placesOf(root).copy)
}

/** Damages the base of a journal but leaves its claim record readable. */
const damageBase = (root: string, number: number): void => {
  const path = journalOf(root, number)
  const lines = readFileSync(path, 'utf8').split('\n')
  const damaged = lines.map((line) => (line.includes('"kind":"base"') ? line.replace(/"sum":"./, '"sum":"-') : line))
  writeFileSync(path, damaged.join('\n'))
}

describe('a fenced save', () => {
  test('pruning does not count a journal whose only save was fenced, and so keeps the journal before that one', async () => {
    const root = folder()
    await withRefusedSave(root, 2)
    assert.deepEqual(journalsOf(root), [1, 2, 3].map(journalName))
    damageBase(root, 3)
    assertCarries(some(await right(next(root).load('a'))), ['first'])
  })

  test('a fenced save is never loaded, even if both journals after it are damaged', async () => {
    const root = folder()
    await withRefusedSave(root, 10)
    const third = next(root, { keep: 3 })
    const claim = await claimed(third, 'a')
    await right(third.save(claim, revisions(['first', 'second', 'third'])))
    await right(third.release(claim))
    nodeFileSystem.unlinkSync(placesOf(root).copy)
    assert.deepEqual(journalsOf(root), [1, 2, 3, 4].map(journalName))
    damageBase(root, 4)
    damageBase(root, 3)
    const stored = some(await right(next(root).load('a')))
    assertCarries(stored, ['first'])
    assert.equal(stored.found._tag, 'Recovered')
  })
})

describe('owners whose files vanish', () => {
  const happens: Record<string, (root: string) => unknown> = {
    'Removed runs/a': (root) => right(next(root).remove('a')),
    'Deleted runs/a': (root) => rmSync(placesOf(root).run, { recursive: true }),
    'Deleted runs/a/history': (root) => rmSync(placesOf(root).history, { recursive: true }),
    'Deleted runs/a/history/e000001.jsonl': (root) => rmSync(journalOf(root, 1)),
    'Deleted runs': (root) => renameSync(join(root, 'runs'), join(root, 'moved')),
    'Replaced runs/a/history/e000001.jsonl': (root) => {
      cpSync(placesOf(root).history, join(root, 'copy'), { recursive: true })
      rmSync(placesOf(root).history, { recursive: true })
      renameSync(join(root, 'copy'), placesOf(root).history)
    }
  }
  for (const [what, act] of Object.entries(happens)) {
    test(`a fenced owner reports what happened to its files: ${what}`, async () => {
      const root = folder()
      const storage = next(root)
      const claim = await work(storage, [0])
      await untilCopied(root, 0)
      await act(root)
      const { by, files } = await left(storage.save(claim, revisions(upTo(2))), 'Fenced')
      assert.deepEqual(by, O.none)
      assert.equal(`${files?.what} ${relative(root, files?.where ?? '')}`, what)
      assert.deepEqual((claim.lost.reason as Fenced).files, files)
      await right(storage.release(claim))
    })
  }
})

describe('races of a removal', () => {
  test('a removal is refused if another process claims the run', async () => {
    const root = folder()
    await work(next(root), [0])
    const fs = meanwhile('link', () => claimed(next(root), 'a'))
    await left(next(root, { fs }).remove('a'), 'HeldBy')
    await assertLoads(next(root), 'a', [0])
  })

  test('a removal just after another claim is refused with the reason, and the run stays', async () => {
    const root = folder()
    await work(next(root), [0])
    let checks = 0
    const fs = intercepted(({ call, target }) => {
      if (call === 'lstatSync' && target === journalOf(root, 3) && ++checks === 3) writeFileSync(journalOf(root, 3), '')
    })
    await left(next(root, { fs }).remove('a'), 'Fenced')
    assert.equal(checks, 3)
    rmSync(journalOf(root, 3))
    await assertLoads(next(root), 'a', [0])
  })

  test('a claim that finds no run folder because of a removal creates a new one', async () => {
    for (const call of ['mkdir', 'open', 'fsyncFolder', 'link'] as const) {
      const root = folder()
      await seed(next(root), 'a', [0])
      const remove = (): Promise<unknown> => right(next(root).remove('a'))
      const { claim, stored } = await right(next(root, { fs: meanwhile(call, remove) }).claim('a', OTHER))
      if (call !== 'mkdir') assert.deepEqual(stored, O.none, call)
      assert.ok(claim.epoch > 0)
    }
  })
})
