/** Reads and writes regular files only, and transfers every byte or fails. */
import { dirname, join } from 'node:path'
import * as E from 'fp-ts/lib/Either.js'
import type { TooLarge, WriteFailed } from '../../../ports/CheckpointStorage.js'
import type { FileError } from './Fault.js'
import { codeOf, foreign, insecure, openFailed, quietly, readFailed, reading, writeFailed, writing } from './Fault.js'
import type { FileStats, FileSystem } from './FileSystem.js'

/** Opens a regular file, uses it and closes it. `undefined`: no such file. */
export const withFile = async <A, Failure>(
  fs: FileSystem,
  path: string,
  use: (fd: number, stats: FileStats) => Promise<E.Either<Failure, A>>
): Promise<E.Either<Failure | FileError, A | undefined>> => {
  let fd: number
  try {
    fd = await fs.open(path, 'read')
  } catch (cause) {
    return codeOf(cause) === 'ENOENT' ? E.right(undefined) : E.left(openFailed(path, cause))
  }
  const stats = await reading(path, 'fstat', () => fs.fstat(fd))
  const result: E.Either<Failure | FileError, A> = E.isLeft(stats) ? stats : await useFile(path, fd, stats.right, use)
  await quietly(() => fs.close(fd))
  return result
}

const useFile = <A, Failure>(
  path: string,
  fd: number,
  stats: FileStats,
  use: (fd: number, stats: FileStats) => Promise<E.Either<Failure, A>>
): Promise<E.Either<Failure | FileError, A>> => {
  if (stats.kind !== 'file') return Promise.resolve(E.left(insecure(path, 'it is not a regular file')))
  return stats.foreign === undefined ? use(fd, stats) : Promise.resolve(E.left(foreign(path, stats.foreign)))
}

/** The bytes of an open file between two positions; fewer only at the end of the file. */
export const readBetween = async (
  fs: FileSystem,
  path: string,
  fd: number,
  from: number,
  to: number
): Promise<E.Either<FileError, Buffer>> => {
  const bytes = Buffer.allocUnsafe(Math.max(0, to - from))
  let read = 0
  while (read < bytes.length) {
    const target = bytes.subarray(read)
    const position = from + read
    const result = await reading(path, 'read', () => fs.read(fd, target, position))
    if (E.isLeft(result)) return result
    if (result.right === 0) break
    read += result.right
  }
  return E.right(bytes.subarray(0, read))
}

/** Reads a whole file. `undefined`: no such file. */
export const readWhole = (
  fs: FileSystem,
  path: string,
  limitBytes: number,
  runId: string
): Promise<E.Either<FileError, Buffer | undefined>> =>
  withFile<Buffer, FileError>(fs, path, (fd, { size }) =>
    size > limitBytes
      ? Promise.resolve(E.left(tooLarge(runId, path, size, limitBytes)))
      : readBetween(fs, path, fd, 0, size)
  )

export const tooLarge = (runId: string, where: string, bytes: number, limitBytes: number): TooLarge => ({
  _tag: 'TooLarge',
  runId,
  where,
  bytes,
  limitBytes,
  biggest: []
})

/** The names in a folder; none if it does not exist. */
export const namesIn = async (fs: FileSystem, path: string): Promise<E.Either<FileError, ReadonlyArray<string>>> => {
  const there = isFolder(fs, path)
  if (E.isLeft(there)) return there
  try {
    return E.right(there.right ? await fs.readdir(path) : [])
  } catch (cause) {
    return codeOf(cause) === 'ENOENT' ? E.right([]) : E.left(readFailed(path, 'readdir', cause))
  }
}

/** Returns whether the path exists. Anything but a folder, and a `foreign` folder, is `Insecure`. */
export const isFolder = (fs: FileSystem, path: string): E.Either<FileError, boolean> => {
  try {
    const stats = fs.lstatSync(path)
    if (stats === undefined) return E.right(false)
    if (stats.foreign !== undefined) return E.left(foreign(path, stats.foreign))
    if (stats.kind === 'folder') return E.right(true)
    return E.left(
      stats.kind === 'link'
        ? insecure(path, 'it is a symbolic link', LINK_REMEDY)
        : insecure(path, 'it is not a folder', 'move it away, or choose another folder')
    )
  } catch (cause) {
    return E.left(readFailed(path, 'lstat', cause))
  }
}

/** Returns whether all paths exist; checks each as `isFolder` does, because a link in place of a parent folder would lead elsewhere. */
export const areFolders = (fs: FileSystem, ...paths: ReadonlyArray<string>): E.Either<FileError, boolean> => {
  for (const path of paths) {
    const there = isFolder(fs, path)
    if (E.isLeft(there) || !there.right) return there
  }
  return E.right(true)
}

const LINK_REMEDY = 'to keep state elsewhere, move the whole state folder (a link to the state folder is fine)'

/** Checks that the state folder is a folder, and that neither it nor, if a link, its target is another user's. A missing one passes. */
export const checkRoot = (fs: FileSystem, root: string): E.Either<FileError, void> => {
  try {
    for (const path of [root, `${root}/.`]) {
      const owner = fs.lstatSync(path)?.foreign
      if (owner !== undefined) return E.left(foreign(root, owner))
    }
    return E.right(undefined)
  } catch (cause) {
    return E.left(
      codeOf(cause) === 'ENOTDIR'
        ? insecure(root, 'it, or a part of its path, is not a folder', 'choose another folder')
        : readFailed(root, 'lstat', cause)
    )
  }
}

/** Writes all bytes, even if the system accepts only a few at a time. */
export const writeFully = async (
  fs: FileSystem,
  path: string,
  fd: number,
  bytes: Uint8Array,
  position: number
): Promise<E.Either<WriteFailed, void>> => {
  for (let written = 0; written < bytes.length;) {
    try {
      const count = await fs.write(fd, bytes.subarray(written), position + written)
      if (count <= 0) return E.left(writeFailed(path, 'write', NOTHING_WRITTEN))
      written += count
    } catch (cause) {
      return E.left(writeFailed(path, 'write', cause))
    }
  }
  return E.right(undefined)
}

/** The cause if the system accepts no byte and reports no error. */
export const NOTHING_WRITTEN = { code: 'EIO', message: 'nothing was written' }

/** Makes content durable that another process may have written and not synced. Succeeds if the file is missing. */
export const syncOther = async (fs: FileSystem, path: string): Promise<E.Either<WriteFailed, void>> => {
  // A file that can be read can be synced, except on Windows.
  const fd = await writing(path, 'open', () => fs.open(path, process.platform === 'win32' ? 'write' : 'read'))
  if (E.isLeft(fd)) return fd.left.code === 'ENOENT' ? E.right(undefined) : fd
  const result = await sync(fs, path, fd.right)
  await quietly(() => fs.close(fd.right))
  return result
}

export const sync = (fs: FileSystem, path: string, fd: number): Promise<E.Either<WriteFailed, void>> =>
  new Promise((resolve) => {
    const done = (error: unknown): void =>
      resolve(error === null ? E.right(undefined) : E.left(writeFailed(path, 'fdatasync', error)))
    try {
      fs.fdatasync(fd, done)
    } catch (cause) {
      done(cause)
    }
  })

/** Writes to the path `unfinished` and renames when the content is durable, so that no process reads half a file. */
export const replaceWhole = async (
  fs: FileSystem,
  path: string,
  unfinished: string,
  bytes: Buffer
): Promise<E.Either<FileError, void>> => {
  const written = await writeNew(fs, unfinished, bytes)
  const named = E.isLeft(written) ? written : await writing(path, 'rename', () => fs.renameSync(unfinished, path))
  if (E.isRight(named)) return await writing(dirname(path), 'fsync', () => fs.fsyncFolder(dirname(path)))
  await quietly(() => fs.unlinkSync(unfinished))
  return named
}

/** Creates a file and makes its content durable, but not its name. */
export const writeNew = async (fs: FileSystem, path: string, bytes: Buffer): Promise<E.Either<FileError, void>> => {
  const fd = await writing(path, 'open', () => fs.open(path, 'create'))
  if (E.isLeft(fd)) return fd
  const written = await writeFully(fs, path, fd.right, bytes, 0)
  const result = E.isLeft(written) ? written : await sync(fs, path, fd.right)
  await quietly(() => fs.close(fd.right))
  return result
}

const HOUR_MILLIS = 3_600_000

/** True if a path is older than an hour and therefore abandoned; a younger one may belong to a living process. */
export const isOld = (fs: FileSystem, path: string): boolean => {
  const stats = fs.lstatSync(path)
  return stats !== undefined && stats.modifiedMillis + HOUR_MILLIS < Date.now()
}

/** Deletes old unfinished files that crashes left in a folder. */
export const tidy = (fs: FileSystem, folder: string, isUnfinished: (name: string) => boolean): Promise<void> =>
  quietly(async () => {
    for (const name of await fs.readdir(folder)) {
      const path = join(folder, name)
      if (isUnfinished(name) && isOld(fs, path)) await quietly(() => fs.unlinkSync(path))
    }
  })
