/** Applies the decisions of users and hosts about units to a checkpoint: rewinds, assumptions and confirmations. */
import * as E from 'fp-ts/lib/Either.js'
import type * as Change from './Change.js'
import type { Fields } from '../checkpoint/Checkpoint.js'
import type { CheckpointState } from '../checkpoint/CheckpointState.js'
import * as State from '../checkpoint/CheckpointState.js'
import type { CompletedStep } from '../checkpoint/CompletedStep.js'
import { renewed } from '../checkpoint/IdempotencyKey.js'
import * as Items from '../checkpoint/Items.js'
import type { FoundUnit } from '../checkpoint/Tree.js'
import * as Units from '../checkpoint/Units.js'
import { isComposite } from '../workflow/Node.js'
import type { Unit } from '../workflow/Unit.js'
import { ancestors, parent, top } from '../workflow/Unit.js'
import type { StepIdentity } from '../workflow/WorkflowIdentity.js'
import { recordedFingerprint } from '../workflow/WorkflowIdentity.js'
import type { Result } from './transitionParts.js'
import { isDone, recordFrom, refuse, subStepAt, taskAt, unitAt, unrecorded, withoutPending } from './transitionParts.js'

export const rewound = (self: Fields, change: Change.Rewound): Result => {
  let first = Infinity
  const above = new Set<Unit>()
  for (const unit of change.units) {
    const found = unitAt(self, unit) ?? subStepAt(self, unit)
    if (found === undefined) return refuse('UnknownUnit', unit)
    first = Math.min(first, found.stepIndex)
    for (const one of ancestors(unit)) above.add(one)
  }
  if (first === Infinity) return refuse('UnknownUnit', '')
  const named = new Set(change.units)
  const isNamed = (unit: Unit | undefined): boolean => unit !== undefined && (named.has(unit) || isNamed(parent(unit)))
  const stays = ({ unit }: { readonly unit: Unit }): boolean => !above.has(unit) && !isNamed(unit)
  const isCompositeAt = (unit: Unit): boolean => {
    const definition = unitAt(self, unit)?.definition
    return definition !== undefined && isComposite(definition)
  }
  const { inFlight, failures } = State.openUnits(self.state)
  const isLater = ({ unit }: Units.OfUnit): boolean => (unitAt(self, top(unit))?.stepIndex ?? 0) > first
  // A rewind drops the open units of later steps. It must not drop attempts of a task that is not rewound; a failed check of a composite is
  // repeated.
  const lost = [...inFlight, ...failures].find((one) => isLater(one) && stays(one) && !isCompositeAt(one.unit))
  if (lost !== undefined) return refuse('StandsElsewhere', top(lost.unit))
  const open = {
    // A task continues its attempt when sub-steps of it are rewound.
    inFlight: Units.filter(inFlight, (one) => !isNamed(one.unit) && !isLater(one)),
    failures: Units.filter(failures, (one) => stays(one) && !isLater(one))
  }
  return E.right({
    generation: self.generation + 1,
    renewals: renewed(self.renewals, named),
    state: stateAfterRewind(self, first, open),
    completedSteps: Units.filter(self.completedSteps, stays),
    items: Items.filter(self.items, (map) => !isNamed(map)),
    pending: Units.filter(self.pending, stays),
    answers: Units.filter(self.answers, stays),
    submissions: Units.filter(self.submissions, stays)
  })
}

/** A run stays at an unfinished step before the first rewound one. */
const stateAfterRewind = (
  { state, completedSteps, workflow }: Fields,
  stepIndex: number,
  open: State.OpenUnits
): CheckpointState =>
  state.stepIndex < stepIndex && !Units.has(completedSteps, state.step)
    ? State.withOpen(state, open)
    : State.beforeStep(stepIndex, workflow.steps[stepIndex]?.name ?? '', open.inFlight, open.failures)

export const assumed = (self: Fields, change: Change.Assumed): Result => {
  const { unit, subStep } = change
  const inTree = unitAt(self, unit)
  const found = inTree ?? (subStep === undefined ? undefined : taskAt(self, unit))
  if (found === undefined) return refuse('UnknownUnit', unit)
  const earlier = Units.get(self.completedSteps, unit)
  const isLacking =
    earlier?.assumed === true || change.captured.some((name) => earlier?.captured.includes(name) === false)
  if (earlier !== undefined && isLacking && change.output !== undefined)
    return E.right({ completedSteps: Units.replace(self.completedSteps, supplied(earlier, change, found)) })
  if (isDone(self, unit)) return refuse('AlreadyCompleted', unit)
  const missing = inTree === undefined ? undefined : unrecorded(self, unit, inTree.definition)
  if (missing !== undefined) return refuse('PartsUnfinished', missing)
  const completion = { ...change, attempts: 0, startedAt: change.at, durationMillis: 0, evidence: [] }
  const done = { ...recordFrom(completion, found), assumed: true } as const
  const record = subStep === undefined ? done : { ...done, subStep }
  return E.right({
    state: stateAfterAssumption(self, found, unit),
    completedSteps: Units.append(self.completedSteps, record),
    ...withoutPending(self, unit)
  })
}

/** Adds the output that an assumption lacked, or that sets variables which an edit captures. Attempts that started since continue. */
const supplied = (
  earlier: CompletedStep,
  { output, captured }: Change.Assumed,
  { definition }: FoundUnit<StepIdentity>
): CompletedStep => ({
  ...earlier,
  fingerprint: recordedFingerprint(definition),
  ...(output === undefined ? {} : { output }),
  captured,
  assumed: true
})

/** Assuming a unit of another step does not move the run. */
const stateAfterAssumption = (
  { state, completedSteps }: Fields,
  { step, stepIndex }: FoundUnit<StepIdentity>,
  unit: Unit
): CheckpointState => {
  const isNext = stepIndex === state.stepIndex + 1 && Units.has(completedSteps, state.step)
  if (stepIndex !== state.stepIndex && !isNext) return State.withOpen(state, openOutside(state, unit))
  return unit === step.name
    ? State.completed(stepIndex, unit, openOutside(state, unit))
    : withoutUnit(state, step.name, stepIndex, unit)
}

export const confirmed = (self: Fields, change: Change.Confirmed): Result => {
  const { unit, evidence } = change
  const own = unitAt(self, unit)
  const task = own === undefined ? subStepAt(self, unit) : undefined
  const found = own ?? task
  if (found === undefined || (found.definition._tag !== 'Task' && evidence === undefined))
    return refuse('UnknownUnit', unit)
  if (Units.has(self.pending, unit)) return refuse('StillPending', unit)
  if (evidence !== undefined) {
    const record = Units.get(self.completedSteps, unit)
    return record === undefined
      ? refuse('NotCompleted', unit)
      : E.right({ completedSteps: Units.replace(self.completedSteps, { ...record, evidence }) })
  }
  const { state } = self
  if (!State.inDoubt(state).has(unit)) return refuse('NotInFlight', unit)
  const next = stateAfterConfirmation(state, found, unit)
  return E.right({ state: task === undefined ? next : withConfirmed(next, task.unit, unit) })
}

/** Keeps the answer about a sub-step until its task's attempt ends: a repeated attempt cannot see that the sub-step was in question. */
const withConfirmed = (state: CheckpointState, task: Unit, subStep: Unit): CheckpointState => {
  const { inFlight, failures } = State.openUnits(state)
  const attempt = Units.get(inFlight, task)
  if (attempt === undefined) return state
  const confirmed = [...new Set([...(attempt.confirmed ?? []), subStep])]
  return State.withOpen(state, { inFlight: Units.replace(inFlight, { ...attempt, confirmed }), failures })
}

const stateAfterConfirmation = (
  state: CheckpointState,
  { step, stepIndex }: FoundUnit<StepIdentity>,
  unit: Unit
): CheckpointState =>
  state.step === step.name
    ? withoutUnit(state, step.name, stepIndex, unit)
    : State.withOpen(state, openOutside(state, unit))

/** The attempts and failures outside of a unit. */
const openOutside = (state: CheckpointState, unit: Unit): State.OpenUnits => ({
  inFlight: Units.outside(State.inFlight(state), unit),
  failures: Units.outside(State.failures(state), unit)
})

/** Removes the attempts and failures of a unit and its parts. The run stays interrupted if others of its step are left. */
const withoutUnit = (state: CheckpointState, step: string, stepIndex: number, unit: Unit): CheckpointState => {
  const open = openOutside(state, unit)
  return state._tag === 'Interrupted' && state.step === step && State.isOpen(open, step)
    ? State.withOpen(state, open)
    : State.beforeStep(stepIndex, step, open.inFlight, open.failures)
}
