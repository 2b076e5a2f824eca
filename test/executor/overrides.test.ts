import assert from 'node:assert/strict'
import * as TE from 'fp-ts/lib/TaskEither.js'
import { describe, test } from 'vitest'
import type { ResumeOptions } from '../../src/index.js'
import type * as Plan from '../../src/domain/plan/Plan.js'
import type * as ProgramType from '../../src/executor/program/Program.js'
import { Program, resume, run } from '../../src/index.js'
import type { World } from './fixtures.js'
import {
  ended,
  group,
  historyOf,
  killingAt,
  newLife,
  newProcess,
  newWorld,
  patiently,
  refused,
  stored,
  task
} from './fixtures.js'

/** Each output contains its round, so that a stale one shows. */
const program = (world: World, round: string, fails?: string): ProgramType.Program<unknown> => {
  const gives = (name: string) => ({
    run: () => {
      world.log.push(name)
      return name === fails ? TE.left(`no in ${round}`) : TE.right(`${name} ${round}`)
    }
  })
  return Program.fromSteps('p', [
    task('one', { ...gives('one'), capture: 'captured' }),
    Program.waveOf('two', [group('a', gives('a')), group('b', gives('b'))]),
    task('three', {
      run: ({ outputs, variables }) => {
        world.log.push('three')
        return TE.right({ ...outputs, captured: variables.get('captured') ?? null, round })
      }
    })
  ])
}

const first = async (fails?: string): Promise<World> => {
  const world = newWorld()
  ended(
    await newProcess(world).perform(run(program(world, 'first', fails), 'r', {})),
    fails === undefined ? 'Completed' : 'Failed'
  )
  world.log.length = 0
  return world
}

/** Resumes with options and is killed at a call; false if it completed before. */
const killedAt = async (
  world: World,
  call: number,
  when: 'before' | 'after',
  options: ResumeOptions,
  make: () => ProgramType.Program<unknown>
): Promise<boolean> => {
  const life = newLife()
  const process = newProcess(world, { around: killingAt(life, call, when) })
  const over = resume(make(), 'r', options)(process.environment)().then(() => false)
  return await patiently(process.clock, Promise.race([life.killed.then(() => true), over]))
}

const wasRewound = async (world: World): Promise<boolean> =>
  (await historyOf(newProcess(world).storage)).includes('Rewound')

describe('a forced restart', () => {
  test('a forced restart records the rewind before the first step starts, and runs everything again', async () => {
    const world = await first()
    const process = newProcess(world)
    const { checkpoint } = ended(
      await process.perform(resume(program(world, 'again'), 'r', { fromStep: 'one' })),
      'Completed'
    )
    assert.deepEqual(world.log, ['one', 'a', 'b', 'three'])
    assert.deepEqual(
      process.saves[0]?.map(({ _tag }) => _tag),
      ['Rewound', 'AttemptStarted']
    )
    assert.equal(checkpoint.generation, 1)
  })

  test.each(['before', 'after'] as const)(
    'a plain resume continues a recorded restart and uses no earlier record, whichever store call the process died %s',
    async (when) => {
      let forced = 0
      for (let call = 1; ; call++) {
        const world = await first()
        if (!(await killedAt(world, call, when, { fromStep: 'one' }, () => program(world, 'again')))) break
        const rewound = await wasRewound(world)
        if (rewound) forced += 1
        else assert.deepEqual(world.log, [], 'an effect before the rewind was durable')
        const { checkpoint } = ended(await newProcess(world).perform(resume(program(world, 'again'), 'r')), 'Completed')
        const outputs = [...checkpoint.completedSteps].map(({ output }) => JSON.stringify(output) ?? '')
        const stale = outputs.filter((output) => output.includes('first'))
        assert.equal(stale.length > 0, !rewound, `call ${call}: ${stale.join()}`)
        if (rewound) assert.ok(['one', 'a', 'b', 'three'].every((name) => world.log.includes(name)))
      }
      assert.ok(forced >= 4, `${forced} kills after the rewind`)
    }
  )

  test('fromStep at a step in the middle keeps the earlier steps and does not run them', async () => {
    const world = await first()
    const { checkpoint } = ended(
      await newProcess(world).perform(resume(program(world, 'again'), 'r', { fromStep: 'two' })),
      'Completed'
    )
    assert.deepEqual(world.log, ['a', 'b', 'three'])
    assert.deepEqual([...checkpoint.completedSteps].at(-1)?.output, {
      one: 'one first',
      two: { a: 'a again', b: 'b again' },
      captured: 'one first',
      round: 'again'
    })
  })

  test('fromStep at a step that was never reached counts the earlier steps as done, with the given outputs', async () => {
    const world = await first('one')
    const plain = ended(await newProcess(world).perform(resume(program(world, 'x', 'one'), 'r')), 'Failed')
    assert.equal(plain.stepIndex, 0)
    world.log.length = 0
    const error = refused(
      await newProcess(world).perform(resume(program(world, 'again'), 'r', { fromStep: 'three' })),
      'PlanError'
    )
    assert.deepEqual(
      error.problems.map((one) => one._tag),
      ['AssumedOutputMissing']
    )
    assert.deepEqual(world.log, [])
    const outputs = new Map([['one', 'given']])
    const { checkpoint } = ended(
      await newProcess(world).perform(resume(program(world, 'again'), 'r', { fromStep: 'three', outputs })),
      'Completed'
    )
    assert.deepEqual(world.log, ['three'])
    assert.deepEqual([...checkpoint.completedSteps].at(-1)?.output, {
      one: 'given',
      two: { a: null, b: null },
      captured: 'given',
      round: 'again'
    })
    assert.ok([...checkpoint.completedSteps].slice(0, -1).every((one) => one.assumed === true && one.attempts === 0))
  })

  test('fromStep at an unknown step is refused, and the error lists the known steps', async () => {
    const world = await first()
    const error = refused(
      await newProcess(world).perform(resume(program(world, 'x'), 'r', { fromStep: 'four' })),
      'PlanError'
    )
    assert.deepEqual(error.problems, [{ _tag: 'UnknownStep', step: 'four', available: ['one', 'two', 'three'] }])
  })
})

describe('an answer', () => {
  const paying = (world: World, fails: boolean): ProgramType.Program<unknown> =>
    Program.fromSteps('pay', [
      task('prepare', { run: () => TE.right(world.log.push('prepare')) }),
      task('pay', {
        idempotent: false,
        run: () => {
          world.log.push('pay')
          return fails ? TE.left('no answer') : TE.right('receipt')
        }
      }),
      task('thank', { run: ({ outputs }) => TE.right(`thanks for ${String(outputs['pay'])}`) })
    ])

  const doubtful = async (): Promise<World> => {
    const world = newWorld()
    ended(await newProcess(world).perform(run(paying(world, true), 'r', {})), 'Failed')
    world.log.length = 0
    return world
  }

  const answer = (one: Plan.Answer): ResumeOptions => ({ confirm: new Map([['pay', one]]) })

  test('the answer "again" runs the unit once', async () => {
    const world = await doubtful()
    ended(await newProcess(world).perform(resume(paying(world, false), 'r', answer({ _tag: 'Again' }))), 'Completed')
    assert.deepEqual(world.log, ['pay'])
    assert.ok((await historyOf(newProcess(world).storage)).includes('Confirmed'))
  })

  test('the answer "done" skips the unit, and later steps see the given output', async () => {
    const world = await doubtful()
    const { checkpoint } = ended(
      await newProcess(world).perform(
        resume(paying(world, false), 'r', answer({ _tag: 'Done', output: 'paid by hand' }))
      ),
      'Completed'
    )
    assert.deepEqual(world.log, [])
    assert.equal([...checkpoint.completedSteps].at(-1)?.output, 'thanks for paid by hand')
    assert.equal([...checkpoint.completedSteps][1]?.assumed, true)
  })

  test('a unit answered with "done" never runs, and raises its question again only after a kill before the answer is recorded', async () => {
    for (const when of ['before', 'after'] as const) {
      for (let call = 1; ; call++) {
        const world = await doubtful()
        const options = answer({ _tag: 'Done', output: 'by hand' })
        if (!(await killedAt(world, call, when, options, () => paying(world, false)))) break
        const answered = (await historyOf(newProcess(world).storage)).includes('Assumed')
        const result = await newProcess(world).perform(resume(paying(world, false), 'r'))
        if (answered) ended(result, 'Completed')
        else refused(result, 'Unconfirmed')
        assert.deepEqual(world.log, [])
      }
    }
  })

  test('a unit answered with "again" raises its question again after a kill unless it has completed, and never starts twice', async () => {
    for (const when of ['before', 'after'] as const) {
      for (let call = 1; ; call++) {
        const world = await doubtful()
        if (!(await killedAt(world, call, when, answer({ _tag: 'Again' }), () => paying(world, false)))) break
        const before = await stored(newProcess(world).storage)
        const paid = [...before.completedSteps].some(({ unit }) => unit === 'pay')
        const result = await newProcess(world).perform(resume(paying(world, false), 'r'))
        if (paid) ended(result, 'Completed')
        else refused(result, 'Unconfirmed')
        assert.ok(world.log.length <= 1)
      }
    }
  })
})
