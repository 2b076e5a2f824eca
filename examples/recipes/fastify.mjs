// A Fastify server that starts runs, shows them, stops them at SIGTERM, and finishes them at its next boot.
//
//   PORT=3000 node fastify.mjs
//   curl -X POST localhost:3000/orders/order-7     answers at once
//   curl localhost:3000/orders/order-7
//
// fastify.log shows what ran.
import { appendFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { jsonFileStorage } from 'dogear/json-file'
import { isRunFailure, resumeAll, start, viewRun, workflow } from 'dogear/promise'
import Fastify from 'fastify'

const order = workflow('order')
  .step('charge', async ({ runId, idempotencyKey, signal }) => {
    await pause(100, undefined, { signal }) // a bank, which gets the key: it charges once
    appendFileSync('fastify.log', `charge ${runId}\n`)
    return idempotencyKey
  })
  .step('ship', async ({ runId }) => {
    appendFileSync('fastify.log', `ship ${runId}\n`)
  })

const stopping = new AbortController()
const host = { storage: jsonFileStorage('state'), signal: stopping.signal }
const app = Fastify()

app.post('/orders/:id', async ({ params: { id } }, reply) => {
  try {
    // Resolves once the run is recorded, not when it has ended.
    await start(order, { ...host, id })
  } catch (error) {
    // A client that repeats its request meets its own run.
    const isThere = isRunFailure(error) && ['RunExists', 'HeldBy'].includes(error.outcome.error?._tag)
    if (!isThere) throw error
  }
  return reply.code(202).send({ id })
})

app.get('/orders/:id', async ({ params: { id } }, reply) => {
  const view = await viewRun({ ...host, id })
  return view === undefined ? reply.code(404).send({ id }) : { id, status: view.status, steps: view.steps }
})

console.log(await app.listen({ host: '127.0.0.1', port: Number(process.env.PORT ?? 3000) }))
// Finishes what earlier processes left, and stays: wakes runs at their time, takes over those of dead hosts.
const watching = resumeAll({ ...host, workflows: [order], watch: true })

process.on('SIGTERM', async () => {
  stopping.abort()
  await Promise.all([app.close(), watching])
})
