/**
 * The records of a checkpoint by their place, and the places of steps in an edited workflow. Where nothing moved, which
 * is the usual case, finding something is a comparison; only otherwise it is a look-up.
 *
 * @since 0.1.0
 */
import type { Checkpoint } from './Checkpoint.js'
import type { CompletedStep } from './CompletedStep.js'

/**
 * Records by the index of their step in the checkpoint's own workflow: of whole steps, and of groups by name. `twice`
 * is one whose unit has another record before it.
 *
 * @category model
 * @since 0.1.0
 */
export interface Records {
  readonly ofSteps: ReadonlyArray<CompletedStep | undefined>
  readonly ofGroups: ReadonlyMap<number, ReadonlyMap<string, CompletedStep>>
  readonly twice: CompletedStep | undefined
}

/**
 * The records of a checkpoint by place.
 *
 * @category constructors
 * @since 0.1.0
 */
export const recordsOf = ({ completedSteps, workflow }: Checkpoint): Records => {
  const ofSteps = new Array<CompletedStep | undefined>(workflow.steps.length).fill(undefined)
  const ofGroups = new Map<number, Map<string, CompletedStep>>()
  let twice: CompletedStep | undefined
  for (const record of completedSteps) {
    const { stepIndex, group } = record
    if (group === undefined) {
      if (ofSteps[stepIndex] !== undefined) twice ??= record
      if (stepIndex < ofSteps.length) ofSteps[stepIndex] = record
      continue
    }
    const groups = ofGroups.get(stepIndex)
    if (groups === undefined) ofGroups.set(stepIndex, new Map([[group, record]]))
    else if (groups.has(group)) twice ??= record
    else groups.set(group, record)
  }
  return { ofSteps, ofGroups, twice }
}

/**
 * The record of a step, or of one of its groups, if it has one.
 *
 * @category destructors
 * @since 0.1.0
 */
export const recordAt = (
  self: Records,
  stepIndex: number | undefined,
  group: string | undefined
): CompletedStep | undefined => {
  if (stepIndex === undefined) return undefined
  return group === undefined ? self.ofSteps[stepIndex] : self.ofGroups.get(stepIndex)?.get(group)
}

/**
 * Whether a step is completed, or some group of it.
 *
 * @category destructors
 * @since 0.1.0
 */
export const hasBegun = (self: Records, stepIndex: number | undefined): boolean =>
  stepIndex !== undefined && (self.ofSteps[stepIndex] !== undefined || self.ofGroups.has(stepIndex))

/**
 * Finds steps by name, looking first at the index where one is expected.
 *
 * @category destructors
 * @since 0.1.0
 */
export const finderIn = (
  steps: ReadonlyArray<{ readonly name: string }>
): ((name: string, expected: number) => number | undefined) => {
  let indices: ReadonlyMap<string, number> | undefined
  return (name, expected) => {
    if (steps[expected]?.name === name) return expected
    indices ??= new Map(steps.map((step, index) => [step.name, index]))
    return indices.get(name)
  }
}
