/** Applies facts about sub-steps to a checkpoint. Their task must be in flight. */
import * as E from 'fp-ts/lib/Either.js'
import type * as Change from './Change.js'
import type { Fields } from '../checkpoint/Checkpoint.js'
import type { Failure, InFlight, OpenUnits } from '../checkpoint/CheckpointState.js'
import * as State from '../checkpoint/CheckpointState.js'
import type { CompletedStep } from '../checkpoint/CompletedStep.js'
import * as Units from '../checkpoint/Units.js'
import type { Refusal, Result, TransitionError } from './transitionParts.js'
import {
  beforeStepOf,
  keptAttempt,
  isDone,
  recordFrom,
  refuse,
  isRunningHere,
  subStepAt,
  taskAt,
  withAttempt,
  withoutPending
} from './transitionParts.js'
import type { Unit } from '../workflow/Unit.js'

/** Returns why a sub-step cannot start, or undefined. `starting`: the tasks that start in the same change. */
export const wrongSubStep = (
  self: Fields,
  unit: Unit,
  starting: ReadonlySet<Unit>
): TransitionError['why'] | undefined => {
  const task = taskAt(self, unit)
  if (task?.definition._tag !== 'Task') return 'UnknownUnit'
  if (isDone(self, unit)) return 'AlreadyCompleted'
  return starting.has(task.unit) || isRunningHere(self.state, task.unit) ? undefined : 'NotInFlight'
}

/** Drops the sub-steps in `all` (failures or waits) of tasks that start a new attempt. A repeated attempt is still in flight and keeps them. */
export const withoutEarlier = <A extends Units.OfUnit>(
  all: Units.Units<A>,
  inFlight: Units.Units<InFlight>,
  starting: ReadonlyArray<InFlight>
): Units.Units<A> => {
  if (all.size === 0) return all
  let rest = all
  for (const { unit: task } of starting)
    if (!Units.has(inFlight, task))
      for (const { unit } of Units.within(all, task)) if (unit !== task) rest = Units.without(rest, unit)
  return rest
}

export const subStepCompleted = (self: Fields, change: Change.UnitCompleted): Result => {
  const { unit } = change
  const ready = endable(self, change)
  if (E.isLeft(ready)) return ready
  const { task, before } = ready.right
  const failures = Units.without(before.failures, unit)
  const record = { ...recordFrom(change, task), subStep: change.subStep ?? {} }
  return E.right({
    state: beforeStepOf(task, {
      inFlight: Units.without(before.inFlight, unit),
      failures: Units.outside(failures, unit)
    }),
    completedSteps: Units.append(self.completedSteps, withDoubts(record, failures)),
    ...withoutPending(self, unit)
  })
}

/** Records a sub-step that failed. The task may still complete. */
export const subStepFailed = (self: Fields, change: Change.UnitFailed): Result => {
  const { unit, last, subStep = {} } = change
  if (last === undefined) return refuse('NotInFlight', unit)
  const ready = endable(self, change)
  if (E.isLeft(ready)) return ready
  const { task, before } = ready.right
  const failures = withAttempt(before.failures, unit, { ...last, subStep }, keptAttempt({ ...last, at: change.at }))
  return E.right({
    state: beforeStepOf(task, { inFlight: Units.without(before.inFlight, unit), failures }),
    ...withoutPending(self, unit)
  })
}

/** Ends an attempt of a sub-step that did nothing. Attempts of sub-steps that are retried leave no record. */
export const subStepNotApplied = (self: Fields, change: Change.AttemptFailed): Result => {
  const { unit, outcome } = change
  const task = subStepAt(self, unit)
  if (task === undefined) return refuse('UnknownUnit', unit)
  const { inFlight, failures } = State.openUnits(self.state)
  return outcome === 'notApplied' && isRunningHere(self.state, unit)
    ? E.right({ state: beforeStepOf(task, { inFlight: Units.without(inFlight, unit), failures }) })
    : refuse('NotInFlight', unit)
}

type SubStepEnd = { readonly task: NonNullable<ReturnType<typeof taskAt>>; readonly before: OpenUnits }

/** Returns the task of a sub-step that may end now. One that is not idempotent must be in flight, in any attempt: retries are not recorded. */
const endable = (self: Fields, change: Change.UnitCompleted | Change.UnitFailed): E.Either<Refusal, SubStepEnd> => {
  const { unit, subStep } = change
  const task = subStep === undefined ? undefined : taskAt(self, unit)
  if (subStep === undefined || task?.definition._tag !== 'Task') return refuse('UnknownUnit', unit)
  if (isDone(self, unit)) return refuse('AlreadyCompleted', unit)
  const hasStarted = subStep.idempotent !== false || isRunningHere(self.state, unit)
  return hasStarted && isRunningHere(self.state, task.unit)
    ? E.right({ task, before: State.openUnits(self.state) })
    : refuse('NotInFlight', unit)
}

/** Returns the failed sub-steps in a unit that are not idempotent and may have taken effect. */
export const failedInDoubt = (failures: Units.Units<Failure>, within: Unit): ReadonlyArray<Unit> =>
  Units.within(failures, within).flatMap(({ unit, subStep, outcome }) =>
    subStep?.idempotent === false && outcome === 'unknown' ? [unit] : []
  )

/** Names the failed sub-steps in doubt in the record of the unit whose code caught them. */
export const withDoubts = (record: CompletedStep, failures: Units.Units<Failure>): CompletedStep => {
  const inDoubt = failedInDoubt(failures, record.unit)
  return inDoubt.length === 0 ? record : { ...record, inDoubt }
}
