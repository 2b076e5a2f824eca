import assert from 'node:assert/strict'
import * as E from 'fp-ts/lib/Either.js'
import { describe, test } from 'vitest'
import type { Change } from '../../src/domain/change/Change.js'
import { decode as decodeChange } from '../../src/domain/change/ChangeCodec.js'
import type { Checkpoint } from '../../src/domain/checkpoint/Checkpoint.js'
import { start } from '../../src/domain/checkpoint/Checkpoint.js'
import { decode, encode } from '../../src/domain/checkpoint/CheckpointCodec.js'
import { describeProblem } from '../../src/domain/explain/problems.js'
import type { Json } from '../../src/domain/data/Json.js'
import { overrides } from '../../src/domain/plan/Overrides.js'
import type { PlanOptions, ResumePlan } from '../../src/domain/plan/Plan.js'
import { hashPlan } from '../../src/domain/plan/Plan.js'
import { planResume } from '../../src/domain/plan/planResume.js'
import { apply, replay } from '../../src/domain/change/Transition.js'
import * as W from '../../src/domain/workflow/Workflow.js'
import * as Identity from '../../src/domain/workflow/WorkflowIdentity.js'

const at = '2026-01-02T03:04:05.000Z'

const workflow = { name: 'two', steps: [W.task('one', { captures: ['made'] }), W.task('two')] }
const identity = Identity.of(workflow)

const one = { at, unit: 'one' }
const two = { at, unit: 'two' }
const error = { name: 'Error', message: 'no' }

const begun = start({ _tag: 'Started', at, runId: 'two-1', workflow: identity, input: { who: 'Ada', how: 'well' } })

const from = (checkpoint: Checkpoint, ...changes: ReadonlyArray<Change>): Checkpoint => {
  const found = replay(checkpoint, changes)
  return E.isRight(found) ? found.right : assert.fail(JSON.stringify(found.left))
}

const completed = { output: 'it', captured: ['made'], attempts: 1, startedAt: at, durationMillis: 0, evidence: [] }
const starts = (place: typeof one): Change => ({
  _tag: 'AttemptStarted',
  at,
  attempts: [{ unit: place.unit, attempt: 1 }]
})
const replaces = (input: Json): Change => ({ _tag: 'InputReplaced', at, input })

const half = from(begun, starts(one), { _tag: 'UnitCompleted', ...one, ...completed })
const running = from(half, starts(two))
const failed = from(running, {
  _tag: 'UnitFailed',
  ...two,
  retryable: false,
  last: { attempt: 1, startedAt: at, error, outcome: 'unknown' }
})
const waiting = from(
  half,
  { _tag: 'AttemptStarted', at, attempts: [{ unit: 'two', attempt: 1 }], submissions: [{ unit: 'two', key: 'k' }] },
  { _tag: 'JobSubmitted', ...two, attempt: 1 }
)

const planned = (checkpoint: Checkpoint, options: PlanOptions): ResumePlan => {
  const plan = planResume(checkpoint, workflow, options)
  return E.isRight(plan) ? plan.right : assert.fail(JSON.stringify(plan.left))
}

describe('InputReplaced', () => {
  test('InputReplaced keeps every record and the state, and updates the variables from the input', () => {
    const replaced = from(half, replaces({ who: 'Bob' }))
    assert.deepEqual([...replaced.completedSteps], [...half.completedSteps])
    assert.deepEqual([replaced.state, replaced.generation], [half.state, half.generation])
    assert.deepEqual(Object.fromEntries(replaced.variables), { who: 'Bob', made: 'it' })
    assert.equal(replaced.revision, half.revision + 1)
  })

  test.each([null, 0, '', false, []])('InputReplaced accepts any JSON: %j', (input) => {
    const replaced = from(half, replaces(input))
    assert.deepEqual(replaced.input, input)
    const read = decode(JSON.parse(JSON.stringify(encode(replaced))))
    assert.deepEqual(E.isRight(read) && read.right.input, input)
  })

  test('InputReplaced is refused while an attempt or a pending job uses the old input', () => {
    const why = (checkpoint: Checkpoint): string => {
      const next = apply(checkpoint, replaces({ who: 'Bob' }))
      return E.isLeft(next) ? next.left.why : 'accepted'
    }
    assert.deepEqual([running, failed, waiting].map(why), ['AttemptOpen', 'AttemptOpen', 'StillPending'])
  })

  test('InputReplaced decodes from its stored form, and is refused without an input', () => {
    const stored = replaces({ who: 'Bob' })
    assert.deepEqual(decodeChange(JSON.parse(JSON.stringify(stored))), E.right(stored))
    assert.ok(E.isLeft(decodeChange({ _tag: 'InputReplaced', at })))
  })
})

describe('a plan with another input', () => {
  const options = { fromStep: 'two', input: { who: 'Bob' } }

  test('a plan with another input has the variables of that input and the captured ones of completed steps', () => {
    const plan = planned(half, options)
    assert.deepEqual(Object.fromEntries(plan.variables), { who: 'Bob', made: 'it' })
    assert.deepEqual(plan.input, { who: 'Bob' })
    assert.notEqual(hashPlan(plan), hashPlan(planned(half, { fromStep: 'two' })))
  })

  test('a plan with an input equal to the recorded one equals the plan without an input', () => {
    const same = planned(half, { fromStep: 'two', input: { how: 'well', who: 'Ada' } })
    assert.equal('input' in same, false)
    assert.equal(hashPlan(same), hashPlan(planned(half, { fromStep: 'two' })))
    assert.equal('input' in planned(half, { input: { how: 'well', who: 'Ada' } }), false)
  })

  test('a plan with another input is refused without fromStep', () => {
    const plan = planResume(half, workflow, { input: { who: 'Bob' } })
    const problems = E.isLeft(plan) ? plan.left.problems : []
    assert.deepEqual(problems, [{ _tag: 'InputWithoutStep' }])
    assert.match(problems.map(describeProblem).join(), /name the step from which it applies/)
  })

  test.each([
    ['failed', failed],
    ['waiting for a job', waiting],
    ['in flight', running],
    ['before its first step', begun],
    ['completed', from(running, { _tag: 'UnitCompleted', ...two, ...completed, captured: [] })]
  ])('a plan with another input records that input after all rewinds: a run that is %s', (_, checkpoint) => {
    const program = { ...workflow, identity }
    const asked = { ...options, outputs: new Map([['one', 'given']]) }
    const changes = overrides(checkpoint, program, planned(checkpoint, asked), asked, at)
    assert.deepEqual(changes.at(-1), replaces({ who: 'Bob' }))
    assert.deepEqual(from(checkpoint, ...changes).input, { who: 'Bob' })
  })
})
