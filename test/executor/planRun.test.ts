import assert from 'node:assert/strict'
import { pipe } from 'fp-ts/lib/function.js'
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import * as TE from 'fp-ts/lib/TaskEither.js'
import * as t from 'io-ts'
import { test } from 'vitest'
import type { CheckpointStorage, Stored } from '../../src/index.js'
import {
  answer,
  fork,
  listRuns,
  pause,
  planRun,
  Program,
  resume,
  resumeAll,
  run,
  runOrResume
} from '../../src/index.js'
import { ended, newProcess, newWorld, refused, right } from './fixtures.js'

const found = { _tag: 'Recovered', from: 'revision 3', lost: 'revision 4' } as const

const recovered = O.map((stored: Stored) => ({ ...stored, found }))

/** A store that lost the newest revision of each run. */
const losing = (storage: CheckpointStorage): CheckpointStorage => ({
  ...storage,
  load: (runId) => TE.map(recovered)(storage.load(runId)),
  claim: (...call) =>
    pipe(
      storage.claim(...call),
      TE.map((claimed) => ({ ...claimed, stored: recovered(claimed.stored) }))
    )
})

test('planRun reports missing evidence and a recovered state, and a resume with another plan hash is refused', async () => {
  const world = newWorld()
  const { files } = world.tree
  const program = pipe(
    Program.start('w'),
    Program.step('make', { evidence: [{ _tag: 'Artifact', path: 'made' }], run: () => void files.set('made', '1') }),
    Program.step('check', { run: () => (files.has('ok') ? TE.right(1) : TE.left(new Error('no'))) })
  )
  ended(await newProcess(world).perform(run(program, 'r', {})), 'Failed')
  files.delete('made')
  files.set('ok', '1')
  const { environment } = newProcess(world, { around: losing })
  const planned = right(await planRun(program, 'r', {})(environment)())
  assert.deepEqual(planned.found, found)
  assert.deepEqual(
    planned.plan.decisions.map(({ unit, _tag, reason }) => [unit, _tag, reason._tag]),
    [
      ['make', 'Run', 'EvidenceMissing'],
      ['check', 'Run', 'EarlierStepRunsAgain']
    ]
  )
  const onRecovered = () => Promise.resolve(O.some('ada'))
  const resumed = (planHash: string) =>
    newProcess(world, { around: losing }).perform(resume(program, 'r', { onRecovered, planHash }))
  refused(await resumed('0'.repeat(planned.hash.length)), 'PlanChanged')
  ended(await resumed(planned.hash), 'Completed')
})

test('planRun, resume and runOrResume refuse an invalid answer in `confirm` before they read the run', async () => {
  const { environment } = newProcess(newWorld(), { around: () => ({}) as CheckpointStorage })
  const program = pipe(
    Program.start('w'),
    Program.step('pay', () => 1)
  )
  const options = { confirm: new Map([['pay', { _tag: 'again' }]]) as never }
  const expected =
    "a Map of answers by unit; the answer to \"pay\" must be { _tag: 'Again' }, { _tag: 'Keep' } or { _tag: 'Done' }, not { _tag: 'again' }"
  for (const ended of [
    await planRun(program, 'r', options)(environment)(),
    await resume(program, 'r', options)(environment)(),
    await runOrResume(program, 'r', {}, options)(environment)()
  ])
    assert.deepEqual(ended, {
      _tag: 'Left',
      left: { _tag: 'InvalidOptions', problems: [{ option: 'confirm', expected }] }
    })
})

test('planRun, resume and runOrResume refuse an invalid option of a plan before they read the run', async () => {
  const { environment } = newProcess(newWorld(), { around: () => ({}) as CheckpointStorage })
  const program = pipe(
    Program.start('w'),
    Program.step('pay', () => 1)
  )
  for (const [option, value, expected] of [
    ['confirm', {}, 'a Map of answers by unit, such as new Map([["build", { _tag: "Again" }]]), not an object'],
    ['outputs', {}, 'a Map of outputs by unit, such as new Map([["build", "1.2.3"]]), not an object'],
    ['fromStep', 5, 'a string, not the number 5'],
    ['changes', 'all', `'strict', 'completed' or 'ignore', not the string "all"`]
  ] as const) {
    const options = { [option]: value }
    for (const ended of [
      await planRun(program, 'r', options)(environment)(),
      await resume(program, 'r', options)(environment)(),
      await runOrResume(program, 'r', {}, options)(environment)()
    ])
      assert.deepEqual(ended, {
        _tag: 'Left',
        left: { _tag: 'InvalidOptions', problems: [{ option, expected }] }
      })
  }
})

test('an option that a call does not have is refused, and nothing is read', async () => {
  const { environment } = newProcess(newWorld(), { around: () => ({}) as CheckpointStorage })
  const program = pipe(
    Program.start('release'),
    Program.step('pay', () => 1)
  )
  const options = { fromstep: 'pay' } as never
  for (const ended of [
    await planRun(program, 'r', options)(environment)(),
    await resume(program, 'r', options)(environment)(),
    await runOrResume(program, 'r', {}, options)(environment)(),
    await resumeAll([program], options)(environment)(),
    await run(program, 'r', {}, options)(environment)(),
    await fork('r', 's', { fromStep: 'pay', fromstep: 'pay' } as never)(environment)(),
    await pause('r', options)(environment)(),
    await listRuns(options)(environment)(),
    await answer('r', 'pay', 1, options)(environment)()
  ]) {
    assert.ok(E.isLeft(ended) && ended.left._tag === 'InvalidOptions')
    assert.deepEqual(
      ended.left.problems.map((problem) => problem.option),
      ['fromstep']
    )
  }
})

test('the options of a plan can be passed to the resume that executes it', async () => {
  const world = newWorld()
  const program = pipe(
    Program.start('w'),
    Program.step('check', () => (world.tree.files.has('ok') ? 1 : Promise.reject(new Error('no'))))
  )
  ended(await newProcess(world).perform(run(program, 'r', {})), 'Failed')
  world.tree.files.set('ok', '1')
  const { options, hash } = right(await planRun(program, 'r')(newProcess(world).environment)())
  ended(await newProcess(world).perform(resume(program, 'r', { ...options, planHash: hash })), 'Completed')
})

test('a codec in place of the options of a program is refused', async () => {
  const { environment } = newProcess(newWorld())
  const codec = t.type({ n: t.number })
  const program = pipe(
    Program.start('release', codec as never),
    Program.step('pay', () => 1)
  )
  const ended = await run(program, 'r', { n: 'x' })(environment)()
  assert.ok(E.isLeft(ended))
  assert.match(JSON.stringify(ended.left), /an object such as \{ input: codec \}, not the codec itself/)
})
