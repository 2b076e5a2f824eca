/**
 * Every call that the JSON store makes to the file system, as one record: so that a test can count, order and break
 * them.
 *
 * But for the heartbeat, which proper-lockfile keeps by itself. The calls are those of `node:fs`, with what the store always wants built in (no symbolic link is followed, everything
 * is for this user only). They reject or throw with Node's error, as `node:fs` does.
 *
 * @since 0.1.0
 */
import * as fs from 'node:fs'
import * as fsp from 'node:fs/promises'

// ---------------------------------------------------------------------------------------------------------------------
// model
// ---------------------------------------------------------------------------------------------------------------------

/**
 * What the system says about a file or folder. `dev` and `ino` together are its identity.
 *
 * @category model
 * @since 0.1.0
 */
export interface Facts {
  readonly kind: 'file' | 'folder' | 'link' | 'other'
  readonly size: number
  readonly dev: bigint
  readonly ino: bigint
  readonly modifiedMillis: number
}

/**
 * The calls. `read`, `write` and `writeSync` may do less than they are asked to and say how much, as the system does.
 *
 * @category model
 * @since 0.1.0
 */
export interface FileSystem {
  /** Makes one folder, mode 0700. */
  readonly mkdir: (path: string) => Promise<void>
  /** The names in a folder, in no order. */
  readonly readdir: (path: string) => Promise<ReadonlyArray<string>>
  /** Makes durable which names a folder has. */
  readonly fsyncFolder: (path: string) => Promise<void>
  /** What a name leads to, without following it; `undefined` if there is nothing. */
  readonly lstatSync: (path: string) => Facts | undefined
  /** Opens a file for reading or for writing, or creates one (mode 0600, `EEXIST` if it is there) for writing. */
  readonly open: (path: string, how: 'read' | 'write' | 'create') => Promise<number>
  /**
   * The path that an open file has now, followed by ` (deleted)` if it has none any more; `undefined`, or `ENOENT`, where
   * the system can't tell (only Linux with `/proc` can). Unlike a stat, it costs the next write nothing.
   */
  readonly placeSync: (fd: number) => string | undefined
  /** What an open file is. */
  readonly fstat: (fd: number) => Promise<Facts>
  /** Reads into a buffer; how many bytes it were. */
  readonly read: (fd: number, into: Uint8Array, position: number) => Promise<number>
  /** Writes a buffer; how many bytes it were. */
  readonly write: (fd: number, bytes: Uint8Array, position: number) => Promise<number>
  /** The same, at once. */
  readonly writeSync: (fd: number, bytes: Uint8Array, position: number) => number
  /** Makes a file longer, by NUL bytes in blocks that it has from now on. It may fail halfway. */
  readonly extendSync: (fd: number, from: number, to: number) => void
  /** Makes a file so long; what is new are zeros that take no space. */
  readonly ftruncateSync: (fd: number, length: number) => void
  /** Makes a file's content durable. A callback, for the one call on the way of every save. */
  readonly fdatasync: (fd: number, done: (error: Error | null) => void) => void
  /** Closes a file. */
  readonly close: (fd: number) => Promise<void>
  /** Gives a file a second name; `EEXIST` if the name is taken. */
  readonly link: (from: string, to: string) => Promise<void>
  /** Gives a file or a folder another name, at once. */
  readonly renameSync: (from: string, to: string) => void
  /** Takes a name away. */
  readonly unlinkSync: (path: string) => void
  /** Deletes a folder with all that is in it; nothing there is fine. */
  readonly removeTree: (path: string) => Promise<void>
  /** Replaces a file's content at once (write-file-atomic), mode 0600. */
  readonly replace: (path: string, text: string) => Promise<void>
}

// ---------------------------------------------------------------------------------------------------------------------
// constructors
// ---------------------------------------------------------------------------------------------------------------------

// Windows has neither flag; there they are undefined.
const CAREFULLY = (fs.constants.O_NOFOLLOW ?? 0) | (fs.constants.O_NONBLOCK ?? 0)
const READ = fs.constants.O_RDONLY | CAREFULLY
const WRITE = fs.constants.O_RDWR | CAREFULLY
const CREATE = fs.constants.O_RDWR | fs.constants.O_CREAT | fs.constants.O_EXCL | CAREFULLY

const FLAGS = { read: READ, write: WRITE, create: CREATE }

const placeSync = (fd: number): string | undefined =>
  process.platform === 'linux' ? fs.readlinkSync(`/proc/self/fd/${fd}`) : undefined

const BLOCK_BYTES = 4096
const NUL = new Uint8Array(1)

/** A byte at the end of each block is enough for the system to make all of it. */
const extendSync = (fd: number, from: number, to: number): void => {
  for (let end = (Math.floor(from / BLOCK_BYTES) + 1) * BLOCK_BYTES; end <= to; end += BLOCK_BYTES) {
    fs.writeSync(fd, NUL, 0, 1, end - 1)
  }
}

const factsOf = (stats: fs.BigIntStats): Facts => ({
  kind: stats.isFile() ? 'file' : stats.isDirectory() ? 'folder' : stats.isSymbolicLink() ? 'link' : 'other',
  size: Number(stats.size),
  dev: stats.dev,
  ino: stats.ino,
  modifiedMillis: Number(stats.mtimeMs)
})

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

/** Windows refuses to sync a folder. */
const fsyncFolder =
  process.platform === 'win32' ? (path: string) => syncFolder(path).catch(() => undefined) : syncFolder

const replace = async (path: string, text: string): Promise<void> => {
  const { default: writeFileAtomic } = await import('write-file-atomic')
  await writeFileAtomic(path, text, { mode: 0o600 })
}

/**
 * The file system of this machine.
 *
 * @category constructors
 * @since 0.1.0
 */
export const nodeFileSystem: FileSystem = {
  mkdir: (path) => fsp.mkdir(path, { mode: 0o700 }).then(() => undefined),
  readdir: (path) => fsp.readdir(path),
  fsyncFolder,
  lstatSync: (path) => {
    const stats = fs.lstatSync(path, { bigint: true, throwIfNoEntry: false })
    return stats === undefined ? undefined : factsOf(stats)
  },
  open: (path, how) => new Promise((resolve, reject) => fs.open(path, FLAGS[how], 0o600, settle(resolve, reject))),
  placeSync,
  fstat: (fd) =>
    new Promise((resolve, reject) =>
      fs.fstat(fd, { bigint: true }, (error, stats) => (error === null ? resolve(factsOf(stats)) : reject(error)))
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
  removeTree: (path) => fsp.rm(path, { recursive: true, force: true }),
  replace
}
