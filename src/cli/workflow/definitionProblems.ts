/** Finds what the domain refuses in a workflow, with the place in the file. */
import type { ReadonlyNonEmptyArray } from 'fp-ts/lib/ReadonlyNonEmptyArray.js'
import type { WorkflowProblem } from '../../domain/workflow/WorkflowProblem.js'
import { describeProblem, problems } from '../../domain/workflow/WorkflowProblem.js'
import * as W from '../../domain/workflow/Workflow.js'
import { join, parent } from '../../domain/workflow/Unit.js'
import type { Position, Problem } from './Problem.js'
import { placeOf } from './Problem.js'
import type { StepEntry } from './WorkflowFile.js'
import { isLeaf, placed } from './WorkflowFile.js'

interface Named {
  readonly name: string
  readonly at: Position
}

/** Missing steps and groups are reported where they are read. */
export const definitionProblems = (
  workflow: Named,
  steps: ReadonlyArray<StepEntry>,
  stepsAt: Position,
  secrets: ReadonlyArray<string> = []
): ReadonlyArray<Problem> => {
  const positions = positionsIn(workflow, steps)
  return problems({ name: workflow.name, steps: steps.map(sketchOf), secrets }).flatMap((problem) => {
    if (problem._tag === 'NoSteps' || problem._tag === 'NoGroups') return []
    const message = describeProblem(problem)
    if (problem._tag === 'DuplicateName') {
      const all = positions.byParentAndName.get(`${problem.within} ${problem.name}`)
      return [duplicateOf(message, all ?? [stepsAt])]
    }
    return [{ at: positionOf(positions, problem) ?? stepsAt, message }]
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

/** Only steps can share a name: groups are keys of a mapping. */
const duplicateOf = (message: string, places: ReadonlyNonEmptyArray<Position>): Problem => {
  const [first, second = first, ...more] = places
  const [one, other] = [first, second].map(placeOf)
  const all = more.length === 0 ? `${one} and ${other}` : `${one}, ${other} and ${more.length} more`
  return { at: second, message: `${message}: ${all}` }
}

/** `byPlace` and `byName` have the last one of several positions, `byParentAndName` all of them. */
interface Positions {
  readonly byPlace: ReadonlyMap<string, Position>
  readonly byName: ReadonlyMap<string, Position>
  readonly byParentAndName: ReadonlyMap<string, ReadonlyNonEmptyArray<Position>>
}

const positionsIn = (workflow: Named, steps: ReadonlyArray<StepEntry>): Positions => {
  const byPlace = new Map([[workflow.name, workflow.at]])
  const byName = new Map([[workflow.name, workflow.at]])
  const byParentAndName = new Map<string, [Position, ...Position[]]>()
  for (const { step, place } of placed(steps)) {
    const { at, name } = step
    const within = parent(place)
    byName.set(name, at)
    byPlace.set(place, at)
    // The domain reports the body of a map under the path of the map.
    if (isLeaf(step) && within !== undefined && place.endsWith('/*')) byPlace.set(within, at)
    const key = `${within ?? workflow.name} ${name}`
    const known = byParentAndName.get(key)
    if (known === undefined) byParentAndName.set(key, [at])
    else known.push(at)
  }
  return { byPlace, byName, byParentAndName }
}

type Placed = Exclude<WorkflowProblem, { readonly _tag: 'NoSteps' | 'NoGroups' | 'DuplicateName' }>

const positionOf = ({ byPlace, byName }: Positions, problem: Placed): Position | undefined => {
  switch (problem._tag) {
    case 'InvalidName':
      return byName.get(problem.name)
    case 'InvalidSetting':
    case 'UnknownOption':
      return byPlace.get(problem.place)
    case 'NeedCycle':
    case 'TooDeep':
      return byPlace.get(problem.unit)
    case 'UnknownNeed':
      return byPlace.get(join(problem.unit, problem.group))
    case 'DuplicateCapture':
      return byPlace.get(problem.places.at(-1) ?? '')
    case 'TooManyUnits':
      return undefined
  }
}
