import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { memoryStorage } from '../../src/adapters/memory.js'
import { listRuns, prune, runOutcome, workflow } from '../../src/promise/index.js'

const four = async () => {
  const storage = memoryStorage()
  const flow = workflow('w').step('one', () => 1)
  for (const id of ['r-1', 'r-2', 'r-3']) await runOutcome(flow, { id, storage })
  await runOutcome(workflow('w').waitFor('one'), { id: 'waiting', storage })
  return storage
}

describe('prune with promises', () => {
  test('prune removes the oldest completed runs, and returns their summaries', async () => {
    const storage = await four()
    const { removed, left, neverStarted, isStopped } = await prune({ storage, keep: 2 })
    assert.deepEqual(
      removed.map(({ runId, status, heldBy }) => [runId, status, heldBy]),
      [['r-1', 'completed', undefined]]
    )
    assert.deepEqual([left, neverStarted, isStopped], [[], [], false])
    const all = await listRuns({ storage })
    assert.deepEqual(
      all.map(({ runId }) => runId),
      ['r-2', 'r-3', 'waiting']
    )
  })

  test('prune returns a run that could not be removed, with the reason', async () => {
    const storage = await four()
    const failing = {
      ...storage,
      remove: () => () => Promise.reject(new Error('no disk'))
    }
    const { removed, left } = await prune({ storage: failing, keep: 0, statuses: ['pending'] })
    assert.deepEqual(removed, [])
    assert.deepEqual(
      left.map(({ run, reason }) => [run.runId, run.heldBy, reason]),
      [['waiting', undefined, 'failed']]
    )
  })

  test('prune with an aborted signal removes nothing, and the result says that it was stopped', async () => {
    const storage = await four()
    const { removed, isStopped } = await prune({ storage, keep: 0, signal: AbortSignal.abort() })
    assert.deepEqual([removed, isStopped], [[], true])
  })

  test.each([
    [{}, 'keep must be a whole number ≥ 0, unless olderThanMillis is set'],
    [{ keep: -1 }, 'keep must be a whole number ≥ 0, not the number -1'],
    [{ keeps: 1 }, 'unknown option "keeps"; did you mean "keep"?']
  ])('the policy %j is refused, and no run is removed', async (policy, message) => {
    const storage = await four()
    const refused = await prune({ storage, ...policy }).catch((error: unknown) => error)
    assert.ok(refused instanceof Error)
    assert.equal(refused.message, `These options are invalid:\n  ${message}`)
    assert.equal((await listRuns({ storage })).length, 4)
  })
})
