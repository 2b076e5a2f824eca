/**
 * What the facts about sub-steps do to a checkpoint. Their task is in flight meanwhile.
 *
 * @since 0.1.0
 */
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
  notInFlight,
  recordOf,
  refuse,
  taskAt,
  withAttempt,
  without
} from './transitionParts.js'
import type { Unit } from './Unit.js'
import { isWithin } from './Unit.js'

/** Why a sub-step can't start; undefined if it can. `starting`: the tasks that start with it. */
export const wrongStart = (
  self: Fields,
  unit: Unit,
  starting: ReadonlySet<Unit>
): TransitionError['why'] | undefined => {
  const task = taskAt(self, unit)
  if (task?.definition.kind !== 'task') return 'UnknownUnit'
  if (isDone(self, unit)) return 'AlreadyCompleted'
  return starting.has(task.unit) || isRunning(self, task.unit) ? undefined : 'UnknownUnit'
}

const isRunning = ({ state }: Fields, unit: Unit): boolean => State.inFlight(state).some((one) => one.unit === unit)

/**
 * The failures that stay when tasks start: what failed in an earlier attempt of a task runs again in a new one. An attempt that is
 * repeated is still in flight, and meets the same failures.
 */
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

/**
 * A sub-step ended well.
 *
 * @category transitions
 * @since 0.1.0
 */
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
    completedSteps: Steps.append(self.completedSteps, { ...recordOf(change, task), subStep: change.subStep ?? {} })
  })
}

/**
 * A sub-step ended badly, which fails nothing by itself.
 *
 * @category transitions
 * @since 0.1.0
 */
export const subStepFailed = (self: Fields, change: Change.UnitFailed): Result => {
  const { unit, last, subStep = {} } = change
  if (last === undefined) return notInFlight(self, change, unit)
  const ready = ended(self, change)
  if (E.isLeft(ready)) return ready
  const { task, before } = ready.right
  const failures = withAttempt(before.failures, unit, { ...last, subStep }, attemptOf({ ...last, at: change.at }))
  return E.right({ state: State.beforeStep(task.stepIndex, task.step.name, without(before.inFlight, unit), failures) })
}

type Ended = { readonly task: NonNullable<ReturnType<typeof taskAt>>; readonly before: ReturnType<typeof here> }

/** The task of a sub-step that may end now. One that is not idempotent has to be in flight; its retries are not recorded. */
const ended = (self: Fields, change: Change.UnitCompleted | Change.UnitFailed): E.Either<TransitionError, Ended> => {
  const { unit, subStep } = change
  const task = subStep === undefined ? undefined : taskAt(self, unit)
  if (subStep === undefined || task?.definition.kind !== 'task') return refuse(self, change, 'UnknownUnit', unit)
  if (isDone(self, unit)) return refuse(self, change, 'AlreadyCompleted', unit)
  const hasStarted = subStep.idempotent !== false || isRunning(self, unit)
  return hasStarted && isRunning(self, task.unit)
    ? E.right({ task, before: here(self.state, task.stepIndex) })
    : refuse(self, change, 'NotInFlight', unit)
}
