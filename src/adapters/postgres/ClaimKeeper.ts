/** Tracks the claims of this process: which it holds, whether they still stand, and which of their runs have requests. */
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import type { Claim, Fenced, Holder, StorageError } from '../../ports/CheckpointStorage.js'
import type { Progress } from '../sql/Rows.js'
import type { Database } from './Database.js'
import { readFailed, send } from './Database.js'
import type { Fields } from '../sql/Table.js'
import type { Failure } from './Failure.js'
import type { Liveness } from './Liveness.js'
import { leaseLiveness, lockLiveness } from './Liveness.js'

/** A claim that this process holds. */
export interface Holding {
  readonly claim: Claim
  readonly token: string
  readonly lost: AbortController
  /** The liveness key of this process in the row of the claim: that of its advisory lock, or of its lease. */
  key: string
  progress: Progress
  /** When this process last read whether the run has requests, by `performance.now()`. */
  inboxReadAt: number
  /** The newest save; the next one waits for it. */
  last: Promise<unknown>
  /** The error of all later saves, once a save has failed or the claim is lost. */
  failed: StorageError | undefined
}

/** `holding`: absent while the claim is being made. */
interface Held {
  readonly runId: string
  readonly holding?: Holding
}

export interface KeeperOptions {
  readonly liveness: 'lock' | 'lease'
  readonly leaseMillis: number
  readonly checkIntervalMillis: number
}

export interface ClaimKeeper {
  readonly database: Database
  readonly liveness: Liveness
  /** Whether all statements of a connection reach one session of the server. */
  readonly usesSessions: boolean
  /** The claims that this process makes or holds, by their tokens. */
  readonly held: Map<string, Held>
  /** Whether the runs that this process holds have requests. */
  readonly inboxes: Map<string, boolean>
  /** Announces a claim before it is made, so that another claim of this process finds its owner alive. */
  readonly announce: (runId: string, token: string) => void
  /** Keeps a claim that was granted. */
  readonly keep: (holding: Holding) => Promise<void>
  readonly forget: (token: string) => void
  /** Ends a claim that does not stand any more. */
  readonly lose: (holding: Holding, reason: StorageError) => void
  /** Clears the row of a run later, because a late statement may write the token of a forgotten claim into it. */
  readonly clearLater: (runId: string, token: string) => void
  /** The holder of a row, as this process judges it; `undefined` if no process holds the run. */
  readonly holderOf: (row: Fields) => Holder | undefined
  readonly close: () => Promise<void>
}

/** The columns that `holderOf` reads. Tries to share the lock of the holder's key, which succeeds only if the holder is dead. */
export const holderColumns = ({ table }: Database, run = 'r'): string => `${run}.token::text AS token,
  ${run}.key::text AS key, ${run}.host, ${run}.pid::text AS pid, ${run}.since,
  CASE WHEN ${run}.token IS NULL THEN 'free' ELSE coalesce(
    (SELECT CASE WHEN l.until > clock_timestamp() THEN 'undecided' ELSE 'dead' END FROM ${table('leases')} l WHERE l.key = ${run}.key),
    CASE WHEN pg_is_in_recovery() THEN 'undecided' WHEN pg_try_advisory_xact_lock_shared(${run}.key) THEN 'dead' ELSE 'alive' END
  ) END AS state`

/** How long a process without claims keeps its key. */
const IDLE_MILLIS = 10_000

/** How long a statement whose connection was cut may wait at the server for the row of its run. */
const LATE_MILLIS = 600_000

interface LateToken {
  readonly runId: string
  /** By `performance.now()`. */
  readonly since: number
}

/** How often a process checks that it holds its lock. */
const BEAT_MILLIS = 10_000

export const claimKeeperOf = (database: Database, options: KeeperOptions): ClaimKeeper => {
  const held = new Map<string, Held>()
  const inboxes = new Map<string, boolean>()
  const lateTokens = new Map<string, LateToken>()
  /** All keys that this process has had. For a row with one of them, `held` decides whether its holder is alive, not the lock. */
  const keys = new Set<string>()
  const { checkIntervalMillis, leaseMillis } = options
  const beatMillis = options.liveness === 'lock' ? BEAT_MILLIS : leaseMillis / 4
  const liveness =
    options.liveness === 'lock'
      ? lockLiveness(database.pool, () => void writeKey())
      : leaseLiveness(database, leaseMillis)
  let timer: ReturnType<typeof setTimeout> | undefined
  let isClosed = false
  let lastBeat: { readonly key: string | undefined; readonly at: number } = { key: undefined, at: 0 }

  const holdings = (): ReadonlyArray<Holding> =>
    [...held.values()].flatMap(({ holding }) => (holding === undefined ? [] : [holding]))

  const lose = (holding: Holding, reason: StorageError): void => {
    if (held.get(holding.token)?.holding !== holding) return
    forget(holding.token)
    holding.failed ??= reason
    holding.lost.abort(reason)
  }

  const forget = (token: string): void => {
    const runId = held.get(token)?.runId
    if (runId === undefined) return
    held.delete(token)
    inboxes.delete(runId)
    schedule()
  }

  /** Writes the current key into the rows of the claims that still stand, and loses the others. */
  const writeKeyOnce = async (): Promise<E.Either<Failure, void>> => {
    const key = await liveness.key()
    if (E.isLeft(key)) return key
    keys.add(key.right)
    const stale = holdings().filter((one) => one.key !== key.right)
    if (stale.length === 0) return E.right(undefined)
    const moved = await send(database, {
      text: `UPDATE ${database.table('runs')} SET key = $1::bigint WHERE id = ANY($2::text[]) AND token = ANY($3::uuid[]) RETURNING token::text AS token`,
      values: [key.right, stale.map(({ claim }) => claim.runId), stale.map(({ token }) => token)]
    })
    if (E.isLeft(moved)) return moved
    const stands = new Set(moved.right.map(({ token }) => token))
    for (const one of stale)
      if (stands.has(one.token)) one.key = key.right
      else lose(one, fencedBy(one.claim))
    return E.right(undefined)
  }

  let writingKey: Promise<void> | undefined
  const writeKey = (): Promise<void> =>
    (writingKey ??= (async () => {
      for (let pause = 20; held.size > 0 && !isClosed; pause = Math.min(2 * pause, checkIntervalMillis)) {
        const moved = await writeKeyOnce()
        if (E.isRight(moved) || !moved.left.isTransient) break
        await new Promise((resolve) => setTimeout(resolve, pause).unref())
      }
      writingKey = undefined
    })())

  /** Detects lost claims and new requests. Returns false only after a permanent failure. */
  const checkClaims = async (): Promise<boolean> => {
    const all = holdings()
    const found = await send(database, {
      text: `SELECT r.id, r.token::text AS token, r.epoch::text AS epoch, EXISTS (SELECT FROM ${database.table('requests')} q WHERE q.run = r.id) AS has_requests
        FROM ${database.table('runs')} r WHERE r.id = ANY($1::text[])`,
      values: [all.map(({ claim }) => claim.runId)]
    })
    if (E.isLeft(found)) return found.left.isTransient
    const rows = new Map(found.right.map((row) => [row['id'], row]))
    for (const one of all) {
      const row = rows.get(one.claim.runId)
      if (row?.['token'] !== one.token) lose(one, fencedBy(one.claim, row === undefined ? 'removed' : row, database))
      else if (held.has(one.token)) inboxes.set(one.claim.runId, row['has_requests'] === true)
    }
    return true
  }

  const beat = async (): Promise<void> => {
    const key = liveness.current()
    const result = await liveness.beat()
    if (E.isRight(result)) lastBeat = { key, at: performance.now() }
    if (E.isLeft(result) && !result.left.isTransient) {
      const reason = readFailed(database, { table: 'runs', operation: 'liveness' })(result.left)
      for (const one of holdings()) lose(one, reason)
    } else if (liveness.current() === undefined) await writeKey()
  }

  /** A beat is also due for a new key. */
  const isBeatDue = (): boolean => lastBeat.key !== liveness.current() || performance.now() - lastBeat.at > beatMillis

  const clearLateTokens = async (): Promise<void> => {
    const all = [...lateTokens]
    const [tokens, runs] = [all.map(([token]) => token), all.map(([, { runId }]) => runId)]
    const cleared = await send(database, {
      text: `WITH cleared AS (SELECT id, token FROM ${database.table('runs')} WHERE id = ANY($1::text[]) AND token = ANY($2::uuid[]) FOR UPDATE)
        UPDATE ${database.table('runs')} r SET ${RELEASED} FROM cleared WHERE r.id = cleared.id RETURNING cleared.token::text AS token`,
      values: [runs, tokens]
    })
    if (E.isLeft(cleared)) return
    for (const { token } of cleared.right) lateTokens.delete(String(token))
    const now = performance.now()
    for (const [token, { since }] of all) if (now - since > LATE_MILLIS) lateTokens.delete(token)
  }

  const tick = async (): Promise<void> => {
    const isUsable = held.size === 0 || (await checkClaims())
    timer = undefined
    // After `close`, the held claims are still checked while the pool works.
    if (isClosed && !isUsable) return
    if (held.size > 0 && !isClosed && isBeatDue()) await beat()
    if (lateTokens.size > 0) await clearLateTokens()
    schedule()
  }

  const ownState = (row: Fields): 'alive' | 'dead' => (held.has(String(row['token'])) ? 'alive' : 'dead')

  let idle: ReturnType<typeof setTimeout> | undefined
  /** Gives up the key and the late tokens: a row that a late statement writes now has this key, so its holder counts as dead. */
  const goIdle = (): void => {
    idle = undefined
    if (held.size > 0) return
    lateTokens.clear()
    void liveness.close()
  }

  const schedule = (): void => {
    if (held.size > 0) {
      clearTimeout(idle)
      idle = undefined
    } else idle ??= setTimeout(goIdle, IDLE_MILLIS).unref()
    if (held.size > 0 || lateTokens.size > 0) timer ??= setTimeout(() => void tick(), checkIntervalMillis).unref()
  }

  return {
    database,
    liveness: {
      ...liveness,
      key: async () => {
        const key = await liveness.key()
        if (E.isRight(key)) keys.add(key.right)
        return key
      }
    },
    usesSessions: options.liveness === 'lock',
    held,
    inboxes,
    announce: (runId, token) => {
      isClosed = false
      held.set(token, { runId })
      schedule()
    },
    keep: async (holding) => {
      held.set(holding.token, { runId: holding.claim.runId, holding })
      // A write that began earlier does not know this claim.
      await writingKey
      if (liveness.current() !== holding.key) await writeKey()
    },
    forget,
    lose,
    clearLater: (runId, token) => {
      lateTokens.set(token, { runId, since: performance.now() })
      schedule()
    },
    holderOf: (row) => {
      const state = keys.has(String(row['key'])) ? ownState(row) : row['state']
      if (row['token'] === null || (state !== 'alive' && state !== 'undecided')) return undefined
      return { host: String(row['host']), pid: Number(row['pid']), since: String(row['since']), liveness: state }
    },
    close: async () => {
      isClosed = true
      clearTimeout(idle)
      await liveness.close()
    }
  }
}

/** Sets the columns of a row that no process holds. */
export const RELEASED = 'token = NULL, key = NULL, host = NULL, pid = NULL, since = NULL'

export const fencedBy = ({ runId, epoch }: Claim, row: Fields | 'removed' = {}, database?: Database): Fenced => {
  const by = row === 'removed' ? NaN : Number(row['epoch'])
  return {
    _tag: 'Fenced',
    runId,
    epoch,
    by: by > epoch ? O.some(by) : O.none,
    ...(row === 'removed' && database !== undefined
      ? { files: { what: 'Removed' as const, where: database.where('runs') } }
      : {})
  }
}
