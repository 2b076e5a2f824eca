import assert from 'node:assert/strict'
import { pipe } from 'fp-ts/lib/function.js'
import * as O from 'fp-ts/lib/Option.js'
import * as TE from 'fp-ts/lib/TaskEither.js'
import * as t from 'io-ts'
import { describe, test } from 'vitest'
import { memoryRequests, memoryStorage } from '../../src/adapters/memory.js'
import type { CheckpointStorage, Environment, Event, Requests } from '../../src/index.js'
import type * as Checkpoint from '../../src/domain/checkpoint/Checkpoint.js'
import { status } from '../../src/domain/checkpoint/Checkpoint.js'
import type * as ProgramType from '../../src/executor/program/Program.js'
import { cancel, pause, poll, Program, resume, run } from '../../src/index.js'
import type { LooseSpec, Process, World } from './fixtures.js'
import {
  askedBeforeRelease,
  ended,
  group,
  historyOf,
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
import { nameOf } from '../../src/domain/workflow/Unit.js'

const asking = (process: Process, commit?: boolean) =>
  pause('r', commit === undefined ? {} : { commit })(process.environment)()

/** Three steps; the middle one also does the given work. */
const threeSteps = ({ log }: World, during: LooseSpec['run'] = () => TE.right('two')): ProgramType.Program<unknown> => {
  const note =
    (name: string): LooseSpec['run'] =>
    () => {
      log.push(name)
      return TE.right(name)
    }
  return Program.fromSteps('w', [
    task('one', { run: note('one') }),
    task('two', {
      run: (context) => {
        log.push('two')
        return during(context)
      }
    }),
    task('three', { run: note('three') })
  ])
}

const asks = (process: () => Process) => async (): Promise<void> =>
  assert.equal(right(await asking(process()))._tag, 'Requested')

/** A process whose second step requests a pause, and the outcome. */
const paused = async (requests: Requests, world = newWorld(), events?: Environment['events']) => {
  const process: Process = newProcess(world, { requests, ...(events === undefined ? {} : { events }) })
  const outcome = ended(
    await process.perform(
      run(
        threeSteps(
          world,
          asks(() => process)
        ),
        'r',
        {}
      )
    ),
    'Interrupted'
  )
  return { process, outcome }
}

const nothingIsLeft = (requests: Requests): void => assert.equal(requests.isAny('r'), false)

describe('a pause', () => {
  test('a pause lets the running step end, starts no other, and is recorded', async () => {
    const requests = memoryRequests()
    const { process, outcome } = await paused(requests)
    assert.deepEqual(
      [outcome.stepIndex, outcome.step, outcome.inProgress, outcome.reason],
      [2, 'three', false, 'paused']
    )
    assert.deepEqual(process.world.log, ['one', 'two'])
    assert.deepEqual((await historyOf(process.storage)).slice(-2), ['UnitCompleted', 'Interrupted'])
    nothingIsLeft(requests)
  })

  test('a pause stops only one execution: the next resume runs to the end, and repeats nothing', async () => {
    const requests = memoryRequests()
    const { process } = await paused(requests)
    assert.equal(O.toUndefined(right(await requests.pointer()))?.unit, 'three')
    const next = newProcess(process.world, { requests })
    ended(await next.perform(resume(threeSteps(process.world), 'r')), 'Completed')
    assert.deepEqual(process.world.log, ['one', 'two', 'three'])
    assert.deepEqual(right(await requests.pointer()), O.none)
  })

  test('an owner that has recorded a pause writes the pointer, and then withdraws the request', async () => {
    const order: Array<string> = []
    const kept = memoryRequests()
    const requests: Requests = {
      ...kept,
      point: (pointer) => async () => {
        order.push('point')
        return kept.point(pointer)()
      },
      clearPause: (runId) => {
        order.push('clear')
        return kept.clearPause(runId)
      }
    }
    const report = ({ _tag }: Event): void => {
      if (_tag === 'RunInterrupted' || _tag === 'RunPaused') order.push(_tag)
    }
    await paused(requests, newWorld(), { report })
    assert.deepEqual(order, ['RunInterrupted', 'point', 'RunPaused', 'clear'])
  })

  test('a pause while the last step runs leaves the run completed, without request or pointer', async () => {
    const requests = memoryRequests()
    const process: Process = newProcess(newWorld(), { requests })
    const only = Program.fromSteps('w', [task('only', { run: asks(() => process) })])
    ended(await process.perform(run(only, 'r', {})), 'Completed')
    nothingIsLeft(requests)
    assert.deepEqual(right(await requests.pointer()), O.none)
  })

  test('a stop takes precedence over a pause, and withdraws its request', async () => {
    const requests = memoryRequests()
    const process: Process = newProcess(newWorld(), { requests })
    const program = threeSteps(process.world, async () => {
      await asks(() => process)()
      process.stop('signal')
    })
    assert.equal(ended(await process.perform(run(program, 'r', {})), 'Interrupted').reason, 'signal')
    nothingIsLeft(requests)
    assert.deepEqual(right(await requests.pointer()), O.none)
  })

  test('a stop takes precedence over a pause that still waits for running groups', async () => {
    const requests = memoryRequests()
    const process: Process = newProcess(newWorld(), { requests })
    const until: LooseSpec['run'] = ({ signal }) =>
      TE.tryCatch(
        () => new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('told to stop')))),
        (error) => error
      )
    const wave = Program.waveOf(
      'wave',
      [group('a', { run: until }), group('b', { run: asks(() => process) }), group('c', { run: until })],
      { concurrency: 2 }
    )
    const seen: Requests = {
      ...requests,
      list: (runId) => async () => {
        setImmediate(() => setImmediate(() => process.stop('signal')))
        return requests.list(runId)()
      }
    }
    const program = Program.fromSteps('w', [wave])
    const running = run(program, 'r', {})({ ...process.environment, requests: seen })
    assert.equal(ended(await running(), 'Interrupted').reason, 'signal')
    nothingIsLeft(requests)
    assert.deepEqual(right(await requests.pointer()), O.none)
  })

  test('a pause during a wave lets the running groups end and starts no other; a resume runs only the groups that did not start', async () => {
    const requests = memoryRequests()
    const process: Process = newProcess(newWorld(), { requests })
    const { log } = process.world
    const wave = (asked: boolean) =>
      Program.fromSteps('w', [
        Program.waveOf(
          'wave',
          ['a', 'b', 'c', 'd'].map((name) =>
            group(name, {
              run: () => {
                log.push(name)
                return asked && name === 'b' ? asks(() => process)() : TE.right(name)
              }
            })
          ),
          { concurrency: 2 }
        )
      ])
    const outcome = ended(await process.perform(run(wave(true), 'r', {})), 'Interrupted')
    assert.deepEqual([outcome.reason, outcome.inProgress], ['paused', true])
    const done = [...log]
    assert.ok(done.includes('b') && done.length < 4, done.join())
    const pointer = O.toUndefined(right(await requests.pointer()))
    assert.equal(
      nameOf(pointer?.unit ?? ''),
      ['a', 'b', 'c', 'd'].find((name) => !done.includes(name))
    )
    ended(await newProcess(process.world, { requests }).perform(resume(wave(false), 'r')), 'Completed')
    assert.deepEqual([...log].sort(), ['a', 'b', 'c', 'd'])
  })
})

describe('a pause during a running unit', () => {
  const dones = async (process: Process): Promise<ReadonlyArray<string>> =>
    Object.keys(outputsOf(await stored(process.storage))).sort()

  test.each([
    ['the step before it', 'list'],
    ['an item of it', 'a']
  ])(
    'after a pause a map repeats nothing and computes its items only once: the pause comes during %s',
    async (_, when) => {
      const requests = memoryRequests()
      const process: Process = newProcess(newWorld(), { requests })
      const { log } = process.world
      let lists = 0
      const crawl = (asked: boolean) => {
        const work = (name: string) =>
          TE.fromTask(async () => {
            log.push(name)
            if (asked && name === when) right(await asking(process))
            return name
          })
        return pipe(
          Program.start('crawl'),
          Program.step('list', { output: t.string, run: () => work('list') }),
          Program.map(
            'fetch',
            {
              forEach: () => {
                lists += 1
                return ['a', 'b', 'c']
              },
              item: t.string,
              key: (page) => page,
              concurrency: 1
            },
            { output: t.string, run: ({ item }) => work(item) }
          )
        )
      }
      const outcome = ended(await process.perform(run(crawl(true), 'r', {})), 'Interrupted')
      assert.deepEqual([outcome.step, outcome.reason], ['fetch', 'paused'])
      assert.deepEqual(log, when === 'list' ? ['list'] : ['list', 'a'])
      const pointer = O.toUndefined(right(await requests.pointer()))
      assert.equal(pointer?.unit, when === 'list' ? 'fetch' : 'fetch/b')
      ended(await newProcess(process.world, { requests }).perform(resume(crawl(false), 'r')), 'Completed')
      assert.deepEqual([log, lists], [['list', 'a', 'b', 'c'], 1])
    }
  )

  test('a pause while a job is submitted records the job, and a resume does not submit it again', async () => {
    const requests = memoryRequests()
    const process: Process = newProcess(newWorld(), { requests })
    const { log } = process.world
    const batches = (asked: boolean) =>
      pipe(
        Program.start('batches'),
        Program.wave(
          'all',
          {
            train: {
              output: t.string,
              job: {
                submit: () =>
                  TE.fromTask(async () => {
                    log.push('submitted')
                    if (asked) right(await asking(process))
                    return 'job'
                  }),
                poll: () => TE.right({ _tag: 'Finished' } as const),
                collect: () => TE.right('trained')
              }
            },
            lint: { run: () => TE.fromIO(() => log.push('lint')) }
          },
          { concurrency: 1 }
        )
      )
    assert.equal(ended(await process.perform(run(batches(true), 'r', {})), 'Interrupted').reason, 'paused')
    assert.deepEqual(log, ['submitted'])
    assert.equal((await stored(process.storage)).pending.size, 1)
    right(await patiently(process.clock, poll(batches(false), 'r')(process.environment)()))
    const next = newProcess(process.world, { requests })
    ended(await next.perform(resume(batches(false), 'r')), 'Completed')
    assert.deepEqual(log, ['submitted', 'lint'])
    assert.deepEqual(await dones(next), ['all', 'all/lint', 'all/train'])
  })

  test('a pause during a retry delay waits until the step has completed', async () => {
    const requests = memoryRequests()
    const process: Process = newProcess(newWorld(), { requests })
    let attempts = 0
    const attempt = TE.fromTask(async () => {
      attempts += 1
      if (attempts === 1) right(await asking(process))
    })
    const flaky: LooseSpec['run'] = () =>
      pipe(
        attempt,
        TE.chain(() => (attempts === 1 ? TE.left<unknown>({ status: 500 }) : TE.right('two')))
      )
    const program = Program.fromSteps('w', [
      task('two', { retry: policy({ attempts: 3 }), run: flaky }),
      task('three', { run: () => TE.right('three') })
    ])
    assert.equal(ended(await process.perform(run(program, 'r', {})), 'Interrupted').step, 'three')
    assert.deepEqual([attempts, await dones(process)], [2, ['two']])
  })
})

describe('a pause request', () => {
  test('a pause request for an earlier execution does not pause a later one, and is withdrawn', async () => {
    const kept = memoryRequests()
    // The process dies before it deletes the request.
    const { process } = await paused({ ...kept, clearPause: () => TE.right(undefined) })
    assert.equal(kept.isAny('r'), true)
    const next = newProcess(process.world, { requests: kept, owner: { host: 'build-1', pid: 200 } })
    ended(await next.perform(resume(threeSteps(process.world), 'r')), 'Completed')
    assert.deepEqual(process.world.log, ['one', 'two', 'three'])
    nothingIsLeft(kept)
  })

  test('a pause request is obeyed if it arrives while the executor checks an outdated one', async () => {
    const kept = memoryRequests()
    const { process } = await paused({ ...kept, clearPause: () => TE.right(undefined) })
    const next: Process = newProcess(process.world, { requests: kept, owner: { host: 'build-1', pid: 200 } })
    let looking = false
    const requests: Requests = {
      ...kept,
      list: (runId) => async () => {
        const found = await kept.list(runId)()
        if (!looking) {
          looking = true
          assert.equal(right(await asking(next))._tag, 'Requested')
        }
        return found
      }
    }
    const program = Program.fromSteps(
      'w',
      ['one', 'two', 'three', 'four'].map((name) => task(name, { run: () => TE.right(name) }))
    )
    const outcome = await resume(program, 'r', { changes: 'ignore' })({ ...next.environment, requests })()
    assert.equal(ended(outcome, 'Interrupted').reason, 'paused')
  })

  test('a pause fails with NoSuchRun if the run is removed meanwhile', async () => {
    const kept = memoryRequests()
    const process: Process = newProcess(newWorld(), { requests: kept })
    const gone: Requests = {
      ...kept,
      leave: () => async () => {
        process.stop()
        await running
        right(await process.storage.remove('r')())
        return TE.left({
          _tag: 'WriteFailed',
          committed: 'no',
          where: 'r',
          operation: 'open',
          code: 'ENOENT',
          cause: 0
        } as const)()
      }
    }
    let answer: ReturnType<ReturnType<ReturnType<typeof pause>>> | undefined
    const program = threeSteps(process.world, () =>
      TE.fromTask(async () => {
        answer = pause('r')({ ...process.environment, requests: gone })()
        await new Promise((resolve) => setImmediate(resolve))
      })
    )
    const running = process.perform(run(program, 'r', {}))
    await running
    assert.ok(answer !== undefined)
    refused(await answer, 'NoSuchRun')
  })

  test('a pause of a run that is already paused leaves no request, and returns the status of the run', async () => {
    const requests = memoryRequests()
    const { process } = await paused(requests)
    assert.deepEqual(right(await asking(process)), { _tag: 'AtRest', runId: 'r', status: 'paused' })
    nothingIsLeft(requests)
  })

  test('a pause request that arrives after the run has ended is withdrawn', async () => {
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
    const program = threeSteps(process.world, () =>
      TE.fromTask(async () => {
        answer = pause('r')({ ...process.environment, requests: late })()
        await new Promise((resolve) => setImmediate(resolve))
      })
    )
    let answer: ReturnType<ReturnType<ReturnType<typeof pause>>> | undefined
    const running = process.perform(run(program, 'r', {}))
    ended(await running, 'Interrupted')
    assert.ok(answer !== undefined)
    assert.deepEqual(right(await answer), { _tag: 'AtRest', runId: 'r', status: 'interrupted' })
    nothingIsLeft(kept)
  })

  test.each([
    ['before the owner looks a last time', 'save'],
    ['while the owner releases the run', 'release']
  ] as const)('a pause that arrives when its run ends pending, %s, is recorded afterwards', async (_, call) => {
    const requests = memoryRequests()
    let asked = 0
    const process: Process = newProcess(newWorld(), {
      requests,
      around: (storage) => {
        const askOnce = async (): Promise<void> => {
          asked += 1
          if (asked === 1) assert.equal(right(await asking(process))._tag, 'Requested')
        }
        return {
          ...storage,
          save: (claim, revisions) => async () => {
            const saved = await storage.save(claim, revisions)()
            if (call === 'save' && revisions.some(({ change }) => change._tag === 'Interrupted')) await askOnce()
            return saved
          },
          release: (claim) => async () => {
            if (call === 'release') await askOnce()
            return storage.release(claim)()
          }
        }
      }
    })
    const waiting = pipe(Program.start('w'), Program.waitFor('ok'))
    const outcome = ended(await process.perform(run(waiting, 'r', {})), 'Interrupted')
    assert.deepEqual([outcome.reason, outcome.step], ['paused', 'ok'])
    assert.deepEqual(outcome.checkpoint, await stored(process.storage))
    assert.equal(status(outcome.checkpoint, false), 'paused')
    nothingIsLeft(requests)
    const pointer = right(await requests.pointer())
    assert.ok(O.isSome(pointer) && pointer.value.unit === 'ok')
  })

  test('a cancel outweighs a pause if both arrive while the owner releases the run', async () => {
    const world = newWorld()
    const waiting = pipe(Program.start('w'), Program.waitFor('ok'))
    const requests = memoryRequests()
    const another = newProcess(world, { requests })
    ended(await another.perform(run(waiting, 'x', {})), 'Pending')
    assert.equal(right(await pause('x')(another.environment)())._tag, 'Paused')
    const { process } = askedBeforeRelease(
      async (owner) => {
        assert.equal(right(await asking(owner))._tag, 'Requested')
        assert.equal(right(await cancel('r')(owner.environment)())._tag, 'Requested')
      },
      { world, requests }
    )
    assert.equal(ended(await process.perform(run(waiting, 'r', {})), 'Interrupted').reason, 'cancelled')
    assert.equal(status(await stored(process.storage), false), 'cancelled')
    assert.ok(process.events.every(({ _tag }) => _tag !== 'RunPaused'))
    assert.equal(O.toUndefined(right(await requests.pointer()))?.runId, 'x')
    nothingIsLeft(requests)
  })

  test('a late pause request for an earlier execution does not pause a run that ends pending', async () => {
    const { process, requests } = askedBeforeRelease(() => {
      const addressee = { host: 'elsewhere', pid: 1, since: '2026-01-02T03:04:05.000Z' }
      const requestedAt = '2026-01-02T03:04:06.000Z'
      return requests.leave({ _tag: 'Pause', runId: 'r', addressee, commit: true, requestedAt })()
    })
    const waiting = pipe(Program.start('w'), Program.waitFor('ok'))
    ended(await process.perform(run(waiting, 'r', {})), 'Pending')
    assert.equal(status(await stored(process.storage), false), 'pending')
  })

  test('an unreadable pause request pauses the run, commits nothing, and is reported', async () => {
    const damaged = { _tag: 'Corrupt', runId: 'r', where: 'pause.json', why: 'it is damaged' } as const
    const requests: Requests = { ...memoryRequests(), isAny: () => true, list: () => TE.left(damaged) }
    const process = newProcess(newWorld(), { requests })
    assert.equal(ended(await process.perform(run(threeSteps(process.world), 'r', {})), 'Interrupted').reason, 'paused')
    assert.deepEqual(process.world.log, [])
    assert.deepEqual(
      process.events.flatMap((event) => (event._tag === 'RunPaused' ? [event.unreadable] : [])),
      [damaged]
    )
  })

  test('a pause request whose addressee cannot be checked pauses the run, commits nothing, and is reported', async () => {
    const failed = { _tag: 'ReadFailed', where: 'the store', operation: 'load', code: 'EIO', cause: undefined } as const
    const requests = memoryRequests()
    const addressee = { host: 'elsewhere', pid: 1, since: '2026-01-02T03:04:05.000Z' }
    await requests.leave({
      _tag: 'Pause',
      runId: 'r',
      addressee,
      commit: true,
      requestedAt: '2026-01-02T03:04:05.000Z'
    })()
    const around = (storage: CheckpointStorage): CheckpointStorage => ({ ...storage, load: () => TE.left(failed) })
    const process = newProcess(newWorld(), { requests, around })
    assert.equal(ended(await process.perform(run(threeSteps(process.world), 'r', {})), 'Interrupted').reason, 'paused')
    assert.deepEqual(process.world.log, [])
    assert.deepEqual(
      process.events.flatMap((event) => (event._tag === 'RunPaused' ? [event.unreadable] : [])),
      [failed]
    )
  })

  test('a pause of a missing run, or in an environment without requests, is refused', async () => {
    refused(await asking(newProcess(newWorld(), { requests: memoryRequests() })), 'NoSuchRun')
    refused(await asking(newProcess()), 'NoRequests')
  })

  test('a pause is seen although `isAny` of an untyped inbox returns a promise', async () => {
    const requests = memoryRequests()
    const untyped = { ...requests, isAny: (runId: string) => Promise.resolve(requests.isAny(runId)) }
    const process = newProcess(newWorld(), { requests: untyped as unknown as Requests })
    const program = pipe(
      Program.start('w'),
      Program.step('one', async () => void right(await asking(process))),
      Program.step('two', () => process.world.log.push('two'))
    )
    assert.equal(ended(await process.perform(run(program, 'r', {})), 'Interrupted').reason, 'paused')
    assert.deepEqual(process.world.log, [])
  })

  test('an execution for which no request arrives calls only `isAny` of the inbox', async () => {
    let looks = 0
    const untouched = (): never => assert.fail('there is no request')
    const requests: Requests = {
      leave: untouched,
      isAny: () => ((looks += 1), false),
      list: untouched,
      withdraw: untouched,
      clearPause: untouched,
      point: untouched,
      pointer: () => untouched(),
      unpoint: untouched
    }
    const process = newProcess(newWorld(), { requests })
    ended(await process.perform(run(threeSteps(process.world), 'r', {})), 'Completed')
    assert.equal(looks, 5)
  })
})

describe('a pointer that cannot be written', () => {
  test.each(['point', 'unpoint'] as const)('an inbox that throws in `%s` does not fail the run', async (call) => {
    const throws = (): never => {
      throw new Error('no room')
    }
    const requests: Requests = { ...memoryRequests(), [call]: throws }
    const { process, outcome } = await paused(requests)
    assert.equal(outcome.reason, 'paused')
    ended(await newProcess(process.world, { requests }).perform(resume(threeSteps(process.world), 'r')), 'Completed')
    assert.deepEqual(process.world.log, ['one', 'two', 'three'])
  })

  test('a run is paused even if its pause pointer cannot be written, and the failure is reported', async () => {
    const full = {
      _tag: 'WriteFailed',
      committed: 'no',
      where: '/state',
      operation: 'open',
      code: 'ENOSPC',
      cause: 0
    } as const
    const { process, outcome } = await paused({ ...memoryRequests(), point: () => TE.left(full) })
    assert.equal(outcome.reason, 'paused')
    const told = process.events.flatMap((event) => (event._tag === 'RunPaused' ? event.problems : []))
    assert.deepEqual(told, [full])
  })
})

interface Pausing {
  readonly commit: boolean
  /** The `commit` of another request, which arrives once the first was read. */
  readonly later?: boolean
  /** How often the store still reports the holder after a pause was requested. */
  readonly loads?: number
  readonly onInterrupted?: (world: World) => unknown
}

describe('uncommitted work', () => {
  const worktree = {
    kind: 'worktree',
    path: '/ws/r',
    root: '/ws/r',
    repository: '/repository',
    branch: 'dogear/r',
    commit: 'c0'
  } as const
  const hash = 'a'.repeat(40)

  const pausedIn = async ({ commit, later, loads = Infinity, onInterrupted = () => undefined }: Pausing) => {
    const requests = memoryRequests()
    let answers = Infinity
    const failed = { _tag: 'ReadFailed', where: 'the store', operation: 'load', code: 'EIO', cause: undefined } as const
    const around = (storage: CheckpointStorage): CheckpointStorage => ({
      ...storage,
      load: (runId) => (answers-- > 0 ? storage.load(runId) : TE.left(failed))
    })
    const world = newWorld()
    const committed: Array<Checkpoint.Checkpoint['state']['_tag']> = []
    const none = (): never => assert.fail('not asked for')
    const process: Process = newProcess(world, {
      requests,
      around,
      workspaces: {
        plan: () => TE.right(worktree),
        make: () => TE.right(undefined),
        find: () => TE.right({ there: true, folders: [] }),
        stepFolder: none,
        tree: () => process.environment.tree,
        commit: () => async () => {
          answers = Infinity
          committed.push((await stored(process.storage)).state._tag)
          return TE.right(O.some(hash))()
        },
        merge: none,
        remove: none
      }
    })
    const ask = async (wanted: boolean): Promise<void> => {
      right(await asking(process, wanted))
      answers = loads
    }
    const program = Program.fromSteps('w', [
      Program.waveOf(
        'wave',
        [
          group('a', { run: () => TE.fromTask(() => ask(commit)) }),
          group('b', {
            run: () =>
              TE.fromTask(async () => {
                for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve))
                if (later !== undefined) await ask(later)
              })
          }),
          group('c', { run: () => TE.right('c') })
        ],
        { concurrency: 2 }
      )
    ])
    const events: Environment['events'] = { report: ({ _tag }) => _tag === 'RunInterrupted' && onInterrupted(world) }
    const running = run(program, 'r', {}, { workspace: 'worktree' })({ ...process.environment, events })
    ended(await running(), 'Interrupted')
    return { committed, pointer: O.toUndefined(right(await requests.pointer())) }
  }

  test('uncommitted work is committed once the pause is recorded, and the pointer names the commit', async () => {
    const { committed, pointer } = await pausedIn({ commit: true })
    assert.deepEqual(committed, ['Interrupted'])
    assert.equal(pointer?.committed, hash)
  })

  test.each([true, false])(
    'uncommitted work is committed only if the newest request says so: commit is %s',
    async (later) => {
      const { committed } = await pausedIn({ commit: !later, later })
      assert.equal(committed.length, later ? 1 : 0)
    }
  )

  test('uncommitted work stays if the store cannot check the addressee of the request', async () => {
    assert.deepEqual((await pausedIn({ commit: true, loads: 0 })).committed, [])
  })

  test('uncommitted work is committed if the store fails only after the addressee of the request was checked', async () => {
    assert.deepEqual((await pausedIn({ commit: true, loads: 1 })).committed, ['Interrupted'])
  })

  test('uncommitted work stays if the owner lost its claim meanwhile, and no pointer is written', async () => {
    const { committed, pointer } = await pausedIn({ commit: true, onInterrupted: ({ data }) => memoryStorage(data) })
    assert.deepEqual(committed, [])
    assert.equal(pointer, undefined)
  })

  test('uncommitted work stays if the request sets commit to false', async () => {
    const { committed, pointer } = await pausedIn({ commit: false })
    assert.deepEqual(committed, [])
    assert.equal(pointer?.committed, undefined)
  })
})
