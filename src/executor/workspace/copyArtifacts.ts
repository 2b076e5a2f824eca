/** Copies the artifacts that the records of a run name. */
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import type { Checkpoint } from '../../domain/checkpoint/Checkpoint.js'
import type { ArtifactError, ArtifactStore } from '../../ports/ArtifactStore.js'
import type { Environment } from '../../ports/Environment.js'
import type { TreeUnreadable } from '../../ports/WorkingTree.js'
import { callPort, readFailed, writeFailed } from '../callPort.js'
import { describeArtifact } from '../storage/portErrors.js'

/** Copies to another run, before the record of that run names them. */
export const copyArtifacts = async (
  { artifacts }: Environment,
  { completedSteps }: Checkpoint,
  runs: { readonly from: string; readonly to: string }
): Promise<E.Either<TreeUnreadable, void>> => {
  const ids = new Set(
    [...completedSteps].flatMap(({ evidence }) => evidence.flatMap((one) => (one._tag === 'Stored' ? [one.id] : [])))
  )
  for (const id of ids) {
    const copied = artifacts === undefined ? NO_STORE : await copy(artifacts, id, runs)
    if (E.isLeft(copied)) return E.left(unreadable(runs.from, copied.left))
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

const copy = async (
  artifacts: ArtifactStore,
  id: string,
  { from, to }: { readonly from: string; readonly to: string }
): Promise<E.Either<Failed, void>> => {
  const read = await callPort('get', () => artifacts.get(from, id), readFailed(ARTIFACTS))
  if (E.isLeft(read)) return E.left(failedWith(read.left))
  const { right } = read
  if (O.isNone(right)) return E.left({ code: 'MISSING', why: `${id} is missing`, cause: undefined })
  const written = await callPort('put', () => artifacts.put(to, id, right.value), writeFailed(ARTIFACTS))
  return E.isLeft(written) ? E.left(failedWith(written.left)) : E.right(undefined)
}

const ARTIFACTS = 'the artifacts'

const failedWith = (error: ArtifactError): Failed => ({
  code: error._tag,
  why: describeArtifact(error),
  cause: error
})
