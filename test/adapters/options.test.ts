/** Stores refuse unknown and invalid options at each call, because an ignored one may discard history. */
import * as E from 'fp-ts/lib/Either.js'
import { mkdtempSync } from 'node:fs'
import { rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { afterAll, describe, expect, test } from 'vitest'
import { fileArtifacts, fileRequests, jsonFileStorage } from '../../src/adapters/json-file/index.js'
import { memoryArtifacts, memoryRequests, memoryStorage } from '../../src/adapters/memory.js'
import type { PostgresPool } from '../../src/adapters/postgres/index.js'
import { postgresArtifacts, postgresStorage } from '../../src/adapters/postgres/index.js'
import { connect, sqliteArtifacts, sqliteRequests, sqliteStorage } from '../../src/adapters/sqlite/index.js'
import { RunError } from '../../src/index.js'
import type { CheckpointStorage } from '../../src/ports/CheckpointStorage.js'

const root = mkdtempSync(join(tmpdir(), 'dogear-options-'))
afterAll(() => rm(root, { recursive: true }))

let files = 0
const database = (): Database.Database => {
  const opened = new Database(join(root, `${++files}.db`))
  opened.pragma('synchronous = FULL')
  return opened
}

/** Its server is never asked. */
const pool = (): PostgresPool =>
  ({ on: () => undefined, query: () => Promise.reject(new Error('it was asked')) }) as unknown as PostgresPool

const stores: Readonly<Record<string, (options: never) => CheckpointStorage>> = {
  jsonFileStorage: (options) => jsonFileStorage(join(root, 'files'), options),
  sqliteStorage: (options) => sqliteStorage(database(), options),
  postgresStorage: (options) => postgresStorage(pool(), options),
  memoryStorage: (options) => memoryStorage(undefined, options)
}

const reasonOf = async (storage: CheckpointStorage): Promise<string> => {
  const claimed = await storage.claim('r', { host: 'h', pid: 1 })()
  return E.isLeft(claimed) ? RunError.describe(claimed.left) : 'it was accepted'
}

const causeOf = async (call: () => Promise<unknown>): Promise<string> =>
  String(((await call()) as E.Left<{ readonly cause?: unknown }>).left.cause)

describe.each(Object.entries(stores))('%s', (name, open) => {
  test('the store refuses an unknown option', async () => {
    expect(await reasonOf(open({ formerOwnerz: 5 } as never))).toMatch(
      /^Cannot use .*: .*: unknown option "formerOwnerz"; /
    )
  })

  test('the store refuses null and an array as options', async () => {
    expect(await reasonOf(open(null as never))).toContain('options must be an object, not null')
    expect(await reasonOf(open([] as never))).toContain('options must be an object, not an array')
  })

  test('the store accepts missing options and options that are undefined', async () => {
    if (name === 'postgresStorage') return
    expect(await reasonOf(open({ keep: undefined, formerOwners: undefined } as never))).toBe('it was accepted')
  })
})

describe.each(Object.entries(stores).filter(([name]) => name !== 'memoryStorage'))('%s', (_, open) => {
  test.each([
    [{ keep: 'five' }, 'keep must be a whole number ≥ 1, not the string "five"'],
    [{ kep: 5 }, 'unknown option "kep"; did you mean "keep"?'],
    [{ limits: { checkpointByte: 5 } }, 'unknown option "checkpointByte"; did you mean "checkpointBytes"?'],
    [{ limits: 5 }, 'limits must be an object, not the number 5'],
    [{ limits: [] }, 'limits must be an object, not an array'],
    [
      { limits: { checkpointBytes: -1 } },
      'limits must be an object of valid options: checkpointBytes must be a number ≥ 0, not the number -1'
    ],
    [
      { checkIntervalMillis: Number.NaN },
      'checkIntervalMillis must be a number from 0 to 2147483647, not the number NaN'
    ],
    // A timer would take it for one millisecond.
    [
      { checkIntervalMillis: Infinity },
      'checkIntervalMillis must be a number from 0 to 2147483647, not the number Infinity'
    ],
    [{ checkIntervalMillis: 2 ** 31 }, 'checkIntervalMillis must be a number from 0 to 2147483647']
  ])('the store refuses the options %j', async (options, why) => {
    expect(await reasonOf(open(options as never))).toContain(why)
  })
})

test('jsonFileStorage refuses a heartbeat that no timer can keep', async () => {
  const storage = jsonFileStorage(join(root, 'files'), { heartbeat: { updateMillis: Infinity } })
  expect(await reasonOf(storage)).toContain('updateMillis must be a number from 0 to 2147483647')
})

test('memoryStorage refuses an invalid liveness', async () => {
  expect(await reasonOf(memoryStorage(undefined, { formerOwners: 'alive' as never }))).toBe(
    "Cannot use the store in memory: memoryStorage: formerOwners must be 'dead' or 'undecided'"
  )
})

test('memoryStorage refuses data that memoryData() did not make', async () => {
  expect(await reasonOf(memoryStorage({ formerOwners: 'dead' } as never))).toBe(
    'Cannot use the store in memory: memoryStorage: the data must be made by memoryData(), not an object'
  )
})

test('artifacts and requests in memory refuse data that memoryData() did not make', async () => {
  const wrong = memoryStorage() as never
  expect(await causeOf(memoryArtifacts(wrong).list('r'))).toContain(
    'memoryArtifacts: the data must be made by memoryData(), not an object'
  )
  expect(memoryRequests(wrong).isAny('r')).toBe(true)
  expect(await causeOf(memoryRequests(wrong).list('r'))).toContain(
    'memoryRequests: the data must be made by memoryData(), not an object'
  )
})

test('the error for an invalid pool or option says that the database cannot be used, and names no table', async () => {
  expect(await reasonOf(postgresStorage('postgres://x' as never))).toMatch(
    /^Cannot use the database: a PostgreSQL store needs a pool/
  )
  expect(await reasonOf(postgresStorage(pool(), { table: 'x' } as never))).toMatch(
    /^Cannot use the database: .*unknown option/
  )
})

test.each(['', 'x'.repeat(64), 'ж'.repeat(32)])(
  'a schema name that is empty or too long for PostgreSQL is refused: %j',
  async (schema) => {
    const why = 'schema must be a string of 1 to 63 bytes'
    expect(await reasonOf(postgresStorage(pool(), { schema }))).toContain(why)
    expect(await causeOf(postgresArtifacts(pool(), { schema }).list('r'))).toContain(why)
    expect(await reasonOf(postgresStorage(pool(), { schema: 'x'.repeat(63) }))).toContain('it was asked')
  }
)

test('a setting to allow that PostgreSQL stores do not know is refused', async () => {
  const settings =
    "'synchronous_commit=off', 'synchronous_commit=local', 'synchronous_commit=remote_write' or 'fsync=off'"
  expect(await reasonOf(postgresStorage(pool(), { allow: ['local' as never] }))).toContain(
    `allow must be an array of ${settings}`
  )
})

test('the stores of `connect` fail with an example of a driver if the driver is not a class', async () => {
  const { storage, artifacts, close } = connect(join(root, 'x.db'), undefined as never)
  const why = 'connect needs the class of a driver, not undefined; pass one, such as DatabaseSync of node:sqlite'
  expect(await reasonOf(storage)).toBe(`Cannot use the database: ${why}`)
  expect(await causeOf(artifacts.list('r'))).toContain(why)
  close()
})

test('artifacts and requests in files refuse invalid options', async () => {
  const wrong = { maxByte: 5 } as never
  expect(await causeOf(fileArtifacts(root, wrong).list('r'))).toContain('did you mean "maxBytes"?')
  expect(await causeOf(fileRequests(root, wrong).list('r'))).toContain('unknown option "maxByte"; there are no options')
})

test('artifacts and requests in databases refuse invalid options, and `connect` passes them the options of the store', async () => {
  const wrong = { maxByte: 5 } as never
  expect(await causeOf(sqliteArtifacts(database(), wrong).list('r'))).toContain('did you mean "maxBytes"?')
  expect(await causeOf(sqliteRequests(database(), wrong).list('r'))).toContain('did you mean "maxBytes"?')
  expect(await causeOf(postgresArtifacts(pool(), wrong).list('r'))).toContain('did you mean "maxBytes"?')
  expect(await causeOf(sqliteArtifacts(database(), null as never).list('r'))).toContain('must be an object, not null')
  expect(await causeOf(sqliteRequests(database(), null as never).list('r'))).toContain('must be an object, not null')
  expect(await causeOf(postgresArtifacts(pool(), null as never).list('r'))).toContain('must be an object, not null')
  const { storage, artifacts, close } = connect(join(root, 'own.db'), Database, { keep: 3, maxBytes: 7 })
  expect(await reasonOf(storage)).toBe('it was accepted')
  expect(E.isRight(await artifacts.list('r')())).toBe(true)
  close()
})

test('the error for a file that is no database says so and asks for another file', async () => {
  const file = join(root, 'notes.txt')
  await writeFile(file, 'buy milk\n'.repeat(200))
  expect(await reasonOf(connect(file, Database).storage)).toMatch(
    /notes\.txt is not a SQLite database; pass another file/
  )
})

test('the error for a state folder that cannot be created says that nothing was written', async () => {
  expect(await reasonOf(jsonFileStorage('/proc/nope/state'))).toMatch(
    /^Cannot create .*: ENOENT.*; nothing was written$/
  )
})

test('the error for a refused setting of the database ends with the command that fixes it', async () => {
  const weak = database()
  weak.pragma('journal_mode = WAL')
  weak.pragma('synchronous = NORMAL')
  expect(await reasonOf(sqliteStorage(weak))).toMatch(/^Cannot use .*: synchronous is NORMAL, .*; run "PRAGMA [^;]*$/)
})
