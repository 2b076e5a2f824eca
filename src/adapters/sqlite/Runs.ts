/** Reads runs: their rows, content, holders, history and list. */
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import type {
  Corrupt,
  HistoryEntry,
  Holder,
  Listed,
  ListOptions,
  StorageError,
  Stored,
  UnsupportedFormat
} from '../../ports/CheckpointStorage.js'
import type { Content } from '../sql/Content.js'
import * as Contents from '../sql/Content.js'
import type { Row } from '../sql/Rows.js'
import { FORMAT } from '../sql/Rows.js'
import type { Connection } from './Connection.js'
import { read, sql } from './Connection.js'
import type { Judged, Owners } from './Owners.js'
import { livenessOf } from './Owners.js'

/** The row of a run. `owner` is null while no process holds the run; `token` is that of the last claim. */
export interface RunRow {
  readonly id: string
  readonly format: number
  readonly head: number
  readonly epoch: number
  readonly token: string
  readonly owner: string | null
  readonly host: string
  readonly pid: number
  readonly since: string
  readonly summary: string | null
}

export const runRow = (connection: Connection, runId: string): RunRow | undefined =>
  (sql(connection, 'SELECT * FROM runs WHERE id = ?').get(runId) ?? undefined) as RunRow | undefined

const NEWEST = `SELECT * FROM revisions WHERE run = ? AND revision >= (
  SELECT coalesce(max(revision), 0) FROM revisions WHERE run = ? AND checkpoint IS NOT NULL) ORDER BY revision`

/** The rows from the newest base below a revision on. */
const UP_TO = `SELECT * FROM revisions WHERE run = ? AND revision <= ? AND revision >= (
  SELECT coalesce(max(revision), ?) FROM revisions WHERE run = ? AND checkpoint IS NOT NULL AND revision < ?
) ORDER BY revision`

const where = ({ file }: Connection): string => `revisions of ${file}`

/** Reads the newest content within a transaction. */
export const contentOf = (
  connection: Connection,
  run: RunRow
): E.Either<Corrupt | UnsupportedFormat, O.Option<Content>> => {
  const known = Contents.supported(run.id, run.format, where(connection))
  if (E.isLeft(known)) return known
  const of = { runId: run.id, head: run.head, where: where(connection) }
  const content = Contents.newest(of, rows(connection, NEWEST, run.id, run.id))
  if (Contents.isWhole(content)) return content
  return Contents.newest(of, rows(connection, 'SELECT * FROM revisions WHERE run = ? ORDER BY revision', run.id))
}

const rows = (connection: Connection, text: string, ...values: Array<string | number>): ReadonlyArray<Row> =>
  sql(connection, text).all(...values) as ReadonlyArray<Row>

/** Returns the holder of a run, unless it is dead. */
export const holderOf = (connection: Connection, owners: Owners, run: RunRow, judged?: Judged): O.Option<Holder> => {
  const { token, owner, host, pid, since } = run
  const liveness = owner === null ? undefined : livenessOf(owners, connection.file, { owner, token }, judged)
  return liveness === undefined ? O.none : O.some({ host, pid, since, liveness })
}

/** A lock file that vanishes after the row was read belongs to an owner that has released the run. */
const holderNow = (connection: Connection, owners: Owners, run: RunRow, judged?: Judged): O.Option<Holder> => {
  const holder = holderOf(connection, owners, run, judged)
  if (O.isNone(holder) || holder.value.liveness === 'alive') return holder
  const now = runRow(connection, run.id)
  return now === undefined || now.token !== run.token || now.owner !== run.owner ? O.none : holder
}

export const load = async (
  connection: Connection,
  owners: Owners,
  runId: string
): Promise<E.Either<StorageError, O.Option<Stored>>> => {
  const found = await read<O.Option<Found>, StorageError>(connection, { runId }, () => {
    const run = runRow(connection, runId)
    if (run === undefined) return E.right(O.none)
    return E.map(O.map((content: Content) => ({ content, run })))(contentOf(connection, run))
  })
  return withHolder(connection, owners, found)
}

export const loadRevision = async (
  connection: Connection,
  owners: Owners,
  runId: string,
  revision: number
): Promise<E.Either<StorageError, O.Option<Stored>>> => {
  if (!Number.isSafeInteger(revision) || revision < 0) return E.right(O.none)
  const found = await read<O.Option<Found>, StorageError>(connection, { runId }, () => {
    const run = runRow(connection, runId)
    if (run === undefined || revision > run.head) return E.right(O.none)
    const known = Contents.supported(run.id, run.format, where(connection))
    if (E.isLeft(known)) return known
    const of = { runId, head: run.head, where: where(connection) }
    const content = Contents.revisionOf(
      of,
      rows(connection, UP_TO, runId, revision, revision, runId, revision),
      revision
    )
    return E.map(O.map((content: Content) => ({ content, run })))(content)
  })
  return withHolder(connection, owners, found)
}

interface Found {
  readonly content: Content
  readonly run: RunRow
}

const withHolder = (
  connection: Connection,
  owners: Owners,
  found: E.Either<StorageError, O.Option<Found>>
): Promise<E.Either<StorageError, O.Option<Stored>>> => {
  if (E.isLeft(found) || O.isNone(found.right))
    return Promise.resolve(found as E.Either<StorageError, O.Option<Stored>>)
  const { content, run } = found.right.value
  return read<O.Option<Stored>, never>(connection, { runId: run.id }, () =>
    E.right(O.some({ ...content, heldBy: holderNow(connection, owners, run) }))
  )
}

const HISTORY = `SELECT revision, kind AS change, at FROM revisions WHERE run = ?
  AND revision <= (SELECT head FROM runs WHERE id = ?) ORDER BY revision DESC`

export const history = (
  connection: Connection,
  runId: string
): Promise<E.Either<StorageError, ReadonlyArray<HistoryEntry>>> =>
  read<ReadonlyArray<HistoryEntry>, StorageError>(connection, { runId }, () => {
    const entries = sql(connection, HISTORY).all(runId, runId) as ReadonlyArray<HistoryEntry>
    return E.right(entries.map(({ revision, change, at }) => ({ revision, change, at })))
  })

const PAGE = 'SELECT * FROM runs WHERE id > ? AND head >= 0 ORDER BY id LIMIT ?'

export const list = async (
  connection: Connection,
  owners: Owners,
  { after = '', limit = -1 }: ListOptions
): Promise<E.Either<StorageError, ReadonlyArray<Listed>>> => {
  const page = await read<ReadonlyArray<RunRow>, StorageError>(connection, {}, () =>
    E.right(sql(connection, PAGE).all(after, Math.trunc(limit)) as ReadonlyArray<RunRow>)
  )
  if (E.isLeft(page)) return page
  const judged: Judged = new Map()
  return read<ReadonlyArray<Listed>, StorageError>(connection, {}, () =>
    E.right(
      page.right.map((run) => {
        const heldBy = holderNow(connection, owners, run, judged)
        const summary = run.format > FORMAT ? O.none : Contents.summaryOf(run.summary, run.head, heldBy)
        return O.isNone(summary) ? { runId: run.id } : { runId: run.id, summary: summary.value }
      })
    )
  )
}
