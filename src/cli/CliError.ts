/** Why the command could not do what it was asked for. */
import type { StopSignal } from '../adapters/node/index.js'
import type { RunError } from '../executor/RunError.js'
import { describeLoss, describe as describeRunError, headOf } from '../executor/RunError.js'
import { describeProblems, describeQuestion } from '../domain/explain/Explain.js'
import { printableLines } from '../domain/explain/printable.js'
import type { Hint } from './report/Hint.js'
import { linesOf } from './report/Hint.js'
import type { Problem } from './workflow/Problem.js'
import { describeAll, MAX_SHOWN } from './workflow/Problem.js'
import { holderText, shortened } from './report/text.js'

/**
 * Why the command could not do what it was asked for. `hints` are things to do about it.
 *
 * - `Usage`: asked in a way that makes no sense.
 * - `InvalidWorkflow`: the file is no workflow; all problems at once.
 * - `AmbiguousRun`, `SeveralUnfinished`: several runs match; `candidates` lists them, newest first.
 * - `NothingToResume`: no run is unfinished; `completed`: the newest run, if there are runs and all are completed;
 *   `unreadable`: the number of unreadable ones.
 * - `NoRunOfWorkflow`: a run of this workflow was to be taken up, and there is none.
 * - `Declined`: asked, and the answer was no.
 * - `RunChanged`: while somebody was asked, the run went on.
 * - `Stopped`: a signal came before anything ran.
 * - `NotDone`: the run (`runId`, where it is known) could not be decided.
 */
export type CliError =
  | { readonly _tag: 'Usage'; readonly message: string; readonly hints: ReadonlyArray<Hint> }
  | { readonly _tag: 'InvalidWorkflow'; readonly file: string; readonly problems: ReadonlyArray<Problem> }
  | { readonly _tag: 'AmbiguousRun'; readonly prefix: string; readonly candidates: ReadonlyArray<Candidate> }
  | { readonly _tag: 'SeveralUnfinished'; readonly candidates: ReadonlyArray<Candidate> }
  | {
      readonly _tag: 'NothingToResume'
      readonly hints: ReadonlyArray<Hint>
      readonly completed?: string
      readonly unreadable: number
    }
  | { readonly _tag: 'NoRunOfWorkflow'; readonly workflow: string; readonly hints: ReadonlyArray<Hint> }
  | { readonly _tag: 'Declined' }
  | { readonly _tag: 'RunChanged'; readonly runId: string }
  | { readonly _tag: 'Stopped'; readonly signal: StopSignal }
  | {
      readonly _tag: 'NotDone'
      readonly error: RunError
      readonly hints: ReadonlyArray<Hint>
      readonly runId?: string
    }

/** A matching run, and the line that describes it. */
export interface Candidate {
  readonly runId: string
  readonly line: string
}

/** Wrong use. */
export const usage = (message: string, hints: ReadonlyArray<Hint> = []): CliError => ({
  _tag: 'Usage',
  message,
  hints
})

/** A run that could not be decided. */
export const notDone = (error: RunError, hints: ReadonlyArray<Hint> = [], runId?: string): CliError => ({
  _tag: 'NotDone',
  error,
  hints,
  ...(runId === undefined ? {} : { runId })
})

/** The stable name of an error, for programs. */
export const code = (error: CliError): string => (error._tag === 'NotDone' ? error.error._tag : error._tag)

/** The hints of an error. */
export const hintsOf = (error: CliError): ReadonlyArray<Hint> => ('hints' in error ? error.hints : [])

/** Formats an error as lines: what is wrong, where, and what to do. */
export const describe = (error: CliError): ReadonlyArray<string> => linesFor(error).map(shortened)

/** The same for programs, with whole fingerprints. */
export const describeFully = (error: CliError): string => printableLines(linesFor(error))

const linesFor = (error: CliError): ReadonlyArray<string> => {
  switch (error._tag) {
    case 'Usage':
      return [error.message, ...linesOf(error.hints)]
    case 'InvalidWorkflow':
      return [
        `${error.file} has ${error.problems.length === 1 ? 'a problem' : `${error.problems.length} problems`}:`,
        ...describeAll(error.file, error.problems)
      ]
    case 'AmbiguousRun':
      return [`"${error.prefix}" matches more than one run id:`, ...indented(first(error.candidates))]
    case 'SeveralUnfinished':
      return ['Several runs are unfinished. Name one:', ...indented(first(error.candidates))]
    case 'NothingToResume':
      return [
        error.unreadable === 0 ? 'There is no unfinished run' : 'There is no unfinished run among the readable ones',
        ...linesOf(error.hints)
      ]
    case 'NoRunOfWorkflow':
      return [`There is no run of workflow ${error.workflow} to resume`, ...linesOf(error.hints)]
    case 'Declined':
      return ['Nothing was changed']
    case 'RunChanged':
      return [`Run ${error.runId} changed in the meantime. Nothing was done; check the run again`]
    case 'Stopped':
      return ['Stopped. Nothing was changed']
    case 'NotDone':
      return [...notDoneLines(error.error, error.runId), ...linesOf(error.hints)]
  }
}

/** The command says whose plan was refused; and of questions its hints have the answers, which fit the step. */
const notDoneLines = (error: RunError, runId: string | undefined): ReadonlyArray<string> => {
  switch (error._tag) {
    case 'PlanError':
      return [
        runId === undefined ? 'This can not be run:' : `Can't resume ${runId}:`,
        ...indented(describeProblems(error.problems))
      ]
    case 'Unconfirmed':
      return [headOf(error.questions), ...indented(error.questions.map(describeQuestion))]
    case 'RecoveryRefused':
      return [describeLoss(error)]
    case 'RunCancelled':
      return [`Run ${error.runId} was cancelled`]
    case 'HeldBy':
      return error.holder.liveness === 'alive'
        ? describeRunError(error).split('\n')
        : [`Run ${error.runId} is held by ${holderText(error.holder)}`]
    default:
      return describeRunError(error).split('\n')
  }
}

const indented = (all: ReadonlyArray<string>): ReadonlyArray<string> => all.map((line) => `  ${line}`)

/** The newest of many candidates. */
const first = (candidates: ReadonlyArray<Candidate>): ReadonlyArray<string> => {
  const more = candidates.length - MAX_SHOWN
  return [...candidates.slice(0, MAX_SHOWN).map(({ line }) => line), ...(more > 0 ? [`and ${more} more`] : [])]
}
