/** The port for workspaces that Dogear creates: folders and git worktrees. */
import type { Option } from 'fp-ts/lib/Option.js'
import type { TaskEither } from 'fp-ts/lib/TaskEither.js'
import type { OwnWorkspace, Workspace, Worktree } from '../domain/workflow/Workspace.js'
import type { Unit } from '../domain/workflow/Unit.js'
import type { Insecure } from './CheckpointStorage.js'
import type { WorkingTree } from './WorkingTree.js'

/**
 * A worktree cannot be created from a folder: git is not installed (`NoGit`), or the folder is in no repository (`NoRepository`), in one
 * without a working tree (`Bare`), or in one without a commit (`NoCommit`).
 */
export interface NoWorktree {
  readonly _tag: 'NoWorktree'
  readonly folder: string
  readonly why: 'NoGit' | 'NoRepository' | 'Bare' | 'NoCommit'
}

/** The place of a new workspace already exists and has no known owner: a `Folder`, or a `Branch` of `repository`. It stays unchanged. */
export type WorkspaceTaken =
  | { readonly _tag: 'WorkspaceTaken'; readonly what: 'Folder'; readonly path: string }
  | {
      readonly _tag: 'WorkspaceTaken'
      readonly what: 'Branch'
      readonly branch: string
      readonly repository: string
    }

/**
 * A workspace could not be read, created or deleted. `code`: of the system (`EACCES`, `ENOSPC`), or `GIT`: git refused, and `why` is its
 * message.
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
 * Errors of workspaces.
 *
 * @category errors
 */
export type WorkspaceError = NoWorktree | WorkspaceTaken | WorkspaceFailed | Insecure

/** The folders of a run: whether its workspace exists (`there`), and all its `folders`, those of its steps included. */
export interface FoundWorkspace {
  readonly there: boolean
  readonly folders: ReadonlyArray<string>
}

/**
 * The result of a merge. `Merged`: the branch `into` has the work of the run, and worktree and branch are removed; `committed`: uncommitted
 * work was committed first. `NotMerged`: nothing changed except for that commit.
 *
 * - `Detached`: HEAD was detached when the run started, so there is no target branch.
 * - `OtherBranch`: `repository` is at another branch (`found`), or at none.
 * - `Dirty`: these files of `repository` have uncommitted changes.
 * - `Conflict`: these files conflict. The merge was aborted.
 * - `Moved`: the worktree is no longer at its branch.
 * - `Refused`: git refused, with this message.
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

/** The deleted folders. `keptBranch`: the branch of a worktree that has commits on no other branch or is checked out; it is kept. */
export interface RemovedWorkspace {
  readonly folders: ReadonlyArray<string>
  readonly keptBranch?: string
}

/** A unit with its own folder. */
export interface StepFolder {
  readonly runId: string
  readonly unit: Unit
}

/**
 * Creates and deletes the workspaces of runs. Callers of changing functions hold the claim of the run.
 *
 * @category model
 */
export interface Workspaces {
  /** Returns the workspace that a new run of this kind would have. Creates nothing. */
  readonly plan: (runId: string, kind: OwnWorkspace['kind']) => TaskEither<WorkspaceError, OwnWorkspace>
  /**
   * Creates a workspace. Idempotent: keeps an existing one, and finishes one that is incomplete. If a branch with other work has the name of
   * the new one, renames that branch first and returns its new name.
   */
  readonly make: (runId: string, workspace: OwnWorkspace) => TaskEither<WorkspaceError, string | undefined>
  /** Finds the folders of a run. */
  readonly find: (runId: string, workspace: Workspace | undefined) => TaskEither<WorkspaceError, FoundWorkspace>
  /** Returns the folder of a step. `fresh`: it is empty, and the earlier content is kept beside it as `.attempt-N`. */
  readonly stepFolder: (unit: StepFolder, fresh: boolean) => TaskEither<WorkspaceError, string>
  /** Returns the tree at a folder of a run. */
  readonly tree: (folder: string) => WorkingTree
  /** Commits uncommitted work in a worktree. Returns the hash of the commit, if there was any. */
  readonly commit: (runId: string, worktree: Worktree) => TaskEither<WorkspaceError, Option<string>>
  /** Commits uncommitted work, merges the run's branch into the branch that the run started from, and removes the worktree. */
  readonly merge: (runId: string, worktree: Worktree) => TaskEither<WorkspaceError, MergeEnd>
  /** Deletes all folders of a run, and its branch unless that has commits of its own or is checked out. */
  readonly remove: (runId: string, workspace: Workspace | undefined) => TaskEither<WorkspaceError, RemovedWorkspace>
}
