/** Suggests what to do after a refused answer. */
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import { get, has } from '../../../domain/checkpoint/Units.js'
import type { Unit } from '../../../domain/workflow/Unit.js'
import { ancestors, top } from '../../../domain/workflow/Unit.js'
import { toWorkflow } from '../../../domain/workflow/WorkflowIdentity.js'
import type { RunError } from '../../../executor/errors/RunError.js'
import type { Planned } from '../../../executor/planRun.js'
import { planRecorded } from '../../../executor/requests/confirm.js'
import type { RunView } from '../../../executor/storage/runs.js'
import type { Hint } from '../../report/Hint.js'
import type { Context } from '../Context.js'
import { environmentFor, hintTo } from '../Context.js'
import { treeFor } from '../execution/commandPlan.js'
import { answeringToo } from './ofError.js'
import { offer } from './ofPlan.js'
import { answerHint, continuing } from './ofRun.js'

/** Plans the recorded definition, with the evidence in the folder of the run. */
export const planOf = (context: Context, view: RunView): Promise<E.Either<RunError, Planned>> =>
  planRecorded(view.checkpoint, {}, 'answer')(environmentFor(context, { tree: treeFor(context, view) }))()

/** How to pass an output; else how to answer the open questions, all together; else what continues the run, or runs the unit again. */
export const ofRefusal = async (
  context: Context,
  view: RunView,
  unit: Unit,
  error: RunError
): Promise<ReadonlyArray<Hint>> => {
  const { runId } = view
  if (error._tag === 'PlanError' && error.problems.every(({ _tag }) => _tag === 'AssumedOutputMissing'))
    return [hintTo(context, 'Pass its output:', ['answer', runId, unit, 'done', '--output', 'JSON'])]
  if (error._tag === 'Unconfirmed') return [answeringToo(context, error.questions)]
  if (!OF_ANSWER.has(error._tag)) return []
  const planned = await planOf(context, view)
  if (E.isLeft(planned)) return planned.left._tag === 'PlanError' ? [] : continuing(context, view)
  const [waits] = error._tag === 'AnswerRefused' && error.why !== 'NotAsked' ? error.waiting : []
  if (O.isSome(view.heldBy) && waits !== undefined) return [answerHint(context, runId, waits)]
  const open = planned.right.questions.map((question) => question.unit)
  const [first, ...others] = isAsked(error, unit, open) ? [...new Set([unit, ...open])] : open
  if (first !== undefined) {
    const more = others.flatMap((one) => ['--confirm', `${one}=again`])
    return [hintTo(context, 'For example:', ['answer', runId, first, 'again', ...more])]
  }
  const next = continuing(context, view, 'Resume with:', unit)
  const offers = ofUnit(context, view, planned.right, unit, error)
  return view.workflow.path === undefined
    ? [...offers.map(({ text }) => ({ text: text.replace(/:$/, ', resume with `fromStep`') })), ...next]
    : [...next, ...offers]
}

const OF_ANSWER: ReadonlySet<RunError['_tag']> = new Set(['PlanError', 'AnswerRefused', 'AlreadyAnswered'] as const)

/** True if the plan asks about the unit, now or after other answers, and not about a part of it. */
const isAsked = (error: RunError, unit: Unit, open: ReadonlyArray<Unit>): boolean =>
  open.includes(unit) || (isQuestion(error, unit) && !open.some((one) => [...ancestors(one)].includes(unit)))

const isQuestion = (error: RunError, unit: Unit): boolean =>
  error._tag === 'AnswerRefused'
    ? error.why !== 'NotAsked' && error.decision?._tag === 'Confirm'
    : error._tag === 'PlanError' &&
      error.problems.some((one) => one._tag === 'NothingToConfirm' && one.unit === unit && one.asked === true)

/** A resume from a unit that has not begun would count earlier steps as done. */
const ofUnit = (
  context: Context,
  { checkpoint }: RunView,
  { options }: Planned,
  unit: Unit,
  error: RunError
): ReadonlyArray<Hint> => {
  const planning = { checkpoint, program: toWorkflow(checkpoint.workflow), options, flags: {} }
  const decision = error._tag === 'AnswerRefused' ? error.decision : undefined
  const pending = get(checkpoint.pending, unit)
  const isOver = pending?._tag === 'Job' || (pending !== undefined && has(checkpoint.answers, unit))
  if (decision?._tag === 'Skip' || isOver)
    return offer(context, planning, `run again from "${unit}" on`, { fromStep: unit, named: [unit] })
  const next =
    decision?._tag === 'Retry' && top(unit) === unit
      ? checkpoint.workflow.steps[decision.stepIndex + 1]?.name
      : undefined
  return next === undefined ? [] : offer(context, planning, 'count it and all before it as done', { fromStep: next })
}
