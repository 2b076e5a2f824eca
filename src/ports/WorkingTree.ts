/** The files and commits that a run leaves, as something that can be looked at. */
import type { Option } from 'fp-ts/lib/Option.js'
import type { TaskEither } from 'fp-ts/lib/TaskEither.js'

/** What a file or a folder holds: `size` in bytes, `sha256` in hex. That of a folder covers the names and contents of all that is in it. */
export interface Content {
  readonly size: number
  readonly sha256: string
}

/**
 * It could not be looked at: neither that something is there nor that it is gone is known. `code`: the system's (`EACCES`, `ENOENT`: git is
 * not installed), `GIT`: git refused, `SHALLOW`: the history of HEAD is not all there, or `ABORTED`: somebody who looked was told to stop.
 */
export interface TreeUnreadable {
  readonly _tag: 'TreeUnreadable'
  readonly where: string
  readonly code: string
  readonly why: string
  readonly cause: unknown
}

/**
 * The folder that a run works in, and the git repository that it is in, if it is in one. Paths are relative to the folder, or
 * absolute. Nothing is changed by looking.
 *
 * @category model
 */
export interface WorkingTree {
  /** What is at a path; none if nothing is there. Looking ends with the signal: then it is `ABORTED`. */
  readonly content: (path: string, signal?: AbortSignal) => TaskEither<TreeUnreadable, Option<Content>>
  /** Whether a file or folder is at a path and can be read. */
  readonly has: (path: string) => TaskEither<TreeUnreadable, boolean>
  /** The commit that HEAD is at; none where there is no repository, or no commit in it. */
  readonly head: TaskEither<TreeUnreadable, Option<string>>
  /** The whole hash of the commit in the history of HEAD whose hash this is, or begins with; none if there is none. */
  readonly fullHash: (hash: string) => TaskEither<TreeUnreadable, Option<string>>
  /** Those of these commits that are not in the history of HEAD. */
  readonly missingCommits: (hashes: ReadonlyArray<string>) => TaskEither<TreeUnreadable, ReadonlyArray<string>>
  /** The subset of these commits that the repository has, in the history of HEAD or not. */
  readonly storedCommits: (hashes: ReadonlyArray<string>) => TaskEither<TreeUnreadable, ReadonlyArray<string>>
  /** The commits in the history of HEAD, oldest first, that are not in that of another commit; with none, all. */
  readonly commitsSince: (hash: Option<string>) => TaskEither<TreeUnreadable, ReadonlyArray<string>>
  /** The paths that differ from HEAD, those git does not know among them. Ignored files are none. */
  readonly changed: TaskEither<TreeUnreadable, ReadonlyArray<string>>
}
