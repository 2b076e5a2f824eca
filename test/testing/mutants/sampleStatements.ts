/**
 * The sample store on a database: each function is one atomic statement, without locks. A mutant splits a statement in two, and
 * another call comes between only if the second one waits below the store.
 */
import * as E from 'fp-ts/lib/Either.js'
import type * as O from 'fp-ts/lib/Option.js'
import type { ReadonlyNonEmptyArray } from 'fp-ts/lib/ReadonlyNonEmptyArray.js'
import type {
  Claim,
  Claimed,
  ClaimOptions,
  Owner,
  RemoveOptions,
  Revision,
  Stored
} from '../../../src/ports/CheckpointStorage.js'
import { grant, withoutReply } from './sampleClaims.js'
import { changedSince, holderOf, isFenced, isTaken, refuse } from './sampleHolders.js'
import { withSaved } from './sampleSaves.js'
import type { Answer, Instance, Run, StoredAt } from './sampleTexts.js'
import { change, claimKey, read } from './sampleTexts.js'

/** The flaws of a store that works in statements. */
export const IN_STATEMENTS = [
  'checks its claim in a statement before the save',
  'loads in two statements',
  'draws an epoch in a statement before the claim',
  'reads what is stored in a statement before the claim',
  'checks the holder in a statement before the claim',
  'checks the holder in a statement before a removal of any revision',
  'checks the revision in a statement before the removal',
  'checks whose revision it is in a statement before the removal',
  'relies on a dead owner to save no more',
  'checks its claim in a statement before the release'
] as const

export const claimInStatements = async (
  instance: Instance,
  runId: string,
  owner: Owner,
  options: ClaimOptions,
  storedAt: StoredAt
): Answer<Claimed> => {
  const { has, process } = instance
  const first = await read(instance, runId)
  if (E.isLeft(first)) return first
  const held = { ...owner, since: new Date().toISOString(), process }
  const epochAfter = (now: Run): number =>
    1 + (has('draws an epoch in a statement before the claim') ? first.right.epoch : now.epoch)
  const storedIn = (now: Run): ReturnType<StoredAt> =>
    storedAt(instance, runId, {
      ...(has('reads what is stored in a statement before the claim') ? first.right : now),
      held: null
    })
  const before = await change(instance, runId, (now) => {
    const run = has('checks the holder in a statement before the claim') ? first.right : now
    const holder = holderOf(instance, runId, run)
    if (holder !== undefined && !isTaken(instance, holder, options)) return E.left({ _tag: 'HeldBy', runId, holder })
    return E.map(() => ({ ...now, epoch: epochAfter(now), held }))(storedIn(now))
  })
  if (E.isLeft(before))
    return before.left._tag === 'WriteFailed' ? withoutReply(instance, runId, epochAfter(first.right), before) : before
  const granted = (stored: O.Option<Stored>) => grant(instance, runId, epochAfter(before.right), stored)
  return E.chain(granted)(storedIn(before.right))
}

export const saveInStatements = async (
  instance: Instance,
  claimed: Claim,
  revisions: ReadonlyNonEmptyArray<Revision>
): Answer<void> => {
  const { runId } = claimed
  const first = await read(instance, runId)
  if (E.isLeft(first)) return first
  const isFirstEnough = instance.has('checks its claim in a statement before the save')
  return done(
    await change(instance, runId, (now) => {
      const run = isFirstEnough ? first.right : now
      return isFenced(instance, run, claimed)
        ? refuse(instance, run, claimed)
        : withSaved(instance, runId, now, revisions)
    })
  )
}

export const releaseInStatements = async (instance: Instance, { runId, epoch }: Claim): Answer<void> => {
  instance.givenUp.add(claimKey(runId, epoch))
  const first = await read(instance, runId)
  if (E.isLeft(first)) return first
  const isFirstEnough = instance.has('checks its claim in a statement before the release')
  return done(
    await change(instance, runId, (now) => {
      const run = isFirstEnough ? first.right : now
      return E.right(run.epoch === epoch ? { ...now, held: null } : now)
    })
  )
}

export const removeInStatements = async (
  instance: Instance,
  runId: string,
  options: RemoveOptions = {}
): Answer<void> => {
  const { has } = instance
  const first = await read(instance, runId)
  if (E.isLeft(first)) return first
  const isFirstEnough =
    has('checks the holder in a statement before a removal of any revision') && options.newest === undefined
  const hadDeadOwner = first.right.held !== null && holderOf(instance, runId, first.right) === undefined
  const isFirstNewest = ({ revisions }: Run): boolean =>
    has('checks the revision in a statement before the removal') ||
    (has('relies on a dead owner to save no more') && hadDeadOwner) ||
    (has('checks whose revision it is in a statement before the removal') &&
      revisions.length === first.right.revisions.length)
  return done(
    await change(instance, runId, (now) => {
      const holder = holderOf(instance, runId, isFirstEnough ? first.right : now)
      if (holder !== undefined) return E.left({ _tag: 'HeldBy', runId, holder })
      const changed = changedSince(has, runId, isFirstNewest(now) ? first.right : now, options)
      return changed === undefined ? E.right({ ...now, held: null, revisions: [], damaged: [] }) : E.left(changed)
    })
  )
}

const done = E.map((): void => undefined)
