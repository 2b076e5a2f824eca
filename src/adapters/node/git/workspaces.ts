/** Creates, checks and removes the workspaces of runs, with the file system and the `git` command. */
import { mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import * as E from 'fp-ts/lib/Either.js'
import { sha256 } from '../../../domain/data/Digest.js'
import type { OwnWorkspace, Workspace } from '../../../domain/workflow/Workspace.js'
import { join as pathOf, names as namesOf } from '../../../domain/workflow/Unit.js'
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
  const places: Places = { state, parent: join(state, 'workspaces'), from: resolve(folder) }
  return {
    plan: (runId, kind) => () => plan(places, runId, kind),
    make: (runId, workspace) => () => make(places, runId, workspace),
    find: (runId, workspace) => () => find(places, runId, workspace),
    stepFolder: (unit, fresh) => () => stepFolder(places, unit, fresh),
    tree: (path) => workingTree(path, [], places.parent),
    commit: (runId, worktree) => async () => {
      const checked = await checkOwned(places, rootAt(places, runId))
      return E.isLeft(checked) ? checked : commitWorktree(runId, worktree)
    },
    merge: (runId, worktree) => async () => {
      const checked = await checkOwned(places, rootAt(places, runId))
      if (E.isLeft(checked)) return checked
      const ended = await mergeWorktree(runId, worktree)
      if (E.isLeft(ended) || ended.right._tag === 'NotMerged') return ended
      const removed = await remove(places, runId, worktree)
      return E.isLeft(removed) ? removed : ended
    },
    remove: (runId, workspace) => () => remove(places, runId, workspace)
  }
}

/** The state folder, the parent folder of all workspaces, and a folder of the repository that new worktrees start from. */
interface Places {
  readonly state: string
  readonly parent: string
  readonly from: string
}

/** Starts with an underscore, because no run id does. */
const STEPS = '_steps'

/** The folder of workspaces that are being deleted. */
const TRASH = '_gone'

const trashAt = ({ parent }: Places, runId: string): string => join(parent, TRASH, runId)

const rootAt = ({ parent }: Places, runId: string): string => join(parent, runId)

const stepsAt = ({ parent }: Places, runId: string): string => join(parent, STEPS, runId)

/** Checks that existing workspace folders belong to this user. */
const checkOwned = async (
  { state, parent }: Places,
  ...paths: ReadonlyArray<string>
): ReturnType<typeof ownFolders> => {
  for (const path of paths) {
    const checked = await ownFolders(state, parent, path)
    if (E.isLeft(checked)) return checked
  }
  return E.right(undefined)
}

const plan = async (
  places: Places,
  runId: string,
  kind: OwnWorkspace['kind']
): Promise<E.Either<WorkspaceError, OwnWorkspace>> => {
  const checked = await checkOwned(places, places.parent)
  if (E.isLeft(checked)) return checked
  const root = rootAt(places, runId)
  if (await isThere(root)) return E.left({ _tag: 'WorkspaceTaken', what: 'Folder', path: root })
  return kind === 'directory' ? E.right({ kind, path: root }) : planWorktree(places.from, root, runId)
}

const make = async (
  places: Places,
  runId: string,
  workspace: OwnWorkspace
): Promise<E.Either<WorkspaceError, string | undefined>> => {
  const checked = await checkOwned(places, rootAt(places, runId))
  if (E.isLeft(checked)) return checked
  const ready = await ensureIgnored(places)
  if (E.isLeft(ready)) return ready
  if (workspace.kind === 'worktree') return makeWorktree(runId, workspace)
  const { path } = workspace
  const made = await trying(path, 'mkdir', () => mkdir(path, { recursive: true, mode: 0o700 }))
  return E.map(() => undefined)(made)
}

/** Creates the parent folder of all workspaces; a repository around it ignores its content. */
const ensureIgnored = ({ parent }: Places): Promise<E.Either<WorkspaceFailed, unknown>> =>
  trying(parent, 'mkdir', async () => {
    await mkdir(parent, { recursive: true, mode: 0o700 })
    const path = join(parent, '.gitignore')
    if ((await textAt(path)) !== IGNORE_ALL) await writeFile(path, IGNORE_ALL, { mode: 0o600 })
  })

const IGNORE_ALL = '*\n'

const find = async (
  places: Places,
  runId: string,
  workspace: Workspace | undefined
): Promise<E.Either<WorkspaceError, FoundWorkspace>> => {
  const candidates = [rootAt(places, runId), stepsAt(places, runId), trashAt(places, runId)]
  const checked = await checkOwned(places, ...candidates)
  if (E.isLeft(checked)) return checked
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
  const detached = worktree === undefined ? E.right(undefined) : await keepDetached(root, worktree.branch)
  if (E.isLeft(detached)) return detached
  const moved = await moveToTrash(places, runId)
  if (E.isLeft(moved)) return moved
  const kept = worktree === undefined ? E.right(undefined) : await forget(worktree)
  if (E.isLeft(kept)) return kept
  const keptBranch = kept.right ?? detached.right
  const removed = await clear(trashAt(places, runId))
  return E.map(() => ({ folders, ...(keptBranch === undefined ? {} : { keptBranch }) }))(removed)
}

const clear = (path: string): Promise<E.Either<WorkspaceFailed, void>> =>
  trying(path, 'rm', () => rm(path, { recursive: true, force: true, maxRetries: 3 }))

const moveToTrash = async (places: Places, runId: string): Promise<E.Either<WorkspaceFailed, unknown>> => {
  const trash = trashAt(places, runId)
  const cleared = await clear(trash)
  if (E.isLeft(cleared)) return cleared
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
  // `@` distinguishes the folder of a group or item from `work`.
  const names = [step, ...parts.map((part) => `@${part}`)]
  const work = join(stepsAt(places, runId), ...names, WORK)
  const checked = await checkOwned(places, fresh ? dirname(work) : work)
  if (E.isLeft(checked)) return checked
  const ready = await ensureIgnored(places)
  if (E.isLeft(ready)) return ready
  return trying(work, 'mkdir', async () => {
    await mkdir(dirname(work), { recursive: true, mode: 0o700 })
    if (fresh && (await isThere(work))) await rename(work, `${work}.attempt-${await nextNumber(dirname(work))}`)
    await mkdir(work, { recursive: true, mode: 0o700 })
    return work
  })
}

/** Counts the kept folders, because a repeated attempt of the step has the same number as before. */
const nextNumber = async (folder: string): Promise<number> => {
  const numbers = (await readdir(folder)).map((name) => Number(/^work\.attempt-(\d+)$/.exec(name)?.[1] ?? 0))
  return Math.max(0, ...numbers) + 1
}

/** Most file systems limit a name to 255 bytes. */
const MAX_NAME = 200

/** Different names map to different folders, also on a file system that ignores case. The key of an item may be any string. */
const folderName = (name: string): string => {
  const escaped = pathOf(undefined, name).replace(/[A-Z]/g, (letter) => `+${letter.toLowerCase()}`)
  return escaped.length <= MAX_NAME ? escaped : `=${sha256(escaped)}`
}
