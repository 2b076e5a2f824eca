/**
 * Checkpoints, artifacts and requests in one SQLite database: one host, any number of processes.
 *
 * The driver is injected, `better-sqlite3` or `node:sqlite`; this module imports neither. Both are synchronous: a save
 * blocks its thread until it is durable. Use one driver in a process: SQLite's locks on a file end when another copy of
 * SQLite in the same process closes it.
 *
 * @module
 */
import * as E from 'fp-ts/lib/Either.js'
import { readable } from '../../domain/data/Options.js'
import type { ArtifactStore } from '../../ports/ArtifactStore.js'
import type { CheckpointStorage } from '../../ports/CheckpointStorage.js'
import type { Requests } from '../../ports/Requests.js'
import { ofClaim, ofRun } from '../sql/checkedCalls.js'
import type { SqliteArtifactsOptions } from './Artifacts.js'
import { sqliteArtifacts } from './Artifacts.js'
import type { Store } from './Claims.js'
import * as Claims from './Claims.js'
import type { SqliteOptions } from './Connection.js'
import { connectionOf } from './Connection.js'
import type { SqliteDatabase, SqliteDriver } from './Driver.js'
import { remember } from './File.js'
import type { Holding } from './Holding.js'
import type { Owners } from './Owners.js'
import { folderOf, openerOf, threads } from './Owners.js'
import { sqliteRequests } from './Requests.js'
import * as Runs from './Runs.js'

export type { SqliteArtifactsOptions } from './Artifacts.js'
export { sqliteArtifacts } from './Artifacts.js'
export type { SqliteOptions } from './Connection.js'
export type { SqliteDatabase, SqliteDriver, SqliteStatement, SqliteValue } from './Driver.js'
export { sqliteRequests } from './Requests.js'
export type { Migration } from './Schema.js'
export { sqliteMigrations } from './Schema.js'

/**
 * The options of a SQLite store, besides those of {@link SqliteOptions}.
 *
 * - `keep`: how many whole checkpoints a run keeps. Default 10.
 * - `checkIntervalMillis`: how often an owner checks during a long step whether it was superseded. Default 1 s.
 * - `limits`: the largest checkpoint to save (`checkpointBytes`, default 64 MiB). The first save of a claim writes a whole
 *   checkpoint, a later one only once the changes since the last one exceed both `baseBytes` (default 1 MiB) and the size of that one.
 * - `open`: opens a lock file. Default: with the class of the connection. Needed if the connection is wrapped.
 *
 * @category model
 */
export interface SqliteStorageOptions extends SqliteOptions {
  readonly keep?: number
  readonly checkIntervalMillis?: number
  readonly limits?: { readonly checkpointBytes?: number; readonly baseBytes?: number }
  /** Opens a lock file. */
  readonly open?: (file: string) => SqliteDatabase
  /** @internal */
  readonly owners?: Partial<Owners>
}

const MEBIBYTE = 1_048_576

const storeOf = (database: SqliteDatabase, options: SqliteStorageOptions): Store => {
  const { open = openerOf(database), owners, limits, keep = 10, checkIntervalMillis = 1_000 } = readable(options)
  return {
    connection: connectionOf(database, options),
    owners: { threads: threads(), open, folderOf, ...owners },
    limits: {
      checkpointBytes: limits?.checkpointBytes ?? 64 * MEBIBYTE,
      baseBytes: limits?.baseBytes ?? MEBIBYTE
    },
    keep: Math.max(1, keep),
    checkIntervalMillis
  }
}

/**
 * Creates a store in a SQLite database. The first call creates the tables. A save is one transaction and one sync. The run of a
 * dead owner can be claimed at once: each thread that holds claims keeps a lock file in `<database>-owners`.
 *
 * The connection must have `PRAGMA synchronous = FULL`, which is not the default of `better-sqlite3`, and should be used by
 * nothing else. {@link connect} opens one.
 *
 * @example
 * import Database from 'better-sqlite3'
 * import * as E from 'fp-ts/lib/Either.js'
 * import { sqliteStorage } from 'dogear/sqlite'
 * import assert from 'node:assert/strict'
 *
 * const database = new Database('state.db')
 * database.pragma('synchronous = FULL')
 * const storage = sqliteStorage(database)
 * const claimed = await storage.claim('release-42', { host: 'build-1', pid: 100 })()
 * assert.ok(E.isRight(claimed))
 *
 * const refused = await storage.claim('release-42', { host: 'build-1', pid: 200 })()
 * assert.equal(E.isLeft(refused) && refused.left._tag, 'HeldBy')
 * await storage.release(claimed.right.claim)()
 *
 * @category constructors
 */
export const sqliteStorage = (database: SqliteDatabase, options: SqliteStorageOptions = {}): CheckpointStorage => {
  const store = storeOf(database, options)
  const { connection, owners } = store
  const holdings = new WeakMap<AbortSignal, Holding>()

  return {
    claim: (runId, owner, claimOptions) =>
      ofRun(runId, async () =>
        E.map(({ holding, stored }: Claims.Granted) => {
          holdings.set(holding.claim.lost, holding)
          return { claim: holding.claim, stored }
        })(await Claims.claim(store, runId, owner, claimOptions))
      ),
    save: (claim, revisions) => ofClaim(holdings, claim, (holding) => Claims.save(store, holding, revisions)),
    release: (claim) => ofClaim(holdings, claim, Claims.release),
    load: (runId) => ofRun(runId, () => Runs.load(connection, owners, runId)),
    history: (runId) => ofRun(runId, () => Runs.history(connection, runId)),
    loadRevision: (runId, revision) => ofRun(runId, () => Runs.loadRevision(connection, owners, runId, revision)),
    list:
      (listOptions = {}) =>
      () =>
        Runs.list(connection, owners, listOptions),
    remove: (runId, removeOptions) => ofRun(runId, () => Claims.remove(store, runId, removeOptions))
  }
}

/**
 * The options of {@link connect}: those of its three stores.
 *
 * @category model
 */
export type ConnectOptions = SqliteStorageOptions & SqliteArtifactsOptions

/**
 * A database with its three stores.
 *
 * @category model
 */
export interface SqliteStores {
  readonly storage: CheckpointStorage
  readonly artifacts: ArtifactStore
  readonly requests: Requests
  /** Closes the connection. Call it once no run uses the stores. */
  readonly close: () => void
}

/**
 * Opens a database file with the class of a driver, `Database` of `better-sqlite3` or `DatabaseSync` of `node:sqlite`, sets
 * `PRAGMA synchronous`, and creates its stores. Throws the driver's error if the file cannot be opened.
 *
 * @example
 * import Database from 'better-sqlite3'
 * import { run, workflow } from 'dogear/promise'
 * import { connect } from 'dogear/sqlite'
 *
 * const { storage, close } = connect('state.db', Database)
 * await run(workflow('hello').step('greet', () => 'hello'), { id: 'hello-1', storage })
 * close()
 *
 * @category constructors
 */
export const connect = (file: string, driver: SqliteDriver, options: ConnectOptions = {}): SqliteStores => {
  const isUsable = typeof file === 'string' && typeof driver === 'function'
  // A host without type checks may pass an unset environment variable as the path, or a module's namespace as the class; the stores then refuse each
  // call.
  const database = isUsable ? new driver(file) : (driver as unknown as SqliteDatabase)
  if (isUsable) remember(database, file)
  const shared = { open: (path: string) => new driver(path), ...options, isOwn: true, name: file }
  return {
    storage: sqliteStorage(database, shared),
    artifacts: sqliteArtifacts(database, shared),
    requests: sqliteRequests(database, shared),
    close: () => void (isUsable && database.close())
  }
}
