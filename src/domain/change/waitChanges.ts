/** Applies the facts about waits to a checkpoint. */
import * as E from 'fp-ts/lib/Either.js'
import type * as Change from './Change.js'
import type { Fields } from '../checkpoint/Checkpoint.js'
import * as State from '../checkpoint/CheckpointState.js'
import { overAt, WAIT_TIMEOUT } from '../checkpoint/Due.js'
import type { Result } from './transitionParts.js'
import {
  attemptHere,
  beforeStepOf,
  isDone,
  isRunningHere,
  refuse,
  taskAt,
  unitAt,
  withoutDropped
} from './transitionParts.js'
import * as Units from '../checkpoint/Units.js'
import { isChild, isSubStepPath } from '../workflow/Unit.js'

/** Starts a wait step or a wait in a task's code. A wait that restarts after a rejected answer drops the answer. */
export const waitStarted = (self: Fields, change: Change.WaitStarted): Result => {
  const { unit, wait, at: startedAt } = change
  const inTree = unitAt(self, unit)
  const task = inTree === undefined ? taskAt(self, unit) : undefined
  const found = inTree ?? task
  if (found === undefined) return refuse('UnknownUnit', unit)
  const { definition } = found
  if (definition._tag !== 'Task' || (inTree !== undefined && definition.wait !== wait._tag))
    return refuse('NotAWait', unit)
  if (isDone(self, unit)) return refuse('AlreadyCompleted', unit)
  const before = State.openUnits(self.state)
  if (task !== undefined && !isRunningHere(self.state, task.unit)) return refuse('NotInFlight', unit)
  const earlier = Units.get(self.pending, unit)
  const isAgain = earlier?._tag === 'Answer' && Units.has(self.answers, unit)
  if (earlier !== undefined && !isAgain) return refuse('StillPending', unit)
  return E.right({
    // If an edit made a task a wait, its attempt is dropped.
    state: beforeStepOf(found, {
      inFlight: task === undefined ? Units.without(before.inFlight, unit) : before.inFlight,
      failures: Units.without(before.failures, unit)
    }),
    pending: Units.append(Units.without(self.pending, unit), { ...wait, unit, startedAt }),
    ...(earlier === undefined ? {} : { answers: Units.without(self.answers, unit) })
  })
}

/**
 * Keeps an answer until the unit takes it. Accepts one for any sub-step that the code of an unfinished task can call, because only that code
 * knows which will wait. Refuses one after the time limit of the wait, or after its timeout was recorded.
 */
export const answered = (self: Fields, change: Change.Answered): Result => {
  const { unit, value, by, at } = change
  const inTree = unitAt(self, unit)
  const task = inTree === undefined && isSubStepPath(unit) ? taskAt(self, unit) : undefined
  const found = inTree ?? task
  if (found?.definition._tag !== 'Task') return refuse(found === undefined ? 'UnknownUnit' : 'NotAWait', unit)
  if (isDone(self, unit)) return refuse('AlreadyCompleted', unit)
  const { wait } = found.definition
  // Only the code of a task can start a wait: the code of a sub-step cannot, and a wait has no code.
  if (task !== undefined && (!isChild(unit, task.unit) || wait !== undefined)) return refuse('NotAWait', unit)
  const kind = task === undefined ? wait : (Units.get(self.pending, unit)?._tag ?? 'Answer')
  if (kind !== 'Answer') return refuse('NotAWait', unit)
  if (Units.has(self.answers, unit)) return refuse('AlreadyAnswered', unit)
  const isTimedOut = Units.get(State.failures(self.state), unit)?.error.code === WAIT_TIMEOUT
  if (isTimedOut || overAt(Units.get(self.pending, unit), false, at) !== undefined) return refuse('WaitOver', unit)
  return E.right({ answers: Units.append(self.answers, { unit, value, by, at }) })
}

/** Marks the attempt of a task as suspended. `waits` must be open waits, or nothing would wake it. */
export const suspended = (self: Fields, change: Change.Suspended): Result => {
  const { unit, waits } = change
  const { state } = self
  const attempt = attemptHere(state, unit)
  if (state._tag !== 'BeforeStep' || attempt === undefined || attempt.suspended === true)
    return refuse('NotInFlight', unit)
  if (waits.length === 0 || waits.some((wait) => !Units.has(self.pending, wait))) return refuse('NotPending', unit)
  const inFlight = Units.replace(state.inFlight, { ...attempt, suspended: true })
  return E.right({ state: { ...state, inFlight }, pending: withoutDropped(self, change) })
}
