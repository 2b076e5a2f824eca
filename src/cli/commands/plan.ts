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
import { shortened } from '../report/fingerprints.js'
import { linesOf } from '../report/Hint.js'
import { printed, summaryJson } from '../report/runJson.js'
import { printable } from '../terminal/Style.js'
import type { Context, Result } from './Context.js'
import { warnOf } from './execution.js'
import { remainsOf, unlessWorkspaceGone } from './evidence.js'
import { findOrOnly } from './find.js'
import { answers, isDone, ofPending, ofPlanError, resumeLine } from './hints.js'
import type { PlanFlags } from './planFlags.js'
import { planOptions } from './planFlags.js'
import { plannable, workflowOf } from './workflowOf.js'

/**
 * Plans a resume of the run of this id; without an id, of the only unfinished one.
 *
 * @category commands
 * @since 0.1.0
 */
export const planCommand = async (context: Context, id: string | undefined, flags: PlanFlags): Promise<Result> => {
  const found = await findOrOnly(context, id)
  if (E.isLeft(found)) return found
  const { runId, checkpoint } = found.right
  const workflow = await workflowOf(context, checkpoint)
  if (E.isLeft(workflow)) return workflow
  const options = planOptions(flags, workflow.right.file)
  if (E.isLeft(options)) return options
  warnOf(context, workflow.right)
  const program = plannable(workflow.right)
  const recovered = found.right.found._tag === 'Recovered'
  const remains = await remainsOf(context, checkpoint, program, options.right)
  if (E.isLeft(remains)) return remains
  const how = { ...options.right, evidence: remains.right.missing, recovered }
  const plan = planResume(checkpoint, program, how)
  if (E.isLeft(plan)) {
    const planning = { checkpoint, workflow: program, options: how, flags }
    return E.left(notDone(plan.left, ofPlanError(context, planning, plan.left.problems), runId))
  }
  const usable = unlessWorkspaceGone(context, checkpoint, plan.right, remains.right)
  if (E.isLeft(usable)) return usable
  const edits = editsOf(checkpoint, program, options.right)
  if (context.json) context.screen.out(printed(planJson(found.right, plan.right, edits)))
  else
    for (const line of planLines(context, found.right, program, plan.right, flags, edits))
      context.screen.out(`${line}\n`)
  return E.right(ExitCode.done)
}

type StepEdit = PlanProblem & { readonly _tag: 'WorkflowChanged'; readonly groups?: ReadonlyArray<string> }

/** How the workflow differs from the one that ran: what the strictest policy would refuse. */
const editsOf = (checkpoint: Checkpoint, program: Workflow, options: PlanOptions): ReadonlyArray<StepEdit> => {
  const strict = planResume(checkpoint, program, { ...options, changes: 'strict' })
  const edits = E.isRight(strict) ? [] : strict.left.problems.filter((problem) => problem._tag === 'WorkflowChanged')
  return edits.map((edit) => ({ ...edit, groups: groupsOf(checkpoint, program, edit.step) }))
}

/** The groups of a wave that were changed, added or removed. */
const groupsOf = ({ workflow }: Checkpoint, program: Workflow, step: string): ReadonlyArray<string> => {
  const was = workflow.steps.find(({ name }) => name === step)
  const is = program.steps.find(({ name }) => name === step)
  if (was?.kind !== 'wave' || is?._tag !== 'Wave') return []
  const before = new Map(was.groups.map(({ name, fingerprint }) => [name, fingerprint]))
  const after = new Map(is.groups.map(({ name, fingerprint }) => [name, fingerprint]))
  return [...new Set([...before.keys(), ...after.keys()])].flatMap((name) => {
    const [old, now] = [before.get(name), after.get(name)]
    if (old === now) return []
    return [`${name} ${old === undefined ? 'added' : now === undefined ? 'removed' : 'changed'}`]
  })
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
  return [
    style.bold(`Run ${runId}: ${checkpoint.workflow.name}, ${status}`),
    ...(found._tag === 'Exact' ? [] : [style.yellow(`Its newest state is damaged: ${printable(found.lost)}`)]),
    ...(O.isNone(heldBy) ? [] : [style.yellow(`In progress: process ${heldBy.value.pid} on ${heldBy.value.host}`)]),
    ...explain(plan)
      .split('\n')
      .map((line) => shortened(printable(asOf(heldBy, line)))),
    ...(edits.length === 0 ? [] : ['Edited since the run began:', ...edits.map(describeEdit)]),
    ...(O.isSome(heldBy) ? [] : nextLines(context, runId, program, plan, { ...flags, yes: found._tag !== 'Exact' }))
  ]
}

/** What to do next; `yes`: to agree to go on from what was recovered. */
const nextLines = (
  context: Context,
  runId: string,
  program: Workflow,
  plan: ResumePlan,
  flags: PlanFlags & { readonly yes: boolean }
): ReadonlyArray<string> => {
  if (isDone(plan)) return []
  const { outStyle: style } = context.screen
  const questions = openQuestions(plan)
  const consent = flags.yes ? ['With --yes you agree to go on from what was recovered'] : []
  const exactly = {
    text: 'To do exactly this:',
    command: resumeLine(context, runId, flags, ['--plan', hashPlan(plan)])
  }
  const waits = plan.decisions.some((one) => one._tag === 'Poll') ? ofPending(context, runId) : []
  return [
    ...linesOf(waits),
    ...questions.map((question) => style.yellow(printable(describeQuestion(question)))),
    ...consent,
    ...linesOf(questions.length > 0 ? answers(context, runId, flags, program, questions) : [exactly])
  ]
}

/** Of a run that is held, what is in flight has not ended. */
const asOf = (heldBy: RunView['heldBy'], text: string): string =>
  O.isNone(heldBy) ? text : text.replace(/was (running \(attempt \d+\)) when the process ended$/, 'is $1')

const describeEdit = ({ edit, step, recorded, present, groups = [] }: StepEdit): string => {
  const from = recorded === undefined ? [] : [`was ${recorded}`]
  const to = present === undefined ? [] : [`is ${present}`]
  const prints = [...from, ...to].join(', ')
  const parts = groups.length === 0 ? '' : `: ${groups.join(', ')}`
  return shortened(`  ${edit.padEnd(9)}  ${step}${prints === '' ? '' : `  (${prints})`}${parts}`)
}

const planJson = (view: RunView, plan: ResumePlan, edits: ReadonlyArray<StepEdit>): JsonObject => ({
  ...summaryJson(view),
  plan_hash: hashPlan(plan),
  start_index: plan.startIndex,
  retry_current: plan.retryCurrent,
  decisions: plan.decisions.map((decision) => decisionJson(view, decision)),
  edits: edits.map(({ edit, step, recorded = null, present = null }) => ({ edit, step, recorded, present })),
  questions: openQuestions(plan).map(unitName),
  recovered: view.found._tag === 'Recovered'
})

const decisionJson = ({ heldBy }: RunView, decision: Decision): JsonObject => ({
  step_index: decision.stepIndex,
  step: decision.step,
  ...(decision.group === undefined ? {} : { group: decision.group }),
  action: decision._tag.toLowerCase(),
  reason: decision.reason._tag,
  why: asOf(heldBy, describeReason(decision))
})
