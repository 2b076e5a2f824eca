/** Looks up steps of a workflow, and the steps of questions. */
import type { Confirm } from '../../../domain/plan/Plan.js'
import type { Unit } from '../../../domain/workflow/Unit.js'
import { isWithin } from '../../../domain/workflow/Unit.js'
import { definitionAt, nonIdempotent, stepsAround } from '../../../domain/workflow/Node.js'
import type { Step, Workflow } from '../../../domain/workflow/Workflow.js'

export type Steps = Pick<Workflow, 'steps'>

/** The units in a step that are not idempotent; with `end`, also those in the later steps of its sequence that precede `end`. */
export const nonIdempotentFrom = (workflow: Steps, first: Unit, end?: Unit): ReadonlyArray<Unit> => {
  const units = stepsAround(workflow, first)
  const due = end === undefined ? [first] : units.slice(units.indexOf(first), units.indexOf(end))
  return nonIdempotent(workflow).filter((unit) => due.some((one) => isWithin(unit, one)))
}

export const asksForChanges = ({ reason }: Confirm): boolean => reason._tag === 'EvidenceChanged'

export const captures = (workflow: Steps, { unit }: Confirm): ReadonlyArray<string> => {
  const step = definitionAt<Step>(workflow, unit)
  return step?._tag === 'Task' ? step.captures : []
}
