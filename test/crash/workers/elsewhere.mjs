// Processes as if this one ran on another machine: nobody can ask whether it lives, so its heartbeat decides.
import { nodeProcesses } from 'dogear/json-file'

export const elsewhere = (machine) => ({
  self: () => ({ ...nodeProcesses.self(), host: machine, bootId: `boot-of-${machine}` }),
  isAlive: (other) =>
    other.bootId === `boot-of-${machine}`
      ? nodeProcesses.isAlive({ ...other, bootId: nodeProcesses.self().bootId })
      : undefined
})
