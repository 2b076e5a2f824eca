/** Removes listed runs, or those that a retention policy lists, and what is left of runs that never started. */
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import type { Checkpoint } from '../../domain/checkpoint/Checkpoint.js'
import type { RetainedRun, RetentionPolicy } from '../../domain/checkpoint/Retention.js'
import { expired, PRUNABLE } from '../../domain/checkpoint/Retention.js'
import type { Check, OptionProblem } from '../../domain/data/Options.js'
import { amount, arrayOf, eachOf, fieldsOf, isText, optionProblems, wholeFrom } from '../../domain/data/Options.js'
import type { StorageError } from '../../ports/CheckpointStorage.js'
import type { Environment } from '../../ports/Environment.js'
import type { Executor } from '../ExecutorCall.js'
import type { NotRemoved } from '../workspace/onSuccess.js'
import { notRemoved, removeChecked, removeRun, RESUMED, whyKept } from '../workspace/onSuccess.js'
import { argumentProblems, unless } from '../arguments.js'
import { describe } from '../errors/describe.js'
import { turn } from '../sleep.js'
import type { RunSummary } from './runs.js'
import { listStored, storedRun } from './runs.js'

/**
 * `left`: runs that were not removed, because they were resumed meanwhile, have their own workspace (`clean` deletes that) or are damaged
 * (`verify` shows how), or because the removal failed. `isStopped`: the environment was interrupted before all runs had their turn.
 */
export interface Removed {
  readonly removed: ReadonlyArray<RunSummary>
  readonly left: ReadonlyArray<KeptRun>
  readonly isStopped: boolean
}

/** `neverStarted`: runs without a checkpoint, of which a claim left something in the store. */
export interface Pruned extends Removed {
  readonly neverStarted: ReadonlyArray<NeverStarted>
}

/** A run without a checkpoint. `why`: the reason, if what was left of it could not be removed. */
export interface NeverStarted {
  readonly runId: string
  readonly why?: string
}

/** A run that was not removed. */
export interface KeptRun extends NotRemoved {
  readonly run: RunSummary
}

/**
 * Lists the runs that a policy would remove, oldest first; never damaged or unreadable ones. Changes nothing.
 *
 * @category looking
 */
export const findExpired =
  (policy: RetentionPolicy): Executor<ReadonlyArray<RunSummary>> =>
  (environment) =>
  async () =>
    E.map(({ expired }: Prunable) => expired.filter(({ found }) => found._tag === 'Exact'))(
      await findPrunable(policy)(environment)()
    )

/**
 * What a policy selects. `expired` includes damaged runs, which a removal keeps and reports. `unreadable`: errors of runs without a readable state.
 */
export interface Prunable {
  readonly expired: ReadonlyArray<RunSummary>
  readonly neverStarted: ReadonlyArray<string>
  readonly unreadable: ReadonlyArray<StorageError>
}

/** Lists what {@link prune} would remove. Changes nothing. */
export const findPrunable = (policy: RetentionPolicy): Executor<Prunable> =>
  unless(policyProblems(policy), () => findRuns(policy))

const policyProblems = (policy: RetentionPolicy): ReadonlyArray<OptionProblem> => {
  if (policy === undefined) return [{ option: 'policy', expected: 'an object, such as { keep: 10 }' }]
  const problems = optionProblems(policy, POLICY)
  if (problems.length > 0) return problems
  return policy.keep === undefined && policy.olderThanMillis === undefined ? [NO_LIMIT] : []
}

/** `keep`, not `policy.keep`: in the promise form it is an option of `prune`. */
const NO_LIMIT = { option: 'keep', expected: 'a whole number ≥ 0, unless olderThanMillis is set' }

/** A limit that is no number, such as `null`, would keep nothing. */
const POLICY: Readonly<Record<keyof RetentionPolicy, Check>> = {
  keep: (value) => (value === Infinity ? undefined : wholeFrom(0)(value)),
  olderThanMillis: amount,
  statuses: eachOf(...PRUNABLE)
}

const findRuns =
  (policy: RetentionPolicy): Executor<Prunable> =>
  ({ storage, clock }) =>
  async () => {
    const listed = await listStored(storage)
    if (E.isLeft(listed)) return listed
    const runs = listed.right.runs.flatMap(({ summary }) => (E.isRight(summary) ? [retained(summary.right)] : []))
    return E.right({
      expired: expired(runs, policy, clock.now()).map(({ run }) => run),
      neverStarted: listed.right.abandoned,
      unreadable: listed.right.runs.flatMap(({ summary }) => (E.isLeft(summary) ? [summary.left] : []))
    })
  }

const retained = (run: RunSummary): RetainedRun & { readonly run: RunSummary } => ({
  run,
  runId: run.runId,
  workflow: run.workflow.name,
  status: run.status,
  isHeld: O.isSome(run.heldBy),
  isDamaged: run.found._tag === 'Recovered',
  endedAtMillis: Date.parse(run.updatedAt)
})

/**
 * Removes runs, several at a time. A run stays if it was resumed meanwhile, is damaged, or has its own workspace. An interrupt of the
 * environment ends the removal once the removals in progress have ended.
 *
 * @category running
 */
export const removeRuns = (runs: ReadonlyArray<RunSummary>): Executor<Removed> =>
  unless(
    argumentProblems('runs', runs, SUMMARIES),
    () => (environment) => async () =>
      E.right(await removeEach(environment, runs, (run) => removeUnchanged(environment, run)))
  )

const SUMMARIES = arrayOf((run) => isText(fieldsOf(run)['runId']), 'an array of summaries of runs')

/** Removes expired runs, then what is left of runs that never started, unless a process claimed or saved one meanwhile. */
export const removePrunable =
  ({ expired, neverStarted }: Omit<Prunable, 'unreadable'>): Executor<Pruned> =>
  (environment) =>
  async () => {
    const runs = await removeEach(environment, expired, (run) => removeUnchanged(environment, run))
    const rest = await removeEach(environment, neverStarted, async (runId) => {
      const removed = await removeChecked(environment, { runId, ...NOTHING_SAVED })
      return E.isLeft(removed) ? notRemoved(removed.left) : undefined
    })
    const failed = rest.left.flatMap(({ run, reason, why }) => (reason === 'failed' ? [{ runId: run, why }] : []))
    return E.right({
      ...runs,
      neverStarted: [...rest.removed.map((runId) => ({ runId })), ...failed],
      isStopped: runs.isStopped || rest.isStopped
    })
  }

/** The newest revision of a run without one: a removal of this revision deletes no run that has saved one. */
const NOTHING_SAVED = { revision: -1, updatedAt: '' }

/** Returns what {@link removeRuns} would do now. Changes nothing. */
export const previewRemoval =
  (runs: ReadonlyArray<RunSummary>): Executor<Removed> =>
  (environment) =>
  async () =>
    E.right(
      await removeEach(environment, runs, async (run) => {
        const found = await assess(environment, run)
        return E.isLeft(found) ? found.left : undefined
      })
    )

/**
 * Removes up to `REMOVALS_AT_ONCE` runs at a time; `remove` returns why a run stays. Each removal after these starts in its own turn of the event
 * loop: else a store that answers without waiting would block the process, and an interrupt with it.
 */
const removeEach = async <A>(
  { interrupt }: Environment,
  runs: ReadonlyArray<A>,
  remove: (run: A) => Promise<NotRemoved | undefined>
) => {
  const reasons: Array<NotRemoved | undefined> = []
  let next = 0
  let last: Promise<void> = Promise.resolve()
  const ownTurn = (): Promise<void> => (last = last.then(turn))
  const removeNext = async (): Promise<void> => {
    while (next < runs.length && !interrupt.signal.aborted) {
      const index = next++
      reasons[index] = await remove(runs[index] as A)
      await ownTurn()
    }
  }
  await Promise.all(Array.from({ length: REMOVALS_AT_ONCE }, removeNext))
  const tried = runs.slice(0, next)
  return {
    removed: tried.filter((_, index) => reasons[index] === undefined),
    left: tried.flatMap((run, index) => (reasons[index] === undefined ? [] : [{ run, ...reasons[index] }])),
    isStopped: next < runs.length
  }
}

/** The maximum number of concurrent removals. A store may sync them together. */
const REMOVALS_AT_ONCE = 100

const removeUnchanged = async (environment: Environment, run: RunSummary): Promise<NotRemoved | undefined> => {
  const found = await assess(environment, run)
  if (E.isLeft(found)) return found.left
  return await removeRun(environment, found.right ?? run, found.right)
}

/** Returns why a run stays, or its checkpoint, if it has one. */
const assess = async (
  environment: Environment,
  run: RunSummary
): Promise<E.Either<NotRemoved, Checkpoint | undefined>> => {
  const now = await storedRun(run.runId)(environment)()
  if (E.isLeft(now)) return E.left({ reason: 'failed', why: describe(now.left) })
  if (O.isNone(now.right)) return E.right(undefined)
  const view = now.right.value
  const hasChanged = view.revision !== run.revision || view.createdAt !== run.createdAt
  if (O.isSome(view.heldBy) || hasChanged) return E.left(RESUMED)
  if (view.found._tag === 'Recovered')
    return E.left({ reason: 'damaged', why: `its newest state is damaged: ${view.found.lost}` })
  const kept = await whyKept(environment, view.checkpoint)
  return kept === undefined ? E.right(view.checkpoint) : E.left(kept)
}

/**
 * Removes the runs that {@link findExpired} lists (see `RetentionPolicy`), and what is left of runs that never started.
 *
 * @example
 * import * as E from 'fp-ts/lib/Either.js'
 * import { prune } from 'dogear'
 * import { memoryStorage } from 'dogear/memory'
 * import { nodeEnvironment } from 'dogear/node'
 * import { run, workflow } from 'dogear/promise'
 * import assert from 'node:assert/strict'
 *
 * const storage = memoryStorage()
 * const greet = workflow('greet').step('hello', () => 'hello')
 * for (const id of ['greet-1', 'greet-2', 'greet-3']) await run(greet, { id, storage })
 * const pruned = await prune({ keep: 1 })(nodeEnvironment(storage))()
 * assert.equal(E.isRight(pruned) && pruned.right.removed.length, 2)
 * const left = await storage.list()()
 * assert.deepEqual(E.isRight(left) && left.right.map(({ runId }) => runId), ['greet-3'])
 *
 * @category running
 */
export const prune =
  (policy: RetentionPolicy): Executor<Pruned> =>
  (environment) =>
  async () => {
    const found = await findPrunable(policy)(environment)()
    return E.isLeft(found) ? found : await removePrunable(found.right)(environment)()
  }
