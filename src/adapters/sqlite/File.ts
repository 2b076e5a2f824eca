/** Decides whether the path of a database still names the file that its connection has open: what is written to another file is lost. */
import { statSync } from 'node:fs'
import type { LostFiles, WriteFailed } from '../../ports/CheckpointStorage.js'
import type { SqliteDatabase } from './Driver.js'

interface Identity {
  readonly dev: bigint
  readonly ino: bigint
}

/** By connection, because its stores have their first calls at different times. No driver says which file it has open. */
const identities = new WeakMap<SqliteDatabase, Identity>()

const identityOf = (file: string): Identity | undefined => statSync(file, { bigint: true, throwIfNoEntry: false })

/** Remembers the file of a connection, unless it is known: call this as soon as the connection is open. */
export const remember = (database: SqliteDatabase, file: string): void => {
  const identity = identities.has(database) ? undefined : identityOf(file)
  if (identity !== undefined) identities.set(database, identity)
}

/** What happened to the file of a connection. Takes one `stat`. */
export const lossOf = (database: SqliteDatabase, file: string): LostFiles | undefined => {
  const [now, then] = [identityOf(file), identities.get(database)]
  if (now === undefined) return { what: 'Deleted', where: file }
  return now.ino === then?.ino && now.dev === then.dev ? undefined : { what: 'Replaced', where: file }
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
