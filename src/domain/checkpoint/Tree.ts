/** Finds units in a workflow or in its recorded identity. */
import { indexed, indexOfStep } from '../data/indexed.js'
import type { Fields } from './Checkpoint.js'
import type { CompletedStep } from './CompletedStep.js'
import type { Items } from './Items.js'
import { get } from './Items.js'
import * as Units from './Units.js'
import type { Node } from '../workflow/Node.js'
import { isComposite, listedParts } from '../workflow/Node.js'
import type { Unit } from '../workflow/Unit.js'
import { ancestors, childToward, isJoined, join, nameOf, top } from '../workflow/Unit.js'

/** A unit found in a tree: its definition, its top-level step and that step's index. */
export interface FoundUnit<N> {
  readonly definition: N
  readonly step: N
  readonly stepIndex: number
}

/** Returns the names of the parts of a unit in order, for a map the keys of its recorded items; `undefined` if these are missing. */
export const partNames = (node: Node, unit: Unit, items: Items): ReadonlyArray<string> | undefined =>
  node.each === undefined ? listedParts(node).map(({ name }) => name) : items.get(unit)?.map(({ key }) => key)

/** Returns the definition of a part by name. All items of a map have the same definition. */
export const partNamed = <N extends Node>(node: N, unit: Unit, name: string, items: Items): N | undefined => {
  if (node.each !== undefined) return get(items, unit, name) === undefined ? undefined : (node.each as N)
  const parts = listedParts(node)
  return parts.length === 0 ? undefined : indexed(parts, nameOfNode).get(name)
}

const nameOfNode = ({ name }: Node): string => name

/** Finds a unit by its path. `expected`: the usual index of its top-level step. */
export const find = <N extends Node>(
  { steps }: { readonly steps: ReadonlyArray<N> },
  items: Items,
  unit: Unit,
  expected = 0
): FoundUnit<N> | undefined => {
  const name = top(unit)
  const stepIndex = indexOfStep(steps, name, expected)
  const step = stepIndex === undefined ? undefined : steps[stepIndex]
  if (stepIndex === undefined || step === undefined) return undefined
  const definition = unit === name ? step : findIn(step, items, unit)
  return definition === undefined ? undefined : { definition, step, stepIndex }
}

/** Finds a unit by its path in its top-level step. */
export const findIn = <N extends Node>(step: N, items: Items, unit: Unit): N | undefined => {
  let definition = step
  let above = top(unit)
  for (let path = childToward(above, unit); path !== undefined; path = childToward(above, unit)) {
    const part = partNamed(definition, above, nameOf(path), items)
    if (part === undefined || !isJoined(path)) return undefined
    definition = part
    above = path
  }
  return definition
}

/** Finds the task of a sub-step, and its path. `expected`: as in {@link find}. */
export const taskAround = <N extends Node>(
  tree: { readonly steps: ReadonlyArray<N> },
  items: Items,
  unit: Unit,
  expected = 0
): (FoundUnit<N> & { readonly unit: Unit }) | undefined => {
  for (const above of ancestors(unit)) {
    const found = find(tree, items, above, expected)
    if (found !== undefined) return isComposite(found.definition) ? undefined : { ...found, unit: above }
  }
  return undefined
}

/** Finds a unit, or the task of a sub-step. `expected`: as in {@link find}. */
export const findOrTask = <N extends Node>(
  tree: { readonly steps: ReadonlyArray<N> },
  items: Items,
  unit: Unit,
  expected = 0
): FoundUnit<N> | undefined => find(tree, items, unit, expected) ?? taskAround(tree, items, unit, expected)

/** The record of a part that ran, and its definition. */
export interface RecordedPart {
  readonly record: CompletedStep
  readonly definition: Node
}

/** Returns the direct parts of a composite that ran and completed; assumed ones did not run. */
export const recordedParts = (
  { completedSteps, items }: Pick<Fields, 'completedSteps' | 'items'>,
  unit: Unit,
  composite: Node
): ReadonlyArray<RecordedPart> =>
  (partNames(composite, unit, items) ?? []).flatMap((name) => {
    const record = Units.get(completedSteps, join(unit, name))
    const definition = partNamed(composite, unit, name, items)
    return record === undefined || record.assumed === true || definition === undefined ? [] : [{ record, definition }]
  })
