/** What memory holds of a run: whole checkpoints, each with the changes after it, as JSON strings. */
import * as O from 'fp-ts/lib/Option.js'
import type { ReadonlyNonEmptyArray } from 'fp-ts/lib/ReadonlyNonEmptyArray.js'
import type { Change } from '../../domain/change/Change.js'
import type { Newest } from '../../domain/checkpoint/RunChanged.js'
import type { Json } from '../../domain/data/Json.js'
import type { HistoryEntry, Revision, Stored } from '../../ports/CheckpointStorage.js'

/** A whole checkpoint, the change that led to it, and later changes: `changes[i]` led to `revision + i`. `chars`: the length of the changes. */
export interface Segment {
  readonly revision: number
  readonly checkpoint: string
  readonly changes: Array<string>
  chars: number
}

export type Segments = ReadonlyArray<Segment>

/** A new segment starts when the changes of the last one outgrow its checkpoint and this many characters. */
const SEGMENT_CHARS = 1_048_576

/** The number of whole checkpoints that a run keeps. */
const SEGMENTS_KEPT = 10

/** Adds revisions. Encodes everything before storing anything, so that a value that cannot be encoded changes nothing. */
export const append = (self: Segments, revisions: ReadonlyNonEmptyArray<Revision>): Segments => {
  const changes = revisions.map(({ change }) => JSON.stringify(change))
  const chars = changes.reduce((sum, change) => sum + change.length, 0)
  const last = self.at(-1)
  if (last === undefined || last.chars > Math.max(SEGMENT_CHARS, last.checkpoint.length)) {
    const checkpoint = JSON.stringify(revisions[0].checkpoint())
    return [...self, { revision: revisions[0].revision, checkpoint, changes, chars }].slice(-SEGMENTS_KEPT)
  }
  for (const change of changes) last.changes.push(change)
  last.chars += chars
  return self
}

/** The newest revision; -1 if there is none. */
export const newestRevision = (self: Segments): number => {
  const last = self.at(-1)
  return last === undefined ? -1 : last.revision + last.changes.length - 1
}

/** The newest revision, and the time of its change. */
export const newest = (self: Segments): Newest | undefined => {
  const text = self.at(-1)?.changes.at(-1)
  return text === undefined ? undefined : { revision: newestRevision(self), at: (JSON.parse(text) as Change).at }
}

/** The content of a revision. */
export const contentOf = (self: Segments, revision: number): O.Option<Omit<Stored, 'heldBy'>> => {
  const segment = self.findLast((one) => one.revision <= revision)
  if (segment === undefined || !Number.isInteger(revision) || revision > newestRevision([segment])) return O.none
  return O.some({
    revision,
    checkpoint: parse(segment.checkpoint),
    changes: segment.changes.slice(1, revision - segment.revision + 1).map(parse),
    found: { _tag: 'Exact' }
  })
}

/** The entries of the history, newest first. */
export const entries = (self: Segments): ReadonlyArray<HistoryEntry> =>
  self
    .flatMap(({ revision, changes }) =>
      changes.map((text, index) => {
        const { _tag: change, at } = JSON.parse(text) as Change
        return { revision: revision + index, change, at }
      })
    )
    .reverse()

const parse = (text: string): Json => JSON.parse(text) as Json
