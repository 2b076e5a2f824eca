import assert from 'node:assert/strict'
import * as E from 'fp-ts/lib/Either.js'
import * as fc from 'fast-check'
import * as t from 'io-ts'
import { describe, test } from 'vitest'
import type { OutputMismatch } from '../../../src/domain/workflow/Workflow.js'
import * as Workflow from '../../../src/domain/workflow/Workflow.js'
import { workflow } from '../../../src/promise/index.js'
import { checkPlanLaws, planLaws } from '../../../src/testing/planning/checkPlanLaws.js'
import { toText } from '../../../src/testing/planning/laws/PlanLawReport.js'
import { law } from '../../../src/testing/planning/laws/PlanLaw.js'
import { moment } from '../../../src/testing/planning/arbitrary/runs.js'
import { sweep } from '../../sweep.js'

const Tarball = t.type({
  file: t.string,
  size: t.number,
  tags: t.array(t.union([t.literal('beta'), t.literal('next')]))
})

const release = workflow('release')
  .step('version', { output: t.string, capture: 'version', run: () => '1.2.3' })
  .wave('checks', { unit: () => 42, lint: { needs: ['unit'], output: t.boolean, run: () => true } })
  .step('pack', { output: Tarball, run: () => ({ file: 'x.tgz', size: 1, tags: [] }) })
  .step('publish', { idempotent: false, capture: 'published', run: () => 'published' })

const runs = sweep ? 5000 : 15

const taskThat = (accepts: Workflow.Task['accepts']) => ({
  name: 'release',
  steps: [Workflow.task('build', { accepts, captures: ['built'] }), Workflow.task('publish', { idempotent: false })]
})

const no: E.Either<OutputMismatch, never> = E.left({ path: '$', expected: 'something secret' })

const picky = taskThat((output) => (output === 'sesame' ? E.right(undefined) : no))
const outputs = { build: fc.constant('sesame') }

describe('the laws of the planner', () => {
  test('each law has its own id and title', () => {
    assert.equal(new Set(planLaws.map(({ id }) => id)).size, planLaws.length)
    assert.equal(new Set(planLaws.map(({ title }) => title)).size, planLaws.length)
    for (const { id } of planLaws) assert.match(id, /^PL-[A-Z]+-\d\d$/)
  })

  test("the laws hold for a user's workflow, with found or given outputs", () => {
    const found = checkPlanLaws(release, { numRuns: runs })
    assert.equal(found.problems.length + found.violations.length, 0, toText(found))
    assert.equal(found.results.length, planLaws.length)
    assert.ok(found.results.every(({ numRuns }) => numRuns === runs))
    const given = checkPlanLaws(release, { numRuns: 10, outputs: { version: fc.constantFrom('1.0.0', '2.0.0') } })
    assert.equal(given.violations.length, 0, toText(given))
    assert.match(toText(given), /^release: \d+ of \d+ laws hold \(seed 1\)$/)
  })

  test('if a unit has no acceptable output, the laws do not run, and the report names the unit', () => {
    const refused = checkPlanLaws(picky)
    assert.deepEqual(refused.problems, [
      'no output is known that "build" accepts; pass an arbitrary of its outputs in `outputs`'
    ])
    assert.deepEqual(refused.results, [])
    const given = checkPlanLaws(picky, { numRuns: runs, outputs })
    assert.equal(given.violations.length, 0, toText(given))
    const wrong = checkPlanLaws(picky, { outputs: { build: fc.constant('open') } })
    assert.equal(wrong.problems.length, 1)
  })

  // `path`: the number of the case of seed 1.
  test.each([
    ['PL-EDIT-05', 'a map in place of a task does not wait for its job', { workflow: release, outputs: {} }, '544'],
    [
      'PL-EDIT-06',
      'the question of a map in place of a task covers a sub-step in doubt',
      { workflow: release, outputs: {} },
      '4579'
    ],
    [
      'PL-EDIT-09',
      'a wait in place of a task does not repeat a failed sub-step',
      { workflow: release, outputs: {} },
      '3659'
    ],
    ['PL-REWIND-02', 'a task that runs again lists its skipped sub-steps', { workflow: picky, outputs }, '4082']
  ] as const)('%s holds in a rare case: %s', (id, _, { workflow, outputs }, path) => {
    const found = checkPlanLaws(workflow, { laws: [id], seed: 1, path, outputs })
    assert.equal(found.violations.length, 0, toText(found))
  })

  test('the laws refuse an invalid workflow', () => {
    assert.match(
      checkPlanLaws({ name: 'release', steps: [] }).problems.join(),
      /the definition is invalid: a workflow needs at least one step/
    )
  })

  test('the laws fail for a task whose `accepts` changes its answer, and print the options that repeat the failure', () => {
    const fickle = () => {
      let count = 0
      return taskThat(() => (++count % 7 === 0 ? no : E.right(undefined)))
    }
    const report = checkPlanLaws(fickle(), { numRuns: runs })
    assert.ok(report.violations.length > 0)
    assert.match(toText(report), /repeat with \{"laws":\["PL-/)
  })

  test('the laws fail for a task whose `accepts` throws, and do not throw themselves', () => {
    const throwing = taskThat((output) => (output === null ? assert.fail('null!') : E.right(undefined)))
    const report = checkPlanLaws(throwing, { numRuns: 10, outputs: { build: fc.constantFrom(7, null) } })
    assert.equal(report.violations.length, 0)
    let calls = 0
    const later = taskThat(() => (++calls > 1000 ? assert.fail('too late!') : E.right(undefined)))
    const found = checkPlanLaws(later, { numRuns: 200, laws: ['PL-PLAN-03'] })
    assert.match(found.violations[0]?.why ?? '', /too late!/)
  })

  test('the seed and path of a counterexample repeat it', () => {
    const short = law('PL-MINE-01', 'a run is short', moment, ({ checkpoint }) => assert.ok(checkpoint.revision < 4))
    const found = short.check({ workflow: release }, { seed: 5 })
    assert.equal(found.holds, false)
    assert.match(found.counterexample ?? '', /AttemptStarted/)
    assert.ok(found.path !== undefined)
    const again = short.check({ workflow: release }, { seed: found.seed, path: found.path })
    assert.deepEqual([again.numRuns, again.counterexample, again.why], [1, found.counterexample, found.why])
  })
})
