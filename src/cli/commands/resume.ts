/** `dogear resume`: resumes a run. */
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import type { RunView } from '../../executor/storage/runs.js'
import type { CliError } from '../CliError.js'
import { wrongUse } from '../CliError.js'
import { ExitCode } from '../ExitCode.js'
import { endJson, printedResult } from '../report/runJson.js'
import type { Flags, Result } from './Context.js'
import type { PromptContext } from './execution/withPrompt.js'
import { withPrompt } from './execution/withPrompt.js'
import { findOrOnly, viewOf } from './find/find.js'
import { inputNamesIn, redactionFor } from './execution/input.js'
import { withNextActions } from './hints/ofError.js'
import { wordsOf } from './execution/planFlags.js'
import { pointedRun } from './find/pointer.js'
import { resumeRun } from './execution/resumeRun.js'
import { workflowOf } from './find/workflowOf.js'
import { settleWorkspace } from './execution/workspace.js'

const PLAN_HASH = /^[0-9a-f]{16}$/

export const resumeCommand = withPrompt(async (context: PromptContext, id: string | undefined, flags: Flags) => {
  if (flags.plan === '') return wrongUse('--plan: the value is empty; pass the hash that "dogear plan" printed')
  if (flags.plan !== undefined && !PLAN_HASH.test(flags.plan))
    return wrongUse(`--plan: "${flags.plan}" is not a hash of 16 hex digits; pass the one that "dogear plan" printed`)
  const pointed = id === undefined ? await pointedRun(context) : E.right(O.none)
  if (E.isLeft(pointed)) return pointed
  const view = O.isSome(pointed.right) ? E.right(pointed.right.value) : await findOrOnly(context, id)
  if (E.isLeft(view)) {
    if (!isAllDone(view.left, flags)) return view
    if (flags.merge === true) return wrongUse('--merge: no run is unfinished; name one by its id')
    return nothingLeft(context, view.left.completed, flags)
  }
  const workflow = workflowOf(context, view.right.checkpoint, inputNamesIn(flags))
  if (E.isRight(workflow)) {
    const redaction = redactionFor(context, workflow.right.file)
    const ended = await resumeRun(context, view.right, workflow.right, flags, O.isSome(pointed.right))
    return E.mapLeft((error: CliError) => withNextActions(context, redaction, error))(ended)
  }
  // A completed run needs its file only if something is to run again.
  if (view.right.status !== 'completed' || workflow.left._tag !== 'Usage' || wordsOf(flags).length > 0) return workflow
  return printCompleted(context, view.right, flags)
})

type AllDone = CliError & { readonly _tag: 'NothingToResume'; readonly completed: string }

/** No run is unfinished, one is completed, and no flag runs one again. */
const isAllDone = (error: CliError, flags: Flags): error is AllDone =>
  error._tag === 'NothingToResume' && error.completed !== undefined && wordsOf(flags).length === 0

const nothingLeft = async (context: PromptContext, newest: string, flags: Flags): Promise<Result> => {
  const view = await viewOf(context, newest)
  return E.isLeft(view) ? view : printCompleted(context, view.right, flags)
}

const printCompleted = async (context: PromptContext, view: RunView, flags: Flags): Promise<Result> => {
  const { runId, checkpoint } = view
  const { screen, json } = context
  screen.line(`Run ${runId} is completed`)
  const settled = await settleWorkspace(context, checkpoint, flags, false)
  if (json) screen.out(printedResult(context, { ...endJson(checkpoint, 'completed'), ...settled }))
  return E.right(ExitCode.done)
}
