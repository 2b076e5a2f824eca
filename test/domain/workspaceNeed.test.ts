import assert from 'node:assert/strict'
import * as E from 'fp-ts/lib/Either.js'
import { describe } from 'vitest'
import { make } from '../../src/domain/checkpoint/Checkpoint.js'
import { overrides } from '../../src/domain/plan/Overrides.js'
import type { PlanOptions, ResumePlan } from '../../src/domain/plan/Plan.js'
import { openQuestions } from '../../src/domain/plan/Plan.js'
import { planResume } from '../../src/domain/plan/planResume.js'
import { replay } from '../../src/domain/change/Transition.js'
import type { Checkpoint } from '../../src/domain/checkpoint/Checkpoint.js'
import { of as identityOf } from '../../src/domain/workflow/WorkflowIdentity.js'
import { needOf, wasAttempted } from '../../src/domain/plan/WorkspaceNeed.js'
import * as arb from '../../src/testing/planning/arbitrary/Arbitrary.js'
import { momentWithOptions } from '../../src/testing/planning/arbitrary/runs.js'
import type { Moment } from '../../src/testing/planning/arbitrary/RunRecorder.js'
import { law } from './law.js'

const inWorkspace = (checkpoint: Checkpoint): Checkpoint =>
  make({ ...checkpoint, workspace: { kind: 'directory', path: '/ws/r' } })

/** A run with its own workspace, a plan for it, and the checkpoint after the overrides of the plan are recorded. */
const planned = (
  { checkpoint, workflow }: Moment,
  options: PlanOptions
): { readonly before: Checkpoint; readonly plan: ResumePlan; readonly after: Checkpoint } | undefined => {
  const before = inWorkspace(checkpoint)
  const plan = planResume(before, workflow, options)
  // A unit with an open question is not executed, so what waits there may still have seen the input.
  if (E.isLeft(plan) || (plan.right.input !== undefined && openQuestions(plan.right).length > 0)) return undefined
  const identified = { ...workflow, identity: identityOf(workflow) }
  const carry = overrides(before, identified, plan.right, options, before.updatedAt)
  const after = replay(before, carry)
  return E.isRight(after) ? { before, plan: plan.right, after: after.right } : assert.fail(after.left.why)
}

const RUNS = 170

describe('the workspace that a plan needs', () => {
  law(
    'a plan needs a new workspace only if it keeps no work of the run',
    momentWithOptions(),
    ({ moment, options }) => {
      const found = planned(moment, options)
      if (found === undefined || needOf(found.before, found.plan) !== 'Make') return
      if (!wasAttempted(found.before)) return
      assert.deepEqual([...found.plan.skipSteps], [])
      assert.equal(found.after.completedSteps.size, 0)
    },
    RUNS
  )

  law(
    'a plan needs the new workspace that an earlier resume planned before it crashed',
    arb.moment(),
    (moment) => {
      const [first] = moment.workflow.steps
      const found = planned(moment, { fromStep: first?.name ?? '', changes: 'ignore' })
      if (found === undefined || needOf(found.before, found.plan) !== 'Make') return
      assert.equal(wasAttempted(found.after), false)
      const again = planResume(found.after, moment.workflow)
      assert.ok(E.isRight(again))
      assert.equal(needOf(found.after, again.right), 'Make')
    },
    RUNS
  )

  law(
    'a plan that runs nothing needs no workspace',
    momentWithOptions(),
    ({ moment, options }) => {
      const found = planned(moment, options)
      if (found === undefined) return
      const runs = found.plan.decisions.some(({ _tag }) => _tag !== 'Skip' && _tag !== 'Poll')
      assert.equal(needOf(found.before, found.plan) === 'Nothing', !runs)
    },
    RUNS
  )

  law(
    'a plan needs the existing workspace once an attempt was made, unless everything runs again',
    momentWithOptions(),
    ({ moment, options: { fromStep: _, restartWave: __, ...options } }) => {
      const found = planned(moment, options)
      if (found === undefined || !wasAttempted(found.before)) return
      assert.notEqual(needOf(found.before, found.plan), 'Make')
    },
    RUNS
  )
})
