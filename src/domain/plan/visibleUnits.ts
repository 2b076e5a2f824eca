/**
 * Computes which units a unit sees: earlier siblings of itself and of its ancestors; in a wave the groups that it needs, directly or
 * through others. Other completed units depend on timing, and would differ after a resume.
 */
import { indexOfStep } from '../data/indexed.js'
import type { Items } from '../checkpoint/Items.js'
import { neededBy } from '../workflow/needs.js'
import { partNamed } from '../checkpoint/Tree.js'
import { listedParts } from '../workflow/Node.js'
import type { Unit } from '../workflow/Unit.js'
import { childToward, fromTop, nameOf, parent } from '../workflow/Unit.js'
import type { Group, Step, Workflow } from '../workflow/Workflow.js'

/** One level on the path to a unit: the parts of a composite that the unit sees, by name. */
export interface VisibleParts {
  readonly parent: Unit | undefined
  readonly composite: Workflow | Step
  /** The part that the unit is or is part of. */
  readonly toward: string
  readonly sees: (name: string) => boolean
  /** The names of the visible parts, in order. */
  readonly seen: () => ReadonlyArray<string>
}

/** Returns the levels on the path to a unit, from the top. */
export const levelsOf = (workflow: Workflow, items: Items, unit: Unit): ReadonlyArray<VisibleParts> => {
  const levels: Array<VisibleParts> = []
  let composite: Workflow | Step = workflow
  let parent: Unit | undefined
  for (const one of fromTop(unit)) {
    const toward = nameOf(one)
    levels.push(levelOf(composite, parent, toward))
    const part: Workflow | Step | undefined = partNamed<Workflow | Step>(composite, parent ?? '', toward, items)
    if (part === undefined) break
    composite = part
    parent = one
  }
  return levels
}

const levelOf = (composite: Workflow | Step, parent: Unit | undefined, toward: string): VisibleParts => {
  const parts = listedParts<Workflow | Step>(composite)
  if ('groups' in composite) {
    let needed: ReadonlySet<string> | undefined
    const all = (): ReadonlySet<string> => (needed ??= neededBy(parts as ReadonlyArray<Group>, [toward]))
    const seen = (): ReadonlyArray<string> => parts.map(({ name }) => name).filter((name) => all().has(name))
    return { parent, composite, toward, sees: (name) => all().has(name), seen }
  }
  const index = indexOfStep(parts, toward) ?? 0
  return {
    parent,
    composite,
    toward,
    sees: (name) => (indexOfStep(parts, name, index - 1) ?? Infinity) < index,
    seen: () => parts.slice(0, index).map(({ name }) => name)
  }
}

/** Returns a predicate for the units that a unit sees, parts included. */
export const visibleFrom = (workflow: Workflow, items: Items, unit: Unit): ((other: Unit) => boolean) => {
  const levels = levelsOf(workflow, items, unit)
  return (other) => {
    for (const { parent, toward, sees } of levels) {
      const part = childToward(parent, other)
      if (part === undefined) return false
      const name = nameOf(part)
      if (name !== toward) return sees(name)
    }
    return false
  }
}

/** Returns the items that contain a unit, as paths, outermost first. */
export const itemsAround = (items: Items, unit: Unit): ReadonlyArray<Unit> => {
  if (items.size === 0) return NONE
  const found: Array<Unit> = []
  for (let [part, map] = [unit, parent(unit)]; map !== undefined; [part, map] = [map, parent(map)])
    if (items.has(map)) found.unshift(part)
  return found
}

const NONE: ReadonlyArray<Unit> = []
