/** The port for the files and commits of a run. */
import type { Option } from 'fp-ts/lib/Option.js'
import type { TaskEither } from 'fp-ts/lib/TaskEither.js'

/** The content of a file or folder: `size` in bytes, `sha256` in hex. That of a folder covers all names and contents in it. */
export interface Content {
  readonly size: number
  readonly sha256: string
}

/**
 * The tree could not be read, so nothing is known to exist or to be missing. `code`: of the system (`EACCES`; `ENOENT`: git is not
 * installed), `GIT`: git refused, `SHALLOW`: the history of HEAD is incomplete, or `ABORTED`: the signal fired. For artifacts the tag of an
 * `ArtifactError`, or `NO_STORE`: the environment has no `artifacts`.
 */
export interface TreeUnreadable {
  readonly _tag: 'TreeUnreadable'
  readonly where: string
  readonly code: string
  readonly why: string
  readonly cause: unknown
}

/**
 * Reads the folder of a run, and its git repository, if any. Paths are relative to the folder, or absolute. Changes nothing.
 *
 * @category model
 */
export interface WorkingTree {
  /** Reads the content at a path; none if it is missing. Ends with `ABORTED` once the signal fires. */
  readonly content: (path: string, signal?: AbortSignal) => TaskEither<TreeUnreadable, Option<Content>>
  /** Returns whether a readable file or folder is at a path. */
  readonly has: (path: string) => TaskEither<TreeUnreadable, boolean>
  /** Returns the commit of HEAD; none without a repository or a commit. */
  readonly head: TaskEither<TreeUnreadable, Option<string>>
  /** Returns the full hash of the commit in the history of HEAD whose hash starts with this one; none if there is none. */
  readonly fullHash: (hash: string) => TaskEither<TreeUnreadable, Option<string>>
  /** Returns the commits that are not in the history of HEAD. */
  readonly missingCommits: (hashes: ReadonlyArray<string>) => TaskEither<TreeUnreadable, ReadonlyArray<string>>
  /** Returns the commits that the repository has, in the history of HEAD or not. */
  readonly storedCommits: (hashes: ReadonlyArray<string>) => TaskEither<TreeUnreadable, ReadonlyArray<string>>
  /** Returns the commits in the history of HEAD, oldest first, that are not in the history of the given commit; all without one. */
  readonly commitsSince: (hash: Option<string>) => TaskEither<TreeUnreadable, ReadonlyArray<string>>
  /** Returns the paths that differ from HEAD, untracked files included, ignored ones excluded. */
  readonly changed: TaskEither<TreeUnreadable, ReadonlyArray<string>>
}
