// Runs or resumes a workflow of three steps, and hangs in the second one if it is told to.
import { appendFileSync } from 'node:fs'
import { setTimeout as wait } from 'node:timers/promises'
import { runOrResume, workflow } from 'dogear/promise'
import { open } from './open.mjs'

const [file, driver, log, hangs] = process.argv.slice(2)
const { storage, artifacts, requests, close } = await open({ file, driver })
const did = (what) => appendFileSync(log, `${what}\n`)
const program = workflow('worker')
  .step('first', async ({ artifacts }) => {
    did('first')
    await artifacts.put('first.txt', 'of the first step')
    return 1
  })
  .step('second', async ({ outputs }) => {
    did('second')
    if (hangs === 'hangs') await wait(60_000)
    return outputs.first + 1
  })
  .step('third', ({ outputs }) => {
    did('third')
    return outputs.second + 1
  })
const outputs = await runOrResume(program, { id: 'r', storage, environment: { artifacts, requests } })
console.log(JSON.stringify(outputs))
close()
