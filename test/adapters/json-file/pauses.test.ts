import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import {
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import { afterEach, beforeEach, describe, test } from 'vitest'
import { filePauses, nodeFileSystem } from '../../../src/adapters/json-file/index.js'
import { memoryPauses } from '../../../src/adapters/memory.js'
import type { Pause, PauseError, PointerError, Pauses } from '../../../src/index.js'

const request: Pause.PauseRequest = {
  runId: 'r',
  addressee: { host: 'build-1', pid: 100, since: '2026-01-02T03:04:05.000Z' },
  commit: true,
  requestedAt: '2026-01-02T03:04:06.000Z'
}

const pointer: Pause.ContinueHere = {
  runId: 'r',
  workflow: 'release',
  stepIndex: 1,
  unit: 'checks/lint',
  commits: ['a'.repeat(40)],
  pausedAt: '2026-01-02T03:04:07.000Z'
}

let root: string
let pauses: Pauses
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'dogear-pauses-'))
  mkdirSync(join(root, 'runs/r'), { recursive: true })
  pauses = filePauses(root)
})
afterEach(() => rmSync(root, { recursive: true, force: true }))

const right = <A>(result: E.Either<unknown, A>): A =>
  E.isRight(result) ? result.right : assert.fail(JSON.stringify(result.left))

const left = (result: E.Either<{ readonly _tag: string }, unknown>): string =>
  E.isLeft(result) ? result.left._tag : assert.fail('it was accepted')

describe('a request to pause', () => {
  test('that was left is found by another process, and not any more once it is withdrawn', async () => {
    assert.equal(pauses.isRequested('r'), false)
    right(await pauses.request(request)())
    const other = filePauses(root)
    assert.equal(other.isRequested('r'), true)
    assert.deepEqual(right(await other.requested('r')()), O.some(request))
    right(await other.withdraw('r')())
    assert.equal(pauses.isRequested('r'), false)
    assert.deepEqual(readdirSync(join(root, 'runs/r')), [])
    right(await other.withdraw('r')())
  })

  test.each(['open', 'write', 'fdatasync', 'renameSync'] as const)(
    'for which there is no room at the %s is refused, and nothing of it stays',
    async (call) => {
      const full = (): never => {
        throw Object.assign(new Error('no space left'), { code: 'ENOSPC' })
      }
      right(await pauses.request(request)())
      const { request: ask, point } = filePauses(root, { fs: { ...nodeFileSystem, [call]: full } })
      const isRefused = (result: E.Either<PauseError | PointerError, unknown>): boolean =>
        E.isLeft(result) && result.left._tag === 'WriteFailed' && result.left.code === 'ENOSPC'
      assert.ok(isRefused(await ask({ ...request, commit: false })()))
      assert.ok(isRefused(await point(pointer)()))
      assert.deepEqual(right(await pauses.requested('r')()), O.some(request))
      assert.deepEqual([readdirSync(root), readdirSync(join(root, 'runs/r'))], [['runs'], ['pause.json']])
    }
  )

  test('is for its user alone', async () => {
    right(await pauses.request(request)())
    assert.equal(lstatSync(join(root, 'runs/r/pause.json')).mode & 0o777, 0o600)
  })

  test.each([
    ['not JSON', '{', 'Corrupt'],
    ['not UTF-8', Buffer.from([0x22, 0xff, 0x22]), 'Corrupt'],
    ['of another run', JSON.stringify({ format: 1, ...request, runId: 'other' }), 'Corrupt'],
    ['without a format', JSON.stringify(request), 'Corrupt'],
    ['of a newer format', JSON.stringify({ ...request, format: 2 }), 'UnsupportedFormat'],
    ['that is nothing but brackets', '['.repeat(60_000), 'Corrupt'],
    ['too large', 'x'.repeat(70_000), 'TooLarge']
  ])('%s is refused and left as it is', async (_, content, tag) => {
    const path = join(root, 'runs/r/pause.json')
    writeFileSync(path, content)
    assert.equal(left(await pauses.requested('r')()), tag)
    assert.deepEqual(readFileSync(path), Buffer.from(content))
  })

  test('that is a link is none, and what it leads to is not written to', async () => {
    const target = join(root, 'target')
    writeFileSync(target, 'mine')
    symlinkSync(target, join(root, 'runs/r/pause.json'))
    assert.equal(pauses.isRequested('r'), false)
    assert.equal(left(await pauses.requested('r')()), 'Insecure')
    right(await pauses.request(request)())
    assert.equal(readFileSync(target, 'utf8'), 'mine')
    assert.deepEqual(right(await pauses.requested('r')()), O.some(request))
  })

  test('in a run folder that is a link is neither left nor taken away', async () => {
    symlinkSync(join(root, 'runs/r'), join(root, 'runs/linked'))
    assert.equal(left(await pauses.request({ ...request, runId: 'linked' })()), 'Insecure')
    assert.deepEqual(readdirSync(join(root, 'runs/r')), [])
    right(await pauses.request(request)())
    assert.equal(left(await pauses.withdraw('linked')()), 'Insecure')
    assert.equal(pauses.isRequested('r'), true)
  })

  test.each([
    ['files', () => pauses],
    ['memory', memoryPauses]
  ])('is taken away by who has seen it, and a newer one stays: in %s', async (_, make) => {
    const kept = make()
    const newer = { ...request, requestedAt: '2026-01-02T03:04:07.000Z' }
    right(await kept.request(newer)())
    right(await kept.withdraw('r', request)())
    assert.deepEqual(right(await kept.requested('r')()), O.some(newer))
    right(await kept.withdraw('r', { ...newer })())
    assert.equal(kept.isRequested('r'), false)
    right(await kept.withdraw('r', newer)())
    assert.deepEqual(readdirSync(join(root, 'runs/r')), [])
  })

  test('that comes while an older one is looked at before it goes is the one that stays', async () => {
    const newest = { ...request, requestedAt: '2026-01-02T03:04:09.000Z' }
    const fs = {
      ...nodeFileSystem,
      link: async (from: string, to: string) => {
        right(await pauses.request(newest)())
        return nodeFileSystem.link(from, to)
      }
    }
    right(await pauses.request({ ...request, requestedAt: '2026-01-02T03:04:07.000Z' })())
    right(await filePauses(root, { fs }).withdraw('r', request)())
    assert.deepEqual(right(await pauses.requested('r')()), O.some(newest))
    assert.deepEqual(readdirSync(join(root, 'runs/r')), ['pause.json'])
  })

  test('for what is no run id touches no file', async () => {
    assert.equal(left(await pauses.request({ ...request, runId: '../r' })()), 'InvalidRunId')
    assert.equal(pauses.isRequested('../r'), false)
  })
})

describe('the pointer to the run that paused last', () => {
  test('says where it is, is found by another process, and is replaced by the next', async () => {
    assert.deepEqual(right(await pauses.pointer()), O.none)
    assert.equal(right(await pauses.point(pointer)()), join(root, 'continue-here.json'))
    assert.deepEqual(right(await filePauses(root).pointer()), O.some(pointer))
    right(await pauses.point({ ...pointer, runId: 'other' })())
    assert.deepEqual(O.toUndefined(right(await pauses.pointer()))?.runId, 'other')
    assert.equal(lstatSync(join(root, 'continue-here.json')).mode & 0o777, 0o600)
  })

  test('is taken away with the run that it leads to, and with no other', async () => {
    right(await pauses.point(pointer)())
    right(await pauses.unpoint('other')())
    assert.deepEqual(right(await pauses.pointer()), O.some(pointer))
    right(await pauses.unpoint('r')())
    assert.deepEqual(right(await pauses.pointer()), O.none)
  })

  test.each([
    ['not JSON', '{'],
    ['that is nothing but brackets', '['.repeat(3_000_000)],
    ['whose id leads elsewhere', JSON.stringify({ format: 1, ...pointer, runId: '../../etc' })],
    ['with a hash that is an option of git', JSON.stringify({ format: 1, ...pointer, committed: '--upload-pack=x' })],
    ['with control characters', JSON.stringify({ format: 1, ...pointer, unit: '\u001b[2J' })],
    ['of a newer format', JSON.stringify({ ...pointer, format: 2 })]
  ])('%s is refused and left as it is', async (_, content) => {
    const path = join(root, 'continue-here.json')
    writeFileSync(path, content)
    assert.equal(left(await pauses.pointer()), 'InvalidPointer')
    assert.equal(readFileSync(path, 'utf8'), content)
  })

  test.each([
    ['no JSON', 'a JSON object', (path: string) => writeFileSync(path, '{')],
    ['a list', 'a JSON object', (path: string) => writeFileSync(path, '[]')],
    ['a folder', 'it is not a regular file', (path: string) => mkdirSync(path)],
    ['a FIFO', 'it is not a regular file', (path: string) => execFileSync('mkfifo', [path])],
    ['too large', 'it has 16777217 bytes', (path: string) => writeFileSync(path, Buffer.alloc(16_777_217))]
  ])('that is %s is refused, and it is said why', async (_, why, spoil) => {
    spoil(join(root, 'continue-here.json'))
    const found = await pauses.pointer()
    assert.ok(E.isLeft(found) && found.left._tag === 'InvalidPointer')
    assert.match(found.left.why, new RegExp(why))
  })

  test('that is a link is not followed, and is replaced and not written through', async () => {
    const target = join(root, 'target')
    writeFileSync(target, JSON.stringify({ format: 1, ...pointer }))
    symlinkSync(target, join(root, 'continue-here.json'))
    assert.equal(left(await pauses.pointer()), 'InvalidPointer')
    right(await pauses.point({ ...pointer, runId: 'other' })())
    assert.equal(readFileSync(target, 'utf8'), JSON.stringify({ format: 1, ...pointer }))
  })
})

describe('what a process that was killed has left unfinished', () => {
  const token = 'ab'.repeat(16)

  test.each([
    ['request', 'runs/r/pause.json', () => pauses.request(request)()],
    ['pointer', 'continue-here.json', () => pauses.point(pointer)()]
  ])(
    'of a %s is deleted by the next that leaves one, when it is older than an hour; all else stays',
    async (_, name, leave) => {
      const path = join(root, name)
      const strangers = [`${path}.mine`, `${path}.${token}.bak`, `${path}.${'AB'.repeat(16)}`]
      const young = `${path}.${'cd'.repeat(16)}`
      const old = `${path}.${token}`
      for (const one of [...strangers, young, old]) writeFileSync(one, '{')
      const longAgo = Date.now() / 1000 - 3660
      for (const one of [...strangers, old]) utimesSync(one, longAgo, longAgo)
      right<unknown>(await leave())
      const left = readdirSync(dirname(path)).map((one) => join(dirname(path), one))
      assert.ok(!left.includes(old))
      for (const one of [path, young, ...strangers]) assert.ok(left.includes(one), one)
      assert.equal(left.filter((one) => one.startsWith(path)).length, 5)
    }
  )
})
