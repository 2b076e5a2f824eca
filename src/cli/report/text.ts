/** Formats times, owners and positions for people. */
import type { RunSummary } from '../../executor/storage/runs.js'
import { folded } from '../terminal/Style.js'
import type { Holder } from '../../ports/CheckpointStorage.js'

/** A time: `2026-01-02 03:04 UTC`. */
export const minute = (at: string): string => `${at.slice(0, 10)} ${at.slice(11, 16)} UTC`

/** The owner of a run, with its liveness if that is undecided. */
export const holderText = ({ host, pid, since, liveness }: Holder): string =>
  `process ${pid} on ${host} since ${since}${liveness === 'undecided' ? ', which may be dead' : ''}`

/** Folds a row of a plan below the name of its unit. */
export const rowFolded = (line: string, width: number): ReadonlyArray<string> =>
  folded(line, width, /^ +(?:\d+\/\d+ +)?\S+ +/.exec(line)?.[0].length ?? 2)

/** Cuts fingerprints to 12 digits; JSON has them whole. */
export const shortened = (text: string): string => text.replace(/\b(v\d+:[0-9a-f]{12})[0-9a-f]{52}\b/g, '$1')

/** The status, progress and start of a run. */
export const positionOf = ({ status, steps, createdAt }: RunSummary): string =>
  `${status}, ${steps.completed}/${steps.total} steps completed, started ${minute(createdAt)}`
