/**
 * What the domain has against a workflow (names, captures, needs), each with its place in the file.
 *
 * @since 0.1.0
 */
import type { WorkflowProblem } from '../../domain/Workflow.js'
import * as W from '../../domain/Workflow.js'
import type { Position, Problem } from './Problem.js'
import { describe } from './Problem.js'
import type { StepEntry, TaskEntry } from './WorkflowFile.js'
import { tasksOf } from './WorkflowFile.js'

/** Something with a name, and where it stands. */
interface Named {
  readonly name: string
  readonly at: Position
}

/**
 * The problems that lie not in one field, but in how names go together: each once. That something has no steps or no
 * groups is found where they are read, for here they may be missing since they could not be.
 *
 * @category decoding
 * @since 0.1.0
 */
export const definitionProblems = (
  workflow: Named,
  steps: ReadonlyArray<StepEntry>,
  stepsAt: Position,
  secrets: ReadonlyArray<string> = []
): ReadonlyArray<Problem> => {
  const units: ReadonlyArray<Named> = [
    workflow,
    ...steps.flatMap((step): ReadonlyArray<Named> => (step._tag === 'Task' ? [step] : [step, ...tasksOf(step)]))
  ]
  const found = new Map<string, Problem>()
  for (const problem of W.problems({ name: workflow.name, steps: steps.map(sketchOf), secrets })) {
    if (problem._tag === 'NoSteps' || problem._tag === 'NoGroups') continue
    const placed = { at: placeOf(problem, units, steps, stepsAt), message: W.describeProblem(problem) }
    found.set(describe('', placed), placed)
  }
  return [...found.values()]
}

/** The step as far as names are concerned. */
const sketchOf = (step: StepEntry): W.Step => {
  switch (step._tag) {
    case 'Task':
      return taskSketch(step)
    case 'Wave':
      return W.wave(
        step.name,
        step.groups.map((group) => W.group(taskSketch(group), group.needs))
      )
    case 'Map':
      return W.mapOf(step.name, taskSketch(step.each))
  }
}

const taskSketch = ({ name, capture }: TaskEntry): W.Task =>
  W.task(name, capture === undefined ? {} : { captures: [capture] })

const placeOf = (
  problem: Exclude<WorkflowProblem, { readonly _tag: 'NoSteps' | 'NoGroups' }>,
  units: ReadonlyArray<Named>,
  steps: ReadonlyArray<StepEntry>,
  stepsAt: Position
): Position => {
  const lastNamed = (name: string, among: ReadonlyArray<Named>): Position =>
    among.filter((one) => one.name === name).at(-1)?.at ?? stepsAt
  switch (problem._tag) {
    case 'InvalidName':
      return lastNamed(problem.name, units)
    case 'InvalidSetting':
      return lastNamed(problem.place.slice(problem.place.indexOf('/') + 1), units)
    case 'DuplicateName':
    case 'NeedCycle':
      return lastNamed(problem._tag === 'DuplicateName' ? problem.name : problem.step, steps)
    case 'UnknownNeed': {
      const wave = steps.find((step) => step.name === problem.step)
      return lastNamed(problem.group, wave?._tag === 'Wave' ? wave.groups : [])
    }
    case 'DuplicateCapture': {
      return (
        steps
          .flatMap(tasksOf)
          .filter((task) => task.capture === problem.variable)
          .at(-1)?.at ?? stepsAt
      )
    }
  }
}
