/**
 * What the domain has against a workflow (names, captures, needs), each with its place in the file.
 *
 * @since 0.1.0
 */
import type { ReadonlyNonEmptyArray } from 'fp-ts/lib/ReadonlyNonEmptyArray.js'
import type { WorkflowProblem } from '../../domain/Workflow.js'
import * as W from '../../domain/Workflow.js'
import type { Position, Problem } from './Problem.js'
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
  const placeOf = placesIn(workflow, steps, stepsAt)
  const placesOf = allOf(steps)
  const found = new Map<string, Problem>()
  for (const problem of W.problems({ name: workflow.name, steps: steps.map(sketchOf), secrets })) {
    if (problem._tag === 'NoSteps' || problem._tag === 'NoGroups' || problem._tag === 'TooDeep') continue
    const message = W.describeProblem(problem)
    const placed =
      problem._tag === 'DuplicateName'
        ? duplicateOf(message, placesOf.get(problem.name) ?? [stepsAt])
        : { at: placeOf(problem), message }
    found.set(`${placed.at.line}:${placed.at.column} ${placed.message}`, placed)
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

/** Groups of one wave are keys of one mapping, so only steps can share a name. */
const duplicateOf = (message: string, places: ReadonlyNonEmptyArray<Position>): Problem => {
  const [first, second = first, ...more] = places
  const [one, other] = [first, second].map(({ line, column }) => `${line}:${column}`)
  const all = more.length === 0 ? `${one} and ${other}` : `${one}, ${other} and ${more.length} more`
  return { at: second, message: `${message}: at ${all}` }
}

type Placed = Exclude<WorkflowProblem, { readonly _tag: 'NoSteps' | 'NoGroups' | 'TooDeep' | 'DuplicateName' }>

/** The position of a problem's subject; of several with one name the last. Indexes each name once. */
const placesIn = (
  workflow: Named,
  steps: ReadonlyArray<StepEntry>,
  stepsAt: Position
): ((problem: Placed) => Position) => {
  const ofSteps = lastOf(steps)
  const ofUnits = lastOf([
    workflow,
    ...steps.flatMap((step): ReadonlyArray<Named> => (step._tag === 'Task' ? [step] : [step, ...tasksOf(step)]))
  ])
  const ofCaptures = lastOf(
    steps.flatMap(tasksOf).flatMap(({ at, capture }) => (capture === undefined ? [] : [{ name: capture, at }]))
  )
  const ofGroups = new Map(
    steps.flatMap((step) => (step._tag === 'Wave' ? [[step.name, lastOf(step.groups)] as const] : []))
  )
  const found = (problem: Placed): Position | undefined => {
    switch (problem._tag) {
      case 'InvalidName':
        return ofUnits.get(problem.name)
      case 'InvalidSetting':
        return ofUnits.get(problem.place.slice(problem.place.indexOf('/') + 1))
      case 'NeedCycle':
        return ofSteps.get(problem.unit)
      case 'UnknownNeed':
        return ofGroups.get(problem.unit)?.get(problem.group)
      case 'DuplicateCapture':
        return ofCaptures.get(problem.variable)
    }
  }
  return (problem) => found(problem) ?? stepsAt
}

const lastOf = (all: ReadonlyArray<Named>): ReadonlyMap<string, Position> =>
  new Map(all.map(({ name, at }) => [name, at]))

const allOf = (all: ReadonlyArray<Named>): ReadonlyMap<string, ReadonlyNonEmptyArray<Position>> => {
  const places = new Map<string, [Position, ...Position[]]>()
  for (const { name, at } of all) {
    const known = places.get(name)
    if (known === undefined) places.set(name, [at])
    else known.push(at)
  }
  return places
}
