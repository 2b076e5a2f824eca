/**
 * A run whose own second step requests a pause, and that is killed at a later call to the file system. Arguments: the folder;
 * `run` or `resume`; the number of the call before which it dies, 0 for none. Prints the number of calls at its end.
 */
import { appendFileSync } from 'node:fs'
import { join } from 'node:path'
import { pause } from 'dogear'
import { fileRequests, jsonFileStorage } from 'dogear/json-file'
import { nodeFileSystem } from '../../../src/adapters/json-file/files/nodeFileSystem.ts'
import { nodeEnvironment } from 'dogear/node'
import { resume, runOutcome, workflow } from 'dogear/promise'

const [folder, how, at] = process.argv.slice(2)
const CHANGING = new Set([
  'mkdir',
  'open',
  'link',
  'write',
  'writeSync',
  'fdatasync',
  'renameSync',
  'unlinkSync',
  'rmdirSync',
  'fsyncFolder',
  'replace'
])

let counting = how === 'resume'
let calls = 0
const fs = Object.fromEntries(
  Object.entries(nodeFileSystem).map(([name, call]) => [
    name,
    (...given) => {
      if (counting && CHANGING.has(name) && (calls += 1) === Number(at)) process.kill(process.pid, 'SIGKILL')
      return call(...given)
    }
  ])
)

const state = join(folder, 'state')
// While a pause is handled, only the calls for the pause count: every resume makes the others.
const storage = jsonFileStorage(state, how === 'resume' ? {} : { fs })
const environment = nodeEnvironment(storage, { requests: fileRequests(state, { fs }) })
const effect = (name) => appendFileSync(join(folder, 'effects'), `${name}\n`)

const program = workflow('w')
  .step('one', () => effect('one'))
  .step('two', async () => {
    effect('two')
    if (how === 'resume') return
    await pause('r')(environment)()
    counting = true
  })
  .wave('three', { a: () => effect('a'), b: () => effect('b') })

const options = { id: 'r', storage, environment }
if (how === 'resume') await resume(program, options)
else await runOutcome(program, options)
process.stdout.write(`${calls}\n`)
