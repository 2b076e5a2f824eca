/**
 * What it costs to start: the command against an empty Node process, the package against its own fp-ts and io-ts
 * modules. Whole processes, in turn.
 */
import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

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

/** The fp-ts and io-ts modules that the built library imports. */
export const ownModules = (dist: string): ReadonlyArray<string> => {
  const found = new Set<string>()
  for (const file of readdirSync(dist, { recursive: true, encoding: 'utf8' })) {
    if (!/^(index\.js|(domain|ports|executor)\/.*\.js)$/.test(file)) continue
    for (const [, name] of readFileSync(join(dist, file), 'utf8').matchAll(/from '((?:fp-ts|io-ts)[^']*)'/g)) {
      if (name !== undefined) found.add(name)
    }
  }
  return [...found].sort()
}
