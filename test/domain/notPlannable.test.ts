/** `planResume` refuses malformed arguments of untyped callers. */
import assert from 'node:assert/strict'
import * as E from 'fp-ts/lib/Either.js'
import { describe, test } from 'vitest'
import * as C from '../../src/domain/checkpoint/Checkpoint.js'
import { encode } from '../../src/domain/checkpoint/CheckpointCodec.js'
import { describeProblems } from '../../src/domain/explain/problems.js'
import { planResume } from '../../src/domain/plan/planResume.js'
import * as W from '../../src/domain/workflow/Workflow.js'
import * as WorkflowProblem from '../../src/domain/workflow/WorkflowProblem.js'
import * as Identity from '../../src/domain/workflow/WorkflowIdentity.js'

const workflow = { name: 'w', steps: [W.task('a')] }
const at = '2026-01-02T03:04:05.678Z'
const checkpoint = C.start({ _tag: 'Started', runId: 'r', workflow: Identity.of(workflow), input: {}, at })

/** A plan does not read these. */
const UNREAD: ReadonlySet<string> = new Set([
  ...['format', 'runId', 'revision', 'generation', 'createdAt', 'updatedAt'],
  ...['input', 'renewals', 'variables']
])

const ANSWERS = 'a Map of answers by unit, such as new Map([["build", { _tag: "Again" }]])'

const refusal = (one: unknown, other: unknown, options?: unknown): ReadonlyArray<string> => {
  const plan = planResume(one as never, other as never, options as never)
  return E.isLeft(plan) ? describeProblems(plan.left.problems) : assert.fail('there is a plan')
}

test('a field of an input that is undefined makes no other input', () => {
  assert.deepEqual(
    planResume(checkpoint, workflow, { input: { a: undefined } as never }),
    planResume(checkpoint, workflow)
  )
})

describe('planResume refuses malformed arguments', () => {
  test.each([
    ['undefined', undefined, 'the workflow must be a Program or a Workflow, not undefined'],
    ['a task', W.task('a'), 'steps of "a" must be an array of steps, not undefined'],
    [
      'a step that is undefined',
      { name: 'w', steps: [W.task('a'), undefined] },
      'steps of "w" must be an array of steps; step 2 is undefined'
    ],
    [
      'a step that is a function',
      { name: 'w', steps: [() => 1] },
      'steps of "w" must be an array of steps; step 1 is a function'
    ],
    [
      'a task without its fields',
      { name: 'w', steps: [{ _tag: 'Task' }] },
      'steps of "w" must be an array of steps; step 1 is an object without name, fingerprint, idempotent, captures, accepts'
    ],
    [
      'a nested step without a tag',
      { name: 'w', steps: [W.task('a'), { ...W.sequence('s', [W.task('b')]), steps: [W.task('b'), { name: 'c' }] }] },
      'steps of "s" must be an array of steps; step 2 is an object without _tag'
    ],
    [
      'a sequence without steps',
      { name: 'w', steps: [{ ...W.sequence('s', [W.task('b')]), steps: undefined }] },
      'steps of "w" must be an array of steps; step 1 is an object without steps'
    ],
    [
      'a group without needs',
      { name: 'w', steps: [{ ...W.wave('all', []), groups: [W.group(W.task('a')), W.task('b')] }] },
      'groups of "all" must be an array of groups; group 2 is an object without needs'
    ],
    [
      'a group that is null',
      { name: 'w', steps: [W.sequence('s', [{ ...W.wave('all', []), groups: [null as never] }])] },
      'groups of "s/all" must be an array of groups; group 1 is null'
    ],
    [
      'a map whose body has no steps',
      { name: 'w', steps: [{ ...W.mapOf('all', W.task('a')), each: { _tag: 'Sequence' } }] },
      'each of "all" must be a step, not an object without name, fingerprint, ownFingerprint, steps'
    ],
    [
      'secrets that are a string',
      { name: 'w', steps: [W.task('a')], secrets: 'TOKEN' },
      'secrets of "w" must be an array of names of 1 to 128 characters without whitespace or "="'
    ],
    [
      'secrets that are numbers',
      { name: 'w', steps: [W.task('a')], secrets: [1] },
      'secrets of "w" must be an array of names of 1 to 128 characters without whitespace or "="'
    ],
    [
      'captured variables that are numbers',
      { name: 'w', steps: [{ ...W.task('a'), captures: [1] }] },
      'steps of "w" must be an array of steps; step 1 is an object with invalid captures'
    ],
    [
      'an unknown wait',
      { name: 'w', steps: [{ ...W.task('a'), wait: 'x' }] },
      'steps of "w" must be an array of steps; step 1 is an object with invalid wait'
    ],
    [
      'a step without a name',
      { name: 'w', steps: [{ ...W.sequence('s', [W.task('b')]), name: undefined }] },
      'steps of "w" must be an array of steps; step 1 is an object without name'
    ],
    [
      'a step in a sequence whose name is an object',
      { name: 'w', steps: [W.sequence('s', [W.task({ name: 'a' } as never)])] },
      'steps of "s" must be an array of steps; step 1 is an object with invalid name'
    ],
    [
      'a map whose name is a number',
      { name: 'w', steps: [W.mapOf(1e21 as never, W.task('a'))] },
      'steps of "w" must be an array of steps; step 1 is an object with invalid name'
    ]
  ])('planResume refuses a malformed workflow: %s', (_, given, text) => {
    assert.deepEqual(refusal(checkpoint, given), [text])
    assert.deepEqual(WorkflowProblem.problems(given as never).map(WorkflowProblem.describeProblem), [text])
  })

  test.each([
    ['null', null, 'options must be an object, not null'],
    ['a fromStep that is null', { fromStep: null }, 'fromStep must be a string'],
    ['a restartWave that is a number', { restartWave: 1 }, 'restartWave must be a string'],
    ['a confirm that is null', { confirm: null }, `confirm must be ${ANSWERS}`],
    [
      'outputs that are an object',
      { outputs: { a: 1 } },
      'outputs must be a Map of outputs by unit, such as new Map([["build", "1.2.3"]])'
    ],
    ['a confirm that is a Proxy of a Map', { confirm: new Proxy(new Map(), {}) }, `confirm must be ${ANSWERS}`],
    [
      'outputs in a Proxy of a Map',
      { outputs: new Proxy(new Map([['a', 1]]), {}) },
      'outputs must be a Map of outputs by unit, such as new Map([["build", "1.2.3"]])'
    ],
    ['evidence that is null', { evidence: null }, 'evidence must be an array of what collectEvidence returns'],
    ['evidence that is a Map', { evidence: new Map() }, 'evidence must be an array of what collectEvidence returns'],
    [
      'an entry of evidence that is null',
      { evidence: [null] },
      'evidence must be an array of what collectEvidence returns'
    ],
    [
      'missing evidence that is null',
      { evidence: [{ unit: 'a', missing: [null] }] },
      'evidence must be an array of what collectEvidence returns'
    ],
    [
      'changed evidence without a record',
      { evidence: [{ unit: 'a', changed: [{}] }] },
      'evidence must be an array of what collectEvidence returns'
    ],
    [
      'changed evidence whose current state is a number',
      { evidence: [{ unit: 'a', changed: [{ was: { _tag: 'File', path: 'a', size: 1, sha256: '0' }, is: 5 }] }] },
      'evidence must be an array of what collectEvidence returns'
    ],
    [
      'missing evidence that is undefined',
      { evidence: [{ unit: 'a', missing: undefined, changed: [] }] },
      'evidence must be an array of what collectEvidence returns'
    ],
    [
      'evidence with an unknown tag',
      { evidence: [{ unit: 'a', missing: [{ _tag: 'artifact', path: 'a' }] }] },
      'evidence must be an array of what collectEvidence returns'
    ],
    [
      'an artifact without a path',
      { evidence: [{ unit: 'a', changed: [{ was: { _tag: 'Artifact' } }] }] },
      'evidence must be an array of what collectEvidence returns'
    ],
    [
      'an input that is not plain JSON',
      { fromStep: 'a', input: { at: 1n } },
      'input must be plain JSON at $.at, not a bigint'
    ],
    ['evidence with a hole', { evidence: new Array(1) }, 'evidence must be an array of what collectEvidence returns'],
    [
      'a confirm with a number as a unit',
      { confirm: new Map([[1, { _tag: 'Again' }]]) },
      'confirm must be a Map of answers by unit; a unit must be a string, not the number 1'
    ],
    [
      'outputs with a number as a unit',
      { outputs: new Map([[1, 'x']]) },
      'outputs must be a Map of outputs by unit; a unit must be a string, not the number 1'
    ],
    ['a confirm with `get` alone', { confirm: { get: () => undefined } }, `confirm must be ${ANSWERS}`],
    [
      'an answer that is null',
      { confirm: new Map([['a', null]]) },
      `confirm must be a Map of answers by unit; the answer to "a" must be { _tag: 'Again' }, { _tag: 'Keep' } or { _tag: 'Done' }, not null`
    ],
    ['changes that are unknown', { changes: 'all' }, "changes must be 'strict', 'completed' or 'ignore'"],
    ['recovered that is a string', { recovered: 'yes' }, 'recovered must be true or false']
  ])('planResume refuses malformed options: %s', (_, given, text) => {
    assert.deepEqual(refusal(checkpoint, workflow, given), [text])
  })

  const damaged = Object.keys(checkpoint)
    .filter((field) => !UNREAD.has(field))
    .flatMap((field): ReadonlyArray<readonly [string, unknown]> => [
      [`a checkpoint whose ${field} is null`, { ...checkpoint, [field]: null }],
      [`a checkpoint without ${field}`, { ...checkpoint, [field]: undefined }]
    ])

  test.each<readonly [string, unknown]>([
    ['undefined', undefined],
    ['a workflow', workflow],
    ['the JSON of a checkpoint', JSON.parse(JSON.stringify(encode(checkpoint)))],
    [
      'a checkpoint with a step that is null',
      { ...checkpoint, workflow: { ...checkpoint.workflow, steps: [...checkpoint.workflow.steps, null] } }
    ],
    ['a checkpoint whose pending units are an array', { ...checkpoint, pending: [] }],
    ['a checkpoint whose records are a Map', { ...checkpoint, completedSteps: new Map() }],
    ['a checkpoint whose records are a Proxy of a Map', { ...checkpoint, completedSteps: new Proxy(new Map(), {}) }],
    ['a checkpoint whose attempts are an array', { ...checkpoint, state: { ...checkpoint.state, inFlight: [] } }],
    ['a checkpoint whose failures are a Set', { ...checkpoint, state: { ...checkpoint.state, failures: new Set() } }],
    ...damaged
  ])('planResume refuses a malformed checkpoint: %s', (_, given) => {
    assert.match(
      refusal(given, workflow).join(),
      /^the checkpoint must be a Checkpoint, not (undefined|an object that is malformed( \(at \$\.\S+ expected .+\))?); decode stored JSON with CheckpointCodec\.decode$/
    )
  })

  test.each<readonly [string, object, string]>([
    ['createdAt is null', { createdAt: null }, '$.createdAt expected a UTC time'],
    ['renewals are a number', { renewals: 5 }, '$.renewals expected a Map'],
    ['pending units are an array', { pending: [] }, '$.pending expected a list that Dogear made'],
    ['records are a Map', { completedSteps: new Map() }, '$.completedSteps expected a list that Dogear made'],
    ['records are null', { completedSteps: null }, '$.completedSteps expected a list that Dogear made'],
    ['pending units are a number', { pending: 5 }, '$.pending expected a list that Dogear made'],
    ['answers are an empty array', { answers: [] }, '$.answers expected a list that Dogear made'],
    ['answers are an empty Map', { answers: new Map() }, '$.answers expected a list that Dogear made'],
    ['submissions are a string', { submissions: 'x' }, '$.submissions expected a list that Dogear made'],
    ['items are a number', { items: 5 }, '$.items expected a Map'],
    ['items are a string', { items: 'x' }, '$.items expected a Map'],
    [
      'state has an unknown tag',
      { state: { ...checkpoint.state, _tag: 'Running' } },
      '$.state._tag expected BeforeStep, Completed, Failed or Interrupted'
    ],
    ['state is a number', { state: 5 }, '$.state expected an object'],
    [
      'attempts are null',
      { state: { ...checkpoint.state, inFlight: null } },
      '$.state.inFlight expected a list that Dogear made'
    ],
    [
      'failures are a Map',
      { state: { ...checkpoint.state, failures: new Map() } },
      '$.state.failures expected a list that Dogear made'
    ],
    ['workflow is a string', { workflow: 'x' }, '$.workflow.steps expected an array']
  ])('a checkpoint whose %s is refused with that field, whatever else is wrong', (_, more, named) => {
    const steps = ['a', 'b'].map((name) => Object.defineProperty(W.task(name), 'summary', { get: () => assert.fail() }))
    const started = { ...checkpoint, workflow: Identity.of({ name: 'w', steps: [W.task('a'), W.task('b')] }), ...more }
    const refused = refusal(started, { name: 'w', steps }, { fromStep: 'b' }).join()
    assert.ok(refused.includes(`malformed (at ${named}`), refused)
  })
})
