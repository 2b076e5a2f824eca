/**
 * The sign of life that the kernel keeps: a Unix socket for each claim. It refuses connections from the moment its owner is
 * gone, however that ended, and tells so to every process on this kernel. `docs/file-format.md` §5.2 is the norm.
 *
 * @since 0.1.0
 */
import { chmodSync, lstatSync, renameSync, unlinkSync } from 'node:fs'
import type { Server } from 'node:net'
import { basename } from 'node:path'
import type { Answer, Context } from './Context.js'
import { codeOf } from './Fault.js'
import type { ClaimRecord, SocketRecord } from './Journal.js'
import * as Layout from './Layout.js'
import type { OpenFolder } from './Mounts.js'
import { within } from './Mounts.js'

// ---------------------------------------------------------------------------------------------------------------------
// model
// ---------------------------------------------------------------------------------------------------------------------

/**
 * A socket that listens, and what the claim record says of it. `close` makes it refuse; `remove` also deletes its file.
 *
 * @category model
 * @since 0.1.0
 */
export interface AliveSocket {
  readonly record: SocketRecord
  readonly close: () => void
  readonly remove: () => void
}

/** File systems that one kernel at a time has, and that outlive it. */
const DISKS: ReadonlySet<string> = new Set(['ext2', 'ext3', 'ext4', 'xfs', 'f2fs', 'btrfs', 'zfs'])

/** File systems that end with their kernel, or are put together by it. */
const VOLATILE: ReadonlySet<string> = new Set(['tmpfs', 'overlay'])

const isKnown = ({ type }: OpenFolder): boolean => DISKS.has(type) || VOLATILE.has(type)

// ---------------------------------------------------------------------------------------------------------------------
// making
// ---------------------------------------------------------------------------------------------------------------------

/**
 * Makes the socket of a claim, in this thread. `undefined`: there is none, so the owner is found dead less quickly.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = async (
  { fs }: Context,
  layout: Layout.Layout,
  token: string,
  bootId: string | null
): Promise<AliveSocket | undefined> => {
  if (bootId === null) return undefined
  try {
    return await within(fs, layout.run, (folder) =>
      isKnown(folder) ? listen(folder, layout, token, bootId) : Promise.resolve(undefined)
    )
  } catch {
    return undefined
  }
}

/**
 * Binding and listening are two steps, and in between a connection is refused; so the socket gets its name after both. libuv
 * deletes the path that it was given when it closes: by then that leads nowhere, whatever the folder's number means.
 */
const listen = async (
  folder: OpenFolder,
  layout: Layout.Layout,
  token: string,
  bootId: string
): Promise<AliveSocket | undefined> => {
  const { createServer } = await import('node:net')
  const unfinished = Layout.socketInTheMaking(layout, token)
  const path = Layout.socket(layout, token)
  const server = createServer((connection) => connection.on('error', ignore).destroy())
  server.on('error', ignore)
  try {
    await listening(server, shortened(unfinished, folder))
    server.unref()
    chmodSync(unfinished, 0o600)
    renameSync(unfinished, path)
    const { ino, dev } = lstatSync(path, { bigint: true })
    const close = (): void => void server.close()
    const remove = (): void => {
      close()
      unlinkQuietly(path)
    }
    return { record: { inode: String(ino), device: String(dev), bootId }, close, remove }
  } catch {
    server.close()
    for (const one of [unfinished, path]) unlinkQuietly(one)
    return undefined
  }
}

const ignore = (): void => undefined

const BACKLOG = 64

/** `exclusive`: in a cluster it would be the primary process that listens, else. */
const listening = (server: Server, path: string): Promise<void> =>
  new Promise((resolve, reject) => {
    server.once('listening', resolve)
    server.once('error', reject)
    server.listen({ path, exclusive: true, backlog: BACKLOG })
  })

const unlinkQuietly = (path: string): void => {
  try {
    unlinkSync(path)
  } catch {
    // It is deleted already, or the next claim deletes it.
  }
}

const LONGEST_PATH_BYTES = 107

/** A longer path would be cut without a word in Node 20, and two runs have one socket. */
const shortened = (path: string, { fd }: OpenFolder): string =>
  Buffer.byteLength(path) <= LONGEST_PATH_BYTES ? path : `/proc/self/fd/${fd}/${basename(path)}`

// ---------------------------------------------------------------------------------------------------------------------
// looking
// ---------------------------------------------------------------------------------------------------------------------

/**
 * What the socket says of the owner of a claim. `bootId`: of the system that looks.
 *
 * @category destructors
 * @since 0.1.0
 */
export const look = async (
  { fs }: Context,
  layout: Layout.Layout,
  { epoch, token, socket }: ClaimRecord,
  bootId: string | null
): Promise<Answer> => {
  if (socket === undefined || bootId === null) return undefined
  const path = Layout.socket(layout, token)
  try {
    return await within(fs, layout.run, async (folder) => {
      if (!isKnown(folder)) return undefined
      const { uid } = lstatSync(Layout.journal(layout, epoch))
      const before = identityOf(path)
      if (before?.inode !== socket.inode || before.uid !== uid) return undefined
      const answer = await knock(shortened(path, folder))
      const after = identityOf(path)
      if (after?.inode !== before.inode || after.device !== before.device || after.changed !== before.changed)
        return undefined
      return judge(answer, socket, before.device, bootId, folder)
    })
  } catch {
    return undefined
  }
}

interface Identity {
  readonly inode: string
  readonly device: string
  readonly uid: number
  readonly changed: bigint
}

const identityOf = (path: string): Identity | undefined => {
  const stats = lstatSync(path, { bigint: true, throwIfNoEntry: false })
  return stats?.isSocket() === true
    ? { inode: String(stats.ino), device: String(stats.dev), uid: Number(stats.uid), changed: stats.ctimeNs }
    : undefined
}

const CONNECTED = 'connected'

/** What comes of a connection: `connected`, or the system's error. */
const knock = async (path: string): Promise<string> => {
  const { connect } = await import('node:net')
  return new Promise((resolve) => {
    const connection = connect({ path })
    connection.on('error', (cause) => resolve(codeOf(cause)))
    connection.on('connect', () => {
      resolve(CONNECTED)
      connection.destroy()
    })
  })
}

/**
 * A full backlog is that of an owner that is stopped or busy. A refusal counts where a living owner could not be the cause: on
 * the device that the socket was made on, since its owner holds on to its inode; and on a disk that another boot has now.
 */
const judge = (answer: string, socket: SocketRecord, device: string, bootId: string, { type }: OpenFolder): Answer => {
  if (answer === CONNECTED || answer === 'EAGAIN') return 'alive'
  if (answer !== 'ECONNREFUSED') return undefined
  if (bootId === socket.bootId) return device === socket.device ? 'dead' : undefined
  return DISKS.has(type) ? 'dead' : undefined
}
