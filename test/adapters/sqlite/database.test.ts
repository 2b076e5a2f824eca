/** What the SQLite store expects of its database: durability, schema, limits, errors. */
import assert from 'node:assert/strict'
import { readFileSync, readdirSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import { describe, test } from 'vitest'
import type { SqliteDatabase } from '../../../src/adapters/sqlite/index.js'
import {
  connect,
  sqliteArtifacts,
  sqliteMigrations,
  sqliteRequests,
  sqliteStorage
} from '../../../src/adapters/sqlite/index.js'
import {
  assertHolds,
  assertLoads,
  claimed,
  left,
  OTHER,
  OWNER,
  revisions,
  right,
  seed,
  some,
  upTo
} from '../../../src/testing/conformance/fixtures.js'
import type { Fenced } from '../../../src/ports/CheckpointStorage.js'
import { runOutcome, workflow } from '../../../src/promise/index.js'
import * as RunError from '../../../src/public/RunError.js'
import { sweep } from '../../sweep.js'
import { drivers, folder } from './kit.js'

/** Counts the transactions and statements of a connection. */
const logged = (database: SqliteDatabase): { readonly database: SqliteDatabase; readonly log: Array<string> } => {
  const log: Array<string> = []
  return {
    log,
    database: {
      exec: (text) => {
        log.push(text)
        return database.exec(text)
      },
      prepare: (text) => {
        const statement = database.prepare(text)
        const noting =
          <Args extends ReadonlyArray<unknown>, A>(call: (...args: Args) => A) =>
          (...args: Args): A => {
            log.push(text)
            return call(...args)
          }
        return {
          run: noting((...values) => statement.run(...values)),
          get: noting((...values) => statement.get(...values)),
          all: noting((...values) => statement.all(...values))
        }
      },
      close: () => database.close()
    }
  }
}

describe.each(drivers.map((driver) => [driver.name, driver] as const))('with %s', (_, driver) => {
  const at = (): string => join(folder(), 'state.db')
  const opened = (file: string, synchronous: string): SqliteDatabase => {
    const database = new driver.open(file)
    database.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = ${synchronous}`)
    return database
  }

  describe.each(['Deleted', 'Replaced'] as const)('if the database file is %s while it is open', (what) => {
    const lose = (file: string): void => {
      const other = `${file}.other`
      if (what === 'Replaced') opened(other, 'FULL').close()
      renameSync(file, `${file}.old`)
      if (what === 'Replaced') renameSync(other, file)
    }
    const code = what === 'Deleted' ? 'FILE_DELETED' : 'FILE_REPLACED'

    test('a save fails with Fenced and names the database file, and the release then does nothing', async () => {
      const file = at()
      const { storage, close } = connect(file, driver.open)
      const claim = await claimed(storage, 'a')
      await right(storage.save(claim, revisions([1])))
      lose(file)
      const fenced = await left(storage.save(claim, revisions([1, 2])), 'Fenced')
      assert.deepEqual(fenced.files, { what, where: file })
      assert.match(
        RunError.describe(fenced),
        new RegExp(`^Run a stopped: ${file} was ${what.toLowerCase()} .*[Rr]esume`)
      )
      assert.equal(claim.lost.reason, fenced)
      assert.deepEqual(await left(storage.save(claim, revisions([1, 2])), 'Fenced'), fenced)
      await right(storage.release(claim))
      close()
    })

    test('the signal `lost` of a claim fires without a save if the database file is lost', async () => {
      const file = at()
      const { storage, close } = connect(file, driver.open, { checkIntervalMillis: 5 })
      const { lost } = await claimed(storage, 'a')
      const fired = new Promise((resolve) => lost.addEventListener('abort', resolve))
      lose(file)
      await fired
      assert.deepEqual((lost.reason as Fenced).files, { what, where: file })
      close()
    })

    test('no claim, removal, release, artifact or request is acknowledged if the database file is lost', async () => {
      const file = at()
      const { storage, artifacts, requests, close } = connect(file, driver.open)
      const claim = await claimed(storage, 'a')
      lose(file)
      const refused = [
        await left(storage.claim('b', OWNER), 'WriteFailed'),
        await left(storage.remove('c'), 'WriteFailed'),
        await left(storage.release(claim), 'WriteFailed'),
        await left(artifacts.put('a', 'x', 'x'), 'WriteFailed'),
        await left(requests.leave({ _tag: 'Cancel', runId: 'a', requestedAt: '' }), 'WriteFailed')
      ]
      for (const one of refused) {
        assert.deepEqual([one.code, one.where], [code, file])
        assert.match(
          RunError.describe(one),
          new RegExp(
            `^Cannot use ${file}: it was ${what === 'Deleted' ? 'deleted or moved' : 'replaced'} .*; .* again$`
          )
        )
      }
      close()
    })

    test('a run whose database file is lost ends as Fenced', async () => {
      const file = at()
      const { storage, close } = connect(file, driver.open)
      const program = workflow('w')
        .step('one', () => lose(file))
        .step('two', () => 'done')
      const outcome = await runOutcome(program, { id: 'r', storage })
      assert.ok(outcome._tag === 'Fenced')
      assert.deepEqual(outcome.files, { what, where: file })
      close()
    })
  })

  test('a save fails with Fenced if only the write-ahead log is deleted, because a kill would lose what follows', async () => {
    const file = at()
    const { storage, close } = connect(file, driver.open)
    const claim = await claimed(storage, 'a')
    await right(storage.save(claim, revisions([1])))
    renameSync(`${file}-wal`, `${file}-wal.old`)
    const fenced = await left(storage.save(claim, revisions([1, 2])), 'Fenced')
    assert.deepEqual(fenced.files, { what: 'Deleted', where: `${file}-wal` })
    close()
  })

  test('the write-ahead log of an open connection outlives other connections, and a SQLite checkpoint that truncates the log', async () => {
    const file = at()
    const { storage, close } = connect(file, driver.open)
    const claim = await claimed(storage, 'a')
    for (const n of [1, 2, 3]) {
      const other = opened(file, 'FULL')
      other.exec('PRAGMA wal_checkpoint(TRUNCATE)')
      other.close()
      await right(storage.save(claim, revisions(Array.from({ length: n }, (_, index) => index))))
    }
    await right(storage.release(claim))
    close()
  })

  test('a run continues if its program leaves WAL mode and SQLite deletes the log, and a new store watches the next log', async () => {
    const file = at()
    const database = opened(file, 'FULL')
    const storage = sqliteStorage(database)
    const claim = await claimed(storage, 'a')
    await right(storage.save(claim, revisions([1])))
    database.exec('PRAGMA journal_mode = DELETE')
    await right(storage.save(claim, revisions([1, 2])))
    database.exec('PRAGMA journal_mode = WAL')
    await right(storage.save(claim, revisions([1, 2, 3])))
    assert.equal(claim.lost.aborted, false)
    await right(storage.release(claim))
    await claimed(sqliteStorage(database), 'b')
    renameSync(`${file}-wal`, `${file}-wal.old`)
    assert.equal((await left(storage.claim('a', OWNER), 'WriteFailed')).where, `${file}-wal`)
    database.close()
  })

  test.runIf('open' in driver.open.prototype)(
    'a connection that was closed and opened again has a new log',
    async () => {
      const file = at()
      const database = opened(file, 'FULL') as SqliteDatabase & { readonly open: () => void }
      await seed(sqliteStorage(database), 'a', [1])
      for (const payloads of [
        [1, 2],
        [1, 2, 3]
      ]) {
        database.close()
        database.open()
        const storage = sqliteStorage(database)
        const claim = await claimed(storage, 'a')
        await right(storage.save(claim, revisions(payloads)))
        await right(storage.release(claim))
      }
      renameSync(`${file}-wal`, `${file}-wal.old`)
      assert.equal((await left(sqliteStorage(database).claim('a', OWNER), 'WriteFailed')).where, `${file}-wal`)
      database.close()
    }
  )

  test('a database file that is deleted before its first use is refused, and is used once it is put back', async () => {
    const file = at()
    const { storage, close } = connect(file, driver.open)
    renameSync(file, `${file}.old`)
    const refused = await left(storage.claim('a', OWNER), 'WriteFailed')
    assert.equal(refused.code, 'FILE_DELETED')
    renameSync(`${file}.old`, file)
    const claim = await claimed(storage, 'a')
    await right(storage.save(claim, revisions([1])))
    close()
  })

  test.each(['save', 'check'] as const)(
    'a run that ended at a %s because its database file was moved can be claimed as soon as the file is back',
    async (by) => {
      const file = at()
      const { storage, close } = connect(file, driver.open, { checkIntervalMillis: by === 'check' ? 5 : 60_000 })
      const claim = await claimed(storage, 'a')
      await right(storage.save(claim, revisions([1])))
      const fired = new Promise((resolve) => claim.lost.addEventListener('abort', resolve))
      renameSync(file, `${file}.old`)
      if (by === 'save') await left(storage.save(claim, revisions([1, 2])), 'Fenced')
      await fired
      await right(storage.release(claim))
      renameSync(`${file}.old`, file)
      const next = await right(storage.claim('a', OWNER))
      assert.equal(next.claim.epoch, claim.epoch + 1)
      close()
    }
  )

  test.each(['NORMAL', 'OFF'] as const)(
    'a connection with synchronous = %s is refused for every write unless it is allowed by name',
    async (synchronous) => {
      const database = opened(at(), synchronous)
      const refused = await left(sqliteStorage(database).claim('a', OWNER), 'WriteFailed')
      assert.deepEqual([refused.code, refused.committed], ['WEAK_SYNCHRONOUS', 'no'])
      assert.match(String(refused.cause), new RegExp(`synchronous is ${synchronous}.*PRAGMA synchronous = FULL`))
      const put = await sqliteArtifacts(database).put('a', 'x', 'x')()
      assert.ok(E.isLeft(put) && put.left._tag === 'WriteFailed' && put.left.code === 'WEAK_SYNCHRONOUS')
      const requestedAt = '2026-01-02T03:04:05.000Z'
      const asked = await sqliteRequests(database).leave({ _tag: 'Cancel', runId: 'a', requestedAt })()
      assert.ok(E.isLeft(asked) && asked.left._tag === 'WriteFailed' && asked.left.code === 'WEAK_SYNCHRONOUS')
      assert.deepEqual(await right(sqliteStorage(database).load('a')), O.none)
      await seed(sqliteStorage(database, { synchronous }), 'a', [1])
      await assertLoads(sqliteStorage(database), 'a', [1])
    }
  )

  test('a SQLite store that allows synchronous NORMAL still refuses OFF', async () => {
    const storage = sqliteStorage(opened(at(), 'OFF'), { synchronous: 'NORMAL' })
    assert.equal((await left(storage.claim('a', OWNER), 'WriteFailed')).code, 'WEAK_SYNCHRONOUS')
  })

  test('a setting that is weakened later is noticed at the next save', async () => {
    const database = opened(at(), 'FULL')
    const storage = sqliteStorage(database)
    const claim = await claimed(storage, 'a')
    await right(storage.save(claim, revisions([1])))
    database.exec('PRAGMA synchronous = NORMAL')
    const refused = await left(storage.save(claim, revisions([1, 2])), 'WriteFailed')
    assert.deepEqual([refused.code, refused.committed], ['WEAK_SYNCHRONOUS', 'no'])
  })

  test('connect uses WAL and synchronous = FULL, and leaves no lock file after a release', async () => {
    const file = at()
    const { storage, close } = connect(file, driver.open)
    await seed(storage, 'a', [1])
    close()
    const database = new driver.open(file)
    assert.deepEqual({ ...Object(database.prepare('PRAGMA journal_mode').get()) }, { journal_mode: 'wal' })
    assert.deepEqual(readdirSync(`${file}-owners`), [])
    database.close()
  })

  test('a database that cannot use WAL is refused', async () => {
    const refused = await left(connect(':memory:', driver.open).storage.claim('a', OWNER), 'WriteFailed')
    assert.equal(refused.code, 'NO_WAL')
    assert.match(String(refused.cause), /keep the database in a file on a local disk/)
  })

  test('a database of an older schema is migrated and keeps its runs', async () => {
    const file = at()
    const first = connect(file, driver.open)
    await seed(first.storage, 'a', [1, 2])
    const sql = `ALTER TABLE runs ADD COLUMN extra TEXT; INSERT INTO dogear_schema VALUES (2, 'now');`
    const migrations = [...sqliteMigrations, { number: 2, sql }]
    const second = connect(file, driver.open, { migrations })
    await assertLoads(second.storage, 'a', [1, 2])
    const rows = new driver.open(file).prepare('SELECT number FROM dogear_schema ORDER BY number').all()
    assert.deepEqual(
      rows.map((row) => (row as { readonly number: number }).number),
      [1, 2]
    )
  })

  test('a newer schema is refused at the first call, and at the next claim of a running process', async () => {
    const file = at()
    const { storage } = connect(file, driver.open)
    await seed(storage, 'a', [1])
    new driver.open(file).exec("INSERT INTO dogear_schema VALUES (2, 'now')")
    const claim = await left(storage.claim('a', OWNER), 'UnsupportedFormat')
    assert.deepEqual([claim.found, claim.supported], [2, 1])
    const later = connect(file, driver.open).storage
    await left(later.load('a'), 'UnsupportedFormat')
    await left(later.list(), 'UnsupportedFormat')
  })

  test('the exported migrations make the schema that the store uses', async () => {
    const file = at()
    const database = new driver.open(file)
    for (const { sql } of sqliteMigrations) database.exec(sql)
    database.close()
    await seed(connect(file, driver.open).storage, 'a', [1])
  })

  test('a save is one transaction with one commit, and checks its claim in the statement that writes', async () => {
    const file = at()
    const { database, log } = logged(opened(file, 'FULL'))
    const storage = sqliteStorage(database, { open: (path) => new driver.open(path) })
    const claim = await claimed(storage, 'a')
    await right(storage.save(claim, revisions([1])))
    log.length = 0
    await right(storage.save(claim, revisions([1, 2, 3], 2)))
    const words = log.map((text) => text.split(/\s+/).slice(0, 3).join(' '))
    assert.deepEqual(words, [
      'PRAGMA synchronous',
      'BEGIN IMMEDIATE',
      'UPDATE runs SET',
      'INSERT INTO revisions',
      'INSERT INTO revisions',
      'COMMIT'
    ])
  })

  test('of two owners that race to save each revision, only the one that claimed last is accepted', async () => {
    const file = at()
    const [one, other] = [connect(file, driver.open).storage, connect(file, driver.open).storage]
    const forget = new driver.open(file)
    let former = await claimed(one, 'a')
    await right(one.save(former, revisions(upTo(1))))
    const rounds = sweep ? 1_000 : 200
    for (let n = 1; n < rounds; n++) {
      // The former owner counts as dead, and lives.
      forget.exec('UPDATE runs SET owner = NULL')
      const [zombie, owner] = n % 2 === 1 ? [one, other] : [other, one]
      const claim = await claimed(owner, 'a', OTHER)
      const payloads = upTo(n + 1)
      const [late, saved] = await Promise.all([
        zombie.save(former, revisions(payloads))(),
        owner.save(claim, revisions(payloads))()
      ])
      assert.ok(E.isLeft(late) && late.left._tag === 'Fenced', `round ${n}`)
      assert.ok(E.isRight(saved), `round ${n}`)
      former = claim
    }
    await assertLoads(one, 'a', upTo(rounds))
  })

  test('a full disk is WriteFailed with SQLITE_FULL, and the same process can go on once there is space', async () => {
    const database = opened(at(), 'FULL')
    const storage = sqliteStorage(database)
    const claim = await claimed(storage, 'a')
    await right(storage.save(claim, revisions([1])))
    database.exec('PRAGMA max_page_count = 30')
    const failed = await left(storage.save(claim, revisions([1, 'x'.repeat(500_000)])), 'WriteFailed')
    assert.deepEqual([failed.code, failed.operation], ['SQLITE_FULL', 'INSERT revisions'])
    assert.equal(failed.committed, 'no')
    database.exec('PRAGMA max_page_count = 1000000')
    const again = await right(storage.claim('a', OWNER))
    assertHolds(some(again.stored), [1])
    await right(storage.save(again.claim, revisions([1, 2])))
  })

  test('a connection that cannot write can read', async () => {
    const file = at()
    await seed(connect(file, driver.open).storage, 'a', [1])
    const database = opened(file, 'FULL')
    database.exec('PRAGMA query_only = ON')
    const storage = sqliteStorage(database)
    await assertLoads(storage, 'a', [1])
    assert.match((await left(storage.claim('a', OWNER), 'WriteFailed')).code, /^SQLITE_READONLY/)
  })

  test('a file that is no database is an error, and not an empty store', async () => {
    const file = at()
    const { storage, close } = connect(file, driver.open)
    await seed(storage, 'a', ['x'.repeat(10_000)])
    close()
    const bytes = readFileSync(file)
    writeFileSync(file, Buffer.concat([Buffer.from('no database at all'), bytes.subarray(18)]))
    const broken = connect(file, driver.open).storage
    assert.equal((await left(broken.load('a'), 'Corrupt')).runId, 'a')
    assert.equal((await left(broken.list(), 'ReadFailed')).code, 'SQLITE_NOTADB')
    const first = await left(connect(file, driver.open).storage.list(), 'ReadFailed')
    assert.equal(first.where, file)
  })

  test.each(['state.db', undefined])('%j in place of an open database is refused with an example', async (given) => {
    const refused = await left(sqliteStorage(given as unknown as SqliteDatabase).list(), 'ReadFailed')
    assert.match(RunError.describe(refused), /a SQLite store needs an open database, not [^;]+; pass one, such as new /)
  })

  test('artifacts above the limit are TooLarge, and the default limit is 64 MiB', async () => {
    const database = opened(at(), 'FULL')
    const put = await sqliteArtifacts(database, { maxBytes: 4 }).put('a', 'x', '12345')()
    assert.ok(E.isLeft(put) && put.left._tag === 'TooLarge')
    assert.deepEqual([put.left.bytes, put.left.limitBytes, put.left.where], [5, 4, 'artifacts of the database'])
    const large = await sqliteArtifacts(database).put('a', 'x', new Uint8Array(64 * 1_048_576 + 1))()
    assert.ok(E.isLeft(large) && large.left._tag === 'TooLarge' && large.left.limitBytes === 64 * 1_048_576)
    assert.ok(E.isRight(await sqliteArtifacts(database).put('a', 'x', new Uint8Array(64 * 1_048_576))()))
  })

  test('a save deletes the rows older than the oldest whole checkpoint to keep', async () => {
    const file = at()
    const { storage } = connect(file, driver.open, { keep: 3 })
    for (let n = 0; n < 12; n += 2) {
      const claim = await claimed(storage, 'a')
      await right(storage.save(claim, revisions(upTo(n + 1))))
      await right(storage.save(claim, revisions(upTo(n + 2))))
      await right(storage.release(claim))
    }
    const kept = (await right(storage.history('a'))).map(({ revision }) => revision)
    assert.deepEqual(kept, [11, 10, 9, 8, 7, 6])
    const rows = new driver.open(file).prepare('SELECT count(*) AS rows FROM revisions').all()
    assert.equal((rows[0] as { readonly rows: number }).rows, 6)
    for (const revision of kept) {
      const stored = some(await right(storage.loadRevision('a', revision)), `revision ${revision}`)
      assertHolds(stored, upTo(revision + 1))
    }
  })

  test('a save writes a whole checkpoint again once the changes outgrow the last one', async () => {
    const file = at()
    const { storage } = connect(file, driver.open, { limits: { baseBytes: 2_000 } })
    const claim = await claimed(storage, 'a')
    for (let n = 1; n <= 40; n++) await right(storage.save(claim, revisions(upTo(n))))
    const rows = new driver.open(file)
      .prepare('SELECT revision FROM revisions WHERE checkpoint IS NOT NULL ORDER BY revision')
      .all()
    assert.ok(rows.length > 2 && rows.length < 10, `${rows.length} whole checkpoints`)
    await assertLoads(storage, 'a', upTo(40))
  })
})
