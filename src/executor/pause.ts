/**
 * Pausing a run: asking for it, seeing that it was asked for, and what a pause leaves behind.
 *
 * @since 0.1.0
 */
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import type { TaskEither } from 'fp-ts/lib/TaskEither.js'
import type { Checkpoint, Status } from '../domain/Checkpoint.js'
import { status } from '../domain/Checkpoint.js'
import type { PauseRequest } from '../domain/Pause.js'
import { continueHere, isFor, isSame } from '../domain/Pause.js'
import type { Holder, StorageError, Stored } from '../ports/CheckpointStorage.js'
import type { Environment } from '../ports/Environment.js'
import type { PointerError } from '../ports/Pauses.js'
import type { WorkspaceError } from '../ports/Workspaces.js'
import type { Executor } from './Executor.js'
import type { Asked, PauseWatch } from './PauseWatch.js'
import type { RunError } from './RunError.js'
import { report, timestamp } from './RunScope.js'
import { answering, restoreStored } from './stored.js'

// ---------------------------------------------------------------------------------------------------------------------
// model
// ---------------------------------------------------------------------------------------------------------------------

/**
 * How to pause. `commit`: whether what is not committed in a worktree of the run's own is to be, default true.
 *
 * @category model
 * @since 0.1.0
 */
export interface PauseOptions {
  readonly commit?: boolean
}

/**
 * What came of asking a run to pause. `Requested`: the process that holds it (`holder`) pauses it when what it runs now has
 * ended. `AtRest`: no live process runs it, and nothing was written.
 *
 * @category model
 * @since 0.1.0
 */
export type PauseAnswer =
  | { readonly _tag: 'Requested'; readonly runId: string; readonly holder: Holder }
  | { readonly _tag: 'AtRest'; readonly runId: string; readonly status: Status }

// ---------------------------------------------------------------------------------------------------------------------
// asking
// ---------------------------------------------------------------------------------------------------------------------

/**
 * Asks the process that runs a run to pause it: it lets end what it runs, starts nothing more, records that, and gives the run
 * back. From any process; the environment needs `pauses`.
 *
 * @example
 * import * as E from 'fp-ts/lib/Either.js'
 * import { pause } from 'dogear'
 * import { memoryPauses, memoryStorage } from 'dogear/memory'
 * import { nodeEnvironment } from 'dogear/node'
 * import { resume, runOutcome, workflow } from 'dogear/promise'
 * import assert from 'node:assert/strict'
 *
 * const environment = nodeEnvironment(memoryStorage(), { pauses: memoryPauses() })
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
 * @since 0.1.0
 */
export const pause =
  (runId: string, { commit = true }: PauseOptions = {}): Executor<PauseAnswer> =>
  (environment) =>
  async () => {
    const { pauses, clock } = environment
    if (pauses === undefined) return E.left({ _tag: 'NoPauses', runId })
    const before = await holderOf(environment, runId)
    if (E.isLeft(before)) return before
    const { holder } = before.right
    if (O.isNone(holder)) return atRest(runId, before.right)
    const { host, pid, since } = holder.value
    const addressee = { host, pid, since }
    const request = { runId, addressee, commit, requestedAt: timestamp(clock.now()) }
    const left = await answering('pause', () => pauses.request(request))
    // It may have come to rest in the meantime, or be gone; then nobody is left who would take the request away.
    const after = await holderOf(environment, runId)
    if (E.isLeft(after)) return after
    if (E.isLeft(left)) return left
    if (O.isSome(after.right.holder) && isFor(request, after.right.holder.value))
      return E.right({ _tag: 'Requested', runId, holder: holder.value })
    const gone = await answering('pause', () => pauses.withdraw(runId, request))
    return E.isLeft(gone) ? gone : atRest(runId, after.right)
  }

interface Seen {
  readonly checkpoint: Checkpoint
  readonly holder: O.Option<Holder>
}

const holderOf = async ({ storage }: Environment, runId: string): Promise<E.Either<RunError, Seen>> => {
  const stored = await answering('load', () => storage.load(runId))
  if (E.isLeft(stored)) return stored
  if (O.isNone(stored.right)) return E.left({ _tag: 'NoSuchRun', runId })
  const { heldBy: holder } = stored.right.value
  return E.map((checkpoint: Checkpoint) => ({ checkpoint, holder }))(restoreStored(stored.right.value, runId))
}

const atRest = (runId: string, { checkpoint, holder }: Seen): E.Either<never, PauseAnswer> =>
  E.right({ _tag: 'AtRest', runId, status: status(checkpoint, O.isSome(holder)) })

// ---------------------------------------------------------------------------------------------------------------------
// seeing
// ---------------------------------------------------------------------------------------------------------------------

/**
 * Looks out for requests to pause a run that this process holds. One for an earlier execution is taken away.
 *
 * @category constructors
 * @since 0.1.0
 */
export const watchFor = (environment: Environment, runId: string): PauseWatch => {
  let seen: Found | undefined
  const verify = async (): Promise<boolean> => {
    seen = (await forThis(environment, runId, seen?.request)) ?? seen
    return seen !== undefined
  }
  return {
    look: () => (seen !== undefined ? YES : isRequested(environment, runId) ? verify() : false),
    seen: () => seen !== undefined,
    // Another may have come since, while what ran was waited for.
    asked: async () => {
      await verify()
      return seen ?? LEAST
    }
  }
}

const YES = Promise.resolve(true)

/** A pause, and nothing else: what is done where nobody knows what was asked for. */
const LEAST: Asked = { commit: false }

const isRequested = ({ pauses }: Environment, runId: string): boolean => {
  try {
    return pauses?.isRequested(runId) === true
  } catch {
    return false
  }
}

/** What is asked for; `request`: by a request that is known to be for this execution. */
interface Found extends Asked {
  readonly request?: PauseRequest
}

/** What is asked of the execution that holds the run now, if anything is. What is `known` to be for it need not be found out again. */
const forThis = async (
  { pauses, storage }: Environment,
  runId: string,
  known: PauseRequest | undefined
): Promise<Found | undefined> => {
  if (pauses === undefined) return undefined
  const request = await answering('pause', () => pauses.requested(runId))
  if (E.isLeft(request)) return { ...LEAST, unreadable: request.left }
  if (O.isNone(request.right)) return undefined
  const { value } = request.right
  const { commit } = value
  if (known !== undefined && isSame(value, known)) return { commit, request: known }
  const stored: E.Either<StorageError, O.Option<Stored>> = await answering('load', () => storage.load(runId))
  if (E.isLeft(stored)) return { ...LEAST, unreadable: stored.left }
  const holder = O.isSome(stored.right) ? stored.right.value.heldBy : O.none
  if (O.isNone(holder)) return { commit }
  if (isFor(value, holder.value)) return { commit, request: value }
  await answering('pause', () => pauses.withdraw(runId, value))
  return undefined
}

// ---------------------------------------------------------------------------------------------------------------------
// leaving
// ---------------------------------------------------------------------------------------------------------------------

/**
 * Leaves behind what a pause leaves, once it is on record: a commit of what was not committed, and the pointer. Neither is needed to go
 * on, so what fails here is told and stops nothing.
 *
 * @category effects
 * @since 0.1.0
 */
export const leavePointer = async (
  environment: Environment,
  checkpoint: Checkpoint,
  { commit, unreadable }: Asked
): Promise<void> => {
  const { pauses, workspaces } = environment
  const { runId, workspace } = checkpoint
  const problems: Array<PointerError | WorkspaceError> = []
  const told = <Problem extends PointerError | WorkspaceError, A>(result: E.Either<Problem, A>): A | undefined => {
    if (E.isRight(result)) return result.right
    problems.push(result.left)
    return undefined
  }
  const made =
    commit && workspace?.kind === 'worktree' && workspaces !== undefined
      ? told(await caught('commit', () => workspaces.commit(runId, workspace)))
      : undefined
  const pointer = continueHere(checkpoint, made === undefined ? undefined : O.toUndefined(made))
  const where = pauses === undefined ? undefined : told(await caught('pointer', () => pauses.point(pointer)))
  report(environment, {
    _tag: 'RunPaused',
    runId,
    pointer,
    ...(where === undefined ? {} : { where }),
    ...(unreadable === undefined ? {} : { unreadable }),
    problems
  })
}

/** A port that throws where it should answer has failed as well. */
const caught = async <Problem, A>(
  operation: string,
  ask: () => TaskEither<Problem, A>
): Promise<E.Either<Problem | PointerError, A>> => {
  try {
    return await ask()()
  } catch (cause) {
    return E.left({ _tag: 'WriteFailed', where: 'what a pause leaves', operation, code: 'THREW', cause })
  }
}

/**
 * Takes away the pointer to a run that goes on.
 *
 * @category effects
 * @since 0.1.0
 */
export const removePointer = async ({ pauses }: Environment, runId: string): Promise<void> => {
  if (pauses !== undefined) await caught('pointer', () => pauses.unpoint(runId))
}

/**
 * Takes away the request to an execution that ends, however it ends. Whoever lost the run leaves it: it is for nobody any more, and the
 * next one sees that.
 *
 * @category effects
 * @since 0.1.0
 */
export const clearRequest = async (environment: Environment, runId: string): Promise<void> => {
  const { pauses } = environment
  if (pauses === undefined || !isRequested(environment, runId)) return
  await answering('pause', () => pauses.withdraw(runId))
}
