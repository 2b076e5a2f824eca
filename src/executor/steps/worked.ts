/** The time of a composite over several processes, from the records of its parts. */
import type { Checkpoint } from '../../domain/checkpoint/Checkpoint.js'
import type { CompletedStep } from '../../domain/checkpoint/CompletedStep.js'
import { find } from '../../domain/checkpoint/Tree.js'
import * as Units from '../../domain/checkpoint/Units.js'
import type { Span } from '../../domain/data/Span.js'
import { coveredBy } from '../../domain/data/Span.js'
import { isComposite } from '../../domain/workflow/Node.js'
import type { Unit } from '../../domain/workflow/Unit.js'
import { timestamp } from '../RunScope.js'

type Times = Pick<CompletedStep, 'startedAt' | 'durationMillis'>

/** Returns the first start in a composite, and the time in which a completed part of it ran or waited. `own`: since the present process reached it. */
export const worked = ({ completedSteps, workflow, items }: Checkpoint, composite: Unit, own: Times): Times => {
  const spans = [spanOf(own)]
  let longest = 0
  for (const record of Units.within(completedSteps, composite)) {
    if (record.assumed === true) continue
    longest = Math.max(longest, record.durationMillis)
    const definition = find(workflow, items, record.unit)?.definition
    // The time of a composite that rested is in pieces, which only its parts tell.
    const isWhole = definition === undefined || !isComposite(definition) || !hasRested(record)
    if (isWhole) spans.push(spanOf(record))
  }
  const from = spans.reduce((first, span) => Math.min(first, span.from), Infinity)
  return {
    startedAt: timestamp(from),
    durationMillis: Math.max(longest, coveredBy(spans))
  }
}

const spanOf = ({ startedAt, durationMillis }: Times): Span => {
  const from = Date.parse(startedAt)
  return { from, to: from + durationMillis }
}

const hasRested = (record: CompletedStep): boolean => spanOf(record).to < Date.parse(record.completedAt)
