/** Pools and stores on the server of the tests, each test in a schema of its own. */
import { randomBytes } from 'node:crypto'
import pg from 'pg'
import type { PostgresOptions, PostgresPool, PostgresStorage } from '../../../src/adapters/postgres/index.js'
import { postgresStorage } from '../../../src/adapters/postgres/index.js'
import type { Server } from './server.js'
import { sharedServer } from './server.js'

export const later = (millis: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, millis))

/** A schema on a server, and all that was opened for it. */
export interface Place {
  readonly server: Pick<Server, 'host' | 'port'>
  readonly schema: string
  readonly admin: pg.Pool
  readonly opened: Array<Opened>
}

/** A store, and the means to let its process die as others see it. */
export interface Opened {
  readonly pool: pg.Pool
  readonly storage: PostgresStorage
  /** Ends the connection that proves the process alive. Present claims never move to a new connection; later claims use one. */
  readonly declareDead: () => Promise<void>
}

export const place = async (server?: Pick<Server, 'host' | 'port'>): Promise<Place> => {
  const { host, port } = server ?? (await sharedServer())
  const admin = new pg.Pool({ host, port, user: 'postgres', max: 2, idleTimeoutMillis: 500, allowExitOnIdle: true })
  admin.on('error', () => undefined)
  return { server: { host, port }, schema: `t${randomBytes(6).toString('hex')}`, admin, opened: [] }
}

export const poolOf = ({ server }: Pick<Place, 'server'>, options: pg.PoolConfig = {}): pg.Pool =>
  new pg.Pool({ ...server, user: 'postgres', max: 4, idleTimeoutMillis: 500, allowExitOnIdle: true, ...options })

type Query = PostgresPool['query']

/** Options of `open`. `around`: what happens before each statement of the pool; `make`: makes the store. */
export interface OpenOptions extends PostgresOptions {
  readonly around?: (text: string) => Promise<void> | undefined
  readonly config?: pg.PoolConfig
  readonly make?: typeof postgresStorage
}

/** A store with a pool of its own, as in a process of its own. */
export const open = (
  where: Place,
  { around, config, make = postgresStorage, ...options }: OpenOptions = {}
): Opened => {
  const clients: Array<pg.Client> = []
  let isDead = false
  class Client extends pg.Client {
    constructor(settings: pg.ClientConfig) {
      super(settings)
      if ('query_timeout' in settings) clients.push(this)
    }
  }
  const pool = poolOf(where, { Client, ...config } as pg.PoolConfig)
  const query = pool.query.bind(pool) as Query
  const late: Query = async (statement) => {
    if (isDead && statement.text.includes('SET key =')) throw new Error('this process counts as dead')
    // `around` may hold calls. A store with leases sends a statement when it closes, which must not be held.
    if (!isDead) await around?.(statement.text)
    return query(statement)
  }
  pool.query = late as typeof pool.query
  const storage = make(pool, { schema: where.schema, checkIntervalMillis: 50, ...options })
  const opened = {
    pool,
    storage,
    declareDead: async () => {
      isDead = true
      const pids = clients.splice(0).map((one) => (one as unknown as { processID: number }).processID)
      await storage.close()
      // The server frees the lock once the process of the connection has ended.
      for (;;) {
        const { rows } = await where.admin.query('SELECT 1 FROM pg_locks WHERE pid = ANY ($1)', [pids.filter(Boolean)])
        if (rows.length === 0) return
        await later(2)
      }
    }
  }
  where.opened.push(opened)
  return opened
}

export const destroy = async (where: Place): Promise<void> => {
  for (const { pool, storage } of where.opened) {
    await storage.close()
    await pool.end().catch(() => undefined)
  }
  await where.admin.query(`DROP SCHEMA IF EXISTS ${where.schema} CASCADE`)
  await where.admin.end()
}
