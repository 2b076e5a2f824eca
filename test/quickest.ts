/** The CPU time of the fastest of several rounds, in milliseconds; other processes do not count. */
export const quickest = (rounds: number, work: () => unknown): number => quickestOfBoth(rounds, work, () => 0)[0]

/**
 * The same for two works that alternate, so that load on the machine slows down both. Garbage between the rounds, a different amount each
 * time, keeps the collector from always running in the same work.
 */
export const quickestOfBoth = (
  rounds: number,
  one: () => unknown,
  other: () => unknown
): readonly [one: number, other: number] => {
  let best: readonly [number, number] = [Infinity, Infinity]
  for (let round = 0; round < rounds; round++) {
    Array.from({ length: (round % 8) * 16_384 }, () => ({}))
    best = [Math.min(best[0], costOf(one)), Math.min(best[1], costOf(other))]
  }
  return best
}

const costOf = (work: () => unknown): number => {
  const began = process.cpuUsage()
  work()
  const { user, system } = process.cpuUsage(began)
  return (user + system) / 1_000
}
