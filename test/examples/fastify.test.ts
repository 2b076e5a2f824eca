/** The recipe of a Fastify server: killed, stopped and started again. */
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { fileRequests, jsonFileStorage } from '../../src/adapters/json-file/index.js'
import { pause } from '../../src/promise/index.js'
import { type Process, type Recipe, recipe, until } from './recipes.js'

// Each test starts and kills several processes.
vi.setConfig({ testTimeout: 120_000 })

let place: Recipe
beforeEach(() => (place = recipe('fastify')))
afterEach(() => place.remove())

interface Server extends Process {
  readonly url: string
}

const serve = async (killBefore?: string, environment: NodeJS.ProcessEnv = {}): Promise<Server> => {
  const one = place.start([], killBefore, { PORT: '0', DOGEAR_TEST_HOLD: 'hold', ...environment })
  await until('the server listens', () => one.output().includes('http://'))
  return { ...one, url: `${/http:\S+/.exec(one.output())?.[0] ?? ''}/orders/order-7` }
}

const status = async ({ url }: Server): Promise<unknown> =>
  ((await (await fetch(url)).json()) as { readonly status?: string }).status

const stop = async (server: Server, signal: NodeJS.Signals = 'SIGTERM'): Promise<void> => {
  process.kill(server.pid, signal)
  expect(await server.ended).toMatchObject({ code: 0, signal: null })
}

test.each(['charge order-7', 'ship order-7'])(
  'after a server is killed before "%s", the next server finishes the run at boot',
  async (line) => {
    const first = await serve(line)
    const answer = await fetch(first.url, { method: 'POST' })
    expect([answer.status, await answer.json()]).toEqual([202, { id: 'order-7' }])
    expect(await first.ended).toMatchObject({ signal: 'SIGKILL' })
    const second = await serve()
    await until('the run is completed', async () => (await status(second)) === 'completed')
    await stop(second)
    expect(place.log()).toEqual(['charge order-7', 'ship order-7'])
  }
)

test.each(['SIGTERM', 'SIGINT'] as const)(
  'a server that gets %s stops its runs, exits with 0, and the next one continues them',
  async (signal) => {
    writeFileSync(place.file('hold'), '')
    const first = await serve()
    expect((await fetch(first.url, { method: 'POST' })).status).toBe(202)
    expect(await status(first)).toBe('running')
    await stop(first, signal)
    expect(place.log()).toEqual([])
    rmSync(place.file('hold'))
    const second = await serve()
    await until('the run is completed', async () => (await status(second)) === 'completed')
    await stop(second)
    expect(place.log()).toEqual(['charge order-7', 'ship order-7'])
  }
)

test('a pause lets the running step end, and a repeated HTTP request continues the run', async () => {
  writeFileSync(place.file('hold'), '')
  const server = await serve()
  expect((await fetch(server.url, { method: 'POST' })).status).toBe(202)
  const state = place.file('state')
  const environment = { requests: fileRequests(state) }
  const asked = await pause({ id: 'order-7', storage: jsonFileStorage(state), environment })
  expect(asked).toMatchObject({ _tag: 'Requested' })
  rmSync(place.file('hold'))
  await until('the run is paused', async () => (await status(server)) === 'paused')
  expect(place.log()).toEqual(['charge order-7'])
  expect((await fetch(server.url, { method: 'POST' })).status).toBe(202)
  await until('the run is completed', async () => (await status(server)) === 'completed')
  await stop(server)
  expect(place.log()).toEqual(['charge order-7', 'ship order-7'])
})

test('the status of a failed run has the error of its step, and the next POST runs only that step again', async () => {
  const first = await serve(undefined, { DOGEAR_TEST_FAIL: 'ship order-7' })
  expect((await fetch(first.url, { method: 'POST' })).status).toBe(202)
  await until('the run is failed', async () => (await status(first)) === 'failed')
  expect(await (await fetch(first.url)).json()).toMatchObject({ errors: ['ship: no network'] })
  await stop(first)
  const second = await serve()
  expect(await status(second)).toBe('failed')
  expect((await fetch(second.url, { method: 'POST' })).status).toBe(202)
  await until('the run is completed', async () => (await status(second)) === 'completed')
  await stop(second)
  expect(place.log()).toEqual(['charge order-7', 'ship order-7'])
})

test('a server whose workflow was edited says why it does not continue a run, at boot and at a repeated request', async () => {
  const first = await serve('ship order-7')
  expect((await fetch(first.url, { method: 'POST' })).status).toBe(202)
  expect(await first.ended).toMatchObject({ signal: 'SIGKILL' })
  const program = place.file('fastify.mjs')
  writeFileSync(program, readFileSync(program, 'utf8').replace("step('charge'", "step('pay'"))
  const second = await serve()
  const reasons = () => second.output().split('"charge" was removed after the run began').length - 1
  await until('the server says why', () => reasons() === 1)
  expect((await fetch(second.url, { method: 'POST' })).status).toBe(202)
  await until('the server says why again', () => reasons() === 2)
  await stop(second)
})

test('a request with an invalid id gets 400', async () => {
  const server = await serve()
  const answer = await fetch(server.url.replace('order-7', 'Order'), { method: 'POST' })
  expect([answer.status, await answer.text()]).toEqual([400, expect.stringContaining('Order')])
  await stop(server)
})

test('a repeated request starts no second run, and a request for an unknown run gets 404', async () => {
  writeFileSync(place.file('hold'), '')
  const server = await serve()
  expect((await fetch(server.url)).status).toBe(404)
  for (let call = 0; call < 2; call++) expect((await fetch(server.url, { method: 'POST' })).status).toBe(202)
  rmSync(place.file('hold'))
  await until('the run is completed', async () => (await status(server)) === 'completed')
  expect((await fetch(server.url, { method: 'POST' })).status).toBe(202)
  await stop(server)
  expect(place.log()).toEqual(['charge order-7', 'ship order-7'])
})
