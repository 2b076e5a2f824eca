/** Compaction, pruning, limits, and the cost of many saves. */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import * as E from 'fp-ts/lib/Either.js'
import type { ReadonlyNonEmptyArray } from 'fp-ts/lib/ReadonlyNonEmptyArray.js'
import { describe, test } from 'vitest'
import type { LargeCheckpoint } from '../../../src/adapters/json-file/index.js'
import type { FileSystem } from '../../../src/adapters/json-file/files/FileSystem.js'
import { nodeFileSystem } from '../../../src/adapters/json-file/files/nodeFileSystem.js'
import type { Json } from '../../../src/domain/data/Json.js'
import type { CheckpointStorage, Claim, Revision } from '../../../src/ports/CheckpointStorage.js'
import {
  assertHolds,
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
import { folder, intercepted, journalName, journalsOf, next, placesOf, systemError, work } from './kit.js'

const SWEEP = process.env['DOGEAR_SWEEP'] === '1'

const upTo = (n: number): ReadonlyArray<number> => Array.from({ length: n }, (_, index) => index)

const MIB = 1_048_576

/** A save like those of real programs: the record of a step, and a checkpoint with all records so far. */
const step = (n: number, size = 200): ReadonlyNonEmptyArray<Revision> => [
  {
    revision: n,
    change: { _tag: 'Confirmed', at: '2026-01-02T03:04:05.678Z', unit: 'x'.repeat(size) },
    checkpoint: () => upTo(n).map((index) => ({ stepIndex: index, step: 'x'.repeat(size / 2) })),
    summary: () => summary([1])
  }
]

describe('compaction', () => {
  test('compaction starts a journal with the next number when the changes outgrow the base, and every revision still loads', async () => {
    const root = folder()
    const storage = next(root, { limits: { compactBytes: 0 } })
    const claim = await work(storage, upTo(20))
    assert.ok(journalsOf(root).length > 3)
    await assertLoads(storage, 'a', upTo(20))
    assert.deepEqual(
      (await right(storage.history('a'))).map(({ revision }) => revision),
      [...upTo(20)].reverse()
    )
    for (const n of upTo(20)) assert.equal(some(await right(storage.loadRevision('a', n))).revision, n)
    await left(next(root, { processes: { ...alive } }).claim('a', OTHER), 'HeldBy')
    await right(storage.release(claim))
    await assertLoads(next(root), 'a', upTo(20))
  })

  const alive = {
    self: () => ({ host: 'h', pid: 1, thread: 1, start: 'x', bootId: null, pidNamespace: null, timeNamespace: null }),
    isAlive: () => true
  }

  test('a save that would start a compaction fails with Fenced if another owner has claimed the run', async () => {
    const root = folder()
    const storage = next(root, { limits: { compactBytes: 0 } })
    const claim = await work(storage, upTo(2))
    const successor = next(root)
    const { claim: second, stored } = await right(successor.claim('a', OTHER))
    assert.equal(some(stored).revision, 1)
    await left(storage.save(claim, revisions(upTo(3))), 'Fenced')
    await right(successor.save(second, revisions([0, 1, 'second'])))
    await assertLoads(next(root), 'a', [0, 1, 'second'])
  })

  /** The number of saves after which the next one starts another journal. */
  const beforeCompaction = async (): Promise<number> => {
    const root = folder()
    const storage = next(root, { limits: { compactBytes: 0 } })
    const claim = await claimed(storage, 'a')
    for (let n = 0; ; n++) {
      await right(storage.save(claim, revisions(upTo(n + 1))))
      if (journalsOf(root).length > 1) return n
    }
  }

  for (const when of [
    'before the compaction',
    'after the file of the compaction was created',
    'before that file is linked'
  ] as const) {
    test(`if a run is removed and its id reused (${when}), a compaction writes nothing into the new run`, async () => {
      const root = folder()
      const later: { successor?: CheckpointStorage; claim?: Claim } = {}
      const replace = async (): Promise<void> => {
        const successor = next(root)
        await right(successor.remove('a'))
        const claim = await claimed(successor, 'a')
        await right(successor.save(claim, revisions(['new'])))
        Object.assign(later, { successor, claim })
      }
      let armed = false
      const fs: FileSystem = {
        ...nodeFileSystem,
        open: async (path, how) => {
          const fd = await nodeFileSystem.open(path, how)
          if (armed && how === 'create' && when === 'after the file of the compaction was created') await replace()
          return fd
        },
        link: async (from, to) => {
          if (armed && when === 'before that file is linked') await replace()
          return nodeFileSystem.link(from, to)
        }
      }
      const storage = next(root, { fs, limits: { compactBytes: 0 } })
      const n = await beforeCompaction()
      const claim = await work(storage, upTo(n))
      armed = true
      if (when === 'before the compaction') await replace()
      await left(storage.save(claim, revisions(upTo(n + 1))), 'Fenced')
      await left(storage.save(claim, revisions(upTo(n + 1))), 'Fenced')
      await right(storage.release(claim))
      const { successor, claim: second } = later
      assert.ok(successor !== undefined && second !== undefined)
      assert.deepEqual(journalsOf(root), [journalName(1)])
      await right(successor.save(second, revisions(['new', 2])))
      await assertLoads(next(root), 'a', ['new', 2])
    })
  }

  test('an interrupted compaction loses nothing', async () => {
    for (let nth = 0; nth < 40; nth++) {
      const root = folder()
      let armed = false
      let seen = 0
      const fs = intercepted(() => {
        if (armed && seen++ >= nth) throw systemError('EIO')
      })
      const storage = next(root, { fs, limits: { compactBytes: 0 } })
      const claim = await work(storage, upTo(2))
      armed = true
      await storage.save(claim, revisions(upTo(3)))()
      const loaded = some(await right(next(root).load('a')))
      assert.ok(loaded.revision >= 1 && loaded.found._tag === 'Exact', `after ${nth} calls: ${JSON.stringify(loaded)}`)
    }
  })

  /** A file system that cannot create files while descriptors have run out. */
  const withoutNewFiles = () => {
    let isShort = false
    const fs: FileSystem = {
      ...nodeFileSystem,
      open: (path, how) =>
        how === 'create' && isShort ? Promise.reject(systemError('EMFILE')) : nodeFileSystem.open(path, how)
    }
    return { fs, runOut: (on: boolean) => void (isShort = on) }
  }

  test('if the file of a compaction cannot be created, the compaction is postponed and the save is appended', async () => {
    const root = folder()
    const files = withoutNewFiles()
    const storage = next(root, { fs: files.fs, limits: { compactBytes: 0 } })
    const claim = await claimed(storage, 'a')
    files.runOut(true)
    for (let n = 1; n <= 20; n++) await right(storage.save(claim, revisions(upTo(n))))
    assert.deepEqual(journalsOf(root), [journalName(1)])
    files.runOut(false)
    for (let n = 21; n <= 100; n++) await right(storage.save(claim, revisions(upTo(n))))
    assert.ok(journalsOf(root).length > 1)
    await assertLoads(storage, 'a', upTo(100))
  })

  test('a required compaction whose file cannot be created fails the save and leaves the claim unchanged', async () => {
    const root = folder()
    const files = withoutNewFiles()
    const storage = next(root, { fs: files.fs, limits: { compactBytes: 0, checkpointBytes: 4096 } })
    const claim = await claimed(storage, 'a')
    files.runOut(true)
    let n = 1
    while (E.isRight(await storage.save(claim, revisions(upTo(n)))())) n++
    await left(storage.save(claim, revisions(upTo(n))), 'WriteFailed')
    files.runOut(false)
    await right(storage.save(claim, revisions(upTo(n))))
    await assertLoads(storage, 'a', upTo(n))
  })

  test(
    'ten thousand saves with compactions write less than three times the saved bytes',
    { timeout: 120_000 },
    async () => {
      const root = folder()
      let written = 0
      const count = (bytes: Uint8Array): void => void (written += bytes.length)
      const fs = {
        ...nodeFileSystem,
        // This test does not measure durability.
        fdatasync: (_: number, done: (error: Error | null) => void) => void queueMicrotask(() => done(null)),
        write: (fd: number, bytes: Uint8Array, position: number) => {
          count(bytes)
          return nodeFileSystem.write(fd, bytes, position)
        },
        writeSync: (fd: number, bytes: Uint8Array, position: number) => {
          count(bytes)
          return nodeFileSystem.writeSync(fd, bytes, position)
        },
        replace: (path: string, text: string) => {
          written += text.length
          return nodeFileSystem.replace(path, text)
        }
      }
      const storage = next(root, { fs })
      const claim = await claimed(storage, 'a')
      let saved = 0
      for (let n = 0; n < 10_000; n++) {
        saved += JSON.stringify(step(n)[0].change).length
        await right(storage.save(claim, step(n)))
      }
      await right(storage.release(claim))
      assert.ok(written < 3 * saved, `${(written / saved).toFixed(2)} times`)
    }
  )

  test('compaction happens when the changes exceed 1 MiB and the checkpoint has not grown with them', async () => {
    const root = folder()
    const storage = next(root)
    const claim = await claimed(storage, 'a')
    const again = (n: number): ReadonlyNonEmptyArray<Revision> => [{ ...step(n, 10_000)[0], checkpoint: () => n }]
    for (let n = 0; n < 250; n++) await right(storage.save(claim, again(n)))
    assert.deepEqual(journalsOf(root), [1, 2, 3].map(journalName))
    assert.equal(some(await right(storage.load('a'))).revision, 249)
  })
})

describe('pruning', () => {
  test('pruning keeps the configured number of journals with a checkpoint, and the journals between them', async () => {
    const root = folder()
    for (let n = 1; n <= 15; n++) {
      const storage = next(root)
      const claim = await claimed(storage, 'a')
      if (n % 2 === 1) await right(storage.save(claim, revisions(upTo((n + 1) / 2))))
      await right(storage.release(claim))
    }
    const storage = next(root, { keep: 3 })
    const claim = await claimed(storage, 'a')
    await right(storage.save(claim, revisions(upTo(9))))
    await right(storage.release(claim))
    assert.deepEqual(journalsOf(root), [13, 14, 15, 16].map(journalName))
    assert.deepEqual(
      (await right(storage.history('a'))).map(({ revision }) => revision),
      [8, 7, 6]
    )
  })

  test('pruning keeps ten journals by default', async () => {
    const root = folder()
    const storage = next(root, { limits: { compactBytes: 0 } })
    const claim = await work(storage, upTo(60))
    await right(storage.release(claim))
    assert.equal(journalsOf(root).length, 10)
    await assertLoads(next(root), 'a', upTo(60))
  })

  test('interrupted pruning loses nothing', async () => {
    for (let nth = 0; nth < 6; nth++) {
      const root = folder()
      for (let n = 1; n <= 6; n++) {
        const storage = next(root)
        const claim = await claimed(storage, 'a')
        await right(storage.save(claim, revisions(upTo(n))))
        await right(storage.release(claim))
      }
      let seen = 0
      const fs = intercepted(({ call, target }) => {
        if (call === 'unlinkSync' && String(target).endsWith('.jsonl') && seen++ >= nth) throw systemError('EIO')
      })
      const storage = next(root, { fs, keep: 1 })
      const claim = await claimed(storage, 'a')
      await right(storage.save(claim, revisions(upTo(7))))
      await right(storage.release(claim))
      await assertLoads(next(root), 'a', upTo(7))
      const rest = journalsOf(root)
      assert.deepEqual(
        rest,
        upTo(7)
          .map((index) => journalName(index + 1))
          .slice(-rest.length)
      )
    }
  })
})

test('after thirty claims that saved nothing, the next claim reads at most eight journals', async () => {
  const root = folder()
  await work(next(root), [1, 2])
  for (let n = 0; n < 30; n++) await seed(next(root), 'a', [])
  const opened: Array<string> = []
  const fs = intercepted(({ call, target }) => {
    if (call === 'open' && /e\d+\.jsonl$/.test(String(target))) opened.push(String(target))
  })
  await claimed(next(root, { fs }), 'a')
  assert.ok(opened.length <= 8, opened.join())
  await assertLoads(next(root), 'a', [1, 2])
  assert.equal((await right(next(root).history('a'))).length, 2)
})

describe('a checkpoint that is too large', () => {
  const big = (n: number, bytes: number): ReadonlyNonEmptyArray<Revision> => [
    {
      revision: n,
      change: { _tag: 'Confirmed', at: '', unit: 'x'.repeat(n === 0 ? 1 : bytes) },
      checkpoint: (): Json => ({
        variables: { report: 'x'.repeat(bytes), small: 1 },
        completedSteps: [{ output: 'y'.repeat(bytes / 4) }]
      }),
      summary: () => summary([1])
    }
  ]

  test('a checkpoint that is too large is refused with its largest values, and the claim and the stored state stay unchanged', async () => {
    const root = folder()
    const storage = next(root, { limits: { checkpointBytes: 100_000 } })
    const claim = await claimed(storage, 'a')
    const { bytes, limitBytes, biggest } = await left(storage.save(claim, big(0, 100_000)), 'TooLarge')
    assert.ok(bytes > 125_000 && limitBytes === 100_000)
    assert.deepEqual(
      biggest.slice(0, 2).map(({ path }) => path),
      ['$.variables.report', '$.completedSteps[0].output']
    )
    assert.equal(biggest[0]?.bytes, 100_002)
    await right(storage.save(claim, big(0, 1000)))
    await left(storage.save(claim, big(1, 100_000)), 'TooLarge')
    await right(storage.save(claim, big(1, 1000)))
    assert.equal(some(await right(storage.load('a'))).revision, 1)
  })

  test('a large checkpoint is reported once with its largest values, long before it is refused; a long journal alone is not reported', async () => {
    const told: Array<LargeCheckpoint> = []
    const storage = next(folder(), {
      limits: { checkpointBytes: 300_000, warnBytes: 100_000, compactBytes: MIB },
      onLarge: (large) => {
        told.push(large)
        throw new Error('nobody listens')
      }
    })
    const claim = await claimed(storage, 'a')
    for (const n of upTo(150)) await right(storage.save(claim, big(n, 1000)))
    assert.equal(told.length, 0)
    await right(storage.save(claim, big(150, 150_000)))
    await right(storage.save(claim, big(151, 150_000)))
    assert.deepEqual(
      told.map(({ runId, limitBytes, biggest }) => [runId, limitBytes, biggest[0]?.path]),
      [['a', 300_000, '$.variables.report']]
    )
    assert.ok(told.every(({ bytes }) => bytes > 150_000 && bytes < 300_000))
  })

  test('an onLarge that returns a rejected promise causes no unhandled rejection', async () => {
    const unhandled: Array<unknown> = []
    const note = (reason: unknown): void => void unhandled.push(reason)
    process.on('unhandledRejection', note)
    let called = 0
    const onLarge = (): void => {
      called += 1
      return Promise.reject(new Error('the mail was refused')) as never
    }
    const storage = next(folder(), { limits: { warnBytes: 1_000 }, onLarge })
    const claim = await claimed(storage, 'a')
    await right(storage.save(claim, big(0, 10_000)))
    await new Promise((resolve) => setTimeout(resolve, 10))
    process.off('unhandledRejection', note)
    assert.deepEqual([called, unhandled], [1, []])
  })

  test('the journal of a killed owner is readable under any limits', async () => {
    for (const compactBytes of [0, 1000, MIB]) {
      const root = folder()
      const limits = { checkpointBytes: 4000, compactBytes }
      const claim = await claimed(next(root, { limits }), 'a')
      const storage = next(root, { limits })
      const owned = await claimed(storage, 'a')
      let n = 0
      while ((await storage.save(owned, step(n, 1500))())._tag === 'Right' && n < 3000) n++
      assert.ok(claim.epoch === 1 && n > 1)
      for (const readBytes of [undefined, 100]) {
        const stored = some(
          await right(
            next(root, { limits: { ...limits, ...(readBytes === undefined ? {} : { readBytes }) } }).load('a')
          )
        )
        assert.equal(stored.revision, n - 1)
      }
    }
  })

  test('the default limit of a checkpoint is 64 MiB', { timeout: 60_000 }, async () => {
    const root = folder()
    const storage = next(root)
    const claim = await claimed(storage, 'a')
    const { limitBytes } = await left(storage.save(claim, big(0, 64 * MIB)), 'TooLarge')
    assert.equal(limitBytes, 64 * MIB)
  })

  test('a run at its size limit is refused a save long before a compaction, and the next claim can save', async () => {
    const root = folder()
    const limits = { checkpointBytes: 20_000 }
    const storage = next(root, { limits })
    const claim = await claimed(storage, 'a')
    const payloads: Array<string> = []
    for (let length = 500; length > 0;) {
      const payload = 'あ'.repeat(length)
      const result = await storage.save(claim, revisions([...payloads, payload]))()
      if (result._tag === 'Left') length = Math.floor(length / 2)
      else payloads.push(payload)
    }
    await right(storage.release(claim))
    const later = next(root, { limits })
    payloads.push('x')
    await right(later.save(await claimed(later, 'a'), revisions(payloads)))
    assertHolds(some(await right(next(root).load('a'))), payloads)
  })

  test('the first save of a claim counts its checkpoint against the limit, without the change that led to it, and its journal is readable', async () => {
    for (const compactBytes of [0, MIB]) {
      const root = folder()
      const limits = { checkpointBytes: 200_000, compactBytes }
      const answer = 'x'.repeat(190_000)
      await seed(next(root, { limits }), 'a', ['small'])
      const storage = next(root, { limits })
      const claim = await claimed(storage, 'a')
      const answered: Revision = {
        ...revisions(['small', 'answered'])[0],
        change: { _tag: 'Answered', at: '2026-01-02T03:04:05.678Z', unit: 'ask', value: answer, by: 'me' },
        checkpoint: () => ({ answers: [answer] })
      }
      await right(storage.save(claim, [answered]))
      const { bytes } = await left(storage.save(claim, big(2, 200_000)), 'TooLarge')
      assert.ok(bytes > 200_000)
      let n = 2
      while ((await storage.save(claim, step(n, 190_000))())._tag === 'Right' && n < 10) n++
      for (const readBytes of [undefined, 100]) {
        const reader = next(root, { limits: { ...limits, ...(readBytes === undefined ? {} : { readBytes }) } })
        assert.equal(some(await right(reader.load('a'))).revision, n - 1)
      }
    }
  })

  test('a compaction refuses a checkpoint that grew over the limit, and nothing is lost', async () => {
    const root = folder()
    const storage = next(root, { limits: { checkpointBytes: 20_000, compactBytes: 0 } })
    const claim = await claimed(storage, 'a')
    let n = 0
    for (; n < 1000; n++) if ((await storage.save(claim, step(n))())._tag === 'Left') break
    const { where } = await left(storage.save(claim, step(n)), 'TooLarge')
    assert.ok(where.includes('history'))
    assert.equal(some(await right(next(root).load('a'))).revision, n - 1)
  })
})

test('each of many saves takes constant time and memory, and adds only its line', { timeout: 600_000 }, async () => {
  const root = folder()
  const fs = {
    ...nodeFileSystem,
    fdatasync: (_: number, done: (error: Error | null) => void) => void queueMicrotask(() => done(null))
  }
  const storage = next(root, { fs })
  const claim = await claimed(storage, 'a')
  const total = SWEEP ? 100_000 : 20_000
  const small = (n: number): ReadonlyNonEmptyArray<Revision> => [{ ...step(n, 20)[0], checkpoint: () => n }]
  const times: Array<number> = []
  const heaps: Array<number> = []
  for (let n = 0; n < total;) {
    // Processor time: other load on the machine does not count.
    const begun = process.cpuUsage()
    for (const until = n + total / 10; n < until; n++) await right(storage.save(claim, small(n)))
    const { user, system } = process.cpuUsage(begun)
    times.push(user + system)
    heaps.push(process.memoryUsage().heapUsed)
  }
  await right(storage.release(claim))
  const best = (some: ReadonlyArray<number>): number => Math.min(...some)
  assert.ok(best(times.slice(5)) < 2.5 * best(times.slice(0, 5)), times.map(Math.round).join())
  assert.ok((heaps.at(-1) as number) - (heaps[1] as number) < 50 * MIB, heaps.join())
  const files = readdirSync(placesOf(root).history)
  const size = files.reduce((sum, name) => sum + statSync(join(placesOf(root).history, name)).size, 0)
  assert.ok(size < total * 200, `${size}`)
  for (const name of files) assert.ok(!readFileSync(join(placesOf(root).history, name)).includes(0), name)
})
