/** Resuming a run whose owner may be dead: which owners may be superseded, and which units are in doubt then. */
import assert from 'node:assert/strict'
import { pipe } from 'fp-ts/lib/function.js'
import * as E from 'fp-ts/lib/Either.js'
import * as TE from 'fp-ts/lib/TaskEither.js'
import { describe, test } from 'vitest'
import { Program, resume, run, RunError } from '../../src/index.js'
import type { MemoryData } from '../../src/adapters/memory.js'
import { memoryData, memoryStorage } from '../../src/adapters/memory.js'
import { nodeEnvironment } from '../../src/adapters/node/index.js'
import * as P from '../../src/promise/index.js'
import type { CheckpointStorage } from '../../src/ports/CheckpointStorage.js'

/** A workflow of one step that runs until released, and a second one. */
const program = (idempotent: boolean, deploy: () => Promise<string>) =>
  pipe(
    Program.start('release'),
    Program.step('deploy', { idempotent, run: () => TE.fromTask(deploy) }),
    Program.step('announce', { run: () => TE.right('announced') })
  )

/** A process in its first step, whose liveness others cannot decide. */
const inStep = async (idempotent: boolean) => {
  const data = memoryData()
  let end: () => void = () => undefined
  let begun: () => void = () => undefined
  const begins = new Promise<void>((resolve) => (begun = resolve))
  const ends = new Promise<void>((resolve) => (end = resolve))
  const owner = memoryStorage(data)
  const work = async (): Promise<string> => {
    begun()
    await ends
    return 'by the former owner'
  }
  const outcome = run(program(idempotent, work), 'r', {})(nodeEnvironment(owner))()
  await begins
  return { data, owner, outcome, end }
}

const later = (data: MemoryData): CheckpointStorage => memoryStorage(data, { formerOwners: 'undecided' })

const again = () => Promise.resolve('by the new owner')

describe('a resume', () => {
  test('a resume of a run with an undecided owner is refused, and the error offers takeOver', async () => {
    const { data, outcome, end } = await inStep(true)
    const refused = await resume(program(true, again), 'r')(nodeEnvironment(later(data)))()
    assert.ok(E.isLeft(refused) && refused.left._tag === 'HeldBy')
    assert.equal(refused.left.holder.liveness, 'undecided')
    assert.match(RunError.describe(refused.left), /undecided; retry .* or resume with takeOver/)
    end()
    assert.equal(pipe(await outcome, E.toUnion)._tag, 'Completed')
  })

  test('a resume with takeOver supersedes an undecided owner, which is fenced, and runs the idempotent unit in flight again', async () => {
    const { data, outcome, end } = await inStep(true)
    const done = await resume(program(true, again), 'r', { takeOver: true })(nodeEnvironment(later(data)))()
    assert.ok(E.isRight(done) && done.right._tag === 'Completed', JSON.stringify(done))
    assert.deepEqual(
      [...done.right.checkpoint.completedSteps].map(({ unit, output }) => [unit, output]),
      [
        ['deploy', 'by the new owner'],
        ['announce', 'announced']
      ]
    )
    end()
    assert.equal(pipe(await outcome, E.toUnion)._tag, 'Fenced')
  })

  test('a resume with takeOver raises a question about a unit in flight that is not idempotent, and releases the run', async () => {
    const { data, outcome, end } = await inStep(false)
    const storage = later(data)
    const environment = nodeEnvironment(storage)
    const asked = await resume(program(false, again), 'r', { takeOver: true })(environment)()
    assert.ok(E.isLeft(asked) && asked.left._tag === 'Unconfirmed', JSON.stringify(asked))
    assert.deepEqual(
      asked.left.questions.map(({ unit }) => unit),
      ['deploy']
    )
    end()
    assert.equal(pipe(await outcome, E.toUnion)._tag, 'Fenced')
    const confirm = new Map([['deploy', { _tag: 'Done' as const, output: 'as somebody saw' }]])
    const done = await resume(program(false, again), 'r', { confirm })(environment)()
    assert.ok(E.isRight(done) && done.right._tag === 'Completed', JSON.stringify(done))
    assert.equal([...done.right.checkpoint.completedSteps][0]?.output, 'as somebody saw')
  })

  test('a resume with takeOver is refused while the owner is proven alive', async () => {
    const { owner, outcome, end } = await inStep(true)
    const refused = await resume(program(true, again), 'r', { takeOver: true })(nodeEnvironment(owner))()
    assert.ok(E.isLeft(refused) && refused.left._tag === 'HeldBy')
    assert.match(RunError.describe(refused.left), /^Run r is already in progress: held by process \d+ on /)
    end()
    assert.equal(pipe(await outcome, E.toUnion)._tag, 'Completed')
  })
})

describe('takeOver with promises', () => {
  const promised = P.workflow('promised').step('deploy', () => 'deployed')

  test('resume and runOrResume with promises supersede an undecided owner with takeOver, and are refused without it', async () => {
    for (const act of [P.resume, P.runOrResume]) {
      const data = memoryData()
      const owner = memoryStorage(data)
      assert.ok(E.isRight(await run(promised, 'r', {})(nodeEnvironment(owner))()))
      assert.ok(E.isRight(await owner.claim('r', { host: 'elsewhere', pid: 7 })()))
      const options = { id: 'r', storage: later(data), input: {} }
      await assert.rejects(
        act(promised, options),
        (error) =>
          error instanceof P.RunFailure && error.outcome._tag === 'Refused' && error.outcome.error._tag === 'HeldBy'
      )
      assert.equal((await act(promised, { ...options, takeOver: true })).deploy, 'deployed')
    }
  })
})
