/** Applies the facts about waits to a checkpoint. */
import * as E from 'fp-ts/lib/Either.js'
import type * as Change from './Change.js'
import type { Fields } from './Checkpoint.js'
import * as State from './CheckpointState.js'
import { mayStandAt } from './jobChanges.js'
import * as Pending from './Pending.js'
import type { Result } from './transitionParts.js'
import { here, isDone, isRunning, notInFlight, refuse, taskAt, unitAt, without } from './transitionParts.js'
import type { Unit } from './Unit.js'

/** Begins a wait, of a unit of the workflow or of a task's code. One that goes on after an answer that did not fit drops the answer. */
export const waitStarted = (self: Fields, change: Change.WaitStarted): Result => {
  const { unit, wait, at: startedAt } = change
  const whole = unitAt(self, unit)
  const task = whole === undefined ? taskAt(self, unit) : undefined
  const found = whole ?? task
  if (found === undefined) return refuse(self, change, 'UnknownUnit', unit)
  const { definition, step, stepIndex } = found
  if (definition.kind !== 'task' || (whole !== undefined && definition.wait !== wait._tag))
    return refuse(self, change, 'NotAWait', unit)
  if (isDone(self, unit)) return refuse(self, change, 'AlreadyCompleted', unit)
  const before = here(self.state, stepIndex)
  if (task !== undefined && !before.inFlight.some((one) => isRunning(one) && one.unit === task.unit))
    return notInFlight(self, change, unit)
  const at = indexOf(self.pending, unit)
  const isAgain = self.pending[at]?._tag === 'Answer' && Pending.find(self.answers, unit) !== undefined
  if (at !== -1 && !isAgain) return refuse(self, change, 'StillPending', unit)
  if (task !== undefined && !mayStandAt(self, unit)) return refuse(self, change, 'StandsElsewhere', unit)
  return E.right({
    // A task that became a wait has no attempt any more.
    state: State.beforeStep(
      stepIndex,
      step.name,
      task === undefined ? without(before.inFlight, unit) : before.inFlight,
      without(before.failures, unit)
    ),
    pending: [...(at === -1 ? self.pending : self.pending.toSpliced(at, 1)), { ...wait, unit, startedAt }],
    ...(at === -1 ? {} : { answers: without(self.answers, unit) })
  })
}

/** Keeps an answer until the unit takes it. Any sub-step of a task that has not completed may be answered: only its code knows which will wait. */
export const answered = (self: Fields, change: Change.Answered): Result => {
  const { unit, value, by, at } = change
  const whole = unitAt(self, unit)
  const found = whole ?? taskAt(self, unit)
  if (found?.definition.kind !== 'task')
    return refuse(self, change, found === undefined ? 'UnknownUnit' : 'NotAWait', unit)
  if (isDone(self, unit)) return refuse(self, change, 'AlreadyCompleted', unit)
  const isBelowWait = whole === undefined && found.definition.wait !== undefined
  const below = isBelowWait ? undefined : (Pending.find(self.pending, unit)?._tag ?? 'Answer')
  const kind = whole === undefined ? below : found.definition.wait
  if (kind !== 'Answer') return refuse(self, change, 'NotAWait', unit)
  if (Pending.find(self.answers, unit) !== undefined) return refuse(self, change, 'AlreadyAnswered', unit)
  return E.right({ answers: [...self.answers, { unit, value, by, at }] })
}

/** Marks the attempt of a task as suspended. One of its waits must be open, or nothing would wake it. */
export const suspended = (self: Fields, change: Change.Suspended): Result => {
  const { unit, waits, dropped = [] } = change
  const { state } = self
  const at = indexOf(State.inFlight(state), unit)
  const attempt = state._tag === 'BeforeStep' ? state.inFlight[at] : undefined
  if (state._tag !== 'BeforeStep' || attempt === undefined || !isRunning(attempt))
    return notInFlight(self, change, unit)
  if (waits.length === 0 || waits.some((wait) => indexOf(self.pending, wait) === -1))
    return refuse(self, change, 'NotPending', unit)
  const inFlight = state.inFlight.with(at, { ...attempt, suspended: true })
  return E.right({
    state: { ...state, inFlight },
    ...(dropped.length === 0 ? {} : { pending: self.pending.filter(({ unit }) => !dropped.includes(unit)) })
  })
}

/** Spelt out: a wave may have 10,000 units that wait. */
const indexOf = (all: ReadonlyArray<{ readonly unit: Unit }>, unit: Unit): number => {
  for (let at = all.length - 1; at >= 0; at--) if (all[at]?.unit === unit) return at
  return -1
}
