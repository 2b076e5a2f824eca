/** `dogear watch`: follows a run, also of another process, until it rests. */
import { setTimeout as sleep } from 'node:timers/promises'
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import type { Change } from '../../domain/change/Change.js'
import type { Status } from '../../domain/checkpoint/Checkpoint.js'
import { runChanges } from '../../executor/storage/history.js'
import { restoreStored } from '../../executor/storage/stored.js'
import type { Environment } from '../../ports/Environment.js'
import type { RunView } from '../../executor/storage/runs.js'
import { viewRun } from '../../executor/storage/runs.js'
import { notDone } from '../CliError.js'
import { ExitCode } from '../ExitCode.js'
import { factsOf } from '../../view/facts.js'
import { linesOf } from '../report/Hint.js'
import { rowLines } from '../report/rows.js'
import { changeJson, lineOf } from '../report/changeJson.js'
import { listedJson } from '../report/runJson.js'
import { positionOf, progressOf } from '../report/text.js'
import type { Style } from '../terminal/Style.js'
import type { Context, Result } from './Context.js'
import { environmentFor } from './Context.js'
import { findRun } from './find/find.js'
import { continuing } from './hints/ofRun.js'
import { duration, firstLine } from '../../view/text.js'

/** How often the state is read. */
const POLL_MILLIS = 300

export const watchCommand = async (context: Context, id: string): Promise<Result> => {
  const environment = environmentFor(context)
  const found = await findRun(context, id)
  if (E.isLeft(found)) return found
  let view: RunView = found.right
  const { screen, json } = context
  // A program gets all changes, a person those from now on.
  let seen = json ? 0 : view.revision
  if (json) screen.out(lineOf(changeJson(0, await firstChange(environment, view))))
  if (!json) screen.line(`Run ${view.runId}: ${view.workflow.name}, ${positionOf(view)}`)
  for (;;) {
    const { runId, revision } = view
    if (revision > seen) {
      const changes = await runChanges(runId)(environment)()
      if (E.isLeft(changes)) {
        screen.status(undefined)
        return E.left(notDone(changes.left))
      }
      for (let next = seen + 1; next <= revision; next++) {
        const change = changes.right.get(next)
        if (change === undefined) continue
        if (json) screen.out(lineOf(changeJson(next, change)))
        else for (const line of changeLines(change, screen.style)) screen.line(line)
      }
      seen = revision
    }
    if (O.isNone(view.heldBy)) break
    const current = view
    if (!json) screen.status(() => [progressOf(current.checkpoint), ...rowLines(current, screen.style, 1)])
    await sleep(POLL_MILLIS)
    const next = await viewRun(runId)(environment)()
    if (E.isRight(next) && O.isSome(next.right)) {
      view = next.right.value
      continue
    }
    screen.status(undefined)
    if (E.isLeft(next)) return E.left(notDone(next.left))
    screen.line(`The state of run ${runId} was deleted`)
    return E.right(ExitCode.done)
  }
  screen.status(undefined)
  if (json) screen.out(lineOf({ event: 'RunRests', ...listedJson(view) }))
  else endLines(context, view).forEach(screen.line)
  return E.right(CODES[view.status])
}

/** Revision 0 starts the run, or is a fork or copy of one. If the store has lost it, the newest checkpoint says when and as what the run began. */
export const firstChange = async ({ storage }: Environment, view: RunView): Promise<Change> => {
  const { runId, createdAt: at } = view
  const stored = await storage.loadRevision(runId, 0)()
  const restored = E.isRight(stored) && O.isSome(stored.right) ? restoreStored(stored.right.value) : undefined
  const first = restored === undefined || E.isLeft(restored) ? view.checkpoint : restored.right
  const { workflow, input, forkedFrom: from, moved } = first
  if (moved !== undefined && first.revision === 0) {
    const history = await storage.history(runId)()
    const saved = E.isRight(history) ? history.right.find(({ revision }) => revision === 0) : undefined
    return { _tag: 'Moved', at: saved?.at ?? first.updatedAt, ...moved }
  }
  return from === undefined ? { _tag: 'Started', at, runId, workflow, input } : { _tag: 'Forked', at, runId, from }
}

const CODES: Readonly<Record<Status, ExitCode>> = {
  completed: ExitCode.done,
  queued: ExitCode.stepFailed,
  running: ExitCode.done,
  failed: ExitCode.stepFailed,
  interrupted: ExitCode.stepFailed,
  cancelled: ExitCode.refused,
  moved: ExitCode.refused,
  pending: ExitCode.pending,
  paused: ExitCode.paused
}

/** What people follow: ends, retries and waits. */
const changeLines = (change: Change, { green, red, yellow, symbols }: Style): ReadonlyArray<string> => {
  switch (change._tag) {
    case 'UnitCompleted':
      return [`${green(symbols.completed)} ${change.unit} (${duration(change.durationMillis)})`]
    case 'UnitFailed':
      return change.last === undefined
        ? []
        : [`${red(symbols.failed)} ${change.unit}: ${firstLine(change.last.error.message)}`]
    case 'AttemptFailed':
    case 'JobEnded':
      return [yellow(factsOf(change))]
    case 'WaitStarted':
    case 'JobSubmitted':
      return [`${yellow(symbols.pending)} ${factsOf(change)}`]
    default:
      return []
  }
}

const endLines = (context: Context, view: RunView): ReadonlyArray<string> => {
  const { style } = context.screen
  const millis = Date.parse(view.updatedAt) - Date.parse(view.createdAt)
  const end = `Run ${view.runId} is ${view.status}: ${progressOf(view.checkpoint)}, last change ${duration(millis)} after the run started`
  const colour = view.status === 'completed' ? style.green : view.status === 'failed' ? style.red : style.yellow
  return [colour(end), ...(view.status === 'completed' ? [] : linesOf(continuing(context, view), style))]
}
