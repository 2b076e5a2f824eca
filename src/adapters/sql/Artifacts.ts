/** Keeps artifacts as rows of a table. Knows no database. */
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import type { ArtifactError, ArtifactInfo, ArtifactStore } from '../../ports/ArtifactStore.js'
import { ofArtifact, ofRun } from './checkedCalls.js'
import type { Artifact } from './Records.js'
import { artifactOf, contentOf, sorted } from './Records.js'
import type { Fields, Table } from './Table.js'

/** The columns that {@link infoOf} reads. */
export const INFO = 'id, CAST(size AS TEXT) AS size, sha256'

export const infoOf = (row: Fields): ArtifactInfo => ({
  id: String(row['id']),
  size: Number(row['size']),
  sha256: String(row['sha256'])
})

/** Each database returns content in its own way: `find` reads the row of an artifact. */
export const artifactsIn = (
  { name, where, read, write }: Table,
  maxBytes: number,
  find: (runId: string, id: string) => Promise<E.Either<ArtifactError, O.Option<Artifact>>>
): ArtifactStore => ({
  put: (runId, id, data) =>
    ofArtifact<ArtifactError, ArtifactInfo>(runId, id, async () => {
      const made = artifactOf(runId, id, data, maxBytes, where())
      if (E.isLeft(made)) return made
      const { info, bytes } = made.right
      const text = `INSERT INTO ${name} (run, id, size, sha256, content) VALUES (?, ?, ?, ?, ?)
        ON CONFLICT (run, id) DO UPDATE SET size = excluded.size, sha256 = excluded.sha256, content = excluded.content`
      return E.map(() => info)(await write({ runId }, text, runId, id, info.size, info.sha256, bytes))
    }),
  get: (runId, id) =>
    ofArtifact<ArtifactError, O.Option<Uint8Array>>(runId, id, async () => {
      const found = await find(runId, id)
      if (E.isLeft(found)) return found
      if (O.isNone(found.right)) return E.right(O.none)
      const { info, bytes } = found.right.value
      return E.map((content: Uint8Array) => O.some(content))(contentOf(runId, info, bytes, where()))
    }),
  has: (runId, id) =>
    ofArtifact(runId, id, async () =>
      E.map((rows: ReadonlyArray<Fields>) => rows.length > 0)(
        await read({ runId }, `SELECT 1 AS one FROM ${name} WHERE run = ? AND id = ?`, runId, id)
      )
    ),
  remove: (runId, id) =>
    ofArtifact(runId, id, () => write({ runId }, `DELETE FROM ${name} WHERE run = ? AND id = ?`, runId, id)),
  list: (runId) =>
    ofRun(runId, async () =>
      E.map((rows: ReadonlyArray<Fields>) => sorted(rows.map(infoOf)))(
        await read({ runId }, `SELECT ${INFO} FROM ${name} WHERE run = ?`, runId)
      )
    ),
  clear: (runId) =>
    ofRun(runId, () => write({ runId }, `DELETE FROM ${name} WHERE run = ? AND substr(id, 1, 1) <> '_'`, runId))
})
