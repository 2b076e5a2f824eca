/** Delivers a request: leaves it for the owner of a run, or acts in its place. */
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
import { handleLateRequests, MAX_ATTEMPTS } from './record.js'

/** How a request is delivered: its owner finds it, or the caller acts in place of an owner. */
interface Delivery<R extends Request, A> {
  readonly requestTo: (holder: Holder) => R
  /** Returns whether the state of a run takes the request no more. */
  readonly isOver: (checkpoint: Checkpoint) => boolean
  /** Called if no owner will find the request, which was left in vain or not at all. Returns how the call ends, if it is not to `act`. */
  readonly unclaimed: (seen: ReadRun, left: O.Option<R>) => Promise<E.Either<RunError, O.Option<A>>>
  /** A request that was `left` may have been recorded. */
  readonly act: (left: O.Option<R>) => Promise<E.Either<RunError, A>>
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
  let left: O.Option<R> = O.none
  for (let attempt = 1; ; attempt++) {
    const asked = await askOwner(environment, runId, delivery)
    if (E.isLeft(asked) || '_tag' in asked.right) return asked as E.Either<RunError, Requested>
    if (O.isSome(asked.right.left)) left = asked.right.left
    const ended = await delivery.unclaimed(asked.right.seen, left)
    if (E.isLeft(ended)) return ended
    if (O.isSome(ended.right)) return E.right(ended.right.value)
    const acted = await delivery.act(left)
    await handleLateRequests(environment, runId)
    const isHeld = E.isLeft(acted) && acted.left._tag === 'HeldBy'
    if (!isHeld || environment.requests === undefined || attempt === MAX_ATTEMPTS) return acted
  }
}

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
