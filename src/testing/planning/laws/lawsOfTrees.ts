/** Laws about nesting and rewinds. */
import { strict as assert } from 'node:assert'
import * as E from 'fp-ts/lib/Either.js'
import type { Rewound } from '../../../domain/change/Change.js'
import type { Checkpoint } from '../../../domain/checkpoint/Checkpoint.js'
import * as State from '../../../domain/checkpoint/CheckpointState.js'
import * as IdempotencyKey from '../../../domain/checkpoint/IdempotencyKey.js'
import type { Decision, PlanOptions, ResumePlan } from '../../../domain/plan/Plan.js'
import { planResume } from '../../../domain/plan/planResume.js'
import type { Unit } from '../../../domain/workflow/Unit.js'
import { isWithin } from '../../../domain/workflow/Unit.js'
import type { OfUnit } from '../../../domain/checkpoint/Units.js'
import { problems } from '../../../domain/workflow/WorkflowProblem.js'
import type { PlanLaw, Transition } from './PlanLaw.js'
import { acceptedPlan, law, planOf, transitions, unitsOf } from './PlanLaw.js'
import { momentWithOptions, run } from '../arbitrary/runs.js'
import type { Moment, SimulatedRun } from '../arbitrary/RunRecorder.js'
import { isSubStep, positionOf } from '../arbitrary/tree.js'
import { decisionInside, problemInside, wrapped } from '../arbitrary/wrapped.js'

export const lawsOfTrees: ReadonlyArray<PlanLaw> = [
  law(
    'PL-WRAP-01',
    'a workflow wrapped in a sequence has the same decisions and problems, with paths prefixed',
    momentWithOptions,
    ({ moment, options }) => {
      const inside = wrappedIfComparable(moment, options)
      if (inside === undefined) return
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
  )
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
