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
 * | 5 | state, or the output of the command, could not be read or written; or state is damaged |
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
      return ofStop(received)
    case 'Pending':
      return ExitCode.pending
    case 'Fenced':
      return ExitCode.fenced
  }
}

/** SIGINT stands for an unknown signal. */
export const ofStop = (received: O.Option<StopSignal>): ExitCode =>
  ofSignal(O.getOrElse((): StopSignal => 'SIGINT')(received))

/** Any other error is a refusal: the state of the run forbids the command. */
export const ofError = (error: CliError): ExitCode => {
  if (error._tag === 'Stopped') return ofSignal(error.signal)
  const tag = error._tag === 'NotDone' ? error.error._tag : error._tag
  return Object.entries(ExitCode).find(([name]) => ERRORS[name]?.includes(tag))?.[1] ?? ExitCode.refused
}

type Tag = CliError['_tag'] | RunError['_tag']

const ERRORS: Readonly<Record<string, ReadonlyArray<Tag>>> = {
  wrongUse: [
    ...(['Usage', 'InvalidWorkflow', 'AmbiguousRun', 'SeveralUnfinished'] as const),
    ...(['InvalidInput', 'InputMissing', 'InvalidRunId', 'InvalidOptions'] as const)
  ],
  noSuchRun: ['NothingToResume', 'NothingToPoll', 'NoRunOfWorkflow', 'NoSuchRun'],
  storage: [
    ...(['NoDriver', 'NotWritten', 'RecoveryRefused', 'RevisionConflict', 'Corrupt', 'UnsupportedFormat'] as const),
    ...(['TooLarge', 'Insecure', 'ReadFailed', 'WriteFailed', 'TreeUnreadable'] as const),
    ...(['ArtifactsNotCopied', 'InvalidPointer', 'WorkspaceFailed'] as const)
  ],
  fenced: ['Fenced'],
  bug: ['TransitionError']
} satisfies Partial<Record<keyof typeof ExitCode, ReadonlyArray<Tag>>>
