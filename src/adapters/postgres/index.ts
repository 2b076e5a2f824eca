/**
 * Runs in a PostgreSQL database: any number of hosts, one writer of each run at a time.
 *
 * The driver `pg` is yours: pass a `Pool`, or let {@link connect} make one.
 *
 * @module
 */
import * as E from 'fp-ts/lib/Either.js'
import { kindOf, readable } from '../../domain/data/Options.js'
import type { ArtifactStore } from '../../ports/ArtifactStore.js'
import type { CheckpointStorage } from '../../ports/CheckpointStorage.js'
import type { Requests } from '../../ports/Requests.js'
import { ofClaim, ofRun } from '../sql/checkedCalls.js'
import type { PostgresArtifactsOptions } from './Artifacts.js'
import { postgresArtifacts } from './Artifacts.js'
import * as Claims from './Claims.js'
import type { PostgresDatabaseOptions } from './Database.js'
import { databaseOf, invalidOptions } from './Database.js'
import type { PostgresPool } from './Driver.js'
import { noPool, poolOf } from './Driver.js'
import type { Holding, ClaimKeeper } from './ClaimKeeper.js'
import { claimKeeperOf } from './ClaimKeeper.js'
import * as Read from './Read.js'
import { requestsOf } from './Requests.js'
import { save } from './Save.js'
import { statementsOf } from './Statements.js'

export type { PostgresPool, PostgresStatement } from './Driver.js'
export type { PostgresDatabaseOptions, PostgresWeakness } from './Database.js'
export type { PostgresArtifactsOptions } from './Artifacts.js'
export { postgresArtifacts } from './Artifacts.js'
export { postgresMigrations } from './Migrations.js'

/**
 * The options of a PostgreSQL store.
 *
 * - `liveness`: how others find out that this process lives. `lock` (default): one connection holds an advisory lock, so that a dead
 *   process is noticed at once. `lease`: a row that is renewed, for transaction poolers (PgBouncer), which break locks.
 * - `leaseMillis`: how long a lease lasts. Default 30 s.
 * - `checkIntervalMillis`: how often a process checks whether its claims still stand. Default 1 s.
 * - `keep`: how many whole checkpoints of a run are kept, with all revisions after the oldest of them. Default 10.
 * - `limits`: the largest checkpoint to save (`checkpointBytes`, default 64 MiB). The first save of a claim writes a whole
 *   checkpoint, a later one only once the changes since the last one exceed both `baseBytes` (default 1 MiB) and the size of that one.
 *
 * @category model
 */
export interface PostgresOptions extends PostgresDatabaseOptions {
  readonly liveness?: 'lock' | 'lease'
  readonly leaseMillis?: number
  readonly checkIntervalMillis?: number
  readonly keep?: number
  readonly limits?: { readonly checkpointBytes?: number; readonly baseBytes?: number }
}

/**
 * A store that proves to other processes that this one lives.
 *
 * @category model
 */
export interface PostgresStorage extends CheckpointStorage {
  /**
   * Ends the connection or the lease that proves that this process lives, so that others find it dead. Stores with the same pool and options
   * share that. The pool stays open.
   */
  readonly close: () => Promise<void>
}

/** Stores with the same pool and options share their claims, and the connection that proves that this process lives. */
const keepers = new WeakMap<PostgresPool, Map<string, ClaimKeeper>>()

const sharedKeeper = (pool: PostgresPool, options: PostgresOptions): ClaimKeeper => {
  const { liveness = 'lock', leaseMillis = 30_000, checkIntervalMillis = 1_000 } = readable(options)
  const ofPool = keepers.get(pool) ?? new Map<string, ClaimKeeper>()
  keepers.set(pool, ofPool)
  const { schema, migrate, allow, retryMillis, signal, namesOptions } = readable(options)
  const key = JSON.stringify([
    schema,
    migrate,
    allow,
    retryMillis,
    liveness,
    leaseMillis,
    checkIntervalMillis,
    namesOptions,
    invalidOptions(options)
  ])
  const shared = signal === undefined ? ofPool.get(key) : undefined
  if (shared !== undefined) return shared
  const keeper = claimKeeperOf(databaseOf(pool, options), { liveness, leaseMillis, checkIntervalMillis })
  if (signal === undefined) ofPool.set(key, keeper)
  return keeper
}

const MEBIBYTE = 1_048_576

/**
 * Creates a store on a pool of `pg`. A save is one round trip and one commit.
 *
 * @category constructors
 */
export const postgresStorage = (pool: PostgresPool, options: PostgresOptions = {}): PostgresStorage => {
  const keeper = sharedKeeper(poolOf(pool), options)
  const { keep = 10, limits } = readable(options)
  const saving = {
    statementOf: statementsOf(keeper.database, Math.max(1, Math.floor(keep)), keeper.usesSessions),
    checkpointBytes: limits?.checkpointBytes ?? 64 * MEBIBYTE,
    baseBytes: limits?.baseBytes ?? MEBIBYTE
  }
  const holdings = new WeakMap<AbortSignal, Holding>()
  return {
    claim: (runId, owner, options) =>
      ofRun(runId, async () => {
        const granted = await Claims.claim(keeper, runId, owner, options)
        if (E.isRight(granted)) holdings.set(granted.right.holding.claim.lost, granted.right.holding)
        return E.map(({ claimed }: Claims.Granted) => claimed)(granted)
      }),
    save: (claim, revisions) => ofClaim(holdings, claim, (holding) => save(keeper, holding, revisions, saving)),
    release: (claim) => ofClaim(holdings, claim, ({ token }) => Claims.release(keeper, claim.runId, token)),
    load: (runId) => ofRun(runId, () => Read.load(keeper, runId)),
    history: (runId) => ofRun(runId, () => Read.history(keeper, runId)),
    loadRevision: (runId, revision) => ofRun(runId, () => Read.loadRevision(keeper, runId, revision)),
    list:
      (options = {}) =>
      () =>
        Read.list(keeper, options),
    remove: (runId, options) => ofRun(runId, () => Claims.remove(keeper, runId, options)),
    close: keeper.close
  }
}

/**
 * The inboxes of the runs of a {@link postgresStorage} on the same pool and schema. A process reads every `checkIntervalMillis` whether
 * the runs that it holds have requests. A save reads that of its run, at most once in 50 ms.
 *
 * @category constructors
 */
export const postgresRequests = (pool: PostgresPool, options: PostgresDatabaseOptions = {}): Requests => {
  const { schema = 'dogear' } = readable(options)
  const keepersOfSchema = (): ReadonlyArray<ClaimKeeper> =>
    [...(keepers.get(pool)?.values() ?? [])].filter(({ database }) => database.schema === schema)
  return requestsOf(databaseOf(poolOf(pool), options), {
    known: (runId) => keepersOfSchema().flatMap(({ inboxes }) => inboxes.get(runId) ?? [])[0],
    learn: (runId, isAny) => {
      for (const { inboxes } of keepersOfSchema()) if (inboxes.has(runId)) inboxes.set(runId, isAny)
    }
  })
}

/**
 * The stores in one database.
 *
 * @category model
 */
export interface PostgresStores {
  readonly storage: PostgresStorage
  readonly artifacts: ArtifactStore
  readonly requests: Requests
  /** Ends every connection, those of the pool included. */
  readonly close: () => Promise<void>
}

/**
 * Makes a pool for an address (`postgres://user@host/database`), and the stores on it. Loads the driver `pg`, which you install.
 *
 * @category constructors
 */
export const connect = async (
  url: string,
  options: PostgresOptions & PostgresArtifactsOptions = {}
): Promise<PostgresStores> => {
  const { default: pg } = await import('pg')
  // For the value of an unset environment variable, the driver would connect to its default database.
  const own =
    typeof url === 'string' ? new pg.Pool({ connectionString: url, allowExitOnIdle: true, keepAlive: true }) : undefined
  const pool =
    own ??
    noPool(
      `connect needs the address of a database, not ${kindOf(url)}; pass one, such as postgres://user@host/database`
    )
  const storage = postgresStorage(pool, options)
  return {
    storage,
    artifacts: postgresArtifacts(pool, options),
    requests: postgresRequests(pool, options),
    close: async () => {
      await storage.close()
      await own?.end()
    }
  }
}
