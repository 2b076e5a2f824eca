/** Finds what the domain refuses in a workflow, with the place in the file. */
import { pushTo } from '../../domain/data/indexed.js'
import { join } from '../../domain/workflow/Unit.js'
import * as W from '../../domain/workflow/Workflow.js'
import type { WorkflowProblem } from '../../domain/workflow/WorkflowProblem.js'
import { describeProblem, problems } from '../../domain/workflow/WorkflowProblem.js'
import type { Position, Problem } from './Problem.js'
import { placeOf } from './Problem.js'
import type { StepEntry, WorkflowFile } from './WorkflowFile.js'
import { placed } from './WorkflowFile.js'

/** The schema reports these itself, where they are read. */
const READ: ReadonlySet<WorkflowProblem['_tag']> = new Set(['InvalidName', 'NoSteps', 'NoGroups'])

export const definitionProblems = (
  { name, steps, secrets }: Pick<WorkflowFile, 'name' | 'steps' | 'secrets'>,
  stepsAt: Position
): ReadonlyArray<Problem> => {
  const positions = new Map<string, Array<Position>>()
  for (const { step, place } of placed(steps)) pushTo(positions, place, step.at)
  return problems({ name, steps: steps.map(sketchOf), secrets }).flatMap((problem) => {
    if (READ.has(problem._tag)) return []
    const message = describeProblem(problem)
    const found = placesIn(problem).map((place) => positions.get(place) ?? [])
    if (problem._tag !== 'DuplicateName') return [{ at: found.flat()[0] ?? stepsAt, message }]
    const [first = stepsAt, second = first, ...more] = found.find(({ length }) => length > 1) ?? []
    const [one, other] = [first, second].map(placeOf)
    const all = more.length === 0 ? `${one} and ${other}` : `${one}, ${other} and ${more.length} more`
    return [{ at: second, message: `${message}: ${all}` }]
  })
}

/** A step reduced to its names. */
const sketchOf = (step: StepEntry): W.Step => {
  switch (step._tag) {
    case 'Task':
    case 'Wait':
      return W.task(step.name, step.capture === undefined ? {} : { captures: [step.capture] })
    case 'Sequence':
      return W.sequence(step.name, step.steps.map(sketchOf))
    case 'Wave':
      return W.wave(
        step.name,
        step.groups.map((group) => W.group(sketchOf(group), group.needs))
      )
    case 'Map':
      return W.mapOf(step.name, sketchOf(step.each))
  }
}

/** The units that may have a problem, the best place first. A duplicate is reported `within` a unit or workflow, whose name a step may share. */
const placesIn = (problem: WorkflowProblem): ReadonlyArray<string> => {
  switch (problem._tag) {
    case 'DuplicateName':
      return [join(problem.within, problem.name), join(undefined, problem.name)]
    case 'DuplicateCapture':
      return problem.places.slice(-1)
    case 'UnknownNeed':
      return [join(problem.unit, problem.group)]
    case 'TooDeep':
    case 'NeedCycle':
      return [problem.unit]
    case 'InvalidSetting':
      // The domain reports the body of a map under the path of the map.
      return [`${problem.place}/*`, problem.place]
    default:
      return []
  }
}
