/** Reads runs: the newest revision, the history, one revision, and pages of summaries. Repeats a read that finds a dead holder. */
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import type { HistoryEntry, Holder, Listed, ListOptions, StorageError, Stored } from '../../ports/CheckpointStorage.js'
import type { Content } from '../sql/Content.js'
import * as Contents from '../sql/Content.js'
import type { Row } from '../sql/Rows.js'
import type { Database } from './Database.js'
import { readRows } from './Database.js'
import type { Fields } from '../sql/Table.js'
import type { ClaimKeeper } from './ClaimKeeper.js'
import { holderColumns } from './ClaimKeeper.js'

const COLUMNS = `v.revision::text AS revision, v.epoch::text AS epoch, v.kind, v.at, v.change, v.checkpoint, v.checksum`

const textOrNull = (value: unknown): string | null => (typeof value === 'string' ? value : null)

const rowOf = (row: Fields): Row => ({
  revision: Number(row['revision']),
  epoch: Number(row['epoch']),
  kind: String(row['kind']),
  at: String(row['at']),
  change: String(row['change']),
  checkpoint: textOrNull(row['checkpoint']),
  checksum: String(row['checksum'])
})

/** The run's row with further `columns`, and rows of revisions. `which`: a condition on `v`; the run is `r`. */
const query = (database: Database, columns: string, which: string): string =>
  `WITH r AS MATERIALIZED (SELECT r.id, r.format, r.head, ${columns} FROM ${database.table('runs')} r WHERE r.id = $1)
  SELECT r.*, r.head::text AS head, ${COLUMNS} FROM r LEFT JOIN ${database.table('revisions')} v ON v.run = r.id AND v.revision <= r.head AND ${which}
  ORDER BY v.revision`

/** The revision of the newest base (a row with a checkpoint) that `condition` allows, as a subquery. */
const newestBase = (database: Database, condition: string): string =>
  `(SELECT max(b.revision) FROM ${database.table('revisions')} b WHERE b.run = $1 AND b.checkpoint IS NOT NULL AND ${condition})`

/** A run, and its rows of revisions that a query returned. */
interface Found {
  readonly run: Fields
  readonly head: number
  readonly rows: ReadonlyArray<Row>
}

const find = async (
  database: Database,
  runId: string,
  text: string,
  ...values: ReadonlyArray<unknown>
): Promise<E.Either<StorageError, O.Option<Found>>> => {
  const result = await readRows(database, { table: 'revisions', runId }, text, runId, ...values)
  if (E.isLeft(result)) return result
  const [run] = result.right
  if (run === undefined) return E.right(O.none)
  const checked = Contents.checkFormat(runId, Number(run['format']), database.where('runs'))
  if (E.isLeft(checked)) return checked
  const rows = result.right.filter(({ revision }) => revision !== null).map(rowOf)
  return E.right(O.some({ run, head: Number(run['head']), rows }))
}

/** The content of a run, and the newest revision in its row. */
export interface Newest {
  readonly run: Fields
  readonly head: number
  readonly content: O.Option<Content>
}

/** Reads the newest revision from the rows from the newest base on; from all rows only if those are damaged. */
export const newest = async (
  database: Database,
  runId: string,
  columns = 'r.id AS self'
): Promise<E.Either<StorageError, O.Option<Newest>>> => {
  const where = database.where('revisions')
  const read = async (which: string): Promise<E.Either<StorageError, O.Option<Newest>>> => {
    const result = await find(database, runId, query(database, columns, which))
    if (E.isLeft(result)) return result
    if (O.isNone(result.right)) return E.right(O.none)
    const { run, head, rows } = result.right.value
    const content = Contents.newest({ runId, head, where }, rows)
    return E.isLeft(content) ? content : E.right(O.some({ run, head, content: content.right }))
  }
  const first = await read(`v.revision >= ${newestBase(database, 'b.revision <= r.head')}`)
  const isWhole = E.isRight(first)
    ? O.isNone(first.right) || Contents.isWhole(E.right(first.right.value.content))
    : first.left._tag !== 'Corrupt'
  return isWhole ? first : read('true')
}

/**
 * Repeats a read that finds a dead holder, because the holder may have saved, released the run and ended after its row was read: the checkpoint
 * would be an old one. A holder that an earlier round found dead has saved nothing since.
 */
const readSettled = async <A>(
  { holderOf }: ClaimKeeper,
  read: (holder: (row: Fields) => O.Option<Holder>) => Promise<E.Either<StorageError, A>>
): Promise<E.Either<StorageError, A>> => {
  const dead = new Set<string>()
  for (let round = 1; ; round++) {
    const known = dead.size
    const found = await read((row) => {
      const holder = holderOf(row)
      if (holder === undefined && row['token'] !== null) dead.add(JSON.stringify([row['token'], row['key']]))
      return O.fromNullable(holder)
    })
    if (E.isLeft(found) || dead.size === known || round === MAX_ROUNDS) return found
  }
}

/** Limits the rounds, because a host may end runs all the time. */
const MAX_ROUNDS = 3

export const load = (keeper: ClaimKeeper, runId: string): Promise<E.Either<StorageError, O.Option<Stored>>> =>
  readSettled(keeper, async (holder) =>
    E.map(
      O.chain(({ run, content }: Newest) =>
        O.map((stored: Content): Stored => ({ ...stored, heldBy: holder(run) }))(content)
      )
    )(await newest(keeper.database, runId, holderColumns(keeper.database)))
  )

export const loadRevision = async (
  keeper: ClaimKeeper,
  runId: string,
  revision: number
): Promise<E.Either<StorageError, O.Option<Stored>>> => {
  if (!Number.isSafeInteger(revision) || revision < 0) return E.right(O.none)
  const { database } = keeper
  const base = newestBase(database, 'b.revision < $2::bigint')
  const which = `v.revision <= $2::bigint AND v.revision >= coalesce(${base}, $2::bigint)`
  return readSettled(keeper, async (holder) => {
    const result = await find(database, runId, query(database, holderColumns(database), which), revision)
    if (E.isLeft(result)) return result
    if (O.isNone(result.right)) return E.right(O.none)
    const { run, head, rows } = result.right.value
    const content = Contents.revisionOf({ runId, head, where: database.where('revisions') }, rows, revision)
    return E.map(O.map((stored: Content): Stored => ({ ...stored, heldBy: holder(run) })))(content)
  })
}

export const history = async (
  { database }: ClaimKeeper,
  runId: string
): Promise<E.Either<StorageError, ReadonlyArray<HistoryEntry>>> => {
  const text = `SELECT v.revision::text AS revision, v.kind, v.at FROM ${database.table('runs')} r JOIN ${database.table('revisions')} v ON v.run = r.id AND v.revision <= r.head
      WHERE r.id = $1 ORDER BY v.revision DESC`
  return E.map((rows: ReadonlyArray<Fields>) =>
    rows.map(({ revision, kind, at }) => ({ revision: Number(revision), change: String(kind), at: String(at) }))
  )(await readRows(database, { table: 'revisions', runId }, text, runId))
}

export const list = (
  keeper: ClaimKeeper,
  { after = '', limit = Infinity }: ListOptions
): Promise<E.Either<StorageError, ReadonlyArray<Listed>>> => {
  const { database } = keeper
  // PostgreSQL refuses a NUL, and no id has one: the same ids follow `after` and its part before a NUL.
  const [start = ''] = after.split('\0')
  const text = `SELECT r.id, r.format, r.head::text AS head, r.summary, ${holderColumns(database)} FROM ${database.table('runs')} r
      WHERE r.head >= 0 AND r.id > $1 ORDER BY r.id LIMIT $2::bigint`
  const most = Number.isFinite(limit) ? Math.max(0, Math.floor(limit)) : null
  return readSettled(keeper, async (holder) =>
    E.map((rows: ReadonlyArray<Fields>) =>
      rows.map((row) => {
        const runId = String(row['id'])
        const isKnown = E.isRight(Contents.checkFormat(runId, Number(row['format']), ''))
        const column = textOrNull(row['summary'])
        const summary = Contents.summaryOf(column, Number(row['head']), holder(row))
        return isKnown && O.isSome(summary) ? { runId, summary: summary.value } : { runId }
      })
    )(await readRows(database, { table: 'runs' }, text, start, most))
  )
}
