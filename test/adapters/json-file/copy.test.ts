/** The content of checkpoint.json, when it is written, and what happens after failures. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { ReadonlyNonEmptyArray } from 'fp-ts/lib/ReadonlyNonEmptyArray.js'
import { describe, test } from 'vitest'
import { nodeFileSystem } from '../../../src/adapters/json-file/files/nodeFileSystem.js'
import type { Change } from '../../../src/domain/change/Change.js'
import type { Json, JsonObject } from '../../../src/domain/data/Json.js'
import type { Revision } from '../../../src/ports/CheckpointStorage.js'
import {
  assertLoads,
  claimed,
  left,
  OTHER,
  revisions,
  right,
  seed,
  some,
  summary
} from '../../../src/testing/conformance/fixtures.js'
import { folder, journalOf, next, placesOf, recorded, systemError, until, untilCopied, work } from './kit.js'

const copyOf = (root: string): JsonObject & { readonly copyOf: JsonObject } =>
  JSON.parse(readFileSync(placesOf(root).copy, 'utf8')) as JsonObject & { readonly copyOf: JsonObject }

const one = (revision: number, change: Change, checkpoint: Json): ReadonlyNonEmptyArray<Revision> => [
  { revision, change, checkpoint: () => checkpoint, summary: () => summary([1]) }
]

const AT = '2026-01-02T03:04:05.678Z'
const failed: Change = { _tag: 'UnitFailed', at: AT, unit: 'x', retryable: false }
const interrupted: Change = { _tag: 'Interrupted', at: AT, unit: 'x', reason: 'signal' }
const confirmed: Change = { _tag: 'Confirmed', at: AT, unit: 'x' }

describe('checkpoint.json, the copy of the newest checkpoint', () => {
  test("checkpoint.json is the newest checkpoint: indented, with a newline at the end and the checkpoint's own fields", async () => {
    const root = folder()
    await seed(next(root), 'a', [1, 2, 3])
    const text = readFileSync(placesOf(root).copy, 'utf8')
    assert.ok(text.startsWith('{\n  "copyOf": {\n') && text.endsWith('\n}\n'))
    const { copyOf: of, ...fields } = copyOf(root)
    assert.deepEqual(fields, { format: 1, revision: 2, payloads: [1, 2, 3] })
    assert.deepEqual([of['format'], of['runId'], of['epoch'], of['revision']], [1, 'a', 1, 2])
    assert.equal(statSync(placesOf(root).copy).mode & 0o777, 0o600)
  })

  test('checkpoint.json exists soon after the first save and is current when the run stops or is released', async () => {
    const root = folder()
    const storage = next(root)
    const claim = await claimed(storage, 'a')
    await right(storage.save(claim, one(0, confirmed, { at: 0 })))
    await untilCopied(root, 0)
    assert.equal(copyOf(root)['at'], 0)
    let revision = 1
    for (const change of [failed, interrupted]) {
      await right(storage.save(claim, one(revision++, confirmed, { at: 'between' })))
      await right(storage.save(claim, one(revision, change, { at: change._tag })))
      await untilCopied(root, revision)
      assert.equal(copyOf(root)['at'], change._tag)
      assert.equal(copyOf(root).copyOf['revision'], revision++)
    }
    await right(storage.save(claim, one(revision, confirmed, { at: 'the end' })))
    await right(storage.release(claim))
    assert.equal(copyOf(root)['at'], 'the end')
  })

  test('writing copies takes a small part of the time of a run that saves often', async () => {
    const root = folder()
    const { fs, calls } = recorded()
    const storage = next(root, { fs })
    const claim = await claimed(storage, 'a')
    const big = { big: 'x'.repeat(1_000_000) }
    for (let n = 0; n < 300; n++) await right(storage.save(claim, one(n, confirmed, big)))
    const copies = calls.filter(({ call }) => call === 'replace').length
    await right(storage.release(claim))
    assert.ok(copies >= 1 && copies < 15, `${copies} copies`)
  })

  test('writing copies takes at most 5 % of the time while the run is active, however slow the disk is', async () => {
    const root = folder()
    let copies = 0
    const fs = {
      ...nodeFileSystem,
      replace: async (path: string, text: string) => {
        copies++
        await wait(100)
        await nodeFileSystem.replace(path, text)
      }
    }
    const storage = next(root, { fs })
    const claim = await claimed(storage, 'a')
    const begun = performance.now()
    for (let n = 0; n < 25; n++) {
      await right(storage.save(claim, one(n, confirmed, { n })))
      await wait(100)
    }
    const most = 1 + ((performance.now() - begun) * 0.05) / 100
    assert.ok(copies >= 1 && copies <= most, `${copies} copies`)
    await right(storage.release(claim))
    assert.equal(copyOf(root)['n'], 24)
  })

  test('a copy above 8 MiB is written only when the run stops', async () => {
    const root = folder()
    const { fs, calls } = recorded()
    const storage = next(root, { fs })
    const claim = await claimed(storage, 'a')
    const copies = (): number => calls.filter(({ call }) => call === 'replace').length
    const big = { big: 'x'.repeat(9 * 1_048_576) }
    await right(storage.save(claim, one(0, confirmed, big)))
    await wait(200)
    await right(storage.save(claim, one(1, confirmed, big)))
    await wait(1_300)
    assert.equal(copies(), 0)
    await right(storage.save(claim, one(2, failed, big)))
    await untilCopied(root, 2)
    await right(storage.save(claim, one(3, confirmed, big)))
    await right(storage.release(claim))
    assert.equal(copies(), 2)
    assert.equal(copyOf(root).copyOf['revision'], 3)
  })

  test('a scheduled copy is not written after the claim was released or lost', async () => {
    for (const end of ['release', 'lose'] as const) {
      const root = folder()
      const { fs, calls } = recorded()
      const storage = next(root, { fs })
      const claim = await work(storage, [1])
      await untilCopied(root, 0)
      await right(storage.save(claim, revisions([1, 2])))
      if (end === 'release') await right(storage.release(claim))
      else await claimed(next(root), 'a')
      const before = calls.filter(({ call }) => call === 'renameSync').length
      await wait(1_300)
      assert.equal(calls.filter(({ call }) => call === 'renameSync').length, before, end)
      assert.equal(copyOf(root).copyOf['revision'], end === 'release' ? 1 : 0)
    }
  })

  test('a scheduled copy does not keep the process alive', () => {
    const script = fileURLToPath(new URL('children/idle.js', import.meta.url))
    const after = Number(execFileSync(process.execPath, [script, folder()], { encoding: 'utf8' }))
    assert.ok(after < 900, `it ended ${after} ms after its last save`)
  })

  test("any JSON value can be read back from a copy, including a checkpoint with the copy's own fields", async () => {
    for (const checkpoint of [
      null,
      7,
      'x',
      [1],
      {},
      { copyOf: 1 },
      { checkpoint: 2 },
      { copyOf: 1, checkpoint: 2 },
      JSON.parse('{"__proto__":1}')
    ] as ReadonlyArray<Json>) {
      const root = folder()
      const storage = next(root)
      const claim = await claimed(storage, 'a')
      await right(storage.save(claim, one(0, confirmed, checkpoint)))
      await right(storage.release(claim))
      rmSync(placesOf(root).history, { recursive: true })
      assert.deepEqual(some(await right(next(root).load('a'))).checkpoint, checkpoint)
    }
  })

  test('a reformatted copy verifies, and one with a changed value does not', async () => {
    const root = folder()
    await seed(next(root), 'a', [1, 2])
    rmSync(placesOf(root).history, { recursive: true })
    const fields = copyOf(root)
    const reordered = Object.fromEntries(Object.entries(fields).reverse())
    for (const text of [
      JSON.stringify(fields),
      JSON.stringify(reordered, null, 4),
      `\n\n ${JSON.stringify(fields)}\r\n`
    ]) {
      writeFileSync(placesOf(root).copy, text)
      assert.equal(some(await right(next(root).load('a'))).found._tag, 'Recovered')
    }
    writeFileSync(placesOf(root).copy, JSON.stringify({ ...fields, payloads: [1, 3] }))
    await left(next(root).load('a'), 'Corrupt')
  })

  test('a copy of a newer format is refused if it is needed and ignored otherwise', async () => {
    const root = folder()
    await seed(next(root), 'a', [1, 2])
    const fields = copyOf(root)
    writeFileSync(placesOf(root).copy, JSON.stringify({ ...fields, copyOf: { ...fields.copyOf, format: 2 } }, null, 2))
    await assertLoads(next(root), 'a', [1, 2])
    rmSync(placesOf(root).history, { recursive: true })
    const { found, supported } = await left(next(root).load('a'), 'UnsupportedFormat')
    assert.deepEqual([found, supported], [2, 1])
  })

  test('a copy ahead of the journals proves that acknowledged lines were lost, and the run recovers from it', async () => {
    const root = folder()
    await seed(next(root), 'a', [1, 2, 3])
    const bytes = readFileSync(journalOf(root, 1))
    const lines = bytes.toString().split('\n')
    writeFileSync(journalOf(root, 1), `${lines.slice(0, -3).join('\n')}\n`)
    const { revision, found, checkpoint } = some(await right(next(root).load('a')))
    assert.deepEqual([revision, checkpoint], [2, { format: 1, revision: 2, payloads: [1, 2, 3] }])
    assert.ok(found._tag === 'Recovered' && found.lost.includes('e000001.jsonl'))
    assert.equal(
      found.lost,
      'the journals can be read up to revision 1 (history/e000001.jsonl), and checkpoint.json holds revision 2; revisions after 2, if there were any, are lost'
    )
    const storage = next(root)
    const { claim } = await right(storage.claim('a', OTHER))
    await right(storage.save(claim, revisions([1, 2, 3, 4])))
    await assertLoads(storage, 'a', [1, 2, 3, 4])
  })

  test('a copy ahead of the journals proves a loss even if its checksum is wrong', async () => {
    const root = folder()
    await seed(next(root), 'a', [1, 2, 3])
    const lines = readFileSync(journalOf(root, 1), 'utf8').split('\n')
    writeFileSync(journalOf(root, 1), `${lines.slice(0, -3).join('\n')}\n`)
    writeFileSync(placesOf(root).copy, JSON.stringify({ ...copyOf(root), payloads: [1, 2, 4] }, null, 2))
    for (let n = 0; n < 2; n++) {
      const { revision, found } = some(await right(next(root).load('a')))
      assert.equal(revision, 1)
      assert.ok(found._tag === 'Recovered' && found.lost.includes('checkpoint.json'), JSON.stringify(found))
      assert.ok(found.lost.includes('revision 2'), found.lost)
      await claimed(next(root), 'a')
    }
  })

  test('a copy that the former owner of a removed run wrote is ignored', async () => {
    const root = folder()
    await seed(next(root), 'a', ['old', 'old', 'old'])
    const old = readFileSync(placesOf(root).copy)
    await right(next(root).remove('a'))
    await seed(next(root), 'a', ['new'])
    writeFileSync(placesOf(root).copy, old)
    await assertLoads(next(root), 'a', ['new'])
    const storage = next(root)
    const { claim, stored } = await right(storage.claim('a', OTHER))
    assert.deepEqual(some(stored).found, { _tag: 'Exact' })
    await right(storage.save(claim, revisions(['new', 2])))
    await right(storage.release(claim))
    assert.deepEqual(copyOf(root)['payloads'], ['new', 2])
  })

  test('a superseded owner writes no copy', async () => {
    const root = folder()
    const former = next(root)
    const claim = await work(former, [1, 2])
    await untilCopied(root, 0)
    const before = readFileSync(placesOf(root).copy)
    await claimed(next(root), 'a')
    await right(former.release(claim))
    assert.deepEqual(readFileSync(placesOf(root).copy), before)
  })
})

describe('an unwritable copy, checkpoint.json', () => {
  test('saves and the release succeed without the copy', async () => {
    const root = folder()
    const fs = { ...nodeFileSystem, replace: () => Promise.reject(systemError('ENOSPC')) }
    await seed(next(root, { fs }), 'a', [1, 2, 3])
    assert.ok(!existsSync(placesOf(root).copy))
    await assertLoads(next(root), 'a', [1, 2, 3])
  })

  test('a release retries a failed copy', async () => {
    const root = folder()
    let tried = 0
    const fs = {
      ...nodeFileSystem,
      replace: (path: string, text: string) =>
        tried++ === 0 ? Promise.reject(systemError('ENOSPC')) : nodeFileSystem.replace(path, text)
    }
    const storage = next(root, { fs })
    const claim = await work(storage, [1])
    await until(() => tried > 0)
    await right(storage.release(claim))
    assert.deepEqual(copyOf(root)['payloads'], [1])
  })

  test('a partly written copy, as on a full disk, is deleted', async () => {
    const root = folder()
    const fs = {
      ...nodeFileSystem,
      replace: (path: string, text: string) => nodeFileSystem.replace(path, text.slice(0, text.length / 2))
    }
    await seed(next(root, { fs }), 'a', [1, 2, 3])
    assert.ok(!existsSync(placesOf(root).copy))
    await assertLoads(next(root), 'a', [1, 2, 3])
  })
})

describe('leftovers of crashes', () => {
  test('the next claim deletes temporary files older than an hour and keeps all others', async () => {
    const root = folder()
    await seed(next(root), 'a', [1, 2])
    const { run, history } = placesOf(root)
    const token = 'ab'.repeat(16)
    const ofUs = [
      join(run, 'checkpoint.json.123456'),
      join(history, `next-${token}-1.tmp`),
      join(run, `heartbeat-${token}.lock`)
    ]
    const strangers = [join(run, 'checkpoint.json.bak'), join(run, 'checkpoint.json.1x'), join(history, 'next.tmp')]
    for (const path of [...ofUs, ...strangers]) {
      if (path.endsWith('.lock')) mkdirSync(path)
      else writeFileSync(path, 'x')
    }
    const copy = readFileSync(placesOf(root).copy)
    await right(
      next(root).release(await claimed(next(root), 'a')).length === 0 ? next(root).load('a') : next(root).load('a')
    )
    for (const path of ofUs) assert.ok(existsSync(path), path)
    const old = Date.now() / 1000 - 2 * 3600
    for (const path of [...ofUs, ...strangers]) utimesSync(path, old, old)
    await claimed(next(root), 'a')
    for (const path of ofUs) assert.ok(!existsSync(path), path)
    for (const path of strangers) assert.ok(existsSync(path), path)
    assert.deepEqual(readFileSync(placesOf(root).copy), copy)
  })

  test("a takeover deletes the previous owner's leftovers at once", async () => {
    const root = folder()
    await work(next(root), [1])
    const { run, history } = placesOf(root)
    const left = () => [...readdirSync(run), ...readdirSync(history)].filter((name) => /^(next|heartbeat)-/.test(name))
    const token = (left()[0] ?? '').slice('heartbeat-'.length, -'.lock'.length)
    writeFileSync(join(history, `next-${token}-9.tmp`), '')
    const before = left()
    assert.equal(before.length, 2)
    await claimed(next(root), 'a')
    assert.deepEqual(
      before.filter((name) => left().includes(name)),
      []
    )
  })

  test('a removal deletes the leftovers of an interrupted removal', async () => {
    const root = folder()
    await seed(next(root), 'a', [1])
    const fs = { ...nodeFileSystem, removeTree: () => Promise.reject(systemError('EIO')) }
    await left(next(root, { fs }).remove('a'), 'WriteFailed')
    assert.equal(readdirSync(root).length, 2)
    await assertLoads(next(root), 'a', [])
    await seed(next(root), 'a', ['new'])
    await right(next(root).remove('nothing'))
    assert.deepEqual(readdirSync(root), ['runs'])
    await assertLoads(next(root), 'a', ['new'])
  })

  test('a released run consists of its journal and its copy', async () => {
    const root = folder()
    await seed(next(root), 'a', [1, 2])
    assert.deepEqual(readdirSync(placesOf(root).run).sort(), ['checkpoint.json', 'history'])
    assert.deepEqual(readdirSync(placesOf(root).history), ['e000001.jsonl'])
    assert.ok(!readFileSync(journalOf(root, 1)).includes(0))
  })
})
