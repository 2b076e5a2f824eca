/** Changed evidence of several units or whole waves, with restarts and answers that affect it. */
import assert from 'node:assert/strict'
import { pipe } from 'fp-ts/lib/function.js'
import * as TE from 'fp-ts/lib/TaskEither.js'
import { describe, test } from 'vitest'
import type { ResumeOptions } from '../../src/index.js'
import type * as Plan from '../../src/domain/plan/Plan.js'
import * as Program from '../../src/executor/program/Program.js'
import { resume, run } from '../../src/index.js'
import type { World } from './fixtures.js'
import { ended, newProcess, newWorld, refused, stored } from './fixtures.js'

const artifacts = (...paths: ReadonlyArray<string>) => paths.map((path) => ({ _tag: 'Artifact', path }) as const)

/** A unit that writes its name into files, records them as evidence, and fails on request. */
const writing = (world: World, name: string, paths: ReadonlyArray<string>, fails: () => boolean = () => false) => ({
  evidence: artifacts(...paths),
  run: () =>
    pipe(
      TE.fromIO<void, Error>(() => {
        world.log.push(name)
        for (const path of paths) world.tree.files.set(path, name)
      }),
      TE.chain(() => (fails() ? TE.left(new Error('no')) : TE.right(undefined)))
    )
})

type Any = Program.Program<unknown>

const started = async (world: World, program: Any, outcome: 'Completed' | 'Failed' = 'Completed'): Promise<void> => {
  ended(await newProcess(world).perform(run(program, 'r', {})), outcome)
  world.log.length = 0
}

const go = (world: World, program: Any, options: ResumeOptions = {}) =>
  newProcess(world).perform(resume(program, 'r', options))

const confirm = (answers: Readonly<Record<string, Plan.Answer['_tag']>>): ResumeOptions => ({
  confirm: new Map(Object.entries(answers).map(([unit, _tag]) => [unit, { _tag }]))
})

const asked = async (world: World, program: Any, options: ResumeOptions = {}) => {
  const { questions } = refused(await go(world, program, options), 'Unconfirmed')
  assert.deepEqual(world.log, [])
  return questions.map(({ unit, reason }) => [unit, reason._tag])
}

const nothingLeft = async (world: World, program: Any): Promise<void> => {
  world.log.length = 0
  ended(await go(world, program), 'Completed')
  assert.deepEqual(world.log, [])
}

describe('edited evidence of a wave as a whole', () => {
  const wave = (world: World, of: 'wave' | 'map'): Any => {
    const first = pipe(Program.start('p'), Program.step('first', writing(world, 'first', ['first'])))
    const group = { run: writing(world, 'build', ['bundle']).run }
    const built: Any =
      of === 'wave'
        ? pipe(first, Program.wave('build', { a: group }, { evidence: artifacts('bundle') }))
        : pipe(first, Program.map('build', { forEach: () => ['a'], evidence: artifacts('bundle') }, group))
    return pipe(built, Program.step('last', writing(world, 'last', [])))
  }
  const edited = async (of: 'wave' | 'map'): Promise<readonly [World, Any]> => {
    const world = newWorld()
    const program = wave(world, of)
    await started(world, program)
    world.tree.files.set('bundle', 'by hand')
    return [world, program]
  }

  test.each(['wave', 'map'] as const)(
    'edited evidence of a %s as a whole raises a question, and nothing runs',
    async (of) => {
      const [world, program] = await edited(of)
      assert.deepEqual(await asked(world, program), [['build', 'EvidenceChanged']])
      assert.equal(world.tree.files.get('bundle'), 'by hand')
    }
  )

  test.each([
    ['Keep', 'wave', [], 'by hand'],
    ['Keep', 'map', [], 'by hand'],
    ['Done', 'wave', ['last'], 'by hand'],
    ['Done', 'map', ['last'], 'by hand'],
    ['Again', 'wave', ['build', 'last'], 'build'],
    ['Again', 'map', ['build', 'last'], 'build']
  ] as const)(
    'the answer %s about edited evidence of a %s as a whole is obeyed, and the next resume asks nothing',
    async (answer, of, ran, content) => {
      const [world, program] = await edited(of)
      ended(await go(world, program, confirm({ build: answer })), 'Completed')
      assert.deepEqual([world.log, world.tree.files.get('bundle')], [ran, content])
      await nothingLeft(world, program)
    }
  )

  test('edited evidence of a wave as a whole is kept if the caller sets onChanged to keep', async () => {
    const [world, program] = await edited('wave')
    ended(await go(world, program, { onChanged: 'keep' }), 'Completed')
    assert.deepEqual([world.log, world.tree.files.get('bundle')], [[], 'by hand'])
    await nothingLeft(world, program)
  })

  test.each(['wave', 'map'] as const)(
    'edited evidence of a %s as a whole raises a question and can be kept even if an earlier step runs again',
    async (of) => {
      const [world, program] = await edited(of)
      world.tree.files.delete('first')
      assert.deepEqual(await asked(world, program), [['build', 'EvidenceChanged']])
      ended(await go(world, program, confirm({ build: 'Keep' })), 'Completed')
      assert.deepEqual([world.log, world.tree.files.get('bundle')], [['first', 'last'], 'by hand'])
      await nothingLeft(world, program)
    }
  )

  test('restarting a wave overwrites its edited evidence without a question', async () => {
    const [world, program] = await edited('wave')
    ended(await go(world, program, { restartWave: 'build' }), 'Completed')
    assert.deepEqual([world.log, world.tree.files.get('bundle')], [['build', 'last'], 'build'])
  })
})

describe('a restarted wave', () => {
  const signed = (world: World): Any =>
    pipe(
      Program.start('p'),
      Program.wave('make', { a: writing(world, 'a', ['v']), b: writing(world, 'b', []) }, { concurrency: 1 }),
      Program.step('sign', writing(world, 'sign', ['v']))
    )

  test('restarting a wave raises a question about each group whose evidence was edited, even if a later step keeps that evidence', async () => {
    const world = newWorld()
    const program = signed(world)
    await started(world, program)
    world.tree.files.set('v', 'by hand')
    const restart = { restartWave: 'make' }
    assert.deepEqual(await asked(world, program, restart), [['sign', 'EvidenceChanged']])
    const kept = { ...restart, ...confirm({ sign: 'Keep' }) }
    assert.deepEqual(await asked(world, program, kept), [['make/a', 'EvidenceChanged']])
    ended(
      await go(world, program, {
        ...restart,
        ...confirm({ sign: 'Keep', 'make/a': 'Keep' })
      }),
      'Completed'
    )
    assert.deepEqual([world.log, world.tree.files.get('v')], [['b'], 'by hand'])
    await nothingLeft(world, program)
  })

  test('restarting a wave raises a question about an earlier step whose evidence was edited', async () => {
    const world = newWorld()
    const program = pipe(
      Program.start('p'),
      Program.step('prep', writing(world, 'prep', ['p', 'q'])),
      Program.wave('make', { a: writing(world, 'a', ['q']) })
    )
    await started(world, program)
    world.tree.files.delete('p')
    world.tree.files.set('q', 'by hand')
    assert.deepEqual(await asked(world, program, { restartWave: 'make' }), [['prep', 'EvidenceChanged']])
    ended(
      await go(world, program, {
        restartWave: 'make',
        ...confirm({ prep: 'Again' })
      }),
      'Completed'
    )
    assert.deepEqual(world.log, ['prep', 'a'])
  })
})

describe('declaring a unit done', () => {
  test('a group with edited evidence that is declared done raises no later question about the evidence of its sibling', async () => {
    const world = newWorld()
    const program = pipe(
      Program.start('p'),
      Program.wave(
        'gen',
        {
          code: writing(world, 'code', ['q', 'index']),
          docs: writing(world, 'docs', ['index'])
        },
        { concurrency: 1 }
      ),
      Program.step('last', writing(world, 'last', []))
    )
    await started(world, program)
    const before = [...(await stored(newProcess(world).storage)).completedSteps].map(({ unit }) => unit)
    world.tree.files.set('q', 'by hand')
    ended(await go(world, program, confirm({ 'gen/code': 'Done' })), 'Completed')
    assert.deepEqual(world.log, ['last'])
    const { completedSteps } = await stored(newProcess(world).storage)
    assert.deepEqual(
      [...completedSteps].map(({ unit }) => unit),
      before
    )
    await nothingLeft(world, program)
    world.tree.files.delete('index')
    ended(await go(world, program), 'Completed')
    assert.equal(world.tree.files.get('index'), 'docs')
  })

  test('declaring a unit done runs all later steps again, including one that failed', async () => {
    const world = newWorld()
    let fails = true
    const program = pipe(
      Program.start('p'),
      Program.step('make', writing(world, 'make', ['v'])),
      Program.step(
        'check',
        writing(world, 'check', [], () => fails)
      )
    )
    await started(world, program, 'Failed')
    const { generation } = await stored(newProcess(world).storage)
    world.tree.files.set('v', 'by hand')
    fails = false
    ended(await go(world, program, confirm({ make: 'Done' })), 'Completed')
    assert.deepEqual(world.log, ['check'])
    assert.ok((await stored(newProcess(world).storage)).generation > generation)
    await nothingLeft(world, program)
  })

  test('declaring a unit done keeps on record the evidence that still exists', async () => {
    const world = newWorld()
    const program = pipe(
      Program.start('p'),
      Program.step('make', writing(world, 'make', ['q'])),
      Program.step('sign', {
        ...writing(world, 'sign', ['q', 'r']),
        idempotent: false
      })
    )
    await started(world, program)
    world.tree.files.delete('r')
    assert.deepEqual(await asked(world, program), [['sign', 'EvidenceMissing']])
    ended(await go(world, program, confirm({ sign: 'Done' })), 'Completed')
    await nothingLeft(world, program)
  })

  test('declaring a failed unit done records the artifact of an earlier step as the unit left it', async () => {
    const world = newWorld()
    const program = pipe(
      Program.start('p'),
      Program.step('make', writing(world, 'make', ['v'])),
      Program.step('sign', {
        ...writing(world, 'sign', ['v'], () => true),
        idempotent: false
      })
    )
    await started(world, program, 'Failed')
    ended(await go(world, program, confirm({ sign: 'Done' })), 'Completed')
    assert.deepEqual(world.log, [])
    await nothingLeft(world, program)
  })

  test('declaring two steps done keeps on record the evidence of the second one', async () => {
    const world = newWorld()
    const program = pipe(
      Program.start('p'),
      Program.step('make', writing(world, 'make', ['v', 'w'])),
      Program.step('sign', {
        ...writing(world, 'sign', ['v']),
        idempotent: false
      })
    )
    await started(world, program)
    world.tree.files.set('w', 'by hand')
    ended(await go(world, program, confirm({ make: 'Done', sign: 'Done' })), 'Completed')
    assert.deepEqual(world.log, [])
    await nothingLeft(world, program)
  })

  test.each(['Again', 'Keep', 'Done'] as const)(
    'if an artifact of two steps was edited, the answers Done about the first and %s about the second are both obeyed',
    async (answer) => {
      const world = newWorld()
      const program = pipe(
        Program.start('p'),
        Program.step('make', writing(world, 'make', ['p', 'r'])),
        Program.wave('wave', { sign: writing(world, 'sign', ['p']) })
      )
      await started(world, program)
      world.tree.files.delete('r')
      world.tree.files.set('p', 'by hand')
      assert.deepEqual(await asked(world, program), [
        ['make', 'EvidenceChanged'],
        ['wave/sign', 'EvidenceChanged']
      ])
      ended(await go(world, program, confirm({ make: 'Done', 'wave/sign': answer })), 'Completed')
      assert.deepEqual(world.log, answer === 'Again' ? ['sign'] : [])
      await nothingLeft(world, program)
    }
  )
})

test('after the answer "done" about a group, later waves start even if evidence of its wave is missing', async () => {
  const world = newWorld()
  const group = { ...writing(world, 'build', ['bundle', 'own']), evidence: artifacts('own'), idempotent: false }
  const program: Any = pipe(
    Program.start('p'),
    Program.wave('build', { a: group }, { evidence: artifacts('bundle') }),
    Program.wave('checks', { unit: writing(world, 'unit', []) })
  )
  await started(world, program)
  world.tree.files.delete('bundle')
  assert.deepEqual(await asked(world, program), [['build/a', 'EvidenceMissing']])
  ended(await go(world, program, confirm({ 'build/a': 'Done' })), 'Completed')
  assert.deepEqual(world.log, ['unit'])
  await nothingLeft(world, program)
})

test('a changed commit that two groups recorded raises one question, whatever the answer', async () => {
  for (const answer of ['Keep', 'Done'] as const) {
    const world = newWorld()
    const committing = { evidence: [{ _tag: 'Commit', hash: 'c0ffee' }], run: () => TE.right(undefined) } as const
    const program = pipe(Program.start('p'), Program.wave('wave', { a: committing, b: committing }))
    world.tree.commits = ['c0ffee']
    await started(world, program)
    world.tree.commits = ['amended']
    world.tree.otherCommits = ['c0ffee']
    assert.deepEqual(await asked(world, program), [['wave/b', 'EvidenceChanged']])
    ended(await go(world, program, confirm({ 'wave/b': answer })), 'Completed')
    await nothingLeft(world, program)
  }
})

test('fromStep at a step after a failed one keeps an artifact that the failed step overwrote, without a question', async () => {
  const world = newWorld()
  const program = pipe(
    Program.start('p'),
    Program.step('a', writing(world, 'a', ['v'])),
    Program.step(
      'b',
      writing(world, 'b', ['v'], () => true)
    ),
    Program.step('c', writing(world, 'c', []))
  )
  await started(world, program, 'Failed')
  ended(await go(world, program, { fromStep: 'c' }), 'Completed')
  assert.deepEqual(world.log, ['c'])
  await nothingLeft(world, program)
})
