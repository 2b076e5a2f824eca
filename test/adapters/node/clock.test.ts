import assert from 'node:assert/strict'
import { getEventListeners } from 'node:events'
import { hostname } from 'node:os'
import { afterEach, describe, test, vi } from 'vitest'
import { processOwner, systemClock } from '../../../src/adapters/node/index.js'

const DAY = 86_400_000

describe('the system clock', () => {
  afterEach(() => void vi.useRealTimers())

  /** Measures a sleep with fake timers. */
  const slept = async (millis: number): Promise<number> => {
    vi.useFakeTimers()
    const start = Date.now()
    let end: number | undefined
    void systemClock
      .sleep(millis, new AbortController().signal)()
      .then(() => (end = Date.now() - start))
    for (let turn = 0; end === undefined && turn < 10; turn++) await vi.advanceTimersToNextTimerAsync()
    return end ?? assert.fail('it never woke up')
  }

  test('the clock returns the milliseconds since 1970', () => {
    const before = Date.now()
    const now = systemClock.now()
    assert.ok(before <= now && now <= Date.now())
  })

  for (const millis of [1, 5_000, 2 ** 31 - 1, 2 ** 31, 30 * DAY, 100 * DAY]) {
    test(`a sleep of ${millis} ms takes that long`, async () => {
      assert.equal(await slept(millis), millis)
    })
  }

  test('a sleep of zero or negative time ends at once', async () => {
    assert.ok((await slept(0)) <= 1)
    assert.ok((await slept(-5)) <= 1)
  })

  test('a sleep ends at once when its signal fires, and leaves neither a timer nor a listener', async () => {
    vi.useFakeTimers()
    for (const millis of [60_000, 100 * DAY]) {
      const stop = new AbortController()
      const sleeping = systemClock.sleep(millis, stop.signal)()
      assert.equal(vi.getTimerCount(), 1)
      assert.equal(getEventListeners(stop.signal, 'abort').length, 1)
      stop.abort()
      await sleeping
      assert.equal(vi.getTimerCount(), 0)
      assert.equal(getEventListeners(stop.signal, 'abort').length, 0)
    }
  })

  test('a sleep that ends by itself leaves no listener', async () => {
    const { signal } = new AbortController()
    await systemClock.sleep(1, signal)()
    assert.equal(getEventListeners(signal, 'abort').length, 0)
  })

  test('a sleep whose signal has already fired does not start', async () => {
    vi.useFakeTimers()
    await systemClock.sleep(60_000, AbortSignal.abort())()
    assert.equal(vi.getTimerCount(), 0)
  })

  test('a sleep starts only when its fp-ts Task is executed', () => {
    vi.useFakeTimers()
    systemClock.sleep(60_000, new AbortController().signal)
    assert.equal(vi.getTimerCount(), 0)
  })
})

describe('the owner of claims', () => {
  test('processOwner is this process on this host', () => {
    assert.deepEqual(processOwner(), { host: hostname(), pid: process.pid })
  })
})
