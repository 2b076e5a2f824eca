/** Merges, keeps or reports the workspace of a run. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import type { Checkpoint } from '../../../domain/checkpoint/Checkpoint.js'
import type { JsonObject } from '../../../domain/data/Json.js'
import { listed } from '../../../domain/data/listed.js'
import * as Redaction from '../../../domain/data/Redaction.js'
import type { OwnWorkspace, Worktree } from '../../../domain/workflow/Workspace.js'
import { isOwn } from '../../../domain/workflow/Workspace.js'
import { describe } from '../../../executor/errors/describe.js'
import { hasWorkspace, mergeWorkspace } from '../../../executor/workspace/workspace.js'
import type { MergeEnd } from '../../../ports/Workspaces.js'
import type { Hint } from '../../report/Hint.js'
import { linesOf, printHints } from '../../report/Hint.js'
import type { PromptContext } from './withPrompt.js'
import { confirm } from '../../terminal/Prompt.js'
import { commandOf } from '../../../domain/explain/shellQuote.js'
import type { Context, Flags } from '../Context.js'
import { environmentFor, hintTo } from '../Context.js'
import type { Loaded } from '../../workflow/load.js'
import { treeAt } from './commandPlan.js'
import { redactionFor } from './input.js'
import { counted } from '../../../view/text.js'

/** The work in a worktree since its first commit. */
interface Work {
  readonly commits: number
  readonly uncommitted: number
}

/** Returns what a new worktree will lack, as a warning to print once it is made; undefined if it lacks nothing. */
export const warningOfUncommitted = async (context: Context): Promise<string | undefined> => {
  const changed = await treeAt(context, context.folder).changed()
  if (E.isLeft(changed) || changed.right.length === 0) return undefined
  const { length } = changed.right
  const what = `${counted(length, 'path')} here ${length === 1 ? 'is' : 'are'} not committed`
  return `${what}; the worktree starts from the last commit, without ${length === 1 ? 'it' : 'them'}`
}

export const warnOfOtherWorkspaceKind = ({ screen }: Context, run: Checkpoint, { file, shown }: Loaded): void => {
  const { workspace } = run
  if (workspace === undefined || workspace.kind === file.workspace) return
  const now = `${shown} has "workspace: ${file.workspace}"`
  screen.warn(`${now}, but the run keeps its first setting: ${workspace.kind}`)
}

export const printWorkspace = ({ screen }: Context, workspace: OwnWorkspace, renamed: string | undefined): void => {
  screen.line(`Working in ${placeOf(workspace)}`)
  if (workspace.kind === 'directory') return
  if (renamed !== undefined) {
    screen.line(`Branch ${workspace.branch} had other work, which is now on branch ${renamed}`)
  }
  if (!existsSync(join(workspace.root, '.gitmodules'))) return
  const how = 'a step can fetch them with "git submodule update --init"'
  screen.warn(`the submodules are empty in the worktree; ${how}`)
}

export const placeOf = (workspace: OwnWorkspace): string =>
  workspace.kind === 'worktree' ? `worktree ${workspace.path}, branch ${workspace.branch}` : `folder ${workspace.path}`

/** `worked`: whether a step ran just now; without that there is no question. Returns fields for JSON. */
export const settleWorkspace = async (
  context: PromptContext,
  checkpoint: Checkpoint,
  flags: Flags,
  worked: boolean
): Promise<JsonObject> => {
  const { runId, workspace } = checkpoint
  const { screen } = context
  const withoutMerge = (why: string): JsonObject => {
    if (flags.merge !== undefined) screen.warn(`${flags.merge ? '--merge' : '--no-merge'} has no effect: ${why}`)
    return {}
  }
  if (!isOwn(workspace)) return withoutMerge(`run ${runId} has no worktree`)
  const there = await hasWorkspace({ runId, workspace })(environmentFor(context))()
  if (E.isLeft(there)) {
    screen.warn(describe(there.left))
    return {}
  }
  if (!there.right) return withoutMerge(`the workspace of run ${runId} no longer exists`)
  if (workspace.kind === 'worktree') return settleWorktree(context, checkpoint, workspace, flags, worked)
  withoutMerge(`run ${runId} works in a folder, not in a worktree`)
  screen.line(`Its files are in ${workspace.path}`)
  printHints(screen, [deleting(context, runId, 'folder')])
  return workspaceJson(workspace, 'kept')
}

/** Redacts what git says: a hook may print the environment. */
const settleWorktree = async (
  context: PromptContext,
  { runId, workflow }: Checkpoint,
  worktree: Worktree,
  flags: Flags,
  worked: boolean
): Promise<JsonObject> => {
  const { screen } = context
  const redaction = redactionFor(context, workflow)
  const work = await workIn(context, worktree)
  const kept = (why?: string, obstacle?: string): JsonObject => {
    if (obstacle !== undefined) screen.line(screen.style.red(`Not merged: ${Redaction.text(redaction, obstacle)}`))
    keepingLines(context, runId, worktree, work).forEach(screen.line)
    return workspaceJson(worktree, 'kept', why)
  }
  if (!(await isWanted(context, worktree, work, flags, worked))) return kept()
  const ended = await mergeWorkspace(runId)(environmentFor(context))()
  if (E.isLeft(ended)) return kept(ended.left._tag, describe(ended.left))
  if (O.isNone(ended.right)) return {}
  const end = ended.right.value
  if (end.committed) screen.line(`Committed the uncommitted changes of the worktree on branch ${worktree.branch}`)
  if (end._tag === 'Merged') {
    screen.line(
      screen.style.green(`Merged ${worktree.branch} into ${end.into}, and deleted the worktree and its branch`)
    )
    return workspaceJson(worktree, 'merged')
  }
  return kept(end.why, obstacleOf(worktree, end))
}

/** Returns `undefined` if git cannot read it; a merge says why. */
const workIn = async (context: Context, { root, commit }: Worktree): Promise<Work | undefined> => {
  const tree = environmentFor(context).workspaces?.tree(root)
  const commits = tree === undefined ? E.right([]) : await tree.commitsSince(O.some(commit))()
  const changed = tree === undefined ? E.right([]) : await tree.changed()
  return E.isLeft(commits) || E.isLeft(changed)
    ? undefined
    : { commits: commits.right.length, uncommitted: changed.right.length }
}

const isWanted = async (
  { interactive, prompt }: PromptContext,
  { branch, into }: Worktree,
  work: Work | undefined,
  { merge, yes }: Flags,
  worked: boolean
): Promise<boolean> => {
  if (merge !== undefined) return merge
  if (!worked || into === undefined || isEmpty(work)) return false
  if (yes === true) return true
  return interactive && (await confirm(prompt, `Merge ${branch} (${describeWork(work)}) into ${into}?`))
}

const isEmpty = (work: Work | undefined): boolean => work?.commits === 0 && work.uncommitted === 0

const describeWork = (work: Work | undefined): string => {
  if (work === undefined) return 'git cannot read its work'
  const { commits, uncommitted } = work
  return [
    ...(commits === 0 ? [] : [counted(commits, 'commit')]),
    ...(uncommitted === 0 ? [] : [`${counted(uncommitted, 'path')} not committed`])
  ].join(', ')
}

const obstacleOf = (
  { repository, branch, into = '', root }: Worktree,
  end: MergeEnd & { readonly _tag: 'NotMerged' }
): string => {
  switch (end.why) {
    case 'Detached':
      return `HEAD was detached when the run began, so ${branch} has no branch to merge into`
    case 'Moved':
      return `${root} is no longer at branch ${branch}`
    case 'OtherBranch':
      return `${repository} is at ${end.found === undefined ? 'no branch' : `branch ${end.found}`}, not at ${into}`
    case 'Dirty':
      return `${repository} has uncommitted changes: ${listed(end.files, 5)}; commit or stash them`
    case 'Conflict':
      return `${listed(end.files, 5)} conflict${end.files.length === 1 ? 's' : ''}. The merge was undone, and ${into} is unchanged`
    case 'Refused':
      return `git says: ${end.said}`
  }
}

const keepingLines = (
  context: Context,
  runId: string,
  worktree: Worktree,
  work: Work | undefined
): ReadonlyArray<string> => {
  const { into } = worktree
  const empty = isEmpty(work)
  const hints: ReadonlyArray<Hint> = [
    ...(empty || into === undefined ? [] : [merging(context, runId, into)]),
    ...(empty ? [] : [mergingByHand(worktree)]),
    deleting(context, runId, 'worktree')
  ]
  const what = empty ? 'nothing to merge' : describeWork(work)
  return [`Kept: ${placeOf(worktree)} (${what})`, ...linesOf(hints, context.screen.style)]
}

const mergingByHand = ({ repository, branch, into }: Worktree): Hint => ({
  text: into === undefined ? 'Or by hand:' : `Or by hand, once ${into} is checked out:`,
  command: commandOf(['git', '-C', repository, 'merge', branch])
})

export const merging = (context: Context, runId: string, into: string): Hint =>
  hintTo(context, `To merge it into ${into}:`, ['resume', runId, '--merge'])

const deleting = (context: Context, runId: string, what: 'folder' | 'worktree'): Hint =>
  hintTo(context, `To delete this ${what}:`, ['clean', runId])

const workspaceJson = (workspace: OwnWorkspace, end: 'kept' | 'merged', why?: string): JsonObject => ({
  workspace: {
    kind: workspace.kind,
    path: workspace.path,
    ...(workspace.kind === 'worktree' ? { branch: workspace.branch } : {}),
    end,
    ...(why === undefined ? {} : { why })
  }
})
