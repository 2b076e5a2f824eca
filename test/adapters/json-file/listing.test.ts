/** The summaries that a listing reads at the ends of journals, and removals that share their syncs. */
import assert from 'node:assert/strict'
import { appendFileSync, copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import * as E from 'fp-ts/lib/Either.js'
import { describe, test } from 'vitest'
import * as Line from '../../../src/adapters/json-file/journal/Line.js'
import type { CheckpointStorage, Listed } from '../../../src/ports/CheckpointStorage.js'
import {
  claimed,
  left,
  OTHER,
  revisions,
  right,
  seed,
  summary,
  upTo
} from '../../../src/testing/conformance/fixtures.js'
import { folder, journalOf, next, placesOf, recorded, systemError, work } from './kit.js'

const listed = (storage: CheckpointStorage) => right(storage.list())

const revisionsOf = (runs: ReadonlyArray<Listed>): ReadonlyArray<readonly [string, number | undefined]> =>
  runs.map(({ runId, summary: found }) => [runId, found?.revision])

describe('a listed summary', () => {
  test('a listing reads only the end of one file of a released run', async () => {
    const root = folder()
    await seed(next(root), 'a', ['x'.repeat(100_000), 1])
    const { fs, calls } = recorded()
    assert.deepEqual(revisionsOf(await listed(next(root, { fs }))), [['a', 1]])
    assert.deepEqual(
      calls.flatMap(({ call, target }) => (call === 'open' ? [target] : [])),
      [journalOf(root, 1)]
    )
    assert.equal(calls.filter(({ call }) => call === 'read').length, 1)
  })

  test('a listing has no summary of a run that its owner has not released', async () => {
    const root = folder()
    await seed(next(root), 'a', [1])
    await work(next(root), [2], [1])
    assert.deepEqual(revisionsOf(await listed(next(root))), [['a', undefined]])
  })

  test('a claim that saves nothing keeps the summary that it found', async () => {
    const root = folder()
    await seed(next(root), 'a', [1, 2])
    for (let n = 0; n < 2; n++) {
      const storage = next(root)
      await right(storage.release(await claimed(storage, 'a', OTHER)))
    }
    const [run] = await listed(next(root))
    const { heldBy: _, ...facts } = run?.summary ?? assert.fail('it has none')
    assert.deepEqual(facts, summary([1, 2]))
  })

  test('a claim of a run whose owner died without a release writes no summary until its first save', async () => {
    const root = folder()
    await work(next(root), [1, 2])
    const idle = next(root)
    await right(idle.release(await claimed(idle, 'a')))
    assert.deepEqual(revisionsOf(await listed(next(root))), [['a', undefined]])
    const storage = next(root)
    const claim = await claimed(storage, 'a')
    await right(storage.save(claim, revisions([1, 2, 3])))
    await right(storage.release(claim))
    assert.deepEqual(revisionsOf(await listed(next(root))), [['a', 2]])
  })

  test('any damage to the end of a journal leaves its run without a summary', async () => {
    const root = folder()
    await seed(next(root), 'a', upTo(3))
    const path = journalOf(root, 1)
    const bytes = readFileSync(path)
    const begin = bytes.lastIndexOf('\n', -2) + 1
    for (let at = begin; at < bytes.length; at += 7) {
      const damaged = Buffer.from(bytes)
      damaged[at] = (damaged[at] as number) ^ 0x01
      writeFileSync(path, damaged)
      assert.deepEqual(revisionsOf(await listed(next(root))), [['a', undefined]], `a bit at ${at} was changed`)
    }
    for (let end = begin + 1; end < bytes.length; end += 7) {
      writeFileSync(path, bytes.subarray(0, end))
      assert.deepEqual(revisionsOf(await listed(next(root))), [['a', undefined]], `it was cut at ${end}`)
    }
    writeFileSync(path, bytes)
    appendFileSync(path, 'x')
    assert.deepEqual(revisionsOf(await listed(next(root))), [['a', undefined]], 'a byte was added')
  })

  test('a journal that belongs to another run or another number has no summary', async () => {
    const root = folder()
    for (const runId of ['a', 'b']) await seed(next(root), runId, [runId])
    const { history } = placesOf(root, 'c')
    mkdirSync(history, { recursive: true, mode: 0o700 })
    copyFileSync(journalOf(root, 1), join(history, 'e000001.jsonl'))
    copyFileSync(journalOf(root, 1), journalOf(root, 2))
    assert.deepEqual(revisionsOf(await listed(next(root))), [
      ['a', undefined],
      ['b', 0],
      ['c', undefined]
    ])
  })

  test.each([
    ['a string in place of an object', 'text'],
    ['an unknown status', { ...summary([1]), status: 'toString' }],
    ['a revision that is not a number', { ...summary([1]), revision: '0' }],
    ['a workflow without a name', { ...summary([1]), workflow: {} }],
    ['a path that is not a string', { ...summary([1]), workflow: { name: 'w', path: 1 } }],
    ['step counts that are not numbers', { ...summary([1]), steps: { completed: 1, total: null } }],
    ['a number in place of a time', { ...summary([1]), updatedAt: 0 }]
  ])('a summary with %s is ignored', async (_, value) => {
    const root = folder()
    await seed(next(root), 'a', [1])
    const path = journalOf(root, 1)
    const lines = readFileSync(path, 'utf8').split('\n').slice(0, -2)
    const line = { kind: 'released', at: '', revision: 0, runId: 'a', epoch: 1, summary: value }
    writeFileSync(path, Buffer.concat([Buffer.from(`${lines.join('\n')}\n`), Line.encode(JSON.stringify(line))]))
    assert.deepEqual(revisionsOf(await listed(next(root))), [['a', undefined]])
  })
})

describe('removals at the same time', () => {
  const syncsOf = (calls: ReturnType<typeof recorded>['calls'], path: string): number =>
    calls.filter(({ call, target }) => call === 'fsyncFolder' && target === path).length

  test('a hundred concurrent removals share the syncs of the parent folders', async () => {
    const root = folder()
    const ids = Array.from({ length: 100 }, (_, n) => `run-${n}`)
    for (const runId of ids) await seed(next(root), runId, [1])
    const { fs, calls } = recorded()
    const storage = next(root, { fs })
    const removed = await Promise.all(ids.map((runId) => storage.remove(runId)()))
    assert.ok(removed.every(E.isRight))
    assert.deepEqual(await listed(storage), [])
    for (const path of [root, join(root, 'runs')]) assert.ok(syncsOf(calls, path) <= 20, String(syncsOf(calls, path)))
  })

  test('a removal deletes only what was moved away before the parent folders were synced', async () => {
    const root = folder()
    await seed(next(root), 'a', [1])
    const { fs, calls } = recorded()
    await right(next(root, { fs }).remove('a'))
    const order = calls.flatMap(({ call, target }) =>
      ['renameSync', 'removeTree'].includes(call) || (call === 'readdir' && target === root) || target === root
        ? [call]
        : []
    )
    const made = order.filter((call) => ['readdir', 'fsyncFolder', 'removeTree'].includes(call))
    assert.deepEqual(made.slice(-3), ['readdir', 'fsyncFolder', 'removeTree'])
  })

  test('a folder that cannot be deleted fails the removal of its run and no other', async () => {
    const root = folder()
    for (const runId of ['a', 'b']) await seed(next(root), runId, [1])
    const { fs } = recorded()
    const storage = next(root, {
      fs: {
        ...fs,
        removeTree: (path) => (path.endsWith('-a') ? Promise.reject(systemError('EIO')) : fs.removeTree(path))
      }
    })
    const [a, b] = await Promise.all([storage.remove('a')(), storage.remove('b')()])
    assert.deepEqual([a._tag, b._tag], ['Left', 'Right'])
    rmSync(placesOf(root).run, { recursive: true, force: true })
    assert.deepEqual(await listed(storage), [])
  })

  test('a failed sync of the parent folders fails every removal that shares it', async () => {
    const root = folder()
    for (const runId of ['a', 'b']) await seed(next(root), runId, [1])
    const { fs } = recorded()
    const storage = next(root, {
      fs: { ...fs, fsyncFolder: (path) => (path === root ? Promise.reject(systemError('EIO')) : fs.fsyncFolder(path)) }
    })
    await Promise.all(['a', 'b'].map((runId) => left(storage.remove(runId), 'WriteFailed')))
  })

  test('a repeated removal succeeds only once the parent folders are synced, and a removal in an empty or missing store succeeds', async () => {
    const root = folder()
    await seed(next(root), 'a', [1])
    const { fs } = recorded()
    let fails = true
    const storage = next(root, {
      fs: {
        ...fs,
        fsyncFolder: (path) => (fails && path === root ? Promise.reject(systemError('EIO')) : fs.fsyncFolder(path))
      }
    })
    await left(storage.remove('a'), 'WriteFailed')
    await left(storage.remove('a'), 'WriteFailed')
    fails = false
    await right(storage.remove('a'))
    for (const empty of [folder(), join(folder(), 'missing')]) await right(next(empty).remove('a'))
  })
})
