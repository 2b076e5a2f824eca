/** Plans for units inside composites, and the changes recorded for them. */
import assert from 'node:assert/strict'
import * as E from 'fp-ts/lib/Either.js'
import { describe, test } from 'vitest'
import type { Change } from '../../src/domain/change/Change.js'
import type { Checkpoint } from '../../src/domain/checkpoint/Checkpoint.js'
import { start } from '../../src/domain/checkpoint/Checkpoint.js'
import * as IdempotencyKey from '../../src/domain/checkpoint/IdempotencyKey.js'
import { explain } from '../../src/domain/explain/Explain.js'
import { describeProblem } from '../../src/domain/explain/problems.js'
import { overrides } from '../../src/domain/plan/Overrides.js'
import type { PlanOptions, ResumePlan } from '../../src/domain/plan/Plan.js'
import type { PlanProblem } from '../../src/domain/plan/PlanProblem.js'
import { answersTo, openQuestions } from '../../src/domain/plan/Plan.js'
import { planResume } from '../../src/domain/plan/planResume.js'
import * as Err from '../../src/domain/data/StepError.js'
import { replay } from '../../src/domain/change/Transition.js'
import type { Unit } from '../../src/domain/workflow/Unit.js'
import type { Step } from '../../src/domain/workflow/Workflow.js'
import { group, mapOf, sequence, task, wave } from '../../src/domain/workflow/Workflow.js'
import * as Identity from '../../src/domain/workflow/WorkflowIdentity.js'

const AT = '2026-01-02T03:04:05.000Z'

const applied = (checkpoint: Checkpoint, changes: ReadonlyArray<Change>): Checkpoint => {
  const next = replay(checkpoint, changes)
  return E.isRight(next) ? next.right : assert.fail(JSON.stringify(next.left))
}

/** A run of these steps and its changes. */
const begun = (steps: ReadonlyArray<Step>, ...changes: ReadonlyArray<Change>): Checkpoint => {
  const workflow = Identity.of({ name: 'release', steps })
  return applied(start({ _tag: 'Started', at: AT, runId: 'run-1', workflow, input: {} }), changes)
}

const starts = (unit: Unit): Change => ({ _tag: 'AttemptStarted', at: AT, attempts: [{ unit, attempt: 1 }] })

const ends = (unit: Unit): Change => ({
  _tag: 'UnitCompleted',
  at: AT,
  unit,
  captured: [],
  attempts: 1,
  startedAt: AT,
  durationMillis: 0,
  evidence: []
})

const fails = (unit: Unit): Change => ({
  _tag: 'UnitFailed',
  at: AT,
  unit,
  retryable: false,
  last: { attempt: 1, startedAt: AT, error: Err.make('Error', 'no'), outcome: 'notApplied' }
})

const ran = (...units: ReadonlyArray<Unit>): ReadonlyArray<Change> =>
  units.flatMap((unit) => [starts(unit), ends(unit)])

const expands = (unit: Unit): Change => ({
  _tag: 'Expanded',
  at: AT,
  unit,
  items: ['1', '2'].map((key) => ({ key, value: key }))
})

const planned = (run: Checkpoint, steps: ReadonlyArray<Step>, options?: PlanOptions): ResumePlan => {
  const plan = planResume(run, { name: 'release', steps }, options)
  return E.isRight(plan) ? plan.right : assert.fail(JSON.stringify(plan.left))
}

const problems = (run: Checkpoint, steps: ReadonlyArray<Step>, options: PlanOptions): ReadonlyArray<PlanProblem> => {
  const plan = planResume(run, { name: 'release', steps }, options)
  return E.isLeft(plan) ? plan.left.problems : assert.fail('there is a plan')
}

const described = ({ decisions }: ResumePlan): ReadonlyArray<string> =>
  decisions.map(({ _tag, unit, reason }) => `${_tag} ${unit} ${reason._tag}`)

const tags = ({ decisions }: ResumePlan): ReadonlyArray<string> => decisions.map(({ _tag, unit }) => `${_tag} ${unit}`)

/** The run once the overrides of a plan are recorded. */
const saved = (run: Checkpoint, steps: ReadonlyArray<Step>, options: PlanOptions): Checkpoint => {
  const workflow = { name: 'release', steps }
  const plan = planned(run, steps, options)
  return applied(run, overrides(run, { ...workflow, identity: Identity.of(workflow) }, plan, options, AT))
}

const lacking = (...units: ReadonlyArray<Unit>): PlanOptions => ({
  evidence: units.map((unit) => ({ unit, missing: [{ _tag: 'File', path: 'x' }] as const }))
})

test('a question about a unit of a restarted wave offers only answers that the plan accepts', () => {
  const artifact = (sha: string) => ({ _tag: 'Artifact', path: 'a.out', size: 1, sha256: sha.repeat(64) }) as const
  const steps = [task('first'), sequence('s', [wave('w', [group(task('a', { idempotent: false }))])])]
  const changes = [...ran('first', 's/w/a'), ends('s/w'), ends('s')].map((change) =>
    change._tag === 'UnitCompleted' && change.unit === 's/w/a' ? { ...change, evidence: [artifact('0')] } : change
  )
  const run = begun(steps, ...changes)
  const changed = [{ was: artifact('0'), is: artifact('1') }] as const
  const evidence = [...(lacking('first').evidence ?? []), { unit: 's/w/a', changed }]
  const options = { restartWave: 's/w', evidence }
  const [question, ...more] = openQuestions(planned(run, steps, options))
  assert.ok(question !== undefined)
  assert.deepEqual([question.unit, question.reason, more], ['s/w/a', { _tag: 'EvidenceChanged', changed }, []])
  for (const _tag of answersTo(question)) {
    const plan = planned(run, steps, { ...options, confirm: new Map([['s/w/a', { _tag }]]) })
    assert.deepEqual(tags(plan).at(-1), _tag === 'Again' ? 'Run s/w/a' : 'Skip s/w/a')
  }
})

test('a plan counts the completed parts of a composite that was interrupted between two parts', () => {
  const parts = wave('w', [group(task('a')), group(task('b')), group(task('c'))])
  const steps = [sequence('s', [parts, task('last')]), wave('later', [group(task('d'))])]
  const stopped: Change = { _tag: 'Interrupted', at: AT, unit: 's', reason: 'paused' }
  const rows = explain(planned(begun(steps, ...ran('s/w/a', 's/w/b'), stopped), steps)).split('\n')
  assert.deepEqual(rows, [
    '0/2 steps are done, 2 to run',
    '  1/2  run      s       0/2 parts done',
    '       run        w     2/3 parts done',
    '       skip         a   completed',
    '       skip         b   completed',
    '       run          c   not started',
    '       run        last  not started',
    '  2/2  run      later   not started',
    '       run        d     not started'
  ])
})

describe('a map in a sequence', () => {
  const steps = [sequence('s', [task('a'), mapOf('m', task('t'))])]
  const run = begun(steps, ...ran('s/a'), expands('s/m'), ...ran('s/m/1', 's/m/2'), ends('s/m'), ends('s'))

  test('a map in a sequence keeps its items if only one of them runs again', () => {
    const options = { fromStep: 's/m/2' }
    assert.deepEqual(tags(planned(run, steps, options)), ['Run s', 'Skip s/a', 'Run s/m', 'Skip s/m/1', 'Run s/m/2'])
    const after = saved(run, steps, options)
    assert.deepEqual(after.items, run.items)
    assert.deepEqual(tags(planned(after, steps)), tags(planned(run, steps, options)))
  })

  test('a map in a sequence keeps its items if one of them runs again and the other is declared done', () => {
    const asked = [sequence('s', [mapOf('m', task('t', { idempotent: false }))])]
    const items = begun(asked, expands('s/m'), ...ran('s/m/2'), starts('s/m/1'))
    const confirm: PlanOptions['confirm'] = new Map([
      ['s/m/1', { _tag: 'Done' }],
      ['s/m/2', { _tag: 'Again' }]
    ])
    const after = saved(items, asked, { ...lacking('s/m/2'), confirm })
    assert.deepEqual(tags(planned(after, asked)), ['Run s', 'Run s/m', 'Skip s/m/1', 'Run s/m/2'])
  })

  test('a map in a sequence computes its items again if evidence of the sequence is missing', () => {
    const plan = planned(run, steps, lacking('s'))
    assert.deepEqual(described(plan), [
      'Run s EvidenceMissing',
      'Run s/a EvidenceMissing',
      'Run s/m EarlierStepRunsAgain'
    ])
    assert.deepEqual(tags(planned(saved(run, steps, lacking('s')), steps)), tags(plan))
  })
})

test('a map without items runs again if evidence of the sequence around it is missing', () => {
  const steps = [sequence('s', [mapOf('m', task('t'))]), task('z')]
  const run = begun(steps, { _tag: 'Expanded', at: AT, unit: 's/m', items: [] }, ends('s/m'), ends('s'), ...ran('z'))
  assert.deepEqual(tags(planned(run, steps, lacking('s'))), ['Run s', 'Run s/m', 'Run z'])
  assert.deepEqual(tags(planned(saved(run, steps, lacking('s')), steps)), ['Run s', 'Run s/m', 'Run z'])
})

describe('a composite whose kind an edit changed', () => {
  const [a, b] = [task('a', { idempotent: false }), task('b')]
  const parallel = [wave('w', [group(a), group(b)])]
  const inOrder = [sequence('w', [a, b])]
  const again: PlanOptions = { confirm: new Map([['w/a', { _tag: 'Again' }]]) }

  test.each([
    ['wave', parallel, inOrder],
    ['sequence', inOrder, parallel]
  ])('a composite that was a %s keeps its units in flight when an edit changes its kind', (_, before, after) => {
    const run = begun(before, starts('w/a'))
    assert.deepEqual(described(planned(saved(run, after, again), after)), [
      'Run w NotStarted',
      'Run w/a NotStarted',
      'Run w/b NotStarted'
    ])
    const idempotent = (steps: ReadonlyArray<Step>): ReadonlyArray<Step> =>
      steps.map((step) => (step._tag === 'Wave' ? wave('w', [group(task('a'))]) : sequence('w', [task('a')])))
    const cut = begun(idempotent(before), starts('w/a'))
    assert.deepEqual(described(planned(saved(cut, idempotent(after), {}), idempotent(after))), [
      'Retry w InFlight',
      'Retry w/a InFlight'
    ])
  })
})

describe('fromStep in a wave', () => {
  const steps = [wave('w', [group(task('a')), group(task('b')), group(task('c'), ['a'])]), task('z')]
  const whole = begun(steps, ...ran('w/a', 'w/b', 'w/c'), ends('w'), ...ran('z'))

  test.each([
    ['is in flight', [starts('w/a')]],
    ['has failed', [starts('w/a'), fails('w/a')]],
    [
      'has a pending job',
      [
        {
          _tag: 'AttemptStarted',
          at: AT,
          attempts: [{ unit: 'w/a', attempt: 1 }],
          submissions: [{ unit: 'w/a', key: 'k' }]
        } as const,
        { _tag: 'JobSubmitted', at: AT, unit: 'w/a', attempt: 1, job: 1 } as const
      ]
    ]
  ])('fromStep at a group with another input is refused if a sibling group %s', (_, changes) => {
    const run = begun(steps, ...changes)
    const found = problems(run, steps, { fromStep: 'w/b', input: 1 })
    assert.deepEqual(found, [{ _tag: 'InputInUse', unit: 'w/a' }])
    assert.match(found.map(describeProblem).join(), /^"w\/a" already started with the recorded input; .*, or omit/)
    for (const fromStep of ['w', 'w/a', 'w/c', 'z'])
      assert.equal(saved(run, steps, { fromStep, input: 1 }).input, 1, fromStep)
    assert.ok(planned(run, steps, { fromStep: 'w/b', input: {} }))
  })

  test('fromStep at a group also runs a sibling group whose evidence is missing, and the groups that need it', () => {
    assert.deepEqual(described(planned(whole, steps, { fromStep: 'w/b', ...lacking('w/a') })), [
      'Run w EvidenceMissing',
      'Run w/a EvidenceMissing',
      'Run w/b Forced',
      'Run w/c EarlierStepRunsAgain',
      'Run z Forced'
    ])
  })

  test('the reason of a group that runs again names the needed group that runs again, or the wave if several do', () => {
    const reasonOf = (...units: readonly string[]) => {
      const plan = planned(whole, steps, lacking(...units))
      return plan.decisions.find(({ unit }) => unit === 'w/c')?.reason
    }
    assert.deepEqual(reasonOf('w/a'), { _tag: 'EarlierStepRunsAgain', step: 'w/a' })
    assert.deepEqual(reasonOf('w/a', 'w/b'), { _tag: 'EarlierStepRunsAgain', step: 'w' })
  })

  test('fromStep at a group is refused if evidence of a group that it needs is missing, but not if evidence of the wave is', () => {
    assert.deepEqual(
      problems(whole, steps, { fromStep: 'w/c', ...lacking('w/a') }).map(({ _tag }) => _tag),
      ['AssumedOutputMissing']
    )
    assert.deepEqual(tags(planned(whole, steps, { fromStep: 'w/c', ...lacking('w') })), [
      'Run w',
      'Skip w/a',
      'Skip w/b',
      'Run w/c',
      'Run z'
    ])
  })
})

describe('fromStep together with restartWave', () => {
  const v = wave('v', [group(task('g'))])

  test('fromStep after a restarted nested wave counts the units before that wave as done and runs the later ones', () => {
    const flat = [task('a'), v, task('b'), task('z')]
    const options = { fromStep: 'z', restartWave: 'v' }
    const expected = ['Skip a', 'Run v', 'Run v/g', 'Run b', 'Run z']
    assert.deepEqual(tags(planned(begun(flat), flat, options)), expected)
    const nested = [sequence('s', [task('a'), v, task('b')]), task('z')]
    const nestedOptions = { fromStep: 'z', restartWave: 's/v' }
    const plan = ['Run s', 'Skip s/a', 'Run s/v', 'Run s/v/g', 'Run s/b', 'Run z']
    assert.deepEqual(tags(planned(begun(nested), nested, nestedOptions)), plan)
    assert.deepEqual(tags(planned(saved(begun(nested), nested, nestedOptions), nested)), plan)
  })

  test('fromStep after a restarted wave in a group also runs the groups between them, and counts other needed groups as done', () => {
    const steps = [
      wave('w', [
        group(task('a')),
        group(sequence('s', [task('c'), v])),
        group(task('m'), ['s']),
        group(task('z'), ['a', 'm']),
        group(task('beside'))
      ])
    ]
    assert.deepEqual(tags(planned(begun(steps), steps, { fromStep: 'w/z', restartWave: 'w/s/v' })), [
      'Run w',
      'Skip w/a',
      'Run w/s',
      'Skip w/s/c',
      'Run w/s/v',
      'Run w/s/v/g',
      'Run w/m',
      'Run w/z',
      'Run w/beside'
    ])
  })

  test('fromStep after a restarted wave in an item of a map counts the other items as done', () => {
    const steps = [mapOf('m', sequence('body', [task('a'), v])), task('z')]
    assert.deepEqual(tags(planned(begun(steps, expands('m')), steps, { fromStep: 'z', restartWave: 'm/2/v' })), [
      'Run m',
      'Skip m/1',
      'Skip m/1/a',
      'Skip m/1/v',
      'Skip m/1/v/g',
      'Run m/2',
      'Skip m/2/a',
      'Run m/2/v',
      'Run m/2/v/g',
      'Run z'
    ])
  })

  test('fromStep at a sibling group of a restarted wave does not change the restart', () => {
    const steps = [wave('w', [group(sequence('s', [task('a'), v])), group(task('b'))])]
    assert.deepEqual(tags(planned(begun(steps), steps, { fromStep: 'w/b', restartWave: 'w/s/v' })), [
      'Run w',
      'Run w/s',
      'Run w/s/a',
      'Run w/s/v',
      'Run w/s/v/g',
      'Run w/b'
    ])
  })
})

test('a started group that fromStep counts as done is not rewound', () => {
  const steps = [wave('w', [group(task('a')), group(task('b'), ['a'])])]
  const run = begun(steps, starts('w/a'))
  const plan = planned(run, steps, { fromStep: 'w/b', outputs: new Map([['w/a', 1]]) })
  assert.deepEqual(described(plan), ['Run w Forced', 'Skip w/a Assumed', 'Run w/b Forced'])
  const workflow = { name: 'release', steps, identity: run.workflow }
  const changes = overrides(run, workflow, plan, { fromStep: 'w/b' }, AT)
  assert.deepEqual(
    changes.map((change) => [change._tag, 'units' in change ? change.units : 'unit' in change ? change.unit : '']),
    [
      ['Rewound', ['w/b']],
      ['Assumed', 'w/a']
    ]
  )
  assert.deepEqual(
    Array.from(applied(run, changes).completedSteps, ({ unit }) => unit),
    ['w/a']
  )
})

test.each([
  ['task', task('b', { idempotent: false }), 'w/b'],
  ['wave', wave('v', [group(task('b', { idempotent: false }))]), 'w/v/b']
] as const)(
  'if fromStep names a group and an answer runs a sibling %s again, the sibling keeps its idempotency key',
  (_, step, unit) => {
    const steps = [wave('w', [group(task('a')), group(step)])]
    const run = begun(steps, ...ran('w/a'), starts(unit), { _tag: 'Confirmed', at: AT, unit })
    const options = { fromStep: 'w/a' }
    const plan = planned(run, steps, options)
    const changes = overrides(run, { name: 'release', steps, identity: run.workflow }, plan, options, AT)
    assert.deepEqual(changes, [{ _tag: 'Rewound', at: AT, units: ['w/a'], why: 'Forced' }])
    assert.equal(IdempotencyKey.of(applied(run, changes), unit), IdempotencyKey.of(run, unit))
  }
)

describe('fromStep at a group', () => {
  const steps = [wave('w', [group(task('a')), group(task('b'))])]
  const artifact = (sha: string) => ({ _tag: 'Artifact', path: 'a.out', size: 1, sha256: sha.repeat(64) }) as const
  const left = (change: Change): Change =>
    change._tag === 'UnitCompleted' && change.unit === 'w/a' ? { ...change, evidence: [artifact('0')] } : change
  const checkpoint = begun(steps, ...[...ran('w/a'), ...ran('w/b'), ends('w')].map(left))
  const evidence = [{ unit: 'w/a', changed: [{ was: artifact('0'), is: artifact('1') }] }] as const
  const decided = (options: PlanOptions): ReadonlyArray<string> => {
    const plan = planResume(checkpoint, { name: 'release', steps }, { fromStep: 'w/b', evidence, ...options })
    return E.isRight(plan) ? plan.right.decisions.map(({ _tag, unit }) => `${_tag} ${unit}`) : []
  }

  test('fromStep at a group raises a question about changed evidence of another group, and obeys the answer', () => {
    const answered = (answer: 'Again' | 'Keep'): ReadonlyArray<string> =>
      decided({ confirm: new Map([['w/a', { _tag: answer }]]) })
    assert.deepEqual(decided({}), ['Confirm w', 'Confirm w/a', 'Run w/b'])
    assert.deepEqual(answered('Again'), ['Run w', 'Run w/a', 'Run w/b'])
    assert.deepEqual(answered('Keep'), ['Run w', 'Skip w/a', 'Run w/b'])
  })
})
