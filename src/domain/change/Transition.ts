/** Applies changes to a checkpoint. Within a run, no other module makes the next checkpoint. */
import * as E from 'fp-ts/lib/Either.js'
import type * as Change from './Change.js'
import type { Checkpoint, Fields } from '../checkpoint/Checkpoint.js'
import { adopted } from './adopted.js'
import { copyOf, withVariables } from '../checkpoint/Checkpoint.js'
import type { CheckpointState, InFlight } from '../checkpoint/CheckpointState.js'
import * as State from '../checkpoint/CheckpointState.js'
import * as Units from '../checkpoint/Units.js'
import * as Items from '../checkpoint/Items.js'
import { jobEnded, jobSubmitted, pendingFailed, stateAfterPending, wasPending, withKeys } from './jobChanges.js'
import {
  subStepCompleted,
  subStepFailed,
  subStepNotApplied,
  withoutEarlier,
  wrongSubStep,
  withDoubts
} from './subStepChanges.js'
import { assumed, confirmed, rewound } from './overrideChanges.js'
import { answered, suspended, waitStarted } from './waitChanges.js'
import type { Result, TransitionError } from './transitionParts.js'
import {
  beforeStepOf,
  keptAttempt,
  isBegun,
  isBeingRetried,
  isDone,
  isInFlight,
  recordFrom,
  refuse,
  isAnyRunning,
  unitAt,
  unrecorded,
  withAttempt,
  withoutDropped,
  withoutPending
} from './transitionParts.js'
import type { FoundUnit } from '../checkpoint/Tree.js'
import type { Unit } from '../workflow/Unit.js'
import { ancestors, isTop, top } from '../workflow/Unit.js'
import type { StepIdentity } from '../workflow/WorkflowIdentity.js'

export type { TransitionError } from './transitionParts.js'

/**
 * Applies a change: returns the next revision, or why the change cannot follow. Checks only that the change fits the
 * checkpoint; the plan decides the order of the steps.
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
 *   attempts: [{ unit: 'build', attempt: 1 }]
 * })
 * assert.ok(E.isRight(running))
 * assert.equal(running.right.revision, 1)
 *
 * @category transitions
 */
export const apply = (self: Checkpoint, change: Change.Change): E.Either<TransitionError, Checkpoint> => {
  const next: Draft = copyOf(self)
  return advance(next, change) ?? E.right(withVariables(next))
}

/**
 * Folds {@link apply} over changes, oldest first. Stops at the first that cannot follow.
 *
 * @category transitions
 */
export const replay = (base: Checkpoint, changes: Iterable<Change.Change>): E.Either<TransitionError, Checkpoint> => {
  const next: Draft = copyOf(base)
  /** A start that is held back until the next change: most tasks start alone and complete at once. */
  let heldBack: Change.AttemptStarted | undefined
  let own: Fields['completedSteps'] | undefined
  for (const change of changes) {
    if (heldBack !== undefined) {
      const started = heldBack
      heldBack = undefined
      const records = change._tag === 'UnitCompleted' ? completeAlone(next, started, change, own) : undefined
      if (records !== undefined) {
        own = records
        continue
      }
      const refused = advance(next, started)
      if (refused !== undefined) return refused
    }
    if (change._tag === 'AttemptStarted') {
      heldBack = change
      continue
    }
    const refused = advance(next, change)
    if (refused !== undefined) return refused
  }
  const refused = heldBack === undefined ? undefined : advance(next, heldBack)
  return refused ?? E.right(withVariables(next))
}

type Draft = { -readonly [Field in keyof Fields]: Fields[Field] }

/** Applies a change to the draft, or returns why it cannot follow. */
const advance = (next: Draft, change: Change.Change): E.Either<TransitionError, never> | undefined => {
  const replaced = replacedFields(next, change)
  if (E.isLeft(replaced))
    return E.left({ _tag: 'TransitionError', change: change._tag, revision: next.revision, ...replaced.left })
  Object.assign(next, replaced.right)
  if (next.moved === undefined && change._tag === 'Moved') delete next.moved
  next.revision += 1
  next.updatedAt = change.at
  return undefined
}

/**
 * Applies the start and the completion of a top-level task at once, without the state between them, and returns the new records, or
 * `undefined` if the changes need the rules in {@link replacedFields}. `own`: the records that the last call returned.
 */
const completeAlone = (
  next: Draft,
  started: Change.AttemptStarted,
  change: Change.UnitCompleted,
  own: Fields['completedSteps'] | undefined
): Fields['completedSteps'] | undefined => {
  const { state, workflow, completedSteps, pending, answers, submissions } = next
  const { unit } = change
  const [first] = started.attempts
  if (started.attempts.length !== 1 || first?.unit !== unit || first.attempt !== change.attempts) return undefined
  if (started.submissions !== undefined || pending.size + answers.size + submissions.size > 0) return undefined
  const stepIndex = state.step === unit ? state.stepIndex : state.stepIndex + 1
  const step = workflow.steps[stepIndex]
  if (step?.name !== unit || step._tag !== 'Task' || !isTop(unit) || Units.has(completedSteps, unit)) return undefined
  if (State.inFlight(state).size + State.failures(state).size > 0) return undefined
  next.state = State.completed(stepIndex, unit)
  const record = recordFrom(change, { definition: step, step, stepIndex })
  next.completedSteps = Units.appendOwn(completedSteps, record, own)
  next.revision += 2
  next.updatedAt = change.at
  return next.completedSteps
}

const replacedFields = (self: Fields, change: Change.Change): Result => {
  // Only an untyped caller passes another tag; `constructor` would find a method of `Object`.
  if (!Object.hasOwn(RULES, change._tag)) return refuse('UnknownChange', self.state.step)
  return (RULES[change._tag] as (self: Fields, change: Change.Change) => Result)(self, change)
}

/** Records stay valid as facts about the old input; an open attempt or job would mix both inputs. */
const inputReplaced = (self: Fields, change: Change.InputReplaced): Result => {
  const [waiting] = self.pending
  if (waiting !== undefined) return refuse('StillPending', waiting.unit)
  const [open] = [...State.inFlight(self.state), ...State.failures(self.state)]
  return open === undefined ? E.right({ input: change.input }) : refuse('AttemptOpen', top(open.unit))
}

const expanded = (self: Fields, change: Change.Expanded): Result => {
  const { unit } = change
  const found = unitAt(self, unit)
  if (found === undefined) return refuse('UnknownUnit', unit)
  if (isDone(self, unit)) return refuse('AlreadyCompleted', unit)
  if (found.definition._tag !== 'Map') return refuse('NotAMap', unit)
  if (self.items.has(unit)) return refuse('AlreadyExpanded', unit)
  if (E.isLeft(Items.check(change.items))) return refuse('InvalidItems', unit)
  return E.right({ items: Items.add(self.items, unit, change.items) })
}

const attemptStarted = (self: Fields, change: Change.AttemptStarted): Result => {
  const [first] = change.attempts
  const found = first === undefined ? undefined : unitAt(self, top(first.unit))
  if (found === undefined) return refuse('UnknownUnit', first?.unit ?? '')
  const { step } = found
  const starting = new Set<Unit>()
  const attemptsOfTasks: Array<InFlight> = []
  for (const attempt of change.attempts) {
    const { unit } = attempt
    const part = unit === step.name ? found : unitAt(self, unit)
    const wrong = part === undefined ? wrongSubStep(self, unit, starting) : wrongAttempt(self, unit, part, step)
    if (wrong !== undefined) return refuse(wrong, unit)
    if (starting.has(unit)) return refuse('AttemptOpen', unit)
    starting.add(unit)
    if (part !== undefined) attemptsOfTasks.push(attempt)
  }
  const before = State.openUnits(self.state)
  let { inFlight, failures } = before
  // Most attempts are the first of their step.
  if (inFlight.size + failures.size > 0) {
    // A composite that failed its own check is retried with its parts.
    for (const { unit } of attemptsOfTasks) for (const above of ancestors(unit)) starting.add(above)
    failures = withoutEarlier(before.failures, before.inFlight, attemptsOfTasks)
    for (const unit of starting) {
      const failure = Units.get(failures, unit)
      if (failure !== undefined && !isBeingRetried(failure)) failures = Units.without(failures, unit)
      inFlight = Units.without(inFlight, unit)
    }
  }
  for (const attempt of change.attempts) {
    const { edited, confirmed } = Units.get(before.inFlight, attempt.unit) ?? {}
    const marks = { ...(edited && { edited }), ...(confirmed && { confirmed }) }
    inFlight = Units.append(inFlight, edited || confirmed ? { ...attempt, ...marks } : attempt)
  }
  const state = beforeStepOf(found, { inFlight, failures })
  const pending = withoutEarlier(self.pending, before.inFlight, attemptsOfTasks)
  const next = pending === self.pending ? { state } : { state, pending }
  if (change.submissions === undefined) return E.right(next)
  const submissions = withKeys(self, change, change.submissions)
  return E.isLeft(submissions) ? submissions : E.right({ ...next, submissions: submissions.right })
}

/** Returns why an attempt of a task cannot start, or undefined: it needs a task of `step` that is neither recorded nor pending. */
const wrongAttempt = (
  self: Fields,
  unit: Unit,
  part: FoundUnit<StepIdentity>,
  step: StepIdentity
): TransitionError['why'] | undefined => {
  if (isDone(self, unit)) return 'AlreadyCompleted'
  if (part.step !== step || part.definition._tag !== 'Task') return 'UnknownUnit'
  return Units.has(self.pending, unit) ? 'StillPending' : undefined
}

const attemptFailed = (self: Fields, change: Change.AttemptFailed): Result => {
  const { unit } = change
  const found = unitAt(self, unit)
  if (found === undefined) return subStepNotApplied(self, change)
  const before = State.openUnits(self.state)
  if (!isInFlight(self.state, change)) return refuse('NotInFlight', unit)
  const failures = withAttempt(before.failures, unit, change, {
    ...keptAttempt(change),
    delayBeforeNextMillis: change.delayBeforeNextMillis
  })
  return E.right({
    state: beforeStepOf(found, { inFlight: Units.without(before.inFlight, unit), failures }),
    pending: withoutDropped(self, change)
  })
}

const unitCompleted = (self: Fields, change: Change.UnitCompleted): Result => {
  const { unit } = change
  const found = unitAt(self, unit)
  if (found === undefined) return subStepCompleted(self, change)
  if (isDone(self, unit)) return refuse('AlreadyCompleted', unit)
  const { definition, step, stepIndex } = found
  const isPending = wasPending(self, change)
  const { inFlight, failures } = State.openUnits(self.state)
  if (definition._tag === 'Task') {
    if (!isPending && !isInFlight(self.state, { unit, attempt: change.attempts })) return refuse('NotInFlight', unit)
  } else {
    const missing = unrecorded(self, unit, definition)
    const hasNoItems = definition._tag === 'Map' && !self.items.has(unit)
    if (missing !== undefined || hasNoItems) return refuse('PartsUnfinished', missing ?? unit)
  }
  const stateAfterAttempt = (): CheckpointState => {
    const rest = Units.outside(failures, unit)
    return unit === step.name
      ? State.completed(stepIndex, unit, { inFlight: Units.outside(inFlight, unit), failures: rest })
      : beforeStepOf(found, { inFlight: Units.without(inFlight, unit), failures: rest })
  }
  return E.right({
    state: isPending ? stateAfterPending(self, unit, stepIndex) : stateAfterAttempt(),
    completedSteps: Units.append(self.completedSteps, withDoubts(recordFrom(change, found), failures)),
    ...withoutPending(self, unit)
  })
}

const unitFailed = (self: Fields, change: Change.UnitFailed): Result => {
  const { unit, last, retryable } = change
  const found = unitAt(self, unit)
  if (found === undefined) return subStepFailed(self, change)
  if (isDone(self, unit)) return refuse('AlreadyCompleted', unit)
  const { definition, step, stepIndex } = found
  const before = State.openUnits(self.state)
  const isTask = definition._tag === 'Task'
  if (last === undefined) {
    if (isTask || unit !== step.name || Units.within(before.failures, unit).length === 0)
      return refuse('NotInFlight', unit)
    return isAnyRunning(Units.within(before.inFlight, unit))
      ? refuse('PartsUnfinished', unit)
      : E.right({ state: State.failed(stepIndex, step.name, before.failures, retryable, before.inFlight) })
  }
  if (isTask && definition.wait !== undefined) return pendingFailed(self, change, last)
  // A composite fails at its own check, when none of its parts runs.
  const canFail = isTask
    ? isInFlight(self.state, { unit, attempt: last.attempt })
    : !isAnyRunning(Units.within(before.inFlight, unit))
  if (!canFail) return refuse('NotInFlight', unit)
  const failures = withAttempt(before.failures, unit, last, keptAttempt({ ...last, at: change.at }))
  return E.right({
    state:
      unit === step.name
        ? State.failed(stepIndex, unit, failures, retryable, Units.without(before.inFlight, unit))
        : beforeStepOf(found, { inFlight: Units.without(before.inFlight, unit), failures }),
    pending: withoutDropped(self, change)
  })
}

const interrupted = (self: Fields, change: Change.Interrupted): Result => {
  const found = unitAt(self, change.unit)
  if (found?.step.name !== change.unit) return refuse('UnknownUnit', change.unit)
  if (self.completedSteps.steps === self.workflow.steps.length) return refuse('AlreadyCompleted', change.unit)
  const { step, stepIndex } = found
  const before = State.openUnits(self.state)
  const inProgress = isBegun(self, step.name, before) && !Units.has(self.completedSteps, step.name)
  return E.right({ state: State.interrupted(stepIndex, step.name, change.reason, { inProgress, ...before }) })
}

type Rules = {
  readonly [Tag in Change.Change['_tag']]: (
    self: Fields,
    change: Extract<Change.Change, { readonly _tag: Tag }>
  ) => Result
}

const RULES: Rules = {
  Started: (_, { runId }) => refuse('AlreadyStarted', runId),
  Forked: (_, { runId }) => refuse('AlreadyStarted', runId),
  Moved: (_, { way, store }) => E.right({ moved: way === 'here' ? undefined : { way, store } }),
  WorkflowEdited: (self, { workflow }) =>
    workflow.steps.length === 0 ? refuse('UnknownUnit', workflow.name) : E.right(adopted(self, workflow)),
  Recovered: () => E.right({}),
  InputReplaced: inputReplaced,
  Expanded: expanded,
  AttemptStarted: attemptStarted,
  AttemptFailed: attemptFailed,
  UnitCompleted: unitCompleted,
  UnitFailed: unitFailed,
  JobSubmitted: jobSubmitted,
  JobEnded: jobEnded,
  WaitStarted: waitStarted,
  Answered: answered,
  Suspended: suspended,
  Interrupted: interrupted,
  Rewound: rewound,
  Assumed: assumed,
  Confirmed: confirmed
}
