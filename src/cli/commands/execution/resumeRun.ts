/** Resumes a run: asks every question first, then executes the plan that was answered. */
import { defined } from '../../../domain/data/defined.js'
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import { progress } from '../../../domain/checkpoint/Checkpoint.js'
import { describeQuestion } from '../../../domain/explain/Explain.js'
import { listed } from '../../../domain/data/listed.js'
import type { Answer, Confirm, PlanOptions, ResumePlan } from '../../../domain/plan/Plan.js'
import { answersTo, hashPlan, openQuestions } from '../../../domain/plan/Plan.js'
import { planResume } from '../../../domain/plan/planResume.js'
import type { Planned, Survey } from '../../../executor/planRun.js'
import type { Recovery, ResumeOptions } from '../../../executor/RunOptions.js'
import { resume } from '../../../executor/run.js'
import type { RunView } from '../../../executor/storage/runs.js'
import { viewRun } from '../../../executor/storage/runs.js'
import type { WorkingTree } from '../../../ports/WorkingTree.js'
import type { CliError } from '../../CliError.js'
import { consentMissing, notDone } from '../../CliError.js'
import type { Hint } from '../../report/Hint.js'
import { confirm, pleaseAnswer } from '../../terminal/Prompt.js'
import { captures, asksForChanges } from '../find/definitions.js'
import type { Result } from '../Context.js'
import { environmentFor, hintTo, userName } from '../Context.js'
import type { PromptContext } from './withPrompt.js'
import { agree } from './withPrompt.js'
import type { AnyProgram } from '../../workflow/toProgram.js'
import type { Loaded } from '../find/workflowOf.js'
import { surveyRun, treeFor, usablePlan } from './survey.js'
import { overwriteWarning, findOverwrites, repeatWarnings } from './overwrites.js'
import { execute, programFor, printWarnings } from './execution.js'
import { ofQuestions, forcedAnswers, ofDamage } from '../hints/hints.js'
import { doneWith, planOptions, resumeLine, withoutSecrets, wordsOf } from './planFlags.js'
import type { PlanFlags, PrintedFlags } from './planFlags.js'
import { differencesFrom, inputOf, inputReplaced, redactionFor, replacementOf } from './input.js'
import { claimable } from './owner.js'
import type { MergeFlags } from './workspace.js'
import { printPosition } from '../find/pointer.js'
import { warnOfOtherKind } from './workspace.js'

export interface ResumeFlags extends PrintedFlags, MergeFlags {
  readonly plan?: string
}

/** `pointed`: the run was found by the pointer of a pause. */
export const resumeRun = async (
  context: PromptContext,
  found: RunView,
  workflow: Loaded,
  typed: ResumeFlags,
  pointed = false
): Promise<Result> => {
  const flags = withoutSecrets(typed, redactionFor(context, workflow.file))
  const free = await claimable(context, found, flags)
  if (E.isLeft(free)) return free
  const { view, takeOver } = free.right
  const { runId, checkpoint } = view
  const folder = checkpoint.workspace?.path ?? context.folder
  const given = planOptions(flags, workflow.file)
  if (E.isLeft(given)) return given
  const replacement = replacementOf(context, workflow.file, checkpoint, typed)
  if (E.isLeft(replacement)) return replacement
  const input = O.isNone(replacement.right) ? {} : { input: replacement.right.value }
  const tree = treeFor(context, view)
  const done = progress(checkpoint).completed
  const assumed = new Set(
    Array.from(checkpoint.completedSteps).flatMap((one) => (one.assumed === true ? [one.unit] : []))
  )
  // Printed if nothing was saved: the flags are then not recorded, and must be repeated.
  const resuming = resumeLine(context, runId, flags, pinOf(flags))
  const execution = { workflow, runId, folder, done, assumed, merging: flags, tree, resuming }
  const { program, reporter } = programFor(context, execution)
  const surveyed = await surveyRun(context, program, view, { ...given.right, ...input }, tree)
  if (E.isLeft(surveyed)) return surveyed
  printWarnings(context, workflow, typed)
  warnOfOtherKind(context, checkpoint, workflow)
  const planned = usablePlan(context, program, surveyed.right, flags)
  // A missing workspace is refused before the consent to a recovery, a plan with problems after it.
  if (E.isLeft(planned) && E.isRight(surveyed.right.plan)) return planned
  const agreed = await agreeToRecovery(context, view, surveyed.right.plan, flags)
  if (E.isLeft(agreed)) return agreed
  if (E.isLeft(planned)) return planned
  const forced = await agreeToForce(context, program, surveyed.right, planned.right, flags, tree)
  if (E.isLeft(forced)) return forced
  const answered = await answerQuestions(context, program, planned.right, flags)
  if (E.isLeft(answered)) return answered
  const same = await unlessChanged(context, view)
  if (E.isLeft(same)) return same
  const pinned = flags.plan ?? answered.right.pinned
  // The executor collects evidence again once the run is claimed.
  const { evidence: _, ...asked } = answered.right.options
  const how: ResumeOptions = {
    ...asked,
    ...(takeOver ? { takeOver } : {}),
    ...defined({ planHash: pinned }),
    onRecovered: (recovery) => Promise.resolve(sameLoss(view, recovery) ? agreed.right : O.none)
  }
  const onPlanned = (plan: ResumePlan): void => {
    if (pointed) printPosition(context, checkpoint, plan)
    printInput(context, view, plan, flags)
  }
  const ended = await execute(context, { ...execution, onPlanned, program }, reporter, resume(program, runId, how))
  return E.isLeft(ended) && ended.left._tag === 'NotDone' && ended.left.error._tag === 'PlanChanged'
    ? E.left(notDone(ended.left.error, [reviewing(context, runId, flags)], runId))
    : ended
}

const printInput = (
  { screen }: PromptContext,
  { checkpoint }: RunView,
  { input, decisions }: ResumePlan,
  flags: PlanFlags
): void => {
  const given = inputOf(flags.input ?? [])
  if (input === undefined || E.isLeft(given)) return
  const from = flags.fromStep ?? decisions[0]?.unit ?? ''
  screen.line(inputReplaced(from, differencesFrom(checkpoint, given.right)))
}

const reviewing = (context: PromptContext, runId: string, flags: ResumeFlags): Hint =>
  hintTo(context, 'To see what a resume would do now:', ['plan', runId, ...wordsOf(flags)])

/** Returns who agreed to continue from the recovered state. */
const agreeToRecovery = async (
  context: PromptContext,
  { runId, found }: RunView,
  plan: Survey['plan'],
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
  const again = E.isLeft(plan)
    ? []
    : plan.right.decisions.filter((decision) => decision._tag !== 'Skip').map(({ unit }) => unit)
  const { screen } = context
  screen.line(screen.style.yellow(`The newest state of run ${runId} is damaged: ${lost}`))
  screen.line(`The recovered state is from ${from}`)
  if (again.length > 0) screen.line(`These steps will run, some possibly a second time: ${listed(again)}`)
  const isAgreed = await confirm(context.prompt, 'Continue from the recovered state?')
  return isAgreed ? E.right(O.some(`${userName()} (asked)`)) : E.left(refused)
}

const sameLoss = ({ found }: RunView, recovery: Recovery): boolean =>
  found._tag === 'Recovered' && found.from === recovery.from && found.lost === recovery.lost

/** `--plan`, for commands that add `--yes`: consent does not change the plan, so its hash stays valid. */
const pinOf = ({ plan }: ResumeFlags): ReadonlyArray<string> => (plan === undefined ? [] : ['--plan', plan])

/** Consent to discard or repeat work; a user's changes need an explicit answer, not `--yes`. */
const agreeToForce = async (
  context: PromptContext,
  program: AnyProgram,
  surveyed: Survey,
  { checkpoint, options, plan }: Planned,
  flags: ResumeFlags,
  tree: WorkingTree
): Promise<E.Either<CliError, void>> => {
  const found = await findOverwrites(context, program, surveyed, tree)
  const overwrites = E.isLeft(found) ? [] : found.right
  const [first, ...more] = overwrites
  if (first !== undefined && !context.interactive) {
    const hints = forcedAnswers(context, checkpoint.runId, flags, pinOf(flags), overwrites)
    return E.left(notDone({ _tag: 'Unconfirmed', questions: [first, ...more] }, hints, checkpoint.runId))
  }
  if (E.isLeft(found)) context.screen.warn(found.left)
  const warnings = [
    ...(overwrites.length === 0 ? [] : [overwriteWarning(overwrites)]),
    ...(flags.yes === true ? [] : repeatWarnings(program, { checkpoint, options, plan }, flags)),
    ...(flags.yes !== true && E.isLeft(found) ? ['Changes made by hand are unknown.'] : [])
  ]
  if (warnings.length === 0) return E.right(undefined)
  if (!context.interactive) {
    const command = resumeLine(context, checkpoint.runId, { ...flags, yes: true }, pinOf(flags))
    return E.left(consentMissing(warnings.join(' '), [{ text: 'To agree:', command }]))
  }
  return agree(context, `${warnings.join(' ')} Continue?`)
}

/** Answers hold for the run that was shown. Without a prompt the executor plans again. */
const unlessChanged = async (
  context: PromptContext,
  { runId, checkpoint, heldBy }: RunView
): Promise<E.Either<CliError, void>> => {
  if (!context.interactive) return E.right(undefined)
  const now = await viewRun(runId)(environmentFor(context))()
  if (E.isLeft(now)) return E.left(notDone(now.left))
  if (O.isNone(now.right)) return E.left({ _tag: 'RunChanged', runId })
  const { value } = now.right
  const isSame = value.checkpoint.revision === checkpoint.revision && !isOtherOwner(value.heldBy, heldBy)
  return isSame ? E.right(undefined) : E.left({ _tag: 'RunChanged', runId })
}

const isOtherOwner = (now: RunView['heldBy'], then: RunView['heldBy']): boolean =>
  O.isSome(now) && O.isSome(then) && (now.value.since !== then.value.since || now.value.pid !== then.value.pid)

/** After a prompt, only the plan that was shown may be executed. */
const answerQuestions = async (
  context: PromptContext,
  program: AnyProgram,
  planned: Planned,
  flags: ResumeFlags
): Promise<E.Either<CliError, { readonly options: PlanOptions; readonly pinned: string | undefined }>> => {
  const { runId, checkpoint } = planned
  const given = new Map(planned.options.confirm)
  const options = { ...planned.options, confirm: given }
  let { plan } = planned
  let hasAsked = false
  for (;;) {
    const [question, ...more] = openQuestions(plan)
    if (question === undefined) return E.right({ options, pinned: hasAsked ? hashPlan(plan) : undefined })
    if (!context.interactive) {
      const hints = ofQuestions(context, runId, flags, program, [question, ...more])
      return E.left(notDone({ _tag: 'Unconfirmed', questions: [question, ...more] }, hints))
    }
    hasAsked = true
    for (const one of [question, ...more]) {
      const answer = await answerTo(context, program, one)
      if (O.isNone(answer)) return E.left({ _tag: 'Declined' })
      given.set(one.unit, answer.value)
    }
    // An answer can raise further questions.
    const next = planResume(checkpoint, program, options)
    if (E.isLeft(next)) return E.left(notDone(next.left, [], runId))
    plan = next.right
  }
}

const answerTo = async (context: PromptContext, program: AnyProgram, question: Confirm): Promise<O.Option<Answer>> => {
  const { prompt, screen } = context
  screen.line(describeQuestion(question))
  const words = answersTo(question).map((one) => one.toLowerCase())
  const text = words.includes('keep')
    ? 'Run it again and overwrite the changes, keep the changes, or count it as done?'
    : asksForChanges(question)
      ? 'Run it again and overwrite the changes, or count it as done?'
      : 'Run it again, or count it as done?'
  for (;;) {
    const answer = await prompt.ask(`${text} [${words.join('/')}] `)
    if (O.isNone(answer)) return O.none
    const said = answer.value.trim().toLowerCase()
    const word = words.find((one) => one === said || one[0] === said)
    if (word === 'again') return O.some({ _tag: 'Again' })
    if (word === 'keep') return O.some({ _tag: 'Keep' })
    if (word === undefined) {
      screen.line(pleaseAnswer(words))
      continue
    }
    const [variable] = asksForChanges(question) ? [] : captures(program, question)
    if (variable === undefined) return O.some(doneWith(undefined))
    const output = await prompt.ask(`What is its output? ${variable} = `)
    return O.isNone(output) ? O.none : O.some(doneWith(output.value))
  }
}
