// openworkflow on the SQLite of Node: a worker in this process polls the database for runs.
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { OpenWorkflow } from 'openworkflow'
import { BackendSqlite } from 'openworkflow/sqlite'

/** The handle's own `result()` polls once a second, which would be most of a run of 10 steps. */
const LOOK_MILLIS = 5

export const open = async (given) => {
  const backend = BackendSqlite.connect(join(given.folder, 'openworkflow.db'))
  const pragma = (name) => backend.db.prepare(`PRAGMA ${name}`).get()[name]
  return openOn(given, backend, () => `journal_mode ${pragma('journal_mode')}, synchronous ${pragma('synchronous')}`)
}

/** The run on a backend; `settings` describes it. */
export const openOn = ({ steps, step }, backend, settings) => {
  const client = new OpenWorkflow({ backend })
  const workflow = client.defineWorkflow({ name: 'bench' }, async ({ step: durable }) => {
    for (let index = 0; index < steps; index++) await durable.run({ name: `step-${index}` }, async () => step(index))
  })
  const worker = client.newWorker()
  const completed = async (workflowRunId) => {
    for (;;) {
      const { status, error } = await backend.getWorkflowRun({ workflowRunId })
      if (status === 'completed') return
      if (status === 'failed' || status === 'canceled') throw new Error(`the run ${status}: ${error?.message}`)
      await setTimeout(LOOK_MILLIS)
    }
  }
  return {
    settings,
    run: async () => {
      const { workflowRun } = await workflow.run({})
      await worker.start()
      await completed(workflowRun.id)
    },
    resume: async () => {
      const { data } = await backend.listWorkflowRuns({})
      await worker.start()
      await completed(data[0].id)
    },
    close: async () => {
      await worker.stop()
      await backend.stop()
    }
  }
}
