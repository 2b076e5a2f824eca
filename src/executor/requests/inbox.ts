/** The inbox of a run: leaves requests for its owner, or acts in its place. */
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import type { Checkpoint } from '../../domain/checkpoint/Checkpoint.js'
import type { Request } from '../../domain/request/Request.js'
import { isFor } from '../../domain/request/Request.js'
import type { Claim, Holder, StorageError } from '../../ports/CheckpointStorage.js'
import type { Environment } from '../../ports/Environment.js'
import { callPort, INBOX, load, readFailed, writeFailed } from '../callPort.js'
import type { RunError } from '../errors/RunError.js'
import { report } from '../RunScope.js'
import type { SecuredEnvironment } from '../secrets.js'
import type { Recorder } from '../storage/Recorder.js'
import { make } from '../storage/Recorder.js'
import { restoreUnmoved } from '../storage/stored.js'

/** Returns whether a run may have requests. A port that throws has none. */
export const mayHaveRequests = ({ requests }: Environment, runId: string): boolean => {
  try {
    return requests?.isAny(runId) === true
  } catch {
    return false
  }
}

export const requestsFor = async (
  environment: Environment,
  runId: string
): Promise<E.Either<StorageError, ReadonlyArray<Request>>> => {
  const { requests } = environment
  return requests === undefined || !mayHaveRequests(environment, runId)
    ? E.right([])
    : await callPort('list', () => requests.list(runId), readFailed(INBOX))
}

export const withdraw = async ({ requests }: Environment, request: Request): Promise<E.Either<StorageError, void>> =>
  requests === undefined
    ? E.right(undefined)
    : await callPort('withdraw', () => requests.withdraw(request), writeFailed(INBOX))

/** Makes a recorder for requests. It reports saves, but no events of units. */
export const recorderFor = (
  environment: Environment & Partial<Pick<SecuredEnvironment, 'vault'>>,
  claim: Claim,
  checkpoint: Checkpoint
): Recorder => {
  const { runId } = checkpoint
  const onSaved = ({ revision, state }: Checkpoint): void =>
    report(environment, { _tag: 'CheckpointSaved', runId, revision, state })
  return make(environment.storage, claim, checkpoint, [], onSaved, environment.vault?.redaction)
}

export interface ReadRun {
  readonly checkpoint: Checkpoint
  readonly holder: O.Option<Holder>
}

export const readRun = async (environment: Environment, runId: string): Promise<E.Either<RunError, ReadRun>> => {
  const stored = await load(environment, runId)
  if (E.isLeft(stored)) return stored
  if (O.isNone(stored.right)) return E.left({ _tag: 'NoSuchRun', runId })
  const { heldBy: holder } = stored.right.value
  return E.map((checkpoint: Checkpoint) => ({ checkpoint, holder }))(restoreUnmoved(stored.right.value, runId))
}

/** How a request is delivered: its owner finds it, or the caller acts in place of an owner. */
interface Delivery<R extends Request, A> {
  readonly requestTo: (holder: Holder) => R
  /** Returns whether the state of a run takes the request no more. */
  readonly isOver: (checkpoint: Checkpoint) => boolean
  /** Called if no owner will find the request, which was left in vain or not at all. Returns how the call ends, if it is not to `act`. */
  readonly unclaimed: (seen: ReadRun, left: O.Option<R>) => Promise<E.Either<RunError, O.Option<A>>>
  readonly act: () => Promise<E.Either<RunError, A>>
}

/** The request is left for the owner of the run. */
export interface Requested {
  readonly _tag: 'Requested'
  readonly runId: string
  readonly holder: Holder
}

/** Asks the owner of a run, or acts in its place. If another process claims the run in between, that one is asked. */
export const deliver = async <R extends Request, A>(
  environment: Environment,
  runId: string,
  delivery: Delivery<R, A>
): Promise<E.Either<RunError, A | Requested>> => {
  for (let attempt = 1; ; attempt++) {
    const asked = await askOwner(environment, runId, delivery)
    if (E.isLeft(asked) || '_tag' in asked.right) return asked as E.Either<RunError, Requested>
    const ended = await delivery.unclaimed(asked.right.seen, asked.right.left)
    if (E.isLeft(ended)) return ended
    if (O.isSome(ended.right)) return E.right(ended.right.value)
    const acted = await delivery.act()
    const isHeld = E.isLeft(acted) && acted.left._tag === 'HeldBy'
    if (!isHeld || environment.requests === undefined || attempt === MAX_ATTEMPTS) return acted
  }
}

/** How often another process may claim the run first. */
export const MAX_ATTEMPTS = 10

/** Leaves a request if the run has an owner, and looks again: the owner may have released it meanwhile. */
const askOwner = async <R extends Request>(
  environment: Environment,
  runId: string,
  { requestTo, isOver }: Pick<Delivery<R, never>, 'requestTo' | 'isOver'>
): Promise<E.Either<RunError, Requested | { readonly seen: ReadRun; readonly left: O.Option<R> }>> => {
  const { requests } = environment
  const before = await readRun(environment, runId)
  if (E.isLeft(before)) return before
  const { holder } = before.right
  if (requests === undefined || O.isNone(holder) || isOver(before.right.checkpoint))
    return E.right({ seen: before.right, left: O.none })
  const request = requestTo(holder.value)
  const left = await callPort('leave', () => requests.leave(request), writeFailed(INBOX))
  // The run may have ended or been removed meanwhile.
  const after = await readRun(environment, runId)
  if (E.isLeft(after)) return after
  if (E.isLeft(left)) return left
  const { holder: now, checkpoint } = after.right
  return O.isSome(now) && !isOver(checkpoint) && isFor(request, now.value)
    ? E.right({ _tag: 'Requested', runId, holder: now.value })
    : E.right({ seen: after.right, left: O.some(request) })
}
