/** Creates and removes the git worktrees of runs. */
import { lstat, mkdir, readdir, readFile, rm, stat, unlink, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import * as E from 'fp-ts/lib/Either.js'
import type { Worktree } from '../../../domain/workflow/Workspace.js'
import type { NoWorktree, WorkspaceError, WorkspaceFailed, WorkspaceTaken } from '../../../ports/Workspaces.js'
import type { GitEnd } from './git.js'
import { git } from './git.js'

export const failed = (where: string, operation: string, cause: unknown): WorkspaceFailed => {
  const { code = 'UNKNOWN', message = String(cause) } = (cause ?? {}) as NodeJS.ErrnoException
  return { _tag: 'WorkspaceFailed', where, operation, code, why: message, cause }
}

/** Runs file operations and turns exceptions into a failure. */
export const trying = async <A>(
  where: string,
  operation: string,
  act: () => Promise<A>
): Promise<E.Either<WorkspaceFailed, A>> => {
  try {
    return E.right(await act())
  } catch (cause) {
    return E.left(failed(where, operation, cause))
  }
}

/** The relevant part of git's output: its error, else its first line. */
export const messageOf = ({ code, stderr, stdout }: GitEnd): string => {
  const lines = [...stderr.split('\n'), ...stdout.split('\n')].map((line) => line.trim()).filter((line) => line !== '')
  return lines.find((line) => /^(fatal|error):/.test(line)) ?? lines[0] ?? `it ended with ${code}`
}

/** Calls git, which must succeed. Returns its output without the last newline. */
export const demand = async (
  folder: string,
  args: ReadonlyArray<string>
): Promise<E.Either<WorkspaceFailed, string>> => {
  const ended = await git(folder, args)
  const operation = `git ${args.slice(0, 2).join(' ')}`
  if (E.isLeft(ended)) return E.left(failed(folder, operation, { ...ended.left }))
  const { code, stdout } = ended.right
  return code === 0
    ? E.right(stdout.replace(/\n$/, ''))
    : gitRefused(folder, operation, messageOf(ended.right), ended.right)
}

/** The failure of an operation that git refused, or whose result is unusable. */
export const gitRefused = (
  where: string,
  operation: string,
  why: string,
  cause?: unknown
): E.Either<WorkspaceFailed, never> => E.left({ _tag: 'WorkspaceFailed', where, operation, code: 'GIT', why, cause })

/** Queries git for something that may not exist. */
const ask = async (folder: string, args: ReadonlyArray<string>): Promise<string | undefined> => {
  const said = await demand(folder, args)
  return E.isRight(said) && said.right !== '' ? said.right : undefined
}

/** The commit that a name leads to, if any. */
export const commitAt = (folder: string, name: string): Promise<string | undefined> =>
  ask(folder, ['rev-parse', '--verify', '--quiet', name])

/** The branch of HEAD, if any. */
export const branchAt = async (folder: string): Promise<E.Either<WorkspaceFailed, string | undefined>> =>
  E.map((name: string) => (name === '' ? undefined : name))(await demand(folder, ['branch', '--show-current']))

/** The branch of a run: `dogear/` and its id. Characters that git rejects in branch names are escaped. */
export const branchOf = (runId: string): string =>
  `dogear/${runId.replaceAll('..', '.%2e').replace(/\.(?=lock$)/, '%2e')}`

/** Describes the worktree of a new run in the folder `root`, as seen from a folder of its repository. */
export const planWorktree = async (
  folder: string,
  root: string,
  runId: string
): Promise<E.Either<WorkspaceError, Worktree>> => {
  const repository = await repositoryOf(folder)
  if (E.isLeft(repository)) return repository
  const commit = await commitAt(folder, 'HEAD^{commit}')
  if (commit === undefined) return E.left(noWorktree(folder, 'NoCommit'))
  const branch = branchOf(runId)
  const branches = await demand(folder, ['for-each-ref', '--format=%(refname:lstrip=2)', 'refs/heads/dogear'])
  if (E.isLeft(branches)) return branches
  const conflicting = branches.right
    .split('\n')
    .find((name) => name === 'dogear' || name === branch || name.startsWith(`${branch}/`))
  if (conflicting !== undefined) return E.left(takenBranch(conflicting, repository.right))
  const prefix = await ask(folder, ['rev-parse', '--show-prefix'])
  const into = await branchAt(folder)
  if (E.isLeft(into)) return into
  return E.right({
    kind: 'worktree',
    path: prefix === undefined ? root : join(root, prefix).replace(/[\\/]$/, ''),
    root,
    repository: repository.right,
    branch,
    commit,
    ...(into.right === undefined ? {} : { into: into.right })
  })
}

const noWorktree = (folder: string, why: NoWorktree['why']): NoWorktree => ({ _tag: 'NoWorktree', folder, why })

const takenBranch = (branch: string, repository: string): WorkspaceTaken => ({
  _tag: 'WorkspaceTaken',
  what: 'Branch',
  branch,
  repository
})

const repositoryOf = async (folder: string): Promise<E.Either<WorkspaceError, string>> => {
  const top = await demand(folder, ['rev-parse', '--show-toplevel'])
  if (E.isRight(top)) return top
  const { code, why } = top.left
  if (code === 'ENOENT') return E.left(noWorktree(folder, 'NoGit'))
  if (why.includes('not a git repository')) return E.left(noWorktree(folder, 'NoRepository'))
  return E.left(why.includes('work tree') ? noWorktree(folder, 'Bare') : top.left)
}

/** Creates a worktree or completes a partial one, in steps that survive a kill. Returns the new name of a branch that was in its way. */
export const makeWorktree = async (
  runId: string,
  worktree: Worktree
): Promise<E.Either<WorkspaceError, string | undefined>> => {
  const { root, path } = worktree
  const found = await gitFolderOf(root)
  if (found !== undefined) {
    if ((await textAt(join(found, COMPLETE))) === runId)
      return E.map(() => undefined)(await trying(path, 'mkdir', () => mkdir(path, { recursive: true })))
    const finished = await finish(found, runId, worktree)
    if (E.isRight(finished)) return finished
  }
  if (found !== undefined || (await isShell(root))) {
    const cleared = await trying(root, 'rm', () => rm(root, { recursive: true, force: true, maxRetries: 3 }))
    if (E.isLeft(cleared)) return cleared
  }
  const renamed = await renameExisting(worktree)
  if (E.isLeft(renamed)) return renamed
  const added = await add(worktree)
  if (E.isLeft(added)) return added
  const folder = await gitFolderOf(root)
  if (folder === undefined) return gitRefused(root, 'git worktree add', 'git created no worktree')
  const finished = await finish(folder, runId, worktree)
  return E.isLeft(finished) ? finished : renamed
}

/** A file in git's own folder for the worktree marks it as complete and names its run; git deletes both together. */
const COMPLETE = 'dogear'

/** Git's own folder for the worktree at a path, if it exists. */
export const gitFolderOf = async (root: string): Promise<string | undefined> => {
  const folder = /^gitdir: (.+?)\r?\n?$/s.exec((await textAt(join(root, '.git'))) ?? '')?.[1]
  if (folder === undefined) return undefined
  // With `worktree.useRelativePaths`, git writes a path relative to the worktree.
  const absolute = resolve(root, folder)
  return (await isFolder(absolute)) ? absolute : undefined
}

/** Returns whether a worktree holds at most its `.git` file, as when git was killed before the checkout. */
export const isShell = async (root: string): Promise<boolean> => {
  const names = await trying(root, 'readdir', () => readdir(root))
  return E.isRight(names) && names.right.every((name) => name === '.git')
}

const nothing = (): undefined => undefined

/** The content of a small file, if it exists. */
export const textAt = (path: string): Promise<string | undefined> => readFile(path, 'utf8').catch(nothing)

export const isFolder = async (path: string): Promise<boolean> =>
  (await stat(path).catch(nothing))?.isDirectory() === true

export const isThere = async (path: string): Promise<boolean> => (await lstat(path).catch(nothing)) !== undefined

/** If the branch exists at another commit than this worktree starts from, renames it and returns the new name. */
const renameExisting = async ({
  repository,
  branch,
  commit
}: Worktree): Promise<E.Either<WorkspaceError, string | undefined>> => {
  const tip = await commitAt(repository, `refs/heads/${branch}`)
  if (tip === undefined || tip === commit) return E.right(undefined)
  const name = await freeName(repository, branch)
  return E.map(() => name)(await demand(repository, ['branch', '-m', branch, name]))
}

/** The first free name of the form `<branch>.attempt-<number>`. */
const freeName = async (repository: string, branch: string): Promise<string> => {
  for (let nth = 1; ; nth++) {
    const name = `${branch}.attempt-${nth}`
    if ((await commitAt(repository, `refs/heads/${name}`)) === undefined) return name
  }
}

/** `--force` twice, because git may still list an earlier worktree here as locked. Other worktrees are left alone. */
const add = async ({ repository, root, branch, commit }: Worktree): Promise<E.Either<WorkspaceFailed, string>> => {
  const tip = await commitAt(repository, `refs/heads/${branch}`)
  const what = tip === undefined ? ['-b', branch, root, commit] : [root, branch]
  return demand(repository, ['worktree', 'add', '--force', '--force', '--no-checkout', '--quiet', ...what])
}

/** Checks out the files and marks the worktree as complete. One with a commit of its own is already complete. */
const finish = async (
  folder: string,
  runId: string,
  { root, path, repository, branch, commit }: Worktree
): Promise<E.Either<WorkspaceError, undefined>> => {
  await git(repository, ['worktree', 'unlock', root])
  const head = await commitAt(root, 'HEAD^{commit}')
  if (head === undefined || head === commit) {
    await waitForOthers(folder)
    const pointed = await demand(root, ['symbolic-ref', 'HEAD', `refs/heads/${branch}`])
    if (E.isLeft(pointed)) return pointed
    const filled = await demand(root, ['reset', '--hard', '--quiet', commit])
    if (E.isLeft(filled)) return filled
  }
  return trying(root, 'write', async () => {
    await mkdir(path, { recursive: true })
    await writeFile(join(folder, COMPLETE), runId)
    return undefined
  })
}

const LOCK_MILLIS = 10_000
const POLL_MILLIS = 50

/** Waits for a git that outlived its parent and still holds the lock. Deletes a lock that stays, because a killed git left it. */
const waitForOthers = async (folder: string): Promise<void> => {
  const lock = join(folder, 'index.lock')
  for (let waited = 0; waited < LOCK_MILLIS; waited += POLL_MILLIS) {
    if (!(await isThere(lock))) return
    await sleep(POLL_MILLIS)
  }
  await trying(lock, 'unlink', () => unlink(lock))
}

/**
 * Removes a deleted worktree from git's records, and its branch unless that has commits of its own or is checked out. Returns the name of a branch
 * that is kept.
 */
export const forget = async ({
  root,
  repository,
  branch,
  commit
}: Worktree): Promise<E.Either<WorkspaceFailed, string | undefined>> => {
  // Git may have pruned the worktree already, and the repository may no longer exist.
  await git(repository, ['worktree', 'remove', '--force', '--force', root])
  const tip = await commitAt(repository, `refs/heads/${branch}`)
  if (tip === undefined) return NOTHING
  // A detached HEAD has the commit from which the run started, but keeps the commits of the run only until it moves on.
  const ancestor = await git(repository, ['merge-base', '--is-ancestor', commit, 'HEAD'])
  const started = E.isRight(ancestor) && ancestor.right.code === 0 ? [commit] : []
  const others = [...started, `--exclude=${branch}`, '--branches', '--remotes', '--tags']
  const own = await demand(repository, ['rev-list', '--count', tip, '--not', ...others])
  if (E.isLeft(own)) return own
  if (own.right !== '0') return E.right(branch)
  // Git deletes no branch that is checked out or in a rebase.
  const deleted = await git(repository, ['branch', '--delete', '--force', branch])
  return E.isRight(deleted) && deleted.right.code === 0 ? NOTHING : E.right(branch)
}

const NOTHING: E.Either<WorkspaceFailed, undefined> = E.right(undefined)

/** Creates a branch for commits that only a detached HEAD has, and returns its name. */
export const keepDetached = async (
  root: string,
  branch: string
): Promise<E.Either<WorkspaceFailed, string | undefined>> => {
  if ((await gitFolderOf(root)) === undefined) return NOTHING
  const own = await ask(root, ['rev-list', '--count', 'HEAD', '--not', '--branches', '--remotes', '--tags'])
  if (own === undefined || own === '0') return NOTHING
  const name = await freeName(root, branch)
  return E.map(() => name)(await demand(root, ['branch', name, 'HEAD']))
}
