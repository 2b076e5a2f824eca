/**
 * `dogear resume`: goes on with a run.
 *
 * @since 0.1.0
 */
import * as E from 'fp-ts/lib/Either.js'
import { ExitCode } from '../ExitCode.js'
import { endJson, printed } from '../report/runJson.js'
import type { Result } from './Context.js'
import type { Attended } from './execution.js'
import { findOrOnly } from './find.js'
import { wordsOf } from './planFlags.js'
import type { ResumeFlags } from './resumeRun.js'
import { resumeRun } from './resumeRun.js'
import { workflowOf } from './workflowOf.js'

/**
 * Goes on with the run of this id; without an id, with the only unfinished one.
 *
 * @category commands
 * @since 0.1.0
 */
export const resumeCommand = async (context: Attended, id: string | undefined, flags: ResumeFlags): Promise<Result> => {
  const view = await findOrOnly(context, id)
  if (E.isLeft(view)) return view
  const workflow = await workflowOf(context, view.right.checkpoint)
  if (E.isRight(workflow)) return resumeRun(context, view.right, workflow.right, flags)
  // What is completed needs its file no more, unless something is to run again.
  if (view.right.status !== 'completed' || workflow.left._tag !== 'Usage' || wordsOf(flags).length > 0) return workflow
  const { runId, checkpoint } = view.right
  context.screen.line(`Run ${runId}: nothing left to do`)
  if (context.json) context.screen.out(printed(endJson(checkpoint, 'completed')))
  return E.right(ExitCode.done)
}
