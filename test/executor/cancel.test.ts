import assert from 'node:assert/strict'
import { pipe } from 'fp-ts/lib/function.js'
import * as O from 'fp-ts/lib/Option.js'
import * as TE from 'fp-ts/lib/TaskEither.js'
import * as t from 'io-ts'
import { describe, test } from 'vitest'
import { memoryRequests, memoryStorage } from '../../src/adapters/memory.js'
import type { CancelResult, CheckpointStorage, PauseResult, Requests, Stored } from '../../src/index.js'
import type * as ProgramType from '../../src/executor/program/Program.js'
import * as Checkpoint from '../../src/domain/checkpoint/Checkpoint.js'
import {
  answer,
  cancel,
  CheckpointState,
  pause,
  planRun,
  poll,
  Program,
  resume,
  run,
  RunError,
  runOrResume
} from '../../src/index.js'
import type { LooseSpec, Process, World } from './fixtures.js'
import {
  askedBeforeRelease,
  ended,
  group,
  historyOf,
  newProcess,
  newWorld,
  refused,
  right,
  stored,
  task
} from './fixtures.js'

const cancelling = (process: Process) => cancel('r')(process.environment)()

/** Three steps, of which the second also does this. */
const threeSteps = (
  { log }: World,
  during: LooseSpec['run'] = () => TE.right('two'),
  spec: Partial<LooseSpec> = {}
): ProgramType.Program<unknown> => {
  const note =
    (name: string): LooseSpec['run'] =>
    () => {
      log.push(name)
      return TE.right(name)
    }
  return Program.fromSteps('w', [
    task('one', { run: note('one') }),
    task('two', {
      ...spec,
      run: (context) => {
        log.push('two')
        return during(context)
      }
    }),
    task('three', { run: note('three') })
  ])
}

const statusIn = async (storage: CheckpointStorage): Promise<Checkpoint.Status> =>
  Checkpoint.status(await stored(storage), false)

const held = async (storage: CheckpointStorage): Promise<Stored> => {
  const found = right(await storage.load('r')())
  return O.isSome(found) ? found.value : assert.fail('nothing is stored')
}

const nothingIsLeft = (requests: Requests): void => assert.equal(requests.isAny('r'), false)

/** A run whose second step cancels it. */
const cancelled = async (requests: Requests) => {
  const process: Process = newProcess(newWorld(), { requests })
  const program = threeSteps(process.world, async () =>
    assert.equal(right(await cancelling(process))._tag, 'Requested')
  )
  const outcome = ended(await process.perform(run(program, 'r', {})), 'Interrupted')
  return { process, outcome }
}

/** A run without an owner: its second step failed. */
const failed = async (requests: Requests): Promise<Process> => {
  const process = newProcess(newWorld(), { requests })
  ended(
    await process.perform(
      run(
        threeSteps(process.world, () => TE.left(new Error('broken'))),
        'r',
        {}
      )
    ),
    'Failed'
  )
  return process
}

describe('a cancel of a live run', () => {
  test('a cancel lets the running step end, starts no other, and is recorded', async () => {
    const requests = memoryRequests()
    const { process, outcome } = await cancelled(requests)
    assert.deepEqual(
      [outcome.stepIndex, outcome.step, outcome.inProgress, outcome.reason],
      [2, 'three', false, 'cancelled']
    )
    assert.deepEqual(process.world.log, ['one', 'two'])
    assert.deepEqual((await historyOf(process.storage)).slice(-2), ['UnitCompleted', 'Interrupted'])
    assert.equal(await statusIn(process.storage), 'cancelled')
    nothingIsLeft(requests)
    assert.deepEqual(right(await requests.pointer()), O.none)
    assert.ok(process.events.every(({ _tag }) => _tag !== 'RunPaused'))
  })

  test('a cancel lets running groups of a wave end and starts no other', async () => {
    const requests = memoryRequests()
    const process: Process = newProcess(newWorld(), { requests })
    const { log } = process.world
    const wave = Program.waveOf(
      'wave',
      ['a', 'b', 'c', 'd'].map((name) =>
        group(name, {
          run: () => {
            log.push(name)
            return name === 'b' ? TE.fromTask(async () => right(await cancelling(process))) : TE.right(name)
          }
        })
      ),
      { concurrency: 2 }
    )
    const outcome = ended(await process.perform(run(Program.fromSteps('w', [wave]), 'r', {})), 'Interrupted')
    assert.equal(outcome.reason, 'cancelled')
    assert.ok(log.includes('b') && log.length < 4, log.join())
  })

  test('a cancel takes precedence over a pause, whichever comes first', async () => {
    for (const first of [true, false]) {
      const requests = memoryRequests()
      const process: Process = newProcess(newWorld(), { requests })
      const asks = [() => cancelling(process), () => pause('r')(process.environment)()]
      const program = threeSteps(process.world, () =>
        TE.fromTask(async () => {
          for (const ask of first ? asks : [...asks].reverse())
            assert.equal(right<PauseResult | CancelResult>(await ask())._tag, 'Requested')
        })
      )
      assert.equal(ended(await process.perform(run(program, 'r', {})), 'Interrupted').reason, 'cancelled')
      nothingIsLeft(requests)
      assert.deepEqual(right(await requests.pointer()), O.none)
    }
  })

  test.each(['cancel', 'pause'] as const)('a %s that arrives while a task suspends is obeyed', async (kind) => {
    const requests = memoryRequests()
    const process: Process = newProcess(newWorld(), { requests })
    const ask = { cancel: cancelling, pause: (one: Process) => pause('r')(one.environment)() }[kind]
    const program = threeSteps(process.world, (context) =>
      TE.tryCatch(async () => {
        assert.equal(right<PauseResult | CancelResult>(await ask(process))._tag, 'Requested')
        await context.waitFor('ok')
      }, String)
    )
    const outcome = ended(await process.perform(run(program, 'r', {}, { wait: true })), 'Interrupted')
    assert.deepEqual([outcome.step, outcome.reason], ['two', kind === 'cancel' ? 'cancelled' : 'paused'])
    assert.equal(await statusIn(process.storage), outcome.reason)
    nothingIsLeft(requests)
  })

  test('a cancel takes precedence over a pause that the owner has already read', async () => {
    const kept = memoryRequests()
    let isPaused = false
    const requests: Requests = {
      ...kept,
      list: (runId) => async () => {
        const found = await kept.list(runId)()
        if (!isPaused) {
          isPaused = true
          assert.equal(right(await cancelling({ ...process, environment: asker }))._tag, 'Requested')
        }
        return found
      }
    }
    const process: Process = newProcess(newWorld(), { requests })
    const asker = { ...process.environment, requests: kept }
    const program = threeSteps(process.world, () => TE.fromTask(async () => right(await pause('r')(asker)())))
    assert.equal(ended(await process.perform(run(program, 'r', {})), 'Interrupted').reason, 'cancelled')
    nothingIsLeft(kept)
  })

  test('a cancel while the last step runs leaves the run completed, without a request', async () => {
    const requests = memoryRequests()
    const process: Process = newProcess(newWorld(), { requests })
    const only = Program.fromSteps('w', [task('only', { run: async () => void right(await cancelling(process)) })])
    ended(await process.perform(run(only, 'r', {})), 'Completed')
    nothingIsLeft(requests)
  })

  test.each(['fails', 'is stopped'])(
    'a cancel is recorded after the owner has released the run, even if the running step %s',
    async (how) => {
      const requests = memoryRequests()
      const process: Process = newProcess(newWorld(), { requests })
      const program = threeSteps(process.world, () =>
        pipe(
          TE.fromTask(async () => {
            right(await cancelling(process))
            if (how === 'is stopped') process.stop('signal')
          }),
          TE.chain(() => (how === 'fails' ? TE.left(new Error('broken')) : TE.right('two')))
        )
      )
      ended(await process.perform(run(program, 'r', {})), how === 'fails' ? 'Failed' : 'Interrupted')
      assert.equal(await statusIn(process.storage), 'cancelled')
      const { state } = await stored(process.storage)
      assert.deepEqual(
        CheckpointState.failures(state).records.map(({ unit }) => unit),
        how === 'fails' ? ['two'] : []
      )
      nothingIsLeft(requests)
    }
  )

  test('a cancel that the owner misses before its release is recorded afterwards', async () => {
    const { process, requests } = askedBeforeRelease(async (owner) =>
      assert.equal(right(await cancelling(owner))._tag, 'Requested')
    )
    const failing = threeSteps(process.world, () => TE.left(new Error('broken')))
    ended(await process.perform(run(failing, 'r', {})), 'Failed')
    assert.equal(await statusIn(process.storage), 'cancelled')
    nothingIsLeft(requests)
  })

  test('a cancel that arrives while another process answers the run is recorded after the answer', async () => {
    const requests = memoryRequests()
    const process: Process = newProcess(newWorld(), { requests })
    ended(await process.perform(run(pipe(Program.start('w'), Program.waitFor('ok')), 'r', {})), 'Pending')
    const { environment, storage } = process
    const answering: CheckpointStorage = {
      ...storage,
      release: (claim) => async () => {
        if ((await statusIn(storage)) === 'pending' && !requests.isAny('r'))
          assert.equal(right(await cancelling(process))._tag, 'Requested')
        return storage.release(claim)()
      }
    }
    assert.equal(right(await answer('r', 'ok', 'yes')({ ...environment, storage: answering })())._tag, 'Recorded')
    assert.equal(await statusIn(storage), 'cancelled')
    nothingIsLeft(requests)
  })
})

describe('a cancel of a run without an owner', () => {
  test('a cancel of a run without an owner is recorded by its caller, and keeps the failures', async () => {
    const requests = memoryRequests()
    const process = await failed(requests)
    const before = CheckpointState.failures((await stored(process.storage)).state)
    const answer = right(await cancelling(process))
    assert.ok(answer._tag === 'Cancelled')
    assert.deepEqual(answer.checkpoint, await stored(process.storage))
    assert.deepEqual(CheckpointState.failures(answer.checkpoint.state), before)
    assert.equal(await statusIn(process.storage), 'cancelled')
    assert.ok(O.isNone((await held(process.storage)).heldBy))
    nothingIsLeft(requests)
  })

  test('a cancel keeps the units that were in flight when the owner died', async () => {
    const requests = memoryRequests()
    const world = newWorld()
    const dead = newProcess(world, { requests })
    void run(
      threeSteps(world, () => TE.fromTask(() => new Promise(() => undefined))),
      'r',
      {}
    )(dead.environment)()
    while (!world.log.includes('two')) await new Promise((resolve) => setImmediate(resolve))
    const next = newProcess(world, { requests })
    assert.equal(right(await cancelling(next))._tag, 'Cancelled')
    const { state } = await stored(next.storage)
    assert.deepEqual(CheckpointState.inFlight(state).records, [{ unit: 'two', attempt: 1 }])
  })

  test('a cancel keeps pending jobs, and a reopened run waits for them again', async () => {
    const requests = memoryRequests()
    const process = newProcess(newWorld(), { requests })
    const { log } = process.world
    const training = pipe(
      Program.start('training'),
      Program.step('train', {
        idempotent: false,
        output: t.string,
        job: {
          submit: () => TE.fromIO(() => `job-${log.push('submitted')}`),
          poll: () => TE.right({ _tag: 'Finished' } as const),
          collect: () => TE.right('trained')
        }
      })
    )
    ended(await process.perform(run(training, 'r', {})), 'Pending')
    assert.equal(right(await cancelling(process))._tag, 'Cancelled')
    assert.deepEqual(
      (await stored(process.storage)).pending.records.map(({ unit }) => unit),
      ['train']
    )
    refused(await poll(training, 'r')(process.environment)(), 'RunCancelled')
    ended(await process.perform(resume(training, 'r', { reopen: true })), 'Pending')
    assert.equal(await statusIn(process.storage), 'pending')
    right(await poll(training, 'r')(process.environment)())
    ended(await process.perform(resume(training, 'r')), 'Completed')
    assert.deepEqual(log, ['submitted'])
  })

  test('a cancel removes the pause pointer to the run', async () => {
    const requests = memoryRequests()
    const process: Process = newProcess(newWorld(), { requests })
    const program = threeSteps(process.world, () =>
      TE.fromTask(async () => right(await pause('r')(process.environment)()))
    )
    ended(await process.perform(run(program, 'r', {})), 'Interrupted')
    assert.ok(O.isSome(right(await requests.pointer())))
    assert.equal(right(await cancelling(process))._tag, 'Cancelled')
    assert.deepEqual(right(await requests.pointer()), O.none)
  })

  test('a cancel of a run that has ended writes nothing', async () => {
    const requests = memoryRequests()
    const process = newProcess(newWorld(), { requests })
    ended(await process.perform(run(threeSteps(process.world), 'r', {})), 'Completed')
    const before = process.calls.length
    assert.deepEqual(right(await cancelling(process)), { _tag: 'AtRest', runId: 'r', status: 'completed' })
    assert.deepEqual(process.calls.slice(before), ['load'])
    const other = await failed(requests)
    right(await cancelling(other))
    assert.deepEqual(right(await cancelling(other)), { _tag: 'AtRest', runId: 'r', status: 'cancelled' })
  })

  test('a cancel is refused if the run does not exist or the environment has no inbox', async () => {
    refused(await cancelling(newProcess(newWorld(), { requests: memoryRequests() })), 'NoSuchRun')
    const error = refused(await cancelling(newProcess()), 'NoRequests')
    assert.match(RunError.describe(error), /to fileRequests\(folder\) of dogear\/json-file or to those of your store$/)
  })
})

describe('a cancel request', () => {
  test('a cancel request that the dead owner never saw is recorded by the next owner, which runs nothing', async () => {
    const requests = memoryRequests()
    const world = newWorld()
    const dead: Process = newProcess(world, { requests })
    const hanging = threeSteps(world, () =>
      TE.fromTask(async () => {
        right(await cancelling(dead))
        await new Promise(() => undefined)
      })
    )
    void run(hanging, 'r', {})(dead.environment)()
    while (!requests.isAny('r')) await new Promise((resolve) => setImmediate(resolve))
    const next = newProcess(world, { requests })
    const outcome = ended(await next.perform(runOrResume(threeSteps(world), 'r')), 'Interrupted')
    assert.deepEqual([outcome.reason, outcome.step, outcome.inProgress], ['cancelled', 'two', true])
    assert.deepEqual(world.log, ['one', 'two'])
    assert.deepEqual((await historyOf(next.storage)).slice(-2), ['AttemptStarted', 'Interrupted'])
    nothingIsLeft(requests)
  })

  test('a cancel request is recorded before a resume that would be refused', async () => {
    const requests = memoryRequests()
    const process = await failed(requests)
    right(await requests.leave({ _tag: 'Cancel', runId: 'r', requestedAt: '2026-01-02T03:04:05.000Z' })())
    const edited = Program.fromSteps('w', [task('other', { run: () => TE.right('other') })])
    assert.equal(ended(await process.perform(resume(edited, 'r')), 'Interrupted').reason, 'cancelled')
    nothingIsLeft(requests)
  })

  test('a cancel request is recorded by a poll, which then records no job', async () => {
    const requests = memoryRequests()
    const process = newProcess(newWorld(), { requests })
    const training = pipe(
      Program.start('training'),
      Program.step('train', {
        job: {
          submit: () => TE.right('job'),
          poll: () => TE.right({ _tag: 'Finished' } as const),
          collect: () => TE.right('trained')
        }
      })
    )
    ended(await process.perform(run(training, 'r', {})), 'Pending')
    right(await requests.leave({ _tag: 'Cancel', runId: 'r', requestedAt: '2026-01-02T03:04:05.000Z' })())
    refused(await poll(training, 'r')(process.environment)(), 'RunCancelled')
    assert.equal(await statusIn(process.storage), 'cancelled')
    assert.equal((await stored(process.storage)).pending.size, 1)
    nothingIsLeft(requests)
  })

  test('a reopened run withdraws the cancel request that is already recorded', async () => {
    const kept = memoryRequests()
    const { process } = await cancelled({ ...kept, withdraw: () => TE.right(undefined) })
    assert.equal(kept.isAny('r'), true)
    const next = newProcess(process.world, { requests: kept })
    ended(await next.perform(resume(threeSteps(process.world), 'r', { reopen: true })), 'Completed')
    assert.deepEqual(process.world.log, ['one', 'two', 'three'])
    nothingIsLeft(kept)
  })

  test('a newer cancel request that replaced the recorded one is withdrawn too', async () => {
    const kept = memoryRequests()
    let isNewer = true
    const requests: Requests = {
      ...kept,
      withdraw: (request) => async () => {
        if (isNewer) right(await kept.leave({ _tag: 'Cancel', runId: 'r', requestedAt: '2030-01-02T03:04:05.000Z' })())
        isNewer = false
        return kept.withdraw(request)()
      }
    }
    const { process } = await cancelled(requests)
    assert.equal(await statusIn(process.storage), 'cancelled')
    nothingIsLeft(kept)
  })

  test('a cancel request that arrives after the owner released the run is recorded by its caller', async () => {
    const kept = memoryRequests()
    const process: Process = newProcess(newWorld(), { requests: kept })
    const late: Requests = {
      ...kept,
      leave: (request) => async () => {
        process.stop()
        await running
        return kept.leave(request)()
      }
    }
    let answer: ReturnType<typeof cancelling> | undefined
    const program = threeSteps(process.world, () =>
      TE.fromTask(async () => {
        answer = cancel('r')({ ...process.environment, requests: late })()
        await new Promise((resolve) => setImmediate(resolve))
      })
    )
    const running = process.perform(run(program, 'r', {}))
    ended(await running, 'Interrupted')
    assert.ok(answer !== undefined)
    assert.equal(right(await answer)._tag, 'Cancelled')
    assert.equal(await statusIn(process.storage), 'cancelled')
    nothingIsLeft(kept)
  })

  test('a cancel leaves a request for the owner if another process claims the run meanwhile', async () => {
    const requests = memoryRequests()
    const process = await failed(requests)
    let resumed: Promise<unknown> | undefined
    let start = (): void => undefined
    const hasStarted = new Promise<void>((resolve) => (start = resolve))
    let release = (): void => undefined
    const mayEnd = new Promise<void>((resolve) => (release = resolve))
    const program = threeSteps(process.world, () =>
      TE.fromTask(async () => {
        start()
        await mayEnd
        return 'two'
      })
    )
    const storage: CheckpointStorage = {
      ...process.storage,
      claim:
        (...given) =>
        async () => {
          resumed ??= process.perform(resume(program, 'r'))
          await hasStarted
          return process.storage.claim(...given)()
        }
    }
    const answer = await cancel('r')({ ...process.environment, storage })()
    assert.equal(right(answer)._tag, 'Requested')
    release()
    await resumed
    assert.equal(await statusIn(process.storage), 'cancelled')
    nothingIsLeft(requests)
  })

  test('a cancel records nothing if another process has superseded the claim', async () => {
    const requests = memoryRequests()
    const process = await failed(requests)
    const storage: CheckpointStorage = {
      ...process.storage,
      save: (claim, revisions) => async () => {
        memoryStorage(process.world.data)
        return process.storage.save(claim, revisions)()
      }
    }
    refused(await cancel('r')({ ...process.environment, storage })(), 'Fenced')
    right(await requests.leave({ _tag: 'Cancel', runId: 'r', requestedAt: '2026-01-02T03:04:05.000Z' })())
    const next = newProcess(process.world, { requests })
    const taken: CheckpointStorage = {
      ...next.storage,
      save: (claim, revisions) => async () => {
        memoryStorage(process.world.data)
        return next.storage.save(claim, revisions)()
      }
    }
    ended(await resume(threeSteps(process.world), 'r')({ ...next.environment, storage: taken })(), 'Fenced')
    assert.equal(requests.isAny('r'), true)
  })

  test('a cancel of a recovered run is refused without consent to the recovery', async () => {
    const requests = memoryRequests()
    const process = await failed(requests)
    const found = { _tag: 'Recovered', from: 'revision 1', lost: 'revision 2' } as const
    const damaged = (one: Stored): Stored => ({ ...one, found })
    const storage: CheckpointStorage = {
      ...process.storage,
      claim: (...given) =>
        pipe(
          process.storage.claim(...given),
          TE.map((claimed) => ({ ...claimed, stored: O.map(damaged)(claimed.stored) }))
        )
    }
    refused(await cancel('r')({ ...process.environment, storage })(), 'RecoveryRefused')
    assert.equal(await statusIn(process.storage), 'failed')
  })
})

describe('a cancelled run', () => {
  test('a cancelled run is refused by resume, runOrResume, planRun and poll, and nothing is written', async () => {
    const { process } = await cancelled(memoryRequests())
    const program = threeSteps(process.world)
    const { revision } = await stored(process.storage)
    for (const refusing of [
      resume(program, 'r'),
      runOrResume(program, 'r'),
      planRun(program, 'r'),
      poll(program, 'r')
    ]) {
      const error = refused(await refusing(process.environment)(), 'RunCancelled')
      assert.equal(RunError.retryLater(error), false)
      assert.match(RunError.describe(error), /^Run r was cancelled; .*`reopen`/)
    }
    refused(await run(program, 'r', {})(process.environment)(), 'RunExists')
    assert.equal((await stored(process.storage)).revision, revision)
  })

  test('a cancelled run resumes with reopen, and repeats nothing', async () => {
    const { process } = await cancelled(memoryRequests())
    const program = threeSteps(process.world)
    right(await planRun(program, 'r', { reopen: true })(process.environment)())
    ended(await process.perform(runOrResume(program, 'r', undefined, { reopen: true })), 'Completed')
    assert.deepEqual(process.world.log, ['one', 'two', 'three'])
  })

  test('a reopened run asks for confirmation of units that were in flight', async () => {
    const requests = memoryRequests()
    const world = newWorld()
    const dead = newProcess(world, { requests })
    const once = { idempotent: false }
    const hanging = threeSteps(world, () => TE.fromTask(() => new Promise(() => undefined)), once)
    void run(hanging, 'r', {})(dead.environment)()
    while (!world.log.includes('two')) await new Promise((resolve) => setImmediate(resolve))
    const next = newProcess(world, { requests })
    right(await cancelling(next))
    refused(await next.perform(resume(threeSteps(world, undefined, once), 'r', { reopen: true })), 'Unconfirmed')
  })

  test('an interrupt with the invalid reason `cancelled` does not cancel the run', async () => {
    const process = newProcess(newWorld(), {
      interrupt: { signal: AbortSignal.abort(), reason: () => 'cancelled' as 'aborted' }
    })
    assert.equal(ended(await process.perform(run(threeSteps(process.world), 'r', {})), 'Interrupted').reason, 'aborted')
  })
})
