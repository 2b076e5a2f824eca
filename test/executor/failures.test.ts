import assert from 'node:assert/strict'
import * as E from 'fp-ts/lib/Either.js'
import { pipe } from 'fp-ts/lib/function.js'
import type { TaskEither } from 'fp-ts/lib/TaskEither.js'
import * as TE from 'fp-ts/lib/TaskEither.js'
import { afterEach, beforeEach, describe, test } from 'vitest'
import { memoryRequests } from '../../src/adapters/memory.js'
import type { CheckpointStorage, Environment } from '../../src/index.js'
import type * as ProgramType from '../../src/executor/program/Program.js'
import * as CheckpointState from '../../src/domain/checkpoint/CheckpointState.js'
import * as RunError from '../../src/public/RunError.js'
import type { RunError as AnyError } from '../../src/executor/errors/RunError.js'
import { Program, resume, run } from '../../src/index.js'
import type { Fault } from '../../src/testing/faults.js'
import { withFaults } from '../../src/testing/faults.js'
import { nameOf } from '../../src/domain/workflow/Unit.js'
import type { World } from './fixtures.js'
import {
  ended,
  failingSave,
  group,
  newProcess,
  newWorld,
  patiently,
  policy,
  quiet,
  refused,
  right,
  stored,
  task
} from './fixtures.js'

// An unhandled rejection would end the host's process.
const unhandled: Array<unknown> = []
const onUnhandled = (reason: unknown): void => void unhandled.push(reason)

beforeEach(() => {
  unhandled.length = 0
  process.on('unhandledRejection', onUnhandled)
})

afterEach(async () => {
  await quiet()
  await quiet()
  process.off('unhandledRejection', onUnhandled)
  assert.deepEqual(unhandled, [])
})

const three = (world: World): ProgramType.Program<unknown> =>
  Program.fromSteps(
    'three',
    ['one', 'two', 'three'].map((name) => task(name, { run: () => TE.right(world.log.push(name)) }))
  )

const canBeClaimed = async (storage: CheckpointStorage): Promise<boolean> =>
  E.isRight(await storage.claim('r', { host: 'other', pid: 1 })())

describe('the message of a storage error', () => {
  const system = Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' })
  test.each([
    [
      'UNKNOWN',
      'an error',
      new Error('Dynamic require of "path" is not supported'),
      'UNKNOWN: Dynamic require of "path" is not supported'
    ],
    ['UNKNOWN', 'an error of two lines', new Error('first line\nsecond line'), 'UNKNOWN: first line'],
    ['UNKNOWN', 'a string', 'it broke', 'UNKNOWN: it broke'],
    ['UNKNOWN', 'none', undefined, 'UNKNOWN'],
    ['THREW', 'what was thrown', new TypeError('x is not a function'), 'threw: x is not a function'],
    ['ENOSPC', 'a system error', system, 'ENOSPC: no space left on device, write (the disk is full: free some space)'],
    [
      'SQLITE_FULL',
      'an error',
      new Error('database or disk is full'),
      'SQLITE_FULL: database or disk is full (free some space)'
    ],
    [
      'ENOTDIR',
      'an error',
      new Error('not a directory'),
      'ENOTDIR: not a directory (a file is where a folder should be: move it away, or choose another folder)'
    ]
  ])('the message of a storage error with the code %s includes its cause: %s', (code, _, cause, expected) => {
    const facts = { where: '/state/x', operation: 'lock', code, cause }
    const call = code === 'THREW' ? 'lock ' : 'lock: '
    assert.equal(RunError.describe({ _tag: 'ReadFailed', ...facts }), `Reading /state/x failed: ${call}${expected}`)
    const holds = {
      no: 'Earlier saves are intact; nothing of this write is stored',
      unknown: 'Earlier saves are intact. It is unknown whether this write took effect; the next resume determines it'
    }
    for (const committed of ['no', 'unknown'] as const)
      assert.equal(
        RunError.describe({ _tag: 'WriteFailed', committed, ...facts }),
        `Writing /state/x failed: ${call}${expected}. ${holds[committed]}`
      )
  })
})

describe('a save that fails', () => {
  test.each([1, 2, 3, 4])(
    'if save %i fails, the run ends at once with the error of the store, and can be resumed',
    async (n) => {
      const world = newWorld()
      const first = newProcess(world, { around: failingSave(n) })
      const error = refused(await first.perform(run(three(world), 'r', {})), 'WriteFailed')
      assert.equal(error.code, 'ENOSPC')
      assert.equal(world.log.length, n - 1)
      assert.equal(first.calls.filter((call) => call === 'save').length, n)
      assert.equal(first.calls.at(-1), 'release')
      assert.ok(!first.events.some((event) => event._tag === 'RunFailed' || event._tag === 'RunCompleted'))
      const next = newProcess(world)
      ended(await next.perform(n === 1 ? run(three(world), 'r', {}) : resume(three(world), 'r')), 'Completed')
      // The step whose completion could not be saved runs again.
      const again = ['one', 'two', 'three'].slice(Math.max(0, n - 2))
      assert.deepEqual(world.log, [...['one', 'two', 'three'].slice(0, n - 1), ...again])
    }
  )

  describe('a failed save followed by a failed release', () => {
    const failing = (release: Fault) => (storage: CheckpointStorage) =>
      withFaults(storage, [
        { call: 'save', nth: 2, fault: { _tag: 'Fail', when: 'before' } },
        { call: 'release', nth: 1, fault: release }
      ])

    test('a failed release is reported as an event, and the same process can resume the run', async () => {
      for (const when of ['before', 'after'] as const) {
        const world = newWorld()
        const process = newProcess(world, { around: failing({ _tag: 'Fail', when }) })
        refused(await process.perform(run(three(world), 'r', {})), 'WriteFailed')
        const failed = process.events.filter((event) => event._tag === 'ReleaseFailed')
        assert.deepEqual(
          failed.map(({ runId, error }) => [runId, error._tag]),
          [['r', 'WriteFailed']]
        )
        ended(await process.perform(resume(three(world), 'r')), 'Completed')
        assert.equal(process.events.filter((event) => event._tag === 'ReleaseFailed').length, 1)
      }
    })

    test('a store that throws during the release counts as a failed release', async () => {
      const world = newWorld()
      let releases = 0
      const process = newProcess(world, {
        around: (storage) => ({
          ...failing({ _tag: 'Delay', millis: 0 })(storage),
          release: (claim) => (releases++ === 0 ? assert.fail('it throws') : storage.release(claim))
        })
      })
      refused(await process.perform(run(three(world), 'r', {})), 'WriteFailed')
      const failed = process.events.find((event) => event._tag === 'ReleaseFailed')
      assert.ok(failed?.error._tag === 'WriteFailed' && failed.error.code === 'THREW', JSON.stringify(failed))
      ended(await process.perform(resume(three(world), 'r')), 'Completed')
    })

    test('a second resume in the same process is refused while the first one runs', async () => {
      const world = newWorld()
      const process = newProcess(world, { around: failing({ _tag: 'Fail', when: 'before' }) })
      refused(await process.perform(run(three(world), 'r', {})), 'WriteFailed')
      let other: E.Either<AnyError, unknown> | undefined
      const program = Program.fromSteps(
        'three',
        ['one', 'two', 'three'].map((name) =>
          task(name, {
            run: () => async () => {
              other = await resume(three(world), 'r')(process.environment)()
              return E.right(name)
            }
          })
        )
      )
      ended(await process.perform(resume(program, 'r')), 'Completed')
      assert.ok(other !== undefined)
      refused(other, 'HeldBy')
    })
  })

  test('a failed save leaves the earlier saves intact', async () => {
    const world = newWorld()
    const process = newProcess(world, { around: failingSave(3) })
    refused(await process.perform(run(three(world), 'r', {})), 'WriteFailed')
    const { state, completedSteps } = await stored(process.storage)
    assert.deepEqual([state._tag, state.stepIndex, completedSteps.size], ['BeforeStep', 1, 1])
    assert.deepEqual(CheckpointState.inFlight(state).records, [{ unit: 'two', attempt: 1 }])
  })

  test('a step that is not idempotent and whose completion could not be saved needs confirmation', async () => {
    const world = newWorld()
    const program = Program.fromSteps('pay', [
      task('pay', { idempotent: false, run: () => TE.right(world.log.push('paid')) })
    ])
    refused(await newProcess(world, { around: failingSave(2) }).perform(run(program, 'r', {})), 'WriteFailed')
    refused(await newProcess(world).perform(resume(program, 'r')), 'Unconfirmed')
    const confirm = new Map([['pay', { _tag: 'Done', output: 1 } as const]])
    ended(await newProcess(world).perform(resume(program, 'r', { confirm })), 'Completed')
    assert.deepEqual(world.log, ['paid'])
  })

  test('a failed save stops the sibling groups, waits for them, and saves nothing more', async () => {
    const world = newWorld()
    const process = newProcess(world, { around: failingSave(2) })
    const program = Program.fromSteps('w', [
      Program.waveOf('all', [
        group('quick', { run: () => TE.right('quick') }),
        group('slow', {
          run: ({ signal }) =>
            pipe(
              TE.fromTask(process.clock.sleep(60_000, signal)),
              TE.chainFirstTaskK(() => process.clock.sleep(500, new AbortController().signal)),
              TE.chain(() => {
                world.log.push(signal.aborted ? 'slow was told' : 'slow was not told')
                return TE.left('stopped')
              })
            )
        })
      ])
    ])
    refused(await process.perform(run(program, 'r', {})), 'WriteFailed')
    assert.deepEqual(world.log, ['slow was told'])
    assert.equal(process.calls.filter((call) => call === 'save').length, 2)
    assert.deepEqual(CheckpointState.inFlight((await stored(process.storage)).state).size, 2)
  })

  test('a failed save between two attempts ends the run and the sibling groups', async () => {
    const world = newWorld()
    const flaky = { retry: policy({ attempts: 3, delayMillis: 10 }), run: () => TE.left({ status: 500 }) }
    const alone = newProcess(newWorld(), { around: failingSave(2) })
    refused(await alone.perform(run(Program.fromSteps('a', [task('flaky', flaky)]), 'r', {})), 'WriteFailed')
    for (const n of [2, 3]) {
      const process = newProcess({ ...world, data: newWorld().data }, { around: failingSave(n) })
      const slow: TaskEither<unknown, unknown> = () => new Promise(() => undefined)
      const program = Program.fromSteps('w', [
        Program.waveOf('all', [group('flaky', flaky), group('slow', { run: () => slow })])
      ])
      refused(await process.perform(run(program, 'r', {})), 'WriteFailed')
      assert.equal(process.calls.filter((call) => call === 'save').length, n)
    }
  })

  test('a store that throws counts as a failed save: nothing hangs or rejects unhandled', async () => {
    const throwing = (storage: CheckpointStorage): CheckpointStorage => {
      let count = 0
      return {
        ...storage,
        save: (claim, revisions) => () => {
          count += 1
          if (count === 2) throw new Error('a bug of the store')
          return storage.save(claim, revisions)()
        }
      }
    }
    const world = newWorld()
    const process = newProcess(world, { around: throwing })
    const error = refused(await process.perform(run(three(world), 'r', {})), 'WriteFailed')
    assert.match(String(error.cause), /a bug of the store/)
    const waves = newProcess(newWorld(), { around: throwing })
    const program = Program.fromSteps('w', [
      Program.waveOf('all', [
        group('a', { run: () => TE.right(1) }),
        group('b', { run: () => () => new Promise(() => undefined) })
      ])
    ])
    refused(await waves.perform(run(program, 'r', {})), 'WriteFailed')
  })

  test('a release that fails or throws does not change the outcome', async () => {
    for (const release of [
      () => Promise.reject(new Error('no')),
      () => Promise.resolve(E.left({ _tag: 'WriteFailed' }))
    ]) {
      const process = newProcess(newWorld(), { around: (storage) => ({ ...storage, release: () => release as never }) })
      ended(await process.perform(run(three(process.world), 'r', {})), 'Completed')
    }
  })
})

describe('the claim', () => {
  test('the claim is released however the run ends', async () => {
    const stop = Program.fromSteps('x', [task('x', { run: () => TE.left('no') })])
    const thrown = Program.fromSteps('x', [task('x', { run: () => assert.fail('thrown') })])
    const fine = Program.fromSteps('x', [task('x', { run: () => TE.right(1) })])
    for (const [program, tag] of [
      [stop, 'Failed'],
      [thrown, 'Failed'],
      [fine, 'Completed']
    ] as const) {
      const process = newProcess()
      ended(await process.perform(run(program, 'r', {})), tag)
      assert.equal(process.calls.filter((call) => call === 'release').length, 1)
      assert.ok(await canBeClaimed(process.storage))
    }
    const interrupted = newProcess()
    interrupted.stop()
    ended(await interrupted.perform(run(fine, 'r', {})), 'Interrupted')
    assert.ok(await canBeClaimed(interrupted.storage))
    const full = newProcess(newWorld(), { around: failingSave(1) })
    refused(await full.perform(run(fine, 'r', {})), 'WriteFailed')
    assert.ok(await canBeClaimed(full.storage))
  })
})

describe('an observer', () => {
  test.each<[string, () => void]>([
    ['throws', () => assert.fail('the observer')],
    ['rejects', () => Promise.reject(new Error('the observer'))]
  ])('an observer that %s on every event changes nothing', async (_, report) => {
    const process = newProcess(newWorld(), { events: { report } })
    ended(await process.perform(run(three(process.world), 'r', {})), 'Completed')
    assert.equal((await stored(process.storage)).completedSteps.size, 3)
    assert.ok(await canBeClaimed(process.storage))
  })
})

describe('the end of a step', () => {
  const rejecting = (reason: Error) => (): Promise<never> => Promise.reject(reason)

  const failing = async (
    make: () => TaskEither<unknown, unknown>,
    more: { readonly evidence?: () => [] } = {}
  ): Promise<CheckpointState.Failure> => {
    const process = newProcess()
    const outcome = ended(
      await process.perform(run(Program.fromSteps('x', [task('x', { ...more, run: make })]), 'r', {})),
      'Failed'
    )
    assert.deepEqual((await stored(process.storage)).state, outcome.checkpoint.state)
    return outcome.failures[0] ?? assert.fail()
  }

  test.each<[string, () => TaskEither<unknown, unknown>, string]>([
    ['throws when its function is called', () => assert.fail('thrown'), 'thrown'],
    ['throws when its TaskEither is started', () => () => assert.fail('thrown'), 'thrown'],
    ['rejects', () => rejecting(new Error('rejected')), 'rejected'],
    ['rejects with a string', () => rejecting('text' as unknown as Error), 'text'],
    ['rejects with undefined', () => rejecting(undefined as unknown as Error), 'failed with undefined'],
    ['fails with null', () => TE.left(null), 'failed with null'],
    ['fails with a number', () => TE.left(7), '7'],
    ['fails with a symbol', () => TE.left(Symbol('sign')), 'Symbol(sign)'],
    [
      'returns no Either',
      () => () => Promise.resolve('well') as never,
      'the step returned a function; return a value or a promise (with fp-ts, a TaskEither)'
    ],
    ['returns no promise', () => (() => E.left('sync')) as never, 'sync']
  ])('a step that %s fails the run with the message of its error', async (_, make, message) => {
    const failure = await failing(make)
    if (message !== '') assert.equal(failure.error.message, message)
  })

  test('the failure of a step has a message even if reading the thrown value throws', async () => {
    const { proxy, revoke } = Proxy.revocable({}, {})
    revoke()
    const failure = await failing(() => TE.left(proxy))
    assert.equal(typeof failure.error.message, 'string')
    const trap = {
      get _tag(): string {
        return assert.fail('do not touch')
      }
    }
    assert.equal(typeof (await failing(() => TE.left(trap))).error.message, 'string')
  })

  test('a step completes if its TaskEither returns a Right synchronously', async () => {
    const process = newProcess()
    const sync = (() => E.right('at once')) as unknown as TaskEither<unknown, unknown>
    const { checkpoint } = ended(
      await process.perform(run(Program.fromSteps('x', [task('x', { run: () => sync })]), 'r', {})),
      'Completed'
    )
    assert.equal([...checkpoint.completedSteps][0]?.output, 'at once')
  })

  test('a step that throws in a wave fails only its group', async () => {
    const process = newProcess()
    const program = Program.fromSteps('w', [
      Program.waveOf('all', [
        group('bad', { run: () => assert.fail('thrown') }),
        group('good', { run: () => TE.right(1) })
      ])
    ])
    const outcome = ended(await process.perform(run(program, 'r', {})), 'Failed')
    assert.deepEqual(
      outcome.failures.map(({ unit }) => nameOf(unit)),
      ['bad']
    )
    assert.deepEqual(
      [...outcome.checkpoint.completedSteps].map(({ unit }) => nameOf(unit)),
      ['good']
    )
  })

  test('a step that never ends blocks only its own run', async () => {
    const stuck = newProcess()
    const forever = Program.fromSteps('x', [task('x', { run: () => () => new Promise(() => undefined) })])
    const running = run(forever, 'r', {})(stuck.environment)()
    const other = newProcess()
    ended(await other.perform(run(three(other.world), 'r', {})), 'Completed')
    stuck.stop()
    ended(await patiently(stuck.clock, running), 'Interrupted')
  })

  test('a step that fails after the grace of a stop has no effect', async () => {
    const process = newProcess(newWorld(), { graceMillis: 100 })
    let fail: (error: Error) => void = () => undefined
    const late = Program.fromSteps('x', [task('x', { run: () => () => new Promise((_, reject) => (fail = reject)) })])
    const running = run(late, 'r', {})(process.environment)()
    await quiet()
    process.stop()
    ended(await patiently(process.clock, running), 'Interrupted')
    const before = right(await process.storage.history('r')()).length
    fail(new Error('too late'))
    await quiet()
    assert.equal(right(await process.storage.history('r')()).length, before)
  })

  test('an evidence function that returns a promise which rejects fails the check of its step', async () => {
    const evidence = (() => Promise.reject(new Error('no'))) as unknown as () => []
    const { error } = await failing(() => TE.right(1), { evidence })
    assert.match(error.message, /its `evidence` function must return an array/)
  })

  test('a refused wait that a sub-step does not await is ignored', async () => {
    const process = newProcess()
    const program = pipe(
      Program.start('w'),
      Program.step('x', ({ step }) =>
        step('a', (context) => {
          const { sleep, waitFor } = context as unknown as Readonly<Record<string, (name: string) => unknown>>
          void [sleep?.('nap'), waitFor?.('word')]
          return 'done'
        })
      )
    )
    assert.deepEqual(ended(await process.perform(run(program, 'r', {})), 'Completed').outputs, { x: 'done' })
  })

  test('a promise of an untyped inbox or async context that rejects is ignored', async () => {
    const down = (): Promise<never> => Promise.reject(new Error('down'))
    const asyncContext = { run: (_: unknown, act: () => unknown) => [act(), down()][1], get: () => undefined }
    const untyped = { requests: { ...memoryRequests(), isAny: down }, asyncContext }
    const process = newProcess(newWorld(), untyped as unknown as Pick<Environment, 'requests'>)
    const program = pipe(
      Program.start('x'),
      Program.step('x', ({ step }) => step('a', () => 'done'))
    )
    assert.deepEqual(ended(await process.perform(run(program, 'r', {})), 'Completed').outputs, { x: 'done' })
  })

  test('a call of step that a check of a wave does not await is ignored', async () => {
    const process = newProcess()
    const before = ({ step }: { readonly step: (name: string, act: () => number) => unknown }): void =>
      void step('a', () => 1)
    const program = pipe(Program.start('w'), Program.wave('all', { one: () => 1 }, { before }))
    ended(await process.perform(run(program, 'r', {})), 'Completed')
  })
})
