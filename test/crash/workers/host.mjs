// A host: begins a run and hangs in its second step, or resumes all runs, until a signal with `watch`.
import { openSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { fileRequests, jsonFileStorage } from 'dogear/json-file'
import { abortOnSignals } from 'dogear/node'
import { resumeAll, start, workflow } from 'dogear/promise'

const { world, op, id = '', watch = false } = JSON.parse(process.argv[2])
const state = join(world, 'state')
const notes = openSync(join(world, 'notes.log'), 'a')
const print = (value) => writeSync(1, `${JSON.stringify(value)}\n`)
const effect = ({ runId, unit }) => void writeSync(notes, `${JSON.stringify({ runId, unit, op })}\n`)

const order = workflow('order')
  .step('first', effect)
  .step('second', (context) => {
    effect(context)
    if (op !== 'begin') return
    print({ at: 'second' })
    return new Promise((resolve) => setTimeout(resolve, 600_000))
  })
  .step('third', async (context) => {
    effect(context)
    await new Promise((resolve) => setTimeout(resolve, 300))
  })

const host = { storage: jsonFileStorage(state), environment: { requests: fileRequests(state) } }
if (op === 'begin') await (await start(order, { ...host, id })).outcome
else {
  const handlers = abortOnSignals()
  const onRun = (run) => print({ run: `${run.runId} ${run._tag === 'Resumed' ? run.outcome : run.why}` })
  print({ ready: true })
  const found = await resumeAll({ ...host, workflows: [order], watch, signal: handlers.interrupt.signal, onRun })
  print({ outcome: 'Ended', found: found.map(({ runId }) => runId) })
  handlers.dispose()
}
