/** Laws about waits, and about the sub-steps in the code of tasks. */
import { strict as assert } from 'node:assert'
import type { Checkpoint } from '../../../domain/checkpoint/Checkpoint.js'
import * as State from '../../../domain/checkpoint/CheckpointState.js'
import * as Units from '../../../domain/checkpoint/Units.js'
import type { Decision } from '../../../domain/plan/Plan.js'
import type { Unit } from '../../../domain/workflow/Unit.js'
import { ancestors, isWithin } from '../../../domain/workflow/Unit.js'
import { pick } from '../arbitrary/Choices.js'
import { chooseOutputs } from '../arbitrary/options.js'
import { moment, run } from '../arbitrary/runs.js'
import { isSubStep } from '../arbitrary/tree.js'
import type { PlanLaw } from './PlanLaw.js'
import { acceptedPlan, checkDecision, law, lawOfChoices, planOf } from './PlanLaw.js'

export const lawsOfSubSteps: ReadonlyArray<PlanLaw> = [
  law(
    'PL-SUB-01',
    'a plan that does not skip a task has one decision for each of its known sub-steps, right after the task, except for one in doubt inside a recorded one',
    moment,
    (moment) => {
      const { decisions } = planOf(moment)
      const found = new Map<Unit, Array<Unit>>()
      let task: Decision | undefined
      for (const decision of decisions) {
        if (!isSubStep(decision.unit)) {
          task = decision
          found.set(decision.unit, [])
        } else {
          if (task === undefined || task._tag === 'Skip' || task.unit !== taskOf(decision.unit))
            return assert.fail(`${decision.unit} follows another decision than the one to run its task`)
          found.get(task.unit)?.push(decision.unit)
        }
      }
      const { completedSteps } = moment.checkpoint
      const isCaught = (unit: Unit): boolean =>
        !Units.has(completedSteps, unit) &&
        [...ancestors(unit)].some((above) => isSubStep(above) && Units.has(completedSteps, above))
      const known = [...knownIn(moment.checkpoint)].filter((unit) => !isCaught(unit))
      for (const { unit, _tag } of decisions) {
        if (isSubStep(unit)) continue
        const expected = _tag === 'Skip' ? [] : known.filter((one) => taskOf(one) === unit)
        assert.deepEqual({ unit, subSteps: found.get(unit)?.sort() }, { unit, subSteps: expected.sort() })
      }
    }
  ),
  law(
    'PL-SUB-02',
    'a plan skips a sub-step that is recorded or whose failure is thrown again, polls an open wait, raises a question about a non-idempotent sub-step that may have taken effect, and runs any other again',
    moment,
    (moment) => {
      const { state, completedSteps, pending } = moment.checkpoint
      const expected = (unit: Unit): Decision['_tag'] => {
        if (Units.has(completedSteps, unit)) return 'Skip'
        if (Units.has(pending, unit)) return 'Poll'
        const failure = Units.get(State.failures(state), unit)
        if (failure === undefined) return 'Confirm'
        if (Units.has(State.inFlight(state), taskOf(unit))) return 'Skip'
        return failure.subStep?.idempotent === false && failure.outcome === 'unknown' ? 'Confirm' : 'Retry'
      }
      for (const decision of planOf(moment).decisions)
        if (isSubStep(decision.unit)) checkDecision(decision, expected(decision.unit))
    }
  ),
  lawOfChoices(
    'PL-SUB-03',
    'fromStep at a recorded sub-step runs it and all that were recorded or failed after it again, nested ones included, keeps the others, and raises a question about one in doubt inside a later one',
    moment,
    (moment, choices, samples) => {
      const { completedSteps, state } = moment.checkpoint
      const records = [...completedSteps].map(({ unit }) => unit).filter(isSubStep)
      if (records.length === 0) return
      const from = pick(choices, records)
      const failed = Array.from(State.failures(state), ({ unit }) => unit).filter(isSubStep)
      const outputs = chooseOutputs(choices, moment, samples)
      const plan = acceptedPlan(moment, { fromStep: from, outputs })
      if (plan === undefined) return
      const decided = new Map(plan.decisions.map((one) => [one.unit, one._tag]))
      assert.notEqual(decided.get(taskOf(from)), 'Skip', `fromStep at ${from} skips its task`)
      const ofTask = records.filter((unit) => taskOf(unit) === taskOf(from))
      const later = [...ofTask.slice(ofTask.indexOf(from) + 1), ...failed].filter((unit) => !isWithin(from, unit))
      for (const [index, unit] of ofTask.entries()) {
        const isAgain = isWithin(unit, from) || later.some((one) => isWithin(unit, one))
        const isKept = index < ofTask.indexOf(from) && !isAgain
        const isSkipped = decided.get(unit) === 'Skip'
        assert.equal(isSkipped, isKept, `fromStep at ${from} ${isSkipped ? 'skips' : 'does not skip'} ${unit}`)
        const expected = isKept ? undefined : isWithin(unit, from) ? 'Run' : 'Confirm'
        for (const nested of Units.get(completedSteps, unit)?.inDoubt ?? []) {
          const is = decided.get(nested)
          assert.equal(is, expected, `${nested} gets ${is ?? 'no decision'} instead of ${expected ?? 'none'}`)
        }
      }
    }
  ),
  law(
    'PL-WAIT-01',
    'a plan polls an open wait with its time or its question, and reports a recorded answer',
    moment,
    (moment) => {
      const { pending, answers } = moment.checkpoint
      for (const decision of planOf(moment).decisions) {
        const wait = Units.get(pending, decision.unit)
        if (decision._tag !== 'Poll' || wait === undefined || wait._tag === 'Job') continue
        const { reason } = decision
        if (reason._tag === 'TimerPending') assert.equal(wait._tag === 'Timer' && wait.wakeAt, reason.wakeAt)
        else if (reason._tag === 'AnswerPending') {
          assert.equal(wait._tag === 'Answer' && wait.question, reason.question)
          const isAnswered = Units.has(answers, wait.unit)
          const what = `${wait.unit} has ${isAnswered ? 'an answer' : 'no answer'}, and the plan says otherwise`
          assert.equal(reason.answered === true, isAnswered, what)
        } else assert.fail(`${wait.unit} waits, and its reason is ${reason._tag}`)
      }
    }
  ),
  law('PL-WAIT-02', 'a completed unit has neither an open wait nor an answer left', run, ({ trail }) => {
    for (const { checkpoint } of trail)
      for (const { unit } of [...checkpoint.pending, ...checkpoint.answers])
        for (const one of [unit, ...ancestors(unit)])
          assert.ok(!Units.has(checkpoint.completedSteps, one), `${one} is completed, and the wait of ${unit} is left`)
  })
]

const taskOf = (unit: Unit): Unit => [...ancestors(unit)].find((above) => !isSubStep(above)) ?? unit

const knownIn = ({ completedSteps, state, pending }: Checkpoint): ReadonlySet<Unit> =>
  new Set(
    [
      ...[...completedSteps].flatMap(({ unit, inDoubt = [] }) => [unit, ...inDoubt]),
      ...[...State.failures(state), ...State.inFlight(state), ...pending].map(({ unit }) => unit)
    ].filter(isSubStep)
  )
