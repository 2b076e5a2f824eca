// Prints the loaded modules and the listeners before and after a claim, after its end and, with `long`, after its first heartbeat.
import { createRequire } from 'node:module'
import { setTimeout as sleep } from 'node:timers/promises'

const { cache } = createRequire(import.meta.url)
const look = () => ({
  packages: ['proper-lockfile', 'write-file-atomic', 'graceful-fs', 'signal-exit'].filter((name) =>
    Object.keys(cache).some((path) => path.includes(`/node_modules/${name}/`))
  ),
  listeners: ['SIGINT', 'SIGTERM', 'SIGHUP', 'exit'].map((signal) => process.listenerCount(signal)),
  ignoresFullFiles: process.listenerCount('SIGXFSZ') > 0
})

const atFirst = look()
const { jsonFileStorage } = await import('../../../../dist/adapters/json-file/index.js')
const storage = jsonFileStorage(process.argv[2], { heartbeat: { updateMillis: 1000 } })
await storage.load('a')()
const before = look()
const { right } = await storage.claim('a', { host: 'h', pid: 1 })()
const claimed = look()
let beaten = claimed
for (let n = 0; process.argv[3] === 'long' && n < 1000 && !beaten.packages.includes('proper-lockfile'); n++) {
  await sleep(20)
  beaten = look()
}
const change = { _tag: 'Recovered', at: '2026-01-02T03:04:05.678Z' }
const summary = () => ({ revision: 0, workflow: { name: 'a' }, status: 'failed', steps: { completed: 0, total: 1 } })
await storage.save(right.claim, [{ revision: 0, change, checkpoint: () => ({}), summary }])()
await storage.release(right.claim)()
console.log(JSON.stringify({ atFirst, before, claimed, beaten, after: look() }))
