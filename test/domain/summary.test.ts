import * as O from 'fp-ts/lib/Option.js'
import { expect, test } from 'vitest'
import type { Json, JsonObject } from '../../src/domain/data/Json.js'
import * as Summary from '../../src/domain/checkpoint/Summary.js'
import { memoryStorage } from '../../src/adapters/memory.js'
import { answer, listRuns, runOutcome, workflow } from '../../src/promise/index.js'

const summaryOf = (waits: Json | undefined): Json => ({
  revision: 3,
  workflow: { name: 'release' },
  status: 'pending',
  heldStatus: 'pending',
  steps: { completed: 1, total: 3 },
  ...(waits === undefined ? {} : { waits }),
  createdAt: '2026-01-02T03:04:05.678Z',
  updatedAt: '2026-01-02T03:04:05.678Z'
})

test.each([[undefined], [{ kinds: [] }], [{ kinds: ['Job', 'Timer'], wakeAt: '2026-01-02T03:04:05.678Z' }]])(
  'a stored summary with the waits %j is decoded unchanged',
  (waits) => {
    expect(Summary.decode(summaryOf(waits))).toEqual(O.some(summaryOf(waits)))
  }
)

test.each([
  [null],
  [[]],
  [{}],
  [{ kinds: ['Nap'] }],
  [{ kinds: 'Job' }],
  [{ kinds: [], wakeAt: 5 }],
  [{ kinds: [], wakeAt: null }]
])('a stored summary with the waits %j is ignored', (waits) => {
  expect(Summary.decode(summaryOf(waits))).toEqual(O.none)
})

test.each([[null], [5]])('a stored summary with the workflow path %j is ignored', (path) => {
  const summary = { ...(summaryOf(undefined) as JsonObject), workflow: { name: 'release', path } }
  expect(Summary.decode(summary)).toEqual(O.none)
})

test('a listed run has the kinds of its open waits and the time at which the first wait ends', async () => {
  const release = workflow('release').wave('all', {
    nap: { sleep: { until: '2999-01-02T03:04:05Z' } },
    ada: { waitFor: { question: 'Publish?' } },
    bob: { waitFor: { timeoutMillis: 3_600_000 } }
  })
  const options = { id: 'release-1', storage: memoryStorage() }
  const listed = async () => (await listRuns(options))[0]?.summary?.waits
  await runOutcome(release, options)
  const soon = expect.stringMatching(/^20/) as string
  expect(await listed()).toEqual({ kinds: ['Timer', 'Answer'], wakeAt: soon })
  await answer({ ...options, unit: 'all/ada', value: true })
  await answer({ ...options, unit: 'all/bob', value: true })
  expect(await listed()).toEqual({ kinds: ['Timer'], wakeAt: '2999-01-02T03:04:05.000Z' })
})
