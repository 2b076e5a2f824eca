import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmdirSync,
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
import type { FileSystem } from '../../../src/adapters/json-file/files/FileSystem.js'
import { fileRequests, jsonFileStorage } from '../../../src/adapters/json-file/index.js'
import { nodeFileSystem } from '../../../src/adapters/json-file/files/nodeFileSystem.js'
import { seed } from '../../../src/testing/conformance/fixtures.js'
import type { RequestError, Requests } from '../../../src/index.js'
import type { AlreadyAnswered, PointerError } from '../../../src/ports/Requests.js'
import type * as Pause from '../../../src/domain/request/Pause.js'
import type * as Request from '../../../src/domain/request/Request.js'

const request: Request.PauseRequest = {
  _tag: 'Pause',
  runId: 'r',
  addressee: { host: 'build-1', pid: 100, since: '2026-01-02T03:04:05.000Z' },
  commit: true,
  requestedAt: '2026-01-02T03:04:06.000Z'
}

const cancelled: Request.CancelRequest = { _tag: 'Cancel', runId: 'r', requestedAt: '2026-01-02T03:04:05.500Z' }

const answer: Request.AnswerRequest = {
  _tag: 'Answer',
  runId: 'r',
  unit: 'approve/release',
  value: { ok: true },
  by: 'alex',
  requestedAt: '2026-01-02T03:04:08.000Z'
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
let requests: Requests
const inbox = (): string => join(root, 'runs/r/requests')
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'dogear-requests-'))
  mkdirSync(join(root, 'runs/r'), { recursive: true })
  requests = fileRequests(root)
})
afterEach(() => rmSync(root, { recursive: true, force: true }))

const right = <A>(result: E.Either<unknown, A>): A =>
  E.isRight(result) ? result.right : assert.fail(JSON.stringify(result.left))

const left = (result: E.Either<{ readonly _tag: string }, unknown>): string =>
  E.isLeft(result) ? result.left._tag : assert.fail('it was accepted')

describe('requests in files', () => {
  test('another process finds a request, and withdrawing the request leaves no folder', async () => {
    right(await requests.leave(request)())
    const other = fileRequests(root)
    assert.equal(other.isAny('r'), true)
    assert.deepEqual(right(await other.list('r')()), [request])
    right(await other.withdraw(request)())
    assert.deepEqual(readdirSync(join(root, 'runs/r')), [])
  })

  test('a request has one file for each kind, and an answer one for each unit', async () => {
    for (const one of [request, cancelled, answer]) right(await requests.leave(one)())
    const digest = createHash('sha256').update('approve/release').digest('hex').slice(0, 32)
    assert.deepEqual(readdirSync(inbox()).sort(), [`answer-${digest}.json`, 'cancel.json', 'pause.json'])
    assert.deepEqual(JSON.parse(readFileSync(join(inbox(), 'cancel.json'), 'utf8')), { format: 1, ...cancelled })
  })

  test.each(['open', 'write', 'fdatasync', 'renameSync', 'mkdir'] as const)(
    'a request that cannot be written because the disk is full at the %s changes nothing',
    async (call) => {
      const full = (): never => {
        throw Object.assign(new Error('no space left'), { code: 'ENOSPC' })
      }
      right(await requests.leave(request)())
      const { leave, point } = fileRequests(root, { fs: { ...nodeFileSystem, [call]: full } })
      const isRefused = (result: E.Either<RequestError | PointerError | AlreadyAnswered, unknown>): boolean =>
        E.isLeft(result) && result.left._tag === 'WriteFailed' && result.left.code === 'ENOSPC'
      assert.ok(isRefused(await leave({ ...request, commit: false })()))
      if (call !== 'mkdir') assert.ok(isRefused(await point(pointer)()))
      assert.deepEqual(right(await requests.list('r')()), [request])
      assert.deepEqual([readdirSync(inbox()), readdirSync(join(root, 'runs/r'))], [['pause.json'], ['requests']])
    }
  )

  test('a request that cannot be stored leaves no folder', async () => {
    const full = (): never => {
      throw Object.assign(new Error('no space left'), { code: 'ENOSPC' })
    }
    left(await fileRequests(root, { fs: { ...nodeFileSystem, renameSync: full } }).leave(request)())
    assert.deepEqual(readdirSync(join(root, 'runs/r')), [])
    assert.equal(requests.isAny('r'), false)
  })

  test('a request to a run that does not exist is refused and creates nothing', async () => {
    assert.equal(left(await requests.leave({ ...request, runId: 'none' })()), 'WriteFailed')
    assert.deepEqual(readdirSync(join(root, 'runs')), ['r'])
  })

  test('a request can be read only by its user', async () => {
    right(await requests.leave(request)())
    assert.equal(lstatSync(inbox()).mode & 0o777, 0o700)
    assert.equal(lstatSync(join(inbox(), 'pause.json')).mode & 0o777, 0o600)
  })

  test.each([
    ['with invalid JSON', '{', 'Corrupt'],
    ['with invalid UTF-8', Buffer.from([0x22, 0xff, 0x22]), 'Corrupt'],
    ['of another run', JSON.stringify({ format: 1, ...request, runId: 'other' }), 'Corrupt'],
    ['that is a cancel in the file of a pause', JSON.stringify({ format: 1, ...cancelled }), 'Corrupt'],
    ['without a format', JSON.stringify(request), 'Corrupt'],
    ['of a newer format', JSON.stringify({ ...request, format: 2 }), 'UnsupportedFormat'],
    ['that consists of brackets', '['.repeat(60_000), 'Corrupt'],
    ['over 64 KiB', 'x'.repeat(70_000), 'TooLarge']
  ])('a request %s is refused, stays unchanged, and is cleared when its execution ends', async (_, content, tag) => {
    mkdirSync(inbox())
    const path = join(inbox(), 'pause.json')
    writeFileSync(path, content)
    assert.equal(left(await requests.list('r')()), tag)
    assert.deepEqual(readFileSync(path), Buffer.from(content))
    right(await requests.clearPause('r')())
    assert.deepEqual(readdirSync(join(root, 'runs/r')), [])
  })

  test('a request whose value nests too deep is refused', async () => {
    right(await requests.leave(answer)())
    const [name = ''] = readdirSync(inbox())
    const deep = `${'['.repeat(501)}${']'.repeat(501)}`
    writeFileSync(join(inbox(), name), JSON.stringify({ format: 1, ...answer }).replace('{"ok":true}', deep))
    assert.equal(left(await requests.list('r')()), 'Corrupt')
  })

  test('an answer can have a value of up to 16 MiB', async () => {
    const large = { ...answer, value: 'x'.repeat(16_777_214) }
    right(await requests.leave(large)())
    assert.deepEqual(right(await requests.list('r')()), [large])
    const larger = { ...answer, unit: 'other', value: 'x'.repeat(16_777_216 + 65_536) }
    assert.equal(left(await requests.leave(larger)()), 'TooLarge')
    assert.equal(readdirSync(inbox()).length, 1)
  })

  test('a link in place of a request is not followed and is replaced', async () => {
    const target = join(root, 'target')
    writeFileSync(target, 'mine')
    mkdirSync(inbox())
    symlinkSync(target, join(inbox(), 'pause.json'))
    assert.equal(left(await requests.list('r')()), 'Insecure')
    right(await requests.leave(request)())
    assert.equal(readFileSync(target, 'utf8'), 'mine')
    assert.deepEqual(right(await requests.list('r')()), [request])
  })

  test('no request is written or deleted through a run folder or inbox that is a link', async () => {
    const elsewhere = join(root, 'elsewhere')
    mkdirSync(elsewhere)
    right(await requests.leave(request)())
    symlinkSync(join(root, 'runs/r'), join(root, 'runs/linked'))
    mkdirSync(join(root, 'runs/s'))
    symlinkSync(elsewhere, join(root, 'runs/s/requests'))
    for (const runId of ['linked', 's']) {
      assert.equal(left(await requests.leave({ ...request, runId })()), 'Insecure')
      assert.equal(left(await requests.withdraw({ ...request, runId })()), 'Insecure')
      assert.equal(left(await requests.clearPause(runId)()), 'Insecure')
    }
    assert.equal(requests.isAny('s'), false)
    assert.deepEqual([readdirSync(elsewhere), requests.isAny('r')], [[], true])
  })

  test('if a request arrives while a withdrawal compares an older request, the new request stays', async () => {
    const newest = { ...request, requestedAt: '2026-01-02T03:04:09.000Z' }
    const fs = {
      ...nodeFileSystem,
      link: async (from: string, to: string) => {
        right(await requests.leave(newest)())
        return nodeFileSystem.link(from, to)
      }
    }
    right(await requests.leave({ ...request, requestedAt: '2026-01-02T03:04:07.000Z' })())
    right(await fileRequests(root, { fs }).withdraw(request)())
    assert.deepEqual(right(await requests.list('r')()), [newest])
    assert.deepEqual([readdirSync(inbox()), readdirSync(join(root, 'runs/r'))], [['pause.json'], ['requests']])
  })

  test('a withdrawal restores a request that it took for comparison and found newer, even if the inbox was removed in the meantime', async () => {
    const newer = { ...request, requestedAt: '2026-01-02T03:04:07.000Z' }
    right(await requests.leave(newer)())
    const fs = {
      ...nodeFileSystem,
      mkdir: async (path: string) => {
        // Another process tries to remove the inbox, which holds the taken request.
        if (path === inbox()) assert.throws(() => rmdirSync(path), { code: 'ENOTEMPTY' })
        return nodeFileSystem.mkdir(path)
      }
    }
    right(await fileRequests(root, { fs }).withdraw(request)())
    assert.deepEqual(right(await requests.list('r')()), [newer])
  })

  /** A file system that stops before its nth change, and all later ones, as that of a killed process. */
  const killedAt = (change: number): { readonly fs: FileSystem; readonly wasKilled: () => boolean } => {
    let changes = 0
    const counted =
      <Args extends ReadonlyArray<unknown>, A>(call: (...args: Args) => A) =>
      (...args: Args): A => {
        changes += 1
        if (changes >= change) throw Object.assign(new Error('killed'), { code: 'EIO' })
        return call(...args)
      }
    const { link, mkdir, renameSync, unlinkSync, rmdirSync: rmdir, fsyncFolder } = nodeFileSystem
    const fs = {
      ...nodeFileSystem,
      link: counted(link),
      mkdir: counted(mkdir),
      renameSync: counted(renameSync),
      unlinkSync: counted(unlinkSync),
      rmdirSync: counted(rmdir),
      fsyncFolder: counted(fsyncFolder)
    }
    return { fs, wasKilled: () => changes >= change }
  }

  test.each([request, cancelled, answer])(
    'a withdrawal that is killed at any change loses no other request of its slot: $_tag',
    async (other) => {
      const old = { ...other, requestedAt: '2026-01-02T03:04:00.000Z' }
      for (let change = 1; ; change++) {
        right(await requests.leave(other)())
        const { fs, wasKilled } = killedAt(change)
        await fileRequests(root, { fs }).withdraw(old)()
        assert.deepEqual(right(await requests.list('r')()), [other], `killed at change ${change}`)
        right(await requests.withdraw(other)())
        assert.deepEqual([right(await requests.list('r')()), requests.isAny('r')], [[], false])
        if (!wasKilled()) break
      }
    }
  )

  test.each(['renameSync', 'link'] as const)(
    'two processes withdraw one request at once, with no failure and no inbox left: %s',
    async (call) => {
      right(await requests.leave(request)())
      const fs = {
        ...nodeFileSystem,
        mkdir: async (path: string) => {
          if (call === 'link') for (const one of readdirSync(inbox())) rmSync(join(inbox(), one))
          return nodeFileSystem.mkdir(path)
        },
        renameSync: (from: string, to: string) => {
          nodeFileSystem.renameSync(from, to)
          // Another process withdraws the request in the meantime.
          if (call === 'renameSync') rmSync(to)
        }
      }
      const older = { ...request, requestedAt: '2026-01-02T03:04:00.000Z' }
      right(await fileRequests(root, { fs }).withdraw(call === 'link' ? older : request)())
      assert.deepEqual(readdirSync(join(root, 'runs/r')), [])
    }
  )

  test('a withdrawal succeeds if another process removes the empty inbox before its sync', async () => {
    right(await requests.leave(request)())
    const fs = {
      ...nodeFileSystem,
      fsyncFolder: (folder: string) => {
        rmSync(inbox(), { recursive: true, force: true })
        return nodeFileSystem.fsyncFolder(folder)
      }
    }
    right(await fileRequests(root, { fs }).withdraw(request)())
    assert.deepEqual(readdirSync(join(root, 'runs/r')), [])
  })

  test('a pause whose withdrawal was killed is cleared with its inbox', async () => {
    for (let change = 1; ; change++) {
      right(await requests.leave(request)())
      const { fs, wasKilled } = killedAt(change)
      await fileRequests(root, { fs }).withdraw(request)()
      right(await requests.clearPause('r')())
      assert.deepEqual([right(await requests.list('r')()), requests.isAny('r')], [[], false])
      if (!wasKilled()) break
    }
  })

  test('leaving a request succeeds even if an owner removes the empty inbox repeatedly', async () => {
    for (const one of [request, answer]) {
      let times = 5
      const fs = {
        ...nodeFileSystem,
        mkdir: async (path: string) => {
          await nodeFileSystem.mkdir(path)
          if (times-- > 0) rmdirSync(path)
        },
        lstatSync: (path: string) => nodeFileSystem.lstatSync(path === inbox() ? join(root, 'runs/r') : path)
      }
      right(await fileRequests(root, { fs }).leave(one)())
      assert.deepEqual(right(await requests.list('r')()), [one])
      right(await requests.withdraw(one)())
    }
  })

  test('leaving a request succeeds even if an owner withdraws it at once', async () => {
    const fs = {
      ...nodeFileSystem,
      fsyncFolder: async (path: string) => {
        if (path === inbox()) right(await requests.withdraw(request)())
        return nodeFileSystem.fsyncFolder(path)
      }
    }
    right(await fileRequests(root, { fs }).leave(request)())
    assert.equal(requests.isAny('r'), false)
  })

  test('a request for an invalid run id touches no file', async () => {
    assert.equal(left(await requests.leave({ ...request, runId: '../r' })()), 'InvalidRunId')
    assert.equal(requests.isAny('../r'), false)
  })

  test('checking for requests costs one lstat', () => {
    const calls: Array<string> = []
    const fs = Object.fromEntries(
      Object.keys(nodeFileSystem).map((name) => [name, () => void calls.push(name)])
    ) as unknown as FileSystem
    fileRequests(root, { fs }).isAny('r')
    assert.deepEqual(calls, ['lstatSync'])
  })

  test('removing a run deletes its requests', async () => {
    const storage = jsonFileStorage(root)
    await seed(storage, 'removed', [1])
    right(await requests.leave({ ...cancelled, runId: 'removed' })())
    right(await storage.remove('removed')())
    assert.deepEqual([requests.isAny('removed'), readdirSync(join(root, 'runs'))], [false, ['r']])
  })
})

describe('the pause pointer', () => {
  test('the pause pointer is found by another process, replaced by the next pause, and readable only by its user', async () => {
    assert.deepEqual(right(await requests.pointer()), O.none)
    assert.equal(right(await requests.point(pointer)()), join(root, 'continue-here.json'))
    assert.deepEqual(right(await fileRequests(root).pointer()), O.some(pointer))
    right(await requests.point({ ...pointer, runId: 'other' })())
    assert.deepEqual(O.toUndefined(right(await requests.pointer()))?.runId, 'other')
    assert.equal(lstatSync(join(root, 'continue-here.json')).mode & 0o777, 0o600)
  })

  test('the pause pointer is deleted with its run and with no other', async () => {
    right(await requests.point(pointer)())
    right(await requests.unpoint('other')())
    assert.deepEqual(right(await requests.pointer()), O.some(pointer))
    right(await requests.unpoint('r')())
    assert.deepEqual(right(await requests.pointer()), O.none)
  })

  test.each([
    ['with invalid JSON', '{'],
    ['that consists of brackets', '['.repeat(3_000_000)],
    ['whose id is a path', JSON.stringify({ format: 1, ...pointer, runId: '../../etc' })],
    ['with a hash that is an option of git', JSON.stringify({ format: 1, ...pointer, committed: '--upload-pack=x' })],
    ['with control characters', JSON.stringify({ format: 1, ...pointer, unit: '\u001b[2J' })],
    ['of a newer format', JSON.stringify({ ...pointer, format: 2 })]
  ])('a pause pointer %s is refused and stays unchanged', async (_, content) => {
    const path = join(root, 'continue-here.json')
    writeFileSync(path, content)
    assert.equal(left(await requests.pointer()), 'InvalidPointer')
    assert.equal(readFileSync(path, 'utf8'), content)
  })

  test.each([
    ['invalid JSON', 'a JSON object', (path: string) => writeFileSync(path, '{')],
    ['an array', 'a JSON object', (path: string) => writeFileSync(path, '[]')],
    ['a folder', 'it is not a regular file', (path: string) => mkdirSync(path)],
    ['a FIFO', 'it is not a regular file', (path: string) => execFileSync('mkfifo', [path])],
    [
      'more than 16 MiB',
      'it has 16777217 bytes \\(limit: 16777216\\)',
      (path: string) => writeFileSync(path, Buffer.alloc(16_777_217))
    ]
  ])('a pause pointer that is %s is refused with the reason', async (_, why, spoil) => {
    spoil(join(root, 'continue-here.json'))
    const found = await requests.pointer()
    assert.ok(E.isLeft(found) && found.left._tag === 'InvalidPointer')
    assert.match(found.left.why, new RegExp(why))
  })

  test('a link in place of the pause pointer is not followed and is replaced', async () => {
    const target = join(root, 'target')
    writeFileSync(target, JSON.stringify({ format: 1, ...pointer }))
    symlinkSync(target, join(root, 'continue-here.json'))
    assert.equal(left(await requests.pointer()), 'InvalidPointer')
    right(await requests.point({ ...pointer, runId: 'other' })())
    assert.equal(readFileSync(target, 'utf8'), JSON.stringify({ format: 1, ...pointer }))
  })
})

describe('unfinished files of killed processes', () => {
  const token = 'ab'.repeat(16)

  test.each([
    ['request', (one: string) => `runs/r/request-${one}.tmp`, () => requests.leave(request)()],
    ['pointer', (one: string) => `continue-here.json.${one}`, () => requests.point(pointer)()]
  ])(
    'the unfinished file of a %s is deleted by the next write of the same kind if it is older than an hour; all others stay',
    async (_, nameOf, leave) => {
      const old = join(root, nameOf(token))
      const young = join(root, nameOf('cd'.repeat(16)))
      const strangers = [join(root, nameOf('mine')), `${old}.bak`, join(root, nameOf('AB'.repeat(16)))]
      for (const one of [...strangers, young, old]) writeFileSync(one, '{')
      const longAgo = Date.now() / 1000 - 3660
      for (const one of [...strangers, old]) utimesSync(one, longAgo, longAgo)
      right<unknown>(await leave())
      const left = readdirSync(dirname(old)).map((one) => join(dirname(old), one))
      assert.ok(!left.includes(old))
      for (const one of [young, ...strangers]) assert.ok(left.includes(one), one)
      assert.equal(left.filter((one) => !one.endsWith('runs')).length, 5)
    }
  )
})
