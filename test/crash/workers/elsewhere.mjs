// Processes as if this one ran on another machine: nobody can ask whether it lives, neither the process table nor a socket, so
// its heartbeat decides; or somebody says who is dead.
import { nodeProcesses } from 'dogear/json-file'

export const elsewhere = (machine, dead = () => []) => ({
  self: () => ({ ...nodeProcesses.self(), host: machine, bootId: null }),
  isAlive: (other) => {
    if (other.host !== machine) return dead().includes(other.host) ? false : undefined
    const { bootId, host } = nodeProcesses.self()
    return nodeProcesses.isAlive({ ...other, bootId, host })
  }
})
