// A store with one fault, so that the report has a failure: it forgets a removed run and its epoch.
import { memoryData, memoryStorage } from 'dogear/memory'

export const spec = {
  name: 'a store that forgets epochs',
  create: async () => memoryData(),
  reopen: async (data) => {
    const storage = memoryStorage(data)
    return {
      ...storage,
      release: (claim) => async () => {
        const released = await storage.release(claim)()
        data.runs.get(claim.runId).epoch = 0
        return released
      }
    }
  },
  capabilities: ['history']
}

export const options = { levels: ['core', 'capability'], only: ['CS-CLAIM', 'CS-HIST', 'CS-FENCE-10', 'CS-ERROR'] }

/** A report without what differs from run to run. */
export const comparable = ({ results, ...report }) => ({
  ...report,
  results: results.map(({ durationMillis, ...result }) => result)
})
