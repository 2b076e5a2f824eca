// One process that works on a run with one agent task, which creates its sub-steps dynamically.
//
// A fake model decides each turn from the last. Each sub-step logs in notes.log when it starts, has its effect and returns, with
// the number of this life of the run; each save logs in saves.log which changes became durable.
import { createHash } from 'node:crypto'
import { openSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import * as E from 'fp-ts/lib/Either.js'
import { jsonFileStorage } from 'dogear/json-file'
import { runOutcome, workflow } from 'dogear/promise'
import { killingFileSystem } from './killing.mjs'

const { world, life, kill, tellAt, hold, confirm, subSteps } = JSON.parse(process.argv[2])
const [notes, saves] = ['notes.log', 'saves.log'].map((name) => openSync(join(world, name), 'a'))

const print = (value) => writeSync(1, `${JSON.stringify(value)}\n`)
const note = (what, unit) => writeSync(notes, `${JSON.stringify({ life, what, unit })}\n`)
const digest = (value) => createHash('sha256').update(JSON.stringify(value)).digest('hex')

let effects = 0

/** Calls a sub-step whose output contains its path and its inputs. */
const callOf = (step) => async (name, seen, options, inside) => {
  let unit
  const ended = () => {
    if (unit !== undefined) note('returned', unit)
  }
  const run = async (context) => {
    unit = context.unit
    note('began', unit)
    const parts = inside === undefined ? [] : await inside(callOf(context.step))
    const made = digest([unit, seen, parts])
    await sleep(Number.parseInt(made.slice(0, 2), 16) % 3)
    note('effect', unit)
    effects += 1
    if (hold ? effects >= tellAt && options.idempotent === false : effects === tellAt) {
      print({ at: unit })
      // Held until the kill: a busy machine may record the end before it.
      if (hold) await sleep(60_000)
    }
    if (name.startsWith('broken')) throw new RangeError(`broken at ${made.slice(0, 8)}`)
    return made.slice(0, 16)
  }
  return await step(name, { input: seen, ...options }, run).finally(ended)
}

const CAREFUL = { idempotent: false }

/** The possible requests of the model: how many sub-steps each takes, and how they run. */
const ACTIONS = [
  {
    size: 4,
    act: (call, n, seen) =>
      Promise.all([0, 1, 2, 3].map((one) => call(`tool-${n}-${one}`, seen, one === 3 ? CAREFUL : {})))
  },
  { size: 1, act: (call, n, seen) => call(`pay-${n}`, seen, CAREFUL) },
  {
    size: 1,
    act: (call, n, seen) => call(`broken-${n}`, seen, {}).catch(({ name, message }) => [name, message])
  },
  {
    size: 4,
    act: (call, n, seen) =>
      call(`delegate-${n}`, seen, {}, async (inner) => {
        const first = await inner('look', seen, {})
        const sent = await inner('send', first, CAREFUL)
        return [sent, await inner('look', sent, {})]
      })
  },
  {
    size: 2,
    act: (call, n, seen) => Promise.all([call(`left-${n}`, seen, CAREFUL), call(`right-${n}`, seen, CAREFUL)])
  }
]

const agent = async ({ step }) => {
  const call = callOf(step)
  let seen = 'start'
  for (let left = subSteps; left > 0;) {
    seen = await call('turn', seen, {})
    left -= 1
    const { size, act } = ACTIONS[Number.parseInt(seen.slice(0, 4), 16) % ACTIONS.length]
    if (size > left) continue
    seen = digest([seen, await act(call, left, seen)])
    left -= size
  }
  return seen
}

/** Logs directly afterwards which changes of which units became durable. */
const noting = (storage) => ({
  ...storage,
  save: (claim, revisions) => async () => {
    const saved = await storage.save(claim, revisions)()
    const changes = revisions.map(({ change }) => ({
      tag: change._tag,
      units: change._tag === 'AttemptStarted' ? change.attempts.map(({ unit }) => unit) : [change.unit]
    }))
    if (E.isRight(saved)) writeSync(saves, `${JSON.stringify({ life, changes })}\n`)
    return saved
  }
})

const { fs, counter } = killingFileSystem({
  kill,
  log: kill === undefined ? undefined : join(world, 'kills.log')
})
const outcome = await runOutcome(
  workflow('agents')
    .step('agent', agent)
    .step('report', ({ outputs }) => outputs.agent),
  {
    id: 'r',
    storage: noting(jsonFileStorage(join(world, 'state'), { fs })),
    ...(confirm === undefined ? {} : { confirm: new Map(Object.entries(confirm)) })
  }
)
const { _tag, error, failures } = outcome
print({
  outcome: _tag,
  ...(outcome.outputs === undefined ? {} : { outputs: outcome.outputs }),
  ...(failures === undefined ? {} : { failures: failures.map((one) => one.error.message) }),
  ...(error === undefined ? {} : { error: { ...error, cause: undefined } }),
  ...(error?._tag === 'Unconfirmed' ? { asked: error.questions.map(({ unit }) => unit) } : {}),
  calls: counter.calls,
  names: counter.names
})
