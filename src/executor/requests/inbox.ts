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

/** `Requested`: the owner finds the request. `Unclaimed`: no owner will find it, and it must be withdrawn if it was left (`undelivered`). */
export type Asking<R> =
  | { readonly _tag: 'Requested'; readonly holder: Holder }
  | { readonly _tag: 'Unclaimed'; readonly seen: ReadRun; readonly undelivered: O.Option<R> }

/** Leaves a request if the run has an owner, and looks again: the owner may have released it meanwhile. */
export const askOwner = async <R extends Request>(
  environment: Environment,
  runId: string,
  requestTo: (holder: Holder) => R,
  isOver: (checkpoint: Checkpoint) => boolean
): Promise<E.Either<RunError, Asking<R>>> => {
  const { requests } = environment
  const before = await readRun(environment, runId)
  if (E.isLeft(before)) return before
  const { holder } = before.right
  if (requests === undefined || O.isNone(holder) || isOver(before.right.checkpoint))
    return E.right({ _tag: 'Unclaimed', seen: before.right, undelivered: O.none })
  const request = requestTo(holder.value)
  const left = await callPort('leave', () => requests.leave(request), writeFailed(INBOX))
  // The run may have ended or been removed meanwhile.
  const after = await readRun(environment, runId)
  if (E.isLeft(after)) return after
  if (E.isLeft(left)) return left
  const { holder: now, checkpoint } = after.right
  if (O.isSome(now) && !isOver(checkpoint) && isFor(request, now.value))
    return E.right({ _tag: 'Requested', holder: now.value })
  return E.right({ _tag: 'Unclaimed', seen: after.right, undelivered: O.some(request) })
}

/** Asks the owner of a run, or acts in its place. If another process claims the run in between, that one is asked. */
export const askOrAct = async <A>(
  { requests }: Environment,
  ask: () => Promise<E.Either<RunError, O.Option<A>>>,
  act: () => Promise<E.Either<RunError, A>>
): Promise<E.Either<RunError, A>> => {
  for (let attempt = 1; ; attempt++) {
    const asked = await ask()
    if (E.isLeft(asked)) return asked
    if (O.isSome(asked.right)) return E.right(asked.right.value)
    const acted = await act()
    const isHeld = E.isLeft(acted) && acted.left._tag === 'HeldBy'
    if (!isHeld || requests === undefined || attempt === MAX_ATTEMPTS) return acted
  }
}

/** How often another process may claim the run first. */
export const MAX_ATTEMPTS = 10
