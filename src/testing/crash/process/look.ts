/** Store calls with a timeout. */
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import type * as TE from 'fp-ts/lib/TaskEither.js'
import type { Checkpoint } from '../../../domain/checkpoint/Checkpoint.js'
import { restoreStored } from '../../../executor/storage/stored.js'
import type { CheckpointStorage, StorageError } from '../../../ports/CheckpointStorage.js'
import { RUN_ID } from './CrashStorage.js'
import type { Limits } from './drive.js'
import { STORE_PATIENCE } from './drive.js'

/** Loads what the next process will find. */
export const look = async (
  storage: CheckpointStorage,
  limits: Limits
): Promise<E.Either<StorageError, Checkpoint | undefined>> => {
  const stored = await withTimeout(storage.load(RUN_ID), limits)
  if (E.isLeft(stored)) return stored
  return O.isNone(stored.right) ? E.right(undefined) : restoreStored(stored.right.value, RUN_ID)
}

export const withTimeout = async <A>(
  call: TE.TaskEither<StorageError, A>,
  { patienceMillis }: Limits
): Promise<E.Either<StorageError, A>> => {
  const failed = (code: string, cause: unknown): E.Either<StorageError, never> =>
    E.left({ _tag: 'ReadFailed', where: 'the store', operation: 'call', code, cause })
  let timer: ReturnType<typeof setTimeout> | undefined
  const late = new Promise<E.Either<StorageError, A>>((resolve) => {
    timer = setTimeout(() => resolve(failed('TIMEOUT', 'no answer came')), patienceMillis * STORE_PATIENCE)
  })
  try {
    return await Promise.race([call(), late])
  } catch (cause) {
    return failed('THREW', cause)
  } finally {
    clearTimeout(timer)
  }
}
