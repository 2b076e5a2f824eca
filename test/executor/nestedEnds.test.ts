/** Jobs, requests, stops, evidence, checks and doubt of nested units. */
import assert from 'node:assert/strict'
import * as E from 'fp-ts/lib/Either.js'
import * as TE from 'fp-ts/lib/TaskEither.js'
import { describe, test } from 'vitest'
import { memoryRequests } from '../../src/adapters/memory.js'
import { pause } from '../../src/executor/requests/pause.js'
import type * as ProgramType from '../../src/executor/program/Program.js'
import { planResume, poll, Program, resume, run } from '../../src/index.js'
import type { World } from './fixtures.js'
import { ended, group, newProcess, newWorld, patiently, refused, right, stored, task } from './fixtures.js'

const needing = (step: ProgramType.ProgramStep, ...needs: ReadonlyArray<string>): ProgramType.ProgramGroup => ({
  ...step,
  needs
})

const does = (world: World, name: string, more: object = {}): ProgramType.ProgramTask =>
  task(name, { run: ({ unit }) => TE.fromIO(() => world.log.push(unit)), ...more })

/** One step, a wave of a sequence of two steps and of a task, and a last step. */
const release = (
  world: World,
  second: ProgramType.ProgramTask,
  options: { readonly sequence?: object; readonly wave?: object } = {}
): ProgramType.Program<Readonly<Record<string, unknown>>> =>
  Program.fromSteps('release', [
    does(world, 'build'),
    Program.waveOf(
      'deploy',
      [
        needing(Program.sequenceOf('asia', [does(world, 'push'), second, does(world, 'warm')], options.sequence)),
        group('notes', { run: ({ unit }) => TE.fromIO(() => world.log.push(unit)) })
      ],
      options.wave
    ),
    does(world, 'announce')
  ])

const AFTER = ['deploy/asia/warm', 'announce']

const restarted = async (
  world: World,
  program: ProgramType.Program<Readonly<Record<string, unknown>>>,
  options: object = {}
): Promise<ReadonlyArray<string>> => {
  world.log.length = 0
  ended(await newProcess(world).perform(resume(program, 'r', options)), 'Completed')
  return world.log
}

describe('a step of a group', () => {
  test('while a step of a group waits for its job the other groups run, and its sequence continues after the job', async () => {
    const world = newWorld()
    let isReady = false
    const job = Program.task('ship', {
      job: {
        submit: () => TE.fromIO(() => ({ id: world.log.push('submitted') })),
        poll: () => TE.right(isReady ? { _tag: 'Finished' } : { _tag: 'Unfinished' }),
        collect: () => TE.right('shipped')
      }
    } as never)
    const process = newProcess(world)
    const waits = ended(await process.perform(run(release(world, job), 'r', {})), 'Pending')
    assert.deepEqual(
      waits.units.map(({ unit }) => unit),
      ['deploy/asia/ship']
    )
    assert.deepEqual([...world.log].sort(), ['build', 'deploy/asia/push', 'deploy/notes', 'submitted'])
    world.log.length = 0
    ended(await newProcess(world).perform(resume(release(world, job), 'r')), 'Pending')
    assert.deepEqual(world.log, [])
    isReady = true
    const later = newProcess(world)
    right(await patiently(later.clock, poll(release(world, job), 'r')(later.environment)()))
    assert.deepEqual(await restarted(world, release(world, job)), AFTER)
  })

  test('a step that is running when a pause is requested ends, and nothing starts after it', async () => {
    const world = newWorld()
    const requests = memoryRequests()
    const process = newProcess(world, { requests })
    const asks = task('ask', {
      run: () => TE.fromTask(async () => void right(await pause('r', {})(process.environment)()))
    })
    const outcome = ended(await process.perform(run(release(world, asks), 'r', {})), 'Interrupted')
    assert.deepEqual([outcome.reason, outcome.step], ['paused', 'deploy'])
    assert.equal(right(await requests.pointer())._tag, 'Some')
    assert.ok(!world.log.includes('deploy/asia/warm'))
    assert.deepEqual(await restarted(world, release(world, asks)), AFTER)
  })

  test('a stopped step stays in flight, and a resume runs the step again', async () => {
    const world = newWorld()
    const process = newProcess(world)
    let isFirst = true
    const slow = task('slow', {
      run: ({ signal, unit }) => {
        world.log.push(unit)
        if (!isFirst) return TE.right(null)
        isFirst = false
        process.stop()
        return TE.tryCatch(
          async () => {
            await new Promise((resolve) => (signal.aborted ? resolve(0) : signal.addEventListener('abort', resolve)))
            throw new Error('stopped')
          },
          (error) => error
        )
      }
    })
    const { checkpoint } = ended(await process.perform(run(release(world, slow), 'r', {})), 'Interrupted')
    assert.ok(checkpoint.state._tag === 'Interrupted')
    assert.deepEqual(checkpoint.state.inFlight.records, [{ unit: 'deploy/asia/slow', attempt: 1 }])
    const ran = await restarted(world, release(world, slow))
    assert.deepEqual(
      ran.filter((unit) => unit !== 'deploy/notes'),
      ['deploy/asia/slow', ...AFTER]
    )
  })

  test('a step whose evidence is missing runs again with the later steps of its group, and no other group does', async () => {
    const world = newWorld()
    const makes = task('make', {
      evidence: [{ _tag: 'Artifact', path: 'made.txt' }],
      run: ({ unit }) =>
        TE.fromIO(() => {
          world.log.push(unit)
          world.tree.files.set('made.txt', 'x')
        })
    })
    ended(await newProcess(world).perform(run(release(world, makes), 'r', {})), 'Completed')
    world.tree.files.delete('made.txt')
    assert.deepEqual(await restarted(world, release(world, makes)), ['deploy/asia/make', ...AFTER])
  })

  test('a step whose evidence was edited raises a question that names its path', async () => {
    const world = newWorld()
    const makes = task('make', {
      evidence: [{ _tag: 'Artifact', path: 'made.txt' }],
      run: ({ unit }) =>
        TE.fromIO(() => {
          world.log.push(unit)
          world.tree.files.set('made.txt', 'x')
        })
    })
    ended(await newProcess(world).perform(run(release(world, makes), 'r', {})), 'Completed')
    world.tree.files.set('made.txt', 'edited')
    const { questions } = refused(await newProcess(world).perform(resume(release(world, makes), 'r')), 'Unconfirmed')
    assert.deepEqual(
      questions.map(({ unit }) => unit),
      ['deploy/asia/make']
    )
    const keep = { confirm: new Map([['deploy/asia/make', { _tag: 'Keep' }]]) }
    assert.deepEqual(await restarted(world, release(world, makes), keep), [])
    assert.deepEqual(await restarted(world, release(world, makes)), [])
  })

  test('a step that may have taken effect and is not idempotent needs confirmation by its path', async () => {
    const world = newWorld()
    const pays = task('pay', { idempotent: false, run: () => TE.left(new Error('no answer')) })
    ended(await newProcess(world).perform(run(release(world, pays), 'r', {})), 'Failed')
    const { questions } = refused(await newProcess(world).perform(resume(release(world, pays), 'r')), 'Unconfirmed')
    assert.deepEqual(
      questions.map(({ unit }) => unit),
      ['deploy/asia/pay']
    )
    const done = { confirm: new Map([['deploy/asia/pay', { _tag: 'Done' }]]) }
    assert.deepEqual(await restarted(world, release(world, pays), done), AFTER)
  })

  test('fromStep at a step of a sequence raises no question about an earlier step that is not idempotent', async () => {
    const world = newWorld()
    const program = release(world, does(world, 'pay', { idempotent: false }))
    const from = { fromStep: 'deploy/asia/warm' }
    ended(await newProcess(world).perform(run(program, 'r', {})), 'Completed')
    assert.deepEqual(await restarted(world, program, from), AFTER)
  })
})

describe('the checks of a composite inside another', () => {
  const failingOnce = (): (() => TE.TaskEither<unknown, unknown>) => {
    let times = 0
    return () => ((times += 1) === 1 ? TE.left(new Error('not yet')) : TE.right(null))
  }

  test('failed checks after a sequence fail the sequence; a resume repeats the checks and runs no step', async () => {
    const world = newWorld()
    const check = { after: failingOnce(), onCheckFailure: 'abort' }
    const program = release(world, does(world, 'smoke'), { sequence: check })
    const { failures } = ended(await newProcess(world).perform(run(program, 'r', {})), 'Failed')
    assert.deepEqual(
      failures.map(({ unit }) => unit),
      ['deploy/asia']
    )
    assert.deepEqual(await restarted(world, program), ['announce'])
  })

  test('a failed check before a sequence starts no step of it', async () => {
    const world = newWorld()
    const check = { before: failingOnce(), onCheckFailure: 'abort' }
    const program = release(world, does(world, 'smoke'), { sequence: check })
    ended(await newProcess(world).perform(run(program, 'r', {})), 'Failed')
    assert.deepEqual([...world.log].sort(), ['build', 'deploy/notes'])
    assert.deepEqual(await restarted(world, program), ['deploy/asia/push', 'deploy/asia/smoke', ...AFTER])
  })

  test('the retry policy repeats the checks of a sequence in a wave, but not its steps', async () => {
    const world = newWorld()
    const check = { after: failingOnce(), onCheckFailure: 'retry' }
    const program = release(world, does(world, 'smoke'), { sequence: check })
    ended(await newProcess(world).perform(run(program, 'r', {})), 'Completed')
    assert.equal(world.log.filter((unit) => unit === 'deploy/asia/push').length, 1)
  })

  test('a failed check of a wave in a sequence runs the wave again, then the later steps', async () => {
    const world = newWorld()
    const program = Program.fromSteps('w', [
      Program.sequenceOf('all', [
        does(world, 'first'),
        Program.waveOf('wave', [needing(does(world, 'a')), needing(does(world, 'b'))], {
          after: failingOnce(),
          onCheckFailure: 'retry',
          concurrency: 1
        }),
        does(world, 'last')
      ])
    ])
    ended(await newProcess(world).perform(run(program, 'r', {})), 'Completed')
    assert.deepEqual(world.log, ['all/first', 'all/wave/a', 'all/wave/b', 'all/wave/a', 'all/wave/b', 'all/last'])
  })

  test('a nested wave can be restarted by its path', async () => {
    const world = newWorld()
    const program = Program.fromSteps('w', [
      Program.sequenceOf('all', [
        does(world, 'first'),
        Program.waveOf('wave', [needing(does(world, 'a')), needing(does(world, 'b'), 'a')]),
        does(world, 'last')
      ])
    ])
    ended(await newProcess(world).perform(run(program, 'r', {})), 'Completed')
    const { checkpoint } = { checkpoint: await stored(newProcess(world).storage) }
    assert.ok(E.isLeft(planResume(checkpoint, program, { restartWave: 'all/first' })))
    assert.deepEqual(await restarted(world, program, { restartWave: 'all/wave' }), [
      'all/wave/a',
      'all/wave/b',
      'all/last'
    ])
  })
})

describe('a composite in a wave that halts', () => {
  /** A wave of a group that fails at once, and of a composite whose check fails. */
  const halting = (world: World, checks: object, kind: 'sequence' | 'map') =>
    Program.fromSteps('w', [
      Program.waveOf(
        'all',
        [
          group('bad', { run: () => () => new Promise((resolve) => setTimeout(() => resolve(E.left('bad')), 20)) }),
          needing(
            kind === 'sequence'
              ? Program.sequenceOf('checked', [does(world, 'one')], checks)
              : Program.mapOf(
                  'checked',
                  does(world, 'one'),
                  { forEach: () => E.right([1]), key: () => E.right('1') },
                  checks
                )
          )
        ],
        { onFailure: 'halt' }
      )
    ])

  test.each([
    ['before', 'sequence'],
    ['after', 'sequence'],
    ['before', 'map'],
    ['after', 'map']
  ] as const)(
    'a halt ends the prompt for the failed check `%s` of a %s, and the run fails',
    async (when, kind) => {
      const world = newWorld()
      const onCheckFailed = (): Promise<never> => new Promise(() => undefined)
      const process = newProcess(world, { onCheckFailed })
      const { failures } = ended(
        await process.perform(run(halting(world, { [when]: () => false }, kind), 'r', {})),
        'Failed'
      )
      assert.deepEqual(
        failures.map(({ unit }) => unit),
        ['all/bad']
      )
      const fixed = Program.fromSteps('w', [
        Program.waveOf('all', [
          group('bad', { run: () => TE.right(1) }),
          (halting(world, {}, kind).steps[0] as ProgramType.ProgramWave).groups[1] as ProgramType.ProgramGroup
        ])
      ])
      ended(await newProcess(world).perform(resume(fixed, 'r')), 'Completed')
      assert.equal(world.log.length, 1)
    },
    3000
  )

  test('a halt ends the delay before a failed check is repeated', async () => {
    const world = newWorld()
    const process = newProcess(world)
    const checks = { before: () => false, onCheckFailure: 'retry' }
    ended(await run(halting(world, checks, 'sequence'), 'r', {})(process.environment)(), 'Failed')
    assert.deepEqual(world.log, [])
  }, 3000)
})
