// A run that sleeps: a reminder after a trial of two weeks. No process has to live that long.
//
//   node trial.mjs ada 14        starts the trial of ada, or continues it, and serves all trials until Ctrl+C
//   node trial.mjs               after a restart: wakes what is due, then each trial at its time
//
// trial.log shows what ran. Several hosts may do this at once, with a store on PostgreSQL.
import { appendFileSync } from 'node:fs'
import { jsonFileStorage } from 'dogear/json-file'
import { abortOnSignals } from 'dogear/node'
import { resumeAll, RunFailure, runOutcome, workflow } from 'dogear/promise'

const log = (line) => appendFileSync('trial.log', `${line}\n`)

const trial = workflow('trial')
  .step('welcome', async ({ input }) => {
    log(`mail to ${input.user}: welcome`)
  })
  .step('trial', async ({ input, sleep }) => {
    await sleep('days', { millis: input.days * 24 * 3_600_000 })
  })
  .step('remind', async ({ input }) => {
    log(`mail to ${input.user}: your trial has ended`)
  })

const { interrupt } = abortOnSignals()
const host = { storage: jsonFileStorage('state'), environment: { interrupt } }

const [, , user, days = '14'] = process.argv
if (user !== undefined) {
  const id = `trial-${user}`
  const outcome = await runOutcome(trial, { ...host, id, input: { user, days: Number(days) } })
  if (outcome._tag === 'Pending') console.log(`${id} sleeps until ${outcome.wakeAt}`)
  else console.log(outcome._tag === 'Completed' ? `${id}: Completed` : new RunFailure(outcome).message)
}

// Stays until the signal: wakes each run at its time, and takes over runs whose process died.
await resumeAll({
  ...host,
  workflows: [trial],
  watch: true,
  onRun: (run) => console.log(`${run.runId}: ${run._tag === 'Resumed' ? run.outcome : run.why}`)
})
