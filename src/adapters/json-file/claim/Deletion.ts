/** Deletes removed runs (`docs/file-format.md` §9). */
import { join } from 'node:path'
import * as E from 'fp-ts/lib/Either.js'
import type { StorageError } from '../../../ports/CheckpointStorage.js'
import { writing } from '../files/Fault.js'
import type { FileSystem } from '../files/FileSystem.js'
import * as Layout from '../files/Layout.js'

/** The folders that could not be deleted, with the reason. Left: the removed runs may come back after a power cut, and nothing was deleted. */
export type Undeleted = E.Either<StorageError, ReadonlyMap<string, StorageError>>

/** Makes renames of run folders durable, then deletes these and those of interrupted removals. Calls during a deletion share the next one. */
export const deletions = (fs: FileSystem, root: string): (() => Promise<Undeleted>) => {
  let last: Promise<unknown> = Promise.resolve()
  let next: Promise<Undeleted> | undefined
  return () => {
    next ??= last.then(() => {
      next = undefined
      return deleteRemoved(fs, root)
    })
    last = next
    return next
  }
}

/** A run counts as removed once the parent folders are synced; the deletion only frees space. */
const deleteRemoved = async (fs: FileSystem, root: string): Promise<Undeleted> => {
  const folders = await writing(root, 'fsync', async () => {
    const removed = (await fs.readdir(root)).filter(Layout.isRemovedFolder).map((name) => join(root, name))
    await fs.fsyncFolder(Layout.runsOf(root))
    await fs.fsyncFolder(root)
    return removed
  })
  if (E.isLeft(folders)) return folders
  const deleted = await Promise.all(folders.right.map((folder) => writing(folder, 'rm', () => fs.removeTree(folder))))
  return E.right(
    new Map(deleted.flatMap((one, n) => (E.isLeft(one) ? [[folders.right[n] as string, one.left] as const] : [])))
  )
}
