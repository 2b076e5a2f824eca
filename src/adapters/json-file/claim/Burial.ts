/** Deletes removed runs (`docs/file-format.md` §9). */
import { join } from 'node:path'
import * as E from 'fp-ts/lib/Either.js'
import type { StorageError } from '../../../ports/CheckpointStorage.js'
import { writing } from '../files/Fault.js'
import type { FileSystem } from '../files/FileSystem.js'
import * as Layout from '../files/Layout.js'

/** The folders that could not be deleted, with the reason. */
export type Buried = E.Either<StorageError, ReadonlyMap<string, StorageError>>

/** Makes renames of run folders durable and deletes these folders, and those that interrupted removals left. Calls that come meanwhile share the next burial. */
export const burials = (fs: FileSystem, root: string): (() => Promise<Buried>) => {
  let last: Promise<unknown> = Promise.resolve()
  let next: Promise<Buried> | undefined
  return () => {
    next ??= last.then(() => {
      next = undefined
      return bury(fs, root)
    })
    last = next
    return next
  }
}

/** The removals are complete once the parents are synced; the deletion only frees space. */
const bury = async (fs: FileSystem, root: string): Promise<Buried> => {
  const durable = await writing(root, 'fsync', async () => {
    const graves = (await fs.readdir(root)).filter(Layout.isTombstone).map((name) => join(root, name))
    await fs.fsyncFolder(Layout.runsOf(root))
    await fs.fsyncFolder(root)
    return graves
  })
  if (E.isLeft(durable)) return durable
  const deleted = await Promise.all(durable.right.map((grave) => writing(grave, 'rm', () => fs.removeTree(grave))))
  return E.right(
    new Map(deleted.flatMap((one, n) => (E.isLeft(one) ? [[durable.right[n] as string, one.left] as const] : [])))
  )
}
