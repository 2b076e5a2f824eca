/** Keeps other processes from counting this one as dead: by a lock that its connection holds, or by a lease on the server's clock. */
import { randomBytes } from 'node:crypto'
import * as E from 'fp-ts/lib/Either.js'
import type { Database } from './Database.js'
import { send } from './Database.js'
import type { PostgresClient, PostgresPool } from './Driver.js'
import { clientOf, rowsOf } from './Driver.js'
import type { Failure } from './Failure.js'
import { failureOf, refusal } from './Failure.js'

/** Keeps this process from counting as dead, by a key in the row of each of its claims. The key may change, and is then written into these rows. */
export interface Liveness {
  /** Returns a key that keeps others from counting this process as dead: behind a lock they find it alive, behind a lease undecided. */
  readonly key: () => Promise<E.Either<Failure, string>>
  /** The key; undefined if there is none, or if this process knows that the key is no longer valid. */
  readonly current: () => string | undefined
  /** Renews or checks the key. Afterwards, if `current()` is undefined, the process needs a new one. A permanent failure ends all claims. */
  readonly beat: () => Promise<E.Either<Failure, void>>
  readonly close: () => Promise<void>
}

/** A key that another process is unlikely to generate. */
const newKey = (): string => randomBytes(8).readBigInt64BE().toString()

// --- locks

interface Session {
  readonly client: PostgresClient
  readonly key: string
}

/** A host that vanished is noticed within about half a minute. The session must not end because it is idle. */
const SETTINGS = `SELECT set_config(name, value, false)
  FROM (VALUES ('tcp_keepalives_idle', '10'), ('tcp_keepalives_interval', '5'), ('tcp_keepalives_count', '3'),
    ('tcp_user_timeout', '25000'), ('idle_session_timeout', '0')) AS wanted (name, value)
  JOIN pg_settings USING (name)`

const HELD = `SELECT EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid() AND granted
  AND objsubid = 1 AND ((classid::bigint << 32) | objid::bigint) = $1::bigint) AS held`

/** One connection of this process holds one advisory lock. `onBroken` is called when it ends before it is closed. */
export const lockLiveness = (pool: PostgresPool, onBroken: () => void): Liveness => {
  let session: Session | undefined
  let opening: Promise<E.Either<Failure, Session>> | undefined
  const drop = (client: PostgresClient): void => {
    client.end().catch(() => undefined)
    if (session?.client !== client) return
    session = undefined
    onBroken()
  }
  return {
    key: async () => {
      if (session !== undefined) return E.right(session.key)
      opening ??= connect(pool, drop).then((made) => {
        opening = undefined
        if (E.isRight(made)) session = made.right
        return made
      })
      return E.map(({ key }: Session) => key)(await opening)
    },
    current: () => session?.key,
    beat: async () => {
      if (session === undefined) return E.right(undefined)
      const { client, key } = session
      client.ref?.()
      const held = await send({ pool: client }, { text: HELD, values: [key] })
      client.unref?.()
      if (E.isRight(held) && held.right[0]?.['held'] === true) return E.right(undefined)
      drop(client)
      return E.isLeft(held) ? held : E.left(POOLED)
    },
    close: async () => {
      await opening
      const client = session?.client
      session = undefined
      // Keeps the process running until the server has closed the session.
      client?.ref?.()
      await client?.end().catch(() => undefined)
    }
  }
}

const POOLED = refusal(
  'LOCK_LOST',
  'the advisory lock of this process is not held by its connection any more, as behind a transaction pooler; connect directly',
  "liveness: 'lease'"
)

/** Opens a connection of its own that holds the lock on a new key. The connection does not keep the process running. */
const connect = async (
  pool: PostgresPool,
  onEnd: (client: PostgresClient) => void
): Promise<E.Either<Failure, Session>> => {
  const client = clientOf(pool)
  if (client === undefined)
    return E.left(refusal('NO_CLIENT', 'the pool has no `Client`; pass a `Pool` of `pg`', "liveness: 'lease'"))
  client.on('error', () => onEnd(client))
  client.on('end', () => onEnd(client))
  try {
    await client.connect()
    await client.query({ text: SETTINGS })
    for (;;) {
      const key = newKey()
      const [row] = rowsOf(
        await client.query({ text: 'SELECT pg_try_advisory_lock($1::bigint) AS held', values: [key] })
      )
      if (row?.['held'] !== true) continue
      client.unref?.()
      return E.right({ client, key })
    }
  } catch (cause) {
    client.end().catch(() => undefined)
    return E.left(failureOf(cause))
  }
}

// --- leases

/** One row says until when others may not count this process as dead; `beat` renews it. */
export const leaseLiveness = (database: Database, leaseMillis: number): Liveness => {
  const leases = database.table('leases')
  let key: string | undefined
  let renewedAt = 0
  const until = `clock_timestamp() + make_interval(secs => $2::float8 / 1000)`
  /** A lease that has run out may have cost claims: only a new key, which is then written into the rows of the remaining claims, is safe. */
  const beat = async (): Promise<E.Either<Failure, void>> => {
    const [renewing, now] = [key, performance.now()]
    if (renewing === undefined) return E.right(undefined)
    const renewed = await send(database, {
      text: `UPDATE ${leases} SET until = ${until} WHERE key = $1::bigint AND until > clock_timestamp() RETURNING key`,
      values: [renewing, leaseMillis]
    })
    if (E.isLeft(renewed)) return renewed
    // A claim may have generated another key meanwhile.
    if (key !== renewing) return E.right(undefined)
    if (renewed.right.length > 0) renewedAt = now
    else key = undefined
    return E.right(undefined)
  }
  return {
    beat,
    key: async () => {
      // The process may have slept.
      if (key !== undefined && performance.now() - renewedAt > leaseMillis / 2) {
        const beaten = await beat()
        if (E.isLeft(beaten)) return beaten
      }
      if (key !== undefined) return E.right(key)
      const [fresh, now] = [newKey(), performance.now()]
      const made = await send(database, {
        text: `WITH swept AS (DELETE FROM ${leases} WHERE until < clock_timestamp() - interval '1 day')
          INSERT INTO ${leases} (key, until) VALUES ($1::bigint, ${until})`,
        values: [fresh, leaseMillis]
      })
      if (E.isLeft(made)) return made
      // Another claim of this process may have made a key meanwhile.
      if (key === undefined) [key, renewedAt] = [fresh, now]
      return E.right(key)
    },
    current: () => key,
    close: async () => {
      const former = key
      key = undefined
      if (former !== undefined)
        await send(database, { text: `DELETE FROM ${leases} WHERE key = $1::bigint`, values: [former] })
    }
  }
}
