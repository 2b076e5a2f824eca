// One process that works on an agent with many turns, each with tool calls in parallel. It dies after the n-th effect of its life.
//
// Each sub-step logs in notes.log when it starts, has its effect and returns, with the number of this life of the run.
import { createHash } from 'node:crypto'
import { openSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { jsonFileStorage } from 'dogear/json-file'
import { runOutcome, workflow } from 'dogear/promise'

const { world, life, turns, die } = JSON.parse(process.argv[2])
const notes = openSync(join(world, 'notes.log'), 'a')

const note = (what, unit) => writeSync(notes, `${JSON.stringify({ life, what, unit })}\n`)
const digest = (value) => createHash('sha256').update(JSON.stringify(value)).digest('hex').slice(0, 16)
const kill = () => process.kill(process.pid, 'SIGKILL')

let effects = 0

/** The effect of a sub-step. */
const effect = async (unit, output) => {
  note('began', unit)
  await sleep(1)
  note('effect', unit)
  effects += 1
  if (effects === die?.effects) die.delay === 0 ? kill() : setTimeout(kill, die.delay)
  return output
}

/** A turn has one to three tool calls; the last one answers. */
const model = async (messages, unit) => {
  const id = digest(messages)
  const turn = messages.filter((message) => message.startsWith('turn')).length + 1
  const calls = Array.from({ length: 1 + (Number.parseInt(id.slice(0, 2), 16) % 3) }, (_, n) => ({
    id: `${turn}-${n}`
  }))
  return await effect(unit, turn === turns ? { answer: id, calls: [] } : { text: `turn ${id}`, calls })
}

const tool = (call, unit) => effect(unit, `tool ${digest(call)}`)

const returned = (unit, output) => {
  note('returned', unit)
  return output
}

const research = workflow('research').step('agent', async ({ step }) => {
  let turn = ''
  for (const messages = ['question']; ;) {
    const reply = await step('turn', ({ unit }) => model(messages, (turn = unit)))
    if (turn !== '') returned(turn)
    if (reply.answer !== undefined) return reply.answer
    const found = await Promise.all(
      reply.calls.map(async (call) => {
        let own = ''
        const output = await step(`tool-${call.id}`, ({ unit }) => tool(call, (own = unit)))
        return own === '' ? output : returned(own, output)
      })
    )
    messages.push(reply.text, ...found)
  }
})

const outcome = await runOutcome(research, { id: 'r', storage: jsonFileStorage(join(world, 'state')) })
writeSync(1, `${JSON.stringify({ outcome: outcome._tag, outputs: outcome.outputs, error: outcome.error })}\n`)
