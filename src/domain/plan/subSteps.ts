/** Finds the recorded sub-steps of tasks, and the one to restart from. */
import type { Checkpoint } from '../checkpoint/Checkpoint.js'
import type { CheckpointState } from '../checkpoint/CheckpointState.js'
import * as State from '../checkpoint/CheckpointState.js'
import type { RunReason } from './Plan.js'
import type { SubStep } from '../checkpoint/SubStep.js'
import { pushTo } from '../data/indexed.js'
import { find, taskAround } from '../checkpoint/Tree.js'
import { hasCode } from '../workflow/Node.js'
import type { Unit } from '../workflow/Unit.js'
import type { Step } from '../workflow/Workflow.js'
import type { StepIdentity } from '../workflow/WorkflowIdentity.js'
import { ancestors, isTop, isWithin } from '../workflow/Unit.js'
import * as Units from '../checkpoint/Units.js'

/** A sub-step that a checkpoint names, its recorded call, and when it completed or failed (UTC, ISO 8601), if it has ended. */
export interface KnownSubStep {
  readonly unit: Unit
  readonly call: SubStep
  readonly completedAt?: string
  readonly failedAt?: string | undefined
}

/** By task: the recorded sub-steps in order, each after the ones in doubt inside it; then failed ones, those in flight, and pending ones. */
export type SubStepsByTask = ReadonlyMap<Unit, ReadonlyArray<KnownSubStep>>

export const subStepsOf = (
  { completedSteps, state, pending, workflow, items }: Checkpoint,
  edited: { readonly steps: ReadonlyArray<Step | StepIdentity> } = workflow
): SubStepsByTask => {
  const all = new Map<Unit, Array<KnownSubStep>>()
  const add = (unit: Unit, call: SubStep, ended: Pick<KnownSubStep, 'completedAt' | 'failedAt'> = {}): void => {
    const task = taskAround(workflow, items, unit, state.stepIndex)?.unit
    if (task === undefined) return
    // If an edit takes the code from a task, its sub-steps in doubt still need an answer.
    const isThere = hasCode(find(edited, items, task, state.stepIndex)?.definition)
    if (isThere || isSubStepInDoubt(state, unit)) pushTo(all, task, { unit, call, ...ended })
  }
  for (const { unit, subStep, inDoubt, completedAt } of Units.all(completedSteps)) {
    if (inDoubt !== undefined) for (const one of inDoubt) add(one, NOT_IDEMPOTENT, { completedAt })
    if (subStep !== undefined) add(unit, subStep, { completedAt })
  }
  for (const { unit, subStep, attempts } of State.failures(state))
    if (subStep !== undefined) add(unit, subStep, { failedAt: attempts.at(-1)?.failedAt })
  for (const { unit } of State.inFlight(state))
    if (!isTop(unit) && find(workflow, items, unit, state.stepIndex) === undefined) add(unit, NOT_IDEMPOTENT)
  for (const { unit, _tag } of pending)
    if (_tag !== 'Job' && !isTop(unit) && find(workflow, items, unit, state.stepIndex) === undefined) add(unit, {})
  return all
}

const NOT_IDEMPOTENT: SubStep = { idempotent: false }

/** The code of the failure of a sub-step whose call was refused, because it may have run. */
export const IN_DOUBT = 'SUB_STEP_IN_DOUBT'

/** Detects a sub-step that is not idempotent and may have taken effect. */
export const isSubStepInDoubt = (state: CheckpointState, unit: Unit): boolean => {
  if (Units.has(State.inFlight(state), unit)) return true
  const failure = Units.get(State.failures(state), unit)
  return failure?.subStep?.idempotent === false && State.mayHaveActed(failure)
}

/** Sub-steps, and the units around them. */
export interface CallsAt {
  readonly calls: ReadonlySet<Unit>
  readonly around: ReadonlySet<Unit>
}

/** The sub-steps that completed or may have taken effect. `once`: those that are not idempotent. */
export interface ActedCalls {
  readonly all: CallsAt
  readonly once: CallsAt
}

export const actedCalls = ({ completedSteps, state }: Checkpoint, subSteps: SubStepsByTask): ActedCalls => {
  const once = [...subSteps.values()].flat().flatMap(({ unit }) => (isSubStepInDoubt(state, unit) ? [unit] : []))
  const more: Array<Unit> = []
  if (completedSteps.size > completedSteps.steps)
    for (const { unit, subStep } of Units.all(completedSteps))
      if (subStep !== undefined && subStep.wait === undefined) (subStep.idempotent === false ? once : more).push(unit)
  return { all: placed([...once, ...more]), once: placed(once) }
}

const placed = (units: ReadonlyArray<Unit>): CallsAt => ({
  calls: new Set(units),
  around: new Set(units.flatMap((unit) => [...ancestors(unit)]))
})

/** Returns the recorded sub-steps that are not idempotent. */
export const nonIdempotentSubSteps = (checkpoint: Checkpoint): ReadonlyArray<Unit> =>
  [...subStepsOf(checkpoint).values()].flat().flatMap(({ unit, call }) => (call.idempotent === false ? [unit] : []))

/** Returns the units that may have taken effect without a record, and the sub-steps in doubt that records name. */
export const allInDoubt = ({ state, completedSteps }: Checkpoint): ReadonlyArray<Unit> => [
  ...State.inDoubt(state),
  ...Units.all(completedSteps).flatMap(({ inDoubt = [] }) => inDoubt)
]

/** The first sub-step of a task that runs again, and why. All recorded after it run again too. */
export interface Restart {
  readonly unit: Unit
  readonly index: number
  readonly reason: RunReason
}

const FORCED: RunReason = { _tag: 'Forced' }

/** Finds the sub-step that `fromStep` names, or the first whose evidence is missing or changed. */
export const restartOf = (
  all: ReadonlyArray<KnownSubStep>,
  from: Unit | undefined,
  rerun: ReadonlyMap<Unit, RunReason>
): Restart | undefined => {
  if (from !== undefined) {
    const named = all.findIndex(({ unit }) => unit === from)
    const index = named === -1 ? all.findIndex(({ unit }) => isWithin(unit, from)) : named
    return index === -1 ? undefined : { unit: from, index, reason: FORCED }
  }
  for (const [index, { unit }] of all.entries()) {
    const reason = rerun.get(unit)
    if (reason !== undefined) return { unit, index, reason }
  }
  return undefined
}

/** Returns the sub-steps that run again because of a restart: that one, those recorded after it, and their nested ones. */
export const restartedBy = (
  all: ReadonlyArray<KnownSubStep>,
  { unit: from, index, reason }: Restart
): ReadonlyMap<Unit, RunReason> => {
  const later: RunReason = { _tag: 'EarlierStepRunsAgain', step: from }
  const again = new Map<Unit, RunReason>()
  const first = all[index]
  // Failed sub-steps are listed after the completed ones, so the times say which of two ended first.
  const isLater = ({ completedAt, failedAt }: KnownSubStep, at: number): boolean => {
    if (failedAt !== undefined && first?.completedAt !== undefined) return failedAt >= first.completedAt
    if (completedAt !== undefined && first?.failedAt !== undefined) return completedAt > first.failedAt
    return at > index
  }
  for (const [at, one] of all.entries()) if (isLater(one, at)) again.set(one.unit, later)
  for (const { unit } of all) {
    if (isWithin(unit, from)) again.set(unit, reason)
    // A sub-step around the restart keeps its other nested ones.
    else for (const above of ancestors(unit)) if (again.has(above) && !isWithin(from, above)) again.set(unit, later)
  }
  return again
}
