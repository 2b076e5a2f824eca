/** Finds the units with which a resume begins, as the executor finds them. */
import type { Decision, DecisionTree, ResumePlan } from './Plan.js'
import { decisionTrees, overOf } from './Plan.js'
import { waitsFor } from '../workflow/needs.js'
import type { Step, Task, Wave, Workflow } from '../workflow/Workflow.js'

/** `task`: its definition; absent for a composite that only has to be closed, and for a map without items. */
export interface NextUnit {
  readonly decision: Decision
  readonly task?: Task
}

/** Returns the units of the first due step that nothing holds back. */
export const nextUnits = ({ steps }: Workflow, plan: ResumePlan): ReadonlyArray<NextUnit> =>
  firstOf(steps, decisionTrees(plan))

/** Returns whether a resume only waits for this unit, or starts its wait. */
export const isWait = ({ decision, task }: NextUnit, now: string): boolean =>
  decision._tag === 'Poll'
    ? overOf(decision, now) === undefined
    : task?.wait !== undefined && !('answered' in decision.reason)

const firstOf = (steps: ReadonlyArray<Step>, nodes: ReadonlyArray<DecisionTree>): ReadonlyArray<NextUnit> => {
  const index = nodes.findIndex(isDue)
  const [step, node] = [steps[index], nodes[index]]
  return step === undefined || node === undefined ? [] : unitsIn(step, node)
}

const unitsIn = (step: Step, node: DecisionTree): ReadonlyArray<NextUnit> => {
  const { decision, parts } = node
  if (step._tag === 'Task') return [{ decision, task: step }]
  const units =
    step._tag === 'Sequence'
      ? firstOf(step.steps, parts)
      : step._tag === 'Map'
        ? parts.filter(isDue).flatMap((part) => unitsIn(step.each, part))
        : readyIn(step, parts)
  return units.length === 0 ? [{ decision }] : units
}

/** The units of the groups that wait for no other. */
const readyIn = ({ groups }: Wave, parts: ReadonlyArray<DecisionTree>): ReadonlyArray<NextUnit> => {
  const done = new Set(groups.flatMap(({ name }, index) => (parts[index]?.decision._tag === 'Skip' ? [name] : [])))
  const needsOf = waitsFor(groups, done)
  return groups.flatMap((group, index) => {
    const part = parts[index]
    if (part === undefined || done.has(group.name)) return []
    return [...needsOf(group)].every((need) => done.has(need)) ? unitsIn(group, part) : []
  })
}

const isDue = ({ decision }: DecisionTree): boolean => decision._tag !== 'Skip'
