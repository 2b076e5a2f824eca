/** `dogear plan`: shows what a resume would do. Runs and writes nothing. */
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import { status as statusOf } from '../../domain/checkpoint/Checkpoint.js'
import { presentOf } from '../../domain/checkpoint/Due.js'
import { describeQuestion, describeReason, explain } from '../../domain/explain/Explain.js'
import { describeEvidence } from '../../domain/checkpoint/CompletedStep.js'
import type { JsonObject } from '../../domain/data/Json.js'
import type { Decision, ResumePlan } from '../../domain/plan/Plan.js'
import type { PlanProblem } from '../../domain/plan/PlanProblem.js'
import { hashPlan, openQuestions } from '../../domain/plan/Plan.js'
import { planResume } from '../../domain/plan/planResume.js'
import type { RunView } from '../../executor/storage/runs.js'
import type { Holder } from '../../ports/CheckpointStorage.js'
import { ExitCode } from '../ExitCode.js'
import { linesOf } from '../report/Hint.js'
import { printed, questionJson, summaryJson } from '../report/runJson.js'
import { firstOf } from '../workflow/Problem.js'
import type { Context, Flags, Result } from './Context.js'
import { printWarnings } from './execution/execution.js'
import { findOrOnly } from './find/find.js'
import { ofLaterQuestions, ofQuestions, forcedAnswers } from './hints/ofPlan.js'
import { AGREES_TO_RECOVERY, ofHeld, ofPending } from './hints/ofRun.js'
import { answering, resumeLine } from './execution/planFlags.js'
import { requestedCancel } from './execution/requestedCancel.js'
import { inputNamesIn } from './execution/input.js'
import type { Overwrite } from '../../domain/plan/repeats.js'
import { overwriteWarning, findOverwrites, repeatWarnings } from './execution/overwrites.js'
import type { CommandPlan } from './execution/commandPlan.js'
import { planForCommand, usablePlan, withoutIdleAnswers } from './execution/commandPlan.js'
import { plannable, workflowOf } from './find/workflowOf.js'
import { nowText, rowFolded, shortened, processText } from '../report/text.js'

export const planCommand = async (
  context: Context,
  id: string | undefined,
  flagsWithSecrets: Flags
): Promise<Result> => {
  const found = await findOrOnly(context, id)
  if (E.isLeft(found)) return found
  const cancel = await requestedCancel(context, found.right)
  if (cancel !== undefined) return E.left(cancel)
  const { checkpoint } = found.right
  const workflow = workflowOf(context, checkpoint, inputNamesIn(flagsWithSecrets))
  if (E.isLeft(workflow)) return workflow
  const planResult = await planForCommand(context, plannable(workflow.right), found.right, flagsWithSecrets)
  if (E.isLeft(planResult)) return planResult
  printWarnings(context, workflow.right, flagsWithSecrets)
  const planned = usablePlan(context, planResult.right)
  if (E.isLeft(planned)) return planned
  const { plan } = planned.right
  const shown = { ...planResult.right, flags: withoutIdleAnswers(context, planResult.right, planned.right) }
  const repeats = repeatWarnings(shown.program, planned.right, shown.flags)
  const over = await findOverwrites(context, shown)
  if (E.isLeft(over)) context.screen.warn(over.left)
  const findings = { edits: editsOf(shown), overwrites: E.isLeft(over) ? [] : over.right, repeats }
  if (context.json) context.screen.out(printed(planJson(found.right, plan, findings)))
  else planLines(context, found.right, shown, plan, findings).forEach(context.screen.print)
  return E.right(ExitCode.done)
}

type StepEdit = PlanProblem & { readonly _tag: 'WorkflowChanged' }

/** The edits that the strictest policy would refuse. */
const editsOf = ({ checkpoint, program, options }: CommandPlan): ReadonlyArray<StepEdit> => {
  const strict = planResume(checkpoint, program, { ...options, changes: 'strict' })
  return E.isRight(strict) ? [] : strict.left.problems.filter((problem) => problem._tag === 'WorkflowChanged')
}

const editLines = (edits: ReadonlyArray<StepEdit>): ReadonlyArray<string> =>
  edits.length === 0
    ? []
    : [
        'Edited since the run last recorded its workflow:',
        ...firstOf(edits.map(describeEdit)).map((line) => `  ${line}`)
      ]

const planLines = (
  context: Context,
  { runId, checkpoint, status, found, heldBy }: RunView,
  planResult: CommandPlan,
  plan: ResumePlan,
  findings: Findings
): ReadonlyArray<string> => {
  const { outStyle: style } = context.screen
  return [
    style.bold(`Run ${runId}: ${checkpoint.workflow.name}, ${status}`),
    ...(found._tag === 'Exact' ? [] : [style.yellow(`Its newest state is damaged: ${found.lost}`)]),
    ...(O.isNone(heldBy) ? [] : [style.yellow(inProgress(heldBy.value))]),
    ...explain(plan, presentOf({ heldBy }, nowText()))
      .split('\n')
      .map((line) => shortened(asOf(heldBy, line)))
      .flatMap((line) => rowFolded(line, style.width)),
    ...editLines(findings.edits),
    ...(O.isSome(heldBy)
      ? linesOf(ofHeld(context, checkpoint, heldBy.value, planResult.flags))
      : nextLines(context, planResult, plan, findings))
  ]
}

const inProgress = (holder: Holder): string =>
  holder.liveness === 'alive'
    ? `In progress: ${processText(holder)}; if it died now, a resume would do this:`
    : `In progress, or abandoned by a dead process: ${processText(holder)}`

/** Edits of the recorded workflow, and what a resume asks consent for: changes that it would overwrite, and work that it would repeat. */
interface Findings {
  readonly edits: ReadonlyArray<StepEdit>
  readonly overwrites: ReadonlyArray<Overwrite>
  readonly repeats: ReadonlyArray<string>
}

const nextLines = (
  context: Context,
  { checkpoint, found, program, flags: given }: CommandPlan,
  plan: ResumePlan,
  { overwrites, repeats }: Findings
): ReadonlyArray<string> => {
  const { runId } = checkpoint
  // A recovered state needs consent.
  const recovered = found._tag !== 'Exact'
  const skipsAll = plan.decisions.every(({ _tag }) => _tag === 'Skip')
  const completes = skipsAll && statusOf(checkpoint, false) !== 'completed'
  if (!recovered && skipsAll && !completes) return []
  const { outStyle: style } = context.screen
  const flags = { ...given, yes: recovered || repeats.length > 0 }
  const questions = openQuestions(plan)
  const consent = [
    ...repeats.map(style.yellow),
    ...(repeats.length === 0 ? [] : ['With --yes you agree to this']),
    ...(recovered ? [AGREES_TO_RECOVERY] : [])
  ]
  const pinned = { plan: hashPlan(plan), yes: flags.yes }
  const agreed = answering(
    flags,
    overwrites.map(({ unit }) => `${unit}=again`)
  )
  const exactly =
    overwrites.length === 0
      ? [
          {
            text: completes ? 'To complete the run:' : 'To do exactly this:',
            command: resumeLine(context, runId, { ...flags, ...pinned })
          }
        ]
      : // The consent to a repetition belongs only to the command that repeats.
        forcedAnswers(context, checkpoint, { ...given, yes: recovered }, pinned, overwrites)
  const waits = plan.decisions.some((one) => one._tag === 'Poll') ? ofPending(context, checkpoint) : []
  return [
    ...linesOf(waits),
    ...questions.map((question) => style.yellow(describeQuestion(question))),
    ...(overwrites.length === 0 ? [] : [style.yellow(overwriteWarning(overwrites))]),
    ...consent,
    ...linesOf(
      questions.length > 0 ? ofQuestions(context, { checkpoint, program, flags: agreed }, questions) : exactly
    ),
    ...linesOf(ofLaterQuestions(plan))
  ]
}

const asOf = (heldBy: RunView['heldBy'], text: string): string =>
  O.isNone(heldBy) ? text : text.replace(/was (running \(attempt \d+\)) when the process ended$/, 'is $1')

const describeEdit = ({ edit, unit, recorded, present }: StepEdit): string => {
  const from = recorded === undefined ? [] : [`was ${recorded}`]
  const to = present === undefined ? [] : [`is ${present}`]
  const prints = [...from, ...to].join(', ')
  return shortened(`${edit.padEnd(9)}  ${unit}${prints === '' ? '' : `  (${prints})`}`)
}

const planJson = (view: RunView, plan: ResumePlan, { edits, overwrites }: Findings): JsonObject => {
  const now = presentOf(view, nowText())
  return {
    ...summaryJson(view),
    plan_hash: hashPlan(plan),
    start_index: plan.startIndex,
    retry_current: plan.retryCurrent,
    decisions: plan.decisions.map((decision) => decisionJson(view, decision, now)),
    edits: edits.map(({ edit, unit, recorded = null, present = null }) => ({ edit, unit, recorded, present })),
    abandons: (plan.abandons ?? []).map(({ unit, submittedAt, job = null }) => ({
      unit,
      job,
      submitted_at: submittedAt
    })),
    questions: openQuestions(plan).map(questionJson),
    overwrites: overwrites.map((one) => ({
      unit: one.unit,
      changed: one.reason.changed.map(({ was }) => describeEvidence(was))
    })),
    recovered: view.found._tag === 'Recovered'
  }
}

const decisionJson = ({ heldBy }: RunView, decision: Decision, now: string | undefined): JsonObject => ({
  step_index: decision.stepIndex,
  unit: decision.unit,
  action: decision._tag.toLowerCase(),
  reason: decision.reason._tag,
  why: asOf(heldBy, describeReason(decision, now)),
  ...evidenceJson(decision)
})

const evidenceJson = ({ reason }: Decision): JsonObject => ({
  ...('missing' in reason && reason.missing !== undefined ? { missing: reason.missing.map(describeEvidence) } : {}),
  ...('changed' in reason ? { changed: reason.changed.map(({ was }) => describeEvidence(was)) } : {})
})
