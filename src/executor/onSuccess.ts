/**
 * What becomes of the state of a run that has completed.
 *
 * @since 0.1.0
 */
import * as E from 'fp-ts/lib/Either.js'
import type { Checkpoint } from '../domain/Checkpoint.js'
import { status } from '../domain/Checkpoint.js'
import { encode } from '../domain/CheckpointCodec.js'
import * as StepError from '../domain/StepError.js'
import { isOwn } from '../domain/Workspace.js'
import type { ArtifactError, ArtifactStore } from '../ports/ArtifactStore.js'
import type { StorageError } from '../ports/CheckpointStorage.js'
import type { Environment } from '../ports/Environment.js'
import { answering } from './stored.js'
import type { Executor } from './Executor.js'
import type { Program } from './Program.js'
import { describeArtifact, describeStorage } from './RunError.js'
import { report } from './RunScope.js'

/**
 * Does what the program says of its runs that have completed, once that is durable and the run is given back. If that fails, or
 * the process dies before, the run is still there, completed, and the next resume of it tries again.
 *
 * @category combinators
 * @since 0.1.0
 */
export const disposing =
  <Outputs, Input, A extends { readonly checkpoint: Checkpoint } | { readonly _tag: 'Fenced' }>(
    { onSuccess = 'keep' }: Program<Outputs, Input>,
    runId: string,
    execute: Executor<A>
  ): Executor<A> =>
  (environment) =>
  async () => {
    if (onSuccess === 'keep') return await execute(environment)()
    if (onSuccess === 'archive' && environment.archive === undefined) return E.left({ _tag: 'NoArchive', runId })
    const ended = await execute(environment)()
    if (E.isLeft(ended) || !('checkpoint' in ended.right)) return ended
    const { checkpoint } = ended.right
    if (status(checkpoint, false) === 'completed') await dispose(environment, checkpoint, onSuccess)
    return ended
  }

/** First it is in the archive, then its state goes: in between it is in both. */
const dispose = async (environment: Environment, checkpoint: Checkpoint, how: 'archive' | 'delete'): Promise<void> => {
  const { runId } = checkpoint
  const kept = await keptBy(environment, checkpoint)
  if (kept !== undefined) return report(environment, { _tag: 'RunLeft', runId, why: kept })
  const archived = how === 'archive' ? await keep(environment, checkpoint) : E.right(undefined)
  const gone = E.isLeft(archived) ? archived : E.mapLeft(describeLeft)(await removeRun(environment, runId))
  if (E.isLeft(gone)) return report(environment, { _tag: 'RunLeft', runId, why: gone.left })
  const where = E.isRight(archived) && archived.right !== undefined ? { archivedAt: archived.right } : {}
  report(environment, { _tag: 'RunRemoved', runId, ...where })
}

const keep = async (
  { archive }: Environment,
  checkpoint: Checkpoint
): Promise<E.Either<string, string | undefined>> => {
  const { runId, createdAt } = checkpoint
  try {
    const kept = await archive?.keep({ runId, createdAt, checkpoint: encode(checkpoint) })()
    return kept === undefined ? E.right(undefined) : E.mapLeft(describeStorage)(kept)
  } catch (cause) {
    return E.left(StepError.fromUnknown(cause).message)
  }
}

/**
 * Why a run is not removed yet: it has a workspace of its own, where work may be that is wanted. Without its state nobody could
 * merge that, or clean it.
 *
 * @category looking
 * @since 0.1.0
 */
export const keptBy = async (
  { workspaces }: Environment,
  { runId, workspace }: Pick<Checkpoint, 'runId' | 'workspace'>
): Promise<string | undefined> => {
  if (!isOwn(workspace) || workspaces === undefined) return undefined
  const found = await workspaces.find(runId, workspace)()
  if (E.isRight(found) && !found.right.there) return undefined
  return `its workspace is still there: ${workspace.path}. Merge it, or clean it`
}

/**
 * Removes a run, and what of its artifacts is not removed with it.
 *
 * @category effects
 * @since 0.1.0
 */
export const removeRun = async (
  { storage, artifacts }: Environment,
  runId: string
): Promise<E.Either<StorageError | ArtifactError, void>> => {
  const removed: E.Either<StorageError, void> = await answering('remove', () => storage.remove(runId))
  return E.isLeft(removed) || artifacts === undefined ? removed : await removeArtifacts(artifacts, runId)
}

/** A store of artifacts that is a part of the store of checkpoints has none left. */
const removeArtifacts = async (artifacts: ArtifactStore, runId: string): Promise<E.Either<ArtifactError, void>> => {
  const left = await artifacts.list(runId)()
  if (E.isLeft(left)) return left
  for (const { id } of left.right) {
    const gone = await artifacts.remove(runId, id)()
    if (E.isLeft(gone)) return gone
  }
  return E.right(undefined)
}

/**
 * Why a run can't be removed, as a text.
 *
 * @category destructors
 * @since 0.1.0
 */
export const describeLeft = (error: StorageError | ArtifactError): string =>
  error._tag === 'InvalidArtifactId' ? describeArtifact(error) : describeStorage(error)
