/** The liveness signal of the kernel: a Unix socket per claim, which refuses connections once its owner has ended (`docs/file-format.md` §5.2). */
import { chmodSync, lstatSync, renameSync, unlinkSync } from 'node:fs'
import type { Server } from 'node:net'
import { basename } from 'node:path'
import type { Verdict, Context } from '../Context.js'
import { codeOf } from '../files/Fault.js'
import type { ClaimRecord, SocketRecord } from '../journal/Journal.js'
import * as Layout from '../files/Layout.js'
import type { OpenFolder } from '../files/Mounts.js'
import { withFolder } from '../files/Mounts.js'

/** A listening socket and its claim record. `close` makes it refuse connections; `remove` also deletes its file. */
export interface AliveSocket {
  readonly record: SocketRecord
  readonly close: () => void
  readonly remove: () => void
}

/** File systems that only one kernel at a time mounts and that survive it. */
const DISKS: ReadonlySet<string> = new Set(['ext2', 'ext3', 'ext4', 'xfs', 'f2fs', 'btrfs', 'zfs'])

/** File systems that end with their kernel (`tmpfs`) or that it combines from others (`overlay`). */
const VOLATILE: ReadonlySet<string> = new Set(['tmpfs', 'overlay'])

const isKnown = ({ type }: OpenFolder): boolean => DISKS.has(type) || VOLATILE.has(type)

/** Creates a claim's socket in this thread. Returns `undefined` if that is impossible: others then need longer to detect that the owner is dead. */
export const make = async (
  { fs }: Context,
  layout: Layout.Layout,
  token: string,
  bootId: string | null
): Promise<AliveSocket | undefined> => {
  if (bootId === null) return undefined
  try {
    return await withFolder(fs, layout.run, (folder) =>
      isKnown(folder) ? listen(folder, layout, token, bootId) : Promise.resolve(undefined)
    )
  } catch {
    return undefined
  }
}

/** A bound socket refuses connections until it listens, so it is renamed only then; libuv unlinks the bound path on close, which no longer exists. */
const listen = async (
  folder: OpenFolder,
  layout: Layout.Layout,
  token: string,
  bootId: string
): Promise<AliveSocket | undefined> => {
  const { createServer } = await import('node:net')
  const unfinished = Layout.unfinishedSocket(layout, token)
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

/** Without `exclusive`, a cluster's primary process would listen instead. */
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
    // Already deleted, or the next claim deletes it.
  }
}

const LONGEST_PATH_BYTES = 107

/** Node 20 silently truncates a longer path, so two runs could share one socket. */
const shortened = (path: string, { fd }: OpenFolder): string =>
  Buffer.byteLength(path) <= LONGEST_PATH_BYTES ? path : `/proc/self/fd/${fd}/${basename(path)}`

/** Tries to connect to the socket of a claim. `bootId`: that of this process. */
export const check = async (
  { fs }: Context,
  layout: Layout.Layout,
  { epoch, token, socket }: ClaimRecord,
  bootId: string | null
): Promise<Verdict> => {
  if (socket === undefined || bootId === null) return undefined
  const path = Layout.socket(layout, token)
  try {
    return await withFolder(fs, layout.run, async (folder) => {
      if (!isKnown(folder)) return undefined
      const { uid } = lstatSync(Layout.journal(layout, epoch))
      const before = identityOf(path)
      if (before?.inode !== socket.inode || before.uid !== uid) return undefined
      const result = await tryConnect(shortened(path, folder))
      const after = identityOf(path)
      if (after?.inode !== before.inode || after.device !== before.device || after.changed !== before.changed)
        return undefined
      return verdictOf(result, socket, before.device, bootId, folder)
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

/** The result of a connection: `connected`, or the system's error code. */
const tryConnect = async (path: string): Promise<string> => {
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

/** A full backlog means a stopped or busy owner. A refusal proves death only on the recorded device, or on a disk that another boot now mounts. */
const verdictOf = (
  result: string,
  socket: SocketRecord,
  device: string,
  bootId: string,
  { type }: OpenFolder
): Verdict => {
  if (result === CONNECTED || result === 'EAGAIN') return 'alive'
  if (result !== 'ECONNREFUSED') return undefined
  if (bootId === socket.bootId) return device === socket.device ? 'dead' : undefined
  return DISKS.has(type) ? 'dead' : undefined
}
