/** Keeps artifacts as rows, so that hosts need no shared folder. */
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import { readable } from '../../domain/data/Options.js'
import type { ArtifactStore } from '../../ports/ArtifactStore.js'
import { artifactsIn, INFO, infoOf } from '../sql/Artifacts.js'
import { ARTIFACT_BYTES } from '../sql/Records.js'
import type { PostgresDatabaseOptions } from './Database.js'
import { databaseOf, tableOf } from './Database.js'
import type { PostgresPool } from './Driver.js'
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

/**
 * The artifacts of the runs of a {@link postgresStorage} on the same database and schema; removing a run deletes its artifacts.
 *
 * @category constructors
 */
export const postgresArtifacts = (pool: PostgresPool, options: PostgresArtifactsOptions = {}): ArtifactStore => {
  const database = databaseOf(poolOf(pool), options)
  const { maxBytes = ARTIFACT_BYTES } = readable(options)
  const table = tableOf(database, 'artifacts')
  return artifactsIn(table, maxBytes, async (runId, id) => {
    // The content of a row above the limit stays on the server.
    const rows = await table.read(
      { runId },
      `SELECT ${INFO}, octet_length(content)::text AS bytes,
          CASE WHEN octet_length(content) <= ?::bigint THEN encode(content, 'base64') END AS content
        FROM ${table.name} WHERE run = ? AND id = ?`,
      maxBytes,
      runId,
      id
    )
    if (E.isLeft(rows)) return rows
    const [row] = rows.right
    if (row === undefined) return E.right(O.none)
    const bytes = Number(row['bytes'])
    if (bytes > maxBytes)
      return E.left({ _tag: 'TooLarge', runId, where: table.where(), bytes, limitBytes: maxBytes, biggest: [] })
    return E.right(O.some({ info: infoOf(row), bytes: Buffer.from(String(row['content']), 'base64') }))
  })
}
