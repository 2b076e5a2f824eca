/** Checks during which the run is stopped, times out or crashes, and checks of a working tree that throws. */
import assert from 'node:assert/strict'
import { pipe } from 'fp-ts/lib/function.js'
import * as TE from 'fp-ts/lib/TaskEither.js'
import { describe, test } from 'vitest'
import type { CheckOptions } from '../../src/executor/program/UnitChecks.js'
import type { CheckAnswer, WorkingTree } from '../../src/index.js'
import type { TreeUnreadable } from '../../src/ports/WorkingTree.js'
import { Program, resume, run } from '../../src/index.js'
import type { Process, World } from './fixtures.js'
import { ended, newProcess, newWorld, refused } from './fixtures.js'

const working = (world: World, name = 'work') => TE.fromIO(() => void world.log.push(name))

const no = TE.left(new Error('no'))

/** A step, or a wave of one group, with checks around it. */
const around = (kind: 'task' | 'wave', world: World, checks: CheckOptions<unknown>) => {
  const unit = Program.task('unit', { run: () => working(world), ...(kind === 'task' ? checks : {}) })
  return Program.fromSteps('looked', [
    kind === 'task' ? unit : Program.waveOf('unit', [{ ...unit, needs: [] }], checks)
  ])
}

describe.each(['task', 'wave'] as const)('a stop during a check of a %s', (kind) => {
  test('if the run is stopped during a check, the run is interrupted and the result of the check does not count', async () => {
    const world = newWorld()
    const process = newProcess(world)
    const after = () =>
      pipe(
        TE.fromIO(() => process.stop()),
        TE.chain(() => no)
      )
    ended(
      await process.perform(run(around(kind, world, { onCheckFailure: 'continue', after }), 'r', {})),
      'Interrupted'
    )
    assert.ok(process.events.every(({ _tag }) => _tag !== 'CheckFailed'))
  })

  test('if the run is stopped during a check, no work that waited for the check starts', async () => {
    const world = newWorld()
    const process = newProcess(world)
    const before = () =>
      pipe(
        TE.fromIO(() => process.stop()),
        TE.chain(() => no)
      )
    ended(
      await process.perform(run(around(kind, world, { onCheckFailure: 'continue', before }), 'r', {})),
      'Interrupted'
    )
    assert.deepEqual(world.log, [])
  })

  test('if the run is stopped during a check, an open prompt ends and no new one is shown', async () => {
    for (const stopped of ['before', 'while'] as const) {
      const world = newWorld()
      let asked = 0
      const process = newProcess(world, {
        onCheckFailed: () => {
          asked += 1
          process.stop()
          return new Promise<CheckAnswer>(() => undefined)
        }
      })
      const after = () =>
        pipe(
          TE.fromIO(() => (stopped === 'before' ? process.stop() : undefined)),
          TE.chain(() => no)
        )
      ended(await process.perform(run(around(kind, world, { after }), 'r', {})), 'Interrupted')
      assert.equal(asked, stopped === 'before' ? 0 : 1)
    }
  })
})

describe('a question about a check', () => {
  const slowly = (world: World, process: () => Process, workMillis: number) =>
    pipe(
      Program.start('slow'),
      Program.step('unit', {
        timeoutMillis: 1000,
        before: () =>
          pipe(
            process().clock.sleep(400, never),
            TE.fromTask,
            TE.chain(() => no)
          ),
        run: ({ signal }) =>
          pipe(
            TE.fromTask(process().clock.sleep(workMillis, signal)),
            TE.chain(() => (signal.aborted ? no : working(world)))
          )
      })
    )
  const never = new AbortController().signal
  const thinking = (world: World): Process => {
    const process: Process = newProcess(world, {
      onCheckFailed: async () => {
        await process.clock.sleep(60_000, never)()
        return 'continue'
      }
    })
    return process
  }

  test('the time of a prompt about a check does not count toward the timeout', async () => {
    const world = newWorld()
    const process = thinking(world)
    ended(
      await process.perform(
        run(
          slowly(world, () => process, 500),
          'r',
          {}
        )
      ),
      'Completed'
    )
    assert.deepEqual(world.log, ['work'])
  })

  test('after a prompt about a check the attempt has only the rest of its timeout', async () => {
    const world = newWorld()
    const process = thinking(world)
    const { failures } = ended(
      await process.perform(
        run(
          slowly(world, () => process, 700),
          'r',
          {}
        )
      ),
      'Failed'
    )
    assert.equal(failures[0]?.error.code, 'TIMEOUT')
  })
})

describe('an interrupted wave with groups in flight', () => {
  const wave = (world: World, isOpen: boolean) =>
    pipe(
      Program.start('waves'),
      Program.wave(
        'wave',
        {
          once: { idempotent: false, run: () => working(world, 'once') },
          twice: { run: () => working(world, 'twice') }
        },
        { before: () => (isOpen ? TE.right(undefined) : no) }
      )
    )

  test('if the check of an interrupted wave fails on a resume, the wave continues when the check passes, and needs no second answer', async () => {
    const world = newWorld()
    const process = newProcess(world)
    const hanging = pipe(
      Program.start('waves'),
      Program.wave('wave', {
        once: { idempotent: false, run: () => () => new Promise<never>(() => undefined) },
        twice: { run: () => () => new Promise<never>(() => undefined) }
      })
    )
    const running = process.perform(run(hanging, 'r', {}))
    setTimeout(() => process.stop(), 20)
    ended(await running, 'Interrupted')
    const again = { confirm: new Map([['wave/once', { _tag: 'Again' } as const]]) }
    const outcome = ended(await newProcess(world).perform(resume(wave(world, false), 'r', again)), 'Failed')
    // The answer for "once" still counts: the unit has not run since.
    assert.deepEqual(
      outcome.failures.map(({ unit, outcome: done }) => [unit, done]),
      [
        ['wave/twice', 'unknown'],
        ['wave', 'notApplied']
      ]
    )
    ended(await newProcess(world).perform(resume(wave(world, true), 'r')), 'Completed')
    assert.deepEqual(world.log.toSorted(), ['once', 'twice'])
  })
})

describe('a check with the retry policy', () => {
  test.each([
    ['before', 'the groups of the wave start as soon as the check passes', [1, 0]],
    ['after', 'the groups of the wave run again before each repetition', [3, 3]]
  ] as const)('under the retry policy a check %s a wave runs at most three times, and %s', async (when, _, ran) => {
    for (const [wrong, outcome, times] of [
      [2, 'Completed', ran[0]],
      [3, 'Failed', ran[1]]
    ] as const) {
      const world = newWorld()
      let looks = 0
      const look = () => (++looks <= wrong ? no : TE.right(undefined))
      const program = around('wave', world, { onCheckFailure: 'retry', [when]: look })
      ended(await newProcess(world).perform(run(program, 'r', {})), outcome)
      assert.equal(looks, 3)
      assert.equal(world.log.length, times)
    }
  })

  test('the retry policy of checks does not retry a failure of the step itself', async () => {
    const world = newWorld()
    const lost = Object.assign(new Error('lost'), { code: 'ECONNRESET' })
    const program = pipe(
      Program.start('lossy'),
      Program.step('unit', {
        onCheckFailure: 'retry',
        run: () =>
          pipe(
            working(world),
            TE.chain(() => TE.left(lost))
          )
      })
    )
    ended(await newProcess(world).perform(run(program, 'r', {})), 'Failed')
    assert.deepEqual(world.log, ['work'])
  })
})

describe('a tree', () => {
  const treeOf = (part: Partial<WorkingTree>): WorkingTree => ({ ...newProcess().environment.tree, ...part })

  test.each(['task', 'wave'] as const)(
    'a working tree that throws fails the check of a %s, and a resume that reads evidence is refused with TreeUnreadable',
    async (kind) => {
      const world = newWorld()
      const tree = treeOf({
        has: () => {
          throw new Error('out of order')
        }
      })
      const program = around(kind, world, { expect: { files: ['a'] } })
      const outcome = ended(await newProcess(world, { tree }).perform(run(program, 'r', {})), 'Failed')
      assert.match(outcome.failures[0]?.error.message ?? '', /cannot be read: out of order/)
      world.tree.files.set('a', 'a')
      ended(await newProcess(world).perform(resume(program, 'r')), 'Completed')
      const error = refused(await newProcess(world, { tree }).perform(resume(program, 'r')), 'TreeUnreadable')
      assert.equal(error.code, 'THREW')
    }
  )

  test('a step fails with the outcome notApplied if the working tree is unreadable before it starts', async () => {
    const world = newWorld()
    const error: TreeUnreadable = { _tag: 'TreeUnreadable', where: '/', code: 'EACCES', why: 'no', cause: undefined }
    const program = pipe(
      Program.start('one'),
      Program.step('publish', { idempotent: false, expect: { commits: 1 }, run: () => working(world) })
    )
    const process = newProcess(world, { tree: treeOf({ head: TE.left(error) }) })
    const outcome = ended(await process.perform(run(program, 'r', {})), 'Failed')
    assert.equal(outcome.failures[0]?.outcome, 'notApplied')
    assert.deepEqual(world.log, [])
  })
})

test.each(['task', 'wave'] as const)('evidence of a %s that is not an array is a failed check', async (kind) => {
  const world = newWorld()
  const evidence = (() => Promise.resolve([])) as never
  const program = around(kind, world, { evidence } as never)
  const outcome = ended(await newProcess(world).perform(run(program, 'r', {})), 'Failed')
  assert.match(outcome.failures[0]?.error.message ?? '', /its `evidence` function must return an array/)
})

test('a check fails if the path of evidence is empty', async () => {
  const world = newWorld()
  world.tree.files.set('', 'the folder')
  for (const _tag of ['Artifact', 'File'] as const) {
    const program = around('task', world, { evidence: [{ _tag, path: '' }] } as never)
    const outcome = ended(await newProcess(world).perform(run(program, _tag.toLowerCase(), {})), 'Failed')
    assert.equal(outcome.failures[0]?.error.message, 'it ran, but a check failed: an empty path is missing')
  }
})
