/** Checks the ids and the claim of a call before it reads or writes. Knows no database. */
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import type { TaskEither } from 'fp-ts/lib/TaskEither.js'
import type { InvalidRunId } from '../../domain/checkpoint/RunId.js'
import * as RunId from '../../domain/checkpoint/RunId.js'
import type { InvalidArtifactId } from '../../domain/data/ArtifactId.js'
import * as ArtifactId from '../../domain/data/ArtifactId.js'
import type { Claim, StorageError } from '../../ports/CheckpointStorage.js'

/** Checks the run id, then acts. */
export const ofRun =
  <Left, A>(runId: string, act: () => Promise<E.Either<Left, A>>): TaskEither<Left | InvalidRunId, A> =>
  () => {
    const valid = RunId.parse(runId)
    return E.isLeft(valid) ? Promise.resolve(valid) : act()
  }

/** Acts on the holding of a claim. Fails with `Fenced` for the claim of another store, or one that was never granted. */
export const ofClaim = <Holding, A>(
  holdings: WeakMap<AbortSignal, Holding>,
  { runId, epoch, lost }: Claim,
  act: (holding: Holding) => Promise<E.Either<StorageError, A>>
): TaskEither<StorageError, A> =>
  ofRun<StorageError, A>(runId, () => {
    const holding = holdings.get(lost)
    return holding === undefined ? Promise.resolve(E.left({ _tag: 'Fenced', runId, epoch, by: O.none })) : act(holding)
  })

/** Checks both ids, then acts. */
export const ofArtifact =
  <Left, A>(
    runId: string,
    id: string,
    act: () => Promise<E.Either<Left, A>>
  ): TaskEither<Left | InvalidRunId | InvalidArtifactId, A> =>
  () => {
    const valid = ArtifactId.parse(id)
    return E.isLeft(valid) ? Promise.resolve(valid) : ofRun(runId, act)()
  }
