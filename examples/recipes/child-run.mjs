// Child runs: a step starts another workflow as a run of its own, waits for its end, and uses its outputs.
//
//   node child-run.mjs march
//
// A child has an id, a history and a page of its own. child-run.log shows what ran.
import { appendFileSync } from 'node:fs'
import { fileRequests, jsonFileStorage } from 'dogear/json-file'
import { RunFailure, runOutcome, workflow } from 'dogear/promise'

const log = (line) => appendFileSync('child-run.log', `${line}\n`)
const storage = jsonFileStorage('state')
// With `requests`, a running child can be paused or cancelled too.
const environment = { requests: fileRequests('state') }

const invoice = workflow('invoice')
  .step('total', async ({ input }) => {
    log(`total of ${input.customer}`)
    return input.customer.length * 100
  })
  // The bank needs a moment. Then the child is pending, and so is its parent.
  .sleep('booking', { millis: 100 })
  .step('send', async ({ input, outputs }) => {
    log(`mail to ${input.customer}: ${outputs.total}`)
    return outputs.total
  })

/** Runs a workflow as a child: the id is made from the parent's, so after a crash the same child continues. */
const child = async ({ runId, step, sleep, signal }, program, name, input) => {
  for (;;) {
    // Each look at the child is a record of its own: "run ada", "run ada#2" …
    const ended = await step(`run ${name}`, async () => {
      const outcome = await runOutcome(program, { id: `${runId}.${name}`, storage, input, signal, environment })
      // Another process runs the child, or `resumeAll` of this one: look again soon.
      const isHeld = outcome._tag === 'Refused' && outcome.retryLater
      if (isHeld) return { wakeAt: new Date(Date.now() + 10_000).toISOString() }
      if (outcome._tag === 'Pending') return { wakeAt: outcome.wakeAt }
      if (outcome._tag === 'Completed') return { outputs: outcome.outputs }
      throw new RunFailure(outcome)
    })
    if (ended.outputs !== undefined) return ended.outputs
    // A child that waits for an answer has no time: look again in an hour.
    await sleep(`wait ${name}`, ended.wakeAt === undefined ? { millis: 3_600_000 } : { until: ended.wakeAt })
  }
}

const closing = workflow('closing')
  .step('customers', async () => ['ada', 'grace'])
  .map(
    'invoices',
    { forEach: ({ outputs }) => outputs.customers, key: (customer) => customer },
    async (context) => (await child(context, invoice, context.item, { customer: context.item })).send
  )
  .step('report', async ({ outputs }) => outputs.invoices.reduce((sum, one) => sum + one, 0))

const [, , month] = process.argv
const outcome = await runOutcome(closing, { id: month, storage, environment, wait: true })
console.log(outcome._tag === 'Completed' ? `Completed ${outcome.outputs.report}` : new RunFailure(outcome).message)
process.exitCode = outcome._tag === 'Completed' ? 0 : 1
