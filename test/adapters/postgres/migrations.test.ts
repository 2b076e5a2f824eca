/** The tables: made by any number of processes at once, exported as SQL, and refused if they are newer. */
import assert from 'node:assert/strict'
import { runInNewContext } from 'node:vm'
import * as E from 'fp-ts/lib/Either.js'
import { afterEach, beforeEach, test } from 'vitest'
import { connect, postgresMigrations, postgresArtifacts } from '../../../src/adapters/postgres/index.js'
import { claimed, left, OTHER, OWNER, revisions, right, seed } from '../../../src/testing/conformance/fixtures.js'
import type { Place } from './kit.js'
import { destroy, open, place } from './kit.js'

let where: Place
beforeEach(async () => {
  where = await place()
})
afterEach(() => destroy(where))

const versions = async (): Promise<ReadonlyArray<number>> =>
  (await where.admin.query<{ version: number }>(`SELECT version FROM ${where.schema}.migrations`)).rows.map(
    ({ version }) => version
  )

test('five processes that start at once on an empty database make the tables once', async () => {
  const stores = Array.from({ length: 5 }, () => open(where).storage)
  await Promise.all(stores.map((storage, n) => seed(storage, `run-${n}`, [n])))
  assert.deepEqual(await versions(), [1])
  assert.equal((await right(open(where).storage.list())).length, 5)
})

test('a newer schema is refused by every call, and stays unchanged', async () => {
  await seed(open(where).storage, 'a', [1])
  await where.admin.query(`INSERT INTO ${where.schema}.migrations (version) VALUES (99)`)
  const { storage, pool } = open(where)
  const { found, supported, where: table } = await left(storage.load('a'), 'UnsupportedFormat')
  assert.deepEqual([found, supported, table], [99, 1, `${where.schema}.migrations`])
  for (const call of [storage.load('a'), storage.history('a'), storage.remove('a'), storage.claim('a', OTHER)])
    assert.equal((await left(call, 'UnsupportedFormat')).runId, 'a')
  assert.equal((await left(storage.list(), 'UnsupportedFormat')).runId, '')
  const get = await postgresArtifacts(pool, { schema: where.schema }).get('a', 'x')()
  assert.ok(E.isLeft(get) && get.left._tag === 'UnsupportedFormat')
  assert.equal(get.left.runId, 'a')
})

test('a running process refuses a newer schema at its next claim, of a new run and of an old one', async () => {
  const stores = [open(where).storage, open(where).storage]
  for (const [n, storage] of stores.entries()) await seed(storage, `run-${n}`, [1])
  await where.admin.query(`INSERT INTO ${where.schema}.migrations (version) VALUES (99)`)
  for (const [n, run] of ['run-0', 'new'].entries()) {
    const storage = stores[n] ?? assert.fail()
    const { found, where: table } = await left(storage.claim(run, OTHER), 'UnsupportedFormat')
    assert.deepEqual([found, table], [99, `${where.schema}.migrations`])
    await left(storage.load('run-0'), 'UnsupportedFormat')
  }
  const { rows } = await where.admin.query(`SELECT id FROM ${where.schema}.runs WHERE id = 'new' OR token IS NOT NULL`)
  assert.deepEqual(rows, [])
})

test('with `migrate: false` missing tables are refused with the remedy, and the exported SQL makes them', async () => {
  const { storage } = open(where, { migrate: false })
  const { code, cause } = await left(storage.claim('a', OWNER), 'WriteFailed')
  assert.equal(code, 'NO_TABLES')
  assert.match((cause as Error).message, /postgresMigrations\(/)
  for (let n = 0; n < 2; n++) await where.admin.query(postgresMigrations(where.schema))
  assert.deepEqual(await versions(), [1])
  const claim = await claimed(storage, 'a')
  await right(storage.save(claim, revisions([1])))
})

test('the remedy for missing tables is code that quotes any schema name correctly', async () => {
  const { storage } = open({ ...where, schema: `it's \\ ${where.schema}`, opened: where.opened }, { migrate: false })
  const { cause } = await left(storage.claim('a', OWNER), 'WriteFailed')
  const [, code = ''] = /`postgresMigrations\((.*)\)`$/.exec((cause as Error).message) ?? []
  assert.equal(runInNewContext(code), `it's \\ ${where.schema}`)
})

test('a schema may have any name', async () => {
  const named: Place = { ...where, schema: `odd "name"? ${where.schema}`, opened: [] }
  const { storage, pool } = open(named)
  await seed(storage, 'a', ['\0 and \ud800'])
  const artifacts = postgresArtifacts(pool, { schema: named.schema })
  await right(artifacts.put('a', 'report', 'done?'))
  assert.equal((await right(artifacts.list('a'))).length, 1)
  await storage.close()
  await pool.end()
  await where.admin.query(`DROP SCHEMA "odd ""name""? ${where.schema}" CASCADE`)
})

test('a schema name may contain $dogear$, the string that quotes the migrations', async () => {
  const schema = `$dogear$ ${where.schema}`
  const { storage } = open({ ...where, schema, opened: where.opened })
  await seed(storage, 'a', [1])
  await where.admin.query(postgresMigrations(schema))
  await where.admin.query(`DROP SCHEMA "${schema}" CASCADE`)
})

test('ids are compared bytewise, whatever the collation of the database is', async () => {
  const text = `SELECT attname, collname FROM pg_attribute JOIN pg_collation c ON c.oid = attcollation
    WHERE attrelid = $1::regclass AND attname IN ('id', 'run')`
  await right(open(where).storage.list())
  for (const table of ['runs', 'revisions', 'artifacts', 'requests']) {
    const { rows } = await where.admin.query<{ collname: string }>(text, [`${where.schema}.${table}`])
    assert.ok(rows.length > 0 && rows.every(({ collname }) => collname === 'C'), table)
  }
})

test('`connect` makes a pool for an address, and `close` ends every connection', async () => {
  const { host, port } = where.server
  const name = `application ${where.schema}`
  const stores = await connect(
    `postgres://postgres@${host}:${port}/postgres?application_name=${encodeURIComponent(name)}`,
    { schema: where.schema }
  )
  const claim = await claimed(stores.storage, 'a')
  await right(stores.storage.save(claim, revisions([1])))
  await right(stores.artifacts.put('a', 'report', 'done'))
  const answered = await stores.requests.leave({ _tag: 'Cancel', runId: 'a', requestedAt: new Date().toISOString() })()
  assert.ok(E.isRight(answered))
  await right(stores.storage.release(claim))
  await stores.close()
  const text = 'SELECT 1 FROM pg_stat_activity WHERE application_name = $1'
  for (const end = Date.now() + 5_000; (await where.admin.query(text, [name])).rows.length > 0;)
    assert.ok(Date.now() < end, 'a connection is left')
})
