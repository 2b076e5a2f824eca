// A process that repeatedly tries to run a run at the same moment as others. The winner stays in its only step
// until it gets the command to finish.
import { jsonFileStorage } from 'dogear/json-file'
import { runOutcome, workflow } from 'dogear/promise'
import { obey, startAt, tell } from './commands.mjs'

let finish = () => undefined

obey({
  race: async ({ root, runId, at }) => {
    const storage = jsonFileStorage(root)
    const program = workflow('race').step('hold', async () => {
      tell({ running: runId, after: performance.now() - started })
      await new Promise((resolve) => (finish = resolve))
      return process.pid
    })
    startAt(at)
    const started = performance.now()
    const outcome = await runOutcome(program, { id: runId, storage })
    const error = outcome._tag === 'Refused' ? { ...outcome.error, cause: undefined } : undefined
    tell({ raced: runId, outcome: outcome._tag, error })
  },
  finish: () => finish()
})
