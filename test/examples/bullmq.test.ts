/** The recipe of a BullMQ worker, on a real Redis server; skipped where `redis-server` is not installed. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Queue, QueueEvents } from 'bullmq'
import { Redis } from 'ioredis'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { fileRequests, jsonFileStorage } from '../../src/adapters/json-file/index.js'
import { answer, pause, runOutcome, viewRun, workflow } from '../../src/promise/index.js'
import { type Process, type Recipe, recipe, until } from './recipes.js'

// Each test starts and kills several processes.
vi.setConfig({ testTimeout: 120_000 })

// .ci/run installs it.
const hasRedis = spawnSync('redis-server', ['--version']).status === 0

const freePort = (): Promise<number> =>
  new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const address = server.address()
      server.close(() => resolve(typeof address === 'object' && address !== null ? address.port : 0))
    })
  })

describe.skipIf(!hasRedis)('a BullMQ worker (needs redis-server)', () => {
  let folder: string
  let redis: ChildProcess
  let port: number
  let place: Recipe
  let queue: Queue

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'dogear-redis-'))
    port = await freePort()
    let output = ''
    redis = spawn('redis-server', ['--port', String(port), '--bind', '127.0.0.1', '--save', ''], { cwd: folder })
    redis.stdout?.on('data', (chunk) => (output += String(chunk)))
    await until('Redis listens', () => output.includes('Ready to accept connections'))
  })
  afterAll(() => {
    redis?.kill('SIGKILL')
    rmSync(folder, { recursive: true, force: true })
  })
  beforeEach(async () => {
    place = recipe('bullmq')
    queue = new Queue('orders', { connection: { host: '127.0.0.1', port } })
    await queue.obliterate({ force: true })
  })
  afterEach(async () => {
    await place.remove()
    await queue.close()
  })

  const start = (words: readonly string[], killBefore?: string, environment: NodeJS.ProcessEnv = {}): Process =>
    place.start(words, killBefore, { REDIS_PORT: String(port), ...environment })
  const done = async (...workers: readonly Process[]): Promise<void> => {
    await until('the order is done', () => workers.some((one) => one.output().includes('order-7: Completed')))
    expect(place.log()).toEqual(['charge order-7', 'ship order-7'])
  }

  test('after a worker is killed in a step, the next worker charges and ships once', async () => {
    expect(await start(['order-7'], 'charge order-7').ended).toMatchObject({ signal: 'SIGKILL' })
    expect(await start([], 'ship order-7').ended).toMatchObject({ signal: 'SIGKILL' })
    const last = start([])
    await done(last)
    process.kill(last.pid, 'SIGTERM')
    expect(await last.ended).toMatchObject({ code: 0, signal: null })
  })

  test('while a run sleeps, its job is delayed in the queue until the wake time', async () => {
    const events = new QueueEvents('orders', { connection: { host: '127.0.0.1', port } })
    const delayedTo: Array<number> = []
    events.on('delayed', ({ delay }) => delayedTo.push(delay))
    await events.waitUntilReady()
    const worker = start(['order-7'])
    await until('the order is done', () => worker.output().includes('order-7: Completed'))
    await events.close()
    expect(worker.output()).toBe('order-7: Pending\norder-7: Completed\n')
    const run = await viewRun({ id: 'order-7', storage: jsonFileStorage(place.file('state')) })
    const packing = [...(run?.checkpoint.completedSteps ?? [])].find(({ unit }) => unit === 'packing')
    expect(delayedTo).toEqual([Date.parse(packing?.startedAt ?? '') + 1_000])
    const job = await queue.getJob('order-7')
    expect({ attemptsMade: job?.attemptsMade, isCompleted: await job?.isCompleted() }).toEqual({
      attemptsMade: 1,
      isCompleted: true
    })
  })

  test('a job whose run fails keeps the reason, and a retry of its last attempt completes it', async () => {
    const worker = start(['order-7'], undefined, { DOGEAR_TEST_FAIL: 'charge order-7' })
    const job = async () => queue.getJob('order-7')
    await until('all attempts are used up', async () => (await job())?.isFailed() ?? false)
    expect((await job())?.failedReason).toBe('Run order-7 failed in step 1 (charge): no network')
    process.kill(worker.pid, 'SIGTERM')
    expect(await worker.ended).toMatchObject({ code: 0, signal: null })
    const other = start([])
    await (await job())?.retry()
    await done(other)
  })

  test('a job whose run is refused fails for good, with the reason', async () => {
    const other = workflow('order')
      .step('bill', () => 'billed')
      .waitFor('payment')
    await runOutcome(other, { id: 'order-7', storage: jsonFileStorage(place.file('state')) })
    start(['order-7'])
    await until('the job fails', async () => (await (await queue.getJob('order-7'))?.isFailed()) ?? false)
    const job = await queue.getJob('order-7')
    expect(job?.attemptsMade).toBe(1)
    expect(job?.failedReason).toContain('Cannot resume this run:\n  "bill" was removed. ')
  })

  /** Starts a worker, which stays in the first step of the run until the file `hold` is removed. `options`: for calls about that run. */
  const held = async () => {
    writeFileSync(place.file('hold'), '')
    const worker = start(['order-7'], undefined, { DOGEAR_TEST_HOLD: 'hold' })
    const options = {
      id: 'order-7',
      storage: jsonFileStorage(place.file('state')),
      environment: { requests: fileRequests(place.file('state')) }
    }
    await until('the worker has the run', async () => (await viewRun(options))?.status === 'running')
    return { worker, options }
  }

  test('an answer that comes while a worker holds the run is accepted', async () => {
    const path = place.file('bullmq.mjs')
    writeFileSync(path, readFileSync(path, 'utf8').replace(/\.sleep\(.*\)/, ".waitFor('packing')"))
    const { worker, options } = await held()
    expect(await answer({ ...options, unit: 'packing', value: true })).toMatchObject({ _tag: 'Requested' })
    rmSync(place.file('hold'))
    await done(worker)
  })

  test('the job of a paused run is delayed, and its promotion continues the run', async () => {
    const { worker, options } = await held()
    await pause({ ...options, commit: false })
    rmSync(place.file('hold'))
    await until('the run is paused', () => worker.output().includes('order-7: Interrupted'))
    const job = async () => queue.getJob('order-7')
    await until('the job is delayed', async () => (await (await job())?.isDelayed()) ?? false)
    expect((await job())?.delay).toBeGreaterThan(12 * 3_600_000)
    await (await job())?.promote()
    await done(worker)
  })

  test('a stalled job that is delivered twice runs once', async () => {
    writeFileSync(place.file('hold'), '')
    const slow = start(['order-7'], undefined, { DOGEAR_TEST_HOLD: 'hold' })
    await until('the first worker has the job', async () => (await queue.getActiveCount()) === 1)
    // The lock of the job is lost, as when the process of its worker had no time to renew it.
    const client = new Redis(port, '127.0.0.1')
    expect(await client.del('bull:orders:order-7:lock')).toBe(1)
    await client.quit()
    const other = start([])
    await until('the second worker is refused', () => /^order-7: Refused: .* process \d+ /m.test(other.output()))
    rmSync(place.file('hold'))
    await done(slow, other)
  })
})
