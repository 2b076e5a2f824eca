/** Rejects workspace folders that are links or belong to another user. */
import type { BigIntStats } from 'node:fs'
import { lstat, stat } from 'node:fs/promises'
import { join, relative, sep } from 'node:path'
import * as E from 'fp-ts/lib/Either.js'
import type { Insecure } from '../../../ports/CheckpointStorage.js'
import type { WorkspaceFailed } from '../../../ports/Workspaces.js'
import { failed } from './worktree.js'

/**
 * Checks a folder and those above it, up to the parent folder of all workspaces. Also accepts the state folder's owner, because a file system may
 * map root to another user.
 */
export const ownFolders = async (
  state: string,
  parent: string,
  path: string
): Promise<E.Either<Insecure | WorkspaceFailed, void>> => {
  const names = relative(parent, path).split(sep).filter(Boolean)
  const folders = [parent, ...names.map((_, index) => join(parent, ...names.slice(0, index + 1)))]
  try {
    for (const where of folders) {
      const found = await orMissing(lstat(where, { bigint: true }))
      if (found === undefined) return E.right(undefined)
      const wrong = await insecurityOf(state, found)
      if (wrong !== undefined) return E.left({ _tag: 'Insecure', where, ...wrong })
    }
    return E.right(undefined)
  } catch (cause) {
    return E.left(failed(path, 'lstat', cause))
  }
}

const orMissing = (reading: Promise<BigIntStats>): Promise<BigIntStats | undefined> =>
  reading.catch((error: NodeJS.ErrnoException) => (error.code === 'ENOENT' ? undefined : Promise.reject(error)))

const insecurityOf = async (
  state: string,
  found: BigIntStats
): Promise<Pick<Insecure, 'why' | 'remedy'> | undefined> => {
  if (found.isSymbolicLink())
    return {
      why: 'it is a symbolic link',
      remedy: 'to keep workspaces elsewhere, move the state folder (a link to the state folder is fine)'
    }
  if (!found.isDirectory()) return { why: 'it is not a folder' }
  if (await isOurs(state, Number(found.uid))) return undefined
  return {
    why: `it belongs to user ${found.uid}, who may have tampered with it`,
    remedy: 'if you trust it, chown it to yourself or run as that user'
  }
}

const isOurs = async (state: string, uid: number): Promise<boolean> => {
  const own = process.geteuid?.()
  if (own === undefined || uid === own || uid === 0) return true
  if (own === 0 && String(uid) === process.env['SUDO_UID']) return true
  return Number((await orMissing(stat(state, { bigint: true })))?.uid) === uid
}
