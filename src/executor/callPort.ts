/** Calls ports. A port that throws, or returns no TaskEither, counts as failed. */
import * as E from 'fp-ts/lib/Either.js'
import type * as O from 'fp-ts/lib/Option.js'
import type { TaskEither } from 'fp-ts/lib/TaskEither.js'
import type { ArtifactError } from '../ports/ArtifactStore.js'
import type { ReadFailed, StorageError, Stored, WriteFailed } from '../ports/CheckpointStorage.js'
import type { Environment } from '../ports/Environment.js'
import type { AlreadyAnswered, PointerError, RequestError } from '../ports/Requests.js'
import type { TreeUnreadable } from '../ports/WorkingTree.js'
import type { WorkspaceError } from '../ports/Workspaces.js'
import type { FieldTypes } from '../domain/data/notTaskEither.js'
import { notEither, notTaskEither } from '../domain/data/notTaskEither.js'

/** The error code for a port that returns no TaskEither, or one that resolves to no Either. */
const NO_EITHER = 'NO_TASK_EITHER'

type PortError =
  StorageError | ArtifactError | RequestError | AlreadyAnswered | PointerError | TreeUnreadable | WorkspaceError

/** The fields of each error that its message quotes, with their types. */
const TAGS: Readonly<Record<PortError['_tag'], FieldTypes>> = {
  HeldBy: { holder: 'object' },
  Fenced: {},
  RevisionConflict: { expected: 'number', found: 'number' },
  RunChanged: { expected: 'number', found: 'number' },
  Corrupt: { where: 'string', why: 'string' },
  UnsupportedFormat: { where: 'string', found: 'number', supported: 'number' },
  TooLarge: { where: 'string', bytes: 'number', limitBytes: 'number', biggest: 'array' },
  // The caller may have passed an id that is no string.
  InvalidRunId: { why: 'string' },
  InvalidArtifactId: { why: 'string' },
  InvalidPointer: { where: 'string', why: 'string' },
  Insecure: { where: 'string', why: 'string' },
  ReadFailed: { code: 'string', where: 'string', operation: 'string' },
  WriteFailed: { code: 'string', where: 'string', operation: 'string' },
  AlreadyAnswered: { unit: 'string' },
  TreeUnreadable: { where: 'string', why: 'string' },
  NoWorktree: { folder: 'string', why: 'string' },
  WorkspaceTaken: { what: 'string' },
  WorkspaceFailed: { where: 'string', operation: 'string', why: 'string' }
}

type OnThrow<Thrown> = (operation: string, cause: unknown, code?: string) => Thrown

export const callPort = async <A, Failure extends PortError, Thrown>(
  operation: string,
  call: () => TaskEither<Failure, A>,
  onThrow: OnThrow<Thrown>
): Promise<E.Either<Failure | Thrown, A>> => {
  try {
    const task: unknown = call()
    if (typeof task !== 'function') {
      Promise.resolve(task).catch(() => undefined)
      return E.left(onThrow(operation, notTaskEither(task), NO_EITHER))
    }
    const result: unknown = await (task as TaskEither<Failure, A>)()
    const wrong = notEither(result, TAGS)
    return wrong === undefined ? (result as E.Either<Failure, A>) : E.left(onThrow(operation, wrong, NO_EITHER))
  } catch (cause) {
    return E.left(onThrow(operation, cause))
  }
}

export const readFailed =
  (where: string): OnThrow<ReadFailed> =>
  (operation, cause, code = 'THREW') => ({ _tag: 'ReadFailed', where, operation, code, cause })

export const writeFailed =
  (where: string): OnThrow<WriteFailed> =>
  (operation, cause, code = 'THREW') => ({ _tag: 'WriteFailed', committed: 'unknown', where, operation, code, cause })

export const STORE = 'the store'

export const INBOX = 'the requests'

export const ARTIFACTS = 'the artifacts'

export const load = (
  { storage }: Pick<Environment, 'storage'>,
  runId: string
): Promise<E.Either<StorageError, O.Option<Stored>>> => callPort('load', () => storage.load(runId), readFailed(STORE))
