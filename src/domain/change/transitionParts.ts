/** The parts that transitions share. */
import * as E from 'fp-ts/lib/Either.js'
import type * as Change from './Change.js'
import type { Fields } from '../checkpoint/Checkpoint.js'
import type { CheckpointState, FailedAttempt, Failure, InFlight, OpenUnits } from '../checkpoint/CheckpointState.js'
import * as State from '../checkpoint/CheckpointState.js'
import type { CompletedStep } from '../checkpoint/CompletedStep.js'
import type { PendingUnit } from '../checkpoint/Pending.js'
import * as Units from '../checkpoint/Units.js'
import { brief } from '../data/StepError.js'
import type { FoundUnit } from '../checkpoint/Tree.js'
import { find, taskAround } from '../checkpoint/Tree.js'
import { listedParts } from '../workflow/Node.js'
import type { Unit } from '../workflow/Unit.js'
import { ancestors, join, parent, top } from '../workflow/Unit.js'
import type { StepIdentity } from '../workflow/WorkflowIdentity.js'
import { recordedFingerprint } from '../workflow/WorkflowIdentity.js'

/**
 * Why a change cannot follow a checkpoint.
 *
 * - `UnknownUnit`: the workflow has no such unit, or not of this kind.
 * - `AlreadyCompleted`, `NotCompleted`: the unit has a record, or has none.
 * - `NotInFlight`: the attempt is not in flight, or the unit to confirm is not in doubt.
 * - `PartsUnfinished`: parts of the composite have no record, or run.
 * - `AlreadyStarted`: the run has started.
 * - `NotAMap`, `AlreadyExpanded`, `InvalidItems`: the unit is not a map, its items are known, or these cannot be items.
 * - `StillPending`, `NotPending`: the unit waits, or does not.
 * - `NotAWait`, `AlreadyAnswered`, `WaitOver`: the unit is no wait of this kind, has an answer, or its time limit is over.
 * - `NoKey`, `AnotherKey`: the unit has no key to submit its job under, or another one.
 * - `StandsElsewhere`: the run stands at another step, which is unfinished, or a rewind does not name a later step with open attempts.
 * - `AttemptOpen`: the change starts the unit twice, or replaces the input although the unit has open attempts or failures.
 * - `UnknownChange`: no change has this tag; `unit` is the current step.
 *
 * @category model
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
    | 'PartsUnfinished'
    | 'AlreadyStarted'
    | 'NotAMap'
    | 'AlreadyExpanded'
    | 'InvalidItems'
    | 'StillPending'
    | 'NotPending'
    | 'NotAWait'
    | 'AlreadyAnswered'
    | 'WaitOver'
    | 'NoKey'
    | 'AnotherKey'
    | 'StandsElsewhere'
    | 'AttemptOpen'
    | 'UnknownChange'
  readonly unit: string
}

export type Refusal = Pick<TransitionError, 'why' | 'unit'>

/** The fields that a change replaces, or why it cannot follow. */
export type Result = E.Either<
  Refusal,
  Partial<Omit<Fields, 'moved'>> & { readonly moved?: Fields['moved'] | undefined }
>

export const refuse = (why: TransitionError['why'], unit: string): E.Either<Refusal, never> => E.left({ why, unit })

/** Finds the unit of a fact. It is usually in the current step or the next. */
export const unitAt = ({ workflow, items, state }: Fields, unit: Unit): FoundUnit<StepIdentity> | undefined =>
  find(workflow, items, unit, state.step === top(unit) ? state.stepIndex : state.stepIndex + 1)

export const taskAt = ({ workflow, items, state }: Fields, unit: Unit): ReturnType<typeof taskAround<StepIdentity>> =>
  taskAround(workflow, items, unit, state.step === top(unit) ? state.stepIndex : state.stepIndex + 1)

/** Finds the task of a sub-step that is recorded, failed, in flight, pending or in doubt. */
export const subStepAt = (self: Fields, unit: Unit): ReturnType<typeof taskAt> => {
  const isKnown =
    Units.get(self.completedSteps, unit)?.subStep !== undefined ||
    [State.failures(self.state), State.inFlight(self.state), self.pending].some((all) => Units.has(all, unit)) ||
    [...ancestors(unit)].some((above) => Units.get(self.completedSteps, above)?.inDoubt?.includes(unit) === true)
  return isKnown ? taskAt(self, unit) : undefined
}

/** Returns whether a unit or one of its ancestors is recorded. */
export const isDone = ({ completedSteps }: Pick<Fields, 'completedSteps'>, unit: Unit): boolean => {
  for (let one: Unit | undefined = unit; one !== undefined; one = parent(one))
    if (Units.has(completedSteps, one)) return true
  return false
}

export const beforeStepOf = (
  { step, stepIndex }: Pick<FoundUnit<StepIdentity>, 'step' | 'stepIndex'>,
  { inFlight, failures }: OpenUnits
): State.BeforeStep => State.beforeStep(stepIndex, step.name, inFlight, failures)

/** Drops the pending job or wait, the submission and the answers of a unit and its sub-steps. */
export const withoutPending = (
  { pending, answers, submissions }: Fields,
  unit: Unit
): Pick<Fields, 'pending' | 'answers' | 'submissions'> => ({
  pending: Units.outside(pending, unit),
  answers: Units.outside(answers, unit),
  submissions: Units.without(submissions, unit)
})

/** The pending units without the waits that a change drops. */
export const withoutDropped = (
  { pending }: Fields,
  { dropped = [] }: { readonly dropped?: ReadonlyArray<Unit> }
): Fields['pending'] => dropped.reduce(Units.without<PendingUnit>, pending)

/** Returns whether an attempt is not suspended: its code runs, or ran when the process ended. */
export const isRunning = ({ suspended }: InFlight): boolean => suspended !== true

/** Returns the open attempt of a unit of the step that the run stands at. Only such an attempt can end or start anything. */
export const attemptHere = (state: CheckpointState, unit: Unit): InFlight | undefined =>
  state.step === top(unit) ? Units.get(State.inFlight(state), unit) : undefined

export const isRunningHere = (state: CheckpointState, unit: Unit): boolean => {
  const attempt = attemptHere(state, unit)
  return attempt !== undefined && isRunning(attempt)
}

export const isAnyRunning = (all: Iterable<InFlight>): boolean => {
  for (const one of all) if (isRunning(one)) return true
  return false
}

export const isInFlight = (state: CheckpointState, { unit, attempt }: InFlight): boolean =>
  attemptHere(state, unit)?.attempt === attempt

/** Returns whether a retry follows the newest attempt. */
export const isBeingRetried = (failure: Failure): boolean =>
  failure.attempts.at(-1)?.delayBeforeNextMillis !== undefined

/** Returns the form of a failed attempt that a checkpoint keeps. */
export const keptAttempt = (failed: Omit<FailedAttempt, 'failedAt'> & { readonly at: string }): FailedAttempt => ({
  attempt: failed.attempt,
  startedAt: failed.startedAt,
  failedAt: failed.at,
  error: brief(failed.error),
  outcome: failed.outcome
})

/** Adds a failed attempt of a unit. */
export const withAttempt = (
  failures: Units.Units<Failure>,
  unit: Unit,
  { error, outcome, subStep }: Pick<Failure, 'error' | 'outcome' | 'subStep'>,
  attempt: FailedAttempt
): Units.Units<Failure> => {
  const [first, ...later] = [...(Units.get(failures, unit)?.attempts ?? []), attempt]
  // The time bound of a retry policy counts from the first attempt.
  const attempts = first === undefined ? [] : [first, ...later.slice(1 - State.MAX_ATTEMPTS_KEPT)]
  const failure: Failure = { unit, error, outcome, attempts, ...(subStep === undefined ? {} : { subStep }) }
  return Units.append(Units.without(failures, unit), failure)
}

// Object literals, not spreads: spreading optional fields is several times slower.

const NOTHING: ReadonlyArray<never> = []

export const recordFrom = (
  {
    unit,
    output,
    captured = NOTHING,
    attempts,
    startedAt,
    at: completedAt,
    durationMillis,
    evidence = NOTHING
  }: Omit<Change.UnitCompleted, '_tag'>,
  { stepIndex, definition }: FoundUnit<StepIdentity>
): CompletedStep => {
  const fingerprint = recordedFingerprint(definition)
  return output === undefined
    ? { unit, stepIndex, fingerprint, captured, attempts, startedAt, completedAt, durationMillis, evidence }
    : { unit, stepIndex, fingerprint, output, captured, attempts, startedAt, completedAt, durationMillis, evidence }
}

/** Returns the first part of a unit without a record; undefined for a task, or a map without recorded items. */
export const unrecorded = (
  { items, completedSteps }: Pick<Fields, 'items' | 'completedSteps'>,
  unit: Unit,
  definition: StepIdentity
): Unit | undefined => {
  const isOpen = (name: string): boolean => !Units.has(completedSteps, join(unit, name))
  if (definition._tag !== 'Map') {
    const open = listedParts(definition).find(({ name }) => isOpen(name))
    return open === undefined ? undefined : join(unit, open.name)
  }
  const open = items.get(unit)?.find(({ key }) => isOpen(key))
  return open === undefined ? undefined : join(unit, open.key)
}

/** Returns whether a unit of a step is in flight, failed or pending, or a part of the step is recorded. */
export const isBegun = (
  { completedSteps, pending }: Pick<Fields, 'completedSteps' | 'pending'>,
  step: string,
  open: OpenUnits
): boolean =>
  State.isOpen(open, step) ||
  Units.within(pending, step).length > 0 ||
  Units.within(completedSteps, step).some(({ unit, subStep }) => unit !== step && subStep === undefined)
