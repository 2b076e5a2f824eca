/** Why a unit cannot take an answer. */
import { didYouMean } from '../../domain/data/Suggestion.js'
import { describeQuestion, describeReason } from '../../domain/explain/Explain.js'
import type { Decision } from '../../domain/plan/Plan.js'
import type { Unit } from '../../domain/workflow/Unit.js'

/**
 * A unit cannot take an answer. `why`: the run has no such unit; it has completed; it does not wait for an answer; its time limit is
 * over; the answer is not plain JSON, and `expected` says where; `by` is too long, empty or has control characters; a resume asks no
 * question about it; or the answer to a question is invalid, and `expected` says why. `waiting`: the units that wait for an answer; if `confirm`
 * was called, those with an open question. `decision`: what a resume would do with the unit, if that is known. Nothing was recorded.
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
  readonly decision?: Decision
}

/** Describes the refusal, and the call that helps. */
export const describe = (refused: AnswerRefused): string => {
  const remedy = remedyOf(refused)
  return remedy === undefined ? describeWithoutRemedy(refused) : `${describeWithoutRemedy(refused)}; ${remedy}`
}

/** Describes the refusal without a remedy in terms of calls; the command adds its own. */
export const describeWithoutRemedy = (refused: AnswerRefused): string =>
  `Cannot answer "${refused.unit}" of run ${refused.runId}: ${reasonOf(refused)}`

const reasonOf = (refused: AnswerRefused): string => {
  const { why, expected, decision } = refused
  if (expected !== undefined) return `the answer must be ${expected}`
  if (why === 'InvalidName' || why === 'WaitOver') return REFUSED[why]
  // The question of a unit cannot be answered yet if it is a composite, or if changed evidence comes first.
  const isOpenQuestion = why === 'NotAsked' && decision?._tag === 'Confirm'
  const what = decision === undefined || isOpenQuestion ? REFUSED[why] : whatItIs(decision, why)
  return `${what}${othersOf(refused)}`
}

/** Names the units that can take an answer. */
const othersOf = (refused: AnswerRefused): string => {
  const { unit, why, waiting, decision } = refused
  const isUnknown = why === 'UnknownUnit'
  const isQuestion = why === 'NotAsked'
  if (waiting.length > 0) {
    const heading = isQuestion ? 'units with an open question' : 'these units need an answer'
    return `; ${heading}: ${waiting.join(', ')}${isUnknown || isQuestion ? didYouMean(unit, waiting) : ''}`
  }
  if (isUnknown) return '; check its path'
  // `confirm` (`NotAsked`) does not know which units wait.
  return isQuestion || decision !== undefined ? '' : '; no unit of the run waits for an answer'
}

const whatItIs = (decision: Decision, why: AnswerRefused['why']): string => {
  const reason = describeReason(decision)
  switch (decision._tag) {
    case 'Skip':
    case 'Run':
    case 'Retry':
      return `it needs no answer (${reason})`
    case 'Poll':
      if ('answered' in decision.reason) return reason
      if (why === 'NotAWait' && decision.reason._tag === 'AnswerPending') return 'it takes no answer itself'
      return `it ${why === 'NotAsked' ? reason.replace(/^waits for an answer/, WAITS_FOR_A_VALUE) : reason}`
    case 'Confirm':
      return `it does not wait for a value: ${describeQuestion(decision)}`
  }
}

const WAITS_FOR_A_VALUE = 'waits for a value, not for again, keep or done'

/** Returns the call that helps, unless the list of waiting units is the remedy. */
const remedyOf = ({ why, decision, unit, waiting }: AnswerRefused): string | undefined => {
  if (why === 'WaitOver') return undefined
  switch (decision?._tag) {
    case undefined:
      return undefined
    case 'Skip':
      return `a resume with \`fromStep\` "${unit}" runs it again`
    case 'Run':
      return waiting.length === 0 ? 'resume the run' : undefined
    case 'Retry':
      return 'resume the run, or, to count it as done, resume with a later step as `fromStep`, if there is one'
    case 'Poll':
      if (decision.reason._tag === 'JobPending')
        return `poll the run, or, to abandon the job, resume with \`fromStep\` "${unit}"`
      if (decision.reason._tag === 'TimerPending') return 'then resume the run'
      if ('answered' in decision.reason) return 'resume the run'
      return why === 'NotAsked' ? 'pass a value with `answer`' : undefined
    case 'Confirm':
      return why === 'NotAsked' ? undefined : 'answer with `confirm`, or with the option `confirm` of a resume'
  }
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
