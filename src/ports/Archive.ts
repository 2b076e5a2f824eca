/** Where the last checkpoints of runs go that are over and whose state is deleted. */
import type { TaskEither } from 'fp-ts/lib/TaskEither.js'
import type { Json } from '../domain/data/Json.js'
import type { Insecure, ReadFailed, TooLarge, WriteFailed } from './CheckpointStorage.js'
import type { InvalidRunId } from '../domain/checkpoint/RunId.js'

/**
 * A run that goes to the archive: which it was, when it was made (UTC, ISO 8601), and its last checkpoint as it is stored. Two runs that
 * had the same id, one after the other, were made at different times.
 */
export interface ArchivedRun {
  readonly runId: string
  readonly createdAt: string
  readonly checkpoint: Json
}

/**
 * What can go wrong with an archive.
 *
 * @category errors
 */
export type ArchiveError = InvalidRunId | Insecure | ReadFailed | TooLarge | WriteFailed

/**
 * Keeps runs that are over.
 *
 * @category model
 */
export interface Archive {
  /** Keeps a run, in place of what was kept of the same run before; durable when it resolves, with where that is. */
  readonly keep: (run: ArchivedRun) => TaskEither<ArchiveError, string>
}
