/** Suggests what to do after a refused answer. */
import * as E from 'fp-ts/lib/Either.js'
import { get, has } from '../../../domain/checkpoint/Units.js'
import type { Decision } from '../../../domain/plan/Plan.js'
import type { PlanProblem } from '../../../domain/plan/PlanProblem.js'
import type { Unit } from '../../../domain/workflow/Unit.js'
import { top } from '../../../domain/workflow/Unit.js'
import type { AnswerRefused } from '../../../executor/errors/AnswerRefused.js'
import type { RunError } from '../../../executor/errors/RunError.js'
import type { Planned } from '../../../executor/planRun.js'
import { planRecorded } from '../../../executor/requests/confirm.js'
import type { RunView } from '../../../executor/storage/runs.js'
import type { Hint } from '../../report/Hint.js'
import type { Context, Place } from '../Context.js'
import { environmentFor, hintTo, showHint } from '../Context.js'
import { resumeHint } from '../execution/planFlags.js'
import { treeFor } from '../execution/survey.js'
import { answerHint, ofResume } from './ofRun.js'

/** A plain resume of a cancelled run is refused. A program reopens its own. */
export const ofResumeOrReopen = (context: Context, { runId, workflow, status }: RunView): Hint =>
  status === 'cancelled' && workflow.path !== undefined
    ? resumeHint(context, `Run ${runId} is cancelled. To resume it anyway:`, runId, { reopen: true })
    : ofResume(context, runId, workflow)

/** Plans the recorded definition, with the evidence in the folder of the run. */
export const planOf = (
  context: Context,
  view: RunView,
  options: { readonly fromStep?: string } = {}
): Promise<E.Either<RunError, Planned>> =>
  planRecorded(view.checkpoint, options)(environmentFor(context, { tree: treeFor(context, view) }))()

/** Answers all questions together: one that is left open refuses the others. */
export const answering = (
  place: Place,
  text: string,
  runId: string,
  units: ReadonlyArray<Unit>,
  word = 'again'
): ReadonlyArray<Hint> => {
  const [unit, ...others] = units
  if (unit === undefined) return []
  return [hintTo(place, text, ['answer', runId, unit, word, ...others.flatMap((one) => ['--confirm', `${one}=again`])])]
}

/** The questions that are left; how to pass an output; how to end a wait; or what a resume does without an answer. */
export const ofRefusal = async (
  context: Context,
  view: RunView,
  unit: string,
  word: string | undefined,
  error: RunError
): Promise<ReadonlyArray<Hint>> => {
  const { runId } = view
  switch (error._tag) {
    case 'AlreadyAnswered':
      return view.status === 'running' ? [] : ofAnswered(context, view, unit)
    case 'Unconfirmed': {
      const units = error.questions.map((question) => question.unit)
      return answering(context, 'Answer all questions together, for example:', runId, [unit, ...units], word)
    }
    case 'PlanError': {
      const isAll = (fits: (one: PlanProblem) => boolean): boolean =>
        error.problems.every((one) => 'unit' in one && one.unit === unit && fits(one))
      if (isAll(({ _tag }) => _tag === 'AssumedOutputMissing'))
        return [hintTo(context, 'Pass its output:', ['answer', runId, unit, 'done', '--output', 'JSON'])]
      return isAll((one) => one._tag === 'NothingToConfirm' && one.asked === true)
        ? await ofQuestion(context, view, unit)
        : []
    }
    case 'AnswerRefused':
      if (error.why === 'WaitOver') return [ofResumeOrReopen(context, view)]
      return error.decision === undefined ? [] : await ofDecision(context, view, error, error.decision)
    default:
      return []
  }
}

const ofQuestion = async (context: Context, view: RunView, unit: Unit): Promise<ReadonlyArray<Hint>> => {
  const others = (await openIn(context, view)).filter((one) => one !== unit)
  return answering(context, 'To answer its question, for example:', view.runId, [unit, ...others])
}

const openIn = async (context: Context, view: RunView): Promise<ReadonlyArray<Unit>> => {
  const planned = await planOf(context, view)
  return E.isLeft(planned) ? [] : planned.right.questions.map((question) => question.unit)
}

/** A resume from a unit that does not wait yet would count earlier steps as done. */
const ofAnswered = (context: Context, view: RunView, unit: string): ReadonlyArray<Hint> => {
  const { runId, workflow, status, checkpoint } = view
  const resuming = ofResumeOrReopen(context, view)
  if (status === 'cancelled' || !has(checkpoint.pending, unit)) return [resuming]
  if (workflow.path === undefined) return [{ text: `To be asked again, resume with \`fromStep\` "${unit}"` }, resuming]
  const text = 'To be asked again, and to run all later steps again:'
  return [resuming, resumeHint(context, text, runId, { fromStep: unit })]
}

const ofDecision = async (
  context: Context,
  view: RunView,
  { unit, why, waiting }: AnswerRefused,
  decision: Decision
): Promise<ReadonlyArray<Hint>> => {
  const { runId, checkpoint } = view
  const isQuestion = why === 'NotAsked'
  switch (decision._tag) {
    case 'Confirm':
      return isQuestion ? [] : await ofQuestion(context, view, unit)
    case 'Skip':
      return await resumeFrom(context, view, unit, 'To run it and all later steps again:')
    case 'Poll': {
      if (decision.reason._tag === 'JobPending')
        return [
          ofJob(context, view),
          ...(await resumeFrom(context, view, unit, `To abandon the job and run again from "${unit}" on:`))
        ]
      const wait = get(checkpoint.pending, unit)
      if (wait?._tag !== 'Answer') return waiting.length === 0 ? [ofResumeOrReopen(context, view)] : []
      if (has(checkpoint.answers, unit)) return ofAnswered(context, view, unit)
      return [answerHint(context, runId, unit, `${unit} waits for a value; answer it with:`)]
    }
    case 'Run':
    case 'Retry': {
      // A resume stops at what waits, and refuses to run with an open question.
      const [waits] = waiting
      if (waits !== undefined) return isQuestion ? [] : [answerHint(context, runId, waits, 'For example:')]
      const open = await openIn(context, view)
      if (open.length > 0) return answering(context, 'To answer the open questions, for example:', runId, open)
      const next =
        decision._tag === 'Retry' && top(unit) === unit
          ? checkpoint.workflow.steps[decision.stepIndex + 1]?.name
          : undefined
      const text = 'To count it and all before it as done:'
      const counting = next === undefined ? [] : await resumeFrom(context, view, next, text)
      return [ofResumeOrReopen(context, view), ...counting]
    }
  }
}

const ofJob = (context: Context, { runId, workflow }: RunView): Hint =>
  workflow.path === undefined
    ? showHint(context, runId, 'Poll it in the program that started it. Show it with:')
    : hintTo(context, 'Poll the job with:', ['poll', runId])

/** Nothing if that cannot be planned. */
const resumeFrom = async (
  context: Context,
  view: RunView,
  fromStep: Unit,
  text: string
): Promise<ReadonlyArray<Hint>> => {
  if (view.workflow.path === undefined) return []
  const planned = await planOf(context, view, { fromStep })
  if (E.isLeft(planned)) return []
  const again = planned.right.questions.flatMap((question) => ['--confirm', `${question.unit}=again`])
  return [resumeHint(context, text, view.runId, { fromStep }, again)]
}
