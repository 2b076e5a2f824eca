/** Real processes on one database: they are killed, race for runs, and end by themselves. */
import assert from 'node:assert/strict'
import type { ChildProcess } from 'node:child_process'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import * as E from 'fp-ts/lib/Either.js'
import { afterAll, afterEach, beforeAll, test } from 'vitest'
import { claimed, left, OTHER, OWNER, right, seed, some } from '../../../src/testing/conformance/fixtures.js'
import { bundled } from '../../bundled.js'
import type { Place } from './kit.js'
import { destroy, later, open, place } from './kit.js'

interface Message {
  readonly step?: number
  readonly runId?: string
  readonly ended?: string
  readonly failed?: string
  readonly message?: string
  readonly over?: boolean
}

let where: Place
const children: Array<ChildProcess> = []
beforeAll(async () => {
  where = await place()
  await right(open(where).storage.list())
  await where.admin.query(`CREATE TABLE ${where.schema}.done (run text, step integer, by text)`)
})
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL')
})
afterAll(() => destroy(where))

const worker = (options: object): { readonly child: ChildProcess; readonly messages: Array<Message> } => {
  const script = bundled(fileURLToPath(new URL('children/worker.js', import.meta.url)))
  const given = JSON.stringify({ ...where.server, schema: where.schema, ...options })
  const child = spawn(process.execPath, [script, given], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
  children.push(child)
  const messages: Array<Message> = []
  child.on('message', (message: Message) => void messages.push(message))
  return { child, messages }
}

const until = async (holds: () => boolean, what: string): Promise<void> => {
  for (const end = Date.now() + 60_000; !holds(); await later(5)) assert.ok(Date.now() < end, `waited for ${what}`)
}

const stepsOf = async (runId: string): Promise<ReadonlyArray<number>> => {
  const text = `SELECT step FROM ${where.schema}.done WHERE run = $1 ORDER BY step`
  return (await where.admin.query<{ step: number }>(text, [runId])).rows.map(({ step }) => step)
}

const TEN = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]

test('the run of a worker that was killed in a step is taken over within 100 ms of the next check, and finishes with each step done once', async () => {
  const { storage } = open(where)
  await right(storage.release(await claimed(storage, 'warm-up')))
  const times: Array<number> = []
  for (const runId of ['kill-0', 'kill-1', 'kill-2']) {
    const { child, messages } = worker({ runIds: [runId], hangAt: 3 })
    await until(() => messages.some(({ step }) => step === 3), 'step 3')
    await left(storage.claim(runId, OTHER), 'HeldBy')
    child.kill('SIGKILL')
    const killedAt = performance.now()
    for (;;) {
      const lookedAt = performance.now()
      const granted = await storage.claim(runId, OTHER)()
      assert.ok(lookedAt - killedAt < 2_000, 'the death was not noticed within 2 s')
      if (E.isRight(granted)) {
        times.push(performance.now() - lookedAt)
        assert.equal(some(granted.right.stored).found._tag, 'Exact')
        await right(storage.release(granted.right.claim))
        break
      }
      await later(5)
    }
    const next = worker({ runIds: [runId] })
    await until(() => next.messages.some(({ over }) => over === true), 'the end of the run')
    assert.deepEqual(await stepsOf(runId), TEN)
  }
  assert.ok(Math.min(...times) < 100, `a takeover took ${times.map(Math.round).join(', ')} ms`)
})

test('if two workers start the same runs at once, each run has one owner and each step is done once', async () => {
  const runIds = Array.from({ length: 5 }, (_, n) => `race-${n}`)
  const workers = [worker({ runIds }), worker({ runIds })]
  await until(() => workers.every(({ messages }) => messages.some(({ over }) => over === true)), 'both workers')
  for (const runId of runIds) {
    assert.deepEqual(await stepsOf(runId), TEN)
    assert.ok(workers.some(({ messages }) => messages.some(({ ended }) => ended === runId)))
  }
})

test.each(['lock', 'lease'] as const)(
  'with clocks two days apart and a %s, a live owner keeps its run, and the run of a killed owner is finished with each step done once',
  async (liveness) => {
    const [day, runId] = [86_400_000, `skew-${liveness}`]
    const options = { liveness, runIds: [runId] }
    const ahead = worker({ ...options, clockAheadMillis: day, hangAt: 3 })
    await until(() => ahead.messages.some(({ step }) => step === 3), 'step 3')
    // Longer than a lease.
    await later(1_500)
    const behind = async (): Promise<Message | undefined> => {
      const { messages } = worker({ ...options, clockAheadMillis: -day })
      await until(() => messages.some(({ over }) => over === true), 'the worker whose clock is behind')
      return messages.find(({ failed, ended }) => failed !== undefined || ended !== undefined)
    }
    assert.match((await behind())?.message ?? '', / (is already|may be) in progress/)
    ahead.child.kill('SIGKILL')
    for (const end = performance.now() + 20_000; (await behind())?.ended !== runId; await later(100))
      assert.ok(performance.now() < end, 'the run of the killed worker is not taken over')
    assert.deepEqual(await stepsOf(runId), TEN)
  },
  60_000
)

test('a process ends by itself once its runs have ended, and stays while a call is in flight', async () => {
  const { child, messages } = worker({ runIds: ['ends'] })
  const [code] = (await once(child, 'exit')) as [number]
  assert.equal(code, 0)
  assert.deepEqual(messages.at(-1), { over: true })
  assert.ok(messages.some(({ ended }) => ended === 'ends'))
})

test('the store works with a pool of one connection', async () => {
  const one = open(where, { config: { max: 1 } })
  const claims = await Promise.all(Array.from({ length: 20 }, (_, n) => claimed(one.storage, `one-${n}`)))
  await left(open(where).storage.claim('one-3', OTHER), 'HeldBy')
  for (const claim of claims) await right(one.storage.release(claim))
  await seed(one.storage, 'one-3', [1, 2])
  assert.equal(one.pool.totalCount, 1)
})

test('5,000 concurrent claims of one process are all granted, with one more connection than the pool has', async () => {
  const { storage } = open(where, { config: { application_name: where.schema } })
  const connections = async (): Promise<number> => {
    const text = `SELECT count(DISTINCT pid)::integer AS count FROM pg_locks JOIN pg_stat_activity USING (pid)
      WHERE locktype = 'advisory' AND granted AND application_name = $1`
    return (await where.admin.query<{ count: number }>(text, [where.schema])).rows[0]?.count ?? 0
  }
  const results = await Promise.all(Array.from({ length: 5_000 }, (_, n) => storage.claim(`many-${n}`, OWNER)()))
  assert.equal(results.filter(E.isRight).length, 5_000)
  assert.equal(await connections(), 1)
  const { holder } = await left(open(where).storage.claim('many-4999', OTHER), 'HeldBy')
  assert.equal(holder.liveness, 'alive')
}, 120_000)
