/** The order of operations in docs/file-format.md: each test fails if two of them are swapped. */
import assert from 'node:assert/strict'
import { basename, dirname } from 'node:path'
import { describe, test } from 'vitest'
import { nodeFileSystem } from '../../../src/adapters/json-file/files/nodeFileSystem.js'
import { claimed, left, revisions, right } from '../../../src/testing/conformance/fixtures.js'
import type { Call, Made } from './kit.js'
import {
  folder,
  journalName,
  journalOf,
  journalsOf,
  next,
  placesOf,
  recorded,
  systemError,
  untilCopied,
  work,
  intercepted
} from './kit.js'

const names = (calls: ReadonlyArray<Made>): ReadonlyArray<Call> => calls.map(({ call }) => call)

const indexOf = (calls: ReadonlyArray<Made>, call: Call, target?: string | number, from = 0): number => {
  const index = calls.findIndex(
    (made, at) => at >= from && made.call === call && (target ?? made.target) === made.target
  )
  assert.notEqual(index, -1, `no ${call} of ${target}`)
  return index
}

describe('the order of a claim', () => {
  test('the file of a claim is complete and synced before it has its name, and its folder is synced before anything is read', async () => {
    const root = folder()
    await work(next(root), [1, 2])
    const { fs, calls } = recorded()
    await claimed(next(root, { fs }), 'a')
    const link = indexOf(calls, 'link')
    const written = calls.slice(0, link)
    assert.ok(names(written).lastIndexOf('fdatasync') > names(written).lastIndexOf('write'))
    const synced = indexOf(calls, 'fsyncFolder', placesOf(root).history, link)
    const listed = indexOf(calls, 'readdir', placesOf(root).history, synced)
    const readAgain = calls.findIndex(
      ({ call, target }, at) => at > link && call === 'open' && target === journalOf(root, 1)
    )
    assert.ok(listed > synced && readAgain > listed, `${link} ${synced} ${listed} ${readAgain}`)
    assert.equal(calls.filter(({ call, target }) => call === 'open' && target === journalOf(root, 2)).length, 1)
  })

  test('a claim creates its file before the listing that determines its number, and at the end checks that it is the newest', async () => {
    const root = folder()
    await work(next(root), [1])
    const { fs, calls } = recorded()
    await claimed(next(root, { fs }), 'a')
    const made = calls.findIndex(({ call, target }) => call === 'open' && String(target).endsWith('-1.tmp'))
    const listed = indexOf(calls, 'readdir', placesOf(root).history, made)
    assert.ok(made < listed && listed < indexOf(calls, 'link'))
    const synced = names(calls).lastIndexOf('fdatasync')
    assert.ok(names(calls).lastIndexOf('placeSync') > synced || process.platform !== 'linux')
    assert.ok(calls.findLastIndex(({ target }) => target === journalOf(root, 3)) > synced)
  })

  test('a claim syncs separately what it has found', async () => {
    const root = folder()
    await work(next(root), [1])
    const { fs, calls } = recorded()
    await claimed(next(root, { fs }), 'a')
    const after = names(calls.slice(indexOf(calls, 'link')))
    const written = after.indexOf('write')
    assert.ok(written > 0 && after.indexOf('fdatasync', written) > written)
  })

  test('a claim of a new run makes every folder durable before the first journal has its name', async () => {
    const root = `${folder()}/deep/er`
    const { fs, calls } = recorded()
    await claimed(next(root, { fs }), 'a')
    const synced = calls
      .slice(0, indexOf(calls, 'link'))
      .flatMap(({ call, target }) => (call === 'fsyncFolder' ? [target] : []))
    const { run } = placesOf(root)
    for (const path of [dirname(dirname(root)), dirname(root), root, dirname(run), run])
      assert.ok(synced.includes(path), path)
  })

  test('a claim makes folders durable that a killed process created', async () => {
    const root = folder()
    const crashing = intercepted(({ call }) => {
      if (call === 'fsyncFolder') throw systemError('EIO')
    })
    await left(next(root, { fs: crashing }).claim('a', { host: 'h', pid: 1 }), 'WriteFailed')
    const { fs, calls } = recorded()
    await claimed(next(root, { fs }), 'a')
    assert.ok(indexOf(calls, 'fsyncFolder', dirname(placesOf(root).run)) < indexOf(calls, 'link'))
  })

  test('a refused claim changes nothing', async () => {
    const root = folder()
    const owner = next(root)
    await work(owner, [1])
    const { fs, calls } = recorded()
    await left(
      next(root, { fs, processes: { self: () => ({ ...self, start: 'x' }), isAlive: () => true } }).claim('a', {
        host: 'h',
        pid: 1
      }),
      'HeldBy'
    )
    const changing: ReadonlyArray<Call> = [
      'mkdir',
      'link',
      'renameSync',
      'unlinkSync',
      'write',
      'writeSync',
      'ftruncateSync',
      'replace',
      'removeTree'
    ]
    assert.deepEqual(
      calls.filter(({ call }) => changing.includes(call)),
      []
    )
    assert.deepEqual(
      calls.filter(({ call, target }) => call === 'open' && String(target).endsWith('.tmp')),
      []
    )
  })
})

const self = { host: 'h', pid: 1, thread: 1, start: '1', bootId: null, pidNamespace: null, timeNamespace: null }

describe('the order of a save', () => {
  test('a save is one write, one sync, and then the check for a successor', async () => {
    const root = folder()
    const { fs, calls } = recorded()
    const storage = next(root, { fs })
    const claim = await work(storage, [1])
    await untilCopied(root, 0)
    for (let n = 2; n <= 10; n++) {
      calls.length = 0
      await right(storage.save(claim, revisions(Array.from({ length: n }, (_, index) => index))))
      const writing: ReadonlyArray<Call> = ['write', 'writeSync', 'extendSync', 'ftruncateSync', 'fdatasync']
      assert.deepEqual(
        names(calls).filter((call) => writing.includes(call)),
        ['writeSync', 'fdatasync']
      )
      // checkpoint.json may be written in the background at any time, with a separate check.
      const synced = indexOf(calls, 'fdatasync')
      const checked = indexOf(calls, 'lstatSync', journalOf(root, 2), synced)
      if (process.platform === 'linux') indexOf(calls, 'placeSync', calls[synced]?.target, checked)
      else indexOf(calls, 'lstatSync', journalOf(root, 1), checked)
    }
  })

  test('a save of several revisions is one write and one sync, even if it is the first', async () => {
    const root = folder()
    const { fs, calls } = recorded()
    const storage = next(root, { fs })
    const claim = await claimed(storage, 'a')
    for (const payloads of [
      [1, 2, 3],
      [1, 2, 3, 4, 5, 6]
    ]) {
      calls.length = 0
      await right(storage.save(claim, revisions(payloads, 3)))
      assert.equal(names(calls).filter((call) => call === 'fdatasync').length, 1)
      assert.equal(names(calls).filter((call) => call === 'writeSync').length, 1)
    }
  })

  test('a save is refused if a successor claimed between its sync and its check', async () => {
    const root = folder()
    let claimNow: (() => Promise<unknown>) | undefined
    const fs = {
      ...nodeFileSystem,
      fdatasync: (fd: number, done: (error: Error | null) => void): void => {
        const claim = claimNow
        claimNow = undefined
        nodeFileSystem.fdatasync(fd, (error) =>
          claim === undefined ? done(error) : void claim().then(() => done(error))
        )
      }
    }
    const storage = next(root, { fs })
    const claim = await work(storage, [1])
    const successor = next(root)
    claimNow = successor.claim('a', { host: 'h', pid: 2 })
    const { epoch } = await left(storage.save(claim, revisions([1, 2])), 'Fenced')
    assert.equal(epoch, 1)
  })

  test("a save is refused if the owner's file was pruned, even if the next number is free again", async () => {
    const root = folder()
    const storage = next(root)
    const claim = await work(storage, [1])
    const successor = next(root)
    const second = await claimed(successor, 'a')
    await right(successor.save(second, revisions([1, 2])))
    nodeFileSystem.unlinkSync(journalOf(root, 1))
    nodeFileSystem.renameSync(journalOf(root, 2), journalOf(root, 7))
    await left(storage.save(claim, revisions([1, 2])), 'Fenced')
  })

  test("a save is refused if another file has the journal's name", async () => {
    const root = folder()
    const storage = next(root)
    const claim = await work(storage, [1])
    nodeFileSystem.renameSync(journalOf(root, 1), `${journalOf(root, 1)}.moved`)
    await nodeFileSystem.link(`${journalOf(root, 1)}.moved`, `${journalOf(root, 1)}.too`)
    const fd = await nodeFileSystem.open(journalOf(root, 1), 'create')
    await nodeFileSystem.close(fd)
    await left(storage.save(claim, revisions([1, 2])), 'Fenced')
  })
})

describe('the order of pruning', () => {
  test('pruning deletes the oldest journals first, after the base of the claim is synced and checked, and keeps the configured number', async () => {
    const root = folder()
    for (let n = 1; n <= 5; n++) {
      const storage = next(root, { keep: 10 })
      const claim = await claimed(storage, 'a')
      await right(storage.save(claim, revisions(Array.from({ length: n }, (_, index) => index))))
      await right(storage.release(claim))
    }
    const { fs, calls } = recorded()
    const storage = next(root, { keep: 3, fs })
    const claim = await claimed(storage, 'a')
    calls.length = 0
    await right(storage.save(claim, revisions([0, 1, 2, 3, 4, 5])))
    await right(storage.release(claim))
    const deleted = calls.flatMap(({ call, target }) => (call === 'unlinkSync' ? [basename(String(target))] : []))
    assert.deepEqual(
      deleted.filter((name) => name.endsWith('.jsonl')),
      [1, 2, 3].map(journalName)
    )
    assert.ok(indexOf(calls, 'unlinkSync') > indexOf(calls, 'fdatasync') + 2)
    assert.deepEqual(journalsOf(root), [4, 5, 6].map(journalName))
    for (const [at, { call }] of calls.entries()) {
      if (call === 'unlinkSync' && String(calls[at]?.target).endsWith('.jsonl')) {
        const before = names(calls.slice(at - 2, at))
        assert.deepEqual(before, process.platform === 'linux' ? ['lstatSync', 'placeSync'] : ['lstatSync', 'lstatSync'])
      }
    }
  })
})
