/** A plan needs no code: the recorded definition of a workflow plans as the workflow does. */
import assert from 'node:assert/strict'
import * as E from 'fp-ts/lib/Either.js'
import * as fc from 'fast-check'
import { test } from 'vitest'
import { fingerprint } from '../../src/domain/data/Digest.js'
import type { ResumePlan } from '../../src/domain/plan/Plan.js'
import { planResume } from '../../src/domain/plan/planResume.js'
import type { Step } from '../../src/domain/workflow/Workflow.js'
import { task } from '../../src/domain/workflow/Workflow.js'
import { of, toWorkflow } from '../../src/domain/workflow/WorkflowIdentity.js'
import { moment, planOptions } from '../../src/testing/planning/arbitrary/runs.js'
import { right } from '../executor/fixtures.js'
import { sweep } from '../sweep.js'

test('planning with the recorded definition of a workflow returns the plan of the workflow itself, with any answers and evidence', () => {
  const arbitrary = moment().chain((at) => fc.tuple(fc.constant(at), planOptions(at)))
  let plans = 0
  fc.assert(
    fc.property(arbitrary, ([{ checkpoint, workflow }, options]) => {
      const plan = planResume(checkpoint, { ...workflow, steps: workflow.steps.map(withoutPaths) }, options)
      // Only the workflow refuses outputs.
      if (E.isLeft(plan)) return
      plans += 1
      const recorded = right(planResume(checkpoint, toWorkflow(of(workflow)), options))
      assert.deepEqual(withoutSummaries(recorded), withoutSummaries(plan.right))
    }),
    { numRuns: sweep ? 5000 : 500, seed: 1 }
  )
  assert.ok(plans > 200, `only ${plans} plans were compared`)
})

test('the fingerprint of a task hashes its canonical definition, whatever its name', () => {
  for (const name of ['a', 'step-1', '"\\', 'ä', '__proto__'])
    for (const idempotent of [true, false])
      for (const captures of [[], ['x']])
        for (const definition of [null, 1, { b: 1, a: null }])
          assert.equal(
            task(name, { idempotent, captures, definition }).fingerprint,
            fingerprint({ kind: 'task', definition, idempotent, captures })
          )
})

/** The paths of artifacts are not recorded, so a recorded definition may ask about a change that its unit explains. */
const withoutPaths = (step: Step): Step => {
  switch (step._tag) {
    case 'Task':
      return { ...step, artifactPaths: undefined }
    case 'Sequence':
      return { ...step, steps: step.steps.map(withoutPaths) }
    case 'Wave':
      return { ...step, groups: step.groups.map((group) => ({ ...withoutPaths(group), needs: group.needs })) }
    case 'Map':
      return { ...step, each: withoutPaths(step.each) }
  }
}

/** Summaries are not recorded. */
const withoutSummaries = ({ decisions }: ResumePlan) => decisions.map(({ summary: _, ...decision }) => decision)
