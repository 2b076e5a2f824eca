/** Keeps artifacts as rows, so that hosts need no shared folder. */
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import { readable } from '../../domain/data/Options.js'
import type { ArtifactError, ArtifactInfo, ArtifactStore } from '../../ports/ArtifactStore.js'
import { ofArtifact, ofRun } from '../sql/checkedCalls.js'
import * as Records from '../sql/Records.js'
import type { Database, PostgresDatabaseOptions } from './Database.js'
import { databaseOf, readRows, writeRows } from './Database.js'
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

type Result<A> = Promise<E.Either<ArtifactError, A>>

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
  const { read, write } = callsOf(database)
  return {
    put: (runId, id, data) =>
      ofArtifact(runId, id, async () => {
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
      ofArtifact(runId, id, async () => {
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
      ofArtifact(runId, id, async () =>
        E.map((rows: ReadonlyArray<Fields>) => rows.length > 0)(
          await read(runId, `SELECT 1 AS one FROM ${table} WHERE run = $1 AND id = $2`, id)
        )
      ),
    remove: (runId, id) =>
      ofArtifact(runId, id, () => write(runId, `DELETE FROM ${table} WHERE run = $1 AND id = $2`, id)),
    list: (runId) =>
      ofRun(runId, async () =>
        E.map((rows: ReadonlyArray<Fields>) => Records.sorted(rows.map(infoOf)))(
          await read(runId, `SELECT id, size::text AS size, sha256 FROM ${table} WHERE run = $1`)
        )
      ),
    clear: (runId) => ofRun(runId, () => write(runId, `DELETE FROM ${table} WHERE run = $1 AND id NOT LIKE '\\_%'`))
  }
}

/** Sends statements about artifacts; `$1` is the run. */
const callsOf = (database: Database) => {
  const read = (runId: string, text: string, ...values: ReadonlyArray<unknown>): Result<ReadonlyArray<Fields>> =>
    readRows(database, { table: 'artifacts', runId }, text, runId, ...values)
  const write = async (runId: string, text: string, ...values: ReadonlyArray<unknown>): Result<void> => {
    const place = { table: 'artifacts', operation: `${text.split(' ')[0]} artifacts`, runId }
    return E.map(() => undefined)(await writeRows(database, place, text, runId, ...values))
  }
  return { read, write }
}

const infoOf = (row: Fields): ArtifactInfo => ({
  id: String(row['id']),
  size: Number(row['size']),
  sha256: String(row['sha256'])
})
