/** Finds the revisions that a history lacks. */
import type { HistoryEntry } from '../../ports/CheckpointStorage.js'

/** `first` and `last`: revisions, both included. */
export interface Gap {
  readonly first: number
  readonly last: number
}

/** Returns the gap below an entry of a history, newest first. Below the oldest entry there is none: old revisions are pruned. */
export const gapAfter = (history: ReadonlyArray<HistoryEntry>, index: number): Gap | undefined => {
  const [above, below] = [history[index]?.revision, history[index + 1]?.revision]
  return above === undefined || below === undefined || below >= above - 1
    ? undefined
    : { first: below + 1, last: above - 1 }
}

export const gapsIn = (history: ReadonlyArray<HistoryEntry>): ReadonlyArray<Gap> =>
  history.flatMap((_, index) => gapAfter(history, index) ?? [])

export const describeGap = ({ first, last }: Gap): string =>
  first === last ? `revision ${first} is missing` : `revisions ${first} to ${last} are missing`
