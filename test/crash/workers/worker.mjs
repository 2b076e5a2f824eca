// One process that works on one run: executes its order (JSON in argv) and prints the outcome.
//
// effects.log has its outside effects, acks.log what the store acknowledged, one JSON line each, with the number of this
// life of the run; so after many kills the logs show which process did what.
import { closeSync, fsyncSync, openSync, writeSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { join } from 'node:path'
import * as E from 'fp-ts/lib/Either.js'
import { CheckpointCodec, RunError } from 'dogear'
import { jsonFileStorage } from 'dogear/json-file'
import { interruptFrom } from 'dogear/node'
import { run, resume, runOutcome, RunFailure } from 'dogear/promise'
import { digest, programs } from './program.mjs'
import { killingFileSystem } from './killing.mjs'
import { faultyFileSystem } from './faulty.mjs'
import { elsewhere } from './elsewhere.mjs'

const order = JSON.parse(process.argv[2])
const { world, life } = order

const print = (value) => writeSync(1, `${JSON.stringify(value)}\n`)

const effects = openSync(join(order.logs ?? world, 'effects.log'), 'a')
const acks = openSync(join(order.logs ?? world, 'acks.log'), 'a')

const act = async (unit, attempt, output, { signal }) => {
  if (order.tell === true) print({ at: unit })
  if (order.pace !== undefined) await sleep(order.pace, undefined, { signal }).catch(() => undefined)
  writeSync(
    effects,
    `${JSON.stringify({ life, unit, attempt, version: order.version ?? 1, calls: killing.counter.calls })}\n`
  )
  fsyncSync(effects)
}

const unitOf = ({ unit }) => unit

const DONE = new Set(['UnitCompleted', 'Assumed'])

/** Logs acknowledged saves directly afterwards. */
const noting = (storage) => ({
  ...storage,
  save: (claim, revisions) => async () => {
    const saved = await storage.save(claim, revisions)()
    if (E.isRight(saved)) {
      const completed = revisions.filter(({ change }) => DONE.has(change._tag)).map(({ change }) => change.unit)
      const rewound = revisions.some(({ change }) => change._tag === 'Rewound')
      const revision = revisions.at(-1).revision
      writeSync(acks, `${JSON.stringify({ life, epoch: claim.epoch, revision, completed, rewound })}\n`)
    }
    return saved
  }
})

const killing = killingFileSystem({
  kill: order.kill,
  log: order.kill === undefined ? undefined : join(world, 'kills.log')
})
const fs = order.faults === undefined ? killing.fs : faultyFileSystem(order.faults)
const options = {
  fs,
  ...(order.store ?? {}),
  ...(order.elsewhere === undefined ? {} : { processes: elsewhere(order.elsewhere) })
}
const storage = noting(jsonFileStorage(join(world, 'state'), options))

const program = programs[order.program ?? 'release'](act, order.version ?? 1, order.size)

const stopper = new AbortController()
if (order.stoppable === true) process.on('SIGTERM', () => stopper.abort())

const common = {
  id: order.runId ?? 'r',
  storage,
  ...(order.plan ?? {}),
  ...(order.confirm === undefined ? {} : { confirm: new Map(Object.entries(order.confirm)) }),
  environment: { interrupt: interruptFrom(stopper.signal), graceMillis: 200 }
}
const input = { day: 7, channel: 'beta' }

/** If the order says to wait, resumes on a command from stdin. */
if (order.wait === true) {
  print({ ready: process.pid })
  await new Promise((resolve) => process.stdin.once('data', resolve))
  process.stdin.pause()
}

const fds = []
for (let n = 0; n < (order.openFiles ?? 0); n++) {
  try {
    fds.push(openSync('/dev/null', 'r'))
  } catch {
    break
  }
}
for (const fd of fds.splice(fds.length - (order.spareFiles ?? 0))) closeSync(fd)

const outcomeOf = async () => {
  switch (order.op) {
    case 'runOrResume':
      return await runOutcome(program, { ...common, input })
    case 'remove': {
      const removed = await storage.remove(common.id)()
      return E.isRight(removed) ? { _tag: 'Removed' } : { _tag: 'Refused', error: removed.left }
    }
    default:
      try {
        await (order.op === 'run' ? run(program, { ...common, input }) : resume(program, common))
        return await stored()
      } catch (error) {
        if (error instanceof RunFailure) return error.outcome
        throw error
      }
  }
}

const stored = async () => {
  const loaded = await storage.load(common.id)()
  const restored = E.isRight(loaded) ? CheckpointCodec.restore(loaded.right.value) : loaded
  return E.isRight(restored)
    ? { _tag: 'Completed', checkpoint: restored.right }
    : { _tag: 'Refused', error: restored.left }
}

const reportOf = ({ checkpoint }) =>
  checkpoint === undefined
    ? {}
    : {
        revision: checkpoint.revision,
        generation: checkpoint.generation,
        outputs: Object.fromEntries(
          [...checkpoint.completedSteps].map((done) => [done.unit, digest(done.output ?? null)])
        ),
        variables: Object.fromEntries([...checkpoint.variables].map(([name, value]) => [name, digest(value)]))
      }

const isHeld = ({ _tag, error }) => _tag === 'Refused' && error._tag === 'HeldBy'

let outcome = await outcomeOf()
/** Longer than the stale time of an owner. */
for (let n = 0; order.patient === true && isHeld(outcome) && n < 100; n++) {
  await sleep(100)
  outcome = await outcomeOf()
}
const error = outcome._tag === 'Refused' ? outcome.error : undefined
print({
  outcome: outcome._tag,
  ...reportOf(outcome),
  ...(outcome.failures === undefined ? {} : { failures: outcome.failures.map(({ error: { message } }) => message) }),
  ...(error === undefined ? {} : { error: { ...error, cause: undefined }, told: RunError.describe(error) }),
  ...(error?._tag === 'Unconfirmed' ? { asked: error.questions.map(unitOf) } : {}),
  calls: killing.counter.calls,
  ...(order.names === true ? { names: killing.counter.names } : {})
})
