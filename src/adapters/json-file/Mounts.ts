/**
 * Which file system has a folder, by the kernel's word: what `statfs` says can be that of a server.
 *
 * @since 0.1.0
 */
import { constants, fstatSync } from 'node:fs'
import { open, readFile } from 'node:fs/promises'
import type { FileSystem } from '../../ports/FileSystem.js'

// ---------------------------------------------------------------------------------------------------------------------
// model
// ---------------------------------------------------------------------------------------------------------------------

/**
 * A folder that is open, and the type of its file system (`ext4`).
 *
 * @category model
 * @since 0.1.0
 */
export interface OpenFolder {
  readonly fd: number
  readonly type: string
}

// ---------------------------------------------------------------------------------------------------------------------
// combinators
// ---------------------------------------------------------------------------------------------------------------------

/**
 * Opens a folder, uses it and closes it. `undefined`: the system can't tell its file system (only Linux with `/proc` can), or
 * what `fs` has under that name is no folder of this system.
 *
 * @category combinators
 * @since 0.1.0
 */
export const within = async <A>(
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
    const type = await typeOf(fd)
    return type === undefined ? undefined : await use({ fd, type })
  } finally {
    await folder.close()
  }
}

/** A line is `id parent major:minor root mountpoint options … - type source …`, blanks in its fields escaped. */
const typeOf = async (fd: number): Promise<string | undefined> => {
  const [, id] = /^mnt_id:\s*(\d+)$/m.exec(await readFile(`/proc/self/fdinfo/${fd}`, 'latin1')) ?? []
  const mounts = await readFile('/proc/self/mountinfo', 'latin1')
  const mount = mounts.split('\n').find((line) => id !== undefined && line.startsWith(`${id} `))
  return mount?.split(' - ')[1]?.split(' ')[0]
}
