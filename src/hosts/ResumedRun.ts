/** What `resumeAll` did with a run, as reported to the host. */
import * as E from 'fp-ts/lib/Either.js'
import type { RunError } from '../executor/errors/RunError.js'
import type { RunOutcome } from '../executor/RunOutcome.js'
import type { RunSummary } from '../executor/storage/runs.js'
import type { Holder } from '../ports/CheckpointStorage.js'

/**
 * A run that `resumeAll` found.
 *
 * - `Resumed`: it was resumed. `outcome`: how that ended; `wakeAt`: when a `Pending` run is due.
 * - `Left`: it was left as it is. `why`: it is `Cancelled`, `Moved` to another store, `Paused` or `Failed`; it is `Waiting`, until `wakeAt` or
 *   for an answer or a job; a live process holds it, or one whose liveness stayed undecided (`Held`, by `holder`); it needs an answer first
 *   (`Questioned`), or its resume was refused or ended with an error (`Refused`), with the `error`, and `waiting` if it also waits; no workflow
 *   has its name (`UnknownWorkflow`); its state cannot be read (`Unreadable`).
 *
 * @category model
 */
export type ResumedRun =
  | {
      readonly _tag: 'Resumed'
      readonly runId: string
      readonly workflow: string
      readonly outcome: RunOutcome['_tag']
      readonly wakeAt?: string
    }
  | {
      readonly _tag: 'Left'
      readonly runId: string
      /** Missing if the run is unreadable. */
      readonly workflow?: string
      readonly why: LeftWhy
      readonly holder?: Holder
      readonly error?: RunError
      readonly wakeAt?: string
      /** A refused or questioned run also waits: until `wakeAt`, or for an answer or a job. */
      readonly waiting?: true
    }

/** Why a run was left as it is. */
export type LeftWhy =
  | 'Cancelled'
  | 'Moved'
  | 'Paused'
  | 'Failed'
  | 'Waiting'
  | 'Held'
  | 'Questioned'
  | 'Refused'
  | 'UnknownWorkflow'
  | 'Unreadable'

export type FoundRun = Pick<RunSummary, 'runId' | 'workflow'>

type LeftRun = ResumedRun & { readonly _tag: 'Left' }

export const leftRun = (
  { runId, workflow: { name } }: FoundRun,
  why: LeftWhy,
  facts: Pick<LeftRun, 'holder' | 'error' | 'wakeAt'> = {}
): LeftRun => ({ _tag: 'Left', runId, workflow: name, why, ...facts })

/** Returns the report of a resume, without its checkpoint: a host may resume more runs than fit into memory. */
export const reportOf = (found: FoundRun, end: E.Either<RunError, RunOutcome>): ResumedRun => {
  if (E.isRight(end)) {
    const { _tag: outcome } = end.right
    const wakeAt = end.right._tag === 'Pending' ? end.right.wakeAt : undefined
    const { runId, workflow } = found
    return { _tag: 'Resumed', runId, workflow: workflow.name, outcome, ...(wakeAt === undefined ? {} : { wakeAt }) }
  }
  return leftByError(found, end.left)
}

/** Returns the report of a run whose resume was refused or failed. */
export const leftByError = (found: FoundRun, error: RunError): LeftRun => {
  switch (error._tag) {
    case 'HeldBy':
      return leftRun(found, 'Held', { holder: error.holder })
    case 'RunCancelled':
      return leftRun(found, 'Cancelled')
    case 'Unconfirmed':
      return leftRun(found, 'Questioned', { error })
    default:
      return leftRun(found, 'Refused', { error })
  }
}

/** Returns whether a host repeats a resume that failed with this error. A held run is not a failure: see `leftByError`. */
export const isTransient = ({ _tag }: RunError): boolean => TRANSIENT.has(_tag)

const TRANSIENT: ReadonlySet<RunError['_tag']> = new Set(['ReadFailed', 'WriteFailed', 'Fenced', 'TreeUnreadable'])

/** Returns the report of a run that its status keeps from being resumed; undefined if the status allows a resume. */
export const leftByStatus = (run: RunSummary): ResumedRun | undefined => {
  const why = LEFT[run.status]
  return why === undefined ? undefined : leftRun(run, why)
}

const LEFT: Partial<Record<RunSummary['status'], LeftWhy>> = {
  cancelled: 'Cancelled',
  moved: 'Moved',
  paused: 'Paused',
  failed: 'Failed'
}

/** Returns whether the report `b` says nothing new after `a`. */
export const isSameReport = (a: ResumedRun | undefined, b: ResumedRun): boolean =>
  a !== undefined && a._tag === b._tag && contentOf(a) === contentOf(b) && a.wakeAt === b.wakeAt

const contentOf = (run: ResumedRun): string =>
  run._tag === 'Resumed'
    ? run.outcome
    : `${run.why} ${run.holder?.since ?? ''} ${run.error?._tag ?? ''} ${run.waiting === true}`
