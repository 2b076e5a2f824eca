/** Artifacts in files are complete or missing, belong to this user, and are deleted with their run. */
import assert from 'node:assert/strict'
import { fork } from 'node:child_process'
import {
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync
} from 'node:fs'
import { dirname, join } from 'node:path'
import * as fc from 'fast-check'
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import { describe, test } from 'vitest'
import { sha256 } from '../../../src/domain/data/Digest.js'
import { fileArtifacts, jsonFileStorage } from '../../../src/adapters/json-file/index.js'
import * as Layout from '../../../src/adapters/json-file/files/Layout.js'
import type { ArtifactStore } from '../../../src/ports/ArtifactStore.js'
import { crashFiles } from '../../testing/files/CrashFiles.js'
import { claimed, revisions, right } from '../../../src/testing/conformance/fixtures.js'
import type { Call } from './kit.js'
import { folder, intercepted, systemError } from './kit.js'

const OWNER = { host: 'build-1', pid: process.pid }

const bytesOf = async (store: ArtifactStore, runId: string, id: string): Promise<string | undefined> => {
  const found = await store.get(runId, id)()
  assert.ok(E.isRight(found), JSON.stringify(found))
  return O.isNone(found.right) ? undefined : Buffer.from(found.right.value).toString()
}

const putText = async (store: ArtifactStore, runId: string, id: string, text: string): Promise<void> => {
  const put = await store.put(runId, id, text)()
  assert.ok(E.isRight(put), JSON.stringify(put))
}

const idsOf = async (store: ArtifactStore, runId: string): Promise<ReadonlyArray<string>> => {
  const listed = await store.list(runId)()
  assert.ok(E.isRight(listed), JSON.stringify(listed))
  return listed.right.map(({ id }) => id)
}

describe('artifacts in files', () => {
  test('an artifact is a file in the folder of its run, readable only by its user: a header line, then the content', async () => {
    const root = folder()
    await putText(fileArtifacts(root), 'r', 'reports/unit.txt', '12 passed')
    const place = join(root, 'runs', 'r', 'artifacts')
    assert.deepEqual(readdirSync(place), ['h-reports_002funit_002etxt'])
    const path = join(place, 'h-reports_002funit_002etxt')
    const [head, ...content] = readFileSync(path, 'utf8').split('\n')
    assert.deepEqual(JSON.parse(head ?? ''), {
      format: 1,
      id: 'reports/unit.txt',
      size: 9,
      sha256: sha256('12 passed')
    })
    assert.deepEqual(content, ['12 passed'])
    assert.equal(statSync(path).mode & 0o777, 0o600)
    assert.equal(statSync(place).mode & 0o777, 0o700)
  })

  test('each artifact id has a different file name, even on file systems that fold case or compose letters', () => {
    const layout = Layout.of('/root', 'r')
    fc.assert(
      fc.property(
        fc.string({ unit: 'grapheme', minLength: 1 }),
        fc.string({ unit: 'grapheme', minLength: 1 }),
        (a, b) => {
          const [one, other] = [a, b].map((id) => Layout.artifact(layout, id).toLowerCase().normalize('NFC'))
          assert.equal(one === other, a === b)
          assert.equal(dirname(one ?? ''), '/root/runs/r/artifacts')
        }
      )
    )
    for (const id of ['..', '../x', '/etc/passwd', 'CON', 'a'.repeat(512)])
      assert.match(Layout.artifact(layout, id), /^\/root\/runs\/r\/artifacts\/(h-[a-z0-9_-]{1,126}|hash-[0-9a-f]{64})$/)
  })

  test('an artifact over the limit is refused with its size and the limit, and no file is changed', async () => {
    const root = folder()
    const put = await fileArtifacts(root, { maxBytes: 10 }).put('r', 'x', 'eleven bytes')()
    assert.ok(E.isLeft(put) && put.left._tag === 'TooLarge')
    assert.deepEqual([put.left.bytes, put.left.limitBytes], [12, 10])
    assert.deepEqual(readdirSync(root), [])
  })

  test('an artifact of a newer format is refused and does not count as damaged', async () => {
    const root = folder()
    const store = fileArtifacts(root)
    await putText(store, 'r', 'x', 'x')
    const path = Layout.artifact(Layout.of(root, 'r'), 'x')
    writeFileSync(path, readFileSync(path, 'utf8').replace('"format":1', '"format":2'))
    const found = await store.get('r', 'x')()
    assert.ok(E.isLeft(found) && found.left._tag === 'UnsupportedFormat')
    assert.equal(found.left.found, 2)
  })

  test('an artifact file that was renamed to the name of another artifact is Corrupt', async () => {
    const root = folder()
    const store = fileArtifacts(root)
    await putText(store, 'r', 'x', 'x')
    const layout = Layout.of(root, 'r')
    renameSync(Layout.artifact(layout, 'x'), Layout.artifact(layout, 'y'))
    const found = await store.get('r', 'y')()
    assert.ok(E.isLeft(found) && found.left._tag === 'Corrupt')
    assert.match(found.left.why, /it is the artifact "x"/)
  })
})

describe('foreign files among artifacts', () => {
  test.each(['file', 'artifacts', 'run'] as const)('a link in place of the %s is not followed', async (what) => {
    const root = folder()
    const elsewhere = folder()
    const store = fileArtifacts(root)
    await putText(store, 'r', 'x', 'mine')
    const layout = Layout.of(root, 'r')
    const path = { file: Layout.artifact(layout, 'x'), artifacts: Layout.artifacts(layout), run: layout.run }[what]
    const secret = join(elsewhere, 'moved')
    renameSync(path, secret)
    symlinkSync(secret, path)
    for (const task of [store.get('r', 'x'), store.has('r', 'x'), store.list('r')]) {
      const result = await (task as () => Promise<E.Either<{ readonly _tag: string }, unknown>>)()
      assert.ok(E.isLeft(result) && result.left._tag === 'Insecure', JSON.stringify(result))
    }
    const before = readdirSync(elsewhere, { recursive: true }).length
    await store.put('r', 'x', 'new')()
    await store.clear('r')()
    assert.equal(readdirSync(elsewhere, { recursive: true }).length, before)
  })

  test('files with unknown names in the artifacts folder are left alone', async () => {
    const root = folder()
    const store = fileArtifacts(root)
    await putText(store, 'r', 'x', 'x')
    const place = Layout.artifacts(Layout.of(root, 'r'))
    for (const name of ['.DS_Store', 'notes.txt', 'H-X', 'put-1.tmp']) writeFileSync(join(place, name), '')
    assert.deepEqual(await idsOf(store, 'r'), ['x'])
    assert.ok(E.isRight(await store.clear('r')()))
    assert.deepEqual(readdirSync(place).sort(), ['.DS_Store', 'H-X', 'notes.txt', 'put-1.tmp'])
  })

  test('the file of an unfinished put of another process is deleted after an hour', async () => {
    const root = folder()
    await putText(fileArtifacts(root), 'r', 'x', 'x')
    const place = Layout.artifacts(Layout.of(root, 'r'))
    const [young, old] = ['1', '2'].map((digit) => join(place, `put-${digit.repeat(32)}.tmp`)) as [string, string]
    for (const path of [young, old]) writeFileSync(path, 'half')
    const longAgo = Date.now() / 1_000 - 3_700
    utimesSync(old, longAgo, longAgo)
    await putText(fileArtifacts(root), 'r', 'y', 'y')
    assert.deepEqual([existsSync(young), existsSync(old)], [true, false])
    assert.deepEqual(await idsOf(fileArtifacts(root), 'r'), ['x', 'y'])
  })
})

const failing = (calls: ReadonlyArray<Call>, code: string) =>
  intercepted(({ call }) => (calls.includes(call) ? assert.fail(systemError(code)) : undefined))

describe('failing puts', () => {
  test.each(['open', 'write', 'fdatasync', 'renameSync', 'mkdir', 'fsyncFolder'] as const)(
    'a put that fails in %s returns WriteFailed and keeps the previous artifact',
    async (call) => {
      const root = folder()
      await putText(fileArtifacts(root), 'r', 'x', 'before')
      const store = fileArtifacts(root, { fs: failing([call], 'ENOSPC') })
      const put = await store.put('r', 'x', 'after')()
      assert.ok(E.isLeft(put) && put.left._tag === 'WriteFailed' && put.left.code === 'ENOSPC', JSON.stringify(put))
      assert.equal(await bytesOf(fileArtifacts(root), 'r', 'x'), 'before')
      assert.equal(readdirSync(Layout.artifacts(Layout.of(root, 'r'))).length, 1)
    }
  )

  test('an unreadable artifact is ReadFailed and does not count as missing', async () => {
    const root = folder()
    await putText(fileArtifacts(root), 'r', 'x', 'x')
    for (const call of ['open', 'read', 'fstat'] as const) {
      const found = await fileArtifacts(root, { fs: failing([call], 'EIO') }).get('r', 'x')()
      assert.ok(E.isLeft(found) && found.left._tag === 'ReadFailed', call)
    }
  })
})

describe('artifacts after a power cut', () => {
  test(
    'after a power cut an artifact has the complete content of the last acknowledged put, or of the put in flight',
    { timeout: 60_000 },
    async () => {
      const files = crashFiles()
      const store = fileArtifacts('/store', { fs: files.fs })
      const contents = ['old', 'n'.repeat(6_000), '', 'x'.repeat(3_000)]
      const done: Array<number> = []
      for (const content of contents) {
        await putText(store, 'r', 'x', content)
        done.push(files.operations.length)
      }
      let states = 0
      for (let after = 0; after <= files.operations.length; after++) {
        const acknowledged = done.findLastIndex((operations) => operations <= after)
        const allowed = [contents[acknowledged], contents[acknowledged + 1]]
        for (const { files: left, what } of files.powerCuts({ after, limit: 40 })) {
          states += 1
          const found = await bytesOf(fileArtifacts('/store', { fs: left.fs }), 'r', 'x')
          assert.ok(allowed.includes(found), `after ${after} operations ${what()} leaves ${String(found).slice(0, 20)}`)
        }
      }
      assert.ok(states > 100, `${states} states are too few`)
    }
  )

  test('removed and cleared artifacts stay deleted after a power cut', async () => {
    const files = crashFiles()
    const store = fileArtifacts('/store', { fs: files.fs })
    for (const id of ['x', 'y', 'z', '_own/z']) await putText(store, 'r', id, id)
    assert.ok(E.isRight(await store.remove('r', 'x')()))
    for (const { files: left } of files.powerCuts())
      assert.deepEqual(await idsOf(fileArtifacts('/store', { fs: left.fs }), 'r'), ['_own/z', 'y', 'z'])
    assert.ok(E.isRight(await store.clear('r')()))
    for (const { files: left } of files.powerCuts())
      assert.deepEqual(await idsOf(fileArtifacts('/store', { fs: left.fs }), 'r'), ['_own/z'])
  })
})

describe('artifacts of removed runs', () => {
  test('removing a run deletes its artifacts, and a new run with its id has none, whenever the power is cut', async () => {
    const files = crashFiles()
    const storage = jsonFileStorage('/store', { fs: files.fs })
    const claim = await claimed(storage, 'r', OWNER)
    await right(storage.save(claim, revisions(['old'])))
    const store = fileArtifacts('/store', { fs: files.fs })
    for (const id of ['x', '_own/y']) await putText(store, 'r', id, 'old')
    await right(storage.release(claim))
    const before = files.operations.length
    await right(storage.remove('r'))
    assert.deepEqual(await idsOf(store, 'r'), [])
    for (let after = before; after <= files.operations.length; after++) {
      for (const { files: left, what } of files.powerCuts({ after, limit: 30 })) {
        const next = jsonFileStorage('/store', { fs: left.fs })
        const stored = await right(next.load('r'))
        const ids = await idsOf(fileArtifacts('/store', { fs: left.fs }), 'r')
        assert.deepEqual(ids, O.isSome(stored) ? ['_own/y', 'x'] : [], `after ${after} operations: ${what()}`)
        if (after === files.operations.length) assert.deepEqual(stored, O.none)
      }
    }
    await claimed(storage, 'r', OWNER)
    assert.deepEqual(await idsOf(store, 'r'), [])
  })

  test('a run id with artifacts and no checkpoint loads no run, and can be claimed and removed like any other', async () => {
    const root = folder()
    const [storage, store] = [jsonFileStorage(root), fileArtifacts(root)]
    await putText(store, 'r', 'x', 'x')
    assert.deepEqual(await right(storage.load('r')), O.none)
    const { claim, stored } = await right(storage.claim('r', OWNER))
    assert.deepEqual(stored, O.none)
    await right(storage.save(claim, revisions(['first'])))
    await right(storage.release(claim))
    assert.equal(await bytesOf(store, 'r', 'x'), 'x')
    await right(storage.remove('r'))
    assert.equal(existsSync(join(root, 'runs', 'r')), false)
  })
})

test('an artifact that two processes put is complete whenever they are killed', { timeout: 60_000 }, async () => {
  const root = folder()
  const script = join(import.meta.dirname, 'children', 'putter.js')
  for (let round = 0; round < 8; round++) {
    const children = [0, 1].map(() => fork(script, [root]))
    await Promise.all(
      children.map(
        (child) => new Promise<void>((resolve) => child.once('message', (tag) => resolve(assert.equal(tag, 'Right'))))
      )
    )
    await new Promise((resolve) => setTimeout(resolve, 7 * round))
    for (const child of children) child.kill('SIGKILL')
    await Promise.all(children.map((child) => new Promise((resolve) => child.once('exit', resolve))))
    const found = await bytesOf(fileArtifacts(root), 'r', 'x')
    assert.match(found ?? '', /^(\d)\1{99999,}$/)
  }
})
