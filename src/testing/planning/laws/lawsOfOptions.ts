/** Laws about plan options. */
import { strict as assert } from 'node:assert'
import * as E from 'fp-ts/lib/Either.js'
import type { CompletedStep } from '../../../domain/checkpoint/CompletedStep.js'
import * as Units from '../../../domain/checkpoint/Units.js'
import type { Json } from '../../../domain/data/Json.js'
import type { Answer, Confirm, Decision, MissingEvidence, PlanOptions } from '../../../domain/plan/Plan.js'
import type { PlanProblem } from '../../../domain/plan/PlanProblem.js'
import { answersTo, openQuestions } from '../../../domain/plan/Plan.js'
import { planResume } from '../../../domain/plan/planResume.js'
import type { Unit } from '../../../domain/workflow/Unit.js'
import { isWithin } from '../../../domain/workflow/Unit.js'
import type { Choices } from '../arbitrary/Choices.js'
import { pick } from '../arbitrary/Choices.js'
import { chooseChanged, chooseMissing, chooseOutputs, chooseRestart, chooseUnit } from '../arbitrary/options.js'
import type { PlanLaw } from './PlanLaw.js'
import { acceptedPlan, checkDecision, law, lawOfChoices, planOf, recorded, unitsOf, waiting, works } from './PlanLaw.js'
import { moment, momentWithOptions } from '../arbitrary/runs.js'
import type { Samples } from '../arbitrary/Samples.js'
import type { Moment } from '../arbitrary/RunRecorder.js'
import { isSubStep, positionOf } from '../arbitrary/tree.js'

export const lawsOfOptions: ReadonlyArray<PlanLaw> = [
  lawOfChoices(
    'PL-FORCE-01',
    'fromStep skips all units before its own and runs the others; restartWave runs its unit, and each later unit runs or raises a question; a forced unit raises a question only for a pending job that must not run twice; all other units follow their records',
    moment,
    (moment, choices, samples) => {
      const options = chooseStart(choices, moment, samples)
      const plan = acceptedPlan(moment, options)
      if (plan === undefined) return
      const done = recorded(moment.checkpoint)
      const waits = waiting(moment)
      const jobs = [...moment.checkpoint.pending].filter(({ _tag }) => _tag === 'Job')
      for (const decision of works(plan)) {
        const { unit } = decision
        // A map that is expanded again raises one question for the jobs of all its items.
        const mayAsk = jobs.some((job) => isWithin(job.unit, unit))
        const expected = demanded(moment, options, unit)
        if (expected === 'none') {
          checkDecision(decision, 'Skip', done.has(unit))
          checkDecision(decision, 'Poll', waits.has(unit))
        } else if (expected === 'again') checkDecision(decision, 'Skip', false)
        else if (expected === 'Skip' || decision._tag !== 'Confirm' || !mayAsk) checkDecision(decision, expected)
      }
    }
  ),
  lawOfChoices(
    'PL-GONE-01',
    'if evidence of a completed unit is missing, exactly that unit, its dependents in the wave and all later units run again',
    moment,
    (moment, choices) => {
      const evidence = chooseMissing(choices, moment.checkpoint)
      const again = runsAgainAfter(moment, evidence)
      const done = recorded(moment.checkpoint)
      for (const decision of works(planOf(moment, { evidence }))) {
        checkDecision(decision, 'Skip', done.has(decision.unit) && !again(decision))
        const isLost = evidence.some(({ unit }) => unit === decision.unit)
        const isFirst = evidence.every(
          ({ unit }) => !['within', 'after'].includes(positionOf(moment, decision.unit, unit)) || unit === decision.unit
        )
        const { _tag: reason } = decision.reason
        if (isLost && decision._tag === 'Run' && isFirst)
          assert.equal(reason, 'EvidenceMissing', `${decision.unit} lacks evidence, and runs because of ${reason}`)
      }
    }
  ),
  lawOfChoices(
    'PL-ASSUME-01',
    'an assumed unit has its evidence, an output that its task accepts, and a value for each captured variable',
    moment,
    (moment, choices, samples) => {
      const evidence = chooseMissing(choices, moment.checkpoint)
      // Outputs that are not passed come from the records, or are missing.
      const outputs = choices.below(2) === 1 ? { outputs: chooseOutputs(choices, moment, samples) } : {}
      const options = { fromStep: chooseUnit(choices, moment), evidence, ...outputs }
      const plan = acceptedPlan(moment, options)
      if (plan === undefined) return
      const lost = new Set(evidence.map(({ unit }) => unit))
      const tasks = unitsOf(moment)
      for (const decision of plan.decisions) {
        const task = tasks.get(decision.unit)
        if (decision._tag !== 'Skip' || task === undefined) continue
        const record = Units.get(moment.checkpoint.completedSteps, decision.unit)
        if (record !== undefined) assert.ok(!lost.has(decision.unit), `${decision.unit} has lost its evidence`)
        const output = outputIn(decision, record)
        assert.ok(E.isRight(task.accepts(output)), `${decision.unit} rejects the output ${JSON.stringify(output)}`)
        const isSet = task.captures.length === 0 || output !== undefined || record !== undefined
        assert.ok(isSet, `${decision.unit} is assumed done without an output for the variables that it captures`)
      }
    }
  ),
  law(
    'PL-DOUBT-04',
    'a completed non-idempotent unit that is to run again gets a question, unless it is forced or answered',
    momentWithOptions,
    ({ moment, options: { confirm: _, ...options } }) => {
      const plan = acceptedPlan(moment, options)
      if (plan === undefined) return
      const done = recorded(moment.checkpoint)
      const tasks = unitsOf(moment)
      for (const decision of plan.decisions) {
        const { unit, _tag, reason } = decision
        if (!done.has(unit) || tasks.get(unit)?.idempotent !== false) continue
        if (_tag !== 'Skip' && reason._tag !== 'Forced') checkDecision(decision, 'Confirm')
      }
    }
  ),
  lawOfChoices(
    'PL-DOUBT-05',
    'the answer Done is refused for a unit that runs or is retried without a question',
    moment,
    (moment, choices, samples) => {
      const outputs = chooseOutputs(choices, moment, samples)
      const due = works(planOf(moment)).filter(({ _tag }) => _tag === 'Run' || _tag === 'Retry')
      if (due.length === 0) return
      const name = pick(choices, due).unit
      const output = outputs.get(name)
      const answer = { _tag: 'Done', ...(output === undefined ? {} : { output }) } as const
      const plan = acceptedPlan(moment, { confirm: new Map([[name, answer]]) })
      assert.ok(plan === undefined, `${name} is due to run and not in doubt, and an answer declares it done`)
    }
  ),
  lawOfChoices(
    'PL-ANSWER-01',
    'a question takes exactly the answers that answersTo lists',
    momentWithOptions,
    ({ moment, options: given }, choices) => {
      // Half of the questions are about changed evidence.
      const evidence = [...chooseMissing(choices, moment.checkpoint), ...chooseChanged(choices, moment.checkpoint)]
      const options = choices.below(2) === 0 ? given : { ...given, evidence }
      const plan = acceptedPlan(moment, options)
      if (plan === undefined) return
      for (const question of openQuestions(plan)) {
        const takes = answersTo(question)
        for (const _tag of ['Again', 'Keep', 'Done'] as const) {
          const isLegal = takes.includes(_tag)
          const what = `the question about ${question.unit} ${isLegal ? 'does not take' : 'takes'} the answer ${_tag}`
          assert.equal(takesAnswer(moment, options, question, { _tag }), isLegal, what)
        }
      }
    }
  )
]

/** Returns whether a plan takes an answer: it does not refuse the answer, and asks nothing else about the unit. */
const takesAnswer = (moment: Moment, options: PlanOptions, { unit }: Confirm, answer: Answer): boolean => {
  const confirm = new Map([...(options.confirm ?? []), [unit, answer]])
  const plan = planResume(moment.checkpoint, moment.workflow, { ...options, confirm })
  return E.isRight(plan)
    ? openQuestions(plan.right).every((one) => one.unit !== unit)
    : plan.left.problems.every((problem) => !isRefusal(problem, unit))
}

const isRefusal = (problem: PlanProblem, unit: Unit): boolean =>
  problem._tag === 'UnknownStep'
    ? problem.option === 'confirm' && problem.step === unit
    : problem._tag === 'UnitPending' || (problem._tag === 'NothingToConfirm' && problem.unit === unit)

const chooseStart = (choices: Choices, moment: Moment, samples: Samples): PlanOptions => {
  const outputs = chooseOutputs(choices, moment, samples)
  const restart = choices.below(2) === 0 ? {} : chooseRestart(choices, moment)
  if (restart.restartWave !== undefined && choices.below(2) === 0) return { ...restart, outputs }
  return { fromStep: chooseUnit(choices, moment), ...restart, outputs }
}

/** What options demand of a unit, whatever is recorded of it. `again`: if a question may be asked first. */
const demanded = (
  moment: Moment,
  { fromStep: from, restartWave: restart }: PlanOptions,
  unit: Unit
): 'Run' | 'Skip' | 'again' | 'none' => {
  const toFrom = from === undefined ? undefined : positionOf(moment, unit, from)
  const toRestart = restart === undefined ? undefined : positionOf(moment, unit, restart)
  if (toFrom === 'within' || toRestart === 'within' || toFrom === 'after') return 'Run'
  if (toRestart === 'after') {
    const isBefore = from !== undefined && restart !== undefined && positionOf(moment, restart, from) === 'before'
    return isBefore ? 'Run' : 'again'
  }
  return toFrom === 'before' ? 'Skip' : 'none'
}

/** Returns the test for the units that run again because of missing evidence. */
export const runsAgainAfter =
  (moment: Moment, evidence: ReadonlyArray<MissingEvidence>): ((one: Decision) => boolean) =>
  ({ unit }) =>
    evidence.some(
      (lost) =>
        ['within', 'after'].includes(positionOf(moment, unit, lost.unit)) ||
        // A task runs again to repeat a sub-step.
        (isSubStep(lost.unit) && isWithin(lost.unit, unit))
    )

const outputIn = (
  decision: Decision & { readonly _tag: 'Skip' },
  record: CompletedStep | undefined
): Json | undefined =>
  decision.reason._tag === 'Assumed' && decision.reason.output !== undefined ? decision.reason.output : record?.output
