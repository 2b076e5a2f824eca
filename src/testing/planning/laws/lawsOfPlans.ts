/** Laws about single plans. */
import { strict as assert } from 'node:assert'
import * as E from 'fp-ts/lib/Either.js'
import * as fc from 'fast-check'
import { encode } from '../../../domain/checkpoint/CheckpointCodec.js'
import * as State from '../../../domain/checkpoint/CheckpointState.js'
import type { ResumePlan } from '../../../domain/plan/Plan.js'
import { planResume } from '../../../domain/plan/planResume.js'
import { isTop, isWithin } from '../../../domain/workflow/Unit.js'
import { edit, workflowEdit } from '../arbitrary/edits.js'
import { chooseOptions } from '../arbitrary/options.js'
import { moment, momentWithOptions, undisturbedRun } from '../arbitrary/runs.js'
import { isSubStep, unitsIn } from '../arbitrary/tree.js'
import {
  acceptedPlan,
  checkDecision,
  dataOf,
  given,
  law,
  lawOfChoices,
  lawOfEdits,
  planOf,
  recorded,
  scheduled,
  transitions,
  waiting,
  withoutSubSteps,
  works
} from './PlanLaw.js'

export const lawsOfPlans = [
  law(
    'PL-PLAN-01',
    'planning is deterministic and changes neither checkpoint, workflow nor options',
    momentWithOptions,
    (one) => {
      const { checkpoint, workflow } = one.moment
      const before = JSON.stringify(encode(checkpoint))
      const first = planResume(checkpoint, workflow, one.options)
      const second = planResume(checkpoint, workflow, one.options)
      assert.equal(first._tag, second._tag)
      if (E.isRight(first) && E.isRight(second)) assert.deepEqual(dataOf(first.right), dataOf(second.right))
      else assert.deepEqual(first, second)
      assert.equal(JSON.stringify(encode(checkpoint)), before)
    }
  ),
  law('PL-PLAN-02', 'a plan has one decision for each unit, in document order', moment, (moment) => {
    const { checkpoint, workflow } = moment
    assert.deepEqual(
      withoutSubSteps(planOf(moment)).map(({ stepIndex, unit }) => [stepIndex, unit]),
      unitsIn(workflow, checkpoint.items).map(({ stepIndex, unit }) => [stepIndex, unit])
    )
  }),
  law(
    'PL-PLAN-03',
    'a plan without options skips exactly the completed tasks and unexpanded maps, and polls exactly the waiting ones',
    moment,
    (moment) => {
      const done = recorded(moment.checkpoint)
      const waits = waiting(moment)
      for (const decision of works(planOf(moment))) {
        checkDecision(decision, 'Skip', done.has(decision.unit))
        checkDecision(decision, 'Poll', waits.has(decision.unit))
      }
    }
  ),
  law(
    'PL-PLAN-04',
    'a plan without options skips a composite if and only if it and all its parts are recorded completed',
    moment,
    (moment) => {
      const done = recorded(moment.checkpoint)
      const plan = planOf(moment)
      const { decisions } = plan
      const work = new Set(works(plan))
      for (const decision of decisions) {
        if (work.has(decision) || isSubStep(decision.unit)) continue
        checkDecision(decision, 'Skip', done.has(decision.unit))
        if (decision._tag !== 'Skip') continue
        for (const part of decisions) if (isWithin(part.unit, decision.unit)) checkDecision(part, 'Skip')
      }
    }
  ),
  lawOfEdits('PL-PLAN-05', 'a plan without options schedules no completed unit, whatever edit it accepts', (edited) => {
    const plan = given(acceptedPlan(edited))
    const done = recorded(edited.checkpoint)
    for (const name of scheduled(plan)) assert.ok(!done.has(name), `${name} is completed, and the plan runs it`)
  }),
  law(
    'PL-PLAN-06',
    'startIndex and skipSteps follow from the decisions, and retryCurrent from the state',
    momentWithOptions,
    ({ moment, options }) => {
      const plan = given(acceptedPlan(moment, options))
      const steps = plan.decisions.filter(({ unit }) => isTop(unit))
      const first = steps.find(({ _tag }) => _tag !== 'Skip')
      const { state } = moment.checkpoint
      const goesOn =
        state._tag === 'BeforeStep' ||
        (state._tag === 'Failed' && state.retryable) ||
        (state._tag === 'Interrupted' && state.inProgress)
      assert.equal(plan.startIndex, first?.stepIndex ?? steps.length)
      assert.deepEqual(
        [...plan.skipSteps],
        steps.filter(({ _tag }) => _tag === 'Skip').map(({ stepIndex }) => stepIndex)
      )
      assert.equal(plan.retryCurrent, first?.unit === state.step && goesOn)
    }
  ),
  lawOfChoices(
    'PL-MORE-01',
    'completing a unit adds no unit to those that the plan runs',
    undisturbedRun,
    (run, choices) => {
      const { evidence: _, ...options } = chooseOptions(choices, run)
      for (const { change, before, after } of transitions(run)) {
        if (change._tag !== 'UnitCompleted') continue
        const [earlier, later] = [acceptedPlan(before, options), acceptedPlan(after, options)]
        if (earlier === undefined || later === undefined) continue
        const allowed = new Set(scheduled(earlier))
        for (const name of scheduled(later))
          assert.ok(allowed.has(name), `the completion of ${change.unit} makes ${name} run`)
      }
    }
  ),
  law(
    'PL-EDIT-01',
    'editing a step changes no decision about an earlier step, unless the edited step explains changed evidence',
    (of) => fc.tuple(momentWithOptions(of), workflowEdit),
    ([{ moment, options }, change]) => {
      const edited = edit(moment.workflow, change)
      // The edited definition of a unit in flight may explain changed evidence of earlier units.
      const isBegun = moment.checkpoint.state.stepIndex >= edited.first || moment.checkpoint.pending.size > 0
      if (isBegun && options.evidence?.some((found) => 'changed' in found) === true) return
      const before = given(acceptedPlan(moment, options))
      const after = given(acceptedPlan({ ...moment, ...edited }, options))
      const earlier = (plan: ResumePlan) => plan.decisions.filter(({ stepIndex }) => stepIndex < edited.first)
      assert.deepEqual(earlier(after), earlier(before))
    }
  ),
  lawOfEdits(
    'PL-EDIT-02',
    'an edit after all completed steps is accepted if no unit is in flight, failed or pending',
    (edited) => {
      const { checkpoint, first } = edited
      const last = Math.max(-1, ...[...checkpoint.completedSteps].map(({ stepIndex }) => stepIndex))
      const inDoubt = State.inFlight(checkpoint.state).size + State.failures(checkpoint.state).size > 0
      if (first > last && !inDoubt && checkpoint.pending.size === 0) planOf(edited)
    }
  )
]
