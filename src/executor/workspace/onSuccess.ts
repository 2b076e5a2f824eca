/** Archives or deletes a completed run, and removes runs with their artifacts and folders. */
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import type { Checkpoint } from '../../domain/checkpoint/Checkpoint.js'
import { status } from '../../domain/checkpoint/Checkpoint.js'
import { encode } from '../../domain/checkpoint/CheckpointCodec.js'
import type { OnSuccess } from '../../domain/checkpoint/Retention.js'
import { readable } from '../../domain/data/Options.js'
import { isOwn } from '../../domain/workflow/Workspace.js'
import type { ArtifactError } from '../../ports/ArtifactStore.js'
import type { StorageError } from '../../ports/CheckpointStorage.js'
import type { Environment } from '../../ports/Environment.js'
import { ARTIFACTS, callPort, load, readFailed, STORE, writeFailed } from '../callPort.js'
import type { Executor } from '../ExecutorCall.js'
import { inEnvironment } from '../arguments.js'
import type { Program } from '../program/Program.js'
import { describeArtifact, describeStorage, describeWorkspace } from '../errors/portErrors.js'
import { report } from '../RunScope.js'
import type { RunSummary } from '../storage/runs.js'
import { callWorkspaces } from './workspace.js'

/** Applies the program's `onSuccess` once the completion is durable and the run is released. If that fails, the next resume of the run retries it. */
export const applyOnSuccess = <
  Outputs,
  Input,
  A extends { readonly checkpoint: Checkpoint } | { readonly _tag: 'Fenced' }
>(
  program: Program<Outputs, Input, unknown, unknown>,
  runId: string,
  execute: Executor<A>
): Executor<A> =>
  inEnvironment((environment) => async () => {
    const { onSuccess = 'keep' } = readable(program)
    if (onSuccess === 'keep') return await execute(environment)()
    if (onSuccess === 'archive' && environment.archive === undefined) return E.left({ _tag: 'NoArchive', runId })
    const ended = await execute(environment)()
    if (E.isLeft(ended) || !('checkpoint' in ended.right)) return ended
    await disposeOfRun(onSuccess, ended.right.checkpoint)(environment)()
    return ended
  })

/** Archives and then removes a completed run, or only removes it. Reports how that ended. */
export const disposeOfRun =
  (how: OnSuccess, checkpoint: Checkpoint): Executor<void> =>
  (environment) =>
  async () => {
    if (how === 'keep' || status(checkpoint, false) !== 'completed') return E.right(undefined)
    const { runId } = checkpoint
    const kept = await whyKept(environment, checkpoint)
    const archived = kept === undefined ? await archive(how, environment, checkpoint) : E.left(kept.why)
    const why = E.isLeft(archived) ? archived.left : (await removeRun(environment, checkpoint, checkpoint))?.why
    if (why !== undefined) report(environment, { _tag: 'RunNotRemoved', runId, why })
    else {
      const where = E.isRight(archived) && archived.right !== undefined ? { archivedAt: archived.right } : {}
      report(environment, { _tag: 'RunRemoved', runId, ...where })
    }
    return E.right(undefined)
  }

/** Returns where the run was archived. */
const archive = async (
  how: OnSuccess,
  { archive }: Environment,
  checkpoint: Checkpoint
): Promise<E.Either<string, string | undefined>> => {
  if (how !== 'archive' || archive === undefined) return E.right(undefined)
  const { runId, createdAt } = checkpoint
  const run = { runId, createdAt, checkpoint: encode(checkpoint) }
  return E.mapLeft(describeStorage)(await callPort('keep', () => archive.keep(run), writeFailed('the archive')))
}

/** Why a run, or a part of it, was not removed. */
export interface NotRemoved {
  readonly reason: 'resumed' | 'hasWorkspace' | 'damaged' | 'failed'
  readonly why: string
}

/** The run was not claimed: another process may have resumed it, or started a new run under its id. */
export const RESUMED: NotRemoved = { reason: 'resumed', why: 'another process resumed it meanwhile' }

/** Describes a failed removal. */
export const notRemoved = (error: StorageError): NotRemoved =>
  error._tag === 'HeldBy' || error._tag === 'RunChanged' ? RESUMED : { reason: 'failed', why: describeStorage(error) }

/** Returns why a run is not removed, if its own workspace may exist: without its state, that could be neither merged nor cleaned. */
export const whyKept = async (
  { workspaces }: Environment,
  { runId, workspace }: Pick<Checkpoint, 'runId' | 'workspace'>
): Promise<NotRemoved | undefined> => {
  if (!isOwn(workspace)) return undefined
  if (workspaces === undefined) return { reason: 'failed', why: NO_WORKSPACES }
  const found = await callWorkspaces('find', () => workspaces.find(runId, workspace))
  if (E.isLeft(found))
    return { reason: 'failed', why: `its workspace cannot be read: ${describeWorkspace(found.left)}` }
  if (!found.right.there) return undefined
  const remedy = workspace.kind === 'worktree' ? 'Merge it, or clean it' : 'Clean it'
  return { reason: 'hasWorkspace', why: `its workspace is still there: ${workspace.path}. ${remedy}` }
}

const NO_WORKSPACES =
  'the environment has no `workspaces`, so its workspace may still be there; set them, as in { workspaces: workspaces(folder) }'

/** What a caller checked of a run before it removes it. */
type Checked = Pick<RunSummary, 'runId' | 'revision' | 'updatedAt'>

/** Removes the run only as it was checked: another process may have resumed and released it since. */
export const removeChecked = (
  { storage }: Pick<Environment, 'storage'>,
  { runId, revision, updatedAt }: Checked
): Promise<E.Either<StorageError, void>> =>
  callPort('remove', () => storage.remove(runId, { newest: { revision, at: updatedAt } }), writeFailed(STORE))

/** Removes a run, then its folders and artifacts. Without its checkpoint, the folders stay: they may be a workspace of its own. */
export const removeRun = async (
  environment: Environment,
  checked: Checked,
  checkpoint: Checkpoint | undefined
): Promise<NotRemoved | undefined> => {
  const removed = await removeChecked(environment, checked)
  if (E.isLeft(removed)) return notRemoved(removed.left)
  if (checkpoint !== undefined) await removeFolders(environment, checkpoint)
  const { runId } = checked
  const rest = await removeArtifacts(environment, runId)
  if (E.isRight(rest)) return undefined
  return {
    reason: 'failed',
    why: `the run is removed, but its artifacts are left under its id: ${describeError(rest.left)}`
  }
}

/** Returns whether no run with the id exists. */
const isFree = async (environment: Environment, runId: string): Promise<E.Either<StorageError, boolean>> => {
  const found = await load(environment, runId)
  return E.isLeft(found) ? found : E.right(O.isNone(found.right))
}

/** Deletes the folders of the steps of a removed run, unless a new run with the id exists. Errors are ignored. */
const removeFolders = async (environment: Environment, { runId, workspace }: Checkpoint): Promise<void> => {
  const { workspaces } = environment
  if (workspaces === undefined || isOwn(workspace)) return
  const free = await isFree(environment, runId)
  if (E.isRight(free) && free.right) await callWorkspaces('remove', () => workspaces.remove(runId, undefined))
}

/** Removes the artifacts that are left of a run, unless a run with the id exists. Where checkpoints and artifacts share a store, none is left. */
export const removeArtifacts = async (
  environment: Environment,
  runId: string
): Promise<E.Either<StorageError | ArtifactError, void>> => {
  const { artifacts } = environment
  if (artifacts === undefined) return E.right(undefined)
  const left = await callPort('list', () => artifacts.list(runId), readFailed(ARTIFACTS))
  if (E.isLeft(left) || left.right.length === 0) return E.map(() => undefined)(left)
  const free = await isFree(environment, runId)
  if (E.isLeft(free) || !free.right) return E.map(() => undefined)(free)
  for (const { id } of left.right) {
    const removed = await callPort('remove', () => artifacts.remove(runId, id), writeFailed(ARTIFACTS))
    if (E.isLeft(removed)) return removed
  }
  return E.right(undefined)
}

const describeError = (error: StorageError | ArtifactError): string =>
  error._tag === 'InvalidArtifactId' ? describeArtifact(error) : describeStorage(error)
