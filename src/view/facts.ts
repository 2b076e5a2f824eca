/** Describes a recorded change on one line. */
import type { Change } from '../domain/change/Change.js'
import { describeJob, describeRejected } from '../domain/explain/Explain.js'
import type { Decision } from '../domain/plan/Plan.js'
import { describeEvidence } from '../domain/checkpoint/CompletedStep.js'
import { listed } from '../domain/data/listed.js'
import { clipped, counted, duration, firstLine } from './text.js'

export const factsOf = (change: Change): string => {
  const abandons = 'abandons' in change ? (change.abandons ?? []) : []
  const jobs = `abandons the pending ${abandons.length === 1 ? 'job' : 'jobs'} of ${listed(abandons)}`
  return [textOf(change), ...(abandons.length === 0 ? [] : [jobs])].filter((part) => part !== '').join('; ')
}

const textOf = (change: Change): string => {
  switch (change._tag) {
    case 'Started':
      return change.workflow.name
    case 'Forked':
      return `from ${change.from.unit} of ${change.from.runId}`
    case 'Moved':
      return change.way === 'here' ? `from ${change.store}, arrived` : `${change.way} ${change.store}`
    case 'WorkflowEdited':
      return ''
    case 'Recovered':
      return `from ${change.from}; damage: ${change.lost}; agreed by ${change.agreedBy}`
    case 'InputReplaced':
      return clipped(JSON.stringify(change.input))
    case 'Expanded':
      return `${change.unit}, ${counted(change.items.length, 'item')}`
    case 'AttemptStarted':
      return change.attempts.map(({ unit, attempt }) => `${unit}, attempt ${attempt}`).join('; ')
    case 'AttemptFailed': {
      const next = `next in ${duration(change.delayBeforeNextMillis)}`
      return `${change.unit}, attempt ${change.attempt}: ${firstLine(change.error.message)}; ${next}`
    }
    case 'UnitCompleted':
      return `${change.unit}${attemptText(change.attempts)}, ${duration(change.durationMillis)}`
    case 'UnitFailed':
      return change.last === undefined
        ? change.unit
        : `${change.unit}${attemptText(change.last.attempt)}: ${firstLine(change.last.error.message)}`
    case 'JobSubmitted':
      return `${change.unit}${attemptText(change.attempt)}${change.job === undefined ? '' : `: ${describeJob(change.job)}`}`
    case 'JobEnded':
      return `${change.unit}: ${firstLine(change.error.message)}`
    case 'WaitStarted': {
      const { unit, wait } = change
      if (wait._tag === 'Timer') return `${unit}, until ${wait.wakeAt}`
      if (wait.rejected !== undefined)
        return clipped(`${unit}, again, because the answer was rejected: ${describeRejected(wait.rejected)}`)
      return clipped(wait.question === undefined ? unit : `${unit}: ${wait.question}`)
    }
    case 'Answered':
      return clipped(`${change.unit}, by ${change.by}: ${describeJob(change.value)}`)
    case 'Suspended':
      return change.unit
    case 'Interrupted':
      return `${change.unit}, ${change.reason}`
    case 'Rewound':
      return `${listed(change.units)}: ${WHY.get(change.why) ?? change.why}`
    case 'Assumed':
      return `${change.unit}, assumed done`
    case 'Confirmed':
      if (change.evidence === undefined) return `${change.unit}, to run again`
      return clipped(
        `${change.unit}, ${change.replaced === true ? 'with what a later step left' : 'keeps'}: ${change.evidence.map(describeEvidence).join(', ')}`
      )
  }
}

/** The reasons of decisions in words. A record names no more than their tags. */
const WHY: ReadonlyMap<string, string> = new Map<Decision['reason']['_tag'], string>([
  ['Forced', 'as requested'],
  ['EvidenceMissing', 'evidence is missing'],
  ['EvidenceChanged', 'evidence changed'],
  ['EarlierStepRunsAgain', 'an earlier result may differ'],
  ['Failed', 'failed before'],
  ['InFlight', 'was running when the process ended'],
  ['Interrupted', 'was stopped'],
  ['NotStarted', 'not started'],
  ['Assumed', 'its output is replaced'],
  ['MaybeLost', 'may have run'],
  ['MayHaveRun', 'may have run']
])

/** Empty for a composite, which has no attempts. */
const attemptText = (number: number): string => (number === 0 ? '' : `, attempt ${number}`)
