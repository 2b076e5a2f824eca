/** Waits of a live process: requests reach them while other work of the run continues. */
import assert from 'node:assert/strict'
import * as E from 'fp-ts/lib/Either.js'
import { describe, test } from 'vitest'
import { memoryRequests } from '../../src/adapters/memory.js'
import { answer, pause, type Request } from '../../src/index.js'
import { status } from '../../src/domain/checkpoint/Checkpoint.js'
import { runOutcome, workflow } from '../../src/promise/index.js'
import { fakeClock, newProcess, patiently } from './fixtures.js'

const world = () => {
  const clock = fakeClock()
  const process = newProcess(undefined, { clock, requests: memoryRequests() })
  const { environment, storage, events } = process
  const options = { id: 'r', storage, environment }
  const later = (millis: number): Promise<void> => clock.sleep(millis, new AbortController().signal)()
  const until = <A>(promise: Promise<A>): Promise<A> => patiently(clock, promise)
  return { ...process, clock, options, later, until, events }
}

describe('an answer to a wait in the code of a task', () => {
  test('an answer ends a wait while a sub-step of its task runs', async () => {
    const { options, later, until, environment, clock } = world()
    const answered = later(300).then(() => answer('r', 't/ok', 'yes')(environment)())
    const before = clock.now()
    const taken: Array<number> = []
    const racing = workflow('w').step('t', async (context) => {
      const won = await Promise.race([
        context.waitFor('ok'),
        context.step('slow', () => later(20_000).then(() => 'slow'))
      ])
      taken.push(clock.now() - before)
      await context.step('slow-is-over', () => later(20_000))
      return won
    })
    const outcome = await until(runOutcome(racing, options))
    assert.ok(E.isRight(await answered))
    assert.equal(outcome._tag === 'Completed' && outcome.outputs.t, 'yes', JSON.stringify(outcome))
    assert.ok((taken[0] ?? Infinity) <= 1_300, String(taken[0]))
  })
})

describe('an answer that arrives while its owner records the timeout', () => {
  /** An inbox that takes longer to leave an answer than the wait still lasts. */
  const slowly = () => {
    const { options, environment, later, ...others } = world()
    const { requests } = environment
    assert.ok(requests !== undefined)
    const slow = { ...requests, leave: (one: Request) => () => later(5_000).then(() => requests.leave(one)()) }
    const give = (unit: string) => answer('r', unit, 'yes')({ ...environment, requests: slow })()
    return { ...others, options, later, give }
  }
  const limited = { timeoutMillis: 2_000 }

  test('an answer to a wait in the code of a task is refused if the timeout was recorded before the answer arrived', async () => {
    const { options, later, until, give } = slowly()
    const answered = later(500).then(() => give('t/ok'))
    const patient = workflow('w').step('t', async ({ waitFor, step }) => {
      const slow = step('slow', () => later(20_000))
      const got = await waitFor('ok', limited).catch((error: { readonly code?: string }) => error.code)
      await slow
      return got
    })
    const outcome = await until(runOutcome(patient, options))
    assert.equal(outcome._tag === 'Completed' && outcome.outputs.t, 'WAIT_TIMEOUT', JSON.stringify(outcome))
    const given = await answered
    assert.ok(E.isLeft(given) && given.left._tag === 'AnswerRefused', JSON.stringify(given))
    assert.equal(given.left.why, 'WaitOver')
    assert.equal(options.environment.requests?.isAny('r'), false)
  })

  test('an answer to a waiting group is refused if the group timed out and the run failed before the answer arrived', async () => {
    const { options, later, until, give } = slowly()
    const answered = later(500).then(() => give('all/ok'))
    const wave = workflow('w').wave('all', { ok: { waitFor: limited }, slow: () => later(3_000) })
    const outcome = await until(runOutcome(wave, { ...options, wait: true }))
    assert.equal(outcome._tag, 'Failed', JSON.stringify(outcome))
    const given = await until(answered)
    assert.ok(E.isLeft(given) && given.left._tag === 'AnswerRefused', JSON.stringify(given))
    assert.equal(given.left.why, 'WaitOver')
  })
})

describe('a pause of a waiting run', () => {
  const waiting = workflow('w')
    .waitFor('ok')
    .step('after', () => 'done')

  test('a pause of a waiting run without an owner is recorded at once, and a resume continues the wait', async () => {
    const { options, environment, events } = world()
    assert.equal((await runOutcome(waiting, options))._tag, 'Pending')
    const paused = await pause('r')(environment)()
    assert.ok(E.isRight(paused) && paused.right._tag === 'Paused', JSON.stringify(paused))
    assert.equal(status(paused.right.checkpoint, false), 'paused')
    assert.deepEqual(
      events.slice(-3).map(({ _tag }) => _tag),
      ['CheckpointSaved', 'RunInterrupted', 'RunPaused']
    )
    assert.deepEqual(await pause('r')(environment)(), E.right({ _tag: 'AtRest', runId: 'r', status: 'paused' }))
    assert.ok(E.isRight(await answer('r', 'ok', 1)(environment)()))
    assert.equal((await runOutcome(waiting, options))._tag, 'Completed')
  })

  test('a pause ends a process with wait: true, whose outcome has the reason paused', async () => {
    const { options, environment, until, later } = world()
    const paused = later(500).then(() => pause('r')(environment)())
    const outcome = await until(runOutcome(waiting, { ...options, wait: true }))
    assert.ok(outcome._tag === 'Interrupted' && outcome.reason === 'paused', JSON.stringify(outcome))
    const result = await paused
    assert.ok(E.isRight(result) && result.right._tag === 'Paused')
  })

  test('a process with wait: true does not continue a run that is paused just before its claim', async () => {
    const { options, environment, until } = world()
    const { storage } = options
    let [claims, ran] = [0, false]
    let paused: Awaited<ReturnType<ReturnType<ReturnType<typeof pause>>>> | undefined
    const pausing: typeof storage = {
      ...storage,
      claim:
        (...given) =>
        async () => {
          claims += 1
          if (claims === 2) paused = await pause('r')(environment)()
          return await storage.claim(...given)()
        }
    }
    const nap = workflow('w')
      .sleep('short', { millis: 3_000 })
      .step('after', () => (ran = true))
    const held = { ...options, storage: pausing }
    const outcome = await until(runOutcome(nap, { ...held, wait: true }))
    assert.ok(paused !== undefined && E.isRight(paused) && paused.right._tag === 'Paused')
    assert.ok(outcome._tag === 'Interrupted' && outcome.reason === 'paused', JSON.stringify(outcome))
    assert.equal(ran, false)
  })

  test('a process with wait: true returns the failure of a run that failed in another process', async () => {
    const { options, environment, until, later } = world()
    let attempts = 0
    const broken = workflow('w')
      .waitFor('approve')
      .step('charge', () => {
        attempts += 1
        throw new Error('no money')
      })
    const ended = until(runOutcome(broken, { ...options, wait: true }))
    await later(500)
    assert.ok(E.isRight(await answer('r', 'approve', 'yes')(environment)()))
    assert.equal((await runOutcome(broken, options))._tag, 'Failed')
    const outcome = await ended
    assert.ok(outcome._tag === 'Failed' && outcome.failures[0]?.error.message === 'no money')
    assert.equal(attempts, 1)
  })

  test('a pause of a run that has ended changes nothing', async () => {
    const { options, environment } = world()
    await runOutcome(
      workflow('w').step('one', () => 1),
      options
    )
    assert.deepEqual(await pause('r')(environment)(), E.right({ _tag: 'AtRest', runId: 'r', status: 'completed' }))
  })
})
