/** Applies facts about sub-steps to a checkpoint. Their task must be in flight. */
import * as E from 'fp-ts/lib/Either.js'
import type * as Change from './Change.js'
import type { Fields } from './Checkpoint.js'
import type { Failure, InFlight } from './CheckpointState.js'
import * as State from './CheckpointState.js'
import * as Steps from './CompletedStep.js'
import type { Result, TransitionError } from './transitionParts.js'
import {
  attemptOf,
  here,
  isDone,
  isRunning,
  notInFlight,
  recordOf,
  refuse,
  taskAt,
  withAttempt,
  without,
  withoutPending
} from './transitionParts.js'
import type { Pending } from './Pending.js'
import type { Unit } from './Unit.js'
import { ancestors, isWithin } from './Unit.js'

/** Returns why a sub-step cannot start, or undefined. `starting`: the tasks that start in the same change. */
export const wrongStart = (
  self: Fields,
  unit: Unit,
  starting: ReadonlySet<Unit>
): TransitionError['why'] | undefined => {
  const task = taskAt(self, unit)
  if (task?.definition.kind !== 'task') return 'UnknownUnit'
  if (isDone(self, unit)) return 'AlreadyCompleted'
  return starting.has(task.unit) || runs(self, task.unit) ? undefined : 'UnknownUnit'
}

const runs = ({ state }: Fields, unit: Unit): boolean =>
  State.inFlight(state).some((one) => one.unit === unit && isRunning(one))

/** Drops the failed sub-steps of tasks whose new attempt starts. A repeated attempt is still in flight, keeps them, and meets the same errors. */
export const withoutEarlier = (
  failures: ReadonlyArray<Failure>,
  inFlight: ReadonlyArray<InFlight>,
  starting: ReadonlyArray<InFlight>
): ReadonlyArray<Failure> => {
  if (!failures.some(({ subStep }) => subStep !== undefined)) return failures
  const anew = starting.filter(({ unit }) => !inFlight.some((one) => one.unit === unit))
  return failures.filter(
    ({ unit, subStep }) => subStep === undefined || !anew.some((task) => isWithin(unit, task.unit))
  )
}

/** Drops the waits in the code of tasks whose new attempt starts. A repeated attempt goes on with them. */
export const withoutEarlierWaits = (
  pending: ReadonlyArray<Pending>,
  inFlight: ReadonlyArray<InFlight>,
  starting: ReadonlyArray<InFlight>
): ReadonlyArray<Pending> => {
  if (pending.length === 0) return pending
  const known = new Set(inFlight.map(({ unit }) => unit))
  const anew = new Set(starting.flatMap(({ unit }) => (known.has(unit) ? [] : [unit])))
  const isStale = ({ unit }: Pending): boolean => [...ancestors(unit)].some((above) => anew.has(above))
  return pending.some(isStale) ? pending.filter((one) => !isStale(one)) : pending
}

/** Records a sub-step that completed. */
export const subStepCompleted = (self: Fields, change: Change.UnitCompleted): Result => {
  const { unit } = change
  const ready = ended(self, change)
  if (E.isLeft(ready)) return ready
  const { task, before } = ready.right
  return E.right({
    state: State.beforeStep(
      task.stepIndex,
      task.step.name,
      without(before.inFlight, unit),
      without(before.failures, unit)
    ),
    completedSteps: Steps.append(self.completedSteps, { ...recordOf(change, task), subStep: change.subStep ?? {} }),
    ...withoutPending(self, unit)
  })
}

/** Records a sub-step that failed. The task may still complete. */
export const subStepFailed = (self: Fields, change: Change.UnitFailed): Result => {
  const { unit, last, subStep = {} } = change
  if (last === undefined) return notInFlight(self, change, unit)
  const ready = ended(self, change)
  if (E.isLeft(ready)) return ready
  const { task, before } = ready.right
  const failures = withAttempt(before.failures, unit, { ...last, subStep }, attemptOf({ ...last, at: change.at }))
  return E.right({
    state: State.beforeStep(task.stepIndex, task.step.name, without(before.inFlight, unit), failures),
    ...withoutPending(self, unit)
  })
}

type Ended = { readonly task: NonNullable<ReturnType<typeof taskAt>>; readonly before: ReturnType<typeof here> }

/** Returns the task of a sub-step that may end now. A sub-step that is not idempotent must be in flight; retries are not recorded. */
const ended = (self: Fields, change: Change.UnitCompleted | Change.UnitFailed): E.Either<TransitionError, Ended> => {
  const { unit, subStep } = change
  const task = subStep === undefined ? undefined : taskAt(self, unit)
  if (subStep === undefined || task?.definition.kind !== 'task') return refuse(self, change, 'UnknownUnit', unit)
  if (isDone(self, unit)) return refuse(self, change, 'AlreadyCompleted', unit)
  const hasStarted = subStep.idempotent !== false || runs(self, unit)
  return hasStarted && runs(self, task.unit)
    ? E.right({ task, before: here(self.state, task.stepIndex) })
    : refuse(self, change, 'NotInFlight', unit)
}
