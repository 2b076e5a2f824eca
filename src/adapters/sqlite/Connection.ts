/** Runs transactions: prepares the database, waits for locks without blocking the thread, and turns errors into those of the ports. */
import * as E from 'fp-ts/lib/Either.js'
import type { ReadFailed, UnsupportedFormat, WriteFailed } from '../../ports/CheckpointStorage.js'
import type { OptionTable } from '../../domain/data/Options.js'
import {
  amount,
  callback,
  describeInvalid,
  interval,
  kindOf,
  nested,
  oneOf,
  readable,
  signal,
  wholeFrom
} from '../../domain/data/Options.js'
import { sleep } from '../sql/sleep.js'
import type { Failure, Fields, Table } from '../sql/Table.js'
import type { SqliteDatabase, SqliteStatement } from './Driver.js'
import { codeOf, isBusy, isDamaged } from './Driver.js'
import { failureOf, lossOf, remember, rememberLog } from './File.js'
import type { Migration } from './Schema.js'
import { sqliteMigrations } from './Schema.js'

/** The settings of `PRAGMA synchronous`, by their numbers. */
const SYNCHRONOUS = ['OFF', 'NORMAL', 'FULL', 'EXTRA'] as const

/**
 * The options that all parts of a SQLite store share.
 *
 * - `synchronous`: the weakest allowed setting of `PRAGMA synchronous`. Default `FULL`. With `NORMAL` a power cut may undo
 *   acknowledged saves, with `OFF` it may destroy the database.
 * - `busyMillis`: how long a call waits for the locks of other connections before it fails with `SQLITE_BUSY`. Default 10 s.
 * - `signal`: ends such waits.
 *
 * @category model
 */
export interface SqliteOptions {
  readonly synchronous?: 'FULL' | 'NORMAL' | 'OFF'
  readonly busyMillis?: number
  readonly signal?: AbortSignal
  /** @internal Sets `PRAGMA synchronous`, because the connection belongs to the store. */
  readonly isOwn?: boolean
  /** @internal The file, for errors before the first call succeeds. */
  readonly name?: string
  /** @internal Awaited before each transaction. */
  readonly pass?: () => Promise<void>
  /** @internal */
  readonly migrations?: ReadonlyArray<Migration>
}

export interface Connection {
  readonly database: SqliteDatabase
  readonly options: SqliteOptions
  /** Why the options are invalid, if they are. */
  readonly invalid: string | undefined
  readonly statements: Map<string, SqliteStatement>
  /** The path of the database; before the first call, the path given to `connect`, or empty. */
  file: string
  isReady: boolean
  /** True if a rollback failed. */
  mayBeInTransaction: boolean
  /** The statement in use, for errors. */
  statement: string
}

export const connectionOf = (database: SqliteDatabase, options: SqliteOptions): Connection => ({
  database,
  options: readable(options),
  invalid: describeInvalid('a SQLite store', options, OPTIONS, HIDDEN),
  statements: new Map(),
  file: readable(options).name ?? '',
  isReady: false,
  mayBeInTransaction: false,
  statement: ''
})

/** Prepares a statement once. Errors name the statement that was requested last. */
export const sql = (self: Connection, text: string): SqliteStatement => {
  self.statement = text
  const known = self.statements.get(text)
  if (known !== undefined) return known
  const made = self.database.prepare(text)
  self.statements.set(text, made)
  return made
}

/** What a transaction needs: a run for errors, and a signal that ends its waiting. */
export interface Call {
  readonly runId?: string
  readonly signal?: AbortSignal
}

/** Reads in one transaction. Repeats `act` while another connection has a lock. */
export const read = <A, Left>(
  self: Connection,
  call: Call,
  act: () => E.Either<Left, A>
): Promise<E.Either<Left | Failure, A>> => retryWhileLocked(self, call, 'read', () => inTransaction(self, 'BEGIN', act))

/**
 * Writes in one transaction, which is rolled back if `act` returns an error. Fails if the path of the database
 * no longer names the written file. `committed` runs before any other call can follow.
 */
export const write = <A, Left>(
  self: Connection,
  call: Call,
  act: () => E.Either<Left, A>,
  committed?: (result: A) => void
): Promise<E.Either<Left | Failure, A>> =>
  retryWhileLocked(self, call, 'write', () => {
    const durable = checkDurability(self)
    const result: E.Either<Left | WriteFailed | Thrown, A> = E.isLeft(durable)
      ? durable
      : inTransaction(self, 'BEGIN IMMEDIATE', act)
    if (E.isLeft(result)) return result
    const files = checkFiles(self)
    if (E.isLeft(files)) return files
    committed?.(result.right)
    return result
  })

/** A table for statements of one transaction each. */
export const tableOf = (self: Connection, name: string): Table => ({
  name,
  where: () => `${name} of ${self.file || 'the database'}`,
  read: (call, text, ...values) =>
    read<ReadonlyArray<Fields>, never>(self, call, () =>
      E.right(sql(self, text).all(...values) as ReadonlyArray<Fields>)
    ),
  write: (call, text, ...values) =>
    write<void, never>(self, call, () => {
      sql(self, text).run(...values)
      return DONE
    })
})

const checkFiles = ({ database, file }: Connection): E.Either<WriteFailed | Thrown, void> => {
  try {
    const lost = lossOf(database, file)
    return lost === undefined ? DONE : E.left(failureOf(lost))
  } catch (cause) {
    return thrown(cause, true)
  }
}

/** An exception of the driver. `isCommit`: it came from the end of the transaction. */
interface Thrown {
  readonly _tag: 'Thrown'
  readonly cause: unknown
  readonly isCommit: boolean
}

const thrown = (cause: unknown, isCommit = false): E.Either<Thrown, never> =>
  E.left({ _tag: 'Thrown', cause, isCommit })

const isThrown = (error: unknown): error is Thrown => (Object(error) as Partial<Thrown>)._tag === 'Thrown'

const LONGEST_PAUSE_MILLIS = 25

/** Repeats an attempt until it gets the lock. SQLite's own busy timeout would block the thread. */
const retryWhileLocked = async <A, Left>(
  self: Connection,
  call: Call,
  kind: 'read' | 'write',
  attempt: () => E.Either<Left | Failure | Thrown, A>
): Promise<E.Either<Left | Failure, A>> => {
  const { busyMillis = 10_000, pass } = self.options
  const end = performance.now() + busyMillis
  for (let pause = 1; ; pause = Math.min(2 * pause, LONGEST_PAUSE_MILLIS)) {
    if (pass !== undefined) await pass()
    const ready = self.isReady ? DONE : prepareDatabase(self)
    const result = E.isLeft(ready) ? ready : attempt()
    if (E.isRight(result) || !isThrown(result.left)) return result as E.Either<Left | Failure, A>
    const mayRepeat = isBusy(codeOf(result.left.cause)) && performance.now() < end && !isAborted(self, call)
    if (!mayRepeat) return E.left(failed(self, call, kind, result.left))
    await sleep(pause * (0.5 + Math.random() / 2), self.options.signal, call.signal)
  }
}

const isAborted = ({ options }: Connection, { signal }: Call): boolean =>
  options.signal?.aborted === true || signal?.aborted === true

/** One transaction, all of it synchronous, so that nothing else uses the connection meanwhile. */
const inTransaction = <A, Left>(
  self: Connection,
  begin: 'BEGIN' | 'BEGIN IMMEDIATE',
  act: () => E.Either<Left, A>
): E.Either<Left | Thrown, A> => {
  if (self.mayBeInTransaction) rollBack(self)
  try {
    sql(self, begin).run()
  } catch (cause) {
    return thrown(cause)
  }
  let result: E.Either<Left, A>
  try {
    result = act()
  } catch (cause) {
    rollBack(self)
    return thrown(cause)
  }
  if (E.isLeft(result)) {
    rollBack(self)
    return result
  }
  try {
    sql(self, 'COMMIT').run()
    return result
  } catch (cause) {
    rollBack(self)
    return thrown(cause, true)
  }
}

const NO_TRANSACTION = /no transaction is active/

const rollBack = (self: Connection): void => {
  const { statement } = self
  try {
    sql(self, 'ROLLBACK').run()
    self.mayBeInTransaction = false
  } catch (cause) {
    // Some errors roll back by themselves.
    self.mayBeInTransaction = !(cause instanceof Error && NO_TRANSACTION.test(cause.message))
  }
  self.statement = statement
}

/** The port's error for an exception. A commit that failed may have reached the disk, unless it only failed to get the lock. */
const failed = (self: Connection, { runId }: Call, kind: 'read' | 'write', { cause, isCommit }: Thrown): Failure => {
  const code = codeOf(cause)
  const where = self.file || 'the database'
  if (runId !== undefined && isDamaged(code))
    return { _tag: 'Corrupt', runId, where, why: cause instanceof Error ? cause.message : code, cause }
  const facts = { where, operation: operationOf(self.statement), code, cause }
  return kind === 'read'
    ? { _tag: 'ReadFailed', ...facts }
    : { _tag: 'WriteFailed', committed: isCommit && !isBusy(code) ? 'unknown' : 'no', ...facts }
}

/** The statement without its details: `UPDATE runs`. */
const operationOf = (text: string): string => {
  const [, verb = text] = /^\s*(BEGIN IMMEDIATE|\w+)/.exec(text) ?? []
  const [, table] = /\b(?:FROM|INTO|UPDATE|PRAGMA) (\w+)/.exec(text) ?? []
  return table === undefined ? verb : `${verb} ${table}`
}

// --- preparing the database

const DONE: E.Either<never, void> = E.right(undefined)

/** Checks the connection and its options, sets what the store needs, and migrates the schema. */
const prepareDatabase = (self: Connection): E.Either<Failure | Thrown, void> => {
  if (!isDatabase(self.database)) return E.left(notOpened('NO_DATABASE', noDatabase(self)))
  if (self.invalid !== undefined) return E.left(notOpened('INVALID_OPTIONS', self.invalid))
  try {
    self.statement = 'PRAGMA busy_timeout'
    self.database.exec('PRAGMA busy_timeout = 0')
    const main = sql(self, 'PRAGMA database_list').all() as ReadonlyArray<{
      readonly name: string
      file: string | null
    }>
    self.file = main.find(({ name }) => name === 'main')?.file ?? ''
    if (self.file !== '') {
      remember(self.database, self.file)
      const files = checkFiles(self)
      if (E.isLeft(files)) return files
    }
    const { isOwn = false, synchronous = 'FULL' } = self.options
    self.statement = 'PRAGMA synchronous'
    if (isOwn) self.database.exec(`PRAGMA synchronous = ${synchronous}`)
    const mode = pragma(self, 'journal_mode')
    const now = mode === 'wal' ? mode : pragma(self, 'journal_mode', 'WAL')
    if (now !== 'wal' || self.file === '') return E.left(refused(self, 'journal_mode', 'NO_WAL', noWal(now)))
    const migrated = migrate(self)
    rememberLog(self.database, self.file)
    self.isReady = E.isRight(migrated)
    return migrated
  } catch (cause) {
    return thrown(cause)
  }
}

/** A host without type checks may pass a path. */
const isDatabase = (database: unknown): boolean => {
  const { exec, prepare } = Object(database) as Partial<SqliteDatabase>
  return typeof exec === 'function' && typeof prepare === 'function'
}

const noDatabase = ({ database, options: { isOwn, name } }: Connection): string => {
  if (isOwn !== true)
    return `a SQLite store needs an open database, not ${kindOf(database)}; pass one, such as new DatabaseSync('state.db')`
  return typeof name === 'string'
    ? `connect needs the class of a driver, not ${kindOf(database)}; pass one, such as DatabaseSync of node:sqlite`
    : `connect needs the path of a file, not ${kindOf(name)}; pass one, such as 'state.db'`
}

const notOpened = (code: string, why: string): ReadFailed => ({
  _tag: 'ReadFailed',
  where: 'the database',
  operation: 'open',
  code,
  cause: new Error(why)
})

/** The options of all three stores, because hosts pass the same options to each. */
const OPTIONS: OptionTable = {
  synchronous: oneOf('FULL', 'NORMAL', 'OFF'),
  busyMillis: amount,
  signal,
  keep: wholeFrom(1),
  checkIntervalMillis: interval,
  limits: nested({ checkpointBytes: amount, baseBytes: amount }),
  open: callback,
  maxBytes: amount
}

const HIDDEN = ['isOwn', 'name', 'pass', 'migrations', 'owners']

const noWal = (mode: string): string =>
  `the journal mode is ${mode}, not wal; keep the database in a file on a local disk, because a store needs WAL`

const pragma = (self: Connection, name: string, value?: string): string => {
  const row = sql(self, `PRAGMA ${name}${value === undefined ? '' : ` = ${value}`}`).get() as Readonly<
    Record<string, unknown>
  >
  return String(Object.values(row)[0])
}

const refused = (self: Connection, name: string, code: string, message: string): WriteFailed => ({
  _tag: 'WriteFailed',
  committed: 'no',
  where: self.file || 'the database',
  operation: `PRAGMA ${name}`,
  code,
  cause: new Error(message)
})

/** Checks `synchronous` before each write, because the host may change it on the connection at any time. */
const checkDurability = (self: Connection): E.Either<WriteFailed | Thrown, void> => {
  const { synchronous: weakest = 'FULL' } = self.options
  try {
    const found = Number(pragma(self, 'synchronous'))
    if (found >= SYNCHRONOUS.indexOf(weakest)) return DONE
    const name = SYNCHRONOUS[found] ?? found
    const why = `synchronous is ${name}, so a power cut may undo acknowledged saves; run "PRAGMA synchronous = FULL" on the connection, or allow it by name: { synchronous: '${name}' }`
    return E.left(refused(self, 'synchronous', 'WEAK_SYNCHRONOUS', why))
  } catch (cause) {
    return thrown(cause)
  }
}

const migrate = (self: Connection): E.Either<Failure | Thrown, void> => {
  const before = migrationsDue(self)
  if (E.isLeft(before) || before.right.length === 0) return E.map(() => undefined)(before)
  return inTransaction<void, UnsupportedFormat>(self, 'BEGIN IMMEDIATE', () => {
    // Checks again under the lock, because another process may have migrated first.
    const now = migrationsDue(self)
    if (E.isLeft(now)) return now
    for (const { number, sql: text } of now.right) {
      self.statement = `migration ${number}`
      self.database.exec(text)
    }
    return DONE
  })
}

/** Returns the migrations to run. Refuses a schema that a newer version migrated, perhaps after this connection was prepared. */
export const migrationsDue = (self: Connection): E.Either<UnsupportedFormat, ReadonlyArray<Migration>> => {
  const { migrations = sqliteMigrations } = self.options
  const supported = migrations.at(-1)?.number ?? 0
  const found = versionOf(self)
  return found > supported
    ? E.left({ _tag: 'UnsupportedFormat', runId: '', where: `the schema of ${self.file}`, found, supported })
    : E.right(migrations.filter(({ number }) => number > found))
}

/** The number of the newest migration; 0 in an empty database. */
const versionOf = (self: Connection): number => {
  const table = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name = 'dogear_schema'"
  if ((sql(self, table).get() ?? undefined) === undefined) return 0
  const row = sql(self, 'SELECT max(number) AS number FROM dogear_schema').get() as { readonly number: number }
  return row.number
}
