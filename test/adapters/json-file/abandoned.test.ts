/** What is left of a claim of a new run that ended before its first save, and its removal by `prune`. */
import assert from 'node:assert/strict'
import { existsSync, mkdirSync, readdirSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { describe, test } from 'vitest'
import type { FileSystem } from '../../../src/adapters/json-file/files/FileSystem.js'
import { nodeFileSystem } from '../../../src/adapters/json-file/files/nodeFileSystem.js'
import { jsonFileStorage } from '../../../src/adapters/json-file/index.js'
import { nodeEnvironment } from '../../../src/adapters/node/index.js'
import { prune } from '../../../src/index.js'
import type { CheckpointStorage, Claim, HeldBy } from '../../../src/ports/CheckpointStorage.js'
import { assertLoads, claimed, left, OTHER, revisions, right, seed } from '../../../src/testing/conformance/fixtures.js'
import { folder, next, placesOf } from './kit.js'
import { ended, started, wait } from './owners.js'
import { LINUX } from './sockets.js'

const HOURS = 2 * 3_600

/** Makes all files in the folder of runs older than an hour. */
const age = (root: string): void => {
  const runs = join(root, 'runs')
  const then = Date.now() / 1_000 - HOURS
  for (const name of readdirSync(runs, { recursive: true, encoding: 'utf8' })) utimesSync(join(runs, name), then, then)
}

const pruned = async (storage: CheckpointStorage): Promise<ReadonlyArray<string>> => {
  const { removed, left, neverStarted } = await right(prune({ keep: 0 })(nodeEnvironment(storage)))
  assert.deepEqual([removed, left], [[], []])
  return neverStarted.map(({ runId, why }) => (why === undefined ? runId : `${runId}: ${why}`))
}

const isThere = (root: string): boolean => existsSync(placesOf(root).run)

/** A run `a` that a dead process claimed and never saved. */
const abandoned = async (): Promise<string> => {
  const root = folder()
  await claimed(next(root), 'a')
  age(root)
  return root
}

/** A file system that stops a removal once its claim is published, until another claim of the run is refused. */
const stoppedRemoval = (root: string, other: CheckpointStorage) => {
  let refusal: Promise<HeldBy> | undefined
  const isPublished = (): boolean => readdirSync(placesOf(root).history).includes('e000002.jsonl')
  const fs: FileSystem = {
    ...nodeFileSystem,
    open: async (path, how) => {
      if (refusal === undefined && isPublished()) {
        refusal = left(other.claim('a', OTHER), 'HeldBy')
        await refusal
      }
      return nodeFileSystem.open(path, how)
    }
  }
  return { fs, refusal: () => refusal }
}

describe('a claim that ended before its first save', () => {
  for (const at of [
    'between bind and listen',
    'between listen and rename',
    'between rename and publish',
    'between publish and grant',
    'after the grant'
  ]) {
    test(
      `files left by a process that was killed ${at} of its claim are pruned once they are an hour old`,
      LINUX,
      async () => {
        const root = folder()
        const owner = await started(root)
        if (at === 'after the grant') {
          await owner.does({ op: 'claim', runId: 'a' }, 'Granted')
          age(root)
          // Its next touch is seconds away.
          assert.deepEqual(await pruned(jsonFileStorage(root)), [])
          await owner.kill()
        } else {
          await owner.does({ op: 'die', at }, 'Told')
          owner.tell({ op: 'claim', runId: 'a' })
          await ended(owner.child)
          assert.deepEqual(await pruned(jsonFileStorage(root)), [])
        }
        assert.ok(isThere(root))
        age(root)
        assert.deepEqual(await pruned(jsonFileStorage(root)), ['a'])
        assert.deepEqual(readdirSync(root), ['runs'])
        assert.deepEqual(readdirSync(join(root, 'runs')), [])
      }
    )
  }

  test('a run that a living process holds is not listed as abandoned, so that a dry run names only what a prune removes', async () => {
    const root = folder()
    const owner = jsonFileStorage(root)
    const claim = await claimed(owner, 'a')
    age(root)
    const listed = async () => await right(jsonFileStorage(root).list())
    assert.deepEqual(await listed(), [{ runId: 'a' }])
    await right(owner.release(claim))
    age(root)
    assert.deepEqual(await listed(), [{ runId: 'a', isAbandoned: true }])
  })

  test('empty folders of a new run, as a full disk leaves them, are pruned once they are an hour old', async () => {
    const root = folder()
    mkdirSync(placesOf(root).history, { recursive: true })
    mkdirSync(placesOf(root, 'b').run)
    assert.deepEqual(await pruned(jsonFileStorage(root)), [])
    age(root)
    assert.deepEqual(await pruned(jsonFileStorage(root)), ['a', 'b'])
    assert.deepEqual(readdirSync(join(root, 'runs')), [])
  })

  test('a folder with a link, or with a file that no claim creates, is not pruned', async () => {
    const files = ['notes.txt', 'checkpoint.json', 'artifacts/h-log', 'requests/cancel.json', 'history/e000001.txt']
    for (const file of files) {
      const root = await abandoned()
      mkdirSync(join(placesOf(root).run, file, '..'), { recursive: true })
      writeFileSync(join(placesOf(root).run, file), '')
      age(root)
      assert.deepEqual(await pruned(jsonFileStorage(root)), [], file)
      assert.ok(existsSync(join(placesOf(root).run, file)), file)
    }
    const root = folder()
    mkdirSync(placesOf(root, 'b').run, { recursive: true })
    symlinkSync(folder(), placesOf(root).run)
    symlinkSync(folder(), placesOf(root, 'b').history)
    age(root)
    assert.deepEqual(await pruned(jsonFileStorage(root)), [])
  })

  test('a run with a checkpoint stays, however old it is and however often it was claimed since', async () => {
    const root = folder()
    await seed(next(root), 'a', [1])
    for (let n = 0; n < 3; n++) await claimed(next(root), 'a')
    age(root)
    assert.deepEqual(await pruned(jsonFileStorage(root)), [])
    await assertLoads(jsonFileStorage(root), 'a', [1])
  })
})

describe('a claim during a prune of the files of an earlier claim', () => {
  const saves = async (storage: CheckpointStorage, claim: Claim): Promise<void> => {
    await right(storage.save(claim, revisions(['new'])))
    await right(storage.release(claim))
    await assertLoads(storage, 'a', ['new'])
  }

  /** Files with something that happens before the call with this index, of those that can wait. */
  const pausedAt = (index: number, happens: () => Promise<unknown>): FileSystem => {
    let made = 0
    const calls = nodeFileSystem as unknown as Record<string, (...args: ReadonlyArray<unknown>) => unknown>
    const wrap = (call: string, act: (...args: ReadonlyArray<unknown>) => unknown) =>
      call.endsWith('Sync') || call === 'fdatasync'
        ? act
        : async (...args: ReadonlyArray<unknown>): Promise<unknown> => {
            if (made++ === index) await happens()
            return await act(...args)
          }
    return Object.fromEntries(
      Object.entries(calls).map(([call, act]) => [call, wrap(call, act)])
    ) as unknown as FileSystem
  }

  test('a claim that stalls for hours before any of its calls is still granted if a prune removes its folder meanwhile', async () => {
    let removals = 0
    let isDone = false
    for (let at = 0; !isDone; at++) {
      const root = await abandoned()
      isDone = true
      const sleeping = pausedAt(at, async () => {
        isDone = false
        if (!existsSync(placesOf(root).run)) return
        age(root)
        removals += (await pruned(jsonFileStorage(root))).length
      })
      const storage = jsonFileStorage(root, { fs: sleeping })
      await saves(storage, await claimed(storage, 'a'))
    }
    assert.ok(removals > 10, `the folder was removed ${removals} times`)
  })

  test('a claim that begins before any call of a prune is granted, and its saves survive', async () => {
    let isDone = false
    for (let at = 0; !isDone; at++) {
      const root = await abandoned()
      const storage = jsonFileStorage(root)
      isDone = true
      let claiming: Promise<Claim> | undefined
      const paused = pausedAt(at, async () => {
        isDone = false
        claiming = claimed(storage, 'a')
        await Promise.race([claiming, wait(20)])
      })
      await pruned(jsonFileStorage(root, { fs: paused }))
      if (claiming !== undefined) await saves(storage, await claiming)
    }
  })

  test('a claim waits a second for a removal that does not continue, and is then refused', async () => {
    const root = await abandoned()
    const stopped = stoppedRemoval(root, jsonFileStorage(root))
    const before = performance.now()
    assert.deepEqual(await pruned(jsonFileStorage(root, { fs: stopped.fs })), ['a'])
    assert.equal((await stopped.refusal())?.holder.liveness, 'alive')
    assert.ok(performance.now() - before > 900)
  })

  test('a claim that waits for a removal reads what is stored only once', async () => {
    const root = folder()
    await seed(next(root), 'a', [1])
    const read: Array<string> = []
    const counting = {
      ...nodeFileSystem,
      open: (path: string, how: 'read' | 'write' | 'create') => {
        if (how === 'read') read.push(basename(path))
        return nodeFileSystem.open(path, how)
      }
    }
    const stopped = stoppedRemoval(root, jsonFileStorage(root, { fs: counting }))
    await right(jsonFileStorage(root, { fs: stopped.fs }).remove('a'))
    assert.equal((await stopped.refusal())?.holder.liveness, 'alive')
    assert.ok(read.filter((name) => name === 'e000002.jsonl').length > 50, 'it looked at the removal')
    assert.equal(read.filter((name) => name === 'e000001.jsonl').length, 1)
  })
})
