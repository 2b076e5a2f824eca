/** Reads the type of a folder's file system from the kernel, because `statfs` may report that of a server. */
import { constants, fstatSync, readFileSync } from 'node:fs'
import { open } from 'node:fs/promises'
import type { FileSystem } from './FileSystem.js'

/** An open folder and the type of its file system (`ext4`). */
export interface OpenFolder {
  readonly fd: number
  readonly type: string
}

/** Opens a folder, uses it and closes it. Returns `undefined` if the type is unknown (only Linux has it) or `fs` shows another folder at the path. */
export const withFolder = async <A>(
  fs: FileSystem,
  path: string,
  use: (folder: OpenFolder) => Promise<A>
): Promise<A | undefined> => {
  if (process.platform !== 'linux') return undefined
  const seen = fs.lstatSync(path)
  const folder = await open(path, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW)
  try {
    const { fd } = folder
    const { dev, ino } = fstatSync(fd, { bigint: true })
    if (seen?.dev !== dev || seen.ino !== ino) return undefined
    const type = typeOf(fd)
    return type === undefined ? undefined : await use({ fd, type })
  } finally {
    await folder.close()
  }
}

/** A line is `id parent major:minor root mountpoint options … - type source …`, with blanks escaped. */
const typeOf = (fd: number): string | undefined => {
  const [, id] = /^mnt_id:\s*(\d+)$/m.exec(readFileSync(`/proc/self/fdinfo/${fd}`, 'latin1')) ?? []
  const mounts = readFileSync('/proc/self/mountinfo', 'latin1')
  const mount = mounts.split('\n').find((line) => id !== undefined && line.startsWith(`${id} `))
  return mount?.split(' - ')[1]?.split(' ')[0]
}
