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
import { describeAll } from './workflow/Problem.js'
import { holderText, shortened } from './report/text.js'
import { orList, didYouMean } from '../domain/data/Suggestion.js'

/** A refusal of the command itself, with its lines, or an error of a run. `completed`: the newest completed run, if no run is unfinished. */
export type CliError =
  | Refused<
      | 'Usage'
      | 'ConsentMissing'
      | 'NothingToStop'
      | 'AmbiguousRun'
      | 'SeveralUnfinished'
      | 'NoRunOfWorkflow'
      | 'NothingToPoll'
      | 'Declined'
      | 'RunChanged'
      | 'CancelRequested'
      | 'NoDriver'
      | 'NotWritten'
    >
  | (Refused<'NothingToResume'> & { readonly completed?: string })
  | (Refused<'InvalidWorkflow'> & { readonly file: string; readonly problems: ReadonlyArray<Problem> })
  | (Refused<'Stopped'> & { readonly signal: StopSignal })
  | NotDone

/** `verb`: what the command would have done to the run; default: resume. */
export interface NotDone {
  readonly _tag: 'NotDone'
  readonly error: RunError
  readonly hints: ReadonlyArray<Hint>
  readonly run?: StoredRun
  readonly verb?: string
  readonly requested?: Stop
}

interface Refused<Tag extends string> {
  readonly _tag: Tag
  readonly lines: ReadonlyArray<string>
  readonly hints: ReadonlyArray<Hint>
}

/** What a printed command needs to know of a run. The workflow of a program has no `path`. */
export interface StoredRun {
  readonly runId: string
  readonly workflow: { readonly path?: string }
}

/** A request to the owner of a run. */
export type Stop = 'Pause' | 'Cancel'

export const refused = <Tag extends Exclude<CliError['_tag'], 'NotDone'>>(
  _tag: Tag,
  lines: ReadonlyArray<string>,
  hints: ReadonlyArray<Hint> = []
): Refused<Tag> => ({ _tag, lines, hints })

export const usage = (message: string, hints: ReadonlyArray<Hint> = []): CliError => refused('Usage', [message], hints)

export const wrongUse = (message: string, hints: ReadonlyArray<Hint> = []): E.Either<CliError, never> =>
  E.left(usage(message, hints))

export const DECLINED: CliError = refused('Declined', ['Nothing was changed'])

export const stopped = (signal: StopSignal): CliError => ({
  ...refused('Stopped', ['Stopped. Nothing was changed']),
  signal
})

export const invalidWorkflow = (file: string, problems: ReadonlyArray<Problem>): CliError => ({
  ...refused('InvalidWorkflow', [
    `${file} has ${problems.length === 1 ? 'a problem' : `${problems.length} problems`}:`,
    ...describeAll(file, problems)
  ]),
  file,
  problems
})

/** Checks the value of a flag that takes only `words`. `unknown`: what the error calls any other value. */
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

export const consentMissing = (message: string, hints: ReadonlyArray<Hint>): CliError =>
  refused('ConsentMissing', [message], hints)

export const notDone = (error: RunError, hints: ReadonlyArray<Hint> = [], run?: StoredRun, verb?: string): NotDone => ({
  _tag: 'NotDone',
  error,
  hints,
  ...defined({ run, verb })
})

export const code = (error: CliError): string => (error._tag === 'NotDone' ? error.error._tag : error._tag)

export const describe = (error: CliError): ReadonlyArray<string> => linesFor(error).map(shortened)

/** An error for programs, with whole fingerprints. */
export const describeFully = (error: CliError): string => printableLines(linesFor(error))

/** An error without its hints and without `Nothing was changed`: for a command that changes nothing. */
export const describeCause = (error: CliError): string => printableLines(masked(causeOf(error)))

const linesFor = (error: CliError): ReadonlyArray<string> => {
  const cause = causeOf(error)
  const lines = error._tag === 'NotDone' ? withEffect(error.error, cause) : cause
  return masked([...lines, ...linesOf(error.hints)])
}

/** A message may quote a database URL that was typed in the wrong place. */
const masked = (lines: ReadonlyArray<string>): ReadonlyArray<string> => lines.map(withoutPassword)

const causeOf = (error: CliError): ReadonlyArray<string> =>
  error._tag === 'NotDone' ? notDoneLines(error) : error.lines

/** Leaves out the remedies of the library: the hints name commands in their place. */
const notDoneLines = ({ error, run, verb = 'resume', requested }: NotDone): ReadonlyArray<string> => {
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

export const REQUESTED: Readonly<Record<Stop, string>> = {
  Pause: 'it pauses once its current steps have ended, unless it has completed or failed by then',
  Cancel: 'it is cancelled once its current steps have ended, unless it has completed by then'
}

export const indented = (all: ReadonlyArray<string>): ReadonlyArray<string> => all.map((line) => `  ${line}`)
