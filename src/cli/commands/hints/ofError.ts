/** Suggests what to do after an error, so that each one ends with a command. */
import { join } from 'node:path'
import type { Confirm } from '../../../domain/plan/Plan.js'
import type { PlanProblem } from '../../../domain/plan/PlanProblem.js'
import * as Redaction from '../../../domain/data/Redaction.js'
import type { RunError } from '../../../executor/errors/RunError.js'
import type { CliError, StoredRun } from '../../CliError.js'
import type { Hint } from '../../report/Hint.js'
import type { Flags, Typed } from '../Context.js'
import { hintTo, listHint, showHint, sameCommand } from '../Context.js'
import { resumeHint } from '../execution/planFlags.js'
import { answerHint, ofHeld, ofMove } from './ofRun.js'

export const nextActions = (typed: Typed, error: CliError): ReadonlyArray<Hint> =>
  error._tag !== 'NotDone' || error.hints.some(({ command }) => command !== undefined)
    ? []
    : afterRunError(typed, error.error, error.run)

/** Adds the next actions, with the secrets in typed words redacted. */
export const withNextActions = (typed: Typed, redaction: Redaction.Redaction, error: CliError): CliError => {
  if (error._tag !== 'NotDone') return error
  const words = typed.words.map((word) => Redaction.text(redaction, word))
  return { ...error, hints: [...error.hints, ...nextActions({ ...typed, words }, error)] }
}

/** Until the workflow is known, any value may be a secret. */
export const withoutValues = (words: ReadonlyArray<string>): ReadonlyArray<string> =>
  words.map((word, index) => {
    const isOf = (flag: string): boolean => words[index - 1] === flag || word.startsWith(`${flag}=`)
    if (isOf('--input')) return word.replace(/^((?:--input=)?[^=]*=)[\s\S]*$/, '$1VALUE')
    // The output of an answer; elsewhere it is a form.
    const flag = ['--value', ...(words.includes('answer') ? ['--output'] : [])].find(isOf)
    if (flag !== undefined) return word.startsWith(`${flag}=`) ? `${flag}=JSON` : 'JSON'
    return isOf('--confirm') ? word.replace(/(=done:)[\s\S]*$/, '$1OUTPUT') : word
  })

/** The same command, with the answer `again` to the questions that it left open. */
export const answeringToo = (typed: Typed, questions: ReadonlyArray<Confirm>): Hint => ({
  text: 'Answer all questions together, for example:',
  command: sameCommand(
    { ...typed, words: withoutValues(typed.words) },
    questions.flatMap(({ unit }) => ['--confirm', `${unit}=again`])
  )
})

const again = (typed: Typed, text = 'After fixing this:'): Hint => ({ text, command: sameCommand(typed) })

const withoutId = (typed: Typed): ReadonlyArray<string> => {
  const at = typed.words.indexOf('--id')
  return typed.words.filter(
    (word, index) => !word.startsWith('--id=') && (at === -1 || (index !== at && index !== at + 1))
  )
}

const afterRunError = (typed: Typed, error: RunError, run?: StoredRun): ReadonlyArray<Hint> => {
  const runId = run?.runId ?? ('runId' in error ? error.runId : undefined)
  const look = runId === undefined ? listHint(typed) : showHint(typed, runId)
  const resuming = (text: string, flags: Flags): Hint =>
    run === undefined ? look : resumeHint(typed, text, run, flags)
  switch (error._tag) {
    case 'NoSuchRun':
    case 'InvalidPointer':
      return [listHint(typed)]
    case 'HeldBy':
      return error.holder.liveness === 'alive'
        ? [look, hintTo(typed, 'To pause it at the next safe point:', ['pause', error.runId])]
        : run === undefined || run.runId !== error.runId
          ? [look]
          : ofHeld(typed, run, error.holder)
    case 'InvalidRunId':
    case 'WorkspaceTaken':
    case 'RunExists':
    case 'InputChanged':
      return withoutId(typed).length === typed.words.length
        ? [error._tag === 'WorkspaceTaken' ? again(typed) : listHint(typed)]
        : [{ text: 'To use a generated id:', command: sameCommand({ ...typed, words: withoutId(typed) }) }]
    case 'Corrupt': {
      const { location } = typed.store
      const what = location._tag === 'Files' ? join(location.path, 'runs', error.runId) : 'it'
      return [hintTo(typed, `After restoring ${what} from a backup:`, ['verify', error.runId])]
    }
    case 'UnsupportedFormat':
      return [again(typed, 'After upgrading:')]
    case 'PlanError':
      return [afterPlan(typed, error.problems, runId)]
    case 'PlanChanged':
    case 'Unconfirmed':
      return runId === undefined ? [look] : [planning(typed, runId)]
    case 'RunCancelled':
      return REOPENING.has(typed.words[0] ?? '') && run?.workflow.path !== undefined
        ? [{ text: `To ${typed.words[0]} it anyway:`, command: sameCommand(typed, ['--reopen']) }]
        : [resuming('To resume it anyway:', { reopen: true })]
    // The folder of a user can only be restored.
    case 'WorkspaceMissing':
      return error.kind === 'none'
        ? [again(typed, 'After creating the folder again with the missing files:')]
        : [resuming('Nothing ran. To start over with a new workspace:', { force: true })]
    case 'RunMoved':
      return [ofMove(typed, error.runId, error)]
    case 'RecoveryRefused':
      // A resume may have questions, and may repeat work: the plan says so, and accepts the state.
      return run?.workflow.path === undefined
        ? [look]
        : [hintTo(typed, 'Resume it from the recovered state first. To see what that would do:', ['plan', run.runId])]
    case 'AnswerRefused':
    case 'AlreadyAnswered':
    case 'ForkRefused':
    case 'Fenced':
    case 'RevisionConflict':
    case 'RunChanged':
    case 'TransitionError':
      return [look]
    default:
      return [again(typed)]
  }
}

/** The commands with `--reopen`. */
const REOPENING: ReadonlySet<string> = new Set(['plan', 'resume'])

const planning = (typed: Typed, runId: string): Hint =>
  hintTo(typed, 'To see what a resume would do:', ['plan', runId, ...typed.words.filter((word) => word === '--reopen')])

/** A command with an invalid flag is not repeated; an invalid file must be fixed first. */
const afterPlan = (typed: Typed, problems: ReadonlyArray<PlanProblem>, runId: string | undefined): Hint => {
  if (runId === undefined || !problems.some(({ _tag }) => OF_FLAGS.has(_tag))) return again(typed)
  for (const problem of problems) {
    if (problem._tag !== 'UnitPending' || problem.waitsFor === 'Timer' || problem.answered === true) continue
    return problem.waitsFor === 'Job'
      ? hintTo(typed, 'Poll the job with:', ['poll', runId])
      : answerHint(typed, runId, problem.unit)
  }
  return planning(typed, runId)
}

const OF_FLAGS: ReadonlySet<PlanProblem['_tag']> = new Set([
  'UnknownStep',
  'NotAWave',
  'NothingToConfirm',
  'UnitPending',
  'AssumedOutputMissing'
])
