import assert from 'node:assert/strict'
import * as E from 'fp-ts/lib/Either.js'
import { describe, test } from 'vitest'
import * as dogear from 'dogear'
import type { Change } from '../../src/domain/change/Change.js'
import type { Checkpoint } from '../../src/domain/checkpoint/Checkpoint.js'
import { start } from '../../src/domain/checkpoint/Checkpoint.js'
import { decode, encode } from '../../src/domain/checkpoint/CheckpointCodec.js'
import { overrides } from '../../src/domain/plan/Overrides.js'
import { planResume } from '../../src/domain/plan/planResume.js'
import { replay } from '../../src/domain/change/Transition.js'
import type { Workflow } from '../../src/domain/workflow/Workflow.js'
import * as W from '../../src/domain/workflow/Workflow.js'
import * as Identity from '../../src/domain/workflow/WorkflowIdentity.js'
import { quickest, quickestOfBoth } from '../quickest.js'

const AT = '2026-01-02T03:04:05.000Z'

const long = (steps: number): Workflow => ({
  name: 'long',
  steps: Array.from({ length: steps }, (_, index) => W.task(`step-${index}`, { captures: [`out-${index}`] }))
})

const wide = (groups: number): Workflow => ({
  name: 'wide',
  steps: [
    W.wave(
      'all',
      Array.from({ length: groups }, (_, index) => W.group(W.task(`g-${index}`), index === 0 ? [] : ['g-0']))
    )
  ]
})

/** A map with this many items, and the changes that expand it and complete its first items. */
const mapped: Workflow = { name: 'mapped', steps: [W.mapOf('all', W.task('all'))] }

function* itemsDone(items: number, count: number): Iterable<Change> {
  const place = { at: AT, unit: 'all' }
  const values = Array.from({ length: items }, (_, n) => ({ key: `g-${n}`, value: { n, path: `pictures/${n}.png` } }))
  yield { _tag: 'Expanded', ...place, items: values }
  yield* groupsDone(count)
}

const reached = (workflow: Workflow, changes: Iterable<Change>): Checkpoint => {
  const first = start({ _tag: 'Started', at: AT, runId: 'run-1', workflow: Identity.of(workflow), input: { a: 1 } })
  const last = replay(first, changes)
  return E.isRight(last) ? last.right : assert.fail(JSON.stringify(last.left))
}

const ended = { attempts: 1, startedAt: AT, durationMillis: 5, evidence: [] } as const

/** The changes of the first steps. */
function* stepsDone(count: number): Iterable<Change> {
  for (let stepIndex = 0; stepIndex < count; stepIndex++) {
    const place = { at: AT, unit: `step-${stepIndex}` }
    yield { _tag: 'AttemptStarted', at: AT, attempts: [{ unit: place.unit, attempt: 1 }] }
    yield {
      _tag: 'UnitCompleted',
      ...place,
      ...ended,
      output: { n: stepIndex, s: 'text' },
      captured: [`out-${stepIndex}`]
    }
  }
}

/** The changes of the first groups, one at a time. */
function* groupsDone(count: number): Iterable<Change> {
  for (let index = 0; index < count; index++) {
    const unit = `all/g-${index}`
    yield { _tag: 'AttemptStarted', at: AT, attempts: [{ unit, attempt: 1 }] }
    yield { _tag: 'UnitCompleted', at: AT, unit, ...ended, captured: [] }
  }
}

const report = (what: string): void => console.log(what)

describe('planning', () => {
  test('planning 100,000 steps takes at most three times as long per step as planning 10,000', () => {
    const cost = (steps: number, rounds: number): number => {
      const workflow = long(steps)
      const checkpoint = reached(workflow, stepsDone(steps - 10))
      return quickest(rounds, () => assert.ok(E.isRight(planResume(checkpoint, workflow)))) / steps
    }
    cost(10_000, 3)
    const small = cost(10_000, 10)
    const large = cost(100_000, 6)
    report(
      `planResume: ${(large * 100_000).toFixed(1)} ms for 100,000 steps, ${(small * 10_000).toFixed(1)} ms for 10,000`
    )
    assert.ok(large < 3 * small, `${large} ms a step among 100,000, ${small} ms among 10,000`)
  }, 120_000)

  test('planning takes linear time in the groups of a wave, and in assumed or rewound units', () => {
    const cost = (groups: number, rounds: number): number => {
      const workflow = wide(groups)
      const program = { ...workflow, identity: Identity.of(workflow) }
      const checkpoint = reached(workflow, groupsDone(groups >> 1))
      const missing = [{ _tag: 'File', path: 'x' }] as const
      const plans = [{}, { restartWave: 'all' }, { evidence: [{ unit: 'all/g-0', missing }] }]
      return (
        quickest(rounds, () => {
          for (const options of plans) {
            const plan = planResume(checkpoint, workflow, options)
            assert.ok(E.isRight(plan))
            overrides(checkpoint, program, plan.right, options, AT)
          }
        }) / groups
      )
    }
    cost(1_000, 10)
    const small = cost(1_000, 20)
    const large = cost(10_000, 5)
    report(
      `a wave: ${(large * 10_000).toFixed(1)} ms for 3 plans of 10,000 groups, ${(small * 1_000).toFixed(1)} ms for 1,000`
    )
    assert.ok(large < 4 * small, `${large} ms a group among 10,000, ${small} ms among 1,000`)
  }, 120_000)

  test('planning takes linear time in the abandoned jobs of units that are assumed done', () => {
    const last = W.task('last')
    const workflow: Workflow = { ...mapped, steps: [...mapped.steps, last] }
    const program = { ...workflow, identity: Identity.of(workflow) }
    const cost = (jobs: number, rounds: number): number => {
      const units = Array.from({ length: jobs }, (_, n) => `all/g-${n}`)
      const checkpoint = reached(workflow, [
        ...itemsDone(jobs, 0),
        {
          _tag: 'AttemptStarted',
          at: AT,
          attempts: units.map((unit) => ({ unit, attempt: 1 })),
          submissions: units.map((unit) => ({ unit, key: unit }))
        },
        ...units.map((unit): Change => ({ _tag: 'JobSubmitted', at: AT, unit, attempt: 1 }))
      ])
      const options = { fromStep: 'last' }
      return (
        quickest(rounds, () => {
          const plan = planResume(checkpoint, workflow, options)
          assert.ok(E.isRight(plan) && plan.right.abandons?.length === jobs)
          overrides(checkpoint, program, plan.right, options, AT)
        }) / jobs
      )
    }
    cost(1_000, 5)
    const [few, many] = [cost(1_000, 20), cost(10_000, 3)]
    assert.ok(many < 4 * few, `${many} ms a job among 10,000, ${few} ms among 1,000`)
  }, 120_000)
})

describe('recording', () => {
  test('recording a step among 100,000 costs at most four times as much as among 10,000', () => {
    const cost = (steps: number, rounds: number): number => {
      const workflow = long(steps)
      const identity = Identity.of(workflow)
      const changes = [...stepsDone(steps)]
      const first = start({ _tag: 'Started', at: AT, runId: 'run-1', workflow: identity, input: {} })
      return quickest(rounds, () => assert.ok(E.isRight(replay(first, changes)))) / steps
    }
    cost(10_000, 3)
    const small = cost(10_000, 10)
    const large = cost(100_000, 5)
    report(`apply: ${(large * 1e6).toFixed(0)} ns a step among 100,000, ${(small * 1e6).toFixed(0)} ns among 10,000`)
    assert.ok(large < 4 * small, `${large} ms a step among 100,000, ${small} ms among 10,000`)
  }, 120_000)

  test('recording a group that starts alone among 10,000 costs at most five times as much as among 1,000', () => {
    const cost = (groups: number, rounds: number): number => {
      const workflow = wide(groups)
      const identity = Identity.of(workflow)
      const changes = [...groupsDone(groups)]
      const first = start({ _tag: 'Started', at: AT, runId: 'run-1', workflow: identity, input: {} })
      return quickest(rounds, () => assert.ok(E.isRight(replay(first, changes)))) / groups
    }
    cost(1_000, 10)
    const [small, large] = [cost(1_000, 20), cost(10_000, 5)]
    report(`a group: ${(large * 1e3).toFixed(1)} µs among 10,000, ${(small * 1e3).toFixed(1)} µs among 1,000`)
    assert.ok(large < 5 * small, `${large} ms a group among 10,000, ${small} ms among 1,000`)
  }, 120_000)

  test('recording the start of the missing half of 10,000 groups costs at most four times as much per group as with 1,000', () => {
    const cost = (groups: number, rounds: number): number => {
      const content = encode(reached(wide(groups), groupsDone(groups / 2)))
      const attempts = Array.from({ length: groups / 2 }, (_, n) => ({ unit: `all/g-${n + groups / 2}`, attempt: 1 }))
      const [first, ...more] = attempts
      assert.ok(first !== undefined)
      const started: Change = { _tag: 'AttemptStarted', at: AT, attempts: [first, ...more] }
      return (
        quickest(rounds, () => {
          const checkpoint = decode(content)
          assert.ok(E.isRight(checkpoint))
          assert.ok(E.isRight(replay(checkpoint.right, [started])))
        }) / attempts.length
      )
    }
    cost(1_000, 10)
    const [small, large] = [cost(1_000, 20), cost(10_000, 5)]
    report(`start: ${(large * 1e3).toFixed(1)} µs a group of 5,000 at once, ${(small * 1e3).toFixed(1)} µs of 500`)
    assert.ok(large < 4 * small, `${large} ms a group among 10,000, ${small} ms among 1,000`)
  }, 120_000)
})

/** A map with this many items, each a map of one item. */
function* expansions(count: number): Iterable<Change> {
  const keys = Array.from({ length: count }, (_, n) => `g-${n}`)
  yield { _tag: 'Expanded', at: AT, unit: 'all', items: keys.map((key) => ({ key, value: null })) }
  for (const key of keys) yield { _tag: 'Expanded', at: AT, unit: `all/${key}`, items: [{ key: 'only', value: null }] }
}

/** This many failing jobs in sequence. */
function* lostJobs(count: number): Iterable<Change> {
  const units = Array.from({ length: count }, (_, n) => `all/g-${n}`)
  const [first, ...more] = units.map((unit) => ({ unit, attempt: 1 }))
  assert.ok(first !== undefined)
  const submissions = units.map((unit) => ({ unit, key: 'key' }))
  yield { _tag: 'AttemptStarted', at: AT, attempts: [first, ...more], submissions }
  for (const unit of units) yield { _tag: 'JobSubmitted', at: AT, unit, job: 'job', attempt: 1 }
  const error = { name: 'Error', message: 'no' }
  for (const unit of units) yield { _tag: 'JobEnded', at: AT, unit, error, outcome: 'unknown', retryable: false }
}

describe('recording a unit', () => {
  const nested: Workflow = { name: 'nested', steps: [W.mapOf('all', W.mapOf('all', W.task('all')))] }
  test.each<[string, (count: number) => Workflow, (count: number) => Iterable<Change>]>([
    ['the items of a map', () => nested, expansions],
    ['a failed job', wide, lostJobs]
  ])(
    'recording %s takes at most four times as long per unit among 8,000 as among 1,000',
    (what, of, changes) => {
      const cost = (count: number, rounds: number): number => {
        const workflow = of(count)
        const first = start({ _tag: 'Started', at: AT, runId: 'run-1', workflow: Identity.of(workflow), input: {} })
        const all = [...changes(count)]
        return (
          quickest(rounds, () => {
            const last = replay(first, all)
            if (E.isLeft(last)) assert.fail(JSON.stringify(last.left))
          }) / count
        )
      }
      cost(1_000, 5)
      const [small, large] = [cost(1_000, 10), cost(8_000, 3)]
      report(`${what}: ${(large * 1e3).toFixed(1)} µs among 8,000, ${(small * 1e3).toFixed(1)} µs among 1,000`)
      assert.ok(large < 4 * small, `${large} ms among 8,000, ${small} ms among 1,000`)
    },
    120_000
  )
})

// Measures the built package: in a test, a call between two source files also looks up its import.
describe('loading', () => {
  test.each([
    ['10,000 completed steps', long(10_000), stepsDone],
    ['a map with 9,990 of 10,000 items done', mapped, () => itemsDone(10_000, 9_990)]
  ] as const)(
    'loading and planning %s takes about as long as JSON.parse of the same string',
    (what, workflow, changes) => {
      const text = JSON.stringify(encode(reached(workflow, changes(10_000))))
      const parse = (): unknown => JSON.parse(text)
      const load = (): void => {
        const checkpoint = dogear.CheckpointCodec.decode(JSON.parse(text))
        assert.ok(E.isRight(checkpoint))
        assert.ok(E.isRight(dogear.planResume(checkpoint.right, workflow)))
      }
      quickest(5, load)
      const [parsed, loaded] = quickestOfBoth(40, parse, load)
      const content = parse()
      const decoded = quickest(15, () => assert.ok(E.isRight(dogear.CheckpointCodec.decode(content))))
      report(
        `load and plan ${what}: ${loaded.toFixed(1)} ms = ${(loaded / parsed).toFixed(2)} × JSON.parse (${parsed.toFixed(1)} ms of ${
          text.length >> 10
        } KiB), of which decode ${decoded.toFixed(1)} ms`
      )
      assert.ok(loaded < 3.5 * parsed, `${loaded} ms to load and plan, ${parsed} ms to parse`)
    },
    120_000
  )
})
