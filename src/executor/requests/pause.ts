/** Pauses a run: leaves a request for its owner, or records the pause of a run that waits without an owner. */
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import type { Checkpoint, Status } from '../../domain/checkpoint/Checkpoint.js'
import { status } from '../../domain/checkpoint/Checkpoint.js'
import type { Check } from '../../domain/data/Options.js'
import { flag } from '../../domain/data/Options.js'
import type { PauseRequest } from '../../domain/request/Request.js'
import type { Holder } from '../../ports/CheckpointStorage.js'
import type { Environment } from '../../ports/Environment.js'
import type { Executor } from '../ExecutorCall.js'
import { callProblems, unless, withoutPort } from '../arguments.js'
import type { ReadRun } from './inbox.js'
import { recorderFor, withdraw } from './inbox.js'
import { deliverRequest } from './deliverRequest.js'
import { recordPaused } from './recordRequests.js'
import type { RunError } from '../errors/RunError.js'
import { timestamp } from '../RunScope.js'
import { withIntactClaim } from '../storage/stored.js'

/**
 * The options of a pause. `commit`: commits uncommitted work in the run's own worktree, default true.
 *
 * @category model
 */
export interface PauseOptions {
  readonly commit?: boolean
}

/**
 * How a pause was delivered. `Requested`: the request is left for the owner (`holder`). If its environment has the same `requests`, it pauses
 * the run after its current steps, unless the run ends with them. `Paused`: the run waited without an owner, and the pause is recorded.
 * `AtRest`: the run has no live owner and does not wait, and nothing was written.
 *
 * @category model
 */
export type PauseResult =
  | { readonly _tag: 'Requested'; readonly runId: string; readonly holder: Holder }
  | { readonly _tag: 'Paused'; readonly runId: string; readonly checkpoint: Checkpoint }
  | { readonly _tag: 'AtRest'; readonly runId: string; readonly status: Status }

/**
 * Pauses a run, from any process. Its owner lets the current steps end, starts no other, records the pause unless the run has ended with them,
 * and releases the run; a run that waits and has no owner is paused at once. The environment needs `requests`.
 *
 * @example
 * import * as E from 'fp-ts/lib/Either.js'
 * import { pause } from 'dogear'
 * import { memoryRequests, memoryStorage } from 'dogear/memory'
 * import { nodeEnvironment } from 'dogear/node'
 * import { resume, runOutcome, workflow } from 'dogear/promise'
 * import assert from 'node:assert/strict'
 *
 * const environment = nodeEnvironment(memoryStorage(), { requests: memoryRequests() })
 * const options = { id: 'nightly-1', storage: environment.storage, environment }
 * const nightly = workflow('nightly')
 *   .step('fetch', async () => {
 *     const asked = await pause('nightly-1')(environment)()
 *     assert.ok(E.isRight(asked) && asked.right._tag === 'Requested')
 *   })
 *   .step('load', () => 'loaded')
 *
 * const paused = await runOutcome(nightly, options)
 * assert.ok(paused._tag === 'Interrupted' && paused.reason === 'paused' && paused.step === 'load')
 * assert.equal((await resume(nightly, options)).load, 'loaded')
 *
 * @category running
 */
export const pause = (runId: string, options: PauseOptions = {}): Executor<PauseResult> =>
  unless(callProblems(options, PAUSE), () => pauseNow(runId, options))

/** The checks of the options of `pause`. */
export const PAUSE: Readonly<Record<keyof PauseOptions, Check>> = { commit: flag }

const pauseNow =
  (runId: string, { commit = true }: PauseOptions): Executor<PauseResult> =>
  (environment) =>
  async () => {
    const { requests, clock } = environment
    if (requests === undefined) return withoutPort('NoRequests', runId)
    const requestTo = ({ host, pid, since }: Holder): PauseRequest => {
      const addressee = { host, pid, since }
      return { _tag: 'Pause', runId, addressee, commit, requestedAt: timestamp(clock.now()) }
    }
    const unclaimed = async (
      { checkpoint, holder }: ReadRun,
      leftRequest: O.Option<PauseRequest>
    ): Promise<E.Either<RunError, O.Option<PauseResult>>> => {
      // No owner will withdraw the request.
      const withdrawn = O.isNone(leftRequest) ? E.right(undefined) : await withdraw(environment, leftRequest.value)
      if (E.isLeft(withdrawn)) return withdrawn
      const runStatus = status(checkpoint, O.isSome(holder))
      return E.right(runStatus === 'pending' ? O.none : O.some(atRest(checkpoint, runStatus, leftRequest)))
    }
    return await deliverRequest(environment, runId, {
      requestTo,
      isTooLate: () => false,
      unclaimed,
      act: (leftRequest) => pauseUnclaimed(environment, runId, commit, leftRequest)
    })
  }

/** The run does not wait. An earlier copy of this request may have paused it. */
const atRest = (checkpoint: Checkpoint, runStatus: Status, leftRequest: O.Option<PauseRequest>): PauseResult => {
  const { runId } = checkpoint
  return O.isSome(leftRequest) && runStatus === 'paused'
    ? { _tag: 'Paused', runId, checkpoint }
    : { _tag: 'AtRest', runId, status: runStatus }
}

/** A process may wait for the run without a claim: it ends when it sees this record. */
const pauseUnclaimed = (
  environment: Environment,
  runId: string,
  commit: boolean,
  leftRequest: O.Option<PauseRequest>
): Promise<E.Either<RunError, PauseResult>> =>
  withIntactClaim(environment, runId, async (claim, checkpoint): Promise<E.Either<RunError, PauseResult>> => {
    const runStatus = status(checkpoint, false)
    if (runStatus !== 'pending') return E.right(atRest(checkpoint, runStatus, leftRequest))
    const paused = await recordPaused(environment, recorderFor(environment, claim, checkpoint), { commit })
    if (E.isLeft(paused)) return paused
    return E.right({ _tag: 'Paused', runId, checkpoint: paused.right.checkpoint })
  })
