/** Follows the pointer of the last pause, for a resume without an id. */
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import type { Checkpoint } from '../../../domain/checkpoint/Checkpoint.js'
import { isFinal } from '../../../domain/checkpoint/Checkpoint.js'
import type { ContinueHere } from '../../../domain/request/Pause.js'
import { continueHere, describePosition } from '../../../domain/request/Pause.js'
import type { ResumePlan } from '../../../domain/plan/Plan.js'
import { isTop } from '../../../domain/workflow/Unit.js'
import type { RunView } from '../../../executor/storage/runs.js'
import { viewRun } from '../../../executor/storage/runs.js'
import { notDone } from '../../CliError.js'
import type { Context, Result } from '../Context.js'
import { environmentFor } from '../Context.js'

/** Uses only the id in the pointer, and removes a pointer to a missing or final run. */
export const pointedRun = async (context: Context): Promise<Result<O.Option<RunView>>> => {
  const environment = environmentFor(context)
  const { requests } = environment
  if (requests === undefined) return E.right(O.none)
  const pointer = await requests.pointer()
  if (E.isLeft(pointer)) return E.left(notDone(pointer.left))
  if (O.isNone(pointer.right)) return E.right(O.none)
  const { runId } = pointer.right.value
  const view = await viewRun(runId)(environment)()
  if (E.isLeft(view)) return E.left(notDone(view.left))
  // Another process owns the run.
  if (O.isSome(view.right) && O.isSome(view.right.value.heldBy)) return E.right(O.none)
  if (O.isSome(view.right) && !isFinal(view.right.value.status)) {
    await warnOfLostCommit(context, pointer.right.value, view.right.value.checkpoint)
    return E.right(view.right)
  }
  const status = O.isSome(view.right) ? view.right.value.status : undefined
  const why = status === undefined ? 'no longer exists' : status === 'completed' ? 'has completed' : `was ${status}`
  context.screen.line(`Run ${runId}, which was paused last, ${why}; removed the pointer to it`)
  const removed = await requests.unpoint(runId)()
  return E.isLeft(removed) ? E.left(notDone(removed.left)) : E.right(O.none)
}

/** A commit by a pause is not evidence, so no step runs again if it is missing. */
const warnOfLostCommit = async (context: Context, pointer: ContinueHere, checkpoint: Checkpoint): Promise<void> => {
  const { committed } = pointer
  const { workspace } = checkpoint
  if (committed === undefined || workspace?.kind !== 'worktree') return
  const missing = await environmentFor(context).workspaces?.tree(workspace.root).missingCommits([committed])()
  if (missing === undefined || E.isLeft(missing) || missing.right.length === 0) return
  const { screen } = context
  screen.warn(`commit ${committed}, made by the pause, is not in ${workspace.root}`)
}

export const printPosition = ({ screen }: Context, checkpoint: Checkpoint, { decisions }: ResumePlan): void => {
  const due = decisions.filter(({ _tag }) => _tag !== 'Skip')
  const [first] = due
  if (first === undefined) return
  const next = due.find(({ stepIndex, unit }) => stepIndex === first.stepIndex && !isTop(unit)) ?? first
  const { commits } = continueHere(checkpoint)
  const isVerified = !decisions.some(({ reason }) => UNVERIFIED.has(reason._tag))
  if (commits.length > 0 && isVerified)
    screen.line(`Verified: ${commits.length} ${commits.length === 1 ? 'commit' : 'commits'} found`)
  screen.line(`Continuing from ${describePosition(next)}`)
}

const UNVERIFIED: ReadonlySet<string> = new Set(['EvidenceMissing', 'EvidenceChanged'])
