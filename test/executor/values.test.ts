import assert from 'node:assert/strict'
import { inspect } from 'node:util'
import { pipe } from 'fp-ts/lib/function.js'
import * as E from 'fp-ts/lib/Either.js'
import * as TE from 'fp-ts/lib/TaskEither.js'
import * as fc from 'fast-check'
import * as t from 'io-ts'
import { describe, test } from 'vitest'
import type * as Json from '../../src/domain/data/Json.js'
import type * as ProgramType from '../../src/executor/program/Program.js'
import { Program, resume, run, runOrResume } from '../../src/index.js'
import { ended, group, killingAt, newLife, newProcess, newWorld, patiently, refused, stored, task } from './fixtures.js'

/** A date in the program, a string in the record. */
const DateText = new t.Type<Date, string>(
  'DateText',
  (value): value is Date => value instanceof Date,
  (value, context) =>
    typeof value === 'string' && !Number.isNaN(Date.parse(value))
      ? t.success(new Date(value))
      : t.failure(value, context),
  (date) => date.toISOString()
)

type Seen = ProgramType.StepContext<Readonly<Record<string, unknown>>, unknown>

const anyJson = fc.jsonValue({ maxDepth: 3 }).map((value) => JSON.parse(JSON.stringify(value)) as Json.Json)

/** The values that the last step sees: in an undisturbed run, and after a kill just before it. */
const seenTwice = async (
  earlier: ReadonlyArray<ProgramType.ProgramStep>,
  input: unknown,
  look: (context: Seen) => unknown
): Promise<ReadonlyArray<unknown>> => {
  const seen: Array<unknown> = []
  const program = Program.fromSteps('p', [
    ...earlier,
    task('last', {
      run: (context) => {
        seen.push(look(context))
        return TE.right(null)
      }
    })
  ])
  const calm = newProcess()
  ended(await calm.perform(run(program, 'r', input as Json.Json)), 'Completed')
  const world = newWorld()
  const life = newLife()
  const saves = calm.saves.length
  // Its last call is the save before `last` starts: killed once that is durable.
  const killed = newProcess(world, { around: killingAt(life, saves, 'after') })
  void run(program, 'r', input as Json.Json)(killed.environment)()
  await patiently(killed.clock, life.killed)
  assert.equal(seen.length, 1, 'the step ran before the kill')
  ended(await newProcess(world).perform(resume(program, 'r')), 'Completed')
  assert.equal(seen.length, 2)
  return seen
}

const gives = (
  name: string,
  value: unknown,
  spec: { readonly capture?: string; readonly output?: t.Mixed } = {}
): ProgramType.ProgramTask => task(name, { ...spec, run: () => TE.right(value) })

describe('the values that a step sees', () => {
  test('a step sees the same input, outputs, variables and key after a kill as in an undisturbed run', async () => {
    const whole = (context: Seen): unknown => ({
      input: context.input,
      outputs: { ...context.outputs },
      variables: [...context.variables],
      key: context.idempotencyKey,
      unit: [context.runId, context.unit, context.attempt]
    })
    await fc.assert(
      fc.asyncProperty(anyJson, anyJson, anyJson, fc.date({ noInvalidDate: true }), async (input, one, two, date) => {
        const steps = [
          gives('one', one, { capture: 'first' }),
          gives('date', date, { output: DateText, capture: 'when' }),
          Program.waveOf('wave', [
            group('a', { run: () => TE.right(two) }),
            group('b', { output: DateText, run: () => TE.right(date) })
          ])
        ]
        const [calm, resumed] = await seenTwice(steps, input, whole)
        assert.deepEqual(resumed, calm)
        const seen = calm as { readonly outputs: Readonly<Record<string, unknown>>; readonly input: unknown }
        assert.deepEqual(seen.input, input)
        assert.deepEqual(seen.outputs['one'], one)
        assert.deepEqual(seen.outputs['date'], date)
        assert.deepEqual({ ...(seen.outputs['wave'] as object) }, { a: two, b: date })
      }),
      { numRuns: 150 }
    )
  })

  test('a later step gets decode(encode(output)) even in the first run', async () => {
    const [calm, resumed] = await seenTwice(
      [gives('date', new Date(1000.7), { output: DateText })],
      {},
      ({ outputs }) => outputs['date']
    )
    assert.ok(calm instanceof Date)
    assert.equal(calm.getTime(), 1000)
    assert.deepEqual(resumed, calm)
  })

  test('an output of undefined becomes null without a codec, and stays undefined with a codec that accepts it', async () => {
    const steps = [gives('nothing', undefined), gives('void', undefined, { output: t.undefined })]
    const both = await seenTwice(steps, {}, ({ outputs }) => [
      outputs['nothing'],
      outputs['void'],
      Object.keys(outputs)
    ])
    for (const seen of both) assert.deepEqual(seen, [null, undefined, ['nothing', 'void']])
  })

  test('undefined properties are dropped before any reader sees them', async () => {
    const [seen] = await seenTwice([gives('one', { a: undefined, b: 1 })], {}, ({ outputs }) => outputs['one'])
    assert.deepEqual(seen, { b: 1 })
  })

  test('a step sees only the outputs of earlier steps, whichever way it reads them', async () => {
    const steps = [gives('one', 1), Program.waveOf('wave', [group('a', { run: () => TE.right('a') })]), gives('two', 2)]
    const look = ({ outputs }: Seen): unknown => ({
      keys: Object.keys(outputs),
      has: ['one', 'wave', 'two', 'last', 'toString', 'other'].map((name) => name in outputs),
      spread: { ...outputs },
      entries: Object.entries(outputs),
      json: JSON.stringify(outputs),
      missing: [outputs['last'], outputs['other'], outputs['constructor'], outputs['__proto__']],
      printed: inspect(outputs)
    })
    for (const seen of await seenTwice(steps, {}, look)) {
      assert.deepEqual(seen, {
        keys: ['one', 'wave', 'two'],
        has: [true, true, true, false, false, false],
        spread: { one: 1, wave: { a: 'a' }, two: 2 },
        entries: [
          ['one', 1],
          ['wave', { a: 'a' }],
          ['two', 2]
        ],
        json: '{"one":1,"wave":{"a":"a"},"two":2}',
        missing: [undefined, undefined, undefined, undefined],
        printed: "{ one: 1, wave: { a: 'a' }, two: 2 }"
      })
    }
  })

  test('outputs can be frozen, and a plain copy of them can be sent to a worker', async () => {
    const steps = [gives('one', { a: 1 }), gives('two', 2)]
    const look = ({ outputs }: Seen): unknown => {
      const copy = structuredClone({ ...outputs })
      assert.deepEqual(Reflect.ownKeys(outputs), ['one', 'two'])
      return [copy, inspect(outputs)]
    }
    const frozen = (context: Seen): unknown => {
      assert.equal(Object.freeze(context.outputs), context.outputs)
      assert.ok(Object.isFrozen(context.outputs))
      assert.throws(() => ((context.outputs as Record<string, unknown>)['one'] = 666), TypeError)
      return look(context)
    }
    const seen = [{ one: { a: 1 }, two: 2 }, '{ one: { a: 1 }, two: 2 }']
    for (const one of await seenTwice(steps, {}, look)) assert.deepEqual(one, seen)
    for (const one of await seenTwice(steps, {}, frozen)) assert.deepEqual(one, seen)
  })

  test('the first step sees no outputs, not even empty ones of later waves', async () => {
    const process = newProcess()
    let keys: ReadonlyArray<string> = ['?']
    const program = Program.fromSteps('p', [
      task('first', {
        run: ({ outputs }) => {
          keys = Object.keys(outputs)
          return TE.right('wave' in outputs)
        }
      }),
      Program.waveOf('wave', [group('a', { run: () => TE.right('a') })])
    ])
    const { checkpoint } = ended(await process.perform(run(program, 'r', {})), 'Completed')
    assert.deepEqual(keys, [])
    assert.equal([...checkpoint.completedSteps][0]?.output, false)
  })

  test('a group sees only the groups of its wave that it needs, whichever ended first', async () => {
    const process = newProcess()
    const seen: Record<string, unknown> = {}
    const look = (name: string, needs: ReadonlyArray<string>): ProgramType.ProgramGroup =>
      group(name, {
        needs,
        capture: `v-${name}`,
        run: ({ outputs, variables }) => {
          seen[name] = { outputs: { ...outputs }, variables: [...variables.keys()] }
          return TE.right(name)
        }
      })
    const program = Program.fromSteps('p', [
      gives('before', 0, { capture: 'v-before' }),
      Program.waveOf('wave', [look('a', []), look('b', []), look('c', ['b']), look('d', ['c'])], { concurrency: 1 })
    ])
    ended(await process.perform(run(program, 'r', {})), 'Completed')
    assert.deepEqual(seen, {
      a: { outputs: { before: 0 }, variables: ['v-before'] },
      b: { outputs: { before: 0 }, variables: ['v-before'] },
      c: { outputs: { before: 0, b: 'b' }, variables: ['v-before', 'v-b'] },
      d: { outputs: { before: 0, b: 'b', c: 'c' }, variables: ['v-before', 'v-b', 'v-c'] }
    })
  })

  test('a step that mutates its values affects no later step, no attempt and no record', async () => {
    const world = newWorld()
    const process = newProcess(world)
    const seen: Array<unknown> = []
    const vandal = (context: Seen): unknown => {
      const input = context.input as { list: Array<number> }
      const one = context.outputs['one'] as { list: Array<number> }
      const variable = context.variables.get('captured') as unknown as { list: Array<number> }
      const snapshot = JSON.stringify([input, one, variable, [...context.variables.keys()]])
      input.list.push(666)
      one.list.push(666)
      variable.list.push(666)
      ;(context.variables as Map<string, unknown>).set('new', 666)
      ;(context.outputs as Record<string, unknown>)['one'] = 666
      return snapshot
    }
    const mine = { list: [1] }
    const program = Program.fromSteps('p', [
      task('one', { capture: 'captured', run: () => TE.right(mine) }),
      ...['two', 'three'].map((name) =>
        task(name, {
          run: (context) => {
            seen.push(vandal(context))
            mine.list.push(999)
            return TE.right(null)
          }
        })
      )
    ])
    const input = { list: [0] }
    const { checkpoint } = ended(await process.perform(run(program, 'r', input)), 'Completed')
    assert.equal(seen[0], '[{"list":[0]},{"list":[1]},{"list":[1]},["list","captured"]]')
    assert.equal(seen[1], seen[0])
    assert.deepEqual([...checkpoint.completedSteps][0]?.output, { list: [1] })
    assert.deepEqual((await stored(process.storage)).input, { list: [0] })
    assert.deepEqual(input, { list: [0] })
  })

  test('mutating the input after the call affects nothing', async () => {
    const process = newProcess()
    const input = { a: 1 }
    const program = Program.fromSteps('p', [task('one', { run: (context) => TE.right(context.input) })])
    const running = run(program, 'r', input)(process.environment)()
    input.a = 2
    ended(await running, 'Completed')
    assert.deepEqual((await stored(process.storage)).input, { a: 1 })
  })

  test('captured variables override fields of the input', async () => {
    const [seen] = await seenTwice(
      [gives('one', 'captured', { capture: 'name' })],
      { name: 'input', other: 1 },
      ({ variables }) => Object.fromEntries(variables)
    )
    assert.deepEqual(seen, { name: 'captured', other: 1 })
  })
})

// ---------------------------------------------------------------------------------------------------------------------
// outputs that cannot be stored
// ---------------------------------------------------------------------------------------------------------------------

describe('an output that is not storable', () => {
  const cyclic: Record<string, unknown> = {}
  cyclic['self'] = { cyclic }
  const deep = Array.from({ length: 600 }).reduce<unknown>((inner) => [inner], 1)

  test.each<[string, unknown, string]>([
    ['NaN', { a: [1, Number.NaN] }, '$.a[1]'],
    ['a Date', { when: new Date(0) }, '$.when'],
    ['a Map', new Map([[1, 2]]), '$'],
    ['a Buffer', { bytes: Buffer.from('x') }, '$.bytes'],
    ['a cycle', cyclic, '$.self.cyclic'],
    ['a bigint', [1n], '$[0]'],
    ['a function', { f: () => 1 }, '$.f'],
    ['undefined in an array', [undefined], '$[0]'],
    ['too many levels', deep, `$${'[0]'.repeat(500)}`],
    [
      'a getter that throws',
      {
        get a(): number {
          return assert.fail('no')
        }
      },
      '$.a'
    ]
  ])('an output that holds %s fails the step permanently, with the path, and is not stored', async (_, value, path) => {
    const process = newProcess()
    const outcome = ended(await process.perform(run(Program.fromSteps('p', [gives('one', value)]), 'r', {})), 'Failed')
    assert.equal(outcome.retryable, false)
    const { error } = outcome.failures[0] ?? assert.fail()
    assert.equal(error.code, 'OUTPUT_NOT_STORABLE')
    assert.ok(
      error.message.startsWith(path === '$' ? 'the output must be ' : `the output at ${path} must be `),
      error.message
    )
    assert.equal((await stored(process.storage)).completedSteps.size, 0)
  })

  test('a step whose output is not storable is not retried, and needs confirmation if it is not idempotent', async () => {
    const process = newProcess()
    const { world } = process
    const program = Program.fromSteps('p', [
      task('pay', { idempotent: false, run: () => TE.right([world.log.push('paid'), Number.NaN]) })
    ])
    ended(await process.perform(run(program, 'r', {})), 'Failed')
    refused(await newProcess(world).perform(resume(program, 'r')), 'Unconfirmed')
    assert.deepEqual(world.log, ['paid'])
  })

  test('a step whose output its codec would not decode, or for which its codec throws, is not retried', async () => {
    const lossy = new t.Type<number, string>('Lossy', t.number.is, t.number.validate, String)
    const throwing = new t.Type<number>('Throwing', t.number.is, t.number.validate, () => assert.fail('codec'))
    for (const output of [lossy, throwing]) {
      const process = newProcess()
      const outcome = ended(
        await process.perform(run(Program.fromSteps('p', [gives('one', 1, { output })]), 'r', {})),
        'Failed'
      )
      assert.equal(outcome.failures[0]?.error.code, 'OUTPUT_NOT_STORABLE')
    }
    const wrong = newProcess()
    const program = Program.fromSteps('p', [
      gives('one', { a: [1, 'x'] }, { output: t.type({ a: t.array(t.number) }) })
    ])
    const outcome = ended(await wrong.perform(run(program, 'r', {})), 'Failed')
    assert.match(outcome.failures[0]?.error.message ?? '', /^the output at \$\.a\[1\] must be number/)
  })
})

describe('a recorded output that its codec no longer accepts', () => {
  const program = (output: t.Mixed, failing: boolean): ProgramType.Program<unknown> =>
    Program.fromSteps('p', [
      gives('one', { list: ['a'] }, { output }),
      task('two', { run: () => (failing ? TE.left('no') : TE.right(2)) })
    ])

  test.each([
    ['rejects it', t.type({ list: t.array(t.number) }), '$.list[0]'],
    ['throws', new t.Type('Throwing', t.unknown.is, () => assert.fail('codec'), t.identity), '$']
  ] as const)(
    'a recorded output whose codec %s is a problem of the plan, with its path, and nothing runs',
    async (_, codec, path) => {
      const world = newWorld()
      ended(await newProcess(world).perform(run(program(t.unknown as t.Mixed, true), 'r', {})), 'Failed')
      const error = refused(await newProcess(world).perform(resume(program(codec, false), 'r')), 'PlanError')
      const [problem] = error.problems
      assert.ok(problem._tag === 'OutputNotDecodable')
      assert.deepEqual([problem.unit, problem.path], ['one', path])
    }
  )
})

describe('the input', () => {
  const program = pipe(
    Program.start('typed', { input: t.type({ count: t.number, at: DateText }) }),
    Program.step('one', { output: DateText, run: ({ input }) => TE.right(new Date(input.at.getTime() + input.count)) })
  )

  test('each step gets the decoded input', async () => {
    const process = newProcess()
    const { checkpoint } = ended(await process.perform(run(program, 'r', { count: 1, at: new Date(0) })), 'Completed')
    assert.deepEqual(checkpoint.input, { count: 1, at: '1970-01-01T00:00:00.000Z' })
    assert.equal([...checkpoint.completedSteps][0]?.output, '1970-01-01T00:00:00.001Z')
  })

  test('an input that does not match is refused with its path before anything is claimed', async () => {
    const process = newProcess()
    const wrong = { count: 'many', at: new Date(0) } as unknown as { count: number; at: Date }
    const error = refused(await process.perform(run(program, 'r', wrong)), 'InvalidInput')
    assert.deepEqual([error.path, error.expected], ['$.count', 'number'])
    assert.deepEqual(process.calls, [])
    const noDate = { count: 1, at: undefined } as unknown as { count: number; at: Date }
    refused(await process.perform(run(program, 'r', noDate)), 'InvalidInput')
  })

  test('an input that is not JSON is refused with its path', async () => {
    const process = newProcess()
    const plain = Program.fromSteps('p', [gives('one', 1)])
    const error = refused(
      await process.perform(run(plain, 'r', { a: [new Date(0)] } as unknown as Json.Json)),
      'InvalidInput'
    )
    assert.equal(error.path, '$.a[0]')
  })

  test('a stored input that the program no longer accepts is refused on a resume', async () => {
    const world = newWorld()
    const make = (input: t.Mixed, failing: boolean): ProgramType.Program<object, never> =>
      pipe(Program.start('p', { input }), Program.step('one', { run: () => (failing ? TE.left('no') : TE.right(1)) }))
    ended(await newProcess(world).perform(run(make(t.unknown as t.Mixed, true), 'r', { a: 1 } as never)), 'Failed')
    const error = refused(
      await newProcess(world).perform(resume(make(t.type({ a: t.string }), false), 'r')),
      'InvalidInput'
    )
    assert.equal(error.path, '$.a')
  })

  test('a missing input counts as an empty one', async () => {
    const process = newProcess()
    const plain = Program.fromSteps('p', [gives('one', 1)])
    ended(await process.perform(run(plain, 'r', undefined as unknown as Json.Json)), 'Completed')
    assert.deepEqual((await stored(process.storage)).input, {})
    ended(await newProcess(process.world).perform(runOrResume(plain, 'r', {})), 'Completed')
  })

  test('every kind of JSON reaches the step with its type', async () => {
    await fc.assert(
      fc.asyncProperty(anyJson, async (input) => {
        const process = newProcess()
        let seen: unknown
        const look = Program.fromSteps('p', [
          task('one', {
            run: (context) => {
              seen = context.input
              return TE.right(null)
            }
          })
        ])
        assert.ok(E.isRight(await process.perform(run(look, 'r', input))))
        assert.deepEqual(seen, input)
      }),
      { numRuns: 100 }
    )
  })
})

/** A variable of each task, named as in the argument, and the variables that each unit of the run saw. */
const capturing = (seen: Map<string, unknown>, variable: string, name: string): ProgramType.ProgramTask =>
  task(name, {
    capture: variable,
    run: ({ unit, variables }) => {
      seen.set(unit, Object.fromEntries(variables))
      return TE.right(`${variable} of ${unit}`)
    }
  })

test('a variable captured for an item is visible in that item only, and shadows outer ones', async () => {
  const seen = new Map<string, unknown>()
  const items = (keys: ReadonlyArray<string>) => ({
    forEach: () => E.right(keys),
    key: (key: unknown) => E.right(key as string)
  })
  const body = Program.sequenceOf('page', [capturing(seen, 'x', 'one'), capturing(seen, 'y', 'two')])
  const inner = Program.mapOf('inner', Program.sequenceOf('in', [capturing(seen, 'z', 'in')]), items(['c']))
  const program = Program.fromSteps('p', [
    capturing(seen, 'x', 'first'),
    Program.mapOf(
      'pages',
      Program.sequenceOf('page', [...body.steps, inner, capturing(seen, 'w', 'after')]),
      items(['a', 'b'])
    ),
    capturing(seen, 'last', 'last')
  ])
  ended(await newProcess().perform(run(program, 'r', {})), 'Completed')
  const outside = { x: 'x of first' }
  for (const key of ['a', 'b']) {
    const [x, y] = [`x of pages/${key}/one`, `y of pages/${key}/two`]
    assert.deepEqual(seen.get(`pages/${key}/one`), outside)
    assert.deepEqual(seen.get(`pages/${key}/two`), { x })
    assert.deepEqual(seen.get(`pages/${key}/inner/c/in`), { x, y })
    assert.deepEqual(seen.get(`pages/${key}/after`), { x, y })
  }
  assert.deepEqual(seen.get('last'), outside)
})
