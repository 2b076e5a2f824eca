/**
 * The port for artifacts: the bytes that steps store, each under an id. A store verifies content, and knows nothing of claims: an artifact
 * counts once the record of its step names it.
 */
import type { Option } from 'fp-ts/lib/Option.js'
import type { TaskEither } from 'fp-ts/lib/TaskEither.js'
import type { InvalidArtifactId } from '../domain/data/ArtifactId.js'
import type { Corrupt, Insecure, ReadFailed, TooLarge, UnsupportedFormat, WriteFailed } from './CheckpointStorage.js'
import type { InvalidRunId } from '../domain/checkpoint/RunId.js'

/**
 * An artifact without its content: `size` in bytes, `sha256` in 64 lower-case hex digits.
 *
 * @category model
 */
export interface ArtifactInfo {
  readonly id: string
  readonly size: number
  readonly sha256: string
}

/**
 * Stores the artifacts of runs. Run ids follow `RunId.parse` and artifact ids `ArtifactId.parse`; invalid ids are refused before anything
 * is read or written.
 *
 * Laws: a put that succeeded is not lost · `get` returns the data of one put, whole and unchanged, or fails with `Corrupt` · an operation on one
 * run, or one id, changes no other.
 *
 * @category model
 */
export interface ArtifactStore {
  /** Stores bytes, or a string as UTF-8, and replaces an earlier artifact with the id; durable when it resolves. */
  readonly put: (runId: string, id: string, data: Uint8Array | string) => TaskEither<ArtifactError, ArtifactInfo>
  /** Returns a copy of the bytes; none if the artifact is missing. */
  readonly get: (runId: string, id: string) => TaskEither<ArtifactError, Option<Uint8Array>>
  /** Returns whether the artifact exists. Does not verify its content. */
  readonly has: (runId: string, id: string) => TaskEither<ArtifactError, boolean>
  /** Deletes an artifact; succeeds if it is missing. */
  readonly remove: (runId: string, id: string) => TaskEither<ArtifactError, void>
  /** Lists the artifacts, ordered by id (by UTF-16 units). Does not verify content. */
  readonly list: (runId: string) => TaskEither<ArtifactError, ReadonlyArray<ArtifactInfo>>
  /** Deletes all artifacts that steps stored. Reserved ids (they begin with `_`) and the run stay. */
  readonly clear: (runId: string) => TaskEither<ArtifactError, void>
}

/**
 * Errors of artifacts. `_tag` is the stable code. `Corrupt`: the stored data differs from what was put. `TooLarge`: over the limit of the
 * store; `biggest` is empty.
 *
 * @category errors
 */
export type ArtifactError =
  InvalidRunId | InvalidArtifactId | Corrupt | UnsupportedFormat | TooLarge | Insecure | ReadFailed | WriteFailed
