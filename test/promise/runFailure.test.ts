import assert from 'node:assert/strict'
import { describe, test, vi } from 'vitest'
import { memoryStorage } from '../../src/adapters/memory.js'
import * as dogear from '../../src/promise/index.js'

const failing = dogear.workflow('w').step('one', () => Promise.reject(new Error('no')))

describe('isRunFailure', () => {
  test('isRunFailure accepts the failure of another copy of the module, and nothing else', async () => {
    vi.resetModules()
    const other = await import('../../src/promise/index.js')
    assert.notEqual(other.RunFailure, dogear.RunFailure)
    const error: unknown = await other
      .run(failing, { id: 'r', storage: memoryStorage() })
      .catch((thrown: unknown) => thrown)
    assert.ok(dogear.isRunFailure(error))
    assert.equal(error.outcome._tag, 'Failed')
    for (const wrong of [new Error('no'), { name: 'RunFailure' }, 'RunFailure', null, undefined])
      assert.equal(dogear.isRunFailure(wrong), false)
  })
})

describe('RunFailure', () => {
  test('a RunFailure states the error of a sub-step once if its task rejects with it', async () => {
    const agent = dogear.workflow('w').step('agent', ({ step }) => step('turn', () => Promise.reject(new Error('no'))))
    await assert.rejects(dogear.run(agent, { id: 'r', storage: memoryStorage() }), {
      message: 'Run r failed in step 1 (agent): turn: no'
    })
  })
})

describe('planRun', () => {
  test('planRun returns only options of the plan', async () => {
    const storage = memoryStorage()
    await dogear.runOutcome(failing, { id: 'r', storage })
    const { options } = await dogear.planRun(failing, { id: 'r', storage, environment: {}, changes: 'ignore' })
    assert.deepEqual(Object.keys(options).sort(), ['changes', 'evidence', 'recovered'])
  })
})
