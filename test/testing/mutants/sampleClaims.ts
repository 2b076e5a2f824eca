/** Claims and releases of the sample store. */
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import type { Claim, Claimed, ClaimOptions, Owner, StorageError, Stored } from '../../../src/ports/CheckpointStorage.js'
import { summary } from '../../../src/testing/conformance/fixtures.js'
import { fenced, holderOf, isTaken } from './sampleHolders.js'
import type { Answer, Instance, Kept, Run, StoredAt } from './sampleTexts.js'
import { claimKey, EMPTY, read, textOf, write } from './sampleTexts.js'

const BEGUN: Kept = {
  revision: 0,
  change: 'Claimed',
  at: '2026-01-02T03:04:05.678Z',
  checkpoint: { format: 1 },
  summary: summary([1])
}

export const claim = async (
  instance: Instance,
  runId: string,
  owner: Owner,
  options: ClaimOptions,
  storedAt: StoredAt
): Answer<Claimed> => {
  const { disk, has, process } = instance
  const found = await read(instance, runId)
  if (E.isLeft(found)) return found
  const run = found.right
  const holder = holderOf(instance, runId, run)
  const held = { ...owner, since: new Date().toISOString(), process }
  if (holder !== undefined && !isTaken(instance, holder, options)) {
    if (has('records a refused claimant') && run.held !== null)
      await write(instance, runId, { ...run, held: { ...held, process: run.held.process } })
    return E.left({ _tag: 'HeldBy', runId, holder })
  }
  if (holder === undefined && options.takeOver === true && has('takes over only held runs'))
    return E.left(fenced(runId, run.epoch, O.none))
  const stored = storedAt(instance, runId, { ...run, held: null })
  if (E.isLeft(stored)) return stored
  const isShared = holder !== undefined && has('lets the superseded owner go on writing')
  const isUsedAgain = has('reuses an epoch after a release') && run.held === null && run.epoch > 0
  const now: Run = { ...run, epoch: isUsedAgain || isShared ? run.epoch : run.epoch + 1, held }
  const isBegun = has('writes a checkpoint at a claim') && run.revisions.length === 0
  const written = await write(instance, runId, isBegun ? { ...now, revisions: [BEGUN] } : now)
  if (E.isLeft(written)) return withoutReply(instance, runId, now.epoch, written)
  if (has('keeps its locks among the runs')) disk.texts.set(`${runId}.lock`, textOf(`${runId}.lock`, EMPTY, has))
  if (!has('reports the claimant as the holder')) return grant(instance, runId, now.epoch, stored.right)
  return E.chain((told: O.Option<Stored>) => grant(instance, runId, now.epoch, told))(storedAt(instance, runId, now))
}

/** The process of a claim that may be stored holds nothing. */
export const withoutReply = <A>({ has, givenUp }: Instance, runId: string, epoch: number, failed: A): A => {
  if (!has('holds a run whose claim had no reply')) givenUp.add(claimKey(runId, epoch))
  return failed
}

export const grant = (
  { disk, has, held, givenUp, counted, free }: Instance,
  runId: string,
  epoch: number,
  stored: O.Option<Stored>
): E.Either<StorageError, Claimed> => {
  if (has('holds one run at a time')) held.clear()
  const lost = new AbortController()
  held.set(runId, { epoch, lost })
  givenUp.delete(claimKey(runId, epoch))
  if (has('counts a save that failed') || has('counts its revisions itself')) counted.delete(runId)
  free.delete(runId)
  disk.processes.tell(runId, epoch)
  return E.right({ claim: { runId, epoch, lost: lost.signal }, stored })
}

/** From now on this process treats the claim as released, even if writing that fails. */
export const release = async (instance: Instance, claimed: Claim): Answer<void> => {
  const { has, givenUp, free, held } = instance
  const { runId, epoch } = claimed
  if (!has('holds a run whose release failed')) givenUp.add(claimKey(runId, epoch))
  const mine = held.get(runId)
  if (has('reports a claim as lost at its release') && mine?.epoch === epoch)
    mine.lost.abort(fenced(runId, epoch, O.none))
  const found = await read(instance, runId)
  if (E.isLeft(found)) return found
  const run = found.right
  if (run.epoch !== epoch && !has('lets a superseded owner release')) return E.right(undefined)
  free.add(runId)
  return write(instance, runId, { ...run, held: null })
}
