/** Saves of the sample store. */
import * as E from 'fp-ts/lib/Either.js'
import type { ReadonlyNonEmptyArray } from 'fp-ts/lib/ReadonlyNonEmptyArray.js'
import type { Json } from '../../../src/domain/data/Json.js'
import type { Claim, Revision, StorageError } from '../../../src/ports/CheckpointStorage.js'
import { cutTexts, rewriteTimes, shortenTimes, wellFormed, withoutProto } from './flaws.js'
import { isFenced, refuse } from './sampleHolders.js'
import type { Answer, Instance, Kept, Run } from './sampleTexts.js'
import { claimKey, foundOf, read, textOf, write, writeFailed } from './sampleTexts.js'

/** The number of kept revisions. */
const KEPT = 12

/** The bytes of the largest run that a mutant with a limit stores. */
const LIMIT = 5_000_000

export const save = async (
  instance: Instance,
  claimed: Claim,
  revisions: ReadonlyNonEmptyArray<Revision>
): Answer<void> => {
  const { has, disk } = instance
  const { runId } = claimed
  if (has('trusts its cached claim')) return saveByMemory(instance, claimed, revisions)
  const found = await read(instance, runId)
  if (E.isLeft(found)) return found
  if (isFenced(instance, found.right, claimed)) return refuse(instance, found.right, claimed)
  if (!has('checks its claim before it has the lock')) {
    const kept = await keep(instance, runId, found.right, revisions)
    const isRepeated =
      has('repeats a save without looking for it') && E.isLeft(kept) && kept.left._tag === 'WriteFailed'
    return isRepeated ? save(instance, claimed, revisions) : kept
  }
  return disk.exclusively(runId, async () => {
    const later = await read(instance, runId)
    return E.isLeft(later) ? later : keep(instance, runId, later.right, revisions)
  })
}

/** Trusts this process's state of the claim at the time of the call, unless another process has claimed the run since. */
const saveByMemory = async (
  instance: Instance,
  claimed: Claim,
  revisions: ReadonlyNonEmptyArray<Revision>
): Answer<void> => {
  const { runId, epoch } = claimed
  const isMine = instance.held.get(runId)?.epoch === epoch && !instance.givenUp.has(claimKey(runId, epoch))
  for (let n = 0; n < 8; n++) await new Promise((resolve) => setImmediate(resolve))
  return instance.disk.exclusively(runId, async () => {
    const found = await read(instance, runId)
    if (E.isLeft(found)) return found
    const isBelieved = isMine && found.right.held?.process === instance.process
    return isBelieved || !isFenced(instance, found.right, claimed)
      ? keep(instance, runId, found.right, revisions)
      : refuse(instance, found.right, claimed)
  })
}

const keep = async (
  instance: Instance,
  runId: string,
  run: Run,
  revisions: ReadonlyNonEmptyArray<Revision>
): Answer<void> => {
  const { has } = instance
  if (has('lets saves overtake one another')) return overtake(instance, runId, run, revisions)
  const next = withSaved(instance, runId, run, revisions)
  if (E.isLeft(next)) return next
  const bytes = countedBytes(instance, runId, run, next.right)
  if (bytes > LIMIT) return E.left({ _tag: 'TooLarge', runId, where: runId, bytes, limitBytes: LIMIT, biggest: [] })
  instance.savedBy.add(claimKey(runId, run.epoch))
  if (has('writes no more than a hundred revisions at once') && revisions.length > 100)
    return E.left(writeFailed(runId, 'E2BIG'))
  if (has('drops saves that come at the same time')) return saveUnlessBusy(instance, runId, next.right)
  if (has('writes the revisions of a save one by one')) return saveOneByOne(instance, runId, run, revisions)
  const last = revisions.at(-1)
  if (has('lists the summary of a save that failed') && last !== undefined)
    instance.summaries.set(runId, last.summary())
  if (has('prunes before it writes')) pruneAtOnce(instance, runId, run, next.right)
  const written = await write(instance, runId, next.right)
  noteFailure(instance, runId, next.right, E.isLeft(written))
  if (E.isLeft(written) && revisions.length > 1 && has('keeps a part of a save that failed'))
    instance.disk.texts.set(runId, textOf(runId, withRevisions(instance, run, revisions.slice(0, 1)), has))
  return written
}

/** The bytes that a mutant with a limit counts. */
const countedBytes = ({ has, savedBy }: Instance, runId: string, run: Run, next: Run): number => {
  const checksOnce = has('checks its limit only at the first save of a claim')
  const counts = has('counts characters against its limit after the first save of a claim')
  if (!checksOnce && !counts) return 0
  const text = textOf(runId, next, has)
  if (!savedBy.has(claimKey(runId, run.epoch))) return Buffer.byteLength(text)
  return checksOnce ? 0 : text.length
}

/** The run after a save, if the save follows the stored revision. */
export const withSaved = (
  instance: Instance,
  runId: string,
  run: Run,
  revisions: ReadonlyArray<Revision>
): E.Either<StorageError, Run> => {
  const { has, counted } = instance
  const found = foundOf(runId, run)
  if (E.isLeft(found)) return found
  const isCounted = has('counts a save that failed') || has('counts its revisions itself')
  const stored = (isCounted ? counted.get(runId) : undefined) ?? run.revisions
  const conflict = conflictOf(instance, stored, revisions)
  if (conflict !== undefined) return E.left({ _tag: 'RevisionConflict', runId, ...conflict })
  const isShort = has('loses the last of several revisions') && revisions.length > 1
  return E.right(withRevisions(instance, run, isShort ? revisions.slice(0, -1) : revisions))
}

const conflictOf = (
  { has }: Instance,
  stored: ReadonlyArray<Kept>,
  revisions: ReadonlyArray<Revision>
): { readonly expected: number; readonly found: number } | undefined => {
  if (has('lets the last save win')) return undefined
  let expected = stored.at(-1)?.revision ?? -1
  for (const { revision: found } of has('checks only the first revision of a save')
    ? revisions.slice(0, 1)
    : revisions) {
    expected += 1
    if (found !== expected) return { expected, found }
  }
  return undefined
}

/** The first save after damage drops the damaged lines. */
const withRevisions = ({ has }: Instance, run: Run, revisions: ReadonlyArray<Revision>): Run => {
  const first = revisions[0]?.revision ?? 0
  const last = (): Json => revisions.at(-1)?.checkpoint() ?? null
  const isFirst = has('keeps the summary of the first revision of a save')
  const added = revisions.map(({ revision, change, checkpoint, summary }): Kept => {
    const made = has('keeps the last checkpoint of a save for all its revisions') ? last() : checkpoint()
    return {
      revision,
      change: change._tag,
      at: change.at,
      checkpoint: asKept(has, made),
      summary: isFirst ? (revisions[0] as Revision).summary() : summary()
    }
  })
  const before = run.revisions.filter(({ revision }) => revision < first)
  const damaged = has('keeps damaged revisions behind new ones') ? run.damaged : []
  const isMoved = has('changes `since` at each save')
  const held = isMoved && run.held !== null ? { ...run.held, since: new Date().toISOString() } : run.held
  return { ...run, held, revisions: [...before, ...added].slice(-KEPT), damaged }
}

const asKept = (has: Instance['has'], checkpoint: Json): Json => {
  if (has('loses keys such as __proto__')) return withoutProto(checkpoint)
  if (has('replaces lone surrogates')) return wellFormed(checkpoint)
  if (has('composes characters')) return JSON.parse(JSON.stringify(checkpoint).normalize('NFC')) as Json
  if (has('rewrites times')) return JSON.parse(JSON.stringify(checkpoint), rewriteTimes) as Json
  if (has('drops trailing zeros of times')) return JSON.parse(JSON.stringify(checkpoint), shortenTimes) as Json
  if (has('truncates strings after twelve million characters'))
    return JSON.parse(JSON.stringify(checkpoint), cutTexts) as Json
  return checkpoint
}

const noteFailure = ({ has, remembered, counted }: Instance, runId: string, run: Run, hasFailed: boolean): void => {
  if (has('shows a save that failed')) {
    if (hasFailed) remembered.set(runId, run)
    else remembered.delete(runId)
  }
  if (has('counts its revisions itself') && !hasFailed) counted.set(runId, run.revisions)
  if (has('counts a save that failed')) {
    if (hasFailed) counted.set(runId, run.revisions)
    else counted.delete(runId)
  }
}

/** Deletes the oldest checkpoint first, which succeeds on a full disk, before the write that may fail. */
const pruneAtOnce = ({ disk, has }: Instance, runId: string, run: Run, next: Run): void => {
  const isKept = ({ revision }: Kept): boolean => next.revisions.some((one) => one.revision === revision)
  const pruned = run.revisions.map((one) => (isKept(one) ? one : { ...one, checkpoint: null }))
  disk.texts.set(runId, textOf(runId, { ...run, revisions: pruned }, has))
}

/** Counts the revisions at once; the longer the run, the sooner they are written. */
const overtake = async (
  instance: Instance,
  runId: string,
  run: Run,
  revisions: ReadonlyArray<Revision>
): Answer<void> => {
  const { counted } = instance
  const stored = counted.get(runId) ?? run.revisions
  const conflict = conflictOf(instance, stored, revisions)
  if (conflict !== undefined) return E.left({ _tag: 'RevisionConflict', runId, ...conflict })
  const next = withRevisions(instance, { ...run, revisions: stored }, revisions)
  counted.set(runId, next.revisions)
  await new Promise((resolve) => setTimeout(resolve, 40 / next.revisions.length))
  return write(instance, runId, next)
}

const saveUnlessBusy = async (instance: Instance, runId: string, next: Run): Answer<void> => {
  if (instance.busy) return E.right(undefined)
  instance.busy = true
  const written = await write(instance, runId, next)
  instance.busy = false
  return written
}

const saveOneByOne = async (
  instance: Instance,
  runId: string,
  run: Run,
  revisions: ReadonlyArray<Revision>
): Answer<void> => {
  let reached = run
  for (const one of revisions) {
    reached = withRevisions(instance, reached, [one])
    const written = await write(instance, runId, reached)
    if (E.isLeft(written)) return written
    await new Promise((resolve) => setTimeout(resolve, 1))
  }
  return E.right(undefined)
}
