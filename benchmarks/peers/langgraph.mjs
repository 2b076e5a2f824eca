// LangGraph JS on SqliteSaver: one node that leads back to itself, with a checkpoint after each time. A chain of this many
// nodes would be slower: each checkpoint lists every node that has run.
import { join } from 'node:path'
import { Annotation, END, START, StateGraph } from '@langchain/langgraph'
import { SqliteSaver } from '@langchain/langgraph-checkpoint-sqlite'

export const open = async ({ folder, steps, step, variant }) => {
  const saver = SqliteSaver.fromConnString(join(folder, 'langgraph.db'))
  saver.setup()
  if (variant === 'forced') saver.db.pragma('synchronous = FULL')
  const graph = new StateGraph(Annotation.Root({ done: Annotation() }))
    .addNode('step', async ({ done }) => ({ done: step(done) + 1 }))
    .addEdge(START, 'step')
    .addConditionalEdges('step', ({ done }) => (done < steps ? 'step' : END))
    .compile({ checkpointer: saver })
  const options = {
    configurable: { thread_id: 'bench' },
    recursionLimit: steps + 10,
    ...(variant === 'forced' ? { durability: 'sync' } : {})
  }
  const pragma = (name) => saver.db.pragma(name, { simple: true })
  return {
    settings: () =>
      `journal_mode ${pragma('journal_mode')}, synchronous ${pragma('synchronous')}, ` +
      `durability ${options.durability ?? 'async'}`,
    run: () => graph.invoke({ done: 0 }, options),
    resume: () => graph.invoke(null, options),
    close: async () => saver.db.close()
  }
}
