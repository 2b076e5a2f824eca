/** The errors of the command, and their texts. */
import { defined } from '../domain/data/defined.js'
import * as E from 'fp-ts/lib/Either.js'
import type { StopSignal } from '../adapters/node/index.js'
import type { RunError } from '../executor/errors/RunError.js'
import { describeWithoutRemedy } from '../executor/errors/AnswerRefused.js'
import {
  describeLoss,
  describeCause as describeRunError,
  describeMissing,
  headOf,
  withEffect
} from '../executor/errors/describe.js'
import { describeTooLarge } from '../executor/errors/portErrors.js'
import { describeQuestion } from '../domain/explain/Explain.js'
import { describeProblems } from '../domain/explain/problems.js'
import { printableLines } from '../domain/explain/printable.js'
import type { Hint } from './report/Hint.js'
import { linesOf } from './report/Hint.js'
import { withoutPassword } from './store/Location.js'
import type { Problem } from './workflow/Problem.js'
import { describeAll, firstOf } from './workflow/Problem.js'
import { holderText, shortened } from './report/text.js'
import { orList, didYouMean } from '../domain/data/Suggestion.js'

export type CliError =
  | {
      /** Wrong use, missing consent without a prompt, or nothing to pause or cancel. */
      readonly _tag: 'Usage' | 'ConsentMissing' | 'NothingToStop'
      readonly message: string
      readonly hints: ReadonlyArray<Hint>
    }
  | { readonly _tag: 'InvalidWorkflow'; readonly file: string; readonly problems: ReadonlyArray<Problem> }
  | { readonly _tag: 'AmbiguousRun'; readonly prefix: string; readonly candidates: ReadonlyArray<Candidate> }
  | { readonly _tag: 'SeveralUnfinished'; readonly what?: string; readonly candidates: ReadonlyArray<Candidate> }
  | {
      readonly _tag: 'NothingToResume'
      readonly what?: string
      readonly hints: ReadonlyArray<Hint>
      readonly completed?: string
      /** Whether the hints list unfinished runs that live processes hold. */
      readonly isActive?: boolean
      readonly unreadable: number
    }
  | { readonly _tag: 'NoRunOfWorkflow'; readonly workflow: string; readonly hints: ReadonlyArray<Hint> }
  | { readonly _tag: 'Declined' }
  | { readonly _tag: 'RunChanged'; readonly runId: string }
  | { readonly _tag: 'NoDriver'; readonly store: string; readonly driver: string; readonly hints: ReadonlyArray<Hint> }
  | { readonly _tag: 'Stopped'; readonly signal: StopSignal }
  | { readonly _tag: 'NotWritten'; readonly path: string; readonly why: string }
  | {
      readonly _tag: 'NotDone'
      readonly error: RunError
      readonly hints: ReadonlyArray<Hint>
      readonly run?: StoredRun
      readonly verb?: string
      readonly requested?: Stop
    }

/** What a printed command needs to know of a run; one that a program started has no `path`. */
export interface StoredRun {
  readonly runId: string
  readonly workflow: { readonly path?: string }
}

/** A request to the owner of a run. */
export type Stop = 'Pause' | 'Cancel'

export interface Candidate {
  readonly runId: string
  readonly line: string
}

export const usage = (message: string, hints: ReadonlyArray<Hint> = []): CliError => ({
  _tag: 'Usage',
  message,
  hints
})

export const wrongUse = (message: string, hints: ReadonlyArray<Hint> = []): E.Either<CliError, never> =>
  E.left(usage(message, hints))

/** A word of a flag that takes only some. `unknown`: what is wrong with another one. */
export const wordAmong = <W extends string>(
  flag: string,
  unknown: string,
  word: string,
  words: ReadonlyArray<W>
): E.Either<CliError, W> => {
  const found = words.find((one) => one === word)
  return found === undefined
    ? wrongUse(`${flag}: ${unknown} "${word}"; use ${orList(words)}${didYouMean(word, words)}`)
    : E.right(found)
}

export const consentMissing = (message: string, hints: ReadonlyArray<Hint>): CliError => ({
  _tag: 'ConsentMissing',
  message,
  hints
})

/** `verb`: what the command would have done to the run; default: resume. */
export const notDone = (
  error: RunError,
  hints: ReadonlyArray<Hint> = [],
  run?: StoredRun,
  verb?: string
): CliError & { readonly _tag: 'NotDone' } => ({
  _tag: 'NotDone',
  error,
  hints,
  ...defined({ run, verb })
})

export const code = (error: CliError): string => (error._tag === 'NotDone' ? error.error._tag : error._tag)

export const hintsOf = (error: CliError): ReadonlyArray<Hint> => ('hints' in error ? error.hints : [])

export const describe = (error: CliError): ReadonlyArray<string> => linesFor(error).map(shortened)

/** An error for programs, with whole fingerprints. */
export const describeFully = (error: CliError): string => printableLines(linesFor(error))

/** An error without its hints and without `Nothing was changed`: for a command that changes nothing. */
export const describeCause = (error: CliError): string => printableLines(masked(causeOf(error)))

export const withoutHints = (error: CliError): CliError => ('hints' in error ? { ...error, hints: [] } : error)

const linesFor = (error: CliError): ReadonlyArray<string> => {
  const cause = causeOf(error)
  const lines = error._tag === 'NotDone' ? withEffect(error.error, cause) : cause
  return masked([...lines, ...linesOf(hintsOf(error))])
}

/** A message may quote a database URL that was typed in the wrong place. */
const masked = (lines: ReadonlyArray<string>): ReadonlyArray<string> => lines.map(withoutPassword)

const causeOf = (error: CliError): ReadonlyArray<string> => {
  switch (error._tag) {
    case 'Usage':
    case 'ConsentMissing':
    case 'NothingToStop':
      return [error.message]
    case 'InvalidWorkflow':
      return [
        `${error.file} has ${error.problems.length === 1 ? 'a problem' : `${error.problems.length} problems`}:`,
        ...describeAll(error.file, error.problems)
      ]
    case 'AmbiguousRun':
      return [`"${error.prefix}" matches more than one run id:`, ...candidateLines(error.candidates)]
    case 'SeveralUnfinished':
      return [
        `Several runs ${error.what === undefined ? 'are unfinished' : `have ${error.what}`}; name one:`,
        ...candidateLines(error.candidates)
      ]
    case 'NothingToResume':
      if (error.isActive === true)
        return [`Every ${error.unreadable === 0 ? 'unfinished run' : 'readable unfinished run'} is in progress:`]
      return [
        `There is no ${error.what === undefined ? 'unfinished run' : `run with ${error.what}`}${error.unreadable === 0 ? '' : ' among the readable ones'}`
      ]
    case 'NoRunOfWorkflow':
      return [`There is no run of workflow ${error.workflow} to resume`]
    case 'Declined':
      return ['Nothing was changed']
    case 'RunChanged':
      return [`Run ${error.runId} changed in the meantime, so nothing was done; check the run again`]
    case 'NoDriver':
      return [`Cannot open ${error.store}: the package ${error.driver} is not installed`]
    case 'Stopped':
      return ['Stopped. Nothing was changed']
    case 'NotWritten':
      return [`Cannot write ${error.path}: ${error.why}`]
    case 'NotDone':
      return notDoneLines(error)
  }
}

/** Leaves out the remedies of the library: the hints name commands in their place. */
const notDoneLines = ({
  error,
  run,
  verb = 'resume',
  requested
}: CliError & { readonly _tag: 'NotDone' }): ReadonlyArray<string> => {
  switch (error._tag) {
    case 'PlanError':
      return [
        run === undefined ? 'Cannot run this:' : `Cannot ${verb} ${run.runId}:`,
        ...indented(describeProblems(error.problems))
      ]
    case 'Unconfirmed':
      return [headOf(error.questions), ...indented(error.questions.map(describeQuestion))]
    case 'RecoveryRefused':
      return [describeLoss(error)]
    case 'RunCancelled':
      return [`Run ${error.runId} was cancelled`]
    case 'InputChanged':
      return [`Run ${error.runId} has another input`]
    case 'RunExists':
      return verb === 'move'
        ? [`Cannot move ${error.runId}: the other store has a run with this id`]
        : describeRunError(error).split('\n')
    case 'WorkspaceMissing':
      return describeMissing(error)
    case 'TooLarge':
      return [describeTooLarge(error, 'Keep large values in files or artifacts')]
    case 'AnswerRefused':
      return [describeWithoutRemedy(error)]
    case 'AlreadyAnswered':
      return [`"${error.unit}" of run ${error.runId} already has an answer`]
    case 'HeldBy':
      if (requested !== undefined)
        return [
          `Run ${error.runId} is already in progress: held by ${holderText(error.holder)}; ${REQUESTED[requested]}`
        ]
      return error.holder.liveness === 'alive'
        ? describeRunError(error).split('\n')
        : [`Run ${error.runId} is held by ${holderText(error.holder)}`]
    default:
      return describeRunError(error).split('\n')
  }
}

const REQUESTED: Readonly<Record<Stop, string>> = {
  Pause: 'it pauses once its current steps have ended',
  Cancel: 'it is cancelled once its current steps have ended'
}

const indented = (all: ReadonlyArray<string>): ReadonlyArray<string> => all.map((line) => `  ${line}`)

const candidateLines = (candidates: ReadonlyArray<Candidate>): ReadonlyArray<string> =>
  indented(firstOf(candidates.map(({ line }) => line)))
