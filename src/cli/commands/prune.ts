/** `dogear prune`: deletes the state of runs by age and count; by default of completed and cancelled ones. */
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import { exitCode as ofSignal, type StopSignal } from '../../adapters/node/index.js'
import type { RetentionPolicy } from '../../domain/checkpoint/Retention.js'
import { FINISHED, PRUNABLE } from '../../domain/checkpoint/Retention.js'
import type { KeptRun, NeverStarted, Pruned, Removed } from '../../executor/storage/prune.js'
import { findPrunable, previewRemoval, removePrunable } from '../../executor/storage/prune.js'
import { describeStorage } from '../../executor/errors/portErrors.js'
import type { RunSummary } from '../../executor/storage/runs.js'
import { consentMissing, notDone, stopped, wrongUse, wordAmong } from '../CliError.js'
import { ExitCode } from '../ExitCode.js'
import type { Hint } from '../report/Hint.js'
import { printHints } from '../report/Hint.js'
import { printed, summaryJson } from '../report/runJson.js'
import * as Duration from '../workflow/Duration.js'
import type { Context, Flags, Result } from './Context.js'
import { environmentFor, hintTo, sameCommand } from './Context.js'
import type { PromptContext } from './execution/withPrompt.js'
import { agree, withPrompt } from './execution/withPrompt.js'
import { merging } from './execution/workspace.js'
import { viewOf } from './find/find.js'
import { minute } from '../report/text.js'
import { counted } from '../../view/text.js'

export const pruneCommand = withPrompt(async (context: PromptContext, flags: Flags) => {
  const policy = policyOf(flags)
  if (E.isLeft(policy)) return policy
  const environment = environmentFor(context, { interrupt: context.signals.interrupt })
  const found = await findPrunable(policy.right)(environment)()
  if (E.isLeft(found)) return E.left(notDone(found.left))
  const { expired, unreadable } = found.right
  const isAgreed = flags.yes === true && flags.dryRun !== true
  const preview = isAgreed ? E.right(asFound(expired)) : await previewRemoval(expired)(environment)()
  if (E.isLeft(preview)) return E.left(notDone(preview.left))
  const { removed: runs, left, isStopped } = preview.right
  if (isStopped) return E.left(stopped(stoppedBy(context)))
  const { screen } = context
  for (const error of unreadable) screen.warn(describeStorage(error))
  const neverStarted = found.right.neverStarted.map((runId) => ({ runId }))
  if (flags.dryRun === true) {
    if (context.json) screen.out(printed(documentOf(flags, expired, { removed: [], left, neverStarted })))
    else [...runs.map(lineOf), ...neverStarted.map(lineOfNone), summaryOf(runs, neverStarted)].forEach(screen.print)
    return E.right(await reportLeft(context, left, 'would stay'))
  }
  const agreed = runs.length === 0 ? E.right(undefined) : await mayDelete(context, runs, flags)
  if (E.isLeft(agreed)) return agreed
  const pruned = await removePrunable({ ...found.right, expired: runs })(environment)()
  if (E.isLeft(pruned)) return E.left(notDone(pruned.left))
  const isEmpty = runs.length + pruned.right.neverStarted.length === 0
  return E.right(
    await report(context, flags, expired, { ...pruned.right, left: [...left, ...pruned.right.left] }, isEmpty)
  )
})

const asFound = (removed: ReadonlyArray<RunSummary>): Removed => ({ removed, left: [], isStopped: false })

const stoppedBy = ({ signals }: PromptContext): StopSignal =>
  O.getOrElse((): StopSignal => 'SIGINT')(signals.received())

const policyOf = ({ keep, olderThan, status }: Flags): Result<RetentionPolicy> => {
  if (keep !== undefined && !/^\d{1,9}$/.test(keep))
    return wrongUse(`--keep: "${keep}" is not a number of runs; pass a whole number such as 10`)
  const age = olderThan === undefined ? O.none : Duration.parseAge(olderThan)
  if (olderThan !== undefined && O.isNone(age))
    return wrongUse(`--older-than: "${olderThan}" is not a duration; use one like 12h or 30d`)
  const toStatus = (word: string) => wordAmong('--status', 'prune takes no status', word, PRUNABLE)
  const statuses = E.traverseArray(toStatus)(status ?? FINISHED)
  if (E.isLeft(statuses)) return statuses
  if (keep === undefined && olderThan === undefined)
    return wrongUse('prune: no limit is set; pass --keep N, --older-than 30d, or both')
  return E.right({
    statuses: statuses.right,
    ...(keep === undefined ? {} : { keep: Number(keep) }),
    ...(O.isNone(age) ? {} : { olderThanMillis: age.value })
  })
}

const mayDelete = async (
  context: PromptContext,
  runs: ReadonlyArray<RunSummary>,
  { yes }: Flags
): Promise<Result<void>> => {
  if (yes === true) return E.right(undefined)
  if (context.interactive) for (const run of runs) context.screen.line(lineOf(run))
  return agree(context, `Delete ${count(runs)}, with outputs and artifacts?`, () =>
    consentMissing(`${count(runs)} would be deleted`, [
      { text: 'List them with:', command: sameCommand(context, ['--dry-run']) },
      { text: 'To agree:', command: sameCommand(context, ['--yes']) }
    ])
  )
}

const report = async (
  context: PromptContext,
  flags: Flags,
  runs: ReadonlyArray<RunSummary>,
  pruned: Pruned,
  isEmpty: boolean
): Promise<ExitCode> => {
  const { screen } = context
  const { removed, left, neverStarted, isStopped } = pruned
  if (context.json) screen.out(printed(documentOf(flags, runs, pruned)))
  else screen.print(isEmpty ? NOTHING : `Deleted ${total(removed, neverStarted.filter(isRemoved))}`)
  const failed = neverStarted.filter((one) => !isRemoved(one))
  for (const { runId, why } of failed) screen.warn(`run ${runId} ${NOT_REMOVED}: ${why}`)
  const code = await reportLeft(context, left, NOT_REMOVED)
  if (!isStopped) return failed.length > 0 ? ExitCode.storage : code
  screen.line(screen.style.yellow('Stopped: not all runs were deleted'))
  return ofSignal(stoppedBy(context))
}

const isRemoved = ({ why }: NeverStarted): boolean => why === undefined

const NOT_REMOVED = 'was not removed'

const reportLeft = async (context: PromptContext, left: ReadonlyArray<KeptRun>, verb: string): Promise<ExitCode> => {
  const { screen } = context
  for (const { run, why } of left) screen.warn(`run ${run.runId} ${verb}: ${why}`)
  const own = left.flatMap(({ run, reason }) => (reason === 'hasWorkspace' ? [run] : []))
  printHints(screen, await ofWorkspaces(context, own))
  return left.some(({ reason }) => reason === 'failed' || reason === 'damaged') ? ExitCode.storage : ExitCode.done
}

/** Without an id, `clean` deletes the workspaces of completed runs alone. */
const ofWorkspaces = async (context: Context, runs: ReadonlyArray<RunSummary>): Promise<ReadonlyArray<Hint>> => {
  const [first, ...others] = runs
  if (first === undefined) return []
  const one = ['clean', first.runId]
  if (others.length > 0)
    return runs.every(({ status }) => status === 'completed')
      ? [hintTo(context, 'To delete the workspaces of completed runs:', ['clean'])]
      : [hintTo(context, 'To delete one of these workspaces, for example:', one)]
  const view = await viewOf(context, first.runId)
  const workspace = E.isRight(view) && first.status === 'completed' ? view.right.checkpoint.workspace : undefined
  const into = workspace?.kind === 'worktree' ? workspace.into : undefined
  return [
    ...(into === undefined ? [] : [merging(context, first.runId, into)]),
    hintTo(context, 'To delete its workspace:', one)
  ]
}

type Document = Pick<Pruned, 'removed' | 'left' | 'neverStarted'>

const documentOf = ({ dryRun }: Flags, runs: ReadonlyArray<RunSummary>, { removed, left, neverStarted }: Document) => ({
  dry_run: dryRun === true,
  expired: runs.map(summaryJson),
  removed: removed.map(({ runId }) => runId),
  left: [
    ...left.map(({ run, why }) => ({ run_id: run.runId, why })),
    ...neverStarted.flatMap(({ runId, why }) => (why === undefined ? [] : [{ run_id: runId, why }]))
  ],
  never_started: neverStarted.filter(isRemoved).map(({ runId }) => runId)
})

const lineOf = ({ runId, workflow, status, updatedAt }: RunSummary): string =>
  `${runId}  ${workflow.name}  ${status}  ${minute(updatedAt)}`

const lineOfNone = ({ runId }: NeverStarted): string => `${runId}  never started`

const NOTHING = 'Nothing to delete'

const summaryOf = (...found: Parameters<typeof total>): string =>
  found.every(({ length }) => length === 0) ? NOTHING : `${total(...found)} would be deleted`

const total = (runs: ReadonlyArray<RunSummary>, neverStarted: ReadonlyArray<NeverStarted>): string =>
  neverStarted.length === 0
    ? count(runs)
    : `${runs.length === 0 ? '' : `${count(runs)} and `}${count(neverStarted)} that never started`

const count = ({ length }: ReadonlyArray<unknown>): string => counted(length, 'run')
