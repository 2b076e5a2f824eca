/**
 * The tasks of a workflow.
 *
 * @since 0.1.0
 */
import type { Unit } from '../../domain/Unit.js'
import { join } from '../../domain/Unit.js'
import type { Task, Workflow } from '../../domain/Workflow.js'
import { tasks } from '../../domain/Workflow.js'

/** The tasks of a workflow by their units; waves are none. */
export const tasksOf = ({ steps }: Workflow): ReadonlyMap<Unit, Task> =>
  new Map(
    steps.flatMap((step) =>
      tasks(step).map((task) => [step._tag === 'Task' ? step.name : join(step.name, task.name), task] as const)
    )
  )
