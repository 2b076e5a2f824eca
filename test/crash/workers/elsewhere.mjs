// Simulates processes on other machines: neither the process table nor a socket shows whether they live, so the heartbeat
// decides, or the test declares them dead.
import { nodeProcesses } from '../../../src/adapters/json-file/claim/Processes.ts'

export const elsewhere = (machine, dead = () => []) => ({
  self: () => ({ ...nodeProcesses.self(), host: machine, bootId: null }),
  isAlive: (other) => {
    if (other.host !== machine) return dead().includes(other.host) ? false : undefined
    const { bootId, host } = nodeProcesses.self()
    return nodeProcesses.isAlive({ ...other, bootId, host })
  }
})
