/**
 * Where the units of a workflow stand.
 *
 * @since 0.1.0
 */
import { unitName } from '../../domain/Plan.js'
import type { Workflow } from '../../domain/Workflow.js'
import { tasks } from '../../domain/Workflow.js'
import type { Place } from './Ledger.js'

/** The tasks of a workflow by the names of their units, each at its place; waves are none. */
export const placesOf = ({ steps }: Workflow): ReadonlyMap<string, Place> =>
  new Map(
    steps.flatMap((step, stepIndex) =>
      tasks(step).map((task): [string, Place] => {
        const place =
          step._tag === 'Task' ? { stepIndex, step: step.name } : { stepIndex, step: step.name, group: task.name }
        return [unitName(place), place]
      })
    )
  )
