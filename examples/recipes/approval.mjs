// Approval by a person: the process ends while the question is open, and any process can record the answer.
//
//   node approval.mjs run release-1             builds, asks, and ends
//   node approval.mjs answer release-1 true     for example in the handler of a link or a chat button
//   node approval.mjs run release-1             continues
//
// `dogear answer release-1 approve --value true --home state` answers too. approval.log shows what ran.
import { appendFileSync } from 'node:fs'
import { userInfo } from 'node:os'
import { fileRequests, jsonFileStorage } from 'dogear/json-file'
import { answer, isRunFailure, RunFailure, runOutcome, workflow } from 'dogear/promise'

const log = (line) => appendFileSync('approval.log', `${line}\n`)

const release = workflow('release')
  .step('build', async () => {
    log('build')
    return 'app-1.2.3.tgz'
  })
  .step('ask', async ({ runId, outputs }) => {
    log(`mail: publish ${outputs.build}? Answer ${runId}`)
  })
  .waitFor('approve', { question: 'Publish?', timeoutMillis: 3 * 24 * 3_600_000 })
  .step('publish', async ({ outputs }) => {
    log(outputs.approve === true ? `publish ${outputs.build}` : `discard ${outputs.build}`)
  })

const parsed = (text) => {
  try {
    return JSON.parse(text)
  } catch {
    console.error(`The answer must be JSON, such as true or '"no"'`)
    process.exit(2)
  }
}

const [, , command = 'run', id = 'release-1', text = ''] = process.argv
const report = (event) => {
  if (event._tag === 'AnswerRejected') console.log(`${id}: the answer of ${event.by} is not ${event.expected}`)
}
// With `requests`, a process that works on the run takes the answer too.
const environment = { requests: fileRequests('state'), events: { report } }
const options = { id, storage: jsonFileStorage('state'), environment }

if (command === 'answer') {
  try {
    await answer({ ...options, unit: 'approve', value: parsed(text), by: userInfo().username })
    console.log(`Recorded. Continue with: node approval.mjs run ${id}`)
  } catch (error) {
    if (!isRunFailure(error)) throw error
    console.error(error.message) // answered before, too late, or no such run
    process.exitCode = 1
  }
} else {
  const outcome = await runOutcome(release, options)
  if (outcome._tag === 'Pending')
    for (const { unit, question } of outcome.units) console.log(`${id} waits at ${unit}: ${question}`)
  else console.log(outcome._tag === 'Completed' ? `${id}: Completed` : new RunFailure(outcome).message)
  process.exitCode = { Completed: 0, Pending: 75 }[outcome._tag] ?? 1
}
