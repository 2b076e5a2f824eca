import assert from 'node:assert/strict'
import { inspect } from 'node:util'
import { pipe } from 'fp-ts/lib/function.js'
import * as TE from 'fp-ts/lib/TaskEither.js'
import * as t from 'io-ts'
import { expectTypeOf, describe, test } from 'vitest'
import { memoryStorage } from '../../src/adapters/memory.js'
import { Program, resume, run, runOrResume } from '../../src/index.js'
import * as RunOutcome from '../../src/executor/RunOutcome.js'
import * as Async from '../../src/promise/index.js'
import { ended, newProcess, newWorld, right } from './fixtures.js'

const DateText = new t.Type<Date, string>(
  'DateText',
  (value): value is Date => value instanceof Date,
  (value, context) => (typeof value === 'string' ? t.success(new Date(value)) : t.failure(value, context)),
  (date) => date.toISOString()
)

const program = pipe(
  Program.start('all'),
  Program.step('when', { output: DateText, run: () => TE.right(new Date(0)) }),
  Program.step('silent', { run: () => TE.right(undefined) }),
  Program.wave('checks', {
    unit: { output: t.number, run: () => TE.right(42) },
    lint: { run: () => TE.right('clean') }
  }),
  Program.map('pages', { forEach: () => ['a', 'b'], key: String }, { output: t.number, run: () => TE.right(1) })
)

const expected = { when: new Date(0), silent: null, checks: { unit: 42, lint: 'clean' }, pages: [1, 1] }

describe('a completed run', () => {
  test('a completed run has the typed outputs of its steps, decoded as later steps see them', async () => {
    const outcome = right(await run(program, 'r', {})(newProcess().environment)())
    assert.ok(outcome._tag === 'Completed')
    expectTypeOf(outcome.outputs.when).toEqualTypeOf<Date>()
    expectTypeOf(outcome.outputs.checks.unit).toEqualTypeOf<number>()
    expectTypeOf(outcome.outputs.silent).toEqualTypeOf<null>()
    expectTypeOf(outcome.outputs.pages).toEqualTypeOf<ReadonlyArray<number>>()
    assert.deepEqual(outcome.outputs, expected)
  })

  test('resuming a completed run returns the same outputs', async () => {
    const world = newWorld()
    ended(await newProcess(world).perform(run(program, 'r', {})), 'Completed')
    assert.deepEqual(ended(await newProcess(world).perform(resume(program, 'r')), 'Completed').outputs, expected)
    assert.deepEqual(ended(await newProcess(world).perform(runOrResume(program, 'r')), 'Completed').outputs, expected)
  })

  test('RunOutcome.match passes the outputs of a completed run', async () => {
    const outcome = right(await run(program, 'r', {})(newProcess().environment)())
    const text = RunOutcome.match({
      Completed: ({ outputs }: RunOutcome.Completed<typeof expected>) => String(outputs.checks.unit),
      Failed: ({ step }) => step,
      Interrupted: ({ step }) => step,
      Pending: ({ step }) => step,
      Fenced: () => ''
    })(outcome as RunOutcome.RunOutcome<typeof expected>)
    assert.equal(text, '42')
  })

  test('with promises, a completed run returns its outputs as plain data copied from the store', async () => {
    const options = { id: 'r', storage: memoryStorage() }
    const greet = Async.workflow('greet')
      .step('name', { output: t.string, run: () => 'Ada' })
      .step('list', () => [1, 2])
    const outcome = await Async.runOutcome(greet, options)
    assert.ok(outcome._tag === 'Completed')
    expectTypeOf(outcome.outputs.name).toEqualTypeOf<string>()
    assert.deepEqual(outcome.outputs, { name: 'Ada', list: [1, 2] })
    assert.deepEqual(JSON.parse(JSON.stringify(outcome.outputs)), { name: 'Ada', list: [1, 2] })
    assert.deepEqual(await Async.runOrResume(greet, options), outcome.outputs)
    assert.match(inspect(outcome), /outputs: \{ name: 'Ada', list: \[ 1, 2 \] \}/)
    outcome.outputs.list.push(3)
    const again = await Async.runOutcome(greet, options)
    assert.deepEqual(again._tag === 'Completed' && again.outputs.list, [1, 2])
  })

  test('the outputs of a completed run contain no secret’s value', async () => {
    const environment = { secrets: { where: 'here', read: () => TE.right({ _tag: 'Some' as const, value: 's3cr3t' }) } }
    const told = Async.workflow('told', { secrets: ['TOKEN'] }).step(
      'tell',
      ({ secrets }) => `it is ${secrets['TOKEN']}`
    )
    const outcome = await Async.runOutcome(told, { id: 'r', storage: memoryStorage(), environment })
    assert.deepEqual(outcome._tag === 'Completed' && outcome.outputs, { tell: 'it is ***' })
  })
})
