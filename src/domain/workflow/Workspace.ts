/** The folder that a run works in. */

/** The run works in an existing folder, which Dogear never creates or deletes. */
export interface InPlace {
  readonly kind: 'none'
  readonly path: string
}

/** A folder that Dogear creates for the run, empty at first. */
export interface OwnFolder {
  readonly kind: 'directory'
  readonly path: string
}

/**
 * A git worktree that Dogear creates for the run in the folder `root`. `path`: the folder in it that the run works in, at the same place as
 * the start folder in `repository`, the original worktree. `branch`: the new branch, created at `commit`; `into`: the branch checked out in
 * `repository`, the target of a merge; absent if HEAD was detached.
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
 * The folder that a run works in: `path` is absolute, and a resume works in the same folder.
 *
 * @category model
 */
export type Workspace = InPlace | OwnFolder | Worktree

/**
 * A workspace that Dogear created for the run.
 *
 * @category model
 */
export type OwnWorkspace = OwnFolder | Worktree

/** The workspace of a new run: a kind to create, or an existing folder. */
export type WantedWorkspace = OwnWorkspace['kind'] | InPlace

/** Detects a workspace that belongs to its run. */
export const isOwn = (workspace: Workspace | undefined): workspace is OwnWorkspace =>
  workspace !== undefined && workspace.kind !== 'none'
