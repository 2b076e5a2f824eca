/** Reads runs without changing them. */
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import type { Checkpoint, Status } from '../../domain/checkpoint/Checkpoint.js'
import { progress, status } from '../../domain/checkpoint/Checkpoint.js'
import type { Json } from '../../domain/data/Json.js'
import type { Found, Holder, StorageError, Stored } from '../../ports/CheckpointStorage.js'
import type { Executor } from '../Executor.js'
import { callPort, load, readFailed, STORE } from '../callPort.js'
import { restoreStored } from './stored.js'

/**
 * The summary of a run in a listing.
 *
 * @category model
 */
export interface RunSummary {
  readonly runId: string
  readonly revision: number
  readonly workflow: { readonly name: string; readonly path?: string }
  readonly input: Json
  readonly status: Status
  readonly steps: { readonly completed: number; readonly total: number }
  readonly createdAt: string
  readonly updatedAt: string
  readonly heldBy: O.Option<Holder>
  readonly found: Found
}

/**
 * A stored run with its whole state.
 *
 * @category model
 */
export interface RunView extends RunSummary {
  readonly checkpoint: Checkpoint
}

/**
 * One run of a listing: its summary, or why it cannot be read.
 *
 * @category model
 */
export interface ListedRun {
  readonly runId: string
  readonly summary: E.Either<StorageError, RunSummary>
}

/**
 * Reads one run; `None` if no run has this id.
 *
 * @category looking
 */
export const viewRun =
  (runId: string): Executor<O.Option<RunView>> =>
  (environment) =>
  async () => {
    const stored = await load(environment, runId)
    if (E.isLeft(stored)) return stored
    if (O.isNone(stored.right)) return E.right(O.none)
    const view = viewOf(runId, stored.right.value)
    return E.isLeft(view) ? view : E.right(O.some(view.right))
  }

/**
 * Lists all runs, newest first; runs of the same millisecond in descending order of their ids; unreadable runs last.
 * Runs are read one after the other, and only the summaries are kept. A damaged run does not stop the listing.
 *
 * @category looking
 */
export const listRuns: Executor<ReadonlyArray<ListedRun>> =
  ({ storage }) =>
  async () => {
    const listed = await callPort('list', storage.list, readFailed(STORE))
    if (E.isLeft(listed)) return listed
    const runs: Array<ListedRun> = []
    for (const runId of listed.right) {
      const stored = await load({ storage }, runId)
      if (E.isLeft(stored)) runs.push({ runId, summary: stored })
      else if (O.isSome(stored.right))
        runs.push({ runId, summary: E.map(summaryOf)(viewOf(runId, stored.right.value)) })
    }
    return E.right(runs.sort((a, b) => compareText(createdAt(b), createdAt(a)) || compareText(b.runId, a.runId)))
  }

const createdAt = ({ summary }: ListedRun): string => (E.isRight(summary) ? summary.right.createdAt : '')

const compareText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

const summaryOf = ({ checkpoint: _, ...summary }: RunView): RunSummary => summary

const viewOf = (runId: string, { found, heldBy, ...content }: Stored): E.Either<StorageError, RunView> =>
  E.map((checkpoint: Checkpoint): RunView => {
    const { revision, workflow, input, createdAt, updatedAt } = checkpoint
    const path = workflow.path === undefined ? {} : { path: workflow.path }
    return {
      runId,
      revision,
      workflow: { name: workflow.name, ...path },
      input,
      status: status(checkpoint, O.isSome(heldBy)),
      steps: progress(checkpoint),
      createdAt,
      updatedAt,
      heldBy,
      found,
      checkpoint
    }
  })(restoreStored({ found, heldBy, ...content }, runId))
