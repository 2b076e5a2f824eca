/**
 * How the sample store keeps a run: as a string on a {@link Disk}, with one line for the owner and one per revision. Each line
 * is signed with its run and number. The string is read and written as a whole.
 */
import * as E from 'fp-ts/lib/Either.js'
import type * as O from 'fp-ts/lib/Option.js'
import { sha256 } from '../../../src/domain/data/Digest.js'
import type { Summary } from '../../../src/domain/checkpoint/Summary.js'
import type { Json } from '../../../src/domain/data/Json.js'
import type { Found, HistoryEntry, Holder, StorageError, Stored } from '../../../src/ports/CheckpointStorage.js'
import type { RevisionOfRun } from '../../../src/testing/conformance/Spec.js'
import type { Disk } from './Disk.js'
import type { Flaw } from './flaws.js'
import { mangleDates } from './flaws.js'
import { LOST } from './Network.js'

export interface Kept {
  readonly revision: number
  readonly change: string
  readonly at: string
  readonly checkpoint: Json
  readonly summary: Summary
}

/** `epoch` outlives release and removal, so that an old claim stays an old one. */
interface Head {
  readonly format: number
  readonly epoch: number
  readonly held: (Omit<Holder, 'liveness'> & { readonly process: number }) | null
}

/** `damaged`: the raw lines from the first unreadable one on. */
export interface Run extends Head {
  readonly revisions: ReadonlyArray<Kept>
  readonly damaged: ReadonlyArray<string>
}

export const EMPTY: Run = { format: 1, epoch: 0, held: null, revisions: [], damaged: [] }

export type Answer<A> = Promise<E.Either<StorageError, A>>

/** One process's view of the store. */
export interface Instance {
  readonly disk: Disk
  readonly process: number
  /** The instance cannot know whether other processes live. */
  readonly isUnsure: boolean
  readonly has: (flaw: Flaw) => boolean
  readonly held: Map<string, { readonly epoch: number; readonly lost: AbortController }>
  /** Claims that this process has released or tried to, by {@link claimKey}; they hold no run, whatever the disk says. */
  readonly givenUp: Set<string>
  /** What a mutant uses instead of the disk. */
  readonly remembered: Map<string, Run>
  readonly histories: Map<string, { readonly length: number; readonly entries: ReadonlyArray<HistoryEntry> }>
  readonly counted: Map<string, ReadonlyArray<Kept>>
  readonly free: Set<string>
  readonly summaries: Map<string, Summary>
  /** Claims that have saved, by {@link claimKey}. */
  readonly savedBy: Set<string>
  /** Runs whose removal had no reply. */
  readonly removing: Set<string>
  /** Whether the process has slept. */
  hasSlept: boolean
  busy: boolean
}

/** The stored state of a run, as the store returns it. */
export type StoredAt = (instance: Instance, runId: string, run: Run) => E.Either<StorageError, O.Option<Stored>>

export const claimKey = (runId: string, epoch: number): string => `${epoch} ${runId}`

type Has = Instance['has']

const SOUND: Has = () => false

const SIGNATURE = 64

/** A line's signature covers its place, so it is invalid elsewhere. */
const signatureOf = (runId: string, number: number | 'head', body: string, has: Has): string => {
  const isUnsigned =
    has('signs revisions without their run') || (number === 0 && has('signs the first revision without its run'))
  const ofRun = isUnsigned && number !== 'head' ? '' : runId
  const ofNumber = has('signs revisions without their number') && number !== 'head' ? '' : number
  return sha256(`${ofRun} ${ofNumber} ${body}`)
}

const signed = (runId: string, number: number | 'head', body: string, has: Has): string =>
  `${signatureOf(runId, number, body, has)} ${body}`

export const textOf = (runId: string, { revisions, damaged, ...head }: Run, has: Has): string =>
  [
    signed(runId, 'head', JSON.stringify(head), has),
    ...revisions.map(({ revision, ...kept }) => `${revision} ${signed(runId, revision, JSON.stringify(kept), has)}`),
    ...damaged
  ].join('\n')

/** The same string in a newer format. */
export const newerText = (runId: string, text: string): string => {
  const [head = '', ...lines] = text.split('\n')
  const { format, ...rest } = JSON.parse(head.slice(SIGNATURE + 1)) as Head
  return [signed(runId, 'head', JSON.stringify({ format: format + 1, ...rest }), SOUND), ...lines].join('\n')
}

/** Exchanges the contents of two revisions, with their signatures but without their numbers. */
export const swapTexts = ({ texts }: Disk, one: RevisionOfRun, other: RevisionOfRun): void => {
  const lineOf = ({ runId, revision }: RevisionOfRun): string | undefined =>
    texts
      .get(runId)
      ?.split('\n')
      .find((line) => line.startsWith(`${revision} `))
  const contentOf = (line: string): string => line.slice(line.indexOf(' '))
  const lines = [lineOf(one), lineOf(other)] as const
  const put = ({ runId, revision }: RevisionOfRun, from: string | undefined, to: string | undefined): void => {
    if (from === undefined || to === undefined) return
    texts.set(
      runId,
      (texts.get(runId) ?? '').replace(from, () => `${revision}${contentOf(to)}`)
    )
  }
  put(one, ...lines)
  put(other, lines[1], lines[0])
}

const bodyOf = (runId: string, number: number | 'head', content: string, has: Has): string | undefined => {
  const [signature, body] = [content.slice(0, SIGNATURE), content.slice(SIGNATURE + 1)]
  const isSound = signature === signatureOf(runId, number, body, has)
  return isSound || has('does not detect damaged content') ? body : undefined
}

const parse = (runId: string, text: string, has: Has): E.Either<StorageError, Run> => {
  const [first = '', ...lines] = text.split('\n')
  const reviver = has('parses strings as dates') ? mangleDates : undefined
  const head = bodyOf(runId, 'head', first, has)
  if (head === undefined) return E.left(corrupt(runId))
  const revisions: Array<Kept> = []
  const { format, ...rest } = JSON.parse(head) as Head
  if (format > EMPTY.format && !has('reads newer formats'))
    return E.left({ _tag: 'UnsupportedFormat', runId, where: runId, found: format, supported: EMPTY.format })
  for (const [at, line] of lines.entries()) {
    const revision = Number(line.slice(0, line.indexOf(' ')))
    const body = bodyOf(runId, revision, line.slice(line.indexOf(' ') + 1), has)
    if (body === undefined) return E.right({ format, ...rest, revisions, damaged: lines.slice(at) })
    revisions.push({ revision, ...(JSON.parse(body, reviver) as Omit<Kept, 'revision'>) })
  }
  return E.right({ format, ...rest, revisions, damaged: [] })
}

const corrupt = (runId: string): StorageError => ({
  _tag: 'Corrupt',
  runId,
  where: runId,
  why: 'its signature is wrong'
})

/** How the rest of a run was found; an error if nothing is left. */
export const foundOf = (runId: string, { revisions, damaged }: Run): E.Either<StorageError, Found> => {
  if (damaged.length === 0) return E.right({ _tag: 'Exact' })
  const last = revisions.at(-1)
  return last === undefined
    ? E.left(corrupt(runId))
    : E.right({ _tag: 'Recovered', from: `revision ${last.revision}`, lost: `${damaged.length} revisions` })
}

const backupOf = (runId: string): string => `~${runId}`

export const read = async (instance: Instance, runId: string): Answer<Run> => {
  const { disk, has, remembered } = instance
  const known = remembered.get(runId)
  if (known !== undefined) return E.right(known)
  const text = await disk.read(runId)
  if (E.isLeft(text)) return unreadable(instance, runId, text.left)
  const run = runIn(runId, text.right, has)
  if (E.isRight(run) && isForgetful(instance)) remembered.set(runId, run.right)
  return run
}

const runIn = (runId: string, text: string | undefined, has: Has): E.Either<StorageError, Run> => {
  const run = text === undefined ? E.right(EMPTY) : parse(runId, text, has)
  const isDamaged = E.isRight(run) ? run.right.damaged.length > 0 : run.left._tag === 'Corrupt'
  return isDamaged && has('treats damaged content as missing') ? E.right(EMPTY) : run
}

const isForgetful = ({ has }: Instance): boolean => has('caches what it read') || has('returns its own objects')

const unreadable = ({ disk, has }: Instance, runId: string, code: string): E.Either<StorageError, Run> => {
  if (has('treats unreadable content as missing')) return E.right(EMPTY)
  if (has('takes a broken connection for a missing run') && LOST.includes(code)) return E.right(EMPTY)
  const backup = disk.texts.get(backupOf(runId))
  return has('returns an older revision if a read fails') && backup !== undefined
    ? parse(runId, backup, has)
    : E.left({ _tag: 'ReadFailed', where: runId, operation: 'read', code, cause: code })
}

/** Replaces the stored content of a run. */
export const write = async (instance: Instance, runId: string, run: Run): Answer<void> => {
  const { disk, has, remembered, process } = instance
  const text = textOf(runId, run, has)
  if (has('acknowledges before it writes')) {
    remembered.set(runId, run)
    setTimeout(() => {
      if (disk.processes.isAlive(process)) disk.texts.set(runId, text)
    }, 50)
    return E.right(undefined)
  }
  if (has('returns an older revision if a read fails')) disk.texts.set(backupOf(runId), disk.texts.get(runId) ?? text)
  if (has('reports a too large checkpoint as WriteFailed') && text.length > 5_000_000)
    return E.left(writeFailed(runId, 'EFBIG'))
  const written = await disk.write(runId, text)
  if (E.isLeft(written) && !has('swallows errors')) {
    if (has('says that nothing of a failed save is stored, and stores it')) disk.texts.set(runId, text)
    if (has('takes a broken connection for a commit') && written.left === 'ECONNRESET') return E.right(undefined)
    const failed = writeFailed(runId, written.left, has)
    return E.left(
      has('does not say whether a failed save is stored') ? ({ ...failed, committed: undefined } as never) : failed
    )
  }
  if (isForgetful(instance)) remembered.set(runId, run)
  return E.right(undefined)
}

export const writeFailed = (runId: string, code: string, has?: Has): StorageError => ({
  _tag: 'WriteFailed',
  committed: LOST.includes(code) && has?.('says that a save without a reply is not stored') !== true ? 'unknown' : 'no',
  where: runId,
  operation: 'write',
  code,
  cause: code
})

/** One statement that updates a run if `next` allows it; returns the run before it. */
export const change = async (
  { disk, has }: Instance,
  runId: string,
  next: (run: Run) => E.Either<StorageError, Run>
): Answer<Run> => {
  const changed = await disk.statement('write', (texts) => {
    const now = runIn(runId, texts.get(runId), has)
    const later = E.isLeft(now) ? now : next(now.right)
    if (E.isLeft(later)) return later
    texts.set(runId, textOf(runId, later.right, has))
    return now
  })
  return E.isLeft(changed) ? E.left(writeFailed(runId, changed.left, has)) : changed.right
}

/** One statement that reads a run. */
export const lookUp = async ({ disk, has }: Instance, runId: string): Answer<Run> => {
  const found = await disk.statement('read', (texts) => runIn(runId, texts.get(runId), has))
  return E.isLeft(found)
    ? E.left({ _tag: 'ReadFailed', where: runId, operation: 'read', code: found.left, cause: found.left })
    : found.right
}
