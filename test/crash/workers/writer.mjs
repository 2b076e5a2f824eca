// A process that claims runs and saves to them, one revision at a time, through the port. Each revision has its own tag,
// so the stored content shows whose saves it consists of.
import { appendFileSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate as turn, setTimeout as sleep } from 'node:timers/promises'
import * as E from 'fp-ts/lib/Either.js'
import { jsonFileStorage } from 'dogear/json-file'
import { nodeFileSystem } from '../../../src/adapters/json-file/files/nodeFileSystem.ts'
import { nodeProcesses } from '../../../src/adapters/json-file/claim/Processes.ts'
import { obey, startAt, tell } from './commands.mjs'
import { elsewhere } from './elsewhere.mjs'

const { world, name, machine, store } = JSON.parse(process.argv[2])

/** The machines that count as dead while an order is executed. */
let dead = []

const processes = machine === undefined ? nodeProcesses : elsewhere(machine, () => dead)

let calls = []
let stopAt

/** Whether to stop here: before the n-th call, or before a call for a file with this name. */
const isStop = (call, [target]) =>
  typeof stopAt === 'object' ? call === stopAt.call && String(target).endsWith(stopAt.on) : calls.length === stopAt

/** Stops this process before the ordered call to the file system, until another process wakes it. */
const fs = Object.fromEntries(
  Object.entries(nodeFileSystem).map(([call, act]) => [
    call,
    (...args) => {
      calls.push(call)
      if (isStop(call, args)) {
        stopAt = undefined
        process.kill(process.pid, 'SIGSTOP')
      }
      return act(...args)
    }
  ])
)

const storage = jsonFileStorage(join(world, 'state'), { ...store, fs, processes })
const owner = { host: machine ?? 'here', pid: process.pid }

const log = (file, entry) => appendFileSync(join(world, file), `${JSON.stringify(entry)}\n`)

const revisionOf = (runId, tags, tag) => {
  const all = [...tags, tag]
  const at = new Date().toISOString()
  return {
    revision: all.length - 1,
    change: { _tag: 'Interrupted', at, unit: tag, reason: 'signal' },
    checkpoint: () => ({ format: 1, runId, revision: all.length - 1, tags: all }),
    summary: () => ({ revision: all.length - 1 })
  }
}

export const tagsOf = ({ checkpoint, changes }) => [...checkpoint.tags, ...changes.map(({ unit }) => unit)]

/** Claims as soon as possible; saves `saves` revisions, or as many as it can until it is fenced; then releases. */
const write = async ({ runId, at, saves = Infinity, patient = true, release = true }) => {
  startAt(at)
  let claimed = await storage.claim(runId, owner)()
  while (E.isLeft(claimed) && claimed.left._tag === 'HeldBy' && patient) {
    await sleep(1)
    claimed = await storage.claim(runId, owner)()
  }
  if (E.isLeft(claimed)) return { end: claimed.left._tag, error: { ...claimed.left, cause: undefined } }
  const { claim, stored } = claimed.right
  const tags = stored._tag === 'None' ? [] : tagsOf(stored.value)
  const found = stored._tag === 'None' ? 'Exact' : stored.value.found._tag
  log('grants.log', { runId, name, epoch: claim.epoch, tags: [...tags], found })
  tell({ claimed: runId, epoch: claim.epoch })
  for (let n = 0; n < saves; n++) {
    const tag = `${name}-${claim.epoch}-${tags.length}`
    const saved = await storage.save(claim, [revisionOf(runId, tags, tag)])()
    if (E.isLeft(saved)) {
      await storage.release(claim)()
      const lost = claim.lost.aborted ? claim.lost.reason._tag : undefined
      return { end: saved.left._tag, lost, saves: n, error: { ...saved.left, cause: undefined } }
    }
    log('tags.log', { runId, name, epoch: claim.epoch, revision: tags.length, tag })
    tags.push(tag)
    await turn()
  }
  if (release) await storage.release(claim)()
  return { end: 'Released' }
}

obey({
  write: async ({ stop, dead: gone = [], ...order }) => {
    dead = gone
    calls = []
    stopAt = stop
    const wrote = await write(order)
    tell({ wrote: order.runId, ...wrote, ...(order.saves === undefined ? {} : { calls }) })
  },
  remove: async ({ runId, at, dead: gone = [] }) => {
    dead = gone
    startAt(at)
    const removed = await storage.remove(runId)()
    tell({ removed: runId, end: E.isLeft(removed) ? removed.left._tag : 'Removed' })
  }
})
