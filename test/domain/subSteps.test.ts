import * as assert from 'node:assert/strict'
import * as E from 'fp-ts/lib/Either.js'
import { describe, test } from 'vitest'
import type { Change } from '../../src/domain/change/Change.js'
import type { Checkpoint } from '../../src/domain/checkpoint/Checkpoint.js'
import * as Codec from '../../src/domain/checkpoint/CheckpointCodec.js'
import { start } from '../../src/domain/checkpoint/Checkpoint.js'
import * as State from '../../src/domain/checkpoint/CheckpointState.js'
import { explain } from '../../src/domain/explain/Explain.js'
import type { Json } from '../../src/domain/data/Json.js'
import { overrides } from '../../src/domain/plan/Overrides.js'
import type { Answer, PlanOptions, ResumePlan } from '../../src/domain/plan/Plan.js'
import { openQuestions } from '../../src/domain/plan/Plan.js'
import { planResume } from '../../src/domain/plan/planResume.js'
import type { SubStep } from '../../src/domain/checkpoint/SubStep.js'
import { apply, replay } from '../../src/domain/change/Transition.js'
import * as Units from '../../src/domain/checkpoint/Units.js'
import * as Unit from '../../src/domain/workflow/Unit.js'
import * as W from '../../src/domain/workflow/Workflow.js'
import * as Identity from '../../src/domain/workflow/WorkflowIdentity.js'

const at = '2026-01-02T03:04:05.000Z'

const workflow = { name: 'w', steps: [W.task('first'), W.task('agent'), W.task('last')] }

const defined = { ...workflow, identity: Identity.of(workflow) }

const running = (...units: ReadonlyArray<string>): Change => ({
  _tag: 'AttemptStarted',
  at,
  attempts: units.map((unit) => ({ unit, attempt: 1 }))
})

const done = (unit: string, output?: Json, subStep?: SubStep): Change => ({
  _tag: 'UnitCompleted',
  at,
  unit,
  ...(output === undefined ? {} : { output }),
  captured: [],
  attempts: 1,
  startedAt: at,
  durationMillis: 0,
  evidence: [],
  ...(subStep === undefined ? {} : { subStep })
})

const failed = (unit: string, subStep?: SubStep, outcome: 'unknown' | 'notApplied' = 'unknown'): Change => ({
  _tag: 'UnitFailed',
  at,
  unit,
  retryable: false,
  last: { attempt: 1, startedAt: at, error: { name: 'Error', message: `no ${unit}` }, outcome },
  ...(subStep === undefined ? {} : { subStep })
})

const begun = start({ _tag: 'Started', at, runId: 'r', workflow: defined.identity, input: {} })

const after = (...changes: ReadonlyArray<Change>): Checkpoint => {
  const replayed = replay(begun, [running('first'), done('first'), running('agent'), ...changes])
  if (E.isLeft(replayed)) assert.fail(JSON.stringify(replayed.left))
  const text = JSON.stringify(Codec.encode(replayed.right))
  const back = Codec.decode(JSON.parse(text))
  assert.ok(E.isRight(back), text)
  assert.equal(JSON.stringify(Codec.encode(back.right)), text)
  return back.right
}

const whyNot = (checkpoint: Checkpoint, change: Change): string | undefined => {
  const next = apply(checkpoint, change)
  return E.isLeft(next) ? next.left.why : undefined
}

const planOf = (checkpoint: Checkpoint, options: PlanOptions = {}): ResumePlan => {
  const plan = planResume(checkpoint, defined, options)
  if (E.isLeft(plan)) assert.fail(JSON.stringify(plan.left))
  return plan.right
}

/** The decisions without those of the steps beside the agent. */
const decided = (checkpoint: Checkpoint, options: PlanOptions = {}): ReadonlyArray<string> =>
  planOf(checkpoint, options)
    .decisions.filter(({ unit }) => Unit.isWithin(unit, 'agent'))
    .map(({ _tag, unit, reason }) => `${_tag} ${unit} ${reason._tag}`)

/** The records that stay once a plan is accepted. */
const accepted = (checkpoint: Checkpoint, options: PlanOptions = {}): Checkpoint => {
  const changed = replay(checkpoint, overrides(checkpoint, defined, planOf(checkpoint, options), options, at))
  if (E.isLeft(changed)) assert.fail(JSON.stringify(changed.left))
  return changed.right
}

const recorded = ({ completedSteps }: Checkpoint): ReadonlyArray<string> =>
  Array.from(completedSteps, ({ unit }) => unit)

const harmful: SubStep = { idempotent: false }

const artifact = (sha: string) => ({ _tag: 'Artifact', path: 'a.out', size: 1, sha256: sha.repeat(64) }) as const

describe('a sub-step', () => {
  test('a sub-step can be recorded only while its task is in flight', () => {
    const checkpoint = after(done('agent/turn', 1, {}), done('agent/turn#2', 2, { input: 'v1:abc', version: '2' }))
    assert.deepEqual(recorded(checkpoint), ['first', 'agent/turn', 'agent/turn#2'])
    assert.equal(whyNot(checkpoint, done('agent/turn', 1, {})), 'AlreadyCompleted')
    assert.equal(whyNot(checkpoint, done('nobody/turn', 1, {})), 'UnknownUnit')
    assert.equal(whyNot(checkpoint, done('last/turn', 1, {})), 'NotInFlight')
    assert.equal(whyNot(after(done('agent')), done('agent/turn', 1, {})), 'AlreadyCompleted')
  })

  test('a sub-step that is not idempotent completes or fails only while it is recorded in flight', () => {
    assert.equal(whyNot(after(), done('agent/pay', 1, harmful)), 'NotInFlight')
    assert.equal(whyNot(after(), failed('agent/pay', harmful)), 'NotInFlight')
    assert.equal(whyNot(begun, running('agent/pay')), 'NotInFlight')
    const paid = after(running('agent/pay'), done('agent/pay', 1, harmful))
    assert.deepEqual(paid.state, State.beforeStep(1, 'agent', [{ unit: 'agent', attempt: 1 }]))
  })

  test('a failed attempt of a sub-step that did nothing is dropped', () => {
    const nothing = (unit: string, outcome: 'unknown' | 'notApplied' = 'notApplied'): Change => ({
      _tag: 'AttemptFailed',
      at,
      unit,
      attempt: 2,
      startedAt: at,
      error: { name: 'Error', message: 'busy' },
      outcome,
      delayBeforeNextMillis: 0
    })
    assert.deepEqual(after(running('agent/pay'), nothing('agent/pay')).state, after().state)
    assert.equal(whyNot(after(running('agent/pay')), nothing('agent/pay', 'unknown')), 'NotInFlight')
    assert.equal(whyNot(after(done('agent/pay', 1, {})), nothing('agent/pay')), 'NotInFlight')
    assert.equal(whyNot(after(), nothing('agent/pay')), 'UnknownUnit')
  })

  test('a sub-step stays recorded when its task completes, and is dropped when its task is rewound or removed', () => {
    const checkpoint = after(done('agent/turn', 1, {}), failed('agent/try', {}), done('agent'))
    assert.equal(checkpoint.state._tag, 'Completed')
    assert.deepEqual(decided(checkpoint), ['Skip agent Completed'])
    assert.deepEqual(recorded(checkpoint), ['first', 'agent/turn', 'agent'])
    assert.deepEqual(recorded(accepted(checkpoint, { fromStep: 'agent' })), ['first'])
    const edited = { name: 'w', steps: [W.task('first'), W.task('last')] }
    const adopted = apply(checkpoint, { _tag: 'WorkflowEdited', at, workflow: Identity.of(edited) })
    assert.ok(E.isRight(adopted))
    assert.deepEqual(recorded(adopted.right), ['first'])
  })
})

test('the failure of a sub-step is dropped when the job of its task is collected', () => {
  const checks = { name: 'w', steps: [W.wave('checks', [W.group(W.task('a')), W.group(W.task('b'))])] }
  const started = start({ _tag: 'Started', at, runId: 'r', workflow: Identity.of(checks), input: {} })
  const next = replay(started, [
    {
      _tag: 'AttemptStarted',
      at,
      attempts: [{ unit: 'checks/a', attempt: 1 }],
      submissions: [{ unit: 'checks/a', key: 'k' }]
    },
    running('checks/a/pay'),
    failed('checks/a/pay', harmful),
    { _tag: 'JobSubmitted', at, unit: 'checks/a', attempt: 1 },
    done('checks/a')
  ])
  if (E.isLeft(next)) assert.fail(JSON.stringify(next.left))
  assert.equal(State.failures(next.right.state).size, 0)
  assert.deepEqual([...next.right.completedSteps].at(-1)?.inDoubt, ['checks/a/pay'])
})

test('the failure of a sub-step is dropped when its task completes', () => {
  const checks = { name: 'w', steps: [W.wave('checks', [W.group(W.task('a')), W.group(W.task('b'))])] }
  const started = start({ _tag: 'Started', at, runId: 'r', workflow: Identity.of(checks), input: {} })
  const next = replay(started, [
    running('checks/a', 'checks/b'),
    failed('checks/a/try', {}),
    failed('checks/b/try', {}),
    done('checks/a')
  ])
  assert.ok(E.isRight(next))
  assert.deepEqual(
    State.failures(next.right.state).records.map(({ unit }) => unit),
    ['checks/b/try']
  )
})

describe('a plan', () => {
  test('a plan skips recorded sub-steps of a task that was cut short', () => {
    const checkpoint = after(done('agent/turn', 1, {}), done('agent/x%2Fy', 2, {}))
    assert.deepEqual(decided(checkpoint), [
      'Retry agent InFlight',
      'Skip agent/turn Completed',
      'Skip agent/x%2Fy Completed'
    ])
    assert.match(explain(planOf(checkpoint)), /2\/3 {2}retry {4}agent {3}.*\n {7}skip {5} {2}turn {2}completed\n/)
    assert.deepEqual(recorded(accepted(checkpoint)), recorded(checkpoint))
  })

  test('a repeated attempt throws the recorded error of a failed sub-step, and a new attempt runs the sub-step', () => {
    const cutShort = after(failed('agent/try', {}))
    assert.deepEqual(decided(cutShort), ['Retry agent InFlight', 'Skip agent/try FailedBefore'])
    const ended = after(failed('agent/try', {}), failed('agent'))
    assert.deepEqual(decided(ended), ['Retry agent Failed', 'Retry agent/try Failed'])
    const tried = replay(ended, [running('agent')])
    assert.ok(E.isRight(tried))
    assert.deepEqual(decided(tried.right), ['Retry agent InFlight'])
    const repeated = replay(cutShort, [running('agent')])
    assert.ok(E.isRight(repeated))
    assert.deepEqual(decided(repeated.right), decided(cutShort))
  })

  test('a sub-step in flight that is not idempotent needs confirmation', () => {
    const checkpoint = after(done('agent/turn', 1, {}), running('agent/pay'))
    assert.deepEqual(decided(checkpoint), [
      'Retry agent InFlight',
      'Skip agent/turn Completed',
      'Confirm agent/pay InFlight'
    ])
    assert.deepEqual(
      openQuestions(planOf(checkpoint)).map(({ unit }) => unit),
      ['agent/pay']
    )
    const again = accepted(checkpoint, { confirm: new Map([['agent/pay', { _tag: 'Again' }]]) })
    assert.deepEqual(decided(again), ['Retry agent InFlight', 'Skip agent/turn Completed'])
    const given = accepted(checkpoint, { confirm: new Map([['agent/pay', { _tag: 'Done', output: 'id-7' }]]) })
    assert.deepEqual(decided(given), ['Retry agent InFlight', 'Skip agent/turn Completed', 'Skip agent/pay Assumed'])
    assert.equal([...given.completedSteps].at(-1)?.output, 'id-7')
  })

  test('a task that an edit made non-idempotent and its sub-step in flight can both be confirmed', () => {
    const checkpoint = after(running('agent/pay'))
    const steps = [W.task('first'), W.task('agent', { idempotent: false }), W.task('last')]
    const edited = { name: 'w', steps, identity: Identity.of({ name: 'w', steps }) }
    const options: PlanOptions = {
      confirm: new Map([
        ['agent', { _tag: 'Again' }],
        ['agent/pay', { _tag: 'Again' }]
      ])
    }
    const plan = planResume(checkpoint, edited, options)
    if (E.isLeft(plan)) assert.fail(JSON.stringify(plan.left))
    assert.deepEqual(openQuestions(plan.right), [])
    const changed = replay(checkpoint, overrides(checkpoint, edited, plan.right, options, at))
    if (E.isLeft(changed)) assert.fail(JSON.stringify(changed.left))
    assert.equal(State.inDoubt(changed.right.state).size, 0)
  })

  test('the answer Again about a task that an edit made non-idempotent starts a new attempt, which runs failed sub-steps again', () => {
    const checkpoint = after(
      failed('agent/try', {}),
      running('agent/pay'),
      failed('agent/pay', harmful),
      done('agent/turn', 1, {})
    )
    const steps = [W.task('first'), W.task('agent', { idempotent: false }), W.task('last')]
    const decidedWith = (confirm: ReadonlyArray<readonly [string, Answer]>): ReadonlyArray<string> => {
      const plan = planResume(checkpoint, { name: 'w', steps }, { confirm: new Map(confirm) })
      if (E.isLeft(plan)) assert.fail(JSON.stringify(plan.left))
      return plan.right.decisions.flatMap(({ _tag, unit }) => (Unit.isTop(unit) ? [] : [`${_tag} ${unit}`]))
    }
    const task = ['agent', { _tag: 'Again' }] as const
    assert.deepEqual(decidedWith([]), ['Skip agent/turn', 'Skip agent/try', 'Skip agent/pay'])
    assert.deepEqual(decidedWith([task]), ['Skip agent/turn', 'Retry agent/try', 'Confirm agent/pay'])
    const both = [task, ['agent/pay', { _tag: 'Again' }]] as const
    assert.deepEqual(decidedWith(both), ['Skip agent/turn', 'Retry agent/try', 'Retry agent/pay'])
  })

  test('the answer Again about a sub-step raises a question about a failed nested sub-step that is not idempotent', () => {
    const charged = [running('agent/pay/charge'), failed('agent/pay/charge', harmful), running('agent/pay')]
    const refused: Change = {
      ...(failed('agent/pay', harmful) as Extract<Change, { _tag: 'UnitFailed' }>),
      last: {
        attempt: 1,
        startedAt: at,
        error: { name: 'E', message: '', code: 'SUB_STEP_IN_DOUBT' },
        outcome: 'unknown'
      }
    }
    const again = new Map<string, Answer>([['agent/pay', { _tag: 'Again' }]])
    const both = new Map<string, Answer>([...again, ['agent/pay/charge', { _tag: 'Again' }]])
    for (const checkpoint of [after(...charged), after(...charged, refused)]) {
      const asked = (options: PlanOptions): ReadonlyArray<string> =>
        planOf(checkpoint, options).decisions.flatMap(({ _tag, unit }) => (Unit.isTop(unit) ? [] : [`${_tag} ${unit}`]))
      assert.deepEqual(asked({}), ['Skip agent/pay/charge', 'Confirm agent/pay'])
      assert.deepEqual(asked({ confirm: again }), ['Confirm agent/pay/charge', 'Retry agent/pay'])
      assert.deepEqual(asked({ confirm: both }), ['Retry agent/pay/charge', 'Retry agent/pay'])
      assert.equal(State.failures(accepted(checkpoint, { confirm: both }).state).size, 0)
    }
    const thrown = after(...charged, failed('agent/pay', harmful))
    assert.deepEqual(decided(thrown, { confirm: again }), decided(thrown))
  })

  test('fromStep at a failed sub-step throws the other recorded failures again, whatever the answer about the task', () => {
    const steps = [W.task('first'), W.task('agent', { idempotent: false }), W.task('last')]
    const checkpoint = after(running('agent/pay'), failed('agent/pay', harmful), failed('agent/try', {}))
    const confirm = new Map<string, Answer>([['agent', { _tag: 'Again' }]])
    const plan = planResume(checkpoint, { name: 'w', steps }, { fromStep: 'agent/try', confirm })
    if (E.isLeft(plan)) assert.fail(JSON.stringify(plan.left))
    const decisions = plan.right.decisions.flatMap(({ _tag, unit }) => (Unit.isTop(unit) ? [] : [`${_tag} ${unit}`]))
    assert.deepEqual(decisions, ['Skip agent/pay', 'Run agent/try'])
  })

  test('a failed sub-step that is not idempotent needs confirmation unless it did nothing', () => {
    const of = (outcome: 'unknown' | 'notApplied'): ReadonlyArray<string> =>
      decided(after(running('agent/pay'), failed('agent/pay', harmful, outcome), failed('agent')))
    assert.deepEqual(of('unknown'), ['Retry agent Failed', 'Confirm agent/pay Failed'])
    assert.deepEqual(of('notApplied'), ['Retry agent Failed', 'Retry agent/pay Failed'])
  })

  const caught = [
    done('agent/a', 1, {}),
    running('agent/t/pay'),
    failed('agent/t/pay', harmful),
    done('agent/t', 2, {})
  ]

  test('a sub-step in doubt needs no answer while the completed sub-step around it is skipped', () => {
    const checkpoint = after(...caught, done('agent/z', 3, {}))
    assert.equal(State.failures(checkpoint.state).size, 0)
    assert.deepEqual(decided(checkpoint), [
      'Retry agent InFlight',
      'Skip agent/a Completed',
      'Skip agent/t Completed',
      'Skip agent/z Completed'
    ])
    assert.deepEqual(decided(checkpoint, { fromStep: 'agent/z' }).slice(1), [
      'Skip agent/a Completed',
      'Skip agent/t Completed',
      'Run agent/z Forced'
    ])
  })

  test('a sub-step in doubt needs an answer when the completed sub-step around it runs again', () => {
    for (const end of [[], [done('agent')]]) {
      const checkpoint = after(...caught, ...end)
      const left = (fromStep: string, answer?: Answer): ReadonlyArray<string> =>
        recorded(accepted(checkpoint, { fromStep, confirm: new Map(answer && [['agent/t/pay', answer]]) }))
      assert.deepEqual(decided(checkpoint, { fromStep: 'agent/a' }).slice(1), [
        'Run agent/a Forced',
        'Confirm agent/t/pay EarlierStepRunsAgain',
        'Run agent/t EarlierStepRunsAgain'
      ])
      assert.deepEqual(left('agent/a', { _tag: 'Again' }), ['first'])
      assert.deepEqual(left('agent/a', { _tag: 'Done', output: 7 }), ['first', 'agent/t/pay'])
      assert.deepEqual(left('agent/t'), ['first', 'agent/a'])
      assert.deepEqual(left('agent/t/pay'), ['first', 'agent/a'])
    }
  })

  test('fromStep at a sub-step in doubt of a completed task runs it again', () => {
    const checkpoint = after(done('agent/a', 1, {}), running('agent/pay'), failed('agent/pay', harmful), done('agent'))
    assert.deepEqual(recorded(accepted(checkpoint, { fromStep: 'agent/pay' })), ['first', 'agent/a'])
  })

  test('the answer "done" with another output is refused for a completed sub-step, also if its task is skipped', () => {
    const confirm = new Map<string, Answer>([['agent/a', { _tag: 'Done', output: 2 }]])
    for (const end of [[], [done('agent')]]) {
      const plan = planResume(after(done('agent/a', 1, {}), ...end), defined, { confirm })
      const problems = [{ _tag: 'NothingToConfirm', unit: 'agent/a', completed: true }]
      assert.deepEqual(plan, E.left({ _tag: 'PlanError', problems }))
      assert.ok(E.isRight(planResume(after(done('agent/a', 2, {}), ...end), defined, { confirm })))
    }
  })

  test('an answer about a sub-step is accepted even if an answer about its task makes the plan skip the task', () => {
    const paid = [running('agent/pay'), done('agent/pay', 1, harmful)]
    const checkpoint = after(...paid, { ...done('agent'), evidence: [artifact('0')] } as Change)
    const evidence = [{ unit: 'agent', changed: [{ was: artifact('0'), is: artifact('1') }] }] as const
    assert.deepEqual(decided(checkpoint, { evidence })[0], 'Confirm agent EvidenceChanged')
    const confirm = new Map<string, Answer>([
      ['agent', { _tag: 'Done' }],
      ['agent/pay', { _tag: 'Again' }]
    ])
    assert.deepEqual(decided(checkpoint, { evidence, confirm }), ['Skip agent Assumed'])
  })

  test('a plan raises the question about changed evidence of a task before the one about its sub-step in doubt', () => {
    const [was, is] = [artifact('0'), artifact('1')]
    const failing = [running('agent/pay'), failed('agent/pay', harmful)]
    const checkpoint = after(...failing, { ...done('agent'), evidence: [was] } as Change)
    const evidence = [{ unit: 'agent', changed: [{ was, is }] }] as const
    assert.deepEqual(decided(checkpoint, { evidence }), ['Confirm agent EvidenceChanged'])
    const confirm = new Map<string, Answer>([['agent', { _tag: 'Again' }]])
    assert.deepEqual(
      openQuestions(planOf(checkpoint, { evidence, confirm })).map(({ unit }) => unit),
      ['agent/pay']
    )
  })

  test('fromStep at a sub-step drops that sub-step and all that were recorded after it', () => {
    const checkpoint = after(
      done('agent/turn', 1, {}),
      done('agent/a', 2, {}),
      done('agent/turn#2', 3, {}),
      failed('agent/try', {}),
      done('agent')
    )
    const options = { fromStep: 'agent/a' }
    assert.deepEqual(decided(checkpoint, options), [
      'Run agent Forced',
      'Skip agent/turn Completed',
      'Run agent/a Forced',
      'Run agent/turn#2 EarlierStepRunsAgain'
    ])
    assert.deepEqual(recorded(accepted(checkpoint, options)), ['first', 'agent/turn'])
    assert.deepEqual(decided(accepted(checkpoint, options)), ['Run agent NotStarted', 'Skip agent/turn Completed'])
    assert.deepEqual(recorded(accepted(checkpoint, { fromStep: 'agent/turn' })), ['first'])
  })

  test('fromStep at a sub-step runs earlier failed sub-steps again if their task failed, but throws their errors if the task is in flight', () => {
    const changes = [done('agent/a', 1, {}), failed('agent/b', {}), failed('agent/c', {}), failed('agent/d', {})]
    const before = (checkpoint: Checkpoint, fromStep: string): ReadonlyArray<string> =>
      decided(checkpoint, { fromStep }).filter((one) => / agent\/[b-d] /.test(one) && !/Forced|Earlier/.test(one))
    const [ended, cut] = [after(...changes, failed('agent')), after(...changes)]
    for (const checkpoint of [ended, cut])
      for (const first of ['agent/a', 'agent/b']) assert.deepEqual(before(checkpoint, first), [])
    assert.deepEqual(before(ended, 'agent/d'), ['Retry agent/b Failed', 'Retry agent/c Failed'])
    assert.deepEqual(before(cut, 'agent/d'), ['Skip agent/b FailedBefore', 'Skip agent/c FailedBefore'])
  })

  test('fromStep at a sub-step drops what completed or failed after it, and nothing that ended earlier', () => {
    const [early, late] = ['2026-01-02T03:04:04.000Z', '2026-01-02T03:04:06.000Z']
    const checkpoint = after(
      done('agent/a', 1, {}),
      { ...failed('agent/t', {}), at: late },
      { ...done('agent/t#2', 2, {}), at: '2026-01-02T03:04:07.000Z' },
      failed('agent')
    )
    assert.deepEqual(decided(checkpoint, { fromStep: 'agent/t#2' }), [
      'Run agent Forced',
      'Skip agent/a Completed',
      'Run agent/t#2 Forced',
      'Retry agent/t Failed'
    ])
    assert.deepEqual(decided(checkpoint, { fromStep: 'agent/t' }), [
      'Run agent Forced',
      'Skip agent/a Completed',
      'Run agent/t#2 EarlierStepRunsAgain',
      'Run agent/t Forced'
    ])
    const cut = after({ ...failed('agent/t', {}), at: early }, done('agent/t#2', 2, {}))
    assert.deepEqual(decided(cut, { fromStep: 'agent/t#2' }).slice(1), [
      'Run agent/t#2 Forced',
      'Skip agent/t FailedBefore'
    ])
  })

  test('fromStep at a nested sub-step also drops the outer one, and fromStep at an outer sub-step also drops its nested ones', () => {
    const checkpoint = after(
      done('agent/a', 1, {}),
      done('agent/t/x', 2, {}),
      done('agent/t/y', 3, {}),
      done('agent/t', 4, {})
    )
    assert.deepEqual(recorded(accepted(checkpoint, { fromStep: 'agent/t/y' })), ['first', 'agent/a', 'agent/t/x'])
    assert.deepEqual(recorded(accepted(checkpoint, { fromStep: 'agent/t' })), ['first', 'agent/a'])
  })

  test('fromStep at a sub-step raises a question about a later sub-step that is not idempotent', () => {
    const checkpoint = after(done('agent/a', 1, {}), running('agent/pay'), done('agent/pay', 2, harmful), done('agent'))
    assert.deepEqual(decided(checkpoint, { fromStep: 'agent/a' }), [
      'Run agent Forced',
      'Run agent/a Forced',
      'Confirm agent/pay EarlierStepRunsAgain'
    ])
  })

  test('a stop before a task starts again after fromStep at one of its sub-steps finds the task not in progress', () => {
    const checkpoint = after(done('agent/a', 1, {}), done('agent/b', 2, {}), failed('agent'))
    const rewound = accepted(checkpoint, { fromStep: 'agent/b' })
    assert.deepEqual(recorded(rewound), ['first', 'agent/a'])
    const stopped = apply(rewound, { _tag: 'Interrupted', at, unit: 'agent', reason: 'signal' })
    assert.ok(E.isRight(stopped) && stopped.right.state._tag === 'Interrupted')
    assert.equal(stopped.right.state.inProgress, false)
  })

  test('restartWave at a sub-step fails with NotAWave, which says that the unit exists', () => {
    const plan = planResume(after(done('agent/turn', 1, {})), defined, { restartWave: 'agent/turn' })
    assert.ok(E.isLeft(plan))
    const [problem] = plan.left.problems
    assert.ok(problem._tag === 'NotAWave' && problem.exists)
  })

  test('fromStep at an unknown sub-step fails with UnknownStep and lists the known ones', () => {
    const plan = planResume(after(done('agent/turn', 1, {})), defined, { fromStep: 'agent/turn#2' })
    assert.deepEqual(
      plan,
      E.left({
        _tag: 'PlanError',
        problems: [{ _tag: 'UnknownStep', step: 'agent/turn#2', available: ['agent/turn'] }]
      })
    )
  })

  test('a sub-step whose evidence is missing runs again, and so do those recorded after it', () => {
    const stored = { _tag: 'Stored', id: 'corpus', size: 1, sha256: 'a'.repeat(64) } as const
    const made: Change = { ...done('agent/make', 1, {}), evidence: [stored] } as Change
    const checkpoint = after(done('agent/turn', 1, {}), made, done('agent/use', 2, {}), done('agent'))
    const evidence = [{ unit: 'agent/make', missing: [stored] }] as const
    const options = { evidence } as unknown as PlanOptions
    assert.deepEqual(decided(checkpoint, options), [
      'Run agent EvidenceMissing',
      'Skip agent/turn Completed',
      'Run agent/make EvidenceMissing',
      'Run agent/use EarlierStepRunsAgain'
    ])
    assert.deepEqual(recorded(accepted(checkpoint, options)), ['first', 'agent/turn'])
  })

  test('an attempt in flight whose task is edited stays marked as edited until another attempt starts', () => {
    const steps = [W.task('first'), W.task('agent', { definition: { version: '2' } }), W.task('last')]
    const edit: Change = { _tag: 'WorkflowEdited', at, workflow: Identity.of({ name: 'w', steps }) }
    const agent = (...changes: ReadonlyArray<Change>): unknown =>
      Units.get(State.inFlight(after(...changes).state), 'agent')
    const wait: Change = { _tag: 'WaitStarted', at, unit: 'agent/nap', wait: { _tag: 'Timer', wakeAt: at } }
    const suspended: Change = { _tag: 'Suspended', at, unit: 'agent', waits: ['agent/nap'] }
    const edited = { unit: 'agent', attempt: 1, edited: true }
    assert.deepEqual(agent(edit), edited)
    assert.deepEqual(agent({ ...edit, workflow: defined.identity }), { unit: 'agent', attempt: 1 })
    assert.deepEqual(agent(edit, running('agent')), edited)
    assert.deepEqual(agent(edit, failed('agent'), running('agent')), { unit: 'agent', attempt: 1 })
    assert.deepEqual(agent(edit, wait, suspended), { ...edited, suspended: true })
    assert.deepEqual(agent(edit, wait, suspended, running('agent')), edited)
    assert.deepEqual(agent(wait, suspended, edit), { unit: 'agent', attempt: 1, suspended: true })
  })

  test('an answer about a suspended task is refused, and the refusal names the wait in its code', () => {
    const wait: Change = { _tag: 'WaitStarted', at, unit: 'agent/approval', wait: { _tag: 'Answer' } }
    const suspended = after(wait, { _tag: 'Suspended', at, unit: 'agent', waits: ['agent/approval'] })
    const plan = planResume(suspended, defined, { confirm: new Map([['agent', { _tag: 'Done' }]]) })
    assert.ok(E.isLeft(plan))
    assert.deepEqual(plan.left.problems, [{ _tag: 'UnitPending', unit: 'agent/approval', waitsFor: 'Answer' }])
  })

  test('if a suspended task has several waits, its decision and the refusal of an answer name a wait that takes an answer', () => {
    const nap: Change = { _tag: 'WaitStarted', at, unit: 'agent/nap', wait: { _tag: 'Timer', wakeAt: at } }
    const wait: Change = { _tag: 'WaitStarted', at, unit: 'agent/approval', wait: { _tag: 'Answer' } }
    const waits = ['agent/nap', 'agent/approval']
    const suspended = after(nap, wait, { _tag: 'Suspended', at, unit: 'agent', waits })
    assert.equal(decided(suspended)[0], 'Poll agent AnswerPending')
    const plan = planResume(suspended, defined, { confirm: new Map([['agent', { _tag: 'Again' }]]) })
    assert.ok(E.isLeft(plan))
    assert.deepEqual(plan.left.problems, [{ _tag: 'UnitPending', unit: 'agent/approval', waitsFor: 'Answer' }])
    const value: Change = { _tag: 'Answered', at, unit: 'agent/approval', value: 1, by: 'ada' }
    assert.equal(
      decided(after(nap, wait, { _tag: 'Suspended', at, unit: 'agent', waits }, value))[0],
      'Poll agent AnswerPending'
    )
  })

  test('a task keeps its waits when a step was inserted before the task; the field `keeps` of older journals is ignored', () => {
    const wait: Change = { _tag: 'WaitStarted', at, unit: 'agent/nap', wait: { _tag: 'Timer', wakeAt: at } }
    const suspended = after(wait, { _tag: 'Suspended', at, unit: 'agent', waits: ['agent/nap'] })
    const edited = Identity.of({ name: 'w', steps: [W.task('first'), W.task('new'), W.task('agent'), W.task('last')] })
    const before: ReadonlyArray<Change> = [
      { _tag: 'WorkflowEdited', at, workflow: edited },
      running('new'),
      done('new')
    ]
    const waiting = (start: Change): number => {
      const next = replay(suspended, [...before, start])
      return E.isRight(next) ? next.right.pending.size : assert.fail(JSON.stringify(next.left))
    }
    const older = Object.assign(running('agent'), { keeps: ['agent'] })
    assert.deepEqual([waiting(running('agent')), waiting(older)], [1, 1])
  })

  test('an edit keeps the sub-steps of an edited task, and is refused if it removes a task with a sub-step in doubt', () => {
    const edited = {
      name: 'w',
      steps: [W.task('first'), W.task('agent', { definition: { version: '2' } }), W.task('last')]
    }
    const checkpoint = after(done('agent/turn', 1, {}), running('agent/pay'))
    const plan = planResume(checkpoint, edited)
    assert.ok(E.isRight(plan))
    assert.deepEqual(
      plan.right.decisions.map(({ _tag, unit }) => `${_tag} ${unit}`),
      ['Skip first', 'Retry agent', 'Skip agent/turn', 'Confirm agent/pay', 'Run last']
    )
    const without = planResume(checkpoint, { name: 'w', steps: [W.task('first'), W.task('last')] })
    assert.ok(E.isLeft(without))
    assert.deepEqual(
      without.left.problems.map((problem) => ('unit' in problem ? [problem._tag, problem.unit] : [])),
      [['WorkflowChanged', 'agent/pay']]
    )
  })
})
