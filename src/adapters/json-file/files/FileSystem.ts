/**
 * Files, as few calls as the JSON file store makes: so that they can be counted, ordered, broken, and made to forget what
 * was not synced.
 *
 * The calls are those of `node:fs`, with what the store always wants built in (no symbolic link is followed, everything is
 * for this user only). They reject or throw with the system's error, as `node:fs` does: `code` says which (`ENOSPC`).
 */

/**
 * Facts about a file or folder. `dev` and `ino` together are its identity. `foreign`: its owner's uid, if that is neither this
 * user nor root nor, under sudo, the invoking user.
 *
 * @category model
 */
export interface Facts {
  readonly kind: 'file' | 'folder' | 'link' | 'other'
  readonly size: number
  readonly dev: bigint
  readonly ino: bigint
  readonly modifiedMillis: number
  readonly foreign?: number
}

/**
 * Who else can change a folder: `everybody`, its `group` or another `owner` can `write` to it, or can `replace` entries of a
 * parent folder, which is `where`.
 *
 * @category model
 */
export interface Exposure {
  readonly where: string
  readonly by: 'everybody' | 'group' | 'owner'
  readonly how: 'write' | 'replace'
}

/**
 * How often a heartbeat touches its folder (`updateMillis`), and after what time without a touch nobody keeps it
 * (`staleMillis`).
 *
 * @category model
 */
export interface Beat {
  readonly updateMillis: number
  readonly staleMillis: number
}

/**
 * The calls. `read`, `write` and `writeSync` may do less than they are asked to and say how much, as the system does.
 *
 * @category model
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
  /** Who else can change a folder; `undefined` if nobody can, or if the system cannot tell. */
  readonly exposureSync: (path: string) => Exposure | undefined
  /** Opens a file or folder for reading, or a file for writing; `create` makes a new file (mode 0600, `EEXIST` if it exists). */
  readonly open: (path: string, how: 'read' | 'write' | 'create') => Promise<number>
  /**
   * The path that an open file has now, followed by ` (deleted)` if it has none any more; `undefined`, or `ENOENT`, where
   * the system can't tell (only Linux with `/proc` can). Unlike a stat, it costs the next write nothing.
   */
  readonly placeSync: (fd: number) => string | undefined
  /** A path that leads to an open folder even after it was moved; `undefined` where the system has none (only Linux with `/proc` has). */
  readonly folderSync: (fd: number) => string | undefined
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
  /** Deletes an empty folder; `ENOTEMPTY` if something is in it. */
  readonly rmdirSync: (path: string) => void
  /** Deletes a folder with all that is in it; nothing there is fine. */
  readonly removeTree: (path: string) => Promise<void>
  /** Replaces a file's content at once (write-file-atomic), mode 0600. */
  readonly replace: (path: string, text: string) => Promise<void>
  /**
   * Makes a folder (mode 0700) and touches it again and again (proper-lockfile), until what it resolves with is called: that
   * deletes the folder. When somebody else touched or deleted it, `onDisturbed` is called, once, and the heartbeat ends.
   */
  readonly heartbeat: (path: string, beat: Beat, onDisturbed: () => void) => Promise<() => Promise<void>>
}
