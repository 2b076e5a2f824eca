/** Reads runs without changing them. */
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import type { Checkpoint } from '../../domain/checkpoint/Checkpoint.js'
import * as Summary from '../../domain/checkpoint/Summary.js'
import type {
  CheckpointStorage,
  Found,
  Holder,
  Listed,
  ListOptions,
  StorageError,
  Stored
} from '../../ports/CheckpointStorage.js'
import type { Executor } from '../ExecutorCall.js'
import { callProblems, inEnvironment, unless } from '../arguments.js'
import type { Check } from '../../domain/data/Options.js'
import { fieldsOf, isText, kindOf, text, wholeFrom } from '../../domain/data/Options.js'
import { callPort, load, readFailed, STORE } from '../callPort.js'
import { withInboxAnswers } from '../requests/inboxAnswers.js'
import { restoreStored } from './stored.js'

/**
 * The facts of a run in a listing. `found`: how its newest state was found. A listing reads the summary that a store keeps, so `Exact`
 * there says nothing of the content: {@link viewRun} reads that.
 *
 * @category model
 */
export interface RunSummary extends Omit<Summary.Summary, 'heldStatus'> {
  readonly runId: string
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
 * Reads one run; `None` if no run has this id. Answers in its inbox count as recorded, if the environment has `requests`: the next owner records
 * them first. Changes nothing.
 *
 * @category looking
 */
export const viewRun = (runId: string): Executor<O.Option<RunView>> =>
  inEnvironment((environment) => async () => {
    const stored = await storedRun(runId)(environment)()
    if (E.isLeft(stored) || O.isNone(stored.right)) return stored
    const view = stored.right.value
    // Consent to a recovered state comes before answers.
    if (view.found._tag === 'Recovered') return stored
    const checkpoint = await withInboxAnswers(environment, view.checkpoint)
    return E.right(O.some(viewWith(checkpoint, view)))
  })

/** Reads one run as it is stored. */
export const storedRun =
  (runId: string): Executor<O.Option<RunView>> =>
  (environment) =>
  async () => {
    const stored = await load(environment, runId)
    if (E.isLeft(stored)) return stored
    if (O.isNone(stored.right)) return E.right(O.none)
    return E.map((view: RunView) => O.some(view))(viewOf(runId, stored.right.value))
  }

/**
 * Lists runs in the order of their ids: all, or a page. A damaged run does not stop the listing. A run of which the store keeps no
 * summary is loaded.
 *
 * @example
 * import * as E from 'fp-ts/lib/Either.js'
 * import { listRuns, newestFirst } from 'dogear'
 * import { memoryStorage } from 'dogear/memory'
 * import { nodeEnvironment } from 'dogear/node'
 * import { run, workflow } from 'dogear/promise'
 * import assert from 'node:assert/strict'
 *
 * const storage = memoryStorage()
 * const greet = workflow('greet').step('hello', () => 'hello')
 * for (const id of ['greet-1', 'greet-2', 'greet-3']) await run(greet, { id, storage })
 * const page = await listRuns({ after: 'greet-1', limit: 100 })(nodeEnvironment(storage))()
 * assert.ok(E.isRight(page))
 * assert.deepEqual(page.right.map(({ runId }) => runId), ['greet-2', 'greet-3'])
 * assert.equal(newestFirst(page.right)[0]?.runId, 'greet-3')
 *
 * @category looking
 */
export const listRuns = (page: ListOptions = {}): Executor<ReadonlyArray<ListedRun>> =>
  unless(
    callProblems(page, LIST),
    () =>
      ({ storage }) =>
      async () =>
        E.map(({ runs }: Listing) => runs)(await listStored(storage, page))
  )

/** The checks of the options of `listRuns`. */
export const LIST: Readonly<Record<keyof ListOptions, Check>> = { after: text, limit: wholeFrom(1) }

/** `abandoned`: the ids of runs without a checkpoint, of which a claim left something in the store. */
interface Listing {
  readonly runs: ReadonlyArray<ListedRun>
  readonly abandoned: ReadonlyArray<string>
}

export const listStored = async (
  storage: CheckpointStorage,
  page: ListOptions = {}
): Promise<E.Either<StorageError, Listing>> => {
  const runs: Array<ListedRun> = []
  const abandoned: Array<string> = []
  let rest = page
  for (;;) {
    const request = rest
    const listed = await callPort('list', () => storage.list(request), readFailed(STORE))
    if (E.isLeft(listed)) return listed
    const wrong = listingError(listed.right, request)
    if (wrong !== undefined) return E.left(readFailed(STORE)('list', wrong))
    for (let n = 0; n < listed.right.length; n += LOADS_AT_ONCE) {
      const some = listed.right.slice(n, n + LOADS_AT_ONCE)
      const read = await Promise.all(some.map((one) => listedRun(storage, one)))
      runs.push(...read.flat())
      abandoned.push(
        ...some.flatMap(({ runId, isAbandoned }, m) => (isAbandoned === true && read[m]?.length === 0 ? [runId] : []))
      )
    }
    // A run without a checkpoint takes no place on a page.
    const last = listed.right.at(-1)?.runId
    const missing = (page.limit ?? 0) - runs.length
    if (last === undefined || missing <= 0 || listed.right.length < (request.limit ?? 0))
      return E.right({ runs, abandoned })
    rest = { after: last, limit: missing }
  }
}

/** Returns what is wrong with a page that a store listed. If the store ignores `after`, the listing would never end. */
const listingError = (listed: ReadonlyArray<Listed>, { after = '' }: ListOptions): Error | undefined => {
  if (!Array.isArray(listed)) return new Error(`it must list an array, not ${kindOf(listed)}`)
  for (const one of listed) {
    const runId = fieldsOf(one)['runId']
    if (!isText(runId)) return new Error(`each entry must have a runId, not ${kindOf(runId)}`)
    if (runId <= after) return new Error(`after ${JSON.stringify(after)} it listed ${kindOf(runId)}`)
  }
  return undefined
}

/** Each load may need the memory of a whole checkpoint. */
const LOADS_AT_ONCE = 8

/** The newest state was read as it was saved. */
export const EXACT: Found = { _tag: 'Exact' }

const listedRun = async (
  storage: CheckpointStorage,
  { runId, summary: listedSummary }: Listed
): Promise<ReadonlyArray<ListedRun>> => {
  if (listedSummary !== undefined)
    return [{ runId, summary: E.right(summaryOf(runId, listedSummary, listedSummary.heldBy, EXACT)) }]
  const stored = await load({ storage }, runId)
  if (E.isLeft(stored)) return [{ runId, summary: stored }]
  if (O.isNone(stored.right)) return []
  return [
    { runId, summary: E.map(({ checkpoint: _, ...summary }: RunView) => summary)(viewOf(runId, stored.right.value)) }
  ]
}

/**
 * Sorts listed runs: newest first, runs of the same millisecond in descending order of their ids, unreadable runs last.
 *
 * @category looking
 */
export const newestFirst = (runs: ReadonlyArray<ListedRun>): ReadonlyArray<ListedRun> =>
  [...runs].sort((a, b) => compareText(createdAt(b), createdAt(a)) || compareText(b.runId, a.runId))

const createdAt = ({ summary }: ListedRun): string => (E.isRight(summary) ? summary.right.createdAt : '')

const compareText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

const viewOf = (runId: string, stored: Stored): E.Either<StorageError, RunView> =>
  E.map((checkpoint: Checkpoint) => viewWith(checkpoint, stored))(restoreStored(stored, runId))

const viewWith = (checkpoint: Checkpoint, { heldBy, found }: Pick<Stored, 'heldBy' | 'found'>): RunView => ({
  ...summaryOf(checkpoint.runId, Summary.of(checkpoint), heldBy, found),
  checkpoint
})

const summaryOf = (
  runId: string,
  { revision, workflow, status, heldStatus, steps, waits, createdAt, updatedAt }: Summary.Summary,
  heldBy: O.Option<Holder>,
  found: Found
): RunSummary => ({
  runId,
  revision,
  workflow,
  status: O.isSome(heldBy) ? heldStatus : status,
  steps,
  ...(waits === undefined ? {} : { waits }),
  createdAt,
  updatedAt,
  heldBy,
  found
})
