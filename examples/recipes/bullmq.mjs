// A BullMQ worker: the queue hands out runs, Dogear does them.
//
//   REDIS_PORT=6379 node bullmq.mjs order-7    puts an order into the queue, and works until Ctrl+C
//   REDIS_PORT=6379 node bullmq.mjs            works until Ctrl+C. bullmq.log shows what ran
import { appendFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { DelayedError, Queue, UnrecoverableError, Worker } from 'bullmq'
import { fileRequests, jsonFileStorage } from 'dogear/json-file'
import { RunFailure, runOutcome, workflow } from 'dogear/promise'

const order = workflow('order')
  .step('charge', async ({ runId, idempotencyKey, signal }) => {
    await pause(100, undefined, { signal }) // a bank, which gets the key: it charges once
    appendFileSync('bullmq.log', `charge ${runId}\n`)
    return idempotencyKey
  })
  .sleep('packing', { millis: 1_000 })
  .step('ship', async ({ runId }) => {
    appendFileSync('bullmq.log', `ship ${runId}\n`)
  })

const connection = { host: '127.0.0.1', port: Number(process.env.REDIS_PORT ?? 6379) }
// For workers on several hosts: await connect('postgres://…') of dogear/postgres, and its `requests`.
const storage = jsonFileStorage('state')
const stopping = new AbortController()
const { signal } = stopping

const work = async (job, token) => {
  const { id } = job.data
  const outcome = await runOutcome(order, { id, storage, signal, environment: { requests: fileRequests('state') } })
  console.log(`${id}: ${outcome._tag}${outcome._tag === 'Refused' ? `: ${outcome.message}` : ''}`)
  if (outcome._tag === 'Completed') return outcome.outputs
  const later = async (time) => {
    await job.moveToDelayed(time, token)
    throw new DelayedError()
  }
  // A run that is paused, or only waits for an answer, has no `wakeAt`: who continues or answers it also promotes its job.
  if (outcome._tag === 'Pending' || outcome.reason === 'paused')
    return later(outcome.wakeAt === undefined ? Date.now() + 24 * 3_600_000 : Date.parse(outcome.wakeAt))
  // Another worker has the run, because this job stalled and was delivered twice; or this worker stops.
  const isLater = ['Interrupted', 'Fenced'].includes(outcome._tag) || (outcome._tag === 'Refused' && outcome.retryLater)
  if (isLater) return later(Date.now() + 2_000)
  // A question, an edited workflow, a damaged state: no retry helps, unless the store failed.
  const isForGood = outcome._tag === 'Refused' && !/^(Read|Write)Failed$/.test(outcome.error._tag)
  throw isForGood ? new UnrecoverableError(outcome.message) : new RunFailure(outcome)
}

const [, , id] = process.argv
if (id !== undefined) {
  const queue = new Queue('orders', { connection })
  await queue.add('order', { id }, { jobId: id, attempts: 5, backoff: 2_000 })
  await queue.close()
}
// A worker that died is noticed after lockDuration; its job is then delivered again.
const limits = { lockDuration: 5_000, stalledInterval: 5_000, maxStalledCount: 10 }
const worker = new Worker('orders', work, { connection, ...limits })
worker.on('error', console.error).on('failed', (_, error) => console.error(error.message))
for (const name of ['SIGINT', 'SIGTERM']) process.on(name, () => stopping.abort())
signal.addEventListener('abort', () => worker.close())
