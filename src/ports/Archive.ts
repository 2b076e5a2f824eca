/** The port for an archive of completed runs. */
import type { TaskEither } from 'fp-ts/lib/TaskEither.js'
import type { Json } from '../domain/data/Json.js'
import type { Insecure, ReadFailed, TooLarge, WriteFailed } from './CheckpointStorage.js'
import type { InvalidRunId } from '../domain/checkpoint/RunId.js'

/**
 * An archived run: its id, creation time (UTC, ISO 8601), and its last checkpoint as stored. Two runs with the same id differ by creation
 * time.
 */
export interface ArchivedRun {
  readonly runId: string
  readonly createdAt: string
  readonly checkpoint: Json
}

/**
 * Errors of an archive.
 *
 * @category errors
 */
export type ArchiveError = InvalidRunId | Insecure | ReadFailed | TooLarge | WriteFailed

/**
 * Stores completed runs.
 *
 * @category model
 */
export interface Archive {
  /** Stores a run and replaces an earlier copy of it; durable when it resolves. Returns where it is. */
  readonly keep: (run: ArchivedRun) => TaskEither<ArchiveError, string>
}
