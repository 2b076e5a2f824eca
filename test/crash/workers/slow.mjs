// A run with slow steps, or one wave of slow groups: each announces its start on stdout and sleeps.
import { writeSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { jsonFileStorage } from 'dogear/json-file'
import { runOrResume, workflow } from 'dogear/promise'

const { state, steps, wave } = JSON.parse(process.argv[2])

const slow = (index, millis) => async () => {
  writeSync(1, `${JSON.stringify({ step: index })}\n`)
  await sleep(millis)
  return index
}

const inSequence = () =>
  steps.reduce((flow, millis, index) => flow.step(`step-${index}`, slow(index, millis)), workflow('slow'))

const inWave = () =>
  workflow('slow').wave(
    'wave',
    Object.fromEntries(steps.map((millis, index) => [`group-${index}`, { run: slow(index, millis) }]))
  )

await runOrResume(wave === true ? inWave() : inSequence(), { id: 'r', storage: jsonFileStorage(state) })
writeSync(1, `${JSON.stringify({ done: true })}\n`)
