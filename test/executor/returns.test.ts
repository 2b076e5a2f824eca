/** The values that a function of a program's author may return, in both forms. */
import assert from 'node:assert/strict'
import * as E from 'fp-ts/lib/Either.js'
import { pipe } from 'fp-ts/lib/function.js'
import * as TE from 'fp-ts/lib/TaskEither.js'
import { describe, test } from 'vitest'
import { memoryStorage } from '../../src/adapters/memory.js'
import { nodeEnvironment } from '../../src/adapters/node/index.js'
import type { RunOutcome } from '../../src/executor/RunOutcome.js'
import type { ProgramStep } from '../../src/index.js'
import { planRun, poll, Program, resume, run, RunError, StepFailure, Workflow } from '../../src/index.js'
import * as StepError from '../../src/domain/data/StepError.js'
import * as W from '../../src/domain/workflow/Workflow.js'
import { describeProblem } from '../../src/domain/workflow/WorkflowProblem.js'
import { workflow } from '../../src/promise/index.js'
import { ended, newProcess, task } from './fixtures.js'

/** A function that returns the same as a value, as a promise and as a task. */
const ways: ReadonlyArray<readonly [string, <A>(value: A) => unknown]> = [
  ['a TaskEither', TE.right],
  ['a promise', (value) => Promise.resolve(value)],
  ['a value', (value) => value]
]

const failures: ReadonlyArray<readonly [string, (error: Error) => unknown]> = [
  ['the left of a TaskEither', (error) => TE.left(error)],
  ['a promise that rejects', (error) => Promise.reject(error)],
  [
    'a throw',
    (error) => {
      throw error
    }
  ],
  ['a TaskEither that throws', (error) => () => Promise.reject(error)]
]

const only = async (act: () => unknown): Promise<RunOutcome> => {
  const outcome = await run(
    Program.fromSteps('p', [task('s', { run: act })]),
    'r',
    {}
  )(nodeEnvironment(memoryStorage()))()
  assert.ok(E.isRight(outcome))
  return outcome.right
}

const errorOf = (outcome: RunOutcome): StepError.StepError => {
  assert.ok(outcome._tag === 'Failed' && !outcome.retryable, outcome._tag)
  return outcome.failures[0]?.error ?? assert.fail()
}

describe('code of users', () => {
  test.each(ways)('the function of a step, of a check or of a job may return %s', async (_, as) => {
    const process = newProcess()
    const program = pipe(
      Program.start('p'),
      Program.step('one', { before: () => as(null), after: () => as(null), run: () => as({ n: 1 }) }),
      Program.step('job', {
        job: {
          submit: () => as('j') as string,
          poll: () => as({ _tag: 'Finished' }) as { _tag: 'Finished' },
          collect: ({ job }) => as([job])
        }
      })
    )
    ended(await process.perform(run(program, 'r', {})), 'Pending')
    const polled = await poll(program, 'r')(process.environment)()
    assert.ok(E.isRight(polled) && polled.right._tag === 'Polled')
    const { outputs } = ended(await process.perform(resume(program, 'r')), 'Completed')
    assert.deepEqual(outputs, { one: { n: 1 }, job: ['j'] })
  })

  test.each(failures)('the error of a step keeps its classification if the step fails by %s', async (_, fail) => {
    const busy = StepFailure.transient(StepError.make('Busy', 'busy'), 'notApplied')
    const failed = await only(() => fail(Object.assign(new Error('busy'), busy)))
    assert.ok(failed._tag === 'Failed' && failed.retryable)
    assert.deepEqual([failed.failures[0]?.error.name, failed.failures[0]?.outcome], ['Busy', 'notApplied'])
  })

  test.each(failures)('a check that fails by %s counts as failed', async (_, fail) => {
    const before = (): unknown => fail(new Error('no room'))
    const program = pipe(Program.start('p'), Program.step('s', { before, run: () => 1 }))
    const outcome = await run(program, 'r', {})(nodeEnvironment(memoryStorage()))()
    assert.ok(E.isRight(outcome))
    assert.match(errorOf(outcome.right).message, /^not started, because a check failed: no room/)
  })

  test.each([
    ['a promise of a number', () => () => Promise.resolve(1)],
    ['nothing', () => () => undefined],
    ['a TaskEither', () => () => TE.right(1)]
  ])(
    'a step fails permanently if it returns a function that is not a TaskEither, such as one that returns %s',
    async (_, act) => {
      const { code, message } = errorOf(await only(act))
      assert.equal(code, 'WRONG_RETURN')
      assert.match(message, /the step returned a function; return a value or a promise/)
    }
  )

  test.each([
    ['a right', () => E.right(1)],
    ['a left', () => E.left('no')],
    ['a promise of a right', () => Promise.resolve(E.right(1))],
    ['a promise of a left', () => TE.left('no')()],
    ['the promise of a TaskEither passed as its function', TE.right(1)]
  ])('a step that returns %s fails permanently, because only a TaskEither may produce an Either', async (_, act) => {
    const { code, message } = errorOf(await only(act))
    assert.equal(code, 'WRONG_RETURN')
    assert.match(message, /return the TaskEither itself, as in \(\) => TE\.right\(1\)$/)
  })

  test.each([
    ['a number', 3, 'the number 3'],
    ['a combinator (Program.step)', Program.step('one', () => 1), 'a function'],
    ['a task without code', W.task('one'), 'an object']
  ])('Program.fromSteps refuses %s as its second step', async (_, step, found) => {
    const program = Program.fromSteps('p', [task('s', { run: () => TE.right(1) }), step as ProgramStep])
    const outcome = await run(program, 'r', {})(nodeEnvironment(memoryStorage()))()
    assert.ok(E.isLeft(outcome))
    assert.equal(
      RunError.describe(outcome.left),
      `Cannot run this workflow:\n  step 2 of "p" must be made by Program.task, sequenceOf, waveOf or mapOf, not ${found}`
    )
  })

  test('Program.fromSteps takes any iterable of steps, and refuses the characters of a string', () => {
    const steps = [task('a', { run: () => TE.right(1) }), task('b', { run: () => TE.right(2) })]
    const ofSet = Program.fromSteps('p', new Set(steps) as never)
    assert.deepEqual([Program.problems(ofSet), ofSet.steps.map(({ name }) => name)], [[], ['a', 'b']])
    assert.deepEqual(
      Program.problems(Program.fromSteps('p', 'ab' as never)).map(({ _tag }) => _tag),
      ['InvalidSetting', 'InvalidSetting']
    )
  })

  const made = 'made by Program.task, sequenceOf, waveOf or mapOf'
  const one = Program.task('one', { run: () => 1 })
  const items = { forEach: () => E.right([]), key: () => E.right('a') }
  const reusing = "an object like { fromRun: 'crawl-7', artifact: 'corpus' }"
  const cycle: Record<string, unknown> = {}
  cycle['cycle'] = cycle

  test.each<readonly [string, () => unknown, string]>([
    [
      'sequenceOf with null',
      () => Program.sequenceOf('s', [one, null as never]),
      `step 2 of "s" must be ${made}, not null`
    ],
    [
      'sequenceOf with no array',
      () => Program.sequenceOf('s', 'one' as never),
      'steps of "s" must be an array of steps, not the string "one"'
    ],
    [
      'waveOf with an object',
      () => Program.waveOf('s', [{} as never]),
      `group 1 of "s" must be ${made}, not an object`
    ],
    [
      'waveOf with needs of a group that are a string',
      () => Program.waveOf('s', [{ ...one, needs: 'a' } as never]),
      'needs of "s/one" must be an array of names of groups'
    ],
    [
      'mapOf with a string',
      () => Program.mapOf('s', 'one' as never, items),
      `each of "s" must be ${made}, not the string "one"`
    ],
    ['mapOf without a source', () => Program.mapOf('s', one, null as never), 'forEach of "s" must be a function'],
    [
      'task with a BigInt as its definition',
      () => Program.task('s', () => 1, 10n as never),
      'definition of "s" must be plain JSON, not a bigint'
    ],
    [
      'sequenceOf with a Date in its definition',
      () => Program.sequenceOf('s', [one], {}, { at: [new Date()] } as never),
      'definition of "s" must be plain JSON, not a Date at $.at[0]'
    ],
    [
      'waveOf with a cycle as its definition',
      () => Program.waveOf('s', [one as never], {}, cycle as never),
      'definition of "s" must be plain JSON, not a cycle at $.cycle'
    ],
    [
      'mapOf with a function as its definition and NaN as that of its body',
      () =>
        Program.mapOf('s', Program.sequenceOf('b', [Program.task('t', () => 1, NaN)]), items, {}, (() => 1) as never),
      'definition of "s" must be plain JSON, not a function\n  definition of "s/*/t" must be plain JSON, not NaN'
    ],
    [
      'reuse of undefined',
      () => Program.task('s', Program.reuse(undefined as never)),
      `reuse of "s" must be ${reusing}`
    ],
    [
      'reuse without a run',
      () => Program.task('s', Program.reuse({ artifact: 'a' } as never)),
      `reuse of "s" must be ${reusing}: fromRun must be a string`
    ],
    [
      'reuse with a misspelled artifact',
      () => Program.task('s', Program.reuse({ fromRun: 'a', artifcat: 'a' } as never)),
      `reuse of "s" must be ${reusing}: artifact must be a string`
    ],
    [
      'task with an option reuse',
      () => Program.task('s', { run: () => 1, reuse: { fromRun: 'a', artifact: 'a' } } as never),
      'reuse of "s" must be the argument of Program.reuse, which makes the step'
    ],
    ['Program.fromSteps without an array of steps', () => null, `step 1 of "p" must be ${made}, not null`]
  ])('%s does not throw, and the run of its program is refused', async (_, step, why) => {
    const first = step()
    const program = Program.fromSteps('p', first === null ? (null as never) : [first as ProgramStep])
    const outcome = await run(program, 'r', {})(nodeEnvironment(memoryStorage()))()
    assert.ok(E.isLeft(outcome))
    assert.ok(RunError.describe(outcome.left).includes(`\n  ${why}`), RunError.describe(outcome.left))
  })

  test.each([
    [undefined, 'the workflow must be a Program or a Workflow, not undefined'],
    [5, 'the workflow must be a Program or a Workflow, not the number 5'],
    [{}, 'steps must be an array of steps, not undefined']
  ])('the value %j in place of a program is refused, and nothing throws', async (program, expected) => {
    const [problem] = Program.problems(program as never)
    assert.equal(problem === undefined ? '' : describeProblem(problem), expected)
    assert.equal(Workflow.problems(program as never).map(describeProblem)[0], expected)
    for (const call of [
      run(program as never, 'r', {}),
      resume(program as never, 'r'),
      planRun(program as never, 'r')
    ]) {
      const outcome = await call(nodeEnvironment(memoryStorage()))()
      assert.ok(E.isLeft(outcome))
      assert.ok(RunError.describe(outcome.left).includes(expected), RunError.describe(outcome.left))
    }
  })

  test('Workflow.define refuses a task whose definition is not JSON', () => {
    const made = Workflow.define('w', [Workflow.task('one', { definition: { big: 10n } as never })])
    assert.ok(E.isLeft(made))
    assert.deepEqual(made.left.map(describeProblem), ['definition of "one" must be plain JSON, not a bigint at $.big'])
  })

  test('a group without `needs` runs', async () => {
    const program = Program.fromSteps('p', [Program.waveOf('s', [one as never])])
    const outcome = await run(program, 'r', {})(nodeEnvironment(memoryStorage()))()
    assert.ok(E.isRight(outcome) && outcome.right._tag === 'Completed')
  })

  test('a check that returns an Either counts as failed', async () => {
    const program = pipe(Program.start('p'), Program.step('s', { before: () => E.right(1), run: () => 1 }))
    const outcome = await run(program, 'r', {})(nodeEnvironment(memoryStorage()))()
    assert.ok(E.isRight(outcome))
    assert.match(errorOf(outcome.right).message, /return the TaskEither itself/)
  })

  test('a step that returns a promise of a function fails, because a function is not JSON', async () => {
    const { code, message } = errorOf(await only(() => Promise.resolve(TE.right(1))))
    assert.deepEqual([code, message], ['OUTPUT_NOT_STORABLE', 'the output must be plain JSON, not a function'])
  })

  test('a TaskEither may have an Either as its right value, which is recorded as data', async () => {
    const outcome = await only(() => TE.right(E.right(1)))
    assert.ok(outcome._tag === 'Completed')
    assert.deepEqual(outcome.outputs, { s: { _tag: 'Right', right: 1 } })
  })
})

describe('a step without a function', () => {
  test.each([
    ['run', undefined],
    ['run', {}],
    ['run', { run: 3 }],
    ['job.submit', { job: { poll: () => 0, collect: () => 0 } }]
  ])(
    'a workflow is refused and nothing runs if `%s` of a step is not a function: the step is %j',
    async (field, spec) => {
      const storage = memoryStorage()
      const program = workflow('w').step('s', spec as never)
      const outcome = await run(program, 'r', {})(nodeEnvironment(storage))()
      assert.ok(E.isLeft(outcome) && outcome.left._tag === 'PlanError')
      assert.deepEqual(outcome.left.problems, [
        { _tag: 'InvalidWorkflow', problem: { _tag: 'InvalidSetting', place: 's', field, expected: 'a function' } }
      ])
      assert.deepEqual(await storage.list()(), E.right([]))
    }
  )
})

describe('a step without a schema', () => {
  test('a value that JSON cannot store fails its step permanently, with the path', async () => {
    const { code, message } = errorOf(await only(() => ({ found: [{ at: new Date(0) }] })))
    assert.deepEqual(
      [code, message],
      ['OUTPUT_NOT_STORABLE', 'the output at $.found[0].at must be plain JSON, not a Date']
    )
  })

  test('evidence is computed from the output as later steps see it', async () => {
    const seen: Array<unknown> = []
    const program = pipe(
      Program.start('p'),
      Program.step('none', {
        run: () => undefined,
        evidence: (output) => {
          seen.push(output)
          return []
        }
      }),
      Program.step('some', {
        run: (): { readonly a: number; readonly b?: number | undefined } => ({ a: 1, b: undefined }),
        evidence: (output) => {
          seen.push(output)
          return []
        }
      })
    )
    ended(await newProcess().perform(run(program, 'r', {})), 'Completed')
    assert.deepEqual(seen, [null, { a: 1 }])
  })
})

describe('a bare function', () => {
  const expected = { step: 'r', wave: { a: 'wave/a', b: ['wave/b'] }, map: [1, 2] }

  test('a bare function may be a step, a group and the body of a map, in a program built by pipe', async () => {
    const program = pipe(
      Program.start('p'),
      Program.step('step', ({ runId }) => TE.right(runId)),
      Program.wave('wave', { a: ({ unit }) => unit, b: ({ unit }) => Promise.resolve([unit]) }),
      Program.map('map', { forEach: () => [0, 1] }, ({ item }) => Promise.resolve(item + 1))
    )
    const { outputs } = ended(await newProcess().perform(run(program, 'r', {})), 'Completed')
    assert.deepEqual(outputs, expected)
  })

  test('a bare function may be a step, a group and the body of a map, in a workflow built by chained calls', async () => {
    const program = workflow('p')
      .step('step', ({ runId }) => TE.right(runId))
      .wave('wave', { a: ({ unit }) => unit, b: ({ unit }) => Promise.resolve([unit]) })
      .map('map', { forEach: () => [0, 1] }, ({ item }) => Promise.resolve(item + 1))
    const { outputs } = ended(await newProcess().perform(run(program, 'r', {})), 'Completed')
    assert.deepEqual(outputs, expected)
  })

  test('a bare function has the fingerprint of a step with only that function', () => {
    const fingerprintOf = (spec: Parameters<typeof Program.task>[1]) => Program.task('s', spec).fingerprint
    assert.equal(
      fingerprintOf(() => 1),
      fingerprintOf({ run: () => 2 })
    )
  })
})
