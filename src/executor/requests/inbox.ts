/** Reads and clears the inbox of a run, through which other processes request a pause, a cancel or an answer. */
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import type { Checkpoint } from '../../domain/checkpoint/Checkpoint.js'
import { ignoringErrors } from '../../domain/data/notTaskEither.js'
import type { Request } from '../../domain/request/Request.js'
import type { Claim, Holder, StorageError } from '../../ports/CheckpointStorage.js'
import type { Environment } from '../../ports/Environment.js'
import { callPort, INBOX, load, readFailed, writeFailed } from '../callPort.js'
import type { RunError } from '../errors/RunError.js'
import { report } from '../RunScope.js'
import type { SecuredEnvironment } from '../secrets.js'
import type { Recorder } from '../storage/Recorder.js'
import { make } from '../storage/Recorder.js'
import { restoreUnmoved } from '../storage/stored.js'

/** Returns whether a run may have requests; false if the port throws, true if it is untyped and returns anything else than false. */
export const mayHaveRequests = ({ requests }: Environment, runId: string): boolean => {
  if (requests === undefined) return false
  try {
    const isAny: unknown = requests.isAny(runId)
    // It may be a promise, whose rejection would end the process.
    if (typeof isAny !== 'boolean') ignoringErrors(() => isAny)
    return isAny !== false
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

/** Makes a recorder that reports saves, but no events of units. */
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
