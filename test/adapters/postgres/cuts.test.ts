/** A connection that is cut after any message: no acknowledged save is lost, none is doubled, and a resume finishes the run. */
import assert from 'node:assert/strict'
import * as E from 'fp-ts/lib/Either.js'
import { afterAll, beforeAll, describe, test } from 'vitest'
import { memoryStorage } from '../../../src/adapters/memory.js'
import type { Change } from '../../../src/domain/change/Change.js'
import type { CheckpointStorage } from '../../../src/ports/CheckpointStorage.js'
import { runOrResume, workflow } from '../../../src/promise/index.js'
import { right } from '../../../src/testing/conformance/fixtures.js'
import { seed, sweep } from '../../sweep.js'
import type { Place } from './kit.js'
import { destroy, later, open, place } from './kit.js'
import { proxyTo } from './proxy.js'

const STEPS = 10

const tenSteps = (done: Array<number>) => {
  const run = (n: number) => () => done.push(n)
  const half = workflow('ten').step('a', run(0)).step('b', run(1)).step('c', run(2)).step('d', run(3)).step('e', run(4))
  return half.step('f', run(5)).step('g', run(6)).step('h', run(7)).step('i', run(8)).step('j', run(9))
}

/** The kinds of changes that a run without failures has, in order. */
const expected = async (): Promise<ReadonlyArray<string>> => {
  const storage = memoryStorage()
  await runOrResume(tenSteps([]), { id: 'r', storage })
  return (await right(storage.history('r'))).map(({ change }) => change).reverse()
}

interface Acknowledged {
  readonly revision: number
  readonly change: Change
}

const observed = (storage: CheckpointStorage, acknowledged: Array<Acknowledged>): CheckpointStorage => ({
  ...storage,
  save: (claim, revisions) => async () => {
    const saved = await storage.save(claim, revisions)()
    if (E.isRight(saved)) for (const { revision, change } of revisions) acknowledged.push({ revision, change })
    return saved
  }
})

let where: Place
beforeAll(async () => {
  where = await place()
  await right(open(where).storage.list())
})
afterAll(() => destroy(where))

/** Runs through a proxy that cuts once. Returns how many messages there were. */
const cutAfter = async (direction: 'client' | 'server', after: number): Promise<number> => {
  const runId = `${direction}-${after}`
  const proxy = await proxyTo(where.server, direction, after)
  const behind: Place = { ...where, server: proxy, opened: [] }
  const done: Array<number> = []
  const acknowledged: Array<Acknowledged> = []
  const { storage, pool } = open(behind, { checkIntervalMillis: 20 })
  const all = observed(storage, acknowledged)
  const failures: Array<string> = []
  const attempt = (): Promise<boolean> =>
    runOrResume(tenSteps(done), { id: runId, storage: all }).then(
      () => true,
      (error: unknown) => failures.push(String(error)) < 0
    )
  while (!(await attempt())) assert.ok(failures.length < 5, failures.join('\n'))
  const { rows } = await where.admin.query<{ revision: string; change: string; kind: string }>(
    `SELECT revision, change, kind FROM ${where.schema}.revisions WHERE run = $1 ORDER BY revision`,
    [runId]
  )
  assert.deepEqual(
    rows.map(({ revision }) => Number(revision)),
    rows.map((_, n) => n),
    'the revisions have no gap'
  )
  const byRevision = new Map(acknowledged.map((one) => [one.revision, one.change]))
  assert.equal(byRevision.size, acknowledged.length, 'a revision was acknowledged twice')
  for (const [revision, change] of byRevision)
    assert.equal(rows[revision]?.kind, change._tag, `${direction} ${after}: revision ${revision}`)
  assert.equal(rows.filter(({ kind }) => kind === 'UnitCompleted').length, STEPS, 'each step is recorded once')
  const stored = await right(open(where).storage.load(runId))
  assert.equal(stored._tag, 'Some')
  await storage.close()
  await pool.end()
  await proxy.close()
  return proxy.counts[direction]
}

describe.each(['client', 'server'] as const)('a connection that is cut after a message of the %s', (direction) => {
  test('a cut connection loses no acknowledged save and stores none twice, and the run of ten steps finishes', async () => {
    const messages = await cutAfter(direction, 1_000_000)
    assert.ok(messages > 60, `only ${messages} messages`)
    const all = Array.from({ length: messages }, (_, n) => n + 1)
    const sample = all.filter((n) => (n * 7_919 + seed) % 31 === 0)
    for (const n of sweep ? all : sample) await cutAfter(direction, n)
    await later(0)
  }, 600_000)
})

test('a run of ten steps records the same changes in PostgreSQL as in memory', async () => {
  const { storage } = open(where)
  await runOrResume(tenSteps([]), { id: 'plain', storage })
  const found = (await right(storage.history('plain'))).map(({ change }) => change).reverse()
  assert.deepEqual(found, await expected())
})
