/**
 * Where a run stands: before a step, after it, failed in it, or stopped in it.
 *
 * @module
 */
import type { StepError } from '../data/StepError.js'
import type { Outcome } from '../data/StepFailure.js'
import type { SubStep } from './SubStep.js'
import type { Unit } from '../workflow/Unit.js'
import type { Units } from './Units.js'
import { from, none } from './Units.js'

// --- model

/**
 * An attempt of a unit that was started and whose end is not recorded. Attempts are counted from 1. `suspended`: its code was dropped,
 * because all that it still had to do was to wait.
 *
 * @category model
 */
export interface InFlight {
  readonly unit: Unit
  readonly attempt: number
  readonly suspended?: true
}

/** One attempt that failed. Times are UTC, ISO 8601. `delayBeforeNextMillis` is there if another attempt was to follow. */
export interface FailedAttempt {
  readonly attempt: number
  readonly startedAt: string
  readonly failedAt: string
  readonly error: StepError
  readonly outcome: Outcome
  readonly delayBeforeNextMillis?: number
}

/**
 * What went wrong in a unit so far: its newest error and the attempts behind it, oldest first (the newest
 * {@link MAX_ATTEMPTS_KEPT}). `subStep`: what is recorded of the call, if it is a sub-step. An attempt of its task that is repeated
 * throws the error again; the next attempt runs it again.
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

/** How many failed attempts of one task a checkpoint keeps. */
export const MAX_ATTEMPTS_KEPT = 100

/**
 * Who or what stopped a run: a signal to the process, the host's AbortSignal, a request to pause, a step that waits for
 * outside work, or a request to cancel.
 *
 * @category model
 */
export type InterruptReason = 'signal' | 'aborted' | 'paused' | 'pending' | 'cancelled'

/**
 * Written durably before a step, or one attempt of it, starts. `inFlight` is empty when nothing has started yet;
 * `failures` holds the attempts that went before.
 *
 * @category model
 */
export interface BeforeStep {
  readonly _tag: 'BeforeStep'
  readonly stepIndex: number
  readonly step: string
  readonly inFlight: Units<InFlight>
  readonly failures: Units<Failure>
}

/**
 * The step ended well. Its output is in its record.
 *
 * @category model
 */
export interface Completed {
  readonly _tag: 'Completed'
  readonly stepIndex: number
  readonly step: string
}

/**
 * The step ended badly and its retries are spent. `inFlight`: the suspended attempts of its other parts. `retryable` tells people and hosts whether the error looked
 * transient; a resume executes the step either way.
 *
 * @category model
 */
export interface Failed {
  readonly _tag: 'Failed'
  readonly stepIndex: number
  readonly step: string
  readonly inFlight: Units<InFlight>
  readonly failures: Units<Failure>
  readonly retryable: boolean
}

/**
 * The run stopped before its end: somebody asked for it, or all that is left waits (`reason: 'pending'`). `inProgress`: the step had started.
 *
 * @category model
 */
export interface Interrupted {
  readonly _tag: 'Interrupted'
  readonly stepIndex: number
  readonly step: string
  readonly inProgress: boolean
  readonly inFlight: Units<InFlight>
  readonly failures: Units<Failure>
  readonly reason: InterruptReason
}

/** Where a run stands. `stepIndex` counts from 0. */
export type CheckpointState = BeforeStep | Completed | Failed | Interrupted

// --- constructors

/** Before a step, with nothing in flight unless given. */
export const beforeStep = (
  stepIndex: number,
  step: string,
  inFlight: Iterable<InFlight> = none,
  failures: Iterable<Failure> = none
): BeforeStep => ({ _tag: 'BeforeStep', stepIndex, step, inFlight: from(inFlight), failures: from(failures) })

/** After a step. */
export const completed = (stepIndex: number, step: string): Completed => ({ _tag: 'Completed', stepIndex, step })

/** Failed in a step. */
export const failed = (
  stepIndex: number,
  step: string,
  failures: Iterable<Failure>,
  retryable: boolean,
  inFlight: Iterable<InFlight> = none
): Failed => ({ _tag: 'Failed', stepIndex, step, inFlight: from(inFlight), failures: from(failures), retryable })

/** Stopped in or before a step. */
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
 * Folds the union: one function for each member.
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
  (state: CheckpointState): R => {
    switch (state._tag) {
      case 'BeforeStep':
        return handlers.BeforeStep(state)
      case 'Completed':
        return handlers.Completed(state)
      case 'Failed':
        return handlers.Failed(state)
      case 'Interrupted':
        return handlers.Interrupted(state)
    }
  }

// --- destructors

/**
 * The attempts that were started and not ended.
 *
 * @category destructors
 */
export const inFlight = (state: CheckpointState): Units<InFlight> =>
  state._tag === 'Completed' ? none : state.inFlight

/**
 * What went wrong in the step so far.
 *
 * @category destructors
 */
export const failures = (state: CheckpointState): Units<Failure> => (state._tag === 'Completed' ? none : state.failures)

/**
 * The units that may have had their effect without being recorded: in flight, or failed without saying that nothing happened. What waits
 * for its job is none of that.
 */
export const inDoubt = (state: CheckpointState): ReadonlySet<Unit> => {
  const running = inFlight(state)
  const failed = failures(state)
  const isStopped = state._tag === 'Interrupted' && state.inProgress && state.reason !== 'pending'
  const stopped = isStopped && running.size + failed.size === 0
  return new Set([
    ...Array.from(running, ({ unit }) => unit),
    ...[...failed].filter(mayHaveActed).map(({ unit }) => unit),
    ...(stopped ? [state.step] : [])
  ])
}

/** One attempt that may have had an effect is enough. */
const mayHaveActed = (failure: Failure): boolean =>
  failure.outcome === 'unknown' || failure.attempts.some(({ outcome }) => outcome === 'unknown')
