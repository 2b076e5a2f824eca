/** `dogear clean`: deletes workspaces, never state. */
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import { exitCode as ofSignal } from '../../adapters/node/index.js'
import type { Checkpoint } from '../../domain/checkpoint/Checkpoint.js'
import { describeEvidence } from '../../domain/checkpoint/CompletedStep.js'
import { listed } from '../../domain/data/listed.js'
import { leftIn } from '../../domain/plan/WorkspaceNeed.js'
import type { RunView } from '../../executor/storage/runs.js'
import { cleanWorkspace } from '../../executor/workspace/workspace.js'
import type { RemovedWorkspace } from '../../ports/Workspaces.js'
import type { CliError } from '../CliError.js'
import { consentMissing, notDone, wrongUse } from '../CliError.js'
import { ExitCode } from '../ExitCode.js'
import { printed } from '../report/runJson.js'
import type { Context, Flags, Result } from './Context.js'
import { environmentFor, sameCommand, printDone } from './Context.js'
import type { PromptContext } from './execution/withPrompt.js'
import { agree, withPrompt } from './execution/withPrompt.js'
import { heldError } from './execution/owner.js'
import { allRuns, findRun, viewOf, warnOfDamaged } from './find/find.js'

interface Candidate {
  readonly view: RunView
  readonly folders: ReadonlyArray<string>
}

export const cleanCommand = withPrompt(async (context: PromptContext, id: string | undefined, flags: Flags) => {
  const views = id === undefined ? await unheldRuns(context, flags) : await oneRun(context, id, flags)
  if (E.isLeft(views)) return views
  const candidates = await withFolders(context, views.right)
  if (E.isLeft(candidates)) return candidates
  if (candidates.right.length === 0) return printNothing(context, id, flags)
  for (const candidate of candidates.right)
    for (const line of await candidateLines(context, candidate)) context.screen.line(line)
  const agreed = await mayDelete(context, candidates.right, flags)
  return E.isLeft(agreed) ? agreed : deleteAll(context, candidates.right)
})

const oneRun = async (context: Context, id: string, { all }: Flags): Promise<Result<ReadonlyArray<RunView>>> => {
  if (all === true) return wrongUse('--all and an id cannot be combined; use one of them')
  const view = await findRun(context, id)
  if (E.isLeft(view)) return view
  const { heldBy } = view.right
  return O.isNone(heldBy) ? E.right([view.right]) : E.left(await heldError(context, view.right, heldBy.value))
}

const unheldRuns = async (context: Context, { all }: Flags): Promise<Result<ReadonlyArray<RunView>>> => {
  const runs = await allRuns(context)
  if (E.isLeft(runs)) return runs
  warnOfDamaged(context, runs.right)
  const views: Array<RunView> = []
  for (const { runId, heldBy, status } of runs.right.runs) {
    if (O.isSome(heldBy) || (all !== true && status !== 'completed')) continue
    const view = await viewOf(context, runId)
    if (E.isLeft(view)) return view
    views.push(view.right)
  }
  return E.right(views)
}

const withFolders = async (
  context: Context,
  views: ReadonlyArray<RunView>
): Promise<Result<ReadonlyArray<Candidate>>> => {
  const { workspaces } = environmentFor(context)
  const found: Array<Candidate> = []
  for (const view of views) {
    // The workspace on disk counts, even if none is recorded.
    const there = await workspaces?.find(view.runId, undefined)()
    if (there === undefined) continue
    if (E.isLeft(there)) return E.left(notDone(there.left, [], view))
    if (there.right.folders.length > 0) found.push({ view, folders: there.right.folders })
  }
  return E.right(found)
}

const printNothing = (context: Context, id: string | undefined, { all }: Flags): Result => {
  const noRun = all === true ? 'no run without an owner' : 'no completed run'
  const which = id === undefined ? `${noRun} has a` : 'this run has no'
  return printDone(context, [], `Nothing to clean: ${which} workspace in ${context.home}`)
}

const candidateLines = async (
  context: Context,
  { view: { runId, status, checkpoint }, folders }: Candidate
): Promise<ReadonlyArray<string>> => {
  const { style } = context.screen
  const lost = await uncommitted(context, checkpoint)
  return [
    `Run ${runId} (${checkpoint.workflow.name}, ${status}):`,
    ...folders.map((folder) => `  ${folder}`),
    ...(lost === 0
      ? []
      : [style.yellow(`  ${lost} path${lost === 1 ? ' is' : 's are'} not committed there, and will be lost`)]),
    ...(status === 'completed' ? [] : [style.yellow(`  ${missed(checkpoint)}`)])
  ]
}

const uncommitted = async (context: Context, { workspace }: Checkpoint): Promise<number> => {
  if (workspace?.kind !== 'worktree') return 0
  const changed = await environmentFor(context).workspaces?.tree(workspace.root).changed()
  return changed === undefined || E.isLeft(changed) ? 0 : changed.right.length
}

const missed = (checkpoint: Checkpoint): string => {
  const left = leftIn(checkpoint).flatMap((one) =>
    one.missing.map((each) => `${describeEvidence(each)} of "${one.unit}"`)
  )
  const what = left.length === 0 ? 'the files that its steps left there' : listed(left, 3)
  return `It is unfinished, and a resume needs ${what}; resume it first if you still need it`
}

const mayDelete = async (
  context: PromptContext,
  candidates: ReadonlyArray<Candidate>,
  { yes }: Flags
): Promise<Result<void>> => {
  if (yes === true) return E.right(undefined)
  const count = candidates.reduce((sum, { folders }) => sum + folders.length, 0)
  return agree(context, `Delete ${count === 1 ? 'this folder' : `these ${count} folders`}?`, () =>
    consentMissing('The listed workspaces would be deleted', [
      { text: 'To agree:', command: sameCommand(context, ['--yes']) }
    ])
  )
}

/** A failure for one run does not stop the others. */
const deleteAll = async (context: PromptContext, candidates: ReadonlyArray<Candidate>): Promise<Result> => {
  const { screen, json } = context
  const done: Array<RemovedWorkspace & { readonly runId: string }> = []
  let failure: CliError | undefined
  for (const { view } of candidates) {
    if (context.signals.interrupt.signal.aborted) break
    const removed = await cleanWorkspace(view.runId)(environmentFor(context))()
    if (E.isLeft(removed)) {
      failure ??= notDone(removed.left, [], view)
      continue
    }
    done.push({ runId: view.runId, ...removed.right })
    if (json) continue
    for (const folder of removed.right.folders) screen.print(`Deleted ${folder}`)
    const { keptBranch } = removed.right
    if (keptBranch !== undefined)
      screen.print(`Kept branch ${keptBranch}: it is checked out, or has commits that exist nowhere else`)
  }
  if (failure !== undefined) return E.left(failure)
  const documents = done.map(({ runId, folders, keptBranch = null }) => {
    return { run_id: runId, folders, kept_branch: keptBranch }
  })
  if (json) screen.out(printed(documents))
  const received = context.signals.received()
  if (done.length === candidates.length || O.isNone(received)) return E.right(ExitCode.done)
  screen.line(screen.style.yellow('Stopped: not all workspaces were deleted'))
  return E.right(ofSignal(received.value))
}
