/** Random runs of several sessions, each after a crash, a failure, an interruption or the end of the one before. */
import { strict as assert } from 'node:assert'
import * as E from 'fp-ts/lib/Either.js'
import type { Json } from '../../../domain/data/Json.js'
import type { Answer, PlanOptions, ResumePlan } from '../../../domain/plan/Plan.js'
import { openQuestions } from '../../../domain/plan/Plan.js'
import { planResume } from '../../../domain/plan/planResume.js'
import type { Workflow, Step } from '../../../domain/workflow/Workflow.js'
import { canAdvanceTo } from '../../../domain/change/jobChanges.js'
import { overrides } from '../../../domain/plan/Overrides.js'
import { attemptOf } from '../../../domain/checkpoint/Pending.js'
import * as Identity from '../../../domain/workflow/WorkflowIdentity.js'
import type { Choices } from './Choices.js'
import { noFaults } from './Choices.js'
import { chooseAnswer } from './options.js'
import type { Moment, SimulatedRun, RunRecorder } from './RunRecorder.js'
import { startedRun, recorderOf } from './RunRecorder.js'
import { answerEarly, endWaitTask, timedOutAttempt, wake } from './calls.js'
import { taskUnits, isSubStep } from './tree.js'
import type { End, Session } from './perform.js'
import { inOrder } from './perform.js'
import { completion, failedAttempt } from './records.js'

/** Edits a workflow before a session, and chooses plan options. */
export interface Scenario {
  readonly edit: (choices: Choices, moment: Moment) => Workflow
  readonly options: (choices: Choices, moment: Moment) => PlanOptions
}

export const simulate = (workflow: Workflow, input: Json, choices: Choices, scenario: Scenario): SimulatedRun => {
  const recorder = recorderOf(startedRun(workflow, input))
  const sessions = 1 + choices.below(4)
  for (let session = 0; session < sessions; session++) {
    endPending(recorder, choices)
    if (choices.below(4) === 3) {
      const now = recorder.now()
      answerEarly(recorder, choices, taskUnits(now.workflow, now.checkpoint.items))
    }
    executeSession(recorder, choices, choosePlan(recorder, choices, session === 0 ? undisturbed : scenario))
  }
  return recorder.run()
}

/** Neither edits nor options. */
export const undisturbed: Scenario = { edit: (_, { workflow }) => workflow, options: () => ({}) }

const continued = (moment: Moment, act: (recorder: RunRecorder) => void): SimulatedRun => {
  const recorder = recorderOf({ ...moment, changes: [], trail: [] })
  act(recorder)
  return recorder.run()
}

/** A run whose pending jobs succeeded, and whose open waits ended. */
export const withoutPending = (moment: Moment, calm: Choices): Moment =>
  continued(moment, (recorder) => endPending(recorder, calm))

/** Continues a run to its end: jobs succeed, every question is answered with `again`, and nothing fails. */
export const finish = (moment: Moment, calm: Choices = noFaults): SimulatedRun =>
  continued(moment, (recorder) => {
    endPending(recorder, calm)
    executeSession(recorder, calm, choosePlan(recorder, calm, undisturbed))
  })

/** Follows a plan without faults, its overrides first. */
export const follow = (moment: Moment, chosen: ChosenPlan, calm: Choices): SimulatedRun =>
  continued(moment, (recorder) => executeSession(recorder, calm, chosen))

/** Records the overrides of a plan, then crashes. */
export const overrideOnly = (moment: Moment, chosen: Omit<ChosenPlan, 'workflow'>): SimulatedRun =>
  continued(moment, (recorder) => recordOverrides(recorder, { ...chosen, workflow: moment.workflow }))

/** Answers all questions of a plan, then crashes once the answers are recorded. */
export const answerAndCrash = (
  moment: Moment,
  choices: Choices,
  wanted: PlanOptions
): (ChosenPlan & { readonly saved: SimulatedRun }) | undefined => {
  const chosen = answered(moment, choices, wanted)
  return E.isLeft(chosen) ? undefined : { ...chosen.right, saved: overrideOnly(moment, chosen.right) }
}

/** A plan without open questions: with the options of the scenario, or with none if they are refused. */
const choosePlan = (recorder: RunRecorder, choices: Choices, scenario: Scenario): ChosenPlan => {
  const now = recorder.now()
  const edited = { ...now, workflow: scenario.edit(choices, now) }
  const wanted = answered(edited, choices, scenario.options(choices, edited))
  const chosen = E.isRight(wanted) ? wanted : answered(now, choices, {})
  return E.isRight(chosen) ? chosen.right : assert.fail(`the plain plan is refused: ${JSON.stringify(chosen.left)}`)
}

/** Answers all questions of a plan. */
export const answered = (moment: Moment, choices: Choices, wanted: PlanOptions): E.Either<unknown, ChosenPlan> => {
  const { checkpoint, workflow } = moment
  const confirm = new Map<string, Answer>(wanted.confirm)
  const answeredUnits = new Set<string>()
  for (;;) {
    const options = { ...wanted, confirm }
    const plan = planResume(checkpoint, workflow, options)
    if (E.isLeft(plan)) return plan
    // A unit that runs again because of an answer may raise a question itself.
    const questions = openQuestions(plan.right)
    if (questions.length === 0) return E.right({ workflow, plan: plan.right, options })
    for (const question of questions) {
      const name = question.unit
      if (answeredUnits.has(name)) return assert.fail('an answered question is asked again')
      answeredUnits.add(name)
      confirm.set(name, chooseAnswer(choices, moment, question))
    }
  }
}

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
