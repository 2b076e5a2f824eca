/**
 * How a run ended, as data.
 *
 * @module
 */
import type { Checkpoint } from '../domain/checkpoint/Checkpoint.js'
import type { Failure, InterruptReason } from '../domain/checkpoint/CheckpointState.js'
import type { PendingUnit } from '../domain/checkpoint/Pending.js'
import type { Unit } from '../domain/workflow/Unit.js'
import type { OutputMismatch } from '../domain/workflow/Workflow.js'
import type { LostFiles } from '../ports/CheckpointStorage.js'

/**
 * All steps completed. `outputs`: their outputs by step name, decoded as later steps see them; a wave's by group, a map's as an array in item
 * order. Decoded when `outputs` is first read.
 */
export interface Completed<Outputs = unknown> {
  readonly _tag: 'Completed'
  readonly runId: string
  readonly checkpoint: Checkpoint
  readonly outputs: Outputs
}

/**
 * A step failed. `step`: the top-level step, at which a resume starts. `retryable`: all errors look transient. `notRetried`: the failed units whose
 * `retry` was not spent, because their error is permanent.
 */
export interface Failed {
  readonly _tag: 'Failed'
  readonly runId: string
  readonly checkpoint: Checkpoint
  readonly stepIndex: number
  readonly step: string
  readonly failures: ReadonlyArray<Failure>
  readonly retryable: boolean
  readonly notRetried?: ReadonlyArray<Unit>
}

/** The run was stopped from outside. It can be resumed; after a cancel (`reason`) only with `reopen`. `inProgress`: `step` had started. */
export interface Interrupted {
  readonly _tag: 'Interrupted'
  readonly runId: string
  readonly checkpoint: Checkpoint
  readonly stepIndex: number
  readonly step: string
  readonly inProgress: boolean
  readonly reason: Exclude<InterruptReason, 'pending'>
}

/**
 * The run only waits. `units`: the waiting units. Resume at `wakeAt` (UTC, ISO 8601), when the first timer or time limit ends; after an
 * `answer`; or after a `poll` of the jobs. An earlier resume changes nothing, and returns `Pending` again. `rejected`: the units whose answer this
 * execution rejected, as in the event `AnswerRejected`.
 */
export interface Pending {
  readonly _tag: 'Pending'
  readonly runId: string
  readonly checkpoint: Checkpoint
  readonly stepIndex: number
  readonly step: string
  readonly units: ReadonlyArray<PendingUnit>
  readonly wakeAt?: string
  readonly rejected?: ReadonlyArray<OutputMismatch & { readonly unit: Unit }>
}

/**
 * Another process has superseded this one; or, if `files` is present, the run's files were deleted or replaced during the run. Nothing was
 * written since.
 */
export interface Fenced {
  readonly _tag: 'Fenced'
  readonly runId: string
  readonly files?: LostFiles
}

/** How a run ended. */
export type RunOutcome<Outputs = unknown> = Completed<Outputs> | Failed | Interrupted | Pending | Fenced

/**
 * Folds the union: one function for each member.
 *
 * @category pattern matching
 */
export const match =
  <R, Outputs = unknown>(handlers: {
    readonly Completed: (outcome: Completed<Outputs>) => R
    readonly Failed: (outcome: Failed) => R
    readonly Interrupted: (outcome: Interrupted) => R
    readonly Pending: (outcome: Pending) => R
    readonly Fenced: (outcome: Fenced) => R
  }) =>
  (outcome: RunOutcome<Outputs>): R =>
    (handlers[outcome._tag] as (outcome: RunOutcome<Outputs>) => R)(outcome)
