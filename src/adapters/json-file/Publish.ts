/**
 * Giving a journal its number, so that only one can; and the check whether a number is still the highest.
 * `docs/file-format.md` §3 and §4.2 are the norm.
 *
 * @since 0.1.0
 */
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import type { StorageError } from '../../ports/CheckpointStorage.js'
import type { Context } from './Context.js'
import { codeOf, quietly, reading, writeFailed, writing } from './Fault.js'
import type { FileSystem } from './FileSystem.js'
import { namesIn, sync, writeFully } from './Files.js'
import type { ClaimRecord, FoundRecord } from './Journal.js'
import { FORMAT } from './Journal.js'
import * as Layout from './Layout.js'
import * as Line from './Line.js'

// ---------------------------------------------------------------------------------------------------------------------
// model
// ---------------------------------------------------------------------------------------------------------------------

/**
 * A journal to be: a file of ours in the history folder, without a number.
 *
 * @category model
 * @since 0.1.0
 */
export interface Unpublished {
  readonly path: string
  readonly fd: number
}

/**
 * A journal that we write. `position` is where the next line goes, `allocated` how long the file is.
 *
 * @category model
 * @since 0.1.0
 */
export interface Published {
  readonly number: number
  readonly path: string
  readonly next: string
  readonly fd: number
  readonly dev: bigint
  readonly ino: bigint
  position: number
  allocated: number
}

/**
 * What became of it. `Taken`: somebody else has the number. `Moved`: the folder isn't the one in which the file was
 * made; the run was removed. `Stale`: a higher number exists, or the file is gone already.
 *
 * @category model
 * @since 0.1.0
 */
export type Publication =
  | { readonly _tag: 'Published'; readonly journal: Published }
  | { readonly _tag: 'Taken' }
  | { readonly _tag: 'Moved' }
  | { readonly _tag: 'Stale' }

/**
 * Whether a journal is still the one that counts. `Superseded`: the next number exists. `Gone`: its name doesn't lead to
 * it any more.
 *
 * @category model
 * @since 0.1.0
 */
export type Standing = 'Owner' | 'Superseded' | 'Gone'

// ---------------------------------------------------------------------------------------------------------------------
// constructors
// ---------------------------------------------------------------------------------------------------------------------

/**
 * Makes a journal to be: the `nth` of a claim. It must be made before the listing that gives it its number.
 *
 * @category constructors
 * @since 0.1.0
 */
export const prepare = async (
  { fs }: Context,
  layout: Layout.Layout,
  token: string,
  nth: number
): Promise<E.Either<StorageError, Unpublished>> => {
  const path = Layout.unpublished(layout, token, nth)
  const fd = await writing(path, 'open', () => fs.open(path, 'create'))
  return E.isLeft(fd) ? fd : E.right({ path, fd: fd.right })
}

/**
 * Closes and deletes a journal that will not be.
 *
 * @category constructors
 * @since 0.1.0
 */
export const discard = async ({ fs }: Context, { path, fd }: Unpublished): Promise<void> => {
  await quietly(() => fs.unlinkSync(path))
  await quietly(() => fs.close(fd))
}

/**
 * The line that ends a journal.
 *
 * @category constructors
 * @since 0.1.0
 */
export const releasedLine = (revision: number): Buffer =>
  Line.encode(JSON.stringify({ kind: 'released', at: new Date().toISOString(), ...(revision < 0 ? {} : { revision }) }))

/**
 * The line that says what a claim found.
 *
 * @category constructors
 * @since 0.1.0
 */
export const foundLine = (found: FoundRecord): Buffer => Line.encode(JSON.stringify({ kind: 'found', ...found }))

/**
 * Publishes a journal under the number in its claim: complete, synced, linked, the folder synced, and looked at again.
 * What is not published stays the caller's to discard. `end`: a released line, for a claim that is given back at once.
 *
 * @category constructors
 * @since 0.1.0
 */
export const publish = async (
  context: Context,
  layout: Layout.Layout,
  file: Unpublished,
  record: ClaimRecord,
  end?: Buffer
): Promise<E.Either<StorageError, Publication>> => {
  const { fs } = context
  const claim = Line.encode(JSON.stringify({ kind: 'claim', format: FORMAT, ...record }))
  const bytes = end === undefined ? claim : Buffer.concat([claim, end])
  const path = Layout.journal(layout, record.epoch)
  const written = await writeAll(fs, file, bytes)
  if (E.isLeft(written)) return written
  const facts = await reading(file.path, 'fstat', () => fs.fstat(file.fd))
  if (E.isLeft(facts)) return facts
  try {
    await fs.link(file.path, path)
  } catch (cause) {
    if (codeOf(cause) === 'EEXIST') return E.right({ _tag: 'Taken' })
    return codeOf(cause) === 'ENOENT' ? E.right({ _tag: 'Moved' }) : E.left(writeFailed(path, 'link', cause))
  }
  await quietly(() => fs.unlinkSync(file.path))
  const durable = await writing(layout.history, 'fsync', () => fs.fsyncFolder(layout.history))
  if (E.isLeft(durable)) return durable
  const journal: Published = {
    number: record.epoch,
    path,
    next: Layout.journal(layout, record.epoch + 1),
    fd: file.fd,
    dev: facts.right.dev,
    ino: facts.right.ino,
    position: bytes.length,
    allocated: bytes.length
  }
  return confirm(context, layout, journal)
}

/** The content may be there from an attempt that was too late for its number. */
const writeAll = async (fs: FileSystem, file: Unpublished, bytes: Buffer): Promise<E.Either<StorageError, void>> => {
  const written = await writeFully(fs, file.path, file.fd, bytes, 0)
  if (E.isLeft(written)) return written
  const cut = await writing(file.path, 'ftruncate', () => fs.ftruncateSync(file.fd, bytes.length))
  return E.isLeft(cut) ? cut : sync(fs, file.path, file.fd)
}

/** Lists again: whoever was slow may have got a number that is past. */
const confirm = async (
  context: Context,
  layout: Layout.Layout,
  journal: Published
): Promise<E.Either<StorageError, Publication>> => {
  const names = await namesIn(context.fs, layout.history)
  if (E.isLeft(names)) return names
  const numbers = O.isNone(names.right) ? [] : Layout.numbers(names.right.value)
  const now = standing(context.fs, journal)
  if (E.isLeft(now)) return now
  return E.right(
    numbers[0] === journal.number && now.right === 'Owner' ? { _tag: 'Published', journal } : { _tag: 'Stale' }
  )
}

// ---------------------------------------------------------------------------------------------------------------------
// destructors
// ---------------------------------------------------------------------------------------------------------------------

/**
 * The check. It counts only after what it is to cover was synced.
 *
 * @category destructors
 * @since 0.1.0
 */
export const standing = (fs: FileSystem, { path, next, dev, ino }: Published): E.Either<StorageError, Standing> => {
  try {
    if (fs.lstatSync(next) !== undefined) return E.right('Superseded')
    const mine = fs.lstatSync(path)
    return E.right(mine !== undefined && mine.ino === ino && mine.dev === dev ? 'Owner' : 'Gone')
  } catch (cause) {
    return E.left(writeFailed(path, 'lstat', cause))
  }
}
