/** Turns the revisions of a save into rows, each with a checksum. Knows no database. */
import { hash } from 'node:crypto'
import * as E from 'fp-ts/lib/Either.js'
import type { ReadonlyNonEmptyArray } from 'fp-ts/lib/ReadonlyNonEmptyArray.js'
import type { Change } from '../../domain/change/Change.js'
import { growth, slack } from '../../domain/change/sizeBound.js'
import type { Json } from '../../domain/data/Json.js'
import type { Measured, NotEncoded } from '../../domain/data/Size.js'
import { encodeWithin } from '../../domain/data/Size.js'
import type { RevisionConflict } from '../../domain/checkpoint/RevisionConflict.js'
import { conflictOf } from '../../domain/checkpoint/RevisionConflict.js'
import type { Revision, TooLarge, WriteFailed } from '../../ports/CheckpointStorage.js'

/** The format of a run that this version writes, and the newest that it reads. */
export const FORMAT = 1

/** One revision. `kind` and `at` repeat fields of the change, for the history; a row with a `checkpoint` is a base. */
export interface Row {
  readonly revision: number
  readonly epoch: number
  readonly kind: string
  readonly at: string
  readonly change: string
  readonly checkpoint: string | null
  readonly checksum: string
}

/** The run that a claim writes. `where`: the table, for errors. */
export interface Target {
  readonly runId: string
  readonly epoch: number
  readonly where: string
}

/** `checkpointBytes`: the largest checkpoint to save; `baseBytes`: within a claim, changes up to this size cause no base. */
export interface Limits {
  readonly checkpointBytes: number
  readonly baseBytes: number
}

/** The progress of a claim. A claim begins with the `revision` of its content, the `head` of the run's row, and no bytes. */
export interface Progress {
  /** The newest revision that counts; -1 if there is none. */
  readonly revision: number
  /** The newest revision in the run's row: above `revision` if newer rows are damaged. */
  readonly head: number
  /** The size of the base that this claim wrote last; 0 before its first save. */
  readonly baseBytes: number
  /** The size of the changes after it. */
  readonly changeBytes: number
  /** An upper bound of the size of the newest checkpoint. */
  readonly sizeBytes: number
}

/** A save, to be written in one transaction. */
export interface Save {
  readonly rows: ReadonlyNonEmptyArray<Row>
  /** The new head of the run's row. */
  readonly head: number
  /** The summary column of the run's row: JSON. */
  readonly summary: string
  /** True if the rows above `revision` of the claim's progress are damaged: delete them first. */
  readonly replaces: boolean
  /** True if the first row is a base: delete the rows below the oldest base to keep. */
  readonly hasBase: boolean
  /** The progress once the save is committed. */
  readonly progress: Progress
}

/**
 * Plans a save. The first row is a base at the first save of a claim, and when the changes have outgrown the last base. Measures the checkpoint
 * only if it may exceed the limit.
 */
export const saveOf = (
  target: Target,
  progress: Progress,
  revisions: ReadonlyNonEmptyArray<Revision>,
  limits: Limits
): E.Either<RevisionConflict | TooLarge | WriteFailed, Save> => {
  const conflict = conflictOf(target.runId, progress.revision, revisions)
  if (conflict !== undefined) return E.left(conflict)
  const hasBase = isBaseDue(progress, limits)
  const limit: Limit = {
    limitBytes: limits.checkpointBytes,
    mostBytes:
      limits.checkpointBytes +
      slack(
        progress,
        revisions.map(({ change }) => change)
      )
  }
  const rows: Array<Row> = []
  for (const revision of revisions) {
    const row = rowOf(target, revision, hasBase && rows.length === 0, limit)
    if (E.isLeft(row)) return row
    rows.push(row.right)
  }
  const newest = revisions[revisions.length - 1] as Revision
  const bytes = sum(rows.map(({ change }) => Buffer.byteLength(change)))
  const baseBytes = hasBase ? Math.max(1, Buffer.byteLength(rows[0]?.checkpoint ?? '')) : progress.baseBytes
  const changeBytes = hasBase ? bytes : progress.changeBytes + bytes
  const later = revisions.slice(hasBase ? 1 : 0).map(({ change }) => change)
  const most = (hasBase ? baseBytes : progress.sizeBytes) + (later.length === 0 ? 0 : growth(later, bytes))
  const size = most > limit.mostBytes ? measured(target, newest, limit) : E.right(most)
  if (E.isLeft(size)) return size
  return E.right({
    rows: rows as unknown as ReadonlyNonEmptyArray<Row>,
    head: newest.revision,
    summary: JSON.stringify(newest.summary()),
    replaces: progress.head > progress.revision,
    hasBase,
    progress: { revision: newest.revision, head: newest.revision, baseBytes, changeBytes, sizeBytes: size.right }
  })
}

/** `limitBytes`: the limit of the options; `mostBytes`: that limit with the room that `slack` grants this save. */
interface Limit {
  readonly limitBytes: number
  readonly mostBytes: number
}

const sum = (sizes: ReadonlyArray<number>): number => sizes.reduce((total, size) => total + size, 0)

const isBaseDue = ({ baseBytes, changeBytes }: Progress, limits: Limits): boolean =>
  baseBytes === 0 || changeBytes > Math.max(limits.baseBytes, baseBytes)

const rowOf = (
  target: Target,
  { revision, change, checkpoint }: Revision,
  isBase: boolean,
  limit: Limit
): E.Either<TooLarge | WriteFailed, Row> => {
  const fields = { revision, epoch: target.epoch, kind: change._tag, at: change.at }
  return E.map(({ text }: Measured) => {
    const texts = isBase
      ? { change: JSON.stringify(withoutContent(change)), checkpoint: text }
      : { change: text, checkpoint: null }
    return { ...fields, ...texts, checksum: checksumOf(target.runId, { ...fields, ...texts }) }
  })(encoded(target, isBase ? checkpoint() : (change as unknown as Json), limit))
}

/** Measures a checkpoint that may exceed the limit. */
const measured = (target: Target, { checkpoint }: Revision, limit: Limit): E.Either<TooLarge | WriteFailed, number> =>
  E.map(({ bytes }: Measured) => bytes)(encoded(target, checkpoint(), limit))

const encoded = (
  { runId, where }: Target,
  value: Json,
  { limitBytes, mostBytes }: Limit
): E.Either<TooLarge | WriteFailed, Measured> =>
  E.mapLeft((refused: NotEncoded): TooLarge | WriteFailed =>
    refused._tag === 'TooLarge'
      ? { ...refused, runId, where, limitBytes }
      : { _tag: 'WriteFailed', committed: 'no', where, operation: 'encode', code: 'UNKNOWN', cause: refused.cause }
  )(encodeWithin(value, mostBytes))

/** Omits most fields of a `Started`, because the checkpoint of its revision has them. */
const withoutContent = (change: Change): Pick<Change, '_tag' | 'at'> =>
  change._tag === 'Started' ? { _tag: change._tag, at: change.at } : change

/** The checksum covers run, revision and claim, so that a row copied from elsewhere fails it. No part contains the line feeds between them. */
export const checksumOf = (runId: string, row: Omit<Row, 'checksum'>): string => {
  const { revision, epoch, kind, at, change, checkpoint } = row
  const key = JSON.stringify([runId, revision, epoch, kind, at])
  return hash('sha256', `${key}\n${change}\n${checkpoint ?? ''}`, 'hex').slice(0, 32)
}
