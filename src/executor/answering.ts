/**
 * Asking a store.
 *
 * @since 0.1.0
 */
import * as E from 'fp-ts/lib/Either.js'
import type { TaskEither } from 'fp-ts/lib/TaskEither.js'
import type { StorageError } from '../ports/CheckpointStorage.js'

/**
 * Asks a store. One that throws where it should answer has failed as well.
 *
 * @category effects
 * @since 0.1.0
 */
export const answering = async <A>(
  operation: string,
  ask: () => TaskEither<StorageError, A>
): Promise<E.Either<StorageError, A>> => {
  try {
    return await ask()()
  } catch (cause) {
    return E.left({ _tag: 'ReadFailed', where: 'the store', operation, code: 'THREW', cause })
  }
}
