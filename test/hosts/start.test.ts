import assert from 'node:assert/strict'
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import { describe, test } from 'vitest'
import { memoryStorage } from '../../src/adapters/memory.js'
import { isRunFailure, resume, start, workflow } from '../../src/promise/index.js'
import { withFaults } from '../../src/testing/faults.js'

const gated = () => {
  let open = (): void => undefined
  const gate = new Promise<void>((resolve) => (open = resolve))
  const order = workflow('order').step('charge', async () => {
    await gate
    return 'charged'
  })
  return { order, open: () => open() }
}

describe('start', () => {
  test('start resolves while the first step still runs, and the run is stored by then', async () => {
    const storage = memoryStorage()
    const { order, open } = gated()
    const { runId, outcome } = await start(order, { id: 'order-1', storage })
    const stored = await storage.load(runId)()
    assert.ok(E.isRight(stored) && O.isSome(stored.right))
    open()
    const ended = await outcome
    assert.ok(ended._tag === 'Completed')
    assert.equal(ended.outputs.charge, 'charged')
  })

  test('start does not resolve before the first save has resolved', async () => {
    const clock = { now: () => Date.now(), sleep: () => () => held }
    let release = (): void => undefined
    const held = new Promise<void>((resolve) => (release = resolve))
    const slow = [{ call: 'save', nth: 1, fault: { _tag: 'Delay', millis: 1 } }] as const
    const storage = withFaults(memoryStorage(), slow, { clock })
    let isStarted = false
    const starting = start(
      workflow('w').step('one', () => 1),
      { id: 'w-1', storage }
    ).then((handle) => {
      isStarted = true
      return handle
    })
    await new Promise((resolve) => setTimeout(resolve, 20))
    assert.equal(isStarted, false)
    release()
    assert.equal((await (await starting).outcome)._tag, 'Completed')
  })

  test('start rejects if nothing was recorded: the id exists, or the save failed', async () => {
    const storage = memoryStorage()
    const greet = workflow('greet').step('hello', () => 'hello')
    await (
      await start(greet, { id: 'greet-1', storage })
    ).outcome
    const refused = await start(greet, { id: 'greet-1', storage }).catch((error: unknown) => error)
    assert.ok(isRunFailure(refused) && refused.outcome._tag === 'Refused')
    assert.equal(refused.outcome.error._tag, 'RunExists')
    const full = withFaults(storage, [{ call: 'save', nth: 1, fault: { _tag: 'Fail', when: 'before' } }])
    const unsaved = await start(greet, { id: 'greet-2', storage: full }).catch((error: unknown) => error)
    assert.ok(isRunFailure(unsaved) && unsaved.outcome._tag === 'Refused')
    assert.equal(unsaved.outcome.error._tag, 'WriteFailed')
  })

  test('the outcome of a started run that fails is data, and a resume continues it', async () => {
    const options = { id: 'order-1', storage: memoryStorage() }
    let isDown = true
    const order = workflow('order').step('charge', () => {
      if (isDown) throw new Error('the bank is down')
      return 'charged'
    })
    const ended = await (await start(order, options)).outcome
    assert.equal(ended._tag, 'Failed')
    isDown = false
    assert.equal((await resume(order, options)).charge, 'charged')
  })
})
