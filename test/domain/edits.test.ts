/** How edits on each level are judged. */
import assert from 'node:assert/strict'
import * as E from 'fp-ts/lib/Either.js'
import { describe, expect, test } from 'vitest'
import type { Change } from '../../src/domain/change/Change.js'
import type { Checkpoint } from '../../src/domain/checkpoint/Checkpoint.js'
import type { SubStep } from '../../src/domain/checkpoint/SubStep.js'
import * as C from '../../src/domain/checkpoint/Checkpoint.js'
import { explain } from '../../src/domain/explain/Explain.js'
import { describeProblem } from '../../src/domain/explain/problems.js'
import { overrides } from '../../src/domain/plan/Overrides.js'
import type { PlanOptions, ResumePlan } from '../../src/domain/plan/Plan.js'
import { hashPlan } from '../../src/domain/plan/Plan.js'
import { planResume } from '../../src/domain/plan/planResume.js'
import * as Units from '../../src/domain/checkpoint/Units.js'
import { apply, replay } from '../../src/domain/change/Transition.js'
import type { Unit } from '../../src/domain/workflow/Unit.js'
import { definitionAt } from '../../src/domain/workflow/Node.js'
import type { Step, Workflow } from '../../src/domain/workflow/Workflow.js'
import * as W from '../../src/domain/workflow/Workflow.js'
import { workflow } from '../../src/promise/index.js'
import * as Identity from '../../src/domain/workflow/WorkflowIdentity.js'

const at = '2026-01-02T03:04:05.678Z'
const task = (name: string, definition = 1): Step => W.task(name, { definition })
const flow = (...steps: ReadonlyArray<Step>): Workflow => ({ name: 'w', steps })
const wave = (name: string, ...groups: ReadonlyArray<Step | W.Group>): Step =>
  W.wave(
    name,
    groups.map((one) => ('needs' in one ? one : W.group(one)))
  )

/** A run of this workflow in which these units, including composites, completed in this order. Its maps have `items`. */
const having = (
  workflow: Workflow,
  units: ReadonlyArray<Unit>,
  items: Readonly<Record<Unit, ReadonlyArray<string>>> = {}
): Checkpoint => {
  const changes = [
    ...Object.entries(items).map(([unit, keys]): Change => ({
      _tag: 'Expanded',
      at,
      unit,
      items: keys.map((key) => ({ key, value: key }))
    })),
    ...units.flatMap((unit): ReadonlyArray<Change> => {
      const facts = { unit, captured: [], evidence: [], startedAt: at, durationMillis: 1, attempts: 1 } as const
      const completed: Change = { _tag: 'UnitCompleted', at, ...facts }
      return isTask(workflow, unit)
        ? [{ _tag: 'AttemptStarted', at, attempts: [{ unit, attempt: 1 }] }, completed]
        : [completed]
    })
  ]
  const started = C.start({ _tag: 'Started', runId: 'r', workflow: Identity.of(workflow), input: {}, at })
  const done = replay(started, changes)
  assert.ok(E.isRight(done), JSON.stringify(done))
  return done.right
}

const isTask = (workflow: Workflow, unit: Unit): boolean => definitionAt<Step>(workflow, unit)?._tag === 'Task'

const editsOf = (checkpoint: Checkpoint, workflow: Workflow): ReadonlyArray<string> => {
  const plan = planResume(checkpoint, workflow)
  return E.isRight(plan)
    ? []
    : plan.left.problems.map((one) => (one._tag === 'WorkflowChanged' ? `${one.edit} ${one.unit}` : one._tag))
}

/** The units that a plan runs, and those that stay recorded when the plan is executed. */
const plannedOf = (
  checkpoint: Checkpoint,
  workflow: Workflow
): { readonly runs: ReadonlyArray<Unit>; readonly kept: ReadonlyArray<Unit> } => {
  const plan = planResume(checkpoint, workflow)
  assert.ok(E.isRight(plan), JSON.stringify(plan))
  const runs = plan.right.decisions.flatMap(({ _tag, unit }) => (_tag === 'Skip' ? [] : [unit]))
  const identity = Identity.of(workflow)
  let now = checkpoint
  for (const change of overrides(checkpoint, { ...workflow, identity }, plan.right, {}, at)) {
    const next = apply(now, change)
    assert.ok(E.isRight(next), JSON.stringify(next))
    now = next.right
  }
  return { runs, kept: Array.from(now.completedSteps, ({ unit }) => unit) }
}

const deploy = (...parts: ReadonlyArray<Step>): Step => W.sequence('deploy', parts)

test.each([
  ['task into a wait', W.task('a'), W.task('a', { wait: 'Answer' })],
  ['wait into a task', W.task('a', { wait: 'Answer' }), W.task('a')],
  ['wait into another wait', W.task('a', { wait: 'Timer' }), W.task('a', { wait: 'Answer' })]
])('an edit that turns a completed %s is reported, even without a definition', (_, was, now) => {
  expect(editsOf(having(flow(was), ['a']), flow(now))).toEqual(['changed a'])
  expect(editsOf(having(flow(deploy(was)), ['deploy/a']), flow(deploy(now)))).toEqual(['changed deploy/a'])
})

test('a wait has the same fingerprint in a Workflow as in a Program', () => {
  const [nap] = workflow('w').sleep('nap', { millis: 1 }).steps
  assert.equal(W.task('nap', { wait: 'Timer' }).fingerprint, nap?.fingerprint)
})

describe('a completed composite', () => {
  const before = flow(task('build'), deploy(task('push'), task('smoke')))
  const all = ['build', 'deploy/push', 'deploy/smoke', 'deploy']

  test('after an edit that adds a step to a completed composite only that step runs', () => {
    const after = flow(task('build'), deploy(task('push'), task('smoke'), task('tell')))
    expect(plannedOf(having(before, all), after)).toEqual({
      runs: ['deploy', 'deploy/tell'],
      kept: ['build', 'deploy/push', 'deploy/smoke']
    })
  })

  test('an edit that inserts a step before a completed one in a composite is refused', () => {
    const after = flow(task('build'), deploy(task('push'), task('tell'), task('smoke')))
    expect(editsOf(having(before, all), after)).toEqual(['insertedBefore deploy/tell'])
  })

  test('an edit that adds a step at the end of a composite is refused if a step after the composite has completed', () => {
    const more = flow(...before.steps, task('announce'))
    const after = flow(task('build'), deploy(task('push'), task('smoke'), task('tell')), task('announce'))
    expect(editsOf(having(more, [...all, 'announce']), after)).toEqual(['insertedBefore deploy/tell'])
  })

  test('a composite is not reported as changed if only a unit inside it changed', () => {
    const after = flow(task('build'), deploy(task('push', 2), task('smoke')))
    expect(editsOf(having(before, all), after)).toEqual(['changed deploy/push'])
  })

  test('a composite is reported as changed if its own checks changed', () => {
    const checked = W.sequence('deploy', [task('push'), task('smoke')], 'deploy', { after: ['true'] })
    expect(editsOf(having(before, all), flow(task('build'), checked))).toEqual(['changed deploy'])
  })

  test('a composite is reported as changed if its kind changed', () => {
    expect(editsOf(having(before, all), flow(task('build'), wave('deploy', task('push'), task('smoke'))))).toEqual([
      'changed deploy'
    ])
    expect(editsOf(having(before, all), flow(task('build'), task('deploy')))).toEqual([
      'removed deploy/push',
      'removed deploy/smoke',
      'changed deploy'
    ])
  })

  test('a removed unit of a composite is reported for the unit, not for the composite', () => {
    expect(editsOf(having(before, all), flow(task('build'), deploy(task('push'))))).toEqual(['removed deploy/smoke'])
  })
})

test('a started composite whose kind an edit changed is reported as changed', () => {
  const before = flow(deploy(task('push'), task('smoke')))
  expect(editsOf(having(before, ['deploy/push']), flow(wave('deploy', task('push'), task('smoke'))))).toEqual([
    'changed deploy'
  ])
})

describe('the groups of a wave', () => {
  const before = flow(wave('checks', task('unit'), task('lint')), task('pack'))

  test('the groups of a wave may change their order', () => {
    const after = flow(wave('checks', task('lint'), task('unit')), task('pack'))
    expect(editsOf(having(before, ['checks/unit', 'checks/lint', 'checks', 'pack']), after)).toEqual([])
  })

  test('a group may be added to a wave while nothing after the wave has completed', () => {
    const after = flow(wave('checks', task('unit'), task('types'), task('lint')), task('pack'))
    const done = ['checks/unit', 'checks/lint', 'checks']
    expect(plannedOf(having(before, done), after)).toEqual({
      runs: ['checks', 'checks/types', 'pack'],
      kept: ['checks/unit', 'checks/lint']
    })
    expect(editsOf(having(before, [...done, 'pack']), after)).toEqual(['insertedBefore checks/types'])
  })

  test('an edit may not add a group that a completed group needs', () => {
    const after = flow(wave('checks', W.group(task('unit'), ['types']), task('lint'), task('types')), task('pack'))
    expect(editsOf(having(before, ['checks/unit']), after)).toEqual(['insertedBefore checks/types'])
    expect(editsOf(having(before, ['checks/lint']), after)).toEqual([])
  })

  test('a group may gain a step only if no group that needs it has completed', () => {
    const two = (...steps: ReadonlyArray<Step>): Workflow =>
      flow(wave('checks', W.sequence('app', steps), W.group(task('e2e'), ['app'])))
    const done = ['checks/app/build', 'checks/app']
    const more = two(task('build'), task('smoke'))
    expect(plannedOf(having(two(task('build')), done), more).runs).toEqual([
      'checks',
      'checks/app',
      'checks/app/smoke',
      'checks/e2e'
    ])
    expect(editsOf(having(two(task('build')), [...done, 'checks/e2e']), more)).toEqual([
      'insertedBefore checks/app/smoke'
    ])
  })
})

describe('the body of a map', () => {
  const pages = (...steps: ReadonlyArray<Step>): Workflow =>
    flow(W.mapOf('pages', W.sequence('page', steps)), task('pack'))
  const items = { pages: ['a', 'b'] }
  const done = ['pages/a/fetch', 'pages/a', 'pages/b/fetch', 'pages/b', 'pages']

  test('the body of a map may gain a step, which runs for each item', () => {
    expect(plannedOf(having(pages(task('fetch')), done, items), pages(task('fetch'), task('save')))).toEqual({
      runs: ['pages', 'pages/a', 'pages/a/save', 'pages/b', 'pages/b/save', 'pack'],
      kept: ['pages/a/fetch', 'pages/b/fetch']
    })
  })

  test('the body of a map may not gain a step once a later step has completed, and the edit is reported only once', () => {
    const checkpoint = having(pages(task('fetch')), [...done, 'pack'], items)
    expect(editsOf(checkpoint, pages(task('fetch'), task('save')))).toEqual(['insertedBefore pages/a/save'])
  })

  test('a removed step of the body of a map is reported as a change of the map', () => {
    expect(editsOf(having(pages(task('fetch')), done, items), pages(task('save')))).toContain('changed pages')
  })
})

const started = (...units: ReadonlyArray<Unit>): Change => ({
  _tag: 'AttemptStarted',
  at,
  attempts: units.map((unit) => ({ unit, attempt: 1 }))
})
const failing = (unit: Unit, subStep?: SubStep, outcome: 'unknown' | 'notApplied' = 'unknown'): Change => ({
  _tag: 'UnitFailed',
  at,
  unit,
  retryable: false,
  last: { attempt: 1, startedAt: at, error: { name: 'Error', message: 'no' }, outcome },
  ...(subStep === undefined ? {} : { subStep })
})

describe('an answer about a unit whose attempts an edit drops', () => {
  const ask = (
    step: string,
    workflow: Workflow,
    now: Workflow,
    ...changes: ReadonlyArray<Change>
  ): ReadonlyArray<string> => {
    const run = replay(having(workflow, []), changes)
    assert.ok(E.isRight(run), JSON.stringify(run))
    const options: PlanOptions = { changes: 'ignore', confirm: new Map([[step, { _tag: 'Again' }]]) }
    const plan = planResume(run.right, now, options)
    assert.ok(E.isRight(plan), JSON.stringify(plan))
    const edited = { ...now, identity: Identity.of(now) }
    const next = replay(run.right, overrides(run.right, edited, plan.right, options, at))
    assert.ok(E.isRight(next), JSON.stringify(next))
    const again = planResume(next.right, now)
    return E.isRight(again) ? again.right.decisions.map(({ _tag, unit }) => `${_tag} ${unit}`) : []
  }
  const pay = W.task('pay', { idempotent: false })

  test('an answer about a wave that failed its check is accepted if an edit turned the wave into a task', () => {
    expect(ask('pay', flow(wave('pay', task('a'))), flow(pay), failing('pay'))).toEqual(['Run pay'])
  })

  test('an answer about a sub-step in flight is accepted if an edit turned the sub-step into a step', () => {
    const now = flow(W.sequence('a', [pay]))
    expect(ask('a/pay', flow(task('a')), now, started('a', 'a/pay'))).toEqual(['Run a', 'Run a/pay'])
  })

  test('an answer about a sub-step in flight is accepted if an edit turned its task into a wait', () => {
    const now = flow(W.task('a', { wait: 'Answer' }))
    expect(ask('a/pay', flow(task('a')), now, started('a', 'a/pay'))).toEqual(['Run a'])
  })

  test('an answer about a failed sub-step is accepted if an edit turned its task into a wait', () => {
    const now = flow(W.task('a', { wait: 'Answer' }))
    const failed = [started('a'), started('a/pay'), failing('a/pay', { idempotent: false })]
    expect(ask('a/pay', flow(task('a')), now, ...failed)).toEqual(['Run a'])
  })
})

describe.each([
  ['that is in flight', []],
  ['that failed', [failing('a')]]
])('an edit that turns a task %s into a wait', (which, ended) => {
  const now = flow(W.task('a', { wait: 'Answer' }))
  const decided = (outcome: 'unknown' | 'notApplied'): ReadonlyArray<string> => {
    const changes = [started('a'), started('a/pay'), failing('a/pay', { idempotent: false }, outcome), ...ended]
    const run = replay(having(flow(task('a')), []), changes)
    assert.ok(E.isRight(run), JSON.stringify(run))
    const plan = planResume(run.right, now, { changes: 'ignore' })
    assert.ok(E.isRight(plan), JSON.stringify(plan))
    return plan.right.decisions.map(({ _tag, unit }) => `${_tag} ${unit}`)
  }

  test(`an edit that turns a task ${which} into a wait keeps the question about a failed sub-step in doubt`, () => {
    expect(decided('unknown')).toEqual(['Run a', 'Confirm a/pay'])
  })

  test(`an edit that turns a task ${which} into a wait drops a failed sub-step that did nothing`, () => {
    expect(decided('notApplied')).toEqual(['Run a'])
  })
})

test.each(['completed', 'was declared done'])(
  'fromStep records a sequence as done even if its step has the name of a sub-step that %s',
  (how) => {
    const attempts = [{ unit: 'a', attempt: 1 }]
    const facts = { at, captured: [], evidence: [], startedAt: at, durationMillis: 1, attempts: 1 } as const
    const ofSubStep: Change =
      how === 'completed'
        ? { _tag: 'UnitCompleted', ...facts, unit: 'a/s', subStep: {} }
        : { _tag: 'Assumed', at, unit: 'a/s', captured: [], subStep: {} }
    const run = replay(having(flow(task('a'), task('b')), []), [
      { _tag: 'AttemptStarted', at, attempts },
      ofSubStep,
      { _tag: 'UnitCompleted', ...facts, unit: 'a' }
    ])
    assert.ok(E.isRight(run), JSON.stringify(run))
    const now = flow(W.sequence('a', [task('s')]), task('b'))
    const options: PlanOptions = { changes: 'ignore', fromStep: 'b' }
    const plan = planResume(run.right, now, options)
    assert.ok(E.isRight(plan), JSON.stringify(plan))
    const changes = overrides(run.right, { ...now, identity: Identity.of(now) }, plan.right, options, at)
    const next = replay(run.right, changes)
    assert.ok(E.isRight(next), JSON.stringify(next))
    expect(Array.from(next.right.completedSteps, ({ unit, assumed }) => [unit, assumed])).toEqual([
      ['a/s', true],
      ['a', true]
    ])
  }
)

test('a sequence that replaced a task and counts as done keeps no output of the task', () => {
  const facts = { at, captured: [], evidence: [], startedAt: at, durationMillis: 1, attempts: 1 } as const
  const run = replay(having(flow(task('a'), task('b')), []), [
    { _tag: 'AttemptStarted', at, attempts: [{ unit: 'a', attempt: 1 }] },
    { _tag: 'UnitCompleted', ...facts, unit: 'a', output: 7 }
  ])
  assert.ok(E.isRight(run), JSON.stringify(run))
  const now = flow(W.sequence('a', [task('s')]), task('b'))
  const options: PlanOptions = { changes: 'ignore', fromStep: 'b' }
  const plan = planResume(run.right, now, options)
  assert.ok(E.isRight(plan), JSON.stringify(plan))
  const changes = overrides(run.right, { ...now, identity: Identity.of(now) }, plan.right, options, at)
  expect(changes.filter(({ _tag }) => _tag === 'Assumed')).toEqual([
    { _tag: 'Assumed', at, unit: 'a/s', captured: [] },
    { _tag: 'Assumed', at, unit: 'a', captured: [] }
  ])
})

test('fromStep after a completed composite that gained a unit records that unit and the composite as done', () => {
  const nested = (...steps: ReadonlyArray<Step>): Workflow =>
    flow(wave('a', W.sequence('s', [W.sequence('t', steps)])), task('b'))
  const checkpoint = having(nested(task('x')), ['a/s/t/x', 'a/s/t', 'a/s', 'a'])
  const now = nested(task('x'), task('y'))
  const options: PlanOptions = { changes: 'ignore', fromStep: 'b' }
  const plan = planResume(checkpoint, now, options)
  assert.ok(E.isRight(plan), JSON.stringify(plan))
  const changes = overrides(checkpoint, { ...now, identity: Identity.of(now) }, plan.right, options, at)
  const next = replay(checkpoint, changes)
  assert.ok(E.isRight(next), JSON.stringify(next))
  const units = Array.from(next.right.completedSteps, ({ unit }) => unit)
  expect(units).toEqual(['a/s/t/x', 'a/s/t/y', 'a/s/t', 'a/s', 'a'])
})

test.each([
  ['wait', W.task('a', { wait: 'Answer' })],
  ['map', W.mapOf('a', task('t'))]
])('a pending job is abandoned if an edit turns its step into a %s and changes are ignored', (_, now) => {
  const key = 'k'
  const run = replay(having(flow(task('a')), []), [
    { _tag: 'AttemptStarted', at, attempts: [{ unit: 'a', attempt: 1 }], submissions: [{ unit: 'a', key }] },
    { _tag: 'JobSubmitted', at, unit: 'a', attempt: 1 }
  ])
  assert.ok(E.isRight(run), JSON.stringify(run))
  const plan = planResume(run.right, flow(now), { changes: 'ignore' })
  assert.ok(E.isRight(plan), JSON.stringify(plan))
  expect(plan.right.decisions.map(({ _tag, reason }) => [_tag, reason._tag])).toEqual([['Run', 'NotStarted']])
})

test.each([
  ['was removed', 'removed', task('b')],
  ['became a wait', 'changed', W.task('a', { wait: 'Answer' })],
  ['became a map', 'changed', W.mapOf('a', task('t'))]
])(
  'an edit of a step whose job is pending is refused, and the error says that only "ignore" abandons the job: the step %s',
  (_, edit, now) => {
    const run = replay(having(flow(task('a')), []), [
      { _tag: 'AttemptStarted', at, attempts: [{ unit: 'a', attempt: 1 }], submissions: [{ unit: 'a', key: 'k' }] },
      { _tag: 'JobSubmitted', at, unit: 'a', attempt: 1 }
    ])
    assert.ok(E.isRight(run))
    const plan = planResume(run.right, flow(now))
    assert.ok(E.isLeft(plan))
    const [said = ''] = plan.left.problems.map(describeProblem)
    expect(said.replace(/v1:\w+/, 'F')).toBe(
      `"a" was ${edit} while its job is pending; restore it to keep waiting for that job, or accept the edit (changes: ignore) to abandon the job`
    )
  }
)

test('the refusal of an edited step whose job is pending says that "ignore" needs a step that still polls the job', () => {
  const run = replay(having(flow(task('a')), []), [
    { _tag: 'AttemptStarted', at, attempts: [{ unit: 'a', attempt: 1 }], submissions: [{ unit: 'a', key: 'k' }] },
    { _tag: 'JobSubmitted', at, unit: 'a', attempt: 1 }
  ])
  assert.ok(E.isRight(run))
  const plan = planResume(run.right, flow(W.task('a', { definition: 'edited' })))
  assert.ok(E.isLeft(plan))
  const [said = ''] = plan.left.problems.map(describeProblem)
  expect(said.replace(/v1:\w+/g, 'F')).toBe(
    '"a" was changed while its job is pending: fingerprint F, now F; restore it to keep waiting for that job, or run from that step to abandon it; accept the edit (changes: ignore) only if the step still polls that job'
  )
})

describe('a unit whose kind an edit changed', () => {
  const submitted: ReadonlyArray<Change> = [
    { _tag: 'AttemptStarted', at, attempts: [{ unit: 'a', attempt: 1 }], submissions: [{ unit: 'a', key: 'k' }] },
    { _tag: 'JobSubmitted', at, unit: 'a', attempt: 1 }
  ]
  const failed = (unit: Unit): Change => {
    const last = { attempt: 1, startedAt: at, error: { name: 'Error', message: 'boom' }, outcome: 'unknown' } as const
    return { _tag: 'UnitFailed', at, unit, retryable: true, last }
  }
  const started: Change = { _tag: 'AttemptStarted', at, attempts: [{ unit: 'a', attempt: 1 }] }
  const interrupted = (reason: 'pending' | 'paused'): Change => ({ _tag: 'Interrupted', at, unit: 'a', reason })
  const wait: Change = { _tag: 'WaitStarted', at, unit: 'a', wait: { _tag: 'Timer', wakeAt: at } }
  const approval = W.task('a', { definition: 'approval', wait: 'Answer' })
  const payment = W.task('a', { definition: 'payment', idempotent: false })
  const checks = wave('a', task('g'))

  test.each<[string, Step, ReadonlyArray<Unit>, ReadonlyArray<Change>, Step, string]>([
    ['a pending job becomes a wait', task('a'), [], [...submitted, interrupted('pending')], approval, 'NotStarted'],
    [
      'a paused job becomes a map',
      task('a'),
      [],
      [...submitted, interrupted('paused')],
      W.mapOf('a', task('t')),
      'NotStarted'
    ],
    [
      'a timer becomes an approval',
      W.task('a', { wait: 'Timer' }),
      [],
      [wait, interrupted('pending')],
      approval,
      'NotStarted'
    ],
    [
      'a timer becomes a task',
      W.task('a', { wait: 'Timer' }),
      [],
      [wait, interrupted('pending')],
      task('a', 2),
      'NotStarted'
    ],
    [
      'a failed task becomes a sequence',
      task('a'),
      [],
      [started, failed('a')],
      W.sequence('a', [task('t')]),
      'NotStarted'
    ],
    ['a task in flight becomes a wait', task('a'), [], [started], approval, 'NotStarted'],
    ['a wave whose check failed becomes a payment', checks, ['a/g'], [failed('a')], payment, 'NotStarted'],
    ['a stopped wave becomes a payment', checks, ['a/g'], [interrupted('paused')], payment, 'NotStarted'],
    ['a failed task stays a task', task('a'), [], [started, failed('a')], task('a', 2), 'Failed']
  ])('a unit starts over if and only if an edit changed its kind: %s', (__, before, done, changes, now, reason) => {
    const run = replay(having(flow(before), done), changes)
    assert.ok(E.isRight(run), JSON.stringify(run))
    const edited = flow(now)
    const plan = planResume(run.right, edited, { changes: 'ignore' })
    assert.ok(E.isRight(plan), JSON.stringify(plan))
    assert.equal(plan.right.decisions[0]?.reason._tag, reason)
    const [first] = overrides(run.right, { ...edited, identity: Identity.of(edited) }, plan.right, {}, at)
    assert.ok(first?._tag === 'WorkflowEdited')
    const adopted = apply(run.right, first)
    assert.ok(E.isRight(adopted))
    expect(E.map(({ decisions }: ResumePlan) => decisions)(planResume(adopted.right, edited))).toEqual(
      E.right(plan.right.decisions)
    )
  })

  test('a task in flight that is not idempotent keeps its question if an edit turns it into a wait', () => {
    const run = replay(having(flow(payment), []), [started])
    assert.ok(E.isRight(run))
    const plan = planResume(run.right, flow(approval), { changes: 'ignore' })
    assert.ok(E.isRight(plan))
    expect(plan.right.decisions.map(({ _tag, reason }) => [_tag, reason._tag])).toEqual([['Confirm', 'InFlight']])
  })

  test('a task that replaces a wave has none of the sub-steps of its groups', () => {
    const call: Change = {
      ...{ _tag: 'UnitCompleted', at, unit: 'a/g/turn', captured: [], attempts: 1, startedAt: at, durationMillis: 0 },
      ...{ evidence: [], subStep: {} }
    }
    const run = replay(having(flow(checks), []), [
      { _tag: 'AttemptStarted', at, attempts: [{ unit: 'a/g', attempt: 1 }] },
      call
    ])
    assert.ok(E.isRight(run), JSON.stringify(run))
    const adopted = apply(run.right, { _tag: 'WorkflowEdited', at, workflow: Identity.of(flow(task('a'))) })
    assert.ok(E.isRight(adopted))
    assert.equal(adopted.right.completedSteps.size, 0)
  })

  test.each<[string, Step]>([
    ['wave', checks],
    ['sequence', W.sequence('a', [task('g')])]
  ])(
    'an edit that replaces a %s with a sub-step in doubt by a task is refused unless changes are ignored',
    (_, before) => {
      const starting = (unit: Unit): Change => ({ _tag: 'AttemptStarted', at, attempts: [{ unit, attempt: 1 }] })
      const run = replay(having(flow(before), []), [starting('a/g'), starting('a/g/pay')])
      assert.ok(E.isRight(run), JSON.stringify(run))
      const refused = planResume(run.right, flow(task('a')))
      assert.ok(E.isLeft(refused), JSON.stringify(refused))
      expect(refused.left.problems).toMatchObject([
        { _tag: 'WorkflowChanged', edit: 'removed', unit: 'a/g/pay', inDoubt: true }
      ])
      assert.ok(E.isRight(planResume(run.right, flow(task('a')), { changes: 'ignore' })))
    }
  )
})

describe('pending jobs that a plan abandons', () => {
  const submitting = (...units: ReadonlyArray<Unit>): ReadonlyArray<Change> => [
    {
      _tag: 'AttemptStarted',
      at,
      attempts: units.map((unit) => ({ unit, attempt: 1 })),
      submissions: units.map((unit) => ({ unit, key: `key of ${unit}` }))
    },
    ...units.map((unit): Change => ({ _tag: 'JobSubmitted', at, unit, attempt: 1, job: `job of ${unit}` }))
  ]
  test.each<[string, Step, Step, Unit, PlanOptions]>([
    ['was removed', task('a'), task('b'), 'a', { changes: 'ignore' }],
    ['was removed, and fromStep names a later step', task('a'), task('b'), 'a', { changes: 'ignore', fromStep: 'z' }],
    ['became a wait', task('a'), W.task('a', { wait: 'Answer' }), 'a', { changes: 'ignore' }],
    ['became a map', task('a'), W.mapOf('a', task('t')), 'a', { changes: 'ignore' }],
    ['became a map and is named by fromStep', task('a'), W.mapOf('a', task('t')), 'a', { fromStep: 'a' }],
    ['left its wave', wave('g', task('a'), task('b')), wave('g', task('b')), 'g/a', { changes: 'ignore' }]
  ])(
    'a plan and its recorded changes name the job that the plan abandons: the step of the job %s',
    (__, before, now, unit, options) => {
      const run = replay(having(flow(before, task('z')), []), submitting(unit))
      assert.ok(E.isRight(run), JSON.stringify(run))
      const edited = flow(now, task('z'))
      const plan = planResume(run.right, edited, { outputs: new Map(), ...options })
      assert.ok(E.isRight(plan), JSON.stringify(plan))
      expect(plan.right.abandons).toEqual([
        { _tag: 'Job', unit, key: `key of ${unit}`, job: `job of ${unit}`, submittedAt: at }
      ])
      expect(explain(plan.right).split('\n').at(-1)).toBe(
        `"${unit}" no longer waits for its job, submitted at ${at}: job of ${unit}; cancel that job yourself`
      )
      const identity = Identity.of(edited)
      const [first] = overrides(run.right, { ...edited, identity }, plan.right, options, at)
      expect(first).toEqual({ _tag: 'WorkflowEdited', at, workflow: identity, abandons: [unit] })
      const changes = overrides(run.right, { ...edited, identity }, plan.right, options, at)
      expect(changes.filter((change) => 'abandons' in change)).toEqual([first])
      const { abandons: _, ...others } = plan.right
      assert.notEqual(hashPlan(others), hashPlan(plan.right))
    }
  )

  test('a plan names a job as abandoned only if the job was submitted and the plan no longer polls it', () => {
    const run = replay(having(flow(task('a'), task('z')), []), submitting('a'))
    assert.ok(E.isRight(run))
    for (const edited of [flow(task('a'), task('y')), flow(task('a', 2), task('z'))]) {
      const plan = planResume(run.right, edited, { changes: 'ignore' })
      assert.ok(E.isRight(plan))
      assert.equal(plan.right.abandons, undefined)
      const [first] = overrides(run.right, { ...edited, identity: Identity.of(edited) }, plan.right, {}, at)
      assert.ok(first?._tag === 'WorkflowEdited' && !('abandons' in first))
    }
  })

  test.each<[string, PlanOptions, ReadonlyArray<Unit>, ReadonlyArray<string>]>([
    ['the map is restarted', { restartWave: 'm' }, ['m/x', 'm/y'], ['Rewound m/x,m/y']],
    ['an earlier step runs again', { fromStep: 'a' }, ['m/x', 'm/y'], ['Rewound m/x,m/y']],
    ['one item runs again', { fromStep: 'm/x' }, ['m/x'], ['Rewound m/x']],
    ['the map is assumed done', { fromStep: 'z' }, ['m/x', 'm/y'], ['Assumed m/x', 'Assumed m/y']],
    ['nothing is asked for', {}, [], []]
  ])(
    'a plan for a map with two pending jobs names the jobs that the plan abandons: %s',
    (__, options, abandoned, named) => {
      const workflow = flow(task('a'), W.mapOf('m', task('t')), task('z'))
      const run = replay(having(workflow, ['a'], { m: ['x', 'y', 'w'] }), submitting('m/x', 'm/y'))
      assert.ok(E.isRight(run), JSON.stringify(run))
      const plan = planResume(run.right, workflow, options)
      assert.ok(E.isRight(plan), JSON.stringify(plan))
      expect((plan.right.abandons ?? []).map(({ unit, key }) => [unit, key])).toEqual(
        abandoned.map((unit) => [unit, `key of ${unit}`])
      )
      const program = { ...workflow, identity: Identity.of(workflow) }
      const changes = overrides(run.right, program, plan.right, options, at)
      expect(changes.flatMap((one) => ('abandons' in one ? [`${one._tag} ${String(one.abandons)}`] : []))).toEqual(
        named
      )
    }
  )

  test('the text of a plan that abandons more than 20 jobs describes five of them and counts the rest', () => {
    const names = Array.from({ length: 30 }, (_, n) => `t${n}`)
    const run = replay(
      having(flow(wave('g', ...names.map((name) => task(name)))), []),
      submitting(...names.map((name) => `g/${name}`))
    )
    assert.ok(E.isRight(run), JSON.stringify(run))
    const plan = planResume(run.right, flow(task('z')), { changes: 'ignore' })
    assert.ok(E.isRight(plan))
    expect(plan.right.abandons?.length).toBe(30)
    const lines = explain(plan.right).split('\n').slice(2)
    expect(lines.length).toBe(6)
    expect(lines.at(-1)).toBe('and 25 more jobs are no longer waited for')
  })
})

test('an edit that turns a map into a sequence is reported once', () => {
  const checkpoint = having(flow(W.mapOf('a', task('t'))), ['a/s'], { a: ['s', 'w'] })
  expect(editsOf(checkpoint, flow(W.sequence('a', [task('s'), task('w')])))).toEqual(['changed a'])
})

test('an edit that turns a task with a sub-step in doubt into a wait is refused', () => {
  const attempts = ['a', 'a/pay'].map((unit) => ({ unit, attempt: 1 }))
  const run = replay(having(flow(task('a')), []), [{ _tag: 'AttemptStarted', at, attempts }])
  assert.ok(E.isRight(run))
  expect(editsOf(run.right, flow(W.task('a', { wait: 'Answer' })))).toEqual(['removed a/pay'])
})

test('a step that an edit moved under another parent counts as removed, and the message names its new path', () => {
  const before = flow(task('build'), task('push'), task('tell'))
  const plan = planResume(
    having(before, ['build', 'push', 'tell']),
    flow(task('build'), deploy(task('push')), task('tell'))
  )
  assert.ok(E.isLeft(plan))
  expect(plan.left.problems.map(describeProblem)).toEqual([
    '"push" was moved to "deploy/push". A step that moves to another place in the tree is another unit',
    expect.stringMatching(/^"deploy" was inserted or moved before completed steps/)
  ])
})

test('a plan with the policy `strict` names the innermost unit of each difference', () => {
  const before = flow(task('a'), deploy(task('b'), wave('c', task('d'), W.group(task('e'), ['d']))))
  const after = flow(task('a'), deploy(task('b', 2), wave('c', task('d'), task('e')), task('f')))
  const plan = planResume(having(before, []), after, { changes: 'strict' })
  assert.ok(E.isLeft(plan))
  expect(plan.left.problems.map((one) => (one._tag === 'WorkflowChanged' ? `${one.edit} ${one.unit}` : ''))).toEqual([
    'changed deploy/b',
    'changed deploy/c',
    'added deploy/f'
  ])
})

test('the fingerprint in the record of a composite does not depend on the units inside it', () => {
  const sequence = W.sequence('deploy', [task('push')])
  const record = Units.get(having(flow(sequence), ['deploy/push', 'deploy']).completedSteps, 'deploy')
  expect(record?.fingerprint).toBe(sequence.ownFingerprint)
  expect(W.sequence('deploy', [task('push'), task('more')]).ownFingerprint).toBe(sequence.ownFingerprint)
})

describe('a task that is the body of a map', () => {
  const map = (body: string): Workflow => flow(W.mapOf('all', W.task(body)), W.task('end'))

  test('renaming the task of a map is reported as a change of the map', () => {
    const done = having(map('resize'), ['all/x'], { all: ['x', 'y'] })
    const plan = planResume(done, map('upload'))
    assert.ok(E.isLeft(plan))
    assert.deepEqual(
      plan.left.problems.map((one) => (one._tag === 'WorkflowChanged' ? [one.edit, one.unit] : one._tag)),
      [['changed', 'all']]
    )
    assert.ok(E.isRight(planResume(done, map('resize'))))
  })

  test('renaming the task of a map is reported even if the task had the name of the map', () => {
    expect(editsOf(having(map('all'), ['all/x'], { all: ['x'] }), map('upload'))).toEqual(['changed all'])
  })
})
