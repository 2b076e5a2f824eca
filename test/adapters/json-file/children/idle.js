// A process that saves twice, keeps its claim and then idles; it prints how long after that it ended.
import { writeSync } from 'node:fs'
import { hostname } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { jsonFileStorage } from '../../../../dist/adapters/json-file/index.js'

const [root] = process.argv.slice(2)
const storage = jsonFileStorage(root)
const { claim } = (await storage.claim('a', { host: hostname(), pid: process.pid })()).right

const save = (revision) =>
  storage.save(claim, [
    {
      revision,
      change: { _tag: 'Confirmed', at: new Date().toISOString(), stepIndex: 0, step: 'x' },
      checkpoint: () => ({ revision }),
      summary: () => ({})
    }
  ])()

await save(0)
await sleep(100)
await save(1)
const begun = performance.now()
process.on('exit', () => writeSync(1, String(Math.round(performance.now() - begun))))
