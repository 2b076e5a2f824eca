/**
 * What the transitions are made of.
 *
 * @since 0.1.0
 */
import * as E from 'fp-ts/lib/Either.js'
import type * as Change from './Change.js'
import type { Fields } from './Checkpoint.js'
import type { CheckpointState, FailedAttempt, Failure, InFlight } from './CheckpointState.js'
import * as State from './CheckpointState.js'
import type { CompletedStep, CompletedSteps } from './CompletedStep.js'
import * as Steps from './CompletedStep.js'
import { unitName } from './Plan.js'
import { brief } from './StepError.js'
import type { StepIdentity, TaskIdentity, WorkflowIdentity } from './WorkflowIdentity.js'
import { groupOf } from './WorkflowIdentity.js'

// ---------------------------------------------------------------------------------------------------------------------
// model
// ---------------------------------------------------------------------------------------------------------------------

/**
 * Why a change cannot follow a checkpoint. `why`: the workflow has no such step or group at that index; the unit is already
 * recorded, or is not; the attempt is not in flight; groups of the wave are missing; the run has already started. Maps: the
 * step is not a map; its items are already known; the items are invalid. Jobs: the unit waits for one, or for none; it has no
 * key to submit under, or another one; the run stands at another step, and its open attempt would be lost; an open attempt saw
 * the old input.
 *
 * @category model
 * @since 0.1.0
 */
export interface TransitionError {
  readonly _tag: 'TransitionError'
  readonly change: Change.Change['_tag']
  readonly revision: number
  readonly why:
    | 'UnknownUnit'
    | 'AlreadyCompleted'
    | 'NotCompleted'
    | 'NotInFlight'
    | 'WaveUnfinished'
    | 'AlreadyStarted'
    | 'NoMap'
    | 'AlreadyExpanded'
    | 'InvalidItems'
    | 'JobPending'
    | 'NoJob'
    | 'NoKey'
    | 'AnotherKey'
    | 'StandsElsewhere'
    | 'AttemptOpen'
  readonly unit: string
}

/** What a change replaces. */
export type Replaced = Partial<
  Pick<
    Fields,
    'generation' | 'workflow' | 'input' | 'state' | 'completedSteps' | 'pending' | 'submissions' | 'endedJobs'
  >
>

/** What a change replaces, or why it can't follow. */
export type Result = E.Either<TransitionError, Replaced>

// ---------------------------------------------------------------------------------------------------------------------
// parts
// ---------------------------------------------------------------------------------------------------------------------

/** A step, or a group of it. */
export interface Unit {
  readonly stepIndex: number
  readonly group?: string
}

/** A change that can't follow. */
export const refuse = (
  self: Fields,
  change: Change.Change,
  why: TransitionError['why'],
  unit: string
): E.Either<TransitionError, never> =>
  E.left({ _tag: 'TransitionError', change: change._tag, revision: self.revision, why, unit })

/** A change about an attempt that is not in flight. */
export const notInFlight = (
  self: Fields,
  change: Change.Change & { readonly step: string; readonly group?: string }
): Result => refuse(self, change, 'NotInFlight', unitName(change))

/** The step that a fact is about, if the workflow has it at that place. */
export const stepAt = (
  workflow: WorkflowIdentity,
  unit: { readonly stepIndex: number; readonly step: string }
): StepIdentity | undefined => {
  const step = workflow.steps[unit.stepIndex]
  return step?.name === unit.step ? step : undefined
}

/** The group that a fact is about, if the workflow has it at that place. */
export const groupAt = (
  workflow: WorkflowIdentity,
  unit: { readonly stepIndex: number; readonly step: string; readonly group?: string }
): TaskIdentity | undefined => {
  const step = stepAt(workflow, unit)
  return step === undefined || unit.group === undefined ? undefined : groupOf(step, unit.group)
}

/** What the state says of a step: nothing, if it speaks of another. */
export const here = (
  state: CheckpointState,
  stepIndex: number
): { readonly inFlight: ReadonlyArray<InFlight>; readonly failures: ReadonlyArray<Failure> } =>
  state.stepIndex === stepIndex
    ? { inFlight: State.inFlight(state), failures: State.failures(state) }
    : { inFlight: [], failures: [] }

/** Whether this attempt is in flight. */
export const isInFlight = (all: ReadonlyArray<InFlight>, one: InFlight): boolean =>
  all.some(({ group, attempt }) => group === one.group && attempt === one.attempt)

/**
 * All but what is of a group, or of the only task, which has one at most. There may be thousands, and each of them ends: the
 * list is not gone through element by element to copy it.
 */
export const withoutGroup = <A extends { readonly group?: string }>(
  all: ReadonlyArray<A>,
  group: string | undefined
): ReadonlyArray<A> => {
  const at = all.findIndex((one) => one.group === group)
  return at === -1 ? all : at === 0 ? all.slice(1) : all.slice(0, at).concat(all.slice(at + 1))
}

/** Whether another attempt was to follow the newest one. */
export const isBeingRetried = (failure: Failure): boolean =>
  failure.attempts.at(-1)?.delayBeforeNextMillis !== undefined

/** A failed attempt, as it is kept. */
export const attemptOf = (failed: Omit<FailedAttempt, 'failedAt'> & { readonly at: string }): FailedAttempt => ({
  attempt: failed.attempt,
  startedAt: failed.startedAt,
  failedAt: failed.at,
  error: brief(failed.error),
  outcome: failed.outcome
})

/** What went wrong so far, with one more failed attempt of a group, or of the only task. */
export const withAttempt = (
  failures: ReadonlyArray<Failure>,
  group: string | undefined,
  newest: Pick<Failure, 'error' | 'outcome'>,
  attempt: FailedAttempt
): ReadonlyArray<Failure> => {
  const before = failures.find((one) => one.group === group)?.attempts ?? []
  const attempts = [...before, attempt].slice(-State.MAX_ATTEMPTS_KEPT)
  const failed: Failure = {
    ...(group === undefined ? {} : { group }),
    error: newest.error,
    outcome: newest.outcome,
    attempts
  }
  return withoutGroup(failures, group).concat(failed)
}

/** The names are those of the workflow, not the change's equal ones: they are compared often, and kept. */
export const recordOf = (change: Completion, step: StepIdentity, group?: TaskIdentity): CompletedStep =>
  group === undefined ? stepRecord(change, step) : groupRecord(change, step, group)

type Completion = Pick<
  Change.UnitCompleted,
  'at' | 'stepIndex' | 'output' | 'captured' | 'attempts' | 'startedAt' | 'durationMillis' | 'evidence'
>

// Spelt out: a run may have 100,000 records, and to spread what some of them do not have takes several times as long.

const stepRecord = (
  { stepIndex, output, captured, attempts, startedAt, at: completedAt, durationMillis, evidence }: Completion,
  { name: step, fingerprint }: StepIdentity
): CompletedStep =>
  output === undefined
    ? { stepIndex, step, fingerprint, captured, attempts, startedAt, completedAt, durationMillis, evidence }
    : { stepIndex, step, fingerprint, output, captured, attempts, startedAt, completedAt, durationMillis, evidence }

const groupRecord = (
  { stepIndex, output, captured, attempts, startedAt, at: completedAt, durationMillis, evidence }: Completion,
  { name: step }: StepIdentity,
  { name: group, fingerprint }: TaskIdentity
): CompletedStep =>
  output === undefined
    ? { stepIndex, step, group, fingerprint, captured, attempts, startedAt, completedAt, durationMillis, evidence }
    : {
        stepIndex,
        step,
        group,
        fingerprint,
        output,
        captured,
        attempts,
        startedAt,
        completedAt,
        durationMillis,
        evidence
      }

/** The records that stay. */
export const keep = (self: CompletedSteps, stays: (record: CompletedStep) => boolean): CompletedSteps =>
  Steps.from([...self].filter(stays))
