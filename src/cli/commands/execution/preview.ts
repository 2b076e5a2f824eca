/** Predicts what a resume would refuse, ask or run again, without running or writing anything. */
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import type { Checkpoint } from '../../../domain/checkpoint/Checkpoint.js'
import { describeOver, describeQuestion, overOf } from '../../../domain/explain/Explain.js'
import { describeProblem } from '../../../domain/explain/problems.js'
import type { Confirm, Decision, ResumePlan, Run } from '../../../domain/plan/Plan.js'
import { openQuestions, runsAgain } from '../../../domain/plan/Plan.js'
import type { Unit } from '../../../domain/workflow/Unit.js'
import { planResume } from '../../../domain/plan/planResume.js'
import { collectEvidence } from '../../../executor/workspace/evidence.js'
import type { RunView } from '../../../executor/storage/runs.js'
import { secure } from '../../../executor/secrets.js'
import { workspaceMissing, hasWorkspace, requireWorkspace } from '../../../executor/workspace/workspace.js'
import type { CliError } from '../../CliError.js'
import { code, describeCause, hintsOf, notDone } from '../../CliError.js'
import { ExitCode, ofError } from '../../ExitCode.js'
import type { Hint } from '../../report/Hint.js'
import { nowText } from '../../report/text.js'
import type { Context } from '../Context.js'
import { environmentFor } from '../Context.js'
import { ofPlanError, ofQuestions } from '../hints/ofPlan.js'
import { nextActions } from '../hints/ofError.js'
import type { NextUnit } from './nextUnits.js'
import { isWait, nextUnits } from './nextUnits.js'
import { resumeHint } from './planFlags.js'
import type { Surveyed } from './survey.js'
import { surveyRun, treeFor } from './survey.js'
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

/** `obstacles` are in the order in which a resume meets them. `waits`: it would only wait. */
export interface Preview {
  readonly obstacles: ReadonlyArray<Obstacle>
  readonly again: ReadonlyArray<Run>
  readonly unrecorded: ReadonlyArray<Unrecorded>
  readonly waits: boolean
}

export const CLEAR: Preview = { obstacles: [], again: [], unrecorded: [], waits: false }

export const previewOf = async (context: Context, view: RunView): Promise<Preview> => {
  const { checkpoint } = view
  const workflow = workflowOf(context, checkpoint)
  if (E.isLeft(workflow)) {
    // A completed run does not need its file any more.
    if (view.status === 'completed' && workflow.left._tag === 'Usage') return CLEAR
    return previewFrom(checkpoint, [obstacle(workflow.left), ...(await obstaclesInFolder(context, checkpoint))])
  }
  const program = plannable(workflow.right)
  const secured = await secure(environmentFor(context), program)
  const hints = [resumeHint(context, 'After fixing this:', checkpoint.runId)]
  const secrets = E.isRight(secured) ? [] : [obstacle(notDone(secured.left, hints))]
  const surveyed = await surveyRun(context, program, view, view.found._tag === 'Exact' ? {} : { yes: true })
  return E.isLeft(surveyed)
    ? previewFrom(checkpoint, [refusal(context, surveyed.left), ...secrets])
    : previewOfSurvey(context, surveyed.right, secrets)
}

/** `plan`: what the resume does once nothing is in its way. */
const previewFrom = (checkpoint: Checkpoint, obstacles: ReadonlyArray<Obstacle>, plan?: ResumePlan): Preview => ({
  obstacles,
  again: plan === undefined ? [] : runsAgain(plan, checkpoint),
  unrecorded: unrecordedOf(checkpoint, plan),
  waits: false
})

/** Obstacles in the folder of a run whose workflow is unreadable. */
const obstaclesInFolder = async (context: Context, checkpoint: Checkpoint): Promise<ReadonlyArray<Obstacle>> => {
  const environment = environmentFor(context, { tree: treeFor(context, { checkpoint }) })
  const there = await hasWorkspace(checkpoint)(environment)()
  if (E.isRight(there) && !there.right) return [missingWorkspace(context, checkpoint)]
  const evidence = E.isLeft(there) ? there : await collectEvidence(checkpoint)(environment)()
  return E.isLeft(evidence) ? [obstacle(notDone(evidence.left, [], checkpoint.runId))] : []
}

/** `secrets`: the obstacle if some are missing. If the plan is refused, it predicts what remains once the edits are accepted. */
const previewOfSurvey = (context: Context, surveyed: Surveyed, secrets: ReadonlyArray<Obstacle>): Preview => {
  const { checkpoint, options, workspaceFound, plan, program, flags } = surveyed
  const missing = (isMissing: boolean): ReadonlyArray<Obstacle> =>
    isMissing ? [missingWorkspace(context, checkpoint)] : []
  if (E.isRight(plan)) {
    const units = nextUnits(program, plan.right)
    const open = openQuestions(plan.right)
    const obstacles = [
      ...missing(E.isLeft(requireWorkspace(checkpoint, plan.right, workspaceFound))),
      ...questions(open, ofQuestions(context, surveyed, open)),
      ...secrets,
      ...timeouts(resumeHint(context, 'End the wait with:', checkpoint.runId, flags), units)
    ]
    const waits = units.length > 0 && units.every((one) => isWait(one, nowText()))
    return { ...previewFrom(checkpoint, obstacles, plan.right), waits }
  }
  const { problems } = plan.left
  const refused = problems.map((problem) => ({ code: problem._tag, message: describeProblem(problem) }))
  const remedies = ofPlanError(context, surveyed, problems)
  const likely = O.toUndefined(O.fromEither(planResume(checkpoint, program, { ...options, changes: 'ignore' })))
  const obstacles = [
    ...missing(!workspaceFound),
    ...refusedTogether(refused, remedies),
    ...questions(likely === undefined ? [] : openQuestions(likely), []),
    ...secrets
  ]
  return previewFrom(checkpoint, obstacles, likely)
}

/** A resume ends a wait that is over without an answer, and fails. */
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

const questions = (open: ReadonlyArray<Confirm>, next: ReadonlyArray<Hint>): ReadonlyArray<Obstacle> =>
  refusedTogether(
    open.map((one) => ({ code: 'Unconfirmed', message: describeQuestion(one) })),
    next
  )

const unrecordedOf = ({ state }: Checkpoint, plan?: ResumePlan): ReadonlyArray<Unrecorded> => {
  if (state._tag !== 'BeforeStep') return []
  const decisions = new Map(plan?.decisions.map((one) => [one.unit, one._tag]))
  return Array.from(state.inFlight, ({ unit, attempt }) => ({ unit, attempt, decision: decisions.get(unit) }))
}

export const obstacle = (error: CliError): Obstacle => ({
  code: code(error),
  message: describeCause(error),
  next: hintsOf(error),
  exit: ofError(error)
})

/** An obstacle with the command to type next, as the refused command would print it. */
export const refusal = (context: Context, error: CliError): Obstacle => ({
  ...obstacle(error),
  next: [...hintsOf(error), ...nextActions(context, error)]
})

const missingWorkspace = (context: Context, checkpoint: Checkpoint): Obstacle =>
  refusal(context, notDone(workspaceMissing(checkpoint), [], checkpoint.runId))

/** The obstacles for one error; the last one has the hints. */
const refusedTogether = (
  all: ReadonlyArray<Pick<Obstacle, 'code' | 'message'>>,
  next: ReadonlyArray<Hint>
): ReadonlyArray<Obstacle> =>
  all.map((one, index) => ({ ...one, next: index === all.length - 1 ? next : [], exit: ExitCode.refused }))
