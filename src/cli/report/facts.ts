/**
 * What a change of a run says, on one line.
 *
 * @since 0.1.0
 */
import type { Change } from '../../domain/Change.js'
import { describeEvidence, describeJob } from '../../domain/Explain.js'
import { unitName } from '../../domain/Plan.js'
import * as Duration from '../workflow/Duration.js'

/**
 * The step or group that a change is about, its attempt, and what happened.
 *
 * @category destructors
 * @since 0.1.0
 */
export const factsOf = (change: Change): string => {
  switch (change._tag) {
    case 'Started':
      return change.workflow.name
    case 'WorkflowEdited':
      return ''
    case 'Recovered':
      return `from ${change.from}; lost: ${change.lost}; agreed by ${change.agreedBy}`
    case 'InputReplaced':
      return clipped(JSON.stringify(change.input))
    case 'Expanded':
      return `${change.step}, ${change.items.length} ${change.items.length === 1 ? 'item' : 'items'}`
    case 'AttemptStarted':
      return change.attempts
        .map((one) => `${unitName({ ...one, step: change.step })}, attempt ${one.attempt}`)
        .join('; ')
    case 'AttemptFailed': {
      const next = `next in ${Duration.show(change.delayBeforeNextMillis)}`
      return `${unitName(change)}, attempt ${change.attempt}: ${firstLine(change.error.message)}; ${next}`
    }
    case 'UnitCompleted':
      return `${unitName(change)}${attempt(change.attempts)}, ${Duration.show(change.durationMillis)}`
    case 'UnitFailed':
      return change.last === undefined
        ? unitName(change)
        : `${unitName(change)}${attempt(change.last.attempt)}: ${firstLine(change.last.error.message)}`
    case 'JobSubmitted':
      return `${unitName(change)}${attempt(change.attempt)}${change.job === undefined ? '' : `: ${describeJob(change.job)}`}`
    case 'JobEnded':
      return `${unitName(change)}: ${firstLine(change.error.message)}`
    case 'Interrupted':
      return `${change.step}, ${change.reason}`
    case 'Rewound':
      return `${[change.step, ...(change.groups ?? [])].join(', ')}: ${change.why}`
    case 'Assumed':
      return `${unitName(change)}, taken as done`
    case 'Confirmed':
      return change.evidence === undefined
        ? `${unitName(change)}, to run again`
        : clipped(`${unitName(change)}, keeps ${change.evidence.map(describeEvidence).join(', ')}`)
  }
}

/** A wave has none of its own. */
const attempt = (number: number): string => (number === 0 ? '' : `, attempt ${number}`)

const MAX_TEXT = 200

const firstLine = (text: string): string => clipped(text.split('\n', 1)[0] ?? '')

/**
 * A line that is not too long to be read.
 *
 * @category combinators
 * @since 0.1.0
 */
export const clipped = (line: string): string => (line.length > MAX_TEXT ? `${line.slice(0, MAX_TEXT - 1)}…` : line)
