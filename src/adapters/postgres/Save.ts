/** Saves revisions: one statement that moves the head of the run only if the claim still stands, and inserts the rows only then. */
import * as E from 'fp-ts/lib/Either.js'
import type { ReadonlyNonEmptyArray } from 'fp-ts/lib/ReadonlyNonEmptyArray.js'
import type { Fenced, Revision, StorageError } from '../../ports/CheckpointStorage.js'
import type { Limits, Row, Save } from '../sql/Rows.js'
import { saveOf } from '../sql/Rows.js'
import { durableSettings, retry, send, weakSetting, writeFailed } from './Database.js'
import type { Fields } from '../sql/Table.js'
import type { Failure } from './Failure.js'
import { refused } from './Failure.js'
import type { Holding, ClaimKeeper } from './ClaimKeeper.js'
import { fencedBy } from './ClaimKeeper.js'
import type { StatementOf } from './Statements.js'

export interface SaveOptions extends Limits {
  readonly statementOf: StatementOf
}

/** How often a save also reads whether the run has requests: reading that takes a tenth of the time of a save. */
const INBOX_MILLIS = 50

/** Saves revisions, after earlier saves of the claim. After a failed save the claim cannot save, unless the save was refused for its revisions. */
export const save = (
  keeper: ClaimKeeper,
  holding: Holding,
  revisions: ReadonlyNonEmptyArray<Revision>,
  options: SaveOptions
): Promise<E.Either<StorageError, void>> => {
  const next = holding.last.then(() => saveNext(keeper, holding, revisions, options))
  holding.last = next
  return next
}

const saveNext = async (
  keeper: ClaimKeeper,
  holding: Holding,
  revisions: ReadonlyNonEmptyArray<Revision>,
  options: SaveOptions
): Promise<E.Either<StorageError, void>> => {
  const { database } = keeper
  const { claim, progress } = holding
  if (holding.failed !== undefined) return E.left(holding.failed)
  const planned = saveOf({ ...claim, where: database.where('revisions') }, progress, revisions, options)
  if (E.isLeft(planned)) return E.left(await superseded(keeper, holding, planned.left))
  const result = await retry(database, (nth) => attempt(keeper, holding, planned.right, options, nth > 0), claim.lost)
  const failed = writeFailed<StorageError>(database, { table: 'runs', operation: 'UPDATE runs', runId: claim.runId })
  const saved = E.bimap(failed, () => undefined)(result)
  if (E.isRight(saved)) holding.progress = planned.right.progress
  else fail(keeper, holding, saved.left)
  return saved
}

const fail = (keeper: ClaimKeeper, holding: Holding, error: StorageError): void => {
  if (error._tag === 'RevisionConflict') return
  holding.failed = error
  if (error._tag === 'Fenced') keeper.lose(holding, error)
}

/** Returns `Fenced` if the claim was superseded, else the error of the invalid save. */
const superseded = async (keeper: ClaimKeeper, holding: Holding, error: StorageError): Promise<StorageError> => {
  const row = await retry(keeper.database, () => rowOf(keeper, holding.claim.runId), holding.claim.lost)
  const fenced = E.isRight(row) ? fencedIn(keeper, holding, row.right) : undefined
  if (fenced !== undefined) fail(keeper, holding, fenced)
  return fenced ?? error
}

const fencedIn = ({ database }: ClaimKeeper, { claim, token }: Holding, row: Fields | undefined): Fenced | undefined =>
  row?.['token'] === token && Number(row['epoch']) === claim.epoch
    ? undefined
    : fencedBy(claim, row ?? 'removed', database)

/** Reads the row of a run, and as `saved` whether exactly this row of a revision is stored. */
const rowOf = async (
  { database: { pool, table } }: ClaimKeeper,
  runId: string,
  { revision, epoch, checksum }: Pick<Row, 'revision' | 'epoch' | 'checksum'> = {
    revision: -1,
    epoch: -1,
    checksum: ''
  }
): Promise<E.Either<Failure<never>, Fields | undefined>> => {
  const rows = await send(
    { pool },
    {
      text: `SELECT r.token::text AS token, r.epoch::text AS epoch, r.head::text AS head, EXISTS (SELECT FROM ${table('revisions')} v
        WHERE v.run = r.id AND v.revision = $2::bigint AND v.epoch = $3::bigint AND v.checksum = $4) AS saved,
        current_setting('synchronous_commit') AS setting
      FROM ${table('runs')} r WHERE r.id = $1`,
      values: [runId, revision, epoch, checksum]
    }
  )
  return E.map(([row]: ReadonlyArray<Fields>) => row)(rows)
}

/** Sends a save, unless an earlier attempt, which may still be waiting for the row, has committed it. */
const attempt = async (
  keeper: ClaimKeeper,
  holding: Holding,
  planned: Save,
  options: SaveOptions,
  isRepeated: boolean
): Promise<E.Either<Failure<StorageError>, unknown>> => {
  if (isRepeated) {
    const verdict = await judge(keeper, holding, planned)
    if (E.isLeft(verdict) || verdict.right === 'committed') return verdict
  }
  const { database } = keeper
  const { claim, token, progress } = holding
  const now = performance.now()
  const readsInbox = now - holding.inboxReadAt >= INBOX_MILLIS
  const claimValues = [
    claim.runId,
    claim.epoch,
    token,
    progress.head,
    planned.head,
    planned.summary,
    durableSettings(database)
  ]
  const sent = await send(database, options.statementOf(planned, { readsInbox, claimValues }))
  if (E.isLeft(sent)) return sent
  const [row] = sent.right
  if (row !== undefined) {
    const hasRequests = row['has_requests']
    if (typeof hasRequests === 'boolean') {
      holding.inboxReadAt = now
      if (keeper.held.has(token)) keeper.inboxes.set(claim.runId, hasRequests)
    }
    return sent
  }
  const verdict = await judge(keeper, holding, planned)
  return E.isRight(verdict) && verdict.right === 'stands' ? E.left(UNCLEAR) : verdict
}

const UNCLEAR: Failure<never> = {
  code: '40001',
  cause: new Error('the row of the run changed and changed back; try again'),
  isTransient: true,
  effect: 'none'
}

/** Returns `stands` if the save may be sent, `committed` if an earlier attempt committed it; fails if the row is unreadable or the save refused. */
const judge = async (
  keeper: ClaimKeeper,
  holding: Holding,
  { rows }: Save
): Promise<E.Either<Failure<StorageError>, 'stands' | 'committed'>> => {
  const { claim, progress } = holding
  const current = await rowOf(keeper, claim.runId, rows[rows.length - 1])
  if (E.isLeft(current)) return current
  const row = current.right
  if (row?.['saved'] === true) return E.right('committed')
  const fenced = fencedIn(keeper, holding, row)
  if (fenced !== undefined) return E.left(refused(fenced))
  const setting = String(row?.['setting'])
  if (!durableSettings(keeper.database).includes(setting)) return E.left(weakSetting(`synchronous_commit=${setting}`))
  const head = Number(row?.['head'])
  if (head === progress.head) return E.right('stands')
  return E.left(refused({ _tag: 'RevisionConflict', runId: claim.runId, expected: head + 1, found: rows[0].revision }))
}
