// Mastra on LibSQL: a chain of steps; each step writes the snapshot of the whole run again.
import { join } from 'node:path'
import { Mastra } from '@mastra/core'
import { createStep, createWorkflow } from '@mastra/core/workflows'
import { LibSQLStore } from '@mastra/libsql'
import { z } from 'zod'

export const open = async ({ folder, steps, step, variant }) => {
  const url = `file:${join(folder, 'mastra.db')}`
  const storage = new LibSQLStore({ id: 'bench', url })
  // Private in its types, but the only way to the connection that the store uses.
  const { client } = storage
  const schema = z.object({ done: z.number() })
  let workflow = createWorkflow({ id: 'bench', inputSchema: schema, outputSchema: schema })
  for (let index = 0; index < steps; index++) {
    const execute = async () => ({ done: step(index) })
    workflow = workflow.then(createStep({ id: `step-${index}`, inputSchema: schema, outputSchema: schema, execute }))
  }
  const mastra = new Mastra({ storage, logger: false, workflows: { bench: workflow.commit() } })
  const bench = mastra.getWorkflow('bench')
  await storage.init()
  if (variant === 'forced') await client.execute('PRAGMA synchronous = FULL')
  const pragma = async (name) => (await client.execute(`PRAGMA ${name}`)).rows[0][name]
  const completed = ({ status, error }) => {
    if (status !== 'success') throw new Error(`the run ended with ${status}: ${JSON.stringify(error)}`)
  }
  return {
    settings: async () => `journal_mode ${await pragma('journal_mode')}, synchronous ${await pragma('synchronous')}`,
    run: async () => completed(await (await bench.createRun({ runId: 'bench' })).start({ inputData: { done: 0 } })),
    resume: async () => completed(await (await bench.createRun({ runId: 'bench' })).restart()),
    close: async () => storage.close?.()
  }
}
