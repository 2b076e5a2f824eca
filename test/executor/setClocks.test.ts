/** Durations within a process do not follow a clock that is set meanwhile. */
import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { memoryData, memoryStorage } from '../../src/adapters/memory.js'
import { begin, end, outsideTimeout } from '../../src/executor/steps/Attempt.js'
import { resumeAll, runOutcome, workflow } from '../../src/promise/index.js'
import { fakeClock, patiently, quiet } from './fixtures.js'

const HOUR = 3_600_000

/** A virtual clock that can be set. */
const settableClock = () => {
  const clock = fakeClock()
  let offset = 0
  return {
    ...clock,
    now: () => clock.now() + offset,
    monotonic: () => clock.now(),
    set: (millis: number) => void (offset += millis)
  }
}

describe.each([
  ['back', -HOUR],
  ['forward', HOUR]
])('a clock that is set %s by an hour', (_, shift) => {
  test('a section that runs outside the timeout of an attempt leaves the remaining time unchanged', async () => {
    const clock = settableClock()
    const attempt = begin(1, {
      environment: { clock, graceMillis: 1 },
      stopping: new AbortController().signal,
      timeoutMillis: 1_000,
      giveUp: () => undefined
    })
    const whyHalted = () => attempt.halt?.why
    await clock.advance(400)
    clock.set(shift)
    await outsideTimeout(attempt, () => Promise.resolve())
    await clock.advance(599)
    assert.equal(whyHalted(), undefined)
    await clock.advance(1)
    assert.equal(whyHalted(), 'timeout')
    end(attempt)
    await quiet()
  })

  test('resumeAll retries a run with an undecided owner for undecidedMillis', async () => {
    const data = memoryData()
    const flow = workflow('w').step('work', () => new Promise<never>(() => undefined))
    void runOutcome(flow, { id: 'a', storage: memoryStorage(data) })
    await quiet()
    const clock = settableClock()
    const stored = memoryStorage(data, { formerOwners: 'undecided' })
    let claims = 0
    const storage = {
      ...stored,
      claim: (...args: Parameters<typeof stored.claim>) => {
        claims += 1
        if (claims === 3) clock.set(shift)
        return stored.claim(...args)
      }
    }
    const all = resumeAll({ storage, workflows: [flow], undecidedMillis: 5_000, environment: { clock } })
    const found = await patiently(clock, all)
    assert.deepEqual(
      found.map((one) => one._tag === 'Left' && one.why),
      ['Held']
    )
    assert.ok(claims >= 5 && claims <= 7, `${claims} claims`)
  })
})
