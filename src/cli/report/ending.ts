/** Reports how a run ended, and how to resume it. */
import type { Failure } from '../../domain/checkpoint/CheckpointState.js'
import { definitionAt } from '../../domain/workflow/Node.js'
import type { Workspace } from '../../domain/workflow/Workspace.js'
import { isOwn } from '../../domain/workflow/Workspace.js'
import { describeFenced } from '../../executor/storage/portErrors.js'
import type { Failed, RunOutcome } from '../../executor/RunOutcome.js'
import { waitingFor } from './pending.js'
import type { Style } from '../terminal/Style.js'
import type { Hint } from './Hint.js'
import { linesOf } from './Hint.js'
import type { WorkflowFile } from '../workflow/WorkflowFile.js'
import { commandLine } from '../workflow/WorkflowFile.js'
import { counted } from './text.js'

/** `ownFolders`: the private folders of failed steps, by unit. */
export const endingOf = (
  outcome: RunOutcome,
  file: WorkflowFile,
  hints: ReadonlyArray<Hint>,
  style: Style,
  ownFolders: ReadonlyMap<string, string> = new Map()
): ReadonlyArray<string> => {
  const next = linesOf(hints, style)
  switch (outcome._tag) {
    case 'Completed':
      return []
    case 'Failed': {
      const { failures, step } = outcome
      const shown = failures.slice(0, MAX_SHOWN)
      const rest = failures.length - shown.length
      return [
        ...shown.flatMap((failure) => failureLines(file, outcome, failure, style, ownFolders)),
        ...(rest === 0 ? [] : [style.red(`${step}: ${counted(rest, 'more group')} failed`)]),
        ...next
      ]
    }
    case 'Interrupted': {
      const where = `step ${outcome.stepIndex + 1}/${file.steps.length} ${outcome.step}`
      const { workspace } = outcome.checkpoint
      const place = isOwn(workspace) ? [workspaceLine(workspace)] : []
      if (outcome.reason === 'paused') return [...place, ...next]
      if (outcome.reason === 'cancelled')
        return [style.yellow(`Cancelled ${outcome.inProgress ? 'in' : 'before'} ${where}`), ...place, ...next]
      return [style.yellow(`Interrupted ${outcome.inProgress ? 'in' : 'before'} ${where}`), ...place, ...next]
    }
    case 'Pending': {
      const shown = outcome.units.slice(0, MAX_SHOWN)
      const rest = outcome.units.length - shown.length
      return [
        ...shown.map((one) => style.yellow(waitingFor(one))),
        ...(rest === 0 ? [] : [style.yellow(`Waiting for ${counted(rest, 'more unit')}`)]),
        ...next
      ]
    }
    case 'Fenced':
      return [style.red(describeFenced(outcome)), ...next]
  }
}

/** The number of listed failures or pending units. */
export const MAX_SHOWN = 10

const failureLines = (
  file: WorkflowFile,
  { stepIndex, checkpoint: { workflow, workspace } }: Failed,
  failure: Failure,
  style: Style,
  ownFolders: ReadonlyMap<string, string>
): ReadonlyArray<string> => {
  const { unit, error } = failure
  const step = definitionAt(file, unit)
  const attempts = failure.attempts.at(-1)?.attempt ?? 1
  const own = ownFolders.get(unit)
  return [
    style.red(`Step ${stepIndex + 1}/${workflow.steps.length} failed: ${unit}`),
    ...(step?._tag === 'Task' ? [`  command: ${commandLine(step.action)}`] : []),
    `  error: ${error.message}${attempts > 1 ? ` (after ${attempts} attempts)` : ''}`,
    ...(own === undefined ? [] : [`  its own folder: ${own}`]),
    ...(workspace === undefined ? [] : [workspaceLine(workspace)])
  ]
}

const workspaceLine = (workspace: Workspace): string =>
  workspace.kind === 'worktree'
    ? `  worktree: ${workspace.path} (branch ${workspace.branch})`
    : `  folder: ${workspace.path}`
