/** Cancels a run: leaves a request for its owner, or records the cancel if the run has no owner. */
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import type { Checkpoint, Status } from '../../domain/checkpoint/Checkpoint.js'
import { status } from '../../domain/checkpoint/Checkpoint.js'
import type { CancelRequest } from '../../domain/request/Request.js'
import type { Holder } from '../../ports/CheckpointStorage.js'
import type { Environment } from '../../ports/Environment.js'
import type { Executor } from '../ExecutorCall.js'
import { inEnvironment, withoutPort } from '../arguments.js'
import { deliverRequest } from './deliverRequest.js'
import { recorderFor, withdraw } from './inbox.js'
import { isFinalRun, readCancel, recordCancelled } from './recordRequests.js'
import type { RunError } from '../errors/RunError.js'
import { timestamp } from '../RunScope.js'
import { withIntactClaim } from '../storage/stored.js'

/**
 * How a cancel was delivered. `Requested`: the owner (`holder`) cancels the run after its current steps, unless it completes with them; if the
 * owner dies before that, the next process that claims the run does. `Cancelled`: the cancel is recorded. `AtRest`: the run was already
 * completed or cancelled, and nothing was written.
 *
 * @category model
 */
export type CancelResult =
  | { readonly _tag: 'Requested'; readonly runId: string; readonly holder: Holder }
  | { readonly _tag: 'Cancelled'; readonly runId: string; readonly checkpoint: Checkpoint }
  | { readonly _tag: 'AtRest'; readonly runId: string; readonly status: Status }

/**
 * Cancels a run, from any process. Its owner lets the current steps end, starts no other, and, unless the run has completed with them, records
 * the cancel; for a run without an owner it is recorded at once. A cancelled run has ended: only `reopen` resumes it. The environment needs
 * `requests`.
 *
 * @example
 * import * as E from 'fp-ts/lib/Either.js'
 * import { cancel } from 'dogear'
 * import { memoryRequests, memoryStorage } from 'dogear/memory'
 * import { nodeEnvironment } from 'dogear/node'
 * import { resume, runOutcome, workflow } from 'dogear/promise'
 * import assert from 'node:assert/strict'
 *
 * const environment = nodeEnvironment(memoryStorage(), { requests: memoryRequests() })
 * const options = { id: 'import-1', storage: environment.storage, environment }
 * const failing = workflow('import').step('fetch', () => Promise.reject(new Error('no network')))
 * assert.equal((await runOutcome(failing, options))._tag, 'Failed')
 *
 * const cancelled = await cancel('import-1')(environment)()
 * assert.ok(E.isRight(cancelled) && cancelled.right._tag === 'Cancelled')
 * await assert.rejects(resume(failing, options), /was cancelled/)
 *
 * @category running
 */
export const cancel = (runId: string): Executor<CancelResult> =>
  inEnvironment((environment) => async () => {
    if (environment.requests === undefined) return withoutPort('NoRequests', runId)
    const request = (): CancelRequest => ({ _tag: 'Cancel', runId, requestedAt: timestamp(environment.clock.now()) })
    return await deliverRequest(environment, runId, {
      requestTo: request,
      isTooLate: isFinalRun,
      unclaimed: async ({ checkpoint }, leftRequest): Promise<E.Either<RunError, O.Option<CancelResult>>> =>
        E.right(isFinalRun(checkpoint) ? O.some(await atRest(environment, checkpoint, leftRequest)) : O.none),
      act: (leftRequest) => cancelUnclaimed(environment, runId, leftRequest)
    })
  })

/** The run has ended. An earlier copy of this request may have cancelled it. */
const atRest = async (
  environment: Environment,
  checkpoint: Checkpoint,
  leftRequest: O.Option<CancelRequest>
): Promise<CancelResult> => {
  const { runId } = checkpoint
  const runStatus = status(checkpoint, false)
  if (O.isSome(leftRequest)) await withdraw(environment, leftRequest.value)
  return O.isSome(leftRequest) && runStatus === 'cancelled'
    ? { _tag: 'Cancelled', runId, checkpoint }
    : { _tag: 'AtRest', runId, status: runStatus }
}

/** Claims a run without an owner, and records the cancel. */
const cancelUnclaimed = (
  environment: Environment,
  runId: string,
  earlier: O.Option<CancelRequest>
): Promise<E.Either<RunError, CancelResult>> =>
  withIntactClaim(environment, runId, async (claim, checkpoint): Promise<E.Either<RunError, CancelResult>> => {
    const found = O.fromNullable(await readCancel(environment, runId))
    const leftRequest = O.isSome(found) ? found : earlier
    if (isFinalRun(checkpoint)) return E.right(await atRest(environment, checkpoint, leftRequest))
    const recorded = await recordCancelled(environment, recorderFor(environment, claim, checkpoint))
    if (E.isLeft(recorded)) return recorded
    if (O.isSome(leftRequest)) await withdraw(environment, leftRequest.value)
    return E.right({ _tag: 'Cancelled', runId, checkpoint: recorded.right.checkpoint })
  })
