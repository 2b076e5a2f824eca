/** Looks up steps of a workflow, and the steps of questions. */
import type { Confirm } from '../../../domain/plan/Plan.js'
import type { Unit } from '../../../domain/workflow/Unit.js'
import { isWithin, join, parent } from '../../../domain/workflow/Unit.js'
import { definitionAt, nonIdempotent } from '../../../domain/workflow/Node.js'
import type { Step, Workflow } from '../../../domain/workflow/Workflow.js'

export type Steps = Pick<Workflow, 'steps'>

/** The steps of the sequence around a step. */
const sequenceAround = (workflow: Steps, unit: Unit): ReadonlyArray<{ readonly step: Step; readonly unit: Unit }> => {
  const above = parent(unit)
  const sequence = above === undefined ? workflow : definitionAt<Step>(workflow, above)
  const steps = sequence !== undefined && 'steps' in sequence ? sequence.steps : []
  return steps.map((step) => ({ step, unit: join(above, step.name) }))
}

/** The wave or map before a step in its sequence. */
export const waveBefore = (workflow: Steps, unit: Unit): Unit | undefined => {
  const steps = sequenceAround(workflow, unit)
  const index = steps.findIndex((one) => one.unit === unit)
  return steps.slice(0, Math.max(0, index)).findLast(({ step }) => step._tag === 'Wave' || step._tag === 'Map')?.unit
}

/** The units in a step that are not idempotent; with `end`, also in the later steps of its sequence before that one. */
export const nonIdempotentFrom = (workflow: Steps, first: Unit, end?: Unit): ReadonlyArray<Unit> => {
  const units = sequenceAround(workflow, first).map(({ unit }) => unit)
  const due = end === undefined ? [first] : units.slice(units.indexOf(first), units.indexOf(end))
  return nonIdempotent(workflow).filter((unit) => due.some((one) => isWithin(unit, one)))
}

export const asksForChanges = ({ reason }: Confirm): boolean => reason._tag === 'EvidenceChanged'

export const captures = (workflow: Steps, { unit }: Confirm): ReadonlyArray<string> => {
  const step = definitionAt<Step>(workflow, unit)
  return step?._tag === 'Task' ? step.captures : []
}
