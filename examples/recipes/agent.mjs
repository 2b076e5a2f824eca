// An agent with tools. Each turn of the model and each call of a tool is recorded: after a crash no recorded one runs again.
//
//   node agent.mjs trip-1 "Paris or Rome?"
//
// Kill it anywhere (kill -9) and start it again with the same id. agent.log shows what ran.
import { appendFileSync } from 'node:fs'
import { jsonFileStorage } from 'dogear/json-file'
import { runOrResume, workflow } from 'dogear/promise'

const log = (line) => appendFileSync('agent.log', `${line}\n`)

/** Stands in for your model: it asks for two tools, books, and answers. */
const model = async (messages) => {
  log(`model ${messages.length}`)
  const found = messages.filter(({ role }) => role === 'tool')
  if (found.length === 0) return { calls: ['Paris', 'Rome'].map((city, id) => ({ id, tool: 'temperature', city })) }
  if (found.length === 2) {
    const [best] = found.sort((one, other) => other.result - one.result)
    return { calls: [{ id: 2, tool: 'book', city: best.city }] }
  }
  return { answer: `Booked ${found[2].city}: ${found[2].result}` }
}

const tools = {
  temperature: {
    idempotent: true,
    run: async ({ city }) => {
      log(`temperature ${city}`)
      return { Paris: 18, Rome: 24 }[city]
    }
  },
  // If the process dies in it, the resume asks a person: again, or done? `dogear answer` answers.
  book: {
    idempotent: false,
    run: async ({ city }) => {
      log(`book ${city}`)
      return `ticket to ${city}`
    }
  }
}

const agent = workflow('agent').step('chat', async ({ input, step }) => {
  const messages = [{ role: 'user', content: input.question }]
  for (;;) {
    const reply = await step('turn', () => model(messages))
    if (reply.answer !== undefined) return reply.answer
    // A chat API refuses the result of a tool without the reply that called it.
    messages.push({ role: 'assistant', ...reply })
    const call = async ({ id, tool, city }) => {
      const { idempotent, run } = tools[tool]
      return { role: 'tool', city, result: await step(`${tool}-${id}`, { idempotent }, () => run({ city })) }
    }
    messages.push(...(await Promise.all(reply.calls.map(call))))
  }
})

const [, , id = 'trip-1', question = 'Paris or Rome?'] = process.argv
console.log((await runOrResume(agent, { id, storage: jsonFileStorage('state'), input: { question } })).chat)
