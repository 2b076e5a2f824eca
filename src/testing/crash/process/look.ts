/** Store calls with a timeout. */
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import type * as TE from 'fp-ts/lib/TaskEither.js'
import type { Checkpoint } from '../../../domain/checkpoint/Checkpoint.js'
import { callPort, readFailed, STORE } from '../../../executor/callPort.js'
import { restoreStored } from '../../../executor/storage/stored.js'
import type { CheckpointStorage, StorageError } from '../../../ports/CheckpointStorage.js'
import { within } from '../../conformance/Trial.js'
import { RUN_ID } from './CrashStorage.js'
import type { Limits } from './drive.js'
import { STORE_PATIENCE } from './drive.js'

/** Loads what the next process will find. */
export const loadCheckpoint = async (
  storage: CheckpointStorage,
  limits: Limits
): Promise<E.Either<StorageError, Checkpoint | undefined>> => {
  const stored = await withTimeout(storage.load(RUN_ID), limits)
  if (E.isLeft(stored)) return stored
  return O.isNone(stored.right) ? E.right(undefined) : restoreStored(stored.right.value, RUN_ID)
}

/** A store that throws, or takes too long, has failed as well. */
export const withTimeout = <A>(
  call: TE.TaskEither<StorageError, A>,
  { patienceMillis }: Limits
): Promise<E.Either<StorageError, A>> =>
  within(
    () => callPort('call', () => call, readFailed(STORE)),
    patienceMillis * STORE_PATIENCE,
    (late) => `the call ${late}`
  ).catch((cause: unknown) => E.left(readFailed(STORE)('call', cause, 'TIMEOUT')))
