/** Calls ports. A port that throws counts as failed. */
import * as E from 'fp-ts/lib/Either.js'
import type * as O from 'fp-ts/lib/Option.js'
import type { TaskEither } from 'fp-ts/lib/TaskEither.js'
import type { ReadFailed, StorageError, Stored, WriteFailed } from '../ports/CheckpointStorage.js'
import type { Environment } from '../ports/Environment.js'

type OnThrow<Thrown> = (operation: string, cause: unknown) => Thrown

export const callPort = async <A, Failure, Thrown>(
  operation: string,
  ask: () => TaskEither<Failure, A>,
  onThrow: OnThrow<Thrown>
): Promise<E.Either<Failure | Thrown, A>> => {
  try {
    return await ask()()
  } catch (cause) {
    return E.left(onThrow(operation, cause))
  }
}

export const readFailed =
  (where: string): OnThrow<ReadFailed> =>
  (operation, cause) => ({ _tag: 'ReadFailed', where, operation, code: 'THREW', cause })

export const writeFailed =
  (where: string): OnThrow<WriteFailed> =>
  (operation, cause) => ({ _tag: 'WriteFailed', committed: 'unknown', where, operation, code: 'THREW', cause })

export const STORE = 'the store'

export const INBOX = 'the requests'

export const load = (
  { storage }: Pick<Environment, 'storage'>,
  runId: string
): Promise<E.Either<StorageError, O.Option<Stored>>> => callPort('load', () => storage.load(runId), readFailed(STORE))
