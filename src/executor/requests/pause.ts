/** Pausing a run: asking for it, and what a pause leaves behind. */
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import type { Checkpoint, Status } from '../../domain/checkpoint/Checkpoint.js'
import { status } from '../../domain/checkpoint/Checkpoint.js'
import { continueHere } from '../../domain/request/Pause.js'
import type { PauseRequest } from '../../domain/request/Request.js'
import type { Holder } from '../../ports/CheckpointStorage.js'
import type { Environment } from '../../ports/Environment.js'
import type { PointerError } from '../../ports/Requests.js'
import type { WorkspaceError } from '../../ports/Workspaces.js'
import { callPort, writeFailed } from '../callPort.js'
import type { Executor } from '../Executor.js'
import { askOwner, isAny, withdraw } from './inbox.js'
import type { Asked } from './RequestWatch.js'
import { report, timestamp } from '../RunScope.js'

/**
 * How to pause. `commit`: whether what is not committed in a worktree of the run's own is to be, default true.
 *
 * @category model
 */
export interface PauseOptions {
  readonly commit?: boolean
}

/**
 * What came of asking a run to pause. `Requested`: the process that holds it (`holder`) pauses it when what it runs now has
 * ended. `AtRest`: no live process runs it, and nothing was written.
 *
 * @category model
 */
export type PauseResult =
  | { readonly _tag: 'Requested'; readonly runId: string; readonly holder: Holder }
  | { readonly _tag: 'AtRest'; readonly runId: string; readonly status: Status }

/**
 * Asks the process that runs a run to pause it: it lets end what it runs, starts nothing more, records that, and gives the run
 * back. From any process; the environment needs `requests`.
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
export const pause =
  (runId: string, { commit = true }: PauseOptions = {}): Executor<PauseResult> =>
  (environment) =>
  async () => {
    const { requests, clock } = environment
    if (requests === undefined) return E.left({ _tag: 'NoRequests', runId })
    const requestTo = ({ host, pid, since }: Holder): PauseRequest => {
      const addressee = { host, pid, since }
      return { _tag: 'Pause', runId, addressee, commit, requestedAt: timestamp(clock.now()) }
    }
    const asked = await askOwner(environment, runId, requestTo, () => false)
    if (E.isLeft(asked)) return asked
    if (asked.right._tag === 'Requested') return E.right({ ...asked.right, runId })
    const { seen, left } = asked.right
    // Nobody is left who would withdraw it.
    const withdrawn = O.isNone(left) ? E.right(undefined) : await withdraw(environment, left.value)
    if (E.isLeft(withdrawn)) return withdrawn
    return E.right({ _tag: 'AtRest', runId, status: status(seen.checkpoint, O.isSome(seen.holder)) })
  }

/** A resume needs neither the commit nor the pointer, so a failure here is reported and stops nothing. */
export const leavePointer = async (
  environment: Environment,
  checkpoint: Checkpoint,
  { commit, unreadable }: Asked
): Promise<void> => {
  const { requests, workspaces } = environment
  const { runId, workspace } = checkpoint
  const problems: Array<PointerError | WorkspaceError> = []
  const told = <Problem extends PointerError | WorkspaceError, A>(result: E.Either<Problem, A>): A | undefined => {
    if (E.isRight(result)) return result.right
    problems.push(result.left)
    return undefined
  }
  const made =
    commit && workspace?.kind === 'worktree' && workspaces !== undefined
      ? told(await callPort('commit', () => workspaces.commit(runId, workspace), threw))
      : undefined
  const pointer = continueHere(checkpoint, made === undefined ? undefined : O.toUndefined(made))
  const where = requests === undefined ? undefined : told(await callPort('point', () => requests.point(pointer), threw))
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
  if (requests === undefined || !isAny(environment, runId)) return
  await callPort('clearPause', () => requests.clearPause(runId), threw)
}
