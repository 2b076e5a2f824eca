// DBOS on PostgreSQL: the workflow runs in this process, its records go to the server over loopback.
import { DBOS } from '@dbos-inc/dbos-sdk'

export const open = async ({ steps, step, url }) => {
  const bench = DBOS.registerWorkflow(
    async () => {
      for (let index = 0; index < steps; index++) await DBOS.runStep(async () => step(index), { name: `step-${index}` })
    },
    { name: 'bench' }
  )
  DBOS.setConfig({ name: 'bench', systemDatabaseUrl: url, logLevel: 'error' })
  await DBOS.launch()
  return {
    settings: () => 'PostgreSQL as it comes: fsync on, synchronous_commit on',
    run: async () => (await DBOS.startWorkflow(bench, { workflowID: 'bench' })()).getResult(),
    // Work in flight continues by itself after `launch`.
    resume: () => DBOS.retrieveWorkflow('bench').getResult(),
    close: () => DBOS.shutdown()
  }
}
