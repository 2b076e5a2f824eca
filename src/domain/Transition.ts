/**
 * The one function that changes a checkpoint, {@link apply}, and what each fact does to it.
 *
 * @module
 * @since 0.1.0
 */
import * as E from 'fp-ts/lib/Either.js'
import type * as Change from './Change.js'
import type { Checkpoint, Fields } from './Checkpoint.js'
import { adopted } from './adopted.js'
import { make } from './Checkpoint.js'
import type { CheckpointState } from './CheckpointState.js'
import * as State from './CheckpointState.js'
import * as Steps from './CompletedStep.js'
import { check as checkItems, forgotten, withItems } from './Expansion.js'
import { groupAfterJob, isCollected, jobEnded, jobSubmitted, taskAfterJob, withKeys } from './jobChanges.js'
import * as Job from './PendingJob.js'
import { unitName } from './Plan.js'
import type { Result, TransitionError, Unit } from './transitionParts.js'
import {
  attemptOf,
  groupAt,
  here,
  isBeingRetried,
  isInFlight,
  keep,
  notInFlight,
  recordOf,
  refuse,
  stepAt,
  withAttempt,
  withoutGroup
} from './transitionParts.js'
import type { StepIdentity } from './WorkflowIdentity.js'
import { groupOf, groupsOf } from './WorkflowIdentity.js'

export type { TransitionError } from './transitionParts.js'

// ---------------------------------------------------------------------------------------------------------------------
// transitions
// ---------------------------------------------------------------------------------------------------------------------

/**
 * What a change makes of a checkpoint: the next revision, or why this change can't follow it.
 *
 * @example
 * import * as E from 'fp-ts/lib/Either.js'
 * import { Checkpoint, Transition, Workflow, WorkflowIdentity } from 'dogear'
 * import assert from 'node:assert/strict'
 *
 * const at = '2026-01-02T03:04:05.000Z'
 * const workflow = WorkflowIdentity.of({ name: 'release', steps: [Workflow.task('build')] })
 * const queued = Checkpoint.start({ _tag: 'Started', at, runId: 'release-1', workflow, input: {} })
 * const running = Transition.apply(queued, {
 *   _tag: 'AttemptStarted',
 *   at,
 *   stepIndex: 0,
 *   step: 'build',
 *   attempts: [{ attempt: 1 }]
 * })
 * assert.ok(E.isRight(running))
 * assert.equal(running.right.revision, 1)
 *
 * @category transitions
 * @since 0.1.0
 */
export const apply = (self: Checkpoint, change: Change.Change): E.Either<TransitionError, Checkpoint> => {
  const next = changed(self, change)
  return E.isLeft(next) ? next : E.right(make(next.right))
}

/**
 * Folds {@link apply} over changes, oldest first. Stops at the first that can't follow.
 *
 * @category transitions
 * @since 0.1.0
 */
export const replay = (base: Checkpoint, changes: Iterable<Change.Change>): E.Either<TransitionError, Checkpoint> => {
  let fields: Fields = base
  for (const change of changes) {
    const next = changed(fields, change)
    if (E.isLeft(next)) return next
    fields = next.right
  }
  return E.right(make(fields))
}

const changed = (self: Fields, change: Change.Change): E.Either<TransitionError, Fields> => {
  const next = replaced(self, change)
  if (E.isLeft(next)) return next
  const fields: { -readonly [Field in keyof Fields]: Fields[Field] } = {
    format: self.format,
    runId: self.runId,
    revision: self.revision + 1,
    generation: next.right.generation ?? self.generation,
    workflow: next.right.workflow ?? self.workflow,
    input: next.right.input === undefined ? self.input : next.right.input,
    state: next.right.state ?? self.state,
    completedSteps: next.right.completedSteps ?? self.completedSteps,
    pending: next.right.pending ?? self.pending,
    submissions: next.right.submissions ?? self.submissions,
    endedJobs: next.right.endedJobs ?? self.endedJobs,
    createdAt: self.createdAt,
    updatedAt: change.at
  }
  if (self.workspace !== undefined) fields.workspace = self.workspace
  return E.right(fields)
}

/** What a change replaces in a checkpoint. */
const replaced = (self: Fields, change: Change.Change): Result => {
  switch (change._tag) {
    case 'Started':
      return refuse(self, change, 'AlreadyStarted', change.runId)
    case 'Recovered':
      return E.right({})
    case 'InputReplaced':
      return inputReplaced(self, change)
    case 'WorkflowEdited':
      return change.workflow.steps.length === 0
        ? refuse(self, change, 'UnknownUnit', change.workflow.name)
        : E.right(adopted(self, change.workflow))
    case 'Expanded':
      return expanded(self, change)
    case 'AttemptStarted':
      return attemptStarted(self, change)
    case 'AttemptFailed':
      return attemptFailed(self, change)
    case 'UnitCompleted':
      return isOfGroup(change) ? groupCompleted(self, change) : stepCompleted(self, change)
    case 'UnitFailed':
      return isOfGroup(change) ? groupFailed(self, change) : stepFailed(self, change)
    case 'JobSubmitted':
      return jobSubmitted(self, change)
    case 'JobEnded':
      return jobEnded(self, change)
    case 'Interrupted':
      return interrupted(self, change)
    case 'Rewound':
      return rewound(self, change)
    case 'Assumed':
      return assumed(self, change)
    case 'Confirmed':
      return confirmed(self, change)
  }
}

type OfGroup<A> = A & { readonly group: string }

const isOfGroup = <A extends { readonly group?: string }>(change: A): change is OfGroup<A> => change.group !== undefined

/** Records stay valid as facts about the old input; an open attempt or job would mix both inputs. */
const inputReplaced = (self: Fields, change: Change.InputReplaced): Result => {
  const { state } = self
  const [job] = self.pending
  if (job !== undefined) return refuse(self, change, 'JobPending', unitName(job))
  const isOpen = State.inFlight(state).length > 0 || State.failures(state).length > 0
  return isOpen ? refuse(self, change, 'AttemptOpen', state.step) : E.right({ input: change.input })
}

const expanded = (self: Fields, change: Change.Expanded): Result => {
  const step = stepAt(self.workflow, change)
  if (step === undefined) return refuse(self, change, 'UnknownUnit', change.step)
  if (Steps.hasStep(self.completedSteps, change.stepIndex)) return refuse(self, change, 'AlreadyCompleted', change.step)
  if (step.kind !== 'map')
    return refuse(self, change, step.kind === 'expanded' ? 'AlreadyExpanded' : 'NoMap', change.step)
  if (E.isLeft(checkItems(change.items))) return refuse(self, change, 'InvalidItems', change.step)
  return E.right({ workflow: withItems(self.workflow, change.stepIndex, change.items) })
}

const attemptStarted = (self: Fields, change: Change.AttemptStarted): Result => {
  const step = stepAt(self.workflow, change)
  if (step === undefined) return refuse(self, change, 'UnknownUnit', change.step)
  if (Steps.hasStep(self.completedSteps, change.stepIndex)) return refuse(self, change, 'AlreadyCompleted', change.step)
  const wrong = wrongAttempts(self, change, step)
  if (wrong !== undefined) return wrong
  const before = here(self.state, change.stepIndex)
  // A wave that failed at its own checks is tried again with its groups.
  const starting = new Set([...change.attempts.map((one) => one.group), undefined])
  const others = before.inFlight.filter((one) => !starting.has(one.group))
  const failures = before.failures.filter((one) => !starting.has(one.group) || isBeingRetried(one))
  const inFlight = others.length === 0 ? change.attempts : [...others, ...change.attempts]
  const state = State.beforeStep(change.stepIndex, change.step, inFlight, failures)
  return change.submissions === undefined ? E.right({ state }) : withKeys(self, change, change.submissions, state)
}

/** Attempts of a wave name its groups, those of a task name none; none of them is recorded completed. */
const wrongAttempts = (self: Fields, change: Change.AttemptStarted, step: StepIdentity): Result | undefined => {
  if (step.kind === 'task') {
    const [only] = change.attempts
    const fits = change.attempts.length === 1 && only?.group === undefined
    if (!fits) return refuse(self, change, 'UnknownUnit', `${change.step}/${only?.group ?? ''}`)
    return Job.find(self.pending, change) === undefined ? undefined : refuse(self, change, 'JobPending', change.step)
  }
  for (const { group } of change.attempts) {
    if (group === undefined || groupOf(step, group) === undefined)
      return refuse(self, change, 'UnknownUnit', `${change.step}/${group ?? ''}`)
    if (Steps.hasGroup(self.completedSteps, change.stepIndex, group))
      return refuse(self, change, 'AlreadyCompleted', `${change.step}/${group}`)
    if (Job.find(self.pending, { stepIndex: change.stepIndex, group }) !== undefined)
      return refuse(self, change, 'JobPending', `${change.step}/${group}`)
  }
  return undefined
}

const attemptFailed = (self: Fields, change: Change.AttemptFailed): Result => {
  if (stepAt(self.workflow, change) === undefined) return refuse(self, change, 'UnknownUnit', unitName(change))
  const before = here(self.state, change.stepIndex)
  if (!isInFlight(before.inFlight, change)) return notInFlight(self, change)
  const failures = withAttempt(before.failures, change.group, change, {
    ...attemptOf(change),
    delayBeforeNextMillis: change.delayBeforeNextMillis
  })
  const inFlight = withoutGroup(before.inFlight, change.group)
  return E.right({ state: State.beforeStep(change.stepIndex, change.step, inFlight, failures) })
}

const stepCompleted = (self: Fields, change: Change.UnitCompleted): Result => {
  const step = stepAt(self.workflow, change)
  if (step === undefined) return refuse(self, change, 'UnknownUnit', change.step)
  if (Steps.hasStep(self.completedSteps, change.stepIndex)) return refuse(self, change, 'AlreadyCompleted', change.step)
  const isJob = isCollected(self, change)
  if (step.kind === 'task') {
    if (!isJob && !isInFlight(here(self.state, change.stepIndex).inFlight, { attempt: change.attempts }))
      return notInFlight(self, change)
  } else {
    const done = Steps.groupsOf(self.completedSteps, change.stepIndex)
    if (step.kind === 'map') return refuse(self, change, 'WaveUnfinished', change.step)
    const missing = groupsOf(step).find((group) => !done.has(group.name))
    if (missing !== undefined) return refuse(self, change, 'WaveUnfinished', `${change.step}/${missing.name}`)
  }
  const completedSteps = Steps.append(self.completedSteps, recordOf(change, step))
  const state = isJob ? taskAfterJob(self, change) : State.completed(change.stepIndex, change.step)
  return E.right({ state, completedSteps, ...withoutJob(self, change) })
}

/** Nobody waits any more for a job of this unit, and none is being submitted. */
const withoutJob = ({ pending, submissions }: Fields, unit: Unit): Pick<Fields, 'pending' | 'submissions'> => ({
  pending: Job.without(pending, unit),
  submissions: Job.without(submissions, unit)
})

const groupCompleted = (self: Fields, change: OfGroup<Change.UnitCompleted>): Result => {
  const step = stepAt(self.workflow, change)
  const group = step === undefined ? undefined : groupOf(step, change.group)
  if (step === undefined || group === undefined)
    return refuse(self, change, 'UnknownUnit', `${change.step}/${change.group}`)
  const completedSteps = Steps.append(self.completedSteps, recordOf(change, step, group))
  if (isCollected(self, change))
    return E.right({ state: groupAfterJob(self, change), completedSteps, ...withoutJob(self, change) })
  const before = here(self.state, change.stepIndex)
  if (!isInFlight(before.inFlight, { group: change.group, attempt: change.attempts })) return notInFlight(self, change)
  const inFlight = withoutGroup(before.inFlight, change.group)
  const failures = withoutGroup(before.failures, change.group)
  const state = State.beforeStep(change.stepIndex, change.step, inFlight, failures)
  return E.right({ state, completedSteps, ...withoutJob(self, change) })
}

const groupFailed = (self: Fields, change: OfGroup<Change.UnitFailed>): Result => {
  if (groupAt(self.workflow, change) === undefined) return refuse(self, change, 'UnknownUnit', unitName(change))
  const before = here(self.state, change.stepIndex)
  const { group, last } = change
  if (last === undefined || !isInFlight(before.inFlight, { group, attempt: last.attempt }))
    return notInFlight(self, change)
  const failures = withAttempt(before.failures, group, last, attemptOf({ ...last, at: change.at }))
  const inFlight = withoutGroup(before.inFlight, change.group)
  return E.right({ state: State.beforeStep(change.stepIndex, change.step, inFlight, failures) })
}

const stepFailed = (self: Fields, change: Change.UnitFailed): Result => {
  const step = stepAt(self.workflow, change)
  if (step === undefined) return refuse(self, change, 'UnknownUnit', change.step)
  if (Steps.hasStep(self.completedSteps, change.stepIndex)) return refuse(self, change, 'AlreadyCompleted', change.step)
  const before = here(self.state, change.stepIndex)
  if (change.last === undefined) {
    if (step.kind === 'task' || before.failures.length === 0) return notInFlight(self, change)
    return before.inFlight.length > 0
      ? refuse(self, change, 'WaveUnfinished', change.step)
      : E.right({ state: State.failed(change.stepIndex, change.step, before.failures, change.retryable) })
  }
  // A wave as a whole fails, at its own checks, when none of its groups runs.
  const stands = step.kind === 'task' ? isInFlight(before.inFlight, change.last) : before.inFlight.length === 0
  if (!stands) return notInFlight(self, change)
  const last = attemptOf({ ...change.last, at: change.at })
  const failures = withAttempt(before.failures, undefined, change.last, last)
  return E.right({ state: State.failed(change.stepIndex, change.step, failures, change.retryable) })
}

const interrupted = (self: Fields, change: Change.Interrupted): Result => {
  if (stepAt(self.workflow, change) === undefined) return refuse(self, change, 'UnknownUnit', change.step)
  if (self.completedSteps.steps === self.workflow.steps.length)
    return refuse(self, change, 'AlreadyCompleted', change.step)
  const before = here(self.state, change.stepIndex)
  const begun =
    before.inFlight.length > 0 ||
    before.failures.length > 0 ||
    self.pending.some(({ stepIndex }) => stepIndex === change.stepIndex) ||
    Steps.groupsOf(self.completedSteps, change.stepIndex).size > 0
  const inProgress = begun && !Steps.hasStep(self.completedSteps, change.stepIndex)
  return E.right({ state: State.interrupted(change.stepIndex, change.step, change.reason, { inProgress, ...before }) })
}

const rewound = (self: Fields, change: Change.Rewound): Result => {
  const step = stepAt(self.workflow, change)
  if (step === undefined) return refuse(self, change, 'UnknownUnit', change.step)
  const unknown = change.groups?.find((group) => groupOf(step, group) === undefined)
  if (unknown !== undefined) return refuse(self, change, 'UnknownUnit', `${change.step}/${unknown}`)
  const groups = change.groups === undefined ? undefined : new Set(change.groups)
  const stays = (unit: Unit): boolean =>
    unit.stepIndex < change.stepIndex ||
    (unit.stepIndex === change.stepIndex && groups !== undefined && unit.group !== undefined && !groups.has(unit.group))
  // What a map is of holds as long as some of its groups are said to stay.
  const workflow = forgotten(self.workflow, groups === undefined ? change.stepIndex : change.stepIndex + 1)
  return E.right({
    ...(workflow === self.workflow ? {} : { workflow }),
    generation: self.generation + 1,
    state: stateAfterRewind(self, change, groups),
    completedSteps: keep(self.completedSteps, stays),
    pending: self.pending.filter(stays),
    submissions: self.submissions.filter(stays)
  })
}

/** A run that stands at an open step before the rewound one stays there; groups that are not named stay as they are. */
const stateAfterRewind = (
  { state, completedSteps }: Fields,
  change: Change.Rewound,
  groups: ReadonlySet<string> | undefined
): CheckpointState => {
  if (state.stepIndex < change.stepIndex && !Steps.hasStep(completedSteps, state.stepIndex)) return state
  const stays = ({ group }: { readonly group?: string }): boolean =>
    groups !== undefined && group !== undefined && !groups.has(group)
  const before = here(state, change.stepIndex)
  return State.beforeStep(change.stepIndex, change.step, before.inFlight.filter(stays), before.failures.filter(stays))
}

const assumed = (self: Fields, change: Change.Assumed): Result => {
  const step = stepAt(self.workflow, change)
  const group = step === undefined || change.group === undefined ? undefined : groupOf(step, change.group)
  const unit = change.group === undefined ? step : group
  const name = unitName(change)
  if (step === undefined || unit === undefined) return refuse(self, change, 'UnknownUnit', name)
  const { completedSteps } = self
  const has = (group: string): boolean => Steps.hasGroup(completedSteps, change.stepIndex, group)
  if (Steps.hasStep(completedSteps, change.stepIndex) || (change.group !== undefined && has(change.group)))
    return refuse(self, change, 'AlreadyCompleted', name)
  const missing = groupsOf(unit).find((group) => !has(group.name))
  if (missing !== undefined) return refuse(self, change, 'WaveUnfinished', `${change.step}/${missing.name}`)
  const completion = { ...change, attempts: 0, startedAt: change.at, durationMillis: 0, evidence: [] }
  const record = { ...recordOf(completion, step, group), assumed: true } as const
  return E.right({
    state: stateAfterAssumption(self, change),
    completedSteps: Steps.append(completedSteps, record),
    ...withoutJob(self, change)
  })
}

/** What is taken as done out of turn does not move the run. */
const stateAfterAssumption = ({ state, completedSteps }: Fields, change: Change.Assumed): CheckpointState => {
  const isNext = change.stepIndex === state.stepIndex + 1 && Steps.hasStep(completedSteps, state.stepIndex)
  if (change.stepIndex !== state.stepIndex && !isNext) return state
  return change.group === undefined ? State.completed(change.stepIndex, change.step) : settled(state, change)
}

const confirmed = (self: Fields, change: Change.Confirmed): Result => {
  const unit = change.group === undefined ? stepAt(self.workflow, change) : groupAt(self.workflow, change)
  if (unit === undefined || (unit.kind !== 'task' && change.evidence === undefined))
    return refuse(self, change, 'UnknownUnit', unitName(change))
  if (Job.find(self.pending, change) !== undefined) return refuse(self, change, 'JobPending', unitName(change))
  if (change.evidence !== undefined) {
    const completedSteps = Steps.withEvidence(self.completedSteps, change, change.evidence)
    return completedSteps === undefined
      ? refuse(self, change, 'NotCompleted', unitName(change))
      : E.right({ completedSteps })
  }
  const { state } = self
  return state.stepIndex === change.stepIndex && State.inDoubt(state).has(change.group)
    ? E.right({ state: settled(state, change) })
    : notInFlight(self, change)
}

/** The state without a unit whose question has been answered. What else was interrupted stays so. */
const settled = (state: CheckpointState, unit: Unit & { readonly step: string }): CheckpointState => {
  const before = here(state, unit.stepIndex)
  const inFlight = withoutGroup(before.inFlight, unit.group)
  const failures = withoutGroup(before.failures, unit.group)
  const isOpen = inFlight.length > 0 || failures.length > 0
  return state._tag === 'Interrupted' && state.stepIndex === unit.stepIndex && isOpen
    ? { ...state, inFlight, failures }
    : State.beforeStep(unit.stepIndex, unit.step, inFlight, failures)
}
