// A program that a bundler packs into one file: starts or resumes a run. Its second step never ends in the first process.
import { appendFileSync, writeSync } from 'node:fs'
import { jsonFileStorage } from 'dogear/json-file'
import { runOutcome, workflow } from 'dogear/promise'

const [state, log, life] = process.argv.slice(2)

const note = (step) => {
  appendFileSync(log, `${step}\n`)
  writeSync(1, `${step}\n`)
}

const program = workflow('bundled')
  .step('first', () => note('first'))
  .step('second', async () => {
    note('second')
    if (life === 'first') await new Promise((resolve) => setTimeout(resolve, 60_000))
  })
  .step('third', () => note('third'))

export const ended = runOutcome(program, { id: 'r', storage: jsonFileStorage(state), input: {} }).then((outcome) => {
  writeSync(1, `${outcome._tag} ${JSON.stringify(outcome.error ?? {})}\n`)
})
