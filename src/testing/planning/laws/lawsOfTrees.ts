/** Laws about nesting, rewinds, waits, and the sub-steps in the code of tasks. */
import { strict as assert } from 'node:assert'
import * as E from 'fp-ts/lib/Either.js'
import type { Rewound } from '../../../domain/change/Change.js'
import type { Checkpoint } from '../../../domain/checkpoint/Checkpoint.js'
import * as State from '../../../domain/checkpoint/CheckpointState.js'
import * as IdempotencyKey from '../../../domain/checkpoint/IdempotencyKey.js'
import type { Decision, PlanOptions, ResumePlan } from '../../../domain/plan/Plan.js'
import { planResume } from '../../../domain/plan/planResume.js'
import type { Unit } from '../../../domain/workflow/Unit.js'
import { isWithin, ancestors } from '../../../domain/workflow/Unit.js'
import type { OfUnit } from '../../../domain/checkpoint/Units.js'
import * as Units from '../../../domain/checkpoint/Units.js'
import { problems } from '../../../domain/workflow/WorkflowProblem.js'
import { momentWithOptions, run, moment } from '../arbitrary/runs.js'
import type { Moment, SimulatedRun } from '../arbitrary/RunRecorder.js'
import { isSubStep, positionOf } from '../arbitrary/tree.js'
import { decisionInside, problemInside, wrapped } from '../arbitrary/wrapped.js'
import { pick } from '../arbitrary/Choices.js'
import { chooseOutputs } from '../arbitrary/options.js'
import type { Transition } from './PlanLaw.js'
import { acceptedPlan, given, law, planOf, transitions, unitsOf, checkDecision, lawOfChoices } from './PlanLaw.js'

export const lawsOfTrees = [
  law(
    'PL-WRAP-01',
    'a workflow wrapped in a sequence has the same decisions and problems, with paths prefixed',
    momentWithOptions,
    ({ moment, options }) => {
      const inside = given(wrappedIfComparable(moment, options))
      const plain = planResume(moment.checkpoint, moment.workflow, options)
      const deeper = planResume(inside.checkpoint, inside.workflow, inside.options)
      if (E.isLeft(plain)) {
        assert.ok(E.isLeft(deeper), 'the wrapped workflow has a plan')
        const found = new Set(deeper.left.problems.map((one) => JSON.stringify(one)))
        for (const one of plain.left.problems.filter(({ _tag }) => _tag !== 'NotAWave'))
          assert.ok(found.has(problemInside(one)), `the wrapped workflow lacks the problem ${problemInside(one)}`)
        return
      }
      if (E.isLeft(deeper))
        return assert.fail(`the wrapped workflow has no plan: ${JSON.stringify(deeper.left.problems)}`)
      assert.deepEqual(deeper.right.decisions.slice(1), plain.right.decisions.map(decisionInside))
    }
  ),
  law(
    'PL-REWIND-01',
    'a rewind drops exactly the records of the subtrees that it names and of the units around them, which keep their items and attempts',
    run,
    (run) => {
      for (const { change, before, after } of rewindsOf(run)) {
        const known = knownOf(before.checkpoint)
        const isNamed = (unit: Unit): boolean => change.units.some((named) => isWithin(unit, named))
        const isAround = (unit: Unit): boolean => change.units.some((named) => isWithin(named, unit))
        assert.deepEqual(
          knownOf(after.checkpoint),
          known.filter(([what, unit]) => !isNamed(unit) && (KEPT_AROUND.has(what) || !isAround(unit)))
        )
        for (const unit of change.units)
          assert.ok(
            change.units.every((other) => other === unit || !isWithin(other, unit)),
            `${unit} is named twice`
          )
      }
    }
  ),
  law(
    'PL-REWIND-02',
    'a rewind changes no decision and no key outside its subtrees and what follows them',
    run,
    (run) => {
      for (const { change, before, after } of rewindsOf(run)) {
        const isOutside = (unit: Unit): boolean =>
          change.units.every((named) => ['before', 'beside'].includes(positionOf(before, unit, named)))
        const was = acceptedPlan(before)
        if (was === undefined) continue
        const outside = (plan: ResumePlan): ReadonlyArray<readonly [Unit, Decision['_tag'], number | undefined]> =>
          plan.decisions
            .filter(({ unit }) => isOutside(unit))
            .map((one) => [one.unit, one._tag, one._tag === 'Retry' ? one.attempt : undefined])
        // A plan has no lines for the sub-steps of a task that it skips, and they stay skipped if the task runs again.
        const listed = new Set(was.decisions.map(({ unit }) => unit))
        const isNewLine = (unit: Unit, tag: Decision['_tag']): boolean =>
          tag === 'Skip' && isSubStep(unit) && !listed.has(unit)
        const now = outside(planOf(after)).filter(([unit, tag]) => !isNewLine(unit, tag))
        assert.deepEqual(now, outside(was))
        for (const unit of unitsOf(after).keys())
          if (isOutside(unit))
            assert.equal(
              IdempotencyKey.of(after.checkpoint, unit),
              IdempotencyKey.of(before.checkpoint, unit),
              `the key of ${unit} changes`
            )
      }
    }
  ),
  law(
    'PL-SUB-01',
    'a plan has one decision for each known sub-step of a task that it does not skip, right after the decision about the task, but none for a sub-step in doubt inside a recorded one',
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
    'a plan skips a sub-step that is recorded or whose failure is thrown again, polls an open wait, raises a question for a sub-step that must not run twice and may have taken effect, and runs any other again',
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
    'fromStep at a recorded sub-step repeats it and all later ones, also failed and nested ones, keeps the earlier ones, and raises a question for a sub-step in doubt inside a later one',
    moment,
    (moment, choices) => {
      const { completedSteps, state } = moment.checkpoint
      const records = [...completedSteps].map(({ unit }) => unit).filter(isSubStep)
      if (records.length === 0) return
      const from = pick(choices, records)
      const failed = Array.from(State.failures(state), ({ unit }) => unit).filter(isSubStep)
      const outputs = chooseOutputs(choices, moment)
      const plan = given(acceptedPlan(moment, { fromStep: from, outputs }))
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

/** The wrapped workflow, unless wrapping changes the result: interruptions are recorded, and strict plans compare, at the top level only. */
export const wrappedIfComparable = (moment: Moment, options: PlanOptions): ReturnType<typeof wrapped> | undefined => {
  const { state } = moment.checkpoint
  const isBetweenAttempts = state._tag === 'Interrupted' && state.inProgress && State.inFlight(state).size === 0
  const inside = wrapped(moment, options)
  return isBetweenAttempts || options.changes === 'strict' || problems(inside.workflow).length > 0 ? undefined : inside
}

/** A task keeps its attempt when sub-steps of it are rewound, and a map its items. */
const KEPT_AROUND: ReadonlySet<string> = new Set(['items', 'attempt'])

const rewindsOf = (run: SimulatedRun): ReadonlyArray<Transition<Rewound>> =>
  transitions(run).filter((one): one is Transition<Rewound> => one.change._tag === 'Rewound')

/** Everything that a checkpoint records of a unit. */
const knownOf = (checkpoint: Checkpoint): ReadonlyArray<readonly [what: string, unit: Unit]> => {
  const { completedSteps, state, items, pending, answers, submissions } = checkpoint
  const about = (what: string, all: Iterable<OfUnit>) => Array.from(all, ({ unit }) => [what, unit] as const)
  return [
    ...about('record', completedSteps),
    ...Array.from(items.keys(), (unit) => ['items', unit] as const),
    ...about('job or wait', pending),
    ...about('answer', answers),
    ...about('key', submissions),
    ...about('attempt', State.inFlight(state)),
    ...about('failure', State.failures(state))
  ]
}

const taskOf = (unit: Unit): Unit => [...ancestors(unit)].find((above) => !isSubStep(above)) ?? unit

const knownIn = ({ completedSteps, state, pending }: Checkpoint): ReadonlySet<Unit> =>
  new Set(
    [
      ...[...completedSteps].flatMap(({ unit, inDoubt = [] }) => [unit, ...inDoubt]),
      ...[...State.failures(state), ...State.inFlight(state), ...pending].map(({ unit }) => unit)
    ].filter(isSubStep)
  )
