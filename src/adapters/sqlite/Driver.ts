/** What the store needs of a SQLite driver. `better-sqlite3` and `node:sqlite` fit; neither is imported. */

/**
 * A value that is bound to a parameter of a statement.
 *
 * @category model
 */
export type SqliteValue = string | number | null | Uint8Array

/**
 * A prepared statement. Its functions are methods, so that drivers with narrower parameter types fit. The only `object` that Dogear passes is a
 * `Uint8Array`; in TypeScript 5 the types of better-sqlite3 fit only with `object`.
 *
 * @category model
 */
export interface SqliteStatement {
  /** Runs the statement. */
  run(...values: Array<SqliteValue | object>): { readonly changes: number | bigint }
  /** Returns the first row as an object; `undefined` or `null` if there is none. */
  get(...values: Array<SqliteValue | object>): unknown
  /** Returns all rows as objects. */
  all(...values: Array<SqliteValue | object>): ReadonlyArray<unknown>
}

/**
 * A connection to a SQLite database: a `Database` of `better-sqlite3`, or a `DatabaseSync` of `node:sqlite`.
 *
 * @category model
 */
export interface SqliteDatabase {
  /** Runs statements without values. */
  readonly exec: (sql: string) => unknown
  /** Compiles a statement. */
  readonly prepare: (sql: string) => SqliteStatement
  /** Closes the connection, which ends its locks. */
  readonly close: () => unknown
}

/**
 * The class of a driver: `Database` of `better-sqlite3`, or `DatabaseSync` of `node:sqlite`.
 *
 * @category model
 */
export type SqliteDriver = new (file: string) => SqliteDatabase

const NAMES: Readonly<Record<number, string>> = {
  1: 'SQLITE_ERROR',
  5: 'SQLITE_BUSY',
  6: 'SQLITE_LOCKED',
  7: 'SQLITE_NOMEM',
  8: 'SQLITE_READONLY',
  10: 'SQLITE_IOERR',
  11: 'SQLITE_CORRUPT',
  13: 'SQLITE_FULL',
  14: 'SQLITE_CANTOPEN',
  19: 'SQLITE_CONSTRAINT',
  26: 'SQLITE_NOTADB'
}

/** SQLite's name of an error (`SQLITE_FULL`): better-sqlite3 has it as `code`, node:sqlite as the number `errcode`. */
export const codeOf = (cause: unknown): string => {
  const { code, errcode } = Object(cause) as { readonly code?: unknown; readonly errcode?: unknown }
  if (typeof errcode === 'number') return NAMES[errcode & 0xff] ?? `SQLITE_${errcode}`
  return typeof code === 'string' ? code : 'UNKNOWN'
}

/** True if another connection has the lock: the call did nothing and can be repeated. */
export const isBusy = (code: string): boolean => /^SQLITE_(BUSY|LOCKED)/.test(code)

/** True if the database file itself is damaged, not only a row. */
export const isDamaged = (code: string): boolean => /^SQLITE_(CORRUPT|NOTADB)/.test(code)
