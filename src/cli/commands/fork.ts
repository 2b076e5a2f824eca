/** `dogear fork`: makes a new run from the records of another one. */
import { randomUUID } from 'node:crypto'
import * as E from 'fp-ts/lib/Either.js'
import { has } from '../../domain/checkpoint/Units.js'
import { toWorkflow } from '../../domain/workflow/WorkflowIdentity.js'
import type { RunError } from '../../executor/RunError.js'
import { fork } from '../../hosts/fork.js'
import { notDone, usage } from '../CliError.js'
import { ExitCode } from '../ExitCode.js'
import type { Hint } from '../report/Hint.js'
import { linesOf } from '../report/Hint.js'
import { printed } from '../report/runJson.js'
import type { Context, Result } from './Context.js'
import { dogearCommand, environmentFor, sameCommand } from './Context.js'
import { repeatWarning } from './execution/checks.js'
import { answersOf } from './execution/planFlags.js'
import { treeFor } from './execution/survey.js'
import { nonIdempotent } from './find/definitions.js'
import { findRun } from './find/find.js'
import { ofResume } from './find/findHints.js'

export interface ForkFlags {
  readonly fromStep?: string
  readonly id?: string
  readonly confirm?: ReadonlyArray<string>
}

export const forkCommand = async (context: Context, id: string, flags: ForkFlags): Promise<Result> => {
  const { fromStep, id: newId = randomUUID(), confirm: texts = [] } = flags
  if (fromStep === undefined)
    return E.left(
      usage('fork: --from-step is missing; pass the step where the new run starts', [
        { text: 'List the steps with:', command: dogearCommand(context, ['show', id]) }
      ])
    )
  const confirm = answersOf(texts)
  if (E.isLeft(confirm)) return confirm
  const view = await findRun(context, id)
  if (E.isLeft(view)) return view
  const { runId, checkpoint } = view.right
  const { workflow } = checkpoint
  const environment = environmentFor(context, { tree: treeFor(context, view.right) })
  const made = await fork(runId, newId, { fromStep, confirm: confirm.right })(environment)()
  if (E.isLeft(made)) return E.left(notDone(made.left, ofQuestions(context, made.left), runId, 'fork'))
  const { screen, json } = context
  const again = nonIdempotent(toWorkflow(workflow)).filter(
    (unit) => has(checkpoint.completedSteps, unit) && !has(made.right.checkpoint.completedSteps, unit)
  )
  if (again.length > 0)
    screen.warn(`${repeatWarning(again)} Run ${newId} does them under new idempotency keys, and does not ask`)
  const kept = made.right.checkpoint.completedSteps.steps
  if (json) screen.out(printed({ run_id: newId, forked_from: runId, from_step: fromStep }))
  else {
    const steps = `${kept} of ${workflow.steps.length} steps completed`
    screen.print(`Run ${newId} starts at ${fromStep} with the records of ${runId}, ${steps}`)
    for (const line of linesOf([ofResume(context, newId, workflow)], screen.style)) screen.line(line)
  }
  return E.right(ExitCode.done)
}

/** A command that answers all questions. */
const ofQuestions = (context: Context, error: RunError): ReadonlyArray<Hint> => {
  if (error._tag !== 'Unconfirmed') return []
  const answers = error.questions.flatMap(({ unit }) => ['--confirm', `${unit}=again`])
  return [{ text: 'Answer them, for example:', command: sameCommand(context, answers) }]
}
