/** Predicts what a resume would refuse, ask or run again, without running or writing anything. */
import * as E from 'fp-ts/lib/Either.js'
import type { Checkpoint } from '../../../domain/checkpoint/Checkpoint.js'
import { inFlight } from '../../../domain/checkpoint/CheckpointState.js'
import { describeOver, describeQuestion } from '../../../domain/explain/Explain.js'
import { openReason } from '../../../domain/plan/decideTask.js'
import { isWait, nextUnits, overOf } from '../../../domain/plan/nextUnits.js'
import { describeProblem } from '../../../domain/explain/problems.js'
import type { Decision, ResumePlan, Run } from '../../../domain/plan/Plan.js'
import { openQuestions } from '../../../domain/plan/Plan.js'
import { runsAgain } from '../../../domain/plan/repeats.js'
import type { Unit } from '../../../domain/workflow/Unit.js'
import { planResume } from '../../../domain/plan/planResume.js'
import { collectEvidence } from '../../../executor/workspace/evidence.js'
import type { RunView } from '../../../executor/storage/runs.js'
import { secure } from '../../../executor/secrets.js'
import { workspaceMissing, hasWorkspace, requireWorkspace } from '../../../executor/workspace/workspace.js'
import type { CliError } from '../../CliError.js'
import { code, describeCause, notDone } from '../../CliError.js'
import { ExitCode, ofError } from '../../ExitCode.js'
import type { Hint } from '../../report/Hint.js'
import { nowText } from '../../report/text.js'
import type { Context } from '../Context.js'
import { environmentFor } from '../Context.js'
import { ofPlanError, unconfirmed } from '../hints/ofPlan.js'
import { nextActions } from '../hints/ofError.js'
import type { NextUnit } from '../../../domain/plan/nextUnits.js'
import { resumeHint } from './planFlags.js'
import { requestedCancel } from './requestedCancel.js'
import type { CommandPlan } from './commandPlan.js'
import { planForCommand, treeFor } from './commandPlan.js'
import { plannable, workflowOf } from '../find/workflowOf.js'

/** `exit`: the exit code of the resume. */
export interface Obstacle {
  readonly code: string
  readonly message: string
  readonly next: ReadonlyArray<Hint>
  readonly exit: ExitCode
}

/** A unit that was in flight when its process ended; `decision`: what the plan does with it. */
export interface Unrecorded {
  readonly unit: Unit
  readonly attempt: number
  readonly decision: Decision['_tag'] | undefined
}

/** `obstacles` are in the order in which a resume meets them. `waits`: a resume would only wait. */
export interface Preview {
  readonly obstacles: ReadonlyArray<Obstacle>
  readonly again: ReadonlyArray<Run>
  readonly unrecorded: ReadonlyArray<Unrecorded>
  readonly waits: boolean
}

export const CLEAR: Preview = { obstacles: [], again: [], unrecorded: [], waits: false }

export const previewOf = async (context: Context, view: RunView): Promise<Preview> => {
  const { checkpoint } = view
  const cancel = await requestedCancel(context, view)
  if (cancel !== undefined) return previewFrom(context, checkpoint, [cancel])
  const workflow = workflowOf(context, checkpoint)
  if (E.isLeft(workflow)) {
    // A completed run does not need its file any more.
    if (view.status === 'completed' && workflow.left._tag === 'Usage') return CLEAR
    return previewFrom(context, checkpoint, [workflow.left, ...(await errorsInFolder(context, checkpoint))])
  }
  const program = plannable(workflow.right)
  const secured = await secure(environmentFor(context), program)
  const hints = [resumeHint(context, 'After fixing this:', checkpoint)]
  const secrets = E.isRight(secured) ? [] : [notDone(secured.left, hints)]
  const isExact = view.found._tag === 'Exact'
  const planResult = await planForCommand(context, program, view, isExact ? {} : { yes: true })
  if (E.isRight(planResult)) return previewOfPlan(context, planResult.right, secrets)
  const preview = previewFrom(context, checkpoint, [planResult.left, ...secrets])
  // The command that accepts the recovered state also reopens the run.
  return isExact ? preview : { ...preview, obstacles: preview.obstacles.map(withoutNext('RunCancelled')) }
}

/** `plan`: what the resume does once nothing is in its way. */
const previewFrom = (
  context: Context,
  checkpoint: Checkpoint,
  errors: ReadonlyArray<CliError>,
  plan?: ResumePlan
): Preview => ({
  obstacles: errors.flatMap((error) => obstaclesOf(context, error)),
  again: plan === undefined ? [] : runsAgain(plan, checkpoint),
  unrecorded: unrecordedOf(checkpoint, plan),
  waits: false
})

/** What is wrong in the folder of a run whose workflow is unreadable. */
const errorsInFolder = async (context: Context, checkpoint: Checkpoint): Promise<ReadonlyArray<CliError>> => {
  const environment = environmentFor(context, { tree: treeFor(context, { checkpoint }) })
  const there = await hasWorkspace(checkpoint)(environment)()
  if (E.isRight(there) && !there.right) return [notDone(workspaceMissing(checkpoint), [], checkpoint)]
  const evidence = E.isLeft(there) ? there : await collectEvidence(checkpoint)(environment)()
  return E.isLeft(evidence) ? [notDone(evidence.left, [], checkpoint)] : []
}

/** `secrets`: the error if some are missing. If the plan is refused, the preview has what remains once the edits are accepted. */
const previewOfPlan = (context: Context, planResult: CommandPlan, secrets: ReadonlyArray<CliError>): Preview => {
  const { checkpoint, options, workspaceFound, plan, program, flags } = planResult
  const likely = E.isRight(plan) ? plan : planResume(checkpoint, program, { ...options, changes: 'ignore' })
  const isMissing = E.isLeft(plan)
    ? !workspaceFound
    : E.isLeft(requireWorkspace(checkpoint, plan.right, workspaceFound))
  const errorOfQuestions = (of: ResumePlan): ReadonlyArray<CliError> => {
    const [question, ...more] = openQuestions(of)
    return question === undefined ? [] : [unconfirmed(context, planResult, [question, ...more], of)]
  }
  const errors = [
    ...(isMissing ? [notDone(workspaceMissing(checkpoint), [], checkpoint)] : []),
    ...(E.isRight(plan) ? [] : [notDone(plan.left, ofPlanError(context, planResult, plan.left.problems), checkpoint)]),
    ...(E.isLeft(likely) ? [] : errorOfQuestions(likely.right)),
    ...secrets
  ]
  const preview = previewFrom(context, checkpoint, errors, E.isLeft(likely) ? undefined : likely.right)
  // A question that is only likely has no commands: they would accept the edits.
  if (E.isLeft(plan)) return { ...preview, obstacles: preview.obstacles.map(withoutNext('Unconfirmed')) }
  const units = nextUnits(program, plan.right)
  const obstacles = [
    ...preview.obstacles,
    ...timeouts(resumeHint(context, 'End the wait with:', checkpoint, flags), units)
  ]
  return { ...preview, obstacles, waits: units.length > 0 && units.every((one) => isWait(one, nowText())) }
}

const withoutNext =
  (code: string) =>
  (one: Obstacle): Obstacle =>
    one.code === code ? { ...one, next: [] } : one

/** A resume ends a wait that has timed out, and fails. */
const timeouts = (hint: Hint, units: ReadonlyArray<NextUnit>): ReadonlyArray<Obstacle> =>
  units.flatMap(({ decision }) =>
    overOf(decision, nowText()) === 'TimedOut'
      ? [
          {
            code: 'WaitTimeout',
            message: `${decision.unit}: ${describeOver('TimedOut')}`,
            next: [hint],
            exit: ExitCode.stepFailed
          }
        ]
      : []
  )

const unrecordedOf = ({ state }: Checkpoint, plan?: ResumePlan): ReadonlyArray<Unrecorded> => {
  const decisions = new Map(plan?.decisions.map((one) => [one.unit, one._tag]))
  // The code of a suspended attempt only waited.
  return [...inFlight(state)]
    .filter((one) => one.suspended !== true && openReason(state, one)._tag === 'InFlight')
    .map(({ unit, attempt }) => ({ unit, attempt, decision: decisions.get(unit) }))
}

/** An obstacle for each part of an error; the last one has the commands to type next, as the refused command would print them. */
export const obstaclesOf = (context: Context, error: CliError): ReadonlyArray<Obstacle> => {
  const parts = partsOf(error)
  const next = [...error.hints, ...nextActions(context, error)]
  return parts.map((one, index) => ({ ...one, next: index === parts.length - 1 ? next : [], exit: ofError(error) }))
}

const partsOf = (error: CliError): ReadonlyArray<Pick<Obstacle, 'code' | 'message'>> => {
  const cause = error._tag === 'NotDone' ? error.error : undefined
  if (cause?._tag === 'PlanError')
    return cause.problems.map((problem) => ({ code: problem._tag, message: describeProblem(problem) }))
  if (cause?._tag === 'Unconfirmed')
    return cause.questions.map((question) => ({ code: cause._tag, message: describeQuestion(question) }))
  return [{ code: code(error), message: describeCause(error) }]
}
