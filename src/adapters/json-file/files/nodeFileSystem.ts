/** The file system of this machine; the JSON store makes every file call through it. */
import * as fs from 'node:fs'
import * as fsp from 'node:fs/promises'
import * as HeartbeatTimer from './HeartbeatTimer.js'
import type { FileStats, FileSystem } from './FileSystem.js'
import { loadForJest, writeFunction } from './lazyPackages.js'
import { exposureOf, foreigner } from './Users.js'

// Windows has neither flag; there they are undefined.
const CAREFULLY = (fs.constants.O_NOFOLLOW ?? 0) | (fs.constants.O_NONBLOCK ?? 0)
const READ = fs.constants.O_RDONLY | CAREFULLY
const WRITE = fs.constants.O_RDWR | CAREFULLY
const CREATE = fs.constants.O_RDWR | fs.constants.O_CREAT | fs.constants.O_EXCL | CAREFULLY

const FLAGS = { read: READ, write: WRITE, create: CREATE }

const placeSync = (fd: number): string | undefined =>
  process.platform === 'linux' ? fs.readlinkSync(`/proc/self/fd/${fd}`) : undefined

/** The trailing dot makes the path lead to the folder itself, not to the link in `/proc`. */
const folderSync = (fd: number): string | undefined => {
  const path = `/proc/self/fd/${fd}/.`
  if (process.platform !== 'linux') return undefined
  return fs.lstatSync(path, { throwIfNoEntry: false })?.isDirectory() === true ? path : undefined
}

const BLOCK_BYTES = 4096
const NULS = new Uint8Array(16 * BLOCK_BYTES)

/** Writes whole blocks of NULs, because a sparse file has no blocks. A short write preallocates less, which is harmless. */
const extendSync = (fd: number, from: number, to: number): void => {
  const end = Math.floor(to / BLOCK_BYTES) * BLOCK_BYTES
  for (let at = from; at < end; at += NULS.length) fs.writeSync(fd, NULS, 0, Math.min(NULS.length, end - at), at)
}

const statsOf = (stats: fs.BigIntStats, path: string): FileStats => {
  const foreign = foreigner(Number(stats.uid), path)
  return {
    kind: stats.isFile() ? 'file' : stats.isDirectory() ? 'folder' : stats.isSymbolicLink() ? 'link' : 'other',
    size: Number(stats.size),
    dev: stats.dev,
    ino: stats.ino,
    modifiedMillis: Number(stats.mtimeMs),
    ...(foreign === undefined ? {} : { foreign })
  }
}

const settle =
  <A>(resolve: (value: A) => void, reject: (error: Error) => void) =>
  (error: Error | null, value?: A): void =>
    error === null ? resolve(value as A) : reject(error)

const syncFolder = async (path: string): Promise<void> => {
  const folder = await fsp.open(path, fs.constants.O_RDONLY)
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}

/** Windows cannot sync a folder. */
const fsyncFolder =
  process.platform === 'win32' ? (path: string) => syncFolder(path).catch(() => undefined) : syncFolder

const replace = async (path: string, text: string): Promise<void> => {
  const write = await writeFunction()
  await write(path, text, { mode: 0o600 })
}

/**
 * The file system of this machine.
 *
 * @category constructors
 */
export const nodeFileSystem: FileSystem = {
  mkdir: (path) => fsp.mkdir(path, { mode: 0o700 }).then(() => undefined),
  readdir: (path) => fsp.readdir(path),
  fsyncFolder,
  lstatSync: (path) => {
    const stats = fs.lstatSync(path, { bigint: true, throwIfNoEntry: false })
    return stats === undefined ? undefined : statsOf(stats, path)
  },
  exposureSync: exposureOf,
  open: (path, how) => new Promise((resolve, reject) => fs.open(path, FLAGS[how], 0o600, settle(resolve, reject))),
  placeSync,
  folderSync,
  fstat: (fd) =>
    new Promise((resolve, reject) =>
      fs.fstat(fd, { bigint: true }, (error, stats) =>
        error === null ? resolve(statsOf(stats, `/proc/self/fd/${fd}`)) : reject(error)
      )
    ),
  read: (fd, into, position) =>
    new Promise((resolve, reject) => fs.read(fd, into, 0, into.length, position, settle(resolve, reject))),
  write: (fd, bytes, position) =>
    new Promise((resolve, reject) => fs.write(fd, bytes, 0, bytes.length, position, settle(resolve, reject))),
  writeSync: (fd, bytes, position) => fs.writeSync(fd, bytes, 0, bytes.length, position),
  extendSync,
  ftruncateSync: (fd, length) => fs.ftruncateSync(fd, length),
  fdatasync: (fd, done) => fs.fdatasync(fd, done),
  close: (fd) => new Promise((resolve, reject) => fs.close(fd, settle(resolve, reject))),
  link: (from, to) => fsp.link(from, to),
  renameSync: (from, to) => fs.renameSync(from, to),
  unlinkSync: (path) => fs.unlinkSync(path),
  rmdirSync: (path) => fs.rmdirSync(path),
  removeTree: (path) => fsp.rm(path, { recursive: true, force: true }),
  replace,
  heartbeat: (path, timing, onDisturbed) => loadForJest().then(() => HeartbeatTimer.keep(path, timing, onDisturbed))
}
