import assert from 'node:assert/strict'
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import * as TE from 'fp-ts/lib/TaskEither.js'
import { describe, test } from 'vitest'
import { memoryData, memoryRequests, memoryStorage } from '../../src/adapters/memory.js'
import { nodeEnvironment } from '../../src/adapters/node/index.js'
import type { CheckpointStorage, Claimed, ResumeOptions } from '../../src/index.js'
import { resumeAll as resumeAllRuns } from '../../src/index.js'
import type { Options, ResumedRun } from '../../src/promise/index.js'
import {
  answer,
  cancel,
  listRuns,
  pause,
  resumeAll,
  run,
  runOutcome,
  start,
  viewRun,
  workflow
} from '../../src/promise/index.js'
import { virtualClock } from '../../src/testing/crash/process/VirtualClock.js'
import { patiently } from '../executor/fixtures.js'
import { FULL } from '../executor/fixtures.js'

const never = (): Promise<never> => new Promise(() => undefined)

const short = (found: ReadonlyArray<ResumedRun>): Readonly<Record<string, string>> =>
  Object.fromEntries(
    found.map((one) => [one.runId, one._tag === 'Resumed' ? `resumed: ${one.outcome}` : `left: ${one.why}`])
  )

/** A workflow whose only step hangs in the first process and returns after a `restart`. */
const hanging = (name: string, idempotent = true) => {
  let life = 0
  const flow = workflow(name).step('work', { idempotent, run: () => (life === 0 ? never() : `done in ${life}`) })
  return { flow, restart: () => (life += 1) }
}

/** Some runs whose process hangs in their step. `found` opens a store for which that owner is dead. */
const crashed = async (names: ReadonlyArray<string>) => {
  const data = memoryData()
  const { flow, restart } = hanging('order')
  for (const id of names) await start(flow, { id, storage: memoryStorage(data, { formerOwners: 'undecided' }) })
  restart()
  return { data, flow, found: () => memoryStorage(data) }
}

const until = async (is: () => boolean | Promise<boolean>): Promise<void> => {
  for (let n = 0; n < 500; n++) {
    if (await is()) return
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
  assert.fail('waited in vain')
}

describe('resumeAll', () => {
  test('resumeAll finishes interrupted and due runs, and leaves all others alone and reports them', async () => {
    const data = memoryData()
    const [requests, clock] = [memoryRequests(), virtualClock()]
    const before = { storage: memoryStorage(data), environment: { requests, clock } }
    const order = hanging('order')
    const careful = hanging('careful', false)
    const sleeping = workflow('sleeping')
      .sleep('nap', { millis: 1_000 })
      .step('after', () => 'awake')
    const long = workflow('long').sleep('nap', { millis: 3_600_000 })
    const asking = workflow('asking')
      .waitFor('ok')
      .step('after', () => 'ok')
    const failing = workflow('failing').step('one', () => Promise.reject(new Error('no')))
    const other = hanging('other')

    await start(order.flow, { ...before, id: 'killed' })
    await start(careful.flow, { ...before, id: 'in-doubt' })
    await start(other.flow, { ...before, id: 'of-another-host' })
    await runOutcome(order.flow, { ...before, id: 'stopped', signal: AbortSignal.abort() })
    await runOutcome(sleeping, { ...before, id: 'slept' })
    await runOutcome(long, { ...before, id: 'asleep' })
    await runOutcome(asking, { ...before, id: 'answered' })
    await answer({ ...before, id: 'answered', unit: 'ok', value: 'yes' })
    await runOutcome(asking, { ...before, id: 'unanswered' })
    await runOutcome(failing, { ...before, id: 'failed' })
    await run(workflow('order'), { ...before, id: 'ignored' }).catch(() => undefined)
    await runOutcome(order.flow, { ...before, id: 'cancelled', signal: AbortSignal.abort() })
    await cancel({ ...before, id: 'cancelled' })
    await runOutcome(long, { ...before, id: 'paused' })
    await pause({ ...before, id: 'paused' })
    await run(
      workflow('tidy').step('one', () => 1),
      { ...before, id: 'completed' }
    )
    await clock.advance(1_000)

    order.restart()
    careful.restart()
    const after = { storage: memoryStorage(data), environment: { requests, clock } }
    let release = (): void => undefined
    const gate = new Promise<void>((resolve) => (release = resolve))
    const held = await start(
      workflow('long').step('work', () => gate),
      { ...after, id: 'live' }
    )

    const workflows = [order.flow, careful.flow, sleeping, long, asking, failing]
    const found = await resumeAll({ ...after, workflows })
    assert.deepEqual(short(found), {
      answered: 'resumed: Completed',
      asleep: 'left: Waiting',
      cancelled: 'left: Cancelled',
      failed: 'left: Failed',
      'in-doubt': 'left: Questioned',
      killed: 'resumed: Completed',
      live: 'left: Held',
      'of-another-host': 'left: UnknownWorkflow',
      paused: 'left: Paused',
      slept: 'resumed: Completed',
      stopped: 'resumed: Completed',
      unanswered: 'left: Waiting'
    })
    const asleep = found.find(({ runId }) => runId === 'asleep')
    assert.ok(Date.parse(asleep?.wakeAt ?? '') > clock.now())
    release()
    await held.outcome
  })

  test('resumeAll refuses a run in a recovered state, and the option with which a resume accepts it', async () => {
    const { flow, found } = await crashed(['order-1'])
    const storage = found()
    const recovered: CheckpointStorage = {
      ...storage,
      claim: (...call) =>
        TE.map((claimed: Claimed) => ({
          ...claimed,
          stored: O.map((one: object) => ({
            ...one,
            found: { _tag: 'Recovered', from: 'revision 0', lost: 'the end' }
          }))(claimed.stored) as Claimed['stored']
        }))(storage.claim(...call))
    }
    const options: ResumeOptions = { changes: 'ignore', onRecovered: () => Promise.resolve(O.some('ada')) }
    const invalid = await resumeAllRuns([flow], options)(nodeEnvironment(recovered))()
    assert.ok(E.isLeft(invalid) && invalid.left._tag === 'InvalidOptions')
    assert.deepEqual(
      invalid.left.problems.map(({ option }) => option),
      ['onRecovered']
    )
    const all = await resumeAllRuns([flow], { changes: 'ignore' })(nodeEnvironment(recovered))()
    assert.ok(E.isRight(all))
    const [one] = all.right
    assert.ok(one?._tag === 'Left')
    assert.deepEqual([one.why, one.error?._tag], ['Refused', 'RecoveryRefused'])
  })

  test('resumeAll refuses a waiting run that an edit made unresumable, and reports the reason and its wakeAt', async () => {
    const data = memoryData()
    const clock = virtualClock()
    const options = { storage: memoryStorage(data), environment: { clock } }
    const price = (version: string) =>
      workflow('price')
        .step('quote', { version, run: () => 10 })
        .sleep('nap', { millis: 3_600_000 })
    const ask = (version: string) =>
      workflow('ask')
        .step('draft', { version, run: () => 'text' })
        .waitFor('approve')
    await runOutcome(price('1'), { ...options, id: 'asleep' })
    await runOutcome(ask('1'), { ...options, id: 'unanswered' })
    const found = await resumeAll({ ...options, workflows: [price('2'), ask('2')] })
    assert.deepEqual(short(found), { asleep: 'left: Refused', unanswered: 'left: Refused' })
    for (const one of found) {
      assert.ok(one._tag === 'Left' && one.waiting === true)
      assert.equal(one.error?._tag, 'PlanError')
    }
    const [asleep, unanswered] = found
    assert.ok(Date.parse(asleep?.wakeAt ?? '') > clock.now())
    assert.equal(unanswered?.wakeAt, undefined)
    assert.deepEqual(short(await resumeAll({ ...options, workflows: [price('2'), ask('2')], changes: 'ignore' })), {
      asleep: 'left: Waiting',
      unanswered: 'left: Waiting'
    })
    assert.deepEqual(short(await resumeAll({ ...options, workflows: [price('1'), ask('1')] })), {
      asleep: 'left: Waiting',
      unanswered: 'left: Waiting'
    })
  })

  test('the failure of one run stops no other run, and an unreadable run is reported', async () => {
    const { flow, found } = await crashed(['a', 'b', 'c'])
    const storage = found()
    const failing = workflow('failing').step('one', { run: () => Promise.reject(new Error('no')) })
    await runOutcome(failing, { id: 'aa', storage, signal: AbortSignal.abort() })
    const unreadable: CheckpointStorage = {
      ...storage,
      list: (page) =>
        TE.map((all: ReadonlyArray<{ readonly runId: string }>) =>
          all.map((one) => (one.runId === 'b' ? { runId: 'b' } : one))
        )(storage.list(page)),
      load: (id) =>
        id === 'b' ? TE.left({ _tag: 'Corrupt', runId: id, where: 'b', why: 'no checkpoint' }) : storage.load(id)
    }
    assert.deepEqual(short(await resumeAll({ storage: unreadable, workflows: [flow, failing] })), {
      a: 'resumed: Completed',
      aa: 'resumed: Failed',
      b: 'left: Unreadable',
      c: 'resumed: Completed'
    })
  })

  test('resumeAll resumes no more runs at once than its concurrency', async () => {
    const storage = memoryStorage()
    let [now, most] = [0, 0]
    const flow = workflow('flow').step('work', async () => {
      most = Math.max(most, ++now)
      await new Promise((resolve) => setTimeout(resolve, 5))
      now -= 1
    })
    const ids = Array.from({ length: 25 }, (_, index) => `run-${index}`)
    for (const id of ids) await runOutcome(flow, { id, storage, signal: AbortSignal.abort() })
    const found = await resumeAll({ storage, workflows: [flow], concurrency: 3 })
    assert.equal(found.filter((one) => one._tag === 'Resumed' && one.outcome === 'Completed').length, 25)
    assert.equal(most, 3)
  })

  test('resumeAll does not resume runs that are paused while they wait for their turn', async () => {
    const [storage, requests] = [memoryStorage(), memoryRequests()]
    const environment = { requests }
    let [proceed, hasBegun] = [(): void => undefined, false]
    const slow = workflow('slow').step('work', () => {
      hasBegun = true
      return new Promise<string>((resolve) => (proceed = () => resolve('done')))
    })
    const next = workflow('next')
      .waitFor('ok')
      .step('work', () => assert.fail('it was resumed'))
    await runOutcome(slow, { id: 'a', storage, environment, signal: AbortSignal.abort() })
    for (const id of ['b', 'c']) {
      await runOutcome(next, { id, storage, environment })
      await answer({ id, storage, environment, unit: 'ok', value: 'yes' })
    }
    const ended = resumeAll({ storage, environment, workflows: [slow, next], concurrency: 1 })
    await until(() => hasBegun)
    await new Promise((resolve) => setTimeout(resolve, 50))
    for (const id of ['b', 'c']) assert.equal((await pause({ id, storage, environment }))._tag, 'Paused')
    proceed()
    assert.deepEqual(short(await ended), { a: 'resumed: Completed', b: 'left: Paused', c: 'left: Paused' })
  })

  test('resumeAll removes a completed run that still exists although its workflow deletes runs on success', async () => {
    const storage = memoryStorage()
    await run(
      workflow('tidy').step('one', () => 1),
      { id: 'tidy-1', storage }
    )
    const tidy = workflow('tidy', { onSuccess: 'delete' }).step('one', () => 1)
    await resumeAll({ storage, workflows: [tidy] })
    assert.deepEqual(await listRuns({ storage }), [])
  })

  test('resumeAll retries a run while the liveness of its owner is undecided, for at most undecidedMillis', async () => {
    const { data, flow } = await crashed(['a'])
    const clock = virtualClock()
    const stored = memoryStorage(data, { formerOwners: 'undecided' })
    let claims = 0
    const storage: CheckpointStorage = {
      ...stored,
      claim: (...args) => {
        claims += 1
        return stored.claim(...args)
      }
    }
    const all = resumeAll({ storage, workflows: [flow], undecidedMillis: 5_000, environment: { clock } })
    const found = await patiently(clock, all)
    assert.deepEqual(short(found), { a: 'left: Held' })
    assert.ok(claims >= 5 && claims <= 7, `${claims} claims`)
  })

  test.each([
    ['pauses', 'left: Paused'],
    ['completes', 'resumed: Completed']
  ])('resumeAll ends at once if the undecided owner of a run %s it', async (what, expected) => {
    const [data, requests, clock] = [memoryData(), memoryRequests(), virtualClock()]
    let finish = (): void => undefined
    const flow = workflow('order').step('work', () => new Promise<number>((resolve) => (finish = () => resolve(1))))
    const own = { id: 'a', storage: memoryStorage(data), environment: { requests } }
    const { outcome } = await start(
      flow.step('more', () => 2),
      own
    )
    const storage = memoryStorage(data, { formerOwners: 'undecided' })
    const workflows = [flow.step('more', () => 2)]
    let isHeld = false
    const ended = resumeAll({
      storage,
      workflows,
      environment: { requests, clock },
      onRun: () => (isHeld = true)
    })
    await until(() => isHeld)
    if (what === 'pauses') await pause(own)
    finish()
    await outcome
    const began = clock.now()
    assert.deepEqual(short(await patiently(clock, ended)), { a: expected })
    assert.ok(clock.now() - began < 10_000, `after ${clock.now() - began} ms`)
  })

  test('an onRun that throws or returns a rejected promise fails no run and causes no unhandled rejection', async () => {
    const unhandled: Array<unknown> = []
    const note = (reason: unknown): void => void unhandled.push(reason)
    process.on('unhandledRejection', note)
    const { flow, found } = await crashed(['a', 'b'])
    const reported: Array<string> = []
    const onRun = ({ runId }: ResumedRun): void => {
      reported.push(runId)
      if (runId === 'a') throw new Error('the log is full')
      return Promise.reject(new Error('the mail was refused')) as unknown as void
    }
    const resumed = await resumeAll({ storage: found(), workflows: [flow], onRun })
    await new Promise((resolve) => setTimeout(resolve, 10))
    process.off('unhandledRejection', note)
    assert.deepEqual(short(resumed), { a: 'resumed: Completed', b: 'resumed: Completed' })
    assert.deepEqual([reported.sort(), unhandled], [['a', 'b'], []])
  })

  test('resumeAll retries a run of an undecided owner, and resumes it once the owner is found dead', async () => {
    const { data, flow, found } = await crashed(['a'])
    const clock = virtualClock()
    const undecided = memoryStorage(data, { formerOwners: 'undecided' })
    let [claims, known] = [0, undecided]
    const storage: CheckpointStorage = {
      ...undecided,
      claim: (...args) => {
        if ((claims += 1) === 3) known = found()
        return known.claim(...args)
      },
      save: (...args) => known.save(...args),
      release: (claim) => known.release(claim)
    }
    const ended = await patiently(clock, resumeAll({ storage, workflows: [flow], environment: { clock } }))
    assert.deepEqual(short(ended), { a: 'resumed: Completed' })
    assert.equal(claims, 3)
  })
})

describe('resumeAll with watch', () => {
  const watching = (options: Omit<Options, 'id'>, workflows: Parameters<typeof resumeAll>[0]['workflows']) => {
    const stopper = new AbortController()
    const seen: Array<string> = []
    const onRun = (one: ResumedRun): void =>
      void seen.push(`${one.runId} ${one._tag === 'Resumed' ? one.outcome : one.why}`)
    const ended = resumeAll({ ...options, workflows, watch: true, signal: stopper.signal, onRun })
    return { seen, ended, stop: () => stopper.abort() }
  }

  test('a watch wakes a run at its time, takes over the run of a dead owner, and ends with the signal', async () => {
    const { data, flow, found: restarted } = await crashed([])
    const storage = restarted()
    const sleeping = workflow('sleeping')
      .sleep('nap', { millis: 300 })
      .step('after', () => 'awake')
    await runOutcome(sleeping, { id: 'asleep', storage })
    const { seen, ended, stop } = watching({ storage }, [flow, sleeping])
    await until(() => seen.includes('asleep Completed'))
    // Another process starts a run; a release by its claim stands for its death.
    const other = memoryStorage(data, { formerOwners: 'undecided' })
    let die = (): Promise<unknown> => assert.fail('it has claimed nothing')
    const doomed: CheckpointStorage = {
      ...other,
      claim: (...args) =>
        TE.map((claimed: Claimed) => {
          die = () => other.release(claimed.claim)()
          return claimed
        })(other.claim(...args))
    }
    await start(workflow('order').step('work', never), { id: 'doomed', storage: doomed })
    await until(() => seen.includes('doomed Held'))
    await die()
    await until(() => seen.includes('doomed Completed'))
    stop()
    const found = short(await ended)
    assert.equal(found['asleep'], 'resumed: Completed')
    assert.equal(found['doomed'], 'resumed: Completed')
    assert.deepEqual(seen, ['asleep Waiting', 'asleep Completed', ...seen.slice(2)])
  })

  test('a watch does not block its process if the clock ends each sleep at once', async () => {
    const { now } = nodeEnvironment(memoryStorage()).clock
    for (const sleep of [() => () => Promise.resolve(), () => () => Promise.reject(new Error('no timers'))]) {
      const { ended, stop } = watching({ storage: memoryStorage(), environment: { clock: { now, sleep } } }, [
        workflow('order').step('work', never)
      ])
      setTimeout(stop, 20)
      assert.deepEqual(await ended, [])
    }
  })

  test('a watch reports a refused run that waits, and reports it again once its wait is answered', async () => {
    const storage = memoryStorage()
    const ask = (version: string) =>
      workflow('ask')
        .step('draft', { version, run: () => 'text' })
        .waitFor('approve')
    await runOutcome(ask('1'), { id: 'r', storage })
    const { seen, ended, stop } = watching({ storage }, [ask('2')])
    await until(() => seen.length === 1)
    await answer({ id: 'r', storage, unit: 'approve', value: true })
    await until(() => seen.length === 2)
    stop()
    const [found] = await ended
    assert.deepEqual(seen, ['r Refused', 'r Refused'])
    assert.ok(found?._tag === 'Left' && found.waiting === undefined)
  })

  test('the signal interrupts the runs of a watch, and the next watch finishes them', async () => {
    const storage = memoryStorage()
    let isLast = false
    const slow = workflow('slow').step('work', ({ signal }) =>
      isLast ? 'done' : new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('stopped'))))
    )
    await runOutcome(slow, { id: 'slow-1', storage, signal: AbortSignal.abort() })
    const { seen, ended, stop } = watching({ storage }, [slow])
    await until(async () => (await viewRun({ id: 'slow-1', storage }))?.status === 'running')
    stop()
    await ended
    assert.deepEqual(seen, ['slow-1 Interrupted'])
    isLast = true
    assert.deepEqual(short(await resumeAll({ storage, workflows: [slow] })), { 'slow-1': 'resumed: Completed' })
  })

  test('a watch resumes a refused run again only after it has changed', async () => {
    const data = memoryData()
    const { flow, restart } = hanging('careful', false)
    await start(flow, { id: 'in-doubt', storage: memoryStorage(data) })
    restart()
    const clock = virtualClock()
    const stored = memoryStorage(data)
    let claims = 0
    const storage: CheckpointStorage = {
      ...stored,
      claim: (...args) => {
        claims += 1
        return stored.claim(...args)
      }
    }
    const { seen, ended, stop } = watching({ storage, environment: { clock } }, [flow])
    await until(() => seen.includes('in-doubt Questioned'))
    for (let n = 0; n < 20; n++) {
      await clock.advance(1_000)
      await new Promise((resolve) => setImmediate(resolve))
    }
    assert.equal(claims, 1)
    const confirm = new Map([['work', { _tag: 'Again' }]] as const)
    await runOutcome(flow, { id: 'in-doubt', storage: stored, confirm, signal: AbortSignal.abort() })
    await until(async () => {
      await clock.advance(1_000)
      return seen.includes('in-doubt Completed')
    })
    stop()
    await clock.advance(1_000)
    await ended
  })

  test('a run that a watch has resumed wakes at its time, even between two looks at the store', async () => {
    const storage = memoryStorage()
    const clock = virtualClock()
    const nap = workflow('nap')
      .step('before', () => 'begun')
      .sleep('short', { millis: 300 })
      .step('after', () => 'awake')
    await runOutcome(nap, { id: 'nap-1', storage, environment: { clock }, signal: AbortSignal.abort() })
    const { seen, ended, stop } = watching({ storage, environment: { clock } }, [nap])
    await until(() => seen.includes('nap-1 Pending'))
    await clock.advance(310)
    await until(() => seen.includes('nap-1 Completed'))
    stop()
    await clock.advance(1_000)
    await ended
  })

  test('a watch claims a waiting or refused run only for a listed request, even if isAny of the inbox is always true', async () => {
    const data = memoryData()
    const { flow, restart } = hanging('careful', false)
    await start(flow, { id: 'in-doubt', storage: memoryStorage(data) })
    restart()
    const stored = memoryStorage(data)
    const waiting = workflow('waiting').waitFor('approve')
    await runOutcome(waiting, { id: 'waits', storage: stored })
    const claims: Array<string> = []
    const storage: CheckpointStorage = {
      ...stored,
      claim: (runId, ...args) => {
        claims.push(runId)
        return stored.claim(runId, ...args)
      }
    }
    const clock = virtualClock()
    const requests = { ...memoryRequests(data), isAny: () => true }
    const { seen, ended, stop } = watching({ storage, environment: { clock, requests } }, [flow, waiting])
    await until(() => seen.includes('in-doubt Questioned') && seen.includes('waits Waiting'))
    for (let n = 0; n < 20; n++) {
      await clock.advance(1_000)
      await new Promise((resolve) => setImmediate(resolve))
    }
    assert.deepEqual(claims, ['in-doubt'])
    stop()
    await clock.advance(1_000)
    await ended
  })

  test('a watch finds an answer in the inbox for a run that waits with a time limit, and resumes the run', async () => {
    const data = memoryData()
    const [storage, clock, requests] = [memoryStorage(data), virtualClock(), memoryRequests(data)]
    const waiting = workflow('waiting').waitFor('approve', { timeoutMillis: 86_400_000 })
    await runOutcome(waiting, { id: 'waits', storage, environment: { clock } })
    const { seen, ended, stop } = watching({ storage, environment: { clock, requests } }, [waiting])
    await until(() => seen.includes('waits Waiting'))
    const requestedAt = new Date(clock.now()).toISOString()
    const answer = { _tag: 'Answer', runId: 'waits', unit: 'approve', value: 'yes', by: 'ada', requestedAt } as const
    assert.ok(E.isRight(await requests.leave(answer)()))
    for (let n = 0; n < 10; n++) {
      await clock.advance(1_000)
      await new Promise((resolve) => setImmediate(resolve))
    }
    assert.ok(seen.includes('waits Completed'))
    stop()
    await clock.advance(1_000)
    await ended
  })

  test('a watch does not claim a refused run for a pause that was left for its dead owner', async () => {
    const data = memoryData()
    const [stored, clock, requests] = [memoryStorage(data), virtualClock(), memoryRequests(data)]
    const { flow, restart } = hanging('careful', false)
    await start(flow, { id: 'in-doubt', storage: stored, environment: { requests } })
    assert.equal((await pause({ id: 'in-doubt', storage: stored, environment: { requests } }))._tag, 'Requested')
    restart()
    let claims = 0
    const reopened = memoryStorage(data)
    const storage: CheckpointStorage = {
      ...reopened,
      claim: (...args) => {
        claims += 1
        return reopened.claim(...args)
      }
    }
    const { seen, ended, stop } = watching({ storage, environment: { clock, requests } }, [flow])
    await until(() => seen.includes('in-doubt Questioned'))
    for (let n = 0; n < 100; n++) {
      await clock.advance(1_000)
      await new Promise((resolve) => setImmediate(resolve))
    }
    assert.equal(claims, 1)
    stop()
    await clock.advance(1_000)
    await ended
  })

  test('if the saves of a run fail, a watch retries the run with growing delays, even if the resume had saved something', async () => {
    const stored = memoryStorage()
    const clock = virtualClock()
    let attempts = 0
    const flow = workflow('order').step('work', () => (attempts += 1))
    await runOutcome(flow, { id: 'order-1', storage: stored, environment: { clock }, signal: AbortSignal.abort() })
    const storage: CheckpointStorage = {
      ...stored,
      save: (claim, revisions) =>
        revisions.some(({ change }) => change._tag === 'UnitCompleted') ? TE.left(FULL) : stored.save(claim, revisions)
    }
    const { ended, stop } = watching({ storage, environment: { clock } }, [flow])
    for (let n = 0; n < 25; n++) {
      await clock.advance(1_000)
      await new Promise((resolve) => setTimeout(resolve, 2))
    }
    // After 0, 2, 6 and 14 s.
    assert.equal(attempts, 4)
    stop()
    await clock.advance(1_000)
    await ended
  })

  test('if the last save of a run took effect although the store reported a failure, a watch reports the run as completed', async () => {
    const [stored, clock] = [memoryStorage(), virtualClock()]
    const flow = workflow('order').step('one', () => 1)
    await runOutcome(flow, { id: 'a', storage: stored, environment: { clock }, signal: AbortSignal.abort() })
    let isLost = false
    const storage: CheckpointStorage = {
      ...stored,
      save: (claim, revisions) => async () => {
        const saved = await stored.save(claim, revisions)()
        if (isLost || !revisions.some(({ change }) => change._tag === 'UnitCompleted')) return saved
        isLost = true
        return E.left({ ...FULL, committed: 'unknown' })
      }
    }
    const { seen, ended, stop } = watching({ storage, environment: { clock } }, [flow])
    for (let n = 0; n < 30 && !seen.includes('a Completed'); n++) await clock.advance(1_000)
    stop()
    await clock.advance(1_000)
    assert.deepEqual(short(await ended), { a: 'resumed: Completed' })
  })

  test('a watch reports a run that it resumed earlier and that then failed in another process', async () => {
    const storage = memoryStorage()
    const clock = virtualClock()
    const flow = workflow('order')
      .step('begin', () => 'begun')
      .waitFor('approve')
      .step('charge', () => Promise.reject(new Error('no money')))
    const options = { id: 'order-1', storage, environment: { clock } }
    await runOutcome(flow, { ...options, signal: AbortSignal.abort() })
    const { seen, ended, stop } = watching({ storage, environment: { clock } }, [flow])
    await until(() => seen.includes('order-1 Pending'))
    await answer({ ...options, unit: 'approve', value: 'yes' })
    assert.equal((await runOutcome(flow, options))._tag, 'Failed')
    await until(async () => {
      await clock.advance(1_000)
      return seen.includes('order-1 Failed')
    })
    stop()
    await clock.advance(1_000)
    assert.deepEqual(short(await ended), { 'order-1': 'left: Failed' })
  })

  test.each([
    ['long before its timer ends', 1_000],
    ['just before its timer ends', 1]
  ])('a watch does not resume a run that is paused %s', async (_, earlierMillis) => {
    const [storage, requests, clock] = [memoryStorage(), memoryRequests(), virtualClock()]
    let ran = false
    const nap = workflow('nap')
      .sleep('short', { millis: 3_300 })
      .step('after', () => (ran = true))
    const options = { id: 'nap-1', storage, environment: { clock, requests } }
    await runOutcome(nap, options)
    const { seen, ended, stop } = watching({ storage, environment: { clock, requests } }, [nap])
    await until(() => seen.includes('nap-1 Waiting'))
    await clock.advance(3_300 - earlierMillis)
    assert.equal((await pause(options))._tag, 'Paused')
    for (let n = 0; n < 10; n++) await clock.advance(500)
    await until(() => seen.includes('nap-1 Paused'))
    stop()
    await clock.advance(1_000)
    assert.deepEqual(short(await ended), { 'nap-1': 'left: Paused' })
    assert.equal(ran, false)
  })

  test('a watch does not resume a run that failed elsewhere before its time limit was over', async () => {
    const [storage, clock] = [memoryStorage(), virtualClock()]
    let charges = 0
    const flow = workflow('order')
      .waitFor('approve', { timeoutMillis: 5_000 })
      .step('charge', () => {
        charges += 1
        throw new Error('no money')
      })
    const options = { id: 'order-1', storage, environment: { clock } }
    await runOutcome(flow, options)
    const { seen, ended, stop } = watching({ storage, environment: { clock } }, [flow])
    await until(() => seen.includes('order-1 Waiting'))
    await answer({ ...options, unit: 'approve', value: 'yes' })
    assert.equal((await runOutcome(flow, options))._tag, 'Failed')
    for (let n = 0; n < 10; n++) await clock.advance(1_000)
    await until(() => seen.includes('order-1 Failed'))
    stop()
    await clock.advance(1_000)
    assert.deepEqual(short(await ended), { 'order-1': 'left: Failed' })
    assert.equal(charges, 1)
  })

  test('a watch does not resume a run that is paused, or fails elsewhere, just before its claim', async () => {
    const broken = workflow('order')
      .waitFor('approve')
      .step('charge', () => Promise.reject(new Error('no money')))
    let ran = 0
    const nap = workflow('nap')
      .sleep('short', { millis: 3_000 })
      .step('after', () => (ran += 1))
    const flow = workflow('order')
      .waitFor('approve')
      .step('charge', () => (ran += 1))
    const [stored, requests, clock] = [memoryStorage(), memoryRequests(), virtualClock()]
    const options = { storage: stored, environment: { clock, requests } }
    await runOutcome(nap, { ...options, id: 'nap-1' })
    await runOutcome(flow, { ...options, id: 'order-1' })
    await answer({ ...options, id: 'order-1', unit: 'approve', value: 'yes' })
    const before = new Set(['nap-1', 'order-1'])
    const storage: CheckpointStorage = {
      ...stored,
      claim:
        (runId, ...args) =>
        async () => {
          if (before.delete(runId))
            await (runId === 'nap-1' ? pause({ ...options, id: runId }) : runOutcome(broken, { ...options, id: runId }))
          return await stored.claim(runId, ...args)()
        }
    }
    const { seen, ended, stop } = watching({ ...options, storage }, [nap, flow])
    await until(async () => {
      await clock.advance(500)
      return seen.includes('nap-1 Paused') && seen.some((one) => one === 'order-1 Failed')
    })
    stop()
    await clock.advance(1_000)
    await ended
    assert.equal(ran, 0)
    assert.equal((await viewRun({ ...options, id: 'nap-1' }))?.status, 'paused')
    assert.equal((await viewRun({ ...options, id: 'order-1' }))?.status, 'failed')
  })

  test('a watch handles more runs than a function call can have arguments', async () => {
    const stored = memoryStorage()
    const clock = virtualClock()
    const flow = workflow('order').step('work', () => 'done')
    await runOutcome(flow, { id: 'run-0', storage: stored, environment: { clock }, signal: AbortSignal.abort() })
    const listed = await stored.list()()
    assert.ok(E.isRight(listed))
    const [one] = listed.right
    const ids = Array.from({ length: 130_000 }, (_, n) => `run-${1_000_000 + n}`)
    const storage: CheckpointStorage = {
      ...stored,
      list: ({ after = '', limit } = {}) => {
        const first = ids.indexOf(after) + 1
        return TE.right(ids.slice(first, first + (limit ?? ids.length)).map((runId) => ({ ...one, runId })))
      },
      claim: (runId) => TE.left({ _tag: 'Corrupt', runId, where: 'x', why: 'y', cause: undefined }),
      load: (runId) => TE.left({ _tag: 'Corrupt', runId, where: 'x', why: 'y', cause: undefined })
    }
    const { seen, ended, stop } = watching({ storage, environment: { clock } }, [flow])
    ended.catch(() => undefined)
    await until(() => seen.length === ids.length)
    await clock.advance(100)
    stop()
    await clock.advance(1_000)
    assert.equal((await ended).length, ids.length)
  })
})
