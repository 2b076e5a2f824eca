/** Finds out whether the waits that a plan polls are over. */
import type { Over } from '../checkpoint/Due.js'
import { overAt } from '../checkpoint/Due.js'
import type { Wait } from '../checkpoint/Pending.js'
import type { Decision, DecisionTree } from './Plan.js'

/** Returns whether a resume ends a wait of a unit or its parts. */
export const isAnyOver = ({ decision, parts }: DecisionTree, now: string | undefined): boolean =>
  overOf(decision, now) !== undefined || parts.some((part) => isAnyOver(part, now))

/** Returns how the wait of a unit is over, or undefined; a wave has the reason of its first wait. */
export const overOf = ({ reason }: Pick<Decision, 'reason'>, now: string | undefined): Over | undefined =>
  overAt(waitIn(reason), 'answered' in reason, now)

const waitIn = (reason: Decision['reason']): Wait | undefined => {
  if (reason._tag === 'TimerPending') return { _tag: 'Timer', wakeAt: reason.wakeAt }
  return reason._tag !== 'AnswerPending'
    ? undefined
    : { _tag: 'Answer', ...(reason.until === undefined ? {} : { until: reason.until }) }
}
