/** The state of a claim that this process holds. */
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import type { Claim, Fenced, LostFiles, StorageError } from '../../ports/CheckpointStorage.js'
import type { Progress } from '../sql/Rows.js'
import type { Connection } from './Connection.js'
import { sql } from './Connection.js'
import { lossOf } from './File.js'
import type { Membership } from './Owners.js'

export interface Holding {
  readonly connection: Connection
  readonly claim: Claim
  readonly token: string
  readonly membership: Membership
  readonly lose: (error: StorageError) => void
  timer: NodeJS.Timeout | undefined
  progress: Progress
  /** The error of all later saves, once the claim has been fenced or released, or a write has failed. */
  ended: StorageError | undefined
  released: boolean
}

/** Creates the holding of a granted claim and checks its ownership regularly. */
export const make = (
  parts: Pick<Holding, 'connection' | 'token' | 'membership' | 'progress'> & {
    readonly runId: string
    readonly epoch: number
    readonly checkIntervalMillis: number
  }
): Holding => {
  const { runId, epoch, checkIntervalMillis, ...rest } = parts
  const lost = new AbortController()
  const self: Holding = {
    ...rest,
    claim: { runId, epoch, lost: lost.signal },
    lose: (error) => lost.abort(error),
    timer: undefined,
    ended: undefined,
    released: false
  }
  self.timer = setInterval(() => checkOwner(self), checkIntervalMillis)
  self.timer.unref()
  return self
}

interface ClaimRow {
  readonly epoch: number
  readonly token: string
}

const claimRow = ({ connection, claim }: Holding): ClaimRow | undefined =>
  (sql(connection, 'SELECT epoch, token FROM runs WHERE id = ?').get(claim.runId) ?? undefined) as ClaimRow | undefined

/** Ends a holding that is lost. A check that cannot read proves nothing, so the next save repeats it. */
const checkOwner = (self: Holding): void => {
  const { connection, claim } = self
  let now: ClaimRow | undefined
  let files: LostFiles | undefined
  try {
    files = lossOf(connection.database, connection.file)
    now = claimRow(self)
  } catch {
    return
  }
  if (files !== undefined) lose(self, lostWith(claim, files))
  else if (now?.token !== self.token) lose(self, fencedBy(self, now))
}

/** The error of a claim whose database is no longer at its path. */
export const lostWith = ({ runId, epoch }: Claim, files: LostFiles): Fenced => ({
  _tag: 'Fenced',
  runId,
  epoch,
  by: O.none,
  files
})

/** Returns why a statement that names the claim changed no row. */
export const supersededBy = (self: Holding): E.Either<Fenced, never> => E.left(fencedBy(self, claimRow(self)))

const fencedBy = ({ claim: { runId, epoch } }: Holding, now: ClaimRow | undefined): Fenced => ({
  _tag: 'Fenced',
  runId,
  epoch,
  by: now !== undefined && now.epoch > epoch ? O.some(now.epoch) : O.none
})

/** Ends a superseded holding, or one of a lost database, and fires `lost`. Keeps the lock file of a lost database, which may be put back. */
export const lose = (self: Holding, error: Fenced): void => {
  end(self, error)
  self.membership.leave(error.files === undefined)
  self.lose(error)
}

/** Ends a holding after a failed write. The same process can claim the run again at once. */
export const giveUp = (self: Holding, error: StorageError): void => {
  end(self, error)
  self.membership.leave(false)
}

/** Stops the timer. Later saves fail with the first error. */
export const end = (self: Holding, error: StorageError): void => {
  self.ended ??= error
  clearInterval(self.timer)
}
