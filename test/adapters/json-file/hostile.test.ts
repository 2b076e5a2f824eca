/** Hostile files in place of those of the store: each causes an error of the port or is skipped; nothing is executed, followed or changed. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  symlinkSync,
  truncateSync,
  writeFileSync
} from 'node:fs'
import { hash } from 'node:crypto'
import { join } from 'node:path'
import { createServer } from 'node:net'
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import { describe, test } from 'vitest'
import { jsonFileStorage } from '../../../src/adapters/json-file/index.js'
import type { StorageError } from '../../../src/ports/CheckpointStorage.js'
import {
  assertLoads,
  claimed,
  idsIn,
  left,
  OTHER,
  revisions,
  right,
  seed,
  some
} from '../../../src/testing/conformance/fixtures.js'
import { assertIsStorageError, digestOf, folder, journalOf, next, placesOf, untilCopied } from './kit.js'

/** A line with the right checksum around any content. */
const line = (body: string | Buffer): Buffer => {
  const rest = Buffer.from(body)
  return Buffer.concat([Buffer.from(`{"sum":"${hash('sha256', rest, 'hex').slice(0, 32)}",`), rest, Buffer.from('\n')])
}

const object = (fields: object): Buffer => line(JSON.stringify(fields).slice(1))

const id = 'ab'.repeat(16)

const claimRecord = {
  kind: 'claim',
  format: 1,
  runId: 'a',
  epoch: 1,
  lineage: id,
  token: id,
  owner: { host: 'h', pid: 1 },
  since: '2026-01-02T03:04:05.678Z',
  process: { host: 'h', pid: 1, thread: 1, start: '1', bootId: 'b', pidNamespace: null, timeNamespace: null }
}
const base = {
  kind: 'base',
  format: 1,
  runId: 'a',
  epoch: 1,
  revision: 0,
  checkpoint: { payloads: [0] },
  changes: [{}]
}

const nested = (levels: number): string => `"checkpoint":${'['.repeat(levels)}${']'.repeat(levels)}`

const baseText = (checkpoint: string): Buffer =>
  line(`"kind":"base","format":1,"runId":"a","epoch":1,"revision":0,${checkpoint},"changes":[{}]}`)

/** The only journal of a run has these bytes. */
const journals: Record<
  string,
  { readonly bytes: Buffer | string; readonly gives: StorageError['_tag'] | 'None' | 'Recovered' }
> = {
  'no bytes': { bytes: '', gives: 'Corrupt' },
  'NULs only': { bytes: Buffer.alloc(4096), gives: 'Corrupt' },
  'a newline': { bytes: '\n', gives: 'Corrupt' },
  'many newlines': { bytes: '\n'.repeat(1000), gives: 'Corrupt' },
  'a word': { bytes: 'hello\n', gives: 'Corrupt' },
  'binary data': {
    bytes: Buffer.from(Array.from({ length: 2048 }, (_, index) => (index * 7) % 256)),
    gives: 'Corrupt'
  },
  'JSON null': { bytes: 'null\n', gives: 'Corrupt' },
  'an array': { bytes: '[]\n', gives: 'Corrupt' },
  'a number': { bytes: '1\n', gives: 'Corrupt' },
  'an empty object': { bytes: '{}\n', gives: 'Corrupt' },
  'a byte order mark': {
    bytes: Buffer.concat([Buffer.from('\uFEFF'), object(claimRecord), object(base)]),
    gives: 'Recovered'
  },
  CRLF: { bytes: object(claimRecord).toString().replace('\n', '\r\n'), gives: 'Corrupt' },
  'a claim only': { bytes: object(claimRecord), gives: 'None' },
  'a claim without a token': { bytes: object({ ...claimRecord, token: undefined }), gives: 'Corrupt' },
  'a claim with a token that is a path': { bytes: object({ ...claimRecord, token: '../../x' }), gives: 'Corrupt' },
  'a claim without an owner': { bytes: object({ ...claimRecord, owner: null }), gives: 'Corrupt' },
  'a claim whose owner is an array': { bytes: object({ ...claimRecord, owner: [] }), gives: 'Corrupt' },
  'a claim whose process is a string': { bytes: object({ ...claimRecord, process: 'x' }), gives: 'Corrupt' },
  'a claim with a negative pid': {
    bytes: object({ ...claimRecord, process: { ...claimRecord.process, pid: -1 } }),
    gives: 'Corrupt'
  },
  'a claim of another run': { bytes: object({ ...claimRecord, runId: 'b' }), gives: 'Corrupt' },
  'a claim of another number': { bytes: object({ ...claimRecord, epoch: 2 }), gives: 'Corrupt' },
  'a claim without a format': { bytes: object({ ...claimRecord, format: undefined }), gives: 'Corrupt' },
  'a claim of format 0': { bytes: object({ ...claimRecord, format: 0 }), gives: 'Corrupt' },
  'a claim of format "1"': { bytes: object({ ...claimRecord, format: '1' }), gives: 'Corrupt' },
  'a claim of format 1.5': { bytes: object({ ...claimRecord, format: 1.5 }), gives: 'Corrupt' },
  'a newer format': { bytes: object({ ...claimRecord, format: 2 }), gives: 'UnsupportedFormat' },
  'a newer format with other fields': {
    bytes: object({ kind: 'claim', format: 99, whatever: true }),
    gives: 'UnsupportedFormat'
  },
  'a base of a newer format': {
    bytes: Buffer.concat([object(claimRecord), object({ ...base, format: 2 })]),
    gives: 'UnsupportedFormat'
  },
  'a base without a claim': { bytes: object(base), gives: 'Corrupt' },
  'a base of another run': {
    bytes: Buffer.concat([object(claimRecord), object({ ...base, runId: 'b' })]),
    gives: 'Corrupt'
  },
  'a base without a checkpoint': {
    bytes: Buffer.concat([object(claimRecord), object({ ...base, checkpoint: undefined })]),
    gives: 'Corrupt'
  },
  'a base without changes': {
    bytes: Buffer.concat([object(claimRecord), object({ ...base, changes: [] })]),
    gives: 'Corrupt'
  },
  'a base whose changes are no array': {
    bytes: Buffer.concat([object(claimRecord), object({ ...base, changes: { length: 5 } })]),
    gives: 'Corrupt'
  },
  'a base with revision -1': {
    bytes: Buffer.concat([object(claimRecord), object({ ...base, revision: -1 })]),
    gives: 'Corrupt'
  },
  'a base with revision 1e300': {
    bytes: Buffer.concat([object(claimRecord), object({ ...base, revision: 1e300 })]),
    gives: 'Corrupt'
  },
  'a base with revision "0"': {
    bytes: Buffer.concat([object(claimRecord), object({ ...base, revision: '0' })]),
    gives: 'Corrupt'
  },
  'a save without a base': {
    bytes: Buffer.concat([object(claimRecord), object({ kind: 'save', revision: 0, changes: [{}] })]),
    gives: 'Corrupt'
  },
  'a line of an unknown kind': {
    bytes: Buffer.concat([object(claimRecord), object({ kind: 'surprise' })]),
    gives: 'Corrupt'
  },
  'a line without a kind': { bytes: Buffer.concat([object(claimRecord), object({ revision: 0 })]), gives: 'Corrupt' },
  'a released line twice': {
    bytes: Buffer.concat([object(claimRecord), object({ kind: 'released' }), object({ kind: 'released' })]),
    gives: 'Corrupt'
  },
  'a kind that every object has': {
    bytes: Buffer.concat([object(claimRecord), object({ kind: 'constructor' })]),
    gives: 'Corrupt'
  },
  'a checksum of upper case': {
    bytes: object(claimRecord)
      .toString()
      .replace(/[0-9a-f]{32}/, (sum) => sum.toUpperCase()),
    gives: 'Corrupt'
  },
  'no checksum': { bytes: `${JSON.stringify(claimRecord)}\n`, gives: 'Corrupt' },
  'a checksum as the last field of its line': {
    bytes: `${JSON.stringify({ ...claimRecord, sum: '0'.repeat(32) })}\n`,
    gives: 'Corrupt'
  },
  'JSON with a comment': { bytes: line('"kind":"claim" /* x */}'), gives: 'Corrupt' },
  'JSON that is cut off': { bytes: line('"kind":"claim","format":1'), gives: 'Corrupt' },
  'invalid UTF-8': {
    bytes: line(Buffer.concat([Buffer.from('"kind":"'), Buffer.from([0xc3, 0x28]), Buffer.from('"}')])),
    gives: 'Corrupt'
  },
  'UTF-8 of a surrogate': {
    bytes: line(Buffer.concat([Buffer.from('"kind":"'), Buffer.from([0xed, 0xa0, 0x80]), Buffer.from('"}')])),
    gives: 'Corrupt'
  },
  'a checkpoint 600 levels deep': {
    bytes: Buffer.concat([object(claimRecord), baseText(nested(600))]),
    gives: 'Corrupt'
  },
  'a checkpoint 1,000,000 levels deep': {
    bytes: Buffer.concat([object(claimRecord), baseText(nested(1_000_000))]),
    gives: 'Corrupt'
  },
  'a line with a NUL in its middle': {
    bytes: Buffer.concat([object(claimRecord), Buffer.from('{"sum":"\0"}\n')]),
    gives: 'Corrupt'
  }
}

const runWith = (bytes: Buffer | string): string => {
  const root = folder()
  mkdirSync(placesOf(root).history, { recursive: true })
  writeFileSync(journalOf(root, 1), bytes)
  return root
}

const outcome = async (root: string): Promise<string> => {
  const result = await next(root).load('a')()
  if (E.isLeft(result)) assertIsStorageError(result.left)
  return E.isLeft(result) ? result.left._tag : O.isNone(result.right) ? 'None' : result.right.value.found._tag
}

describe('hostile journals', () => {
  for (const [what, { bytes, gives }] of Object.entries(journals)) {
    test(`loads and claims of a run whose journal has ${what} return ${gives}, and nothing changes`, async () => {
      const root = runWith(bytes)
      const before = digestOf(root)
      assert.equal(await outcome(root), gives)
      assert.deepEqual(await idsIn(next(root)), ['a'])
      const history = await next(root).history('a')()
      if (E.isLeft(history)) assertIsStorageError(history.left)
      if (gives !== 'None' && gives !== 'Recovered') {
        const claim = await next(root).claim('a', OTHER)()
        assert.ok(E.isLeft(claim) && claim.left._tag === gives, JSON.stringify(claim))
      }
      assert.equal(digestOf(root), before)
    })
  }

  test('keys such as __proto__ in a journal are plain properties', async () => {
    const text = '"checkpoint":{"__proto__":{"polluted":1},"constructor":2,"toString":3}'
    const root = runWith(Buffer.concat([object(claimRecord), baseText(text)]))
    const { checkpoint } = some(await right(next(root).load('a')))
    assert.deepEqual(Object.keys(checkpoint as object), ['__proto__', 'constructor', 'toString'])
    assert.equal(({} as { polluted?: number }).polluted, undefined)
  })

  test('the last of two equal keys in a journal counts, as in JSON', async () => {
    const root = runWith(Buffer.concat([object(claimRecord), baseText('"checkpoint":1,"checkpoint":2')]))
    assert.equal(some(await right(next(root).load('a'))).checkpoint, 2)
  })
})

const POSIX = process.platform !== 'win32'

/** Puts a file in a place and keeps the original elsewhere. Returns the cleanup. */
type Make = (path: string, kept: string) => void | Promise<() => void>

const kinds: Record<string, Make> = {
  'a symbolic link to the original file': (path, kept) => symlinkSync(kept, path),
  'a symbolic link to nothing': (path) => symlinkSync('/nowhere/at/all', path),
  'a symbolic link to a device': (path) => symlinkSync('/dev/zero', path),
  'a folder': (path) => mkdirSync(path),
  'a FIFO': (path) => void execFileSync('mkfifo', [path]),
  'a socket': (path) =>
    new Promise((resolve) => {
      const server = createServer().listen(path, () => resolve(() => server.close()))
    }),
  ...(process.getuid?.() === 0
    ? { 'a device': (path: string) => void execFileSync('mknod', [path, 'c', '1', '5']) }
    : {})
}

describe.runIf(POSIX)('hostile files', () => {
  const run = async (): Promise<string> => {
    const root = folder()
    await seed(next(root), 'a', [1, 2])
    await seed(next(root), 'b', ['b'])
    return root
  }
  const places: Record<string, (root: string) => string> = {
    'the newest journal': (root) => journalOf(root, 1),
    'checkpoint.json': (root) => placesOf(root).copy,
    'the history folder': (root) => placesOf(root).history,
    "the run's folder": (root) => placesOf(root).run
  }
  for (const [place, at] of Object.entries(places)) {
    for (const [kind, make] of Object.entries(kinds)) {
      if (kind === 'a folder' && place.endsWith('folder')) continue
      test(`${place} replaced by ${kind} is Insecure at once, and other runs are unchanged`, async () => {
        const root = await run()
        const path = at(root)
        const kept = join(folder(), 'kept')
        renameSync(path, kept)
        const end = await make(path, kept)
        const { where, why } = await left(next(root).load('a'), 'Insecure')
        assert.equal(where, path)
        assert.ok(why.length > 0)
        await left(next(root).claim('a', OTHER), 'Insecure')
        if (place !== 'checkpoint.json') await left(next(root).remove('a'), 'Insecure')
        assert.deepEqual(await idsIn(next(root)), ['a', 'b'])
        await assertLoads(next(root), 'b', ['b'])
        // A removal does not depend on the copy.
        if (place === 'checkpoint.json') await right(next(root).remove('a'))
        if (place === 'checkpoint.json') assert.deepEqual(await right(next(root).load('a')), O.none)
        end?.()
        assert.ok(existsSync(kept))
      })
    }
  }

  test('the root may be a symbolic link to a folder', async () => {
    const root = folder()
    mkdirSync(join(root, 'real'))
    symlinkSync(join(root, 'real'), join(root, 'link'))
    const storage = next(join(root, 'link'))
    await seed(storage, 'a', [1, 2])
    await assertLoads(next(join(root, 'real')), 'a', [1, 2])
    await right(storage.remove('a'))
  })

  test('a root that is a file, or a path inside a file, is refused because it is no folder', async () => {
    const file = join(folder(), 'file')
    writeFileSync(file, 'x')
    for (const root of [file, join(file, 'state')])
      for (const call of [next(root).load('a'), next(root).claim('a', OTHER), next(root).list()]) {
        const { where, why, remedy } = await left(call, 'Insecure')
        assert.deepEqual(
          [where, why, remedy],
          [root, 'it, or a part of its path, is not a folder', 'choose another folder']
        )
      }
    assert.equal(readFileSync(file, 'utf8'), 'x')
  })

  test('a runs folder that is a symbolic link is Insecure', async () => {
    const root = folder()
    mkdirSync(join(root, 'real'))
    symlinkSync(join(root, 'real'), join(root, 'runs'))
    await left(next(root).load('a'), 'Insecure')
    await left(next(root).claim('a', OTHER), 'Insecure')
    await left(next(root).list(), 'Insecure')
  })
})

describe('names in the folders', () => {
  test('files with unknown names in the folders of the store are left alone', async () => {
    const root = folder()
    await seed(next(root), 'a', [1, 2])
    const { history, run } = placesOf(root)
    const strangers = [
      'e1.jsonl',
      'e0000001.jsonl',
      'e000000.jsonl',
      'e000009.jsonl.bak',
      'E000009.jsonl',
      'e-00001.jsonl',
      '.DS_Store',
      'e999999999999999.jsonl',
      'e00000x.jsonl'
    ]
    for (const name of strangers) writeFileSync(join(history, name), 'x')
    writeFileSync(join(run, 'notes.txt'), 'x')
    for (const name of ['README', '.git', 'Upper', 'a.', 'con', 'x y']) mkdirSync(join(root, 'runs', name))
    writeFileSync(join(root, 'runs', 'file'), 'x')
    await assertLoads(next(root), 'a', [1, 2])
    assert.deepEqual(await idsIn(next(root)), ['a', 'file'])
    const storage = next(root)
    const claim = await claimed(storage, 'a')
    await right(storage.save(claim, revisions([1, 2, 3])))
    for (const name of strangers) assert.equal(readFileSync(join(history, name), 'utf8'), 'x')
  })

  test('a removal deletes links among its files and in place of its folders, but not the targets of the links', async () => {
    const root = folder()
    const outside = folder()
    writeFileSync(join(outside, 'kept.txt'), 'x')
    await seed(next(root), 'a', [1, 2])
    const { history, run } = placesOf(root)
    const links = [join(run, 'link'), join(history, 'link'), join(root, `removed-${id}-b`)]
    for (const link of links) symlinkSync(outside, link)
    mkdirSync(join(run, 'inner', 'empty'), { recursive: true })
    await right(next(root).remove('a'))
    for (const path of [run, ...links]) assert.ok(!existsSync(path), path)
    assert.deepEqual(readdirSync(root).toSorted(), ['runs'])
    assert.equal(readFileSync(join(outside, 'kept.txt'), 'utf8'), 'x')
  })

  test('a claim after the highest possible number is refused with the reason', async () => {
    const root = folder()
    mkdirSync(placesOf(root).history, { recursive: true })
    const epoch = 999_999_999_999
    writeFileSync(
      journalOf(root, epoch),
      Buffer.concat([object({ ...claimRecord, epoch }), object({ ...base, epoch })])
    )
    assert.equal(some(await right(next(root).load('a'))).revision, 0)
    await left(next(root).claim('a', OTHER), 'Corrupt')
  })

  test('a run with a file that is too large is refused as TooLarge, and the file is not read', async () => {
    const root = folder()
    await seed(next(root), 'a', [1, 2])
    truncateSync(journalOf(root, 1), 200 * 1024 * 1024)
    const { bytes, limitBytes } = await left(next(root).load('a'), 'TooLarge')
    assert.deepEqual([bytes, limitBytes], [200 * 1024 * 1024, 194.25 * 1024 * 1024])
    await left(next(root).claim('a', OTHER), 'TooLarge')
  })

  test('a run with a file that is too large can be removed, unless its owner lives', async () => {
    const root = folder()
    const owner = jsonFileStorage(root)
    const claim = await claimed(owner, 'a')
    await right(owner.save(claim, revisions([1])))
    truncateSync(journalOf(root, 1), 200 * 1024 * 1024)
    await left(jsonFileStorage(root).remove('a'), 'HeldBy')
    await right(owner.release(claim))
    truncateSync(journalOf(root, 1), 200 * 1024 * 1024)
    await right(jsonFileStorage(root).remove('a'))
    assert.deepEqual(await right(next(root).load('a')), O.none)
  })

  test('a run whose journal is too large and contains no claim can be removed', async () => {
    for (const text of ['', 'no claim\nno base', `${'no end'.repeat(12_000)}\n`]) {
      const root = folder()
      mkdirSync(placesOf(root).history, { recursive: true })
      writeFileSync(journalOf(root, 1), text)
      truncateSync(journalOf(root, 1), 200 * 1024 * 1024)
      await right(jsonFileStorage(root).remove('a'))
      assert.ok(!existsSync(placesOf(root).run))
    }
  })
})

test('the store creates files and folders that only this user can read', async () => {
  const root = join(folder(), 'root')
  const storage = next(root)
  const claim = await claimed(storage, 'a')
  await right(storage.save(claim, revisions([1])))
  await untilCopied(root, 0)
  const listing = execFileSync('find', [root, '-printf', '%y %m %P\n'], { encoding: 'utf8' }).trim().split('\n')
  for (const entry of listing) assert.match(entry, /^(?:d 700|[fs] 600) /)
  assert.ok(listing.length >= 7, listing.join())
})
