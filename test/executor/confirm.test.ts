/** Questions of a resume that are answered beforehand, without the program. */
import assert from 'node:assert/strict'
import { pipe } from 'fp-ts/lib/function.js'
import * as TE from 'fp-ts/lib/TaskEither.js'
import { describe, test } from 'vitest'
import type { Checkpoint } from '../../src/domain/checkpoint/Checkpoint.js'
import { get } from '../../src/domain/checkpoint/Units.js'
import type { Answer } from '../../src/domain/plan/Plan.js'
import * as Program from '../../src/executor/program/Program.js'
import { describe as describeError } from '../../src/executor/RunError.js'
import { confirm, resume, run } from '../../src/index.js'
import type { World } from './fixtures.js'
import { ended, newProcess, newWorld, refused, right, stored } from './fixtures.js'

const AGAIN: Answer = { _tag: 'Again' }
const KEEP: Answer = { _tag: 'Keep' }
const DONE: Answer = { _tag: 'Done' }

const logging = (world: World, name: string, fails: () => boolean = () => false) => ({
  run: () =>
    pipe(
      TE.fromIO<string, Error>(() => {
        world.log.push(name)
        return name
      }),
      TE.chain((output) => (fails() ? TE.left(new Error('no reply')) : TE.right(output)))
    )
})

const answering = (world: World, unit: string, answer: Answer) =>
  confirm('r', unit, answer)(newProcess(world).environment)()

const storedIn = (world: World) => stored(newProcess(world).storage)

const outputOf = ({ completedSteps }: Checkpoint, unit: string) => get(completedSteps, unit)?.output

/** Runs again, and returns what ran. */
const rest = async (world: World, program: Program.Program<unknown>): Promise<ReadonlyArray<string>> => {
  world.log.length = 0
  ended(await newProcess(world).perform(resume(program, 'r')), 'Completed')
  return world.log
}

describe('a step that is not idempotent and may have taken effect', () => {
  const failed = async (names: ReadonlyArray<string> = ['charge']) => {
    const world = newWorld()
    let isDown = true
    const unreliable = (name: string) => ({ ...logging(world, name, () => isDown), idempotent: false, capture: name })
    const program = pipe(
      Program.start('order'),
      Program.wave('pay', Object.fromEntries(names.map((name) => [name, unreliable(name)]))),
      Program.step('ship', { run: ({ variables }) => TE.right(variables.get('charge') ?? 'nothing') })
    )
    ended(await newProcess(world).perform(run(program, 'r', {})), 'Failed')
    isDown = false
    return { world, program }
  }

  test('the answer "again" lets the next resume run it again', async () => {
    const { world, program } = await failed()
    right(await answering(world, 'pay/charge', AGAIN))
    assert.deepEqual(await rest(world, program), ['charge'])
  })

  test('the answer "done" is its output and its variable in the next resume', async () => {
    const { world, program } = await failed()
    right(await answering(world, 'pay/charge', { _tag: 'Done', output: 'paid' }))
    assert.deepEqual(await rest(world, program), [])
    assert.equal(outputOf(await storedIn(world), 'pay/charge'), 'paid')
    assert.equal(outputOf(await storedIn(world), 'ship'), 'paid')
  })

  test('a wrong output can be replaced by another answer', async () => {
    const { world, program } = await failed()
    right(await answering(world, 'pay/charge', { _tag: 'Done', output: 'typo' }))
    right(await answering(world, 'pay/charge', { _tag: 'Done', output: 'paid' }))
    assert.deepEqual(await rest(world, program), [])
    assert.equal(outputOf(await storedIn(world), 'pay/charge'), 'paid')
  })

  test('each of several is answered by itself, and the resume asks about the others', async () => {
    const { world, program } = await failed(['charge', 'invoice'])
    right(await answering(world, 'pay/charge', { _tag: 'Done', output: 1 }))
    const { questions } = refused(await newProcess(world).perform(resume(program, 'r')), 'Unconfirmed')
    assert.deepEqual(
      questions.map(({ unit }) => unit),
      ['pay/invoice']
    )
    right(await answering(world, 'pay/invoice', AGAIN))
    assert.deepEqual(await rest(world, program), ['invoice'])
  })

  test('an answer about a unit without a question is refused, names those with one, and writes nothing', async () => {
    const { world } = await failed()
    const before = (await storedIn(world)).revision
    const error = refused(await answering(world, 'ship', DONE), 'AnswerRefused')
    assert.equal(
      describeError(error),
      'Cannot answer ship of run r: a resume asks no question about it; these units wait for one: pay/charge'
    )
    refused(await answering(world, 'pay/charge', KEEP), 'PlanError')
    assert.equal((await storedIn(world)).revision, before)
  })

  test.each([['again'], [undefined], [{ _tag: 'Yes' }]])('%j is no answer, and nothing is recorded', async (answer) => {
    const { world } = await failed()
    const error = refused(await answering(world, 'pay/charge', answer as never), 'AnswerRefused')
    assert.equal(
      describeError(error),
      "Cannot answer pay/charge of run r: the answer must be { _tag: 'Again' }, { _tag: 'Keep' } or { _tag: 'Done' }"
    )
  })

  test('an answer is refused while a process owns the run', async () => {
    const { world } = await failed()
    const { storage, environment } = newProcess(world)
    right(await storage.claim('r', { host: 'other', pid: 7 })())
    refused(await confirm('r', 'pay/charge', AGAIN)(environment)(), 'HeldBy')
  })
})

describe('evidence that was edited', () => {
  const writing = (world: World, name: string) => ({
    evidence: [{ _tag: 'Artifact', path: name }] as const,
    run: () =>
      TE.fromIO<undefined, Error>(() => {
        world.log.push(name)
        world.tree.files.set(name, name)
        return undefined
      })
  })

  const edited = async () => {
    const world = newWorld()
    const program = pipe(
      Program.start('docs'),
      Program.step('draft', writing(world, 'draft')),
      Program.step('layout', writing(world, 'layout')),
      Program.step('print', writing(world, 'print'))
    )
    ended(await newProcess(world).perform(run(program, 'r', {})), 'Completed')
    world.tree.files.set('layout', 'edited by hand')
    return { world, program }
  }

  test('the answer "keep" records the edited content, and the next resume asks nothing', async () => {
    const { world, program } = await edited()
    right(await answering(world, 'layout', KEEP))
    assert.deepEqual(await rest(world, program), [])
    assert.equal(world.tree.files.get('layout'), 'edited by hand')
  })

  test('the answer "again" lets the next resume run the unit and what follows it again', async () => {
    const { world, program } = await edited()
    right(await answering(world, 'layout', AGAIN))
    assert.deepEqual(await rest(world, program), ['layout', 'print'])
  })

  test('an answer that runs another edited unit again is refused until that one is answered', async () => {
    const { world, program } = await edited()
    world.tree.files.set('print', 'edited, too')
    const error = refused(await answering(world, 'layout', AGAIN), 'AnswerRefused')
    assert.deepEqual([error.why, error.waiting], ['OthersFirst', ['print']])
    right(await answering(world, 'print', AGAIN))
    right(await answering(world, 'layout', AGAIN))
    assert.deepEqual(await rest(world, program), ['layout', 'print'])
  })

  test('an answer leaves the question about other evidence, and records of missing evidence, as they are', async () => {
    const { world, program } = await edited()
    world.tree.files.set('print', 'edited, too')
    world.tree.files.delete('draft')
    right(await answering(world, 'print', KEEP))
    world.tree.files.set('draft', 'draft')
    const { questions } = refused(await newProcess(world).perform(resume(program, 'r')), 'Unconfirmed')
    assert.deepEqual(
      questions.map(({ unit }) => unit),
      ['layout']
    )
  })

  test('the answer "again" about a group runs the groups that need it again, and no other', async () => {
    const world = newWorld()
    const program = pipe(
      Program.start('docs'),
      Program.wave('all', {
        layout: writing(world, 'layout'),
        print: { ...logging(world, 'print'), needs: ['layout'] },
        other: logging(world, 'other')
      })
    )
    ended(await newProcess(world).perform(run(program, 'r', {})), 'Completed')
    world.tree.files.set('layout', 'edited by hand')
    right(await answering(world, 'all/layout', AGAIN))
    assert.deepEqual(await rest(world, program), ['layout', 'print'])
  })
})

describe('a sub-step that is not idempotent and may have taken effect', () => {
  test.each([
    ['again', AGAIN, ['agent', 'pay']],
    ['done', { _tag: 'Done', output: 'receipt' } as const, ['agent']]
  ])('the answer "%s" is obeyed by the next resume', async (_, answer, ran) => {
    const world = newWorld()
    let isDown = true
    const program = pipe(
      Program.start('shop'),
      Program.step('agent', {
        run: async ({ step }) => {
          world.log.push('agent')
          return await step('pay', { idempotent: false }, () => {
            world.log.push('pay')
            return isDown ? Promise.reject(new Error('no reply')) : Promise.resolve('second')
          })
        }
      })
    )
    ended(await newProcess(world).perform(run(program, 'r', {})), 'Failed')
    isDown = false
    right(await answering(world, 'agent/pay', answer))
    assert.deepEqual(await rest(world, program), ran)
  })
})
