/** Decides who may write a run of the sample store. */
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import type {
  Claim,
  ClaimOptions,
  Holder,
  Liveness,
  RemoveOptions,
  StorageError
} from '../../../src/ports/CheckpointStorage.js'
import type { Instance, Run } from './sampleTexts.js'
import { claimKey } from './sampleTexts.js'

export const fenced = (runId: string, epoch: number, by: O.Option<number>): StorageError => ({
  _tag: 'Fenced',
  runId,
  epoch,
  by
})

/** The living owner of a run. */
export const holderOf = (instance: Instance, runId: string, run: Run): Holder | undefined => {
  const { has } = instance
  if (run.held === null || !isAlive(instance, runId, run, run.held)) return undefined
  const { process, ...owner } = run.held
  const liveness = livenessOf(instance, process)
  if (liveness === 'undecided' && has('treats undecided owners as dead')) return undefined
  const holder: Holder = { ...owner, liveness: has('reports undecided owners as alive') ? 'alive' : liveness }
  if (has('cuts host names at a colon')) return { ...holder, host: holder.host.split(':')[0] ?? '' }
  return has('reports a new `since` at each load') ? { ...holder, since: new Date().toISOString() } : holder
}

const livenessOf = ({ isUnsure, process: own, has }: Instance, process: number): Liveness =>
  isUnsure && (process !== own || has('takes over from itself')) ? 'undecided' : 'alive'

/** Whether a claim supersedes the owner. */
export const isTaken = ({ has }: Instance, { liveness }: Holder, { takeOver = false }: ClaimOptions): boolean =>
  takeOver && !has('does not take over') && (liveness === 'undecided' || has('takes over from owners that live'))

const isAlive = (
  { disk, has, givenUp, process: own }: Instance,
  runId: string,
  { epoch }: Run,
  { process, since }: NonNullable<Run['held']>
): boolean => {
  if (has('treats every owner as dead')) return false
  if (!disk.processes.isAlive(process)) return has('treats every owner as alive')
  if (process === own && givenUp.has(claimKey(runId, epoch))) return false
  const silentMillis = Date.now() - Date.parse(since)
  if (has('treats silent owners as dead')) return silentMillis <= 1_000
  if (has('renews no lease')) return silentMillis <= 5_000
  return !has('renews no lease that other processes read') || process === own || silentMillis <= 5_000
}

/** The error of a removal that names another revision than the newest of the run. */
export const changedSince = (
  has: Instance['has'],
  runId: string,
  { revisions }: Run,
  { newest }: RemoveOptions
): StorageError | undefined => {
  const found = revisions.at(-1)
  if (newest === undefined || has('ignores the revision that a removal names')) return undefined
  if (found === undefined && !has('refuses to remove a run that has no named revision')) return undefined
  const isSameTime = found?.at === newest.at || has('compares only the number of the revision that a removal names')
  if (found?.revision === newest.revision && isSameTime) return undefined
  return { _tag: 'RunChanged', runId, expected: newest.revision, found: found?.revision ?? -1 }
}

/** Only the newest claim may write, and only while it is held. */
export const isFenced = (instance: Instance, { epoch, held }: Run, claimed: Claim): boolean => {
  const { has, held: mine, givenUp, process, hasSlept } = instance
  if (has('holds one run at a time') && !mine.has(claimed.runId)) return true
  if (has('does not fence')) return held === null
  if (has('forgets a fenced claim')) return held !== null && epoch !== claimed.epoch
  if (hasSlept && has('lets an owner that slept go on writing')) return false
  // A failover may have lost the claim, and with it its epoch.
  const isByEpoch = has('fences by epoch alone') || has('forgets the epochs of a removed run')
  if (held !== null && held.process !== process && !isByEpoch) return true
  return held === null || epoch !== claimed.epoch || givenUp.has(claimKey(claimed.runId, claimed.epoch))
}

export const refuse = ({ held, has }: Instance, run: Run, { runId, epoch }: Claim): E.Either<StorageError, never> => {
  const error = fenced(runId, epoch, run.epoch > epoch ? O.some(run.epoch) : O.none)
  const mine = held.get(runId)
  const isMine = mine?.epoch === epoch || has('loses the current claim when another one is lost')
  if (isMine && !has('never reports a claim as lost')) mine?.lost.abort(error)
  return E.left(error)
}
