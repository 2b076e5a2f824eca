/** The CPU time of the quickest of several rounds, in milliseconds: other processes do not count. */
export const quickest = (rounds: number, work: () => unknown): number => {
  let best = Infinity
  for (let round = 0; round < rounds; round++) {
    const began = process.cpuUsage()
    work()
    const { user, system } = process.cpuUsage(began)
    best = Math.min(best, (user + system) / 1_000)
  }
  return best
}
