/** What the store needs of the driver `pg`, so that the package depends on no version of it. */

import { kindOf } from '../../domain/data/Options.js'
import type { Fields } from '../sql/Table.js'

/**
 * A statement, as `pg` takes it.
 *
 * @category model
 */
export interface PostgresStatement {
  readonly text: string
  readonly values?: Array<unknown>
  readonly name?: string
}

/** A connection outside the pool: a `Client` of `pg`. */
export interface PostgresClient {
  readonly connect: () => Promise<unknown>
  readonly query: (statement: PostgresStatement) => Promise<unknown>
  readonly end: () => Promise<unknown>
  readonly on: (event: 'error' | 'end', listener: () => void) => unknown
  readonly ref?: () => void
  readonly unref?: () => void
}

/**
 * A `Pool` of `pg`. The store opens one more connection from its options, with its `Client`, to prove that this process lives.
 *
 * @category model
 */
export interface PostgresPool {
  /** Runs a statement on any connection. */
  readonly query: (statement: PostgresStatement) => Promise<unknown>
  /** Adds a listener for errors of idle connections. */
  readonly on: (event: 'error', listener: (error: Error) => void) => unknown
  /** The options of each connection. */
  readonly options: object
  /** The class of connections. `pg` sets it. */
  readonly Client?: unknown
}

/** Returns the pool; `noPool` if a host without type checks passed something else, such as an address. */
export const poolOf = (given: PostgresPool): PostgresPool => {
  const { query, on } = Object(given) as Partial<PostgresPool>
  if (typeof query === 'function' && typeof on === 'function') return given
  return noPool(
    `a PostgreSQL store needs a pool, not ${kindOf(given)}; pass one, such as new pg.Pool({ connectionString })`
  )
}

/** A pool whose statements all fail with the reason. */
export const noPool = (why: string): PostgresPool => {
  // Classified like a connection that was not made: nothing can have taken effect.
  const cause = Object.assign(new Error(why), { code: 'NO_POOL', syscall: 'connect' })
  return { query: () => Promise.reject(cause), on: () => undefined, options: {} }
}

/** The rows of a result; none for the array that a query of several statements returns. */
export const rowsOf = (result: unknown): ReadonlyArray<Fields> => {
  const { rows } = Object(result) as { readonly rows?: unknown }
  return Array.isArray(rows) ? (rows as ReadonlyArray<Fields>) : []
}

type Options = Readonly<Record<string, unknown>>

/** For the connection that proves that this process lives: it is quiet for long, and must not hang. */
const QUIET = {
  keepAlive: true,
  keepAliveInitialDelayMillis: 10_000,
  connectionTimeoutMillis: 10_000,
  query_timeout: 10_000,
  statement_timeout: undefined
}

/** A connection with the options of the pool; `undefined` if the pool has no class of connections. */
export const clientOf = ({ options, Client }: PostgresPool): PostgresClient | undefined => {
  if (typeof Client !== 'function') return undefined
  const given = options as Options
  const Connection = Client as new (options: Options) => PostgresClient
  // `...` omits the password, which `pg` makes non-enumerable.
  return new Connection({ ...given, ...QUIET, password: given['password'] })
}
