// A run that sleeps: a reminder after a trial of two weeks. No process has to live that long.
//
//   node trial.mjs ada 14        starts the trial of ada, and serves all trials until Ctrl+C
//   node trial.mjs               after a restart: wakes what is due, then each trial at its time
//
// trial.log shows what ran. Several hosts may do this at once, with a store on PostgreSQL.
import { appendFileSync } from 'node:fs'
import { jsonFileStorage } from 'dogear/json-file'
import { abortOnSignals } from 'dogear/node'
import { resumeAll, start, workflow } from 'dogear/promise'

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
  const { outcome } = await start(trial, { ...host, id: `trial-${user}`, input: { user, days: Number(days) } })
  const { wakeAt } = await outcome
  console.log(`trial-${user} sleeps until ${wakeAt}`)
}

// Stays until the signal: wakes each run at its time, and takes over runs whose process died.
await resumeAll({
  ...host,
  workflows: [trial],
  watch: true,
  onRun: (run) => console.log(`${run.runId}: ${run._tag === 'Resumed' ? run.outcome : run.why}`)
})
