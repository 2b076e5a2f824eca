import assert from 'node:assert/strict'
import * as E from 'fp-ts/lib/Either.js'
import * as fc from 'fast-check'
import * as t from 'io-ts'
import { describe, test } from 'vitest'
import type * as Change from '../../../src/domain/change/Change.js'
import type * as Plan from '../../../src/domain/plan/Plan.js'
import { CheckpointCodec, planResume, Transition, Workflow } from '../../../src/index.js'
import { workflow } from '../../../src/promise/index.js'
import * as Arbitrary from '../../../src/testing/planning/arbitrary/Arbitrary.js'
import { law } from '../../domain/law.js'

const release = workflow('release')
  .step('version', { output: t.string, capture: 'version', run: () => '1.2.3' })
  .wave('checks', { unit: () => 42, lint: { needs: ['unit'], output: t.boolean, run: () => true } })
  .step('publish', { idempotent: false, run: () => 'published' })

const outputs = { version: fc.constantFrom('1.0.0', '2.0.0'), publish: fc.constant<null>(null) }

const COUNT = 50

describe('an arbitrary checkpoint of a workflow', () => {
  law(
    'has a plan for that workflow, and gives outputs that were given for it',
    Arbitrary.checkpoint({ workflow: release, outputs }),
    (checkpoint) => {
      assert.ok(E.isRight(planResume(checkpoint, release)))
      for (const { unit, output } of checkpoint.completedSteps) {
        if (unit === 'version') assert.ok(output === '1.0.0' || output === '2.0.0')
        if (unit === 'publish') assert.ok(output === null)
      }
    },
    COUNT
  )

  law(
    'is what the changes of its run lead to',
    Arbitrary.run({ workflow: release }),
    ({ changes, trail, checkpoint }) => {
      const [first] = trail
      assert.ok(first)
      const replayed = Transition.replay(first.checkpoint, changes.slice(1))
      assert.deepEqual(E.map(CheckpointCodec.encode)(replayed), E.right(CheckpointCodec.encode(checkpoint)))
    },
    COUNT
  )

  test('comes in every state', () => {
    const states = fc
      .sample(Arbitrary.checkpoint({ workflow: release }), { numRuns: 300, seed: 1 })
      .map(({ state }) => state._tag)
    assert.deepEqual([...new Set(states)].sort(), ['BeforeStep', 'Completed', 'Failed', 'Interrupted'])
  })

  test('is refused, naming the units, if no output is known that they accept', () => {
    const picky = {
      name: 'w',
      steps: [Workflow.task('a', { accepts: () => E.left({ path: '$', expected: 'nothing' }) })]
    }
    assert.throws(() => Arbitrary.checkpoint({ workflow: picky }), /units accept; give them in "outputs": a$/)
  })
})

describe('an arbitrary run', () => {
  test('has trouble often enough that laws are tried on it', () => {
    const runs = fc.sample(Arbitrary.run(), { numRuns: 500, seed: 1 })
    const share = (tag: Change.Change['_tag']): number =>
      runs.filter(({ changes }) => changes.some(({ _tag }) => _tag === tag)).length / runs.length
    for (const tag of ['AttemptFailed', 'UnitFailed', 'Interrupted', 'Rewound', 'Confirmed'] as const)
      assert.ok(share(tag) >= 0.1, `${tag}: ${share(tag)}`)
    for (const tag of ['WorkflowEdited', 'Assumed'] as const) assert.ok(share(tag) >= 0.05, `${tag}: ${share(tag)}`)
  })
})

describe('a damaged checkpoint', () => {
  law(
    'differs in one place, and is refused or planned for; nothing throws',
    Arbitrary.damagedCheckpoint({ workflow: release }),
    ({ content, path }) => {
      assert.ok(path.length > 0)
      const decoded = CheckpointCodec.decode(content)
      if (E.isLeft(decoded)) assert.ok(CheckpointCodec.describe(decoded.left).length > 0)
      else planResume(decoded.right, release)
    },
    COUNT
  )

  test('is refused at times, and at times it is not', () => {
    const decoded = fc
      .sample(Arbitrary.damagedCheckpoint({ workflow: release }), { numRuns: 300, seed: 1 })
      .map(({ content }) => CheckpointCodec.decode(content)._tag)
    assert.ok(decoded.includes('Left') && decoded.includes('Right'))
  })

  test('has something twice only where there is a list, and says so only then', () => {
    const doubled = fc
      .sample(Arbitrary.damagedCheckpoint({ workflow: release }), { numRuns: 300, seed: 1 })
      .filter((one) => one.doubled === true)
    assert.ok(doubled.length > 0)
    for (const { content, path, was } of doubled) {
      const at = (keys: ReadonlyArray<string>): unknown =>
        keys.reduce<unknown>((value, key) => (value as Record<string, unknown>)[key], content)
      const [list, index] = [at(path.slice(0, -1)), Number(path.at(-1))]
      assert.ok(Array.isArray(list))
      assert.deepEqual([list[index], list[index + 1]], [was, was])
    }
  })
})

describe('arbitrary plan options', () => {
  law(
    'name steps that there are',
    Arbitrary.moment({ workflow: release }).chain((moment) =>
      fc.tuple(fc.constant(moment), Arbitrary.planOptions(moment, outputs))
    ),
    ([{ checkpoint, workflow: edited }, options]) => {
      const plan = planResume(checkpoint, edited, options)
      if (E.isRight(plan)) return
      const tags: ReadonlyArray<Plan.PlanProblem['_tag']> = ['UnknownStep', 'NotAWave', 'InvalidWorkflow']
      for (const problem of plan.left.problems) assert.ok(!tags.includes(problem._tag), problem._tag)
    },
    COUNT
  )

  test('ask for everything that can be asked', () => {
    const [moment] = fc.sample(Arbitrary.moment({ workflow: release }), { numRuns: 1, seed: 3 })
    assert.ok(moment)
    const keys = fc.sample(Arbitrary.planOptions(moment), { numRuns: 300, seed: 1 }).flatMap(Object.keys)
    assert.deepEqual([...new Set(keys)].sort(), [
      'changes',
      'confirm',
      'evidence',
      'fromStep',
      'input',
      'onChanged',
      'outputs',
      'restartWave'
    ])
  })
})

describe('an arbitrary edit', () => {
  law(
    'gives a valid workflow again, and leaves what comes before it',
    fc.tuple(Arbitrary.workflow({ maxSteps: 4 }), Arbitrary.workflowEdit),
    ([before, edit]) => {
      const { workflow: edited, first } = Arbitrary.edit(before, edit)
      assert.deepEqual(Workflow.problems(edited), [])
      assert.deepEqual(edited.steps.slice(0, first), before.steps.slice(0, first))
    },
    COUNT
  )
})
