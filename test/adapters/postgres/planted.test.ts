/** Each planted fault of the PostgreSQL store is found, by a case of the kit or by a law of this store. */
import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { postgresStorage } from '../../../src/adapters/postgres/index.js'
import { claimed, left, OTHER, revisions, right, upTo } from '../../../src/testing/conformance/fixtures.js'
import { runConformance } from '../../../src/testing/index.js'
import type { Place } from './kit.js'
import { destroy, later, open, place } from './kit.js'
import { FAULTS, planted } from './planted.js'
import { specOf } from './spec.js'

type Make = typeof postgresStorage

type Law = (make: Make) => Promise<void>

const inPlace = async (law: (where: Place) => Promise<void>): Promise<void> => {
  const where = await place()
  try {
    await law(where)
  } finally {
    await destroy(where)
  }
}

/** Laws that no case of the kit can state, because they need the server. */
const LAWS = {
  'a claim that waited for its row has an epoch above the epoch that was committed meanwhile': (make) =>
    inPlace(async (where) => {
      const { storage } = open(where, { make })
      await right(storage.release(await claimed(storage, 'a')))
      const blocker = await where.admin.connect()
      await blocker.query('BEGIN')
      await blocker.query(`UPDATE ${where.schema}.runs SET epoch = epoch + 5 WHERE id = 'a'`)
      const claiming = claimed(storage, 'a')
      await later(300)
      await blocker.query('COMMIT')
      blocker.release()
      assert.equal((await claiming).epoch, 7)
    }),
  'a process whose lock broke takes another lock within seconds, and keeps its run': (make) =>
    inPlace(async (where) => {
      const { storage } = open(where, { make })
      const claim = await claimed(storage, 'a')
      await where.admin.query(
        `SELECT pg_terminate_backend(l.pid) FROM pg_locks l, ${where.schema}.runs WHERE locktype = 'advisory'
          AND ((classid::bigint << 32) | objid::bigint) = key`
      )
      await later(1_500)
      await left(open(where).storage.claim('a', OTHER), 'HeldBy')
      await right(storage.save(claim, revisions([1])))
    }),
  'an idle connection that breaks does not end the process': (make) =>
    inPlace((where) => {
      const { pool } = open(where, { make })
      assert.ok(pool.listenerCount('error') > 0, 'nobody listens')
      return Promise.resolve()
    }),
  'an acknowledged save is flushed to the disk of the server': (make) =>
    inPlace(async (where) => {
      const { storage } = open(where, { make })
      const claim = await claimed(storage, 'a')
      const unflushed: Array<number> = []
      for (let n = 1; n <= 20; n++) {
        await right(storage.save(claim, revisions(upTo(n))))
        const { rows } = await where.admin.query<{ bytes: string }>(
          'SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), pg_current_wal_flush_lsn())::text AS bytes'
        )
        unflushed.push(Number(rows[0]?.bytes))
      }
      // Other tests write to the same server.
      assert.ok(unflushed.filter((bytes) => bytes < 400).length > 10, `unflushed bytes: ${unflushed.join(', ')}`)
    })
} as const satisfies Readonly<Record<string, Law>>

const KILLED_BY: Readonly<Record<keyof typeof FAULTS, keyof typeof LAWS | `CS-${string}`>> = {
  'checks the fence in a statement before the write': 'CS-STALL-01',
  'loads in two statements': 'CS-STALL-02',
  'draws the epoch before it has the lock of the row':
    'a claim that waited for its row has an epoch above the epoch that was committed meanwhile',
  'fences by the epoch alone': 'CS-OVER-02',
  'takes an error for a missing run': 'CS-ERROR-01',
  'repeats a save without looking for it': 'CS-NET-01',
  'does not take its lock again': 'a process whose lock broke takes another lock within seconds, and keeps its run',
  'does not listen for errors of the pool': 'an idle connection that breaks does not end the process',
  'commits asynchronously': 'an acknowledged save is flushed to the disk of the server'
}

describe('the PostgreSQL store', () => {
  test.each(Object.entries(LAWS))('the PostgreSQL store keeps the law: %s', (_, law) => law(postgresStorage), 60_000)
})

describe('a planted fault', () => {
  test.each(Object.entries(KILLED_BY))(
    'the tests find a store that %s: %s',
    async (fault, by) => {
      const make = await planted(FAULTS[fault as keyof typeof FAULTS])
      const law = Object.entries(LAWS).find(([title]) => title === by)?.[1]
      if (law !== undefined) return assert.rejects(law(make), assert.AssertionError)
      const { results } = await runConformance(specOf('a store with a fault', { make }), { only: [by] })
      assert.deepEqual(
        results.map(({ id, outcome }) => [id, outcome._tag]),
        [[by, 'Failed']]
      )
    },
    120_000
  )
})
