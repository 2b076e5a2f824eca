/** Claims a run and releases it, and restores its stored state. */
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import type { Checkpoint, Move } from '../../domain/checkpoint/Checkpoint.js'
import { status } from '../../domain/checkpoint/Checkpoint.js'
import { failuresHere } from '../../domain/checkpoint/CheckpointState.js'
import { describe as describeCodec, restore } from '../../domain/change/restore.js'
import { fieldsOf } from '../../domain/data/Options.js'
import { isObject } from '../../domain/data/Json.js'
import type {
  CheckpointStorage,
  Claim,
  Claimed,
  ClaimOptions,
  LostFiles,
  StorageError,
  Stored
} from '../../ports/CheckpointStorage.js'
import type { Environment } from '../../ports/Environment.js'
import { callPort, readFailed, STORE, storedIn, writeFailed } from '../callPort.js'
import type { RecoveryRefused, RunError, RunMoved } from '../errors/RunError.js'
import type { Failed, Fenced, Interrupted } from '../RunOutcome.js'
import { report } from '../RunScope.js'

const release = (storage: CheckpointStorage, claim: Claim): Promise<E.Either<StorageError, void>> =>
  callPort('release', () => storage.release(claim), writeFailed(STORE))

/** Releases a claim. A failure is reported, not returned, because the call has its result; the next claim releases again. */
const releaseClaim = async (environment: Environment, claim: Claim): Promise<void> => {
  const released = await release(environment.storage, claim)
  if (E.isRight(released) || released.left._tag === 'Fenced') return
  remember(environment.storage, claim)
  report(environment, { _tag: 'ReleaseFailed', runId: claim.runId, error: released.left })
}

/** Claims a run. If the run is held, the holder may be this process, with a claim whose release failed. */
const claimRun = async (
  { storage, owner }: Environment,
  runId: string,
  how: ClaimOptions
): Promise<E.Either<StorageError, Claimed>> => {
  const claim = () => callPort('claim', () => storage.claim(runId, owner, how), readFailed(STORE))
  const claimed = await claim()
  if (E.isLeft(claimed) && claimed.left._tag !== 'HeldBy') return claimed
  const former = takeRemembered(storage, runId)
  if (former === undefined || E.isRight(claimed)) return claimed
  const released = await release(storage, former)
  if (E.isRight(released)) return await claim()
  remember(storage, former)
  return claimed
}

const REGISTRY = Symbol.for('dogear.1')

interface Registry {
  unreleased?: WeakMap<CheckpointStorage, Map<string, Claim>>
}

/** The claims of this thread whose release failed: a store may count them as held. Shared by all copies of this module in bundles. */
const unreleased = (): WeakMap<CheckpointStorage, Map<string, Claim>> => {
  const shared = globalThis as { [REGISTRY]?: Registry }
  const registry = (shared[REGISTRY] ??= {})
  return (registry.unreleased ??= new WeakMap())
}

const remember = (storage: CheckpointStorage, claim: Claim): void => {
  const known = unreleased()
  const ofStorage = known.get(storage) ?? new Map<string, Claim>()
  known.set(storage, ofStorage.set(claim.runId, claim))
}

/** Removes and returns the remembered claim of a run. */
const takeRemembered = (storage: CheckpointStorage, runId: string): Claim | undefined => {
  const ofStorage = unreleased().get(storage)
  const claim = ofStorage?.get(runId)
  ofStorage?.delete(runId)
  return claim
}

export const withClaim = async <A>(
  environment: Environment,
  runId: string,
  use: (claim: Claim, stored: O.Option<Stored>) => Promise<E.Either<RunError, A>>,
  how: ClaimOptions = {}
): Promise<E.Either<RunError, A>> => {
  const claimed = await claimRun(environment, runId, how)
  if (E.isLeft(claimed)) return claimed
  const { claim } = claimed.right
  try {
    const stored = storedIn(claimed.right)
    return E.isLeft(stored) ? stored : await use(claim, stored.right)
  } finally {
    await releaseClaim(environment, claim)
  }
}

/** Refuses a state that was only recovered: no user has agreed to continue from it. */
export const withIntactClaim = <A>(
  environment: Environment,
  runId: string,
  use: (claim: Claim, checkpoint: Checkpoint) => Promise<E.Either<RunError, A>>
): Promise<E.Either<RunError, A>> =>
  withClaim(environment, runId, async (claim, stored): Promise<E.Either<RunError, A>> => {
    if (O.isNone(stored)) return E.left({ _tag: 'NoSuchRun', runId })
    const restored = restoreUnmoved(stored.value, runId)
    if (E.isLeft(restored)) return restored
    const { found } = stored.value
    return found._tag === 'Recovered' ? recoveryRefused(runId, found) : await use(claim, restored.right)
  })

/** `cause`: why `onRecovered` gave no answer. */
export const recoveryRefused = (
  runId: string,
  { from, lost }: Pick<RecoveryRefused, 'from' | 'lost'>,
  cause?: unknown
): E.Either<RecoveryRefused, never> => E.left({ _tag: 'RecoveryRefused', runId, from, lost, cause })

/** Restores a stored state. Refuses that of a run which has moved or is being moved: no call but the move may change it. */
export const restoreUnmoved = (stored: Stored, runId: string): E.Either<StorageError | RunMoved, Checkpoint> => {
  const restored = restoreStored(stored, runId)
  const moved = E.isRight(restored) ? restored.right.moved : undefined
  return moved === undefined ? restored : E.left(runMoved(runId, moved))
}

export const runMoved = (runId: string, { way, store }: Move): RunMoved => ({ _tag: 'RunMoved', runId, way, store })

/** Reports a lost claim: `error` of a failed save, or the reason of its signal, may name lost files. */
export const reportFenced = (
  environment: Environment,
  { runId, lost }: Claim,
  error: RunError | undefined
): E.Either<never, Fenced> => {
  const named = error?._tag === 'Fenced' ? error.files : undefined
  const files = named ?? (fieldsOf(lost.reason)['files'] as LostFiles | undefined)
  const loss = { runId, ...(files === undefined ? {} : { files }) }
  report(environment, { _tag: 'RunFenced', ...loss })
  return E.right({ _tag: 'Fenced', ...loss })
}

/** Content of a newer format is `UnsupportedFormat`; anything else that does not decode, or belongs to another run, is `Corrupt`. */
export const restoreStored = (stored: Stored, runId?: string): E.Either<StorageError, Checkpoint> => {
  const where = 'the stored checkpoint'
  const restored = restore(stored)
  if (E.isRight(restored)) {
    const found = restored.right.runId
    return runId === undefined || found === runId
      ? restored
      : E.left({ _tag: 'Corrupt', runId, where, why: `it belongs to run ${found}`, cause: found })
  }
  const error = restored.left
  const id = runId ?? runIdOf(stored)
  return error._tag === 'NewerFormat'
    ? E.left({ _tag: 'UnsupportedFormat', runId: id, where, found: error.found, supported: error.supported })
    : E.left({ _tag: 'Corrupt', runId: id, where, why: describeCodec(error), cause: error })
}

const runIdOf = ({ checkpoint }: Stored): string => {
  const runId = isObject(checkpoint) ? checkpoint['runId'] : undefined
  return typeof runId === 'string' ? runId : ''
}

/** Returns the outcome of a run that only its user continues, because it was paused or cancelled, or has failed. */
export const stoppedIn = (checkpoint: Checkpoint): Interrupted | Failed | undefined => {
  const { runId, state } = checkpoint
  const runStatus = status(checkpoint, false)
  const facts = { runId, checkpoint, stepIndex: state.stepIndex, step: state.step }
  if (state._tag === 'Failed')
    return { _tag: 'Failed', ...facts, failures: failuresHere(state), retryable: state.retryable }
  return state._tag === 'Interrupted' && (runStatus === 'cancelled' || runStatus === 'paused')
    ? { _tag: 'Interrupted', ...facts, inProgress: state.inProgress, reason: runStatus }
    : undefined
}
