import assert from 'node:assert/strict'
import * as E from 'fp-ts/lib/Either.js'
import * as fc from 'fast-check'
import { describe, test } from 'vitest'
import { forked } from '../../src/domain/change/forked.js'
import { restore } from '../../src/domain/change/restore.js'
import { replay } from '../../src/domain/change/Transition.js'
import type { Checkpoint } from '../../src/domain/checkpoint/Checkpoint.js'
import { encode } from '../../src/domain/checkpoint/CheckpointCodec.js'
import * as IdempotencyKey from '../../src/domain/checkpoint/IdempotencyKey.js'
import { overrides } from '../../src/domain/plan/Overrides.js'
import { openQuestions } from '../../src/domain/plan/Plan.js'
import { planResume } from '../../src/domain/plan/planResume.js'
import { ancestors } from '../../src/domain/workflow/Unit.js'
import { toWorkflow } from '../../src/domain/workflow/WorkflowIdentity.js'
import * as arb from '../../src/testing/planning/arbitrary/Arbitrary.js'
import { recorded, scheduled } from '../../src/testing/planning/laws/PlanLaw.js'
import { law } from './law.js'

const at = '2027-01-02T03:04:05.000Z'

interface Fork {
  readonly old: Checkpoint
  readonly fromStep: string
  readonly made: Checkpoint
}

/** A fork of any run at any of its units, if no question is open. */
const forks = fc.tuple(arb.moment(), fc.nat({ max: 999 })).map(([{ checkpoint: old }, nth]): Fork | undefined => {
  const workflow = toWorkflow(old.workflow)
  const plan = planResume(old, workflow)
  if (E.isLeft(plan)) return undefined
  const { decisions } = plan.right
  const fromStep = decisions[nth % decisions.length]?.unit ?? ''
  const from = planResume(old, workflow, { fromStep })
  if (E.isLeft(from) || openQuestions(from.right).length > 0) return undefined
  const rewound = replay(old, overrides(old, workflow, from.right, { fromStep }, at))
  assert.ok(E.isRight(rewound))
  const origin = { runId: old.runId, revision: old.revision, unit: fromStep }
  return { old, fromStep, made: forked(rewound.right, { at, runId: 'fork', from: origin }) }
})

const made = forks.filter((fork) => fork !== undefined)

describe('a fork of an arbitrary run', () => {
  test('most sampled runs can be forked at the sampled unit', () => {
    const sample = fc.sample(forks, { numRuns: 300, seed: 7 })
    assert.ok(sample.filter((fork) => fork !== undefined).length > 200)
  })

  law('a fork is unchanged after it is stored and restored', made, ({ made: fork }) => {
    const restored = restore({ checkpoint: encode(fork), changes: [] })
    assert.ok(E.isRight(restored))
    assert.deepEqual(encode(restored.right), encode(fork))
  })

  law(
    'the plan of a fork runs the unit that it was forked at, and every unit without a record',
    made,
    ({ made: fork, fromStep }) => {
      const plan = planResume(fork, toWorkflow(fork.workflow))
      assert.ok(E.isRight(plan), JSON.stringify(plan))
      assert.deepEqual(openQuestions(plan.right), [])
      const due = plan.right.decisions.filter(({ _tag }) => _tag !== 'Skip').map(({ unit }) => unit)
      // A sub-step without a record is unknown until its task runs.
      assert.ok(
        [fromStep, ...ancestors(fromStep)].some((unit) => due.includes(unit)),
        `${fromStep}: ${due.join(', ')}`
      )
      const records = recorded(fork)
      assert.deepEqual(
        scheduled(plan.right).filter((unit) => records.has(unit)),
        []
      )
    }
  )

  law('a fork changes no record of the old run, and adds only assumed ones', made, ({ old, made: fork }) => {
    const before = new Map([...old.completedSteps].map((record) => [record.unit, record]))
    for (const record of fork.completedSteps)
      if (record.assumed !== true) assert.deepEqual(record, before.get(record.unit))
  })

  law('a fork uses no idempotency key of the old run', made, ({ old, made: fork }) => {
    const plan = planResume(fork, toWorkflow(fork.workflow))
    assert.ok(E.isRight(plan))
    for (const unit of scheduled(plan.right))
      assert.notEqual(IdempotencyKey.of(fork, unit), IdempotencyKey.of(old, unit))
    assert.deepEqual([fork.submissions.size, fork.pending.size], [0, 0])
  })
})
