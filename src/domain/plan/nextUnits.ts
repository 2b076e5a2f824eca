/** Finds the units with which a resume begins, as the executor finds them, and the waits that are over. */
import type { Over } from '../checkpoint/Due.js'
import { overAt } from '../checkpoint/Due.js'
import type { Wait } from '../checkpoint/Pending.js'
import type { Decision, DecisionTree, ResumePlan } from './Plan.js'
import { decisionTrees } from './Plan.js'
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

/** Returns whether a resume ends a wait of a unit or its parts. */
export const isAnyOver = ({ decision, parts }: DecisionTree, now: string | undefined): boolean =>
  overOf(decision, now) !== undefined || parts.some((part) => isAnyOver(part, now))

/** Returns how the wait of a unit is over, or undefined; a wave has the reason of its first wait. */
export const overOf = ({ reason }: Pick<Decision, 'reason'>, now: string | undefined): Over | undefined =>
  overAt(waitIn(reason), 'answered' in reason, now)

const waitIn = (reason: Decision['reason']): Wait | undefined => {
  if (reason._tag === 'TimerPending') return { _tag: 'Timer', wakeAt: reason.wakeAt }
  return reason._tag !== 'AnswerPending'
    ? undefined
    : { _tag: 'Answer', ...(reason.until === undefined ? {} : { until: reason.until }) }
}
