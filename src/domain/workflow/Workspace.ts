/** Where a run works. */

// --- model

/** The run has no workspace of its own: it works in a folder that was there, which is never made and never deleted. */
export interface InPlace {
  readonly kind: 'none'
  readonly path: string
}

/** A folder of the run's own, empty at first. */
export interface OwnFolder {
  readonly kind: 'directory'
  readonly path: string
}

/**
 * A git worktree of the run's own, in the folder `root`. `path` is where the run works in it: the same place that it was started from in
 * `repository`, the worktree that this one was made beside. `branch` is its own, made at `commit`; `into`: the branch that was checked out
 * in `repository`, which its work is for; absent if HEAD was detached.
 */
export interface Worktree {
  readonly kind: 'worktree'
  readonly path: string
  readonly root: string
  readonly repository: string
  readonly branch: string
  readonly commit: string
  readonly into?: string
}

/**
 * Where a run works: `path` is absolute, and a resume works in the same.
 *
 * @category model
 */
export type Workspace = InPlace | OwnFolder | Worktree

/**
 * A workspace that belongs to its run.
 *
 * @category model
 */
export type OwnWorkspace = OwnFolder | Worktree

/** What a new run asks for: a workspace of its own, of one of these kinds, or a folder that is there. */
export type WantedWorkspace = OwnWorkspace['kind'] | InPlace

// --- refinements

/** Whether a workspace belongs to its run. */
export const isOwn = (workspace: Workspace | undefined): workspace is OwnWorkspace =>
  workspace !== undefined && workspace.kind !== 'none'

// --- destructors

/** The folder that a workspace is, whole. */
export const rootOf = (workspace: Workspace): string =>
  workspace.kind === 'worktree' ? workspace.root : workspace.path
