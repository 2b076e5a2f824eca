/** Claims, saves, releases and removes runs. Each call checks the claim in the transaction that writes. */
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import type { ReadonlyNonEmptyArray } from 'fp-ts/lib/ReadonlyNonEmptyArray.js'
import type {
  ClaimOptions,
  Owner,
  RemoveOptions,
  Revision,
  StorageError,
  Stored
} from '../../ports/CheckpointStorage.js'
import type { Newest } from '../../domain/checkpoint/RunChanged.js'
import { changedSince } from '../../domain/checkpoint/RunChanged.js'
import type { Content } from '../sql/Content.js'
import type { Limits, Save } from '../sql/Rows.js'
import { FORMAT, saveOf } from '../sql/Rows.js'
import type { Connection } from './Connection.js'
import { migrationsDue, read, sql, write } from './Connection.js'
import { lossIn } from './File.js'
import type { Holding } from './Holding.js'
import * as Holdings from './Holding.js'
import type { Membership, Owners } from './Owners.js'
import { enter, forget, newToken } from './Owners.js'
import type { RunRow } from './Runs.js'
import { contentOf, holderOf, runRow } from './Runs.js'

export interface Store {
  readonly connection: Connection
  readonly owners: Owners
  readonly limits: Limits
  readonly keep: number
  readonly checkIntervalMillis: number
}

export interface Granted {
  readonly holding: Holding
  readonly stored: O.Option<Stored>
}

/** The state of a run that a claim is based on, read before it writes anything. */
interface Basis {
  readonly run: RunRow | undefined
  readonly content: O.Option<Content>
}

const ATTEMPTS = 100

export const claim = async (
  store: Store,
  runId: string,
  owner: Owner,
  { takeOver = false }: ClaimOptions = {}
): Promise<E.Either<StorageError, Granted>> => {
  // `takeOver` applies only to the owner seen first.
  let undecided: string | undefined
  const mayTakeOver = ({ token }: RunRow): boolean => takeOver && (undecided ??= token) === token
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const basis = await readBasis(store, runId, mayTakeOver)
    if (E.isLeft(basis)) {
      if (await isOutdated(store, basis.left)) continue
      return basis
    }
    const granted = await grant(store, runId, owner, basis.right)
    if (E.isLeft(granted)) return granted
    if (O.isSome(granted.right)) return E.right(granted.right.value)
  }
  const cause = new Error(`another claim was quicker, ${ATTEMPTS} times; try again`)
  const { file } = store.connection
  return E.left({ _tag: 'WriteFailed', committed: 'no', where: file, operation: 'claim', code: 'EAGAIN', cause })
}

/** Reads a run, unless another owner holds it. A dead owner stays dead, so the write need not judge it again. */
const readBasis = (
  { connection, owners }: Store,
  runId: string,
  mayTakeOver: (run: RunRow) => boolean
): Promise<E.Either<StorageError, Basis>> =>
  read<Basis, StorageError>(connection, { runId }, () => {
    const run = runRow(connection, runId)
    if (run === undefined) return E.right({ run, content: O.none })
    const holder = holderOf(connection, owners, run)
    if (O.isSome(holder) && !(holder.value.liveness === 'undecided' && mayTakeOver(run)))
      return E.left({ _tag: 'HeldBy', runId, holder: holder.value })
    return E.map((content: O.Option<Content>): Basis => ({ run, content }))(contentOf(connection, run))
  })

/** Returns whether a refusal is outdated: between the reads of the row and of the lock file, the owner may have released the run. */
const isOutdated = async ({ connection }: Store, error: StorageError): Promise<boolean> => {
  if (error._tag !== 'HeldBy' || error.holder.liveness === 'alive') return false
  const now = await read<boolean, never>(connection, {}, () => {
    const run = runRow(connection, error.runId)
    return E.right(run === undefined || run.owner === null || run.since !== error.holder.since)
  })
  return E.isRight(now) && now.right
}

const UPSERT = `INSERT INTO runs (id, format, head, epoch, token, owner, host, pid, since) VALUES (?, ${FORMAT}, -1, ?, ?, ?, ?, ?, ?)
  ON CONFLICT (id) DO UPDATE SET epoch = excluded.epoch, token = excluded.token, owner = excluded.owner, host = excluded.host,
  pid = excluded.pid, since = excluded.since`

/** Takes the row of a run; returns none if the run changed since it was read. */
const grant = async (
  store: Store,
  runId: string,
  { host, pid }: Owner,
  { run, content }: Basis
): Promise<E.Either<StorageError, O.Option<Granted>>> => {
  const { connection, owners, checkIntervalMillis } = store
  const token = newToken()
  const entered = enter(owners, connection.file, token)
  if (E.isLeft(entered)) return entered
  const membership = entered.right
  const epoch = (run?.epoch ?? 0) + 1
  const since = new Date().toISOString()
  const claimed = await write<boolean, StorageError>(connection, { runId }, () => {
    const schema = migrationsDue(connection)
    if (E.isLeft(schema)) return schema
    if (!isSameRow(runRow(connection, runId), run)) return E.right(false)
    sql(connection, UPSERT).run(runId, epoch, token, membership.owner, host, pid, since)
    return E.right(true)
  })
  if (E.isLeft(claimed) || !claimed.right) {
    // A commit that failed may still have happened: then the database names this owner, and its lock file stays.
    membership.leave(E.isRight(claimed) || claimed.left._tag !== 'WriteFailed' || claimed.left.committed === 'no')
    return E.isLeft(claimed) ? claimed : E.right(O.none)
  }
  if (run?.owner !== undefined && run.owner !== null) await tidy(store, run.owner, membership)
  const head = run?.head ?? -1
  const revision = O.isSome(content) ? content.value.revision : -1
  const progress = { revision, head, baseBytes: 0, changeBytes: 0, sizeBytes: 0 }
  const holding = Holdings.make({ connection, token, membership, progress, runId, epoch, checkIntervalMillis })
  return E.right(O.some({ holding, stored: O.map((one: Content) => ({ ...one, heldBy: O.none }))(content) }))
}

const isSameRow = (now: RunRow | undefined, before: RunRow | undefined): boolean =>
  now?.token === before?.token && now?.owner === before?.owner && now?.head === before?.head

/** Deletes the lock file of a dead owner once no run names that owner. A file that stays does no harm. */
const tidy = async ({ connection, owners }: Store, owner: string, self?: Membership): Promise<void> => {
  if (owner === self?.owner) return
  const named = await read<boolean, never>(connection, {}, () =>
    E.right(sql(connection, 'SELECT id FROM runs WHERE owner = ? LIMIT 1').all(owner).length > 0)
  )
  if (E.isRight(named) && !named.right) forget(owners, connection.file, owner)
}

// --- saving

const ADVANCE = `UPDATE runs SET head = ?, summary = ? WHERE id = ? AND epoch = ? AND token = ? AND head = ? AND owner IS NOT NULL`

const INSERT = `INSERT INTO revisions (run, revision, epoch, kind, at, change, checkpoint, checksum) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`

/** Deletes revisions older than the oldest base to keep. */
const TRIM = `DELETE FROM revisions WHERE run = ? AND revision < (SELECT revision FROM revisions
  WHERE run = ? AND checkpoint IS NOT NULL ORDER BY revision DESC LIMIT 1 OFFSET ?)`

export const save = async (
  { limits, keep }: Store,
  holding: Holding,
  revisions: ReadonlyNonEmptyArray<Revision>
): Promise<E.Either<StorageError, void>> => {
  if (holding.ended !== undefined) return E.left(holding.ended)
  const { connection, claim } = holding
  const { runId, epoch, lost: signal } = claim
  let progress = holding.progress
  const makePlan = () => saveOf({ runId, epoch, where: `revisions of ${connection.file}` }, progress, revisions, limits)
  // Encodes the save before it takes the lock, because a base may be large.
  let plan = makePlan()
  const saved = await write<Save, StorageError>(
    connection,
    { runId, signal },
    () => {
      if (holding.ended !== undefined) return E.left(holding.ended)
      // Another save of this claim was written while this one waited for the lock.
      if (progress !== holding.progress) {
        progress = holding.progress
        plan = makePlan()
      }
      // `Fenced` takes precedence over an invalid save.
      if (E.isLeft(plan)) return isCurrent(holding) ? plan : Holdings.supersededBy(holding)
      return writeSave(holding, plan.right, keep) ? plan : Holdings.supersededBy(holding)
    },
    (save) => {
      holding.progress = save.progress
    }
  )
  return E.isRight(saved) ? E.right(undefined) : E.left(failedSave(holding, saved.left))
}

/** Writes a save. Returns false, with nothing written, if the claim was superseded. */
const writeSave = ({ connection, claim, token, progress }: Holding, save: Save, keep: number): boolean => {
  const { runId, epoch } = claim
  const { changes } = sql(connection, ADVANCE).run(save.head, save.summary, runId, epoch, token, progress.head)
  if (Number(changes) !== 1) return false
  if (save.replaces)
    sql(connection, 'DELETE FROM revisions WHERE run = ? AND revision > ?').run(runId, progress.revision)
  const insert = sql(connection, INSERT)
  for (const { revision, kind, at, change, checkpoint, checksum } of save.rows)
    insert.run(runId, revision, epoch, kind, at, change, checkpoint, checksum)
  if (save.hasBase) sql(connection, TRIM).run(runId, runId, keep - 1)
  return true
}

/** Returns whether the row still has the token of this claim. */
const isCurrent = ({ connection, claim, token }: Holding): boolean => runRow(connection, claim.runId)?.token === token

/** An invalid save leaves the claim as it was; after any other failure it is unusable. */
const failedSave = (holding: Holding, failure: StorageError): StorageError => {
  if (holding.ended !== undefined) return holding.ended
  const files = failure._tag === 'WriteFailed' ? lossIn(failure) : undefined
  const error = files === undefined ? failure : Holdings.lostWith(holding.claim, files)
  if (error._tag === 'Fenced') Holdings.lose(holding, error)
  else if (error._tag !== 'RevisionConflict' && error._tag !== 'TooLarge') Holdings.giveUp(holding, error)
  return error
}

// --- releasing and removing

const RELEASE = 'UPDATE runs SET owner = NULL WHERE id = ? AND epoch = ? AND token = ?'

export const release = async (holding: Holding): Promise<E.Either<StorageError, void>> => {
  const { connection, claim, token, membership } = holding
  const { runId, epoch } = claim
  const isLost = holding.ended?._tag === 'Fenced' && holding.ended.files !== undefined
  if (holding.released || isLost) return E.right(undefined)
  Holdings.end(holding, { _tag: 'Fenced', runId, epoch, by: O.none })
  const released = await write<void, never>(connection, { runId }, () => {
    sql(connection, RELEASE).run(runId, epoch, token)
    return E.right(undefined)
  })
  holding.released = E.isRight(released)
  membership.leave(holding.released)
  return released
}

const newestOf = (connection: Connection, { id, head }: RunRow): Newest | undefined => {
  if (head < 0) return undefined
  const row = sql(connection, 'SELECT at FROM revisions WHERE run = ? AND revision = ?').get(id, head) ?? undefined
  return { revision: head, at: (row as { readonly at: string } | undefined)?.at }
}

export const remove = async (
  store: Store,
  runId: string,
  options: RemoveOptions = {}
): Promise<E.Either<StorageError, void>> => {
  const { connection, owners } = store
  const removed = await write<string | null, StorageError>(connection, { runId }, () => {
    const run = runRow(connection, runId)
    const holder = run === undefined ? O.none : holderOf(connection, owners, run)
    if (O.isSome(holder)) return E.left<StorageError>({ _tag: 'HeldBy', runId, holder: holder.value })
    const newest = options.newest === undefined || run === undefined ? undefined : newestOf(connection, run)
    const changed = changedSince(runId, options, newest)
    if (changed !== undefined) return E.left(changed)
    for (const table of ['revisions', 'artifacts', 'requests'])
      sql(connection, `DELETE FROM ${table} WHERE run = ?`).run(runId)
    sql(connection, 'DELETE FROM runs WHERE id = ?').run(runId)
    return E.right(run?.owner ?? null)
  })
  if (E.isLeft(removed)) return removed
  if (removed.right !== null) await tidy(store, removed.right)
  return E.right(undefined)
}
