// A Fastify server that starts runs, shows them, stops them at Ctrl+C and SIGTERM, and finishes them at its next boot.
//
//   PORT=3000 node fastify.mjs
//   curl -X POST localhost:3000/orders/order-7     answers at once. Once more: retries it if it failed
//   curl localhost:3000/orders/order-7             fastify.log shows what ran
import { appendFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { RunError } from 'dogear'
import { fileRequests, jsonFileStorage } from 'dogear/json-file'
import { isRunFailure, resumeAll, runOutcome, start, viewRun, workflow } from 'dogear/promise'
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
// With `requests`, a running run can be paused.
const environment = { requests: fileRequests('state') }
const host = { storage: jsonFileStorage('state'), environment, signal: stopping.signal }
const app = Fastify()
/** Says why a run does not continue, such as after an edit of a completed step. */
const report = ({ error }) => error && !RunError.retryLater(error) && console.error(RunError.describe(error))
const refusal = (error) => (isRunFailure(error) ? error.outcome.error?._tag : undefined)
app.setErrorHandler((error, _, reply) => reply.code(refusal(error) === 'InvalidRunId' ? 400 : 500).send(error))

app.post('/orders/:id', async ({ params: { id } }, reply) => {
  try {
    await start(order, { ...host, id }) // resolves once the run is recorded, not when it has ended
  } catch (error) {
    if (!['RunExists', 'HeldBy'].includes(refusal(error))) throw error
    // A client that repeats its request meets its own run, and one that failed is retried. This never rejects.
    void runOutcome(order, { ...host, id }).then(report)
  }
  return reply.code(202).send({ id })
})

app.get('/orders/:id', async ({ params: { id } }, reply) => {
  const view = await viewRun({ ...host, id })
  if (view === undefined) return reply.code(404).send({ id })
  const errors = view.units.flatMap(({ unit, error }) => (error === undefined ? [] : `${unit}: ${error.message}`))
  // While a process holds the run, it counts as running: a POST cannot retry it yet.
  return { id, status: view.heldBy ? 'running' : view.status, steps: view.steps, errors }
})

console.log(await app.listen({ host: '127.0.0.1', port: Number(process.env.PORT ?? 3000) }))
// Finishes what earlier processes left, and stays: wakes runs at their time, takes over those of dead hosts.
const watching = resumeAll({ ...host, workflows: [order], watch: true, onRun: report })

const stop = async () => {
  stopping.abort()
  await Promise.all([app.close(), watching])
}
for (const name of ['SIGINT', 'SIGTERM']) process.on(name, stop)
