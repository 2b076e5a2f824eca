import assert from 'node:assert/strict'
import { type } from 'arktype'
import fc from 'fast-check'
import { pipe } from 'fp-ts/lib/function.js'
import * as TE from 'fp-ts/lib/TaskEither.js'
import * as t from 'io-ts'
import * as v from 'valibot'
import { describe, expectTypeOf, test } from 'vitest'
import { z } from 'zod'
import { memoryStorage } from '../../src/adapters/memory.js'
import type * as Json from '../../src/domain/data/Json.js'
import * as Program from '../../src/executor/program/Program.js'
import { resume, run, RunError, runOrResume } from '../../src/index.js'
import * as Async from '../../src/promise/index.js'
import type { Process } from './fixtures.js'
import { ended, newProcess, newWorld, outputsOf, refused, stored, task } from './fixtures.js'

const anyJson = fc.jsonValue({ maxDepth: 3 }).map((value) => JSON.parse(JSON.stringify(value)) as Json.Json)

/** Schemas of one library: a string that becomes a number, and a list of files with a string that becomes a date. */
interface Library {
  readonly size: Program.StandardSchema<string, number>
  readonly release: Program.StandardSchema<
    { readonly at: string; readonly files: Array<{ readonly name: string }> },
    { readonly at: Date; readonly files: Array<{ readonly name: string }> }
  >
}

const zods: Library = {
  size: z.string().transform(Number),
  release: z.object({ at: z.string().transform((at) => new Date(at)), files: z.array(z.object({ name: z.string() })) })
}

const valibots: Library = {
  size: v.pipe(v.string(), v.transform(Number)),
  release: v.object({
    at: v.pipe(
      v.string(),
      v.transform((at) => new Date(at))
    ),
    files: v.array(v.object({ name: v.string() }))
  })
}

const arktypes: Library = {
  size: type('string').pipe(Number),
  release: type({ at: type('string').pipe((at) => new Date(at)), files: type({ name: 'string' }).array() })
}

const libraries = [
  ['zod', zods],
  ['valibot', valibots],
  ['arktype', arktypes]
] as const

const recorded = { at: '1970-01-01T00:00:00.000Z', files: [{ name: 'a.tgz' }] }
const read = { at: new Date(0), files: [{ name: 'a.tgz' }] }
const wrong = { at: '1970-01-01T00:00:00.000Z', files: [{ name: 7 }] } as unknown as typeof recorded

describe.each(libraries)('a schema of %s', (_, { size, release }) => {
  /** The last step fails until `passes` is true. Each call makes a new program. */
  const program = (seen: Array<unknown>, passes: boolean) =>
    pipe(
      Program.start('w', { input: release }),
      Program.step('size', {
        output: size,
        run: ({ input }) => {
          expectTypeOf(input.at).toEqualTypeOf<Date>()
          return TE.right(`4${input.files.length}`)
        }
      }),
      Program.wave('checks', { unit: { output: release, run: () => TE.right(recorded) } }),
      Program.map(
        'each',
        { forEach: ({ outputs }) => [String(outputs.size), '2'], item: size, key: (item) => `of-${item + 1}` },
        {
          output: size,
          run: ({ item }) => {
            expectTypeOf(item).toEqualTypeOf<number>()
            seen.push(item)
            return TE.right(String(item * 10))
          }
        }
      ),
      Program.step('last', {
        run: ({ input, outputs }) => {
          expectTypeOf(outputs.size).toEqualTypeOf<number>()
          expectTypeOf(outputs.checks.unit.at).toEqualTypeOf<Date>()
          expectTypeOf(outputs.each).toEqualTypeOf<ReadonlyArray<number>>()
          seen.push(input, outputs.size, outputs.checks.unit, outputs.each)
          return passes ? TE.right('done') : TE.left('not yet')
        }
      })
    )

  test('the value that a step returns is recorded, and later steps read what the schema makes of it, even after a resume', async () => {
    const world = newWorld()
    const first: Array<unknown> = []
    ended(await newProcess(world).perform(run(program(first, false), 'r', recorded)), 'Failed')
    assert.deepEqual(first, [41, 2, read, 41, read, [410, 20]])

    const checkpoint = await stored(memoryStorage(world.data))
    assert.deepEqual(checkpoint.input, recorded)
    assert.deepEqual(outputsOf(checkpoint), {
      size: '41',
      'checks/unit': recorded,
      checks: undefined,
      'each/of-42': '410',
      'each/of-3': '20',
      each: undefined
    })
    assert.deepEqual(
      checkpoint.items.get('each')?.map(({ value }) => value),
      ['41', '2']
    )

    const second: Array<unknown> = []
    const outcome = ended(await newProcess(world).perform(resume(program(second, true), 'r')), 'Completed')
    assert.deepEqual(second, [read, 41, read, [410, 20]])
    assert.deepEqual(outcome.outputs, { size: 41, checks: { unit: read }, each: [410, 20], last: 'done' })
    // The input is compared as it is recorded.
    ended(await newProcess(world).perform(runOrResume(program([], true), 'r', recorded)), 'Completed')
  })

  test('the steps of a workflow with promises read what the schema returns', async () => {
    const job = { submit: () => 1, poll: () => ({ _tag: 'Finished' as const }), collect: () => '3' }
    const release1 = Async.workflow('w', { input: release })
      .step('size', { output: size, run: ({ input }) => Promise.resolve(String(input.at.getTime())) })
      .sequence('rest', (rest) => rest.step('year', ({ input }) => input.at.getUTCFullYear()))
      .map('each', { forEach: ({ input }) => [String(input.files.length)], item: size }, ({ item }) => item + 1)
      .wave('checks', { unit: { output: size, run: ({ outputs }) => String(outputs.size + 1) } })
      .step('train', { output: size, job })
    const options = { id: 'r', storage: memoryStorage() }
    assert.equal((await Async.runOutcome(release1, { ...options, input: recorded }))._tag, 'Pending')
    await Async.poll(release1, options)
    const outputs = await Async.resume(release1, options)
    expectTypeOf(outputs.checks.unit).toEqualTypeOf<number>()
    expectTypeOf(outputs.train).toEqualTypeOf<number>()
    assert.deepEqual(outputs, { size: 0, rest: { year: 1970 }, each: [2], checks: { unit: 1 }, train: 3 })
  })

  test('an output that the schema refuses fails the step permanently, with the path', async () => {
    const one = pipe(Program.start('w'), Program.step('one', { output: release, run: () => TE.right(wrong) }))
    const outcome = ended(await newProcess().perform(run(one, 'r', {})), 'Failed')
    const [failure] = outcome.failures
    assert.equal(outcome.retryable, false)
    assert.equal(failure?.error.code, 'OUTPUT_NOT_STORABLE')
    assert.match(
      failure?.error.message ?? '',
      /^the output at \$\.files\[0\]\.name must be a valid value \(.*string.*\)$/
    )
  })

  test('an input that the schema refuses is refused with the path, before anything is claimed', async () => {
    const process = newProcess()
    const error = refused(await process.perform(run(program([], true), 'r', wrong)), 'InvalidInput')
    assert.equal(error.path, '$.files[0].name')
    assert.match(
      RunError.describe(error),
      /^The input does not match the workflow: at \$\.files\[0\]\.name expected a valid value \(.*string/
    )
    assert.deepEqual(process.calls, [])
  })

  test('items that the schema refuses fail the map, with the path', async () => {
    const pages = pipe(
      Program.start('w'),
      Program.map('pages', { forEach: () => [recorded, wrong], item: release }, { run: () => TE.right(1) })
    )
    const outcome = ended(await newProcess().perform(run(pages, 'r', {})), 'Failed')
    assert.equal(outcome.failures[0]?.error.code, 'NOT_ITEMS')
    assert.match(outcome.failures[0]?.error.message ?? '', /^item 2 at \$\.files\[0\]\.name must be a valid value \(/)
  })

  test('a recorded output that an edited schema refuses is a problem of the plan, with the path', async () => {
    const world = newWorld()
    const made = (output: Program.Schema, passes: boolean) =>
      Program.fromSteps('w', [
        task('one', { output, run: () => TE.right(wrong) }),
        task('two', { run: () => (passes ? TE.right(2) : TE.left('not yet')) })
      ])
    ended(await newProcess(world).perform(run(made(z.unknown(), false), 'r', {})), 'Failed')
    const error = refused(await newProcess(world).perform(resume(made(release, true), 'r')), 'PlanError')
    const [problem] = error.problems
    assert.ok(problem._tag === 'OutputNotDecodable')
    assert.deepEqual([problem.unit, problem.path], ['one', '$.files[0].name'])
  })
})

test('a zod schema may coerce its input', async () => {
  const Port = z.coerce.number().int()
  const serve = Async.workflow('serve', { input: z.object({ port: Port }) })
    .step('port', { output: Port, run: ({ input }) => `${input.port + 1}` })
    .step('next', ({ outputs }) => outputs.port + 1)
  const options = { id: 'r', storage: memoryStorage() }
  const outputs = await Async.run(serve, { ...options, input: { port: '8080' } })
  assert.deepEqual(outputs, { port: 8081, next: 8082 })
  assert.deepEqual((await stored(options.storage)).input, { port: '8080' })
})

describe('a schema whose validate returns a promise', () => {
  const remedy =
    /without a promise \((zod|valibot) returned one\); remove async refinements .*, and do that work in a step/
  const refusesLater = (): Promise<boolean> => Promise.reject(new Error('no answer'))
  const schemas = [
    ['zod', z.string().refine(() => Promise.resolve(true))],
    [
      'valibot',
      v.pipeAsync(
        v.string(),
        v.checkAsync(() => Promise.resolve(true))
      )
    ],
    ['valibot, rejecting', v.pipeAsync(v.string(), v.checkAsync(refusesLater))]
  ] as const

  test.each(schemas)(
    '%s: an output whose schema returns a promise fails its step permanently, with the remedy',
    async (_, output) => {
      const one = Program.fromSteps('w', [task('one', { output, run: () => TE.right('x') })])
      const outcome = ended(await newProcess().perform(run(one, 'r', {})), 'Failed')
      assert.deepEqual([outcome.retryable, outcome.failures[0]?.error.code], [false, 'OUTPUT_NOT_STORABLE'])
      assert.match(outcome.failures[0]?.error.message ?? '', remedy)
    }
  )

  test.each(schemas)('%s: an input whose schema returns a promise is refused, with the remedy', async (_, input) => {
    const process = newProcess()
    const one = pipe(Program.start('w', { input }), Program.step('one', { run: () => TE.right(1) }))
    const error = refused(await process.perform(run(one, 'r', 'x')), 'InvalidInput')
    assert.match(RunError.describe(error), remedy)
    assert.deepEqual(process.calls, [])
  })

  test.each(schemas)('%s: items whose schema returns a promise fail their map, with the remedy', async (_, item) => {
    const one = pipe(Program.start('w'), Program.map('m', { forEach: () => ['x'], item }, { run: () => TE.right(1) }))
    const outcome = ended(await newProcess().perform(run(one, 'r', {})), 'Failed')
    assert.equal(outcome.failures[0]?.error.code, 'NOT_ITEMS')
    assert.match(outcome.failures[0]?.error.message ?? '', remedy)
  })

  test.each(schemas)(
    '%s: a plan refuses a recorded output whose schema returns a promise, with the remedy',
    async (_, output) => {
      const world = newWorld()
      const made = (edited: Program.Schema, passes: boolean) =>
        Program.fromSteps('w', [
          task('one', { output: edited, run: () => TE.right('x') }),
          task('two', { run: () => (passes ? TE.right(2) : TE.left('not yet')) })
        ])
      ended(await newProcess(world).perform(run(made(z.string(), false), 'r', {})), 'Failed')
      const error = refused(await newProcess(world).perform(resume(made(output, true), 'r')), 'PlanError')
      assert.match(RunError.describe(error), remedy)
    }
  )
})

/** A hand-written schema. */
const schema = <A>(validate: (value: unknown) => { value: A } | { issues: ReadonlyArray<Program.StandardIssue> }) => ({
  '~standard': { version: 1 as const, vendor: 'mine', validate }
})

describe('a schema written by hand', () => {
  const passes = schema((value) => ({ value }))

  test('a schema that returns every value unchanged has no effect', async () => {
    const outcomeOf = async (process: Process, value: Json.Json, one: Program.Schema | undefined) => {
      const seen: Array<unknown> = []
      const of = one === undefined ? {} : { output: one }
      const program = pipe(
        Program.start('w', one === undefined ? {} : { input: one }),
        Program.step('one', { ...of, run: ({ input }) => TE.right(input) }),
        Program.map(
          'each',
          { forEach: () => [value], ...(one === undefined ? {} : { item: one }) },
          { ...of, run: ({ item }) => TE.right(item) }
        ),
        Program.step('last', {
          run: ({ input, outputs }) => {
            seen.push(input, outputs.one, outputs.each)
            return TE.right(null)
          }
        })
      )
      const outcome = ended(await process.perform(run(program, 'r', value)), 'Completed')
      return { seen, outputs: outcome.outputs, saves: process.saves }
    }
    await fc.assert(
      fc.asyncProperty(anyJson, async (value) => {
        const [with_, without] = [
          await outcomeOf(newProcess(), value, passes),
          await outcomeOf(newProcess(), value, undefined)
        ]
        assert.deepEqual(with_, without)
      })
    )
  })

  test('if `validate` of a schema without a vendor throws, the error names it as "the schema"', async () => {
    const validate = (): never => {
      throw new Error('offline')
    }
    const output = { '~standard': { version: 1, validate } } as unknown as Program.Schema
    const one = pipe(Program.start('w'), Program.step('one', { output, run: () => TE.right(1) }))
    const outcome = ended(await newProcess().perform(run(one, 'r', {})), 'Failed')
    assert.match(
      outcome.failures[0]?.error.message ?? '',
      /a value that the schema accepts; its validate threw: offline/
    )
  })

  test('a schema that mutates its argument changes neither the record nor what other steps read', async () => {
    const popped = schema((value) => ({ value: (value as Array<number>).pop() }))
    const read: Array<unknown> = []
    const world = newWorld()
    const program = (isUp: boolean) =>
      Async.workflow('w', { input: popped })
        .step('one', { output: popped, run: () => [1, 2] })
        .step('two', ({ input, outputs }) => {
          read.push(input, outputs.one)
          if (!isUp) throw new Error('down')
        })
    const options = { id: 'r', storage: memoryStorage(world.data) }
    const input = [8, 9]
    await Async.runOutcome(program(false), { ...options, input })
    await Async.runOutcome(program(true), { ...options, input })
    assert.deepEqual(read, [9, 2, 9, 2])
    const checkpoint = await stored(options.storage)
    assert.deepEqual(
      [checkpoint.input, outputsOf(checkpoint)['one'], input],
      [
        [8, 9],
        [1, 2],
        [8, 9]
      ]
    )
  })

  test('evidence is computed from what the schema returns', async () => {
    const told: Array<number> = []
    const program = (output: string) =>
      Async.workflow('w').step('one', {
        output: zods.size,
        evidence: (size) => {
          told.push(size)
          return []
        },
        run: () => output
      })
    await Async.run(program('7'), { id: 'r', storage: memoryStorage() })
    assert.deepEqual(told, [7])
    const refusing = program(1 as unknown as string)
    const outcome = await Async.runOutcome(refusing, { id: 'r', storage: memoryStorage() })
    assert.equal(outcome._tag === 'Failed' && outcome.failures[0]?.error.code, 'OUTPUT_NOT_STORABLE')
    assert.deepEqual(told, [7])
  })

  test.each([
    ['a path of keys', [{ key: 'a' }, { key: 0 }, 'b'], '$.a[0].b'],
    ['a path with a symbol', [Symbol('s')], '$.Symbol(s)'],
    ['no path', undefined, '$']
  ])('the error of an issue has the path in the notation of codecs: %s', async (_, path, expected) => {
    const output = schema(() => ({ issues: [{ message: 'm'.repeat(300), ...(path === undefined ? {} : { path }) }] }))
    const one = Program.fromSteps('w', [task('one', { output, run: () => TE.right(1) })])
    const outcome = ended(await newProcess().perform(run(one, 'r', {})), 'Failed')
    assert.equal(
      outcome.failures[0]?.error.message,
      `the output${expected === '$' ? '' : ` at ${expected}`} must be a valid value (${'m'.repeat(200)}… (300 characters))`
    )
  })

  test.each([
    ['throws', schema(() => assert.fail('broken')), /must be a value that mine accepts; its validate threw: broken$/],
    ['returns no issues', schema(() => ({ issues: [] })), /must be a valid value \(no reason given\)$/]
  ])('an output is refused if `validate` of its schema %s', async (_, output, message) => {
    const one = Program.fromSteps('w', [task('one', { output, run: () => TE.right(1) })])
    const outcome = ended(await newProcess().perform(run(one, 'r', {})), 'Failed')
    assert.match(outcome.failures[0]?.error.message ?? '', message)
  })

  test('a value that is both a codec and a schema is used as a schema', async () => {
    const both = Object.assign(
      t.type({ a: t.string }),
      schema(() => ({ value: 'of the schema' }))
    )
    const one = Program.fromSteps('w', [task('one', { output: both, run: () => TE.right(1) })])
    assert.deepEqual(ended(await newProcess().perform(run(one, 'r', {})), 'Completed').outputs, {
      one: 'of the schema'
    })
  })
})
