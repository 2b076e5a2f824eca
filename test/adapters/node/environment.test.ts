import assert from 'node:assert/strict'
import { test } from 'vitest'
import { memoryStorage } from '../../../src/adapters/memory.js'
import { nodeEnvironment, systemClock } from '../../../src/adapters/node/index.js'
import type { Requests } from '../../../src/index.js'
import { listRuns, run, workflow } from '../../../src/promise/index.js'

test('a port that is undefined keeps its default, in both forms', async () => {
  const requests: Requests | undefined = undefined
  const environment = nodeEnvironment(memoryStorage(), { requests, clock: undefined })
  assert.deepEqual([environment.clock, 'requests' in environment], [systemClock, false])
  const one = workflow('w').step('a', () => 1)
  const options = { id: 'r', storage: memoryStorage(), environment: { requests, clock: undefined } }
  assert.deepEqual(await run(one, options), { a: 1 })
})

test('a complete environment in place of the overrides does not replace the storage, in both forms', async () => {
  const [storage, other] = [memoryStorage(), memoryStorage()]
  const environment = nodeEnvironment(other)
  assert.equal(nodeEnvironment(storage, environment).storage, storage)
  const one = workflow('w').step('a', () => 1)
  await run(one, { id: 'r', storage, environment })
  const found = await Promise.all([storage, other].map((each) => listRuns({ storage: each })))
  assert.deepEqual(
    found.map(({ length }) => length),
    [1, 0]
  )
})
