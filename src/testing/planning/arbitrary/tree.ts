/** The units of a workflow and their relative positions. Knows nothing of plans. */
import * as E from 'fp-ts/lib/Either.js'
import type { Checkpoint } from '../../../domain/checkpoint/Checkpoint.js'
import type { Items } from '../../../domain/checkpoint/Items.js'
import { none } from '../../../domain/checkpoint/Items.js'
import { find } from '../../../domain/checkpoint/Tree.js'
import type { Unit } from '../../../domain/workflow/Unit.js'
import { isWithin, join, names } from '../../../domain/workflow/Unit.js'
import type { Group, MapStep, Step, Task, Wave, Workflow } from '../../../domain/workflow/Workflow.js'
import { task } from '../../../domain/workflow/Workflow.js'
import { isIdempotent, listedParts } from '../../../domain/workflow/Node.js'

export interface Placed {
  readonly unit: Unit
  readonly stepIndex: number
  readonly step: Step
}

/** An expanded map as groups. */
export const groupsOf = ({ each }: MapStep, keys: ReadonlyArray<string>): ReadonlyArray<Group> =>
  keys.map((name) => ({ ...each, name, needs: [] }))

/** All units in document order. A map has no parts until its items are known. */
export const unitsIn = ({ steps }: Pick<Workflow, 'steps'>, items: Items = none): ReadonlyArray<Placed> => {
  const found: Array<Placed> = []
  const visit = (step: Step, unit: Unit, stepIndex: number): void => {
    found.push({ unit, stepIndex, step })
    for (const part of partsAt(step, unit, items)) visit(part, join(unit, part.name), stepIndex)
  }
  for (const [stepIndex, step] of steps.entries()) visit(step, step.name, stepIndex)
  return found
}

const partsAt = (step: Step, unit: Unit, items: Items): ReadonlyArray<Step> => {
  if (step._tag === 'Task') return []
  if (step._tag !== 'Map') return listedParts<Step>(step)
  return groupsOf(
    step,
    (items.get(unit) ?? []).map(({ key }) => key)
  )
}

/** Detects the path of a simulated sub-step. Names of units have no spaces, and neither have the keys of simulated items. */
export const isSubStep = (unit: Unit): boolean => unit.includes('%20')

/** A composite as one task without an output, for questions about all of it. */
export const wholeOf = (composite: Exclude<Step, Task>): Task => {
  const { name } = composite
  const whole = task(name, { idempotent: isIdempotent(composite), accepts: nothing })
  const isLeaf = composite._tag === 'Map' && composite.each._tag === 'Task'
  return isLeaf ? { ...whole, artifactPaths: composite.each.artifactPaths } : whole
}

const nothing: Task['accepts'] = (output) =>
  output === undefined ? E.right(undefined) : E.left({ path: '$', expected: 'nothing' })

/** `around`: an ancestor. `beside`: neither waits for the other. */
export type Place = 'within' | 'around' | 'before' | 'after' | 'beside'

/** The position of a unit relative to another, by their innermost common composite. */
export const placeOf = (
  { checkpoint, workflow }: { readonly checkpoint: Checkpoint; readonly workflow: Workflow },
  unit: Unit,
  other: Unit
): Place => placeIn(workflow, checkpoint.items, unit, other)

export const placeIn = (workflow: Workflow, items: Items, unit: Unit, other: Unit): Place => {
  if (isWithin(unit, other)) return 'within'
  if (isWithin(other, unit)) return 'around'
  const [here, there] = [names(unit), names(other)]
  const depth = here.findIndex((name, index) => name !== there[index])
  const [one, two] = [here[depth] as string, there[depth] as string]
  const above = here.slice(0, depth).reduce<Unit | undefined>((parent, name) => join(parent, name), undefined)
  const composite = above === undefined ? workflow : find<Step>(workflow, items, above)?.definition
  if (composite === undefined || 'each' in composite) return 'beside'
  if ('groups' in composite)
    return needs(composite, two, one) ? 'before' : needs(composite, one, two) ? 'after' : 'beside'
  const order = 'steps' in composite ? composite.steps.map(({ name }) => name) : []
  return order.indexOf(one) < order.indexOf(two) ? 'before' : 'after'
}

export const needs = (wave: Pick<Wave, 'groups'>, name: string, other: string): boolean =>
  wave.groups.some(
    (group) => group.name === name && group.needs.some((one) => one === other || needs(wave, one, other))
  )
