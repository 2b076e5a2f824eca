/** The tasks of a program, including those of expanded maps. */
import type { Items } from '../../domain/checkpoint/Items.js'
import { none } from '../../domain/checkpoint/Items.js'
import type { Unit } from '../../domain/workflow/Unit.js'
import { join } from '../../domain/workflow/Unit.js'
import type { Step, Task } from '../../domain/workflow/Workflow.js'
import type { Program, ProgramStep } from '../../executor/program/Program.js'
import { unitsIn } from '../planning/arbitrary/tree.js'

export const tasksOf = <S extends Step>(
  { steps }: { readonly steps: ReadonlyArray<S> },
  items: Items = none
): ReadonlyMap<Unit, Extract<S, Task>> => {
  const found = new Map<Unit, Extract<S, Task>>()
  for (const { unit, step } of unitsIn({ steps }, items))
    if (step._tag === 'Task') found.set(unit, step as Extract<S, Task>)
  return found
}

/** A program with each expanded map replaced by the wave of its items. */
export const expanded = (program: Program<unknown, unknown>, items: Items): Program<unknown, unknown> => {
  const expand = (step: ProgramStep, unit: Unit): ProgramStep => {
    switch (step._tag) {
      case 'Task':
        return step
      case 'Sequence':
        return { ...step, steps: step.steps.map((part) => expand(part, join(unit, part.name))) }
      case 'Wave':
        return {
          ...step,
          groups: step.groups.map((part) => ({ ...expand(part, join(unit, part.name)), needs: part.needs }))
        }
      case 'Map': {
        const known = items.get(unit)
        if (known === undefined) return step
        const { each, ...map } = step
        const groups = known.map(({ key }) => ({ ...expand(each, join(unit, key)), name: key, needs: [] }))
        return { ...map, _tag: 'Wave', groups }
      }
    }
  }
  return { ...program, steps: program.steps.map((step) => expand(step, step.name)) }
}
