/** Evidence and checks: the artifacts of a unit, and the conditions around it. */
import assert from 'node:assert/strict'
import * as E from 'fp-ts/lib/Either.js'
import { pipe } from 'fp-ts/lib/function.js'
import * as TE from 'fp-ts/lib/TaskEither.js'
import * as t from 'io-ts'
import { describe, test } from 'vitest'
import type { CheckAnswer, CheckpointStorage, FailedCheck } from '../../src/index.js'
import type * as Change from '../../src/domain/change/Change.js'
import type { TreeUnreadable } from '../../src/ports/WorkingTree.js'
import * as Program from '../../src/executor/program/Program.js'
import { collectEvidence, planResume, resume, run, runOrResume } from '../../src/index.js'
import type { WorkingTree } from '../../src/ports/WorkingTree.js'
import type { Life } from '../../src/testing/crash/process/Life.js'
import { never } from '../../src/testing/crash/process/Life.js'
import type { TreeData } from '../../src/testing/memoryTree.js'
import { memoryTree } from '../../src/testing/memoryTree.js'
import { nameOf } from '../../src/domain/workflow/Unit.js'
import type { World } from './fixtures.js'
import {
  ended,
  newLife,
  newProcess,
  newWorld,
  outputsOf,
  patiently,
  policy,
  refused,
  right,
  stored,
  task
} from './fixtures.js'

const doing = (world: World, name: string, act: (tree: TreeData) => void = () => undefined) =>
  TE.fromIO(() => {
    world.log.push(name)
    act(world.tree)
  })

/** Versions, packs into a file, checks in a wave whose groups commit, and publishes. */
const release = (world: World) =>
  pipe(
    Program.start('release'),
    Program.step('pack', {
      output: t.string,
      evidence: (output) => [{ _tag: 'Artifact', path: `${output}.tgz` }],
      run: () =>
        pipe(
          doing(world, 'pack', ({ files }) => files.set('app.tgz', 'all of it')),
          TE.map(() => 'app')
        )
    }),
    Program.wave(
      'checks',
      {
        unit: {
          expect: { commits: 1 },
          run: () => doing(world, 'unit', (tree) => (tree.commits = [...tree.commits, `commit ${world.log.length}`]))
        },
        lint: { evidence: [{ _tag: 'File', path: 'lint.txt' }], run: () => doing(world, 'lint', write('lint.txt')) }
      },
      { concurrency: 1 }
    ),
    Program.step('publish', { run: () => doing(world, 'publish') })
  )

/** A store whose process dies when a change is durable: one of this kind, or the start of an attempt with this number. */
const dyingAfter =
  (life: Life, tag: Change.Change['_tag'], attempt?: number) =>
  (storage: CheckpointStorage): CheckpointStorage => ({
    ...storage,
    save: (claim, revisions) => async () => {
      const saved = await storage.save(claim, revisions)()
      const isIt = revisions.some(
        ({ change }) =>
          change._tag === tag &&
          (attempt === undefined ||
            (change._tag === 'AttemptStarted' && change.attempts.some((one) => one.attempt === attempt)))
      )
      if (isIt) life.kill()
      return life.alive() ? saved : await never()
    }
  })

const write = (path: string) => (tree: TreeData) => void tree.files.set(path, path)

const completed = async (world: World) =>
  ended(await newProcess(world).perform(run(release(world), 'r', {})), 'Completed')

/** The units that run in a resume. */
const again = (world: World): Promise<ReadonlyArray<string>> => againOf(world, release(world))

const againOf = async (world: World, program: Program.Program<unknown>): Promise<ReadonlyArray<string>> => {
  world.log.length = 0
  ended(await newProcess(world).perform(resume(program, 'r')), 'Completed')
  return world.log
}

describe('evidence of completed units', () => {
  test('evidence is recorded with its unit', async () => {
    const world = newWorld()
    const { checkpoint } = await completed(world)
    assert.deepEqual(
      [...checkpoint.completedSteps].map(({ unit, evidence }) => [nameOf(unit), evidence.map(({ _tag }) => _tag)]),
      [
        ['pack', ['Artifact']],
        ['unit', ['Commit']],
        ['lint', ['File']],
        ['checks', []],
        ['publish', []]
      ]
    )
    const [pack] = checkpoint.completedSteps
    assert.ok(pack?.evidence[0]?._tag === 'Artifact')
    assert.deepEqual([pack.evidence[0].path, pack.evidence[0].size], ['app.tgz', 9])
  })

  test('a completed run stays completed while its evidence exists', async () => {
    const world = newWorld()
    await completed(world)
    assert.deepEqual(await again(world), [])
  })

  test.each<readonly [what: string, harm: (tree: TreeData) => void, due: ReadonlyArray<string>]>([
    ['an artifact is missing', ({ files }) => files.delete('app.tgz'), ['pack', 'unit', 'lint', 'publish']],
    ['a commit of a group is not in the repository', (tree) => (tree.commits = ['rewritten']), ['unit', 'publish']],
    ['a file of a group is missing', ({ files }) => files.delete('lint.txt'), ['lint', 'publish']],
    ['a file changed that is no evidence', ({ files }) => files.set('notes.txt', 'x'), []]
  ])('a unit whose evidence is missing runs again, and so do later units, but no other: %s', async (_, harm, due) => {
    const world = newWorld()
    await completed(world)
    harm(world.tree)
    assert.deepEqual(await again(world), due)
    assert.deepEqual(await again(world), [])
  })

  test('a group waits for a needed group that runs again, even if a group between them was declared done', async () => {
    const world = newWorld()
    const bring = task('bring', {
      evidence: [{ _tag: 'File', path: 'brought.txt' }],
      run: () =>
        pipe(
          doing(world, 'bring', write('brought.txt')),
          TE.chain(() => TE.fromTask(() => new Promise<void>((resolve) => setImmediate(resolve)))),
          TE.map(() => world.log.push('brought'))
        )
    })
    const pay = task('pay', { idempotent: false, run: () => doing(world, 'pay') })
    const thank = task('thank', {
      run: ({ outputs }) =>
        pipe(
          doing(world, 'thank'),
          TE.map(() => JSON.stringify(outputs))
        )
    })
    const program = Program.fromSteps('order', [
      Program.waveOf('all', [
        { ...bring, needs: [] },
        { ...pay, needs: ['bring'] },
        { ...thank, needs: ['pay'] }
      ])
    ])
    ended(await newProcess(world).perform(run(program, 'r', {})), 'Completed')
    world.tree.files.delete('brought.txt')
    world.log.length = 0
    const confirm = new Map([['all/pay', { _tag: 'Done' } as const]])
    const { checkpoint } = ended(await newProcess(world).perform(resume(program, 'r', { confirm })), 'Completed')
    assert.deepEqual(world.log, ['bring', 'brought', 'thank'])
    assert.equal(outputsOf(checkpoint)['all/thank'], '{"bring":2,"pay":null}')
  })

  test('a group in flight continues its attempt while a sibling group whose evidence is missing runs again', async () => {
    const world = newWorld()
    const bring = task('bring', {
      evidence: [{ _tag: 'File', path: 'brought.txt' }],
      run: () => doing(world, 'bring', write('brought.txt'))
    })
    const call = task('call', {
      retry: policy({ _tag: 'Constant', attempts: 3, delayMillis: 1000 }),
      run: ({ attempt }) =>
        pipe(
          doing(world, `call, attempt ${attempt}`),
          TE.chain(() => (attempt === 1 ? TE.left({ status: 503 }) : TE.right('called')))
        )
    })
    const groups = [bring, call].map((one) => ({ ...one, needs: [] }))
    const program = Program.fromSteps('order', [Program.waveOf('all', groups, { concurrency: 1 })])
    const killed = async (
      executor: ReturnType<typeof run>,
      after: Change.Change['_tag'],
      of?: number
    ): Promise<void> => {
      const life = newLife()
      const process = newProcess(world, { around: dyingAfter(life, after, of) })
      await patiently(process.clock, Promise.race([life.killed, executor(process.environment)()]))
      assert.ok(!life.alive(), after)
    }
    await killed(run(program, 'r', {}), 'AttemptStarted', 2)
    assert.deepEqual(world.log, ['bring', 'call, attempt 1'])
    world.tree.files.delete('brought.txt')
    await killed(resume(program, 'r'), 'Rewound')
    ended(await newProcess(world).perform(resume(program, 'r')), 'Completed')
    assert.deepEqual(world.log, ['bring', 'call, attempt 1', 'bring', 'call, attempt 2'])
  })

  test('collectEvidence returns the units whose evidence is missing, with what is missing', async () => {
    const world = newWorld()
    const { checkpoint } = await completed(world)
    world.tree.files.delete('lint.txt')
    const gone = right(await collectEvidence(checkpoint)(newProcess(world).environment)())
    assert.deepEqual(gone, [{ unit: 'checks/lint', missing: [{ _tag: 'File', path: 'lint.txt' }] }])
  })

  test('the evidence of a commit has its full hash even if an abbreviated hash was given', async () => {
    const world = newWorld()
    const hash = 'c0ffee'.padEnd(40, '0')
    const program = pipe(
      Program.start('p'),
      Program.step('s', {
        evidence: [{ _tag: 'Commit', hash: 'c0ffee' }],
        run: () => doing(world, 's', (tree) => (tree.commits = [hash]))
      })
    )
    const { checkpoint } = ended(await newProcess(world).perform(run(program, 'r', {})), 'Completed')
    assert.deepEqual([...checkpoint.completedSteps][0]?.evidence, [{ _tag: 'Commit', hash }])
  })

  test('the function `evidence` gets the output as later steps see it, without what its codec does not keep', async () => {
    const seen: Array<unknown> = []
    const program = pipe(
      Program.start('p'),
      Program.step('s', {
        output: t.strict({ a: t.number }),
        evidence: (output) => {
          seen.push(output)
          return []
        },
        run: () => TE.right({ a: 1, b: 2 })
      })
    )
    ended(await newProcess(newWorld()).perform(run(program, 'r', {})), 'Completed')
    assert.deepEqual(seen, [{ a: 1 }])
  })

  test('a run without recorded evidence does not read the working tree', async () => {
    const world = newWorld()
    const plain = pipe(
      Program.start('plain'),
      Program.step('one', { run: () => doing(world, 'one') }),
      Program.wave('two', { a: { run: () => doing(world, 'a') } })
    )
    const environment = { tree: unreadable() }
    ended(await newProcess(world, environment).perform(run(plain, 'r', {})), 'Completed')
    ended(await newProcess(world, environment).perform(resume(plain, 'r')), 'Completed')
  })

  test('unreadable evidence stops a resume, and nothing is changed', async () => {
    const world = newWorld()
    await completed(world)
    const { revision } = await stored(newProcess(world).storage)
    const error = refused(
      await newProcess(world, { tree: unreadable() }).perform(resume(release(world), 'r')),
      'TreeUnreadable'
    )
    assert.equal(error.code, 'EACCES')
    assert.equal((await stored(newProcess(world).storage)).revision, revision)
  })
})

describe('an artifact that a later step changes and declares too', () => {
  const inTurn = (world: World) =>
    pipe(
      Program.start('turns'),
      Program.step('make', { evidence: [VERSION], run: () => doing(world, 'make', set('1')) }),
      Program.step('sign', { evidence: [VERSION], run: () => doing(world, 'sign', sign) }),
      Program.wave('last', { check: { run: () => doing(world, 'check') } })
    )
  const VERSION = { _tag: 'Artifact', path: 'version.txt' } as const
  const set = (text: string) => (tree: TreeData) => void tree.files.set('version.txt', text)
  const sign = (tree: TreeData): void => set(`${tree.files.get('version.txt') ?? ''} signed`)(tree)

  test.each<[what: string, harm: (tree: TreeData) => void, due: ReadonlyArray<string>]>([
    ['is as the run left it', () => undefined, []],
    ['is as the first step left it', set('1'), ['sign', 'check']],
    ['is missing', ({ files }) => files.clear(), ['make', 'sign', 'check']]
  ])(
    'if two steps recorded the same artifact, the first step whose record no longer holds and all later steps run again: the artifact %s',
    async (_, harm, due) => {
      const world = newWorld()
      ended(await newProcess(world).perform(run(inTurn(world), 'r', {})), 'Completed')
      harm(world.tree)
      world.log.length = 0
      ended(await newProcess(world).perform(resume(inTurn(world), 'r')), 'Completed')
      assert.deepEqual(world.log, due)
      ended(await newProcess(world).perform(resume(inTurn(world), 'r')), 'Completed')
      assert.deepEqual([world.log, world.tree.files.get('version.txt')], [due, '1 signed'])
    }
  )

  test('a step that changed an artifact and then died or failed runs again, without a question about the earlier step that recorded the artifact', async () => {
    for (const end of ['killed', 'failed'] as const) {
      const world = newWorld()
      const died = newLife()
      const half = TE.left(new Error('no key'))
      const stopping = (fails: boolean) =>
        pipe(
          Program.start('turns'),
          Program.step('make', { evidence: [VERSION], run: () => doing(world, 'make', set('1')) }),
          Program.step('sign', {
            evidence: [VERSION],
            run: () =>
              pipe(
                doing(world, 'sign', sign),
                TE.chain(() => {
                  if (!fails) return TE.right(undefined)
                  if (end === 'failed') return half
                  died.kill()
                  return TE.fromTask(() => never())
                })
              )
          })
        )
      const first = newProcess(world)
      const ran = run(stopping(true), 'r', {})(first.environment)()
      if (end === 'killed') await patiently(first.clock, Promise.race([died.killed, ran]))
      else assert.ok(E.isRight(await patiently(first.clock, ran)))
      world.log.length = 0
      ended(await newProcess(world).perform(resume(stopping(false), 'r')), 'Completed')
      assert.deepEqual(world.log, ['sign'], end)
      assert.deepEqual(await againOf(world, stopping(false)), [])
    }
  })

  test('fromStep at the later step that changed an artifact does not run the earlier step that recorded the artifact', async () => {
    const world = newWorld()
    ended(await newProcess(world).perform(run(inTurn(world), 'r', {})), 'Completed')
    world.log.length = 0
    ended(await newProcess(world).perform(resume(inTurn(world), 'r', { fromStep: 'sign' })), 'Completed')
    assert.deepEqual(world.log, ['sign', 'check'])
  })
})

test('a restart of the whole run checks no recorded evidence', async () => {
  const world = newWorld()
  await completed(world)
  world.log.length = 0
  const program = pipe(release(world), (all) => ({ ...all, steps: all.steps.slice(0, 1) })) as never
  const process = newProcess(world, { tree: unreadable() })
  refused(await process.perform(resume(program, 'r', { fromStep: 'missing' })), 'TreeUnreadable')
  const failed = ended(await process.perform(resume(program, 'r', { fromStep: 'pack' })), 'Failed')
  assert.deepEqual([world.log, failed.failures[0]?.error.name], [['pack'], 'TreeUnreadable'])
})

const unreadable = () => {
  const error: TreeUnreadable = { _tag: 'TreeUnreadable', where: '/work', code: 'EACCES', why: 'no', cause: undefined }
  const no = TE.left(error)
  return {
    content: () => no,
    has: () => no,
    head: no,
    fullHash: () => no,
    missingCommits: () => no,
    storedCommits: () => no,
    commitsSince: () => no,
    changed: no
  }
}

// ---------------------------------------------------------------------------------------------------------------------
// checks
// ---------------------------------------------------------------------------------------------------------------------

/** One step with checks, and the messages of its failure. */
const failureOf = async (
  world: World,
  spec: Omit<Program.TaskSpec<Program.StepContext<object>, unknown>, 'run'>,
  act: (tree: TreeData) => void = () => undefined
) => {
  const program = pipe(
    Program.start('one'),
    Program.step('build', { ...(spec as object), run: () => doing(world, 'build', act) }),
    Program.step('after', { run: () => doing(world, 'after') })
  )
  const outcome = ended(await newProcess(world).perform(runOrResume(program, 'r', {})), 'Failed')
  return outcome.failures[0]
}

describe('a failed check of a unit', () => {
  test.each<readonly [what: string, spec: Parameters<typeof failureOf>[1], message: string]>([
    [
      'an artifact is missing',
      { evidence: [{ _tag: 'Artifact', path: 'a.tgz' }] },
      'it ran, but a check failed: a.tgz is missing'
    ],
    [
      'a commit is missing',
      { evidence: [{ _tag: 'Commit', hash: 'c0ffee' }] },
      'it ran, but a check failed: commit c0ffee is missing'
    ],
    [
      'a file is missing',
      { expect: { files: ['a.txt', 'b.txt'] } },
      'it ran, but a check failed: a.txt is missing; b.txt is missing'
    ],
    ['it made too few commits', { expect: { commits: 2 } }, 'it ran, but a check failed: it made 0 commits, not 2'],
    ['it made no commit', { expect: { commits: true } }, 'it ran, but a check failed: it made no commit'],
    ['its own check fails', { after: () => TE.left(new Error('no')) }, 'it ran, but a check failed: no'],
    [
      'its own check returns false',
      { after: () => TE.right(false) },
      'it ran, but a check failed: the check returned false'
    ],
    [
      'its evidence cannot be computed',
      { evidence: () => assert.fail('what output?') },
      'it ran, but a check failed: its `evidence` function failed: what output?'
    ]
  ])('a unit fails with CHECK_FAILED if %s', async (_, spec, message) => {
    const world = newWorld()
    const failure = await failureOf(world, spec)
    assert.deepEqual(
      [failure?.error.name, failure?.error.code, failure?.error.message],
      ['CheckFailed', 'CHECK_FAILED', message]
    )
    assert.equal(failure?.outcome, 'unknown')
    await failureOf(world, spec)
    assert.deepEqual(world.log, ['build', 'build'])
  })

  test('a unit fails if the tree is not clean, and the error names the first five paths and counts the others', async () => {
    const world = newWorld()
    const failure = await failureOf(world, { expect: { cleanTree: true } }, ({ changed }) =>
      ['a', 'b', 'c', 'd', 'e', 'f', 'g'].forEach((path) => changed.add(path))
    )
    assert.equal(
      failure?.error.message,
      'it ran, but a check failed: the working tree is not clean: a, b, c, d, e and 2 more'
    )
  })

  test('a unit does not start if the check before it fails', async () => {
    const world = newWorld()
    const failure = await failureOf(world, { before: () => TE.left(new Error('the registry is down')) })
    assert.equal(failure?.error.message, 'not started, because a check failed: the registry is down')
    assert.equal(failure.outcome, 'notApplied')
    assert.deepEqual(world.log, [])
  })
})

describe('a check that fails', () => {
  const flaky = (world: World, wrong: number, onCheckFailure?: 'retry' | 'continue') => {
    let looks = 0
    return pipe(
      Program.start('flaky'),
      Program.step('build', {
        ...(onCheckFailure === undefined ? {} : { onCheckFailure }),
        after: () => (++looks <= wrong ? TE.left(new Error('not yet')) : TE.right(undefined)),
        run: () => doing(world, 'build')
      })
    )
  }

  test('under the retry policy a unit whose check fails runs at most three times', async () => {
    const world = newWorld()
    ended(await newProcess(world).perform(run(flaky(world, 2, 'retry'), 'r', {})), 'Completed')
    assert.deepEqual(world.log, ['build', 'build', 'build'])
    const other = newWorld()
    ended(await newProcess(other).perform(run(flaky(other, 3, 'retry'), 'r', {})), 'Failed')
    assert.deepEqual(other.log, ['build', 'build', 'build'])
  })

  test('a failed check counts as passed under the continue policy, and is reported', async () => {
    const world = newWorld()
    const process = newProcess(world)
    ended(await process.perform(run(flaky(world, 1, 'continue'), 'r', {})), 'Completed')
    const told = process.events.filter((event) => event._tag === 'CheckFailed')
    assert.deepEqual(
      told.map(({ unit, when, wrong, answer }) => ({ unit, when, wrong, answer })),
      [{ unit: 'build', when: 'after', wrong: ['not yet'], answer: 'continue' }]
    )
  })

  test.each<readonly [answer: CheckAnswer, outcome: 'Completed' | 'Failed', runs: number]>([
    ['retry', 'Completed', 2],
    ['continue', 'Completed', 1],
    ['abort', 'Failed', 1]
  ])('the answer "%s" to a failed check is obeyed', async (answer, outcome, runs) => {
    const world = newWorld()
    const asked: Array<FailedCheck> = []
    const process = newProcess(world, {
      onCheckFailed: (failed) => {
        asked.push(failed)
        return Promise.resolve(answer)
      }
    })
    ended(await process.perform(run(flaky(world, 1), 'r', {})), outcome)
    assert.equal(world.log.length, runs)
    const answers: FailedCheck['answers'] = ['retry', 'continue', 'abort']
    assert.deepEqual(asked, [{ runId: 'r', stepIndex: 0, unit: 'build', when: 'after', wrong: ['not yet'], answers }])
  })

  test('a failed check fails the unit if there is no prompt or the prompt throws', async () => {
    for (const given of [{}, { onCheckFailed: () => Promise.reject(new Error('gone')) }]) {
      const world = newWorld()
      ended(await newProcess(world, given).perform(run(flaky(world, 1), 'r', {})), 'Failed')
    }
  })

  test('a failed check never repeats a step that is not idempotent, even under the retry policy', async () => {
    const world = newWorld()
    const program = pipe(
      Program.start('one'),
      Program.step('publish', {
        idempotent: false,
        onCheckFailure: 'retry',
        retry: policy({ _tag: 'Constant', attempts: 3 }),
        expect: { files: ['receipt'] },
        run: () => doing(world, 'publish')
      })
    )
    ended(await newProcess(world).perform(run(program, 'r', {})), 'Failed')
    assert.deepEqual(world.log, ['publish'])
  })
})

// ---------------------------------------------------------------------------------------------------------------------
// around a wave
// ---------------------------------------------------------------------------------------------------------------------

describe('the checks of a wave', () => {
  const guardedWave = (world: World, options: object) =>
    pipe(
      Program.start('waves'),
      Program.step('pack', {
        evidence: [{ _tag: 'File', path: 'app.tgz' }],
        run: () => doing(world, 'pack', write('app.tgz'))
      }),
      Program.wave(
        'checks',
        {
          unit: { expect: { commits: true }, run: () => doing(world, 'unit', commit('u')) },
          lint: { expect: { commits: true }, run: () => doing(world, 'lint', commit('l')) }
        },
        { concurrency: 1, ...options }
      ),
      Program.step('publish', { run: () => doing(world, 'publish') })
    )
  const commit = (hash: string) => (tree: TreeData) => void (tree.commits = [...tree.commits, hash])

  test('no group starts if evidence of an earlier step is missing, and a resume runs that step again', async () => {
    const world = newWorld()
    const between = (options: object) =>
      pipe(
        Program.start('waves'),
        Program.step('pack', {
          evidence: [{ _tag: 'File', path: 'app.tgz' }],
          run: () => doing(world, 'pack', write('app.tgz'))
        }),
        Program.step('tidy', {
          run: () => doing(world, 'tidy', ({ files }) => (world.log.length < 3 ? files.clear() : undefined))
        }),
        Program.wave('checks', { unit: { run: () => doing(world, 'unit') } }, options)
      )
    const outcome = ended(await newProcess(world).perform(run(between({}), 'r', {})), 'Failed')
    assert.equal(outcome.step, 'checks')
    assert.equal(outcome.failures[0]?.error.message, 'not started, because a check failed: app.tgz of pack is missing')
    assert.deepEqual(world.log, ['pack', 'tidy'])
    ended(await newProcess(world).perform(resume(between({}), 'r')), 'Completed')
    assert.deepEqual(world.log, ['pack', 'tidy', 'pack', 'tidy', 'unit'])
  })

  test('a wave with the policy `continue` starts even if evidence of an earlier step is missing', async () => {
    const world = newWorld()
    const program = pipe(
      Program.start('waves'),
      Program.step('pack', { evidence: [{ _tag: 'File', path: 'a' }], run: () => doing(world, 'pack', write('a')) }),
      Program.step('tidy', { run: () => doing(world, 'tidy', ({ files }) => files.clear()) }),
      Program.wave('checks', { unit: { run: () => doing(world, 'unit') } }, { onCheckFailure: 'continue' })
    )
    ended(await newProcess(world).perform(run(program, 'r', {})), 'Completed')
    assert.deepEqual(world.log, ['pack', 'tidy', 'unit'])
  })

  test('a stop of the run aborts the check of earlier evidence, and no failed check is reported', async () => {
    const world = newWorld()
    const process = newProcess(world)
    const looking = memoryTree(world.tree)
    const content: WorkingTree['content'] = (path, signal) => async () => {
      if (!world.log.includes('tidy')) return await looking.content(path)()
      process.stop()
      assert.equal(signal?.aborted, true)
      return E.left({ _tag: 'TreeUnreadable', where: path, code: 'ABORTED', why: 'stopped', cause: undefined })
    }
    const program = pipe(
      Program.start('waves'),
      Program.step('pack', {
        evidence: [{ _tag: 'Artifact', path: 'a' }],
        run: () => doing(world, 'pack', write('a'))
      }),
      Program.step('tidy', { run: () => doing(world, 'tidy') }),
      Program.wave('checks', { unit: { run: () => doing(world, 'unit') } })
    )
    const environment = { ...process.environment, tree: { ...looking, content } }
    const outcome = ended(await patiently(process.clock, run(program, 'r', {})(environment)()), 'Interrupted')
    assert.equal(outcome.step, 'checks')
    ended(await newProcess(world).perform(resume(program, 'r')), 'Completed')
    assert.deepEqual(world.log, ['pack', 'tidy', 'unit'])
  })

  test('no group starts if the check before the wave fails', async () => {
    const world = newWorld()
    const program = guardedWave(world, { before: () => TE.left(new Error('no network')) })
    const outcome = ended(await newProcess(world).perform(run(program, 'r', {})), 'Failed')
    assert.deepEqual(
      outcome.failures.map(({ unit, error }) => [unit, error.message]),
      [['checks', 'not started, because a check failed: no network']]
    )
    const { decisions } = right(planResume(await stored(newProcess(world).storage), program))
    assert.deepEqual(
      decisions.slice(1, 3).map(({ _tag, unit, reason }) => [_tag, unit, reason]),
      [
        [
          'Retry',
          'checks',
          { _tag: 'Failed', message: 'not started, because a check failed: no network', attempts: 1 }
        ],
        ['Run', 'checks/unit', { _tag: 'NotStarted' }]
      ]
    )
    assert.deepEqual(world.log, ['pack'])
    ended(await newProcess(world).perform(resume(guardedWave(world, {}), 'r')), 'Completed')
    assert.deepEqual(world.log, ['pack', 'unit', 'lint', 'publish'])
  })

  test('a wave is recorded only when its checks hold; until then its groups are recorded and do not run again', async () => {
    const world = newWorld()
    const program = () => guardedWave(world, { expect: { files: ['report.txt'], commits: 2 } })
    const outcome = ended(await newProcess(world).perform(run(program(), 'r', {})), 'Failed')
    assert.equal(outcome.failures[0]?.error.message, 'it ran, but a check failed: report.txt is missing')
    assert.deepEqual(world.log, ['pack', 'unit', 'lint'])
    ended(await newProcess(world).perform(resume(program(), 'r')), 'Failed')
    write('report.txt')(world.tree)
    const { checkpoint } = ended(await newProcess(world).perform(resume(program(), 'r')), 'Completed')
    assert.deepEqual(world.log, ['pack', 'unit', 'lint', 'publish'])
    const wave = [...checkpoint.completedSteps].find(({ unit }) => unit === 'checks')
    assert.deepEqual(wave?.evidence, [{ _tag: 'File', path: 'report.txt' }])
  })

  test('commits of groups are counted once, even after a resume', async () => {
    const world = newWorld()
    const program = () => guardedWave(world, { expect: { commits: 3 } })
    const outcome = ended(await newProcess(world).perform(run(program(), 'r', {})), 'Failed')
    assert.equal(outcome.failures[0]?.error.message, 'it ran, but a check failed: it made 2 commits, not 3')
    const next = ended(await newProcess(world).perform(resume(program(), 'r')), 'Failed')
    assert.equal(next.failures[0]?.error.message, 'it ran, but a check failed: it made 2 commits, not 3')
  })

  test('a stop during a check is an interruption, not a failure', async () => {
    const world = newWorld()
    const process = newProcess(world)
    const program = guardedWave(world, {
      after: () =>
        pipe(
          TE.fromIO(() => process.stop()),
          TE.chain(() => TE.left(new Error('stopped')))
        )
    })
    const outcome = ended(await process.perform(run(program, 'r', {})), 'Interrupted')
    assert.equal(outcome.step, 'checks')
    ended(await newProcess(world).perform(resume(guardedWave(world, {}), 'r')), 'Completed')
    assert.deepEqual(world.log, ['pack', 'unit', 'lint', 'publish'])
  })

  test('a group whose commit is missing runs again, and the wave is checked again', async () => {
    const world = newWorld()
    const program = () => guardedWave(world, { expect: { commits: 2 } })
    ended(await newProcess(world).perform(run(program(), 'r', {})), 'Completed')
    world.tree.commits = ['u', 'other']
    world.log.length = 0
    ended(await newProcess(world).perform(resume(program(), 'r')), 'Completed')
    assert.deepEqual(world.log, ['lint', 'publish'])
  })
})

describe('a check of evidence', () => {
  /** A tree that counts its queries. */
  const counting = (tree: WorkingTree): { readonly tree: WorkingTree; readonly asked: Array<string> } => {
    const asked: Array<string> = []
    const noting = <A>(name: string, answer: A): A => {
      asked.push(name)
      return answer
    }
    return {
      asked,
      tree: {
        ...tree,
        content: (path, signal) => noting('content', tree.content(path, signal)),
        has: (path) => noting('has', tree.has(path)),
        missingCommits: (hashes) => noting('missingCommits', tree.missingCommits(hashes))
      }
    }
  }

  test('collectEvidence looks up all commits in one call and each file once, and nothing if no evidence is recorded', async () => {
    const world = newWorld()
    const names = Array.from({ length: 50 }, (_, index) => `g${index}`)
    const leaving = Program.fromSteps('wide', [
      Program.waveOf(
        'all',
        names.map((name) => ({
          ...Program.task(name, {
            evidence: [
              { _tag: 'File', path: name },
              { _tag: 'Commit', hash: `commit of ${name}` }
            ],
            run: () =>
              doing(world, name, (tree) => {
                tree.files.set(name, name)
                tree.commits = [...tree.commits, `commit of ${name}`]
              })
          }),
          needs: []
        }))
      )
    ])
    const process = newProcess(world)
    ended(await process.perform(run(leaving, 'r', {})), 'Completed')
    const { tree, asked } = counting(memoryTree(world.tree))
    right(await collectEvidence(await stored(process.storage))({ ...process.environment, tree })())
    assert.deepEqual(
      asked.filter((name) => name !== 'has'),
      ['missingCommits']
    )
    assert.equal(asked.filter((name) => name === 'has').length, 50)

    const plain = newProcess()
    ended(
      await plain.perform(run(pipe(Program.start('p'), Program.step('a', { run: () => TE.right(1) })), 'r', {})),
      'Completed'
    )
    const nothing = counting(memoryTree(plain.world.tree))
    right(await collectEvidence(await stored(plain.storage))({ ...plain.environment, tree: nothing.tree })())
    assert.deepEqual(nothing.asked, [])
  })
})
