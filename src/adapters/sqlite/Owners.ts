/**
 * Decides which owners live. Each thread that holds claims keeps one lock file: a SQLite database in an exclusive transaction, which
 * ends with the thread, however it dies. A lock file is opened once in its thread, because closing any descriptor of a file drops
 * the POSIX locks of the process on it.
 */
import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, unlinkSync } from 'node:fs'
import { join } from 'node:path'
import * as E from 'fp-ts/lib/Either.js'
import type { Liveness, WriteFailed } from '../../ports/CheckpointStorage.js'
import type { SqliteDatabase, SqliteDriver } from './Driver.js'
import { codeOf, isBusy } from './Driver.js'

/** This thread as the owner of claims in one database. */
interface Thread {
  readonly owner: string
  readonly lock: SqliteDatabase
  /** The tokens of the claims that it holds. */
  readonly claims: Set<string>
  /** The tokens of the claims that it gave up: the database may still name this owner for them. */
  readonly unreleased: Set<string>
}

/** This thread as an owner, by lock folder. A test makes one map for each thread that it simulates. */
export type Threads = Map<string, Thread>

export interface Owners {
  readonly threads: Threads
  readonly open: (file: string) => SqliteDatabase
  /** The folder of the lock files of a database. */
  readonly folderOf: (file: string) => string
}

const REGISTRY = Symbol.for('dogear.1')

interface Registry {
  sqliteThreads?: Threads
}

/** All stores of this thread share the map, even those of other copies of this module, because hosts may bundle several. */
export const threads = (): Threads => {
  const shared = globalThis as { [REGISTRY]?: Registry }
  const registry = (shared[REGISTRY] ??= {})
  return (registry.sqliteThreads ??= new Map())
}

/** Opens lock files with the class of the connection. */
export const openerOf =
  (database: SqliteDatabase): Owners['open'] =>
  (file) =>
    new (database.constructor as SqliteDriver)(file)

export const folderOf = (file: string): string => `${file}-owners`

export const newToken = (): string => randomBytes(16).toString('hex')

/** The owner that a claim records. */
export interface Membership {
  readonly owner: string
  /** Ends the claim. The lock ends with the last claim, and its file is deleted unless a run may still name this owner. */
  readonly leave: (isReleased: boolean) => void
}

/** Takes the lock of this thread, if it holds no claim yet, and adds a claim. */
export const enter = (
  { threads, open, folderOf }: Owners,
  file: string,
  token: string
): E.Either<WriteFailed, Membership> => {
  const folder = folderOf(file)
  const known = threads.get(folder)
  const thread = known === undefined ? takeLock(folder, open) : E.right(known)
  if (E.isLeft(thread)) return thread
  const { owner, claims, unreleased, lock } = thread.right
  claims.add(token)
  threads.set(folder, thread.right)
  return E.right({
    owner,
    leave: (isReleased) => {
      claims.delete(token)
      if (isReleased) unreleased.delete(token)
      else unreleased.add(token)
      if (claims.size > 0) return
      if (threads.get(folder) === thread.right) threads.delete(folder)
      quietly(() => lock.close())
      if (unreleased.size === 0) quietly(() => unlinkSync(join(folder, owner)))
    }
  })
}

/** A transaction keeps its lock until the connection closes. No journal file appears beside the lock file. */
const TAKE = 'PRAGMA busy_timeout = 0; PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE'

const takeLock = (folder: string, open: Owners['open']): E.Either<WriteFailed, Thread> => {
  const owner = newToken()
  const path = join(folder, owner)
  let lock: SqliteDatabase | undefined
  try {
    mkdirSync(folder, { recursive: true })
    lock = open(path)
    lock.exec(TAKE)
    return E.right({ owner, lock, claims: new Set(), unreleased: new Set() })
  } catch (cause) {
    quietly(() => lock?.close())
    quietly(() => unlinkSync(path))
    return E.left({ _tag: 'WriteFailed', committed: 'no', where: path, operation: 'lock', code: codeOf(cause), cause })
  }
}

/** The liveness of the owners that were judged within one call. */
export type Judged = Map<string, Liveness | undefined>

/** Judges the owner of a claim. `undefined`: it is dead. */
export const livenessOf = (
  { threads, open, folderOf }: Owners,
  file: string,
  { owner, token }: { readonly owner: string; readonly token: string },
  judged: Judged = new Map()
): Liveness | undefined => {
  const folder = folderOf(file)
  const thread = threads.get(folder)
  const own = thread?.owner === owner ? thread : undefined
  if (!judged.has(owner)) judged.set(owner, own === undefined ? probe(open, join(folder, owner)) : 'alive')
  return own?.claims.has(token) === false ? undefined : judged.get(owner)
}

const probe = (open: Owners['open'], path: string): Liveness | undefined => {
  // Opening a missing file would create it.
  if (!existsSync(path)) return 'undecided'
  let connection: SqliteDatabase | undefined
  try {
    connection = open(path)
    connection.exec('PRAGMA busy_timeout = 0')
    // Takes only a shared lock, so that two probes do not mistake each other for the owner.
    connection.prepare('SELECT count(*) FROM sqlite_schema').get()
    return undefined
  } catch (cause) {
    return isBusy(codeOf(cause)) ? 'alive' : 'undecided'
  } finally {
    quietly(() => connection?.close())
  }
}

/** Deletes the lock file of a dead owner that no run names any more. */
export const forget = ({ folderOf }: Owners, file: string, owner: string): void =>
  quietly(() => unlinkSync(join(folderOf(file), owner)))

const quietly = (call: () => unknown): void => {
  try {
    call()
  } catch {}
}
