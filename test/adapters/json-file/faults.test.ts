/** Every call to the file system fails once, or from then on. */
import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import { describe, test } from 'vitest'
import type { JsonFileOptions } from '../../../src/adapters/json-file/index.js'
import type { FileSystem } from '../../../src/adapters/json-file/files/FileSystem.js'
import { fileArtifacts, fileRequests, jsonFileStorage } from '../../../src/adapters/json-file/index.js'
import { nodeFileSystem } from '../../../src/adapters/json-file/files/nodeFileSystem.js'
import type { CheckpointStorage, StorageError } from '../../../src/ports/CheckpointStorage.js'
import {
  assertLoads,
  claimed,
  left,
  OTHER,
  OWNER,
  revisions,
  right
} from '../../../src/testing/conformance/fixtures.js'
import { sweep } from '../../sweep.js'
import type { Call } from './kit.js'
import {
  assertIsStorageError,
  CALLS,
  digestOf,
  folder,
  intercepted,
  next,
  placesOf,
  processNumber,
  systemError,
  work
} from './kit.js'

const upTo = (n: number): ReadonlyArray<number> => Array.from({ length: n }, (_, index) => index)

/** Two claims with saves and loads, then a small third one. Returns what was acknowledged. */
const live = async (root: string, fs: FileSystem, errors: Array<StorageError>): Promise<number> => {
  let acknowledged = 0
  const attempt = async <A>(task: () => Promise<E.Either<StorageError, A>>): Promise<A | undefined> => {
    const result = await task()
    if (E.isRight(result)) return result.right
    errors.push(result.left)
    return undefined
  }
  for (let life = 0; life < 3; life++) {
    const storage = next(root, { fs, keep: 2, limits: { compactBytes: 0 } })
    const granted = await attempt(storage.claim('a', OWNER))
    if (granted === undefined) continue
    const found = O.isSome(granted.stored) ? granted.stored.value.revision + 1 : 0
    assert.ok(found >= acknowledged, `granted with ${found} revisions, ${acknowledged} were acknowledged`)
    for (let n = found + 1; n <= found + 5; n++) {
      if (
        (await attempt(() =>
          storage
            .save(granted.claim, revisions(upTo(n)))()
            .then(E.map(() => true))
        )) === undefined
      )
        break
      acknowledged = n
    }
    const loaded = await attempt(storage.load('a'))
    if (loaded !== undefined && acknowledged > 0) {
      assert.ok(O.isSome(loaded) && loaded.value.revision + 1 >= acknowledged)
    }
    if (life < 2) await attempt(storage.release(granted.claim))
  }
  return acknowledged
}

/** What a process without faults finds afterwards. */
const assertNothingIsLost = async (root: string, acknowledged: number): Promise<void> => {
  const storage = next(root)
  const loaded = await right(storage.load('a'))
  const revision = O.isSome(loaded) ? loaded.value.revision : -1
  assert.ok(revision + 1 >= acknowledged, `${revision + 1} revisions, ${acknowledged} were acknowledged`)
  if (O.isSome(loaded)) assert.deepEqual(loaded.value.found, { _tag: 'Exact' })
  const { claim, stored } = await right(storage.claim('a', OTHER))
  assert.deepEqual(O.isSome(stored) ? stored.value.revision : -1, revision)
  await right(storage.save(claim, revisions(upTo(revision + 2))))
  await assertLoads(storage, 'a', upTo(revision + 2))
  await right(storage.release(claim))
}

const countOf = async (call: Call): Promise<number> => {
  let count = 0
  await live(
    folder(),
    intercepted((made) => void (count += made.call === call ? 1 : 0)),
    []
  )
  return count
}

const CODES: Partial<Record<Call, ReadonlyArray<string>>> = {
  open: ['EMFILE', 'EIO', 'EACCES'],
  read: ['EIO'],
  write: ['ENOSPC'],
  writeSync: ['ENOSPC', 'EIO'],
  link: ['ENOSPC', 'EPERM'],
  fdatasync: ['EIO', 'ENOSPC']
}

describe('failing file system calls', () => {
  for (const call of CALLS) {
    test(`a failing ${call} makes the store return one of its declared errors and loses no acknowledged save`, async () => {
      const count = await countOf(call)
      const stride = sweep ? 1 : Math.ceil(count / 4)
      for (const code of CODES[call] ?? ['EIO']) {
        for (const lasts of [1, Number.POSITIVE_INFINITY]) {
          for (let nth = 0; nth < count; nth += stride) {
            const root = folder()
            const errors: Array<StorageError> = []
            let seen = 0
            const fs = intercepted((made) => {
              if (made.call === call && seen++ >= nth && seen <= nth + lasts) throw systemError(code)
            })
            const acknowledged = await live(root, fs, errors)
            errors.forEach(assertIsStorageError)
            for (const error of errors) assert.ok(!['Corrupt', 'Insecure', 'UnsupportedFormat'].includes(error._tag))
            await assertNothingIsLost(root, acknowledged)
          }
        }
      }
    }, 120_000)
  }

  test('a load of unreadable state returns an error and never an older checkpoint', async () => {
    const root = folder()
    const storage = next(root)
    await right(storage.release(await work(storage, [0, 1])))
    await right(next(root).release(await claimed(next(root), 'a')).length === 0 ? storage.load('a') : storage.load('a'))
    const second = next(root)
    const { claim } = await right(second.claim('a', OWNER))
    await right(second.save(claim, revisions(upTo(3))))
    const before = digestOf(placesOf(root).history)
    for (const code of ['EIO', 'EACCES', 'EMFILE', 'ENFILE', 'ESTALE']) {
      for (const call of ['open', 'fstat', 'read', 'readdir', 'lstatSync'] as const) {
        const fs = intercepted((made) => {
          if (made.call === call) throw systemError(code)
        })
        const error = await left(next(root, { fs }).load('a'), 'ReadFailed')
        assert.equal(error.code, code)
        assert.equal((error.cause as NodeJS.ErrnoException).code, code)
        await left(next(root, { fs }).claim('a', OTHER), 'ReadFailed')
        await left(next(root, { fs }).history('a'), 'ReadFailed')
      }
    }
    assert.equal(digestOf(placesOf(root).history), before)
  })
})

describe('failed writes and syncs', () => {
  const breaking = (root: string, call: Call) => {
    let broken = false
    const writes: Array<Call> = []
    const fs = intercepted((made) => {
      if (!broken) return
      if (['write', 'writeSync', 'ftruncateSync', 'fdatasync'].includes(made.call)) writes.push(made.call)
      if (made.call === call) throw systemError('ENOSPC')
    })
    return { storage: next(root, { fs }), writes, break: (on = true) => void (broken = on) }
  }

  for (const call of ['writeSync', 'fdatasync'] as const) {
    test(`after a failed ${call} the journal is never written again, and every later save returns the same error`, async () => {
      const root = folder()
      const { storage, writes, break: broken } = breaking(root, call)
      const claim = await work(storage, [0, 1])
      broken()
      const error = await left(storage.save(claim, revisions(upTo(3))), 'WriteFailed')
      assert.deepEqual([error.code, error.operation.startsWith(call.slice(0, 5))], ['ENOSPC', true])
      writes.length = 0
      assert.deepEqual(await storage.save(claim, revisions(upTo(3)))(), E.left(error))
      assert.deepEqual(writes, [])
      assert.equal(claim.lost.aborted, false)
    })

    test(`after a failed ${call} the same process can claim the run at once, even without a release`, async () => {
      const root = folder()
      const { storage, break: broken } = breaking(root, call)
      const claim = await work(storage, [0, 1])
      broken()
      await left(storage.save(claim, revisions(upTo(3))), 'WriteFailed')
      broken(false)
      const again = await claimed(storage, 'a')
      await left(storage.save(claim, revisions(upTo(3))), 'WriteFailed')
      await right(storage.release(claim))
      const loaded = await right(storage.load('a'))
      const revision = O.isSome(loaded) ? loaded.value.revision : -1
      await right(storage.save(again, revisions(upTo(revision + 2))))
      await right(storage.release(again))
    })

    test(`after a failed ${call} and a release, other processes can claim the run although the owner lives`, async () => {
      const root = folder()
      const { storage, break: broken } = breaking(root, call)
      const claim = await work(storage, [0, 1])
      broken()
      await left(storage.save(claim, revisions(upTo(3))), 'WriteFailed')
      broken(false)
      await right(storage.release(claim))
      const other = next(root, { processes: { self: () => ELSEWHERE, isAlive: () => true } })
      await right(other.claim('a', OTHER))
    })
  }

  const ELSEWHERE = { host: 'h', pid: 1, thread: 1, start: 'x', bootId: null, pidNamespace: null, timeNamespace: null }

  test('a journal that cannot be preallocated for lack of space is appended to; any other error fails the save', async () => {
    for (const code of ['ENOSPC', 'EDQUOT', 'EFBIG', 'EIO', 'EROFS']) {
      const root = folder()
      const fs = intercepted((made) => {
        if (made.call === 'extendSync') throw systemError(code)
      })
      const storage = next(root, { fs })
      const claim = await claimed(storage, 'a')
      if (code.startsWith('EI') || code === 'EROFS') {
        assert.equal((await left(storage.save(claim, revisions([0])), 'WriteFailed')).code, code)
        await left(storage.save(claim, revisions([0])), 'WriteFailed')
      } else await right(storage.save(claim, revisions([0])))
      await right(storage.release(claim))
    }
  })

  test('the process can claim a run again after a failed release', async () => {
    const root = folder()
    const { storage, break: broken } = breaking(root, 'write')
    const claim = await work(storage, [0, 1])
    broken()
    await left(storage.release(claim), 'WriteFailed')
    broken(false)
    const { stored } = await right(storage.claim('a', OWNER))
    assert.ok(O.isSome(stored) && stored.value.revision === 1)
  })
})

describe('one failing call in a living process', () => {
  /** Three processes: the first is dead for the others, the last alive. */
  const storageOf = (root: string, process: 1 | 2 | 3, options: JsonFileOptions = {}) =>
    jsonFileStorage(root, { processes: processNumber(process), ...options })

  /** Every nth call fails. */
  const STRIDE = sweep ? 1 : 2

  /** Fails the nth call after a start; returns false if there were fewer calls. */
  const failing = (nth: number, code: string) => {
    let seen = -1
    const fs = intercepted(() => {
      if (seen >= 0 && seen++ === nth) throw systemError(code)
    })
    return { fs, begin: () => void (seen = 0), wasReached: () => seen > nth }
  }

  test('a claim that is refused for lack of file descriptors leaves the run free', async () => {
    for (let nth = 0; ; nth++) {
      const root = folder()
      await work(storageOf(root, 1), [0, 1])
      let left = Infinity
      let ran = false
      const fs = intercepted(({ call }) => {
        if (call !== 'open' || left-- > 0) return
        ran = true
        throw systemError('EMFILE')
      })
      const storage = storageOf(root, 3, { fs })
      left = nth
      const result = await storage.claim('a', OWNER)()
      if (!ran) break
      if (E.isRight(result)) await storage.release(result.right.claim)()
      const { stored } = await right(storageOf(root, 2).claim('a', OTHER))
      assert.equal(O.isSome(stored) ? stored.value.revision : -1, 1, `open ${nth}`)
    }
  })

  test('the next owner can claim a run whose journal it can read but not write', async () => {
    const root = folder()
    await work(storageOf(root, 1), [0, 1])
    const fs: FileSystem = {
      ...nodeFileSystem,
      open: (path, how) =>
        how === 'write' && path.endsWith('e000001.jsonl')
          ? Promise.reject(systemError('EACCES'))
          : nodeFileSystem.open(path, how)
    }
    const { claim } = await right(storageOf(root, 2, { fs }).claim('a', OTHER))
    assert.equal(claim.epoch, 2)
  })

  for (const code of ['EIO', 'EMFILE']) {
    for (const before of [[], [0, 1]]) {
      test(`a claim refused for ${code} on a run with ${before.length} revisions leaves the run free`, async () => {
        for (let nth = 0; ; nth += STRIDE) {
          const root = folder()
          if (before.length > 0) await work(storageOf(root, 1), before)
          const { fs, begin, wasReached } = failing(nth, code)
          const storage = storageOf(root, 3, { fs })
          begin()
          const result = await storage.claim('a', OWNER)()
          if (!wasReached()) break
          if (E.isRight(result)) await storage.release(result.right.claim)()
          else assertIsStorageError(result.left)
          const { claim, stored } = await right(storageOf(root, 2).claim('a', OTHER))
          assert.equal(O.isSome(stored) ? stored.value.revision : -1, before.length - 1, `call ${nth}`)
          assert.ok(claim.epoch > 0)
        }
      })
    }

    test(`a claim released after ${code} in a compaction leaves the run free`, async () => {
      const limits = { compactBytes: 0 }
      let count = 0
      for (; ; count++) {
        const root = folder()
        const claim = await work(storageOf(root, 3, { limits }), upTo(count + 1))
        if (claim.epoch === 1 && readdirSync(placesOf(root).history).includes('e000002.jsonl')) break
      }
      for (let nth = 0; ; nth += STRIDE) {
        const root = folder()
        const { fs, begin, wasReached } = failing(nth, code)
        const storage = storageOf(root, 3, { fs, limits })
        const claim = await work(storage, upTo(count))
        begin()
        const saved = await storage.save(claim, revisions(upTo(count + 1)))()
        if (!wasReached()) break
        await storage.release(claim)()
        const { stored } = await right(storageOf(root, 2).claim('a', OTHER))
        const revision = O.isSome(stored) ? stored.value.revision : -1
        assert.ok(revision >= count - (E.isRight(saved) ? 0 : 1), `call ${nth}`)
        assert.ok(O.isSome(stored) && stored.value.found._tag === 'Exact', `call ${nth}`)
      }
    })
  }
})

test('a claim, an artifact or a request whose folder cannot be created fails as not committed', async () => {
  const full = Object.assign(new Error('no space left'), { code: 'ENOSPC' })
  const fs: FileSystem = { ...nodeFileSystem, mkdir: () => Promise.reject(full) }
  const root = folder()
  const claim = await left(jsonFileStorage(root, { fs }).claim('a', OWNER), 'WriteFailed')
  const put = await left(fileArtifacts(root, { fs }).put('a', 'x', 'text'), 'WriteFailed')
  assert.deepEqual([claim.committed, put.committed], ['no', 'no'])
  await next(root).claim('a', OWNER)()
  const request = { _tag: 'Cancel', runId: 'a', requestedAt: '2026-01-02T03:04:05.000Z' } as const
  const asked = await left(fileRequests(root, { fs }).leave(request), 'WriteFailed')
  assert.equal(asked.committed, 'no')
})

const failed = (code: string) => Object.assign(new Error(code), { code })

test.each<readonly [string, Partial<FileSystem>]>([
  [
    'created',
    { open: (path, how) => (how === 'create' ? Promise.reject(failed('EROFS')) : nodeFileSystem.open(path, how)) }
  ],
  ['written', { write: () => Promise.reject(failed('ENOSPC')) }],
  ['synced', { fdatasync: (_, done) => done(failed('EIO')) }]
])('a claim or a removal whose journal cannot be %s changes nothing and fails as not committed', async (_, faults) => {
  const root = folder()
  const storage = next(root)
  await right(storage.release(await work(storage, [0])))
  const before = digestOf(root)
  const fs: FileSystem = { ...nodeFileSystem, ...faults }
  const claim = await left(next(root, { fs }).claim('a', OWNER), 'WriteFailed')
  const removal = await left(next(root, { fs }).remove('a'), 'WriteFailed')
  assert.deepEqual([claim.committed, removal.committed], ['no', 'no'])
  assert.equal(digestOf(root), before)
})

describe('short writes', () => {
  for (const size of [1, 7, 100]) {
    test(`a file system that writes ${size} bytes at a time loses nothing`, async () => {
      const root = folder()
      const fs: FileSystem = {
        ...nodeFileSystem,
        write: (fd, bytes, position) => nodeFileSystem.write(fd, bytes.subarray(0, size), position),
        writeSync: (fd, bytes, position) => nodeFileSystem.writeSync(fd, bytes.subarray(0, size), position),
        read: (fd, into, position) => nodeFileSystem.read(fd, into.subarray(0, 1000), position)
      }
      const storage: CheckpointStorage = next(root, { fs })
      const claim = await work(storage, [0, 1, 2])
      await assertLoads(storage, 'a', upTo(3))
      await right(storage.release(claim))
      await assertLoads(next(root), 'a', upTo(3))
    })
  }

  test('a write call that writes no bytes is an error', async () => {
    const root = folder()
    let stuck = false
    const fs: FileSystem = {
      ...nodeFileSystem,
      writeSync: (fd, bytes, position) => (stuck ? 0 : nodeFileSystem.writeSync(fd, bytes, position))
    }
    const storage = next(root, { fs })
    const claim = await work(storage, [0])
    stuck = true
    await left(storage.save(claim, revisions(upTo(2))), 'WriteFailed')
  })
})
