/** Planted faults of the JSON store, each found by a power cut, an error, a slow owner or a flipped bit. */
import assert from 'node:assert/strict'
import * as E from 'fp-ts/lib/Either.js'
import { describe, test } from 'vitest'
import { jsonFileStorage } from '../../../src/adapters/json-file/index.js'
import type { FileSystem } from '../../../src/adapters/json-file/files/FileSystem.js'
import { crashFiles } from './CrashFiles.js'
import { failEverywhere, flipEverywhere, stopEverywhere } from './accidents.js'
import type { Open, Swept } from './lives.js'
import { systemError } from './Intercept.js'
import { killAndSweep, lead, opening, OWNER, revisionsAfter, sweep, TIMEOUT_MILLIS, withoutTime } from './lives.js'
import { FAULTS, planted } from './planted.js'

withoutTime()

/** The store under test has the fault; the one that checks afterwards has none. */
const cut = async (open: Open, limit = 10): Promise<Swept> => {
  const files = crashFiles()
  return sweep(files, await lead(files, open), opening(), { limit })
}

const through = (change: (fs: FileSystem) => Partial<FileSystem>): Open =>
  opening(jsonFileStorage, (fs) => ({ ...fs, ...change(fs) }))

const assertFound = ({ violation }: Swept, message: RegExp): void => {
  assert.ok(violation !== undefined, 'nothing was found')
  assert.match(violation, message)
}

/** Whether anything is acknowledged to an owner after a failed sync of its journal. */
const afterFailedSync = async (open: Open): Promise<boolean> => {
  let isFailing = false
  const files = crashFiles({
    before: ({ call }) => {
      if (call === 'fdatasync' && isFailing) assert.fail(systemError('EIO'))
      return undefined
    }
  })
  const storage = open(files.fs)
  const claimed = await storage.claim('a', OWNER)()
  assert.ok(E.isRight(claimed))
  const { claim } = claimed.right
  const save = (revision: number) => storage.save(claim, revisionsAfter({ run: 1, revision: revision - 1 }, 1))()
  assert.ok(E.isRight(await save(0)))
  isFailing = true
  assert.ok(E.isLeft(await save(1)))
  isFailing = false
  const again = [await save(1), await save(2)].some(E.isRight)
  await storage.release(claim)()
  return again
}

describe('planted faults of the file store', { timeout: TIMEOUT_MILLIS }, () => {
  test('the crash kit finds a store that does not sync its folders', async () => {
    assertFound(await cut(through(() => ({ fsyncFolder: () => Promise.resolve() }))), /nothing is there, but 1/)
  })

  test('the crash kit finds a store that syncs only the folder of the journals', async () => {
    const open = through((fs) => ({
      fsyncFolder: (path) => (path.endsWith('history') ? fs.fsyncFolder(path) : Promise.resolve())
    }))
    assertFound(await cut(open), /nothing is there, but 1/)
  })

  test('the crash kit finds a store that syncs every folder but that of the journals', async () => {
    const store = await planted(...FAULTS.folderNotSynced)
    assertFound(await cut(opening(store)), /nothing is there|there is revision/)
  })

  test('the crash kit finds a store that acknowledges before it syncs', async () => {
    const store = await planted(...FAULTS.acknowledgesBeforeSync)
    assertFound(await cut(opening(store)), /nothing is there|there is revision/)
  })

  test('the crash kit finds a store that never syncs', async () => {
    assertFound(
      await cut(through(() => ({ fdatasync: (_, done) => queueMicrotask(() => done(null)) }))),
      /is refused|nothing is there|there is revision/
    )
  })

  test('the crash kit finds a store that publishes a record before its file is synced', async () => {
    const store = await planted({
      module: 'Publish.ts',
      text: "  const durable = await sync(fs, file.path, file.fd)\n  if (E.isLeft(durable)) return E.left({ ...durable.left, committed: 'no' })\n",
      instead: ''
    })
    assertFound(await cut(opening(store)), /is refused/)
  })

  test('the crash kit finds a store that does not sync separately what a claim found', async () => {
    const store = await planted({
      module: 'Claim.ts',
      text: '  return sync(fs, journal.path, journal.fd)\n',
      instead: '  return E.right(undefined)\n'
    })
    assertFound(await cut(opening(store), 40), /recovered only|is refused/)
  })

  test('the crash kit finds a store that records what a killed owner may not have synced', async () => {
    const store = await planted({
      module: 'Claim.ts',
      text: 'const durable = await syncOther(fs, Layout.journal(layout, newest.number))',
      instead: 'const durable: E.Either<StorageError, void> = E.right(undefined)'
    })
    const files = crashFiles()
    const lives = await lead(files, opening())
    const written = 1 + files.operations.findIndex((what) => /^write \d{4} bytes .+jsonl$/.test(what))
    assertFound(
      await killAndSweep(files, lives, opening(store), { limit: 10, first: written }),
      /recovered only|is refused/
    )
  })

  test('the crash kit finds a store that reports unwritten sectors as damage', async () => {
    const store = await planted({
      module: 'Journal.ts',
      text: '(newline === -1 || hasHole(written.subarray(from, until), from))',
      instead: '(newline === -1)'
    })
    const files = crashFiles()
    const open = opening(store)
    assertFound(await sweep(files, await lead(files, open), open, { limit: 10 }), /recovered only|is refused/)
  })

  test('the crash kit finds a store that does not verify checksums', async () => {
    const store = await planted(...FAULTS.sumsNotChecked)
    assertFound(await flipEverywhere(opening(store), 2_000), /there is revision|nothing is there/)
  })

  test('the crash kit finds a store that checks ownership before the sync instead of after', async () => {
    const store = await planted(...FAULTS.checkedBeforeSync)
    assertFound(await stopEverywhere(opening(store)), /was acknowledged to the owner/)
  })

  test('the crash kit finds a store that treats an unreadable file as missing', async () => {
    const store = await planted(...FAULTS.unreadableIsNothing)
    assertFound(
      await failEverywhere(opening(store), { codes: ['EIO'], stride: 1, limit: 0, call: 'read' }),
      /there is revision|nothing is there/
    )
  })

  test('the crash kit finds a store that continues in a journal after a failed sync', async () => {
    const store = await planted({
      module: 'Holding.ts',
      text: '  self.context.givenUp.add(self.record.token)\n  end(self, error)\n',
      instead: '  self.context.givenUp.add(self.record.token)\n'
    })
    assert.equal(await afterFailedSync(opening(store)), true)
    assert.equal(await afterFailedSync(opening()), false)
  })
})

describe('the file store', { timeout: TIMEOUT_MILLIS }, () => {
  test('the crash kit finds no fault in the real store', async () => {
    const open = opening(await planted())
    assert.deepEqual((await cut(open, 2)).violation, undefined)
    assert.deepEqual((await stopEverywhere(open)).violation, undefined)
    assert.deepEqual((await flipEverywhere(open, 100)).violation, undefined)
  })
})
