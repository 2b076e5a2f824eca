/** Keeps artifacts in the database of their runs. */
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import { readable } from '../../domain/data/Options.js'
import type { ArtifactStore } from '../../ports/ArtifactStore.js'
import { artifactsIn, INFO, infoOf } from '../sql/Artifacts.js'
import { ARTIFACT_BYTES } from '../sql/Records.js'
import type { SqliteOptions } from './Connection.js'
import { connectionOf, tableOf } from './Connection.js'
import type { SqliteDatabase } from './Driver.js'

/**
 * The options of artifacts in SQLite. `maxBytes`: the largest artifact to put (default 64 MiB), because each is held in memory.
 *
 * @category model
 */
export interface SqliteArtifactsOptions extends SqliteOptions {
  readonly maxBytes?: number
}

/**
 * Artifacts in the database of a {@link sqliteStorage}; removing a run deletes its artifacts.
 *
 * @example
 * import Database from 'better-sqlite3'
 * import * as E from 'fp-ts/lib/Either.js'
 * import { sqliteArtifacts } from 'dogear/sqlite'
 * import assert from 'node:assert/strict'
 *
 * const database = new Database('state.db')
 * database.pragma('synchronous = FULL')
 * const put = await sqliteArtifacts(database).put('release-42', 'reports/unit.txt', '12 passed')()
 * assert.equal(E.isRight(put) && put.right.size, 9)
 *
 * @category constructors
 */
export const sqliteArtifacts = (database: SqliteDatabase, options: SqliteArtifactsOptions = {}): ArtifactStore => {
  const { maxBytes = ARTIFACT_BYTES } = readable(options)
  const table = tableOf(connectionOf(database, options), 'artifacts')
  return artifactsIn(table, maxBytes, async (runId, id) => {
    const rows = await table.read(
      { runId },
      `SELECT ${INFO}, content FROM artifacts WHERE run = ? AND id = ?`,
      runId,
      id
    )
    if (E.isLeft(rows)) return rows
    const [row] = rows.right
    return E.right(row === undefined ? O.none : O.some({ info: infoOf(row), bytes: row['content'] as Uint8Array }))
  })
}
