import assert from 'node:assert/strict'
import * as E from 'fp-ts/lib/Either.js'
import * as fc from 'fast-check'
import { describe, test } from 'vitest'
import { encode } from '../../src/domain/checkpoint/CheckpointCodec.js'
import * as State from '../../src/domain/checkpoint/CheckpointState.js'
import type { Json } from '../../src/domain/data/Json.js'
import type { Answer, ResumePlan } from '../../src/domain/plan/Plan.js'
import { hashPlan, openQuestions } from '../../src/domain/plan/Plan.js'
import type { PlanProblem } from '../../src/domain/plan/PlanProblem.js'
import { planResume } from '../../src/domain/plan/planResume.js'
import type { Workflow } from '../../src/domain/workflow/Workflow.js'
import * as W from '../../src/domain/workflow/Workflow.js'
import { fingerprintOf } from '../../src/domain/workflow/WorkflowIdentity.js'
import { find } from '../../src/domain/checkpoint/Tree.js'
import { ancestors, isWithin, top } from '../../src/domain/workflow/Unit.js'
import * as arb from '../../src/testing/planning/arbitrary/Arbitrary.js'
import { planLaws } from '../../src/testing/planning/checkPlanLaws.js'
import { noFaults } from '../../src/testing/planning/arbitrary/Choices.js'
import { momentWithOptions, undisturbedRun } from '../../src/testing/planning/arbitrary/runs.js'
import { wrappedIfComparable } from '../../src/testing/planning/laws/lawsOfTrees.js'
import { dataOf, planOf, recorded, scheduled, unitsOf, works } from '../../src/testing/planning/laws/PlanLaw.js'
import { answered, finish, overrideOnly } from '../../src/testing/planning/arbitrary/simulate.js'
import { startedRun } from '../../src/testing/planning/arbitrary/RunRecorder.js'
import { isSubStep, positionOf } from '../../src/testing/planning/arbitrary/tree.js'
import { law, publishedLaw } from './law.js'

const moments = arb.moment()

const momentsWithOptions = momentWithOptions()

/** Freezes a value deeply, so that a write throws. */
const frozen = <A>(value: A): A => {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value)
    for (const key of Reflect.ownKeys(value)) {
      if (key !== 'variables') frozen((value as Record<string | symbol, unknown>)[key])
    }
  }
  return value
}

// ---------------------------------------------------------------------------------------------------------------------
// laws
// ---------------------------------------------------------------------------------------------------------------------

// Laws about whole runs get fewer cases, and laws that compare few of their cases get more.
const RUNS: Readonly<Record<string, number>> = { 'PL-MORE-01': 170, 'PL-PREFIX-01': 50, 'PL-WRAP-01': 500 }

describe('the published laws', () => {
  for (const one of planLaws) publishedLaw(one, RUNS[one.id])
})

// Any evidence turns off `decideByRecord`, so this also compares its plans with those of the whole rules.
law('missing evidence of an unknown unit changes no decision', momentsWithOptions, ({ moment, options }) => {
  const { checkpoint, workflow } = moment
  const missing = { unit: 'unknown', missing: [{ _tag: 'File', path: 'nowhere' }] } as const
  const more = { ...options, evidence: [...(options.evidence ?? []), missing] }
  assert.deepEqual(
    E.map(dataOf)(planResume(checkpoint, workflow, more)),
    E.map(dataOf)(planResume(checkpoint, workflow, options))
  )
})

test('the samples of PL-WRAP-01 (a workflow wrapped in a sequence has the same plan) include many plans, many refusals and many questions in a tree', () => {
  const compared = fc.sample(momentsWithOptions, { numRuns: 1500, seed: 186 }).flatMap(({ moment, options }) => {
    if (wrappedIfComparable(moment, options) === undefined) return []
    return [{ options, isPlan: E.isRight(planResume(moment.checkpoint, moment.workflow, options)) }]
  })
  const plans = compared.filter(({ isPlan }) => isPlan)
  const isDeep = (unit: string | undefined): boolean => unit !== undefined && unit !== top(unit)
  const from = plans.filter(({ options }) => isDeep(options.fromStep))
  const both = from.filter(({ options }) => isDeep(options.restartWave))
  const replaced = from.filter(({ options }) => options.input !== undefined)
  const counts = [plans, compared, from, both, replaced].map(({ length }) => length)
  const [planned = 0, all = 0, ...asked] = counts
  assert.ok(planned > 300 && all - planned > 30 && asked.every((count) => count > 10), counts.join(' '))
})

describe('a plan', () => {
  law('a plan accepts a frozen checkpoint and workflow', momentsWithOptions, (one) => {
    const { checkpoint, workflow } = one.moment
    frozen(one.moment)
    const before = JSON.stringify(encode(checkpoint))
    const first = planResume(checkpoint, workflow, one.options)
    const second = planResume(checkpoint, workflow, one.options)
    assert.equal(first._tag, second._tag)
    if (E.isRight(first) && E.isRight(second)) assert.deepEqual(dataOf(first.right), dataOf(second.right))
    else assert.deepEqual(first, second)
    assert.equal(JSON.stringify(encode(checkpoint)), before)
  })

  law('a plan without options has the variables of the checkpoint', moments, (moment) => {
    const { checkpoint } = moment
    const workflow = new Set(unitsOf(moment).keys())
    if (![...recorded(checkpoint)].every((name) => workflow.has(name) || !name.includes('/'))) return
    assert.deepEqual(new Map(planOf(moment).variables), new Map(checkpoint.variables))
  })
})

describe('the options of a plan', () => {
  law(
    'a plan with fromStep runs the named step and all later ones or asks about their pending jobs, and skips all earlier ones',
    momentsWithOptions,
    ({ moment, options }) => {
      const { fromStep, outputs } = { fromStep: moment.workflow.steps.at(-2)?.name, ...options }
      if (fromStep === undefined) return
      const plan = planResume(moment.checkpoint, moment.workflow, {
        fromStep,
        ...(outputs === undefined ? {} : { outputs })
      })
      if (E.isLeft(plan)) return
      for (const { _tag, reason, unit } of plan.right.decisions) {
        const position = positionOf(moment, unit, fromStep)
        // A non-idempotent job is not forced without a question.
        if (position === 'around' || position === 'beside' || (_tag === 'Confirm' && reason._tag === 'JobPending'))
          continue
        assert.deepEqual([_tag, reason._tag === 'Forced'], position === 'before' ? ['Skip', false] : ['Run', true])
      }
      const from = moment.workflow.steps.findIndex(({ name }) => name === top(fromStep))
      assert.equal(plan.right.startIndex, from)
    }
  )

  law(
    'restartWave runs all groups of the wave, or asks about their pending jobs',
    momentsWithOptions,
    ({ moment, options: { restartWave } }) => {
      if (restartWave === undefined) return
      const plan = planOf(moment, { restartWave })
      for (const { _tag, reason, unit } of plan.decisions) {
        const isAsked = _tag === 'Confirm' && reason._tag === 'JobPending'
        if (isWithin(unit, restartWave) && !isAsked) assert.deepEqual([_tag, reason._tag], ['Run', 'Forced'])
      }
    }
  )

  law(
    'a plan that runs a completed unit again runs everything after it again, except units declared done or kept',
    momentsWithOptions,
    ({ moment, options }) => {
      const plan = planResume(moment.checkpoint, moment.workflow, options)
      if (E.isLeft(plan)) return
      const done = recorded(moment.checkpoint)
      const work = works(plan.right)
      // While a question about changed evidence is open, it is unknown whether its unit runs again.
      if (openQuestions(plan.right).some(({ reason }) => reason._tag === 'EvidenceChanged')) return
      const first = work.find((one) => one._tag !== 'Skip' && done.has(one.unit))
      for (const decision of work) {
        if (first === undefined || decision.stepIndex <= first.stepIndex) continue
        const answer = options.confirm?.get(decision.unit)
        const keeps = options.onChanged === 'keep' || answer?._tag === 'Keep'
        const isKept = keeps && decision.reason._tag === 'EvidenceChanged'
        assert.equal(decision._tag === 'Skip', answer?._tag === 'Done' || isKept, decision.unit)
      }
    }
  )

  law(
    'missing evidence makes exactly its unit, the units that need it and all later units run again',
    fc.tuple(moments, fc.nat()),
    ([moment, which]) => {
      const all = [...moment.checkpoint.completedSteps]
      const record = all[which % Math.max(1, all.length)]
      if (record === undefined || !unitsOf(moment).has(record.unit)) return
      const missing = [{ _tag: 'File', path: 'x' }] as const
      const plan = planOf(moment, { evidence: [{ unit: record.unit, missing }] })
      const place = moment.workflow.steps.findIndex(({ name }) => name === top(record.unit))
      for (const decision of works(plan)) {
        if (decision.unit === record.unit) assert.notEqual(decision._tag, 'Skip')
        if (decision.stepIndex > place) assert.notEqual(decision._tag, 'Skip')
        if (decision.stepIndex < place) assert.notEqual(decision.reason._tag, 'EarlierStepRunsAgain')
      }
    }
  )
})

describe('editing a step', () => {
  law(
    'an edit of a completed step is refused, with both fingerprints',
    fc.tuple(moments, fc.nat({ max: 9 }), fc.nat({ max: 99 })),
    ([{ checkpoint, workflow }, at, salt]) => {
      const isInMap = (unit: string): boolean => [...ancestors(unit)].some((one) => checkpoint.items.has(one))
      const taskAt = (of: W.Workflow, unit: string): W.Step | undefined =>
        find<W.Step>(of, checkpoint.items, unit)?.definition
      const tasks = [...checkpoint.completedSteps].filter(
        ({ unit }) => taskAt(workflow, unit)?._tag === 'Task' && !isInMap(unit)
      )
      const record = tasks[at % Math.max(1, tasks.length)]
      if (record === undefined) return
      const edited = arb.edit(workflow, { kind: 'change', at: record.stepIndex, salt }).workflow
      const plan = planResume(checkpoint, edited)
      assert.ok(E.isLeft(plan))
      assert.ok(
        plan.left.problems.some(
          (problem) =>
            problem._tag === 'WorkflowChanged' &&
            problem.edit === 'changed' &&
            problem.unit === record.unit &&
            problem.recorded === record.fingerprint &&
            problem.present === taskAt(edited, record.unit)?.fingerprint
        )
      )
    }
  )

  law(
    'an edit that inserts a step before completed work is refused',
    fc.tuple(moments, fc.nat({ max: 9 }), fc.nat({ max: 99 })),
    ([{ checkpoint, workflow }, at, salt]) => {
      // A task with recorded sub-steps is in progress, and a step may come before it.
      const places = [...checkpoint.completedSteps].filter(({ subStep }) => subStep === undefined)
      const last = Math.max(-1, ...places.map(({ stepIndex }) => stepIndex))
      if (last === -1) return
      const place = at % (last + 1)
      const added = W.task(`fresh-${salt}`)
      const edited = { ...workflow, steps: [...workflow.steps.slice(0, place), added, ...workflow.steps.slice(place)] }
      const plan = planResume(checkpoint, edited)
      assert.ok(E.isLeft(plan))
      assert.deepEqual(
        plan.left.problems.map((problem) => problem._tag === 'WorkflowChanged' && [problem.edit, problem.unit]),
        [['insertedBefore', added.name]]
      )
    }
  )

  law('an edit that swaps completed steps is refused', moments, ({ checkpoint, workflow }) => {
    // A task with recorded sub-steps is in progress, and steps may change their places before it.
    const places = [...checkpoint.completedSteps].flatMap((one) => (one.subStep === undefined ? [one.stepIndex] : []))
    const begun = [...new Set(places)].sort((a, b) => a - b)
    const [a, b] = begun.slice(-2)
    if (a === undefined || b === undefined) return
    const steps = workflow.steps.map((step, index) => workflow.steps[index === a ? b : index === b ? a : index] ?? step)
    const plan = planResume(checkpoint, { ...workflow, steps })
    assert.ok(E.isLeft(plan))
    assert.ok(plan.left.problems.some((problem) => problem._tag === 'WorkflowChanged' && problem.edit === 'reordered'))
  })

  law(
    'the policy `strict` refuses every edit except that of a summary',
    fc.tuple(moments, arb.workflowEdit),
    ([{ checkpoint, workflow }, change]) => {
      const { workflow: edited } = arb.edit(workflow, change)
      const names = (of: Workflow) => of.steps.map(({ name, fingerprint }) => [name, fingerprint])
      const same = JSON.stringify(names(edited)) === JSON.stringify(names(workflow))
      const plan = planResume(checkpoint, edited, { changes: 'strict' })
      assert.equal(E.isRight(plan), same)
      if (E.isLeft(plan)) assert.ok(plan.left.problems.some(({ _tag }) => _tag === 'WorkflowChanged'))
    }
  )

  law(
    'the policy `ignore` refuses an edit only if a recorded result has another form, the edited step rejects it, or a captured variable was never set',
    fc.tuple(moments, arb.workflowEdit),
    ([{ checkpoint, workflow }, change]) => {
      const plan = planResume(checkpoint, arb.edit(workflow, change).workflow, { changes: 'ignore' })
      const allowed = ['OutputNotDecodable', 'AssumedOutputMissing']
      const isAllowed = (problem: PlanProblem): boolean =>
        problem._tag === 'WorkflowChanged' ? problem.otherKind === true : allowed.includes(problem._tag)
      if (E.isLeft(plan)) assert.ok(plan.left.problems.every(isAllowed))
    }
  )
})

describe('following a plan', () => {
  law(
    'following a plan of an edited workflow adopts the edit',
    fc.tuple(moments, arb.workflowEdit, fc.constantFrom('completed' as const, 'ignore' as const)),
    ([moment, change, changes]) => {
      const { workflow } = arb.edit(moment.workflow, change)
      const edited = { ...moment, workflow }
      const chosen = answered(edited, noFaults, { changes })
      if (E.isLeft(chosen)) return
      const adopted = overrideOnly(edited, chosen.right)
      const skippedBy = ({ decisions }: ResumePlan) =>
        decisions.flatMap(({ _tag, unit }) => (_tag === 'Skip' ? [unit] : []))
      assert.deepEqual(skippedBy(planOf(adopted)), skippedBy(chosen.right.plan))
      const done = finish(adopted)
      assert.deepEqual(scheduled(planOf(done)), [])
      assert.equal(done.checkpoint.workflow.fingerprint, fingerprintOf(workflow))
    }
  )
})

describe('recorded overrides', () => {
  law('a plan that only continues has no overrides', undisturbedRun(), (run) => {
    const plan = planOf(run)
    assert.deepEqual(overrideOnly(run, { plan, options: {} }).changes, [])
  })

  law(
    'once the overrides of a plan are recorded, the next plan has none',
    momentsWithOptions,
    ({ moment, options }) => {
      const chosen = answered(moment, noFaults, options)
      if (E.isLeft(chosen)) return
      const saved = overrideOnly(moment, chosen.right)
      assert.deepEqual(overrideOnly(saved, { plan: planOf(saved), options: {} }).changes, [])
    }
  )
})

describe('a unit that is not idempotent', () => {
  law(
    'an edit keeps the question about a non-idempotent unit that may have taken effect, or is refused',
    fc.tuple(moments, arb.workflowEdit),
    ([moment, change]) => {
      const asked = openQuestions(planOf(moment)).map(({ unit }) => unit)
      const { workflow } = arb.edit(moment.workflow, change)
      const tasks = unitsOf({ ...moment, workflow })
      const plan = planResume(moment.checkpoint, workflow)
      for (const name of asked) {
        if (!tasks.has(name) && !isSubStep(name)) {
          assert.ok(E.isLeft(plan))
          assert.ok(
            plan.left.problems.some(
              (problem) => problem._tag === 'WorkflowChanged' && problem.inDoubt && problem.unit === name
            )
          )
        } else if (E.isRight(plan) && tasks.get(name)?.idempotent !== true) {
          assert.ok(openQuestions(plan.right).some((question) => question.unit === name))
        }
      }
    }
  )

  law(
    'a unit that is not idempotent is recorded as done, with the given output, once the answer "done" is recorded',
    fc.tuple(undisturbedRun(), fc.constantFrom<Json>(null, false, 0, 7)),
    ([run, given]) => {
      const answers = new Map<string, Answer>()
      for (const question of openQuestions(planOf(run))) {
        const task = unitsOf(run).get(question.unit)
        const fit = [given, 7, { n: 1 }].find((output) => task !== undefined && E.isRight(task.accepts(output)))
        if (fit !== undefined) answers.set(question.unit, { _tag: 'Done', output: fit })
      }
      if (answers.size === 0) return
      const plan = planResume(run.checkpoint, run.workflow, { confirm: answers })
      assert.ok(E.isRight(plan))
      const saved = overrideOnly(run, { plan: plan.right, options: { confirm: answers } })
      for (const [name, answer] of answers) {
        const record = [...saved.checkpoint.completedSteps].find((one) => one.unit === name)
        assert.equal(record?.assumed, true)
        assert.deepEqual(record?.output, answer._tag === 'Done' ? answer.output : undefined)
      }
    }
  )
})

describe('the hash of a plan', () => {
  law(
    'the hashes of two plans are equal if and only if their decisions and variables are',
    fc.tuple(momentsWithOptions, momentsWithOptions, arb.workflowEdit),
    ([a, b, change]) => {
      const plans = [
        planResume(a.moment.checkpoint, a.moment.workflow, a.options),
        planResume(a.moment.checkpoint, a.moment.workflow),
        planResume(a.moment.checkpoint, arb.edit(a.moment.workflow, change).workflow),
        planResume(b.moment.checkpoint, b.moment.workflow, b.options)
      ].flatMap((plan) => (E.isRight(plan) ? [plan.right] : []))
      for (const one of plans) {
        assert.match(hashPlan(one), /^[0-9a-f]{16}$/)
        for (const other of plans) assert.equal(hashPlan(one) === hashPlan(other), samePlan(one, other))
      }
    },
    170
  )

  law(
    'the hash of a plan depends on variables, but not on their order',
    fc.tuple(
      arb.workflow(),
      fc.dictionary(fc.string(), fc.nat({ max: 2 }), { minKeys: 1 }),
      fc.nat(),
      fc.nat({ max: 2 })
    ),
    ([workflow, given, which, value]) => {
      const names = Object.keys(given)
      const name = names[which % names.length] as string
      const hash = (input: Json) => hashPlan(planOf(startedRun(workflow, input)))
      const other = Object.fromEntries(Object.entries(given).map(([key, was]) => [key, key === name ? value : was]))
      assert.equal(hash(given) === hash(other), given[name] === value)
      assert.equal(hash(Object.fromEntries(Object.entries(given).reverse())), hash(given))
    }
  )
})

const samePlan = (one: ResumePlan, other: ResumePlan): boolean => {
  const text = (plan: ResumePlan): string =>
    JSON.stringify([plan.decisions, [...plan.variables].sort(([a], [b]) => (a < b ? -1 : 1))])
  return text(one) === text(other)
}

describe('an unchanged linear workflow', () => {
  const linear = undisturbedRun({ workflow: arb.workflow({ tasksOnly: true }) })

  law('in an unchanged linear workflow the state alone determines startIndex and retryCurrent', linear, (run) => {
    for (const { checkpoint, workflow } of run.trail) {
      const { startIndex, retryCurrent, skipSteps } = planOf({ checkpoint, workflow })
      const { state } = checkpoint
      const expected = State.match({
        BeforeStep: ({ stepIndex }) => [stepIndex, true],
        Completed: ({ stepIndex }) => [stepIndex + 1, false],
        Failed: ({ stepIndex, retryable }) => [stepIndex, retryable],
        Interrupted: ({ stepIndex, inProgress }) => [stepIndex, inProgress]
      })(state)
      const answeredDone = [...checkpoint.completedSteps].some(({ assumed }) => assumed === true)
      if (!answeredDone) assert.deepEqual([startIndex, retryCurrent], expected)
      assert.deepEqual([...skipSteps], [...Array(startIndex).keys()])
    }
  })
})

describe('a run that has only started', () => {
  law(
    'the plan of a run without an attempt runs every unit, with the reason NotStarted',
    arb.workflow(),
    (workflow) => {
      const plan = planOf(startedRun(workflow, {}))
      for (const decision of plan.decisions) {
        assert.deepEqual([decision._tag, decision.reason._tag], ['Run', 'NotStarted'])
      }
    }
  )
})
