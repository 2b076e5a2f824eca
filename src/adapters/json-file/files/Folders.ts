/** Creates the folders of a run so that they survive a power cut. */
import { dirname } from 'node:path'
import * as E from 'fp-ts/lib/Either.js'
import type { Context } from '../Context.js'
import type { FileError } from './Fault.js'
import { codeOf, quietly, writeFailed, writing } from './Fault.js'
import { isFolder, checkRoot } from './Files.js'
import type { FileSystem } from './FileSystem.js'
import type { Layout } from './Layout.js'

/** Creates missing folders of a run and syncs all, because another process may have been killed between creation and sync. */
export const ensure = ({ fs }: Context, layout: Layout): Promise<E.Either<FileError, void>> =>
  ensureIn(fs, layout, layout.history)

/** Does the same as `ensure` for another folder, `inner`, of the run. */
export const ensureIn = (
  fs: FileSystem,
  { root, runs, run }: Layout,
  inner: string
): Promise<E.Either<FileError, void>> => ensureBelow(fs, root, [runs, run, inner])

/** Does the same for folders below a root, outermost first. */
export const ensureBelow = async (
  fs: FileSystem,
  root: string,
  folders: ReadonlyArray<string>
): Promise<E.Either<FileError, void>> => {
  const made = await ensureRoot(fs, root)
  if (E.isLeft(made)) return made
  const checked = checkRoot(fs, root)
  if (E.isLeft(checked)) return checked
  for (const folder of folders) {
    const result = await ensureFolder(fs, folder)
    if (E.isLeft(result)) return result
    const durable = await syncAbove(fs, folder)
    if (E.isLeft(durable)) return durable
  }
  return E.right(undefined)
}

/** Creates the root and missing parents. Existing ones may be links, because the user made them. */
const ensureRoot = async (fs: FileSystem, root: string): Promise<E.Either<FileError, void>> => {
  const made = await mkdir(fs, root)
  if (E.isRight(made) && made.right === 'Made') return syncAbove(fs, root)
  if (E.isRight(made)) {
    // Ignores a failure, because this user may lack permission to open the parent.
    await quietly(() => fs.fsyncFolder(dirname(root)))
    return E.right(undefined)
  }
  if (made.left.code !== 'ENOENT' || dirname(root) === root) return made
  const above = await ensureRoot(fs, dirname(root))
  if (E.isLeft(above)) return above
  const again = await mkdir(fs, root)
  return E.isLeft(again) ? again : syncAbove(fs, root)
}

const syncAbove = (fs: FileSystem, path: string): Promise<E.Either<FileError, void>> =>
  writing(dirname(path), 'fsync', () => fs.fsyncFolder(dirname(path)))

/** A failure has `committed: 'no'`, because nothing is written before its folder exists. */
const mkdir = async (fs: FileSystem, path: string) => {
  try {
    await fs.mkdir(path)
    return E.right('Made' as const)
  } catch (cause) {
    return codeOf(cause) === 'EEXIST' ? E.right('Exists' as const) : E.left(writeFailed(path, 'mkdir', cause, 'no'))
  }
}

const ensureFolder = async (fs: FileSystem, path: string): Promise<E.Either<FileError, void>> => {
  const made = await mkdir(fs, path)
  if (E.isLeft(made)) return made
  return E.map(() => undefined)(isFolder(fs, path))
}
