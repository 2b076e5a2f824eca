/** The time of a composite over several processes, from the records of its parts. */
import type { Checkpoint } from '../../domain/checkpoint/Checkpoint.js'
import type { CompletedStep } from '../../domain/checkpoint/CompletedStep.js'
import type { RecordedPart } from '../../domain/checkpoint/Tree.js'
import { find, recordedParts } from '../../domain/checkpoint/Tree.js'
import * as Units from '../../domain/checkpoint/Units.js'
import type { Span } from '../../domain/data/Span.js'
import { joined } from '../../domain/data/Span.js'
import { isComposite } from '../../domain/workflow/Node.js'
import type { Unit } from '../../domain/workflow/Unit.js'
import type { RunScope } from '../RunScope.js'
import { timestamp } from '../RunScope.js'

type Times = Pick<CompletedStep, 'startedAt' | 'durationMillis'>

/** Returns the first start in a composite, and the time in which a completed part of it ran or waited. `own`: since the present process reached it. */
export const timesOf = ({ recorder, partSpans: stretches }: RunScope, composite: Unit, own: Times): Times => {
  const checkpoint = recorder.checkpoint()
  const definition = find(checkpoint.workflow, checkpoint.items, composite)?.definition
  const parts = definition === undefined ? [] : recordedParts(checkpoint, composite, definition)
  const spans = joined([spanOf(own), ...parts.flatMap((part) => take(stretches, part) ?? spansOf(checkpoint, part))])
  stretches.set(composite, spans)
  const longest = parts.reduce((most, { record }) => Math.max(most, record.durationMillis), 0)
  return {
    startedAt: timestamp(spans[0]?.from ?? NaN),
    durationMillis: Math.max(
      longest,
      spans.reduce((sum, { from, to }) => sum + to - from, 0)
    )
  }
}

/** Removes the stretches that it returns: only the composite around a composite needs them. */
const take = (
  stretches: RunScope['partSpans'],
  { record: { unit } }: RecordedPart
): ReadonlyArray<Span> | undefined => {
  const known = stretches.get(unit)
  stretches.delete(unit)
  return known
}

/** A task may have sub-steps of earlier processes. The time of a composite that rested is in pieces, which only the records of its parts have. */
const spansOf = (checkpoint: Checkpoint, { record, definition }: RecordedPart): ReadonlyArray<Span> => {
  const { unit } = record
  if (!isComposite(definition)) return Units.within(checkpoint.completedSteps, unit).map(spanOf)
  return hasRested(record)
    ? recordedParts(checkpoint, unit, definition).flatMap((part) => spansOf(checkpoint, part))
    : [spanOf(record)]
}

const spanOf = ({ startedAt, durationMillis }: Times): Span => {
  const from = Date.parse(startedAt)
  return { from, to: from + durationMillis }
}

/** A composite that rested has a duration other than the time from its start to its end, which is negative if the clock was set back. */
const hasRested = (record: CompletedStep): boolean => spanOf(record).to !== Date.parse(record.completedAt)
