/** The file calls of the JSON file store. They keep files private to this user, follow no symbolic link, and fail with the system's `code`. */

/** `dev` and `ino` identify a file or folder. `foreign`: the owner's uid, if it is neither this user nor root nor, under sudo, the invoking user. */
export interface FileStats {
  readonly kind: 'file' | 'folder' | 'link' | 'other'
  readonly size: number
  readonly dev: bigint
  readonly ino: bigint
  readonly modifiedMillis: number
  readonly foreign?: number
}

/**
 * How other users can change the state folder: `everybody`, its `group` or another `owner` can `write` to it, or can `replace`
 * entries of a parent folder. `where` is the path of that folder.
 *
 * @category model
 */
export interface Exposure {
  readonly where: string
  readonly by: 'everybody' | 'group' | 'owner'
  readonly how: 'write' | 'replace'
}

/** A heartbeat touches its folder every `updateMillis`; after `staleMillis` without a touch it is stale. */
export interface HeartbeatTiming {
  readonly updateMillis: number
  readonly staleMillis: number
}

/** Replaces the file system in tests. */
export interface FileSystemOption {
  /** @internal */
  readonly fs?: FileSystem
}

/** `read`, `write` and `writeSync` return the number of bytes that they transferred, which may be fewer than the buffer has. */
export interface FileSystem {
  /** Makes one folder, mode 0700. */
  readonly mkdir: (path: string) => Promise<void>
  /** The names in a folder, unordered. */
  readonly readdir: (path: string) => Promise<ReadonlyArray<string>>
  /** Makes the entries of a folder durable. */
  readonly fsyncFolder: (path: string) => Promise<void>
  /** The stats of a path, without following a link; `undefined` if it does not exist. */
  readonly lstatSync: (path: string) => FileStats | undefined
  /** How other users can change a folder; `undefined` if none can, or if that cannot be read. */
  readonly exposureSync: (path: string) => Exposure | undefined
  /** Opens a file or folder for reading, or a file for writing; `create` makes a new file (mode 0600, `EEXIST` if it exists). */
  readonly open: (path: string, how: 'read' | 'write' | 'create') => Promise<number>
  /**
   * The current path of an open file, with ` (deleted)` if it has none; `undefined` or `ENOENT` without `/proc`. Unlike a stat, it slows no write.
   */
  readonly placeSync: (fd: number) => string | undefined
  /** A path to an open folder that survives a rename; `undefined` without `/proc`. */
  readonly folderSync: (fd: number) => string | undefined
  /** The stats of an open file. */
  readonly fstat: (fd: number) => Promise<FileStats>
  readonly read: (fd: number, into: Uint8Array, position: number) => Promise<number>
  readonly write: (fd: number, bytes: Uint8Array, position: number) => Promise<number>
  readonly writeSync: (fd: number, bytes: Uint8Array, position: number) => number
  /** Extends a file with allocated NUL bytes. It may fail halfway. */
  readonly extendSync: (fd: number, from: number, to: number) => void
  /** Sets the length of a file; added bytes are sparse zeros. */
  readonly ftruncateSync: (fd: number, length: number) => void
  /** Makes a file's content durable. Takes a callback, which is faster than a promise, because every save waits for it. */
  readonly fdatasync: (fd: number, done: (error: Error | null) => void) => void
  /** Closes a file. */
  readonly close: (fd: number) => Promise<void>
  /** Creates a hard link; `EEXIST` if the name is taken. */
  readonly link: (from: string, to: string) => Promise<void>
  /** Renames a file or folder atomically. */
  readonly renameSync: (from: string, to: string) => void
  /** Deletes a file. */
  readonly unlinkSync: (path: string) => void
  /** Deletes an empty folder; `ENOTEMPTY` if it is not empty. */
  readonly rmdirSync: (path: string) => void
  /** Deletes a folder and its content; succeeds if it does not exist. */
  readonly removeTree: (path: string) => Promise<void>
  /** Replaces a file's content atomically (write-file-atomic), mode 0600. */
  readonly replace: (path: string, text: string) => Promise<void>
  /**
   * Creates a folder (mode 0700) and touches it (`HeartbeatTimer.ts`) until the returned function is called, which deletes it. Ends with one
   * `onDisturbed` if another process touches or deletes the folder.
   */
  readonly heartbeat: (path: string, timing: HeartbeatTiming, onDisturbed: () => void) => Promise<() => Promise<void>>
}
