import assert from 'node:assert/strict'
import * as E from 'fp-ts/lib/Either.js'
import { pipe } from 'fp-ts/lib/function.js'
import * as TE from 'fp-ts/lib/TaskEither.js'
import * as t from 'io-ts'
import { describe, test } from 'vitest'
import type * as Json from '../../src/domain/data/Json.js'
import type * as ProgramType from '../../src/executor/program/Program.js'
import type * as StepError from '../../src/domain/data/StepError.js'
import type { PlanOptions } from '../../src/domain/plan/Plan.js'
import { explain, planResume, poll, Program, resume, run } from '../../src/index.js'
import type { Process, World } from './fixtures.js'
import { ended, historyOf, newProcess, newWorld, patiently, refused, right, stored } from './fixtures.js'
import { isWithin } from '../../src/domain/workflow/Unit.js'

/** The outside world: the existing pages, and which of them are broken. */
interface Site {
  pages: ReadonlyArray<string>
  broken: ReadonlySet<string>
}

const siteOf = (...pages: ReadonlyArray<string>): Site => ({ pages, broken: new Set() })

/** Lists pages, fetches each, and counts the results. Fetches are written to the world's log. */
const crawl = (
  { world }: Process,
  site: Site,
  options: { readonly idempotent?: boolean; readonly concurrency?: number; readonly version?: string } = {}
) => {
  const { concurrency, ...ofEach } = options
  return pipe(
    Program.start('crawl'),
    Program.step('list', {
      output: t.array(t.string),
      run: () =>
        TE.fromIO(() => {
          world.log.push('list')
          return [...site.pages]
        })
    }),
    Program.map(
      'fetch',
      {
        forEach: ({ outputs }) => outputs.list,
        item: t.string,
        key: (page) => page,
        ...(concurrency === undefined ? {} : { concurrency })
      },
      {
        output: t.number,
        ...ofEach,
        run: ({ item, itemKey }) =>
          TE.tryCatch(
            async () => {
              assert.equal(item, itemKey)
              if (site.broken.has(item)) throw new Error(`${item} is broken`)
              world.log.push(item)
              return await Promise.resolve(item.length)
            },
            (error) => error
          )
      }
    ),
    Program.step('report', {
      run: ({ outputs: { fetch } }) =>
        TE.fromIO(() => {
          world.log.push(JSON.stringify(fetch))
          return fetch.reduce((sum, size) => sum + size, 0)
        })
    })
  )
}

const again = (world: World): Process => newProcess(world)

const tagsOf = async (process: Process): Promise<ReadonlyArray<string>> => await historyOf(process.storage)

describe('a map', () => {
  test('a map runs its task for each item of an earlier output, and later steps see an array in item order', async () => {
    const process = newProcess()
    ended(await process.perform(run(crawl(process, siteOf('a', 'bb', 'ccc')), 'r', {})), 'Completed')
    assert.deepEqual(process.world.log, ['list', 'a', 'bb', 'ccc', '[1,2,3]'])
    const records = [...(await stored(process.storage)).completedSteps].map(({ unit, output }) => [unit, output])
    assert.deepEqual(records, [
      ['list', ['a', 'bb', 'ccc']],
      ['fetch/a', 1],
      ['fetch/bb', 2],
      ['fetch/ccc', 3],
      ['fetch', undefined],
      ['report', 6]
    ])
  })

  test('the items of a map are recorded before the first of them starts', async () => {
    const process = newProcess()
    const seen: Array<unknown> = []
    const program = pipe(
      Program.start('m'),
      Program.map(
        'each',
        { forEach: () => ['x', 'y'] },
        {
          run: () =>
            pipe(
              TE.fromTask(() => stored(process.storage)),
              TE.map(({ items }) => void seen.push(items.get('each')))
            )
        }
      )
    )
    ended(await process.perform(run(program, 'r', {})), 'Completed')
    const items = [
      { key: '1', value: 'x' },
      { key: '2', value: 'y' }
    ]
    assert.deepEqual(seen, [items, items])
    assert.deepEqual(
      process.events.filter(({ _tag }) => _tag === 'MapExpanded'),
      [{ _tag: 'MapExpanded', runId: 'r', stepIndex: 0, unit: 'each', items: 2 }]
    )
  })

  test('a resumed map runs only those of its recorded items that have not completed', async () => {
    const [world, site] = [newWorld(), siteOf('a', 'b', 'c', 'd')]
    const first = newProcess(world)
    site.broken = new Set(['c'])
    ended(await first.perform(run(crawl(first, site), 'r', {})), 'Failed')
    assert.deepEqual(world.log, ['list', 'a', 'b', 'd'])
    site.broken = new Set()
    site.pages = ['other']
    const second = again(world)
    const plan = right(planResume(await stored(first.storage), crawl(second, site)))
    assert.deepEqual(
      plan.decisions.map(({ _tag, unit }) => `${_tag} ${unit}`),
      ['Skip list', 'Retry fetch', 'Skip fetch/a', 'Skip fetch/b', 'Retry fetch/c', 'Skip fetch/d', 'Run report']
    )
    ended(await second.perform(resume(crawl(second, site), 'r')), 'Completed')
    assert.deepEqual(world.log.slice(4), ['c', '[1,1,1,1]'])
    assert.equal((await tagsOf(second)).filter((tag) => tag === 'Expanded').length, 1)
  })

  test('a map without items completes with an empty array', async () => {
    const process = newProcess()
    ended(await process.perform(run(crawl(process, siteOf()), 'r', {})), 'Completed')
    assert.deepEqual(process.world.log, ['list', '[]'])
    const plan = right(planResume(await stored(process.storage), crawl(process, siteOf())))
    assert.equal(plan.startIndex, 3)
  })

  test('a map may take its items from a map without items', async () => {
    const process = newProcess()
    const program = pipe(
      Program.start('m'),
      Program.map('none', { forEach: () => [] }, { run: () => TE.right(1) }),
      Program.map('each', { forEach: ({ outputs }) => outputs.none }, { run: () => TE.right(1) })
    )
    ended(await process.perform(run(program, 'r', {})), 'Completed')
  })

  test('a map whose recorded items are empty computes its items again when its evidence is missing', async () => {
    const world = newWorld()
    const site = siteOf()
    const first = newProcess(world)
    ended(await first.perform(run(crawl(first, site), 'r', {})), 'Completed')
    site.pages = ['a']
    const evidence = [{ unit: 'fetch', missing: [{ _tag: 'File', path: 'x' }] }] as const
    const second = again(world)
    const plan = right(planResume(await stored(second.storage), crawl(second, site), { evidence }))
    assert.deepEqual(
      plan.decisions.map(({ _tag, unit, reason }) => [_tag, unit, reason._tag]),
      [
        ['Skip', 'list', 'Completed'],
        ['Run', 'fetch', 'EvidenceMissing'],
        ['Run', 'report', 'EarlierStepRunsAgain']
      ]
    )
    ended(await second.perform(resume(crawl(second, site), 'r', { evidence })), 'Completed')
    assert.equal((await tagsOf(second)).filter((tag) => tag === 'Expanded').length, 2)
  })

  test('a plan has one decision for a map until its items are known', async () => {
    const process = newProcess()
    const program = crawl(process, siteOf('a'))
    const started = newProcess()
    started.stop()
    ended(await started.perform(run(program, 'r', {})), 'Interrupted')
    const plan = right(planResume(await stored(started.storage), program))
    assert.deepEqual(
      plan.decisions.map(({ _tag, unit }) => [_tag, unit]),
      [
        ['Run', 'list'],
        ['Run', 'fetch'],
        ['Run', 'report']
      ]
    )
    assert.match(explain(plan), /2\/3 {2}run {6}fetch {3}not started/)
  })

  test('a map computes its items again after a restart of it or of an earlier step', async () => {
    for (const [options, listed] of [
      [{ restartWave: 'fetch' }, ['bb']],
      [{ fromStep: 'list' }, ['list', 'new']]
    ] as const) {
      const [world, site] = [newWorld(), siteOf('a', 'bb')]
      const first = newProcess(world)
      site.broken = new Set(['bb'])
      ended(await first.perform(run(crawl(first, site), 'r', {})), 'Failed')
      site.broken = new Set(['a'])
      site.pages = ['new']
      const second = again(world)
      const plan = right(planResume(await stored(first.storage), crawl(second, site), options))
      assert.deepEqual(
        plan.decisions.filter(({ unit }) => isWithin(unit, 'fetch')).map(({ _tag, unit }) => [_tag, unit]),
        [['Run', 'fetch']]
      )
      await second.perform(resume(crawl(second, site), 'r', options))
      assert.deepEqual(world.log.slice(2, 2 + listed.length), listed)
      const { items } = await stored(second.storage)
      assert.deepEqual(
        items.get('fetch')?.map(({ key }) => key),
        options === undefined || 'restartWave' in options ? ['a', 'bb'] : ['new']
      )
    }
  })

  test('a map keeps its items when the evidence of all of them is missing', async () => {
    const [world, site] = [newWorld(), siteOf('a', 'b')]
    const first = newProcess(world)
    ended(await first.perform(run(crawl(first, site), 'r', {})), 'Completed')
    site.pages = ['z']
    const missing = [{ _tag: 'File', path: 'x' }] as const
    const evidence = ['a', 'b'].map((group) => ({ unit: `fetch/${group}`, missing }))
    const second = again(world)
    const plan = right(planResume(await stored(first.storage), crawl(second, site), { evidence }))
    assert.deepEqual(
      plan.decisions.filter(({ unit }) => isWithin(unit, 'fetch')).map(({ _tag, unit }) => `${_tag} ${unit}`),
      ['Run fetch', 'Run fetch/a', 'Run fetch/b']
    )
    ended(await second.perform(resume(crawl(second, site), 'r', { evidence })), 'Completed')
    assert.deepEqual(world.log.slice(4), ['a', 'b', '[1,1]'])
    assert.equal((await tagsOf(second)).filter((tag) => tag === 'Expanded').length, 1)
  })

  test('a resume continues the restart of a map in which an item failed', async () => {
    const [world, site] = [newWorld(), siteOf('a', 'b')]
    const first = newProcess(world)
    ended(await first.perform(run(crawl(first, site), 'r', {})), 'Completed')
    site.broken = new Set(['b'])
    const second = again(world)
    ended(await second.perform(resume(crawl(second, site), 'r', { restartWave: 'fetch' })), 'Failed')
    site.broken = new Set()
    const third = again(world)
    ended(await third.perform(resume(crawl(third, site), 'r')), 'Completed')
    assert.deepEqual(world.log.slice(4), ['a', 'b', '[1,1]'])
  })

  test('an edit of the task of a map with completed items is refused, and reported once', async () => {
    const [world, site] = [newWorld(), siteOf('a', 'b', 'c')]
    const first = newProcess(world)
    site.broken = new Set(['c'])
    ended(await first.perform(run(crawl(first, site), 'r', {})), 'Failed')
    const plan = planResume(await stored(first.storage), crawl(first, site, { version: '2' }))
    assert.ok(E.isLeft(plan))
    assert.deepEqual(
      plan.left.problems.map((problem) => [
        problem._tag,
        'edit' in problem && problem.edit,
        'unit' in problem && problem.unit
      ]),
      [['WorkflowChanged', 'changed', 'fetch']]
    )
    const accepted = right(
      planResume(await stored(first.storage), crawl(first, site, { version: '2' }), { changes: 'ignore' })
    )
    assert.deepEqual(
      accepted.decisions.filter(({ unit }) => isWithin(unit, 'fetch')).map(({ _tag }) => _tag),
      ['Retry', 'Skip', 'Skip', 'Retry']
    )
  })

  test('a map keeps its items through an edit of another step', async () => {
    const [world, site] = [newWorld(), siteOf('a', 'b')]
    const first = newProcess(world)
    site.broken = new Set(['b'])
    ended(await first.perform(run(crawl(first, site), 'r', {})), 'Failed')
    site.broken = new Set()
    site.pages = ['z']
    const second = again(world)
    const edited = pipe(crawl(second, site), Program.step('more', { run: () => TE.right(1) }))
    ended(await second.perform(resume(edited, 'r')), 'Completed')
    assert.deepEqual(world.log.slice(2), ['b', '[1,1]'])
  })

  test('a map that is not idempotent raises a question for each item, or one for the map if its items may change', async () => {
    const [world, site] = [newWorld(), siteOf('a', 'b')]
    const first = newProcess(world)
    site.broken = new Set(['b'])
    ended(await first.perform(run(crawl(first, site, { idempotent: false }), 'r', {})), 'Failed')
    const checkpoint = await stored(first.storage)
    const program = crawl(first, site, { idempotent: false })
    const asked = (options: Parameters<typeof planResume>[2]): ReadonlyArray<string> =>
      right(planResume(checkpoint, program, options))
        .decisions.filter(({ _tag }) => _tag === 'Confirm')
        .map(({ unit }) => unit)
    assert.deepEqual(asked({}), ['fetch', 'fetch/b'])
    const gone = { unit: 'list', missing: [{ _tag: 'File', path: 'x' }] } as const
    assert.deepEqual(asked({ evidence: [gone] }), ['fetch'])
    assert.deepEqual(asked({ evidence: [gone], confirm: new Map([['fetch', { _tag: 'Again' }]]) }), [])
    assert.deepEqual(asked({ restartWave: 'fetch' }), [])
  })

  test('an answer about a map is refused if the question is about its items, and an answer about an item if the question is about the map', async () => {
    const [world, site] = [newWorld(), siteOf('a', 'b')]
    const first = newProcess(world)
    site.broken = new Set(['b'])
    ended(await first.perform(run(crawl(first, site, { idempotent: false }), 'r', {})), 'Failed')
    const checkpoint = await stored(first.storage)
    const refusal = (name: string, options: Parameters<typeof planResume>[2]): unknown => {
      const confirm = new Map([[name, { _tag: 'Done' } as const]])
      const plan = planResume(checkpoint, crawl(first, site, { idempotent: false }), { ...options, confirm })
      return E.isLeft(plan) ? plan.left.problems : plan.right.decisions
    }
    assert.deepEqual(refusal('fetch', {}), [
      { _tag: 'UnknownStep', step: 'fetch', option: 'confirm', available: ['list', 'fetch/a', 'fetch/b', 'report'] }
    ])
    assert.deepEqual(refusal('fetch/b', { restartWave: 'fetch' }), [
      { _tag: 'UnknownStep', step: 'fetch/b', option: 'confirm', available: ['list', 'fetch', 'report'] }
    ])
  })

  test('a map submits its items as jobs, each once', async () => {
    const world = newWorld()
    const process = newProcess(world)
    const submitted: Array<string> = []
    const program = pipe(
      Program.start('jobs'),
      Program.map(
        'each',
        { forEach: () => [{ id: 7 }, { id: 8 }] },
        {
          job: {
            submit: ({ item, itemKey }) =>
              TE.fromIO(() => {
                submitted.push(`${itemKey} ${JSON.stringify(item)}`)
                return item
              }),
            poll: () => TE.right({ _tag: 'Finished' }),
            collect: ({ job, item }) => TE.right([job, item])
          }
        }
      ),
      Program.step('report', { run: ({ outputs }) => TE.right(outputs.each) })
    )
    ended(await process.perform(run(program, 'r', {})), 'Pending')
    const polled = right(await patiently(process.clock, poll(program, 'r')(process.environment)()))
    assert.ok(polled._tag === 'Polled')
    assert.deepEqual(
      polled.jobs.map(({ end }) => end._tag),
      ['Collected', 'Collected']
    )
    ended(await again(world).perform(resume(program, 'r')), 'Completed')
    assert.deepEqual(submitted, ['1 {"id":7}', '2 {"id":8}'])
    const last = [...(await stored(process.storage)).completedSteps].at(-1)
    assert.deepEqual(last?.output, [
      [{ id: 7 }, { id: 7 }],
      [{ id: 8 }, { id: 8 }]
    ])
  })
})

/** Lists models to train and submits a job for each; submissions are written to the world's log. */
const trainings = ({ log }: World) =>
  pipe(
    Program.start('trainings'),
    Program.step('list', { run: () => TE.right(['a', 'b']) }),
    Program.map(
      'train',
      { forEach: () => ['a', 'b'], item: t.string, key: (item) => item },
      {
        idempotent: false,
        job: {
          submit: ({ item }) => TE.fromIO(() => log.push(item)),
          poll: () => TE.right({ _tag: 'Finished' }),
          collect: ({ job }) => TE.right(job)
        }
      }
    )
  )

describe('a map with pending jobs that are not idempotent', () => {
  const missing = [{ _tag: 'File', path: 'x' }] as const
  const cases: ReadonlyArray<[why: string, options: PlanOptions]> = [
    ['evidence of an earlier step is missing', { evidence: [{ unit: 'list', missing }] }],
    ['the map is restarted', { restartWave: 'train' }],
    ['fromStep names an earlier step', { fromStep: 'list' }]
  ]

  test.each(cases)(
    'a map with pending jobs that are not idempotent needs confirmation before it runs again: %s',
    async (_, options) => {
      const world = newWorld()
      ended(await again(world).perform(run(trainings(world), 'r', {})), 'Pending')
      const error = refused(await again(world).perform(resume(trainings(world), 'r', options)), 'Unconfirmed')
      assert.deepEqual(
        error.questions.map(({ unit, reason }) => [unit, reason._tag]),
        [['train', 'JobPending']]
      )
      const agreed = { ...options, confirm: new Map([['train', { _tag: 'Again' } as const]]) }
      const plan = right(planResume(await stored(again(world).storage), trainings(world), agreed))
      assert.deepEqual(
        plan.abandons?.map(({ unit }) => unit),
        ['train/a', 'train/b']
      )
      assert.match(
        explain(plan),
        /\n"train\/a" no longer waits for its job, .*\n"train\/b" no longer waits for its job, /
      )
      ended(await again(world).perform(resume(trainings(world), 'r', agreed)), 'Pending')
      assert.deepEqual(world.log, ['a', 'b', 'a', 'b'])
    }
  )

  test.each(cases)(
    'a map with pending jobs that are not idempotent may be confirmed as done instead: %s',
    async (_, options) => {
      const world = newWorld()
      ended(await again(world).perform(run(trainings(world), 'r', {})), 'Pending')
      const said = { ...options, confirm: new Map([['train', { _tag: 'Done' } as const]]) }
      ended(await again(world).perform(resume(trainings(world), 'r', said)), 'Completed')
      assert.deepEqual(world.log, ['a', 'b'])
    }
  )
})

/** A string as its own key. */
const itself = (item: unknown): string => item as string

describe('a restart of a map of jobs that are not idempotent', () => {
  test('a restart of a map needs confirmation while one of its jobs is pending', async () => {
    const process = newProcess()
    const submitted: Array<string> = []
    const program = pipe(
      Program.start('jobs'),
      Program.map(
        'each',
        { forEach: () => [1, 2] },
        {
          idempotent: false,
          job: {
            submit: ({ itemKey }) => TE.fromIO(() => void submitted.push(itemKey)),
            poll: () => TE.right({ _tag: 'Unfinished' }),
            collect: () => TE.right(null)
          }
        }
      )
    )
    ended(await process.perform(run(program, 'r', {})), 'Pending')
    const checkpoint = await stored(process.storage)
    for (const options of [{ restartWave: 'each' }, { fromStep: 'each' }]) {
      const [decision] = right(planResume(checkpoint, program, options)).decisions
      assert.deepEqual([decision?._tag, decision?.reason._tag], ['Confirm', 'JobPending'])
      const confirm = new Map([['each', { _tag: 'Again' } as const]])
      const { decisions, abandons } = right(planResume(checkpoint, program, { ...options, confirm }))
      assert.equal(decisions[0]?._tag, 'Run')
      assert.deepEqual(
        abandons?.map(({ unit }) => unit),
        ['each/1', 'each/2']
      )
    }
  })
})

describe('invalid items of a map', () => {
  const failing = async (
    options: ProgramType.MapOptions<object, Json.Json, unknown>
  ): Promise<{ readonly error: StepError.StepError; readonly outcome: string }> => {
    const process = newProcess()
    const program = pipe(
      Program.start('m'),
      Program.map('each', options, { run: () => TE.fromIO(() => process.world.log.push('ran')) })
    )
    const outcome = ended(await process.perform(run(program, 'r', {})), 'Failed')
    assert.deepEqual(process.world.log, [])
    const [failure] = outcome.failures
    assert.ok(failure !== undefined)
    return failure
  }

  test('invalid items fail the map before anything runs, and the error names the problem and the item', async () => {
    const cases: ReadonlyArray<readonly [ProgramType.MapOptions<object, Json.Json, unknown>, RegExp]> = [
      [{ forEach: () => 'abc' as never }, /`forEach` must return an array/],
      [
        { forEach: (() => Promise.reject(new Error('late'))) as never },
        /return an array, not a promise; await it in an earlier step/
      ],
      [{ forEach: () => [1], key: (() => Promise.reject(new Error('late'))) as never }, /`key` must return a string/],
      [{ forEach: () => ['x', 'y', 'x'], key: itself }, /item 3 has the key "x" of an earlier item/],
      [{ forEach: () => [''], key: itself }, /item 1 has a key of 0 characters; use 1 to 512 characters/],
      [{ forEach: () => [1, new Date(0)] }, /item 2 must be plain JSON, not a Date/],
      [
        { forEach: () => Array.from({ length: 100_001 }, () => 1) },
        /there are 100001 items, but a map has at most 100000/
      ],
      [
        {
          forEach: () => {
            throw new Error('no list')
          }
        },
        /no list/
      ]
    ]
    for (const [options, message] of cases) {
      const { error, outcome } = await failing(options)
      assert.match(error.message, message)
      assert.equal(outcome, 'notApplied')
    }
  })

  test('a plain resume computes invalid items again', async () => {
    const world = newWorld()
    const site: { items?: ReadonlyArray<string> } = {}
    const program = pipe(
      Program.start('m'),
      Program.map(
        'each',
        {
          forEach: () => {
            if (site.items === undefined) throw Object.assign(new Error('busy'), { status: 503 })
            return site.items
          }
        },
        { run: ({ item }) => TE.fromIO(() => world.log.push(itself(item))) }
      )
    )
    const outcome = ended(await newProcess(world).perform(run(program, 'r', {})), 'Failed')
    assert.equal(outcome.retryable, true)
    site.items = ['x']
    ended(await again(world).perform(resume(program, 'r')), 'Completed')
    assert.deepEqual(world.log, ['x'])
  })

  test('a recorded item that the edited codec no longer accepts fails the map', async () => {
    const world = newWorld()
    const failing = pipe(
      Program.start('m'),
      Program.map('each', { forEach: () => [1, 2] }, { run: () => TE.left(new Error('no')) })
    )
    ended(await newProcess(world).perform(run(failing, 'r', {})), 'Failed')
    const edited = pipe(
      Program.start('m'),
      Program.map('each', { forEach: () => ['1'], item: t.string }, { run: () => TE.right(1) })
    )
    const outcome = ended(await again(world).perform(resume(edited, 'r')), 'Failed')
    assert.match(outcome.failures.at(-1)?.error.message ?? '', /item "1" must be string; restart the map/)
    ended(await again(world).perform(resume(edited, 'r', { restartWave: 'each' })), 'Completed')
  })
})

test('a map returns its outputs in the order of its items, not of their keys or of completion', async () => {
  const process = newProcess()
  const items = [
    { key: '10', millis: 20 },
    { key: 'b', millis: 10 },
    { key: '9', millis: 0 }
  ]
  const program = pipe(
    Program.start('m'),
    Program.map(
      'each',
      { forEach: () => items, item: t.type({ key: t.string, millis: t.number }), key: ({ key }) => key },
      {
        output: t.string,
        run: ({ item }) =>
          pipe(
            TE.fromTask(process.clock.sleep(item.millis, new AbortController().signal)),
            TE.map(() => item.key)
          )
      }
    ),
    Program.step('seen', { output: t.array(t.string), run: ({ outputs }) => TE.right([...outputs.each]) })
  )
  const { checkpoint, outputs } = ended(await process.perform(run(program, 'r', {})), 'Completed')
  assert.deepEqual(outputs, { each: ['10', 'b', '9'], seen: ['10', 'b', '9'] })
  const ends = [...checkpoint.completedSteps].map(({ unit }) => unit)
  assert.deepEqual(ends, ['each/9', 'each/b', 'each/10', 'each', 'seen'])
})
