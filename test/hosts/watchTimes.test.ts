/** How soon a watch looks at its store, while clocks are set, the host is suspended, and all slots are taken. */
import assert from 'node:assert/strict'
import * as TE from 'fp-ts/lib/TaskEither.js'
import { describe, test } from 'vitest'
import { memoryData, memoryRequests, memoryStorage } from '../../src/adapters/memory.js'
import type { CheckpointStorage } from '../../src/index.js'
import type { AnyProgram } from '../../src/hosts/resumeAll.js'
import type { ResumedRun } from '../../src/promise/index.js'
import { answer, resumeAll, runOutcome, workflow } from '../../src/promise/index.js'
import { virtualClock } from '../../src/testing/crash/process/VirtualClock.js'
import { FULL } from '../executor/fixtures.js'

const HOUR_MILLIS = 3_600_000

/** A virtual clock that can be set: no sleeper notices. */
const settableClock = () => {
  const clock = virtualClock()
  let ahead = 0
  return { ...clock, now: () => clock.now() + ahead, set: (millis: number) => void (ahead += millis) }
}

const quick = workflow('quick').step('work', () => 'done')

/** A watch on a virtual clock, and a process that leaves an interrupted run behind. */
const world = (more: { readonly workflows?: ReadonlyArray<AnyProgram>; readonly concurrency?: number } = {}) => {
  const [clock, stopper, stored] = [settableClock(), new AbortController(), memoryStorage()]
  const seen: Array<string> = []
  const onRun = (one: ResumedRun): void =>
    void seen.push(`${one.runId} ${one._tag === 'Resumed' ? one.outcome : one.why}`)
  const leave = async (id: string): Promise<void> => {
    await runOutcome(quick, { id, storage: stored, signal: AbortSignal.abort() })
  }
  const begin = (storage: CheckpointStorage = stored) => {
    const environment = { clock }
    const options = { workflows: [quick], ...more, storage, environment, watch: true, signal: stopper.signal, onRun }
    return resumeAll(options)
  }
  const seconds = async (count: number): Promise<void> => {
    for (let n = 0; n < count; n++) {
      await clock.advance(1_000)
      await new Promise((resolve) => setTimeout(resolve, 2))
    }
  }
  const end = async (watching: Promise<unknown>): Promise<void> => {
    stopper.abort()
    await seconds(1)
    await watching
  }
  return { clock, stored, seen, leave, begin, seconds, end }
}

describe('a watch', () => {
  test('a watch looks again within seconds after the clock was set back', async () => {
    const { clock, seen, leave, begin, seconds, end } = world()
    const watching = begin()
    await seconds(3)
    clock.set(-2 * HOUR_MILLIS)
    await leave('late')
    await seconds(5)
    assert.deepEqual(seen, ['late Completed'])
    await end(watching)
  })

  test('a watch retries a run within a minute although the clock was set back after the store failed', async () => {
    const { clock, stored, seen, leave, begin, seconds, end } = world()
    await leave('order')
    let isBroken = true
    const watching = begin({
      ...stored,
      save: (...args) => (isBroken ? TE.left(FULL) : stored.save(...args))
    })
    await seconds(3)
    isBroken = false
    clock.set(-2 * HOUR_MILLIS)
    await seconds(60)
    assert.equal(seen.at(-1), 'order Completed')
    await end(watching)
  })

  test('a watch retries a run within two minutes although the clock was set back in the middle of a look', async () => {
    const { clock, stored, seen, leave, begin, seconds, end } = world()
    await leave('order')
    let isBroken = true
    let looks = 0
    const watching = begin({
      ...stored,
      save: (...args) => (isBroken ? TE.left(FULL) : stored.save(...args)),
      list: (options) => async () => {
        looks += 1
        if (looks === 4) clock.set(-2 * HOUR_MILLIS)
        return await stored.list(options)()
      }
    })
    await seconds(5)
    assert.ok(looks >= 4)
    isBroken = false
    await seconds(120)
    assert.equal(seen.at(-1), 'order Completed')
    await end(watching)
  })

  test('a watch looks again within seconds after its machine was suspended in the middle of a look', async () => {
    const { clock, stored, seen, leave, begin, seconds, end } = world()
    let looks = 0
    const watching = begin({
      ...stored,
      list: (options) => async () => {
        looks += 1
        if (looks === 4) clock.set(8 * HOUR_MILLIS)
        return await stored.list(options)()
      }
    })
    await seconds(5)
    assert.ok(looks >= 4)
    await leave('late')
    await seconds(5)
    assert.deepEqual(seen, ['late Completed'])
    await end(watching)
  })

  test('a watch looks again within seconds after a look has waited long for a free slot', async () => {
    let finish = (): void => undefined
    const long = workflow('long').step('work', () => new Promise<void>((resolve) => void (finish = resolve)))
    const { stored, seen, leave, begin, seconds, end } = world({ workflows: [quick, long], concurrency: 1 })
    const watching = begin()
    await seconds(2)
    await runOutcome(long, { id: 'a-long', storage: stored, signal: AbortSignal.abort() })
    await leave('b')
    await seconds(600)
    finish()
    await seconds(2)
    assert.deepEqual(seen, ['a-long Completed', 'b Completed'])
    await leave('c')
    await seconds(5)
    assert.equal(seen.at(-1), 'c Completed')
    await end(watching)
  })
})

describe('a process that stays with its run', () => {
  test('a process that stays notices an answer within seconds after its machine was suspended in the middle of a look', async () => {
    const [clock, data] = [settableClock(), memoryData()]
    const stored = memoryStorage(data)
    let looks = 0
    const storage: CheckpointStorage = {
      ...stored,
      load: (runId) => async () => {
        looks += 1
        if (looks === 4) clock.set(8 * HOUR_MILLIS)
        return await stored.load(runId)()
      }
    }
    const asking = workflow('asking').waitFor('approve')
    const environment = { clock, requests: memoryRequests(data) }
    let outcome: string | undefined
    const ended = runOutcome(asking, { id: 'r', storage, environment, wait: true }).then(({ _tag }) => (outcome = _tag))
    const seconds = async (count: number): Promise<void> => {
      for (let n = 0; n < count; n++) {
        await clock.advance(1_000)
        await new Promise((resolve) => setTimeout(resolve, 2))
      }
    }
    await seconds(6)
    assert.ok(looks >= 4)
    await answer({ id: 'r', storage: stored, unit: 'approve', value: 'yes' })
    await seconds(5)
    assert.equal(outcome, 'Completed')
    await ended
  })
})
