/** `dogear prune`: deletes the state of final runs. */
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import { exitCode as ofSignal } from '../../adapters/node/index.js'
import type { PrunableStatus, RetentionPolicy } from '../../domain/checkpoint/Retention.js'
import { FINAL } from '../../domain/checkpoint/Retention.js'
import type { Pruned } from '../../executor/storage/prune.js'
import { findExpired, removeRuns } from '../../executor/storage/prune.js'
import type { RunSummary } from '../../executor/storage/runs.js'
import type { CliError } from '../CliError.js'
import { consentMissing, notDone, usage } from '../CliError.js'
import { ExitCode } from '../ExitCode.js'
import { printed, summaryJson } from '../report/runJson.js'
import { confirm, isYes } from '../terminal/Prompt.js'
import * as Duration from '../workflow/Duration.js'
import { didYouMean, orList } from '../../domain/data/Suggestion.js'
import type { Hint } from '../report/Hint.js'
import { linesOf } from '../report/Hint.js'
import type { Context, Result } from './Context.js'
import { environmentFor, sameCommand } from './Context.js'
import type { PromptContext } from './execution/withPrompt.js'
import { deleting, merging } from './execution/workspace.js'
import { viewOf } from './find/find.js'
import { minute } from '../report/text.js'
import { counted } from '../../view/text.js'

export interface PruneFlags {
  readonly keep?: string
  readonly olderThan?: string
  readonly status?: ReadonlyArray<string>
  readonly dryRun?: boolean
  readonly yes?: boolean
}

/** A run that a live process holds is never pruned. */
const STATUSES: ReadonlyArray<PrunableStatus> = [
  'completed',
  'cancelled',
  'failed',
  'interrupted',
  'paused',
  'pending',
  'queued'
]

export const pruneCommand = async (context: PromptContext, flags: PruneFlags): Promise<Result> => {
  const policy = policyOf(flags)
  if (E.isLeft(policy)) return policy
  const environment = environmentFor(context, { interrupt: context.signals.interrupt })
  const found = await findExpired(policy.right)(environment)()
  if (E.isLeft(found)) return E.left(notDone(found.left))
  const runs = found.right
  const { screen } = context
  if (flags.dryRun === true || runs.length === 0) {
    if (context.json) screen.out(printed(documentOf(flags, runs, { removed: [], left: [], isStopped: false })))
    else [...runs.map(lineOf), summaryOf(runs)].forEach(screen.print)
    return E.right(ExitCode.done)
  }
  const agreed = await agree(context, runs, flags)
  if (E.isLeft(agreed)) return agreed
  const pruned = await removeRuns(runs)(environment)()
  return E.isLeft(pruned) ? E.left(notDone(pruned.left)) : E.right(await report(context, flags, runs, pruned.right))
}

const policyOf = ({ keep, olderThan, status }: PruneFlags): E.Either<CliError, RetentionPolicy> => {
  if (keep !== undefined && !/^\d{1,9}$/.test(keep))
    return E.left(usage(`--keep: "${keep}" is not a number of runs; pass a whole number such as 10`))
  const age = olderThan === undefined ? O.none : Duration.parseAge(olderThan)
  if (olderThan !== undefined && O.isNone(age))
    return E.left(usage(`--older-than: "${olderThan}" is not a duration; use one like 12h or 30d`))
  const statuses: Array<PrunableStatus> = []
  for (const word of status ?? FINAL) {
    const known = STATUSES.find((one) => one === word)
    if (known === undefined) {
      const hint = didYouMean(word, STATUSES)
      return E.left(usage(`--status: prune takes no status "${word}"; use ${orList(STATUSES)}${hint}`))
    }
    statuses.push(known)
  }
  if (keep === undefined && olderThan === undefined)
    return E.left(usage('prune: no limit is set; pass --keep N, --older-than 30d, or both'))
  return E.right({
    statuses,
    ...(keep === undefined ? {} : { keep: Number(keep) }),
    ...(O.isNone(age) ? {} : { olderThanMillis: age.value })
  })
}

const agree = async (
  context: PromptContext,
  runs: ReadonlyArray<RunSummary>,
  { yes }: PruneFlags
): Promise<E.Either<CliError, void>> => {
  const { interactive, prompt, screen } = context
  if (yes === true) return E.right(undefined)
  if (!interactive) {
    return E.left(
      consentMissing(`${count(runs)} would be deleted`, [
        { text: 'List them with:', command: sameCommand(context, ['--dry-run']) },
        { text: 'To agree:', command: sameCommand(context, ['--yes']) }
      ])
    )
  }
  for (const run of runs) screen.line(lineOf(run))
  return isYes(await confirm(prompt, `Delete ${count(runs)}, with outputs and artifacts?`, false))
    ? E.right(undefined)
    : E.left({ _tag: 'Declined' })
}

const report = async (
  context: PromptContext,
  flags: PruneFlags,
  runs: ReadonlyArray<RunSummary>,
  pruned: Pruned
): Promise<ExitCode> => {
  const { screen, signals } = context
  if (context.json) screen.out(printed(documentOf(flags, runs, pruned)))
  else screen.print(`Deleted ${count(pruned.removed)}`)
  for (const { run, reason, why } of pruned.left) {
    screen.warn(`run ${run.runId} was not removed: ${why}`)
    if (reason === 'hasWorkspace') linesOf(await workspaceHints(context, run.runId), screen.style).forEach(screen.line)
  }
  if (pruned.isStopped) {
    screen.line(screen.style.yellow('Stopped: not all runs were deleted'))
    const received = signals.received()
    return ofSignal(O.isSome(received) ? received.value : 'SIGINT')
  }
  return pruned.left.some(({ reason }) => reason === 'failed') ? ExitCode.storage : ExitCode.done
}

const workspaceHints = async (context: Context, runId: string): Promise<ReadonlyArray<Hint>> => {
  const view = await viewOf(context, runId)
  const workspace = E.isRight(view) && view.right.status === 'completed' ? view.right.checkpoint.workspace : undefined
  const into = workspace?.kind === 'worktree' ? workspace.into : undefined
  return [...(into === undefined ? [] : [merging(context, runId, into)]), deleting(context, runId)]
}

const documentOf = ({ dryRun }: PruneFlags, runs: ReadonlyArray<RunSummary>, { removed, left }: Pruned) => ({
  dry_run: dryRun === true,
  expired: runs.map(summaryJson),
  removed: removed.map(({ runId }) => runId),
  left: left.map(({ run, why }) => ({ run_id: run.runId, why }))
})

const lineOf = ({ runId, workflow, status, updatedAt }: RunSummary): string =>
  `${runId}  ${workflow.name}  ${status}  ${minute(updatedAt)}`

const summaryOf = (runs: ReadonlyArray<RunSummary>): string =>
  runs.length === 0 ? 'Nothing to delete' : `${count(runs)} would be deleted`

const count = ({ length }: ReadonlyArray<unknown>): string => counted(length, 'run')
