/**
 * What a store has of a run, and the claim on it.
 *
 * @since 0.1.0
 */
import * as E from 'fp-ts/lib/Either.js'
import type * as O from 'fp-ts/lib/Option.js'
import type { TaskEither } from 'fp-ts/lib/TaskEither.js'
import type { Checkpoint } from '../domain/Checkpoint.js'
import { describe as describeCodec, restore } from '../domain/CheckpointCodec.js'
import { isObject } from '../domain/Json.js'
import type { Claim, StorageError, Stored } from '../ports/CheckpointStorage.js'
import type { Environment } from '../ports/Environment.js'
import type { RunError } from './RunError.js'

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

/**
 * Gives a claim back. How it ended is known by now; a claim that can't be given back is taken over as a dead one.
 *
 * @category effects
 * @since 0.1.0
 */
const releaseClaim = async ({ storage }: Environment, claim: Claim): Promise<void> => {
  try {
    await storage.release(claim)()
  } catch {
    // A store that throws here changes nothing of that.
  }
}

/**
 * Does something with the claim of a run, and with what is stored of it then; and gives the claim back. How it ended is known by
 * then: a claim that can't be given back is taken over as a dead one.
 *
 * @category effects
 * @since 0.1.0
 */
export const holding = async <A>(
  environment: Environment,
  runId: string,
  use: (claim: Claim, stored: O.Option<Stored>) => Promise<E.Either<RunError, A>>
): Promise<E.Either<RunError, A>> => {
  const { storage, owner } = environment
  const claimed = await answering('claim', () => storage.claim(runId, owner))
  if (E.isLeft(claimed)) return claimed
  const { claim, stored } = claimed.right
  try {
    return await use(claim, stored)
  } finally {
    await releaseClaim(environment, claim)
  }
}

/**
 * The checkpoint that a store keeps, decoded. Content of a newer format is `UnsupportedFormat`, anything else that
 * does not decode is `Corrupt`, and so is that of another run where `runId` is given.
 *
 * @category decoding
 * @since 0.1.0
 */
export const restoreStored = (stored: Stored, runId?: string): E.Either<StorageError, Checkpoint> => {
  const where = 'the stored checkpoint'
  const restored = restore(stored)
  if (E.isRight(restored)) {
    const found = restored.right.runId
    return runId === undefined || found === runId
      ? restored
      : E.left({ _tag: 'Corrupt', runId, where, why: `it is that of run ${found}`, cause: found })
  }
  const error = restored.left
  const id = runId ?? runIdOf(stored)
  return error._tag === 'NewerFormat'
    ? E.left({ _tag: 'UnsupportedFormat', runId: id, where, found: error.found, supported: error.supported })
    : E.left({ _tag: 'Corrupt', runId: id, where, why: describeCodec(error), cause: error })
}

const runIdOf = ({ checkpoint }: Stored): string => {
  const runId = isObject(checkpoint) ? checkpoint['runId'] : undefined
  return typeof runId === 'string' ? runId : ''
}
