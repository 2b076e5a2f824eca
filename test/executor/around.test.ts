import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { memoryStorage } from '../../src/adapters/memory.js'
import type { Around } from '../../src/index.js'
import { RetryPolicy } from '../../src/index.js'
import type { Options } from '../../src/promise/index.js'
import { answer, runOutcome, workflow } from '../../src/promise/index.js'

/** Wraps all attempts, and logs when each begins and how it ends. */
const traced = () => {
  const log: Array<string> = []
  const around: Around = async ({ runId, unit }, attempt, act) => {
    log.push(`${runId} ${unit} ${attempt}`)
    try {
      await act()
      log.push(`${unit} ok`)
    } catch (error) {
      log.push(`${unit} ${(error as Error).message}`)
      throw error
    }
  }
  return { log, around }
}

const optionsWith = (around: Around): Options => ({ id: 'r', storage: memoryStorage(), environment: { around } })

const REMEDY = /call it exactly once, and return its promise/

describe('around', () => {
  test('the around hook wraps each attempt and sub-step that runs, and none that is replayed', async () => {
    const { log, around } = traced()
    let calls = 0
    const flow = workflow('flow')
      .step('plain', () => 1)
      .step('agent', {
        retry: { ...RetryPolicy.never, attempts: 2 },
        run: async ({ step }) => {
          await step('turn', () => 'said')
          calls += 1
          if (calls === 1) throw Object.assign(new Error('busy'), { code: 'ECONNRESET' })
          return 'done'
        }
      })
      .wave('both', { left: () => 1, right: () => 2 })
    const options = optionsWith(around)
    assert.equal((await runOutcome(flow, options))._tag, 'Completed')
    assert.deepEqual(log.slice(0, 8), [
      'r plain 1',
      'plain ok',
      'r agent 1',
      'r agent/turn 1',
      'agent/turn ok',
      'agent busy',
      'r agent 2',
      'agent ok'
    ])
    assert.deepEqual([...log.slice(8)].sort(), ['both/left ok', 'both/right ok', 'r both/left 1', 'r both/right 1'])
    const before = log.length
    assert.equal((await runOutcome(flow, options))._tag, 'Completed')
    assert.equal(log.length, before)
  })

  test('an attempt fails permanently, and its code does not run, if the around hook does not call act', async () => {
    let ran = 0
    const flow = workflow('flow').step('work', {
      retry: { ...RetryPolicy.never, attempts: 3 },
      run: () => void (ran += 1)
    })
    for (const around of [() => Promise.resolve(), () => Promise.reject(new Error('no span'))]) {
      const ended = await runOutcome(flow, optionsWith(around))
      assert.ok(ended._tag === 'Failed')
      const [failure] = ended.failures
      assert.deepEqual([failure?.error.code, failure?.outcome, ran], ['AROUND_MISUSED', 'notApplied', 0])
      assert.match(failure?.error.message ?? '', REMEDY)
    }
  })

  test('an attempt fails permanently, and its code runs once, if the around hook calls act twice', async () => {
    let ran = 0
    const twice: Around = async (_unit, _attempt, act) => {
      await act()
      await act()
    }
    const flow = workflow('flow').step('work', () => void (ran += 1))
    const ended = await runOutcome(flow, optionsWith(twice))
    assert.ok(ended._tag === 'Failed')
    assert.match(ended.failures[0]?.error.message ?? '', REMEDY)
    assert.deepEqual([ended.failures[0]?.outcome, ran], ['unknown', 1])
  })

  test('a second call of act that is not awaited causes no unhandled rejection', async () => {
    const unhandled: Array<unknown> = []
    const note = (reason: unknown): void => void unhandled.push(reason)
    process.on('unhandledRejection', note)
    const twice: Around = async (_unit, _attempt, act) => {
      void act()
      await act().catch(() => undefined)
      void act()
    }
    const ended = await runOutcome(
      workflow('flow').step('work', () => 'done'),
      optionsWith(twice)
    )
    await new Promise((resolve) => setTimeout(resolve, 10))
    process.off('unhandledRejection', note)
    assert.equal(ended._tag, 'Failed')
    assert.deepEqual(unhandled, [])
  })

  test('a call of act after the around hook has ended does not run the code', async () => {
    let ran = 0
    const flow = workflow('flow').step('charge', { idempotent: false, run: () => void (ran += 1) })
    let late: Promise<void> | undefined
    const leaves: Around = (_unit, _attempt, act) => {
      setTimeout(() => void (late = act()), 5)
      return Promise.resolve()
    }
    const options = optionsWith(leaves)
    const ended = await runOutcome(flow, options)
    assert.ok(ended._tag === 'Failed')
    assert.equal(ended.failures[0]?.outcome, 'notApplied')
    await new Promise((resolve) => setTimeout(resolve, 20))
    await assert.rejects(late ?? Promise.resolve(), /the attempt ended before its code began/)
    assert.equal(ran, 0)
    const around: Around = (_unit, _attempt, act) => act()
    assert.equal((await runOutcome(flow, { ...options, environment: { around } }))._tag, 'Completed')
    assert.equal(ran, 1)
  })

  test('a call of act in the microtask after the around hook has ended does not run the code', async () => {
    let ran = 0
    let late: Promise<void> | undefined
    const leaves: Around = (_unit, _attempt, act) => {
      const ended = Promise.resolve()
      void ended.then(() => undefined).then(() => void (late = act()))
      return ended
    }
    const flow = workflow('flow').step('charge', { idempotent: false, run: () => void (ran += 1) })
    const outcome = await runOutcome(flow, optionsWith(leaves))
    assert.ok(outcome._tag === 'Failed' && outcome.failures[0]?.outcome === 'notApplied')
    await assert.rejects(late ?? Promise.resolve(), /the attempt ended before its code began/)
    assert.equal(ran, 0)
  })

  test('the code does not run if its attempt times out before the around hook calls act', async () => {
    let ran = 0
    let go = (): void => undefined
    const turn = new Promise<void>((resolve) => (go = resolve))
    const limited: Around = async (_unit, _attempt, act) => {
      await turn
      await act()
    }
    const slow = workflow('slow').step('work', { timeoutMillis: 10, run: () => void (ran += 1) })
    const environment = { around: limited, graceMillis: 10 }
    assert.equal((await runOutcome(slow, { ...optionsWith(limited), environment }))._tag, 'Failed')
    go()
    await new Promise((resolve) => setTimeout(resolve, 10))
    assert.equal(ran, 0)
  })

  test('if the run is stopped before the around hook calls act, act rejects with an AbortError, and the step is not in doubt', async () => {
    let ran = 0
    const rejections: Array<string> = []
    const stopping = new AbortController()
    const limited: Around = async (_unit, _attempt, act) => {
      stopping.abort()
      await act().catch((error: Error) => rejections.push(error.name))
    }
    const flow = workflow('flow').step('charge', { idempotent: false, run: () => void (ran += 1) })
    const options = optionsWith(limited)
    assert.equal((await runOutcome(flow, { ...options, signal: stopping.signal }))._tag, 'Interrupted')
    assert.equal(ran, 0)
    assert.deepEqual(rejections, ['AbortError'])
    assert.equal((await runOutcome(flow, options))._tag, 'Completed')
    assert.equal(ran, 1)
  })

  test('the result of the code decides, even if the around hook hides its error, throws or does not await it', async () => {
    const good = workflow('good').step('work', () => 'done')
    const bad = workflow('bad').step('work', () => Promise.reject(new Error('no')))
    const hides: Around = (_unit, _attempt, act) => act().catch(() => undefined)
    const throws: Around = async (_unit, _attempt, act) => {
      await act()
      throw new Error('the exporter failed')
    }
    const leaves: Around = (_unit, _attempt, act) => {
      void act()
      return Promise.resolve()
    }
    for (const around of [hides, throws, leaves]) {
      assert.equal((await runOutcome(good, optionsWith(around)))._tag, 'Completed')
      const ended = await runOutcome(bad, optionsWith(around))
      assert.ok(ended._tag === 'Failed' && ended.failures[0]?.error.message === 'no')
    }
  })

  test('act rejects when its attempt is suspended', async () => {
    const { log, around } = traced()
    const options = optionsWith(around)
    const flow = workflow('flow').step('ask', ({ waitFor }) => waitFor('name'))
    assert.equal((await runOutcome(flow, options))._tag, 'Pending')
    assert.equal(log.length, 2)
    assert.match(log[1] ?? '', /^ask the attempt ended before its code did/)
    await answer({ ...options, unit: 'ask/name', value: 'Ada' })
    assert.equal((await runOutcome(flow, options))._tag, 'Completed')
    assert.equal(log.at(-1), 'ask ok')
  })

  test('the error that the around hook catches has no secret', async () => {
    const { log, around } = traced()
    const environment = { around, secrets: { where: 'here', read: () => () => Promise.resolve(right('hunter22')) } }
    const flow = workflow('flow', { secrets: ['TOKEN'] }).step('work', ({ secrets }) => {
      throw new Error(`refused ${secrets['TOKEN']}`)
    })
    await runOutcome(flow, { id: 'r', storage: memoryStorage(), environment })
    assert.equal(log.join(' ').includes('hunter22'), false)
    assert.match(log[1] ?? '', /^work refused /)
  })
})

const right = (value: string) => ({ _tag: 'Right', right: { _tag: 'Some', value } }) as const
