import assert from 'node:assert/strict'
import { pipe } from 'fp-ts/lib/function.js'
import * as TE from 'fp-ts/lib/TaskEither.js'
import * as t from 'io-ts'
import { describe, test } from 'vitest'
import { memoryStorage } from '../../src/adapters/memory.js'
import type * as Json from '../../src/domain/data/Json.js'
import * as RunError from '../../src/public/RunError.js'
import type { RunError as AnyError } from '../../src/executor/errors/RunError.js'
import { poll, Program, resume, run, runOrResume } from '../../src/index.js'
import * as Async from '../../src/promise/index.js'
import { ended, loaded, newProcess, newWorld, refused } from './fixtures.js'

const parses = (value: unknown): unknown => ({ value })

/** Values that untyped callers pass instead of a codec or a schema. */
const strangers: ReadonlyArray<readonly [string, unknown, RegExp]> = [
  [
    'a Standard Schema of a later version',
    { '~standard': { version: 2, vendor: 'zod', validate: parses }, decode: parses, encode: parses, validate: parses },
    /its "~standard".version is the number 2, not 1/
  ],
  [
    'a Standard Schema whose version has no text',
    { '~standard': { version: Object.create(null) as unknown } },
    /its "~standard".version is an object, not 1/
  ],
  [
    'a function with an incomplete schema',
    Object.assign(() => undefined, { '~standard': { version: 1, vendor: 'arktype' } }),
    /its "~standard" has no validate/
  ],
  ['an object that only decodes', { decode: parses }, /the value has no method encode, validate, is$/],
  ['a class', String, /the value has no method decode, encode, validate, is$/],
  ['a string', 'string', /not a string/],
  ['null', null, /not null/]
]

const codecs = strangers.map(([what, codec, why]) => [what, codec as t.Mixed, why] as const)

/** The only problem of a program: its place, field and text. */
const problemOf = (error: AnyError): readonly [string, string, string] => {
  assert.equal(error._tag, 'PlanError')
  const [one, ...more] = error._tag === 'PlanError' ? error.problems : []
  assert.deepEqual(more, [])
  assert.ok(one?._tag === 'InvalidWorkflow' && one.problem._tag === 'InvalidSetting')
  return [one.problem.place, one.problem.field, RunError.describe(error)]
}

describe('a value that is neither a codec nor a schema', () => {
  test.each(codecs)('%s is refused as a codec before anything runs', async (_, output, why) => {
    const world = newWorld()
    const process = newProcess(world)
    const did = TE.fromIO(() => world.log.push('did'))
    const program = pipe(Program.start('w'), Program.step('build', { output, run: () => did }))
    const [place, field, text] = problemOf(refused(await process.perform(run(program, 'r', {})), 'PlanError'))
    assert.deepEqual([place, field], ['build', 'output'])
    assert.match(text, why)
    assert.match(
      text,
      /output of "build" must be an io-ts codec, such as .*, or a Standard Schema \(zod, valibot, arktype\)/
    )
    assert.deepEqual([world.log, process.calls], [[], []])
    assert.equal((await loaded(memoryStorage(world.data)))._tag, 'None')
  })

  const [, codec] = codecs[0] ?? assert.fail()
  const job = {
    submit: () => TE.right(1),
    poll: () => TE.right({ _tag: 'Finished' as const }),
    collect: () => TE.right(1)
  }
  const start = Program.start('w')
  const nothing = { run: () => TE.right(1) }

  test.each([
    ['a group', pipe(start, Program.wave('checks', { lint: { ...nothing, output: codec } })), 'checks/lint', 'output'],
    ['a job', pipe(start, Program.step('train', { job, output: codec })), 'train', 'output'],
    [
      'the task of a map',
      pipe(start, Program.map('pages', { forEach: () => [] }, { ...nothing, output: codec })),
      'pages',
      'output'
    ],
    [
      'the items of a map',
      pipe(start, Program.map('pages', { forEach: () => [], item: codec }, nothing)),
      'pages',
      'item'
    ],
    ['an input', pipe(Program.start('w', { input: codec }), Program.step('one', nothing)), 'w', 'input'],
    [
      'a task made from data',
      Program.fromSteps('w', [Program.task('one', { ...nothing, output: codec })]),
      'one',
      'output'
    ]
  ])('an invalid codec of %s is refused by run, resume, runOrResume and poll', async (_, program, place, field) => {
    assert.deepEqual(
      Program.problems(program).map((one) => one._tag === 'InvalidSetting' && [one.place, one.field]),
      [[place, field]]
    )
    for (const call of [run(program, 'r', {}), resume(program, 'r'), runOrResume(program, 'r'), poll(program, 'r')]) {
      const ended = await call(newProcess().environment)()
      assert.deepEqual(problemOf(refused(ended, 'PlanError')).slice(0, 2), [place, field])
    }
  })

  const async = Async.workflow('w')
  const asyncJob = { submit: () => 1, poll: () => ({ _tag: 'Finished' as const }), collect: () => 1 }

  test.each([
    ['a step', async.step('build', { output: codec, run: () => 1 }), 'build', 'output'],
    ['a group', async.wave('checks', { lint: { output: codec, run: () => 1 } }), 'checks/lint', 'output'],
    ['a job', async.step('train', { output: codec, job: asyncJob }), 'train', 'output'],
    [
      'the task of a map',
      async.map('pages', { forEach: () => [] }, { output: codec, run: () => 1 }),
      'pages',
      'output'
    ],
    ['the items of a map', async.map('pages', { forEach: () => [], item: codec }, () => 1), 'pages', 'item'],
    ['an input', Async.workflow('w', { input: codec }).step('one', () => 1), 'w', 'input']
  ])('with promises an invalid codec of %s is refused', async (_, program, place, field) => {
    const options = { id: 'r', storage: memoryStorage() }
    const outcome = await Async.runOutcome<unknown, Json.Json>(program, options)
    assert.ok(outcome._tag === 'Refused')
    assert.deepEqual(problemOf(outcome.error).slice(0, 2), [place, field])
  })

  test('an invalid codec is refused by planRun for a stored run', async () => {
    const options = { id: 'r', storage: memoryStorage() }
    await Async.run(
      Async.workflow('w').step('build', () => 1),
      options
    )
    const program = Async.workflow('w').step('build', { output: codec, run: () => 1 })
    const error = await Async.planRun(program, options).catch((rejected: unknown) => rejected)
    assert.ok(error instanceof Async.RunFailure && error.outcome._tag === 'Refused')
    assert.deepEqual(problemOf(error.outcome.error).slice(0, 2), ['build', 'output'])
  })
})

test('an io-ts codec of a subclass is accepted', async () => {
  const output = new t.Type<string, string, unknown>('own', t.string.is, t.string.validate, (text) => text)
  const program = pipe(
    Program.start('w', { input: t.type({ a: t.string }) }),
    Program.step('one', { output, run: ({ input }) => TE.right(input.a) })
  )
  ended(await newProcess().perform(run(program, 'r', { a: 'x' })), 'Completed')
})
