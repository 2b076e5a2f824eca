/** `dogear show`: shows one run in full. */
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import type { Change } from '../../domain/change/Change.js'
import { cut } from '../../domain/data/Cut.js'
import type { JsonObject } from '../../domain/data/Json.js'
import { unitsOf } from '../../domain/explain/UnitView.js'
import type { Environment } from '../../ports/Environment.js'
import { runChanges } from '../../executor/storage/history.js'
import type { RunView } from '../../executor/storage/runs.js'
import { describeArtifact } from '../../executor/errors/portErrors.js'
import type { ArtifactError, ArtifactInfo } from '../../ports/ArtifactStore.js'
import type { HistoryEntry } from '../../ports/CheckpointStorage.js'
import { notDone, REQUESTED, wrongUse } from '../CliError.js'
import { ExitCode } from '../ExitCode.js'
import { graphOf } from '../../view/graph.js'
import { pendingJson } from '../report/pending.js'
import { changeJson } from '../report/changeJson.js'
import { failuresJson, holderJson, printed, summaryJson } from '../report/runJson.js'
import type { Hint } from '../report/Hint.js'
import { printHints } from '../report/Hint.js'
import { describeGap, gapAfter } from '../report/gaps.js'
import { factsOf } from '../../view/facts.js'
import { rowLines } from '../report/rows.js'
import { toJson } from '../report/UnitView.js'
import type { Style } from '../terminal/Style.js'
import type { Context, Flags, Result } from './Context.js'
import { environmentFor } from './Context.js'
import { requestsTo } from './execution/owner.js'
import { isCancelRequested, recordCancelHint, RECORDS_CANCEL } from './execution/requestedCancel.js'
import { findRun } from './find/find.js'
import { ofMove, ofPending, reopening } from './hints/ofRun.js'
import { writePage } from './page.js'
import { firstChange } from './watch.js'
import { holderText, progressOf } from '../report/text.js'

export const showCommand = async (context: Context, id: string, flags: Flags): Promise<Result> => {
  if (flags.html !== undefined && flags.mermaid === true)
    return wrongUse('--html and --mermaid cannot be combined; use one of them')
  const environment = environmentFor(context)
  const view = await findRun(context, id)
  if (E.isLeft(view)) return view
  if (flags.mermaid === true) return showGraph(context, view.right)
  const history = flags.history === true ? await historyOf(environment, view.right) : E.right(undefined)
  if (E.isLeft(history)) return history
  const artifacts =
    environment.artifacts === undefined ? E.right([]) : await environment.artifacts.list(view.right.runId)()
  const cancels = await isCancelRequested(context, view.right)
  const pauses = await isPauseRequested(context, view.right)
  const { screen } = context
  if (flags.html !== undefined) {
    const page = await writePage(context, view.right, E.isRight(artifacts) ? artifacts.right : [], flags.html)
    if (E.isLeft(page)) return page
    if (page.right !== undefined) screen.line(`Wrote ${page.right}`)
    if (!context.json) return E.right(ExitCode.done)
  }
  const shown = { view: view.right, history: history.right, artifacts, cancels, pauses }
  if (context.json) screen.out(printed(showJson(shown)))
  else {
    showLines(shown, screen.outStyle).forEach(screen.print)
    printHints(screen, nextOf(context, shown))
  }
  return E.right(ExitCode.done)
}

/** `cancels`, `pauses`: that was requested. A failed listing of artifacts must not keep the rest of a run from being shown. */
interface Shown {
  readonly view: RunView
  readonly history: ReadonlyArray<HistoryLine> | undefined
  readonly artifacts: E.Either<ArtifactError, ReadonlyArray<ArtifactInfo>>
  readonly cancels: boolean
  readonly pauses: boolean
}

const nextOf = (context: Context, { view, cancels }: Shown): ReadonlyArray<Hint> => {
  const { runId, checkpoint, status, heldBy } = view
  if (checkpoint.moved !== undefined) return [ofMove(context, runId, checkpoint.moved)]
  if (cancels) return isAlive(heldBy) ? [] : [recordCancelHint(context, view)]
  return status === 'cancelled' ? reopening(context, checkpoint) : ofPending(context, checkpoint)
}

const isPauseRequested = async (context: Context, { runId, heldBy }: RunView): Promise<boolean> =>
  O.isSome(heldBy) && isAlive(heldBy) && (await requestsTo(context, runId, heldBy.value)).has('Pause')

const isAlive = (heldBy: RunView['heldBy']): boolean => O.isSome(heldBy) && heldBy.value.liveness === 'alive'

/** A graph has no other form: with --json it is a field of a document. */
const showGraph = ({ screen, json }: Context, { runId, checkpoint }: RunView): Result => {
  const graph = graphOf(checkpoint)
  screen.out(json ? printed({ run_id: runId, mermaid: graph }) : graph)
  return E.right(ExitCode.done)
}

const historyOf = async (environment: Environment, view: RunView): Promise<Result<ReadonlyArray<HistoryLine>>> => {
  const { runId } = view
  const history = await environment.storage.history(runId)()
  if (E.isLeft(history)) return E.left(notDone(history.left))
  const changes = await runChanges(runId)(environment)()
  if (E.isLeft(changes)) return E.left(notDone(changes.left))
  const known = new Map([...changes.right, [0, await firstChange(environment, view)]])
  return E.right(history.right.map((entry) => ({ ...entry, known: known.get(entry.revision) })))
}

/** `known`: the change, if the store still has it. */
interface HistoryLine extends HistoryEntry {
  readonly known: Change | undefined
}

const showLines = ({ view, history, artifacts, cancels, pauses }: Shown, style: Style): ReadonlyArray<string> => {
  const { runId, checkpoint, status, heldBy, found } = view
  const { forkedFrom } = checkpoint
  const fact = (name: string, value: string): string => `${style.dim(name.padEnd(10))}${value}`
  return [
    fact('run', runId),
    fact(
      'workflow',
      `${checkpoint.workflow.name}${checkpoint.workflow.path === undefined ? '' : ` (${checkpoint.workflow.path})`}`
    ),
    fact('status', status),
    ...(cancels ? [fact('cancel', `requested: ${isAlive(heldBy) ? REQUESTED.Cancel : RECORDS_CANCEL}`)] : []),
    ...(pauses && !cancels ? [fact('pause', `requested: ${REQUESTED.Pause}`)] : []),
    fact('progress', progressOf(checkpoint)),
    ...(O.isNone(heldBy) ? [] : [fact('held by', holderText(heldBy.value))]),
    ...(found._tag === 'Exact' ? [] : [style.yellow(fact('damaged', `${found.lost}; recoverable from ${found.from}`))]),
    ...(checkpoint.workspace === undefined
      ? []
      : [fact(checkpoint.workspace.kind === 'worktree' ? 'worktree' : 'folder', checkpoint.workspace.path)]),
    ...(checkpoint.workspace?.kind === 'worktree' ? [fact('branch', checkpoint.workspace.branch)] : []),
    ...(forkedFrom === undefined ? [] : [fact('forked', `from ${forkedFrom.unit} of run ${forkedFrom.runId}`)]),
    fact('started', checkpoint.createdAt),
    fact('updated', checkpoint.updatedAt),
    fact('revision', String(checkpoint.revision)),
    '',
    ...rowLines(view, style, MAX_ERROR_LINES),
    ...variableLines(view, style),
    ...artifactLines(artifacts, style),
    ...(history === undefined ? [] : historyLines(history, style))
  ]
}

/** Limits the lines of each error; the JSON has them all. */
const MAX_ERROR_LINES = 10

const MAX_VALUE = 200

const variableLines = ({ checkpoint }: RunView, style: Style): ReadonlyArray<string> => {
  if (checkpoint.variables.size === 0) return []
  const lines = [...checkpoint.variables].map(([name, value]) => `  ${name} = ${cut(JSON.stringify(value), MAX_VALUE)}`)
  return ['', style.bold('variables'), ...lines]
}

const historyLines = (history: ReadonlyArray<HistoryLine>, style: Style): ReadonlyArray<string> => [
  '',
  style.bold('history'),
  ...history.flatMap(({ revision, change, at, known }, index) => {
    const facts = known === undefined ? '' : factsOf(known)
    const line =
      `  ${String(revision).padStart(5)}  ${at}  ${facts === '' ? change : change.padEnd(14)}  ${facts}`.trimEnd()
    const gap = gapAfter(history, index)
    return gap === undefined ? [line] : [line, style.yellow(`         ${describeGap(gap)}`)]
  })
]

const historyJson = ({ revision, change, at, known }: HistoryLine): JsonObject => {
  const { event: _, revision: __, at: ___, ...facts } = known === undefined ? {} : changeJson(revision, known)
  return { revision, change, at, ...facts }
}

const showJson = ({ view, history, artifacts, cancels, pauses }: Shown): JsonObject => {
  const { checkpoint, found } = view
  const { forkedFrom } = checkpoint
  return {
    ...summaryJson(view),
    revision: checkpoint.revision,
    generation: checkpoint.generation,
    state: checkpoint.state._tag,
    step_index: checkpoint.state.stepIndex,
    workflow_path: checkpoint.workflow.path ?? null,
    workspace: checkpoint.workspace?.path ?? null,
    workspace_kind: checkpoint.workspace?.kind ?? null,
    branch: checkpoint.workspace?.kind === 'worktree' ? checkpoint.workspace.branch : null,
    forked_from:
      forkedFrom === undefined
        ? null
        : { run_id: forkedFrom.runId, revision: forkedFrom.revision, unit: forkedFrom.unit },
    held_by: holderJson(view),
    cancel_requested: cancels,
    pause_requested: pauses,
    recovered: found._tag === 'Exact' ? null : { from: found.from, lost: found.lost },
    input: checkpoint.input,
    variables: Object.fromEntries(checkpoint.variables),
    steps: unitsOf(checkpoint).map(toJson),
    retryable: checkpoint.state._tag === 'Failed' ? checkpoint.state.retryable : null,
    failures: failuresJson(checkpoint),
    ...pendingJson([...checkpoint.pending]),
    ...(history === undefined ? {} : { history: history.map(historyJson) }),
    artifacts: E.isLeft(artifacts)
      ? { error: { code: artifacts.left._tag, message: describeArtifact(artifacts.left) } }
      : artifacts.right.map(({ id, size, sha256 }) => ({ id, size, sha256 }))
  }
}

const artifactLines = (listed: Shown['artifacts'], style: Style): ReadonlyArray<string> => {
  if (E.isLeft(listed)) return ['', style.yellow(describeArtifact(listed.left))]
  if (listed.right.length === 0) return []
  const widest = Math.max(...listed.right.map(({ size }) => String(size).length))
  return [
    '',
    style.bold('artifacts'),
    ...listed.right.map(({ id, size, sha256 }) => `  ${String(size).padStart(widest)} bytes  sha256 ${sha256}  ${id}`)
  ]
}
