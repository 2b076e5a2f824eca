import assert from 'node:assert/strict'
import * as E from 'fp-ts/lib/Either.js'
import * as fc from 'fast-check'
import { describe } from 'vitest'
import type { Checkpoint } from '../../src/domain/Checkpoint.js'
import { encode } from '../../src/domain/CheckpointCodec.js'
import * as State from '../../src/domain/CheckpointState.js'
import type { Json } from '../../src/domain/Json.js'
import type { Answer, Decision, PlanOptions, ResumePlan } from '../../src/domain/Plan.js'
import { hashPlan, openQuestions, unitName } from '../../src/domain/Plan.js'
import { planResume } from '../../src/domain/planResume.js'
import type { Workflow } from '../../src/domain/Workflow.js'
import * as W from '../../src/domain/Workflow.js'
import { fingerprintOf } from '../../src/domain/WorkflowIdentity.js'
import * as arb from './arbitraries.js'
import { law } from './law.js'
import type { Moment } from './simulate.js'
import { answered, begin, diceOf, finish, follow, noTrouble, overrideOnly } from './simulate.js'

// ---------------------------------------------------------------------------------------------------------------------
// words of the laws
// ---------------------------------------------------------------------------------------------------------------------

const planOf = ({ checkpoint, workflow }: Moment, options?: PlanOptions): ResumePlan => {
  const plan = planResume(checkpoint, workflow, options)
  return E.isRight(plan) ? plan.right : assert.fail(JSON.stringify(plan.left))
}

/** The names of the units of a plan that are not skipped. A wave is no unit of work: its groups are. */
const scheduled = (plan: ResumePlan, workflow: Workflow): ReadonlyArray<string> =>
  plan.decisions.filter((one) => one._tag !== 'Skip' && isWork(one, workflow)).map(unitName)

const isWork = (decision: Decision, workflow: Workflow): boolean =>
  decision.group !== undefined || workflow.steps[decision.stepIndex]?._tag === 'Task'

const recorded = ({ completedSteps }: Checkpoint): ReadonlySet<string> => new Set([...completedSteps].map(unitName))

/** Everything in a plan that can be compared. */
const data = ({ decisions, startIndex, retryCurrent, skipSteps, variables }: ResumePlan): unknown => ({
  decisions,
  startIndex,
  retryCurrent,
  skipSteps: [...skipSteps],
  variables: [...variables].sort(([a], [b]) => (a < b ? -1 : 1))
})

const moments = fc
  .tuple(arb.run, fc.nat({ max: 999 }))
  .map(([run, back]): Moment => run.trail[Math.max(0, run.trail.length - 1 - (back % run.trail.length))] as Moment)

const momentsWithOptions = fc
  .tuple(moments, arb.numbers)
  .map(([moment, chance]) => ({ moment, options: arb.chooseOptions(diceOf(chance), moment) }))

/** Freezes a value all the way down, so that writing to it throws. */
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

describe('a plan', () => {
  law(
    'is the same for the same checkpoint, workflow and options, and changes none of them',
    momentsWithOptions,
    (one) => {
      const { checkpoint, workflow } = one.moment
      frozen(one.moment)
      const before = JSON.stringify(encode(checkpoint))
      const first = planResume(checkpoint, workflow, one.options)
      const second = planResume(checkpoint, workflow, one.options)
      assert.equal(first._tag, second._tag)
      if (E.isRight(first) && E.isRight(second)) assert.deepEqual(data(first.right), data(second.right))
      else assert.deepEqual(first, second)
      assert.equal(JSON.stringify(encode(checkpoint)), before)
    }
  )

  law('has one decision for each step in order, that of a wave followed by one for each group', moments, (moment) => {
    assert.deepEqual(
      planOf(moment).decisions.map(({ stepIndex, step, group }) => [stepIndex, step, group]),
      moment.workflow.steps.flatMap((step, index) => [
        [index, step.name, undefined],
        ...(step._tag === 'Wave' ? step.groups.map((group) => [index, step.name, group.name]) : [])
      ])
    )
  })

  law('has each unit recorded completed or scheduled, never both and never neither', moments, (moment) => {
    const done = recorded(moment.checkpoint)
    for (const decision of planOf(moment).decisions) {
      if (!isWork(decision, moment.workflow)) continue
      assert.equal(decision._tag === 'Skip', done.has(unitName(decision)), unitName(decision))
    }
  })

  law('skips a wave exactly if it is recorded completed, and then all its groups are', moments, (moment) => {
    const done = recorded(moment.checkpoint)
    const { decisions } = planOf(moment)
    for (const decision of decisions) {
      if (isWork(decision, moment.workflow)) continue
      assert.equal(decision._tag === 'Skip', done.has(decision.step), decision.step)
      const groups = decisions.filter((one) => one.step === decision.step && one.group !== undefined)
      if (decision._tag === 'Skip') assert.ok(groups.every((one) => one._tag === 'Skip'))
    }
  })

  law(
    'never schedules a completed unit, whatever else is edited, unless something is forced, rewound or missing',
    fc.tuple(moments, arb.workflowEdit),
    ([{ checkpoint, workflow }, change]) => {
      const plan = planResume(checkpoint, arb.edit(workflow, change).workflow)
      if (E.isLeft(plan)) return
      const done = recorded(checkpoint)
      for (const name of scheduled(plan.right, arb.edit(workflow, change).workflow)) assert.ok(!done.has(name), name)
    }
  )

  law('reads startIndex, retryCurrent and skipSteps off its decisions', momentsWithOptions, (one) => {
    const plan = planResume(one.moment.checkpoint, one.moment.workflow, one.options)
    if (E.isLeft(plan)) return
    const steps = plan.right.decisions.filter(({ group }) => group === undefined)
    const first = steps.find(({ _tag }) => _tag !== 'Skip')
    const { state } = one.moment.checkpoint
    const goesOn =
      state._tag === 'BeforeStep' ||
      (state._tag === 'Failed' && state.retryable) ||
      (state._tag === 'Interrupted' && state.inProgress)
    assert.equal(plan.right.startIndex, first?.stepIndex ?? steps.length)
    assert.deepEqual(
      [...plan.right.skipSteps],
      steps.filter(({ _tag }) => _tag === 'Skip').map(({ stepIndex }) => stepIndex)
    )
    assert.equal(plan.right.retryCurrent, first?.step === state.step && goesOn)
  })

  law('of nothing asked gives the variables of the checkpoint', moments, (moment) => {
    const { checkpoint } = moment
    const workflow = new Set(arb.taskUnits(moment.workflow).keys())
    if (![...recorded(checkpoint)].every((name) => workflow.has(name) || !name.includes('/'))) return
    assert.deepEqual(new Map(planOf(moment).variables), new Map(checkpoint.variables))
  })
})

describe('what is asked of a plan', () => {
  law(
    'with fromStep runs that step and all after it, and nothing before',
    momentsWithOptions,
    ({ moment, options }) => {
      const { fromStep, outputs } = { fromStep: moment.workflow.steps.at(-2)?.name, ...options }
      if (fromStep === undefined) return
      const plan = planResume(moment.checkpoint, moment.workflow, {
        fromStep,
        ...(outputs === undefined ? {} : { outputs })
      })
      if (E.isLeft(plan)) return
      const from = moment.workflow.steps.findIndex(({ name }) => name === fromStep)
      for (const { _tag, reason, stepIndex } of plan.right.decisions) {
        assert.deepEqual([_tag, reason._tag === 'Forced'], stepIndex < from ? ['Skip', false] : ['Run', true])
      }
      assert.equal(plan.right.startIndex, from)
    }
  )

  law('with restartWave runs all its groups', momentsWithOptions, ({ moment, options: { restartWave } }) => {
    if (restartWave === undefined) return
    const plan = planOf(moment, { restartWave })
    for (const { _tag, reason, step } of plan.decisions) {
      if (step === restartWave) assert.deepEqual([_tag, reason._tag], ['Run', 'Forced'])
    }
  })

  law(
    'that makes completed work run again makes everything after it run, but for what somebody says is done',
    momentsWithOptions,
    ({ moment, options }) => {
      const plan = planResume(moment.checkpoint, moment.workflow, options)
      if (E.isLeft(plan)) return
      const done = recorded(moment.checkpoint)
      const first = plan.right.decisions.find(
        (one) => one._tag !== 'Skip' && isWork(one, moment.workflow) && done.has(unitName(one))
      )
      for (const decision of plan.right.decisions) {
        if (first === undefined || decision.stepIndex <= first.stepIndex || !isWork(decision, moment.workflow)) continue
        const answer = options.confirm?.get(unitName(decision))
        assert.equal(decision._tag === 'Skip', answer?._tag === 'Done', unitName(decision))
      }
    }
  )

  law(
    'with missing evidence runs again exactly what it was of, what needs that, and what comes after',
    fc.tuple(moments, fc.nat()),
    ([moment, which]) => {
      const all = [...moment.checkpoint.completedSteps]
      const record = all[which % Math.max(1, all.length)]
      if (record === undefined || !arb.taskUnits(moment.workflow).has(unitName(record))) return
      const missing = [{ _tag: 'File', path: 'x' }] as const
      const plan = planOf(moment, { evidence: [{ ...unit(record.step, record.group), missing }] })
      const place = moment.workflow.steps.findIndex(({ name }) => name === record.step)
      for (const decision of plan.decisions) {
        if (!isWork(decision, moment.workflow)) continue
        if (unitName(decision) === unitName(record)) assert.notEqual(decision._tag, 'Skip')
        if (decision.stepIndex > place) assert.notEqual(decision._tag, 'Skip')
        if (decision.stepIndex < place) assert.notEqual(decision.reason._tag, 'EarlierStepRunsAgain')
      }
    }
  )
})

describe('completing more', () => {
  law(
    'never schedules more',
    fc.tuple(arb.undisturbedRun(), arb.numbers),
    ([run, chance]) => {
      const { evidence: _, ...options } = arb.chooseOptions(diceOf(chance), run)
      for (const [index, earlier] of run.trail.entries()) {
        const later = run.trail[index + 1]
        if (later === undefined) break
        const change = run.changes[index + 1]?._tag
        if (change !== 'StepCompleted' && change !== 'GroupCompleted') continue
        const before = planResume(earlier.checkpoint, run.workflow, options)
        const after = planResume(later.checkpoint, run.workflow, options)
        if (E.isLeft(before) || E.isLeft(after)) continue
        const allowed = new Set(scheduled(before.right, run.workflow))
        for (const name of scheduled(after.right, run.workflow)) assert.ok(allowed.has(name), name)
      }
    },
    1000
  )
})

describe('editing a step', () => {
  law(
    'changes no decision before it',
    fc.tuple(momentsWithOptions, arb.workflowEdit),
    ([{ moment, options }, change]) => {
      const edited = arb.edit(moment.workflow, change)
      const before = planResume(moment.checkpoint, moment.workflow, options)
      const after = planResume(moment.checkpoint, edited.workflow, options)
      if (E.isLeft(before) || E.isLeft(after)) return
      const earlier = (plan: ResumePlan) => plan.decisions.filter(({ stepIndex }) => stepIndex < edited.first)
      assert.deepEqual(earlier(after.right), earlier(before.right))
    }
  )

  law(
    'that did not complete, or putting one after all that did, is always fine',
    fc.tuple(moments, arb.workflowEdit),
    ([{ checkpoint, workflow }, change]) => {
      const { workflow: edited, first } = arb.edit(workflow, change)
      const last = Math.max(-1, ...[...checkpoint.completedSteps].map(({ stepIndex }) => stepIndex))
      const inDoubt = State.inFlight(checkpoint.state).length + State.failures(checkpoint.state).length > 0
      if (first <= last || inDoubt) return
      assert.ok(E.isRight(planResume(checkpoint, edited)))
    }
  )

  law(
    'that completed is refused, with both fingerprints',
    fc.tuple(moments, fc.nat({ max: 9 }), fc.nat({ max: 99 })),
    ([{ checkpoint, workflow }, at, salt]) => {
      const steps = [...checkpoint.completedSteps].filter(({ group }) => group === undefined)
      const record = steps[at % Math.max(1, steps.length)]
      if (record === undefined) return
      const edited = arb.edit(workflow, { kind: 'change', at: record.stepIndex, salt }).workflow
      const plan = planResume(checkpoint, edited)
      assert.ok(E.isLeft(plan))
      assert.ok(
        plan.left.problems.some(
          (problem) =>
            problem._tag === 'WorkflowChanged' &&
            problem.edit === 'changed' &&
            problem.step === record.step &&
            problem.recorded === record.fingerprint &&
            problem.present === edited.steps[record.stepIndex]?.fingerprint
        )
      )
    }
  )

  law(
    'so that another step comes before completed work is refused',
    fc.tuple(moments, fc.nat({ max: 9 }), fc.nat({ max: 99 })),
    ([{ checkpoint, workflow }, at, salt]) => {
      const places = [...checkpoint.completedSteps].map(({ stepIndex }) => stepIndex)
      const last = Math.max(-1, ...places)
      if (last === -1) return
      const place = at % (last + 1)
      const added = W.task(`fresh-${salt}`)
      const edited = { ...workflow, steps: [...workflow.steps.slice(0, place), added, ...workflow.steps.slice(place)] }
      const plan = planResume(checkpoint, edited)
      assert.ok(E.isLeft(plan))
      assert.deepEqual(
        plan.left.problems.map((problem) => problem._tag === 'WorkflowChanged' && [problem.edit, problem.step]),
        [['insertedBefore', added.name]]
      )
    }
  )

  law('so that completed steps change places is refused', moments, ({ checkpoint, workflow }) => {
    const begun = [...new Set([...checkpoint.completedSteps].map(({ stepIndex }) => stepIndex))].sort((a, b) => a - b)
    const [a, b] = begun.slice(-2)
    if (a === undefined || b === undefined) return
    const steps = workflow.steps.map((step, index) => workflow.steps[index === a ? b : index === b ? a : index] ?? step)
    const plan = planResume(checkpoint, { ...workflow, steps })
    assert.ok(E.isLeft(plan))
    assert.ok(plan.left.problems.some((problem) => problem._tag === 'WorkflowChanged' && problem.edit === 'reordered'))
  })

  law(
    'of any kind is refused by the strict policy, but for its summary',
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
    'is never refused by the ignore policy, but for outputs that no longer fit and variables that were never set',
    fc.tuple(moments, arb.workflowEdit),
    ([{ checkpoint, workflow }, change]) => {
      const plan = planResume(checkpoint, arb.edit(workflow, change).workflow, { changes: 'ignore' })
      const allowed = ['OutputNotDecodable', 'AssumedOutputMissing']
      if (E.isLeft(plan)) assert.ok(plan.left.problems.every(({ _tag }) => allowed.includes(_tag)))
    }
  )
})

describe('following a plan', () => {
  law('to the end leaves nothing to schedule, whatever was asked of it', momentsWithOptions, ({ moment, options }) => {
    const chosen = answered(moment.checkpoint, moment.workflow, noTrouble, options)
    if (E.isLeft(chosen)) return
    const done = follow(moment, chosen.right.plan, chosen.right.options)
    const after = planOf(done)
    assert.deepEqual(scheduled(after, done.workflow), [])
    assert.equal(after.startIndex, done.workflow.steps.length)
    assert.equal(done.checkpoint.completedSteps.steps, done.workflow.steps.length)
    assert.equal(done.checkpoint.state._tag, 'Completed')
  })

  law('runs exactly what it schedules', momentsWithOptions, ({ moment, options }) => {
    const chosen = answered(moment.checkpoint, moment.workflow, noTrouble, options)
    if (E.isLeft(chosen)) return
    const done = follow(moment, chosen.right.plan, chosen.right.options)
    const started = done.changes.flatMap((change) =>
      change._tag === 'AttemptStarted' ? change.attempts.map(({ group }) => unitName(unit(change.step, group))) : []
    )
    assert.deepEqual([...started].sort(), [...scheduled(chosen.right.plan, moment.workflow)].sort())
  })

  law(
    'of an edited workflow works too, and the edit is adopted',
    fc.tuple(moments, arb.workflowEdit, fc.constantFrom('completed' as const, 'ignore' as const)),
    ([moment, change, changes]) => {
      const { workflow } = arb.edit(moment.workflow, change)
      const chosen = answered(moment.checkpoint, workflow, noTrouble, { changes })
      if (E.isLeft(chosen)) return
      const skipped = chosen.right.plan.decisions.filter(({ _tag }) => _tag === 'Skip').map(unitName)
      const adopted = overrideOnly({ ...moment, workflow }, chosen.right.plan, chosen.right.options)
      const again = planOf(adopted)
      assert.deepEqual(
        again.decisions.filter(({ _tag }) => _tag === 'Skip').map(unitName),
        skipped,
        'adopting an edit changes what is skipped'
      )
      const done = finish(adopted)
      assert.deepEqual(scheduled(planOf(done), workflow), [])
      assert.equal(done.checkpoint.workflow.fingerprint, fingerprintOf(workflow))
    }
  )
})

describe('any prefix of the changes of a run', () => {
  law(
    'gives a checkpoint that plans, and that finishes',
    arb.run,
    (run) => {
      for (const moment of run.trail) {
        planOf(moment)
        assert.deepEqual(scheduled(planOf(finish(moment)), moment.workflow), [])
      }
    },
    300
  )
})

describe('overrides, once recorded,', () => {
  law(
    'bind a plain resume, also after a crash before anything else: what was assumed is skipped, what was forced runs',
    momentsWithOptions,
    ({ moment, options }) => {
      const chosen = answered(moment.checkpoint, moment.workflow, diceOf([1, 0, 1, 1, 0]), options)
      if (E.isLeft(chosen)) return
      const saved = overrideOnly(moment, chosen.right.plan, chosen.right.options)
      const again = planOf(saved)
      const tags = (plan: ResumePlan) =>
        plan.decisions.map((one) => [unitName(one), one._tag === 'Skip' ? 'skipped' : 'scheduled'])
      assert.deepEqual(tags(again), tags(chosen.right.plan))
      assert.deepEqual(openQuestions(again), [], 'an answer was forgotten')
      const rewound = saved.changes.find((change) => change._tag === 'Rewound')?.stepIndex ?? Infinity
      for (const [index, one] of chosen.right.plan.decisions.entries()) {
        const untouched = one.stepIndex < rewound && !chosen.right.options.confirm?.has(unitName(one))
        if (one._tag === 'Retry' && untouched && isWork(one, moment.workflow)) {
          assert.deepEqual(again.decisions[index], one, 'what was in flight was forgotten')
        }
      }
      assert.deepEqual(new Map(again.variables), new Map(chosen.right.plan.variables))
    }
  )

  law('are not needed by a plan that only goes on', arb.undisturbedRun(), (run) => {
    const plan = planOf(run)
    assert.deepEqual(overrideOnly(run, plan, {}).changes, [])
  })

  law('make a second set of overrides empty', momentsWithOptions, ({ moment, options }) => {
    const chosen = answered(moment.checkpoint, moment.workflow, noTrouble, options)
    if (E.isLeft(chosen)) return
    const saved = overrideOnly(moment, chosen.right.plan, chosen.right.options)
    assert.deepEqual(overrideOnly(saved, planOf(saved), {}).changes, [])
  })
})

describe('a unit that is not idempotent', () => {
  law('and may have had its effect is asked about until somebody answers', arb.undisturbedRun(), (run) => {
    for (const { checkpoint, workflow } of run.trail) {
      const asked = new Set(openQuestions(planOf({ checkpoint, workflow })).map(unitName))
      const expected = new Set<string>()
      const { state } = checkpoint
      for (const { group } of State.inFlight(state)) expected.add(unitName(unit(state.step, group)))
      for (const { group, outcome } of State.failures(state)) {
        if (outcome === 'unknown') expected.add(unitName(unit(state.step, group)))
      }
      for (const [name, task] of arb.taskUnits(workflow)) if (task.idempotent) expected.delete(name)
      assert.deepEqual([...asked].sort(), [...expected].sort())
    }
  })

  law('and was never started is never asked about', momentsWithOptions, ({ moment, options }) => {
    const { state } = moment.checkpoint
    const known = new Set([
      ...recorded(moment.checkpoint),
      ...[...State.inFlight(state), ...State.failures(state)].map(({ group }) => unitName(unit(state.step, group)))
    ])
    const plan = planResume(moment.checkpoint, moment.workflow, options)
    if (E.isLeft(plan)) return
    for (const question of openQuestions(plan.right)) assert.ok(known.has(unitName(question)), unitName(question))
  })

  law(
    'is never started a second time unless somebody answered, forced it, or it said that nothing had happened',
    arb.undisturbedRun(),
    (run) => {
      const inDoubt = new Set<string>()
      const tasks = arb.taskUnits(run.workflow)
      for (const change of run.changes) {
        switch (change._tag) {
          case 'AttemptStarted':
            for (const { group } of change.attempts) {
              const name = unitName(unit(change.step, group))
              if (tasks.get(name)?.idempotent === false) assert.ok(!inDoubt.has(name), name)
              inDoubt.add(name)
            }
            break
          case 'AttemptFailed':
          case 'GroupFailed':
            if (change.outcome === 'notApplied') inDoubt.delete(unitName(change))
            break
          case 'StepFailed':
            if (change.last?.outcome === 'notApplied') inDoubt.delete(change.step)
            break
          case 'Confirmed':
          case 'Assumed':
            inDoubt.delete(unitName(change))
            break
          case 'Started':
          case 'WorkflowEdited':
          case 'Recovered':
          case 'StepCompleted':
          case 'GroupCompleted':
          case 'Interrupted':
          case 'Rewound':
            break
        }
      }
    }
  )

  law(
    'and may have had its effect cannot vanish from an edited workflow unseen',
    fc.tuple(moments, arb.workflowEdit),
    ([moment, change]) => {
      const asked = openQuestions(planOf(moment)).map(unitName)
      const { workflow } = arb.edit(moment.workflow, change)
      const tasks = arb.taskUnits(workflow)
      const plan = planResume(moment.checkpoint, workflow)
      for (const name of asked) {
        if (!tasks.has(name)) {
          assert.ok(E.isLeft(plan))
          assert.ok(
            plan.left.problems.some(
              (problem) => problem._tag === 'WorkflowChanged' && problem.inDoubt && unitName(problem) === name
            )
          )
        } else if (E.isRight(plan) && tasks.get(name)?.idempotent === false) {
          assert.ok(openQuestions(plan.right).some((question) => unitName(question) === name))
        }
      }
    }
  )

  law(
    'is done once somebody says so, with the output they give',
    fc.tuple(arb.undisturbedRun(), fc.constantFrom<Json>(null, false, 0, 7)),
    ([run, given]) => {
      const answers = new Map<string, Answer>()
      for (const question of openQuestions(planOf(run))) {
        const task = arb.taskUnits(run.workflow).get(unitName(question))
        const fit = [given, 7, { n: 1 }].find((output) => task !== undefined && E.isRight(task.accepts(output)))
        if (fit !== undefined) answers.set(unitName(question), { _tag: 'Done', output: fit })
      }
      if (answers.size === 0) return
      const plan = planResume(run.checkpoint, run.workflow, { confirm: answers })
      assert.ok(E.isRight(plan))
      const saved = overrideOnly(run, plan.right, { confirm: answers })
      for (const [name, answer] of answers) {
        const record = [...saved.checkpoint.completedSteps].find((one) => unitName(one) === name)
        assert.equal(record?.assumed, true)
        assert.deepEqual(record?.output, answer._tag === 'Done' ? answer.output : undefined)
      }
    }
  )
})

const unit = (step: string, group: string | undefined): { readonly step: string; readonly group?: string } => ({
  step,
  ...(group === undefined ? {} : { group })
})

describe('the hash of a plan', () => {
  law(
    'is equal exactly if decisions and variables are',
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
    500
  )

  law(
    'differs if nothing but a variable does, and not if nothing but their order does',
    fc.tuple(
      arb.workflow(),
      fc.dictionary(fc.string(), fc.nat({ max: 2 }), { minKeys: 1 }),
      fc.nat(),
      fc.nat({ max: 2 })
    ),
    ([workflow, given, which, value]) => {
      const names = Object.keys(given)
      const name = names[which % names.length] as string
      const hash = (input: Json) => hashPlan(planOf(begin(workflow, input)))
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

describe('for an unchanged linear workflow', () => {
  const linear = arb.undisturbedRun({ tasksOnly: true })

  law('the state alone gives startIndex and retryCurrent', linear, (run) => {
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

describe('a run that is only begun', () => {
  law('runs everything, for the reason that it was not started', arb.workflow(), (workflow) => {
    const plan = planOf(begin(workflow, {}))
    for (const decision of plan.decisions) {
      assert.deepEqual([decision._tag, decision.reason._tag], ['Run', 'NotStarted'])
    }
  })
})
