/**
 * Finding the run that is meant.
 *
 * @since 0.1.0
 */
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import * as RunId from '../../domain/RunId.js'
import { describeStorage } from '../../executor/RunError.js'
import type { ListedRun, RunSummary, RunView } from '../../executor/runs.js'
import { listRuns, viewRun } from '../../executor/runs.js'
import type { StorageError } from '../../ports/CheckpointStorage.js'
import type { CliError } from '../CliError.js'
import { notDone } from '../CliError.js'
import { printable } from '../terminal/Style.js'
import type { Context } from './Context.js'
import { environmentFor } from './Context.js'
import { ofNoRun, ofNothing } from './hints.js'

/**
 * How short the beginning of a run id may be that stands for it.
 *
 * @category model
 * @since 0.1.0
 */
export const MIN_PREFIX = 4

/**
 * The runs of a store: those that can be read, newest first, and those that can't.
 *
 * @category model
 * @since 0.1.0
 */
export interface Runs {
  readonly runs: ReadonlyArray<RunSummary>
  readonly damaged: ReadonlyArray<{ readonly runId: string; readonly error: StorageError }>
}

// ---------------------------------------------------------------------------------------------------------------------
// finding
// ---------------------------------------------------------------------------------------------------------------------

/**
 * All runs of the store.
 *
 * @category effects
 * @since 0.1.0
 */
export const allRuns = async (context: Context): Promise<E.Either<CliError, Runs>> => {
  const listed = await listRuns(environmentFor(context))()
  if (E.isLeft(listed)) return E.left(notDone(listed.left))
  return E.right({
    runs: listed.right.flatMap(({ summary }) => (E.isRight(summary) ? [summary.right] : [])),
    damaged: listed.right.flatMap(({ runId, summary }) => (E.isLeft(summary) ? [{ runId, error: summary.left }] : []))
  })
}

/**
 * Says which runs can't be read.
 *
 * @category effects
 * @since 0.1.0
 */
export const warnOfDamaged = ({ screen }: Context, { damaged }: Runs): void => {
  for (const { error } of damaged) screen.line(screen.style.yellow(`warning: ${printable(describeStorage(error))}`))
}

/**
 * The run of this id, or the only one whose id begins like this.
 *
 * @category effects
 * @since 0.1.0
 */
export const findRun = async (context: Context, id: string): Promise<E.Either<CliError, RunView>> => {
  const tooShort = id.length < MIN_PREFIX && id !== ''
  const none = notDone({ _tag: 'NoSuchRun', runId: printable(id) }, ofNoRun(context, tooShort ? MIN_PREFIX : undefined))
  const environment = environmentFor(context)
  if (E.isRight(RunId.parse(id))) {
    const found = await viewRun(id)(environment)()
    if (E.isLeft(found)) return E.left(notDone(found.left))
    if (O.isSome(found.right)) return E.right(found.right.value)
  }
  const unfit = RunId.parse(id)
  if (id.length < MIN_PREFIX) return E.left(E.isLeft(unfit) ? notDone(unfit.left) : none)
  const listed = await listRuns(environment)()
  if (E.isLeft(listed)) return E.left(notDone(listed.left))
  const [first, ...others] = listed.right.filter(({ runId }) => runId.startsWith(id))
  if (first === undefined) return E.left(E.isLeft(unfit) ? notDone(unfit.left) : none)
  return others.length === 0
    ? viewOf(context, first.runId)
    : E.left({ _tag: 'AmbiguousRun', prefix: id, candidates: [first, ...others].map(lineOf) })
}

/**
 * A run that was listed, whole.
 *
 * @category effects
 * @since 0.1.0
 */
export const viewOf = async (context: Context, runId: string): Promise<E.Either<CliError, RunView>> => {
  const found = await viewRun(runId)(environmentFor(context))()
  if (E.isLeft(found)) return E.left(notDone(found.left))
  return O.isSome(found.right)
    ? E.right(found.right.value)
    : E.left(notDone({ _tag: 'NoSuchRun', runId }, ofNoRun(context)))
}

/**
 * The run of this id; without an id, the only one that is unfinished.
 *
 * @category effects
 * @since 0.1.0
 */
export const findOrOnly = async (context: Context, id: string | undefined): Promise<E.Either<CliError, RunView>> => {
  if (id !== undefined) return findRun(context, id)
  const runs = await allRuns(context)
  if (E.isLeft(runs)) return runs
  warnOfDamaged(context, runs.right)
  const unfinished = runs.right.runs.filter(isUnfinished)
  const [only, ...others] = unfinished
  if (only === undefined) {
    const active = runs.right.runs.filter((run) => run.status !== 'completed').map(summaryLine)
    const hints = ofNothing(context, active, runs.right.runs.length)
    const [newest] = runs.right.runs
    const completed =
      newest === undefined || active.length > 0 || runs.right.damaged.length > 0 ? {} : { completed: newest.runId }
    return E.left({ _tag: 'NothingToResume', hints, ...completed })
  }
  return others.length === 0
    ? viewOf(context, only.runId)
    : E.left({ _tag: 'SeveralUnfinished', candidates: unfinished.map(summaryLine) })
}

/**
 * Whether a run waits to be resumed: neither completed nor in the hands of a live process.
 *
 * @category refinements
 * @since 0.1.0
 */
export const isUnfinished = ({ status, heldBy }: RunSummary): boolean => status !== 'completed' && O.isNone(heldBy)

// ---------------------------------------------------------------------------------------------------------------------
// showing
// ---------------------------------------------------------------------------------------------------------------------

/** A run as a line of a list of candidates. */
const lineOf = ({ runId, summary }: ListedRun): string =>
  E.isLeft(summary) ? `${runId}  (can't be read)` : summaryLine(summary.right)

const summaryLine = ({ runId, workflow, status, steps, createdAt }: RunSummary): string =>
  `${runId}  ${workflow.name}  ${status}  ${steps.completed}/${steps.total} steps  ${minute(createdAt)}`

/**
 * A time as people read it: `2026-01-02 03:04 UTC`.
 *
 * @category destructors
 * @since 0.1.0
 */
export const minute = (at: string): string => `${at.slice(0, 10)} ${at.slice(11, 16)} UTC`
