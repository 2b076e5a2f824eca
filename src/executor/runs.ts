/**
 * Looking at runs without touching them.
 *
 * @since 0.1.0
 */
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import type { Checkpoint, Status } from '../domain/Checkpoint.js'
import { status } from '../domain/Checkpoint.js'
import type { Found, Holder, Listed, StorageError, Stored } from '../ports/CheckpointStorage.js'
import type { Executor } from './Environment.js'
import { restoreStored } from './run.js'

/**
 * A run as it is stored: its checkpoint, what it is doing, who holds it, and how it was found.
 *
 * @category model
 * @since 0.1.0
 */
export interface RunView {
  readonly runId: string
  readonly checkpoint: Checkpoint
  readonly status: Status
  readonly heldBy: O.Option<Holder>
  readonly found: Found
}

/**
 * One run of a listing: what it is, or why it can't be read.
 *
 * @category model
 * @since 0.1.0
 */
export interface ListedRun {
  readonly runId: string
  readonly view: E.Either<StorageError, RunView>
}

/**
 * One run, or none if there is none of this id.
 *
 * @category looking
 * @since 0.1.0
 */
export const viewRun =
  (runId: string): Executor<O.Option<RunView>> =>
  ({ storage }) =>
  async () => {
    const stored = await storage.load(runId)()
    if (E.isLeft(stored)) return stored
    if (O.isNone(stored.right)) return E.right(O.none)
    const view = viewOf(runId, stored.right.value)
    return E.isLeft(view) ? view : E.right(O.some(view.right))
  }

/**
 * Every run there is, newest first; those that can't be read come last. A damaged run breaks nothing.
 *
 * @category looking
 * @since 0.1.0
 */
export const listRuns: Executor<ReadonlyArray<ListedRun>> =
  ({ storage }) =>
  async () => {
    const listed = await storage.list()()
    if (E.isLeft(listed)) return listed
    const runs = listed.right.map(listedRun)
    return E.right([...runs].sort((a, b) => compareText(createdAt(b), createdAt(a)) || compareText(a.runId, b.runId)))
  }

const listedRun = ({ runId, stored }: Listed): ListedRun => ({
  runId,
  view: E.isLeft(stored) ? stored : viewOf(runId, stored.right)
})

const createdAt = ({ view }: ListedRun): string => (E.isRight(view) ? view.right.checkpoint.createdAt : '')

const compareText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

const viewOf = (runId: string, stored: Stored): E.Either<StorageError, RunView> => {
  const restored = restoreStored(stored, runId)
  return E.isLeft(restored)
    ? restored
    : E.right({
        runId,
        checkpoint: restored.right,
        status: status(restored.right, O.isSome(stored.heldBy)),
        heldBy: stored.heldBy,
        found: stored.found
      })
}
