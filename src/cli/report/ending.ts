/** Reports how a run ended, and how to resume it. */
import type { Failure } from '../../domain/checkpoint/CheckpointState.js'
import { definitionAt } from '../../domain/workflow/Node.js'
import type { Workspace } from '../../domain/workflow/Workspace.js'
import { isOwn } from '../../domain/workflow/Workspace.js'
import { describeFenced } from '../../executor/errors/portErrors.js'
import type { Failed, RunOutcome } from '../../executor/RunOutcome.js'
import { waitingFor } from './pending.js'
import type { Style } from '../terminal/Style.js'
import type { Hint } from './Hint.js'
import { linesOf } from './Hint.js'
import type { WorkflowFile } from '../workflow/WorkflowFile.js'
import { errorLines } from './eventLines.js'
import { counted } from '../../view/text.js'
import type { Reporter } from './Reporter.js'

/**
 * What the end of a run prints besides its outcome. `ownFolders`: the private folders of failed steps, by unit; `planned`: false if it was
 * cancelled before any step could start.
 */
export interface Ending {
  readonly file: WorkflowFile
  readonly style: Style
  readonly hints: ReadonlyArray<Hint>
  readonly reporter: Pick<Reporter, 'printed' | 'summary'>
  readonly planned: boolean
  readonly ownFolders: ReadonlyMap<string, string>
}

export const endingOf = (outcome: RunOutcome, ending: Ending): ReadonlyArray<string> => {
  const { file, style } = ending
  const summary = ending.reporter.summary(outcome)
  const next = linesOf(ending.hints, style)
  switch (outcome._tag) {
    case 'Completed':
      return []
    case 'Failed': {
      const { failures, step } = outcome
      const rest = failures.length - MAX_UNITS
      return [
        ...failures.slice(0, MAX_UNITS).flatMap((failure) => failureLines(outcome, failure, ending)),
        ...(rest <= 0 ? [] : [style.red(`${step}: ${counted(rest, 'more group')} failed`)]),
        style.red(`Run failed ${summary}`),
        ...next
      ]
    }
    case 'Interrupted': {
      const where = `step ${outcome.stepIndex + 1}/${file.steps.length} ${outcome.step}`
      const { workspace } = outcome.checkpoint
      const place = isOwn(workspace) ? [workspaceLine(workspace)] : []
      if (outcome.reason === 'paused') return [style.yellow(`Run paused ${summary}`), ...place, ...next]
      if (outcome.reason === 'cancelled' && !ending.planned) {
        const text = `Run ${outcome.checkpoint.runId} is cancelled, because a cancel was requested before this resume; nothing ran`
        return [style.yellow(text), ...place, ...next]
      }
      const end = outcome.reason === 'cancelled' ? 'Cancelled' : 'Interrupted'
      return [style.yellow(`${end} ${outcome.inProgress ? 'in' : 'before'} ${where} ${summary}`), ...place, ...next]
    }
    case 'Pending': {
      const rest = outcome.units.length - MAX_UNITS
      return [
        ...outcome.units.slice(0, MAX_UNITS).map((one) => style.yellow(waitingFor(one))),
        ...(rest <= 0 ? [] : [style.yellow(`Waiting for ${counted(rest, 'more unit')}`)]),
        style.yellow(`Run pending ${summary}`),
        ...next
      ]
    }
    case 'Fenced':
      return [style.red(describeFenced(outcome)), ...next]
  }
}

/** The number of listed failures or pending units. */
export const MAX_UNITS = 10

const failureLines = (outcome: Failed, failure: Failure, ending: Ending): ReadonlyArray<string> => {
  const { workflow, workspace } = outcome.checkpoint
  const { file, style, ownFolders, reporter } = ending
  const { unit, error } = failure
  const step = definitionAt(file, unit)
  const attempt = failure.attempts.at(-1)?.attempt ?? 1
  const own = ownFolders.get(unit)
  const isPrinted = reporter.printed.has(unit)
  const again = isPrinted ? ' (see above)' : ''
  return [
    style.red(`${style.symbols.failed} Step ${outcome.stepIndex + 1}/${workflow.steps.length} failed: ${unit}${again}`),
    ...(isPrinted ? [] : errorLines(step, error, attempt)),
    ...(own === undefined ? [] : [`  its own folder: ${own}`]),
    ...(workspace === undefined ? [] : [workspaceLine(workspace)])
  ]
}

const workspaceLine = (workspace: Workspace): string =>
  workspace.kind === 'worktree'
    ? `  worktree: ${workspace.path} (branch ${workspace.branch})`
    : `  folder: ${workspace.path}`
