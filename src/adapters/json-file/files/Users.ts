/** Decides which users may own stored files and which others could change them (`docs/file-format.md` §1). */
import type { Stats } from 'node:fs'
import { realpathSync, statfsSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { printable } from '../../../domain/explain/printable.js'
import { commandOf } from '../../../domain/explain/shellQuote.js'
import type { Exposure } from './FileSystem.js'

const ROOT = 0

const ownUid = (): number | undefined => process.geteuid?.()

/** This user, root and, for root under sudo, the invoking user. */
const isOurs = (uid: number): boolean => {
  const own = ownUid()
  return own === undefined || uid === own || uid === ROOT || (own === ROOT && String(uid) === process.env['SUDO_UID'])
}

/** Linux: ext, xfs, btrfs, f2fs, zfs, tmpfs, overlay, bcachefs, jfs, ramfs. Other file systems may report arbitrary owners. */
const LOCAL: ReadonlySet<number> = new Set([
  0xef53, 0x58465342, 0x9123683e, 0xf2f52010, 0x2fc12fc1, 0x01021994, 0x794c7630, 0xca451a4e, 0x3153464a, 0x858458f6
])

const keepsOwners = (path: string): boolean => {
  if (process.platform !== 'linux') return true
  try {
    return LOCAL.has(statfsSync(path).type)
  } catch {
    return true
  }
}

/** The owner of a path, if it is neither this user nor root nor, under sudo, the invoking user. */
export const foreigner = (uid: number, path: string): number | undefined =>
  isOurs(uid) || !keepsOwners(path) ? undefined : uid

const OTHERS_WRITE = 0o002
const GROUP_WRITES = 0o020
const STICKY = 0o1000

/** Distributions give each user, also root, a private group with the same number. */
const isOwnGroup = (gid: number): boolean => gid === ownUid()

/** Checks whether another user can change the contents of a folder, or replace it or a parent. A sticky bit restricts that to owners. */
export const exposureOf = (path: string): Exposure | undefined => {
  if (ownUid() === undefined) return undefined
  try {
    const folder = realpathSync(path)
    if (!keepsOwners(folder)) return undefined
    for (const where of [folder, ...foldersAbove(folder)]) {
      const by = whoWrites(statSync(where))
      if (by !== undefined) return { where, by, how: where === folder ? 'write' : 'replace' }
    }
    return undefined
  } catch {
    return undefined
  }
}

const whoWrites = ({ uid, gid, mode }: Stats): Exposure['by'] | undefined => {
  if (!isOurs(uid)) return 'owner'
  if ((mode & STICKY) !== 0) return undefined
  if ((mode & OTHERS_WRITE) !== 0) return 'everybody'
  return (mode & GROUP_WRITES) !== 0 && !isOwnGroup(gid) ? 'group' : undefined
}

const foldersAbove = (path: string): ReadonlyArray<string> => {
  const above = dirname(path)
  return above === path ? [] : [above, ...foldersAbove(above)]
}

/**
 * Describes who else can change a folder and what to do about it.
 *
 * @example
 * import { describeExposure } from 'dogear/json-file'
 * import assert from 'node:assert/strict'
 *
 * assert.equal(
 *   describeExposure({ where: '/srv/state', by: 'everybody', how: 'write' }),
 *   '/srv/state: every user can write to it and delete or move the state of runs; run: chmod go-w /srv/state'
 * )
 *
 * @category destructors
 */
export const describeExposure = ({ where, by, how }: Exposure): string => {
  const path = printable(where)
  const chmod = commandOf(['chmod', 'go-w', where])
  const who = { everybody: 'every user', group: 'every user of its group', owner: 'the user who owns it' }[by]
  return how === 'write'
    ? `${path}: ${who} can write to it and delete or move the state of runs; run: ${chmod}`
    : `${path}: ${who} can delete or move its contents, including the state of runs; ${
        by === 'owner' ? 'run as that user or keep the state elsewhere' : `run: ${chmod} (or chmod +t)`
      }`
}
