/** Detects that the path of a database no longer names the file that its connection has open: writes to that file are lost. */
import { statSync } from 'node:fs'
import type { LostFiles, WriteFailed } from '../../ports/CheckpointStorage.js'
import type { SqliteDatabase, SqliteStatement } from './Driver.js'
import { codeOf } from './Driver.js'

interface Identity {
  readonly dev: bigint
  readonly ino: bigint
}

/** The file of each connection when it was first seen, because no driver reveals which file it has open. Shared by the stores of a connection. */
const identities = new WeakMap<SqliteDatabase, Identity>()

/** A write-ahead log. While a connection is open, no other one deletes the log. */
interface Log {
  readonly identity: Identity
  /** Reads the journal mode of the connection; fails once it was closed, even if it is opened again. */
  readonly mode: SqliteStatement
}

const logs = new WeakMap<SqliteDatabase, Log>()

/** False if the connection deleted the log itself, because it left WAL or was closed. An error of SQLite proves neither. */
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

/** What happened to the files of a connection, if anything. Takes one `stat` for each. */
export const lossOf = (database: SqliteDatabase, file: string): LostFiles | undefined =>
  lossAt(file, identities.get(database)) ?? logLoss(database, file)

const logLoss = (database: SqliteDatabase, file: string): LostFiles | undefined => {
  const log = logs.get(database)
  const loss = log === undefined ? undefined : lossAt(logOf(file), log.identity)
  if (log === undefined || loss === undefined || isInUse(log)) return loss
  logs.delete(database)
  return undefined
}

const lossAt = (where: string, before: Identity | undefined): LostFiles | undefined => {
  const now = identityOf(where)
  if (now === undefined) return { what: 'Deleted', where }
  return now.ino === before?.ino && now.dev === before.dev ? undefined : { what: 'Replaced', where }
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

/** The loss that `failureOf` made this failure for. */
export const lossIn = ({ code, where }: WriteFailed): LostFiles | undefined => {
  if (code === CODES.Deleted) return { what: 'Deleted', where }
  return code === CODES.Replaced ? { what: 'Replaced', where } : undefined
}
