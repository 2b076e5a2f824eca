/**
 * The port for what steps keep beside their outputs: bytes of a run, each under an id.
 *
 * A store is dumb on purpose. It keeps bytes and gives them back, and says so if they are not the same. Who may put what is
 * decided above it: what a step put counts once the record of the step names it.
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
 * Where artifacts live. Each belongs to one run. Run ids follow `RunId.parse` and artifact ids `ArtifactId.parse`; another
 * one is refused before anything is touched.
 *
 * Laws: a put that resolved is in every later `get` · `get` gives what one put was given, whole and unchanged, or says
 * `Corrupt` · what is done to one run, or one id, changes no other.
 *
 * @category model
 */
export interface ArtifactStore {
  /** Keeps bytes, or a text as UTF-8, in place of what had the id before; durable when it resolves. */
  readonly put: (runId: string, id: string, data: Uint8Array | string) => TaskEither<ArtifactError, ArtifactInfo>
  /** The bytes, a copy; none if there is no such artifact. */
  readonly get: (runId: string, id: string) => TaskEither<ArtifactError, Option<Uint8Array>>
  /** Whether there is an artifact of this id. Its content is not looked at. */
  readonly has: (runId: string, id: string) => TaskEither<ArtifactError, boolean>
  /** Deletes an artifact; one that is not there is fine. */
  readonly remove: (runId: string, id: string) => TaskEither<ArtifactError, void>
  /** What was put, in the order of the ids (by UTF-16 units). Content is not looked at. */
  readonly list: (runId: string) => TaskEither<ArtifactError, ReadonlyArray<ArtifactInfo>>
  /** Deletes all that steps put. Reserved ids stay (`ArtifactId.isSystem`), and so does the run. */
  readonly clear: (runId: string) => TaskEither<ArtifactError, void>
}

/**
 * What can go wrong with artifacts. `_tag` is the stable code. `Corrupt`: what is stored is not what was put. `TooLarge`:
 * it is over the limit of the store; `biggest` is empty.
 *
 * @category errors
 */
export type ArtifactError =
  InvalidRunId | InvalidArtifactId | Corrupt | UnsupportedFormat | TooLarge | Insecure | ReadFailed | WriteFailed
