/** Copies the artifacts of a run to another run or store, and verifies the copies. */
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import type { Checkpoint } from '../../domain/checkpoint/Checkpoint.js'
import type { ArtifactError, ArtifactInfo } from '../../ports/ArtifactStore.js'
import type { Environment } from '../../ports/Environment.js'
import { ARTIFACTS, callPort, readFailed, writeFailed } from '../callPort.js'
import type { ArtifactsNotCopied } from '../errors/RunError.js'
import { describeArtifact } from '../errors/portErrors.js'

/** The artifacts of a run: the store that holds them (none: `undefined`) and the id of the run. */
export interface RunArtifacts extends Pick<Environment, 'artifacts'> {
  readonly runId: string
}

/** Returns the ids of the artifacts that the records of a run name. */
export const namedArtifacts = ({ completedSteps }: Checkpoint): ReadonlySet<string> =>
  new Set(
    [...completedSteps].flatMap(({ evidence }) => evidence.flatMap((one) => (one._tag === 'Stored' ? [one.id] : [])))
  )

/** Copies artifacts to another run or store, before a record there names them. */
export const copyArtifacts = async (ids: Iterable<string>, from: RunArtifacts, to: RunArtifacts): Copied<void> => {
  for (const id of ids) {
    const read = await get('source', id, from)
    if (E.isLeft(read)) return read
    const written = await put(id, read.right, to)
    if (E.isLeft(written)) return written
  }
  return E.right(undefined)
}

/** Lists all artifacts of a run. */
export const allArtifacts = async (
  store: Side,
  { artifacts, runId }: RunArtifacts
): Copied<ReadonlyArray<ArtifactInfo>> => {
  if (artifacts === undefined) return E.right([])
  return E.mapLeft(failedIn(store, runId))(await callPort('list', () => artifacts.list(runId), readFailed(ARTIFACTS)))
}

/** Deletes all artifacts of a run, if there is a store. */
export const clearArtifacts = async ({ artifacts, runId }: RunArtifacts): Copied<void> => {
  if (artifacts === undefined) return E.right(undefined)
  return E.mapLeft(failedIn('target', runId))(
    await callPort('clear', () => artifacts.clear(runId), writeFailed(ARTIFACTS))
  )
}

/** Reads copies back, and compares them with the originals. */
export const verifyArtifacts = async (originals: ReadonlyArray<ArtifactInfo>, copies: RunArtifacts): Copied<void> => {
  const listed = await allArtifacts('target', copies)
  if (E.isLeft(listed)) return listed
  const digests = new Map(listed.right.map(({ id, sha256 }) => [id, sha256]))
  for (const { id, sha256 } of originals) {
    // The store compares the content with the digest that it lists.
    const read = await get('target', id, copies)
    if (E.isLeft(read)) return read
    if (digests.get(id) !== sha256)
      return notCopied('target', copies.runId, 'Corrupt', `the copy of ${id} differs from what was put`)
  }
  return E.right(undefined)
}

type Copied<A> = Promise<E.Either<ArtifactsNotCopied, A>>

type Side = ArtifactsNotCopied['store']

const notCopied = (
  store: Side,
  runId: string,
  code: ArtifactsNotCopied['code'],
  why: string
): E.Either<ArtifactsNotCopied, never> => E.left({ _tag: 'ArtifactsNotCopied', runId, store, code, why })

const failedIn =
  (store: Side, runId: string) =>
  (cause: ArtifactError): ArtifactsNotCopied => ({
    _tag: 'ArtifactsNotCopied',
    runId,
    store,
    code: cause._tag,
    why: describeArtifact(cause),
    cause
  })

const NO_STORE = 'the environment has no `artifacts`'

const get = async (store: Side, id: string, { artifacts, runId }: RunArtifacts): Copied<Uint8Array> => {
  if (artifacts === undefined) return notCopied(store, runId, 'NO_STORE', NO_STORE)
  const read = await callPort('get', () => artifacts.get(runId, id), readFailed(ARTIFACTS))
  if (E.isLeft(read)) return E.left(failedIn(store, runId)(read.left))
  return O.isNone(read.right) ? notCopied(store, runId, 'MISSING', `${id} is missing`) : E.right(read.right.value)
}

const put = async (id: string, data: Uint8Array, { artifacts, runId }: RunArtifacts): Copied<ArtifactInfo> => {
  if (artifacts === undefined) return notCopied('target', runId, 'NO_STORE', NO_STORE)
  return E.mapLeft(failedIn('target', runId))(
    await callPort('put', () => artifacts.put(runId, id, data), writeFailed(ARTIFACTS))
  )
}
