/** Looks up steps of a workflow. */
import type { Confirm } from '../../../domain/plan/Plan.js'
import type { Unit } from '../../../domain/workflow/Unit.js'
import { isWithin, join, parent } from '../../../domain/workflow/Unit.js'
import { definitionAt, listedParts, isIdempotent } from '../../../domain/workflow/Node.js'
import type { Step } from '../../../domain/workflow/Workflow.js'

interface Steps {
  readonly steps: ReadonlyArray<Step>
}

/** The wave or map before a step in its sequence. */
export const waveBefore = (workflow: Steps, unit: Unit): Unit | undefined => {
  const above = parent(unit)
  const sequence = above === undefined ? workflow : definitionAt<Step>(workflow, above)
  const steps = sequence !== undefined && 'steps' in sequence ? sequence.steps : []
  const index = steps.findIndex(({ name }) => join(above, name) === unit)
  const wave = steps.slice(0, Math.max(0, index)).findLast(({ _tag }) => _tag === 'Wave' || _tag === 'Map')
  return wave === undefined ? undefined : join(above, wave.name)
}

/** The units that are not idempotent, in the order of the workflow. A map counts as one unit. */
export const nonIdempotent = ({ steps }: Steps): ReadonlyArray<Unit> => {
  const visit = (step: Step, unit: Unit): ReadonlyArray<Unit> =>
    step._tag === 'Task' || step._tag === 'Map'
      ? isIdempotent(step)
        ? []
        : [unit]
      : listedParts<Step>(step).flatMap((part) => visit(part, join(unit, part.name)))
  return steps.flatMap((step) => visit(step, step.name))
}

/** Those in a step and in the later steps of its sequence, up to `end`, exclusive. */
export const nonIdempotentFrom = (workflow: Steps, first: Unit, end?: Unit): ReadonlyArray<Unit> => {
  const above = parent(first)
  const sequence = above === undefined ? workflow : definitionAt<Step>(workflow, above)
  const steps = sequence !== undefined && 'steps' in sequence ? sequence.steps : []
  const units = steps.map(({ name }) => join(above, name))
  const due = end === undefined ? [first] : units.slice(units.indexOf(first), units.indexOf(end))
  return nonIdempotent(workflow).filter((unit) => due.some((one) => isWithin(unit, one)))
}

export const isEdited = ({ reason }: Confirm): boolean => reason._tag === 'EvidenceChanged'

export const captures = (workflow: Steps, { unit }: Confirm): ReadonlyArray<string> => {
  const step = definitionAt<Step>(workflow, unit)
  return step?._tag === 'Task' ? step.captures : []
}
