/**
 * Going on with a run: what has to be asked is asked first, then the plan is executed that the answers were given for.
 *
 * @since 0.1.0
 */
import { userInfo } from 'node:os'
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import type { Checkpoint } from '../../domain/Checkpoint.js'
import { progress } from '../../domain/Checkpoint.js'
import { describeQuestion } from '../../domain/Explain.js'
import type { Answer, Confirm, PlanOptions, ResumePlan } from '../../domain/Plan.js'
import { hashPlan, openQuestions, unitName } from '../../domain/Plan.js'
import { planResume } from '../../domain/planResume.js'
import { tasks } from '../../domain/Workflow.js'
import type { Program } from '../../executor/Program.js'
import type { Recovery, ResumeOptions } from '../../executor/run.js'
import { resume } from '../../executor/run.js'
import type { RunView } from '../../executor/runs.js'
import { viewRun } from '../../executor/runs.js'
import type { CliError } from '../CliError.js'
import { notDone, usage } from '../CliError.js'
import { confirm, isYes } from '../terminal/Prompt.js'
import { printable } from '../terminal/Style.js'
import type { Result } from './Context.js'
import { environmentFor } from './Context.js'
import type { Attended, Loaded } from './execution.js'
import { remainsOf, unlessWorkspaceGone } from './evidence.js'
import { execute, programFor, warnOf } from './execution.js'
import { answers, captures, ofDamage, ofPlanError } from './hints.js'
import { redactionFor } from './input.js'
import type { PlanFlags } from './planFlags.js'
import { doneWith, planOptions, withoutSecrets } from './planFlags.js'
import { plannable } from './workflowOf.js'
import type { MergeFlags } from './workspace.js'
import { tellPosition } from './pointer.js'
import { warnOfOtherKind } from './workspace.js'

/**
 * How a run is to be resumed.
 *
 * @category model
 * @since 0.1.0
 */
export interface ResumeFlags extends PlanFlags, MergeFlags {
  readonly plan?: string
}

type AnyProgram = Program<Readonly<Record<string, unknown>>>

/**
 * Goes on with a run. `pointed`: it was found by the pointer that a pause has left, so where it goes on is said.
 *
 * @category effects
 * @since 0.1.0
 */
export const resumeRun = async (
  context: Attended,
  view: RunView,
  workflow: Loaded,
  typed: ResumeFlags,
  pointed = false
): Promise<Result> => {
  const { runId, checkpoint, heldBy } = view
  const flags = withoutSecrets(typed, redactionFor(context, workflow.file))
  if (O.isSome(heldBy)) return E.left(notDone({ _tag: 'HeldBy', runId, holder: heldBy.value }))
  const folder = checkpoint.workspace?.path ?? context.folder
  const given = planOptions(flags, workflow.file)
  if (E.isLeft(given)) return given
  const remains = await remainsOf(context, checkpoint, plannable(workflow), given.right)
  if (E.isLeft(remains)) return remains
  const options = { ...given.right, evidence: remains.right.missing, recovered: view.found._tag === 'Recovered' }
  warnOf(context, workflow)
  warnOfOtherKind(context, checkpoint, workflow)
  const execution = { workflow, runId, folder, done: progress(checkpoint).completed, merging: flags }
  const { program, narrator } = programFor(context, execution)
  const plan = planResume(checkpoint, program, options)
  const usable = E.isLeft(plan)
    ? E.right(undefined)
    : unlessWorkspaceGone(context, checkpoint, plan.right, remains.right)
  if (E.isLeft(usable)) return usable
  const agreed = await agreeToRecovery(context, view, program, options, flags)
  if (E.isLeft(agreed)) return agreed
  const forced = await agreeToForce(context, view, program, options, flags)
  if (E.isLeft(forced)) return forced
  const answered = await answerQuestions(context, view, program, options, flags)
  if (E.isLeft(answered)) return answered
  const same = await unlessMovedOn(context, view)
  if (E.isLeft(same)) return same
  const pinned = flags.plan ?? answered.right.pinned
  const how: ResumeOptions = {
    ...answered.right.options,
    ...(pinned === undefined ? {} : { planHash: pinned }),
    onRecovered: (recovery) => Promise.resolve(sameLoss(view, recovery) ? agreed.right : O.none)
  }
  const told = pointed ? { onPlanned: (plan: ResumePlan) => tellPosition(context, checkpoint, plan) } : {}
  return execute(context, { ...execution, ...told, program }, narrator, resume(program, runId, how))
}

// ---------------------------------------------------------------------------------------------------------------------
// consent
// ---------------------------------------------------------------------------------------------------------------------

/** Who agrees to go on from what could be recovered, if that is what there is. */
const agreeToRecovery = async (
  context: Attended,
  { runId, checkpoint, found }: RunView,
  program: AnyProgram,
  options: PlanOptions,
  flags: ResumeFlags
): Promise<E.Either<CliError, O.Option<string>>> => {
  if (found._tag === 'Exact') return E.right(O.none)
  if (flags.yes === true) return E.right(O.some(`${userName()} (--yes)`))
  const { from, lost } = found
  const refused = notDone(
    { _tag: 'RecoveryRefused', runId, from, lost, cause: undefined },
    ofDamage(context, runId, flags)
  )
  if (!context.interactive) return E.left(refused)
  const plan = planResume(checkpoint, program, options)
  const again = E.isLeft(plan)
    ? []
    : plan.right.decisions.filter((decision) => decision._tag !== 'Skip').map((decision) => unitName(decision))
  const { screen } = context
  screen.line(screen.style.yellow(`The newest state of run ${runId} is damaged: ${printable(lost)}`))
  screen.line(`What can be recovered is from ${printable(from)}`)
  if (again.length > 0) screen.line(`These will run, some of them perhaps again: ${again.join(', ')}`)
  const answer = await confirm(context.prompt, 'Go on from there?', false)
  return isYes(answer) ? E.right(O.some(`${userName()} (asked)`)) : E.left(refused)
}

const sameLoss = ({ found }: RunView, recovery: Recovery): boolean =>
  found._tag === 'Recovered' && found.from === recovery.from && found.lost === recovery.lost

const userName = (): string => {
  try {
    return userInfo().username
  } catch {
    return 'somebody'
  }
}

/** Work that counts is lost only with somebody's word, and so is work that must not be done twice. */
const agreeToForce = async (
  context: Attended,
  { checkpoint }: RunView,
  program: AnyProgram,
  options: PlanOptions,
  flags: ResumeFlags
): Promise<E.Either<CliError, void>> => {
  if (flags.yes === true) return E.right(undefined)
  const { completed } = progress(checkpoint)
  const twice = doneTwice(checkpoint, program, options)
  const warnings = [
    ...(twice.length === 0 ? [] : [`Completed, not idempotent, and to run again: ${twice.join(', ')}.`]),
    ...(flags.force === true && completed > 0
      ? [`Force restart will lose ${completed} completed step${completed === 1 ? '' : 's'}.`]
      : [])
  ]
  if (warnings.length === 0) return E.right(undefined)
  if (!context.interactive) return E.left(usage(`${warnings.join(' ')} To agree, add --yes`))
  return isYes(await confirm(context.prompt, `${warnings.join(' ')} Continue?`, false))
    ? E.right(undefined)
    : E.left({ _tag: 'Declined' })
}

/** What is recorded as done, is not idempotent, and runs again. */
const doneTwice = (checkpoint: Checkpoint, program: AnyProgram, options: PlanOptions): ReadonlyArray<string> => {
  const plan = planResume(checkpoint, program, options)
  if (E.isLeft(plan)) return []
  const recorded = new Set(Array.from(checkpoint.completedSteps, unitName))
  const harmful = new Set(
    program.steps.flatMap((step) =>
      tasks(step)
        .filter(({ idempotent }) => !idempotent)
        .map(({ name }) => unitName(step._tag === 'Task' ? { step: name } : { step: step.name, group: name }))
    )
  )
  return plan.right.decisions
    .filter(({ _tag }) => _tag === 'Run' || _tag === 'Retry')
    .map((decision) => unitName(decision))
    .filter((name) => recorded.has(name) && harmful.has(name))
}

/** Answers are for the run that was asked about. What was not asked about is planned anew by the executor. */
const unlessMovedOn = async (context: Attended, { runId, checkpoint }: RunView): Promise<E.Either<CliError, void>> => {
  if (!context.interactive) return E.right(undefined)
  const now = await viewRun(runId)(environmentFor(context))()
  if (E.isLeft(now)) return E.left(notDone(now.left))
  return O.isSome(now.right) && now.right.value.checkpoint.revision === checkpoint.revision
    ? E.right(undefined)
    : E.left({ _tag: 'MovedOn', runId })
}

// ---------------------------------------------------------------------------------------------------------------------
// questions
// ---------------------------------------------------------------------------------------------------------------------

/** The options with all answers. If somebody was asked, the plan that they saw is the one that may be executed. */
const answerQuestions = async (
  context: Attended,
  { checkpoint }: RunView,
  program: AnyProgram,
  options: PlanOptions,
  flags: ResumeFlags
): Promise<E.Either<CliError, { readonly options: PlanOptions; readonly pinned: string | undefined }>> => {
  const plan = planResume(checkpoint, program, options)
  const { runId } = checkpoint
  if (E.isLeft(plan)) {
    const planning = { checkpoint, workflow: program, options, flags }
    return E.left(notDone(plan.left, ofPlanError(context, planning, plan.left.problems), runId))
  }
  const [question, ...more] = openQuestions(plan.right)
  if (question === undefined) return E.right({ options, pinned: undefined })
  if (!context.interactive) {
    const hints = answers(context, runId, flags, program, [question, ...more])
    return E.left(notDone({ _tag: 'Unconfirmed', questions: [question, ...more] }, hints))
  }
  const given = new Map(options.confirm)
  for (const one of [question, ...more]) {
    const answer = await answerTo(context, program, one)
    if (O.isNone(answer)) return E.left({ _tag: 'Declined' })
    given.set(unitName(one), answer.value)
  }
  const complete = { ...options, confirm: given }
  const answered = planResume(checkpoint, program, complete)
  return E.isLeft(answered)
    ? E.left(notDone(answered.left, [], runId))
    : E.right({ options: complete, pinned: hashPlan(answered.right) })
}

const answerTo = async (context: Attended, program: AnyProgram, question: Confirm): Promise<O.Option<Answer>> => {
  const { prompt, screen } = context
  screen.line(printable(describeQuestion(question)))
  for (;;) {
    const answer = await prompt.ask('Run it again, or is it done? [again/done] ')
    if (O.isNone(answer)) return O.none
    const word = answer.value.trim().toLowerCase()
    if (word === 'again' || word === 'a') return O.some({ _tag: 'Again' })
    if (word !== 'done' && word !== 'd') {
      screen.line('Please answer again or done')
      continue
    }
    const [variable] = captures(program, question)
    if (variable === undefined) return O.some(doneWith(undefined))
    const output = await prompt.ask(`What did it give? ${variable} = `)
    return O.isNone(output) ? O.none : O.some(doneWith(output.value))
  }
}
