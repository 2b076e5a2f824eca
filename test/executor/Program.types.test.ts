import * as E from 'fp-ts/lib/Either.js'
import { pipe } from 'fp-ts/lib/function.js'
import * as TE from 'fp-ts/lib/TaskEither.js'
import * as t from 'io-ts'
import { type } from 'arktype'
import * as v from 'valibot'
import { describe, expectTypeOf, test } from 'vitest'
import { z } from 'zod'
import type { Executor } from '../../src/index.js'
import type * as Json from '../../src/domain/data/Json.js'
import type * as Workflow from '../../src/domain/workflow/Workflow.js'
import * as Program from '../../src/executor/program/Program.js'
import { resume, run, runOrResume } from '../../src/index.js'
import type { RunOutcome } from '../../src/executor/RunOutcome.js'
import { memoryStorage } from '../../src/adapters/memory.js'
import * as Async from '../../src/promise/index.js'

type OutputsOf<P> = P extends Program.Program<infer Outputs, infer _, infer _Given, infer _Seen> ? Outputs : never
type InputOf<P> = P extends Program.Program<infer _, infer Input, infer _Given, infer _Seen> ? Input : never

const Tarball = t.type({ file: t.string, size: t.number })

const DateText = new t.Type<Date, string>(
  'DateText',
  (value): value is Date => value instanceof Date,
  (value, context) => (typeof value === 'string' ? t.success(new Date(value)) : t.failure(value, context)),
  (date) => date.toISOString()
)

/** A schema that declares no types. */
const hand = { '~standard': { version: 1, vendor: 'mine', validate: () => ({ value: 1 }) } } as const

const reused = { run: () => TE.right(1) }

describe('the types of a program', () => {
  test('a later step sees the outputs of earlier ones, with their types', () => {
    const program = pipe(
      Program.start('release'),
      Program.step('version', { output: t.string, run: () => TE.right('1.2.3') }),
      Program.step('when', { output: DateText, run: () => TE.right(new Date(0)) }),
      Program.step('free', { run: () => TE.right({ anything: [1] }) }),
      Program.step('pack', {
        output: Tarball,
        run: ({ outputs }) => {
          expectTypeOf(outputs.version).toEqualTypeOf<string>()
          expectTypeOf(outputs.when).toEqualTypeOf<Date>()
          expectTypeOf(outputs.free).toEqualTypeOf<{ anything: Array<number> }>()
          // @ts-expect-error: a step does not see its own output
          void outputs.pack
          return TE.right({ file: outputs.version, size: 1 })
        }
      })
    )
    type Outputs = OutputsOf<typeof program>
    expectTypeOf<Outputs['version']>().toEqualTypeOf<string>()
    expectTypeOf<Outputs['pack']>().toEqualTypeOf<{ file: string; size: number }>()
    expectTypeOf<keyof Outputs>().toEqualTypeOf<'version' | 'when' | 'free' | 'pack'>()
    expectTypeOf<InputOf<typeof program>>().toEqualTypeOf<Json.Json>()
  })

  test('the name of a step must not be a union type', () => {
    const either = 'a' as 'a' | 'b'
    // @ts-expect-error: a union of names promises both steps
    void pipe(Program.start('w'), Program.step(either, { run: () => TE.right(1) }))
  })

  test('a group can need only groups of its wave', () => {
    pipe(
      Program.start('w'),
      Program.wave('checks', {
        unit: { output: t.number, run: () => TE.right(1) },
        // @ts-expect-error: the wave has no such group
        lint: { needs: ['unti'], run: () => TE.right(2) }
      })
    )
  })

  test('a wave returns an object of its groups, each with its type', () => {
    pipe(
      Program.start('checked'),
      Program.step('version', { output: t.string, run: () => TE.right('1') }),
      Program.wave('checks', {
        unit: {
          output: t.number,
          run: ({ outputs }) => {
            expectTypeOf(outputs.version).toEqualTypeOf<string>()
            return TE.right(42)
          }
        },
        lint: { needs: ['unit'], run: () => TE.right('clean') }
      }),
      Program.step('report', {
        run: ({ outputs: { checks } }) => {
          expectTypeOf(checks.unit).toEqualTypeOf<number>()
          expectTypeOf(checks.lint).toEqualTypeOf<string>()
          return TE.right(checks.unit + 1)
        }
      })
    )
  })

  test('the steps of a group see outputs and input with their types, and later steps see the outputs of the group by name', () => {
    const program = pipe(
      Program.start('w', { input: t.type({ at: DateText }) }),
      Program.step('version', { output: t.string, run: () => TE.right('1') }),
      Program.wave('checks', {
        unit: { output: t.number, evidence: () => [], run: () => TE.right(42) },
        app: {
          needs: ['unit'],
          before: ({ outputs }) => TE.right(outputs.version),
          steps: (app) =>
            pipe(
              app,
              Program.step('build', {
                output: t.string,
                run: ({ input, outputs }) => {
                  expectTypeOf(input).toEqualTypeOf<{ at: Date }>()
                  expectTypeOf(outputs.version).toEqualTypeOf<string>()
                  // @ts-expect-error: a group that it does not need
                  void outputs.lint
                  return TE.right(outputs.version)
                }
              }),
              Program.step('smoke', { run: ({ outputs }) => TE.right(outputs.build.length) })
            )
        },
        lint: { needs: ['app'], run: () => TE.right('clean') }
      }),
      Program.step('report', {
        run: ({ outputs: { checks } }) => {
          expectTypeOf(checks).toEqualTypeOf<{
            readonly unit: number
            readonly app: { readonly build: string; readonly smoke: number }
            readonly lint: string
          }>()
          return TE.right(null)
        }
      })
    )
    expectTypeOf<InputOf<typeof program>>().toEqualTypeOf<{ at: Date }>()
  })

  test('a group of steps can need only groups of its wave, and its steps cannot repeat a name', () => {
    const start = pipe(Program.start('w'), Program.step('one', { run: () => TE.right(1) }))
    // @ts-expect-error: the wave has no such group
    void pipe(start, Program.wave('w', { a: { needs: ['b'], steps: (a) => pipe(a, Program.step('x', reused)) } }))
    // @ts-expect-error: an earlier step has this name
    void pipe(start, Program.wave('w', { a: { steps: (a) => pipe(a, Program.step('one', reused)) } }))
    // @ts-expect-error: `steps` must return a program
    void (() => pipe(start, Program.wave('w', { a: { steps: () => 1 } })))
  })

  test('the compile-time error of a wrong name says what is wrong and what to do', () => {
    expectTypeOf<Program.NewName<'one', object>>().toEqualTypeOf<'one'>()
    expectTypeOf<Program.NewName<'one', { readonly one: 1 }>>().toEqualTypeOf<
      Program.WrongName<'an earlier step has this name; choose another'>
    >()
    expectTypeOf<Program.NewName<'one' | 'two', object>>().toEqualTypeOf<
      Program.WrongName<'a union; pass one literal name'>
    >()
  })

  test('all steps of the body of a map see the item, and later steps see an array of their outputs', () => {
    const program = pipe(
      Program.start('w'),
      Program.map(
        'pages',
        { forEach: () => [new Date(0)], item: DateText, key: (page) => page.toISOString() },
        {
          after: ({ item }) => TE.right(item.getTime()),
          steps: (page) =>
            pipe(
              page,
              Program.step('fetch', {
                output: t.number,
                run: ({ item }) => {
                  expectTypeOf(item).toEqualTypeOf<Date>()
                  return TE.right(item.getTime())
                }
              }),
              Program.wave(
                'looks',
                { size: { run: ({ item, outputs }) => TE.right(item.getTime() + outputs.fetch) } },
                { before: ({ item }) => TE.right(item.getTime()) }
              ),
              Program.sequence('rest', (rest) =>
                pipe(rest, Program.step('index', { run: ({ item }) => TE.right(item.getTime()) }))
              ),
              Program.map(
                'links',
                { forEach: ({ item }) => [item.getTime()], item: t.number },
                {
                  output: t.number,
                  run: ({ item }) => {
                    expectTypeOf(item).toEqualTypeOf<number>()
                    return TE.right(item)
                  }
                }
              )
            )
        }
      ),
      Program.map('plain', { forEach: () => [1] }, { run: ({ item }) => TE.right(item) })
    )
    type Outputs = OutputsOf<typeof program>
    expectTypeOf<Outputs['pages']>().toEqualTypeOf<
      ReadonlyArray<{
        readonly fetch: number
        readonly looks: { readonly size: number }
        readonly rest: { readonly index: number }
        readonly links: ReadonlyArray<number>
      }>
    >()
    expectTypeOf<Outputs['plain']>().toEqualTypeOf<ReadonlyArray<number>>()
    // @ts-expect-error: a step outside a map has no item
    void pipe(Program.start('w'), Program.step('one', { run: ({ item }) => TE.right(item) }))
  })

  test('the steps of the body of a map cannot run without an item', () => {
    const runnable = (_: Program.Program<unknown, never>): undefined => undefined
    pipe(
      Program.start('w'),
      Program.map(
        'each',
        { forEach: () => [1] },
        {
          steps: (body) => {
            const one = pipe(body, Program.step('one', { run: ({ item }) => TE.right(item) }))
            // @ts-expect-error: a step outside a map has no item
            runnable(one)
            return one
          }
        }
      )
    )
    runnable(pipe(Program.start('w'), Program.step('one', reused)))
  })

  test('the input has the type of its codec, for the steps and for the caller', () => {
    const program = pipe(
      Program.start('typed', { input: t.type({ at: DateText }) }),
      Program.step('one', {
        run: ({ input }) => {
          expectTypeOf(input).toEqualTypeOf<{ at: Date }>()
          return TE.right(null)
        }
      })
    )
    type Outputs = OutputsOf<typeof program>
    expectTypeOf(run(program, 'r', { at: new Date(0) })).toEqualTypeOf<Executor<RunOutcome<Outputs>>>()
    // @ts-expect-error: not the type of the codec
    void run(program, 'r', { at: 'today' })
    // @ts-expect-error: no input
    void run(program, 'r')
    expectTypeOf(resume(program, 'r')).toEqualTypeOf<Executor<RunOutcome<Outputs>>>()
    expectTypeOf(runOrResume(program, 'r')).toEqualTypeOf<Executor<RunOutcome<Outputs>>>()
    expectTypeOf(resume(program, 'r', { fromStep: 'one', input: { at: new Date(0) } })).not.toBeAny()
    // @ts-expect-error: not the type of the codec
    void runOrResume(program, 'r', { at: 'today' })
    // @ts-expect-error: not the type of the codec
    void resume(program, 'r', { fromStep: 'one', input: { at: 'today' } })
    // @ts-expect-error: the input comes before the options
    void runOrResume(program, 'r', { at: new Date(0) }, { fromStep: 'one', input: { at: new Date(0) } })
  })

  test('an output must have the type of its codec', () => {
    const start = Program.start('x')
    // @ts-expect-error: a number is not a string
    void pipe(start, Program.step('one', { output: t.string, run: () => TE.right(1) }))
    // @ts-expect-error: the number of a group is not a string
    void pipe(start, Program.wave('w', { a: { output: t.string, run: () => TE.right(1) } }))
  })

  test('a step returns the input of its schema, and later steps see the output of the schema', () => {
    const program = pipe(
      Program.start('w', { input: z.object({ at: z.string().transform((at) => new Date(at)) }) }),
      Program.step('zod', {
        output: z.coerce.number(),
        run: ({ input }) => {
          expectTypeOf(input).toEqualTypeOf<{ at: Date }>()
          return TE.right(input.at.toISOString())
        }
      }),
      Program.step('valibot', { output: v.pipe(v.string(), v.transform(Number)), run: () => TE.right('1') }),
      Program.wave('checks', {
        arktype: { output: type({ n: 'string.numeric.parse' }), run: () => TE.right({ n: '1' }) },
        hand: { output: hand, run: () => TE.right('any') }
      }),
      Program.map(
        'pages',
        {
          forEach: ({ input }) => [input.at.toISOString()],
          item: z.string().transform((at) => new Date(at)),
          key: (at) => String(at.getTime())
        },
        {
          steps: (page) =>
            pipe(
              page,
              Program.step('year', {
                output: z.number(),
                run: ({ input, item }) => {
                  expectTypeOf(input.at).toEqualTypeOf<Date>()
                  return TE.right(item.getUTCFullYear())
                }
              })
            )
        }
      ),
      Program.sequence('rest', (rest) =>
        pipe(rest, Program.step('year', { output: z.number(), run: ({ input }) => TE.right(input.at.getTime()) }))
      )
    )
    type Outputs = OutputsOf<typeof program>
    expectTypeOf<Outputs['zod']>().toEqualTypeOf<number>()
    expectTypeOf<Outputs['valibot']>().toEqualTypeOf<number>()
    expectTypeOf<Outputs['checks']>().toEqualTypeOf<{ readonly arktype: { n: number }; readonly hand: number }>()
    expectTypeOf<Outputs['pages']>().toEqualTypeOf<ReadonlyArray<{ readonly year: number }>>()
    expectTypeOf<Outputs['rest']>().toEqualTypeOf<{ readonly year: number }>()
    expectTypeOf<InputOf<typeof program>>().toEqualTypeOf<{ at: string }>()
    expectTypeOf(run(program, 'r', { at: '1970-01-01' })).toEqualTypeOf<Executor<RunOutcome<Outputs>>>()
    expectTypeOf(resume(program, 'r', { fromStep: 'zod', input: { at: '1970-01-01' } })).not.toBeAny()
    // @ts-expect-error: the input has the type that the schema takes, not the one it returns
    void run(program, 'r', { at: new Date(0) })

    const start = Program.start('x')
    // @ts-expect-error: the schema takes a string
    void pipe(start, Program.step('one', { output: z.string().transform(Number), run: () => TE.right(1) }))
    // @ts-expect-error: the schema of a group takes a string
    void pipe(start, Program.wave('w', { a: { output: v.string(), run: () => TE.right(1) } }))
    // @ts-expect-error: the schema of the items takes a string
    void pipe(start, Program.map('m', { forEach: () => [1], item: type('string') }, reused))
    // @ts-expect-error: neither a codec nor a schema
    void pipe(start, Program.step('one', { output: { parse: () => 1 }, run: () => TE.right(1) }))
  })

  test('a generic function that extends a program keeps the type of its input', () => {
    const extended = <Input>(self: Program.Program<object, Input>) =>
      pipe(
        self,
        Program.sequence('more', (more) =>
          pipe(
            more,
            Program.step('echo', ({ input }) => void input)
          )
        )
      )
    const program = extended(Program.start('w', { input: t.type({ at: DateText }) }))
    expectTypeOf<InputOf<typeof program>>().toEqualTypeOf<{ at: Date }>()
    const typed: Program.Program<object, { readonly n: number }> = Program.start('w', {
      input: z.object({ n: z.number() })
    })
    void pipe(typed, Program.step('one', { run: ({ input }) => TE.right(input.n) }))
  })

  test('two steps cannot have the same name', () => {
    const one = pipe(Program.start('x'), Program.step('one', { run: () => TE.right(1) }))
    // @ts-expect-error: an earlier step has this name
    void pipe(one, Program.step('one', { run: () => TE.right(1) }))
    // @ts-expect-error: an earlier step has this name
    void pipe(one, Program.wave('one', { a: { run: () => TE.right(1) } }))
  })

  test('a step may fail with an error of any type', () => {
    pipe(
      Program.start('x'),
      Program.step('error', { run: () => TE.left(new Error('no')) }),
      Program.step('text', { output: t.string, run: () => TE.left('no') }),
      Program.step('never', { run: () => TE.left<unknown, never>({ status: 500 }) })
    )
  })

  test('the values that a step gets are read-only', () => {
    pipe(
      Program.start('x'),
      Program.step('one', { output: Tarball, run: () => TE.right({ file: 'a', size: 1 }) }),
      Program.step('two', {
        run: (context) => {
          // @ts-expect-error: read only
          const write = (): unknown => (context.outputs.one = { file: 'b', size: 2 })
          expectTypeOf(context.variables).not.toHaveProperty('set')
          return TE.right(typeof write)
        }
      })
    )
  })

  test('a program is a workflow, so that the planner accepts it', () => {
    const program = pipe(Program.start('x'), Program.step('one', { run: () => TE.right(1) }))
    const workflow: Workflow.Workflow = program
    expectTypeOf(workflow.steps[0]).not.toBeAny()
  })
})

interface Report {
  readonly title: string
  readonly lines?: ReadonlyArray<{ readonly at: number; readonly note: string | undefined }>
  readonly parent?: Report
}

declare const report: Report
declare const parsed: { readonly any: ReturnType<typeof JSON.parse>; readonly n: number }
declare const handle: { readonly id: string; readonly close: () => void }

describe('the type of an output without a schema', () => {
  test('an output has the type that run returns, as JSON returns it', () => {
    const program = pipe(
      Program.start('w'),
      Program.step('either', { run: () => TE.right({ n: 1 }) }),
      Program.step('promise', { run: ({ outputs }) => Promise.resolve([outputs.either.n]) }),
      Program.step('value', ({ outputs }) => ({ first: outputs.promise[0] })),
      Program.step('union', ({ attempt }) => (attempt > 1 ? TE.left('later') : TE.right(attempt))),
      Program.step('pair', () => ['a', 1] as const),
      Program.step('nothing', () => undefined),
      Program.step('empty', async () => {}),
      Program.step('report', () => report),
      Program.step('unknown', (): unknown => 1),
      Program.step('thenable', (): PromiseLike<{ n: number }> => Promise.resolve({ n: 1 })),
      Program.step('any', () => TE.right(parsed)),
      Program.step('json', ({ input }) => input),
      Program.step('job', {
        job: { submit: () => 'j', poll: () => ({ _tag: 'Finished' }), collect: ({ job }) => TE.right({ job, size: 1 }) }
      })
    )
    type Outputs = OutputsOf<typeof program>
    expectTypeOf<Outputs['either']>().toEqualTypeOf<{ n: number }>()
    expectTypeOf<Outputs['promise']>().toEqualTypeOf<Array<number>>()
    expectTypeOf<Outputs['value']>().toEqualTypeOf<{ first?: number }>()
    expectTypeOf<Outputs['union']>().toEqualTypeOf<number>()
    expectTypeOf<Outputs['pair']>().toEqualTypeOf<readonly ['a', 1]>()
    expectTypeOf<Outputs['nothing']>().toEqualTypeOf<null>()
    expectTypeOf<Outputs['empty']>().toEqualTypeOf<null>()
    expectTypeOf<NonNullable<Outputs['report']['lines']>[number]>().toEqualTypeOf<{
      readonly at: number
      readonly note?: string
    }>()
    expectTypeOf<NonNullable<NonNullable<Outputs['report']['parent']>['parent']>['title']>().toEqualTypeOf<string>()
    expectTypeOf<Outputs['unknown']>().toEqualTypeOf<Json.Json>()
    expectTypeOf<Outputs['thenable']>().toEqualTypeOf<{ n: number }>()
    expectTypeOf<Outputs['any']>().toEqualTypeOf<{ readonly any?: Json.Json; readonly n: number }>()
    expectTypeOf<Outputs['json']>().toEqualTypeOf<Json.Json>()
    expectTypeOf<Outputs['job']>().toEqualTypeOf<{ job: Json.Json; size: number }>()
    const chained = Async.workflow('w')
      .step('either', { run: () => TE.right({ n: 1 }) })
      .step('promise', ({ outputs }) => Promise.resolve([outputs.either.n]))
      .step('value', { run: ({ outputs }) => ({ first: outputs.promise[0] }) })
    type Chained = OutputsOf<typeof chained>
    expectTypeOf<Chained>().toEqualTypeOf<
      object & Pick<Outputs, 'either'> & Pick<Outputs, 'promise'> & Pick<Outputs, 'value'>
    >()
    expectTypeOf(chained).toExtend<Program.Program<Pick<Outputs, 'either' | 'promise' | 'value'>>>()
  })

  test('the outputs of groups and of the body of a map are inferred', () => {
    const program = pipe(
      Program.start('w'),
      Program.wave('checks', {
        unit: { run: () => TE.right(42) },
        lint: { needs: ['unit'], run: ({ attempt }) => Promise.resolve({ attempt }) },
        typed: { output: t.string, run: ({ runId }) => runId },
        bare: ({ unit }) => [unit],
        app: {
          needs: ['lint'],
          steps: (app) =>
            pipe(
              app,
              Program.step('build', ({ runId }) => runId)
            )
        },
        listed: { evidence: [{ _tag: 'File', path: 'x' }], run: ({ attempt }) => attempt }
      }),
      Program.map(
        'pages',
        { forEach: ({ outputs }) => outputs.checks.bare.map((id) => ({ id })), key: ({ id }) => id },
        ({ item }) => TE.right(item.id)
      )
    )
    const chained = Async.workflow('w')
      .wave('checks', {
        unit: { run: () => TE.right(42) },
        lint: { needs: ['unit'], run: ({ attempt }) => Promise.resolve({ attempt }) },
        typed: { output: t.string, run: ({ runId }) => runId },
        bare: ({ unit }) => [unit],
        app: { needs: ['lint'], steps: (app) => app.step('build', ({ runId }) => runId) },
        listed: { evidence: [{ _tag: 'File', path: 'x' }], run: ({ attempt }) => attempt }
      })
      .map(
        'pages',
        { forEach: ({ outputs }) => outputs.checks.bare.map((id) => ({ id })), key: ({ id }) => id },
        ({ item }) => TE.right(item.id)
      )
    type Checks = {
      readonly unit: number
      readonly lint: { attempt: number }
      readonly typed: string
      readonly bare: Array<string>
      readonly app: { readonly build: string }
      readonly listed: number
    }
    expectTypeOf<OutputsOf<typeof program>['checks']>().toEqualTypeOf<Checks>()
    expectTypeOf<OutputsOf<typeof program>['pages']>().toEqualTypeOf<ReadonlyArray<string>>()
    expectTypeOf<OutputsOf<typeof chained>>().toEqualTypeOf<OutputsOf<typeof program>>()
  })

  test('evidence is computed from the inferred output', () => {
    const program = pipe(
      Program.start('w'),
      Program.step('a', { run: () => TE.right({ path: 'x' }), evidence: ({ path }) => [{ _tag: 'Artifact', path }] }),
      Program.step('b', {
        run: ({ runId }) => ({ path: runId }),
        evidence: ({ path }, { unit }) => [{ _tag: 'Artifact', path: `${unit}/${path}` }]
      }),
      Program.wave('w', {
        c: {
          run: () => ({ path: 'y' }),
          evidence: ({ path }: { readonly path: string }) => [{ _tag: 'Artifact', path }]
        }
      })
    )
    expectTypeOf<OutputsOf<typeof program>['b']>().toEqualTypeOf<{ path: string }>()
    expectTypeOf<OutputsOf<typeof program>['w']>().toEqualTypeOf<{ readonly c: { path: string } }>()
    const inferred = Async.workflow('w').wave('w', {
      c: { run: () => ({ path: 'y' }), evidence: ({ path }) => [{ _tag: 'Artifact', path }] },
      d: { run: ({ attempt }) => attempt }
    })
    // The limit: evidence that does not annotate its output ends inference before `run` of `d` is checked.
    expectTypeOf<OutputsOf<typeof inferred>['w']>().toEqualTypeOf<{
      readonly c: { path: string }
      readonly d: Json.Json
    }>()
  })

  test('an output that JSON cannot keep is a compile-time error', () => {
    const start = Program.start('x')
    const chain = Async.workflow('x')
    const poll = () => ({ _tag: 'Finished' }) as const
    const both = { a: () => 1, b: ({ attempt }: Program.StepContext<unknown>) => Promise.resolve(BigInt(attempt)) }
    const refusals = [
      // @ts-expect-error: a Date
      () => pipe(start, Program.step('one', { run: () => TE.right(new Date(0)) })),
      // @ts-expect-error: a Date in a promise
      () => pipe(start, Program.step('one', { run: () => Promise.resolve([new Date(0)]) })),
      // @ts-expect-error: a Date in a chain
      () => chain.step('one', ({ attempt }) => Promise.resolve({ attempt, at: new Date(0) })),
      // @ts-expect-error: a Map
      () => chain.step('one', () => new Map([['a', 1]])),
      // @ts-expect-error: a Set
      () => chain.step('one', () => ({ a: new Set([1]) })),
      // @ts-expect-error: bytes
      () => chain.step('one', () => new Uint8Array(1)),
      // @ts-expect-error: a bigint
      () => chain.step('one', () => TE.right(1n)),
      // @ts-expect-error: a symbol
      () => chain.step('one', () => [Symbol('a')]),
      // @ts-expect-error: a method
      () => chain.step('one', () => handle),
      // @ts-expect-error: an object with toJSON
      () => chain.step('one', () => ({ toJSON: () => 'x' })),
      // @ts-expect-error: undefined in an array
      () => chain.step('one', () => [1, undefined]),
      // @ts-expect-error: a promise in an object
      () => chain.step('one', () => ({ later: Promise.resolve(1) })),
      // @ts-expect-error: a promise of a function
      () => chain.step('one', () => Promise.resolve(() => 1)),
      // @ts-expect-error: a function that does not resolve to an Either
      () => chain.step('one', () => () => Promise.resolve(1)),
      // @ts-expect-error: an Either
      () => chain.step('one', () => Promise.resolve(E.right(1))),
      // @ts-expect-error: the output of a job
      () => chain.step('one', { job: { submit: () => 1, poll, collect: () => 1n } }),
      // @ts-expect-error: a group
      () => pipe(start, Program.wave('w', { a: { run: () => TE.right(1n) } })),
      // @ts-expect-error: a group of a chain
      () => chain.wave('w', both),
      // @ts-expect-error: the body of a map
      () => chain.map('m', { forEach: () => [1] }, ({ item }) => new Set([item])),
      // @ts-expect-error: the items of a map
      () => chain.map('m', { forEach: () => [new Date(0)] }, () => 1)
    ]
    expectTypeOf(refusals).not.toBeAny()
    expectTypeOf<Program.Storable<{ readonly at: Date }>>().toEqualTypeOf<{
      readonly at: Program.NotStorable<'a Date; return a string or a number, or give the step an output schema'>
    }>()
  })

  test('an unknown option of a step is a compile-time error', () => {
    const start = Program.start('x')
    // @ts-expect-error: no such option
    void pipe(start, Program.step('one', { verson: '1', run: () => 1 }))
    // @ts-expect-error: no such option
    void pipe(start, Program.wave('w', { a: { verson: '1', run: () => 1 } }))
    // @ts-expect-error: a task of a map captures nothing
    void pipe(start, Program.map('m', { forEach: () => [1] }, { capture: 'x', run: () => 1 }))
  })
})

describe('the types of a program with promises', () => {
  const options = { id: 'r', storage: memoryStorage() }
  const typed = Async.workflow('typed', { input: t.type({ at: DateText }) }).step('one', {
    output: t.number,
    run: ({ input }) => input.at.getTime()
  })

  test('a completed outcome has the typed outputs of the steps', () => {
    const ended = () => Async.runOutcome(typed, options)
    type Ended = Extract<Awaited<ReturnType<typeof ended>>, { readonly _tag: 'Completed' }>
    expectTypeOf<Ended['outputs']['one']>().toEqualTypeOf<number>()
    type Executed = Executor<RunOutcome<{ readonly one: number }>>
    expectTypeOf(run(typed, 'r', { at: new Date(0) })).toMatchTypeOf<Executed>()
    // An outcome of any program is assignable to one with unknown outputs.
    expectTypeOf<Executed>().toMatchTypeOf<Executor<RunOutcome>>()
  })

  test('a step returns the input of its schema, and later steps see the output of the schema', () => {
    const At = z.object({ at: z.string().transform((at) => new Date(at)) })
    const program = Async.workflow('w', { input: At })
      .step('one', {
        output: z.string().transform(Number),
        run: ({ input }) => Promise.resolve(input.at.toISOString())
      })
      .wave('checks', {
        unit: { output: v.pipe(v.string(), v.transform(Number)), run: ({ outputs }) => String(outputs.one + 1) },
        app: { steps: (app) => app.step('year', { output: z.number(), run: ({ input }) => input.at.getTime() }) }
      })
      .map(
        'pages',
        { forEach: ({ input }) => [input.at.toISOString()], item: type('string.numeric.parse') },
        { output: z.number(), run: ({ item }) => item + 1 }
      )
      .sequence('rest', (rest) => rest.step('year', { output: z.number(), run: ({ input }) => input.at.getTime() }))
    const calls = () => Async.run(program, { ...options, input: { at: '1970-01-01' } })
    expectTypeOf<Awaited<ReturnType<typeof calls>>['one']>().toEqualTypeOf<number>()
    expectTypeOf<Awaited<ReturnType<typeof calls>>['checks']>().toEqualTypeOf<{
      readonly unit: number
      readonly app: { readonly year: number }
    }>()
    expectTypeOf<Awaited<ReturnType<typeof calls>>['pages']>().toEqualTypeOf<ReadonlyArray<number>>()
    expectTypeOf<Awaited<ReturnType<typeof calls>>['rest']>().toEqualTypeOf<{ readonly year: number }>()
    const refusals = [
      // @ts-expect-error: the input has the type that the schema takes, not the one it returns
      () => Async.run(program, { ...options, input: { at: new Date(0) } }),
      // @ts-expect-error: the schema takes a string
      () => Async.workflow('x').step('one', { output: z.string().transform(Number), run: () => 1 }),
      // @ts-expect-error: the schema of a group takes a string
      () => Async.workflow('x').wave('w', { a: { output: z.string(), run: () => 1 } }),
      // @ts-expect-error: neither a codec nor a schema
      () => Async.workflow('x').step('one', { output: { parse: () => 1 }, run: () => 1 })
    ]
    expectTypeOf(refusals).not.toBeAny()
  })

  test('an input is required to start a run, and optional where the run may exist', () => {
    const at = new Date(0)
    const calls = [
      () => Async.run(typed, { ...options, input: { at } }),
      // @ts-expect-error: no input
      () => Async.run(typed, options),
      () => Async.runOrResume(typed, options),
      () => Async.runOutcome(typed, { ...options, input: undefined }),
      // @ts-expect-error: not the type of the codec
      () => Async.runOrResume(typed, { ...options, input: { at: 'today' } }),
      // @ts-expect-error: not the type of the codec
      () => Async.runOutcome(typed, { ...options, input: { at: 'today' } }),
      () => Async.resume(typed, { ...options, fromStep: 'one', input: { at } }),
      () => Async.planRun(typed, { ...options, fromStep: 'one', input: { at } }),
      // @ts-expect-error: not the type of the codec
      () => Async.resume(typed, { ...options, fromStep: 'one', input: { at: 'today' } })
    ]
    expectTypeOf(calls).not.toBeAny()
  })
})
