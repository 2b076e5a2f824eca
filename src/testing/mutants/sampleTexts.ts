/**
 * How the sample store keeps a run: as a text of a {@link Disk}, read and written as a whole.
 *
 * @since 0.1.0
 */
import * as E from 'fp-ts/lib/Either.js'
import { sha256 } from '../../domain/Digest.js'
import type { Json } from '../../domain/Json.js'
import type { HistoryEntry, Holder, StorageError } from '../../ports/CheckpointStorage.js'
import type { Disk } from './Disk.js'
import type { Flaw } from './flaws.js'
import { mangleDates } from './flaws.js'

// ---------------------------------------------------------------------------------------------------------------------
// model
// ---------------------------------------------------------------------------------------------------------------------

export interface Kept {
  readonly revision: number
  readonly change: string
  readonly at: string
  readonly checkpoint: Json
}

/** `epoch` outlives release and removal, so that an old claim stays an old one. */
export interface Run {
  readonly format: number
  readonly epoch: number
  readonly held: (Holder & { readonly process: number }) | null
  readonly revisions: ReadonlyArray<Kept>
}

export const EMPTY: Run = { format: 1, epoch: 0, held: null, revisions: [] }

export type Answer<A> = Promise<E.Either<StorageError, A>>

/** One process's view of the store. */
export interface Instance {
  readonly disk: Disk
  readonly process: number
  readonly has: (flaw: Flaw) => boolean
  readonly held: Map<string, { readonly epoch: number; readonly lost: AbortController }>
  /** What a mutant goes by instead of the disk. */
  readonly remembered: Map<string, Run>
  readonly histories: Map<string, { readonly length: number; readonly entries: ReadonlyArray<HistoryEntry> }>
  readonly counted: Map<string, ReadonlyArray<Kept>>
  busy: boolean
}

// ---------------------------------------------------------------------------------------------------------------------
// texts
// ---------------------------------------------------------------------------------------------------------------------

export const textOf = (run: Run): string => {
  const body = JSON.stringify(run)
  return `${sha256(body)} ${body}`
}

/** The same text in a format of the future. */
export const newerText = (text: string): string =>
  textOf({ ...(JSON.parse(text.slice(text.indexOf(' ') + 1)) as Run), format: EMPTY.format + 1 })

const backupOf = (runId: string): string => `~${runId}`

export const read = async (instance: Instance, runId: string): Answer<Run> => {
  const { disk, has, remembered } = instance
  const known = remembered.get(runId)
  if (known !== undefined) return E.right(known)
  const text = await disk.read(runId)
  if (E.isLeft(text)) return unreadable(instance, runId, text.left)
  const run = text.right === undefined ? E.right(EMPTY) : parse(runId, text.right, has)
  if (E.isRight(run) && isForgetful(instance)) remembered.set(runId, run.right)
  return run
}

const isForgetful = ({ has }: Instance): boolean => has('remembers what it has read') || has('gives away what it keeps')

const unreadable = ({ disk, has }: Instance, runId: string, code: string): E.Either<StorageError, Run> => {
  if (has('takes what it can not read for nothing')) return E.right(EMPTY)
  const backup = disk.texts.get(backupOf(runId))
  return has('falls back to something older when it can not read') && backup !== undefined
    ? parse(runId, backup, has)
    : E.left({ _tag: 'ReadFailed', where: runId, operation: 'read', code, cause: code })
}

const parse = (runId: string, text: string, has: Instance['has']): E.Either<StorageError, Run> => {
  const [digest, body] = [text.slice(0, text.indexOf(' ')), text.slice(text.indexOf(' ') + 1)]
  if (sha256(body) !== digest && !has('does not look whether content is damaged')) {
    return has('takes damaged content for none')
      ? E.right(EMPTY)
      : E.left({ _tag: 'Corrupt', runId, where: runId, why: 'its digest is wrong' })
  }
  const run = JSON.parse(body, has('makes dates of texts') ? mangleDates : undefined) as Run
  return run.format > EMPTY.format && !has('reads newer formats')
    ? E.left({ _tag: 'UnsupportedFormat', runId, where: runId, found: run.format, supported: EMPTY.format })
    : E.right(run)
}

/** What is stored of a run becomes this. */
export const write = async (instance: Instance, runId: string, run: Run): Answer<void> => {
  const { disk, has, remembered, process } = instance
  const text = textOf(run)
  if (has('acknowledges before it writes')) {
    remembered.set(runId, run)
    setTimeout(() => {
      if (disk.processes.isAlive(process)) disk.texts.set(runId, text)
    }, 50)
    return E.right(undefined)
  }
  if (has('falls back to something older when it can not read'))
    disk.texts.set(backupOf(runId), disk.texts.get(runId) ?? text)
  if (has('calls what is too large a failed write') && text.length > 5_000_000)
    return E.left({ _tag: 'WriteFailed', where: runId, operation: 'write', code: 'EFBIG', cause: text.length })
  const written = await disk.write(runId, text)
  if (E.isLeft(written) && !has('swallows errors'))
    return E.left({ _tag: 'WriteFailed', where: runId, operation: 'write', code: written.left, cause: written.left })
  if (isForgetful(instance)) remembered.set(runId, run)
  return E.right(undefined)
}
