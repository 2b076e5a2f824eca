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
import type { Call, Connection } from './Connection.js'
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

/** The rows from the newest base below a revision up to that revision. */
const UP_TO = `SELECT * FROM revisions WHERE run = ? AND revision <= ? AND revision >= (
  SELECT coalesce(max(revision), ?) FROM revisions WHERE run = ? AND checkpoint IS NOT NULL AND revision < ?
) ORDER BY revision`

const where = ({ file }: Connection): string => `revisions of ${file}`

/** Reads the newest content within a transaction. */
export const contentOf = (
  connection: Connection,
  run: RunRow
): E.Either<Corrupt | UnsupportedFormat, O.Option<Content>> => {
  const checked = Contents.checkFormat(run.id, run.format, where(connection))
  if (E.isLeft(checked)) return checked
  const row = { runId: run.id, head: run.head, where: where(connection) }
  const content = Contents.newest(row, rows(connection, NEWEST, run.id, run.id))
  if (Contents.isWhole(content)) return content
  return Contents.newest(row, rows(connection, 'SELECT * FROM revisions WHERE run = ? ORDER BY revision', run.id))
}

const rows = (connection: Connection, text: string, ...values: Array<string | number>): ReadonlyArray<Row> =>
  sql(connection, text).all(...values) as ReadonlyArray<Row>

/** Returns the holder of a run; none if no process holds it or the holder is dead. */
export const holderOf = (connection: Connection, owners: Owners, run: RunRow, judged?: Judged): O.Option<Holder> => {
  const { token, owner, host, pid, since } = run
  const liveness = owner === null ? undefined : livenessOf(owners, connection.file, { owner, token }, judged)
  return liveness === undefined ? O.none : O.some({ host, pid, since, liveness })
}

/** A read found rows whose owners are not judged yet. */
interface Unjudged {
  readonly _tag: 'Unjudged'
  readonly runs: ReadonlyArray<RunRow>
}

/**
 * Judges the owners of rows, then reads the rows again, with what `act` reads of them. An owner judged after the read may have saved,
 * released the run and ended in between: it would count as dead, with an old checkpoint. Owners that are new in the last round have claimed
 * since the call began, so `act` judges them.
 */
const readJudged = async <A>(
  connection: Connection,
  owners: Owners,
  call: Call,
  rowsOf: () => ReadonlyArray<RunRow>,
  act: (runs: ReadonlyArray<RunRow>, holder: (run: RunRow) => O.Option<Holder>) => E.Either<StorageError, A>
): Promise<E.Either<StorageError, A>> => {
  const judged: Judged = new Map()
  const holder = (run: RunRow): O.Option<Holder> => holderOf(connection, owners, run, judged)
  for (let round = 1; ; round++) {
    const found = await read<A, StorageError | Unjudged>(connection, call, () => {
      const all = rowsOf()
      const runs = all.filter(({ owner }) => owner !== null && !judged.has(owner))
      return runs.length > 0 && round < MAX_ROUNDS ? E.left({ _tag: 'Unjudged', runs }) : act(all, holder)
    })
    if (E.isRight(found)) return found
    if (found.left._tag !== 'Unjudged') return E.left(found.left)
    found.left.runs.forEach(holder)
  }
}

const MAX_ROUNDS = 3

/** Reads a run with its holder. */
const readRun = (
  connection: Connection,
  owners: Owners,
  runId: string,
  contentIn: (run: RunRow) => E.Either<StorageError, O.Option<Content>>
): Promise<E.Either<StorageError, O.Option<Stored>>> =>
  readJudged<O.Option<Stored>>(
    connection,
    owners,
    { runId },
    () => {
      const run = runRow(connection, runId)
      return run === undefined ? [] : [run]
    },
    ([run], holder) =>
      run === undefined
        ? E.right(O.none)
        : E.map(O.map((content: Content): Stored => ({ ...content, heldBy: holder(run) })))(contentIn(run))
  )

export const load = (
  connection: Connection,
  owners: Owners,
  runId: string
): Promise<E.Either<StorageError, O.Option<Stored>>> =>
  readRun(connection, owners, runId, (run) => contentOf(connection, run))

export const loadRevision = async (
  connection: Connection,
  owners: Owners,
  runId: string,
  revision: number
): Promise<E.Either<StorageError, O.Option<Stored>>> => {
  if (!Number.isSafeInteger(revision) || revision < 0) return E.right(O.none)
  return readRun(connection, owners, runId, ({ format, head }) => {
    if (revision > head) return E.right(O.none)
    const checked = Contents.checkFormat(runId, format, where(connection))
    if (E.isLeft(checked)) return checked
    const found = rows(connection, UP_TO, runId, revision, revision, runId, revision)
    return Contents.revisionOf({ runId, head, where: where(connection) }, found, revision)
  })
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

const ALL = -1

export const list = (
  connection: Connection,
  owners: Owners,
  { after = '', limit = Infinity }: ListOptions
): Promise<E.Either<StorageError, ReadonlyArray<Listed>>> =>
  readJudged<ReadonlyArray<Listed>>(
    connection,
    owners,
    {},
    () => sql(connection, PAGE).all(after, Number.isFinite(limit) ? Math.trunc(limit) : ALL) as ReadonlyArray<RunRow>,
    (runs, holder) =>
      E.right(
        runs.map((run) => {
          const summary = run.format > FORMAT ? O.none : Contents.summaryOf(run.summary, run.head, holder(run))
          return O.isNone(summary) ? { runId: run.id } : { runId: run.id, summary: summary.value }
        })
      )
  )
