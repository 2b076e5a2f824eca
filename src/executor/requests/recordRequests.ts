/** Records requests to a run, under a claim. A pause also leaves a commit and a pointer to the run. */
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import type { Change } from '../../domain/change/Change.js'
import type { Checkpoint } from '../../domain/checkpoint/Checkpoint.js'
import { isFinal, status } from '../../domain/checkpoint/Checkpoint.js'
import { continueHere } from '../../domain/request/Pause.js'
import type { CancelRequest, Request } from '../../domain/request/Request.js'
import type { Claim } from '../../ports/CheckpointStorage.js'
import type { Environment } from '../../ports/Environment.js'
import type { PointerError } from '../../ports/Requests.js'
import type { WorkspaceError } from '../../ports/Workspaces.js'
import { callPort, writeFailed } from '../callPort.js'
import type { RunError } from '../errors/RunError.js'
import type { Interrupted } from '../RunOutcome.js'
import { report } from '../RunScope.js'
import { recordInterrupted } from '../storage/changes.js'
import type { Recorder } from '../storage/Recorder.js'
import { withIntactClaim } from '../storage/stored.js'
import { mayHaveRequests, readRun, recorderFor, requestsFor, withdraw } from './inbox.js'
import { recordAnswers } from './inboxAnswers.js'
import type { StopRequest } from './StopRequests.js'

/** Returns whether a run can no longer be cancelled. */
export const isFinalRun = (checkpoint: Checkpoint): boolean => isFinal(status(checkpoint, false))

export const recordPaused = async (
  environment: Environment,
  recorder: Recorder,
  request: StopRequest
): Promise<E.Either<RunError, Interrupted>> => {
  const { runId, state } = recorder.checkpoint()
  const paused = await recordInterrupted(environment, recorder, state.step, 'paused')
  if (E.isLeft(paused)) return paused
  await leavePointer(environment, paused.right.checkpoint, request)
  await clearPause(environment, runId)
  return paused
}

/** Returns the change that keeps a paused run paused after an answer or a collected job; no change for any other run. */
export const stillPaused = (before: Checkpoint, { state, workflow }: Checkpoint, at: string): ReadonlyArray<Change> => {
  const wasPaused = before.state._tag === 'Interrupted' && before.state.reason === 'paused'
  const next = workflow.steps[state._tag === 'Completed' ? state.stepIndex + 1 : state.stepIndex]
  return wasPaused && state._tag !== 'Interrupted' && state._tag !== 'Failed' && next !== undefined
    ? [{ _tag: 'Interrupted', at, unit: next.name, reason: 'paused' }]
    : []
}

/** Leaves the commit and the pointer of a pause. A resume needs neither: failures are reported and do not stop the pause. */
export const leavePointer = async (
  environment: Environment,
  checkpoint: Checkpoint,
  { commit, unreadable }: StopRequest
): Promise<void> => {
  const { requests, workspaces } = environment
  const { runId, workspace } = checkpoint
  const problems: Array<PointerError | WorkspaceError> = []
  const orNote = <Problem extends PointerError | WorkspaceError, A>(result: E.Either<Problem, A>): A | undefined => {
    if (E.isRight(result)) return result.right
    problems.push(result.left)
    return undefined
  }
  const committed =
    commit && workspace?.kind === 'worktree' && workspaces !== undefined
      ? orNote(await callPort('commit', () => workspaces.commit(runId, workspace), pauseThrew))
      : undefined
  const pointer = continueHere(checkpoint, committed === undefined ? undefined : O.toUndefined(committed))
  const where =
    requests === undefined ? undefined : orNote(await callPort('point', () => requests.point(pointer), pauseThrew))
  report(environment, {
    _tag: 'RunPaused',
    runId,
    pointer,
    ...(where === undefined ? {} : { where }),
    ...(unreadable === undefined ? {} : { unreadable }),
    problems
  })
}

const pauseThrew = writeFailed('what a pause leaves')

export const removePointer = async ({ requests }: Environment, runId: string): Promise<void> => {
  if (requests !== undefined) await callPort('unpoint', () => requests.unpoint(runId), pauseThrew)
}

/** Removes the pause request of an execution that has ended. */
export const clearPause = async (environment: Environment, runId: string): Promise<void> => {
  const { requests } = environment
  if (requests === undefined || !mayHaveRequests(environment, runId)) return
  await callPort('clearPause', () => requests.clearPause(runId), pauseThrew)
}

/** Records a cancel, after the changes `before`. */
export const recordCancelled = async (
  environment: Environment,
  recorder: Recorder,
  before: ReadonlyArray<Change> = []
): Promise<E.Either<RunError, Interrupted>> => {
  const { runId, state } = recorder.checkpoint()
  const cancelled = await recordInterrupted(environment, recorder, state.step, 'cancelled', before)
  if (E.isLeft(cancelled)) return cancelled
  await removePointer(environment, runId)
  await clearPause(environment, runId)
  return cancelled
}

export const readCancel = async (environment: Environment, runId: string): Promise<CancelRequest | undefined> => {
  const all = await requestsFor(environment, runId)
  return E.isLeft(all) ? undefined : all.right.find((one) => one._tag === 'Cancel')
}

/** Records a cancel request for an earlier owner, after the changes `before`. `None`: there is none, or the run can no longer be cancelled. */
export const recordCancelIfAsked = async (
  environment: Environment,
  claim: Claim,
  checkpoint: Checkpoint,
  before: ReadonlyArray<Change> = []
): Promise<E.Either<RunError, O.Option<Interrupted>>> => {
  const request = await readCancel(environment, checkpoint.runId)
  if (request === undefined) return E.right(O.none)
  const recorded = isFinalRun(checkpoint)
    ? E.right(undefined)
    : await recordCancelled(environment, recorderFor(environment, claim, checkpoint), before)
  if (E.isLeft(recorded)) return recorded
  // If this fails, the next reader of the request sees that the run can no longer be cancelled.
  await withdraw(environment, request)
  return E.right(O.fromNullable(recorded.right))
}

/** How many attempts a call makes, the first included, if another process claimed the run first or left a new request. */
export const MAX_ATTEMPTS = 10

/**
 * Records the requests that were left for this process, but arrived after it had read its inbox for the last time. A new owner handles them
 * itself. Returns the last pause or cancel that it recorded.
 */
export const handleLateRequests = async (environment: Environment, runId: string): Promise<Interrupted | undefined> => {
  let stopped: Interrupted | undefined
  for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
    const late = await requestsToOwner(environment, runId)
    if (late.length === 0) break
    const seen = await readRun(environment, runId)
    if (E.isLeft(seen) || O.isSome(seen.right.holder)) break
    const { checkpoint } = seen.right
    if (!late.some((one) => isAccepted(checkpoint, one))) {
      // A run that is not final has a next owner, which withdraws them.
      if (isFinalRun(checkpoint)) await withdrawAll(environment, late)
      break
    }
    const recorded = await withIntactClaim(environment, runId, (claim, newest) =>
      recordRequests(environment, claim, newest)
    )
    if (E.isLeft(recorded)) break
    stopped = recorded.right ?? stopped
  }
  return stopped
}

/** Returns the requests that this process may record: all but pauses that are addressed to another process. */
const requestsToOwner = async (environment: Environment, runId: string): Promise<ReadonlyArray<Request>> => {
  const { host, pid } = environment.owner
  const all = await requestsFor(environment, runId)
  return E.isLeft(all)
    ? []
    : all.right.filter((one) => one._tag !== 'Pause' || (one.addressee.host === host && one.addressee.pid === pid))
}

/** Returns whether a run without an owner accepts a request. */
const isAccepted = (checkpoint: Checkpoint, { _tag }: Request): boolean => {
  switch (_tag) {
    case 'Answer':
      return true
    case 'Cancel':
      return !isFinalRun(checkpoint)
    case 'Pause':
      return status(checkpoint, false) === 'pending'
  }
}

const recordRequests = async (
  environment: Environment,
  claim: Claim,
  checkpoint: Checkpoint
): Promise<E.Either<RunError, Interrupted | undefined>> => {
  const recorder = recorderFor(environment, claim, checkpoint)
  const all = await requestsToOwner(environment, claim.runId)
  const answers = all.filter((one) => one._tag === 'Answer')
  const answered = await recordAnswers(environment, recorder, answers)
  if (E.isLeft(answered)) return answered
  const stops = all.filter((one) => one._tag !== 'Answer')
  const open = stops.filter((one) => isAccepted(recorder.checkpoint(), one))
  // A cancel outweighs a pause.
  const stop = open.find((one) => one._tag === 'Cancel') ?? open[0]
  const recorded =
    stop === undefined
      ? E.right(undefined)
      : await (stop._tag === 'Pause'
          ? recordPaused(environment, recorder, stop)
          : recordCancelled(environment, recorder))
  if (E.isLeft(recorded)) return recorded
  await withdrawAll(environment, stops)
  return recorded
}

/** Withdraws recorded requests. If this fails, the next reader of the inbox sees that they are recorded. */
const withdrawAll = async (environment: Environment, all: ReadonlyArray<Request>): Promise<void> => {
  for (const one of all) await withdraw(environment, one)
}
