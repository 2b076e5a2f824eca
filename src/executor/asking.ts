/** Leaving a request for the owner of a run, as `pause` and `cancel` do. */
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import type { Checkpoint } from '../domain/Checkpoint.js'
import type { CancelRequest, PauseRequest } from '../domain/Request.js'
import { isFor } from '../domain/Request.js'
import type { Holder } from '../ports/CheckpointStorage.js'
import type { Environment } from '../ports/Environment.js'
import type { RunError } from './RunError.js'
import { answering, restoreStored } from './stored.js'

/** A run as it was loaded. */
export interface Seen {
  readonly checkpoint: Checkpoint
  readonly holder: O.Option<Holder>
}

/** What came of asking. `Requested`: the owner finds the request. `Unclaimed`: no owner will find it, also if it was `left`. */
export type Asking<R> =
  | { readonly _tag: 'Requested'; readonly holder: Holder }
  | { readonly _tag: 'Unclaimed'; readonly seen: Seen; readonly left: O.Option<R> }

/** Leaves a request if somebody holds the run, and looks again: the run may have come to rest meanwhile. */
export const askOwner = async <R extends PauseRequest | CancelRequest>(
  environment: Environment,
  runId: string,
  requestTo: (holder: Holder) => R,
  isOver: (checkpoint: Checkpoint) => boolean
): Promise<E.Either<RunError, Asking<R>>> => {
  const { requests } = environment
  if (requests === undefined) return E.left({ _tag: 'NoRequests', runId })
  const before = await look(environment, runId)
  if (E.isLeft(before)) return before
  const { holder } = before.right
  if (O.isNone(holder) || isOver(before.right.checkpoint))
    return E.right({ _tag: 'Unclaimed', seen: before.right, left: O.none })
  const request = requestTo(holder.value)
  const left = await answering('request', () => requests.leave(request))
  // It may have come to rest in the meantime, or be removed.
  const after = await look(environment, runId)
  if (E.isLeft(after)) return after
  if (E.isLeft(left)) return left
  const { holder: now, checkpoint } = after.right
  if (O.isSome(now) && !isOver(checkpoint) && isFor(request, now.value))
    return E.right({ _tag: 'Requested', holder: now.value })
  return E.right({ _tag: 'Unclaimed', seen: after.right, left: O.some(request) })
}

/** Loads a run. */
export const look = async ({ storage }: Environment, runId: string): Promise<E.Either<RunError, Seen>> => {
  const stored = await answering('load', () => storage.load(runId))
  if (E.isLeft(stored)) return stored
  if (O.isNone(stored.right)) return E.left({ _tag: 'NoSuchRun', runId })
  const { heldBy: holder } = stored.right.value
  return E.map((checkpoint: Checkpoint) => ({ checkpoint, holder }))(restoreStored(stored.right.value, runId))
}
