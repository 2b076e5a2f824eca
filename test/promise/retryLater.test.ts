import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { memoryRequests, memoryStorage } from '../../src/adapters/memory.js'
import type * as Errors from '../../src/executor/errors/RunError.js'
import { RunError } from '../../src/index.js'
import type { Refused } from '../../src/promise/index.js'
import {
  pause,
  planRun,
  poll,
  resume,
  run,
  RunFailure,
  runOrResume,
  runOutcome,
  workflow
} from '../../src/promise/index.js'

/** An active run, until it is released. */
const held = async () => {
  const storage = memoryStorage()
  const options = { id: 'order-1', storage }
  let goOn = (): void => undefined
  let begun = (): void => undefined
  const started = new Promise<void>((resolve) => (begun = resolve))
  const order = workflow('order').step('charge', async () => {
    begun()
    await new Promise<void>((resolve) => (goOn = resolve))
    return 'charged'
  })
  const ended = runOutcome(order, options)
  await started
  return { order, options, goOn: () => goOn(), ended }
}

const refusal = async (call: Promise<unknown>): Promise<Refused> => {
  const error = await call.then(
    () => assert.fail('it resolved'),
    (rejected: unknown) => rejected
  )
  assert.ok(error instanceof RunFailure && error.outcome._tag === 'Refused')
  return error.outcome
}

describe('retryLater of a refusal', () => {
  test('retryLater is true while another process holds the run, and the same call succeeds later', async () => {
    const { order, options, goOn, ended } = await held()
    const outcome = await runOutcome(order, options)
    assert.ok(outcome._tag === 'Refused' && outcome.error._tag === 'HeldBy')
    assert.equal(outcome.retryLater, true)
    for (const call of [resume, runOrResume]) assert.equal((await refusal(call(order, options))).retryLater, true)
    goOn()
    assert.equal((await ended)._tag, 'Completed')
    assert.deepEqual(await runOrResume(order, options), { charge: 'charged' })
  })

  test('the message for a run that this process itself holds says how to wait for it', async () => {
    const { order, options, goOn, ended } = await held()
    const own = new RegExp(
      `^Run order-1 is already in progress: this process \\(${process.pid} on .+\\) has held it since .+Z; await the call that runs it; to answer, pause or cancel it meanwhile, set .requests. in the environment of both calls$`
    )
    for (const call of [run, resume, runOrResume]) assert.match((await refusal(call(order, options))).message, own)
    goOn()
    await ended
  })

  test('the message for a run that another process holds names that process', async () => {
    const storage = memoryStorage()
    await storage.claim('order-1', { host: 'other', pid: process.pid })()
    const { message } = await refusal(run(workflow('order').sleep('rest', { millis: 1 }), { id: 'order-1', storage }))
    assert.match(message, /in progress: held by process \d+ on other since .+; wait until it ends, or pause it$/)
  })

  test('retryLater is false if the same call would be refused again', async () => {
    const options = { id: 'order-1', storage: memoryStorage(), environment: { requests: memoryRequests() } }
    const order = workflow('order').step('charge', () => 'charged')
    for (const call of [
      resume(order, options),
      planRun(order, options),
      poll(order, options),
      pause(options),
      run(order, { ...options, id: 'No id' })
    ])
      assert.equal((await refusal(call)).retryLater, false)
    await run(order, { ...options, input: 1 })
    assert.equal((await refusal(run(order, options))).retryLater, false)
    assert.equal((await refusal(runOrResume(order, { ...options, input: 2 }))).retryLater, false)
  })

  test('RunError.retryLater accepts an error without a RunFailure', () => {
    const holder = { host: 'h', pid: 1, since: '2026-01-02T03:04:05.000Z', liveness: 'alive' } as const
    assert.equal(RunError.retryLater({ _tag: 'HeldBy', runId: 'r', holder }), true)
    const others: ReadonlyArray<Errors.RunError> = [
      { _tag: 'NoSuchRun', runId: 'r' },
      { _tag: 'WriteFailed', committed: 'no', where: 'w', operation: 'o', code: 'ENOSPC', cause: 0 }
    ]
    assert.deepEqual(others.map(RunError.retryLater), [false, false])
  })
})
