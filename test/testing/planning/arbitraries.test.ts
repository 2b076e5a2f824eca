import assert from 'node:assert/strict'
import * as E from 'fp-ts/lib/Either.js'
import * as fc from 'fast-check'
import * as t from 'io-ts'
import { describe, test } from 'vitest'
import type * as Change from '../../../src/domain/change/Change.js'
import type { Checkpoint } from '../../../src/domain/checkpoint/Checkpoint.js'
import * as State from '../../../src/domain/checkpoint/CheckpointState.js'
import type { Answer } from '../../../src/domain/plan/Plan.js'
import type { PlanProblem } from '../../../src/domain/plan/PlanProblem.js'
import type { Step } from '../../../src/domain/workflow/Workflow.js'
import { parent } from '../../../src/domain/workflow/Unit.js'
import { CheckpointCodec, planResume, Transition, Workflow } from '../../../src/index.js'
import { workflow } from '../../../src/promise/index.js'
import * as Arbitrary from '../../../src/testing/planning/arbitrary/Arbitrary.js'
import { momentWithOptions } from '../../../src/testing/planning/arbitrary/runs.js'
import type { Moment } from '../../../src/testing/planning/arbitrary/RunRecorder.js'
import { innermostFirst } from '../../../src/testing/planning/arbitrary/calls.js'
import { isSubStep, unitsIn } from '../../../src/testing/planning/arbitrary/tree.js'
import { law } from '../../domain/law.js'

const release = workflow('release')
  .step('version', { output: t.string, capture: 'version', run: () => '1.2.3' })
  .wave('checks', { unit: () => 42, lint: { needs: ['unit'], output: t.boolean, run: () => true } })
  .step('publish', { idempotent: false, run: () => 'published' })

const outputs = { version: fc.constantFrom('1.0.0', '2.0.0'), publish: fc.constant<null>(null) }

const COUNT = 50

describe('arbitrary checkpoints', () => {
  law(
    'an arbitrary checkpoint of a workflow can be planned, and has the outputs that were passed for it',
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
    'an arbitrary checkpoint results from the changes of its run',
    Arbitrary.run({ workflow: release }),
    ({ changes, trail, checkpoint }) => {
      const [first] = trail
      assert.ok(first)
      const replayed = Transition.replay(first.checkpoint, changes.slice(1))
      assert.deepEqual(E.map(CheckpointCodec.encode)(replayed), E.right(CheckpointCodec.encode(checkpoint)))
    },
    COUNT
  )

  test('arbitrary checkpoints have every state', () => {
    const states = fc
      .sample(Arbitrary.checkpoint({ workflow: release }), { numRuns: 300, seed: 1 })
      .map(({ state }) => state._tag)
    assert.deepEqual([...new Set(states)].sort(), ['BeforeStep', 'Completed', 'Failed', 'Interrupted'])
  })

  test('Arbitrary.checkpoint throws if no acceptable output of a unit is known, and names the unit', () => {
    const picky = {
      name: 'w',
      steps: [Workflow.task('a', { accepts: () => E.left({ path: '$', expected: 'nothing' }) })]
    }
    assert.throws(
      () => Arbitrary.checkpoint({ workflow: picky }),
      /units accept; pass an arbitrary for each in `outputs`: a$/
    )
  })
})

describe('arbitrary runs', () => {
  test('arbitrary runs fail, crash and stop often enough to exercise the laws', () => {
    const runs = fc.sample(Arbitrary.run(), { numRuns: 500, seed: 1 })
    const share = (tag: Change.Change['_tag']): number =>
      runs.filter(({ changes }) => changes.some(({ _tag }) => _tag === tag)).length / runs.length
    for (const tag of ['AttemptFailed', 'UnitFailed', 'Interrupted', 'Rewound', 'Confirmed'] as const)
      assert.ok(share(tag) >= 0.1, `${tag}: ${share(tag)}`)
    for (const tag of ['WaitStarted', 'Answered', 'Suspended'] as const)
      assert.ok(share(tag) >= 0.05, `${tag}: ${share(tag)}`)
    for (const tag of ['WorkflowEdited', 'Assumed'] as const) assert.ok(share(tag) >= 0.05, `${tag}: ${share(tag)}`)
  })

  test('a stopped sub-step that did nothing occurs in at least ten of 1,500 arbitrary runs', () => {
    const runs = fc.sample(Arbitrary.run(), { numRuns: 1500, seed: 1 })
    const count = runs.filter(({ changes }) =>
      changes.some((one) => one._tag === 'AttemptFailed' && isSubStep(one.unit))
    ).length
    assert.ok(count >= 10, String(count))
  })
})

describe('sub-steps and waits of arbitrary runs', () => {
  const trails = fc.sample(Arbitrary.run(), { numRuns: 1500, seed: 1 }).map(({ trail }) => trail)

  const isInCode = ({ unit }: { readonly unit: string }): boolean => isSubStep(unit)

  const CASES: ReadonlyArray<readonly [what: string, isThere: (checkpoint: Checkpoint) => boolean]> = [
    ['a recorded sub-step', ({ completedSteps }) => [...completedSteps].some(isInCode)],
    ['a failed sub-step', ({ state }) => [...State.failures(state)].some(isInCode)],
    ['a sub-step in flight', ({ state }) => [...State.inFlight(state)].some(isInCode)],
    [
      'a recorded sub-step that is not idempotent',
      ({ completedSteps }) => [...completedSteps].some(({ subStep }) => subStep?.idempotent === false)
    ],
    [
      'a nested sub-step',
      ({ completedSteps }) => [...completedSteps].some(({ unit }) => isSubStep(parent(unit) ?? ''))
    ],
    ['a numbered sub-step', ({ completedSteps }) => [...completedSteps].some(({ unit }) => unit.endsWith('#2'))],
    [
      'a completed task with a sub-step in doubt',
      ({ completedSteps }) => [...completedSteps].some(({ inDoubt }) => inDoubt !== undefined)
    ],
    ['an open timer of a task', ({ pending }) => [...pending].some((one) => one._tag === 'Timer' && !isInCode(one))],
    [
      'an open question of a task',
      ({ pending }) => [...pending].some((one) => one._tag === 'Answer' && !isInCode(one))
    ],
    ['an open timer in code', ({ pending }) => [...pending].some((one) => one._tag === 'Timer' && isInCode(one))],
    ['an open question in code', ({ pending }) => [...pending].some((one) => one._tag === 'Answer' && isInCode(one))],
    ['a suspended task', ({ state }) => [...State.inFlight(state)].some(({ suspended }) => suspended === true)],
    [
      'an early answer',
      ({ answers, pending }) => [...answers].some(({ unit }) => ![...pending].some((one) => one.unit === unit))
    ],
    [
      'an answered wait',
      ({ answers, pending }) => [...answers].some(({ unit }) => [...pending].some((one) => one.unit === unit))
    ]
  ]

  test.each(CASES)('%s occurs in at least ten of 1,500 runs', (_, isThere) => {
    const count = trails.filter((trail) => trail.some(({ checkpoint }) => isThere(checkpoint))).length
    assert.ok(count >= 10, String(count))
  })
})

describe('damaged checkpoints', () => {
  law(
    'a damaged checkpoint differs in one place, and is refused or planned; nothing throws',
    Arbitrary.damagedCheckpoint({ workflow: release }),
    ({ content, path }) => {
      assert.ok(path.length > 0)
      const decoded = CheckpointCodec.decode(content)
      if (E.isLeft(decoded)) assert.ok(CheckpointCodec.describe(decoded.left).length > 0)
      else planResume(decoded.right, release)
    },
    COUNT
  )

  test('some damaged checkpoints are refused and some are not', () => {
    const decoded = fc
      .sample(Arbitrary.damagedCheckpoint({ workflow: release }), { numRuns: 300, seed: 1 })
      .map(({ content }) => CheckpointCodec.decode(content)._tag)
    assert.ok(decoded.includes('Left') && decoded.includes('Right'))
  })

  test('arbitrary damage duplicates only elements of arrays, and marks what it duplicated', () => {
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

describe('arbitrary plan options and edits', () => {
  law(
    'arbitrary plan options name steps that exist',
    Arbitrary.moment({ workflow: release }).chain((moment) =>
      fc.tuple(fc.constant(moment), Arbitrary.planOptions(moment, outputs))
    ),
    ([{ checkpoint, workflow: edited }, options]) => {
      const plan = planResume(checkpoint, edited, options)
      if (E.isRight(plan)) return
      const tags: ReadonlyArray<PlanProblem['_tag']> = ['UnknownStep', 'NotAWave', 'InvalidWorkflow']
      for (const problem of plan.left.problems) assert.ok(!tags.includes(problem._tag), problem._tag)
    },
    COUNT
  )

  test('arbitrary plan options use every option', () => {
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
      'recovered',
      'restartWave'
    ])
  })
})

describe('plan options of arbitrary runs', () => {
  const drawn = fc.sample(momentWithOptions(), { numRuns: 3000, seed: 1 })
  type Drawn = (typeof drawn)[number]

  const stepAt = ({ checkpoint, workflow: { steps } }: Moment, path: string): Step | undefined =>
    unitsIn({ steps }, checkpoint.items).find(({ unit }) => unit === path)?.step

  const answers =
    (is: (unit: string, answer: Answer, moment: Moment) => boolean) =>
    ({ moment, options: { confirm = new Map<string, Answer>() } }: Drawn): boolean =>
      [...confirm].some(([unit, answer]) => is(unit, answer, moment))

  const CASES: ReadonlyArray<readonly [what: string, isThere: (one: Drawn) => boolean]> = [
    ['an answer that keeps changed evidence', answers((_, { _tag }) => _tag === 'Keep')],
    ['an answer about a sub-step', answers((unit) => isSubStep(unit))],
    ['an answer about a map', answers((unit, _, moment) => stepAt(moment, unit)?._tag === 'Map')],
    ['a damaged state', ({ options }) => options.recovered === true],
    [
      'a restarted sequence',
      ({ moment, options }) =>
        options.restartWave !== undefined && stepAt(moment, options.restartWave)?._tag === 'Sequence'
    ]
  ]

  test.each(CASES)('%s occurs in at least three of 3,000 plan options', (_, isThere) => {
    const count = drawn.filter(isThere).length
    assert.ok(count >= 3, String(count))
  })
})

describe('an arbitrary edit', () => {
  law(
    'an arbitrary edit makes a valid workflow, and keeps the steps before the edited one',
    fc.tuple(Arbitrary.workflow({ maxSteps: 4 }), Arbitrary.workflowEdit),
    ([before, edit]) => {
      const { workflow: edited, first } = Arbitrary.edit(before, edit)
      assert.deepEqual(Workflow.problems(edited), [])
      assert.deepEqual(edited.steps.slice(0, first), before.steps.slice(0, first))
    },
    COUNT
  )
})

test('sub-steps sort before their task, with units of other tasks between', () => {
  const sorted = innermostFirst(['a', 'x', 'a/b%20c'].map((unit) => ({ unit })))
  assert.deepEqual(
    sorted.map(({ unit }) => unit),
    ['a/b%20c', 'a', 'x']
  )
})
