/** `dogear cancel`: cancels a run, through its owner if it has one. */
import * as E from 'fp-ts/lib/Either.js'
import type { CancelResult } from '../../executor/requests/cancel.js'
import { cancel } from '../../executor/requests/cancel.js'
import { notDone } from '../CliError.js'
import { ExitCode } from '../ExitCode.js'
import { printed } from '../report/runJson.js'
import type { Context, Result } from './Context.js'
import { environmentFor, showHint } from './Context.js'
import { findRun } from './find/find.js'

/** Does not wait for the owner: a step may take hours. */
export const cancelCommand = async (context: Context, id: string): Promise<Result> => {
  const view = await findRun(context, id)
  if (E.isLeft(view)) return view
  const { runId } = view.right
  const cancelled = await cancel(runId)(environmentFor(context))()
  if (E.isLeft(cancelled)) return E.left(notDone(cancelled.left, [], runId))
  const { screen, json } = context
  const answer = cancelled.right
  const status = statusOf(answer)
  const text = `Run ${runId} ${textOf(answer)}`
  if (status === 'completed') return E.left({ _tag: 'NothingToStop', message: text, hints: [showHint(context, runId)] })
  if (json) screen.out(printed({ run_id: runId, requested: answer._tag === 'Requested', status }))
  else screen.print(text)
  return E.right(ExitCode.done)
}

const statusOf = (answer: CancelResult): 'running' | 'cancelled' | 'completed' => {
  if (answer._tag === 'Requested') return 'running'
  return answer._tag === 'AtRest' && answer.status === 'completed' ? 'completed' : 'cancelled'
}

const textOf = (answer: CancelResult): string => {
  switch (answer._tag) {
    case 'Requested':
      return `is cancelled once its current steps have ended (process ${answer.holder.pid} on ${answer.holder.host})`
    case 'Cancelled':
      return 'is cancelled'
    case 'AtRest':
      return answer.status === 'completed' ? 'has completed: there is nothing to cancel' : 'is cancelled already'
  }
}
