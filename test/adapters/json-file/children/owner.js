// A process of its own with a store, told by messages what to do. It runs what was built: dist/ must be up to date.
import { hostname } from 'node:os'
import { jsonFileStorage, nodeProcesses } from '../../../../dist/adapters/json-file/index.js'

const [root] = process.argv.slice(2)
const owner = { host: hostname(), pid: process.pid }

/** The pid that this process takes for dead, as one on another host would whose heartbeat has gone stale. */
let dead
const processes = {
  self: nodeProcesses.self,
  isAlive: (other) => (other.pid === dead ? false : nodeProcesses.isAlive(other))
}
const storage = jsonFileStorage(root, { processes, checkIntervalMillis: 100 })

let held
let next = 0

const revision = (payload) => ({
  revision: next,
  change: { _tag: 'Confirmed', at: new Date().toISOString(), stepIndex: next, step: payload },
  checkpoint: () => ({ newest: payload })
})

/** Saves until it is told to stop, or refused; reports every acknowledgement. */
const save = async (count) => {
  for (let n = 0; n < count; n++) {
    const payload = `${process.pid}-${next}`
    const result = await storage.save(held, [revision(payload)])()
    if (result._tag === 'Left') return process.send({ _tag: 'Refused', error: result.left, revision: next })
    process.send({ _tag: 'Acknowledged', revision: next, payload })
    next++
  }
  process.send({ _tag: 'Done' })
}

const claim = async (runId) => {
  const result = await storage.claim(runId, owner)()
  if (result._tag === 'Left') return process.send({ _tag: 'Refused', error: result.left })
  held = result.right.claim
  held.lost.addEventListener('abort', () => process.send({ _tag: 'Lost', reason: held.lost.reason }))
  const { stored } = result.right
  next = stored._tag === 'Some' ? stored.value.revision + 1 : 0
  process.send({ _tag: 'Granted', epoch: held.epoch, revision: next - 1 })
}

process.on('message', (message) => {
  if (message.op === 'dead') dead = message.pid
  if (message.op === 'claim') void claim(message.runId)
  if (message.op === 'save') void save(message.count)
  if (message.op === 'release')
    void storage
      .release(held)()
      .then(() => process.send({ _tag: 'Released' }))
})
process.send({ _tag: 'Ready' })
