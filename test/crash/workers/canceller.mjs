/**
 * A run that its own second step cancels, and that is killed at a later call to the file system. Arguments: the folder; `run`,
 * `die` (once its cancel is acknowledged), `resume` or `reopen`; the number of the call before which it dies, 0 for none. Prints
 * its outcome and the number of calls.
 */
import { appendFileSync } from 'node:fs'
import { join } from 'node:path'
import { cancel } from 'dogear'
import { fileRequests, jsonFileStorage } from 'dogear/json-file'
import { nodeFileSystem } from '../../../src/adapters/json-file/files/nodeFileSystem.ts'
import { nodeEnvironment } from 'dogear/node'
import { runOutcome, workflow } from 'dogear/promise'

const [folder, how, at] = process.argv.slice(2)
const CHANGING = /^(mkdir|open|link|write|writeSync|fdatasync|renameSync|unlinkSync|rmdirSync|fsyncFolder|replace)$/

const isFirst = how === 'run' || how === 'die'
let counting = !isFirst
let calls = 0
const fs = Object.fromEntries(
  Object.entries(nodeFileSystem).map(([name, call]) => [
    name,
    (...given) => {
      if (counting && CHANGING.test(name) && (calls += 1) === Number(at)) process.kill(process.pid, 'SIGKILL')
      return call(...given)
    }
  ])
)

const state = join(folder, 'state')
const storage = jsonFileStorage(state, { fs })
const environment = nodeEnvironment(storage, { requests: fileRequests(state, { fs }) })
const effect = (name) => appendFileSync(join(folder, 'effects'), `${name}\n`)

const program = workflow('w')
  .step('one', () => effect('one'))
  .step('two', async () => {
    effect('two')
    if (!isFirst) return
    counting = true
    await cancel('r')(environment)()
    effect('acknowledged')
    if (how === 'die') process.kill(process.pid, 'SIGKILL')
  })
  .wave('three', { a: () => effect('a'), b: () => effect('b') })

const outcome = await runOutcome(program, { id: 'r', storage, environment, reopen: how === 'reopen' })
const end = outcome._tag === 'Refused' ? outcome.error._tag : (outcome.reason ?? outcome._tag)
process.stdout.write(JSON.stringify({ end, calls }))
