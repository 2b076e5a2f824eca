/** Copies the artifacts that the records of a run name. */
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import type { Checkpoint } from '../../domain/checkpoint/Checkpoint.js'
import type { ArtifactError } from '../../ports/ArtifactStore.js'
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

/** Lists the ids of all artifacts of a run. */
export const allArtifacts = async ({
  artifacts,
  runId
}: Shelf): Promise<E.Either<TreeUnreadable, ReadonlyArray<string>>> => {
  if (artifacts === undefined) return E.right([])
  const listed = await callPort('list', () => artifacts.list(runId), readFailed(ARTIFACTS))
  return E.isLeft(listed)
    ? E.left(unreadable(runId, failedWith(listed.left)))
    : E.right(listed.right.map(({ id }) => id))
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

const copy = async (id: string, from: Shelf, to: Shelf): Promise<E.Either<Failed, void>> => {
  const [source, target] = [from.artifacts, to.artifacts]
  if (source === undefined || target === undefined) return NO_STORE
  const read = await callPort('get', () => source.get(from.runId, id), readFailed(ARTIFACTS))
  if (E.isLeft(read)) return E.left(failedWith(read.left))
  const { right } = read
  if (O.isNone(right)) return E.left({ code: 'MISSING', why: `${id} is missing`, cause: undefined })
  const written = await callPort('put', () => target.put(to.runId, id, right.value), writeFailed(ARTIFACTS))
  return E.isLeft(written) ? E.left(failedWith(written.left)) : E.right(undefined)
}

const ARTIFACTS = 'the artifacts'

const failedWith = (error: ArtifactError): Failed => ({
  code: error._tag,
  why: describeArtifact(error),
  cause: error
})
