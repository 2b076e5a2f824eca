/**
 * What the facts about jobs do to a checkpoint.
 *
 * @since 0.1.0
 */
import * as E from 'fp-ts/lib/Either.js'
import type * as Change from './Change.js'
import type { Fields } from './Checkpoint.js'
import type { CheckpointState } from './CheckpointState.js'
import * as State from './CheckpointState.js'
import * as Steps from './CompletedStep.js'
import * as Job from './PendingJob.js'
import { unitName } from './Plan.js'
import type { Result } from './transitionParts.js'
import {
  attemptOf,
  groupAt,
  here,
  isInFlight,
  notInFlight,
  refuse,
  stepAt,
  withAttempt,
  withoutGroup
} from './transitionParts.js'

// ---------------------------------------------------------------------------------------------------------------------
// submitting
// ---------------------------------------------------------------------------------------------------------------------

/**
 * Attempts start that submit under these keys. A unit that has a key already, because it may have submitted, has no other.
 *
 * @category transitions
 * @since 0.1.0
 */
export const withKeys = (
  self: Fields,
  change: Change.AttemptStarted,
  keys: ReadonlyArray<Change.SubmissionKey>,
  state: CheckpointState
): Result => {
  const { stepIndex } = change
  const step = stepAt(self.workflow, change)?.name ?? change.step
  const added: Array<Job.Submission> = []
  for (const { group, key } of keys) {
    const unit = { stepIndex, step, ...(group === undefined ? {} : { group }) }
    if (!change.attempts.some((one) => one.group === group)) return refuse(self, change, 'UnknownUnit', unitName(unit))
    const known = Job.find(self.submissions, unit)
    if (known !== undefined && known.key !== key) return refuse(self, change, 'AnotherKey', unitName(unit))
    if (known === undefined) added.push({ ...unit, key })
  }
  return E.right({ state, submissions: added.length === 0 ? self.submissions : [...self.submissions, ...added] })
}

/**
 * The attempt is over, and its job is pending under the key that it was submitted under.
 *
 * @category transitions
 * @since 0.1.0
 */
export const jobSubmitted = (self: Fields, change: Change.JobSubmitted): Result => {
  const { stepIndex, group, attempt, job, at } = change
  const unit = group === undefined ? stepAt(self.workflow, change) : groupAt(self.workflow, change)
  if (unit?.kind !== 'task') return refuse(self, change, 'UnknownUnit', unitName(change))
  const before = here(self.state, stepIndex)
  if (!isInFlight(before.inFlight, change)) return notInFlight(self, change)
  const submission = Job.find(self.submissions, change)
  if (submission === undefined) return refuse(self, change, 'NoKey', unitName(change))
  const submitted: Job.PendingJob = {
    ...submission,
    ...(job === undefined ? {} : { job }),
    ...(attempt === 1 ? {} : { attempt }),
    submittedAt: at
  }
  const inFlight = withoutGroup(before.inFlight, group)
  const failures = withoutGroup(before.failures, group)
  return E.right({
    state: State.beforeStep(stepIndex, change.step, inFlight, failures),
    pending: [...self.pending, submitted],
    submissions: Job.without(self.submissions, change)
  })
}

// ---------------------------------------------------------------------------------------------------------------------
// ending
// ---------------------------------------------------------------------------------------------------------------------

/**
 * Whether a completion is that of a pending job, and not of an attempt.
 *
 * @category destructors
 * @since 0.1.0
 */
export const isCollected = (
  { pending }: Fields,
  change: { readonly stepIndex: number; readonly group?: string; readonly attempts: number }
): boolean => {
  const job = Job.find(pending, change)
  return job !== undefined && (job.attempt ?? 1) === change.attempts
}

/**
 * Where the run stands after a task whose job was collected. What is collected out of turn does not move it.
 *
 * @category transitions
 * @since 0.1.0
 */
export const taskAfterJob = (
  { state, completedSteps }: Fields,
  { stepIndex, step }: Change.UnitCompleted
): CheckpointState => {
  const isNext = stepIndex === state.stepIndex + 1 && Steps.hasStep(completedSteps, state.stepIndex)
  return stepIndex === state.stepIndex || isNext ? State.completed(stepIndex, step) : state
}

/**
 * Where the run stands after a group whose job was collected: as it stood, unless it rested for this job alone.
 *
 * @category transitions
 * @since 0.1.0
 */
export const groupAfterJob = ({ state, pending }: Fields, { stepIndex }: Change.UnitCompleted): CheckpointState =>
  state._tag === 'Interrupted' && state.reason === 'pending' && state.stepIndex === stepIndex && pending.length === 1
    ? State.beforeStep(stepIndex, state.step, state.inFlight, state.failures)
    : state

/**
 * A job ended badly: its step has failed, unless other groups of it are in flight. Later submissions have other keys.
 *
 * @category transitions
 * @since 0.1.0
 */
export const jobEnded = (self: Fields, change: Change.JobEnded): Result => {
  const { stepIndex, step, group } = change
  const job = Job.find(self.pending, change)
  if (job === undefined) return refuse(self, change, 'NoJob', unitName(change))
  if (!mayStandAt(self, stepIndex)) return refuse(self, change, 'StandsElsewhere', unitName(change))
  const before = here(self.state, stepIndex)
  const attempt = attemptOf({ ...change, attempt: job.attempt ?? 1, startedAt: job.submittedAt })
  const failures = withAttempt(before.failures, group, change, attempt)
  const retryable = change.retryable && !(self.state._tag === 'Failed' && !self.state.retryable)
  return E.right({
    state:
      before.inFlight.length === 0
        ? State.failed(stepIndex, step, failures, retryable)
        : State.beforeStep(stepIndex, step, before.inFlight, failures),
    pending: Job.without(self.pending, change),
    endedJobs: self.endedJobs + 1
  })
}

/**
 * Whether the run stands at a step, or can without forgetting what it left open at another.
 *
 * @category destructors
 * @since 0.1.0
 */
export const mayStandAt = ({ state, completedSteps }: Fields, stepIndex: number): boolean =>
  state.stepIndex === stepIndex ||
  Steps.hasStep(completedSteps, state.stepIndex) ||
  (State.inFlight(state).length === 0 && State.failures(state).length === 0)
