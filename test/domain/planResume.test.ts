import assert from 'node:assert/strict'
import * as E from 'fp-ts/lib/Either.js'
import { describe, test } from 'vitest'
import type { Checkpoint } from '../../src/domain/checkpoint/Checkpoint.js'
import { make, start } from '../../src/domain/checkpoint/Checkpoint.js'
import type { CheckpointState } from '../../src/domain/checkpoint/CheckpointState.js'
import * as State from '../../src/domain/checkpoint/CheckpointState.js'
import type { CompletedStep } from '../../src/domain/checkpoint/CompletedStep.js'
import * as Units from '../../src/domain/checkpoint/Units.js'
import type { Json } from '../../src/domain/data/Json.js'
import { describeQuestion, explain } from '../../src/domain/explain/Explain.js'
import { describeProblem, describeProblems } from '../../src/domain/explain/problems.js'
import type { Confirm, PlanOptions, ResumePlan } from '../../src/domain/plan/Plan.js'
import type { PlanProblem } from '../../src/domain/plan/PlanProblem.js'
import { overrides } from '../../src/domain/plan/Overrides.js'
import { hashPlan, openQuestions } from '../../src/domain/plan/Plan.js'
import { planResume } from '../../src/domain/plan/planResume.js'
import * as Err from '../../src/domain/data/StepError.js'
import type { Workflow } from '../../src/domain/workflow/Workflow.js'
import * as W from '../../src/domain/workflow/Workflow.js'
import * as Identity from '../../src/domain/workflow/WorkflowIdentity.js'
import { nameOf } from '../../src/domain/workflow/Unit.js'

// ---------------------------------------------------------------------------------------------------------------------
// cases by hand
// ---------------------------------------------------------------------------------------------------------------------

const AT = '2026-01-02T03:04:05.000Z'

const numbered = (count: number): Workflow => ({
  name: 'numbered',
  steps: Array.from({ length: count }, (_, index) => W.task(`step-${index}`))
})

const record = (stepIndex: number, fields: Partial<CompletedStep> = {}): CompletedStep => ({
  unit: `step-${stepIndex}`,
  stepIndex,
  fingerprint: W.task(`step-${stepIndex}`).fingerprint,
  captured: [],
  attempts: 1,
  startedAt: AT,
  completedAt: AT,
  durationMillis: 0,
  evidence: [],
  ...fields
})

const standing = (
  workflow: Workflow,
  state: CheckpointState,
  records: ReadonlyArray<CompletedStep> = [],
  input: Json = {}
): Checkpoint =>
  make({
    ...start({ _tag: 'Started', at: AT, runId: 'run-1', workflow: Identity.of(workflow), input }),
    state,
    completedSteps: Units.from(records)
  })

const failure = (fields: Partial<State.Failure> = {}): State.Failure => ({
  unit: 'step-0',
  error: Err.make('Error', '500 error'),
  outcome: 'unknown',
  attempts: [],
  ...fields
})

const planned = (checkpoint: Checkpoint, workflow: Workflow, options?: PlanOptions): ResumePlan => {
  const plan = planResume(checkpoint, workflow, options)
  return E.isRight(plan) ? plan.right : assert.fail(JSON.stringify(plan.left))
}

const problems = (checkpoint: Checkpoint, workflow: Workflow, options?: PlanOptions): ReadonlyArray<PlanProblem> => {
  const plan = planResume(checkpoint, workflow, options)
  return E.isLeft(plan) ? plan.left.problems : assert.fail('there is a plan')
}

const readOff = ({ startIndex, retryCurrent, skipSteps }: ResumePlan): unknown => [
  startIndex,
  retryCurrent,
  [...skipSteps]
]

const tags = ({ decisions }: ResumePlan): ReadonlyArray<string> =>
  decisions.map((one) => `${nameOf(one.unit)} ${one._tag} ${one.reason._tag}`)

// ---------------------------------------------------------------------------------------------------------------------
// where a run resumes
// ---------------------------------------------------------------------------------------------------------------------

describe('the answer "done"', () => {
  test('if a unit with missing evidence is declared done, a later unit stays in flight', () => {
    const workflow: Workflow = {
      name: 'release',
      steps: [W.task('pack', { idempotent: false }), W.task('publish', { idempotent: false })]
    }
    const pack = record(0, { unit: 'pack', fingerprint: (workflow.steps[0] as W.Step).fingerprint, assumed: true })
    const inFlight = [{ unit: 'publish', attempt: 1 }]
    const checkpoint = standing(workflow, State.beforeStep(1, 'publish', inFlight), [pack])
    const options: PlanOptions = {
      evidence: [{ unit: 'pack', missing: [{ _tag: 'File', path: 'pack.tgz' }] }],
      confirm: new Map([
        ['pack', { _tag: 'Done' }],
        ['publish', { _tag: 'Again' }]
      ])
    }
    const plan = planResume(checkpoint, workflow, options)
    assert.ok(E.isRight(plan))
    const changes = overrides(checkpoint, { ...workflow, identity: Identity.of(workflow) }, plan.right, options, AT)
    assert.deepEqual(changes, [{ _tag: 'Confirmed', at: AT, unit: 'publish' }])
  })
})

describe('a run of five steps', () => {
  const five = numbered(5)
  const done = (count: number): ReadonlyArray<CompletedStep> =>
    Array.from({ length: count }, (_, index) => record(index))
  const failed = (retryable: boolean) => State.failed(2, 'step-2', [failure({ unit: 'step-2' })], retryable)

  test('a run that failed at the third step with a transient error resumes there and skips the first two', () => {
    assert.deepEqual(readOff(planned(standing(five, failed(true), done(2)), five)), [2, true, [0, 1]])
  })

  test('a run that failed permanently executes the failed step again', () => {
    const plan = planned(standing(five, failed(false), done(2)), five)
    assert.deepEqual(readOff(plan), [2, false, [0, 1]])
    assert.equal(plan.decisions[2]?._tag, 'Retry')
  })

  test('a run that completed the third step continues after it', () => {
    const checkpoint = standing(five, State.completed(2, 'step-2'), done(3))
    assert.deepEqual(readOff(planned(checkpoint, five)), [3, false, [0, 1, 2]])
  })

  test('a run that completed the last step has nothing left to run', () => {
    const plan = planned(standing(five, State.completed(4, 'step-4'), done(5)), five)
    assert.deepEqual(readOff(plan), [5, false, [0, 1, 2, 3, 4]])
    assert.equal(explain(plan).split('\n')[0], '5/5 steps are done, nothing left to run')
  })

  test('a run whose checkpoint is before the third step resumes with the third step', () => {
    const checkpoint = standing(five, State.beforeStep(2, 'step-2', [{ unit: 'step-2', attempt: 3 }]), done(2))
    const plan = planned(checkpoint, five)
    assert.deepEqual(readOff(plan), [2, true, [0, 1]])
    const decision = plan.decisions[2]
    assert.ok(decision?._tag === 'Retry')
    assert.equal(decision.attempt, 3, 'an attempt that was cut short is repeated')
  })

  test('a run that was interrupted in the third step retries the third step', () => {
    const state = State.interrupted(2, 'step-2', 'signal', {
      inProgress: true,
      inFlight: [{ unit: 'step-2', attempt: 1 }]
    })
    assert.deepEqual(readOff(planned(standing(five, state, done(2)), five)), [2, true, [0, 1]])
    const bare = State.interrupted(2, 'step-2', 'signal', { inProgress: true })
    assert.deepEqual(readOff(planned(standing(five, bare, done(2)), five)), [2, true, [0, 1]])
  })

  test('a run interrupted between two steps continues with the first step that has no record', () => {
    const state = State.interrupted(2, 'step-2', 'signal', { inProgress: false })
    assert.deepEqual(readOff(planned(standing(five, state, done(3)), five)), [3, false, [0, 1, 2]])
    assert.deepEqual(readOff(planned(standing(five, state, done(2)), five)), [2, false, [0, 1]])
  })

  test('a checkpoint whose step index is beyond its workflow is refused with that index and the number of steps', () => {
    const found = problems(standing(five, State.beforeStep(10, 'step-10')), five)
    assert.deepEqual(found, [{ _tag: 'StepOutOfRange', stepIndex: 10, steps: 5 }])
    assert.equal(
      found.map(describeProblem).join(),
      'the checkpoint is at step 11, but its workflow has 5 steps; restore the run from a backup, or start a new run'
    )
    for (const at of [5, -1, 1.5, Number.NaN]) {
      const [problem] = problems(standing(five, State.beforeStep(at, 'step-5')), five)
      assert.equal(problem?._tag, 'StepOutOfRange')
    }
  })

  test('an unknown step name is refused, and all names are listed', () => {
    const checkpoint = standing(five, failed(true), done(2))
    const available = five.steps.map(({ name }) => name)
    for (const [options, option] of [
      [{ fromStep: 'step-9' }, {}],
      [{ confirm: new Map([['step-9', { _tag: 'Again' } as const]]) }, { option: 'confirm' }],
      [{ outputs: new Map([['step-9', 1]]) }, { option: 'outputs' }]
    ] as const) {
      assert.deepEqual(problems(checkpoint, five, options), [
        { _tag: 'UnknownStep', step: 'step-9', ...option, available }
      ])
    }
    assert.equal(
      describeProblem({ _tag: 'UnknownStep', step: 'x', available: ['a', 'b'] }),
      'step "x" not found; steps: "a", "b"'
    )
  })

  test('an option is refused if it does not apply to the unit that it names, and the error says which unit to name', () => {
    const wave = W.wave('checks', [W.group(W.task('unit')), W.group(W.task('lint'))])
    const workflow: Workflow = { name: 'w', steps: [W.task('build'), wave] }
    const told = (options: PlanOptions): ReadonlyArray<string> =>
      problems(standing(workflow, State.beforeStep(0, 'build')), workflow, options).map(describeProblem)
    assert.deepEqual(told({ fromStep: 'build/x' }), [
      'step "build/x" not found; steps: "build", "checks". Did you mean "build"?'
    ])
    assert.deepEqual(told({ confirm: new Map([['build/x', { _tag: 'Done' }]]) }), [
      '"build/x" takes no answer of its own; answer "build", which contains it'
    ])
    assert.deepEqual(told({ outputs: new Map([['build/x', 1]]) }), [
      '"build/x" takes no output of its own; name "build", which contains it'
    ])
    assert.deepEqual(told({ outputs: new Map([['checks', 1]]) }), [
      '"checks" takes no output of its own; name its parts: "checks/unit", "checks/lint"'
    ])
  })
})

// ---------------------------------------------------------------------------------------------------------------------
// what prevents a plan
// ---------------------------------------------------------------------------------------------------------------------

describe('an edited workflow', () => {
  const was: Workflow = {
    name: 'release',
    steps: [W.task('a'), W.task('b'), W.task('c'), W.task('d')]
  }
  const [a, b, c, d] = was.steps as [W.Task, W.Task, W.Task, W.Task]
  const recordOf = (task: W.Task, stepIndex: number): CompletedStep =>
    record(stepIndex, { unit: task.name, fingerprint: task.fingerprint })
  const checkpoint = standing(was, State.failed(2, 'c', [failure({ unit: 'c' })], false), [
    recordOf(a, 0),
    recordOf(b, 1)
  ])
  const other = (name: string): W.Task => W.task(name, { definition: 'other' })
  const now = (...steps: ReadonlyArray<W.Step>): Workflow => ({ name: 'release', steps })

  const rows: ReadonlyArray<readonly [string, Workflow, ReadonlyArray<string>, ReadonlyArray<string>]> = [
    ['the failed step was changed', now(a, b, other('c'), d), [], ['changed c']],
    ['a later step was changed', now(a, b, c, other('d')), [], ['changed d']],
    ['a later step was removed', now(a, b, c), [], ['removed d']],
    ['the failed step was removed', now(a, b, d), [], ['removed c']],
    ['a later step was added', now(a, b, c, W.task('x'), d), [], ['added x']],
    ['later steps were swapped', now(a, b, d, c), [], ['reordered d']],
    ['a completed step was changed', now(other('a'), b, c, d), ['changed a'], ['changed a']],
    ['a completed step was removed', now(b, c, d), ['removed a'], ['removed a']],
    ['a completed step was renamed', now(a, W.task('x'), c, d), ['removed b'], ['removed b', 'added x']],
    ['completed steps were swapped', now(b, a, c, d), ['reordered b'], ['reordered b']],
    ['a step was inserted before completed ones', now(W.task('x'), a, b, c, d), ['insertedBefore x'], ['added x']],
    ['the failed step was moved before completed ones', now(c, a, b, d), ['insertedBefore c'], ['reordered c']],
    [
      'steps were removed, changed and inserted at once',
      now(W.task('x'), other('b'), c, d),
      ['removed a', 'insertedBefore x', 'changed b'],
      ['removed a', 'changed b', 'added x']
    ]
  ]

  const found = (workflow: Workflow, changes: 'strict' | 'completed' | 'ignore'): ReadonlyArray<string> => {
    const plan = planResume(checkpoint, workflow, { changes })
    return E.isRight(plan)
      ? []
      : plan.left.problems.map((one) => (one._tag === 'WorkflowChanged' ? `${one.edit} ${one.unit}` : one._tag))
  }

  test.each(rows)('the option `changes` decides whether an edit is refused: %s', (_, workflow, completed, strict) => {
    assert.deepEqual([...found(workflow, 'completed')].sort(), [...completed].sort())
    assert.deepEqual([...found(workflow, 'strict')].sort(), [...strict].sort())
    assert.deepEqual(found(workflow, 'ignore'), [])
    assert.deepEqual(
      problemsOrNone(checkpoint, workflow),
      problemsOrNone(checkpoint, workflow, { changes: 'completed' }),
      'completed is the default'
    )
  })

  test('an edit of summaries alone is accepted whatever `changes` is', () => {
    const workflow = now(...was.steps.map((step) => ({ ...step, summary: 'in other words' })))
    for (const changes of ['strict', 'completed', 'ignore'] as const) assert.deepEqual(found(workflow, changes), [])
  })

  test('the refusal of an edited step names both fingerprints', () => {
    assert.deepEqual(problems(checkpoint, now(a, other('b'), c, d)), [
      { _tag: 'WorkflowChanged', edit: 'changed', unit: 'b', recorded: b.fingerprint, present: other('b').fingerprint }
    ])
    assert.deepEqual(problems(checkpoint, now(W.task('x'), a, b, c, d)), [
      { _tag: 'WorkflowChanged', edit: 'insertedBefore', unit: 'x', present: W.task('x').fingerprint }
    ])
    const text = problems(checkpoint, now(a, other('b'), c, d))
      .map(describeProblem)
      .join()
    assert.equal(
      text,
      `"b" differs from its recorded definition: fingerprint ${b.fingerprint}, now ${other('b').fingerprint}`
    )
  })

  test('a plan that ignores changes skips records of another fingerprint with the reason AcceptedDespiteChange', () => {
    const plan = planned(checkpoint, now(other('a'), b, c, d), { changes: 'ignore' })
    assert.deepEqual(plan.decisions[0]?.reason, { _tag: 'AcceptedDespiteChange', recorded: a.fingerprint })
  })

  test('a run is refused for a workflow of another name', () => {
    assert.deepEqual(problems(checkpoint, { name: 'other', steps: was.steps }, { changes: 'ignore' }), [
      { _tag: 'WrongWorkflow', expected: 'release', found: 'other' }
    ])
  })

  test('an invalid workflow has no plan', () => {
    assert.deepEqual(problems(checkpoint, now(a, a)), [
      { _tag: 'InvalidWorkflow', problem: { _tag: 'DuplicateName', name: 'a', within: 'release' } }
    ])
    assert.equal(problems(checkpoint, now())[0]?._tag, 'InvalidWorkflow')
  })

  test('all problems of an edited workflow, its options and outputs are reported at once', () => {
    const picky = W.task('a', { accepts: () => E.left({ path: '$.size', expected: 'number' }) })
    assert.deepEqual(
      problems(checkpoint, now(picky, other('b'), c, d), { fromStep: 'x' }).map(({ _tag }) => _tag),
      ['WorkflowChanged', 'UnknownStep', 'OutputNotDecodable']
    )
  })
})

const problemsOrNone = (checkpoint: Checkpoint, workflow: Workflow, options?: PlanOptions): unknown => {
  const plan = planResume(checkpoint, workflow, options)
  return E.isLeft(plan) ? plan.left.problems : []
}

describe('contradictions in a checkpoint', () => {
  const wave = W.wave('step-1', [W.group(W.task('g')), W.group(W.task('h'))])
  const workflow: Workflow = { name: 'numbered', steps: [W.task('step-0'), wave, W.task('step-2')] }
  const group = (name: string): CompletedStep =>
    record(1, { unit: `step-1/${name}`, fingerprint: W.task(name).fingerprint })
  const rows: ReadonlyArray<readonly [string, CheckpointState, ReadonlyArray<CompletedStep>]> = [
    ['its state has the wrong name for the current step', State.beforeStep(0, 'step-1'), []],
    ['a record has the wrong name for its step', State.beforeStep(1, 'step-1'), [record(0, { unit: 'x' })]],
    ['it has a record of an unknown step', State.beforeStep(1, 'step-1'), [record(7)]],
    ['it has a record of an unknown group', State.beforeStep(1, 'step-1'), [group('x')]],
    ['it has a record of a group of a task', State.beforeStep(1, 'step-1'), [record(0, { unit: 'step-0/g' })]],
    ['a step is recorded twice', State.beforeStep(1, 'step-1'), [record(0), record(0)]],
    ['a group is recorded twice', State.beforeStep(1, 'step-1'), [record(0), group('g'), group('g')]],
    ['a wave is completed without its groups', State.completed(1, 'step-1'), [record(0), group('g'), record(1)]],
    ['its state lists an unknown unit', State.beforeStep(0, 'step-0', [{ unit: 'x', attempt: 1 }]), []],
    [
      'its state lists a unit of a completed step',
      State.beforeStep(1, 'step-1', [{ unit: 'step-0', attempt: 1 }]),
      [record(0)]
    ],
    ['its current step is completed', State.beforeStep(0, 'step-0'), [record(0)]],
    ['its failed step is completed', State.failed(0, 'step-0', [failure()], true), [record(0)]],
    ['its completed step has no record', State.completed(0, 'step-0'), []],
    ['its step in progress is completed', State.interrupted(0, 'step-0', 'signal', { inProgress: true }), [record(0)]]
  ]

  test.each(rows)('a checkpoint that contradicts itself is refused: %s', (_, state, records) => {
    const found = problems(standing(workflow, state, records), workflow)
    assert.deepEqual(
      found.map(({ _tag }) => _tag),
      ['InconsistentCheckpoint']
    )
  })

  test('all contradictions of a checkpoint are reported at once', () => {
    const records = [record(0, { unit: 'x' }), record(7), group('x')]
    const found = problems(standing(workflow, State.beforeStep(9, 'x'), records), { ...workflow, name: 'other' })
    assert.deepEqual(
      found.map(({ _tag }) => _tag),
      ['StepOutOfRange', 'InconsistentCheckpoint', 'InconsistentCheckpoint', 'InconsistentCheckpoint', 'WrongWorkflow']
    )
  })

  test('the text of a contradiction counts steps from 1', () => {
    const found = problems(standing(workflow, State.beforeStep(1, 'x'), [record(7)]), workflow)
    const [state, beyond] = found.map(describeProblem)
    assert.match(state ?? '', /: step 2 is "step-1", but the state calls it "x"/)
    assert.match(beyond ?? '', /: a record names step 8, but there are 3 steps/)
  })

  test('a consistent checkpoint has a plan', () => {
    assert.deepEqual(
      tags(planned(standing(workflow, State.beforeStep(1, 'step-1'), [record(0), group('g')]), workflow)),
      [
        'step-0 Skip Completed',
        'step-1 Run NotStarted',
        'g Skip Completed',
        'h Run NotStarted',
        'step-2 Run NotStarted'
      ]
    )
  })
})

// ---------------------------------------------------------------------------------------------------------------------
// options
// ---------------------------------------------------------------------------------------------------------------------

describe('fromStep', () => {
  const number: W.Task['accepts'] = (output) =>
    typeof output === 'number' ? E.right(undefined) : E.left({ path: '$', expected: 'number' })
  const workflow: Workflow = {
    name: 'numbered',
    steps: [
      W.task('step-0'),
      W.task('step-1', { accepts: number, captures: ['size'] }),
      W.task('step-2'),
      W.task('step-3')
    ]
  }
  const one = (output: Json): CompletedStep =>
    record(1, { fingerprint: workflow.steps[1]?.fingerprint ?? '', output, captured: ['size'] })
  const all = standing(workflow, State.completed(3, 'step-3'), [record(0), one(7), record(2), record(3)])

  test('fromStep runs the named step and all later ones, even if they completed, and skips all earlier ones', () => {
    assert.deepEqual(tags(planned(all, workflow, { fromStep: 'step-2' })), [
      'step-0 Skip Completed',
      'step-1 Skip Completed',
      'step-2 Run Forced',
      'step-3 Run Forced'
    ])
  })

  test('fromStep counts earlier steps without a record as done', () => {
    const queued = standing(workflow, State.beforeStep(0, 'step-0'))
    const plan = planned(queued, workflow, { fromStep: 'step-2', outputs: new Map([['step-1', 7]]) })
    assert.deepEqual(plan.decisions.map(({ reason }) => reason).slice(0, 2), [
      { _tag: 'Assumed' },
      { _tag: 'Assumed', output: 7 }
    ])
    assert.equal(plan.variables.get('size'), 7)
    assert.equal(plan.retryCurrent, false)
  })

  test('fromStep is refused if a required output is neither recorded nor given, or does not match', () => {
    const queued = standing(workflow, State.beforeStep(0, 'step-0'))
    for (const options of [{}, { outputs: new Map([['step-1', 'seven']]) }]) {
      assert.deepEqual(problems(queued, workflow, { fromStep: 'step-2', ...options }), [
        { _tag: 'AssumedOutputMissing', unit: 'step-1', expected: 'number' }
      ])
    }
  })

  test('fromStep is refused if evidence of an earlier task, group or wave is missing', () => {
    const wave = W.wave('step-1', [W.group(W.task('g')), W.group(W.task('h'))])
    const waves: Workflow = { name: 'numbered', steps: [W.task('step-0'), wave, W.task('step-2')] }
    const group = (name: string): CompletedStep =>
      record(1, { unit: `step-1/${name}`, fingerprint: W.task(name).fingerprint })
    const checkpoint = standing(waves, State.completed(2, 'step-2'), [
      record(0),
      group('g'),
      group('h'),
      record(1, { fingerprint: wave.fingerprint }),
      record(2)
    ])
    for (const unit of ['step-0', 'step-1/h', 'step-1']) {
      const evidence = [
        {
          unit,
          missing: [
            { _tag: 'File', path: 'a.txt' },
            { _tag: 'Commit', hash: 'c0ffee' }
          ] as const
        }
      ] as const
      assert.deepEqual(problems(checkpoint, waves, { fromStep: 'step-2', evidence }), [
        { _tag: 'AssumedOutputMissing', unit, expected: 'a.txt, commit c0ffee', evidence: true }
      ])
    }
  })

  test('fromStep does not count a wave as done if restartWave names the wave', () => {
    const waves: Workflow = {
      name: 'numbered',
      steps: [W.task('step-0'), W.wave('step-1', [W.group(W.task('g'))]), W.task('step-2'), W.task('step-3')]
    }
    const queued = standing(waves, State.beforeStep(0, 'step-0'))
    assert.deepEqual(tags(planned(queued, waves, { fromStep: 'step-3', restartWave: 'step-1' })), [
      'step-0 Skip Assumed',
      'step-1 Run Forced',
      'g Run Forced',
      'step-2 Run Forced',
      'step-3 Run Forced'
    ])
  })
})

describe('missing evidence', () => {
  const wave = W.wave('checks', [W.group(W.task('unit')), W.group(W.task('lint')), W.group(W.task('report'), ['unit'])])
  const workflow: Workflow = {
    name: 'release',
    steps: [W.task('build'), wave, W.task('publish', { idempotent: false }), W.task('notify')]
  }
  const completed = (stepIndex: number, step: W.Step, group?: W.Step): CompletedStep =>
    record(stepIndex, {
      unit: group === undefined ? step.name : `${step.name}/${group.name}`,
      fingerprint: (group ?? step).fingerprint
    })
  const checkpoint = standing(workflow, State.completed(3, 'notify'), [
    completed(0, workflow.steps[0] as W.Step),
    ...wave.groups.map((group) => completed(1, wave, group)),
    completed(1, wave),
    completed(2, workflow.steps[2] as W.Step),
    completed(3, workflow.steps[3] as W.Step)
  ])
  const missing = [{ _tag: 'File', path: 'dist' }] as const

  test('missing evidence of a group makes the group, the groups that need it and all later steps run again', () => {
    assert.deepEqual(tags(planned(checkpoint, workflow, { evidence: [{ unit: 'checks/unit', missing }] })), [
      'build Skip Completed',
      'checks Run EvidenceMissing',
      'unit Run EvidenceMissing',
      'lint Skip Completed',
      'report Run EarlierStepRunsAgain',
      'publish Confirm EarlierStepRunsAgain',
      'notify Run EarlierStepRunsAgain'
    ])
  })

  test('missing evidence of a whole wave makes all its groups run again', () => {
    const plan = planned(checkpoint, workflow, { evidence: [{ unit: 'checks', missing }] })
    assert.deepEqual(tags(plan).slice(0, 5), [
      'build Skip Completed',
      'checks Run EvidenceMissing',
      'unit Run EvidenceMissing',
      'lint Run EvidenceMissing',
      'report Run EvidenceMissing'
    ])
  })

  test('missing evidence of a step without a record changes nothing', () => {
    const queued = standing(workflow, State.beforeStep(0, 'build'))
    const plain = planned(queued, workflow)
    for (const unit of ['build', 'checks', 'checks/unit', 'x']) {
      assert.deepEqual(planned(queued, workflow, { evidence: [{ unit, missing }] }), plain)
    }
  })

  test('the questions that missing evidence raises name their cause', () => {
    const plan = planned(checkpoint, workflow, { evidence: [{ unit: 'build', missing }] })
    assert.deepEqual(openQuestions(plan).map(describeQuestion), [
      '"publish" has completed or may have taken effect, and is not idempotent; it would run again because the result of "build" may differ'
    ])
  })

  test('restartWave with missing evidence raises no question about the wave', () => {
    const pushy: Workflow = {
      name: 'release',
      steps: [W.task('build'), W.wave('push', [W.group(W.task('eu', { idempotent: false }))])]
    }
    const [build, push] = pushy.steps as [W.Task, W.Wave]
    const all = standing(pushy, State.completed(1, 'push'), [
      completed(0, build),
      completed(1, push, push.groups[0]),
      completed(1, push)
    ])
    const options = { evidence: [{ unit: 'build', missing }] } as const
    assert.equal(openQuestions(planned(all, pushy, options)).length, 1)
    assert.equal(openQuestions(planned(all, pushy, { ...options, restartWave: 'push' })).length, 0)
  })
})

describe('an answer', () => {
  const workflow: Workflow = {
    name: 'release',
    steps: [W.task('publish', { idempotent: false, captures: ['url'] }), W.task('notify')]
  }
  const inFlight = standing(workflow, State.beforeStep(0, 'publish', [{ unit: 'publish', attempt: 2 }]))

  test('a question names the unit and the reason', () => {
    const [question] = openQuestions(planned(inFlight, workflow))
    assert.ok(question !== undefined)
    assert.equal(
      describeQuestion(question),
      '"publish" may already have taken effect, and is not idempotent: it was running (attempt 2) when the process ended'
    )
  })

  test('a plan runs a wait that was answered before it started, and polls a wait that is open', () => {
    const waits: Workflow = { name: 'waits', steps: [W.task('first'), W.task('later', { wait: 'Answer' })] }
    const begun = standing(waits, State.beforeStep(0, 'first'))
    const answers = Units.from([{ unit: 'later', value: 1, by: 'user', at: AT }])
    const answered = planned(make({ ...begun, answers }), waits).decisions[1]
    assert.deepEqual(answered?.reason, { _tag: 'NotStarted', answered: true })
    const pending = Units.from([{ _tag: 'Answer', unit: 'later', startedAt: AT } as const])
    assert.deepEqual(tags(planned(make({ ...begun, pending }), waits)), [
      'first Run NotStarted',
      'later Poll AnswerPending'
    ])
  })

  test('a time that is no string ends no wait', () => {
    const waits: Workflow = { name: 'w', steps: [W.task('nap', { wait: 'Timer' })] }
    const pending = Units.from([{ _tag: 'Timer', unit: 'nap', startedAt: AT, wakeAt: AT } as const])
    const plan = planned(make({ ...standing(waits, State.beforeStep(0, 'nap')), pending }), waits)
    assert.match(explain(plan, AT), /its time has come/)
    for (const now of [new Date(0), 0]) assert.equal(explain(plan, now as never), explain(plan))
  })

  test('a question about a pending unit says whether it waits for a job, a timer or an answer', () => {
    const { stepIndex, summary, fingerprint } = { stepIndex: 0, summary: '', fingerprint: 'v1:x' }
    const about = (reason: Confirm['reason']): string =>
      describeQuestion({ _tag: 'Confirm', unit: 'publish', stepIndex, summary, fingerprint, reason })
    const head = '"publish" may already have taken effect, and is not idempotent: '
    assert.equal(about({ _tag: 'JobPending', submittedAt: AT }), `${head}it waits for its job, submitted at ${AT}`)
    assert.equal(about({ _tag: 'TimerPending', wakeAt: AT }), `${head}it sleeps until ${AT}`)
    assert.equal(about({ _tag: 'AnswerPending' }), `${head}it waits for an answer`)
    assert.equal(about({ _tag: 'AnswerPending', answered: true }), `${head}its answer is recorded`)
  })

  test('the answer "again" retries the unit', () => {
    const plan = planned(inFlight, workflow, { confirm: new Map([['publish', { _tag: 'Again' }]]) })
    assert.deepEqual(tags(plan), ['publish Retry InFlight', 'notify Run NotStarted'])
  })

  test('the answer "done" skips the unit, with the given output, which a captured variable requires', () => {
    const plan = planned(inFlight, workflow, { confirm: new Map([['publish', { _tag: 'Done', output: 'https://x' }]]) })
    assert.deepEqual(tags(plan), ['publish Skip Assumed', 'notify Run NotStarted'])
    assert.equal(plan.variables.get('url'), 'https://x')
    assert.deepEqual(problems(inFlight, workflow, { confirm: new Map([['publish', { _tag: 'Done' }]]) }), [
      { _tag: 'AssumedOutputMissing', unit: 'publish', expected: 'a value for variable "url"' }
    ])
  })

  test('the answer "done" for a completed step that would run again keeps the recorded output of the step', () => {
    const was: Workflow = { name: 'release', steps: [W.task('build'), ...workflow.steps] }
    const all = standing(was, State.completed(2, 'notify'), [
      record(0, { unit: 'build', fingerprint: W.task('build').fingerprint }),
      record(1, {
        unit: 'publish',
        fingerprint: workflow.steps[0]?.fingerprint ?? '',
        output: 'https://y',
        captured: ['url']
      }),
      record(2, { unit: 'notify', fingerprint: W.task('notify').fingerprint })
    ])
    const plan = planned(all, was, {
      evidence: [{ unit: 'build', missing: [{ _tag: 'File', path: 'dist' }] }],
      confirm: new Map([['publish', { _tag: 'Done' }]])
    })
    assert.deepEqual(tags(plan), [
      'build Run EvidenceMissing',
      'publish Skip Assumed',
      'notify Run EarlierStepRunsAgain'
    ])
    assert.equal(plan.variables.get('url'), 'https://y')
    const nothing = planned(all, was, {
      evidence: [{ unit: 'build', missing: [{ _tag: 'File', path: 'dist' }] }],
      confirm: new Map([['publish', { _tag: 'Done', output: null }]])
    })
    assert.equal(nothing.variables.get('url'), null, 'null is an output too')
  })

  test('a question is raised if an earlier attempt may have taken effect, even if the last one did nothing', () => {
    const attempt = { attempt: 1, startedAt: AT, failedAt: AT, error: Err.make('Error', 'x') }
    const state = State.failed(
      0,
      'publish',
      [
        failure({
          unit: 'publish',
          outcome: 'notApplied',
          attempts: [
            { ...attempt, outcome: 'unknown', delayBeforeNextMillis: 1 },
            { ...attempt, attempt: 2, outcome: 'notApplied' }
          ]
        })
      ],
      true
    )
    assert.equal(openQuestions(planned(standing(workflow, state), workflow)).length, 1)
  })

  test('a question is raised about a step that was interrupted in progress, even without a recorded attempt', () => {
    const state = State.interrupted(0, 'publish', 'signal', { inProgress: true })
    assert.equal(openQuestions(planned(standing(workflow, state), workflow)).length, 1)
    const renamed: Workflow = { name: 'release', steps: [W.task('push'), W.task('notify')] }
    assert.deepEqual(
      problems(standing(workflow, state), renamed).map((one) => one._tag === 'WorkflowChanged' && one.inDoubt),
      [true]
    )
  })

  test('an edit that removes a unit in doubt is refused unless changes are ignored', () => {
    const renamed: Workflow = { name: 'release', steps: [W.task('push', { idempotent: false }), W.task('notify')] }
    const [problem] = problems(inFlight, renamed)
    assert.ok(problem !== undefined)
    assert.equal(
      describeProblem(problem),
      '"publish" was removed, but is not idempotent and may have taken effect. Restore it and confirm it'
    )
    assert.ok(E.isRight(planResume(inFlight, renamed, { changes: 'ignore' })))
  })

  test('an edit that turns a unit in doubt into a wave is refused, and not called a removal', () => {
    const wave = W.wave('publish', [W.group(W.task('a'))])
    const [problem, ...more] = problems(inFlight, { name: 'release', steps: [wave, W.task('notify')] })
    assert.ok(problem !== undefined)
    assert.match(describeProblem(problem), /^"publish" now names another step; the recorded one is not idempotent/)
    assert.deepEqual(more, [])
  })
})

// ---------------------------------------------------------------------------------------------------------------------
// hash and explanation
// ---------------------------------------------------------------------------------------------------------------------

describe('an answer without a question', () => {
  const workflow: Workflow = { name: 'release', steps: [W.task('build'), W.task('publish', { idempotent: false })] }
  const failed = standing(workflow, State.failed(0, 'build', [failure({ unit: 'build' })], true))
  const answers = (answer: 'Again' | 'Done', unit = 'publish'): PlanOptions => ({
    confirm: new Map([[unit, { _tag: answer }]])
  })

  test('the answer "done" is refused if the step never ran', () => {
    for (const unit of ['publish', 'build']) {
      const [problem, ...more] = problems(failed, workflow, answers('Done', unit))
      assert.deepEqual([problem, more], [{ _tag: 'NothingToConfirm', unit }, []])
    }
  })

  test('the answers "done" and "keep" are refused for a step that fromStep runs', () => {
    const doubted = standing(workflow, State.failed(1, 'publish', [failure({ unit: 'publish' })], true), [
      record(0, { unit: 'build' })
    ])
    const why = (_tag: 'Done' | 'Keep', fromStep: string): ReadonlyArray<string> =>
      problems(doubted, workflow, { fromStep, confirm: new Map([['publish', { _tag }]]) }).map(describeProblem)
    const remedy = 'you asked to run it again; omit the answer, or run from a later step'
    for (const fromStep of ['build', 'publish']) {
      assert.deepEqual(why('Done', fromStep), [`"publish" cannot be confirmed as done: ${remedy}`])
      assert.deepEqual(why('Keep', fromStep), [`"publish" cannot be kept: ${remedy}`])
    }
  })

  test('the answer "again" without a question changes nothing', () => {
    assert.deepEqual(planned(failed, workflow, answers('Again')), planned(failed, workflow))
  })

  test('an answer about a completed step that is skipped is ignored', () => {
    const five = numbered(5)
    const checkpoint = standing(five, State.beforeStep(2, 'step-2', []), [record(0), record(1)])
    for (const _tag of ['Again', 'Done', 'Keep'] as const) {
      const { decisions } = planned(checkpoint, five, { confirm: new Map([['step-0', { _tag }]]) })
      assert.deepEqual(decisions, planned(checkpoint, five).decisions)
    }
  })

  test('the answer "done" with another output is refused for a completed step, and the same output is accepted', () => {
    const five = numbered(5)
    const saying = (output: Json): PlanOptions => ({ confirm: new Map([['step-0', { _tag: 'Done', output }]]) })
    for (const assumed of [{}, { assumed: true } as const]) {
      const state = State.beforeStep(2, 'step-2', [])
      const checkpoint = standing(five, state, [record(0, { output: { a: 1 }, ...assumed }), record(1)])
      const [problem, ...more] = problems(checkpoint, five, saying('V2'))
      assert.deepEqual([problem, more], [{ _tag: 'NothingToConfirm', unit: 'step-0', completed: true }, []])
      assert.ok(problem !== undefined)
      assert.equal(
        describeProblem(problem),
        '"step-0" has already completed with another output; omit the answer, or run from that step'
      )
      const same = { a: 1, b: undefined } as unknown as Json
      assert.deepEqual(planned(checkpoint, five, saying(same)).decisions, planned(checkpoint, five).decisions)
    }
    const redacted = standing(five, State.beforeStep(1, 'step-1', []), [record(0, { output: 'token ***' })])
    assert.deepEqual(planned(redacted, five, saying('token abcd')).decisions, planned(redacted, five).decisions)
  })
})

describe('a run that lost its newest state', () => {
  const task = { pay: W.task('pay', { idempotent: false }), plain: W.task('plain') }
  const groups = [W.group(W.task('pay', { idempotent: false })), W.group(W.task('plain'))]
  const workflow: Workflow = { name: 'shop', steps: [task.plain, task.pay, W.wave('wave', groups), W.task('last')] }
  const checkpoint = standing(workflow, State.beforeStep(0, 'plain'))

  test('after a recovery a plan raises a question about each non-idempotent unit without a record', () => {
    assert.deepEqual(openQuestions(planned(checkpoint, workflow)), [])
    const plan = planned(checkpoint, workflow, { recovered: true })
    assert.deepEqual(
      plan.decisions.map(({ _tag, unit, reason }) => [_tag, unit, reason._tag]),
      [
        ['Run', 'plain', 'NotStarted'],
        ['Confirm', 'pay', 'MaybeLost'],
        ['Confirm', 'wave', 'MaybeLost'],
        ['Confirm', 'wave/pay', 'MaybeLost'],
        ['Run', 'wave/plain', 'NotStarted'],
        ['Run', 'last', 'NotStarted']
      ]
    )
    const [question] = openQuestions(plan)
    assert.ok(question !== undefined)
    assert.match(describeQuestion(question), /the newest state is damaged, so it may have run$/)
  })

  test('after a recovery answers are accepted even about later steps', () => {
    const confirm = new Map([
      ['pay', { _tag: 'Done' }],
      ['wave/pay', { _tag: 'Again' }]
    ] as const)
    const plan = planned(checkpoint, workflow, { recovered: true, confirm })
    assert.deepEqual([openQuestions(plan), [...plan.skipSteps]], [[], [1]])
  })
})

describe('a supplied output', () => {
  const workflow: Workflow = { name: 'w', steps: [W.task('pay', { idempotent: false }), W.task('tell')] }
  const asked = standing(workflow, State.beforeStep(0, 'pay', [{ unit: 'pay', attempt: 1 }]))

  test('a supplied output that is not plain JSON is refused with the path', () => {
    const says = (output: unknown): PlanOptions => ({
      confirm: new Map([['pay', { _tag: 'Done', output: output as Json }]])
    })
    const expected = 'a Map of answers by unit; the output for "pay" must be plain JSON at $.at, not a Date'
    const [problem] = problems(asked, workflow, says({ at: new Date(0) }))
    assert.deepEqual(problem, { _tag: 'InvalidOption', option: 'confirm', expected })
    const [first] = planned(asked, workflow, says({ a: 1, b: undefined })).decisions
    assert.deepEqual(first?.reason, { _tag: 'Assumed', output: { a: 1 } })
    const outputs = new Map([['pay', new Map() as unknown as Json]])
    assert.equal(problems(asked, workflow, { fromStep: 'tell', outputs })[0]?._tag, 'AssumedOutputMissing')
  })
})

describe('a step in doubt', () => {
  test('a step in doubt needs confirmation even if a later edit declares it idempotent', () => {
    const ran: Workflow = { name: 'w', steps: [W.task('pay', { idempotent: false })] }
    const now: Workflow = { name: 'w', steps: [W.task('pay', { idempotent: true })] }
    const checkpoint = standing(ran, State.beforeStep(0, 'pay', [{ unit: 'pay', attempt: 1 }]))
    assert.equal(openQuestions(planned(checkpoint, now)).length, 1)
  })
})

describe('a completed step that was edited', () => {
  const workflow = numbered(3)
  const done = standing(workflow, State.completed(2, 'step-2'), [record(0), record(1), record(2)])
  const edited = (index: number): Workflow => ({
    ...workflow,
    steps: workflow.steps.map((step, at) => (at === index ? W.task(step.name, { definition: 'other' }) : step))
  })

  test('an edit of a completed step is accepted if fromStep runs the step again', () => {
    assert.equal(planned(done, edited(1), { fromStep: 'step-1' }).startIndex, 1)
    assert.equal(planned(done, edited(2), { fromStep: 'step-1' }).startIndex, 1)
    assert.equal(problems(done, edited(0), { fromStep: 'step-1' })[0]?._tag, 'WorkflowChanged')
    assert.equal(problems(done, edited(1), { fromStep: 'step-1', changes: 'strict' })[0]?._tag, 'WorkflowChanged')
  })

  test('an edit that removes or moves a completed step is accepted if fromStep precedes the step', () => {
    const [zero, one, two] = workflow.steps as readonly [W.Task, W.Task, W.Task]
    assert.equal(planned(done, { ...workflow, steps: [zero, one] }, { fromStep: 'step-1' }).startIndex, 1)
    assert.equal(planned(done, { ...workflow, steps: [zero, two, one] }, { fromStep: 'step-2' }).startIndex, 1)
    assert.equal(problems(done, { ...workflow, steps: [one, two] }, { fromStep: 'step-1' })[0]?._tag, 'WorkflowChanged')
  })
})

describe('restartWave', () => {
  test('restartWave on a task fails with NotAWave and lists the waves', () => {
    const workflow: Workflow = { name: 'w', steps: [W.task('a'), W.wave('checks', [W.group(W.task('g'))])] }
    const [problem] = problems(standing(workflow, State.beforeStep(0, 'a')), workflow, { restartWave: 'a' })
    assert.ok(problem !== undefined)
    assert.equal(describeProblem(problem), '"a" is not a wave, map or sequence; name one of: "checks"')
    const [none] = problems(standing(workflow, State.beforeStep(0, 'a')), workflow, { restartWave: 'x' })
    assert.ok(none !== undefined)
    assert.equal(describeProblem(none), 'wave, map or sequence "x" not found; name one of: "checks"')
    const near = { ...none, step: 'check' } as const
    assert.equal(
      describeProblem(near),
      'wave, map or sequence "check" not found; name one of: "checks". Did you mean "checks"?'
    )
    const inner = { _tag: 'UnknownStep', step: 'push', available: ['build', 'deploy', 'deploy/push'] } as const
    assert.match(describeProblem(inner), /\. Did you mean "deploy\/push"\?$/)
    const [group] = problems(standing(workflow, State.beforeStep(0, 'a')), workflow, { restartWave: 'checks/g' })
    assert.deepEqual(group, {
      _tag: 'NotAWave',
      step: 'checks/g',
      exists: true,
      available: ['checks'],
      steps: ['a', 'checks']
    })
  })

  test('restartWave in a workflow without waves is refused, and the message suggests fromStep with the steps', () => {
    const checkpoint = standing(numbered(2), State.beforeStep(0, 'step-0'))
    const told = ['x', 'step-1'].map((restartWave) =>
      problems(checkpoint, numbered(2), { restartWave }).map(describeProblem).join()
    )
    assert.deepEqual(told, [
      'wave, map or sequence "x" not found: the workflow has none; run from one of its steps instead: "step-0", "step-1"',
      '"step-1" is not a wave, map or sequence: the workflow has none; run from that step instead'
    ])
  })
})

describe('a step that is named by its number', () => {
  const ran: Workflow = {
    name: 'w',
    steps: [W.task('step-1', { idempotent: false, numbered: true, definition: 'publish' })]
  }
  const asked = standing(ran, State.beforeStep(0, 'step-1', [{ unit: 'step-1', attempt: 1 }]))
  const now: Workflow = {
    name: 'w',
    steps: [
      W.task('step-1', { numbered: true, definition: 'check' }),
      W.task('step-2', { idempotent: false, numbered: true, definition: 'publish' })
    ]
  }

  test('an edit that puts another step in the place of a step in doubt is refused unless changes are ignored or that place is forced', () => {
    assert.equal(openQuestions(planned(asked, ran)).length, 1)
    const [problem] = problems(asked, now)
    assert.ok(problem?._tag === 'WorkflowChanged' && problem.inDoubt === true && problem.edit === 'changed')
    assert.match(describeProblem(problem), /now names another step/)
    assert.equal(planned(asked, now, { changes: 'ignore' }).startIndex, 0)
    assert.equal(planned(asked, now, { fromStep: 'step-1' }).startIndex, 0)
  })

  test('an edit may put another step in the place of one that is not in doubt', () => {
    assert.equal(planned(standing(ran, State.beforeStep(0, 'step-1')), now).startIndex, 0)
  })
})

describe('an accepted edit of a completed step', () => {
  test('an edit that captures a variable is refused if the recorded step never set it', () => {
    const now: Workflow = { name: 'numbered', steps: [W.task('step-0', { captures: ['release'] }), W.task('step-1')] }
    const done = standing(numbered(2), State.completed(0, 'step-0'), [record(0, { output: 'V1' })])
    assert.deepEqual(problems(done, now, { changes: 'ignore' }), [
      { _tag: 'AssumedOutputMissing', unit: 'step-0', expected: 'a value for variable "release"' }
    ])
    assert.equal(planned(done, now, { fromStep: 'step-0', changes: 'ignore' }).startIndex, 0)
  })

  test('an edit that captures a variable is accepted with an output that sets it', () => {
    const now: Workflow = { name: 'numbered', steps: [W.task('step-0', { captures: ['release'] }), W.task('step-1')] }
    const done = standing(numbered(2), State.completed(0, 'step-0'), [record(0, { output: 'V1' })])
    const assumed = standing(numbered(2), State.completed(0, 'step-0'), [record(0, { output: 'V1', assumed: true })])
    for (const run of [done, assumed])
      for (const given of [
        { outputs: new Map([['step-0', 'V1']]) },
        { confirm: new Map([['step-0', { _tag: 'Done', output: 'V1' } as const]]) },
        { outputs: new Map([['step-0', 'V1']]), fromStep: 'step-1' }
      ]) {
        const plan = planned(run, now, { changes: 'ignore', ...given })
        assert.deepEqual(tags(plan)[0], 'step-0 Skip Assumed')
        assert.equal(plan.variables.get('release'), 'V1')
      }
  })
})

describe('a check of outputs that returns no Either', () => {
  test.each([
    ['undefined', undefined, 'undefined'],
    ['a boolean', false, 'the boolean false'],
    ['a Left of a string', E.left('a number'), 'an object']
  ])('a plan is refused if the check of a recorded output returns %s', (_, returned, kind) => {
    const broken = W.task('step-0', { accepts: () => returned as never })
    const found = problems(standing(numbered(1), State.completed(0, 'step-0'), [record(0)]), {
      name: 'numbered',
      steps: [broken]
    })
    const expected = `a value that its check accepts; the check returned ${kind}, not an Either that is right or has a mismatch`
    assert.deepEqual(found, [{ _tag: 'OutputNotDecodable', unit: 'step-0', path: '$', expected }])
  })
})

describe('a check of outputs that throws', () => {
  test('a plan is refused with the thrown message if the check of a recorded output throws', () => {
    const broken = W.task('step-0', {
      accepts: () => {
        throw new Error('broken check')
      }
    })
    const found = problems(standing(numbered(1), State.completed(0, 'step-0'), [record(0)]), {
      name: 'numbered',
      steps: [broken]
    })
    const expected = 'a value that its check accepts; the check threw: broken check'
    assert.deepEqual(found, [{ _tag: 'OutputNotDecodable', unit: 'step-0', path: '$', expected }])
  })
})

describe('the hash of a plan', () => {
  test('the hash of a plan covers variables at any depth', () => {
    const deep = (leaf: Json): Json => Array.from({ length: 498 }).reduce<Json>((inner) => [inner], leaf)
    const workflow = numbered(1)
    const hash = (leaf: Json): string =>
      hashPlan(planned(standing(workflow, State.beforeStep(0, 'step-0'), [], { a: deep(leaf) }), workflow))
    assert.notEqual(hash(1), hash(2))
    assert.equal(hash(1), hash(1))
  })

  test('the hash of a plan never changes between versions of the library', () => {
    const workflow = numbered(2)
    assert.equal(
      hashPlan(planned(standing(workflow, State.completed(0, 'step-0'), [record(0)], { a: 1 }), workflow)),
      '914fb364cc3280ff'
    )
  })
})

describe('the text of a plan', () => {
  test('the text of a plan names the action and the reason of each unit', () => {
    const idle = W.task('idle')
    const wave = W.wave('checks', [
      W.group(W.task('unit')),
      W.group(W.task('lint')),
      W.group(W.task('smoke', { idempotent: false }))
    ])
    const workflow: Workflow = {
      name: 'release',
      steps: [W.task('build'), W.task('sign'), W.task('upload'), idle, wave, W.task('notify')]
    }
    const state = State.failed(
      4,
      'checks',
      [
        failure({
          unit: 'checks/unit',
          error: Err.make('Error', 'first line\nsecond line'),
          attempts: [{ attempt: 5, startedAt: AT, failedAt: AT, error: Err.make('Error', 'x'), outcome: 'unknown' }]
        }),
        failure({ unit: 'checks/smoke', error: Err.make('Error', 'x'.repeat(300)) })
      ],
      true
    )
    const named = (stepIndex: number, fields: Partial<CompletedStep> = {}): CompletedStep =>
      record(stepIndex, {
        unit: workflow.steps[stepIndex]?.name ?? '',
        fingerprint: workflow.steps[stepIndex]?.fingerprint ?? '',
        ...fields
      })
    const checkpoint = standing(workflow, state, [
      named(0),
      named(1, { fingerprint: 'v1:old' }),
      named(2, { assumed: true }),
      named(3)
    ])
    assert.equal(
      explain(planned(checkpoint, workflow, { changes: 'ignore' })),
      `4/6 steps are done, 2 to run; 1 question to answer
  1/6  skip     build    completed
  2/6  skip     sign     completed; its definition changed since (v1:old), which is accepted
  3/6  skip     upload   assumed done
  4/6  skip     idle     completed
  5/6  confirm  checks   failed: ${'x'.repeat(199)}…
       retry      unit   failed in attempt 5: first line
       run        lint   not started
       confirm    smoke  failed: ${'x'.repeat(199)}…
  6/6  run      notify   not started`
    )
    const evidence = [
      {
        unit: 'sign',
        missing: [
          { _tag: 'Commit', hash: 'c0ffee' },
          { _tag: 'Artifact', path: 'a.tgz', size: 1, sha256: '0' },
          { _tag: 'File', path: 'b.txt' }
        ]
      }
    ] as const
    assert.equal(
      explain(planned(checkpoint, workflow, { changes: 'ignore', evidence, restartWave: 'checks' })),
      `1/6 steps are done, 5 to run
  1/6  skip     build    completed
  2/6  run      sign     evidence is missing: commit c0ffee, a.tgz, b.txt
  3/6  run      upload   the result of "sign" may differ
  4/6  run      idle     the result of "sign" may differ
  5/6  run      checks   as requested
       run        unit   as requested
       run        lint   as requested
       run        smoke  as requested
  6/6  run      notify   the result of "sign" may differ`
    )
  })

  test('the text of a long plan lists five entries of a kind and counts the rest', () => {
    const workflow = numbered(30)
    const done = Array.from({ length: 17 }, (_, index) =>
      record(index, index === 3 ? { fingerprint: 'v1:old' } : index > 13 ? { assumed: true } : {})
    )
    const checkpoint = standing(workflow, State.failed(17, 'step-17', [failure({ unit: 'step-17' })], true), done)
    assert.equal(
      explain(planned(checkpoint, workflow, { changes: 'ignore' })),
      `17/30 steps are done, 13 to run
   1/30  skip     step-0    completed
   2/30  skip     step-1    completed
   3/30  skip     step-2    completed
   4/30  skip     step-3    completed; its definition changed since (v1:old), which is accepted
   5/30  skip     step-4    completed
   6/30  skip     step-5    completed
         skip     … 8 more  completed
  15/30  skip     step-14   assumed done
  16/30  skip     step-15   assumed done
  17/30  skip     step-16   assumed done
  18/30  retry    step-17   failed: 500 error
  19/30  run      step-18   not started
  20/30  run      step-19   not started
  21/30  run      step-20   not started
  22/30  run      step-21   not started
  23/30  run      step-22   not started
         run      … 7 more  not started`
    )
  })

  test('the text of a long plan leaves out no question and no entry that is unlike its neighbours', () => {
    const names = Array.from({ length: 21 }, (_, index) => `g${index}`)
    const isAsked = (index: number): boolean => index >= 10 && index < 17
    const wave = W.wave(
      'all',
      names.map((name, index) => W.group(W.task(name, { idempotent: !isAsked(index) })))
    )
    const failed = names
      .slice(0, 17)
      .map((group, index) =>
        failure({ unit: `all/${group}`, error: Err.make('Error', isAsked(index) ? 'asked' : `no ${group}`) })
      )
    const workflow: Workflow = { name: 'wide', steps: [wave] }
    const checkpoint = standing(workflow, State.failed(0, 'all', failed, true))
    const lines = explain(planned(checkpoint, workflow)).split('\n').slice(2)
    assert.deepEqual(lines, [
      ...names.slice(0, 5).map((name) => `       retry      ${name.padEnd(8)}  failed: no ${name}`),
      '       retry      … 5 more',
      ...names.slice(10, 17).map((name) => `       confirm    ${name.padEnd(8)}  failed: asked`),
      ...names.slice(17).map((name) => `       run        ${name.padEnd(8)}  not started`)
    ])
    const six = standing(workflow, State.failed(0, 'all', failed.slice(0, 6), true))
    const retried = explain(planned(six, workflow)).split('\n').slice(2, 8)
    assert.ok(
      retried.every((line) => line.includes('retry')),
      retried.join('\n')
    )
  })

  test('the text of a plan shows why a step was interrupted', () => {
    const workflow = numbered(1)
    const text = (state: CheckpointState): string =>
      explain(planned(standing(workflow, state), workflow)).split('\n')[1] ?? ''
    assert.equal(
      text(State.beforeStep(0, 'step-0', [{ unit: 'step-0', attempt: 2 }])),
      '  1/1  retry    step-0  was running (attempt 2) when the process ended'
    )
    for (const [reason, stopped] of [
      ['signal', 'was stopped (signal)'],
      ['paused', 'was stopped (paused)'],
      ['cancelled', 'was stopped']
    ] as const)
      assert.equal(
        text(State.interrupted(0, 'step-0', reason, { inProgress: true, inFlight: [{ unit: 'step-0', attempt: 1 }] })),
        `  1/1  retry    step-0  ${stopped}`
      )
  })

  test('the text of a refused plan lists five problems of a kind, and counts the rest', () => {
    const workflow = numbered(30)
    const all = Array.from({ length: 23 }, (_, index) => record(index))
    const checkpoint = standing(workflow, State.beforeStep(23, 'step-23'), all)
    const steps = workflow.steps.map(({ name }) => W.task(name, { definition: 'other' }))
    const against = problems(checkpoint, { ...workflow, steps }, { confirm: new Map([['step-99', { _tag: 'Again' }]]) })
    assert.deepEqual(
      against.map(({ _tag }) => _tag),
      [...all.map(() => 'WorkflowChanged'), 'UnknownStep']
    )
    const few = [...against.slice(0, 5), ...against.slice(23)]
    assert.deepEqual(describeProblems(against), [...few.map(describeProblem), 'and 18 more like these'])
    assert.deepEqual(describeProblems(against.slice(0, 20)), against.slice(0, 20).map(describeProblem))
  })

  test('the text of a refused plan says for each problem what is wrong', () => {
    const unit = { unit: 'pack/eu' } as const
    const edit = { _tag: 'WorkflowChanged', ...unit, recorded: 'v1:a', present: 'v1:b' } as const
    const sentences: ReadonlyArray<readonly [PlanProblem, string]> = [
      [
        { _tag: 'WrongWorkflow', expected: 'a', found: 'b' },
        'the run belongs to workflow "a", not to "b"; resume it with that workflow, or start a new run'
      ],
      [{ _tag: 'InvalidWorkflow', problem: { _tag: 'NoSteps' } }, 'a workflow needs at least one step'],
      [{ ...edit, edit: 'changed' }, '"pack/eu" differs from its recorded definition: fingerprint v1:a, now v1:b'],
      [
        { ...edit, edit: 'removed' },
        '"pack/eu" was removed. If you accept the edit, any record of it is dropped; a step that was only renamed runs under its new name'
      ],
      [{ ...edit, edit: 'reordered' }, '"pack/eu" was moved to another place'],
      [{ ...edit, edit: 'insertedBefore' }, '"pack/eu" was inserted or moved before completed steps'],
      [{ ...edit, edit: 'added' }, '"pack/eu" was added'],
      [
        { _tag: 'InconsistentCheckpoint', why: 'x' },
        'the checkpoint is inconsistent: x; restore the run from a backup, or start a new run'
      ],
      [
        { _tag: 'OutputNotDecodable', ...unit, path: '$.a', expected: 'number' },
        'the recorded output of "pack/eu" no longer matches its step: at $.a expected number; restore the step, or run from it'
      ],
      [
        { _tag: 'AssumedOutputMissing', ...unit, expected: 'a.tgz', evidence: true },
        'cannot count "pack/eu" as done: its evidence is missing (a.tgz); restore it, or run from an earlier step'
      ]
    ]
    for (const [problem, sentence] of sentences) assert.equal(describeProblem(problem), sentence)
  })
})
