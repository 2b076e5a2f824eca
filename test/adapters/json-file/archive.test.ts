import assert from 'node:assert/strict'
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as E from 'fp-ts/lib/Either.js'
import { afterEach, beforeEach, describe, test } from 'vitest'
import { fileArchive } from '../../../src/adapters/json-file/index.js'
import { nodeFileSystem } from '../../../src/adapters/json-file/files/nodeFileSystem.js'

let root: string
beforeEach(() => {
  root = join(mkdtempSync(join(tmpdir(), 'dogear-archive-')), 'state')
})
afterEach(() => rmSync(join(root, '..'), { recursive: true, force: true }))

const RUN = { runId: 'release-1', createdAt: '2026-01-02T03:04:05.678Z', checkpoint: { revision: 7 } }

const filesIn = (): ReadonlyArray<string> => readdirSync(join(root, 'archive')).sort()

describe('the archive', () => {
  test('the archive has one indented file for each run, readable only by this user', async () => {
    const kept = await fileArchive(root).keep(RUN)()
    const path = join(root, 'archive', 'release-1-20260102T030405678Z.json')
    assert.deepEqual(kept, E.right(path))
    assert.equal(readFileSync(path, 'utf8'), '{\n  "revision": 7\n}\n')
    assert.equal(statSync(path).mode & 0o777, 0o600)
    assert.equal(statSync(join(root, 'archive')).mode & 0o777, 0o700)
  })

  test('the archive replaces the file of the same run and keeps that of an earlier run with the same id', async () => {
    await fileArchive(root).keep(RUN)()
    await fileArchive(root).keep({ ...RUN, checkpoint: { revision: 8 } })()
    await fileArchive(root).keep({ ...RUN, createdAt: '2026-02-02T03:04:05.678Z' })()
    assert.deepEqual(filesIn(), ['release-1-20260102T030405678Z.json', 'release-1-20260202T030405678Z.json'])
    assert.match(readFileSync(join(root, 'archive', filesIn()[0] ?? ''), 'utf8'), /8/)
  })

  test('an archived file gets its name only when it is complete and synced', async () => {
    const calls: Array<string> = []
    const fs = {
      ...nodeFileSystem,
      fdatasync: (fd: number, done: (error: Error | null) => void) => {
        calls.push('fdatasync')
        nodeFileSystem.fdatasync(fd, done)
      },
      renameSync: (from: string, to: string) => {
        calls.push('rename')
        nodeFileSystem.renameSync(from, to)
      },
      fsyncFolder: (path: string) => {
        calls.push(path.endsWith('archive') ? 'fsync of the folder' : 'fsync above')
        return nodeFileSystem.fsyncFolder(path)
      }
    }
    await fileArchive(root, { fs }).keep(RUN)()
    assert.deepEqual(calls.slice(-4), ['fsync above', 'fdatasync', 'rename', 'fsync of the folder'])
    const full = { ...fs, write: () => Promise.reject(Object.assign(new Error('full'), { code: 'ENOSPC' })) }
    const failed = await fileArchive(root, { fs: full }).keep({ ...RUN, runId: 'other' })()
    assert.ok(E.isLeft(failed) && failed.left._tag === 'WriteFailed' && failed.left.code === 'ENOSPC')
    assert.deepEqual(filesIn(), ['release-1-20260102T030405678Z.json'])
  })

  test('the archive follows no link and refuses invalid ids', async () => {
    mkdirSync(join(root, 'elsewhere'), { recursive: true })
    symlinkSync(join(root, 'elsewhere'), join(root, 'archive'))
    const linked = await fileArchive(root).keep(RUN)()
    assert.ok(E.isLeft(linked) && linked.left._tag === 'Insecure')
    assert.deepEqual(readdirSync(join(root, 'elsewhere')), [])
    const named = await fileArchive(root).keep({ ...RUN, runId: '../x' })()
    assert.ok(E.isLeft(named) && named.left._tag === 'InvalidRunId')
  })

  test('the archive deletes old unfinished files that a crash left', async () => {
    mkdirSync(join(root, 'archive'), { recursive: true, mode: 0o700 })
    const [old, young] = ['a', 'b'].map((digit) => join(root, 'archive', `keep-${digit.repeat(32)}.tmp`))
    for (const path of [old, young]) writeFileSync(path ?? '', '')
    utimesSync(old ?? '', 0, 0)
    await fileArchive(root).keep(RUN)()
    assert.deepEqual(filesIn(), [`keep-${'b'.repeat(32)}.tmp`, 'release-1-20260102T030405678Z.json'])
  })
})
