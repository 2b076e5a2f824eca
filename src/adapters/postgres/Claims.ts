/** Decides who writes a run: claims, releases and removals, each one conditional statement on the row of the run. */
import { randomUUID } from 'node:crypto'
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import type {
  Claimed,
  ClaimOptions,
  HeldBy,
  Owner,
  RemoveOptions,
  StorageError,
  Stored,
  UnsupportedFormat
} from '../../ports/CheckpointStorage.js'
import type { Newest } from '../../domain/checkpoint/RunChanged.js'
import { changedSince } from '../../domain/checkpoint/RunChanged.js'
import * as Contents from '../sql/Content.js'
import { FORMAT } from '../sql/Rows.js'
import { sendRepeatedly, retry, prepareToWrite, refuseNewer, send, writeFailed } from './Database.js'
import type { Fields } from '../sql/Table.js'
import type { Failure } from './Failure.js'
import { refused } from './Failure.js'
import type { Holding, ClaimKeeper } from './ClaimKeeper.js'
import { holderColumns, RELEASED } from './ClaimKeeper.js'
import { VERSION } from './Migrations.js'
import * as Read from './Read.js'

export interface Granted {
  readonly claimed: Claimed
  readonly holding: Holding
}

type Attempt = E.Either<Failure<UnsupportedFormat | HeldBy>, { readonly epoch: number; readonly key: string }>

/** Claims a run, then reads it: one statement would see what was stored (its snapshot) before it waited for the row. */
export const claim = async (
  keeper: ClaimKeeper,
  runId: string,
  owner: Owner,
  options: ClaimOptions = {}
): Promise<E.Either<StorageError, Granted>> => {
  const { database } = keeper
  const failed = writeFailed<StorageError>(database, { table: 'runs', operation: 'INSERT runs', runId })
  const token = randomUUID()
  keeper.announce(runId, token)
  const ready = await prepareToWrite(database)
  const result = E.isLeft(ready) ? ready : await retry(database, () => attempt(keeper, runId, token, owner, options))
  if (E.isLeft(result)) {
    keeper.forget(token)
    if (result.left.effect === 'unknown') keeper.clearLater(runId, token)
    return E.left(failed(result.left))
  }
  const { epoch, key } = result.right
  const found = await Read.newest(
    database,
    runId,
    `EXISTS (SELECT FROM ${database.table('requests')} q WHERE q.run = r.id) AS has_requests`
  )
  if (E.isLeft(found) || O.isNone(found.right)) {
    await release(keeper, runId, token)
    return E.isLeft(found) ? found : E.left({ _tag: 'Fenced', runId, epoch, by: O.none })
  }
  const { run, head, content } = found.right.value
  const lost = new AbortController()
  const granted = { runId, epoch, lost: lost.signal }
  const revision = O.isSome(content) ? content.value.revision : -1
  const progress = { revision, head, baseBytes: 0, changeBytes: 0, sizeBytes: 0 }
  const inboxReadAt = performance.now()
  const holding = {
    claim: granted,
    token,
    lost,
    key,
    progress,
    inboxReadAt,
    last: Promise.resolve(),
    failed: undefined
  }
  keeper.inboxes.set(runId, run['has_requests'] === true)
  await keeper.keep(holding)
  const stored = O.map((one: Contents.Content): Stored => ({ ...one, heldBy: O.none }))(content)
  return E.right({ claimed: { claim: granted, stored }, holding })
}

/** How often a row may change between two statements before the attempt fails. */
const MOST_ROUNDS = 100

const NOW = `to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`

/**
 * Takes the row if no process holds it, if an earlier try of this claim has taken it, or if its holder is still the one that was just judged; and
 * if the tables are not newer than this package. The epoch is incremented under the lock of the row.
 */
const take = ({
  database
}: ClaimKeeper): string => `WITH tables AS (SELECT max(version) AS version FROM ${database.table('migrations')}),
  taken AS (INSERT INTO ${database.table('runs')} AS r (id, format, epoch, token, key, host, pid, since)
  SELECT $1, ${FORMAT}, 1, $2::uuid, $3::bigint, $4, $5::bigint, ${NOW} FROM tables WHERE version <= ${VERSION}
  ON CONFLICT (id) DO UPDATE SET epoch = r.epoch + 1, token = excluded.token, key = excluded.key, host = excluded.host,
    pid = excluded.pid, since = excluded.since
  WHERE r.format <= ${FORMAT} AND (r.token IS NULL OR r.token = $2::uuid OR (r.token = $6::uuid AND r.key = $7::bigint))
  RETURNING epoch)
  SELECT version::text AS version, epoch::text AS epoch FROM tables LEFT JOIN taken ON true`

const attempt = async (
  keeper: ClaimKeeper,
  runId: string,
  token: string,
  { host, pid }: Owner,
  { takeOver = false }: ClaimOptions
): Promise<Attempt> => {
  const { database } = keeper
  const key = await keeper.liveness.key()
  if (E.isLeft(key)) return key
  let judged: Fields = {}
  for (let round = 0; round < MOST_ROUNDS; round++) {
    const values = [runId, token, key.right, host, pid, judged['token'] ?? null, judged['key'] ?? null]
    const taken = await send(database, { text: take(keeper), values })
    if (E.isLeft(taken)) return taken
    const [row = {}] = taken.right
    const newer = refuseNewer(database, Number(row['version']))
    if (E.isLeft(newer)) return newer
    if (typeof row['epoch'] === 'string') return E.right({ epoch: Number(row['epoch']), key: key.right })
    const current = await readRow(keeper, runId)
    if (E.isLeft(current)) return current
    judged = current.right ?? {}
    const checked = Contents.checkFormat(runId, Number(judged['format'] ?? 0), database.where('runs'))
    if (E.isLeft(checked)) return E.left(refused(checked.left))
    const holder = keeper.holderOf({ token: null, ...judged })
    if (holder !== undefined && !(takeOver && holder.liveness === 'undecided'))
      return E.left(refused({ _tag: 'HeldBy', runId, holder }))
  }
  return E.left(BUSY)
}

const BUSY: Failure<never> = {
  code: '55P03',
  cause: new Error('the row of the run changes all the time; try again'),
  isTransient: true,
  effect: 'none'
}

/** The newest revision in a row of `readRow`. */
const newestIn = ({ head, at }: Fields): Newest | undefined =>
  Number(head) < 0 ? undefined : { revision: Number(head), at: typeof at === 'string' ? at : undefined }

const readRow = async (keeper: ClaimKeeper, runId: string): Promise<E.Either<Failure<never>, Fields | undefined>> => {
  const { database } = keeper
  const text = `SELECT r.format, r.head::text AS head, r.epoch::text AS epoch, ${holderColumns(database)},
    (SELECT v.at FROM ${database.table('revisions')} v WHERE v.run = r.id AND v.revision = r.head) AS at
    FROM ${database.table('runs')} r WHERE r.id = $1`
  return E.map((rows: ReadonlyArray<Fields>) => rows[0])(await send(database, { text, values: [runId] }))
}

/** Clears the holder in the row of a run, if it still has the token. Even if that fails, this process counts the run as free. */
export const release = async (
  keeper: ClaimKeeper,
  runId: string,
  token: string
): Promise<E.Either<StorageError, void>> => {
  const { database } = keeper
  keeper.forget(token)
  const freed = await sendRepeatedly(database, {
    text: `UPDATE ${database.table('runs')} SET ${RELEASED} WHERE id = $1 AND token = $2::uuid`,
    values: [runId, token]
  })
  if (E.isRight(freed)) return E.right(undefined)
  keeper.clearLater(runId, token)
  return E.left(writeFailed(database, { table: 'runs', operation: 'UPDATE runs', runId })(freed.left))
}

/** Deletes everything that is stored under a run id, if the row of the run is still the one that was judged. */
export const remove = async (
  keeper: ClaimKeeper,
  runId: string,
  options: RemoveOptions = {}
): Promise<E.Either<StorageError, void>> => {
  const { database } = keeper
  const { table } = database
  const failed = writeFailed<StorageError>(database, { table: 'runs', operation: 'DELETE runs', runId })
  const rest =
    ['revisions', 'artifacts', 'requests']
      .map((name) => `${name} AS (DELETE FROM ${table(name)} d USING removed WHERE d.run = removed.id)`)
      .join(', ') + ' SELECT count(*)::text AS count FROM removed'
  const text = `WITH removed AS (DELETE FROM ${table('runs')} r WHERE r.id = $1 AND r.token IS NOT DISTINCT FROM $2::uuid
      AND r.key IS NOT DISTINCT FROM $3::bigint AND r.epoch = $4::bigint AND r.head = $5::bigint
      AND ($6::text IS NULL OR r.head < 0 OR EXISTS (SELECT FROM ${table('revisions')} v WHERE v.run = r.id AND v.revision = r.head AND v.at = $6))
    RETURNING r.id), ${rest}`
  // An id without a run may have artifacts.
  const loose = `WITH removed AS (SELECT $1::text AS id WHERE NOT EXISTS (SELECT FROM ${table('runs')} r WHERE r.id = $1)), ${rest}`
  const ready = await prepareToWrite(database)
  if (E.isLeft(ready)) return E.left(failed(ready.left))
  const result = await retry(database, async (): Promise<E.Either<Failure<StorageError>, void>> => {
    for (let round = 0; round < MOST_ROUNDS; round++) {
      const current = await readRow(keeper, runId)
      if (E.isLeft(current)) return current
      const row = current.right
      const holder = row === undefined ? undefined : keeper.holderOf(row)
      if (holder !== undefined) return E.left(refused({ _tag: 'HeldBy', runId, holder }))
      const checked = Contents.checkFormat(runId, Number(row?.['format'] ?? 0), database.where('runs'))
      if (E.isLeft(checked)) return E.left(refused(checked.left))
      const changed = changedSince(runId, options, row === undefined ? undefined : newestIn(row))
      if (changed !== undefined) return E.left(refused(changed))
      const { newest } = options
      const values = [
        runId,
        ...(row === undefined ? [] : [row['token'], row['key'], row['epoch'], row['head'], newest?.at ?? null])
      ]
      const deleted = await send(database, { text: row === undefined ? loose : text, values })
      if (E.isLeft(deleted)) return deleted
      if (deleted.right[0]?.['count'] === '1') return E.right(undefined)
    }
    return E.left(BUSY)
  })
  return E.mapLeft(failed)(result)
}
