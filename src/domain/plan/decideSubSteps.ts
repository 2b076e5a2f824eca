/** Decides about tasks that have recorded sub-steps, and about the sub-steps. */
import * as E from 'fp-ts/lib/Either.js'
import type { Decision, RunReason } from './Plan.js'
import type { PlanContext } from './PlanContext.js'
import { otherOutput, recordAt } from './PlanContext.js'
import type { KnownSubStep } from './subSteps.js'
import { IN_DOUBT, isSubStepInDoubt, restartedBy, restartOf } from './subSteps.js'
import type { Failure } from '../checkpoint/CheckpointState.js'
import type { Unit } from '../workflow/Unit.js'
import { ancestors, nameOf } from '../workflow/Unit.js'
import * as Units from '../checkpoint/Units.js'
import type { Task } from '../workflow/Workflow.js'
import type { Placed, Planned } from './decideTask.js'
import { decideTask, rerunReason, skip } from './decideTask.js'

/** Decides about a task with recorded sub-steps. If one of them runs again, so does the task. */
export const decideWithSubSteps = (
  context: PlanContext,
  at: Placed<Task>,
  all: ReadonlyArray<KnownSubStep>,
  out: Planned
): boolean => {
  const { evidence, from } = context
  const { unit, stepIndex, step: task, record } = at
  const rerun = rerunReason(context, at)
  const restart = rerun === undefined && at.demand !== 'assumed' ? restartOf(all, from, evidence.rerun) : undefined
  const restarted = restart === undefined ? undefined : restartedBy(all, restart)
  const demand = restart?.reason ?? at.demand
  const wait = demand === 'none' && task.wait === undefined ? suspendedBy(context, at, all) : undefined
  // The code of a suspended task runs again from the start; if an edit made it not idempotent, only after confirmation.
  const placed: Placed<Task> = {
    ...at,
    demand,
    ...(wait === undefined ? {} : task.idempotent ? { pending: wait } : { hasBegun: true })
  }
  const decision = decideTask(context, placed, out)
  out.decisions.push(decision)
  // A question about the task may be answered together with those about its sub-steps.
  if (context.answerable !== undefined) for (const known of all) context.answerable.add(known.unit)
  const isDone = record !== undefined && rerun === undefined && restart === undefined
  // Answered with "again", a task or sub-step that is not idempotent runs from its start, and calls in it throw no recorded failure.
  const runsFromStart = (one: Unit): boolean =>
    context.confirm.get(one)?._tag === 'Again' &&
    (one === unit ? restart === undefined && !task.idempotent : isOpenDoubt(context, one))
  // The step that replaces a task does not repeat its attempt.
  const isRepeatedTask = Units.has(context.inFlight, unit) && !context.replaced.has(unit)
  for (const known of all) {
    // A skipped task needs no lines for its sub-steps.
    if (decision._tag === 'Skip') {
      const inside = recordAt(context, known.unit)
      if (inside !== undefined) out.problems.push(...otherOutput(context, inside))
      continue
    }
    const again = rerun ?? restarted?.get(known.unit)
    // Until a question about the evidence of a completed task is answered, its code does not run.
    if (again === undefined && (isDone ? recordAt(context, known.unit) === undefined : isCaught(context, known)))
      continue
    const isRepeated = again === undefined && isRepeatedTask && ![...ancestors(known.unit)].some(runsFromStart)
    out.decisions.push(decideSubStep(context, known, { stepIndex, task, again, isRepeated }, out))
  }
  return isDone && !evidence.open.has(unit)
}

/** Detects an unrecorded sub-step inside a recorded one whose code caught the failure: the inner one runs again only with the outer one. */
const isCaught = (context: PlanContext, { unit }: KnownSubStep): boolean =>
  recordAt(context, unit) === undefined && isInsideRecorded(context, unit)

const isInsideRecorded = (context: PlanContext, unit: Unit): boolean => {
  for (const above of ancestors(unit)) if (recordAt(context, above)?.subStep !== undefined) return true
  return false
}

/** Detects a sub-step in doubt that a repeated attempt calls: it throws no recorded failure. */
const isOpenDoubt = (context: PlanContext, unit: Unit): boolean =>
  isSubStepInDoubt(context.checkpoint.state, unit) && thrownAgain(context, unit) === undefined

/**
 * Returns the failure that a repeated attempt throws again. A sub-step whose call was refused still needs confirmation: the code may have
 * caught that error.
 */
const thrownAgain = ({ failures }: PlanContext, unit: Unit): Failure | undefined => {
  const failure = Units.get(failures, unit)
  return failure?.error.code === IN_DOUBT ? undefined : failure
}

/** Finds the wait of a suspended task to act on: the first that takes an answer, else the first. */
const suspendedBy = (
  { inFlight, checkpoint: { pending } }: PlanContext,
  { unit }: Placed,
  all: ReadonlyArray<KnownSubStep>
) => {
  if (Units.get(inFlight, unit)?.suspended !== true) return undefined
  const waits = all.flatMap((known) => Units.get(pending, known.unit) ?? [])
  return waits.find(({ _tag }) => _tag === 'Answer') ?? waits[0]
}

/** `again`: why the sub-step runs again, if it does; `isRepeated`: its task repeats an attempt that was cut short. */
const decideSubStep = (
  context: PlanContext,
  { unit, call }: KnownSubStep,
  about: {
    readonly stepIndex: number
    readonly task: Task
    readonly again: RunReason | undefined
    readonly isRepeated: boolean
  },
  out: Planned
): Decision => {
  const { stepIndex, again, isRepeated } = about
  const record = recordAt(context, unit)
  const pending = Units.get(context.checkpoint.pending, unit)
  const name = nameOf(unit)
  const task: Task = {
    _tag: 'Task',
    name,
    summary: name,
    fingerprint: record?.fingerprint ?? about.task.fingerprint,
    idempotent: call.idempotent !== false,
    captures: [],
    numbered: false,
    accepts: () => E.right(undefined)
  }
  const placed: Placed<Task> = {
    unit,
    stepIndex,
    summary: name,
    step: task,
    record,
    demand: again ?? 'none',
    keptAbove: undefined,
    ...(pending === undefined ? {} : { pending }),
    // Only the code knows what the call accepts, so a user may replace the output, until a recorded sub-step around this one has used it.
    isReplaceable: record?.assumed === true && !isInsideRecorded(context, unit),
    // Without a record and a state, it is in doubt: only the record of the task or sub-step around it names it.
    hasBegun: record === undefined && !Units.has(context.failures, unit) && !Units.has(context.inFlight, unit)
  }
  const failure = isRepeated ? thrownAgain(context, unit) : undefined
  return failure === undefined
    ? decideTask(context, placed, out)
    : skip(placed, { _tag: 'FailedBefore', message: failure.error.message })
}
