/** Applies the facts about jobs, and the ends of pending units, to a checkpoint. */
import * as E from 'fp-ts/lib/Either.js'
import type * as Change from './Change.js'
import type { Fields } from '../checkpoint/Checkpoint.js'
import type { CheckpointState } from '../checkpoint/CheckpointState.js'
import * as State from '../checkpoint/CheckpointState.js'
import * as Units from '../checkpoint/Units.js'
import { renewed } from '../checkpoint/IdempotencyKey.js'
import * as Pending from '../checkpoint/Pending.js'
import type { Refusal, Result } from './transitionParts.js'
import { beforeStepOf, keptAttempt, isInFlight, refuse, isAnyRunning, unitAt, withAttempt } from './transitionParts.js'
import type { Unit } from '../workflow/Unit.js'
import { isTop, top } from '../workflow/Unit.js'

/** Adds submission keys. A unit keeps its earlier key, because it may have submitted under it. */
export const withKeys = (
  self: Fields,
  change: Change.AttemptStarted,
  keys: ReadonlyArray<Pending.Submission>
): E.Either<Refusal, Fields['submissions']> => {
  let { submissions } = self
  const starting = new Set(change.attempts.map(({ unit }) => unit))
  for (const { unit, key } of keys) {
    if (!starting.has(unit)) return refuse('UnknownUnit', unit)
    const known = Units.get(self.submissions, unit)
    if (known !== undefined && known.key !== key) return refuse('AnotherKey', unit)
    if (known === undefined) submissions = Units.append(submissions, { unit, key })
  }
  return E.right(submissions)
}

/** Ends the attempt; its job is pending under its submission key. */
export const jobSubmitted = (self: Fields, change: Change.JobSubmitted): Result => {
  const { unit, attempt, job, at } = change
  const found = unitAt(self, unit)
  if (found?.definition._tag !== 'Task') return refuse('UnknownUnit', unit)
  if (!isInFlight(self.state, change)) return refuse('NotInFlight', unit)
  const submission = Units.get(self.submissions, unit)
  if (submission === undefined) return refuse('NoKey', unit)
  const submitted: Pending.PendingJob = {
    _tag: 'Job',
    ...submission,
    ...(job === undefined ? {} : { job }),
    ...(attempt === 1 ? {} : { attempt }),
    submittedAt: at
  }
  const { inFlight, failures } = State.openUnits(self.state)
  return E.right({
    state: beforeStepOf(found, { inFlight: Units.without(inFlight, unit), failures: Units.without(failures, unit) }),
    // The code that submitted the job has ended, and so have its waits.
    pending: Units.append(Units.outside(self.pending, unit), submitted),
    submissions: Units.without(self.submissions, unit)
  })
}

/** Returns whether a pending job or wait completed, and not an attempt. */
export const wasPending = ({ pending }: Fields, { unit, attempts }: Change.UnitCompleted): boolean => {
  const one = Units.get(pending, unit)
  return one !== undefined && Pending.attemptOf(one) === attempts
}

/**
 * Returns the state after a pending job or wait completed: completed, if the unit is the current step or the next one. A part of another
 * step does not change the state. A run that waited only for this unit is no longer interrupted.
 */
export const stateAfterPending = (
  { state, completedSteps, pending }: Fields,
  unit: Unit,
  stepIndex: number
): CheckpointState => {
  const isHere = stepIndex === state.stepIndex
  const isNext = stepIndex === state.stepIndex + 1 && Units.has(completedSteps, state.step)
  // The record of the unit names its sub-steps in doubt.
  const open = { inFlight: State.inFlight(state), failures: Units.outside(State.failures(state), unit) }
  if (isTop(unit) && (isHere || isNext)) return State.completed(stepIndex, unit, open)
  return !isTop(unit) && isHere && state._tag === 'Interrupted' && state.reason === 'pending' && pending.size === 1
    ? State.beforeStep(stepIndex, state.step, open.inFlight, open.failures)
    : State.withOpen(state, open)
}

/** Fails the unit of a failed job as {@link pendingFailed} does. Its next submission has another key. */
export const jobEnded = (self: Fields, change: Change.JobEnded): Result => {
  const { unit } = change
  const job = Units.get(self.pending, unit)
  if (job?._tag !== 'Job') return refuse('NotPending', unit)
  const last = { ...change, attempt: Pending.attemptOf(job), startedAt: Pending.since(job) }
  const failed = pendingFailed(self, change, last)
  return E.isLeft(failed) ? failed : E.right({ ...failed.right, renewals: renewed(self.renewals, [unit]) })
}

/** Fails a pending unit, and its step unless other parts of the step run. */
export const pendingFailed = (
  self: Fields,
  change: Change.JobEnded | Change.UnitFailed,
  last: NonNullable<Change.UnitFailed['last']>
): Result => {
  const { unit, at } = change
  const found = unitAt(self, unit)
  if (found === undefined || !Units.has(self.pending, unit)) return refuse('NotPending', unit)
  if (!canAdvanceTo(self, unit)) return refuse('StandsElsewhere', unit)
  const { step, stepIndex } = found
  const before = State.openUnits(self.state)
  const failures = withAttempt(before.failures, unit, last, keptAttempt({ ...last, at }))
  const retryable = change.retryable && !(self.state._tag === 'Failed' && !self.state.retryable)
  return E.right({
    state: isAnyRunning(Units.within(before.inFlight, step.name))
      ? beforeStepOf(found, { ...before, failures })
      : State.failed(stepIndex, step.name, failures, retryable, before.inFlight),
    pending: Units.without(self.pending, unit)
  })
}

/** Returns whether the run may move to a unit's step: the step where it stands has completed, or has no open attempts and failures. */
export const canAdvanceTo = ({ state, completedSteps }: Fields, unit: Unit): boolean =>
  state.step === top(unit) || Units.has(completedSteps, state.step) || !State.isOpen(state, state.step)
