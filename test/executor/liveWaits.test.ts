/** Waits of a process that stays: requests reach them while other work of the run goes on. */
import assert from 'node:assert/strict'
import * as E from 'fp-ts/lib/Either.js'
import { describe, test } from 'vitest'
import { memoryRequests } from '../../src/adapters/memory.js'
import { answer } from '../../src/index.js'
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
  test('ends the wait while a sub-step of the task runs', async () => {
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
