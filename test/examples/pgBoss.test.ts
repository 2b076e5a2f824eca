/** The recipe of a pg-boss worker, on a real PostgreSQL server. */
import { rmSync, writeFileSync } from 'node:fs'
import { randomBytes } from 'node:crypto'
import pg from 'pg'
import PgBoss from 'pg-boss'
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { postgresRequests, postgresStorage } from '../../src/adapters/postgres/index.js'
import { pause, viewRun } from '../../src/promise/index.js'
import { sharedServer } from '../adapters/postgres/server.js'
import { type Process, type Recipe, recipe, until } from './recipes.js'

// Each test starts and kills several processes.
vi.setConfig({ testTimeout: 120_000 })

let place: Recipe
let url: string
let boss: PgBoss

beforeEach(async () => {
  const { host, port } = await sharedServer()
  const name = `recipe_${randomBytes(6).toString('hex')}`
  const admin = new pg.Client({ host, port, user: 'postgres' })
  await admin.connect()
  await admin.query(`CREATE DATABASE ${name}`)
  await admin.end()
  url = `postgres://postgres@${host}:${port}/${name}`
  place = recipe('pg-boss')
  boss = new PgBoss({ connectionString: url, supervise: false, schedule: false })
  await boss.start()
})
afterEach(async () => {
  await place.remove()
  await boss.stop({ graceful: false })
})

const start = (words: readonly string[], killBefore?: string, environment: NodeJS.ProcessEnv = {}): Process =>
  place.start(words, killBefore, { DATABASE_URL: url, ...environment })

const sql = async (text: string): Promise<readonly Record<string, unknown>[]> => {
  const client = new pg.Client(url)
  await client.connect()
  try {
    return (await client.query(text)).rows as Record<string, unknown>[]
  } finally {
    await client.end()
  }
}

const jobs = (): Promise<readonly Record<string, unknown>[]> =>
  sql("SELECT state FROM pgboss.job WHERE name = 'orders' ORDER BY created_on")

const held = (): Promise<void> =>
  until('the first worker has the run', async () => {
    const [schema] = await sql("SELECT to_regclass('dogear.runs') AS runs")
    return schema?.['runs'] !== null && (await sql('SELECT * FROM dogear.runs')).length > 0
  })

/** Lets the jobs expire whose worker is slow, as after an hour. */
const expire = async (): Promise<void> => {
  await sql("UPDATE pgboss.job SET started_on = now() - interval '2 hours' WHERE state = 'active'")
  await boss.maintain()
}

test('after a worker is killed in a step, the next worker charges and ships once', async () => {
  const first = start(['order-7'], 'charge order-7')
  expect(await first.ended).toMatchObject({ signal: 'SIGKILL' })
  expect(await jobs()).toMatchObject([{ state: 'active' }])
  const second = start([], 'ship order-7')
  expect(await second.ended).toMatchObject({ signal: 'SIGKILL' })
  const third = start([])
  await until('the order is done', () => third.output().includes('order-7: Completed'))
  process.kill(third.pid, 'SIGTERM')
  expect(await third.ended).toMatchObject({ code: 0, signal: null })
  expect(place.log()).toEqual(['charge order-7', 'ship order-7'])
})

test('one worker executes several runs at once', async () => {
  writeFileSync(place.file('hold'), '')
  await boss.createQueue('orders')
  await boss.send('orders', { id: 'order-8' })
  const worker = start(['order-7'], undefined, { DOGEAR_TEST_HOLD: 'hold' })
  await held()
  await until('both runs are started', async () => (await sql('SELECT * FROM dogear.runs')).length === 2)
  rmSync(place.file('hold'))
  for (const id of ['order-7', 'order-8'])
    await until(`${id} is done`, () => worker.output().includes(`${id}: Completed`))
  process.kill(worker.pid, 'SIGTERM')
  expect(await worker.ended).toMatchObject({ code: 0, signal: null })
})

test('a job whose run fails keeps the reason, and pg-boss tries it again', async () => {
  const worker = start(['order-7'], undefined, { DOGEAR_TEST_FAIL: 'charge order-7' })
  await until('the job fails', async () => (await jobs()).some(({ state }) => state === 'retry'))
  const [job] = await sql("SELECT output ->> 'message' AS why FROM pgboss.job WHERE name = 'orders'")
  expect(job).toEqual({ why: 'Run order-7 failed in step 1 (charge): no network' })
  process.kill(worker.pid, 'SIGTERM')
  await worker.ended
  const other = start([])
  await until('the order is done', () => other.output().includes('order-7: Completed'))
})

test('while a run sleeps, the queue holds one delayed job for it', async () => {
  const worker = start(['order-7'])
  await until('the order is done', () => worker.output().includes('order-7: Completed'))
  expect(worker.output()).toBe('order-7: Pending\norder-7: Completed\n')
  const delays = 'extract(epoch FROM start_after - created_on)::float8 AS delay'
  const jobs = await sql(`SELECT ${delays} FROM pgboss.job WHERE name = 'orders' ORDER BY created_on`)
  expect(jobs).toEqual([{ delay: 0 }, { delay: expect.closeTo(1, 0) as number }])
  expect(place.log()).toEqual(['charge order-7', 'ship order-7'])
})

test('the job of a paused run ends, and another one continues the run', async () => {
  writeFileSync(place.file('hold'), '')
  const worker = start(['order-7'], undefined, { DOGEAR_TEST_HOLD: 'hold' })
  await held()
  const pool = new pg.Pool({ connectionString: url })
  onTestFinished(() => pool.end())
  const options = { id: 'order-7', storage: postgresStorage(pool), environment: { requests: postgresRequests(pool) } }
  // A claim comes before the first save.
  await until('the run is saved', async () => (await viewRun(options))?.status === 'running')
  await pause({ ...options, commit: false })
  rmSync(place.file('hold'))
  await until('the job ends', async () => (await jobs()).some(({ state }) => state === 'completed'))
  expect((await viewRun(options))?.status).toBe('paused')
  await boss.send('orders', { id: 'order-7' })
  await until('the order is done', () => worker.output().includes('order-7: Completed'))
})

/** The first worker holds the run; the second one is refused. */
const deliveredTwice = async () => {
  writeFileSync(place.file('hold'), '')
  const slow = start(['order-7'], undefined, { DOGEAR_TEST_HOLD: 'hold' })
  await until('the first worker has the job', async () => (await jobs()).some(({ state }) => state === 'active'))
  await held()
  await expire()
  const other = start([])
  await until('the second worker is refused', () => /^order-7: Refused: .* process \d+ /m.test(other.output()))
  return { slow, other }
}

test('a stalled job that is delivered twice runs once', async () => {
  const { slow, other } = await deliveredTwice()
  rmSync(place.file('hold'))
  const said = (): string => slow.output() + other.output()
  await until('the order is done', () => said().includes('order-7: Completed'))
  expect(place.log()).toEqual(['charge order-7', 'ship order-7'])
})

test('a job that is delivered twice waits in the queue, and completes once its first worker has died', async () => {
  const { slow, other } = await deliveredTwice()
  await until('the second delivery is over', async () => {
    const states = (await jobs()).map(({ state }) => state)
    return states[0] === 'completed' && states.at(-1) === 'created'
  })
  process.kill(slow.pid, 'SIGKILL')
  await until('the order is done', () => other.output().includes('order-7: Completed'))
  expect(place.log()).toEqual(['charge order-7', 'ship order-7'])
})
