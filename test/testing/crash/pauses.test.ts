/** A simulated process is asked to pause, and dies anywhere while it does. */
import assert from 'node:assert/strict'
import { rm } from 'node:fs/promises'
import * as E from 'fp-ts/lib/Either.js'
import { pipe } from 'fp-ts/lib/function.js'
import * as O from 'fp-ts/lib/Option.js'
import * as TE from 'fp-ts/lib/TaskEither.js'
import { describe, test } from 'vitest'
import { fileRequests } from '../../../src/adapters/json-file/index.js'
import type { MemoryData } from '../../../src/adapters/memory.js'
import { memoryData, memoryRequests, memoryStorage } from '../../../src/adapters/memory.js'
import type { CheckpointStorage, Requests } from '../../../src/index.js'
import { workflow } from '../../../src/promise/index.js'
import type { CrashCase, CrashReport } from '../../../src/testing/crash/CrashReport.js'
import { toText } from '../../../src/testing/crash/CrashReport.js'
import type { CrashOptions } from '../../../src/testing/crash/crashOptions.js'
import { crashEverywhere } from '../../../src/testing/crash/crashEverywhere.js'
import type { AtRequest, CrashPoint } from '../../../src/testing/crash/CrashPoint.js'
import { describePoint } from '../../../src/testing/crash/CrashPoint.js'
import type { Pause, PauseAtCall } from '../../../src/testing/crash/Intervention.js'
import { describeIntervention } from '../../../src/testing/crash/Intervention.js'
import { startLife } from '../../../src/testing/crash/process/Life.js'
import type { RequestCallWatch } from '../../../src/testing/crash/process/KillableRequests.js'
import { killableRequests } from '../../../src/testing/crash/process/KillableRequests.js'
import type { ProcessContext } from '../../../src/testing/crash/process/Process.js'
import type { Trace } from '../../../src/testing/crash/Trace.js'
import { describeEntry } from '../../../src/testing/crash/Trace.js'
import { folder, next } from '../../adapters/json-file/kit.js'
import { policy } from '../../executor/fixtures.js'

/** A task, parallel and dependent groups, a second attempt, and a non-idempotent step. */
const release = ({ world, sleep, effect }: ProcessContext<Array<string>>) =>
  workflow('release')
    .step('version', { capture: 'version', run: () => '1.2.3' })
    .wave(
      'checks',
      {
        unit: {
          retry: policy({ _tag: 'Constant', attempts: 2, delayMillis: 60_000 }),
          run: async ({ attempt, signal }) => {
            await sleep(20_000, signal)
            if (attempt === 1) throw Object.assign(new Error('flaky'), { status: 503 })
            return 42
          }
        },
        lint: async ({ signal }) => {
          await sleep(30_000, signal)
          return 'clean'
        },
        report: { needs: ['unit'], run: () => 'fine' }
      },
      { concurrency: 2 }
    )
    .step('publish', {
      idempotent: false,
      run: async () => {
        await effect('publish', () => world.push('published'))
        return 'published'
      }
    })
    .step('announce', () => 'announced')

const UNITS = ['version', 'checks/unit', 'checks/lint', 'checks/report', 'publish', 'announce']

const UNREADABLE = { _tag: 'ReadFailed', where: 'here', operation: 'read', code: 'EIO', cause: undefined } as const

const NOWHERE: CrashPoint = { _tag: 'AtCall', n: 1000, how: 'before' }

const assertHolds = (report: CrashReport): void => assert.equal(report.violations.length, 0, toText(report))

const pauseIn = (unit: string, life = 1): Pause => ({ _tag: 'Pause', life, unit })

interface Told {
  readonly trace: Trace
  readonly lines: ReadonlyArray<string>
}

/** The events of a run, in order, as text. */
const tell = async <Data = unknown>(
  interventions: ReadonlyArray<Pause | PauseAtCall>,
  schedule: ReadonlyArray<CrashPoint> = [],
  options: Pick<CrashOptions<Array<string>, Data, object>, 'storage'> = {}
): Promise<Told> => {
  const only: CrashCase = { schedule, answer: 'again', interventions }
  let seen: Trace = []
  const report = await crashEverywhere(release, {
    ...options,
    world: () => [],
    only,
    invariants: { seen: ({ trace }) => void (seen = [...trace]) }
  })
  assertHolds(report)
  return { trace: seen, lines: seen.map(describeEntry) }
}

const startsIn = (trace: Trace, life: number): ReadonlyArray<string> =>
  trace.flatMap((entry) => (entry._tag === 'Started' && entry.life === life ? [entry.unit] : []))

describe('pause requests', () => {
  test.each(UNITS)(
    'a process asked to pause while unit %s runs lets that unit end and starts nothing more; the next process repeats nothing',
    async (unit) => {
      const { trace, lines } = await tell([pauseIn(unit)])
      assert.ok(lines.includes(`process 1 gets a pause request while ${unit} runs`))
      assert.equal(trace.filter(({ _tag }) => _tag === 'Answered').length, 0)
      const [first, second] = [startsIn(trace, 1), startsIn(trace, 2)]
      assert.ok(first.includes(unit) && !second.includes(unit))
      assert.deepEqual([...new Set([...first, ...second])].sort(), [...UNITS].sort())
      assert.ok(second.every((one) => !first.includes(one)))
      const ended = lines.filter((line) => line.startsWith('process') && line.includes('ends'))
      const at = unit === 'announce' ? [] : ['process 1 ends by itself: paused at']
      assert.equal(ended.length, at.length + 1)
      assert.ok(
        at.every((one, index) => ended[index]?.startsWith(one)),
        ended.join()
      )
    }
  )

  test('after a process died anywhere while pausing, the next process loses and repeats nothing', async () => {
    const report = await crashEverywhere(release, {
      world: () => [],
      twice: 0,
      pauses: true,
      answers: 'again',
      invariants: {
        'publishes twice only after the answer again': ({ world, trace }) =>
          world.length <= 1 + trace.filter((entry) => entry._tag === 'Answered' && entry.answer === 'again').length
      }
    })
    assertHolds(report)
    assert.ok(report.paused > 200, String(report.paused))
    assert.match(toText(report), new RegExp(`, ${report.paused} with a pause`))
  })

  test('a process asked to pause during a store call pauses before the next unit, unless nothing is left or the run has not started', async () => {
    const atCall = async (n: number, how: 'before' | 'after'): Promise<Told> =>
      await tell([{ _tag: 'PauseAtCall', life: 1, n, how }])
    const pausedAt = async (n: number, how: 'before' | 'after'): Promise<string | undefined> =>
      (await atCall(n, how)).lines.find((line) => line.includes('paused at'))?.replace('process 1 ends by itself: ', '')
    const { lines } = await atCall(2, 'before')
    assert.deepEqual(lines.slice(0, 3), [
      'process 1 gets a pause request before its store call 2 takes effect',
      'version starts, attempt 1',
      'version is done'
    ])
    const found = async (how: 'before' | 'after'): Promise<ReadonlyArray<string>> => {
      const ends: Array<string> = []
      for (let n = 1; n <= 10; n++) ends.push((await pausedAt(n, how)) ?? 'completed')
      return ends
    }
    const [checks, publish, announce] = ['paused at checks', 'paused at publish', 'paused at announce']
    assert.deepEqual(await found('before'), [
      // No process holds the run, and nothing of it is stored.
      ...['completed', 'completed'],
      ...[checks, checks, checks, checks, publish, announce],
      // The last step starts, and the run is released.
      ...['completed', 'completed']
    ])
    assert.deepEqual(await found('after'), [
      'completed',
      // Its first step has started; later both groups without needs have.
      ...[checks, checks, checks, checks, checks, publish, announce],
      ...['completed', 'completed']
    ])
  })

  test('a pausing process may die before and after each of its calls, and continues if a call fails', async () => {
    for (const how of ['before', 'after', 'fails'] as const) {
      for (const [n, call] of (['point', 'clearPause'] as const).entries()) {
        const { lines } = await tell([pauseIn('version')], [{ _tag: 'AtRequest', n: n + 1, how, call }])
        const died = `process 1: killed ${how} call ${n + 1} of its requests`
        assert.equal(
          lines.some((line) => line.startsWith(died)),
          how !== 'fails',
          lines.join('\n')
        )
      }
    }
  })

  test('the process after a pause may die before or after it removes the pause pointer, or fail to remove it', async () => {
    for (const how of ['before', 'after', 'fails'] as const) {
      const point: AtRequest = { _tag: 'AtRequest', n: 1, how, call: 'unpoint' }
      const { trace }: Told = await tell([pauseIn('version')], [NOWHERE, point])
      const died = trace.some((entry) => entry._tag === 'Died' && entry.where.endsWith('(unpoint)'))
      assert.deepEqual([died, Math.max(...trace.map(({ life }) => life))], how === 'fails' ? [false, 2] : [true, 3])
    }
  })

  test('if a process dies after it was asked to pause, the next process does not pause', async () => {
    for (const how of ['during', 'after'] as const) {
      const { lines } = await tell([pauseIn('version')], [{ _tag: 'AtUnit', unit: 'version', n: 1, how }])
      assert.ok(lines.includes('process 1 gets a pause request while version runs'))
      assert.ok(!lines.some((line) => line.includes('paused at')))
    }
  })

  test('a pause request to a superseded process does not pause the next one', async () => {
    const late: Pause = { _tag: 'Pause', life: 1, unit: 'version', when: 'late' }
    for (const schedule of [[{ _tag: 'AtUnit', unit: 'checks/lint', n: 1, how: 'during' } as const], []]) {
      const { trace, lines } = await tell([late, ...(schedule.length > 0 ? [] : [pauseIn('checks/lint')])], schedule)
      assert.ok(lines.some((line) => line.endsWith('which arrives only at the next process')))
      assert.equal(Math.max(...trace.map(({ life }) => life)), 2)
    }
  })

  test('a process asked to pause before it raises a question may pause once the question is answered', async () => {
    const publish = { _tag: 'AtUnit', unit: 'publish', n: 1, how: 'after' } as const
    const { lines } = await tell([{ _tag: 'PauseAtCall', life: 2, n: 1, how: 'after' }], [publish])
    assert.ok(lines.includes('answer: run publish again'))
  })

  test('two processes asked to pause, one after the other, pause twice', async () => {
    const { lines } = await tell([pauseIn('version'), pauseIn('publish', 2)])
    assert.deepEqual(
      lines.filter((line) => line.includes('ends by itself')),
      [
        'process 1 ends by itself: paused at checks',
        'process 2 ends by itself: paused at announce',
        'process 3 ends by itself: completed'
      ]
    )
  })
})

describe('a pausing workflow on JSON files', () => {
  const storage = {
    create: () => Promise.resolve(folder()),
    reopen: (root: string) => Promise.resolve(next(root)),
    requests: (root: string) => fileRequests(root),
    destroy: (root: string) => rm(root, { recursive: true, force: true, maxRetries: 20 })
  }

  test('a workflow that dies before or after a call of its pause ends like an undisturbed one', async () => {
    const pausing: ReadonlyArray<CrashPoint> = [1, 2].flatMap((n) =>
      (['before', 'after', 'fails'] as const).map((how) => ({ _tag: 'AtRequest', n, how }) as const)
    )
    const saving: ReadonlyArray<CrashPoint> = [2, 3, 4].map((n) => ({ _tag: 'AtCall', n, how: 'torn' }) as const)
    for (const point of [...pausing, ...saving]) await tell([pauseIn('version')], [point], { storage })
  })
})

describe('faulty pauses', () => {
  const nothing = () => () => Promise.resolve(E.right(undefined))
  const wrong = () => () => Promise.resolve(E.left(UNREADABLE))

  const findsWith = async (
    given: Partial<Requests>,
    around: (storage: CheckpointStorage) => CheckpointStorage = (storage) => storage
  ): Promise<ReadonlyArray<string>> => {
    const storage = {
      create: () => Promise.resolve({ data: memoryData(), requests: { ...memoryRequests(), ...given } }),
      reopen: ({ data }: { readonly data: MemoryData }) => Promise.resolve(around(memoryStorage(data))),
      requests: (data: { readonly requests: Requests }) => data.requests
    }
    const only: CrashCase = { schedule: [], answer: 'again', interventions: [pauseIn('version')] }
    const { violations } = await crashEverywhere(release, { world: () => [], storage, only })
    return violations.map(({ law, what }) => `${law}: ${what}`)
  }

  test('the simulator finds a pause request that is not removed, and a pause pointer that is lost, not removed or unreadable', async () => {
    assert.deepEqual(await findsWith({ clearPause: nothing }), [
      'PauseKept: a process has ended by itself, and the request is still stored'
    ])
    assert.deepEqual(await findsWith({ point: () => () => Promise.resolve(E.right('nowhere')) }), [
      'PauseKept: the run is paused at checks, and the pointer leads to nothing'
    ])
    assert.deepEqual(await findsWith({ unpoint: nothing }), [
      'PauseKept: the run is completed, and the pointer still leads to it'
    ])
    assert.deepEqual(await findsWith({ pointer: wrong() }), ["Undisturbed: the pointer can't be read: ReadFailed"])
  })

  test('the simulator finds a wrong answer to a pause request', async () => {
    const free = (storage: CheckpointStorage): CheckpointStorage => ({
      ...storage,
      load: (runId) => pipe(storage.load(runId), TE.map(O.map((stored) => ({ ...stored, heldBy: O.none }))))
    })
    assert.deepEqual(await findsWith({}, free), [
      'PauseKept: version runs, and the request was answered as if no process held the run'
    ])
    const [refused] = await findsWith({ leave: wrong })
    assert.match(refused ?? '', /^PauseKept: the request failed: /)
  })
})

describe('requests of a killed process', () => {
  const request = {
    _tag: 'Pause' as const,
    runId: 'r',
    addressee: { host: 'h', pid: 1, since: '2026-01-02T03:04:05.000Z' },
    commit: false,
    requestedAt: '2026-01-02T03:04:05.000Z'
  }
  const watching = (at: RequestCallWatch['at']): RequestCallWatch => ({ at, around: (make) => make() })

  /** The result of a call within a turn of the event loop. */
  const withTimeout = async (call: () => Promise<unknown>): Promise<unknown> =>
    await Promise.race([call(), new Promise((resolve) => setImmediate(() => resolve('nothing')))])

  test('requests that a process makes after its kill have no effect and never resolve', async () => {
    const life = startLife()
    const made = memoryRequests()
    const requests = killableRequests(
      life,
      made,
      watching(() => undefined)
    )
    assert.deepEqual(await withTimeout(requests.leave(request)), E.right(undefined))
    assert.equal(requests.isAny('r'), true)
    life.kill()
    assert.equal(requests.isAny('r'), false)
    for (const call of [requests.withdraw(request), requests.list('r'), requests.pointer, requests.unpoint('r')])
      assert.equal(await withTimeout(call), 'nothing')
    assert.equal(made.isAny('r'), true)
  })

  test('a request took effect if its process died after the request, but not if the process died before the request or got an error', async () => {
    const withdrawn = async (how: AtRequest['how']): Promise<readonly [unknown, boolean, boolean]> => {
      const life = startLife()
      const made = memoryRequests()
      await made.leave(request)()
      const requests = killableRequests(
        life,
        made,
        watching((call, n) => (call === 'withdraw' && n === 2 ? how : undefined))
      )
      await requests.unpoint('r')()
      const came = await withTimeout(requests.withdraw(request))
      return [came === 'nothing', life.alive(), made.isAny('r')]
    }
    assert.deepEqual(await withdrawn('before'), [true, false, true])
    assert.deepEqual(await withdrawn('after'), [true, false, false])
    assert.deepEqual(await withdrawn('fails'), [false, true, true])
  })
})

describe('descriptions', () => {
  test('a report describes a pause and a crash point in words', () => {
    assert.equal(describeIntervention(pauseIn('pack', 2)), 'process 2 gets a pause request while pack runs')
    assert.equal(
      describeIntervention({ ...pauseIn('pack'), when: 'late' }),
      'process 1 gets a pause request while pack runs, which arrives only at the next process'
    )
    assert.equal(
      describeIntervention({ _tag: 'PauseAtCall', life: 1, n: 3, how: 'after' }),
      'process 1 gets a pause request after its store call 3 takes effect'
    )
    assert.equal(
      describePoint({ _tag: 'AtRequest', n: 2, how: 'after', call: 'clearPause' }),
      'killed after call 2 of its requests (clearPause)'
    )
  })
})
