import assert from 'node:assert/strict'
import * as E from 'fp-ts/lib/Either.js'
import { pipe } from 'fp-ts/lib/function.js'
import * as TE from 'fp-ts/lib/TaskEither.js'
import { describe, test } from 'vitest'
import { memoryRequests } from '../../src/adapters/memory.js'
import type { Checkpoint } from '../../src/domain/checkpoint/Checkpoint.js'
import { status } from '../../src/domain/checkpoint/Checkpoint.js'
import type { CancelResult, CheckpointStorage, Environment, Executor, PauseResult, Requests } from '../../src/index.js'
import { answer, cancel, cleanWorkspace, fork, pause, Program, run } from '../../src/index.js'
import type { Process } from './fixtures.js'
import { askedBeforeRelease, ended, historyOf, newProcess, newWorld, right, stored } from './fixtures.js'

interface Signal {
  readonly given: Promise<void>
  readonly give: () => void
}

const signal = (): Signal => {
  let resolve = (): void => undefined
  const given = new Promise<void>((done) => (resolve = done))
  return { given, give: () => resolve() }
}

const MOMENTS = ['looks again', 'claims the run', 'is refused a claim'] as const

/** Leaves a request while the owner of a waiting run releases it. The owner records the request before the caller does `moment`. */
const askedLate = async <A>(
  moment: (typeof MOMENTS)[number],
  ask: (environment: Environment) => Promise<E.Either<unknown, A>>
) => {
  const requests = memoryRequests()
  const [left, released, seen, recorded] = [signal(), signal(), signal(), signal()]
  let looks = 0
  let isRefused = false
  let hasReleased = false
  let asked: Promise<E.Either<unknown, A>> | undefined
  const callerStorage = (storage: CheckpointStorage): CheckpointStorage => ({
    ...storage,
    load: (runId) => async () => {
      looks += 1
      if (looks === 2) await (moment === 'looks again' ? recorded : released).given
      const found = await storage.load(runId)()
      if (looks === 2) seen.give()
      return found
    },
    claim:
      (...how) =>
      async () => {
        await recorded.given
        if (moment !== 'is refused a claim' || isRefused) return storage.claim(...how)()
        isRefused = true
        const [runId, { host, pid }] = how
        const holder = { host, pid, since: '2026-01-02T03:04:05.000Z', liveness: 'alive' } as const
        return E.left({ _tag: 'HeldBy', runId, holder } as const)
      }
  })
  const callerRequests: Requests = {
    ...requests,
    leave: (request) => async () => {
      const result = await requests.leave(request)()
      left.give()
      return result
    },
    withdraw: (request) => async () => {
      await recorded.given
      return requests.withdraw(request)()
    }
  }
  const ownerRequests: Requests = {
    ...requests,
    list: (runId) => async () => {
      if (hasReleased && moment !== 'looks again') await seen.given
      return requests.list(runId)()
    }
  }
  const owner: Process = newProcess(newWorld(), {
    requests: ownerRequests,
    around: (storage) => ({
      ...storage,
      release: (claim) => async () => {
        if (asked === undefined) {
          asked = ask({ ...owner.environment, storage: callerStorage(storage), requests: callerRequests })
          await left.given
        }
        const result = await storage.release(claim)()
        hasReleased = true
        released.give()
        return result
      }
    })
  })
  right(await owner.perform(run(pipe(Program.start('w'), Program.waitFor('ok')), 'r', {})))
  recorded.give()
  assert.ok(asked !== undefined)
  const result = right(await asked)
  assert.equal(requests.isAny('r'), false)
  return { result, history: await historyOf(owner.storage) }
}

describe('a request that the owner records after its release', () => {
  test.each(MOMENTS)('a pause that the owner records before its caller %s returns `Paused`', async (moment) => {
    const { result, history } = await askedLate(moment, (environment) => pause('r')(environment)())
    assert.equal(result._tag, 'Paused')
    assert.deepEqual(history.slice(-2), ['Interrupted', 'Interrupted'])
  })

  test.each(MOMENTS)('a cancel that the owner records before its caller %s returns `Cancelled`', async (moment) => {
    const { result, history } = await askedLate(moment, (environment) => cancel('r')(environment)())
    assert.equal(result._tag, 'Cancelled')
    assert.deepEqual(history.slice(-2), ['Interrupted', 'Interrupted'])
  })

  test.each(MOMENTS)('an answer that the owner records before its caller %s returns `Recorded`', async (moment) => {
    const { result, history } = await askedLate(moment, (environment) => answer('r', 'ok', 'yes')(environment)())
    assert.equal(result._tag, 'Recorded')
    assert.deepEqual(history.slice(-2), ['Interrupted', 'Answered'])
  })
})

describe('a request that arrives while the owner releases a run that has ended', () => {
  test.each(['completed', 'cancelled'] as const)('a late pause of a run that was %s leaves no request', async (end) => {
    const { process: owner, requests } = askedBeforeRelease(async ({ environment }) =>
      assert.equal(right(await pause('r')(environment)())._tag, 'Requested')
    )
    const ending = pipe(
      Program.start('w'),
      Program.step('one', () =>
        TE.fromTask(async () => {
          if (end === 'cancelled') right(await cancel('r')(owner.environment)())
        })
      ),
      Program.step('two', () => TE.right(2))
    )
    ended(await owner.perform(run(ending, 'r', {})), end === 'cancelled' ? 'Interrupted' : 'Completed')
    assert.deepEqual(right(await requests.list('r')()), [])
  })
})

describe('a pause that arrives while a process records another pause', () => {
  /** A process that gets a pause request before each of these calls of its store, in this order. */
  const askedBefore = (calls: Array<'save' | 'release'>) => {
    const requests = memoryRequests()
    const ask = async (call: 'save' | 'release'): Promise<void> => {
      if (calls[0] !== call) return
      calls.shift()
      assert.equal(right(await pause('r')(process.environment)())._tag, 'Requested')
    }
    const process: Process = newProcess(newWorld(), {
      requests,
      around: (storage) => ({
        ...storage,
        save:
          (...how) =>
          async () => {
            await ask('save')
            return storage.save(...how)()
          },
        release: (claim) => async () => {
          await ask('release')
          return storage.release(claim)()
        }
      })
    })
    const assertPaused = async (): Promise<void> => {
      assert.deepEqual([calls, status(await stored(process.storage), false)], [[], 'paused'])
      assert.deepEqual(right(await requests.list('r')()), [])
    }
    return { process, assertPaused }
  }
  const waiting = run(pipe(Program.start('w'), Program.waitFor('ok')), 'r', {})

  test('a pause that arrives while the owner records a late pause leaves no request', async () => {
    const { process, assertPaused } = askedBefore(['release', 'save'])
    right(await process.perform(waiting))
    await assertPaused()
  })

  test('a pause that arrives while another process pauses a run without an owner leaves no request', async () => {
    const calls: Array<'save'> = []
    const { process, assertPaused } = askedBefore(calls)
    right(await process.perform(waiting))
    calls.push('save')
    assert.equal(right(await pause('r')(process.environment)())._tag, 'Paused')
    await assertPaused()
  })
})

test.each([false, true])(
  'a cancel that arrives while the owner releases a paused run is in the outcome; wait: %s',
  async (wait) => {
    const { process, requests } = askedBeforeRelease(async ({ environment }) =>
      assert.equal(right(await cancel('r')(environment)())._tag, 'Requested')
    )
    const program = pipe(
      Program.start('w'),
      Program.step('one', () => async () => {
        assert.equal(right(await pause('r')(process.environment)())._tag, 'Requested')
        return E.right(1)
      }),
      Program.waitFor('ok')
    )
    const outcome = ended(await process.perform(run(program, 'r', {}, { wait })), 'Interrupted')
    assert.equal(outcome.reason, 'cancelled')
    assert.equal(status(outcome.checkpoint, false), 'cancelled')
    assert.deepEqual(right(await requests.list('r')()), [])
  }
)

describe('a request to a process that holds a run but does not execute it', () => {
  const waiting = pipe(
    Program.start('w'),
    Program.step('one', () => TE.right(1)),
    Program.waitFor('ok')
  )
  const statusOf = (checkpoint: Checkpoint): string => status(checkpoint, false)

  test.each(['pause', 'cancel'] as const)(
    'a %s that arrives while a workspace is cleaned is recorded',
    async (name) => {
      const requests = memoryRequests()
      const ask: (runId: string) => Executor<PauseResult | CancelResult> = name === 'pause' ? pause : cancel
      const none = (): never => assert.fail('the run has no workspace')
      const process: Process = newProcess(newWorld(), {
        requests,
        workspaces: {
          plan: none,
          make: none,
          find: none,
          stepFolder: none,
          tree: none,
          commit: none,
          merge: none,
          remove: () => async () => {
            assert.equal(right(await ask('r')(process.environment)())._tag, 'Requested')
            return E.right({ folders: [] })
          }
        }
      })
      const { workspaces: _, ...without } = process.environment
      ended(await run(waiting, 'r', {})(without)(), 'Pending')
      right(await cleanWorkspace('r')(process.environment)())
      assert.equal(statusOf(await stored(process.storage)), name === 'pause' ? 'paused' : 'cancelled')
      assert.deepEqual(right(await requests.list('r')()), [])
    }
  )

  test('a cancel that arrives while a process forks a run is recorded', async () => {
    const { process, requests } = askedBeforeRelease(
      async ({ environment }) => assert.equal(right(await cancel('copy')(environment)())._tag, 'Requested'),
      { runId: 'copy' }
    )
    ended(await process.perform(run(waiting, 'r', {})), 'Pending')
    right(await fork('r', 'copy', { fromStep: 'one' })(process.environment)())
    assert.equal(statusOf(await stored(process.storage, 'copy')), 'cancelled')
    assert.deepEqual(right(await requests.list('copy')()), [])
  })
})
