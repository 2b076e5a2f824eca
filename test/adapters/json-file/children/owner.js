// A process with a store, controlled by messages. It runs the built package, so dist/ must be up to date.
import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import net from 'node:net'
import { hostname } from 'node:os'
import { jsonFileStorage } from '../../../../dist/adapters/json-file/index.js'
import { nodeProcesses } from '../../../../src/adapters/json-file/claim/Processes.ts'

const [root, options = '{}'] = process.argv.slice(2)
const owner = { host: hostname(), pid: process.pid }

/** The pid that this process treats as dead, like another host after a heartbeat became stale. */
let dead
const { blind, ...given } = JSON.parse(options)
const processes = {
  self: nodeProcesses.self,
  isAlive: (other) => (other.pid === dead ? false : blind ? undefined : nodeProcesses.isAlive(other))
}
const storage = jsonFileStorage(root, { processes, checkIntervalMillis: 100, ...given })

let held
let next = 0

const revision = (payload) => ({
  revision: next,
  change: { _tag: 'Confirmed', at: new Date().toISOString(), stepIndex: next, step: payload },
  checkpoint: () => ({ newest: payload }),
  summary: () => ({})
})

/** Saves until it is stopped or refused; reports every acknowledgement. */
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

const claim = async (runId, how) => {
  const result = await storage.claim(runId, owner, how)()
  if (result._tag === 'Left') return process.send({ _tag: 'Refused', error: result.left })
  held = result.right.claim
  held.lost.addEventListener('abort', () => process.send({ _tag: 'Lost', reason: held.lost.reason }))
  const { stored } = result.right
  next = stored._tag === 'Some' ? stored.value.revision + 1 : 0
  process.send({ _tag: 'Granted', epoch: held.epoch, revision: next - 1 })
}

const look = async (runId) => {
  const result = await storage.load(runId)()
  if (result._tag === 'Left') return process.send({ _tag: 'Refused', error: result.left })
  const heldBy = result.right._tag === 'Some' ? result.right.value.heldBy : result.right
  process.send({ _tag: 'Seen', heldBy: heldBy._tag === 'Some' ? heldBy.value : null })
}

/** Blocks this thread. */
const block = (millis) => {
  process.send({ _tag: 'Blocking' }, () => {
    const end = performance.now() + millis
    while (performance.now() < end);
  })
}

const dies = () => process.kill(process.pid, 'SIGKILL')

/** Kills the process before its first call for a path like this. */
const diesBefore = (calls, name, like) => {
  const call = calls[name]
  calls[name] = (...args) => (like.test(String(args[0])) ? dies() : call(...args))
}

/** Kills the process at a point of the next claim. */
const dieAt = async (point) => {
  if (point === 'between bind and listen') {
    const server = net.createServer().listen(`/tmp/.dogear-${process.pid}`)
    Object.getPrototypeOf(server._handle).listen = dies
    await new Promise((resolve) => server.close(resolve))
  }
  if (point === 'between listen and rename') diesBefore(fs, 'renameSync', /alive-/)
  if (point === 'between rename and publish') diesBefore(fs.promises, 'link', /next-/)
  if (point === 'between publish and grant') diesBefore(fs.promises, 'open', /history$/)
  syncBuiltinESMExports()
  process.send({ _tag: 'Told' })
}

/** From now on every write fails. */
const breakDisk = () => {
  const failing = () => {
    throw Object.assign(new Error('EIO: as a test wants it'), { code: 'EIO' })
  }
  fs.writeSync = failing
  fs.write = (...args) => args.at(-1)(Object.assign(new Error('EIO: as a test wants it'), { code: 'EIO' }))
  syncBuiltinESMExports()
  process.send({ _tag: 'Told' })
}

const open = []

/** Leaves this many file descriptors. */
const leave = (count) => {
  for (const fd of open.splice(0)) fs.closeSync(fd)
  try {
    for (;;) open.push(fs.openSync('/dev/null'))
  } catch {
    for (const fd of open.splice(0, count)) fs.closeSync(fd)
  }
  process.send({ _tag: 'Told' })
}

process.on('message', (message) => {
  if (message.op === 'die') void dieAt(message.at)
  if (message.op === 'break') breakDisk()
  if (message.op === 'leave') leave(message.count)
  if (message.op === 'open') process.send({ _tag: 'Opened', fd: fs.openSync(message.path) })
  if (message.op === 'dead') dead = message.pid
  if (message.op === 'claim') void claim(message.runId, message.how)
  if (message.op === 'look') void look(message.runId)
  if (message.op === 'save') void save(message.count)
  if (message.op === 'block') block(message.millis)
  if (message.op === 'release')
    void storage
      .release(held)()
      .then(() => process.send({ _tag: 'Released' }))
})
process.send({ _tag: 'Ready', pid: process.pid })
