import assert from 'node:assert/strict'
import * as E from 'fp-ts/lib/Either.js'
import { pipe } from 'fp-ts/lib/function.js'
import type { TaskEither } from 'fp-ts/lib/TaskEither.js'
import * as TE from 'fp-ts/lib/TaskEither.js'
import { describe, test } from 'vitest'
import type { Clock } from '../../src/index.js'
import type * as ProgramType from '../../src/executor/program/Program.js'
import type * as RunOutcome from '../../src/executor/RunOutcome.js'
import * as CheckpointState from '../../src/domain/checkpoint/CheckpointState.js'
import { Program, resume, RetryPolicy, run, StepError, StepFailure } from '../../src/index.js'
import type { LooseSpec, World } from './fixtures.js'
import {
  ended,
  fakeClock,
  group,
  killingAt,
  newLife,
  newProcess,
  newWorld,
  patiently,
  policy,
  quiet,
  refused,
  right,
  seconds,
  START,
  statesOf,
  stored,
  task
} from './fixtures.js'

const one = (spec: LooseSpec): ProgramType.Program<unknown> => Program.fromSteps('one', [task('it', spec)])

const http = (status: number): unknown => Object.assign(new Error(`HTTP ${status}`), { status })

/** A step that logs its starts and acts by the script for each attempt. */
const scripted =
  (world: World, now: () => number, script: ReadonlyArray<TaskEither<unknown, unknown>>): LooseSpec['run'] =>
  ({ attempt }) => {
    const turn = world.log.length
    world.log.push(`${attempt}@${now() - START}`)
    return script[turn] ?? TE.left('more than the script has')
  }

const never: TaskEither<never, never> = () => new Promise(() => undefined)

const failure = (outcome: RunOutcome.RunOutcome): CheckpointState.Failure => {
  const [first, ...more] = outcome._tag === 'Failed' ? outcome.failures : []
  assert.ok(first !== undefined && more.length === 0)
  return first
}

describe('retried failures', () => {
  test.each<[string, unknown, number]>([
    ['500', { status: 500 }, 3],
    ['503', { status: 503 }, 3],
    ['429', { status: 429 }, 3],
    ['overload', { name: 'overloaded_error' }, 3],
    ['a rate limit', { code: 'rate_limit_error' }, 3],
    ['a timeout', Object.assign(new Error('late'), { name: 'TimeoutError' }), 3],
    ['a reset', { code: 'ECONNRESET' }, 3],
    ['an error that a step declares transient', StepFailure.transient(StepError.make('E', 'x')), 3],
    ['401', { status: 401 }, 1],
    ['400', { status: 400 }, 1],
    ['a 500 in the message', new Error('HTTP 500 Internal Server Error'), 1],
    ['an error that a step declares permanent', StepFailure.permanent(StepError.make('E', 'x', { code: '500' })), 1]
  ])('an error is retried if and only if it may be transient: %s', async (_, error, attempts) => {
    const process = newProcess()
    let count = 0
    const program = one({
      retry: policy({ attempts: 3, delayMillis: 10 }),
      run: () => {
        count += 1
        return TE.left(error)
      }
    })
    const outcome = ended(await process.perform(run(program, 'r', {})), 'Failed')
    assert.equal(count, attempts)
    assert.equal(outcome.retryable, attempts > 1)
    assert.equal(failure(outcome).attempts.length, attempts)
  })

  test('without a policy nothing is retried', async () => {
    const process = newProcess()
    const program = one({ run: scripted(process.world, process.clock.now, [TE.left(http(500)), TE.right(1)]) })
    const outcome = ended(await process.perform(run(program, 'r', {})), 'Failed')
    assert.equal(process.world.log.length, 1)
    assert.equal(outcome.retryable, true)
  })

  test('a step that fails twice with 500 and then succeeds records three attempts and keeps no error', async () => {
    const process = newProcess()
    const script = [TE.left(http(500)), TE.left(http(500)), TE.right('well')]
    const program = one({ retry: RetryPolicy.standard, run: scripted(process.world, process.clock.now, script) })
    const { checkpoint } = ended(await process.perform(run(program, 'r', {})), 'Completed')
    assert.deepEqual(process.world.log, ['1@0', `2@${seconds(5)}`, `3@${seconds(15)}`])
    const [record] = [...checkpoint.completedSteps]
    assert.equal(record?.attempts, 3)
    assert.deepEqual(CheckpointState.failures((await stored(process.storage)).state).records, [])
  })

  test('a step that is not idempotent is retried only after an attempt that did nothing', async () => {
    const unknown = newProcess()
    const retry = policy({ attempts: 3, delayMillis: 10 })
    const reset = [TE.left({ code: 'ECONNRESET' }), TE.right(1)]
    const first = one({ idempotent: false, retry, run: scripted(unknown.world, unknown.clock.now, reset) })
    const failed = ended(await unknown.perform(run(first, 'r', {})), 'Failed')
    assert.equal(unknown.world.log.length, 1)
    assert.equal(failure(failed).outcome, 'unknown')
    refused(await unknown.perform(resume(first, 'r')), 'Unconfirmed')

    const refusedConnection = newProcess()
    const { world, clock } = refusedConnection
    const script = [
      TE.left(StepFailure.transient(StepError.make('E', 'refused', { code: 'ECONNREFUSED' }), 'notApplied')),
      TE.left(StepFailure.transient(StepError.make('E', 'x'), 'notApplied')),
      TE.right(1)
    ]
    const second = one({ idempotent: false, retry, run: scripted(world, clock.now, script) })
    ended(await refusedConnection.perform(run(second, 'r', {})), 'Completed')
    assert.equal(world.log.length, 3)
  })

  test('a malformed failure of a step is recorded as plain, bounded data', async () => {
    const bad = (error: unknown, outcome: unknown) => TE.left({ _tag: 'Permanent', error, outcome })
    const errors: ReadonlyArray<readonly [unknown, unknown]> = [
      [undefined, 'unknown'],
      ['text', 'unknown'],
      [{ name: 'E' }, 'sometimes'],
      [{ name: 'E', message: 'x'.repeat(1_000_000), stack: 'y'.repeat(1_000_000) }, 'unknown'],
      [{ name: 'E', message: 'x', data: { at: new Date(0), big: 1n } }, 'unknown'],
      [{ name: 'E', message: 'x', data: { text: 'z'.repeat(1_000_000) } }, 'unknown']
    ]
    for (const [error, outcome] of errors) {
      const process = newProcess()
      const failed = ended(await process.perform(run(one({ run: () => bad(error, outcome) }), 'r', {})), 'Failed')
      const found = failure(failed)
      assert.equal(found.outcome, 'unknown')
      assert.ok(JSON.stringify(found.error).length <= 65_536)
      assert.equal(typeof found.error.message, 'string')
      assert.deepEqual((await stored(process.storage)).state, failed.checkpoint.state)
    }
  })
})

describe('time between attempts', () => {
  test('the delays follow the policy, with the jitter of the environment, and never exceed the cap', async () => {
    const delays = async (random: number): Promise<ReadonlyArray<number>> => {
      const process = newProcess(newWorld(), { random: () => random })
      const retry = policy({ attempts: 7, delayMillis: 5000, maxDelayMillis: 120_000, jitter: 0.25 })
      ended(await process.perform(run(one({ retry, run: () => TE.left(http(500)) }), 'r', {})), 'Failed')
      return process.events.flatMap((event) => (event._tag === 'StepRetrying' ? [event.delayMillis] : []))
    }
    assert.deepEqual(await delays(0.5), [5, 10, 20, 40, 80, 120].map(seconds))
    assert.deepEqual(await delays(0), [3.75, 7.5, 15, 30, 60, 90].map(seconds))
    assert.deepEqual(await delays(0.999999), [6.25, 12.5, 25, 50, 100, 120].map(seconds))
  })

  test('the time limit of a policy may end the attempts before their maximum number', async () => {
    const process = newProcess()
    const retry = policy({ _tag: 'Constant', attempts: 100, delayMillis: 1000, withinMillis: 3500 })
    ended(await process.perform(run(one({ retry, run: () => TE.left(http(500)) }), 'r', {})), 'Failed')
    assert.equal(process.events.filter(({ _tag }) => _tag === 'StepStarted').length, 4)
  })

  test('each attempt is durable before it starts, and Failed is recorded only after the last', async () => {
    const world = newWorld()
    const process = newProcess(world)
    const seen: Array<string> = []
    const program = one({
      retry: policy({ attempts: 3, delayMillis: 10 }),
      run: () =>
        TE.tryCatch(
          async () => {
            const { state } = await stored(process.storage)
            const attempts = CheckpointState.inFlight(state).records.map(({ attempt }) => attempt)
            seen.push(
              `${state._tag} ${attempts.join()}, failed before: ${CheckpointState.failures(state).records[0]?.attempts.length}`
            )
            throw http(500)
          },
          (error) => error
        )
    })
    ended(await process.perform(run(program, 'r', {})), 'Failed')
    assert.deepEqual(seen, [
      'BeforeStep 1, failed before: undefined',
      'BeforeStep 2, failed before: 1',
      'BeforeStep 3, failed before: 2'
    ])
    const tags = (await statesOf(process.storage)).map(({ state }) => state._tag)
    assert.deepEqual(tags, [...Array<string>(6).fill('BeforeStep'), 'Failed'])
  })

  test('the error history has the number, error, times and delay of each attempt', async () => {
    const process = newProcess()
    const script = [TE.left(http(500)), TE.left(http(502)), TE.left(http(503))]
    const program = one({
      retry: policy({ attempts: 3, delayMillis: 1000 }),
      run: scripted(process.world, process.clock.now, script)
    })
    const outcome = ended(await process.perform(run(program, 'r', {})), 'Failed')
    const at = (millis: number): string => new Date(START + millis).toISOString()
    const { attempts, error } = failure(outcome)
    assert.equal(error.message, 'HTTP 503')
    assert.deepEqual(
      attempts.map(({ error: { message, code }, ...rest }) => ({ ...rest, message, code })),
      [
        {
          attempt: 1,
          startedAt: at(0),
          failedAt: at(0),
          outcome: 'unknown',
          delayBeforeNextMillis: 1000,
          message: 'HTTP 500',
          code: '500'
        },
        {
          attempt: 2,
          startedAt: at(1000),
          failedAt: at(1000),
          outcome: 'unknown',
          delayBeforeNextMillis: 2000,
          message: 'HTTP 502',
          code: '502'
        },
        { attempt: 3, startedAt: at(3000), failedAt: at(3000), outcome: 'unknown', message: 'HTTP 503', code: '503' }
      ]
    )
  })
})

describe('timeouts', () => {
  test('each attempt has its own timeout, and a timeout is retried', async () => {
    const process = newProcess()
    const { world, clock } = process
    const program = one({
      timeoutMillis: 1000,
      retry: policy({ attempts: 3, delayMillis: 100 }),
      run: ({ signal, attempt }) => {
        world.log.push(`${attempt}@${clock.now() - START}`)
        return attempt === 3
          ? TE.right('well')
          : pipe(
              TE.fromTask(clock.sleep(5000, signal)),
              TE.chain(() => TE.left('stopped'))
            )
      }
    })
    ended(await process.perform(run(program, 'r', {})), 'Completed')
    assert.deepEqual(world.log, ['1@0', '2@1100', '3@2300'])
    const reported = process.events.flatMap((event) => (event._tag === 'StepRetrying' ? [event.error] : []))
    assert.deepEqual(
      reported.map(({ code, message }) => `${code}: ${message}`),
      ['TIMEOUT: timed out after 1000 ms', 'TIMEOUT: timed out after 1000 ms']
    )
  })

  test('the signal of an attempt has the reason of its timeout', async () => {
    const process = newProcess()
    let reason: unknown
    const program = one({
      timeoutMillis: 1000,
      run: ({ signal }) =>
        pipe(
          TE.fromTask(process.clock.sleep(5000, signal)),
          TE.chain(() => {
            reason = signal.reason
            return TE.left('stopped')
          })
        )
    })
    ended(await process.perform(run(program, 'r', {})), 'Failed')
    assert.equal((reason as DOMException).name, 'TimeoutError')
  })

  test('a step that ends before its timeout leaves no timer', async () => {
    const process = newProcess()
    const program = one({ timeoutMillis: 1000, run: () => TE.right(1) })
    ended(await process.perform(run(program, 'r', {})), 'Completed')
    assert.deepEqual(process.clock.sleeping(), [])
  })

  test('a step that exceeds its timeout but succeeds within the grace counts as completed', async () => {
    const process = newProcess()
    const program = one({
      timeoutMillis: 1000,
      run: () =>
        TE.fromTask(
          pipe(process.clock.sleep(1500, new AbortController().signal), (wait) => () => wait().then(() => 'well'))
        )
    })
    const { checkpoint } = ended(await process.perform(run(program, 'r', {})), 'Completed')
    assert.deepEqual(
      [...checkpoint.completedSteps].map(({ output }) => output),
      ['well']
    )
  })

  test('a step that ignores its timeout is abandoned after the grace and not retried, because it may still run', async () => {
    const process = newProcess(newWorld(), { graceMillis: 3000 })
    const program = one({
      timeoutMillis: 1000,
      retry: policy({ attempts: 5, delayMillis: 10 }),
      run: scripted(process.world, process.clock.now, [never])
    })
    const outcome = ended(await process.perform(run(program, 'r', {})), 'Failed')
    assert.equal(process.world.log.length, 1)
    assert.equal(process.clock.now() - START, 4000)
    assert.equal(failure(outcome).error.code, 'TIMEOUT')
    assert.equal(outcome.retryable, true)
  })

  test('an attempt that fails after both a timeout and a stop is recorded as timed out or as in flight, depending on which came first', async () => {
    const ends = async (stopAt: number): Promise<RunOutcome.RunOutcome> => {
      const process = newProcess()
      const deaf = pipe(
        TE.fromTask(process.clock.sleep(1500, new AbortController().signal)),
        TE.chain(() => TE.left('rolled back'))
      )
      const running = run(one({ timeoutMillis: 1000, run: () => deaf }), 'r', {})(process.environment)()
      await quiet()
      await process.clock.advance(stopAt)
      process.stop()
      return right(await patiently(process.clock, running))
    }
    const stopped = await ends(500)
    assert.ok(stopped._tag === 'Interrupted', stopped._tag)
    assert.deepEqual(CheckpointState.inFlight(stopped.checkpoint.state).records, [{ unit: 'it', attempt: 1 }])
    const timedOut = await ends(1200)
    assert.equal(failure(timedOut).error.code, 'TIMEOUT')
  })

  test('a timeout of a step that is not idempotent is not retried, and needs confirmation', async () => {
    const process = newProcess()
    const { world, clock } = process
    const program = one({
      idempotent: false,
      timeoutMillis: 1000,
      retry: policy({ attempts: 5, delayMillis: 10 }),
      run: ({ signal }) => {
        world.log.push('effect')
        return pipe(
          TE.fromTask(clock.sleep(5000, signal)),
          TE.chain(() => TE.left('stopped'))
        )
      }
    })
    const outcome = ended(await process.perform(run(program, 'r', {})), 'Failed')
    assert.equal(failure(outcome).outcome, 'unknown')
    refused(await newProcess(world).perform(resume(program, 'r')), 'Unconfirmed')
    assert.deepEqual(world.log, ['effect'])
  })

  test('a timeout of a step that is not idempotent needs no confirmation if the step then says that it did nothing', async () => {
    const process = newProcess()
    const { clock } = process
    const nothing = StepFailure.permanent(StepError.make('Unsent', 'nothing was sent'), 'notApplied')
    const program = one({
      idempotent: false,
      timeoutMillis: 1000,
      run: ({ signal, attempt }) =>
        pipe(
          TE.fromTask(clock.sleep(5000, signal)),
          TE.chain(() => (attempt === 1 ? TE.left(nothing) : TE.right('sent')))
        ),
      retry: policy({ attempts: 2, delayMillis: 10 })
    })
    ended(await process.perform(run(program, 'r', {})), 'Completed')
  })

  test('a step that is not idempotent needs no confirmation if its timeout ends in the check before it', async () => {
    const process = newProcess()
    const { clock } = process
    const program = one({
      idempotent: false,
      timeoutMillis: 1000,
      before: ({ signal }) => TE.fromTask(clock.sleep(5000, signal)),
      run: () => TE.right('effect')
    })
    const outcome = ended(await process.perform(run(program, 'r', {})), 'Failed')
    assert.equal(failure(outcome).error.code, 'TIMEOUT')
    assert.equal(failure(outcome).outcome, 'notApplied')
  })
})

describe('a clock whose sleep rejects when its signal is aborted', () => {
  const rejecting = (clock: Clock): Clock => ({
    now: clock.now,
    sleep: (millis, signal) => async () => {
      await clock.sleep(millis, signal)()
      if (signal.aborted) throw new DOMException('aborted', 'AbortError')
    }
  })

  test('a clock whose sleep rejects does not fail an attempt that ends before its timeout', async () => {
    const process = newProcess()
    const environment = { ...process.environment, clock: rejecting(process.clock) }
    ended(await run(one({ timeoutMillis: 1000, run: () => TE.right(1) }), 'r', {})(environment)(), 'Completed')
    await quiet()
  })

  test('a clock whose sleep rejects does not fail a run that is stopped in a retry delay', async () => {
    const step = { retry: policy({ attempts: 2, delayMillis: seconds(60) }), run: () => TE.left(http(500)) }
    for (const program of [one(step), Program.fromSteps('w', [Program.waveOf('all', [group('it', step)])])]) {
      const process = newProcess()
      const running = run(program, 'r', {})({ ...process.environment, clock: rejecting(process.clock) })()
      await quiet()
      process.stop()
      let over: unknown
      void running.then(
        (result) => (over = result),
        (error: unknown) => (over = error)
      )
      await quiet()
      assert.ok(over !== undefined, 'it hangs')
      ended(await running, 'Interrupted')
    }
  })
})

describe('attempts over several processes', () => {
  const flaky = (world: World, attempts: number, works: boolean): ProgramType.Program<unknown> =>
    one({
      retry: policy({ attempts, delayMillis: seconds(60), _tag: 'Constant' }),
      run: ({ attempt }) => {
        world.log.push(String(attempt))
        return works ? TE.right(attempt) : TE.left(http(500))
      }
    })

  test('a stop ends the delay before the next attempt at once, and the resume continues the count', async () => {
    const world = newWorld()
    const first = newProcess(world)
    const running = run(flaky(world, 5, false), 'r', {})(first.environment)()
    await quiet()
    assert.deepEqual(first.clock.sleeping(), [seconds(60)])
    first.stop()
    const outcome = ended(await running, 'Interrupted')
    assert.equal(first.clock.now(), START)
    assert.equal(outcome.inProgress, true)
    const { state } = await stored(first.storage)
    assert.equal(CheckpointState.failures(state).records[0]?.attempts.length, 1)
    ended(await newProcess(world).perform(resume(flaky(world, 5, false), 'r')), 'Failed')
    assert.deepEqual(world.log, ['1', '2', '3', '4', '5'])
  })

  test('a resume after a kill repeats the attempt in flight, or runs the next attempt if the kill came during a retry delay', async () => {
    const world = newWorld()
    const killed = async (call: number): Promise<void> => {
      const life = newLife()
      const process = newProcess(world, { around: killingAt(life, call, 'after') })
      const executor =
        world.log.length === 0 ? run(flaky(world, 4, false), 'r', {}) : resume(flaky(world, 4, false), 'r')
      void executor(process.environment)()
      await patiently(process.clock, life.killed)
    }
    // claim, save (attempt 1 starts), save (attempt 1 failed)
    await killed(3)
    assert.deepEqual(world.log, ['1'])
    // load, claim, save (attempt 2 starts): it is in flight
    await killed(3)
    assert.deepEqual(world.log, ['1'])
    // load, claim, save (attempt 2 starts again), save (attempt 2 failed)
    await killed(4)
    assert.deepEqual(world.log, ['1', '2'])
    ended(await newProcess(world).perform(resume(flaky(world, 4, false), 'r')), 'Failed')
    assert.deepEqual(world.log, ['1', '2', '3', '4'])
  })

  test('the time limit of retries counts from the first attempt, but a resume always makes one more attempt', async () => {
    const world = newWorld()
    const clock = fakeClock()
    const retry = policy({ _tag: 'Constant', attempts: 100, delayMillis: 1000, withinMillis: 5000 })
    const step = {
      retry,
      run: () => {
        world.log.push(String(clock.now() - START))
        return TE.left(http(500))
      }
    }
    const wave = Program.fromSteps('one', [Program.waveOf('it', [group('a', step)])])
    for (const program of [one(step), wave]) {
      world.data.runs.clear()
      world.log.length = 0
      const begun = clock.now() - START
      const first = newProcess(world, { clock })
      const running = run(program, 'r', {})(first.environment)()
      await quiet()
      await clock.advance(3500)
      first.stop()
      ended(await running, 'Interrupted')
      const outcome = ended(await newProcess(world, { clock }).perform(resume(program, 'r')), 'Failed')
      assert.deepEqual(
        world.log.map((at) => Number(at) - begun),
        [0, 1000, 2000, 3000, 3500, 4500]
      )
      assert.equal(outcome.failures[0]?.attempts.length, 6)
    }
    const late = newProcess(newWorld(), { clock })
    const running = run(one(step), 'r', {})(late.environment)()
    await quiet()
    await clock.advance(500)
    late.stop()
    ended(await running, 'Interrupted')
    await clock.advance(seconds(60))
    world.log.length = 0
    ended(await newProcess(late.world, { clock }).perform(resume(one(step), 'r')), 'Failed')
    assert.equal(world.log.length, 1)
  })

  test('if a step has used up its attempts, a resume allows as many again, and the error history starts over', async () => {
    const world = newWorld()
    ended(await newProcess(world).perform(run(flaky(world, 3, false), 'r', {})), 'Failed')
    const again = ended(await newProcess(world).perform(resume(flaky(world, 3, false), 'r')), 'Failed')
    assert.deepEqual(world.log, ['1', '2', '3', '1', '2', '3'])
    assert.equal(failure(again).attempts.length, 3)
  })

  test('the groups of a wave count their attempts separately', async () => {
    const world = newWorld()
    const wave = (works: boolean): ProgramType.Program<unknown> =>
      Program.fromSteps('w', [
        Program.waveOf(
          'all',
          ['a', 'b'].map((name, index) =>
            group(name, {
              retry: policy({ attempts: 3, delayMillis: seconds(10 * (index + 1)), _tag: 'Constant' }),
              run: ({ attempt }) => {
                world.log.push(`${name}${attempt}`)
                return works ? TE.right(name) : TE.left(http(500))
              }
            })
          )
        )
      ])
    const first = newProcess(world)
    const running = run(wave(false), 'r', {})(first.environment)()
    await quiet()
    await first.clock.advance(seconds(15))
    first.stop()
    ended(await running, 'Interrupted')
    assert.deepEqual(world.log, ['a1', 'b1', 'a2'])
    ended(await newProcess(world).perform(resume(wave(true), 'r')), 'Completed')
    assert.deepEqual(world.log, ['a1', 'b1', 'a2', 'a3', 'b2'])
  })

  test('the duration of an attempt does not include the time that the store takes to save', async () => {
    const clock = fakeClock()
    const process = newProcess(newWorld(), {
      clock,
      around: (storage) => ({
        ...storage,
        save: (claim, revisions) => async () => {
          await clock.sleep(250, new AbortController().signal)()
          return await storage.save(claim, revisions)()
        }
      })
    })
    const program = one({ run: ({ signal }) => TE.fromTask(clock.sleep(1000, signal)) })
    const { checkpoint } = ended(await process.perform(run(program, 'r', {})), 'Completed')
    const [record] = [...checkpoint.completedSteps]
    assert.equal(record?.durationMillis, 1000)
    assert.equal(record?.startedAt, new Date(START + 250).toISOString())
    assert.equal(record?.completedAt, new Date(START + 1250).toISOString())
    assert.ok(E.isRight(await process.storage.load('r')()))
  })
})
