/** The workspaces that runs have of their own: folders, and worktrees of git. */
import type { Option } from 'fp-ts/lib/Option.js'
import type { TaskEither } from 'fp-ts/lib/TaskEither.js'
import type { OwnWorkspace, Workspace, Worktree } from '../domain/workflow/Workspace.js'
import type { Unit } from '../domain/workflow/Unit.js'
import type { Insecure } from './CheckpointStorage.js'
import type { WorkingTree } from './WorkingTree.js'

/**
 * No worktree can be made from a folder: git is not installed (`NoGit`), it is in no repository (`NoRepository`), in one without a working
 * tree (`Bare`), or in one without a commit (`NoCommit`).
 */
export interface NoWorktree {
  readonly _tag: 'NoWorktree'
  readonly folder: string
  readonly why: 'NoGit' | 'NoRepository' | 'Bare' | 'NoCommit'
}

/**
 * What a new workspace would be is there already, and belongs to nobody that is known: a `Folder`, or a `Branch` of `repository`. It is
 * left as it is.
 */
export type WorkspaceTaken =
  | { readonly _tag: 'WorkspaceTaken'; readonly what: 'Folder'; readonly path: string }
  | {
      readonly _tag: 'WorkspaceTaken'
      readonly what: 'Branch'
      readonly branch: string
      readonly repository: string
    }

/**
 * A workspace could not be looked at, made or deleted. `code`: the system's (`EACCES`, `ENOSPC`), or `GIT`: git refused, and `why` is what
 * it said.
 */
export interface WorkspaceFailed {
  readonly _tag: 'WorkspaceFailed'
  readonly where: string
  readonly operation: string
  readonly code: string
  readonly why: string
  readonly cause: unknown
}

/**
 * Why something could not be done about a workspace.
 *
 * @category errors
 */
export type WorkspaceError = NoWorktree | WorkspaceTaken | WorkspaceFailed | Insecure

/** What there is of a run: its workspace (`there`), and all its `folders`, those of its steps among them. */
export interface FoundWorkspace {
  readonly there: boolean
  readonly folders: ReadonlyArray<string>
}

/**
 * How a merge ended. `Merged`: the branch `into` has the work of the run, and worktree and branch are gone; `committed`: whether
 * what was not committed was committed before. `NotMerged`: everything is as it was, but for that commit.
 *
 * - `Detached`: HEAD was detached when the run began, so no branch is meant.
 * - `OtherBranch`: `repository` is at another branch (`found`), or at none.
 * - `Dirty`: these files of `repository` are changed and not committed.
 * - `Conflict`: these files conflict. The merge was taken back.
 * - `Moved`: the worktree is not at its branch any more.
 * - `Refused`: git would not do it, and said why.
 */
export type MergeEnd =
  | { readonly _tag: 'Merged'; readonly into: string; readonly committed: boolean }
  | (NotMerged & { readonly _tag: 'NotMerged'; readonly committed: boolean })

/** Why nothing was merged. */
export type NotMerged =
  | { readonly why: 'Detached' | 'Moved' }
  | { readonly why: 'OtherBranch'; readonly found?: string }
  | { readonly why: 'Dirty' | 'Conflict'; readonly files: ReadonlyArray<string> }
  | { readonly why: 'Refused'; readonly said: string }

/** What was deleted. `keptBranch`: the branch of a worktree, if it has commits that are on no other branch; it is kept. */
export interface RemovedWorkspace {
  readonly folders: ReadonlyArray<string>
  readonly keptBranch?: string
}

/** A unit that works in a folder of its own. */
export interface StepFolder {
  readonly runId: string
  readonly unit: Unit
}

/**
 * Makes and deletes the workspaces of runs. Whoever calls what changes something holds the claim of the run.
 *
 * @category model
 */
export interface Workspaces {
  /** What a workspace of this kind will be for a new run. Nothing is made. */
  readonly plan: (runId: string, kind: OwnWorkspace['kind']) => TaskEither<WorkspaceError, OwnWorkspace>
  /**
   * Makes it. One that is there is left as it is, and one that was half made is finished: to call it again is to call it
   * once. A branch of its name with other work is renamed first, and that is what is given.
   */
  readonly make: (runId: string, workspace: OwnWorkspace) => TaskEither<WorkspaceError, string | undefined>
  /** What there is of a run. */
  readonly find: (runId: string, workspace: Workspace | undefined) => TaskEither<WorkspaceError, FoundWorkspace>
  /** The folder of a step's own. `fresh`: it is empty, and what was in it is kept beside it as `.attempt-N`. */
  readonly stepFolder: (unit: StepFolder, fresh: boolean) => TaskEither<WorkspaceError, string>
  /** The files and commits at a folder of a run. */
  readonly tree: (folder: string) => WorkingTree
  /** Commits what is not committed in a worktree; the hash of that commit, if there was anything. */
  readonly commit: (runId: string, worktree: Worktree) => TaskEither<WorkspaceError, Option<string>>
  /** Commits what is not committed, merges the branch where the run was started, and removes the worktree. */
  readonly merge: (runId: string, worktree: Worktree) => TaskEither<WorkspaceError, MergeEnd>
  /** Deletes all folders of a run, and a branch that has nothing of its own. */
  readonly remove: (runId: string, workspace: Workspace | undefined) => TaskEither<WorkspaceError, RemovedWorkspace>
}
