/** Moves a run to another store. At no time can two copies be resumed, and a repeated move finishes an interrupted one. */
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import type { Moved } from '../domain/change/Change.js'
import { apply } from '../domain/change/Transition.js'
import type { Checkpoint } from '../domain/checkpoint/Checkpoint.js'
import { make } from '../domain/checkpoint/Checkpoint.js'
import { encode } from '../domain/checkpoint/CheckpointCodec.js'
import { equals } from '../domain/data/Json.js'
import { callPort, INBOX, load, STORE, writeFailed } from '../executor/callPort.js'
import type { Executor } from '../executor/ExecutorCall.js'
import { requestsFor } from '../executor/requests/inbox.js'
import { handleLateRequests, removePointer } from '../executor/requests/recordRequests.js'
import type { RunError } from '../executor/errors/RunError.js'
import { timestamp } from '../executor/RunScope.js'
import { revisionOf } from '../executor/storage/Recorder.js'
import { recoveryRefused, restoreStored, runMoved, withClaim } from '../executor/storage/stored.js'
import { removeChecked } from '../executor/workspace/onSuccess.js'
import type { RunArtifacts } from '../executor/workspace/copyArtifacts.js'
import { allArtifacts, clearArtifacts, copyArtifacts, verifyArtifacts } from '../executor/workspace/copyArtifacts.js'
import type { Claim, Stored } from '../ports/CheckpointStorage.js'
import type { Environment } from '../ports/Environment.js'

/** `from`, `to`: the locations of both stores, without passwords. `target`: the environment with the store `to`. */
export interface Moving {
  readonly from: string
  readonly to: string
  readonly target: Environment
}

/**
 * Moves a run. A crash leaves at most one copy that can be resumed: the copy in the target is saved with a mark that refuses a resume; then one
 * save marks the source as moved; then the copy loses its mark; at last the source is removed. Fails with `RunExists` if the target has another
 * run with the id, with `RunMoved` if only the target has the run, and with `RunChanged` if, after the move, the source has another run with
 * the id, which stays.
 */
export const move =
  (runId: string, moving: Moving): Executor<void> =>
  (environment) =>
  async () => {
    // Read before the claim, so that a target which cannot be reached leaves the source as it is.
    const reached = await load(moving.target, runId)
    if (E.isLeft(reached)) return reached
    const moved = await withClaim(
      environment,
      runId,
      async (claim, stored): Promise<E.Either<RunError, Checkpoint>> => {
        if (O.isNone(stored)) return movedBefore(reached.right, runId, moving)
        const source = sourceOf(stored.value, runId, moving)
        if (E.isLeft(source)) return source
        const prepared = await prepareTarget(source.right, moving)
        if (E.isLeft(prepared)) return prepared
        if (prepared.right === 'moved') return source
        return await withClaim(moving.target, runId, (targetClaim, inTarget) =>
          moveClaimed({ environment, moving, source: source.right, claim, targetClaim }, inTarget)
        )
      }
    )
    // Requests may have arrived after the inboxes were read for the last time.
    await handleLateRequests(environment, runId)
    await handleLateRequests(moving.target, runId)
    if (E.isLeft(moved)) return moved
    await removePointer(environment, runId)
    return await removeChecked(environment, moved.right)
  }

/** Returns why a run that the source does not have cannot move: an earlier move has finished, if the target has the run. */
const movedBefore = (inTarget: O.Option<Stored>, runId: string, { to }: Moving): E.Either<RunError, never> =>
  E.left(O.isNone(inTarget) ? { _tag: 'NoSuchRun', runId } : runMoved(runId, { way: 'to', store: to }))

const sourceOf = (stored: Stored, runId: string, { to }: Moving): E.Either<RunError, Checkpoint> => {
  const restored = restoreStored(stored, runId)
  if (E.isLeft(restored)) return restored
  const { found } = stored
  if (found._tag === 'Recovered') return recoveryRefused(runId, found)
  const { moved } = restored.right
  return moved === undefined || (moved.way === 'to' && moved.store === to) ? restored : E.left(runMoved(runId, moved))
}

/**
 * Returns `moved` if an earlier move has done everything but remove the source. Removes the copy of an interrupted move whose source is not marked
 * as moved: the source may have changed since. If the source is marked and the copy is missing, the copy was removed after it arrived, and may
 * have been resumed.
 */
const prepareTarget = async (
  source: Checkpoint,
  { to, target }: Moving
): Promise<E.Either<RunError, 'ready' | 'moved'>> => {
  const { runId } = source
  const inTarget = await load(target, runId)
  if (E.isLeft(inTarget)) return inTarget
  if (O.isNone(inTarget.right))
    return source.moved === undefined
      ? E.right('ready')
      : E.left({ _tag: 'Corrupt', runId, where: to, why: 'the run was moved there, and is missing' })
  const restored = restoreStored(inTarget.right.value, runId)
  if (E.isLeft(restored)) return restored
  const isSame = isSameRun(source, restored.right)
  const isMarked = isMarkedCopy(source, restored.right)
  if (source.moved !== undefined && isSame) return E.right(isMarked ? 'ready' : 'moved')
  if (!isMarked) return E.left({ _tag: 'RunExists', runId })
  const removed = await removeChecked(target, restored.right)
  if (E.isRight(removed)) return E.right('ready')
  return E.left(removed.left._tag === 'RunChanged' ? { _tag: 'RunExists', runId } : removed.left)
}

/** Compares no names of stores: this store may have been renamed, and another host may have a store of the same name. */
const isSameRun = (source: Checkpoint, inTarget: Checkpoint): boolean => inTarget.createdAt === source.createdAt

/** The mark of a copy is the change `Moved` with `way: 'from'`. */
const isMarkedCopy = (source: Checkpoint, inTarget: Checkpoint): boolean =>
  isSameRun(source, inTarget) && inTarget.moved?.way === 'from'

/** Restores the marked copy in the target. Another run with the id may have started there since `prepareTarget`. */
const copyOf = (source: Checkpoint, stored: Stored): E.Either<RunError, Checkpoint> => {
  const { runId } = source
  const restored = restoreStored(stored, runId)
  if (E.isLeft(restored)) return restored
  return isMarkedCopy(source, restored.right) ? restored : E.left({ _tag: 'RunExists', runId })
}

interface ClaimedMove {
  readonly environment: Environment
  readonly moving: Moving
  readonly source: Checkpoint
  readonly claim: Claim
  readonly targetClaim: Claim
}

const moveClaimed = async (
  { environment, moving, source, claim, targetClaim }: ClaimedMove,
  inTarget: O.Option<Stored>
): Promise<E.Either<RunError, Checkpoint>> => {
  const { from, to, target } = moving
  const copy = O.isSome(inTarget)
    ? copyOf(source, inTarget.value)
    : await copyTo(environment, moving, source, targetClaim)
  if (E.isLeft(copy)) return copy
  const markedSource =
    source.moved === undefined ? await record(environment, claim, source, { way: 'to', store: to }) : E.right(source)
  if (E.isLeft(markedSource)) return markedSource
  const requests = await copyRequests(environment, target, source.runId)
  if (E.isLeft(requests)) return requests
  const arrived = await record(target, targetClaim, copy.right, { way: 'here', store: from })
  return E.isLeft(arrived) ? arrived : markedSource
}

/** Saves the copy, and compares what the target then returns. A copy that is certainly not stored leaves no artifacts. */
const copyTo = async (
  environment: Environment,
  { from, target }: Moving,
  source: Checkpoint,
  targetClaim: Claim
): Promise<E.Either<RunError, Checkpoint>> => {
  const { runId } = source
  const copies = { ...target, runId }
  const cleared = await clearArtifacts(copies)
  if (E.isLeft(cleared)) return cleared
  const change: Moved = { _tag: 'Moved', at: now(environment), way: 'from', store: from }
  const copy = make({ ...source, revision: 0, moved: { way: 'from', store: from }, updatedAt: change.at })
  const copied = await copyArtifactsOf({ ...environment, runId }, copies)
  const saved = E.isLeft(copied)
    ? copied
    : await callPort('save', () => target.storage.save(targetClaim, [revisionOf(copy, change)]), writeFailed(STORE))
  if (E.isRight(saved)) return verifyCopy(target, copy)
  if (isUnstored(saved.left)) await clearArtifacts(copies)
  return saved
}

const isUnstored = (error: RunError): boolean =>
  error._tag === 'ArtifactsNotCopied' ||
  error._tag === 'TooLarge' ||
  (error._tag === 'WriteFailed' && error.committed === 'no')

const copyArtifactsOf = async (from: RunArtifacts, to: RunArtifacts): Promise<E.Either<RunError, void>> => {
  const all = await allArtifacts('source', from)
  if (E.isLeft(all)) return all
  const ids = all.right.map(({ id }) => id)
  const copied = await copyArtifacts(ids, from, to)
  return E.isLeft(copied) ? copied : await verifyArtifacts(all.right, to)
}

const verifyCopy = async (target: Environment, copy: Checkpoint): Promise<E.Either<RunError, Checkpoint>> => {
  const { runId } = copy
  const read = await load(target, runId)
  if (E.isLeft(read)) return read
  const restored = O.isSome(read.right) ? restoreStored(read.right.value, runId) : undefined
  return restored !== undefined && E.isRight(restored) && equals(encode(restored.right), encode(copy))
    ? restored
    : E.left({ _tag: 'Corrupt', runId, where: 'the copy', why: 'it differs from what was saved' })
}

/** Copies all requests. A pause addressed to this process is recorded when the process releases the copy; later owners ignore that pause. */
const copyRequests = async (
  environment: Environment,
  { requests }: Environment,
  runId: string
): Promise<E.Either<RunError, void>> => {
  const all = await requestsFor(environment, runId)
  if (E.isLeft(all)) return all
  for (const request of all.right) {
    if (requests === undefined) continue
    const left = await callPort('leave', () => requests.leave(request), writeFailed(INBOX))
    if (E.isLeft(left) && left.left._tag !== 'AlreadyAnswered') return left
  }
  return E.right(undefined)
}

/** Records a change `Moved`, and returns the new checkpoint. */
const record = async (
  environment: Environment,
  claim: Claim,
  checkpoint: Checkpoint,
  fact: Pick<Moved, 'way' | 'store'>
): Promise<E.Either<RunError, Checkpoint>> => {
  const change: Moved = { _tag: 'Moved', at: now(environment), ...fact }
  const next = apply(checkpoint, change)
  if (E.isLeft(next)) return next
  const { storage } = environment
  const saved = await callPort('save', () => storage.save(claim, [revisionOf(next.right, change)]), writeFailed(STORE))
  return E.isLeft(saved) ? saved : next
}

const now = ({ clock }: Environment): string => timestamp(clock.now())
