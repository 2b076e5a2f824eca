/**
 * The state of a run: before a step, after it, failed in it, or interrupted in it.
 *
 * @module
 */
import type { StepError } from '../data/StepError.js'
import type { Outcome } from '../data/StepFailure.js'
import type { SubStep } from './SubStep.js'
import type { Unit } from '../workflow/Unit.js'
import type { OfUnit, Units } from './Units.js'
import { from, none, within } from './Units.js'

// --- model

/**
 * An attempt that started and whose end is not recorded. Attempts are counted from 1. `suspended`: its code only waited, and was dropped.
 * `edited`: its task was edited since, so that its sub-steps may have run under another `idempotent`. `confirmed`: the sub-steps that an
 * answer since then lets run again.
 *
 * @category model
 */
export interface InFlight {
  readonly unit: Unit
  readonly attempt: number
  readonly suspended?: true
  readonly edited?: true
  readonly confirmed?: ReadonlyArray<Unit>
}

/** A failed attempt. Times are UTC, ISO 8601. `delayBeforeNextMillis`: the delay before the retry, absent if there is none. */
export interface FailedAttempt {
  readonly attempt: number
  readonly startedAt: string
  readonly failedAt: string
  readonly error: StepError
  readonly outcome: Outcome
  readonly delayBeforeNextMillis?: number
}

/**
 * The failed attempts of a unit, oldest first (at most {@link MAX_ATTEMPTS_KEPT}: the first and the newest), and its newest error.
 * `subStep`: the recorded call, if the unit is a sub-step: a repeat of an attempt of its task that was cut short throws the error again; a
 * new attempt runs the sub-step again.
 *
 * @category model
 */
export interface Failure {
  readonly unit: Unit
  readonly error: StepError
  readonly outcome: Outcome
  readonly attempts: ReadonlyArray<FailedAttempt>
  readonly subStep?: SubStep
}

/** The maximum number of failed attempts of one task in a checkpoint. */
export const MAX_ATTEMPTS_KEPT = 100

/**
 * What stopped a run: a signal to the process, the host's AbortSignal, a pause request, pending units, or a cancel request.
 *
 * @category model
 */
export type InterruptReason = 'signal' | 'aborted' | 'paused' | 'pending' | 'cancelled'

/** The attempts and failures of a run. A unit is in them until its attempt ends or its failure is resolved, wherever the run stands. */
export interface OpenUnits {
  readonly inFlight: Units<InFlight>
  readonly failures: Units<Failure>
}

/** The step that a run stands at: the one that it runs or runs next, or, in `Completed`, the last one that completed. */
interface Standing {
  readonly stepIndex: number
  readonly step: string
}

/** The step that a run stands at, which has not completed, and the attempts and failures of all unfinished steps. */
interface Open extends Standing, OpenUnits {}

/**
 * Durable before a step, or an attempt in it, starts. `inFlight` is empty if nothing has started; `failures` holds earlier attempts.
 *
 * @category model
 */
export interface BeforeStep extends Open {
  readonly _tag: 'BeforeStep'
}

/**
 * The step completed, which may not be the last: `Checkpoint.status` says whether the run did. Its output is in its record. `inFlight` and
 * `failures` are those of other steps, absent if there are none.
 *
 * @category model
 */
export interface Completed extends Standing, Partial<OpenUnits> {
  readonly _tag: 'Completed'
}

/**
 * The step failed and its retries are spent. `inFlight`: suspended attempts of its other parts. `retryable`: whether the error looked
 * transient; a resume runs the step either way.
 *
 * @category model
 */
export interface Failed extends Open {
  readonly _tag: 'Failed'
  readonly retryable: boolean
}

/**
 * The run stopped on request, or only pending units are left (`reason: 'pending'`). `inProgress`: a unit of the step had started.
 *
 * @category model
 */
export interface Interrupted extends Open {
  readonly _tag: 'Interrupted'
  readonly inProgress: boolean
  readonly reason: InterruptReason
}

/** The state of a run. `stepIndex` counts from 0. */
export type CheckpointState = BeforeStep | Completed | Failed | Interrupted

// --- constructors

/** Before a step, with nothing in flight unless given. */
export const beforeStep = (
  stepIndex: number,
  step: string,
  inFlight: Iterable<InFlight> = none,
  failures: Iterable<Failure> = none
): BeforeStep => ({ _tag: 'BeforeStep', stepIndex, step, inFlight: from(inFlight), failures: from(failures) })

/** After a step. `open`: the units of other steps. */
export const completed = (stepIndex: number, step: string, open?: OpenUnits): Completed =>
  open === undefined || open.inFlight.size + open.failures.size === 0
    ? { _tag: 'Completed', stepIndex, step }
    : { _tag: 'Completed', stepIndex, step, inFlight: open.inFlight, failures: open.failures }

/** Failed in a step. */
export const failed = (
  stepIndex: number,
  step: string,
  failures: Iterable<Failure>,
  retryable: boolean,
  inFlight: Iterable<InFlight> = none
): Failed => ({ _tag: 'Failed', stepIndex, step, inFlight: from(inFlight), failures: from(failures), retryable })

/** Interrupted in or before a step. */
export const interrupted = (
  stepIndex: number,
  step: string,
  reason: InterruptReason,
  details: {
    readonly inProgress: boolean
    readonly inFlight?: Iterable<InFlight>
    readonly failures?: Iterable<Failure>
  }
): Interrupted => ({
  _tag: 'Interrupted',
  stepIndex,
  step,
  inProgress: details.inProgress,
  inFlight: from(details.inFlight ?? none),
  failures: from(details.failures ?? none),
  reason
})

// --- pattern matching

/**
 * Matches a state: one function for each member.
 *
 * @example
 * import { CheckpointState } from 'dogear'
 * import assert from 'node:assert/strict'
 *
 * const describe = CheckpointState.match({
 *   BeforeStep: (state) => `before ${state.step}`,
 *   Completed: (state) => `after ${state.step}`,
 *   Failed: (state) => `failed in ${state.step}`,
 *   Interrupted: (state) => `stopped at ${state.step}`
 * })
 * assert.equal(describe({ _tag: 'Completed', stepIndex: 2, step: 'pack' }), 'after pack')
 *
 * @category pattern matching
 */
export const match =
  <R>(handlers: {
    readonly BeforeStep: (state: BeforeStep) => R
    readonly Completed: (state: Completed) => R
    readonly Failed: (state: Failed) => R
    readonly Interrupted: (state: Interrupted) => R
  }) =>
  (state: CheckpointState): R =>
    (handlers[state._tag] as (state: CheckpointState) => R)(state)

// --- destructors

/**
 * Returns the attempts in flight.
 *
 * @category destructors
 */
export const inFlight = ({ inFlight = none }: CheckpointState): Units<InFlight> => inFlight

/**
 * Returns the failures of unfinished steps.
 *
 * @category destructors
 */
export const failures = ({ failures = none }: CheckpointState): Units<Failure> => failures

/** Returns the attempts and failures of a state. */
export const openUnits = (state: CheckpointState): OpenUnits => ({
  inFlight: inFlight(state),
  failures: failures(state)
})

/** Replaces the attempts and failures of a state. */
export const withOpen = (state: CheckpointState, open: OpenUnits): CheckpointState =>
  state._tag === 'Completed' ? completed(state.stepIndex, state.step, open) : { ...state, ...open }

/** Returns the failures of the step that the run stands at. */
export const failuresHere = (state: CheckpointState): ReadonlyArray<Failure> => within(failures(state), state.step)

/** Returns whether a step has attempts or failures. */
export const isOpen = (state: Partial<OpenUnits>, step: Unit): boolean =>
  [state.inFlight, state.failures].some((all) => all !== undefined && within<OfUnit>(all, step).length > 0)

/**
 * Returns the units that may have taken effect without a record: in flight, or failed with an unknown outcome; of an interrupted step
 * without either, the step. A pending job is not in doubt.
 */
export const inDoubt = (state: CheckpointState): ReadonlySet<Unit> => {
  const running = inFlight(state)
  const failed = failures(state)
  const mayHaveRun = state._tag === 'Interrupted' && state.inProgress && state.reason !== 'pending'
  return new Set([
    ...Array.from(running, ({ unit }) => unit),
    ...[...failed].filter(mayHaveActed).map(({ unit }) => unit),
    ...(mayHaveRun && !isOpen(state, state.step) ? [state.step] : [])
  ])
}

/** A unit may have acted if any of its attempts may have. */
export const mayHaveActed = (failure: Failure): boolean =>
  failure.outcome === 'unknown' || failure.attempts.some(({ outcome }) => outcome === 'unknown')
