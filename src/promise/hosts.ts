/** Starts, lists, reads, forks, resumes and prunes the runs of a storage, as promises. */
import { randomUUID } from 'node:crypto'
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import { defined } from '../domain/data/defined.js'
import type { UnitView } from '../domain/explain/UnitView.js'
import { unitsOf } from '../domain/explain/UnitView.js'
import type { RetentionPolicy } from '../domain/checkpoint/Retention.js'
import type { Program } from '../executor/program/Program.js'
import type { RunOutcome } from '../executor/RunOutcome.js'
import type { KeptRun as FpKeptRun, Pruned as FpPruned } from '../executor/storage/prune.js'
import { prune as pruneRuns } from '../executor/storage/prune.js'
import type {
  ListedRun as FpListedRun,
  RunSummary as FpRunSummary,
  RunView as FpRunView
} from '../executor/storage/runs.js'
import { listRuns as listed, viewRun as viewed } from '../executor/storage/runs.js'
import type { ForkedRun, ForkOptions as FpForkOptions } from '../hosts/fork.js'
import { fork as forkRun } from '../hosts/fork.js'
import type { AnyProgram } from '../hosts/resumeAll.js'
import type { ResumeAllOptions as FpResumeAllOptions } from '../hosts/ResumeAllOptions.js'
import { resumeAll as resumeAllRuns } from '../hosts/resumeAll.js'
import type { ResumedRun } from '../hosts/ResumedRun.js'
import { start as startRun } from '../hosts/start.js'
import type { Holder, ListOptions, StorageError } from '../ports/CheckpointStorage.js'
import { asOutcome, callOrRefuse, orThrow, rightOrThrow } from './call.js'
import type { HostOptions, Options, StartOptions } from './options.js'
import { forRun, inputOf } from './options.js'
import type { Refused } from './RunFailure.js'

/**
 * A run that was started. `outcome` resolves with how it ends, as data, and never rejects.
 *
 * @category model
 */
export interface RunHandle<Outputs> {
  readonly runId: string
  readonly outcome: Promise<RunOutcome<Outputs> | Refused>
}

/**
 * Starts a new run, and resolves once it is durable: from then on a resume finds it after any crash. The run continues in this process. Rejects
 * with a {@link RunFailure} if nothing was recorded, for example because the id exists already.
 *
 * @example
 * import { memoryStorage } from 'dogear/memory'
 * import { start, workflow } from 'dogear/promise'
 * import assert from 'node:assert/strict'
 *
 * const greet = workflow('greet').step('hello', () => 'hello')
 * const { runId, outcome } = await start(greet, { id: 'greet-1', storage: memoryStorage() })
 * assert.equal(runId, 'greet-1')
 * const ended = await outcome
 * assert.ok(ended._tag === 'Completed' && ended.outputs.hello === 'hello')
 *
 * @category running
 */
export const start = <Outputs, Input>(
  program: Program<Outputs, Input, unknown, unknown>,
  options: StartOptions<Input>
): Promise<RunHandle<Outputs>> =>
  rightOrThrow(
    callOrRefuse('run', options, (given) => startRun(program, given.id, inputOf(given), forRun(given)), program).then(
      E.map(({ runId, outcome }) => ({ runId, outcome: outcome().then((ended) => asOutcome(runId, ended)) }))
    )
  )

/**
 * The options of {@link fork}: those of `ForkOptions` of `dogear`. `id`: the old run; `newId`: the new one, a UUID if missing.
 *
 * @category model
 */
export interface ForkOptions extends Options, FpForkOptions {
  readonly newId?: string
}

export type { ForkedRun } from '../hosts/fork.js'

/**
 * Makes a new run that starts at `fromStep` with the records of an old one, and does not run it: resume it under the returned `runId`, or let
 * {@link resumeAll} on the same storage do so. The old run stays as it is; see `fork` of `dogear`. Rejects with a {@link RunFailure} if nothing was
 * made.
 *
 * @example
 * import { memoryStorage } from 'dogear/memory'
 * import { fork, resume, run, workflow } from 'dogear/promise'
 * import assert from 'node:assert/strict'
 *
 * const storage = memoryStorage()
 * const report = workflow('report').step('collect', () => [1, 2]).step('print', () => 'printed')
 * await run(report, { id: 'report-1', storage })
 * const { runId } = await fork({ id: 'report-1', newId: 'report-2', fromStep: 'print', storage })
 * assert.equal((await resume(report, { id: runId, storage })).print, 'printed')
 *
 * @category running
 */
export const fork = (options: ForkOptions): Promise<ForkedRun> =>
  orThrow('fork', options, ({ id, newId = randomUUID(), fromStep, input, confirm, onChanged }) =>
    forkRun(id, newId, { fromStep, ...defined({ input, confirm, onChanged }) })
  )

/**
 * The facts of a run in a listing. `heldBy`: the process that owns it, if there is one. Otherwise as `RunSummary` of `dogear`.
 *
 * @category model
 */
export interface RunSummary extends Omit<FpRunSummary, 'heldBy'> {
  readonly heldBy?: Holder
}

/**
 * One run of a listing: its summary, or why it cannot be read.
 *
 * @category model
 */
export type ListedRun =
  | { readonly runId: string; readonly summary: RunSummary; readonly error?: undefined }
  | { readonly runId: string; readonly summary?: undefined; readonly error: StorageError }

/**
 * A run with its whole state: all that a report or a page shows. `units`: each unit with its status, in the order of the workflow. A view is
 * data, and `JSON.stringify` keeps it.
 *
 * @category model
 */
export interface RunView extends RunSummary, Pick<FpRunView, 'checkpoint'> {
  readonly units: ReadonlyArray<UnitView>
}

/**
 * Lists the runs of a storage in the order of their ids: all, or a page of `limit` runs that follow the id `after`. Reads the summaries that a store
 * keeps. A damaged run is listed with its `error`. Rejects with a {@link RunFailure} if the storage cannot be read.
 *
 * @example
 * import { memoryStorage } from 'dogear/memory'
 * import { listRuns, run, workflow } from 'dogear/promise'
 * import assert from 'node:assert/strict'
 *
 * const storage = memoryStorage()
 * const greet = workflow('greet').step('hello', () => 'hello')
 * for (const id of ['greet-1', 'greet-2', 'greet-3']) await run(greet, { id, storage })
 * const page = await listRuns({ storage, after: 'greet-1', limit: 1 })
 * assert.deepEqual(page.map(({ runId, summary }) => [runId, summary?.status]), [['greet-2', 'completed']])
 *
 * @category looking
 */
export const listRuns = (options: HostOptions & ListOptions): Promise<ReadonlyArray<ListedRun>> =>
  rightOrThrow(
    callOrRefuse('list', options, ({ after, limit }) => listed(defined({ after, limit }))).then(
      E.map((runs) => runs.map(listedOf))
    )
  )

const listedOf = ({ runId, summary }: FpListedRun): ListedRun =>
  E.isLeft(summary) ? { runId, error: summary.left } : { runId, summary: withHolder(summary.right) }

const withHolder = <A extends FpRunSummary>({
  heldBy,
  ...facts
}: A): Omit<A, 'heldBy'> & { readonly heldBy?: Holder } =>
  O.isNone(heldBy) ? facts : { ...facts, heldBy: heldBy.value }

/**
 * Reads one run; `undefined` if no run has this id. Rejects with a {@link RunFailure} if it cannot be read.
 *
 * @example
 * import { memoryStorage } from 'dogear/memory'
 * import { runOutcome, viewRun, workflow } from 'dogear/promise'
 * import assert from 'node:assert/strict'
 *
 * const options = { id: 'release-1', storage: memoryStorage() }
 * const release = workflow('release').step('build', () => 'built').waitFor('approve').step('publish', () => 'published')
 * await runOutcome(release, options)
 * const view = await viewRun(options)
 * assert.equal(view?.status, 'pending')
 * assert.deepEqual(view.units.map(({ unit, status }) => `${unit}: ${status}`), [
 *   'build: completed',
 *   'approve: pending',
 *   'publish: not started'
 * ])
 *
 * @category looking
 */
export const viewRun = (options: Options): Promise<RunView | undefined> =>
  rightOrThrow(
    callOrRefuse('oneRun', options, ({ id }) => viewed(id)).then(
      E.map((view) =>
        O.isNone(view) ? undefined : { ...withHolder(view.value), units: unitsOf(view.value.checkpoint) }
      )
    )
  )

/**
 * The options of {@link resumeAll}: those of `ResumeAllOptions` of `dogear`. `workflows`: those of the runs, found by name. `signal`: stops all
 * runs, and ends a `watch`.
 *
 * @category model
 */
export interface ResumeAllOptions extends HostOptions, FpResumeAllOptions {
  readonly workflows: ReadonlyArray<AnyProgram>
}

export type { ResumedRun } from '../hosts/ResumedRun.js'

/**
 * Resumes every run of the storage that is queued, was interrupted, or whose timer or answer is due: to call when a host starts. Leaves and reports
 * all others; see `resumeAll` of `dogear`. With `watch` it stays until the signal. Rejects with a {@link RunFailure} only if the runs cannot be
 * listed.
 *
 * @example
 * import { memoryStorage } from 'dogear/memory'
 * import { resumeAll, runOutcome, workflow } from 'dogear/promise'
 * import assert from 'node:assert/strict'
 *
 * const storage = memoryStorage()
 * const order = workflow('order').step('charge', () => 'charged')
 * await runOutcome(order, { id: 'order-1', storage, signal: AbortSignal.abort() })
 * const found = await resumeAll({ storage, workflows: [order] })
 * assert.deepEqual(found, [{ _tag: 'Resumed', runId: 'order-1', workflow: 'order', outcome: 'Completed' }])
 *
 * @category running
 */
export const resumeAll = (options: ResumeAllOptions): Promise<ReadonlyArray<ResumedRun>> =>
  orThrow('resumeAll', options, ({ workflows, storage: _, signal: __, environment: ___, ...more }) =>
    resumeAllRuns(workflows, more)
  )

/**
 * The options of {@link prune}: those of `RetentionPolicy` of `dogear`, of which `keep` or `olderThanMillis` is required. `signal`: ends the removal
 * once the runs that are being removed are.
 *
 * @category model
 */
export interface PruneOptions extends HostOptions, RetentionPolicy {}

/** A run that was not removed, and why. */
export interface KeptRun extends Omit<FpKeptRun, 'run'> {
  readonly run: RunSummary
}

/**
 * What {@link prune} removed and left; see `Pruned` of `dogear`.
 *
 * @category model
 */
export interface Pruned extends Omit<FpPruned, 'removed' | 'left'> {
  readonly removed: ReadonlyArray<RunSummary>
  readonly left: ReadonlyArray<KeptRun>
}

/**
 * Removes old runs, and what is left of runs that never started. Rejects with a {@link RunFailure} if the runs cannot be listed.
 *
 * @example
 * import { memoryStorage } from 'dogear/memory'
 * import { listRuns, prune, run, workflow } from 'dogear/promise'
 * import assert from 'node:assert/strict'
 *
 * const storage = memoryStorage()
 * const greet = workflow('greet').step('hello', () => 'hello')
 * for (const id of ['greet-1', 'greet-2', 'greet-3']) await run(greet, { id, storage })
 * const { removed } = await prune({ storage, keep: 1 })
 * assert.equal(removed.length, 2)
 * assert.deepEqual((await listRuns({ storage })).map(({ runId }) => runId), ['greet-3'])
 *
 * @category running
 */
export const prune = (options: PruneOptions): Promise<Pruned> =>
  rightOrThrow(
    callOrRefuse('prune', options, ({ keep, olderThanMillis, statuses }) =>
      pruneRuns(defined({ keep, olderThanMillis, statuses }))
    ).then(
      E.map(({ removed, left, ...more }) => ({
        ...more,
        removed: removed.map(withHolder),
        left: left.map((one) => ({ ...one, run: withHolder(one.run) }))
      }))
    )
  )
