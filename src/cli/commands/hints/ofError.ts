/** Suggests what to do after an error, so that each one ends with a command. */
import { join } from 'node:path'
import type { PlanProblem } from '../../../domain/plan/PlanProblem.js'
import * as Redaction from '../../../domain/data/Redaction.js'
import type { RunError } from '../../../executor/errors/RunError.js'
import type { CliError } from '../../CliError.js'
import { hintsOf } from '../../CliError.js'
import type { Hint } from '../../report/Hint.js'
import type { Typed, Place } from '../Context.js'
import { hintTo, showHint, sameCommand, dogearCommand } from '../Context.js'
import { answerHint, ofMove, ofExisting, ofMissingWorkspace, ofDamage, ofHeld } from './ofRun.js'
import type { Workflow } from '../../../domain/workflow/Workflow.js'
import { resumeLine } from '../execution/planFlags.js'
import { answering } from './ofAnswer.js'
import { ofQuestions } from './ofPlan.js'

export const nextActions = (typed: Typed, error: CliError): ReadonlyArray<Hint> => {
  if (hintsOf(error).some(({ command }) => command !== undefined)) return []
  switch (error._tag) {
    case 'AmbiguousRun':
      return suchAs({ ...typed, words: typed.words.map((word) => inFull(word, error)) })
    case 'SeveralUnfinished':
      return suchAs({ ...typed, words: [...typed.words, ...error.candidates.slice(0, 1).map(({ runId }) => runId)] })
    case 'NothingToResume':
      return [listHint(typed)]
    case 'RunChanged':
      return [showHint(typed, error.runId)]
    case 'NotDone':
      return afterRunError(typed, error.error, error.runId)
    case 'Usage':
    case 'ConsentMissing':
    case 'NothingToStop':
    case 'InvalidWorkflow':
    case 'NoRunOfWorkflow':
    case 'Declined':
    case 'NoDriver':
    case 'NotWritten':
    case 'Stopped':
      return []
  }
}

/** Redacts secrets. */
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
    if (isOf('--value')) return word.startsWith('--value=') ? '--value=JSON' : 'JSON'
    return isOf('--confirm') ? word.replace(/(=done:)[\s\S]*$/, '$1OUTPUT') : word
  })

const suchAs = (typed: Typed): ReadonlyArray<Hint> => [{ text: 'For example:', command: sameCommand(typed) }]

const inFull = (word: string, { prefix, candidates: [first] }: CliError & { readonly _tag: 'AmbiguousRun' }): string =>
  first !== undefined && (word === prefix || word === `--run=${prefix}`)
    ? `${word.slice(0, word.length - prefix.length)}${first.runId}`
    : word

const listHint = (typed: Typed): Hint => hintTo(typed, 'List the runs with:', ['runs'])

const again = (typed: Typed, text = 'After fixing this:'): Hint => ({ text, command: sameCommand(typed) })

const withoutId = (typed: Typed): ReadonlyArray<string> => {
  const at = typed.words.indexOf('--id')
  return typed.words.filter(
    (word, index) => !word.startsWith('--id=') && (at === -1 || (index !== at && index !== at + 1))
  )
}

const afterRunError = (typed: Typed, error: RunError, known?: string): ReadonlyArray<Hint> => {
  const runId = known ?? ('runId' in error ? error.runId : undefined)
  const look = runId === undefined ? listHint(typed) : showHint(typed, runId)
  switch (error._tag) {
    case 'NoSuchRun':
    case 'InvalidPointer':
      return [listHint(typed)]
    case 'HeldBy':
      return [look, hintTo(typed, 'To pause it at the next safe point:', ['pause', error.runId])]
    case 'InvalidRunId':
    case 'WorkspaceTaken':
    case 'RunExists':
    case 'InputChanged':
      return withoutId(typed).length === typed.words.length
        ? [error._tag === 'WorkspaceTaken' ? again(typed) : listHint(typed)]
        : [{ text: 'To use a generated id:', command: sameCommand({ ...typed, words: withoutId(typed) }) }]
    case 'Corrupt': {
      const what = typed.store.location._tag === 'Files' ? join(typed.store.shown, 'runs', error.runId) : 'it'
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
      return [hintTo(typed, 'To resume it anyway:', ['resume', error.runId, '--reopen'])]
    case 'AnswerRefused':
      return [ofAnswerRefused(typed, error)]
    case 'RunMoved':
      return [ofMove(typed, error.runId, error)]
    case 'RecoveryRefused':
      return [hintTo(typed, 'To resume from the recovered state first:', ['resume', error.runId, '--yes'])]
    case 'AlreadyAnswered':
    case 'ForkRefused':
    case 'Fenced':
    case 'RevisionConflict':
    case 'RunChanged':
    case 'TransitionError':
      return [look]
    case 'InvalidInput':
    case 'InputMissing':
    case 'InvalidOptions':
    case 'SecretsMissing':
    case 'NoArchive':
    case 'NoWorktree':
    case 'NoWorkspaces':
    case 'NoRequests':
    case 'TooLarge':
    case 'Insecure':
    case 'ReadFailed':
    case 'WriteFailed':
    case 'TreeUnreadable':
    case 'ArtifactsNotCopied':
    case 'WorkspaceFailed':
    case 'WorkspaceMissing':
      return [again(typed)]
  }
}

const ofAnswerRefused = (
  typed: Typed,
  { runId, why, waiting }: RunError & { readonly _tag: 'AnswerRefused' }
): Hint => {
  const [unit] = waiting
  const isOfWait = why !== 'NotAsked' && typed.words.some((word) => word.startsWith('--value'))
  const example = 'For example:'
  if (unit !== undefined && isOfWait) return answerHint(typed, runId, unit, example)
  return answering(typed, example, runId, waiting)[0] ?? showHint(typed, runId)
}

const planning = (typed: Typed, runId: string): Hint =>
  hintTo(typed, 'To see what a resume would do:', ['plan', runId, ...typed.words.filter((word) => word === '--reopen')])

/** An invalid flag can be left out; an invalid file must be fixed first. */
const afterPlan = (typed: Typed, problems: ReadonlyArray<PlanProblem>, runId: string | undefined): Hint => {
  if (runId === undefined || !problems.every(({ _tag }) => OF_FLAGS.has(_tag))) return again(typed)
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

/** The remedies for an execution without an outcome. `restart`: the words that start the run again, if nothing was saved. */
export const ofRunError = (
  place: Place,
  runId: string,
  workflow: Workflow,
  restart: ReadonlyArray<string> | undefined,
  error: RunError,
  resuming = resumeLine(place, runId)
): ReadonlyArray<Hint> => {
  const command = restart === undefined ? resuming : dogearCommand(place, restart)
  switch (error._tag) {
    case 'RunExists':
    case 'InputChanged':
      return ofExisting(place, runId)
    case 'WorkspaceMissing':
      return ofMissingWorkspace(place, error)
    case 'WriteFailed':
    case 'TooLarge':
    case 'WorkspaceFailed': {
      const text = restart === undefined ? 'resume with:' : 'run it again:'
      return [{ text: `${restart === undefined ? '' : 'No step ran. '}After fixing this, ${text}`, command }]
    }
    case 'SecretsMissing':
      return [{ text: 'After fixing this:', command }]
    case 'RecoveryRefused':
      return ofDamage(place, runId, {})
    case 'HeldBy':
      return ofHeld(place, runId, error.holder, {})
    case 'Unconfirmed':
      return ofQuestions(place, runId, {}, workflow, error.questions)
    default:
      return []
  }
}
