/** Keeps artifacts as rows, so that hosts need no shared folder. */
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import type { TaskEither } from 'fp-ts/lib/TaskEither.js'
import * as RunId from '../../domain/checkpoint/RunId.js'
import * as ArtifactId from '../../domain/data/ArtifactId.js'
import { readable } from '../../domain/data/Options.js'
import type { ArtifactError, ArtifactInfo, ArtifactStore } from '../../ports/ArtifactStore.js'
import * as Records from '../sql/Records.js'
import type { Database, PostgresDatabaseOptions } from './Database.js'
import { ask, databaseOf, prepareToWrite, readFailed, writeFailed } from './Database.js'
import type { Fields, PostgresPool } from './Driver.js'
import { poolOf } from './Driver.js'

/**
 * The options of artifacts in PostgreSQL. `maxBytes`: the largest artifact to put or get (default 64 MiB), because each is held in memory,
 * by this process and by the server.
 *
 * @category model
 */
export interface PostgresArtifactsOptions extends PostgresDatabaseOptions {
  readonly maxBytes?: number
}

type Answer<A> = Promise<E.Either<ArtifactError, A>>

/**
 * The artifacts of the runs of a {@link postgresStorage} on the same database and schema; removing a run deletes its artifacts.
 *
 * @category constructors
 */
export const postgresArtifacts = (pool: PostgresPool, options: PostgresArtifactsOptions = {}): ArtifactStore => {
  const database = databaseOf(poolOf(pool), options)
  const { maxBytes = Records.ARTIFACT_BYTES } = readable(options)
  const table = database.table('artifacts')
  const where = database.where('artifacts')
  const { on, at, read, write } = callsOf(database)
  return {
    put: (runId, id, data) =>
      at(runId, id, async () => {
        const made = Records.artifactOf(runId, id, data, maxBytes, where)
        if (E.isLeft(made)) return made
        const { info, bytes } = made.right
        const written = await write(
          runId,
          `INSERT INTO ${table} (run, id, size, sha256, content) VALUES ($1, $2, $3::bigint, $4, $5::bytea)
            ON CONFLICT (run, id) DO UPDATE SET size = excluded.size, sha256 = excluded.sha256, content = excluded.content`,
          id,
          info.size,
          info.sha256,
          bytes
        )
        return E.map(() => info)(written)
      }),
    get: (runId, id) =>
      at(runId, id, async () => {
        // The content of a row above the limit stays on the server.
        const rows = await read(
          runId,
          `SELECT id, size::text AS size, sha256, octet_length(content)::text AS bytes,
              CASE WHEN octet_length(content) <= $3::bigint THEN encode(content, 'base64') END AS content
            FROM ${table} WHERE run = $1 AND id = $2`,
          id,
          maxBytes
        )
        if (E.isLeft(rows)) return rows
        const [row] = rows.right
        if (row === undefined) return E.right(O.none)
        const bytes = Number(row['bytes'])
        if (bytes > maxBytes)
          return E.left({ _tag: 'TooLarge', runId, where, bytes, limitBytes: maxBytes, biggest: [] })
        return E.map((content: Uint8Array) => O.some(content))(
          Records.contentOf(runId, infoOf(row), Buffer.from(String(row['content']), 'base64'), where)
        )
      }),
    has: (runId, id) =>
      at(runId, id, async () =>
        E.map((rows: ReadonlyArray<Fields>) => rows.length > 0)(
          await read(runId, `SELECT 1 AS one FROM ${table} WHERE run = $1 AND id = $2`, id)
        )
      ),
    remove: (runId, id) => at(runId, id, () => write(runId, `DELETE FROM ${table} WHERE run = $1 AND id = $2`, id)),
    list: (runId) =>
      on(runId, async () =>
        E.map((rows: ReadonlyArray<Fields>) => Records.sorted(rows.map(infoOf)))(
          await read(runId, `SELECT id, size::text AS size, sha256 FROM ${table} WHERE run = $1`)
        )
      ),
    clear: (runId) => on(runId, () => write(runId, `DELETE FROM ${table} WHERE run = $1 AND id NOT LIKE '\\_%'`))
  }
}

/** Checks ids, and sends statements about artifacts; `$1` is the run. */
const callsOf = (database: Database) => {
  const on =
    <A>(runId: string, act: () => Answer<A>): TaskEither<ArtifactError, A> =>
    () => {
      const valid = RunId.parse(runId)
      return E.isLeft(valid) ? Promise.resolve(valid) : act()
    }
  const at =
    <A>(runId: string, id: string, act: () => Answer<A>): TaskEither<ArtifactError, A> =>
    () => {
      const valid = ArtifactId.parse(id)
      return E.isLeft(valid) ? Promise.resolve(valid) : on(runId, act)()
    }
  const read = async (
    runId: string,
    text: string,
    ...values: ReadonlyArray<unknown>
  ): Answer<ReadonlyArray<Fields>> => {
    const rows = await ask(database, { text, values: [runId, ...values] })
    const place = { table: 'artifacts', operation: 'SELECT artifacts', runId }
    return E.isLeft(rows) ? E.left(readFailed(database, place)(rows.left)) : rows
  }
  const write = async (runId: string, text: string, ...values: ReadonlyArray<unknown>): Answer<void> => {
    const ready = await prepareToWrite(database)
    const written = E.isLeft(ready) ? ready : await ask(database, { text, values: [runId, ...values] })
    const place = { table: 'artifacts', operation: `${text.split(' ')[0]} artifacts`, runId }
    return E.isLeft(written) ? E.left(writeFailed(database, place)(written.left)) : E.right(undefined)
  }
  return { on, at, read, write }
}

const infoOf = (row: Fields): ArtifactInfo => ({
  id: String(row['id']),
  size: Number(row['size']),
  sha256: String(row['sha256'])
})
