/** Delivers a request to a run: leaves it in the inbox for the owner, or acts in place of an owner. */
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import type { Checkpoint } from '../../domain/checkpoint/Checkpoint.js'
import type { Request } from '../../domain/request/Request.js'
import { isFor } from '../../domain/request/Request.js'
import type { Holder } from '../../ports/CheckpointStorage.js'
import type { Environment } from '../../ports/Environment.js'
import { callPort, INBOX, writeFailed } from '../callPort.js'
import type { RunError } from '../errors/RunError.js'
import type { ReadRun } from './inbox.js'
import { readRun } from './inbox.js'
import { handleLateRequests, MAX_ATTEMPTS } from './recordRequests.js'

/** How a request is delivered: the owner of the run finds it, or the caller acts in place of an owner. */
interface Delivery<R extends Request, A> {
  readonly requestTo: (holder: Holder) => R
  /** Returns whether the run no longer accepts the request. */
  readonly isTooLate: (checkpoint: Checkpoint) => boolean
  /**
   * Called if no owner will find the request. Returns how the call ends; `None`: the caller must `act`. `leftRequest`: left for an owner that has
   * released the run.
   */
  readonly unclaimed: (run: ReadRun, leftRequest: O.Option<R>) => Promise<E.Either<RunError, O.Option<A>>>
  /** Acts in place of an owner. An earlier owner may have recorded `leftRequest`. */
  readonly act: (leftRequest: O.Option<R>) => Promise<E.Either<RunError, A>>
}

/** The request is left for the owner of the run. */
export interface Requested {
  readonly _tag: 'Requested'
  readonly runId: string
  readonly holder: Holder
}

/** Leaves a request for the owner of a run, or acts in place of an owner. Starts over if another process claims the run in between. */
export const deliverRequest = async <R extends Request, A>(
  environment: Environment,
  runId: string,
  delivery: Delivery<R, A>
): Promise<E.Either<RunError, A | Requested>> => {
  let leftRequest: O.Option<R> = O.none
  for (let attempt = 1; ; attempt++) {
    const offered = await offer(environment, runId, delivery)
    if (E.isLeft(offered) || '_tag' in offered.right) return offered as E.Either<RunError, Requested>
    if (O.isSome(offered.right.leftRequest)) leftRequest = offered.right.leftRequest
    const ended = await delivery.unclaimed(offered.right.run, leftRequest)
    if (E.isLeft(ended)) return ended
    if (O.isSome(ended.right)) return E.right(ended.right.value)
    const acted = await delivery.act(leftRequest)
    await handleLateRequests(environment, runId)
    const isHeld = E.isLeft(acted) && acted.left._tag === 'HeldBy'
    if (!isHeld || environment.requests === undefined || attempt === MAX_ATTEMPTS) return acted
  }
}

/** Leaves a request if the run has an owner, and reads the run again: the owner may have released it meanwhile. */
const offer = async <R extends Request>(
  environment: Environment,
  runId: string,
  { requestTo, isTooLate }: Pick<Delivery<R, never>, 'requestTo' | 'isTooLate'>
): Promise<E.Either<RunError, Requested | { readonly run: ReadRun; readonly leftRequest: O.Option<R> }>> => {
  const { requests } = environment
  const before = await readRun(environment, runId)
  if (E.isLeft(before)) return before
  const { holder } = before.right
  if (requests === undefined || O.isNone(holder) || isTooLate(before.right.checkpoint))
    return E.right({ run: before.right, leftRequest: O.none })
  const request = requestTo(holder.value)
  const left = await callPort('leave', () => requests.leave(request), writeFailed(INBOX))
  // The run may have ended or been removed meanwhile.
  const after = await readRun(environment, runId)
  if (E.isLeft(after)) return after
  if (E.isLeft(left)) return left
  const { holder: now, checkpoint } = after.right
  return O.isSome(now) && !isTooLate(checkpoint) && isFor(request, now.value)
    ? E.right({ _tag: 'Requested', runId, holder: now.value })
    : E.right({ run: after.right, leftRequest: O.some(request) })
}
