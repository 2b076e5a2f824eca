/** One session of a run: a stand-in for the executor that obeys a plan. Whatever it reaches, a real run can reach. */
import { mayStandAt } from '../../../domain/change/jobChanges.js'
import { overrides } from '../../../domain/plan/Overrides.js'
import { attemptOf } from '../../../domain/checkpoint/Pending.js'
import type { PlanOptions, ResumePlan } from '../../../domain/plan/Plan.js'
import type { Step, Workflow } from '../../../domain/workflow/Workflow.js'
import * as Identity from '../../../domain/workflow/WorkflowIdentity.js'
import type { Dice } from './Dice.js'
import type { End, Scene } from './perform.js'
import { completion, failedAttempt, inOrder } from './perform.js'
import { taskUnits } from './Samples.js'
import type { Moment, Tape } from './Tape.js'

/** Records what a plan overrides. */
export const recordOverrides = (tape: Tape, workflow: Workflow, plan: ResumePlan, options: PlanOptions): void => {
  const { checkpoint } = tape.now()
  const program = { ...workflow, identity: Identity.of(workflow) }
  const changes = overrides(checkpoint, program, plan, options, tape.at())
  if (!changes.some((change) => change._tag === 'WorkflowEdited')) tape.adopt(workflow)
  for (const [index, change] of changes.entries()) {
    if (change._tag === 'WorkflowEdited') tape.adopt(workflow)
    tape.put(change, index < changes.length - 1 ? true : undefined)
  }
}

/** Asks for the pending jobs: each has ended well, or badly, or not yet, as the dice say. */
export const pollJobs = (tape: Tape, dice: Dice): void => {
  for (const pending of tape.now().checkpoint.pending) {
    const { unit } = pending
    const { checkpoint, workflow } = tape.now()
    const fate = dice.roll(3)
    if (fate === 0) {
      const task = taskUnits(workflow, checkpoint.items).get(unit)
      tape.put(completion(tape, dice, task, unit, attemptOf(pending)))
    } else if (fate === 1 && mayStandAt(checkpoint, unit)) {
      const { error, outcome } = failedAttempt(tape, dice, 1)
      tape.put({ _tag: 'JobEnded', at: tape.at(), unit, error, outcome, retryable: dice.roll(2) === 1 })
    }
  }
}

/** Obeys a plan, its overrides first; its steps end as the dice say. */
export const executeSession = (
  tape: Tape,
  dice: Dice,
  { workflow }: Moment,
  plan: ResumePlan,
  options: PlanOptions
): End => {
  recordOverrides(tape, workflow, plan, options)
  if (dice.roll(16) === 15) return 'crashed'
  const decisions = new Map(plan.decisions.map((one) => [one.unit, one]))
  const scene: Scene = { tape, dice, decisions, isLucky: dice.roll(3) === 2 }
  for (const step of workflow.steps) {
    const work = inOrder(scene, undefined, [step])
    let next = work.next()
    while (next.done !== true) next = work.next()
    if (next.value === 'pending') rest(tape, step)
    if (next.value === 'failed') fail(tape, dice, step)
    if (next.value !== 'completed') return next.value
  }
  return 'completed'
}

/** Nothing is left to do but to wait for jobs. A run that rests so already is not written to. */
const rest = (tape: Tape, { name: unit }: Step): void => {
  const { state } = tape.now().checkpoint
  const rests = state._tag === 'Interrupted' && state.reason === 'pending' && state.step === unit
  if (!rests) tape.put({ _tag: 'Interrupted', at: tape.at(), unit, reason: 'pending' })
}

/** A composite of which a part failed has failed, unless that is recorded. */
const fail = (tape: Tape, dice: Dice, { _tag, name: unit }: Step): void => {
  if (_tag !== 'Task' && tape.now().checkpoint.state._tag !== 'Failed')
    tape.put({ _tag: 'UnitFailed', at: tape.at(), unit, retryable: dice.roll(2) === 1 })
}
