/** Random runs: some sessions, each after a crash, a failure, a stop or the end of the one before. */
import { strict as assert } from 'node:assert'
import * as E from 'fp-ts/lib/Either.js'
import type { Checkpoint } from '../../../domain/checkpoint/Checkpoint.js'
import type { Json } from '../../../domain/data/Json.js'
import type { Answer, Confirm, PlanOptions, ResumePlan } from '../../../domain/plan/Plan.js'
import { openQuestions } from '../../../domain/plan/Plan.js'
import { planResume } from '../../../domain/plan/planResume.js'
import { find } from '../../../domain/checkpoint/Tree.js'
import type { Unit } from '../../../domain/workflow/Unit.js'
import type { Step, Task, Workflow } from '../../../domain/workflow/Workflow.js'
import type { Dice } from './Dice.js'
import { noTrouble } from './Dice.js'
import type { Samples } from './Samples.js'
import { defaultSamples, doneAnswer } from './Samples.js'
import { executeSession, pollJobs, recordOverrides } from './Session.js'
import type { Moment, SimulatedRun, Tape } from './Tape.js'
import { begin, record } from './Tape.js'
import { wholeOf } from './tree.js'

/** Edits a workflow before a session, chooses what is asked of its plan, and says what units give. */
export interface Scenario {
  readonly edit: (dice: Dice, moment: Moment) => Workflow
  readonly options: (dice: Dice, moment: Moment) => PlanOptions
  readonly samples: Samples
}

/** A run of some sessions, each after a crash, a failure, a stop or the end of the one before. */
export const simulate = (workflow: Workflow, input: Json, dice: Dice, scenario: Scenario): SimulatedRun => {
  const tape = record(begin(workflow, input), scenario.samples)
  const sessions = 1 + dice.roll(4)
  for (let session = 0; session < sessions; session++) {
    pollJobs(tape, dice)
    const {
      plan,
      options,
      workflow: edited
    } = choose(tape, dice, session === 0 ? { ...plain, samples: scenario.samples } : scenario)
    executeSession(tape, dice, { ...tape.now(), workflow: edited }, plan, options)
  }
  return tape.run()
}

const plain: Omit<Scenario, 'samples'> = { edit: (_, { workflow }) => workflow, options: () => ({}) }

/** A run whose pending jobs have all ended well. */
export const polled = (moment: Moment, samples: Samples = defaultSamples): Moment => {
  const tape = record({ ...moment, changes: [], trail: [] }, samples)
  pollJobs(tape, noTrouble)
  return tape.now()
}

/** Goes on with a run to its end: its jobs end well, every question is answered with "again" and nothing goes wrong. */
export const finish = (moment: Moment, samples: Samples = defaultSamples): SimulatedRun => {
  const tape = record({ ...moment, changes: [], trail: [] }, samples)
  pollJobs(tape, noTrouble)
  const { plan, options } = choose(tape, noTrouble, { ...plain, samples })
  executeSession(tape, noTrouble, moment, plan, options)
  return tape.run()
}

/** Follows a plan without trouble, its overrides first. */
export const follow = (
  moment: Moment,
  plan: ResumePlan,
  options: PlanOptions,
  samples: Samples = defaultSamples
): SimulatedRun => {
  const tape = record({ ...moment, changes: [], trail: [] }, samples)
  executeSession(tape, noTrouble, moment, plan, options)
  return tape.run()
}

/** Records the overrides of a plan, and then the process is gone. */
export const overrideOnly = (
  moment: Moment,
  plan: ResumePlan,
  options: PlanOptions,
  samples: Samples = defaultSamples
): SimulatedRun => {
  const tape = record({ ...moment, changes: [], trail: [] }, samples)
  recordOverrides(tape, moment.workflow, plan, options)
  return tape.run()
}

interface Chosen {
  readonly workflow: Workflow
  readonly plan: ResumePlan
  readonly options: PlanOptions
}

/** A plan without open questions: as the scenario wants it, or if that is refused the plain one. */
const choose = (tape: Tape, dice: Dice, scenario: Scenario): Chosen => {
  const { checkpoint, workflow } = tape.now()
  const edited = scenario.edit(dice, tape.now())
  const wanted = answered(
    checkpoint,
    edited,
    dice,
    scenario.options(dice, { checkpoint, workflow: edited }),
    tape.samples
  )
  const chosen = E.isRight(wanted) ? wanted : answered(checkpoint, workflow, dice, {}, tape.samples)
  if (E.isLeft(chosen)) return assert.fail(`the plain plan is refused: ${JSON.stringify(chosen.left)}`)
  return chosen.right
}

/** The plan with an answer to each of its questions. */
export const answered = (
  checkpoint: Checkpoint,
  workflow: Workflow,
  dice: Dice,
  wanted: PlanOptions,
  samples: Samples = defaultSamples
): E.Either<unknown, Chosen> => {
  const confirm = new Map<string, Answer>(wanted.confirm)
  const said = new Set<string>()
  for (;;) {
    const options = { ...wanted, confirm }
    const plan = planResume(checkpoint, workflow, options)
    if (E.isLeft(plan)) return plan
    // A unit that runs again because of an answer may raise a question of its own.
    const questions = openQuestions(plan.right)
    if (questions.length === 0) return E.right({ workflow, plan: plan.right, options })
    for (const question of questions) {
      const name = question.unit
      if (said.has(name)) return assert.fail('an answered question is asked again')
      said.add(name)
      confirm.set(name, answer({ checkpoint, workflow }, question, dice, samples))
    }
  }
}

const answer = ({ checkpoint, workflow }: Moment, { unit, reason }: Confirm, dice: Dice, samples: Samples): Answer => {
  const step = find<Step>(workflow, checkpoint.items, unit)?.definition
  if (reason._tag === 'EvidenceChanged' && step?._tag !== 'Map' && dice.roll(3) === 2) return { _tag: 'Keep' }
  if (dice.roll(2) === 0) return { _tag: 'Again' }
  return doneAnswer(samples, taskOf(step, unit), unit, dice)
}

const taskOf = (step: Step | undefined, unit: Unit): Task => {
  if (step === undefined) return assert.fail(`nothing at ${unit}`)
  return step._tag === 'Task' ? step : wholeOf(step)
}
