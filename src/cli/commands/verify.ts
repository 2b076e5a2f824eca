/** `dogear verify`: checks the stored state, and predicts a resume. */
import * as E from 'fp-ts/lib/Either.js'
import { describeStorage } from '../../executor/errors/portErrors.js'
import * as O from 'fp-ts/lib/Option.js'
import { describeReason } from '../../domain/explain/Explain.js'
import type { Json, JsonObject } from '../../domain/data/Json.js'
import type { RunSummary } from '../../executor/storage/runs.js'
import type { StorageError } from '../../ports/CheckpointStorage.js'
import { notDone } from '../CliError.js'
import { ExitCode } from '../ExitCode.js'
import type { Gap } from '../report/gaps.js'
import { describeGap, gapsIn } from '../report/gaps.js'
import { linesOf } from '../report/Hint.js'
import { holderJson, printed, runAgainJson } from '../report/runJson.js'
import { show } from '../store/Location.js'
import type { Style } from '../terminal/Style.js'
import type { Context, Result } from './Context.js'
import { environmentFor } from './Context.js'
import type { Runs } from './find/find.js'
import { findRun, isUndecided, isResumable, readRuns, viewOf } from './find/find.js'
import { AGREES_TO_RECOVERY, ofDamage } from './hints/ofRun.js'
import { resumeLine } from './execution/planFlags.js'
import { nextActions } from './hints/ofError.js'
import type { Obstacle, Preview, Unrecorded } from './execution/preview.js'
import { CLEAR, obstaclesOf, previewOf } from './execution/preview.js'
import { heldError } from './execution/owner.js'
import { holderText, shortened } from '../report/text.js'

type Finding = Readable | { readonly _tag: 'Damaged'; readonly runId: string; readonly error: StorageError }

interface Readable {
  readonly _tag: 'Readable'
  readonly run: RunSummary
  readonly preview: Preview
  /** The earlier revisions that the history lacks, or why it is unreadable; a resume does not need them. */
  readonly gaps: E.Either<StorageError, ReadonlyArray<Gap>>
}

/** Without an id, runs with a final status or a live owner get no prediction. */
export const verifyCommand = async (context: Context, id: string | undefined): Promise<Result> => {
  const runs = id === undefined ? await readRuns(context) : await oneRun(context, id)
  if (E.isLeft(runs)) return runs
  const { storage } = environmentFor(context)
  const found: Array<Finding> = []
  for (const run of runs.right.runs) {
    const isDue = isResumable(run) || isUndecided(run) || id !== undefined
    const preview = isDue ? await previewFor(context, run) : CLEAR
    const history = await storage.history(run.runId)()
    found.push({ _tag: 'Readable', run, preview, gaps: E.map(gapsIn)(history) })
  }
  for (const one of runs.right.damaged) found.push({ _tag: 'Damaged', ...one })
  const { screen } = context
  if (context.json) screen.out(printed(found.map((one) => findingJson(context, one))))
  else if (found.length === 0) screen.print(`No runs in ${show(context.store.location)}`)
  else found.flatMap((finding) => findingLines(context, finding, screen.outStyle)).forEach(screen.print)
  return E.right(worst(found.map(exitOf)))
}

const previewFor = async (context: Context, run: RunSummary): Promise<Preview> => {
  const { heldBy } = run
  const view = await viewOf(context, run.runId)
  if (E.isLeft(view)) return { ...CLEAR, obstacles: obstaclesOf(context, view.left) }
  if (O.isNone(heldBy)) return await previewOf(context, view.right)
  const error = await heldError(context, run, heldBy.value)
  // A live process will leave another state.
  const preview = heldBy.value.liveness === 'alive' ? CLEAR : await previewOf(context, view.right)
  return { ...preview, obstacles: [...obstaclesOf(context, error), ...preview.obstacles] }
}

/** Damage comes first, then the exit code of the refused resume. */
const exitOf = (finding: Finding): ExitCode =>
  finding._tag === 'Damaged' || finding.run.found._tag !== 'Exact'
    ? ExitCode.storage
    : (finding.preview.obstacles[0]?.exit ?? (finding.preview.waits ? ExitCode.pending : ExitCode.done))

const worst = (codes: ReadonlyArray<ExitCode>): ExitCode =>
  [ExitCode.storage, ExitCode.refused].find((code) => codes.includes(code)) ??
  codes.find((code) => code !== ExitCode.done) ??
  ExitCode.done

const oneRun = async (context: Context, id: string): Promise<Result<Runs>> =>
  E.map((run: RunSummary) => ({ runs: [run], damaged: [] }))(await findRun(context, id))

const findingLines = (context: Context, finding: Finding, style: Style): ReadonlyArray<string> => {
  if (finding._tag === 'Damaged') {
    return [
      `${style.red(style.symbols.failed)} ${finding.runId}  ${foundOf(finding)}: ${describeStorage(finding.error)}`,
      ...linesOf(nextActions(context, notDone(finding.error))).map((line) => `    ${line}`)
    ]
  }
  const { runId, revision, heldBy, found, status } = finding.run
  const flags = status === 'cancelled' ? { reopen: true } : {}
  const held = O.isNone(heldBy) ? '' : `, held by ${holderText(heldBy.value)}`
  const gaps = E.isLeft(finding.gaps) ? [describeStorage(finding.gaps.left)] : finding.gaps.right.map(describeGap)
  const more = [...gaps.map((gap) => `  history: ${gap}`), ...previewLines(context, finding.run, finding.preview)]
  const isClear = found._tag === 'Exact' && more.length === 0
  const mark = isClear ? style.green(style.symbols.completed) : style.yellow('!')
  const state =
    found._tag === 'Exact' ? `newest state intact, revision ${revision}` : `damaged, recoverable from ${found.from}`
  const what = finding.preview.waits ? `${state}; a resume would only wait` : state
  // The commands that answer a question also accept the recovered state.
  const isAsked = finding.preview.obstacles.some(({ code }) => code === 'Unconfirmed')
  const accept = isAsked ? [AGREES_TO_RECOVERY] : linesOf(ofDamage(context, finding.run, flags))
  const lost = found._tag === 'Exact' ? [] : [`damage: ${found.lost}`, ...accept].map((line) => `    ${line}`)
  return [`${mark} ${runId}  ${what}${held}`, ...lost, ...more]
}

const previewLines = (context: Context, run: RunSummary, preview: Preview): ReadonlyArray<string> => [
  ...under('Obstacles to a resume:', preview.obstacles.flatMap(obstacleLines)),
  ...under(
    'Completed, but a resume runs them again:',
    preview.again.map((one) => `${one.unit}: ${describeReason(one)}`)
  ),
  ...(preview.unrecorded.length === 0
    ? []
    : [
        ...under(
          'In flight when the process ended, so their effects may be unrecorded:',
          preview.unrecorded.map(unrecordedLine)
        ),
        ...(preview.obstacles.length === 0
          ? under('Check their effects, then resume:', [resumeCommand(context, run)])
          : ['  Check their effects first'])
      ])
]

/** A recovered state needs consent. */
const resumeCommand = (context: Context, { runId, found }: RunSummary): string =>
  resumeLine(context, runId, found._tag === 'Exact' ? {} : { yes: true })

const obstacleLines = ({ message, next }: Obstacle): ReadonlyArray<string> =>
  [message, ...linesOf(next)].flatMap((text) => text.split('\n'))

const unrecordedLine = ({ unit, attempt, decision }: Unrecorded): string =>
  `${unit} (attempt ${attempt})${decision === undefined ? '' : `: ${WHAT_HAPPENS[decision]}`}`

const WHAT_HAPPENS: Readonly<Record<NonNullable<Unrecorded['decision']>, string>> = {
  Skip: 'a resume skips it',
  Run: 'a resume runs it again',
  Retry: 'a resume runs it again',
  Confirm: 'a resume asks whether it is done',
  Poll: 'a resume waits for its job'
}

const under = (title: string, lines: ReadonlyArray<string>): ReadonlyArray<string> =>
  lines.length === 0 ? [] : [`  ${title}`, ...lines.map((line) => `    ${shortened(line)}`)]

const foundOf = ({ error }: Extract<Finding, { readonly _tag: 'Damaged' }>): string =>
  error._tag === 'Corrupt' ? 'damaged' : 'unreadable'

const findingJson = (context: Context, finding: Finding): Json => {
  if (finding._tag === 'Damaged') {
    const { runId, error } = finding
    return { run_id: runId, found: foundOf(finding), error: { code: error._tag, message: describeStorage(error) } }
  }
  const { gaps } = finding
  const { runId, revision, found } = finding.run
  const { obstacles, again, unrecorded } = finding.preview
  return {
    run_id: runId,
    found: found._tag === 'Exact' ? 'exact' : 'recovered',
    revision,
    held_by: holderJson(finding.run),
    ...(found._tag === 'Exact' ? {} : { from: found.from, lost: found.lost }),
    history_gaps: E.isLeft(gaps) ? null : gaps.right.map(({ first, last }) => ({ first, last })),
    obstacles: obstacles.map(obstacleJson),
    runs_again: again.map(runAgainJson),
    unrecorded: unrecorded.map(unrecordedJson),
    resume_command: obstacles.length > 0 ? null : resumeCommand(context, finding.run)
  }
}

const obstacleJson = ({ code, message, next }: Obstacle): JsonObject => ({
  code,
  message,
  next: next.map(({ text, command }) => ({ text, command: command ?? null }))
})

const unrecordedJson = ({ unit, attempt, decision }: Unrecorded): JsonObject => ({
  unit,
  attempt,
  action: decision?.toLowerCase() ?? null
})
