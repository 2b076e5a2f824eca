import assert from 'node:assert/strict'
import { pipe } from 'fp-ts/lib/function.js'
import * as TE from 'fp-ts/lib/TaskEither.js'
import { describe, test } from 'vitest'
import { memoryStorage } from '../../src/adapters/memory.js'
import type { StorageError } from '../../src/index.js'
import type * as ProgramType from '../../src/executor/program/Program.js'
import * as CheckpointState from '../../src/domain/checkpoint/CheckpointState.js'
import { Program, resume, run, StepError, StepFailure } from '../../src/index.js'
import type { LooseSpec, Process } from './fixtures.js'
import {
  ended,
  fakeClock,
  group,
  historyOf,
  losable,
  newProcess,
  newWorld,
  patiently,
  policy,
  quiet,
  refused,
  slowSaves,
  START,
  stored,
  task
} from './fixtures.js'

/** Three steps; the middle one sleeps a minute unless it is stopped. */
const sleepy = (process: Process, obedient = true): ProgramType.Program<unknown> => {
  const { log } = process.world
  const note = (name: string) => () => {
    log.push(name)
    return TE.right(name)
  }
  return Program.fromSteps('sleepy', [
    task('before', { run: note('before') }),
    task('sleep', {
      run: ({ signal }) => {
        log.push('sleep')
        const told = obedient ? signal : new AbortController().signal
        return pipe(
          TE.fromTask(process.clock.sleep(60_000, told)),
          TE.chain(() => (obedient && signal.aborted ? TE.left('told to stop') : TE.right('slept')))
        )
      }
    }),
    task('after', { run: note('after') })
  ])
}

describe('a stop', () => {
  test.each(['signal', 'aborted'] as const)(
    'a stop during a step is recorded as in progress, with its reason: %s',
    async (reason) => {
      const process = newProcess()
      const running = run(sleepy(process), 'r', {})(process.environment)()
      await quiet()
      process.stop(reason)
      const outcome = ended(await running, 'Interrupted')
      assert.deepEqual(
        [outcome.stepIndex, outcome.step, outcome.inProgress, outcome.reason],
        [1, 'sleep', true, reason]
      )
      assert.deepEqual(
        (await stored(process.storage)).state,
        CheckpointState.interrupted(1, 'sleep', reason, { inProgress: true, inFlight: [{ unit: 'sleep', attempt: 1 }] })
      )
      assert.equal(process.clock.now(), START)
      const next = newProcess(process.world)
      ended(await next.perform(resume(sleepy(next), 'r')), 'Completed')
      assert.deepEqual(process.world.log, ['before', 'sleep', 'sleep', 'after'])
    }
  )

  test('a stop between steps is recorded as not in progress, and all completed steps count', async () => {
    const process = newProcess()
    const stopping: Process = {
      ...process,
      world: {
        ...process.world,
        log: Object.assign(process.world.log, {
          push: (...names: Array<string>) => {
            if (names[0] === 'before') process.stop()
            return Array.prototype.push.apply(process.world.log, names)
          }
        })
      }
    }
    const outcome = ended(await process.perform(run(sleepy(stopping), 'r', {})), 'Interrupted')
    assert.deepEqual([outcome.stepIndex, outcome.step, outcome.inProgress], [1, 'sleep', false])
    const checkpoint = await stored(process.storage)
    assert.deepEqual(
      [...checkpoint.completedSteps].map(({ unit }) => unit),
      ['before']
    )
    assert.ok(checkpoint.state._tag === 'Interrupted' && !checkpoint.state.inProgress)
    const next = newProcess({ ...process.world, log: [] })
    ended(await next.perform(resume(sleepy(next), 'r')), 'Completed')
    assert.deepEqual(next.world.log, ['sleep', 'after'])
  })

  test('a run that is stopped before its first step runs nothing, and can be resumed', async () => {
    const process = newProcess()
    process.stop()
    const outcome = ended(await process.perform(run(sleepy(process), 'r', { a: 1 })), 'Interrupted')
    assert.deepEqual([outcome.stepIndex, outcome.inProgress], [0, false])
    assert.deepEqual(process.world.log, [])
    assert.deepEqual(await historyOf(process.storage), ['Started', 'Interrupted'])
    const next = newProcess(process.world)
    const { checkpoint } = ended(await next.perform(resume(sleepy(next), 'r')), 'Completed')
    assert.deepEqual(checkpoint.input, { a: 1 })
  })

  test('a step that completes after a stop counts as completed', async () => {
    const process = newProcess()
    const running = run(sleepy(process, false), 'r', {})({ ...process.environment, graceMillis: 120_000 })()
    await quiet()
    process.stop()
    await quiet()
    await process.clock.advance(60_000)
    const outcome = ended(await running, 'Interrupted')
    assert.deepEqual([outcome.step, outcome.inProgress], ['after', false])
    const next = newProcess(process.world)
    ended(await next.perform(resume(sleepy(next), 'r')), 'Completed')
    assert.deepEqual(process.world.log, ['before', 'sleep', 'after'])
  })

  test('a run completes if its last step completes after a stop', async () => {
    const process = newProcess()
    const program = Program.fromSteps('last', [
      task('it', {
        run: () => {
          process.stop()
          return TE.right(1)
        }
      })
    ])
    ended(await process.perform(run(program, 'r', {})), 'Completed')
  })

  test('a step that ignores a stop is abandoned after the grace, and stays in flight', async () => {
    const process = newProcess()
    const running = run(sleepy(process, false), 'r', {})(process.environment)()
    await quiet()
    process.stop()
    await quiet()
    await process.clock.advance(9_999)
    assert.equal((await stored(process.storage)).state._tag, 'BeforeStep')
    await process.clock.advance(1)
    const outcome = ended(await running, 'Interrupted')
    assert.equal(outcome.inProgress, true)
    assert.deepEqual(CheckpointState.inFlight((await stored(process.storage)).state).records, [
      { unit: 'sleep', attempt: 1 }
    ])
  })

  test('after a stop only the running step gets a grace', async () => {
    const process = newProcess()
    const steps = Array.from({ length: 20 }, (_, index) =>
      task(`s${index}`, {
        run: () => (index < 19 ? TE.right(index) : () => new Promise<never>(() => undefined))
      })
    )
    const running = run(Program.fromSteps('p', steps), 'r', {})(process.environment)()
    await quiet()
    process.stop()
    await quiet()
    assert.deepEqual(process.clock.sleeping(), [10_000], 'one grace, for one step')
    ended(await patiently(process.clock, running), 'Interrupted')
  })

  test('a stopped step that is not idempotent needs confirmation', async () => {
    const process = newProcess()
    const program = Program.fromSteps('pay', [
      task('pay', {
        idempotent: false,
        run: ({ signal }) =>
          pipe(
            TE.fromTask(process.clock.sleep(1000, signal)),
            TE.chain(() => TE.left('stopped'))
          )
      })
    ])
    const running = run(program, 'r', {})(process.environment)()
    await quiet()
    process.stop()
    ended(await running, 'Interrupted')
    refused(await newProcess(process.world).perform(resume(program, 'r')), 'Unconfirmed')
  })

  test('a stopped step that is not idempotent and reports that it did nothing needs no confirmation', async () => {
    const rolledBack = StepFailure.transient(StepError.make('Aborted', 'nothing was sent'), 'notApplied')
    for (const inWave of [false, true]) {
      const process = newProcess()
      const { log } = process.world
      const spec: LooseSpec = {
        idempotent: false,
        run: ({ signal, attempt }) => {
          log.push(`attempt ${attempt}`)
          return pipe(
            TE.fromTask(attempt === 1 ? process.clock.sleep(1000, signal) : () => Promise.resolve()),
            TE.chain(() => (signal.aborted ? TE.left(rolledBack) : TE.right('paid')))
          )
        }
      }
      const step = inWave ? Program.waveOf('all', [group('pay', spec)]) : task('pay', spec)
      const program = Program.fromSteps('pay', [step])
      const running = run(program, 'r', {})(process.environment)()
      await quiet()
      process.stop()
      const { checkpoint, inProgress } = ended(await running, 'Interrupted')
      assert.equal(inProgress, true)
      assert.deepEqual(CheckpointState.inFlight(checkpoint.state).records, [])
      assert.deepEqual(
        CheckpointState.failures(checkpoint.state).records.map(({ error, outcome }) => [error.message, outcome]),
        [['nothing was sent', 'notApplied']]
      )
      assert.ok(!process.events.some(({ _tag }) => _tag === 'StepRetrying'), 'nobody says that it is tried again now')
      ended(await newProcess(process.world).perform(resume(program, 'r')), 'Completed')
      assert.deepEqual(log, ['attempt 1', 'attempt 2'])
    }
  })

  test.each([
    StepFailure.transient(StepError.make('Aborted', 'nothing was sent'), 'notApplied'),
    StepFailure.permanent(StepError.make('Aborted', 'lost'), 'unknown')
  ])('the stopped attempt of an idempotent step is repeated if it fails: $_tag, $outcome', async (failure) => {
    const process = newProcess()
    const program = Program.fromSteps('copy', [
      task('copy', {
        run: ({ signal, attempt }) => {
          process.world.log.push(`attempt ${attempt}`)
          return pipe(
            TE.fromTask(process.clock.sleep(1000, signal)),
            TE.chain(() => (signal.aborted ? TE.left(failure) : TE.right(1)))
          )
        }
      })
    ])
    const running = run(program, 'r', {})(process.environment)()
    await quiet()
    process.stop()
    ended(await running, 'Interrupted')
    const next = newProcess(process.world, { clock: process.clock })
    ended(await next.perform(resume(program, 'r')), 'Completed')
    assert.deepEqual(process.world.log, ['attempt 1', 'attempt 1'])
  })

  test('a step that is not idempotent does not run and needs no answer if the stop comes while its start is saved', async () => {
    for (const inWave of [false, true]) {
      for (const retry of [false, true]) {
        const clock = fakeClock()
        const process = newProcess(newWorld(), { clock, around: slowSaves(clock, 100) })
        const { log } = process.world
        const spec: LooseSpec = {
          idempotent: false,
          retry: policy({ attempts: 3, delayMillis: 0 }),
          run: ({ attempt }) => {
            log.push(`attempt ${attempt}`)
            return retry && attempt === 1
              ? TE.left(StepFailure.transient(StepError.make('Busy', 'try again'), 'notApplied'))
              : TE.right('paid')
          }
        }
        const step = inWave ? Program.waveOf('all', [group('pay', spec)]) : task('pay', spec)
        const program = Program.fromSteps('pay', [step])
        const running = run(program, 'r', {})(process.environment)()
        await quiet()
        // Each save takes 100 ms: the start of the first attempt, its failure, the start of the second.
        await clock.advance(retry ? 250 : 50)
        process.stop()
        ended(await patiently(clock, running), 'Interrupted')
        assert.deepEqual(log, retry ? ['attempt 1'] : [])
        const next = newProcess(process.world)
        ended(await next.perform(resume(program, 'r')), 'Completed')
        assert.equal(log.length, retry ? 2 : 1)
      }
    }
  })

  test('the signal of a step or group has the reason that the caller passed', async () => {
    for (const inWave of [false, true]) {
      const stop = new AbortController()
      const process = newProcess(newWorld(), { interrupt: { signal: stop.signal, reason: () => 'aborted' } })
      let reason: unknown
      const spec: LooseSpec = {
        run: ({ signal }) =>
          pipe(
            TE.fromTask(process.clock.sleep(1000, signal)),
            TE.chain(() => TE.left((reason = signal.reason)))
          )
      }
      const step = inWave ? Program.waveOf('all', [group('it', spec)]) : task('it', spec)
      const running = run(Program.fromSteps('p', [step]), 'r', {})(process.environment)()
      await quiet()
      const given = new Error('deploy 42')
      stop.abort(given)
      ended(await running, 'Interrupted')
      assert.equal(reason, given)
    }
  })

  test.each<[string, () => never]>([
    ['is unknown', () => 'shutdown' as never],
    ['is the name of an inherited property', () => 'constructor' as never],
    ['is not a string', () => undefined as never],
    ['throws when it is read', () => assert.fail('a bug of the host')]
  ])('a stop is recorded as aborted if its reason %s, and the run can be resumed', async (_, reason) => {
    const process = newProcess(newWorld(), { interrupt: { signal: AbortSignal.abort(), reason } })
    const outcome = ended(await process.perform(run(sleepy(process), 'r', {})), 'Interrupted')
    assert.equal(outcome.reason, 'aborted')
    const next = newProcess(process.world)
    ended(await next.perform(resume(sleepy(next), 'r')), 'Completed')
  })

  test('a stop aborts every running group of a wave, and a resume runs only the groups that did not complete', async () => {
    const world = newWorld()
    const process = newProcess(world)
    const wave = (of: Process): ProgramType.Program<unknown> =>
      Program.fromSteps('w', [
        Program.waveOf(
          'all',
          [100, 60_000, 60_000].map((millis, index) =>
            group(`g${index}`, {
              run: ({ signal }) => {
                world.log.push(`g${index}`)
                return pipe(
                  TE.fromTask(of.clock.sleep(millis, signal)),
                  TE.chain(() => (signal.aborted ? TE.left('stopped') : TE.right(index)))
                )
              }
            })
          )
        )
      ])
    const running = run(wave(process), 'r', {})(process.environment)()
    await quiet()
    await process.clock.advance(1000)
    process.stop()
    const outcome = ended(await running, 'Interrupted')
    assert.equal(outcome.inProgress, true)
    assert.deepEqual(CheckpointState.inFlight((await stored(process.storage)).state).records, [
      { unit: 'all/g1', attempt: 1 },
      { unit: 'all/g2', attempt: 1 }
    ])
    world.log.length = 0
    const next = newProcess(world)
    ended(await next.perform(resume(wave(next), 'r')), 'Completed')
    assert.deepEqual(world.log, ['g1', 'g2'])
  })

  test('a run that is stopped and resumed at every step completes', async () => {
    const world = newWorld()
    for (let index = 0; index < 3; index++) {
      const process = newProcess(world)
      const steps = ['a', 'b', 'c'].map((name, at) =>
        task(name, {
          run: () => {
            world.log.push(name)
            if (at === index) process.stop()
            return TE.right(at)
          }
        })
      )
      const program = Program.fromSteps('often', steps)
      const result = await process.perform(index === 0 ? run(program, 'r', {}) : resume(program, 'r'))
      ended(result, index === 2 ? 'Completed' : 'Interrupted')
    }
    assert.deepEqual(world.log, ['a', 'b', 'c'])
  })
})

describe('a fenced run', () => {
  test('a fenced run stops its step, ends as Fenced, and writes nothing more', async () => {
    const { around, lose } = losable()
    const process = newProcess(newWorld(), { around })
    let told = false
    let reason: unknown
    const program = Program.fromSteps('lost', [
      task('it', {
        run: ({ signal }) =>
          pipe(
            TE.fromTask(process.clock.sleep(1000, signal)),
            TE.map(() => {
              told = signal.aborted
              reason = signal.reason
              return 'done all the same'
            })
          )
      }),
      task('next', { run: () => TE.right(process.world.log.push('next')) })
    ])
    const running = run(program, 'r', {})(process.environment)()
    await quiet()
    const before = process.saves.length
    lose()
    assert.deepEqual(await running, { _tag: 'Right', right: { _tag: 'Fenced', runId: 'r' } })
    assert.equal(told, true)
    assert.equal((reason as StorageError)._tag, 'Fenced')
    assert.equal(process.saves.length, before)
    assert.deepEqual(process.world.log, [])
    assert.deepEqual(
      process.events.filter(({ _tag }) => _tag === 'RunFenced'),
      [{ _tag: 'RunFenced', runId: 'r' }]
    )
    assert.equal(process.calls.at(-1), 'release')
  })

  test('a fenced run records no retry, no failure and no wave', async () => {
    const wave = (sleep: (signal: AbortSignal) => Promise<void>) =>
      Program.waveOf('wave', [
        group('well', { run: ({ signal }) => TE.fromTask(() => sleep(signal)) }),
        group('badly', {
          run: ({ signal }) =>
            pipe(
              TE.fromTask(() => sleep(signal)),
              TE.chain(() => TE.left('no'))
            )
        })
      ])
    const step = (sleep: (signal: AbortSignal) => Promise<void>) =>
      task('step', {
        run: ({ signal }) =>
          pipe(
            TE.fromTask(() => sleep(signal)),
            TE.chain(() => TE.left({ status: 500 }))
          )
      })
    for (const make of [wave, step]) {
      const { around, lose } = losable()
      const process = newProcess(newWorld(), { around })
      const program = Program.fromSteps('lost', [make((signal) => process.clock.sleep(1000, signal)())])
      const running = run(program, 'r', {})(process.environment)()
      await quiet()
      const before = process.saves.length
      lose()
      ended(await running, 'Fenced')
      assert.equal(process.saves.length, before)
    }
  })

  test('a fenced run records no results of groups that stop slowly', async () => {
    const { around, lose } = losable()
    const process = newProcess(newWorld(), { around })
    const stubborn = (millis: number) => TE.fromTask(process.clock.sleep(millis, new AbortController().signal))
    const program = Program.fromSteps('lost', [
      Program.waveOf('wave', [
        group('quick', { run: () => stubborn(100) }),
        group('slow', { run: () => stubborn(200) })
      ])
    ])
    const running = run(program, 'r', {})(process.environment)()
    await quiet()
    const before = await stored(process.storage)
    lose()
    ended(await patiently(process.clock, running), 'Fenced')
    assert.equal((await stored(process.storage)).revision, before.revision)
  })

  test('a run ends as Fenced if the store refuses a save because of a later claim', async () => {
    const world = newWorld()
    const process = newProcess(world)
    const program = Program.fromSteps('lost', [
      task('one', {
        run: () => {
          // Another process supersedes this one; the signal of the step fires, but the step ignores it.
          memoryStorage(world.data)
          return TE.right(1)
        }
      }),
      task('two', { run: () => TE.right(world.log.push('two')) })
    ])
    ended(await process.perform(run(program, 'r', {})), 'Fenced')
    assert.deepEqual(world.log, [])
    const { state } = await stored(memoryStorage(world.data))
    assert.deepEqual([state._tag, state.stepIndex], ['BeforeStep', 0])
    assert.equal(process.events.filter(({ _tag }) => _tag === 'RunFenced').length, 1)
  })

  test('a run that is both superseded and stopped ends as Fenced', async () => {
    const { around, lose } = losable()
    const process = newProcess(newWorld(), { around })
    const running = run(sleepy(process), 'r', {})(process.environment)()
    await quiet()
    process.stop()
    lose()
    ended(await running, 'Fenced')
  })
})
