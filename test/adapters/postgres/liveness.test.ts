/** How a process proves that it lives, and what happens when the proof breaks. */
import assert from 'node:assert/strict'
import { randomInt } from 'node:crypto'
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import pg from 'pg'
import { afterEach, beforeEach, describe, test } from 'vitest'
import { postgresStorage } from '../../../src/adapters/postgres/index.js'
import {
  claimed,
  left,
  OTHER,
  OWNER,
  revisions,
  right,
  some,
  until
} from '../../../src/testing/conformance/fixtures.js'
import type { CheckpointStorage, Stored } from '../../../src/ports/CheckpointStorage.js'
import type { Place } from './kit.js'
import { destroy, later, open, place, poolOf } from './kit.js'

let where: Place
beforeEach(async () => {
  where = await place()
})
afterEach(() => destroy(where))

const keyOf = async (runId: string): Promise<string | null> => {
  const text = `SELECT key::text AS key FROM ${where.schema}.runs WHERE id = $1`
  return (await where.admin.query<{ key: string | null }>(text, [runId])).rows[0]?.key ?? null
}

/** Ends the session that holds the lock of a key. */
const terminate = async (key: string | null): Promise<void> => {
  const text = `SELECT pg_terminate_backend(pid, 5000) FROM pg_locks
    WHERE locktype = 'advisory' AND granted AND ((classid::bigint << 32) | objid::bigint) = $1::bigint`
  await where.admin.query(text, [key])
}

describe('the connection that proves that a process lives', () => {
  test('a process whose lock connection breaks moves its claims to a new key and keeps them', async () => {
    const { storage } = open(where)
    const claims = await Promise.all(['a', 'b'].map((runId) => claimed(storage, runId)))
    const former = await keyOf('a')
    assert.notEqual(former, null)
    await terminate(former)
    for (const end = Date.now() + 10_000; (await keyOf('b')) === former; await later(5)) assert.ok(Date.now() < end)
    assert.equal(await keyOf('a'), await keyOf('b'))
    await left(open(where).storage.claim('a', OTHER), 'HeldBy')
    for (const claim of claims) await right(storage.save(claim, revisions([1])))
  })

  test('a claim that is taken over while the lock connection is broken is lost, and all other claims move to the new key', async () => {
    const { storage } = open(where)
    const taken = await claimed(storage, 'taken')
    const kept = await claimed(storage, 'kept')
    await where.admin.query(
      `UPDATE ${where.schema}.runs SET token = gen_random_uuid(), epoch = epoch + 1 WHERE id = 'taken'`
    )
    await terminate(await keyOf('kept'))
    await until(() => taken.lost.aborted, 5_000, 'the lost signal')
    assert.equal((taken.lost.reason as { _tag: string })._tag, 'Fenced')
    await left(storage.save(taken, revisions([1])), 'Fenced')
    await right(storage.save(kept, revisions([1])))
    assert.equal(kept.lost.aborted, false)
  })

  test('a claim that is made while the lock connection breaks is held under the new key', async () => {
    let go = (): void => undefined
    const gate = new Promise<void>((resolve) => (go = resolve))
    const isClaim = (text: string): boolean => /INSERT INTO \S+\.runs/.test(text)
    let isHeld = false
    const around = (text: string): Promise<void> | undefined => {
      if (!isClaim(text) || !isHeld) return undefined
      isHeld = false
      return gate
    }
    const { storage } = open(where, { around })
    await claimed(storage, 'a')
    isHeld = true
    const claiming = claimed(storage, 'b')
    const former = await keyOf('a')
    await terminate(former)
    for (const end = Date.now() + 10_000; (await keyOf('a')) === former; await later(5)) assert.ok(Date.now() < end)
    go()
    const claim = await claiming
    assert.equal(await keyOf('b'), await keyOf('a'))
    await left(open(where).storage.claim('b', OTHER), 'HeldBy')
    await right(storage.save(claim, revisions([1])))
  })

  test('a claim that is granted under a broken key while the other claims move is held under the new key', async () => {
    const gates = new Map<string, () => void>()
    const kindOf = (text: string): string =>
      /INSERT INTO \S+\.runs/.test(text) ? 'claim' : /SET key = /.test(text) ? 'move' : ''
    const held = new Set<string>()
    const around = (text: string): Promise<void> | undefined => {
      const kind = kindOf(text)
      if (!held.delete(kind)) return undefined
      return new Promise((resolve) => gates.set(kind, resolve))
    }
    const letPass = (kind: string): void => gates.get(kind)?.()
    const { storage } = open(where, { around })
    await claimed(storage, 'a')
    held.add('claim').add('move')
    const claiming = claimed(storage, 'b')
    await until(() => gates.has('claim'), 5_000, 'the claim')
    await terminate(await keyOf('a'))
    await until(() => gates.has('move'), 5_000, 'the move')
    letPass('claim')
    for (const end = Date.now() + 10_000; (await keyOf('b')) === null; await later(5)) assert.ok(Date.now() < end)
    await later(100)
    letPass('move')
    const claim = await claiming
    assert.equal(await keyOf('b'), await keyOf('a'))
    await left(open(where).storage.claim('b', OTHER), 'HeldBy')
    await right(storage.save(claim, revisions([1])))
  })

  test('the lock connection sets keepalives and a user timeout, so that a lost host is noticed', async () => {
    const { storage } = open(where)
    await claimed(storage, 'a')
    const settings: Array<string> = []
    class Client extends pg.Client {
      override query(...args: ReadonlyArray<unknown>): never {
        settings.push((args[0] as { text: string }).text)
        return (super.query as (...args: ReadonlyArray<unknown>) => never)(...args)
      }
    }
    const other = postgresStorage(poolOf(where, { Client }), { schema: where.schema })
    await claimed(other, 'b')
    await other.close()
    for (const name of ['tcp_keepalives_idle', 'tcp_keepalives_interval', 'tcp_keepalives_count', 'tcp_user_timeout'])
      assert.ok(
        settings.some((text) => text.includes(`'${name}'`)),
        name
      )
  })

  test('claims behind a transaction pooler end with an error that names the option', async () => {
    /** Each statement may go to another session, as PgBouncer does. */
    class Client extends pg.Client {
      override query(...args: ReadonlyArray<unknown>): never {
        const statement = args[0] as { text: string }
        if (!('text' in Object(statement)) || !statement.text.includes('pg_locks'))
          return (super.query as (...args: ReadonlyArray<unknown>) => never)(...args)
        return where.admin.query(statement as pg.QueryConfig) as never
      }
    }
    const pool = poolOf(where)
    ;(pool as unknown as { Client: unknown }).Client = Client
    const storage = postgresStorage(pool, { schema: where.schema, checkIntervalMillis: 20 })
    const claim = await claimed(storage, 'a')
    await until(() => claim.lost.aborted, 5_000, 'the lost signal')
    const { _tag, code, option } = claim.lost.reason as { _tag: string; code: string; option: string }
    assert.deepEqual([_tag, code, option], ['ReadFailed', 'LOCK_LOST', "liveness: 'lease'"])
    await storage.close()
    await pool.end()
  })
})

describe('while the owner saves and releases the run', () => {
  /** Each statement that judges a holder waits, after it has read the row, until the returned function is called. */
  const gated = async (): Promise<{ readonly reached: () => Promise<boolean>; readonly end: () => Promise<void> }> => {
    const { admin, schema } = where
    const gate = randomInt(2 ** 31 - 1)
    const holder = await admin.connect()
    await holder.query('SELECT pg_advisory_lock($1)', [gate])
    await holder.query(`ALTER TABLE ${schema}.leases RENAME TO kept;
      CREATE FUNCTION ${schema}.gated() RETURNS SETOF ${schema}.kept LANGUAGE plpgsql AS
        $$ BEGIN PERFORM pg_advisory_xact_lock_shared(${gate}); RETURN; END $$;
      CREATE VIEW ${schema}.leases AS SELECT * FROM ${schema}.gated()`)
    return {
      reached: async () => {
        const text = `SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted AND classid = 0 AND objid = $1`
        return (await holder.query(text, [gate])).rows.length > 0
      },
      end: async () => {
        await holder.query('SELECT pg_advisory_unlock($1)', [gate])
        holder.release()
      }
    }
  }
  const stored = ({ revision, heldBy }: Stored): unknown => [revision, O.isNone(heldBy)]
  const reads: ReadonlyArray<readonly [string, unknown, (storage: CheckpointStorage) => Promise<unknown>]> = [
    ['load', [1, true], async (one) => stored(some(await right(one.load('a'))))],
    ['list', [1], async (one) => (await right(one.list())).map(({ summary }) => summary?.revision)]
  ]
  const cases = reads.flatMap(([name, ...read]) => [
    [name, 'has ended', false, ...read] as const,
    [name, 'lives and reads itself', true, ...read] as const
  ])

  test.each(cases)('%s returns the saved state if the owner %s', async (_, __, isOwn, expected, read) => {
    const owner = open(where)
    const { storage } = isOwn ? owner : open(where)
    const claim = await claimed(owner.storage, 'a')
    await right(owner.storage.save(claim, revisions([1])))
    await right(storage.list())
    const gate = await gated()
    const found = read(storage)
    for (const end = Date.now() + 10_000; !(await gate.reached()); await later(5)) assert.ok(Date.now() < end)
    await right(owner.storage.save(claim, revisions([1, 2])))
    await right(owner.storage.release(claim))
    if (!isOwn) await owner.declareDead()
    await gate.end()
    assert.deepEqual(await found, expected)
  })
})

describe('a lease', () => {
  test('a lease that has run out lets another process claim, and the former owner is fenced', async () => {
    const { storage, declareDead } = open(where, { liveness: 'lease' })
    const claim = await claimed(storage, 'a')
    const { holder } = await left(open(where, { liveness: 'lease' }).storage.claim('a', OTHER), 'HeldBy')
    assert.equal(holder.liveness, 'undecided')
    await declareDead()
    await claimed(open(where).storage, 'a', OTHER)
    await left(storage.save(claim, revisions([1])), 'Fenced')
  })

  test('a lease is renewed as long as its process holds claims, and proves the process alive to processes that use locks', async () => {
    const { storage } = open(where, { liveness: 'lease', leaseMillis: 600, checkIntervalMillis: 50 })
    const claim = await claimed(storage, 'a')
    await later(1_500)
    const refused = await left(open(where).storage.claim('a', OTHER), 'HeldBy')
    assert.equal(refused.holder.liveness, 'undecided')
    await right(storage.save(claim, revisions([1])))
  })

  test('a claim keeps the lease that it makes while an earlier renewal still runs', async () => {
    const first = open(where, { liveness: 'lease' }).storage
    await right(first.release(await claimed(first, 'z')))
    let renewals = 0
    const around = (text: string): Promise<void> | undefined => {
      if (text.startsWith('UPDATE') && text.includes('leases') && renewals++ === 0) return later(300)
      return text.includes('INSERT INTO') && text.includes('leases') ? later(150) : undefined
    }
    // The first renewal begins while the claim draws its key.
    const { storage } = open(where, { liveness: 'lease', leaseMillis: 4_000, checkIntervalMillis: 50, around })
    await claimed(storage, 'a')
    const key = await keyOf('a')
    await later(600)
    assert.equal(await keyOf('a'), key)
  })
})

test('after a failed save and a failed release the same process claims the run again, and its row is cleared later', async () => {
  let isBroken = false
  const around = (): Promise<void> | undefined =>
    isBroken ? Promise.reject(Object.assign(new Error('EIO'), { code: 'EIO' })) : undefined
  const { storage } = open(where, { around })
  const claim = await claimed(storage, 'a')
  isBroken = true
  await left(storage.save(claim, revisions([1])), 'WriteFailed')
  await left(storage.release(claim), 'WriteFailed')
  isBroken = false
  const again = await claimed(storage, 'a', OWNER)
  await right(storage.save(again, revisions([1])))
  isBroken = true
  await left(storage.release(again), 'WriteFailed')
  isBroken = false
  for (const end = Date.now() + 5_000; (await keyOf('a')) !== null; await later(20)) assert.ok(Date.now() < end)
  assert.ok(E.isRight(await open(where).storage.claim('a', OTHER)()))
})
