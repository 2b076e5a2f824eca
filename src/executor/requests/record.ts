/** Records the requests of a run, under a claim. A pause also leaves a commit and a pointer to the run. */
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
import type { Asked } from './RequestWatch.js'

/** Returns whether a run can no longer be cancelled. */
export const isOver = (checkpoint: Checkpoint): boolean => isFinal(status(checkpoint, false))

export const recordPaused = async (
  environment: Environment,
  recorder: Recorder,
  asked: Asked
): Promise<E.Either<RunError, Interrupted>> => {
  const { runId, state } = recorder.checkpoint()
  const paused = await recordInterrupted(environment, recorder, state.step, 'paused')
  if (E.isLeft(paused)) return paused
  await leavePointer(environment, paused.right.checkpoint, asked)
  await clearRequest(environment, runId)
  return paused
}

/** Neither an answer nor a collected job is a request to resume: a paused run stays paused, unless it has completed. */
export const stillPaused = (before: Checkpoint, { state, workflow }: Checkpoint, at: string): ReadonlyArray<Change> => {
  const wasPaused = before.state._tag === 'Interrupted' && before.state.reason === 'paused'
  const next = workflow.steps[state._tag === 'Completed' ? state.stepIndex + 1 : state.stepIndex]
  return wasPaused && state._tag !== 'Interrupted' && state._tag !== 'Failed' && next !== undefined
    ? [{ _tag: 'Interrupted', at, unit: next.name, reason: 'paused' }]
    : []
}

/** A resume needs neither the commit nor the pointer: failures are reported and do not stop the pause. */
export const leavePointer = async (
  environment: Environment,
  checkpoint: Checkpoint,
  { commit, unreadable }: Asked
): Promise<void> => {
  const { requests, workspaces } = environment
  const { runId, workspace } = checkpoint
  const problems: Array<PointerError | WorkspaceError> = []
  const orNote = <Problem extends PointerError | WorkspaceError, A>(result: E.Either<Problem, A>): A | undefined => {
    if (E.isRight(result)) return result.right
    problems.push(result.left)
    return undefined
  }
  const made =
    commit && workspace?.kind === 'worktree' && workspaces !== undefined
      ? orNote(await callPort('commit', () => workspaces.commit(runId, workspace), threw))
      : undefined
  const pointer = continueHere(checkpoint, made === undefined ? undefined : O.toUndefined(made))
  const where =
    requests === undefined ? undefined : orNote(await callPort('point', () => requests.point(pointer), threw))
  report(environment, {
    _tag: 'RunPaused',
    runId,
    pointer,
    ...(where === undefined ? {} : { where }),
    ...(unreadable === undefined ? {} : { unreadable }),
    problems
  })
}

const threw = writeFailed('what a pause leaves')

export const removePointer = async ({ requests }: Environment, runId: string): Promise<void> => {
  if (requests !== undefined) await callPort('unpoint', () => requests.unpoint(runId), threw)
}

/** A superseded owner leaves the request: the next owner sees that it is outdated. */
export const clearRequest = async (environment: Environment, runId: string): Promise<void> => {
  const { requests } = environment
  if (requests === undefined || !mayHaveRequests(environment, runId)) return
  await callPort('clearPause', () => requests.clearPause(runId), threw)
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
  await clearRequest(environment, runId)
  return cancelled
}

export const readCancel = async (environment: Environment, runId: string): Promise<CancelRequest | undefined> => {
  const all = await requestsFor(environment, runId)
  return E.isLeft(all) ? undefined : all.right.find((one) => one._tag === 'Cancel')
}

/** Records a cancel request that was left for an earlier owner, after the changes `before`. `None`: there is no request, or the run has ended. */
export const recordCancelIfAsked = async (
  environment: Environment,
  claim: Claim,
  checkpoint: Checkpoint,
  before: ReadonlyArray<Change> = []
): Promise<E.Either<RunError, O.Option<Interrupted>>> => {
  const request = await readCancel(environment, checkpoint.runId)
  if (request === undefined) return E.right(O.none)
  const recorded = isOver(checkpoint)
    ? E.right(undefined)
    : await recordCancelled(environment, recorderFor(environment, claim, checkpoint), before)
  if (E.isLeft(recorded)) return recorded
  // If this fails, the next reader of the request sees that the run has ended.
  await withdraw(environment, request)
  return E.right(O.fromNullable(recorded.right))
}

/** How often another process may use the run first. */
export const MAX_ATTEMPTS = 10

/** Takes in the requests that arrived too late for a released claim: their callers saw an owner. A new owner handles its own release. Returns the last pause or cancel that it recorded. */
export const handleLateRequests = async (environment: Environment, runId: string): Promise<Interrupted | undefined> => {
  let stopped: Interrupted | undefined
  for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
    const late = await requestsToOwner(environment, runId)
    if (late.length === 0) break
    const seen = await readRun(environment, runId)
    if (E.isLeft(seen) || O.isSome(seen.right.holder)) break
    const { checkpoint } = seen.right
    if (!late.some((one) => isOpen(checkpoint, one))) {
      // A pause of a run that failed or was stopped is left to the next owner.
      if (isOver(checkpoint)) await withdrawAll(environment, late)
      break
    }
    const taken = await withIntactClaim(environment, runId, (claim, newest) => takeIn(environment, claim, newest))
    if (E.isLeft(taken)) break
    stopped = taken.right ?? stopped
  }
  return stopped
}

/** The requests that this process takes in: a pause of another owner's execution is not among them. */
const requestsToOwner = async (environment: Environment, runId: string): Promise<ReadonlyArray<Request>> => {
  const { host, pid } = environment.owner
  const all = await requestsFor(environment, runId)
  return E.isLeft(all)
    ? []
    : all.right.filter((one) => one._tag !== 'Pause' || (one.addressee.host === host && one.addressee.pid === pid))
}

/** Returns whether a run without an owner takes a request. */
const isOpen = (checkpoint: Checkpoint, { _tag }: Request): boolean => {
  switch (_tag) {
    case 'Answer':
      return true
    case 'Cancel':
      return !isOver(checkpoint)
    case 'Pause':
      return status(checkpoint, false) === 'pending'
  }
}

const takeIn = async (
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
  const open = stops.filter((one) => isOpen(recorder.checkpoint(), one))
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

/** If this fails, the next reader of the requests sees that they are recorded. */
const withdrawAll = async (environment: Environment, all: ReadonlyArray<Request>): Promise<void> => {
  for (const one of all) await withdraw(environment, one)
}
