/** Computes when a composite started and for how long it ran, over several processes, from the records of its parts. */
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

/** Returns the first start in a composite, and for how long at least one of its completed parts ran or waited. `own`: the times in this process. */
export const timesOf = ({ recorder, partSpans }: RunScope, composite: Unit, own: Times): Times => {
  const checkpoint = recorder.checkpoint()
  const definition = find(checkpoint.workflow, checkpoint.items, composite)?.definition
  const parts = definition === undefined ? [] : recordedParts(checkpoint, composite, definition)
  const spans = joined([
    spanOf(own),
    ...parts.flatMap((part) => takeSpans(partSpans, part) ?? spansOf(checkpoint, part))
  ])
  partSpans.set(composite, spans)
  const longest = parts.reduce((most, { record }) => Math.max(most, record.durationMillis), 0)
  return {
    startedAt: timestamp(spans[0]?.from ?? NaN),
    durationMillis: Math.max(
      longest,
      spans.reduce((sum, { from, to }) => sum + to - from, 0)
    )
  }
}

/** Removes and returns the spans of a part that is a composite: only the composite around it needs them. */
const takeSpans = (
  partSpans: RunScope['partSpans'],
  { record: { unit } }: RecordedPart
): ReadonlyArray<Span> | undefined => {
  const known = partSpans.get(unit)
  partSpans.delete(unit)
  return known
}

/** Returns when a recorded part ran or waited: a task also in sub-steps of earlier processes, a composite with gaps by its parts' records. */
const spansOf = (checkpoint: Checkpoint, { record, definition }: RecordedPart): ReadonlyArray<Span> => {
  const { unit } = record
  if (!isComposite(definition)) return Units.within(checkpoint.completedSteps, unit).map(spanOf)
  return hasGaps(record)
    ? recordedParts(checkpoint, unit, definition).flatMap((part) => spansOf(checkpoint, part))
    : [spanOf(record)]
}

const spanOf = ({ startedAt, durationMillis }: Times): Span => {
  const from = Date.parse(startedAt)
  return { from, to: from + durationMillis }
}

/** Returns whether nothing of a composite ran for a while, as between two processes: its duration then differs from its end minus its start. */
const hasGaps = (record: CompletedStep): boolean => spanOf(record).to !== Date.parse(record.completedAt)
