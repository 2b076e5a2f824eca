/** `dogear cancel`: cancels a run, through its owner if it has one. */
import * as E from 'fp-ts/lib/Either.js'
import { cancel } from '../../executor/requests/cancel.js'
import { notDone, refused } from '../CliError.js'
import { processText } from '../report/text.js'
import type { Context, Result } from './Context.js'
import { environmentFor, printDone, showHint } from './Context.js'
import { findRun } from './find/find.js'

/** Does not wait for the owner: a step may take hours. */
export const cancelCommand = async (context: Context, id: string): Promise<Result> => {
  const view = await findRun(context, id)
  if (E.isLeft(view)) return view
  const { runId } = view.right
  const cancelled = await cancel(runId)(environmentFor(context))()
  if (E.isLeft(cancelled)) return E.left(notDone(cancelled.left, [], view.right))
  const answer = cancelled.right
  if (answer._tag === 'AtRest' && answer.status === 'completed') {
    const message = `Run ${runId} has completed: there is nothing to cancel`
    return E.left(refused('NothingToStop', [message], [showHint(context, runId)]))
  }
  const requested = answer._tag === 'Requested'
  const line = requested
    ? `Cancelling run ${runId} once its current steps have ended, unless it has completed by then (${processText(answer.holder)})`
    : `Run ${runId} is cancelled${answer._tag === 'AtRest' ? ' already' : ''}`
  const status = requested ? 'running' : 'cancelled'
  return printDone(context, { run_id: runId, requested, status }, line)
}
