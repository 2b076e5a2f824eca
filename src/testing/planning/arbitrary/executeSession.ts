/** One session of a run: simulates an executor that obeys a plan. A real run can reach every state of a simulated one. */
import { canAdvanceTo } from '../../../domain/change/jobChanges.js'
import { overrides } from '../../../domain/plan/Overrides.js'
import { attemptOf } from '../../../domain/checkpoint/Pending.js'
import type { PlanOptions, ResumePlan } from '../../../domain/plan/Plan.js'
import type { Step, Workflow } from '../../../domain/workflow/Workflow.js'
import * as Identity from '../../../domain/workflow/WorkflowIdentity.js'
import type { Choices } from './Choices.js'
import type { End, Session } from './perform.js'
import { inOrder } from './perform.js'
import { endWaitTask, timedOutAttempt, wake } from './calls.js'
import { completion, failedAttempt } from './records.js'
import type { RunRecorder } from './RunRecorder.js'
import { isSubStep, taskUnits } from './tree.js'

/** A plan without open questions, with its workflow and options. */
export interface ChosenPlan {
  readonly workflow: Workflow
  readonly plan: ResumePlan
  readonly options: PlanOptions
}

export const recordOverrides = (recorder: RunRecorder, { workflow, plan, options }: ChosenPlan): void => {
  const { checkpoint } = recorder.now()
  const program = { ...workflow, identity: Identity.of(workflow) }
  const changes = overrides(checkpoint, program, plan, options, recorder.at())
  if (!changes.some((change) => change._tag === 'WorkflowEdited')) recorder.adopt(workflow)
  for (const [index, change] of changes.entries()) {
    if (change._tag === 'WorkflowEdited') recorder.adopt(workflow)
    recorder.put(change, index < changes.length - 1 ? true : undefined)
  }
}

/** Lets each job succeed, fail or stay pending, and each wait end, time out or stay open, as the choices say. */
export const endPending = (recorder: RunRecorder, choices: Choices): void => {
  for (const pending of recorder.now().checkpoint.pending) {
    const { unit } = pending
    const { checkpoint, workflow } = recorder.now()
    const fate = choices.below(3)
    if (isSubStep(unit)) {
      if (fate === 0) wake(recorder, unit)
    } else if (fate === 0) {
      const task = taskUnits(workflow, checkpoint.items).get(unit)
      if (task?.wait !== undefined && pending._tag !== 'Job') endWaitTask(recorder, choices, task, unit)
      else recorder.put(completion(recorder, choices, task, unit, attemptOf(pending)))
    } else if (pending._tag === 'Answer' && fate === 1 && canAdvanceTo(checkpoint, unit)) {
      recorder.put({ _tag: 'UnitFailed', unit, last: timedOutAttempt(recorder), retryable: false })
    } else if (pending._tag === 'Job' && fate === 1 && canAdvanceTo(checkpoint, unit)) {
      const { error, outcome } = failedAttempt(recorder, choices, 1)
      recorder.put({ _tag: 'JobEnded', unit, error, outcome, retryable: choices.below(2) === 1 })
    }
  }
}

/** Follows a plan, its overrides first. */
export const executeSession = (recorder: RunRecorder, choices: Choices, chosen: ChosenPlan): End => {
  const { workflow, plan } = chosen
  recordOverrides(recorder, chosen)
  if (choices.below(16) === 15) return 'crashed'
  const decisions = new Map(plan.decisions.map((one) => [one.unit, one]))
  const session: Session = { recorder, choices, decisions, isLucky: choices.below(3) === 2 }
  for (const step of workflow.steps) {
    const work = inOrder(session, undefined, [step])
    let next = work.next()
    while (next.done !== true) next = work.next()
    if (next.value === 'pending') recordPending(recorder, step)
    if (next.value === 'failed') failComposite(recorder, choices, step)
    if (next.value !== 'completed') return next.value
  }
  return 'completed'
}

/** Records that the run is pending, unless it already is. */
const recordPending = (recorder: RunRecorder, { name: unit }: Step): void => {
  const { state } = recorder.now().checkpoint
  const isPending = state._tag === 'Interrupted' && state.reason === 'pending' && state.step === unit
  if (!isPending) recorder.put({ _tag: 'Interrupted', unit, reason: 'pending' })
}

const failComposite = (recorder: RunRecorder, choices: Choices, { _tag, name: unit }: Step): void => {
  if (_tag !== 'Task' && recorder.now().checkpoint.state._tag !== 'Failed')
    recorder.put({ _tag: 'UnitFailed', unit, retryable: choices.below(2) === 1 })
}
