import assert from 'node:assert/strict'
import * as E from 'fp-ts/lib/Either.js'
import * as TE from 'fp-ts/lib/TaskEither.js'
import { describe, test } from 'vitest'
import type * as ProgramType from '../../src/executor/program/Program.js'
import { explain, planResume, planRun, Program, resume, run } from '../../src/index.js'
import { isWithin } from '../../src/domain/workflow/Unit.js'
import type { World } from './fixtures.js'
import { ended, failingSave, group, newProcess, newWorld, outputsOf, refused, right, stored, task } from './fixtures.js'

type Runnable = ProgramType.Program<Readonly<Record<string, unknown>>>

/** Logs its unit, and returns the values that it sees, unless it is broken. */
const does = (
  world: World,
  name: string,
  broken: ReadonlySet<string> = new Set(),
  more: object = {}
): ProgramType.ProgramTask =>
  task(name, {
    run: ({ unit, outputs }) => {
      world.log.push(unit)
      return broken.has(unit) ? TE.left(new Error(`${unit} is broken`)) : TE.right(Object.keys(outputs).join(' '))
    },
    ...more
  })

const needing = (step: ProgramType.ProgramStep, ...needs: ReadonlyArray<string>): ProgramType.ProgramGroup => ({
  ...step,
  needs
})

/** A wave whose groups are sequences, one of which has a map with a wave in its body. */
const crawl = (world: World, broken?: ReadonlySet<string>): Runnable => {
  const one = (name: string): ProgramType.ProgramTask => does(world, name, broken)
  const page = Program.sequenceOf('page', [
    one('fetch'),
    Program.waveOf('looks', [needing(one('size')), needing(one('words'), 'size')]),
    one('index')
  ])
  const pages = Program.mapOf('pages', page, {
    forEach: () => E.right(['a', 'b']),
    key: (item) => E.right(String(item))
  })
  return Program.fromSteps('crawl', [
    one('list'),
    Program.waveOf('sites', [
      needing(Program.sequenceOf('docs', [one('read'), pages, one('sum')])),
      needing(Program.sequenceOf('blog', [one('read'), one('sum')]), 'docs'),
      needing(Program.sequenceOf('wiki', [one('read'), one('sum')]))
    ]),
    one('report')
  ])
}

const LEAVES = [
  'list',
  'sites/docs/read',
  ...['a', 'b'].flatMap((key) =>
    ['fetch', 'looks/size', 'looks/words', 'index'].map((part) => `sites/docs/pages/${key}/${part}`)
  ),
  'sites/docs/sum',
  'sites/blog/read',
  'sites/blog/sum',
  'sites/wiki/read',
  'sites/wiki/sum',
  'report'
]

describe('a tree of steps', () => {
  test('a tree runs each task once, in the order of sequences and needs', async () => {
    const world = newWorld()
    const { checkpoint, outputs } = ended(await newProcess(world).perform(run(crawl(world), 'r', {})), 'Completed')
    assert.deepEqual([...world.log].sort(), [...LEAVES].sort())
    const before = (earlier: string, later: string): void =>
      assert.ok(world.log.indexOf(earlier) < world.log.indexOf(later), `${earlier} before ${later}`)
    for (const key of ['a', 'b']) {
      before('sites/docs/read', `sites/docs/pages/${key}/fetch`)
      before(`sites/docs/pages/${key}/fetch`, `sites/docs/pages/${key}/looks/size`)
      before(`sites/docs/pages/${key}/looks/size`, `sites/docs/pages/${key}/looks/words`)
      before(`sites/docs/pages/${key}/looks/words`, `sites/docs/pages/${key}/index`)
      before(`sites/docs/pages/${key}/index`, 'sites/docs/sum')
    }
    before('sites/docs/sum', 'sites/blog/read')
    before('sites/wiki/sum', 'report')
    const seen = outputsOf(checkpoint)
    assert.equal(seen['sites/docs/pages/a/index'], 'list read fetch looks')
    assert.equal(seen['sites/docs/pages/a/looks/words'], 'list read fetch size')
    assert.equal(seen['sites/blog/sum'], 'list docs read')
    assert.equal(seen['report'], 'list sites')
    assert.deepEqual(Object.keys((outputs as { sites: { docs: object } }).sites.docs), ['read', 'pages', 'sum'])
    assert.deepEqual(right(planResume(checkpoint, crawl(world))).startIndex, 3)
  })

  test('groups that start or end together share saves, so that there are fewer than two saves for each task', async () => {
    const process = newProcess()
    ended(await process.perform(run(crawl(process.world), 'r', {})), 'Completed')
    assert.ok(process.saves.length < LEAVES.length * 2, `${process.saves.length} saves`)
  })

  test.each(['before', 'after'] as const)(
    'a resume runs exactly the tasks without a record, whichever save the process died %s',
    async (when) => {
      const undisturbed = newProcess()
      const whole = ended(await undisturbed.perform(run(crawl(undisturbed.world), 'r', {})), 'Completed').checkpoint
      for (let n = 1; n <= undisturbed.saves.length; n++) {
        const world = newWorld()
        const first = newProcess(world, { around: failingSave(n, when) })
        const failed = await first.perform(run(crawl(world), 'r', {}))
        assert.ok(E.isLeft(failed) || when === 'after' || first.saves.length < n)
        if (n === 1 && when === 'before') continue
        const recorded = new Set([...(await stored(newProcess(world).storage)).completedSteps].map(({ unit }) => unit))
        world.log.length = 0
        const { checkpoint } = ended(await newProcess(world).perform(resume(crawl(world), 'r')), 'Completed')
        assert.deepEqual([...world.log].sort(), LEAVES.filter((unit) => !recorded.has(unit)).sort(), `save ${n}`)
        assert.deepEqual(outputsOf(checkpoint), outputsOf(whole), `save ${n}`)
      }
    }
  )

  test('a failed task fails its ancestors, and a resume runs it and the later steps', async () => {
    const broken = 'sites/docs/pages/b/looks/words'
    const world = newWorld()
    const outcome = ended(await newProcess(world).perform(run(crawl(world, new Set([broken])), 'r', {})), 'Failed')
    assert.deepEqual([outcome.step, outcome.failures.map(({ unit }) => unit)], ['sites', [broken]])
    const plan = right(planResume(outcome.checkpoint, crawl(world)))
    const open = plan.decisions.filter(({ _tag }) => _tag !== 'Skip').map(({ _tag, unit }) => `${_tag} ${unit}`)
    assert.deepEqual(open, [
      'Retry sites',
      'Retry sites/docs',
      'Retry sites/docs/pages',
      'Retry sites/docs/pages/b',
      'Retry sites/docs/pages/b/looks',
      'Retry sites/docs/pages/b/looks/words',
      'Run sites/docs/pages/b/index',
      'Run sites/docs/sum',
      'Run sites/blog',
      'Run sites/blog/read',
      'Run sites/blog/sum',
      'Run report'
    ])
    assert.deepEqual(
      explain(plan)
        .split('\n')
        .slice(1, 7)
        .map((line) => line.slice(0, 30).trimEnd()),
      [
        '  1/3  skip     list',
        '  2/3  retry    sites',
        '       retry      docs',
        '       skip         read',
        '       retry        pages',
        '       skip           a'
      ]
    )
    world.log.length = 0
    ended(await newProcess(world).perform(resume(crawl(world), 'r')), 'Completed')
    assert.deepEqual(world.log, [
      broken,
      'sites/docs/pages/b/index',
      'sites/docs/sum',
      'sites/blog/read',
      'sites/blog/sum',
      'report'
    ])
  })
})

describe('going back in a tree', () => {
  const from = async (fromStep: string): Promise<{ readonly ran: ReadonlyArray<string>; readonly world: World }> => {
    const world = newWorld()
    ended(await newProcess(world).perform(run(crawl(world), 'r', {})), 'Completed')
    world.log.length = 0
    ended(await newProcess(world).perform(resume(crawl(world), 'r', { fromStep })), 'Completed')
    return { ran: world.log, world }
  }

  test('fromStep at a step of an item also runs the later steps of that item and of its ancestors, but no other item', async () => {
    const { ran } = await from('sites/docs/pages/b/looks/size')
    assert.deepEqual(
      [...ran].sort(),
      [
        ...['looks/size', 'looks/words', 'index'].map((part) => `sites/docs/pages/b/${part}`),
        'sites/docs/sum',
        'sites/blog/read',
        'sites/blog/sum',
        'report'
      ].sort()
    )
  })

  test('fromStep at a group also runs the groups that need it', async () => {
    const { ran } = await from('sites/docs')
    assert.deepEqual(
      [...ran].sort(),
      LEAVES.filter((unit) => isWithin(unit, 'sites/docs') || isWithin(unit, 'sites/blog') || unit === 'report').sort()
    )
  })

  test('fromStep keeps the idempotency keys and records of the units that do not run again', async () => {
    const world = newWorld()
    const before = ended(await newProcess(world).perform(run(crawl(world), 'r', {})), 'Completed').checkpoint
    const fromStep = 'sites/blog/sum'
    const after = ended(
      await newProcess(world).perform(resume(crawl(world), 'r', { fromStep })),
      'Completed'
    ).checkpoint
    assert.deepEqual([...after.renewals.keys()], ['sites/blog/sum', 'report'])
    const stays = (unit: string): boolean => !['sites/blog/sum', 'sites/blog', 'sites', 'report'].includes(unit)
    const records = ({ completedSteps }: typeof before): ReadonlyArray<unknown> =>
      [...completedSteps].filter(({ unit }) => stays(unit))
    assert.deepEqual(records(after), records(before))
  })

  test('fromStep at an unknown unit fails and lists the known units', async () => {
    const world = newWorld()
    ended(await newProcess(world).perform(run(crawl(world), 'r', {})), 'Completed')
    const planned = await planRun(crawl(world), 'r', { fromStep: 'sites/docs/pages/c' })(
      newProcess(world).environment
    )()
    assert.deepEqual(refused(planned, 'PlanError').problems, [
      { _tag: 'UnknownStep', step: 'sites/docs/pages/c', available: ['sites/docs/pages/a', 'sites/docs/pages/b'] }
    ])
  })
})

describe('an edited tree', () => {
  test.each(['a step', 'a group'])(
    'in a sequence that is %s, a unit in flight fails with an unknown outcome if an edit moved another step before the unit and the moved step fails',
    async (what) => {
      const world = newWorld()
      const steps = (broken: boolean): ReadonlyArray<ProgramType.ProgramTask> => [
        does(world, 'a'),
        does(world, 'b', new Set(broken ? ['s/b', 'w/s/b'] : []))
      ]
      const program = (of: ReadonlyArray<ProgramType.ProgramTask>): Runnable => {
        const sequence = Program.sequenceOf('s', of)
        return Program.fromSteps('moved', [what === 'a step' ? sequence : Program.waveOf('w', [needing(sequence)])])
      }
      const unit = what === 'a step' ? 's/a' : 'w/s/a'
      const crashed = newProcess(world, { around: failingSave(what === 'a step' ? 2 : 3, 'before') })
      assert.ok(E.isLeft(await crashed.perform(run(program(steps(false)), 'r', {}))))
      const { state } = await stored(newProcess(world).storage)
      assert.deepEqual(state._tag === 'BeforeStep' ? state.inFlight.records : [], [{ unit, attempt: 1 }])
      const resumed = await newProcess(world).perform(resume(program(steps(true).toReversed()), 'r'))
      const { failures } = ended(resumed, 'Failed')
      assert.deepEqual(failures.map((one) => [one.unit, one.outcome]).sort(), [
        [unit, 'unknown'],
        [unit.replace('a', 'b'), 'unknown']
      ])
      world.log.length = 0
      ended(await newProcess(world).perform(resume(program(steps(false).toReversed()), 'r')), 'Completed')
      assert.deepEqual(world.log, [unit.replace('a', 'b'), unit])
    }
  )

  const shop = (world: World, steps: ReadonlyArray<string>, last = 'ship'): Runnable =>
    Program.fromSteps('shop', [
      Program.sequenceOf(
        'order',
        steps.map((name) => does(world, name))
      ),
      does(world, last, new Set(['ship']))
    ])

  test('an edit is refused if it inserts a step before one that ran in a sequence', async () => {
    const world = newWorld()
    ended(await newProcess(world).perform(run(shop(world, ['pick', 'pack']), 'r', {})), 'Failed')
    const refusal = refused(
      await newProcess(world).perform(resume(shop(world, ['check', 'pick', 'pack']), 'r')),
      'PlanError'
    )
    assert.ok(refusal.problems.some((one) => one._tag === 'WorkflowChanged' && one.unit === 'order/check'))
  })

  test('an edit may change the steps of a sequence that have not run yet', async () => {
    const world = newWorld()
    const broken = Program.fromSteps('shop', [
      Program.sequenceOf('order', [
        does(world, 'pick'),
        does(world, 'pack', new Set(['order/pack'])),
        does(world, 'pay')
      ])
    ])
    ended(await newProcess(world).perform(run(broken, 'r', {})), 'Failed')
    world.log.length = 0
    const edited = Program.fromSteps('shop', [
      Program.sequenceOf('order', [does(world, 'pick'), does(world, 'wrap'), does(world, 'pack'), does(world, 'send')])
    ])
    ended(await newProcess(world).perform(resume(edited, 'r')), 'Completed')
    assert.deepEqual(world.log, ['order/wrap', 'order/pack', 'order/send'])
  })
})

test('a group that is stopped because another failed leaves nothing in flight', async () => {
  const world = newWorld()
  const waits = task('waits', {
    run: ({ signal }) =>
      TE.tryCatch(
        () =>
          new Promise((_, reject) => {
            signal.addEventListener('abort', () => reject(new Error('stopped')))
          }),
        (error) => error
      )
  })
  const program = Program.fromSteps('halting', [
    Program.waveOf(
      'all',
      [needing(Program.sequenceOf('slow', [waits])), group('bad', { run: () => TE.left(new Error('no')) })],
      {
        onFailure: 'halt'
      }
    )
  ])
  const { checkpoint, failures } = ended(await newProcess(world).perform(run(program, 'r', {})), 'Failed')
  assert.deepEqual(failures.map(({ unit }) => unit).sort(), ['all/bad', 'all/slow/waits'])
  assert.equal(checkpoint.state._tag, 'Failed')
})
