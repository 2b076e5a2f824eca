/** Finds a cancel that was requested and is not recorded yet: the next owner of the run records it before anything else. */
import * as O from 'fp-ts/lib/Option.js'
import { isFinalRun, readCancel } from '../../../executor/requests/recordRequests.js'
import type { RunView } from '../../../executor/storage/runs.js'
import type { CliError } from '../../CliError.js'
import { refused } from '../../CliError.js'
import type { Hint } from '../../report/Hint.js'
import type { Context } from '../Context.js'
import { environmentFor, hintTo } from '../Context.js'
import { heldError } from './owner.js'
import { resumeHint } from './planFlags.js'

type Run = Pick<RunView, 'checkpoint' | 'heldBy' | 'found'>

export const isCancelRequested = async (context: Context, { checkpoint }: Pick<Run, 'checkpoint'>): Promise<boolean> =>
  !isFinalRun(checkpoint) && (await readCancel(environmentFor(context), checkpoint.runId)) !== undefined

/** The error for a plan of a run that a resume only cancels. */
export const requestedCancel = async (context: Context, run: Run): Promise<CliError | undefined> => {
  if (!(await isCancelRequested(context, run))) return undefined
  const { checkpoint, heldBy } = run
  if (O.isSome(heldBy) && heldBy.value.liveness === 'alive') return await heldError(context, checkpoint, heldBy.value)
  const line = `A cancel of run ${checkpoint.runId} was requested: ${RECORDS_CANCEL}`
  return refused('CancelRequested', [line], [recordCancelHint(context, run)])
}

export const RECORDS_CANCEL = 'a resume records it and runs nothing'

/** A cancel reads no workflow file, but refuses a damaged state. */
export const recordCancelHint = (context: Context, { checkpoint, found }: Pick<Run, 'checkpoint' | 'found'>): Hint =>
  found._tag === 'Exact'
    ? hintTo(context, 'To record it:', ['cancel', checkpoint.runId])
    : resumeHint(context, 'To record it:', checkpoint, { yes: true })
