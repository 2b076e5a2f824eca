/** Maps that are confirmed as done, and what they keep. */
import assert from 'node:assert/strict'
import { pipe } from 'fp-ts/lib/function.js'
import * as E from 'fp-ts/lib/Either.js'
import * as TE from 'fp-ts/lib/TaskEither.js'
import { describe, test } from 'vitest'
import type { Answer, ResumeOptions } from '../../src/index.js'
import { answersTo, confirm, Program, resume, run, RunError, StepError, StepFailure } from '../../src/index.js'
import { describeProblems } from '../../src/domain/explain/problems.js'
import type { World } from './fixtures.js'
import { ended, newProcess, newWorld, refused, right, stored } from './fixtures.js'

/** Makes a list, then pays for each item. The file of the list is its evidence; items of `fails` fail. */
const payments = (world: World, fails: ReadonlyArray<unknown> = ['b'], idempotent = false) =>
  pipe(
    Program.start('payments'),
    Program.step('list', {
      evidence: [{ _tag: 'Artifact', path: 'list' }],
      run: () => {
        world.log.push('list')
        if (fails.includes('list')) return TE.left(new Error('offline'))
        world.tree.files.set('list', 'content')
        return TE.right(['a', 'b', 'c'])
      }
    }),
    Program.map(
      'pay',
      {
        forEach: ({ outputs }) => outputs.list,
        key: (item) => String(item),
        concurrency: 1,
        evidence: [{ _tag: 'Artifact', path: 'receipts' }]
      },
      {
        idempotent,
        run: ({ item }) => {
          world.log.push(`pay ${String(item)}`)
          return fails.includes(item) ? TE.left(new Error('no reply')) : TE.right(`paid ${String(item)}`)
        }
      }
    ),
    Program.step('report', {
      run: ({ outputs }) => TE.fromIO(() => world.log.push(JSON.stringify(outputs.pay)))
    })
  )

/** A run whose item `b` may have taken effect, and whose list was deleted. */
const failed = async (): Promise<World> => {
  const world = newWorld()
  world.tree.files.set('receipts', 'all')
  ended(await newProcess(world).perform(run(payments(world), 'r', {})), 'Failed')
  world.log.length = 0
  world.tree.files.delete('list')
  return world
}

const answers = (given: Readonly<Record<string, Answer>>): ResumeOptions => ({
  confirm: new Map(Object.entries(given))
})

const confirmed = async (world: World, given: ResumeOptions) =>
  await confirm('r', given.confirm ?? new Map())(newProcess(world).environment)()

const unitsOf = async (world: World) =>
  [...(await stored(newProcess(world).storage)).completedSteps].map(({ unit }) => unit)

const done = { _tag: 'Done' } as const

const ALL_DONE = answers({
  pay: done,
  'pay/b': { ...done, output: 'paid b' },
  'pay/c': { ...done, output: 'paid c' }
})

describe('a map that is confirmed as done although an earlier step runs again', () => {
  test('a map that is confirmed as done keeps the outputs of its completed items, and its other items count as done', async () => {
    const world = await failed()
    const { questions } = refused(await newProcess(world).perform(resume(payments(world), 'r')), 'Unconfirmed')
    assert.deepEqual(
      questions.map(({ unit }) => unit),
      ['pay']
    )
    ended(await newProcess(world).perform(resume(payments(world), 'r', ALL_DONE)), 'Completed')
    assert.deepEqual(world.log, ['list', '["paid a","paid b","paid c"]'])
    assert.deepEqual((await unitsOf(world)).sort(), ['list', 'pay', 'pay/a', 'pay/b', 'pay/c', 'report'])
  })

  test('the output of a map that is confirmed as done has null for each item without an output', async () => {
    const world = await failed()
    ended(await newProcess(world).perform(resume(payments(world), 'r', answers({ pay: done }))), 'Completed')
    assert.deepEqual(world.log, ['list', '["paid a",null,null]'])
  })

  test('the answer Done about a map is refused with an output, because only its items have outputs', async () => {
    const world = await failed()
    const given = answers({ pay: { ...done, output: ['paid b'] } })
    const refusal = refused(await newProcess(world).perform(resume(payments(world), 'r', given)), 'PlanError')
    assert.deepEqual(describeProblems(refusal.problems), [
      'cannot count "pay" as done: its output is missing or invalid (expected one output for each item, none for the map); pass it with the answer done in `confirm`'
    ])
  })

  test('a map stays confirmed as done if an earlier step then fails', async () => {
    const world = await failed()
    ended(await newProcess(world).perform(resume(payments(world, ['list']), 'r', ALL_DONE)), 'Failed')
    ended(await newProcess(world).perform(resume(payments(world), 'r')), 'Completed')
    assert.deepEqual(world.log, ['list', 'list', '["paid a","paid b","paid c"]'])
  })

  test('an answer about an item is refused if its map runs again as a whole', async () => {
    const world = await failed()
    const refusal = refused(
      await newProcess(world).perform(resume(payments(world), 'r', answers({ 'pay/b': done }))),
      'PlanError'
    )
    assert.deepEqual(describeProblems(refusal.problems), [
      '"pay/b" takes no answer of its own; answer "pay", which contains it'
    ])
  })

  test('confirm accepts the answer Done about a map with outputs for its items', async () => {
    const world = await failed()
    right(await confirmed(world, ALL_DONE))
    ended(await newProcess(world).perform(resume(payments(world), 'r')), 'Completed')
    assert.deepEqual(world.log, ['list', '["paid a","paid b","paid c"]'])
  })

  test.each([
    ['Again', 'Again', undefined],
    ['Done', 'Again', ['"pay/b" takes no answer of its own; answer "pay", which contains it']],
    ['Again', 'Done', ['"pay/b" takes no answer of its own; answer "pay", which contains it']]
  ] as const)(
    'confirm and resume treat the answers %s about a map and %s about its item alike',
    async (_tag, ofItem, problems) => {
      const world = await failed()
      const both = answers({ pay: { _tag }, 'pay/b': { _tag: ofItem } })
      const beforehand = await confirmed(world, both)
      const atResume = await newProcess(await failed()).perform(resume(payments(world, []), 'r', both))
      for (const result of [beforehand, atResume] as ReadonlyArray<E.Either<RunError, unknown>>)
        if (problems === undefined) assert.ok(E.isRight(result))
        else assert.deepEqual(describeProblems(refused(result, 'PlanError').problems), problems)
    }
  )

  test('the answer Keep about edited evidence of a completed map keeps the outputs of its items', async () => {
    const world = newWorld()
    world.tree.files.set('receipts', 'all')
    const program = payments(world, [])
    ended(await newProcess(world).perform(run(program, 'r', {})), 'Completed')
    world.log.length = 0
    world.tree.files.delete('list')
    world.tree.files.set('receipts', 'edited by hand')
    ended(await newProcess(world).perform(resume(program, 'r', answers({ pay: { _tag: 'Keep' } }))), 'Completed')
    assert.deepEqual(world.log, ['list', '["paid a","paid b","paid c"]'])
  })
})

/** Makes a list, then a page for each item, with its file as evidence; item `b` fails if `fails`. */
const pages = (
  { log, tree }: World,
  fails = false,
  checks: { readonly after?: () => TE.TaskEither<Error, void> } = {}
) =>
  pipe(
    Program.start('pages'),
    Program.step('list', {
      evidence: [{ _tag: 'Artifact', path: 'list' }],
      run: () => {
        log.push('list')
        tree.files.set('list', 'content')
        if (!tree.files.has('index')) tree.files.set('index', 'of all')
        return TE.right(['a', 'b'])
      }
    }),
    Program.map(
      'make',
      {
        forEach: ({ outputs }) => outputs.list,
        key: (item) => String(item),
        concurrency: 1,
        evidence: [{ _tag: 'Artifact', path: 'index' }],
        ...checks
      },
      {
        idempotent: false,
        evidence: (_, { itemKey }) => [{ _tag: 'Artifact', path: `${itemKey}.html` }],
        run: ({ itemKey }) => {
          log.push(`make ${itemKey}`)
          if (fails && itemKey === 'b')
            return TE.left(StepFailure.permanent(StepError.make('E', 'no space'), 'notApplied'))
          tree.files.set(`${itemKey}.html`, 'made')
          return TE.right(itemKey)
        }
      }
    ),
    Program.step('report', { run: ({ outputs }) => TE.fromIO(() => log.push(JSON.stringify(outputs.make))) })
  )

describe('evidence of the items of a map', () => {
  const keep = answers({ make: { _tag: 'Keep' } })

  const made = async (fails: boolean): Promise<World> => {
    const world = newWorld()
    ended(await newProcess(world).perform(run(pages(world, fails), 'r', {})), fails ? 'Failed' : 'Completed')
    world.log.length = 0
    world.tree.files.delete('list')
    return world
  }

  test('the answer "done" about a map accepts the missing evidence of its items', async () => {
    const world = await made(false)
    world.tree.files.delete('a.html')
    ended(await newProcess(world).perform(resume(pages(world), 'r', answers({ make: done }))), 'Completed')
    assert.deepEqual(world.log, ['list', '["a","b"]'])
    ended(await newProcess(world).perform(resume(pages(world), 'r')), 'Completed')
    assert.equal(world.log.length, 2)
  })

  test('the answer "keep" about a completed map keeps edited evidence of its items', async () => {
    const world = await made(false)
    world.tree.files.set('a.html', 'edited by hand')
    const { questions } = refused(await newProcess(world).perform(resume(pages(world), 'r')), 'Unconfirmed')
    assert.deepEqual(
      questions.map(({ unit, reason }) => [unit, reason._tag]),
      [['make', 'EvidenceChanged']]
    )
    assert.deepEqual(questions.map(answersTo), [['Again', 'Keep', 'Done']])
    ended(await newProcess(world).perform(resume(pages(world), 'r', keep)), 'Completed')
    assert.deepEqual(world.log, ['list', '["a","b"]'])
    assert.equal(world.tree.files.get('a.html'), 'edited by hand')
    ended(await newProcess(world).perform(resume(pages(world), 'r')), 'Completed')
    assert.equal(world.log.length, 2)
  })

  test('a question about an unfinished map does not offer the answer Keep, and that answer is refused', async () => {
    const world = await made(true)
    world.tree.files.set('a.html', 'edited by hand')
    const refusal = refused(await newProcess(world).perform(resume(pages(world), 'r')), 'Unconfirmed')
    assert.deepEqual(refusal.questions.map(answersTo), [['Again', 'Done']])
    assert.doesNotMatch(RunError.describe(refusal), /Keep/)
    const { problems } = refused(await newProcess(world).perform(resume(pages(world), 'r', keep)), 'PlanError')
    assert.deepEqual(problems, [{ _tag: 'NothingToConfirm', unit: 'make', keep: true, asked: true }])
    assert.deepEqual(world.log, [])
  })

  test.each(['Keep', 'Done'] as const)(
    'the answer %s accepts edited evidence of a map and missing evidence of its item, and the next resume asks nothing',
    async (_tag) => {
      const world = await made(false)
      world.tree.files.set('index', 'edited by hand')
      world.tree.files.delete('a.html')
      ended(await newProcess(world).perform(resume(pages(world), 'r', answers({ make: { _tag } }))), 'Completed')
      assert.deepEqual(world.log, ['list', '["a","b"]'])
      ended(await newProcess(world).perform(resume(pages(world), 'r')), 'Completed')
      assert.equal(world.log.length, 2)
    }
  )

  test.each(['Keep', 'Done'] as const)(
    'the answer %s about a map is obeyed even if the check of the map failed',
    async (_tag) => {
      const world = newWorld()
      const checked = { after: () => TE.left(new Error('not yet')) }
      ended(await newProcess(world).perform(run(pages(world, false, checked), 'r', {})), 'Failed')
      world.log.length = 0
      world.tree.files.delete('list')
      world.tree.files.set('a.html', 'edited by hand')
      ended(await newProcess(world).perform(resume(pages(world), 'r', answers({ make: { _tag } }))), 'Completed')
      assert.deepEqual(world.log, ['list', '["a","b"]'])
    }
  )
})

test('a map that runs again raises a question if an item has a completed sub-step that is not idempotent', async () => {
  const world = newWorld()
  const program = pipe(
    Program.start('agents'),
    Program.step('list', {
      evidence: [{ _tag: 'Artifact', path: 'list' }],
      run: () => TE.fromIO(() => world.tree.files.set('list', 'content') && ['a'])
    }),
    Program.map(
      'agent',
      { forEach: ({ outputs }) => outputs.list, key: String },
      {
        run: ({ step }) =>
          pipe(
            TE.tryCatch(() => step('pay', { idempotent: false }, () => world.log.push('pay')), E.toError),
            TE.chainW(() => TE.left(StepFailure.permanent(StepError.make('E', 'no'), 'notApplied')))
          )
      }
    )
  )
  ended(await newProcess(world).perform(run(program, 'r', {})), 'Failed')
  world.tree.files.delete('list')
  const { questions } = refused(await newProcess(world).perform(resume(program, 'r')), 'Unconfirmed')
  assert.deepEqual([questions.map(({ unit }) => unit), world.log], [['agent'], ['pay']])
})
