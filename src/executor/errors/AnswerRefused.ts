/** Why a unit cannot take an answer. */
import { didYouMean } from '../../domain/data/Suggestion.js'
import type { Unit } from '../../domain/workflow/Unit.js'

/**
 * A unit cannot take an answer. `why`: the run has no such unit; it has completed; it does not wait for an answer; its time limit is
 * over; the answer is not plain JSON, and `expected` says where; `by` is too long, empty or has control characters; a resume asks no
 * question about it; or the answer to a question is invalid, and `expected` says why. `waiting`: the units that wait for an answer, or of `confirm`
 * those with an open question. Nothing was recorded.
 */
export interface AnswerRefused {
  readonly _tag: 'AnswerRefused'
  readonly runId: string
  readonly unit: Unit
  readonly why:
    | 'UnknownUnit'
    | 'AlreadyCompleted'
    | 'NotAWait'
    | 'WaitOver'
    | 'NotJson'
    | 'InvalidName'
    | 'NotAnAnswer'
    | 'NotAsked'
  readonly expected?: string
  readonly waiting: ReadonlyArray<Unit>
}

export const describe = ({ runId, unit: given, why, expected, waiting }: AnswerRefused): string => {
  const unit = given === '' ? '""' : given
  if (expected !== undefined) return `Cannot answer ${unit} of run ${runId}: the answer must be ${expected}`
  if (why === 'InvalidName' || why === 'WaitOver') return `Cannot answer ${unit} of run ${runId}: ${REFUSED[why]}`
  if (why === 'NotAsked') {
    const asked =
      waiting.length === 0
        ? REFUSED[why]
        : `${REFUSED[why]}; units with an open question: ${waiting.join(', ')}${didYouMean(unit, waiting)}`
    return `Cannot answer ${unit} of run ${runId}: ${asked}`
  }
  const isUnknown = why === 'UnknownUnit'
  // `confirm` refuses an unknown unit, too, and does not know which units wait.
  const none = isUnknown ? 'check its path' : 'no unit of the run waits for an answer'
  const open =
    waiting.length === 0
      ? none
      : `these units need an answer: ${waiting.join(', ')}${isUnknown ? didYouMean(unit, waiting) : ''}`
  return `Cannot answer ${unit} of run ${runId}: ${REFUSED[why]}; ${open}`
}

const REFUSED: Readonly<Record<AnswerRefused['why'], string>> = {
  UnknownUnit: 'the run has no such unit',
  AlreadyCompleted: 'it has completed',
  NotAWait: 'it does not wait for an answer',
  WaitOver: 'its time limit is over, and it ends with WAIT_TIMEOUT; resume until it waits again, then answer',
  NotJson: 'the answer is not plain JSON',
  NotAnAnswer: 'the answer is invalid',
  NotAsked: 'a resume asks no question about it',
  InvalidName: '`by` must have 1 to 512 characters and no control characters; pass another name'
}
