import { pipe } from 'fp-ts/lib/function.js'
import * as TE from 'fp-ts/lib/TaskEither.js'
import * as t from 'io-ts'
import { describe, expectTypeOf, test } from 'vitest'
import type { Executor, Json, Workflow } from '../../src/index.js'
import { Program, resume, run, runOrResume } from '../../src/index.js'
import type { RunOutcome } from '../../src/executor/RunOutcome.js'
import { memoryStorage } from '../../src/adapters/memory.js'
import * as Async from '../../src/promise/index.js'

type OutputsOf<P> = P extends Program.Program<infer Outputs, infer _> ? Outputs : never
type InputOf<P> = P extends Program.Program<infer _, infer Input> ? Input : never

const Tarball = t.type({ file: t.string, size: t.number })

const DateText = new t.Type<Date, string>(
  'DateText',
  (value): value is Date => value instanceof Date,
  (value, context) => (typeof value === 'string' ? t.success(new Date(value)) : t.failure(value, context)),
  (date) => date.toISOString()
)

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
          expectTypeOf(outputs.free).toEqualTypeOf<Json.Json>()
          // @ts-expect-error: its own output is not there yet
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

  test('a name is one name: of two that it may be, both outputs would be promised', () => {
    const either = 'a' as 'a' | 'b'
    // @ts-expect-error: it is not known which of the two steps there will be
    void pipe(Program.start('w'), Program.step(either, { run: () => TE.right(1) }))
  })

  test('a group needs groups of its wave', () => {
    pipe(
      Program.start('w'),
      Program.wave('checks', {
        unit: { output: t.number, run: () => TE.right(1) },
        // @ts-expect-error: there is no such group
        lint: { needs: ['unti'], run: () => TE.right(2) }
      })
    )
  })

  test('a wave gives an object of its groups, each with its type', () => {
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
          expectTypeOf(checks.lint).toEqualTypeOf<Json.Json>()
          return TE.right(checks.unit + 1)
        }
      })
    )
  })

  test('the input has the type of its codec, for the steps and for who starts the run', () => {
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
    // @ts-expect-error: the input stands before the options
    void runOrResume(program, 'r', { at: new Date(0) }, { fromStep: 'one', input: { at: new Date(0) } })
  })

  test('an output must be what its codec says', () => {
    const start = Program.start('x')
    // @ts-expect-error: a number is no text
    void pipe(start, Program.step('one', { output: t.string, run: () => TE.right(1) }))
    // @ts-expect-error: a group's number is no text
    void pipe(start, Program.wave('w', { a: { output: t.string, run: () => TE.right(1) } }))
  })

  test('a name is used once', () => {
    const one = pipe(Program.start('x'), Program.step('one', { run: () => TE.right(1) }))
    // @ts-expect-error: there is a step of that name
    void pipe(one, Program.step('one', { run: () => TE.right(1) }))
    // @ts-expect-error: there is a step of that name
    void pipe(one, Program.wave('one', { a: { run: () => TE.right(1) } }))
  })

  test('a step may fail with anything', () => {
    pipe(
      Program.start('x'),
      Program.step('error', { run: () => TE.left(new Error('no')) }),
      Program.step('text', { output: t.string, run: () => TE.left('no') }),
      Program.step('never', { run: () => TE.left<unknown, never>({ status: 500 }) })
    )
  })

  test('what a step gets can not be written to', () => {
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

  test('a program is a workflow: the same value goes to the planner', () => {
    const program = pipe(Program.start('x'), Program.step('one', { run: () => TE.right(1) }))
    const workflow: Workflow.Workflow = program
    expectTypeOf(workflow.steps[0]).not.toBeAny()
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
