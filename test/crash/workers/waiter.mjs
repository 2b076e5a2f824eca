// A process that works on a run that sleeps, as a step and in a task, and stays while the run only waits.
import { openSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { jsonFileStorage } from 'dogear/json-file'
import { runOutcome, workflow } from 'dogear/promise'

const { world, life, millis } = JSON.parse(process.argv[2])
const notes = openSync(join(world, 'notes.log'), 'a')
const print = (value) => writeSync(1, `${JSON.stringify(value)}\n`)
const effect = (unit) => writeSync(notes, `${JSON.stringify({ life, unit, at: Date.now() })}\n`)

const program = workflow('waits')
  .step('before', () => effect('before'))
  .sleep('nap', { millis })
  .step('trial', async ({ step, sleep }) => {
    await step('welcome', ({ unit }) => effect(unit))
    await sleep('two-weeks', { millis })
    await step('remind', ({ unit }) => effect(unit))
    return 'done'
  })
  .step('after', () => effect('after'))

const events = {
  report: (event) => {
    if (event._tag === 'StepWaiting') print({ waits: event.unit, wakeAt: event.wait.wakeAt })
  }
}
const ended = await runOutcome(program, {
  id: 'waits-1',
  storage: jsonFileStorage(join(world, 'state')),
  environment: { events },
  wait: true
})
print({ outcome: ended._tag })
