/** Answers to questions beforehand lead to the same plan as answers at the resume. */
import assert from 'node:assert/strict'
import * as E from 'fp-ts/lib/Either.js'
import * as fc from 'fast-check'
import { test } from 'vitest'
import { replay } from '../../src/domain/change/Transition.js'
import type { Checkpoint } from '../../src/domain/checkpoint/Checkpoint.js'
import { answerQuestion } from '../../src/domain/plan/answerQuestion.js'
import { overrides } from '../../src/domain/plan/Overrides.js'
import type { Answer, PlanOptions, ResumePlan } from '../../src/domain/plan/Plan.js'
import { openQuestions } from '../../src/domain/plan/Plan.js'
import { planResume } from '../../src/domain/plan/planResume.js'
import type { Workflow } from '../../src/domain/workflow/Workflow.js'
import { of, toWorkflow } from '../../src/domain/workflow/WorkflowIdentity.js'
import { moment } from '../../src/testing/planning/arbitrary/runs.js'
import { right } from '../executor/fixtures.js'
import { sweep } from '../sweep.js'

const at = '2026-01-02T03:04:05.006Z'

const runs = { numRuns: sweep ? 5000 : 300, seed: 1 }

const planOf = (checkpoint: Checkpoint, workflow: Workflow, options: PlanOptions = {}): ResumePlan =>
  right(planResume(checkpoint, workflow, options))

/** Summaries are not recorded. */
const recordable = ({ decisions }: ResumePlan) => decisions.map(({ summary: _, ...decision }) => decision)

const outline = ({ decisions }: ResumePlan) => decisions.map(({ unit, _tag }) => [unit, _tag])

test('the recorded definition of a workflow plans as the workflow itself', () => {
  fc.assert(
    fc.property(moment(), ({ checkpoint, workflow }) => {
      const recorded = toWorkflow(of(workflow))
      assert.deepEqual(recordable(planOf(checkpoint, recorded)), recordable(planOf(checkpoint, workflow)))
    }),
    runs
  )
})

test('questions answered one by one leave the plan that answers to all of them leave', () => {
  let answered = 0
  fc.assert(
    fc.property(moment(), fc.infiniteStream(fc.boolean()), ({ checkpoint, workflow }, choices) => {
      const questions = openQuestions(planOf(checkpoint, workflow)).map(({ unit }) => unit)
      const answers = new Map(
        questions.map((unit): [string, Answer] => [
          unit,
          choices.next().value === true ? { _tag: 'Again' } : { _tag: 'Done', output: 'given' }
        ])
      )
      let each = checkpoint
      for (const [unit, answer] of answers) {
        each = right(replay(each, right(answerQuestion(each, [], { unit, answer, at }))))
        answered += 1
      }
      const identified = { ...workflow, identity: of(workflow) }
      const options = { confirm: answers }
      const together = planResume(checkpoint, workflow, options)
      if (E.isLeft(together)) return
      const all = right(replay(checkpoint, overrides(checkpoint, identified, together.right, options, at)))
      assert.deepEqual(outline(planOf(each, workflow)), outline(planOf(all, workflow)))
      assert.deepEqual(openQuestions(planOf(each, workflow)), [])
    }),
    runs
  )
  assert.ok(answered > 20, `only ${answered} answers were tried`)
})
