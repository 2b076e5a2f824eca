/** Merges the branch of a worktree into the branch that it started from. */
import { copyFile, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import type { Worktree } from '../../../domain/workflow/Workspace.js'
import type { MergeEnd, WorkspaceFailed } from '../../../ports/Workspaces.js'
import { git } from './git.js'
import { branchAt, commitAt, demand, failed, gitFolderOf, gitRefused, isThere, messageOf, trying } from './worktree.js'

type End = E.Either<WorkspaceFailed, MergeEnd>

/** Commits what is uncommitted in a worktree and merges its branch. Keeps the worktree; aborts a merge that conflicts. */
export const mergeWorktree = async (runId: string, worktree: Worktree): Promise<End> => {
  const { repository, branch, into } = worktree
  if (into === undefined) return E.right({ _tag: 'NotMerged', why: 'Detached', committed: false })
  const obstacle = await obstacleTo(worktree)
  if (E.isLeft(obstacle)) return obstacle
  if (obstacle.right !== undefined) return E.right(obstacle.right)
  const committed = await commitRest(worktree, `dogear: what run ${runId} left uncommitted`)
  if (E.isLeft(committed)) return committed
  if (typeof committed.right === 'string')
    return E.right({ _tag: 'NotMerged', why: 'Refused', said: committed.right, committed: false })
  const uncommitted = await statusOf(worktree.root, 'none')
  if (E.isLeft(uncommitted)) return uncommitted
  if (uncommitted.right !== '')
    return E.right({ _tag: 'NotMerged', why: 'Refused', said: SUBMODULE_WORK, committed: committed.right })
  const merged = await git(repository, ['merge', '--no-edit', '--quiet', branch])
  if (E.isLeft(merged)) {
    // Ctrl+C, for example, may have ended git in the middle of the merge.
    await abortMerge(repository)
    return E.left(failed(repository, 'git merge', merged.left))
  }
  // A merge that exits with 0 may be uncommitted, because of the user's settings.
  const ancestry = await git(repository, ['merge-base', '--is-ancestor', branch, 'HEAD'])
  if (E.isRight(ancestry) && ancestry.right.code === 0)
    return E.right({ _tag: 'Merged', into, committed: committed.right })
  const files = await filesOf(repository, ['--diff-filter=U'])
  if (E.isLeft(files)) return files
  const aborted = await abortMerge(repository)
  if (E.isLeft(aborted)) return aborted
  return E.right(
    files.right.length > 0
      ? { _tag: 'NotMerged', why: 'Conflict', files: files.right, committed: committed.right }
      : { _tag: 'NotMerged', why: 'Refused', said: messageOf(merged.right), committed: committed.right }
  )
}

/** Prevents a merge, because a merged worktree is deleted, with any work that exists only in one of its submodules. */
const SUBMODULE_WORK = 'a submodule has uncommitted work'

/** Checks for obstacles before anything changes. */
const obstacleTo = async ({
  root,
  repository,
  branch,
  into
}: Worktree): Promise<E.Either<WorkspaceFailed, MergeEnd | undefined>> => {
  const here = await branchAt(root)
  if (E.isLeft(here)) return here
  if (here.right !== branch) return E.right({ _tag: 'NotMerged', why: 'Moved', committed: false })
  const found = await branchAt(repository)
  if (E.isLeft(found)) return found
  if (found.right !== into) {
    const other = found.right === undefined ? {} : { found: found.right }
    return E.right({ _tag: 'NotMerged', why: 'OtherBranch', ...other, committed: false })
  }
  if ((await commitAt(repository, 'MERGE_HEAD')) !== undefined)
    return E.right({ _tag: 'NotMerged', why: 'Refused', said: 'another merge is in progress', committed: false })
  const files = await filesOf(repository, ['HEAD'])
  if (E.isLeft(files)) return files
  return E.right(
    files.right.length === 0 ? undefined : { _tag: 'NotMerged', why: 'Dirty', files: files.right, committed: false }
  )
}

const filesOf = async (
  repository: string,
  which: ReadonlyArray<string>
): Promise<E.Either<WorkspaceFailed, ReadonlyArray<string>>> =>
  E.map((names: string) => names.split('\0').filter((name) => name !== ''))(
    await demand(repository, ['diff', '--name-only', '-z', '--ignore-submodules=dirty', ...which, '--'])
  )

/** Commits what is uncommitted in a worktree and returns the hash, if there was anything. Never commits to another branch than the run's. */
export const commitWorktree = async (
  runId: string,
  worktree: Worktree
): Promise<E.Either<WorkspaceFailed, O.Option<string>>> => {
  const { root, branch } = worktree
  const here = await branchAt(root)
  if (E.isLeft(here)) return here
  if (here.right !== branch) return gitRefused(root, 'git commit', `the worktree is not on its branch ${branch}`)
  const committed = await commitRest(worktree, `dogear: what run ${runId} had not committed when it paused`)
  if (E.isLeft(committed)) return committed
  if (typeof committed.right === 'string') return gitRefused(root, 'git commit', committed.right)
  return committed.right
    ? E.map(O.some<string>)(await demand(root, ['rev-parse', '--verify', 'HEAD']))
    : E.right(O.none)
}

/** Returns whether there was something to commit, or the reason why git refused; a refusal leaves the index as it was. */
const commitRest = async (
  { root }: Worktree,
  message: string
): Promise<E.Either<WorkspaceFailed, boolean | string>> => {
  const uncommitted = await statusOf(root, 'dirty')
  if (E.isLeft(uncommitted)) return uncommitted
  if (uncommitted.right === '') return E.right(false)
  const folder = await gitFolderOf(root)
  if (folder === undefined) return E.right('it is no longer a worktree')
  const unfinished = await unfinishedIn(folder, uncommitted.right)
  if (unfinished !== undefined) return E.right(unfinished)
  const before = await commitAt(root, 'HEAD')
  const endKeeping = await keepIndex(folder)
  const added = await demand(root, ['add', '--all'])
  const ended = E.isLeft(added) ? added : await commitStaged(root, message)
  // A git that was killed may have committed all the same.
  await endKeeping(E.isRight(added) && before === (await commitAt(root, 'HEAD')))
  return ended
}

/** Overrides user settings that hide untracked files. Changes inside a submodule cannot be committed from outside. */
const statusOf = (root: string, ignored: 'dirty' | 'none'): Promise<E.Either<WorkspaceFailed, string>> =>
  demand(root, ['status', '--porcelain', '--untracked-files=normal', `--ignore-submodules=${ignored}`])

const commitStaged = async (root: string, message: string): Promise<E.Either<WorkspaceFailed, true | string>> => {
  const ended = await git(root, ['commit', '--quiet', '--message', message])
  if (E.isLeft(ended)) return E.left(failed(root, 'git commit', ended.left))
  return E.right(ended.right.code === 0 ? true : messageOf(ended.right))
}

/** The files by which git marks an unfinished operation, which a commit would conclude. */
const UNFINISHED = new Map([
  ['MERGE_HEAD', 'a merge'],
  ['CHERRY_PICK_HEAD', 'a cherry-pick'],
  ['REVERT_HEAD', 'a revert'],
  ['rebase-apply', 'git am'],
  ['rebase-merge', 'a rebase']
])

/** Returns why a commit would conclude something unfinished; `undefined` if nothing is. */
const unfinishedIn = async (folder: string, status: string): Promise<string | undefined> => {
  for (const [name, what] of UNFINISHED) if (await isThere(join(folder, name))) return `${what} is in progress`
  return /^(?:U.|.U|AA|DD) /m.test(status) ? 'conflicts are unresolved' : undefined
}

/** Copies the index, because the next step may rely on staged files. The returned function restores, or deletes, the copy. */
const keepIndex = async (folder: string): Promise<(isRefused: boolean) => Promise<unknown>> => {
  const index = join(folder, 'index')
  const kept = join(folder, 'index.dogear')
  const copied = await trying(index, 'copy', () => copyFile(index, kept))
  return (isRefused) =>
    trying(index, 'rename', () => (isRefused && E.isRight(copied) ? rename(kept, index) : rm(kept, { force: true })))
}

const abortMerge = async (repository: string): Promise<E.Either<WorkspaceFailed, unknown>> =>
  (await commitAt(repository, 'MERGE_HEAD')) === undefined
    ? E.right(undefined)
    : demand(repository, ['merge', '--abort'])
