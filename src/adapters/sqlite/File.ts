/** Decides whether the path of a database still names the file that its connection has open: what is written to another file is lost. */
import { statSync } from 'node:fs'
import type { LostFiles, WriteFailed } from '../../ports/CheckpointStorage.js'
import type { SqliteDatabase, SqliteStatement } from './Driver.js'
import { codeOf } from './Driver.js'

interface Identity {
  readonly dev: bigint
  readonly ino: bigint
}

/** By connection, because its stores have their first calls at different times. No driver says which file it has open. */
const identities = new WeakMap<SqliteDatabase, Identity>()

/** A write-ahead log. No other connection deletes it while one is open. */
interface Log {
  readonly identity: Identity
  /** Reads the journal mode of the connection; fails once it was closed, even if it is opened again. */
  readonly mode: SqliteStatement
}

const logs = new WeakMap<SqliteDatabase, Log>()

/** False if the connection deleted the log itself: it left WAL or was closed. An error of SQLite proves nothing. */
const isInUse = ({ mode }: Log): boolean => {
  try {
    return Object.values(Object(mode.get()) as object)[0] === 'wal'
  } catch (cause) {
    return codeOf(cause).startsWith('SQLITE_')
  }
}

const logOf = (file: string): string => `${file}-wal`

const identityOf = (file: string): Identity | undefined => statSync(file, { bigint: true, throwIfNoEntry: false })

/** Remembers the file of a connection, unless it is known: call this as soon as the connection is open. */
export const remember = (database: SqliteDatabase, file: string): void => {
  const identity = identities.has(database) ? undefined : identityOf(file)
  if (identity !== undefined) identities.set(database, identity)
}

/** Remembers the write-ahead log of a connection, unless it is known: call this once there is one. */
export const rememberLog = (database: SqliteDatabase, file: string): void => {
  const known = logs.get(database)
  if (known !== undefined && isInUse(known)) return
  const identity = identityOf(logOf(file))
  if (identity !== undefined) logs.set(database, { identity, mode: database.prepare('PRAGMA journal_mode') })
}

/** What happened to the files of a connection. Takes one `stat` for each. */
export const lossOf = (database: SqliteDatabase, file: string): LostFiles | undefined =>
  lost(file, identities.get(database)) ?? logLoss(database, file)

const logLoss = (database: SqliteDatabase, file: string): LostFiles | undefined => {
  const log = logs.get(database)
  const loss = log === undefined ? undefined : lost(logOf(file), log.identity)
  if (log === undefined || loss === undefined || isInUse(log)) return loss
  logs.delete(database)
  return undefined
}

const lost = (where: string, then: Identity | undefined): LostFiles | undefined => {
  const now = identityOf(where)
  if (now === undefined) return { what: 'Deleted', where }
  return now.ino === then?.ino && now.dev === then.dev ? undefined : { what: 'Replaced', where }
}

const CODES: Readonly<Record<Exclude<LostFiles['what'], 'Removed'>, string>> = {
  Deleted: 'FILE_DELETED',
  Replaced: 'FILE_REPLACED'
}

/** The failure of a write to a lost file. Its effect is unknown: a file that was moved may be put back, with the write in it. */
export const failureOf = ({ what, where }: LostFiles): WriteFailed => {
  const isDeleted = what === 'Deleted'
  const code = isDeleted ? CODES.Deleted : CODES.Replaced
  const why = isDeleted
    ? 'it was deleted or moved while it was open; put it back, or open the database again'
    : 'it was replaced by another file while it was open; open the database again'
  return { _tag: 'WriteFailed', committed: 'unknown', where, operation: 'stat', code, cause: new Error(why) }
}

/** What happened to the file, by the failure of a write. */
export const lossIn = ({ code, where }: WriteFailed): LostFiles | undefined => {
  if (code === CODES.Deleted) return { what: 'Deleted', where }
  return code === CODES.Replaced ? { what: 'Replaced', where } : undefined
}
