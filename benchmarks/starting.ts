/** The time to start the command and to import the package, against an empty Node process. Runs whole processes in turn. */
import { spawnSync } from 'node:child_process'

const median = (values: ReadonlyArray<number>): number => [...values].sort((a, b) => a - b)[values.length >> 1] ?? 0

/** Two commands in turn: medians in milliseconds, and the median of the ratios pair by pair. */
export interface Starting {
  readonly millis: number
  readonly againstMillis: number
  readonly ratio: number
}

const spawned = (args: ReadonlyArray<string>): number => {
  const start = performance.now()
  const { status, stderr } = spawnSync(process.execPath, args, { stdio: ['ignore', 'ignore', 'pipe'] })
  if (status !== 0) process.stderr.write(stderr)
  return performance.now() - start
}

export const compare = (ours: ReadonlyArray<string>, theirs: ReadonlyArray<string>, rounds: number): Starting => {
  const pairs = Array.from({ length: rounds + 1 }, () => ({ ours: spawned(ours), theirs: spawned(theirs) })).slice(1)
  return {
    millis: median(pairs.map((pair) => pair.ours)),
    againstMillis: median(pairs.map((pair) => pair.theirs)),
    ratio: median(pairs.map((pair) => pair.ours / pair.theirs))
  }
}
