/** Servers that restart, time out, refuse writes, or would lose acknowledged saves. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as E from 'fp-ts/lib/Either.js'
import { afterAll, beforeAll, describe, test } from 'vitest'
import { postgresArtifacts } from '../../../src/adapters/postgres/index.js'
import { runOutcome, viewRun, workflow } from '../../../src/promise/index.js'
import { assertLoads, claimed, left, OTHER, revisions, right, some } from '../../../src/testing/conformance/fixtures.js'
import type { Place } from './kit.js'
import { destroy, later, open, place } from './kit.js'
import type { Server } from './server.js'
import { ownServer } from './server.js'

let server: Server & { readonly stop: () => Promise<void> }
let where: Place
beforeAll(async () => {
  server = await ownServer()
  where = await place(server)
  await right(open(where).storage.list())
})
afterAll(async () => {
  await destroy(where)
  await server.stop()
})

const canMount = (): boolean => spawnSync('unshare', ['--mount', 'mount', '-t', 'tmpfs', 'tmpfs', '/mnt']).status === 0

const set = async (setting: string): Promise<void> => {
  await where.admin.query(`ALTER SYSTEM ${setting}`)
  await where.admin.query('SELECT pg_reload_conf()')
  await later(200)
}

describe('a server', () => {
  test('a restart of the server during a run costs the owner neither its claim nor a save', async () => {
    const { storage } = open(where)
    const claim = await claimed(storage, 'restart')
    await right(storage.save(claim, revisions([1])))
    process.kill(server.keeper, 'SIGUSR2')
    for (let n = 2; n <= 30; n++) {
      await right(storage.save(claim, revisions(Array.from({ length: n }, (_, index) => index + 1))))
      await later(20)
    }
    await left(open(where).storage.claim('restart', OTHER), 'HeldBy')
    assert.equal(claim.lost.aborted, false)
    await assertLoads(
      storage,
      'restart',
      Array.from({ length: 30 }, (_, index) => index + 1)
    )
  }, 60_000)

  test('a save that the server cancels because it waits too long succeeds once the row is free', async () => {
    const { storage } = open(where, { config: { statement_timeout: 100 } })
    const claim = await claimed(storage, 'slow')
    const blocker = await where.admin.connect()
    await blocker.query(`BEGIN; SELECT FROM ${where.schema}.runs WHERE id = 'slow' FOR UPDATE`)
    const save = storage.save(claim, revisions([1]))()
    await later(500)
    await blocker.query('ROLLBACK')
    blocker.release()
    assert.ok(E.isRight(await save))
  })

  test('a save succeeds after the server was read-only for a while, as in a failover', async () => {
    const { storage } = open(where)
    const claim = await claimed(storage, 'failover')
    await set('SET default_transaction_read_only = on')
    const save = storage.save(claim, revisions([1]))()
    await later(300)
    await where.admin.query('SET default_transaction_read_only = off')
    await set('RESET default_transaction_read_only')
    assert.ok(E.isRight(await save))
  })

  test('a claim on a server that stays read-only fails with the SQLSTATE of the server, and says that nothing was committed', async () => {
    const { storage } = open(where, { retryMillis: 300, config: { options: '-c default_transaction_read_only=on' } })
    const refused = await left(storage.claim('read-only', OTHER), 'WriteFailed')
    assert.deepEqual([refused.code, refused.committed], ['25006', 'no'])
  })

  test.skipIf(!canMount())(
    'a run on a server with a full disk fails, loses no save, and finishes once there is space',
    async () => {
      const folder = mkdtempSync(join(tmpdir(), 'dogear-postgres-disk-'))
      const { uid, gid } = statSync(server.socket)
      const run = (name: string, ...args: ReadonlyArray<string>): void => {
        assert.equal(spawnSync(name, args).status, 0, `${name} ${args.join(' ')}`)
      }
      run('mount', '-t', 'tmpfs', '-o', `size=8m,mode=0700,uid=${uid},gid=${gid}`, 'tmpfs', folder)
      const small = await place(server)
      try {
        await small.admin.query(`CREATE TABLESPACE small LOCATION '${folder}'`)
        const { storage } = open(small, { config: { options: '-c default_tablespace=small' } })
        const done: Array<string> = []
        let flow = workflow('large')
        for (let n = 0; n < 20; n++)
          flow = flow.step(`s${n}`, () => (done.push(`s${n}`), randomBytes(500_000).toString('base64')))
        const failed = await runOutcome(flow, { id: 'r', storage })
        assert.ok(failed._tag === 'Refused', failed._tag)
        const { error } = failed
        assert.ok(error._tag === 'WriteFailed', JSON.stringify(error))
        assert.deepEqual([error.code, error.committed], ['53100', 'no'])
        const units = (await viewRun({ id: 'r', storage }))?.units ?? []
        assert.equal(units.filter(({ status }) => status === 'completed').length, done.length - 1)
        run('mount', '-o', 'remount,size=64m', folder)
        assert.equal((await runOutcome(flow, { id: 'r', storage }))._tag, 'Completed')
        assert.equal(done.length, 21)
      } finally {
        await destroy(small)
        await where.admin.query('DROP TABLESPACE IF EXISTS small')
        run('umount', folder)
        rmSync(folder, { recursive: true })
      }
    },
    60_000
  )

  test('a run on a server that cannot be reached is never reported as missing', async () => {
    const nowhere = { ...where, server: { host: '127.0.0.1', port: 1 }, opened: [] }
    const { storage } = open(nowhere, { retryMillis: 100 })
    const { code, where: table } = await left(storage.load('restart'), 'ReadFailed')
    assert.deepEqual([code, table], ['ECONNREFUSED', `${where.schema}.revisions`])
  })

  test('a signal ends the attempts to reach a server', async () => {
    const nowhere = { ...where, server: { host: '127.0.0.1', port: 1 }, opened: [] }
    const { storage } = open(nowhere, { retryMillis: 60_000, signal: AbortSignal.timeout(50) })
    const before = Date.now()
    await left(storage.load('restart'), 'ReadFailed')
    assert.ok(Date.now() - before < 10_000)
  })
})

describe('a save whose reply is lost', () => {
  const losing = (runId: string, retryMillis: number) => {
    const lost = { count: 0, isDown: false }
    const cut = (): Error => Object.assign(new Error('cut'), { code: 'ECONNRESET' })
    const opened = open(where, { retryMillis })
    const query = opened.pool.query.bind(opened.pool) as (statement: { text: string }) => Promise<unknown>
    opened.pool.query = (async (statement: { text: string; values?: ReadonlyArray<unknown> }) => {
      if (lost.isDown) throw cut()
      const result = await query(statement)
      if (lost.count > 0 && statement.text.includes('moved AS') && statement.values?.[0] === runId) {
        lost.count -= 1
        lost.isDown = retryMillis < 1_000
        throw cut()
      }
      return result
    }) as unknown as typeof opened.pool.query
    return { storage: opened.storage, lost }
  }

  test('a save whose reply is lost is found by the next attempt and acknowledged once', async () => {
    const { storage, lost } = losing('lost', 10_000)
    const claim = await claimed(storage, 'lost')
    await right(storage.save(claim, revisions([1])))
    lost.count = 1
    await right(storage.save(claim, revisions([1, 2, 3], 2)))
    assert.equal(lost.count, 0)
    await right(storage.save(claim, revisions([1, 2, 3, 4])))
    await assertLoads(storage, 'lost', [1, 2, 3, 4])
  })

  test('a save whose reply is lost fails as possibly committed if it cannot be looked up, and the next claim finds it', async () => {
    const { storage, lost } = losing('unknown', 200)
    const claim = await claimed(storage, 'unknown')
    lost.count = 1
    const failed = await left(storage.save(claim, revisions([1])), 'WriteFailed')
    assert.deepEqual([failed.code, failed.committed], ['ECONNRESET', 'unknown'])
    lost.isDown = false
    await right(storage.release(claim))
    const { stored } = await right(storage.claim('unknown', OTHER))
    assert.equal(some(stored).revision, 0)
  })
})

test('a refused claim does not hold the run, even if an earlier attempt of the claim reaches the server late', async () => {
  interface Statement {
    readonly text: string
  }
  const { storage, pool } = open(where)
  const owner = open(where).storage
  const claim = await claimed(owner, 'late')
  const query = pool.query.bind(pool) as (statement: Statement) => Promise<unknown>
  let delayed: Statement | undefined
  let cleared = 0
  pool.query = (async (statement: Statement) => {
    if (delayed === undefined && statement.text.includes('taken AS')) {
      delayed = statement
      throw Object.assign(new Error('cut'), { code: 'ECONNRESET' })
    }
    const answer = await query(statement)
    if (statement.text.includes('SET token = NULL')) cleared++
    return answer
  }) as unknown as typeof pool.query
  await left(storage.claim('late', OTHER), 'HeldBy')
  await right(owner.release(claim))
  for (const end = performance.now() + 5_000; cleared === 0; await later(20)) assert.ok(performance.now() < end)
  await query(delayed ?? assert.fail())
  const end = performance.now() + 5_000
  while (E.isLeft(await owner.claim('late', OTHER)())) {
    assert.ok(performance.now() < end)
    await later(20)
  }
})

describe('a weaker durability', () => {
  const off = { config: { options: '-c synchronous_commit=off' } }

  test('a claim or a put refuses a weaker durability and says how to allow it, and reads still work', async () => {
    const { storage, pool } = open(where, off)
    const { code, committed, option } = await left(storage.claim('weak', OTHER), 'WriteFailed')
    assert.deepEqual([code, committed, option], ['synchronous_commit=off', 'no', "allow: ['synchronous_commit=off']"])
    const put = await postgresArtifacts(pool, { schema: where.schema }).put('weak', 'a', 'b')()
    assert.ok(E.isLeft(put) && put.left._tag === 'WriteFailed' && put.left.code === 'synchronous_commit=off')
    await right(storage.list())
  })

  test('a weaker durability is accepted if it is allowed by name', async () => {
    const { storage } = open(where, { ...off, allow: ['synchronous_commit=off'] })
    const claim = await claimed(storage, 'allowed')
    await right(storage.save(claim, revisions([1])))
  })

  test('a save refuses a synchronous_commit that was lowered during its claim', async () => {
    const { storage } = open(where)
    const claim = await claimed(storage, 'changed')
    await right(storage.save(claim, revisions([1])))
    await set('SET synchronous_commit = off')
    const refused = await left(storage.save(claim, revisions([1, 2])), 'WriteFailed')
    await set('RESET synchronous_commit')
    assert.deepEqual([refused.code, refused.committed], ['synchronous_commit=off', 'no'])
    await assertLoads(storage, 'changed', [1])
  })
})
