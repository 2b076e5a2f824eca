/** Publishes a journal under a number that one process can get, and checks if a number is still the highest (`docs/file-format.md` §3, §4.2). */
import * as E from 'fp-ts/lib/Either.js'
import type { Summary } from '../../../domain/checkpoint/Summary.js'
import type { StorageError } from '../../../ports/CheckpointStorage.js'
import type { Context } from '../Context.js'
import { beforeWriting, codeOf, quietly, reading, writeFailed, writing } from '../files/Fault.js'
import type { FileStats, FileSystem } from '../files/FileSystem.js'
import { namesIn, sync, writeFully } from '../files/Files.js'
import type { ClaimRecord, FoundRecord } from './Journal.js'
import { FORMAT } from './Journal.js'
import * as Layout from '../files/Layout.js'
import * as Line from './Line.js'

/** A journal without a number: a file of this claim in the history folder. */
export interface Unpublished {
  readonly path: string
  readonly fd: number
}

/** A journal of this process. `place`: its path, if `/proc` shows it; `position`: where the next line starts; `allocated`: the file's length. */
export interface Published {
  readonly number: number
  readonly path: string
  readonly next: string
  readonly fd: number
  readonly place: string | undefined
  readonly dev: bigint
  readonly ino: bigint
  position: number
  allocated: number
}

/** `Taken`: another process has the number. `Removed`: the run was removed. `Stale`: a higher number exists, or the file was deleted. */
export type Publication =
  | { readonly _tag: 'Published'; readonly journal: Published }
  | { readonly _tag: 'Taken' }
  | { readonly _tag: 'Removed' }
  | { readonly _tag: 'Stale' }

/** `Superseded`: the next number exists. `Missing`: the journal's name no longer leads to its file. */
export type Ownership = 'Owner' | 'Superseded' | 'Missing'

/** Creates the `nth` unpublished journal of a claim. Must run before the listing that determines its number. */
export const prepare = async (
  { fs }: Context,
  layout: Layout.Layout,
  token: string,
  nth: number
): Promise<E.Either<StorageError, Unpublished>> => {
  const path = Layout.unpublished(layout, token, nth)
  const fd = await beforeWriting(path, 'open', () => fs.open(path, 'create'))
  return E.isLeft(fd) ? fd : E.right({ path, fd: fd.right })
}

export const discard = async ({ fs }: Context, { path, fd }: Unpublished): Promise<void> => {
  await quietly(() => fs.unlinkSync(path))
  await quietly(() => fs.close(fd))
}

/** `facts`: what a listing shows without reading the rest of the journal. */
export const releasedLine = (revision = -1, facts: Partial<ReleasedFacts> = {}): Buffer =>
  Line.encode(
    JSON.stringify({ kind: 'released', at: new Date().toISOString(), ...(revision < 0 ? {} : { revision }), ...facts })
  )

/** The run's newest summary, and the run and journal that it belongs to. */
export interface ReleasedFacts extends Pick<ClaimRecord, 'runId' | 'epoch'> {
  readonly summary: Summary
}

export const foundLine = (found: FoundRecord): Buffer => Line.encode(JSON.stringify({ kind: 'found', ...found }))

/** Publishes a journal under the number in its claim. If that fails, adds a released line: the journal may have got the number. */
export const publish = async (
  context: Context,
  layout: Layout.Layout,
  file: Unpublished,
  record: ClaimRecord
): Promise<E.Either<StorageError, Publication>> => {
  const number = record.epoch
  const bytes = claimLine(record)
  // A power cut that takes the name of the file would take its saves too; the claim of a removal acknowledges none.
  const isNameDurable = record.removal === undefined
  const published = await publishBytes(context, layout, file, { number, bytes, isNameDurable })
  if (E.isLeft(published) || published.right._tag !== 'Published') {
    await writeFully(context.fs, file.path, file.fd, releasedLine(), bytes.length)
  }
  await quietly(() => context.fs.close(file.fd))
  return published
}

/**
 * Creates the file for the next number, then checks the ownership, because after a removal the file may be in the folder of a new run with the same
 * id. Returns the ownership if this process is not the owner.
 */
export const prepareNext = async (
  context: Context,
  layout: Layout.Layout,
  journal: Published,
  token: string
): Promise<E.Either<StorageError, Unpublished | Exclude<Ownership, 'Owner'>>> => {
  const file = await prepare(context, layout, token, journal.number + 1)
  if (E.isLeft(file)) return file
  const now = ownership(context.fs, journal)
  if (E.isRight(now) && now.right === 'Owner') return file
  await discard(context, file.right)
  return E.isLeft(now) ? now : E.right(now.right as Exclude<Ownership, 'Owner'>)
}

/** Releases a claim whose journal cannot be written: publishes a journal with the next number and a released line. */
export const publishEnd = async (
  context: Context,
  layout: Layout.Layout,
  journal: Published,
  record: ClaimRecord
): Promise<E.Either<StorageError, void>> => {
  const number = journal.number + 1
  const file = await prepareNext(context, layout, journal, record.token)
  if (E.isLeft(file)) return file
  if (typeof file.right === 'string') return E.right(undefined)
  const { fd } = file.right
  const bytes = Buffer.concat([claimLine({ ...record, epoch: number }), releasedLine()])
  const published = await publishBytes(context, layout, file.right, { number, bytes, isNameDurable: true })
  await quietly(() => context.fs.close(fd))
  if (E.isLeft(published)) return published
  if (published.right._tag !== 'Published') return E.right(undefined)
  const { journal: ended } = published.right
  await quietly(() => context.fs.close(ended.fd))
  return E.right(undefined)
}

/** Identifying fields first, for human readers. */
const claimLine = ({ runId, epoch, lineage, ...record }: ClaimRecord): Buffer =>
  Line.encode(JSON.stringify({ kind: 'claim', format: FORMAT, runId, epoch, lineage, ...record }))

/** Leaves the file open, because `publish` may append a released line. */
const publishBytes = async (
  context: Context,
  layout: Layout.Layout,
  file: Unpublished,
  { number, bytes, isNameDurable }: { readonly number: number; readonly bytes: Buffer; readonly isNameDurable: boolean }
): Promise<E.Either<StorageError, Publication>> => {
  const path = Layout.journal(layout, number)
  const linked = await fillAndLink(context, file, bytes, path)
  await quietly(() => context.fs.unlinkSync(file.path))
  if (E.isLeft(linked)) return linked
  if (linked.right._tag !== 'Linked') return E.right(linked.right)
  const durable = await writing(layout.history, 'fsync', async () => {
    if (isNameDurable) await context.fs.fsyncFolder(layout.history)
  })
  if (E.isLeft(durable)) return durable
  return reopen(context, layout, { path, number, length: bytes.length, stats: linked.right.stats })
}

interface Linked {
  readonly path: string
  readonly number: number
  readonly length: number
  readonly stats: FileStats
}

type Linking =
  { readonly _tag: 'Linked'; readonly stats: FileStats } | { readonly _tag: 'Taken' } | { readonly _tag: 'Removed' }

/** The journal is complete and synced before it has a name; of several processes that link the same name, one succeeds. */
const fillAndLink = async (
  { fs }: Context,
  file: Unpublished,
  bytes: Buffer,
  path: string
): Promise<E.Either<StorageError, Linking>> => {
  const written = await writeFully(fs, file.path, file.fd, bytes, 0)
  // Without a name the journal does not count.
  if (E.isLeft(written)) return E.left({ ...written.left, committed: 'no' })
  const durable = await sync(fs, file.path, file.fd)
  if (E.isLeft(durable)) return E.left({ ...durable.left, committed: 'no' })
  const stats = await reading(file.path, 'fstat', () => fs.fstat(file.fd))
  if (E.isLeft(stats)) return stats
  try {
    await fs.link(file.path, path)
    return E.right({ _tag: 'Linked', stats: stats.right })
  } catch (cause) {
    if (codeOf(cause) === 'EEXIST') return E.right({ _tag: 'Taken' })
    return codeOf(cause) === 'ENOENT' ? E.right({ _tag: 'Removed' }) : E.left(writeFailed(path, 'link', cause))
  }
}

/** Opens the journal by its new name and lists again, because a slow process may have linked an outdated number. */
const reopen = async (
  context: Context,
  layout: Layout.Layout,
  linked: Linked
): Promise<E.Either<StorageError, Publication>> => {
  const { fs } = context
  const { path } = linked
  const fd = await writing(path, 'open', () => fs.open(path, 'write'))
  if (E.isLeft(fd)) return fd.left.code === 'ENOENT' ? E.right({ _tag: 'Stale' }) : fd
  const result = await confirm(context, layout, linked, fd.right)
  if (E.isLeft(result) || result.right._tag !== 'Published') await quietly(() => fs.close(fd.right))
  return result
}

const confirm = async (
  context: Context,
  layout: Layout.Layout,
  { path, number, length, stats: { dev, ino } }: Linked,
  fd: number
): Promise<E.Either<StorageError, Publication>> => {
  const { fs } = context
  const stats = await reading(path, 'fstat', () => fs.fstat(fd))
  if (E.isLeft(stats)) return stats
  if (stats.right.dev !== dev || stats.right.ino !== ino) return E.right({ _tag: 'Stale' })
  const next = Layout.journal(layout, number + 1)
  const place = await reading(path, 'readlink', () => fs.placeSync(fd))
  if (E.isLeft(place) && place.left.code !== 'ENOENT') return place
  const openPath = E.isRight(place) ? place.right : undefined
  const journal: Published = { number, path, next, fd, place: openPath, dev, ino, position: length, allocated: length }
  const names = await namesIn(fs, layout.history)
  if (E.isLeft(names)) return names
  // Compares by name once: if the folder moved before `place` was read, `place` would still match.
  const now = ownership(fs, { ...journal, place: undefined })
  if (E.isLeft(now)) return now
  return E.right(
    Layout.numbers(names.right)[0] === number && now.right === 'Owner'
      ? { _tag: 'Published', journal }
      : { _tag: 'Stale' }
  )
}

/** The check before each acknowledgement. It covers only what was synced before it. */
export const ownership = (
  fs: FileSystem,
  { path, next, fd, place, dev, ino }: Published
): E.Either<StorageError, Ownership> => {
  try {
    if (fs.lstatSync(next) !== undefined) return E.right('Superseded')
    if (place !== undefined) return E.right(fs.placeSync(fd) === place ? 'Owner' : 'Missing')
    const stats = fs.lstatSync(path)
    return E.right(stats !== undefined && stats.ino === ino && stats.dev === dev ? 'Owner' : 'Missing')
  } catch (cause) {
    return E.left(writeFailed(path, 'lstat', cause))
  }
}
