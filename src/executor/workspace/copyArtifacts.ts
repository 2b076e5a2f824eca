/** Copies the artifacts that the records of a run name. */
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import type { Checkpoint } from '../../domain/checkpoint/Checkpoint.js'
import type { ArtifactError, ArtifactInfo } from '../../ports/ArtifactStore.js'
import type { Environment } from '../../ports/Environment.js'
import type { TreeUnreadable } from '../../ports/WorkingTree.js'
import { callPort, readFailed, writeFailed } from '../callPort.js'
import { describeArtifact } from '../storage/portErrors.js'

/** A run in a store of artifacts. */
export interface Shelf extends Pick<Environment, 'artifacts'> {
  readonly runId: string
}

/** The artifacts that records name. */
export const namedArtifacts = ({ completedSteps }: Checkpoint): ReadonlySet<string> =>
  new Set(
    [...completedSteps].flatMap(({ evidence }) => evidence.flatMap((one) => (one._tag === 'Stored' ? [one.id] : [])))
  )

/** Copies to another run or store, before a record there names them. */
export const copyArtifacts = async (
  ids: Iterable<string>,
  from: Shelf,
  to: Shelf
): Promise<E.Either<TreeUnreadable, void>> => {
  for (const id of ids) {
    const copied = await copy(id, from, to)
    if (E.isLeft(copied)) return E.left(unreadable(from.runId, copied.left))
  }
  return E.right(undefined)
}

/** Lists all artifacts of a run. */
export const allArtifacts = async ({
  artifacts,
  runId
}: Shelf): Promise<E.Either<TreeUnreadable, ReadonlyArray<ArtifactInfo>>> => {
  if (artifacts === undefined) return E.right([])
  const listed = await callPort('list', () => artifacts.list(runId), readFailed(ARTIFACTS))
  return E.isLeft(listed) ? E.left(unreadable(runId, failedWith(listed.left))) : listed
}

/** Deletes what an earlier copy left, unless there is no store. */
export const clearArtifacts = async ({ artifacts, runId }: Shelf): Promise<E.Either<TreeUnreadable, void>> => {
  if (artifacts === undefined) return E.right(undefined)
  const cleared = await callPort('clear', () => artifacts.clear(runId), writeFailed(ARTIFACTS))
  return E.isLeft(cleared) ? E.left(unreadable(runId, failedWith(cleared.left))) : cleared
}

/** Reads copies back, and compares them with the originals. */
export const verifyArtifacts = async (
  originals: ReadonlyArray<ArtifactInfo>,
  copies: Shelf
): Promise<E.Either<TreeUnreadable, void>> => {
  const listed = await allArtifacts(copies)
  if (E.isLeft(listed)) return listed
  const digests = new Map(listed.right.map(({ id, sha256 }) => [id, sha256]))
  for (const { id, sha256 } of originals) {
    // The store compares the content with the digest that it lists.
    const read = await get(id, copies)
    if (E.isLeft(read)) return E.left(unreadable(copies.runId, read.left))
    if (digests.get(id) !== sha256) {
      const why = `the copy of ${id} differs from what was put`
      return E.left(unreadable(copies.runId, { code: 'Corrupt', why, cause: undefined }))
    }
  }
  return E.right(undefined)
}

type Failed = Pick<TreeUnreadable, 'code' | 'why' | 'cause'>

const NO_STORE: E.Either<Failed, never> = E.left({
  code: 'NO_STORE',
  why: 'the run has no store for artifacts',
  cause: undefined
})

const unreadable = (runId: string, failed: Failed): TreeUnreadable => ({
  _tag: 'TreeUnreadable',
  where: `the artifacts of run ${runId}`,
  ...failed
})

const get = async (id: string, { artifacts, runId }: Shelf): Promise<E.Either<Failed, Uint8Array>> => {
  if (artifacts === undefined) return NO_STORE
  const read = await callPort('get', () => artifacts.get(runId, id), readFailed(ARTIFACTS))
  if (E.isLeft(read)) return E.left(failedWith(read.left))
  return O.isNone(read.right)
    ? E.left({ code: 'MISSING', why: `${id} is missing`, cause: undefined })
    : E.right(read.right.value)
}

const copy = async (id: string, from: Shelf, { artifacts, runId }: Shelf): Promise<E.Either<Failed, void>> => {
  if (artifacts === undefined) return NO_STORE
  const read = await get(id, from)
  if (E.isLeft(read)) return read
  const written = await callPort('put', () => artifacts.put(runId, id, read.right), writeFailed(ARTIFACTS))
  return E.isLeft(written) ? E.left(failedWith(written.left)) : E.right(undefined)
}

const ARTIFACTS = 'the artifacts'

const failedWith = (error: ArtifactError): Failed => ({
  code: error._tag,
  why: describeArtifact(error),
  cause: error
})
