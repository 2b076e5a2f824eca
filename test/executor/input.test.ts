import assert from 'node:assert/strict'
import * as E from 'fp-ts/lib/Either.js'
import { pipe } from 'fp-ts/lib/function.js'
import * as TE from 'fp-ts/lib/TaskEither.js'
import * as t from 'io-ts'
import { describe, test } from 'vitest'
import { memoryStorage } from '../../src/adapters/memory.js'
import type * as Json from '../../src/domain/data/Json.js'
import type * as ProgramType from '../../src/executor/program/Program.js'
import { explain, hashPlan, Program, resume, RunError, runOrResume } from '../../src/index.js'
import type { World } from './fixtures.js'
import {
  ended,
  group,
  historyOf,
  killingAt,
  loaded,
  newLife,
  newProcess,
  newWorld,
  outputsOf,
  patiently,
  refused,
  stored,
  task
} from './fixtures.js'

const Order = t.type({ customer: t.string })

/** Greets the customer of its input; the second step fails until `passes` is true. */
const order = (world: World, passes = true) =>
  pipe(
    Program.start('order', { input: Order }),
    Program.step('greet', {
      run: ({ input }) => {
        world.log.push('greet')
        return TE.right(`hello ${input.customer}`)
      }
    }),
    Program.step('sell', {
      run: ({ input }) => {
        world.log.push('sell')
        return passes ? TE.right(`sold to ${input.customer}`) : TE.left('closed')
      }
    })
  )

const failed = async (customer = 'Ada'): Promise<World> => {
  const world = newWorld()
  ended(await newProcess(world).perform(runOrResume(order(world, false), 'r', { customer })), 'Failed')
  return world
}

describe('runOrResume without an input', () => {
  test('runOrResume without input resumes an existing run with the stored input', async () => {
    const world = await failed()
    const { checkpoint } = ended(await newProcess(world).perform(runOrResume(order(world), 'r')), 'Completed')
    assert.deepEqual(outputsOf(checkpoint), { greet: 'hello Ada', sell: 'sold to Ada' })
    assert.deepEqual(world.log, ['greet', 'sell', 'sell'])
  })

  test('runOrResume without input keeps the stored input even if the program accepts any input', async () => {
    const world = newWorld()
    const program = pipe(Program.start('any'), Program.step('one', { run: ({ input }) => TE.right(input) }))
    ended(await newProcess(world).perform(runOrResume(program, 'r', { name: 'Ada' })), 'Completed')
    const { checkpoint } = ended(await newProcess(world).perform(runOrResume(program, 'r')), 'Completed')
    assert.deepEqual(checkpoint.input, { name: 'Ada' })
  })

  test('runOrResume refuses an input that differs from the stored one', async () => {
    const world = await failed()
    const result = await newProcess(world).perform(runOrResume(order(world), 'r', { customer: 'Bob' }))
    refused(result, 'InputChanged')
    assert.equal((await stored(memoryStorage(world.data))).state._tag, 'Failed')
  })

  test('runOrResume without input refuses to start a run that requires one, stores nothing, and says what to pass', async () => {
    const world = newWorld()
    const process = newProcess(world)
    const error = refused(await process.perform(runOrResume(order(world), 'r')), 'InputMissing')
    assert.match(RunError.describe(error), /^Run r cannot start without an input/)
    assert.match(RunError.describe(error), /customer: string/)
    assert.deepEqual(
      process.calls.filter((call) => call !== 'load'),
      []
    )
    assert.equal((await loaded(memoryStorage(world.data)))._tag, 'None')
  })

  test('runOrResume without input but with a workspace loads an existing run only once before the claim', async () => {
    const world = await failed()
    const process = newProcess(world)
    const again = runOrResume(order(world), 'r', undefined, { workspace: 'directory' })
    ended(await process.perform(again), 'Completed')
    assert.deepEqual(process.calls.slice(0, process.calls.indexOf('claim')), ['load'])
  })

  test('a start without input is refused even if the codec accepts undefined, and the error names the fields of the input', async () => {
    const program = pipe(
      Program.start('optional', { input: t.union([Order, t.undefined]) }),
      Program.step('one', { run: () => TE.right(1) })
    )
    const error = refused(await newProcess(newWorld()).perform(runOrResume(program, 'r')), 'InputMissing')
    assert.match(RunError.describe(error), /customer/)
  })

  test('runOrResume without input starts a run with an empty input if the program accepts one', async () => {
    const world = newWorld()
    const program = pipe(
      Program.start('optional', { input: t.partial({ customer: t.string }) }),
      Program.step('one', { run: ({ input }) => TE.right(input.customer ?? 'nobody') })
    )
    const { checkpoint } = ended(await newProcess(world).perform(runOrResume(program, 'r')), 'Completed')
    assert.deepEqual([checkpoint.input, outputsOf(checkpoint)], [{}, { one: 'nobody' }])
  })
})

describe('a replaced input', () => {
  const bob = { customer: 'Bob' }

  test('a replaced input applies to its step and all later ones; earlier outputs stay', async () => {
    const world = await failed()
    const process = newProcess(world)
    const options = { fromStep: 'sell', input: bob }
    const { checkpoint } = ended(await process.perform(resume(order(world), 'r', options)), 'Completed')
    assert.deepEqual(outputsOf(checkpoint), { greet: 'hello Ada', sell: 'sold to Bob' })
    assert.deepEqual([checkpoint.input, checkpoint.variables.get('customer')], [bob, 'Bob'])
    assert.deepEqual(world.log, ['greet', 'sell', 'sell'])
  })

  test('a replaced input is recorded as a change of its own before the first step starts', async () => {
    const world = await failed()
    const process = newProcess(world)
    let recorded: ReadonlyArray<string> = []
    const program = pipe(
      Program.start('order', { input: Order }),
      Program.step('greet', { run: () => TE.right('again') }),
      Program.step('sell', {
        run: () => async () => {
          recorded = await historyOf(process.storage)
          return E.right(null)
        }
      })
    )
    ended(await process.perform(resume(program, 'r', { fromStep: 'sell', input: bob })), 'Completed')
    assert.deepEqual(recorded.slice(-3), ['Rewound', 'InputReplaced', 'AttemptStarted'])
  })

  test('a replaced input of a completed run applies to the step of fromStep and all later ones, which run again', async () => {
    const world = newWorld()
    ended(await newProcess(world).perform(runOrResume(order(world), 'r', { customer: 'Ada' })), 'Completed')
    const options = { fromStep: 'greet', input: bob }
    const { checkpoint } = ended(await newProcess(world).perform(resume(order(world), 'r', options)), 'Completed')
    assert.deepEqual(outputsOf(checkpoint), { greet: 'hello Bob', sell: 'sold to Bob' })
  })

  test('runOrResume with fromStep accepts an input that differs from the stored one', async () => {
    const world = await failed()
    const result = await newProcess(world).perform(runOrResume(order(world), 'r', bob, { fromStep: 'sell' }))
    assert.deepEqual(ended(result, 'Completed').checkpoint.input, bob)
  })

  test('a replaced input without fromStep is refused and changes nothing', async () => {
    const world = await failed()
    const before = await stored(memoryStorage(world.data))
    const error = refused(await newProcess(world).perform(resume(order(world), 'r', { input: bob })), 'InputChanged')
    assert.match(RunError.describe(error), /^Run r has another input. .*set `fromStep` to the step from which the new/)
    assert.equal((await stored(memoryStorage(world.data))).revision, before.revision)
  })

  test('a replaced input equal to the stored one is not recorded as a change', async () => {
    const world = await failed()
    const options = { fromStep: 'sell', input: { customer: 'Ada' } }
    ended(await newProcess(world).perform(resume(order(world), 'r', options)), 'Completed')
    ended(await newProcess(world).perform(resume(order(world), 'r', { input: { customer: 'Ada' } })), 'Completed')
    assert.ok(!(await historyOf(memoryStorage(world.data))).includes('InputReplaced'))
  })

  test('an invalid replaced input is refused and changes nothing', async () => {
    const world = await failed()
    const options = { fromStep: 'sell', input: { customer: 7 } as unknown as typeof bob }
    const error = refused(await newProcess(world).perform(resume(order(world), 'r', options)), 'InvalidInput')
    assert.equal(error.path, '$.customer')
    assert.deepEqual((await stored(memoryStorage(world.data))).input, { customer: 'Ada' })
  })

  test.each(['before', 'after'] as const)(
    'once a replaced input is recorded, no step sees the old one, whichever store call the process dies %s',
    async (when) => {
      let replaced = 0
      for (let call = 1; ; call++) {
        const world = await failed()
        const life = newLife()
        const process = newProcess(world, { around: killingAt(life, call, when) })
        const over = resume(order(world), 'r', { fromStep: 'greet', input: bob })(process.environment)()
        const isKilled = await patiently(
          process.clock,
          Promise.race([life.killed.then(() => true), over.then(() => false)])
        )
        if (!isKilled) break
        const isReplaced = (await historyOf(memoryStorage(world.data))).includes('InputReplaced')
        if (isReplaced) replaced += 1
        const { checkpoint } = ended(await newProcess(world).perform(resume(order(world), 'r')), 'Completed')
        const who = isReplaced ? 'Bob' : 'Ada'
        assert.deepEqual(outputsOf(checkpoint), { greet: `hello ${who}`, sell: `sold to ${who}` }, `call ${call}`)
      }
      assert.ok(replaced >= 3, `${replaced} kills after it was replaced`)
    }
  )

  test('a map’s forEach and a wave’s checks see the replaced input', async () => {
    const world = newWorld()
    const seen: Array<unknown> = []
    const program: ProgramType.Program<unknown> = Program.fromSteps('p', [
      task('first', { run: () => TE.right(1) }),
      Program.mapOf('each', task('each', { run: () => TE.right('done') }), {
        forEach: ({ input }) => ({ _tag: 'Right', right: (input as { readonly items: ReadonlyArray<string> }).items }),
        key: (item) => ({ _tag: 'Right', right: String(item) })
      }),
      Program.waveOf('wave', [group('a', { run: () => TE.right(1) })], {
        before: ({ input }) => TE.fromIO(() => seen.push(input))
      })
    ])
    ended(await newProcess(world).perform(runOrResume(program, 'r', { items: ['a', 'b'] })), 'Completed')
    const input = { items: ['c'] }
    const again = ended(await newProcess(world).perform(resume(program, 'r', { fromStep: 'each', input })), 'Completed')
    assert.deepEqual(Object.keys(outputsOf(again.checkpoint)), ['first', 'each/c', 'each', 'wave/a', 'wave'])
    ended(
      await newProcess(world).perform(resume(program, 'r', { fromStep: 'wave', input: { items: ['d'] } })),
      'Completed'
    )
    assert.deepEqual(seen, [{ items: ['a', 'b'] }, { items: ['c'] }, { items: ['d'] }])
  })

  test('with a replaced input, fromStep at a task also runs its sub-steps again', async () => {
    const world = newWorld()
    const asked: Array<unknown> = []
    const program = Program.fromSteps('p', [
      task('ask', {
        run: ({ input, step }) =>
          step('reply', () => {
            asked.push(input)
            return `re: ${JSON.stringify(input)}`
          })
      })
    ])
    ended(await newProcess(world).perform(runOrResume(program, 'r', 'first')), 'Completed')
    const options = { fromStep: 'ask', input: 'second' }
    const { checkpoint } = ended(await newProcess(world).perform(resume(program, 'r', options)), 'Completed')
    assert.deepEqual(asked, ['first', 'second'])
    assert.deepEqual(outputsOf(checkpoint), { 'ask/reply': 're: "second"', ask: 're: "second"' })
  })

  test('a replaced input changes the hash and the text of the plan', async () => {
    const world = newWorld()
    const program = Program.fromSteps('p', [task('one', { run: () => TE.right(1) })])
    ended(await newProcess(world).perform(runOrResume(program, 'r', 'text')), 'Completed')
    const plans = new Map<Json.Json, { readonly hash: string; readonly text: string }>()
    for (const input of ['text', 'other', 'third']) {
      const process = newProcess(world)
      process.stop()
      ended(await process.perform(resume(program, 'r', { fromStep: 'one', input })), 'Interrupted')
      const planned = process.events.find((event) => event._tag === 'RunPlanned')
      assert.ok(planned?._tag === 'RunPlanned')
      plans.set(input, { hash: hashPlan(planned.plan), text: explain(planned.plan) })
    }
    assert.equal(new Set([...plans.values()].map(({ hash }) => hash)).size, 3)
    assert.doesNotMatch(plans.get('text')?.text ?? '', /another input/)
    assert.match(plans.get('other')?.text ?? '', /another input/)
    const pinned = { fromStep: 'one', input: 'fifth', planHash: plans.get('other')?.hash ?? '' }
    refused(await newProcess(world).perform(resume(program, 'r', pinned)), 'PlanChanged')
  })

  test('a replaced input is redacted, and refused if a field has the name of a secret', async () => {
    const world = newWorld()
    const secrets = { where: 'the test', read: () => TE.right({ _tag: 'Some' as const, value: 's3cr3t' }) }
    const program = pipe(
      Program.start('p', { secrets: ['TOKEN'] }),
      Program.step('one', { run: ({ input }) => TE.right(input) })
    )
    ended(await newProcess(world, { secrets }).perform(runOrResume(program, 'r', { a: 'x' })), 'Completed')
    const named = { fromStep: 'one', input: { TOKEN: 'x' } }
    refused(await newProcess(world, { secrets }).perform(resume(program, 'r', named)), 'InvalidInput')
    const process = newProcess(world, { secrets })
    const options = { fromStep: 'one', input: { a: 'it is s3cr3t' } }
    const { checkpoint } = ended(await process.perform(resume(program, 'r', options)), 'Completed')
    assert.deepEqual(checkpoint.input, { a: 'it is ***' })
    assert.ok(!JSON.stringify([process.saves, process.events]).includes('s3cr3t'))
  })
})
