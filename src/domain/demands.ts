/**
 * What a plan demands of each unit before the unit's own record is looked at. On each level from the root: in a sequence what comes
 * before the step to run from counts as done, and what follows a step that runs again does too; in a wave this holds for the groups
 * that it needs, and for those that need it.
 *
 * @since 0.1.0
 */
import { indexOfStep } from './indexed.js'
import type { Items } from './Items.js'
import { needing, neededBy } from './needs.js'
import type { RunReason } from './Plan.js'
import type { Node } from './Tree.js'
import { listedParts, partNamed } from './Tree.js'
import type { Unit } from './Unit.js'
import { ancestors, isWithin, join, nameOf, top } from './Unit.js'
import type { Wave, Workflow } from './Workflow.js'

/**
 * What is demanded of a unit and of all that is part of it: that it counts as done, that it runs again, or neither.
 *
 * @category model
 * @since 0.1.0
 */
export type Demand = 'none' | 'assumed' | RunReason

/** Whether all of a unit is done anew, whatever evidence it has. */
export const isAnew = (demand: Demand): demand is RunReason =>
  typeof demand === 'object' && (demand._tag === 'Forced' || demand._tag === 'EarlierStepRunsAgain')

/**
 * What a plan was asked for.
 *
 * - `from`: the unit from which all runs; `restart`: the wave or map that runs anew.
 * - `due`: composites whose own evidence makes all their parts run again.
 * - `again`: units of which recorded work runs again, because of its evidence.
 *
 * @category model
 * @since 0.1.0
 */
export interface Asked {
  readonly from: Unit | undefined
  readonly restart: Unit | undefined
  readonly due: ReadonlyMap<Unit, RunReason>
  readonly again: Iterable<Unit>
}

/** What is demanded of a part of a composite, by its index and name. */
type OfPart = (index: number, name: string) => Demand

/**
 * The demands of a plan.
 *
 * @category model
 * @since 0.1.0
 */
export interface Demands {
  /** What is demanded of the parts of a composite, of which as a whole this is demanded; of top-level steps without one. */
  readonly ofParts: (parent: Unit | undefined, composite: Node, demand: Demand) => OfPart
  /** What is demanded of a unit; of one that does not exist, what is demanded of the innermost existing unit around it. */
  readonly of: (unit: Unit) => Demand
}

/**
 * The demands of a plan on the units of a workflow.
 *
 * @category constructors
 * @since 0.1.0
 */
export const demandsOf = (workflow: Workflow, items: Items, asked: Asked): Demands => {
  const touched = new Set<Unit>()
  for (const unit of asked.again) {
    touched.add(unit)
    for (const above of ancestors(unit)) touched.add(above)
  }
  const isPlain = asked.from === undefined && asked.restart === undefined && touched.size === 0
  const levels = new Map<Unit | undefined, OfPart>()
  const make: Demands['ofParts'] = (parent, composite, demand) => {
    if (demand !== 'none') return () => demand
    const own = parent === undefined ? undefined : asked.due.get(parent)
    if (own !== undefined) return () => own
    if (composite.each !== undefined) return inMap(parent, asked)
    const parts = listedParts(composite)
    return composite.groups === undefined
      ? inSequence(parts, parent, asked, touched)
      : inWave(parts as Wave['groups'], parent, asked, touched)
  }
  const ofParts: Demands['ofParts'] = (parent, composite, demand) => {
    if (isPlain) return () => demand
    const known = levels.get(parent) ?? make(parent, composite, demand)
    levels.set(parent, known)
    return known
  }
  const of = (unit: Unit): Demand => {
    if (isPlain) return 'none'
    let demand: Demand = 'none'
    let composite: Node = workflow
    let parent: Unit | undefined
    for (const one of [...ancestors(unit)].reverse().concat(unit)) {
      const name = nameOf(one)
      const part = partNamed(composite, parent ?? '', name, items)
      if (part === undefined) return demand
      demand = ofParts(parent, composite, demand)(indexOfStep(listedParts(composite), name, 0) ?? -1, name)
      composite = part
      parent = one
    }
    return demand
  }
  return { ofParts, of }
}

const FORCED: RunReason = { _tag: 'Forced' }

const after = (step: Unit): RunReason => ({ _tag: 'EarlierStepRunsAgain', step })

/** The part of a unit that a target is, or is part of. */
const partToward = (parent: Unit | undefined, target: Unit | undefined): Unit | undefined => {
  if (target === undefined || parent === undefined) return target === undefined ? undefined : top(target)
  if (target === parent || !isWithin(target, parent)) return undefined
  const end = target.indexOf('/', parent.length + 1)
  return end === -1 ? target : target.slice(0, end)
}

const inSequence = (
  steps: ReadonlyArray<Node>,
  parent: Unit | undefined,
  { from, restart }: Asked,
  touched: ReadonlySet<Unit>
): OfPart => {
  const indexOf = (unit: Unit | undefined): number =>
    unit === undefined ? Infinity : (indexOfStep(steps, nameOf(unit), 0) ?? Infinity)
  const [toFrom, toRestart] = [partToward(parent, from), partToward(parent, restart)]
  const restarted = indexOf(toRestart)
  // A wave that is restarted is not taken as done.
  const start = toFrom === undefined ? Infinity : Math.min(indexOf(toFrom), restarted)
  const isTarget = (index: number): boolean =>
    (toFrom === from && index === indexOf(toFrom)) || (toRestart === restart && index === restarted)
  if (start !== Infinity)
    return (index) => (index < start ? 'assumed' : index === start && !isTarget(index) ? 'none' : FORCED)
  const again = touched.size === 0 ? -1 : steps.findIndex(({ name }) => touched.has(join(parent, name)))
  const first = Math.min(restarted, again === -1 ? Infinity : again)
  const reason = first === Infinity ? FORCED : after(join(parent, steps[first]?.name ?? ''))
  return (index) => {
    if (index === restarted && toRestart === restart) return FORCED
    return index > first ? reason : 'none'
  }
}

const inWave = (
  groups: Wave['groups'],
  parent: Unit | undefined,
  { from, restart }: Asked,
  touched: ReadonlySet<Unit>
): OfPart => {
  const [toFrom, toRestart] = [partToward(parent, from), partToward(parent, restart)]
  const demands = new Map<string, Demand>()
  const again = groups.filter(({ name }) => touched.has(join(parent, name)))
  const seeds = [...again.map(({ name }) => name), ...(toRestart === undefined ? [] : [nameOf(toRestart)])]
  const reason = parent === undefined ? FORCED : after(parent)
  for (const name of needing(groups, seeds)) demands.set(name, reason)
  // Its own evidence tells more.
  for (const { _tag, name } of again) if (_tag === 'Task') demands.delete(name)
  if (toFrom !== undefined) {
    for (const name of neededBy(groups, [nameOf(toFrom)])) demands.set(name, 'assumed')
    for (const name of needing(groups, [nameOf(toFrom)])) demands.set(name, FORCED)
  }
  for (const [toward, target] of [
    [toFrom, from],
    [toRestart, restart]
  ])
    if (toward !== undefined && toward === target) demands.set(nameOf(toward), FORCED)
  return (_, name) => demands.get(name) ?? 'none'
}

/** No item needs another. */
const inMap = (parent: Unit | undefined, { from, restart }: Asked): OfPart => {
  const targets = [from, restart].flatMap((target) =>
    target !== undefined && partToward(parent, target) === target ? [nameOf(target)] : []
  )
  return (_, name) => (targets.includes(name) ? FORCED : 'none')
}
