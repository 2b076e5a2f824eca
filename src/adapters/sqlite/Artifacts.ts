/** Keeps artifacts in the database of their runs. */
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import { readable } from '../../domain/data/Options.js'
import type { ArtifactError, ArtifactInfo, ArtifactStore } from '../../ports/ArtifactStore.js'
import { ofArtifact, ofRun } from '../sql/checkedCalls.js'
import { ARTIFACT_BYTES, artifactOf, contentOf, sorted } from '../sql/Records.js'
import type { SqliteOptions } from './Connection.js'
import { connectionOf, read, sql, write } from './Connection.js'
import type { SqliteDatabase } from './Driver.js'

/**
 * The options of artifacts in SQLite. `maxBytes`: the largest artifact to put (default 64 MiB), because each is held in memory.
 *
 * @category model
 */
export interface SqliteArtifactsOptions extends SqliteOptions {
  readonly maxBytes?: number
}

const INFO = 'SELECT id, size, sha256 FROM artifacts WHERE run = ?'
const GET = 'SELECT id, size, sha256, content FROM artifacts WHERE run = ? AND id = ?'
const PUT = 'INSERT OR REPLACE INTO artifacts (run, id, size, sha256, content) VALUES (?, ?, ?, ?, ?)'
const CLEAR = "DELETE FROM artifacts WHERE run = ? AND substr(id, 1, 1) <> '_'"

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
  const self = connectionOf(database, options)
  const where = (): string => `artifacts of ${self.file || 'the database'}`

  const change = (runId: string, text: string, ...values: Array<string | number | Uint8Array>) =>
    write<void, ArtifactError>(self, { runId }, () => {
      sql(self, text).run(runId, ...values)
      return E.right(undefined)
    })

  return {
    put: (runId, id, data) =>
      ofArtifact(runId, id, async () => {
        const made = artifactOf(runId, id, data, maxBytes, where())
        if (E.isLeft(made)) return made
        const { info, bytes } = made.right
        return E.map(() => info)(await change(runId, PUT, id, info.size, info.sha256, bytes))
      }),
    get: (runId, id) =>
      ofArtifact(runId, id, async () => {
        const found = await read<ReadonlyArray<unknown>, ArtifactError>(self, { runId }, () =>
          E.right(sql(self, GET).all(runId, id))
        )
        if (E.isLeft(found)) return found
        const [row] = found.right as ReadonlyArray<ArtifactInfo & { readonly content: Uint8Array }>
        if (row === undefined) return E.right(O.none)
        const content = contentOf(runId, row, row.content, where())
        return E.isLeft(content) ? content : E.right(O.some(content.right))
      }),
    has: (runId, id) =>
      ofArtifact(runId, id, () =>
        read<boolean, ArtifactError>(self, { runId }, () =>
          E.right(sql(self, 'SELECT 1 FROM artifacts WHERE run = ? AND id = ?').all(runId, id).length > 0)
        )
      ),
    remove: (runId, id) =>
      ofArtifact(runId, id, () => change(runId, 'DELETE FROM artifacts WHERE run = ? AND id = ?', id)),
    list: (runId) =>
      ofRun(runId, () =>
        read<ReadonlyArray<ArtifactInfo>, ArtifactError>(self, { runId }, () => {
          const infos = sql(self, INFO).all(runId) as ReadonlyArray<ArtifactInfo>
          return E.right(sorted(infos.map(({ id, size, sha256 }) => ({ id, size, sha256 }))))
        })
      ),
    clear: (runId) => ofRun(runId, () => change(runId, CLEAR))
  }
}
