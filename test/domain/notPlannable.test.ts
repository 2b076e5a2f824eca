/** `planResume` refuses what untyped callers pass in place of a checkpoint or a workflow. */
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

const refusal = (one: unknown, other: unknown): ReadonlyArray<string> => {
  const plan = planResume(one as never, other as never)
  return E.isLeft(plan) ? describeProblems(plan.left.problems) : assert.fail('there is a plan')
}

describe('planResume refuses', () => {
  test.each([
    ['undefined', undefined, 'the workflow must be a Program or a Workflow, not undefined'],
    ['a step', W.task('a'), 'steps of "a" must be an array of steps, not undefined'],
    [
      'a missing step',
      { name: 'w', steps: [W.task('a'), undefined] },
      'steps of "w" must be an array of steps; step 2 is undefined'
    ],
    ['a function', { name: 'w', steps: [() => 1] }, 'steps of "w" must be an array of steps; step 1 is a function']
  ])('%s in place of a workflow', (_, given, text) => {
    assert.deepEqual(refusal(checkpoint, given), [text])
    assert.deepEqual(WorkflowProblem.problems(given as never).map(WorkflowProblem.describeProblem), [text])
  })

  test.each([
    ['undefined', undefined],
    ['a workflow', workflow],
    ['the JSON of a checkpoint', JSON.parse(JSON.stringify(encode(checkpoint))) as unknown]
  ])('%s in place of a checkpoint', (_, given) => {
    assert.match(refusal(given, workflow).join(), /^the checkpoint is inconsistent: it is .+; decode stored JSON/)
  })
})
