/** The PostgreSQL store as the kit sees it. */
import assert from 'node:assert/strict'
import type { PostgresPool } from '../../../src/adapters/postgres/index.js'
import type { CheckpointStorage } from '../../../src/ports/CheckpointStorage.js'
import type { Cutting, Failover, Lossy, Sleeper, StorageSpec } from '../../../src/testing/index.js'
import { stallGate } from '../../../src/testing/index.js'
import type { Opened, OpenOptions, Place } from './kit.js'
import { destroy, later, open, place, poolOf } from './kit.js'
import { proxyTo } from './proxy.js'

/** A process that starts after all others were killed. */
const reopened = async (where: Place, options: OpenOptions = {}): Promise<Opened> => {
  for (const one of where.opened) await one.declareDead()
  return open(where, options)
}

const runQuery = async (where: Place, text: string, ...values: ReadonlyArray<unknown>) =>
  (await where.admin.query<Record<string, string | null>>(text.replaceAll('$schema', where.schema), [...values])).rows

const faulty = async (where: Place, options: OpenOptions) => {
  let failing: { readonly pattern: RegExp; readonly code: string; after: number } | undefined
  const around = (text: string): Promise<void> | undefined => {
    if (failing === undefined || !failing.pattern.test(text) || failing.after-- > 0) return undefined
    return Promise.reject(Object.assign(new Error(failing.code), { code: failing.code }))
  }
  const { storage } = await reopened(where, { ...options, around })
  return {
    storage,
    fail: (operation: 'read' | 'write', code: string, after = 0) => {
      failing = { pattern: operation === 'read' ? /SELECT|RETURNING/ : /INSERT|UPDATE|DELETE/, code, after }
    },
    heal: () => {
      failing = undefined
    }
  }
}

/** The next statement that reads, or writes, fails with a code of the system or the server, after or before it took effect. */
const lossy = async (where: Place, options: OpenOptions): Promise<Lossy> => {
  const { storage, pool } = await reopened(where, options)
  let loss: { readonly pattern: RegExp; readonly code: string; readonly isTaken: boolean } | undefined
  const query = pool.query.bind(pool) as PostgresPool['query']
  const losing: PostgresPool['query'] = async (statement) => {
    const lost = loss?.pattern.test(statement.text) === true ? loss : undefined
    if (lost !== undefined) loss = undefined
    const result = lost?.isTaken === false ? undefined : await query(statement)
    if (lost === undefined) return result
    const severity = lost.code.startsWith('E') ? {} : { severity: 'FATAL' }
    throw Object.assign(new Error(lost.code), { code: lost.code, ...severity })
  }
  pool.query = losing as typeof pool.query
  return {
    storage,
    lose: (operation, code, effect) => {
      const pattern = operation === 'read' ? /SELECT|RETURNING/ : /INSERT INTO|UPDATE|DELETE/
      loss = { pattern, code, isTaken: effect === 'taken' }
    },
    heal: () => {
      loss = undefined
    }
  }
}

const cutting = async (where: Place, options: OpenOptions): Promise<Cutting> => {
  const proxy = await proxyTo(where.server)
  const { storage } = await reopened(where, options)
  // The lock keeps its own connection, which the proxy must not count.
  const { pool } = where.opened.at(-1) ?? assert.fail()
  const behind = poolOf({ server: proxy }, { query_timeout: 300, max: 1 })
  const direct = pool.query.bind(pool) as PostgresPool['query']
  const proxied = behind.query.bind(behind) as PostgresPool['query']
  pool.query = proxied as typeof pool.query
  behind.on('error', () => undefined)
  return {
    storage,
    cut: (direction, after, how) => proxy.cut(direction === 'request' ? 'client' : 'server', after, how),
    cuts: proxy.cuts,
    heal: async () => {
      proxy.heal()
      pool.query = direct as typeof pool.query
      if (behind.ended) return
      await proxy.close()
      await behind.end().catch(() => undefined)
    }
  }
}

const TABLES = ['runs', 'revisions', 'requests', 'artifacts']

const failover = async (where: Place, options: OpenOptions): Promise<Failover> => {
  const { storage } = await reopened(where, options)
  const all = async (text: (table: string) => string): Promise<void> => {
    for (const table of TABLES) await runQuery(where, text(table))
  }
  return {
    storage,
    mark: () => all((table) => `CREATE TABLE $schema.marked_${table} AS TABLE $schema.${table}`),
    rollBack: () =>
      all((table) => `WITH gone AS (DELETE FROM $schema.${table}) SELECT 1`).then(() =>
        all((table) => `INSERT INTO $schema.${table} SELECT * FROM $schema.marked_${table}`)
      )
  }
}

/** A process whose statements, including those that renew its lease, wait while it sleeps. */
export const sleeper = (where: Place, options: OpenOptions): Promise<Sleeper> => {
  const gate = stallGate()
  const short = { ...options, leaseMillis: 600, around: () => gate.pass() }
  const { storage } = open(where, short)
  const lateTwice = 2 * short.leaseMillis
  return Promise.resolve({
    storage,
    sleep: async () => {
      gate.hold()
      await later(lateTwice)
    },
    wake: gate.letGo
  })
}

const CONTENT = ['epoch', 'kind', 'at', 'change', 'checkpoint', 'checksum']

const KEEPS = ['history', 'large', 'watch', 'processes', 'damage', 'formats', 'faults', 'stalls'] as const

export const specOf = (name: string, options: OpenOptions): StorageSpec<Place> => ({
  name,
  create: () => place(),
  destroy,
  reopen: async (where): Promise<CheckpointStorage> => (await reopened(where, options)).storage,
  beside: (where) => {
    const { storage, declareDead } = open(where, options)
    return Promise.resolve({ storage, kill: declareDead })
  },
  damage: async (where, runId) => {
    await runQuery(
      where,
      `UPDATE $schema.revisions SET change = replace(change, 'third', 'thirt'), checkpoint = replace(checkpoint, 'third', 'thirt')
        WHERE run = $1 AND revision = (SELECT head FROM $schema.runs WHERE id = $1)`,
      runId
    )
  },
  swap: async (where, one, other) => {
    const columns = CONTENT.map((name) => `${name} = o.${name}`).join(', ')
    await runQuery(
      where,
      `UPDATE $schema.revisions v SET ${columns} FROM $schema.revisions o
        WHERE (v.run, v.revision, o.run, o.revision) IN (($1, $2::bigint, $3, $4::bigint), ($3, $4::bigint, $1, $2::bigint))`,
      one.runId,
      one.revision,
      other.runId,
      other.revision
    )
  },
  newer: async (where, runId) => {
    await runQuery(where, 'UPDATE $schema.runs SET format = 2 WHERE id = $1', runId)
  },
  digest: async (where, runId) =>
    JSON.stringify([
      await runQuery(where, 'SELECT * FROM $schema.runs WHERE id = $1', runId),
      await runQuery(where, 'SELECT * FROM $schema.revisions WHERE run = $1 ORDER BY revision', runId)
    ]),
  faulty: (where) => faulty(where, options),
  stall: async (where) => {
    const gate = stallGate()
    const { storage } = await reopened(where, { ...options, around: () => gate.pass() })
    return { ...gate, storage }
  },
  lossy: (where) => lossy(where, options),
  cut: (where) => cutting(where, options),
  // The save must notice the failover, not the periodic check of the claims.
  rollback: (where) => failover(where, { ...options, checkIntervalMillis: 60_000 }),
  capabilities: [...KEEPS, 'network', 'failover']
})
