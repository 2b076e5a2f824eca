import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { memoryStorage } from '../../src/adapters/memory.js'
import { interruptFrom, nodeEnvironment } from '../../src/adapters/node/index.js'
import type { Interrupt } from '../../src/index.js'
import { runOutcome, workflow } from '../../src/promise/index.js'

describe('the option signal', () => {
  const waiting = workflow('w').step('one', () => new Promise<void>(() => undefined))

  test('the option `signal` stops a run even with a complete environment', async () => {
    const storage = memoryStorage()
    const stopper = new AbortController()
    const ending = runOutcome(waiting, {
      id: 'r',
      storage,
      signal: stopper.signal,
      environment: { ...nodeEnvironment(storage), graceMillis: 0 }
    })
    setTimeout(() => stopper.abort(), 10)
    const outcome = await ending
    assert.ok(outcome._tag === 'Interrupted' && outcome.reason === 'aborted', outcome._tag)
  })

  test('a signal or an environment that is undefined counts as absent', async () => {
    const none: { readonly signal?: AbortSignal } = {}
    const one = workflow('w').step('one', () => 1)
    const options = { id: 'r', storage: memoryStorage(), signal: none.signal, environment: undefined }
    assert.equal((await runOutcome(one, options))._tag, 'Completed')
  })

  test('with the option signal the interrupt of the environment still stops the run, with its own reason', async () => {
    const storage = memoryStorage()
    const stopper = new AbortController()
    const interrupt: Interrupt = { ...interruptFrom(stopper.signal), reason: () => 'signal' }
    const { signal } = new AbortController()
    const ending = runOutcome(waiting, { id: 'r', storage, signal, environment: { interrupt, graceMillis: 0 } })
    setTimeout(() => stopper.abort(), 10)
    const outcome = await ending
    assert.ok(outcome._tag === 'Interrupted' && outcome.reason === 'signal', outcome._tag)
  })

  test('a signal that is not the AbortSignal of Node.js stops a run whose environment has an interrupt, too', async () => {
    const signal = Object.assign(new EventTarget(), { aborted: false, reason: undefined })
    const { signal: other } = new AbortController()
    const ending = runOutcome(waiting, {
      id: 'r',
      storage: memoryStorage(),
      signal: signal as unknown as AbortSignal,
      environment: { interrupt: interruptFrom(other), graceMillis: 0 }
    })
    setTimeout(() => {
      Object.assign(signal, { aborted: true, reason: new Error('stop') })
      signal.dispatchEvent(new Event('abort'))
    }, 10)
    const outcome = await ending
    assert.ok(outcome._tag === 'Interrupted' && outcome.reason === 'aborted', outcome._tag)
  })

  test('all calls with one signal of another library listen to it once', async () => {
    let reads = 0
    const signal = Object.defineProperty(Object.assign(new EventTarget(), { aborted: false }), 'reason', {
      get: () => (reads += 1)
    })
    const options = { storage: memoryStorage(), signal: signal as unknown as AbortSignal }
    const environment = { interrupt: interruptFrom(new AbortController().signal) }
    const one = workflow('w').step('one', () => 1)
    for (const id of ['a', 'b', 'c'])
      assert.equal((await runOutcome(one, { ...options, id, environment }))._tag, 'Completed')
    signal.dispatchEvent(new Event('abort'))
    assert.equal(reads, 1)
  })
})
