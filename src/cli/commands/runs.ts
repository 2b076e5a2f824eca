/** `dogear runs`: lists runs. */
import * as E from 'fp-ts/lib/Either.js'
import { describeStorage } from '../../executor/errors/portErrors.js'
import { statuses } from '../../domain/checkpoint/Summary.js'
import type { JsonObject } from '../../domain/data/Json.js'
import type { RunSummary } from '../../executor/storage/runs.js'
import { wrongUse, wordAmong } from '../CliError.js'
import { ExitCode } from '../ExitCode.js'
import { printHints } from '../report/Hint.js'
import { listedJson, printed } from '../report/runJson.js'
import { show } from '../store/Location.js'
import type { Style } from '../terminal/Style.js'
import { columnsOf, folded } from '../terminal/Style.js'
import { printable } from '../../domain/explain/printable.js'
import { orList } from '../../domain/data/Suggestion.js'
import type { Context, Flags, Result } from './Context.js'
import { dogearCommand, hintTo } from './Context.js'
import type { Runs } from './find/find.js'
import { allRuns, warnOfDamaged } from './find/find.js'
import { minute, nowText } from '../report/text.js'

export const runsCommand = async (context: Context, flags: Flags): Promise<Result> => {
  const words = flags.status
  for (const word of words ?? []) {
    const status = wordAmong('--status', 'unknown status', word, statuses)
    if (E.isLeft(status)) return status
  }
  if (flags.output !== undefined && flags.output !== 'json' && flags.output !== 'table') {
    return wrongUse(`--output: unknown form "${flags.output}"; use json or table`)
  }
  if (flags.json === true && flags.output === 'table')
    return wrongUse('--json and --output table cannot be combined; use one of them')
  const runs = await allRuns(context)
  if (E.isLeft(runs)) return runs
  warnOfDamaged(context, runs.right)
  warnOfRecovered(context, runs.right)
  const shown = runs.right.runs.filter((run) => words === undefined || words.includes(run.status))
  const { screen } = context
  // Unreadable runs have an unknown status.
  const unreadable = words === undefined ? runs.right.damaged : []
  if (context.json) {
    screen.out(printed([...shown.map(listedJson), ...unreadable.map(unreadableJson)]))
  } else if (shown.length === 0 && unreadable.length === 0) {
    screen.print(
      words === undefined
        ? `No runs in ${show(context.store.location)}. Start one with: ${dogearCommand(context, ['run'])} <file>`
        : `No ${orList(words)} runs`
    )
  } else {
    for (const line of table(runs.right, shown, unreadable, screen.outStyle)) screen.print(line)
  }
  if (runs.right.damaged.length === 0) return E.right(ExitCode.done)
  printHints(screen, [hintTo(context, 'Check it with:', ['verify'])])
  return E.right(runs.right.runs.length === 0 ? ExitCode.storage : ExitCode.done)
}

const unreadableJson = ({ runId, error }: Runs['damaged'][number]): JsonObject => ({
  run_id: runId,
  run_name: null,
  status: 'unreadable',
  created_at: null,
  updated_at: null,
  steps_completed: null,
  steps_total: null,
  error: { code: error._tag, message: describeStorage(error) }
})

/** A resume of a recovered run needs consent. */
const warnOfRecovered = (context: Context, { runs }: Runs): void => {
  const { screen } = context
  for (const { runId, found } of runs) {
    if (found._tag === 'Exact') continue
    const look = dogearCommand(context, ['verify', runId])
    screen.warn(`the newest state of run ${runId} is damaged. Check it with: ${look}`)
  }
}

const HEADINGS = ['RUN-ID', 'NAME', 'STATUS', 'STARTED', 'STEPS']

/** What a run waits for, in the last column. */
const waitsText = ({ waits }: RunSummary, now: string): string => {
  if (waits === undefined) return ''
  const { kinds, wakeAt } = waits
  const isOver = kinds.length === 0 || (wakeAt !== undefined && wakeAt <= now)
  if (isOver) return 'a resume'
  const names = kinds.map((kind) => kind.toLowerCase()).join(', ')
  return wakeAt === undefined ? names : `${names} until ${minute(wakeAt)}`
}

const table = (
  all: Runs,
  shown: ReadonlyArray<RunSummary>,
  unreadable: Runs['damaged'],
  style: Style
): ReadonlyArray<string> => {
  const shortened = shortIds([...all.runs, ...all.damaged].map(({ runId }) => runId))
  const isAnyPending = shown.some(({ waits }) => waits !== undefined)
  const now = nowText()
  const idOf = (runId: string): string => shortened.get(runId) ?? runId
  const rows = [
    ...shown.map((run) => [
      idOf(run.runId),
      printable(run.workflow.name),
      run.status,
      minute(run.createdAt),
      `${run.steps.completed}/${run.steps.total}`,
      ...(isAnyPending ? [waitsText(run, now)] : [])
    ]),
    ...unreadable.map(({ runId }) => [idOf(runId), '?', 'unreadable', '?', '?'])
  ]
  const headings = isAnyPending ? [...HEADINGS, 'WAITS FOR'] : HEADINGS
  const widths = headings.map((heading, column) =>
    rows.reduce((widest, row) => Math.max(widest, (row[column] ?? '').length), heading.length)
  )
  const aligned = (cells: ReadonlyArray<string>): ReadonlyArray<string> =>
    cells.map((cell, column) => (column === cells.length - 1 ? cell : cell.padEnd(widths[column] ?? 0)))
  const lines = [headings, ...rows].map(aligned)
  const isNarrow = lines.some((cells) => columnsOf(cells.join('  ').trimEnd()) > style.width)
  return lines.flatMap(([id = '', name = '', status = '', ...facts], index) => {
    const isHeading = index === 0
    const painted = isHeading ? status : coloured(style, rows[index - 1]?.[2], status)
    const [first = '', ...more] = folded(`  ${[status, ...facts].join('  ')}`.trimEnd(), style.width, 4)
    const row = isNarrow
      ? [`${id}  ${name}`.trimEnd(), isHeading ? first : `  ${painted}${first.slice(2 + status.length)}`, ...more]
      : [[id, name, painted, ...facts].join('  ').trimEnd()]
    return isHeading ? row.map(style.bold) : row
  })
}

const coloured = (style: Style, status: string | undefined, cell: string): string => {
  if (status === 'completed') return style.green(cell)
  if (status === 'failed' || status === 'unreadable') return style.red(cell)
  return status === 'interrupted' || status === 'paused' ? style.yellow(cell) : cell
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/

/** The first 8 characters of each UUID that they identify. */
const shortIds = (ids: ReadonlyArray<string>): ReadonlyMap<string, string> => {
  const counts = new Map<string, number>()
  for (const id of ids) counts.set(id.slice(0, 8), (counts.get(id.slice(0, 8)) ?? 0) + 1)
  return new Map(
    ids.filter((id) => UUID.test(id) && counts.get(id.slice(0, 8)) === 1).map((id) => [id, id.slice(0, 8)])
  )
}
