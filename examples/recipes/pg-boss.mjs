// A pg-boss worker: the queue hands out runs, Dogear does them. Both live in one PostgreSQL database.
//
//   DATABASE_URL=postgres://… node pg-boss.mjs order-7    puts an order into the queue, and works until Ctrl+C
//   DATABASE_URL=postgres://… node pg-boss.mjs            works until Ctrl+C, on as many hosts as you like
// pg-boss.log shows what ran.
import { appendFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { connect } from 'dogear/postgres'
import { listRuns, RunFailure, runOutcome, workflow } from 'dogear/promise'
import PgBoss from 'pg-boss'

const order = workflow('order')
  .step('charge', async ({ runId, idempotencyKey, signal }) => {
    await pause(100, undefined, { signal }) // a bank, which gets the key: it charges once
    appendFileSync('pg-boss.log', `charge ${runId}\n`)
    return idempotencyKey
  })
  .sleep('packing', { millis: 1_000 })
  .step('ship', async ({ runId }) => {
    appendFileSync('pg-boss.log', `ship ${runId}\n`)
  })

const url = process.env.DATABASE_URL
const { storage, requests, close } = await connect(url)
const stopping = new AbortController()
const boss = await new PgBoss(url).on('error', console.error).start()
// "short": a run is in the queue once, however often it is sent.
await boss.createQueue('orders', { policy: 'short', retryLimit: 20, retryDelay: 2, expireInSeconds: 3_600 })
const enqueue = (id, startAfter) => boss.send('orders', { id }, { singletonKey: id, startAfter })

const { signal } = stopping
const work = async ([job]) => {
  const { id } = job.data
  const outcome = await runOutcome(order, { id, storage, signal, environment: { requests } })
  console.log(`${id}: ${outcome._tag}${outcome._tag === 'Refused' ? `: ${outcome.message}` : ''}`)
  if (outcome._tag === 'Completed') return outcome.outputs
  // A run that sleeps gets a job for its `wakeAt`. One that waits for an answer gets its job from the program that answers.
  if (outcome._tag === 'Pending') return outcome.wakeAt && (await enqueue(id, outcome.wakeAt))
  if (outcome.reason === 'paused') return // the program that continues a paused run sends its next job
  // Held by another worker, because this job was delivered twice: another job looks in 5 seconds, in case that worker dies.
  if (outcome._tag === 'Refused' && outcome.retryLater) return void (await enqueue(id, 5))
  const failure = new RunFailure(outcome)
  console.error(failure.message)
  throw failure // failed or interrupted: pg-boss tries again
}

// The job of a worker that died is active until it expires, so its run gets another job now.
for (const { runId, summary } of await listRuns({ storage }))
  if (['queued', 'interrupted', 'pending'].includes(summary?.status) && summary.workflow.name === 'order')
    await enqueue(runId, summary.waits?.wakeAt)

const [, , id] = process.argv
if (id !== undefined) await enqueue(id)
// Five at once. Not with `batchSize`: `work` takes one job, and pg-boss would complete the others, too.
for (let n = 0; n < 5; n++) await boss.work('orders', { pollingIntervalSeconds: 0.5 }, work)
for (const name of ['SIGINT', 'SIGTERM']) process.on(name, () => stopping.abort())
signal.addEventListener('abort', async () => {
  await boss.stop()
  await close()
})
