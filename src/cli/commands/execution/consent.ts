/** Asks for everything that a resume needs: answers to its questions, and consent. */
import { defined } from '../../../domain/data/defined.js'
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import { listed } from '../../../domain/data/listed.js'
import { describeQuestion } from '../../../domain/explain/Explain.js'
import type { Answer, Confirm, PlanOptions } from '../../../domain/plan/Plan.js'
import { answersTo, hashPlan, openQuestions, wouldOverwrite } from '../../../domain/plan/Plan.js'
import { planResume } from '../../../domain/plan/planResume.js'
import type { Planned } from '../../../executor/planRun.js'
import type { Recovery, ResumeOptions } from '../../../executor/RunOptions.js'
import type { RunView } from '../../../executor/storage/runs.js'
import { consentMissing, DECLINED, notDone, refused } from '../../CliError.js'
import { choose, confirm } from '../../terminal/Prompt.js'
import type { AnyProgram } from '../../workflow/toProgram.js'
import type { Result } from '../Context.js'
import { hintTo, showHint, userName } from '../Context.js'
import { asksForChanges, captures } from '../find/definitions.js'
import { viewOf } from '../find/find.js'
import { asking, forcedAnswers, unconfirmed } from '../hints/ofPlan.js'
import { AGREES_TO_RECOVERY, ofDamage } from '../hints/ofRun.js'
import { findOverwrites, overwriteWarning, repeatWarnings } from './overwrites.js'
import { answerFrom, resumeHint, wordsOf } from './planFlags.js'
import type { CommandPlan } from './commandPlan.js'
import { usablePlan, withoutIdleAnswers } from './commandPlan.js'
import type { PromptContext } from './withPrompt.js'
import { agree } from './withPrompt.js'

/** Returns how to resume, as the user agreed to it. */
export const agreeToPlan = async (
  context: PromptContext,
  view: RunView,
  planResult: CommandPlan
): Promise<Result<ResumeOptions>> => {
  const planned = usablePlan(context, planResult)
  // A missing workspace is refused before the consent to a recovery, the problems of a plan after that consent.
  if (E.isLeft(planned) && E.isRight(planResult.plan)) return planned
  const flags = E.isLeft(planned) ? planResult.flags : withoutIdleAnswers(context, planResult, planned.right)
  const proposal = { ...planResult, flags }
  const agreed = await agreeToRecovery(context, proposal, planned)
  if (E.isLeft(agreed)) return agreed
  if (E.isLeft(planned)) return planned
  const forced = await agreeToForce(context, proposal, planned.right)
  if (E.isLeft(forced)) return forced
  const answered = await answerQuestions(context, proposal, planned.right)
  if (E.isLeft(answered)) return answered
  const same = await unlessChanged(context, view)
  if (E.isLeft(same)) return same
  // The executor collects evidence again once the run is claimed.
  const { evidence: _, ...options } = answered.right.options
  return E.right({
    ...options,
    ...defined({ planHash: flags.plan ?? answered.right.pinned }),
    onRecovered: recoveringAs(view, agreed.right)
  })
}

/** The consent of a user to continue from the recovered state that this view shows. */
export const recoveringAs =
  (view: RunView, user: O.Option<string>): Required<ResumeOptions>['onRecovered'] =>
  (recovery) =>
    Promise.resolve(sameLoss(view, recovery) ? user : O.none)

export const userByFlag = (): O.Option<string> => O.some(`${userName()} (--yes)`)

/** Returns who agreed to continue from the recovered state. */
const agreeToRecovery = async (
  context: PromptContext,
  proposal: CommandPlan,
  planned: Result<Planned>
): Promise<Result<O.Option<string>>> => {
  const { checkpoint, found, plan, program, flags } = proposal
  const { runId } = checkpoint
  if (found._tag === 'Exact') return E.right(O.none)
  if (flags.yes === true) return E.right(userByFlag())
  const { from, lost } = found
  const withYes = { ...proposal, flags: { ...flags, yes: true } }
  const questions = E.isLeft(planned) ? [] : planned.right.questions
  const refused = notDone({ _tag: 'RecoveryRefused', runId, from, lost, cause: undefined }, [
    hintTo(context, 'To see what a resume would do:', ['plan', runId, ...wordsOf(flags)]),
    // `--yes` agrees to the recovery and to these repetitions.
    ...(E.isLeft(planned) ? [] : repeatWarnings(program, planned.right, flags).map((text) => ({ text }))),
    ...(questions.length === 0
      ? ofDamage(context, checkpoint, withYes.flags)
      : [{ text: AGREES_TO_RECOVERY }, ...asking(context, withYes, questions)])
  ])
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

/** Consent to discard or repeat work; a user's changes need an explicit answer, not `--yes`. */
const agreeToForce = async (context: PromptContext, proposal: CommandPlan, planned: Planned): Promise<Result<void>> => {
  const { checkpoint, found: state, program, flags } = proposal
  const found = await findOverwrites(context, proposal)
  const overwrites = E.isLeft(found) ? [] : found.right
  const [first, ...more] = overwrites
  if (first !== undefined && !context.interactive) {
    // A resume that forces nothing needs `--yes` only for a recovered state.
    const { yes, ...others } = flags
    const unforced = state._tag === 'Exact' ? others : flags
    const hints = forcedAnswers(context, checkpoint, unforced, defined({ yes }), overwrites)
    return E.left(notDone({ _tag: 'Unconfirmed', questions: [first, ...more] }, hints, checkpoint))
  }
  if (E.isLeft(found)) context.screen.warn(found.left)
  const warnings = [
    ...(overwrites.length === 0 ? [] : [overwriteWarning(overwrites)]),
    ...(flags.yes === true ? [] : repeatWarnings(program, planned, flags)),
    ...(flags.yes !== true && E.isLeft(found) ? ['Changes made by hand are unknown.'] : [])
  ]
  if (warnings.length === 0) return E.right(undefined)
  const agreeing = resumeHint(context, 'To agree:', checkpoint, { ...flags, yes: true })
  return agree(context, `${warnings.join(' ')} Continue?`, () => consentMissing(warnings.join(' '), [agreeing]))
}

/** Answers hold for the run that was shown. Without a prompt the executor plans again. */
const unlessChanged = async (context: PromptContext, { runId, checkpoint, heldBy }: RunView): Promise<Result<void>> => {
  if (!context.interactive) return E.right(undefined)
  const now = await viewOf(context, runId)
  if (E.isLeft(now)) return now
  const isSame = now.right.revision === checkpoint.revision && !isOtherOwner(now.right.heldBy, heldBy)
  return isSame
    ? E.right(undefined)
    : E.left(
        refused(
          'RunChanged',
          [`Run ${runId} changed in the meantime, so nothing was done; check the run again`],
          [showHint(context, runId)]
        )
      )
}

const isOtherOwner = (now: RunView['heldBy'], then: RunView['heldBy']): boolean =>
  O.isSome(now) && O.isSome(then) && (now.value.since !== then.value.since || now.value.pid !== then.value.pid)

/** After a prompt, only the plan that was shown may be executed. */
const answerQuestions = async (
  context: PromptContext,
  proposal: CommandPlan,
  planned: Planned
): Promise<Result<{ readonly options: PlanOptions; readonly pinned: string | undefined }>> => {
  const { checkpoint } = planned
  const { program } = proposal
  const given = new Map(planned.options.confirm)
  const options = { ...planned.options, confirm: given }
  let { plan } = planned
  let hasAsked = false
  for (;;) {
    const [question, ...more] = openQuestions(plan)
    if (question === undefined) return E.right({ options, pinned: hasAsked ? hashPlan(plan) : undefined })
    if (!context.interactive) return E.left(unconfirmed(context, proposal, [question, ...more], plan))
    hasAsked = true
    for (const one of [question, ...more]) {
      const answer = await answerTo(context, program, one)
      if (O.isNone(answer)) return E.left(DECLINED)
      given.set(one.unit, answer.value)
    }
    // An answer can raise further questions.
    const next = planResume(checkpoint, program, options)
    if (E.isLeft(next)) return E.left(notDone(next.left, [], checkpoint))
    plan = next.right
  }
}

const answerTo = async (context: PromptContext, program: AnyProgram, question: Confirm): Promise<O.Option<Answer>> => {
  const { prompt, screen } = context
  screen.line(describeQuestion(question))
  const words = answersTo(question).map((one) => one.toLowerCase())
  const again = wouldOverwrite(question) ? 'Run it again and overwrite the changes' : 'Run it again'
  const text = `${again}, ${words.includes('keep') ? 'keep the changes, ' : ''}or count it as done?`
  const meaningOf = (typed: string): string | undefined => words.find((one) => one === typed || one[0] === typed)
  const word = await choose(prompt, `${text} [${words.join('/')}] `, words, meaningOf)
  const [variable] = asksForChanges(question) ? [] : captures(program, question)
  if (O.isNone(word) || word.value !== 'done' || variable === undefined)
    return O.map((one: string) => answerFrom(one))(word)
  const output = await prompt.ask(`What is its output? ${variable} = `)
  return O.map((typed: string) => answerFrom('done', typed))(output)
}
