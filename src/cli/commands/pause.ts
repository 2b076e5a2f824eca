/** `dogear pause`: asks the process that runs a run to pause it. */
import * as E from 'fp-ts/lib/Either.js'
import type { Status } from '../../domain/checkpoint/Checkpoint.js'
import { pause } from '../../executor/requests/pause.js'
import type { RunView } from '../../executor/storage/runs.js'
import { notDone, refused, REQUESTED } from '../CliError.js'
import { processText } from '../report/text.js'
import type { Context, Flags, Result } from './Context.js'
import { environmentFor, printDone } from './Context.js'
import { isCancelRequested } from './execution/requestedCancel.js'
import { findRun, viewOf } from './find/find.js'
import { continuing } from './hints/ofRun.js'

/** Does not wait for the owner, whose step may take hours. A run that waits without an owner is paused at once. */
export const pauseCommand = async (context: Context, id: string, { commit = true }: Flags): Promise<Result> => {
  const view = await findRun(context, id)
  if (E.isLeft(view)) return view
  const { runId } = view.right
  const asked = await pause(runId, { commit })(environmentFor(context))()
  if (E.isLeft(asked)) return E.left(notDone(asked.left, [], view.right))
  const answer = asked.right
  const isRequested = answer._tag === 'Requested'
  const status = isRequested ? 'running' : answer._tag === 'Paused' ? 'paused' : answer.status
  const text = isRequested
    ? `${await requestedText(context, view.right)} (${processText(answer.holder)})`
    : `Run ${runId} ${answer._tag === 'Paused' ? 'is paused' : AT_REST[status]}`
  const now = await viewOf(context, runId)
  const next = isRequested || E.isLeft(now) ? [] : continuing(context, now.right)
  return isRequested || status === 'paused'
    ? printDone(context, { run_id: runId, requested: isRequested, status }, text, next)
    : E.left(refused('NothingToStop', [text], next))
}

const requestedText = async (context: Context, view: RunView): Promise<string> =>
  (await isCancelRequested(context, view))
    ? `A cancel of run ${view.runId} was requested and outweighs a pause: ${REQUESTED.Cancel}`
    : `Run ${view.runId} pauses once its current steps have ended, unless it has completed or failed by then`

const AT_REST: Readonly<Record<Status, string>> = {
  queued: 'has not begun: there is nothing to pause',
  running: 'got a new owner in the meantime; pause it again',
  completed: 'has completed: there is nothing to pause',
  failed: 'has failed: there is nothing to pause',
  interrupted: 'was interrupted: there is nothing to pause',
  paused: 'is paused already',
  pending: 'is pending and could not be paused; try again',
  cancelled: 'was cancelled: there is nothing to pause',
  moved: 'was moved to another store: there is nothing to pause'
}
