import assert from 'node:assert/strict'
import * as E from 'fp-ts/lib/Either.js'
import { describe, expect, test } from 'vitest'
import { start } from '../../src/domain/checkpoint/Checkpoint.js'
import type { Items } from '../../src/domain/checkpoint/Items.js'
import * as I from '../../src/domain/checkpoint/Items.js'
import { planResume } from '../../src/domain/plan/planResume.js'
import { levelsOf, visibleFrom } from '../../src/domain/plan/visibleUnits.js'
import { find, partNames } from '../../src/domain/checkpoint/Tree.js'
import type { Unit } from '../../src/domain/workflow/Unit.js'
import * as W from '../../src/domain/workflow/Workflow.js'
import * as WorkflowProblem from '../../src/domain/workflow/WorkflowProblem.js'
import * as Identity from '../../src/domain/workflow/WorkflowIdentity.js'

const page = W.sequence('page', [W.task('fetch'), W.mapOf('links', W.task('follow')), W.task('index')])

const workflow: W.Workflow = {
  name: 'crawl',
  steps: [
    W.task('list'),
    W.wave('sites', [
      W.group(W.sequence('docs', [W.task('read'), W.mapOf('pages', page), W.task('sum')])),
      W.group(W.task('blog'), ['docs']),
      W.group(W.task('wiki'))
    ]),
    W.task('report')
  ]
}

const items: Items = new Map([
  [
    'sites/docs/pages',
    [
      { key: 'a', value: 1 },
      { key: 'b', value: [2] }
    ]
  ],
  ['sites/docs/pages/a/links', [{ key: 'x', value: 'x.html' }]]
])

describe('the path of a unit in a tree', () => {
  const finds = (unit: Unit, name: string | undefined): void => {
    const found = find(workflow, items, unit)
    assert.equal(found?.definition.name, name)
    assert.equal(find(Identity.of(workflow), items, unit)?.definition.name, name)
    if (found !== undefined) assert.equal(found.step, workflow.steps[found.stepIndex])
  }

  test.each<readonly [Unit, string]>([
    ['list', 'list'],
    ['sites', 'sites'],
    ['sites/docs/pages', 'pages'],
    ['sites/docs/pages/b', 'page'],
    ['sites/docs/pages/b/fetch', 'fetch'],
    ['sites/docs/pages/a/links/x', 'follow']
  ])('the path %s finds the definition %s', finds)

  test.each<Unit>([
    'sites/docs/pages/b/links/x',
    'sites/docs/pages/c',
    'sites/mail',
    'list/list',
    'sites/',
    'sites//docs',
    '%73ites',
    'sites/%64ocs',
    'sites/constructor',
    ''
  ])('the path "%s" finds no definition', (unit) => finds(unit, undefined))

  test('the children of a unit are those of its definition, and the children of a map are its known items', () => {
    const names = (unit: Unit): unknown =>
      partNames(find<W.Step>(workflow, items, unit)?.definition ?? assert.fail(), unit, items)
    assert.deepEqual(names('sites'), ['docs', 'blog', 'wiki'])
    assert.deepEqual(names('sites/docs/pages'), ['a', 'b'])
    assert.deepEqual(names('sites/docs/pages/b'), ['fetch', 'links', 'index'])
    assert.deepEqual(names('sites/docs/pages/a/links'), ['x'])
    assert.equal(names('sites/docs/pages/b/links'), undefined)
    assert.deepEqual(names('list'), [])
  })

  test('a unit belongs to the item of the innermost map around it', () => {
    assert.equal(I.itemAround(items, 'sites/docs/read'), undefined)
    assert.equal(I.itemAround(items, 'sites/docs/pages'), undefined)
    assert.deepEqual(I.itemAround(items, 'sites/docs/pages/b/fetch')?.item, { key: 'b', value: [2] })
    assert.deepEqual(I.itemAround(items, 'sites/docs/pages/a/links'), {
      map: 'sites/docs/pages',
      item: { key: 'a', value: 1 }
    })
    assert.equal(I.itemAround(items, 'sites/docs/pages/a/links/x')?.item.value, 'x.html')
  })
})

describe('the units that a unit sees', () => {
  const all: ReadonlyArray<Unit> = [
    'list',
    'sites',
    'sites/docs/read',
    'sites/docs/pages',
    'sites/docs/pages/a/fetch',
    'sites/docs/pages/a/links',
    'sites/docs/pages/a/links/x',
    'sites/docs/pages/b/fetch',
    'sites/docs/sum',
    'sites/blog',
    'sites/wiki',
    'report'
  ]
  const seenBy = (unit: Unit): ReadonlyArray<Unit> => all.filter(visibleFrom(workflow, items, unit))

  test('a unit sees its earlier siblings and those of its ancestors, with all units inside them', () => {
    assert.deepEqual(seenBy('list'), [])
    assert.deepEqual(seenBy('sites/docs/pages/a/links/x'), ['list', 'sites/docs/read', 'sites/docs/pages/a/fetch'])
    assert.deepEqual(seenBy('sites/docs/pages/b/fetch'), ['list', 'sites/docs/read'])
    assert.deepEqual(seenBy('report'), all.slice(0, -1))
  })

  test('a unit sees only the groups of its wave that it needs', () => {
    assert.deepEqual(
      seenBy('sites/blog'),
      all.filter((unit) => unit === 'list' || unit.startsWith('sites/docs/'))
    )
    assert.deepEqual(seenBy('sites/wiki'), ['list'])
  })

  test('for each ancestor of a unit the names that the unit sees there are listed', () => {
    assert.deepEqual(
      levelsOf(workflow, items, 'sites/docs/pages/a/index').map(({ parent, seen }) => [parent, seen()]),
      [
        [undefined, ['list']],
        ['sites', []],
        ['sites/docs', ['read']],
        ['sites/docs/pages', []],
        ['sites/docs/pages/a', ['fetch', 'links']]
      ]
    )
  })
})

const leaf = W.task('leaf')

describe('a definition of any size', () => {
  const around = (levels: number, wrap: (name: string, inner: W.Step) => W.Step): W.Workflow => {
    let step: W.Step = W.task('leaf', { captures: ['v'] })
    for (let level = 0; level < levels; level++) step = wrap(`s${level}`, step)
    return { name: 'deep', steps: [step], secrets: ['v'] }
  }
  const started = start({
    _tag: 'Started',
    at: '2026-01-02T03:04:05.000Z',
    runId: 'r',
    workflow: Identity.of({ name: 'deep', steps: [leaf] }),
    input: {}
  })

  test.each([
    ['sequences', (name: string, inner: W.Step): W.Step => W.sequence(name, [inner])],
    ['waves', (name: string, inner: W.Step): W.Step => W.wave(name, [W.group(inner)])],
    ['maps', (name: string, inner: W.Step): W.Step => W.mapOf(name, inner)]
  ])('20,000 nested %s are refused as too deep by the validation and by the planner', (_, wrap) => {
    const workflow = around(20_000, wrap)
    assert.deepEqual(
      WorkflowProblem.problems(workflow).map(({ _tag }) => _tag),
      ['TooDeep']
    )
    const plan = planResume(started, workflow, { confirm: new Map([['leaf', { _tag: 'Again' }]]) })
    assert.ok(E.isLeft(plan) && plan.left.problems.some(({ _tag }) => _tag === 'InvalidWorkflow'))
  })

  test('200,000 invalid names are all reported', () => {
    const steps = Array.from({ length: 200_000 }, (_, index): W.Step => ({ ...leaf, name: `#${index}` }))
    assert.equal(WorkflowProblem.problems({ name: 'w', steps }).length, 200_000)
    assert.equal(WorkflowProblem.problems({ name: 'w', steps: [W.sequence('s', steps)] }).length, 200_000)
  })

  test('at most 1,000,000 units are allowed, and counting stops there', () => {
    const tasks = Array.from({ length: 999 }, (_, index) => ({ ...leaf, name: `t${index}` }))
    const wave = W.wave(
      'wave',
      tasks.map((task) => W.group(task))
    )
    const sequence = W.sequence('sequence', tasks)
    const steps = [wave, ...Array.from({ length: 999 }, (_, index): W.Step => ({ ...sequence, name: `s${index}` }))]
    assert.deepEqual(WorkflowProblem.problems({ name: 'w', steps }), [])
    assert.deepEqual(WorkflowProblem.problems({ name: 'w', steps: [...steps, leaf] }), [{ _tag: 'TooManyUnits' }])
    let shared: W.Step = leaf
    for (let level = 0; level < 14; level++) {
      const inner = shared
      shared = W.sequence(
        's',
        Array.from({ length: 100 }, (_, index) => ({ ...inner, name: `s${index}` }))
      )
    }
    assert.deepEqual(WorkflowProblem.problems({ name: 'w', steps: [shared] }), [{ _tag: 'TooManyUnits' }])
  })
})

describe('a definition of many levels', () => {
  const nested = (depth: number): W.Step =>
    depth === 1 ? W.task('leaf') : W.sequence(`s${depth}`, [nested(depth - 1)])

  test('a definition has at most 16 levels', () => {
    assert.deepEqual(WorkflowProblem.problems({ name: 'deep', steps: [nested(16)] }), [])
    const [problem, ...more] = WorkflowProblem.problems({ name: 'deep', steps: [nested(17)] })
    assert.deepEqual(more, [])
    expect(problem?._tag).toBe('TooDeep')
    assert.match(
      WorkflowProblem.describeProblem(problem ?? assert.fail()),
      /is nested too deeply: .* at most 16 levels/
    )
  })

  test('a problem on any level of a definition is reported with its place', () => {
    const wrong = W.sequence('outer', [
      W.sequence('empty', []),
      W.wave('wave', [W.group(W.mapOf('map', W.sequence('body', [W.task('a'), W.task('a')])), ['nobody'])])
    ])
    assert.deepEqual(WorkflowProblem.problems({ name: 'w', steps: [wrong] }), [
      { _tag: 'NoSteps', unit: 'outer/empty' },
      { _tag: 'UnknownNeed', unit: 'outer/wave', group: 'map', need: 'nobody' },
      { _tag: 'DuplicateName', name: 'a', within: 'outer/wave/map/*' }
    ])
  })

  test('a variable may be captured once outside of maps, and once in each body of a map', () => {
    const setting = (name: string): W.Task => W.task(name, { captures: ['v'] })
    const body = W.sequence('body', [setting('inside')])
    assert.deepEqual(WorkflowProblem.problems({ name: 'w', steps: [setting('a'), W.mapOf('map', body)] }), [])
    const twice = W.sequence('deeper', [setting('b')])
    assert.deepEqual(WorkflowProblem.problems({ name: 'w', steps: [setting('a'), twice] }), [
      { _tag: 'DuplicateCapture', variable: 'v', places: ['a', 'deeper/b'] }
    ])
  })

  test('define accepts a definition of many levels', () => {
    assert.ok(E.isRight(WorkflowProblem.define('crawl', workflow.steps)))
    assert.deepEqual(
      W.tasks(workflow.steps).map(({ place }) => place),
      [
        'list',
        'sites/docs/read',
        'sites/docs/pages/*/fetch',
        'sites/docs/pages/*/links',
        'sites/docs/pages/*/index',
        'sites/docs/sum',
        'sites/blog',
        'sites/wiki',
        'report'
      ]
    )
  })
})
