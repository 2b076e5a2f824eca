/** Creates, checks and removes the workspaces of runs, with the file system and the `git` command. */
import { mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import * as E from 'fp-ts/lib/Either.js'
import { sha256 } from '../../../domain/data/Digest.js'
import type { OwnWorkspace, Workspace } from '../../../domain/workflow/Workspace.js'
import { names as namesOf } from '../../../domain/workflow/Unit.js'
import type {
  FoundWorkspace,
  StepFolder,
  WorkspaceError,
  WorkspaceFailed,
  Workspaces
} from '../../../ports/Workspaces.js'
import { commitWorktree, mergeWorktree } from './merging.js'
import { ownFolders } from './ownFolders.js'
import { workingTree } from './workingTree.js'
import {
  forget,
  gitFolderOf,
  gitRefused,
  isFolder,
  isShell,
  isThere,
  keepDetached,
  makeWorktree,
  planWorktree,
  textAt,
  trying
} from './worktree.js'

/**
 * The workspaces below a state folder, in `workspaces/<runId>`. Worktrees start from the HEAD of the repository that
 * contains `folder`. A `.gitignore` excludes them from a repository that contains the state folder.
 *
 * @example
 * import * as E from 'fp-ts/lib/Either.js'
 * import { pipe } from 'fp-ts/lib/function.js'
 * import * as TE from 'fp-ts/lib/TaskEither.js'
 * import { Program, run } from 'dogear'
 * import { jsonFileStorage } from 'dogear/json-file'
 * import { nodeEnvironment, workspaces } from 'dogear/node'
 * import { existsSync } from 'node:fs'
 * import assert from 'node:assert/strict'
 *
 * const program = pipe(
 *   Program.start('pack'),
 *   Program.step('unpack', { run: ({ folder = '' }) => TE.right(existsSync(folder)) })
 * )
 * const environment = nodeEnvironment(jsonFileStorage('state'), { workspaces: workspaces('state') })
 * const outcome = await run(program, 'pack-1', {}, { workspace: 'directory' })(environment)()
 * assert.ok(E.isRight(outcome) && outcome.right._tag === 'Completed')
 * assert.deepEqual([...outcome.right.checkpoint.completedSteps].map(({ output }) => output), [true])
 *
 * @category constructors
 */
export const workspaces = (stateFolder: string, folder = '.'): Workspaces => {
  const state = resolve(stateFolder)
  const places: Places = { state, all: join(state, 'workspaces'), from: resolve(folder) }
  return {
    plan: (runId, kind) => () => plan(places, runId, kind),
    make: (runId, workspace) => () => make(places, runId, workspace),
    find: (runId, workspace) => () => find(places, runId, workspace),
    stepFolder: (unit, fresh) => () => stepFolder(places, unit, fresh),
    tree: (path) => workingTree(path, [], places.all),
    commit: (runId, worktree) => async () => {
      const own = await owned(places, rootAt(places, runId))
      return E.isLeft(own) ? own : commitWorktree(runId, worktree)
    },
    merge: (runId, worktree) => async () => {
      const own = await owned(places, rootAt(places, runId))
      if (E.isLeft(own)) return own
      const ended = await mergeWorktree(runId, worktree)
      if (E.isLeft(ended) || ended.right._tag === 'NotMerged') return ended
      const removed = await remove(places, runId, worktree)
      return E.isLeft(removed) ? removed : ended
    },
    remove: (runId, workspace) => () => remove(places, runId, workspace)
  }
}

/** The state folder, the root of all workspaces, and the repository that new worktrees start from. */
interface Places {
  readonly state: string
  readonly all: string
  readonly from: string
}

/** Starts with an underscore, because no run id does. */
const STEPS = '_steps'

/** The folder of workspaces that are being deleted. */
const TRASH = '_gone'

const trashAt = ({ all }: Places, runId: string): string => join(all, TRASH, runId)

const rootAt = ({ all }: Places, runId: string): string => join(all, runId)

const stepsAt = ({ all }: Places, runId: string): string => join(all, STEPS, runId)

/** Checks that existing workspace folders belong to this user. */
const owned = async ({ state, all }: Places, ...paths: ReadonlyArray<string>): ReturnType<typeof ownFolders> => {
  for (const path of paths) {
    const own = await ownFolders(state, all, path)
    if (E.isLeft(own)) return own
  }
  return E.right(undefined)
}

const plan = async (
  places: Places,
  runId: string,
  kind: OwnWorkspace['kind']
): Promise<E.Either<WorkspaceError, OwnWorkspace>> => {
  const own = await owned(places, places.all)
  if (E.isLeft(own)) return own
  const root = rootAt(places, runId)
  if (await isThere(root)) return E.left({ _tag: 'WorkspaceTaken', what: 'Folder', path: root })
  return kind === 'directory' ? E.right({ kind, path: root }) : planWorktree(places.from, root, runId)
}

const make = async (
  places: Places,
  runId: string,
  workspace: OwnWorkspace
): Promise<E.Either<WorkspaceError, string | undefined>> => {
  const own = await owned(places, rootAt(places, runId))
  if (E.isLeft(own)) return own
  const ready = await ensureIgnored(places)
  if (E.isLeft(ready)) return ready
  if (workspace.kind === 'worktree') return makeWorktree(runId, workspace)
  const { path } = workspace
  const made = await trying(path, 'mkdir', () => mkdir(path, { recursive: true, mode: 0o700 }))
  return E.map(() => undefined)(made)
}

/** Creates the root of all workspaces, ignored by a repository around it. */
const ensureIgnored = ({ all }: Places): Promise<E.Either<WorkspaceFailed, unknown>> =>
  trying(all, 'mkdir', async () => {
    await mkdir(all, { recursive: true, mode: 0o700 })
    const path = join(all, '.gitignore')
    if ((await textAt(path)) !== IGNORE_ALL) await writeFile(path, IGNORE_ALL, { mode: 0o600 })
  })

const IGNORE_ALL = '*\n'

const find = async (
  places: Places,
  runId: string,
  workspace: Workspace | undefined
): Promise<E.Either<WorkspaceError, FoundWorkspace>> => {
  const candidates = [rootAt(places, runId), stepsAt(places, runId), trashAt(places, runId)]
  const own = await owned(places, ...candidates)
  if (E.isLeft(own)) return own
  const found = await Promise.all(candidates.map(isThere))
  const folders = candidates.filter((_, index) => found[index])
  const there = workspace === undefined || (await isFolder(workspace.path))
  if (!there || workspace?.kind !== 'worktree') return E.right({ there, folders })
  const { root, repository } = workspace
  const isWorktree = await isThere(join(root, '.git'))
  if (!isWorktree || (await gitFolderOf(root)) !== undefined) return E.right({ there: isWorktree, folders })
  if (await isShell(root)) return E.right({ there: false, folders })
  const why = `its repository is no longer at ${repository}; run "git worktree repair" in its new folder`
  return gitRefused(root, 'find', why)
}

/** Deletes only paths that this adapter creates. Moves them first, so that no resume or merge sees a half-deleted workspace. */
const remove = async (
  places: Places,
  runId: string,
  workspace: Workspace | undefined
): ReturnType<ReturnType<Workspaces['remove']>> => {
  const found = await find(places, runId, undefined)
  if (E.isLeft(found)) return found
  const { folders } = found.right
  const root = rootAt(places, runId)
  const worktree = workspace?.kind === 'worktree' && workspace.root === root ? workspace : undefined
  const strayed = worktree === undefined ? E.right(undefined) : await keepDetached(root, worktree.branch)
  if (E.isLeft(strayed)) return strayed
  const aside = await putAside(places, runId)
  if (E.isLeft(aside)) return aside
  const kept = worktree === undefined ? strayed : E.map((own?: string) => own ?? strayed.right)(await forget(worktree))
  if (E.isLeft(kept)) return kept
  const removed = await cleared(trashAt(places, runId))
  return E.map(() => ({ folders, ...(kept.right === undefined ? {} : { keptBranch: kept.right }) }))(removed)
}

const cleared = (path: string): Promise<E.Either<WorkspaceFailed, void>> =>
  trying(path, 'rm', () => rm(path, { recursive: true, force: true, maxRetries: 3 }))

const putAside = async (places: Places, runId: string): Promise<E.Either<WorkspaceFailed, unknown>> => {
  const trash = trashAt(places, runId)
  const before = await cleared(trash)
  if (E.isLeft(before)) return before
  for (const [name, path] of [
    ['run', rootAt(places, runId)],
    ['steps', stepsAt(places, runId)]
  ] as const) {
    if (!(await isThere(path))) continue
    const moved = await trying(path, 'rename', async () => {
      await mkdir(trash, { recursive: true, mode: 0o700 })
      await rename(path, join(trash, name))
    })
    if (E.isLeft(moved)) return moved
  }
  return E.right(undefined)
}

const WORK = 'work'

const stepFolder = async (
  places: Places,
  { runId, unit }: StepFolder,
  fresh: boolean
): Promise<E.Either<WorkspaceError, string>> => {
  const [step = '', ...parts] = namesOf(unit).map(folderName)
  const names = [step, ...parts.map((part) => `@${part}`)]
  const work = join(stepsAt(places, runId), ...names, WORK)
  const own = await owned(places, fresh ? dirname(work) : work)
  if (E.isLeft(own)) return own
  const ready = await ensureIgnored(places)
  if (E.isLeft(ready)) return ready
  return trying(work, 'mkdir', async () => {
    await mkdir(dirname(work), { recursive: true, mode: 0o700 })
    if (fresh && (await isThere(work))) await rename(work, `${work}.attempt-${await nextNumber(dirname(work))}`)
    await mkdir(work, { recursive: true, mode: 0o700 })
    return work
  })
}

/** Numbered by a counter, because a repeated attempt has the same number. */
const nextNumber = async (folder: string): Promise<number> => {
  const numbers = (await readdir(folder)).map((name) => Number(/^work\.attempt-(\d+)$/.exec(name)?.[1] ?? 0))
  return Math.max(0, ...numbers) + 1
}

/** Most file systems limit a name to 255 bytes. */
const MAX_NAME = 200

/** Different names map to different folders, also on a file system that ignores case. */
const folderName = (name: string): string => {
  const escaped = name.replace(/[A-Z]/g, (letter) => `+${letter.toLowerCase()}`)
  return escaped.length <= MAX_NAME ? escaped : `=${sha256(name)}`
}
