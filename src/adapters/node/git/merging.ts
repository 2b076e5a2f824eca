/** Merging the branch of a worktree where its run was started. */
import { copyFile, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import type { Worktree } from '../../../domain/workflow/Workspace.js'
import type { MergeEnd, WorkspaceFailed } from '../../../ports/Workspaces.js'
import { git } from './git.js'
import { ask, demand, failed, gitFolderOf, isThere, saidBy, trying } from './worktree.js'

type End = E.Either<WorkspaceFailed, MergeEnd>

/**
 * Commits what is not committed in a worktree, and merges its branch into the one it was made from. The worktree stays. Whatever can be
 * known before is looked at before, and a merge that conflicts is taken back.
 */
export const mergeWorktree = async (runId: string, worktree: Worktree): Promise<End> => {
  const { repository, branch, into } = worktree
  const obstacle = await obstacleTo(worktree)
  if (E.isLeft(obstacle)) return obstacle
  if (obstacle.right !== undefined || into === undefined) return E.right(obstacle.right ?? DETACHED)
  const committed = await commitRest(worktree, `dogear: what run ${runId} left uncommitted`)
  if (E.isLeft(committed)) return committed
  if (typeof committed.right === 'string')
    return E.right({ _tag: 'NotMerged', why: 'Refused', said: committed.right, committed: false })
  const open = await statusOf(worktree.root, 'none')
  if (E.isLeft(open)) return open
  if (open.right !== '')
    return E.right({ _tag: 'NotMerged', why: 'Refused', said: LEFT_OPEN, committed: committed.right })
  const merged = await git(repository, ['merge', '--no-edit', '--quiet', branch])
  if (E.isLeft(merged)) {
    // It was ended in the middle, by Ctrl+C perhaps.
    await takeBack(repository)
    return E.left(failed(repository, 'git merge', merged.left))
  }
  // Settings of the user may keep git from committing it.
  const isIn = await git(repository, ['merge-base', '--is-ancestor', branch, 'HEAD'])
  if (E.isRight(isIn) && isIn.right.code === 0) return E.right({ _tag: 'Merged', into, committed: committed.right })
  const files = await filesOf(repository, ['--diff-filter=U'])
  if (E.isLeft(files)) return files
  const back = await takeBack(repository)
  if (E.isLeft(back)) return back
  return E.right(
    files.right.length > 0
      ? { _tag: 'NotMerged', why: 'Conflict', files: files.right, committed: committed.right }
      : { _tag: 'NotMerged', why: 'Refused', said: saidBy(merged.right), committed: committed.right }
  )
}

/** The worktree goes when it is merged, and with it what is in a submodule of it alone. */
const LEFT_OPEN = 'work in a submodule is not committed there'

const DETACHED: MergeEnd = { _tag: 'NotMerged', why: 'Detached', committed: false }

/** What stands against a merge before anything is done. */
const obstacleTo = async ({
  root,
  repository,
  branch,
  into
}: Worktree): Promise<E.Either<WorkspaceFailed, MergeEnd | undefined>> => {
  if (into === undefined) return E.right(DETACHED)
  const here = await ask(root, ['symbolic-ref', '--quiet', '--short', 'HEAD'])
  if (here !== branch) return E.right({ _tag: 'NotMerged', why: 'Moved', committed: false })
  const found = await ask(repository, ['symbolic-ref', '--quiet', '--short', 'HEAD'])
  if (found !== into) {
    const other = found === undefined ? {} : { found }
    return E.right({ _tag: 'NotMerged', why: 'OtherBranch', ...other, committed: false })
  }
  if ((await ask(repository, ['rev-parse', '--verify', '--quiet', 'MERGE_HEAD'])) !== undefined)
    return E.right({ _tag: 'NotMerged', why: 'Refused', said: 'another merge is not concluded', committed: false })
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

/**
 * Commits what is not committed in a worktree, and gives the hash of that commit, if there was anything. Nothing is committed to a
 * branch that is not the run's.
 */
export const commitWorktree = async (
  runId: string,
  worktree: Worktree
): Promise<E.Either<WorkspaceFailed, O.Option<string>>> => {
  const { root, branch } = worktree
  const refused = (why: string): E.Either<WorkspaceFailed, never> =>
    E.left({ _tag: 'WorkspaceFailed', where: root, operation: 'git commit', code: 'GIT', why, cause: undefined })
  if ((await ask(root, ['symbolic-ref', '--quiet', '--short', 'HEAD'])) !== branch)
    return refused(`the worktree is not at its branch ${branch}`)
  const committed = await commitRest(worktree, `dogear: what run ${runId} had not committed when it paused`)
  if (E.isLeft(committed)) return committed
  if (typeof committed.right === 'string') return refused(committed.right)
  return committed.right
    ? E.map(O.some<string>)(await demand(root, ['rev-parse', '--verify', 'HEAD']))
    : E.right(O.none)
}

/** Whether there was something to commit; or why it was not, and then all is as it was. */
const commitRest = async (
  { root }: Worktree,
  message: string
): Promise<E.Either<WorkspaceFailed, boolean | string>> => {
  const open = await statusOf(root, 'dirty')
  if (E.isLeft(open)) return open
  if (open.right === '') return E.right(false)
  const folder = await gitFolderOf(root)
  if (folder === undefined) return E.right('it is no worktree any more')
  const begun = await begunIn(folder, open.right)
  if (begun !== undefined) return E.right(begun)
  const before = await ask(root, HEAD)
  const settle = await keepIndex(folder)
  const added = await demand(root, ['add', '--all'])
  const ended = E.isLeft(added) ? added : await commitStaged(root, message)
  // One that was ended in the middle may have committed.
  await settle(E.isRight(added) && before === (await ask(root, HEAD)))
  return ended
}

/** Settings of the user may hide what is new. What is open in a submodule can't be committed from outside. */
const statusOf = (root: string, ignored: 'dirty' | 'none'): Promise<E.Either<WorkspaceFailed, string>> =>
  demand(root, ['status', '--porcelain', '--untracked-files=normal', `--ignore-submodules=${ignored}`])

const HEAD = ['rev-parse', '--verify', '--quiet', 'HEAD']

const commitStaged = async (root: string, message: string): Promise<E.Either<WorkspaceFailed, true | string>> => {
  const ended = await git(root, ['commit', '--quiet', '--message', message])
  if (E.isLeft(ended)) return E.left(failed(root, 'git commit', ended.left))
  return E.right(ended.right.code === 0 ? true : saidBy(ended.right))
}

/** What git has there while a step is in the middle of something. A commit would conclude it. */
const BEGUN = new Map([
  ['MERGE_HEAD', 'a merge'],
  ['CHERRY_PICK_HEAD', 'a cherry-pick'],
  ['REVERT_HEAD', 'a revert'],
  ['rebase-apply', 'git am'],
  ['rebase-merge', 'a rebase']
])

const begunIn = async (folder: string, status: string): Promise<string | undefined> => {
  for (const [name, what] of BEGUN) if (await isThere(join(folder, name))) return `${what} is not concluded there`
  return /^(?:U.|.U|AA|DD) /m.test(status) ? 'there are conflicts' : undefined
}

/** What is staged and what is not may mean something to the next step. Gives what puts it back, if nothing was committed. */
const keepIndex = async (folder: string): Promise<(isRefused: boolean) => Promise<unknown>> => {
  const index = join(folder, 'index')
  const kept = join(folder, 'index.dogear')
  const copied = await trying(index, 'copy', () => copyFile(index, kept))
  return (isRefused) =>
    trying(index, 'rename', () => (isRefused && E.isRight(copied) ? rename(kept, index) : rm(kept, { force: true })))
}

const takeBack = async (repository: string): Promise<E.Either<WorkspaceFailed, unknown>> =>
  (await ask(repository, ['rev-parse', '--verify', '--quiet', 'MERGE_HEAD'])) === undefined
    ? E.right(undefined)
    : demand(repository, ['merge', '--abort'])
