/** A wave whose check failed: its groups run again, the check is repeated, or the previous wave runs again. */
import assert from 'node:assert/strict'
import { pipe } from 'fp-ts/lib/function.js'
import * as TE from 'fp-ts/lib/TaskEither.js'
import * as t from 'io-ts'
import { describe, test } from 'vitest'
import type { CheckAnswer, CheckpointStorage, FailedCheck } from '../../src/index.js'
import { Program, resume, run } from '../../src/index.js'
import type { Life } from '../../src/testing/crash/process/Life.js'
import { never } from '../../src/testing/crash/process/Life.js'
import { nameOf } from '../../src/domain/workflow/Unit.js'
import type { Process, World } from './fixtures.js'
import { ended, newLife, newProcess, newWorld, refused, stored } from './fixtures.js'

const doing = (world: World, name: string) => TE.fromIO(() => void world.log.push(name))

/** Fails this often, then passes. */
const failing = (times: number) => {
  let looks = 0
  return {
    looks: () => looks,
    check: () => (++looks > times ? TE.right(undefined) : TE.left(new Error('not yet')))
  }
}

/** A wave that compiles, one that tests, and a step in between. */
const twoWaves = (world: World, build: object, checks: object) =>
  pipe(
    Program.start('release'),
    Program.step('fetch', { run: () => doing(world, 'fetch') }),
    Program.wave(
      'build',
      { js: { run: () => doing(world, 'js') }, css: { run: () => doing(world, 'css') } },
      { concurrency: 1, ...build }
    ),
    Program.step('pack', { run: () => doing(world, 'pack') }),
    Program.wave(
      'checks',
      { unit: { run: () => doing(world, 'unit') }, lint: { run: () => doing(world, 'lint') } },
      { concurrency: 1, ...checks }
    ),
    Program.step('publish', { run: () => doing(world, 'publish') })
  )

/** A process that gets these answers in order, then `abort`. */
const answering = (
  world: World,
  ...answers: ReadonlyArray<CheckAnswer>
): Process & { readonly asked: Array<FailedCheck> } => {
  const asked: Array<FailedCheck> = []
  const left = [...answers]
  const process = newProcess(world, {
    onCheckFailed: (failed) => {
      asked.push(failed)
      return Promise.resolve(left.shift() ?? 'abort')
    }
  })
  return { ...process, asked }
}

const FIRST = ['fetch', 'js', 'css', 'pack', 'unit', 'lint']

describe('a failed check after a wave', () => {
  test.each<
    readonly [
      answer: CheckAnswer,
      effect: string,
      outcome: 'Completed' | 'Failed',
      looks: number,
      ran: ReadonlyArray<string>
    ]
  >([
    ['retry', 'runs its groups again', 'Completed', 2, [...FIRST, 'unit', 'lint', 'publish']],
    ['lookAgain', 'repeats only the check', 'Completed', 2, [...FIRST, 'publish']],
    ['continue', 'counts the check as passed', 'Completed', 1, [...FIRST, 'publish']],
    ['abort', 'ends the run', 'Failed', 1, FIRST],
    ['previousWave', 'ends the run', 'Failed', 1, FIRST]
  ])('after a failed check of a wave the answer "%s" %s', async (answer, _, outcome, looks, ran) => {
    const world = newWorld()
    const after = failing(1)
    const process = answering(world, answer)
    ended(await process.perform(run(twoWaves(world, {}, { after: after.check }), 'r', {})), outcome)
    assert.deepEqual(world.log, ran)
    assert.equal(after.looks(), looks)
    assert.deepEqual(process.asked, [
      {
        runId: 'r',
        stepIndex: 3,
        unit: 'checks',
        when: 'after',
        wrong: ['not yet'],
        answers: ['retry', 'lookAgain', 'continue', 'abort']
      }
    ])
  })

  test('a failed check of a wave inside a group does not offer "retry", and the answer "retry" repeats only the check', async () => {
    const world = newWorld()
    const unit = { ...Program.task('unit', { run: () => doing(world, 'unit') }), needs: [] }
    const inner = Program.waveOf('inner', [unit], { after: failing(1).check })
    const process = answering(world, 'retry')
    const program = Program.fromSteps('nested', [Program.waveOf('outer', [{ ...inner, needs: [] }])])
    ended(await process.perform(run(program, 'r', {})), 'Completed')
    assert.deepEqual(world.log, ['unit'])
    assert.deepEqual(process.asked[0]?.answers, ['lookAgain', 'continue', 'abort'])
  })

  test('the answer "retry" may be given each time that the check fails', async () => {
    const world = newWorld()
    const process = answering(world, 'retry', 'lookAgain', 'retry')
    ended(await process.perform(run(twoWaves(world, {}, { after: failing(3).check }), 'r', {})), 'Completed')
    assert.deepEqual(world.log, [...FIRST, 'unit', 'lint', 'unit', 'lint', 'publish'])
  })

  test('units that run again are reported with their reason before they start', async () => {
    const world = newWorld()
    const process = answering(world, 'retry')
    ended(await process.perform(run(twoWaves(world, {}, { after: failing(1).check }), 'r', {})), 'Completed')
    const told = process.events.flatMap((event): ReadonlyArray<unknown> =>
      event._tag === 'StepsRunAgain'
        ? [event.units.map(({ unit, reason }) => [unit, reason._tag])]
        : event._tag === 'WaveRestarted' ||
            event._tag === 'CheckFailed' ||
            (event._tag === 'StepStarted' && event.unit.startsWith('checks/'))
          ? [event._tag]
          : []
    )
    assert.deepEqual(told, [
      'StepStarted',
      'StepStarted',
      'CheckFailed',
      'WaveRestarted',
      [
        ['checks/unit', 'Forced'],
        ['checks/lint', 'Forced']
      ],
      'StepStarted',
      'StepStarted'
    ])
  })

  test('each group that ran again is recorded once, and a resume has nothing left to do', async () => {
    const world = newWorld()
    const program = () => twoWaves(world, {}, { after: failing(1).check })
    const { checkpoint } = ended(await answering(world, 'retry').perform(run(program(), 'r', {})), 'Completed')
    assert.deepEqual(
      Array.from(checkpoint.completedSteps, ({ unit }) => nameOf(unit)),
      ['fetch', 'js', 'css', 'build', 'pack', 'unit', 'lint', 'checks', 'publish']
    )
    world.log.length = 0
    ended(await newProcess(world).perform(resume(program(), 'r')), 'Completed')
    assert.deepEqual(world.log, [])
  })

  test('the retry policy runs the wave at most three times, with all its groups', async () => {
    for (const [wrong, outcome] of [
      [2, 'Completed'],
      [3, 'Failed']
    ] as const) {
      const world = newWorld()
      const options = { onCheckFailure: 'retry', after: failing(wrong).check }
      ended(await newProcess(world).perform(run(twoWaves(world, {}, options), 'r', {})), outcome)
      assert.equal(world.log.filter((name) => name === 'unit').length, 3)
      assert.equal(world.log.filter((name) => name === 'pack').length, 1)
    }
  })

  test('the retry of a check runs all steps of a top-level sequence again', async () => {
    const world = newWorld()
    const after = failing(1)
    const program = pipe(
      Program.start('one'),
      Program.sequence(
        'release',
        (start) =>
          pipe(
            start,
            Program.step('build', { run: () => doing(world, 'build') }),
            Program.step('test', { run: () => doing(world, 'test') })
          ),
        { onCheckFailure: 'retry', after: after.check }
      )
    )
    ended(await newProcess(world).perform(run(program, 'r', {})), 'Completed')
    assert.deepEqual(world.log, ['build', 'test', 'build', 'test'])
  })

  test('the retry policy repeats only the check of a wave if a group is not idempotent', async () => {
    const world = newWorld()
    const after = failing(2)
    const program = pipe(
      Program.start('one'),
      Program.wave(
        'deploy',
        { eu: { idempotent: false, run: () => doing(world, 'eu') }, us: { run: () => doing(world, 'us') } },
        { concurrency: 1, onCheckFailure: 'retry', after: after.check }
      )
    )
    ended(await newProcess(world).perform(run(program, 'r', {})), 'Completed')
    assert.deepEqual(world.log, ['eu', 'us'])
    assert.equal(after.looks(), 3)
  })

  test('a map that runs again after a failed check computes its items again', async () => {
    const world = newWorld()
    let pages = ['a', 'b']
    const program = pipe(
      Program.start('maps'),
      Program.map(
        'pages',
        {
          forEach: () => pages,
          item: t.string,
          key: (page) => page,
          concurrency: 1,
          after: () => (pages.length === 2 ? TE.left(new Error('c is missing')) : TE.right(undefined))
        },
        { run: ({ item }) => doing(world, item) }
      )
    )
    const process = newProcess(world, {
      onCheckFailed: () => {
        pages = ['a', 'b', 'c']
        return Promise.resolve('retry')
      }
    })
    ended(await process.perform(run(program, 'r', {})), 'Completed')
    assert.deepEqual(world.log, ['a', 'b', 'a', 'b', 'c'])
  })
})

describe('a failed check before a wave', () => {
  test.each<
    readonly [
      answer: CheckAnswer,
      effect: string,
      outcome: 'Completed' | 'Failed',
      looks: number,
      ran: ReadonlyArray<string>
    ]
  >([
    ['lookAgain', 'repeats only the check', 'Completed', 2, [...FIRST, 'publish']],
    ['retry', 'repeats only the check', 'Completed', 2, [...FIRST, 'publish']],
    [
      'previousWave',
      'runs the previous wave again',
      'Completed',
      2,
      ['fetch', 'js', 'css', 'pack', 'js', 'css', 'pack', 'unit', 'lint', 'publish']
    ],
    ['continue', 'counts the check as passed', 'Completed', 1, [...FIRST, 'publish']],
    ['abort', 'ends the run', 'Failed', 1, ['fetch', 'js', 'css', 'pack']]
  ])('after a failed check before a wave the answer "%s" %s', async (answer, _, outcome, looks, ran) => {
    const world = newWorld()
    const before = failing(1)
    const process = answering(world, answer)
    ended(await process.perform(run(twoWaves(world, {}, { before: before.check }), 'r', {})), outcome)
    assert.deepEqual(world.log, ran)
    assert.equal(before.looks(), looks)
    assert.deepEqual(process.asked, [
      {
        runId: 'r',
        stepIndex: 3,
        unit: 'checks',
        when: 'before',
        wrong: ['not yet'],
        answers: ['lookAgain', 'previousWave', 'continue', 'abort'],
        previousWave: 'build'
      }
    ])
  })

  test('a failed check before the first wave does not offer "previousWave", and that answer ends the run', async () => {
    const world = newWorld()
    const process = answering(world, 'previousWave')
    ended(await process.perform(run(twoWaves(world, { before: failing(1).check }, {}), 'r', {})), 'Failed')
    assert.deepEqual(process.asked[0]?.answers, ['lookAgain', 'continue', 'abort'])
    assert.deepEqual(world.log, ['fetch'])
  })

  test('the answer "previousWave" makes missing evidence of an earlier wave again', async () => {
    const world = newWorld()
    const program = pipe(
      Program.start('lost'),
      Program.wave('build', {
        js: {
          evidence: [{ _tag: 'File', path: 'js' }],
          run: () =>
            pipe(
              doing(world, 'js'),
              TE.map(() => void world.tree.files.set('js', 'js'))
            )
        }
      }),
      Program.step('tidy', {
        run: () =>
          TE.fromIO(() => {
            world.log.push('tidy')
            if (world.log.length < 3) world.tree.files.clear()
          })
      }),
      Program.wave('checks', { unit: { run: () => doing(world, 'unit') } })
    )
    const process = answering(world, 'previousWave')
    ended(await process.perform(run(program, 'r', {})), 'Completed')
    assert.deepEqual(process.asked[0]?.wrong, ['js of build/js is missing'])
    assert.deepEqual(world.log, ['js', 'tidy', 'js', 'tidy', 'unit'])
  })
})

describe('evidence that changes while the question of a wave is open', () => {
  /** A step and a group that leave a file each, and a wave whose check fails once; `meanwhile` runs at its question. */
  const asking = (world: World, answer: CheckAnswer, around: 'before' | 'after', meanwhile: () => void) => {
    const making = (name: string) => ({
      evidence: [{ _tag: 'Artifact', path: name }] as const,
      run: () =>
        pipe(
          doing(world, name),
          TE.map(() => void world.tree.files.set(name, name))
        )
    })
    const program = pipe(
      Program.start('release'),
      Program.step('fetch', making('fetch')),
      Program.wave('build', { js: making('js') }),
      Program.wave('checks', { unit: { run: () => doing(world, 'unit') } }, { [around]: failing(1).check })
    )
    let asked = 0
    const process = newProcess(world, {
      onCheckFailed: () => {
        meanwhile()
        return Promise.resolve(asked++ === 0 ? answer : 'abort')
      }
    })
    return { program, process }
  }

  const back = [
    ['retry', 'after', ['fetch', 'js', 'unit']],
    ['previousWave', 'before', ['fetch', 'js']]
  ] as const

  test.each(back)(
    'after the answer "%s" a step whose evidence was deleted meanwhile runs again first',
    async (answer, around, ran) => {
      const world = newWorld()
      const { program, process } = asking(world, answer, around, () => void world.tree.files.delete('fetch'))
      ended(await process.perform(run(program, 'r', {})), 'Completed')
      assert.deepEqual(world.log, [...ran, 'fetch', 'js', 'unit'])
      world.log.length = 0
      ended(await newProcess(world).perform(resume(program, 'r')), 'Completed')
      assert.deepEqual(world.log, [])
    }
  )

  test.each(back)(
    'after the answer "%s" a step whose evidence was edited meanwhile raises a question, as on a resume',
    async (answer, around, ran) => {
      const world = newWorld()
      const edit = () => void world.tree.files.set('fetch', 'by hand')
      const { program, process } = asking(world, answer, around, edit)
      const { questions } = refused(await process.perform(run(program, 'r', {})), 'Unconfirmed')
      assert.deepEqual(
        questions.map(({ unit, reason }) => [unit, reason._tag]),
        [['fetch', 'EvidenceChanged']]
      )
      assert.deepEqual(world.log, ran)
      const restartWave = around === 'after' ? 'checks' : 'build'
      const restarted = await newProcess(world).perform(resume(program, 'r', { restartWave }))
      assert.deepEqual(refused(restarted, 'Unconfirmed').questions, questions)
      const kept = { restartWave, confirm: new Map([['fetch', { _tag: 'Keep' } as const]]) }
      ended(await newProcess(world).perform(resume(program, 'r', kept)), 'Completed')
      assert.equal(world.tree.files.get('fetch'), 'by hand')
    }
  )
})

test('the completion of a step is durable before the prompt about the check of the next wave is shown', async () => {
  const world = newWorld()
  let durable: ReadonlyArray<string> = []
  const program = pipe(
    Program.start('release'),
    Program.step('fetch', {
      evidence: [{ _tag: 'Artifact', path: 'f' }],
      run: () => TE.fromIO(() => void world.tree.files.set('f', 'v1'))
    }),
    Program.step('charge', { run: () => TE.fromIO(() => void world.tree.files.set('f', 'edited')) }),
    Program.wave('checks', { unit: { run: () => doing(world, 'unit') } })
  )
  const process = newProcess(world, {
    onCheckFailed: async () => {
      durable = Array.from((await stored(process.storage)).completedSteps, ({ unit }) => unit)
      return 'abort'
    }
  })
  ended(await process.perform(run(program, 'r', {})), 'Failed')
  assert.deepEqual(durable, ['fetch', 'charge'])
})

test('the retry policy fails a wave whose restart would raise a question', async () => {
  const world = newWorld()
  const program = pipe(
    Program.start('release'),
    Program.step('fetch', {
      evidence: [{ _tag: 'Artifact', path: 'f' }],
      run: () => TE.fromIO(() => void world.tree.files.set('f', 'v1'))
    }),
    Program.wave(
      'build',
      { js: { run: () => TE.fromIO(() => void world.tree.files.set('f', 'edited')) } },
      { after: failing(1).check, onCheckFailure: 'retry' }
    )
  )
  const { failures } = ended(await newProcess(world).perform(run(program, 'r', {})), 'Failed')
  assert.deepEqual(
    failures.map(({ error }) => error.message),
    ['it ran, but a check failed: not yet']
  )
})

describe('a process that dies after it rewound a wave', () => {
  /** A store whose process dies once a rewind is durable. */
  const dyingIn =
    (life: Life) =>
    (storage: CheckpointStorage): CheckpointStorage => ({
      ...storage,
      save: (claim, revisions) => async () => {
        const saved = await storage.save(claim, revisions)()
        if (revisions.some(({ change }) => change._tag === 'Rewound')) life.kill()
        return life.alive() ? saved : await never()
      }
    })

  test.each<readonly [answer: CheckAnswer, around: 'before' | 'after', rest: ReadonlyArray<string>]>([
    ['retry', 'after', ['unit', 'lint', 'publish']],
    ['previousWave', 'before', ['js', 'css', 'pack', 'unit', 'lint', 'publish']]
  ])(
    'if the process dies after the answer "%s" is recorded, a resume runs the groups again',
    async (answer, around, rest) => {
      const world = newWorld()
      const life = newLife()
      const { check } = failing(1)
      const program = twoWaves(world, {}, { [around]: check })
      const process = newProcess(world, { around: dyingIn(life), onCheckFailed: () => Promise.resolve(answer) })
      await Promise.race([process.perform(run(program, 'r', {})), life.killed])
      assert.ok(!life.alive())
      world.log.length = 0
      ended(await newProcess(world).perform(resume(program, 'r')), 'Completed')
      assert.deepEqual(world.log, rest)
    }
  )
})
