/** Random runs of several sessions, each after a crash, a failure, an interruption or the end of the one before. */
import { strict as assert } from 'node:assert'
import * as E from 'fp-ts/lib/Either.js'
import type { Checkpoint } from '../../../domain/checkpoint/Checkpoint.js'
import type { Json } from '../../../domain/data/Json.js'
import type { Answer, PlanOptions, ResumePlan } from '../../../domain/plan/Plan.js'
import { openQuestions } from '../../../domain/plan/Plan.js'
import { planResume } from '../../../domain/plan/planResume.js'
import type { Workflow } from '../../../domain/workflow/Workflow.js'
import type { Choices } from './Choices.js'
import { noFaults } from './Choices.js'
import { chooseAnswer } from './options.js'
import type { Samples } from './Samples.js'
import { defaultSamples } from './Samples.js'
import { executeSession, pollJobs, recordOverrides } from './executeSession.js'
import type { Moment, SimulatedRun, RunRecorder } from './RunRecorder.js'
import { answerEarly } from './calls.js'
import { begin, record } from './RunRecorder.js'
import { taskUnits } from './tree.js'

/** Edits a workflow before a session, chooses plan options, and supplies outputs. */
export interface Scenario {
  readonly edit: (choices: Choices, moment: Moment) => Workflow
  readonly options: (choices: Choices, moment: Moment) => PlanOptions
  readonly samples: Samples
}

export const simulate = (workflow: Workflow, input: Json, choices: Choices, scenario: Scenario): SimulatedRun => {
  const recorder = record(begin(workflow, input), scenario.samples)
  const sessions = 1 + choices.below(4)
  for (let session = 0; session < sessions; session++) {
    pollJobs(recorder, choices)
    if (choices.below(4) === 3) {
      const now = recorder.now()
      answerEarly(recorder, choices, taskUnits(now.workflow, now.checkpoint.items))
    }
    const {
      plan,
      options,
      workflow: edited
    } = choose(recorder, choices, session === 0 ? undisturbed(scenario.samples) : scenario)
    executeSession(recorder, choices, { ...recorder.now(), workflow: edited }, plan, options)
  }
  return recorder.run()
}

/** Neither edits nor options. */
export const undisturbed = (samples: Samples): Scenario => ({
  edit: (_, { workflow }) => workflow,
  options: () => ({}),
  samples
})

const continuing = (moment: Moment, samples: Samples): RunRecorder =>
  record({ ...moment, changes: [], trail: [] }, samples)

/** A run whose pending jobs all succeeded. */
export const polled = (moment: Moment, samples: Samples = defaultSamples): Moment => {
  const recorder = continuing(moment, samples)
  pollJobs(recorder, noFaults)
  return recorder.now()
}

/** Continues a run to its end: jobs succeed, every question is answered with `again`, and nothing fails. */
export const finish = (moment: Moment, samples: Samples = defaultSamples): SimulatedRun => {
  const recorder = continuing(moment, samples)
  pollJobs(recorder, noFaults)
  const { plan, options } = choose(recorder, noFaults, undisturbed(samples))
  executeSession(recorder, noFaults, moment, plan, options)
  return recorder.run()
}

/** Follows a plan without faults, its overrides first. */
export const follow = (
  moment: Moment,
  plan: ResumePlan,
  options: PlanOptions,
  samples: Samples = defaultSamples
): SimulatedRun => {
  const recorder = continuing(moment, samples)
  executeSession(recorder, noFaults, moment, plan, options)
  return recorder.run()
}

/** Records the overrides of a plan, then crashes. */
export const overrideOnly = (
  moment: Moment,
  plan: ResumePlan,
  options: PlanOptions,
  samples: Samples = defaultSamples
): SimulatedRun => {
  const recorder = continuing(moment, samples)
  recordOverrides(recorder, moment.workflow, plan, options)
  return recorder.run()
}

interface Chosen {
  readonly workflow: Workflow
  readonly plan: ResumePlan
  readonly options: PlanOptions
}

/** A plan without open questions: with the options of the scenario, or with none if they are refused. */
const choose = (recorder: RunRecorder, choices: Choices, scenario: Scenario): Chosen => {
  const { checkpoint, workflow } = recorder.now()
  const edited = scenario.edit(choices, recorder.now())
  const wanted = answered(
    checkpoint,
    edited,
    choices,
    scenario.options(choices, { checkpoint, workflow: edited }),
    recorder.samples
  )
  const chosen = E.isRight(wanted) ? wanted : answered(checkpoint, workflow, choices, {}, recorder.samples)
  if (E.isLeft(chosen)) return assert.fail(`the plain plan is refused: ${JSON.stringify(chosen.left)}`)
  return chosen.right
}

/** Answers all questions of a plan. */
export const answered = (
  checkpoint: Checkpoint,
  workflow: Workflow,
  choices: Choices,
  wanted: PlanOptions,
  samples: Samples = defaultSamples
): E.Either<unknown, Chosen> => {
  const confirm = new Map<string, Answer>(wanted.confirm)
  const said = new Set<string>()
  for (;;) {
    const options = { ...wanted, confirm }
    const plan = planResume(checkpoint, workflow, options)
    if (E.isLeft(plan)) return plan
    // A unit that runs again because of an answer may raise a question itself.
    const questions = openQuestions(plan.right)
    if (questions.length === 0) return E.right({ workflow, plan: plan.right, options })
    for (const question of questions) {
      const name = question.unit
      if (said.has(name)) return assert.fail('an answered question is asked again')
      said.add(name)
      confirm.set(name, chooseAnswer(choices, { checkpoint, workflow }, question, samples))
    }
  }
}
