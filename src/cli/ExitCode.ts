/** The exit codes of the command. */
import * as O from 'fp-ts/lib/Option.js'
import type { StopSignal } from '../adapters/node/index.js'
import { exitCode as ofSignal } from '../adapters/node/index.js'
import type { RunError } from '../executor/errors/RunError.js'
import type { RunOutcome } from '../executor/RunOutcome.js'
import type { CliError } from './CliError.js'

/**
 * | code | means |
 * |---|---|
 * | 0 | completed, or nothing left to do |
 * | 1 | a step failed; of `dogear conformance`: a case failed |
 * | 2 | wrong use: of the command, of a workflow file, of a spec |
 * | 3 | no such run |
 * | 4 | refused: held by a live process, cancelled (also while it ran), secrets missing, workflow changed, unconfirmed step, consent missing, plan changed, id in use, answered with no |
 * | 5 | state could not be read or written, or is damaged |
 * | 6 | fenced: another process superseded this one, or the run's files were deleted or replaced |
 * | 70 | a bug in dogear |
 * | 75 | pending: the run waits for jobs, timers or answers; paused |
 * | 129, 130, 131, 143 | stopped by SIGHUP, SIGINT (Ctrl+C), SIGQUIT (Ctrl+\\), SIGTERM |
 */
export const ExitCode = {
  done: 0,
  stepFailed: 1,
  caseFailed: 1,
  wrongUse: 2,
  noSuchRun: 3,
  refused: 4,
  storage: 5,
  fenced: 6,
  bug: 70,
  pending: 75,
  paused: 75
} as const

export type ExitCode = number

/** `received`: the signal that stopped the run. */
export const ofOutcome = (outcome: RunOutcome, received: O.Option<StopSignal>): ExitCode => {
  switch (outcome._tag) {
    case 'Completed':
      return ExitCode.done
    case 'Failed':
      return ExitCode.stepFailed
    case 'Interrupted':
      if (outcome.reason === 'paused') return ExitCode.paused
      if (outcome.reason === 'cancelled') return ExitCode.refused
      return ofSignal(O.isSome(received) ? received.value : 'SIGINT')
    case 'Pending':
      return ExitCode.pending
    case 'Fenced':
      return ExitCode.fenced
  }
}

export const ofError = (error: CliError): ExitCode => {
  switch (error._tag) {
    case 'Usage':
    case 'InvalidWorkflow':
    case 'AmbiguousRun':
    case 'SeveralUnfinished':
      return ExitCode.wrongUse
    case 'NothingToResume':
    case 'NoRunOfWorkflow':
      return ExitCode.noSuchRun
    case 'Declined':
    case 'RunChanged':
    case 'ConsentMissing':
    case 'NothingToStop':
      return ExitCode.refused
    case 'NoDriver':
    case 'NotWritten':
      return ExitCode.storage
    case 'Stopped':
      return ofSignal(error.signal)
    case 'NotDone':
      return ofRunError(error.error)
  }
}

const ofRunError = (error: RunError): ExitCode => {
  switch (error._tag) {
    case 'InvalidInput':
    case 'InputMissing':
    case 'InvalidRunId':
    case 'InvalidOptions':
      return ExitCode.wrongUse
    case 'NoSuchRun':
      return ExitCode.noSuchRun
    case 'HeldBy':
    case 'RunExists':
    case 'InputChanged':
    case 'SecretsMissing':
    case 'NoArchive':
    case 'PlanError':
    case 'PlanChanged':
    case 'Unconfirmed':
    case 'WorkspaceMissing':
    case 'WorkspaceTaken':
    case 'NoWorktree':
    case 'NoWorkspaces':
    case 'NoRequests':
    case 'RunCancelled':
    case 'AlreadyAnswered':
    case 'AnswerRefused':
    case 'ForkRefused':
    case 'RunMoved':
    case 'RunChanged':
      return ExitCode.refused
    case 'RecoveryRefused':
    case 'RevisionConflict':
    case 'Corrupt':
    case 'UnsupportedFormat':
    case 'TooLarge':
    case 'Insecure':
    case 'ReadFailed':
    case 'WriteFailed':
    case 'TreeUnreadable':
    case 'ArtifactsNotCopied':
    case 'InvalidPointer':
    case 'WorkspaceFailed':
      return ExitCode.storage
    case 'Fenced':
      return ExitCode.fenced
    case 'TransitionError':
      return ExitCode.bug
  }
}
