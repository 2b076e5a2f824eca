/**
 * `dogear plan`: what resume would do, and why. Runs nothing, writes nothing.
 *
 * @since 0.1.0
 */
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import type { Checkpoint } from '../../domain/Checkpoint.js'
import { describeQuestion, describeReason, explain } from '../../domain/Explain.js'
import type { JsonObject } from '../../domain/Json.js'
import type { Decision, PlanOptions, PlanProblem, ResumePlan } from '../../domain/Plan.js'
import { hashPlan, openQuestions, unitName } from '../../domain/Plan.js'
import { planResume } from '../../domain/planResume.js'
import type { Workflow } from '../../domain/Workflow.js'
import type { RunView } from '../../executor/runs.js'
import { notDone } from '../CliError.js'
import { ExitCode } from '../ExitCode.js'
import { printed, summaryJson } from '../report/runJson.js'
import { printable } from '../terminal/Style.js'
import type { Context, Result } from './Context.js'
import { dogearCommand, environmentFor } from './Context.js'
import { warnOf } from './execution.js'
import { findOrOnly } from './find.js'
import { answerHints, isDone, planErrorHints } from './hints.js'
import type { PlanFlags } from './planFlags.js'
import { planOptions, wordsOf } from './planFlags.js'

import { plannable, workflowOf } from './workflowOf.js'

/**
 * Plans a resume of the run of this id; without an id, of the only unfinished one.
 *
 * @category commands
 * @since 0.1.0
 */
export const planCommand = async (context: Context, id: string | undefined, flags: PlanFlags): Promise<Result> => {
  const found = await findOrOnly(context, environmentFor(context), id)
  if (E.isLeft(found)) return found
  const { runId, checkpoint } = found.right
  const workflow = await workflowOf(context, checkpoint)
  if (E.isLeft(workflow)) return workflow
  const options = planOptions(flags, workflow.right.file)
  if (E.isLeft(options)) return options
  warnOf(context, workflow.right)
  const program = plannable(workflow.right)
  const plan = planResume(checkpoint, program, { ...options.right, recovered: found.right.found._tag === 'Recovered' })
  if (E.isLeft(plan)) return E.left(notDone(plan.left, planErrorHints(context, runId, plan.left.problems)))
  const edits = editsOf(checkpoint, program, options.right)
  if (context.json) context.screen.out(printed(planJson(found.right, plan.right, edits)))
  else
    for (const line of planLines(context, found.right, program, plan.right, flags, edits))
      context.screen.out(`${line}\n`)
  return E.right(ExitCode.done)
}

type StepEdit = PlanProblem & { readonly _tag: 'WorkflowChanged' }

/** How the workflow differs from the one that ran: what the strictest policy would refuse. */
const editsOf = (checkpoint: Checkpoint, program: Workflow, options: PlanOptions): ReadonlyArray<StepEdit> => {
  const strict = planResume(checkpoint, program, { ...options, changes: 'strict' })
  return E.isRight(strict) ? [] : strict.left.problems.filter((problem) => problem._tag === 'WorkflowChanged')
}

const planLines = (
  context: Context,
  { runId, checkpoint, status, found, heldBy }: RunView,
  program: Workflow,
  plan: ResumePlan,
  flags: PlanFlags,
  edits: ReadonlyArray<StepEdit>
): ReadonlyArray<string> => {
  const { outStyle: style } = context.screen
  const questions = openQuestions(plan)
  const execute = dogearCommand(context, ['resume', runId, ...wordsOf(flags), '--plan', hashPlan(plan)])
  return [
    style.bold(`Run ${runId}: ${checkpoint.workflow.name}, ${status}`),
    ...(found._tag === 'Exact' ? [] : [style.yellow(`Its newest state is damaged: ${printable(found.lost)}`)]),
    ...(O.isNone(heldBy) ? [] : [style.yellow(`In progress: process ${heldBy.value.pid} on ${heldBy.value.host}`)]),
    ...explain(plan).split('\n').map(printable),
    ...(edits.length === 0 ? [] : ['Edited since the run began:', ...edits.map(describeEdit)]),
    ...questions.map((question) => style.yellow(printable(describeQuestion(question)))),
    ...(questions.length > 0
      ? answerHints(context, runId, flags, program, questions)
      : isDone(plan)
        ? []
        : ['To do exactly this:', `  ${execute}`])
  ]
}

/** A long fingerprint says no more than its beginning. */
const describeEdit = ({ edit, step, recorded, present }: StepEdit): string => {
  const from = recorded === undefined ? [] : [`was ${short(recorded)}`]
  const to = present === undefined ? [] : [`is ${short(present)}`]
  const prints = [...from, ...to].join(', ')
  return `  ${edit.padEnd(9)}  ${step}${prints === '' ? '' : `  (${prints})`}`
}

const short = (fingerprint: string): string => fingerprint.slice(0, 'v1:'.length + 12)

const planJson = (view: RunView, plan: ResumePlan, edits: ReadonlyArray<StepEdit>): JsonObject => ({
  ...summaryJson(view),
  plan_hash: hashPlan(plan),
  start_index: plan.startIndex,
  retry_current: plan.retryCurrent,
  decisions: plan.decisions.map(decisionJson),
  edits: edits.map(({ edit, step, recorded = null, present = null }) => ({ edit, step, recorded, present })),
  questions: openQuestions(plan).map(unitName),
  recovered: view.found._tag === 'Recovered'
})

const decisionJson = (decision: Decision): JsonObject => ({
  step_index: decision.stepIndex,
  step: decision.step,
  ...(decision.group === undefined ? {} : { group: decision.group }),
  action: decision._tag.toLowerCase(),
  reason: decision.reason._tag,
  why: describeReason(decision)
})
