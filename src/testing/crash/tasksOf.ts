/** The tasks of a program, including those of expanded maps. */
import type { Items } from '../../domain/checkpoint/Items.js'
import { none } from '../../domain/checkpoint/Items.js'
import type { Unit } from '../../domain/workflow/Unit.js'
import type { Step, Task } from '../../domain/workflow/Workflow.js'
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
