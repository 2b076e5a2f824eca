/**
 * Computes what a plan demands of each unit before its record is read, on each level from the root. In a sequence, steps before `fromStep`
 * count as done, and a step that runs again makes all later ones run again. In a wave, the groups that `fromStep` needs count as done, and
 * a group that runs again makes the groups that need it run again. If `restartWave` names a composite before `fromStep`, it does not count
 * as done: the plan starts with it.
 */
import { indexOfStep } from '../data/indexed.js'
import type { Items } from '../checkpoint/Items.js'
import { needing, neededBy } from '../workflow/needs.js'
import type { RunReason } from './Plan.js'
import type { Node } from '../workflow/Node.js'
import { find, partNamed } from '../checkpoint/Tree.js'
import { listedParts } from '../workflow/Node.js'
import type { Unit } from '../workflow/Unit.js'
import { ancestors, childToward, fromTop, join, nameOf } from '../workflow/Unit.js'
import type { Wave, Workflow } from '../workflow/Workflow.js'

/** The demand on a unit and all its parts: `assumed` counts it as done; a reason makes it run again; `none` leaves it to its record. */
export type Demand = 'none' | 'assumed' | RunReason

/**
 * Detects a reason that applies whatever the evidence of the unit is. Any other reason comes from the evidence of a composite around the
 * unit, and gives way to missing or changed evidence of the unit itself.
 */
export const isRerun = (demand: Demand): demand is RunReason =>
  typeof demand === 'object' && (demand._tag === 'Forced' || demand._tag === 'EarlierStepRunsAgain')

/** Detects that an option forces the unit to run. */
export const isForcedBy = (demand: Demand): boolean => typeof demand === 'object' && demand._tag === 'Forced'

/**
 * The units that options and evidence name.
 *
 * - `from`: the unit to run from (`fromStep`); `restart`: the sequence, wave or map to restart (`restartWave`).
 * - `rerun`: composites whose own evidence makes all their parts run again.
 * - `again`: all units whose evidence makes the units after them run again; includes those of `rerun`.
 */
export interface PlanTargets {
  readonly from: Unit | undefined
  readonly restart: Unit | undefined
  readonly rerun: ReadonlyMap<Unit, RunReason>
  readonly again: Iterable<Unit>
}

type OfPart = (index: number, name: string) => Demand

export interface Demands {
  /** The demands on the parts of a composite, given the demand on the whole. `parent`: undefined for the top-level steps. */
  readonly ofParts: (parent: Unit | undefined, composite: Node, demand: Demand) => OfPart
  /** The demand on a unit; on one that does not exist, that on its innermost existing ancestor. */
  readonly of: (unit: Unit) => Demand
}

export const demandsOf = (workflow: Workflow, items: Items, targets: PlanTargets): Demands => {
  const touched = new Set<Unit>()
  for (const unit of targets.again) for (const one of fromTop(unit)) touched.add(one)
  const isPlain = targets.from === undefined && targets.restart === undefined && touched.size === 0
  const levels = new Map<Unit | undefined, OfPart>()
  const isFirst = isRestartFirst(workflow, items, targets)
  const make: Demands['ofParts'] = (parent, composite, demand) => {
    const whole = demand !== 'none' || parent === undefined ? demand : (targets.rerun.get(parent) ?? demand)
    if (whole !== 'none') return ofAllParts(composite, parent, whole)
    const { from, restart } = targets
    const childOf = (target: Unit | undefined): Unit | undefined => target && childToward(parent, target)
    const [toFrom, toRestart] = [childOf(from), childOf(restart)]
    const isBefore = isFirst && toRestart !== undefined && toFrom === undefined
    const level = { ...targets, toFrom, toRestart, isBefore, parent, touched }
    if (composite.each !== undefined) return inMap(level)
    const parts = listedParts(composite)
    return composite.groups === undefined ? inSequence(parts, level) : inWave(parts as Wave['groups'], level)
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
    for (const one of fromTop(unit)) {
      const name = nameOf(one)
      const part = partNamed(composite, parent ?? '', name, items)
      if (part === undefined) return demand
      demand = ofParts(parent, composite, demand)(indexOfStep(listedParts(composite), name) ?? -1, name)
      composite = part
      parent = one
    }
    return demand
  }
  return { ofParts, of }
}

const FORCED: RunReason = { _tag: 'Forced' }

const after = (step: Unit): RunReason => ({ _tag: 'EarlierStepRunsAgain', step })

/** Evidence of a sequence itself makes its first step run again, and the others follow. */
const ofAllParts = ({ steps }: Node, parent: Unit | undefined, demand: Demand): OfPart => {
  const first = steps?.[0]
  if (demand === 'assumed' || isRerun(demand) || first === undefined) return () => demand
  const later = after(join(parent, first.name))
  return (index) => (index <= 0 ? demand : later)
}

/**
 * The targets as seen from a composite. `toFrom`, `toRestart`: its part that is, or contains, that target. `isBefore`: the composite is
 * before the unit to run from, and counts as done up to the composite in it that is restarted. `touched`: the units of `again` and their
 * ancestors.
 */
interface LevelTargets extends PlanTargets {
  readonly parent: Unit | undefined
  readonly toFrom: Unit | undefined
  readonly toRestart: Unit | undefined
  readonly isBefore: boolean
  readonly touched: ReadonlySet<Unit>
}

/** Returns whether the composite to restart is before the unit to run from. */
const isRestartFirst = (workflow: Workflow, items: Items, { from, restart }: PlanTargets): boolean => {
  if (from === undefined || restart === undefined) return false
  const around = new Set<Unit | undefined>(ancestors(from))
  const parent = [...ancestors(restart)].find((one) => around.has(one))
  const [toFrom, toRestart] = [childToward(parent, from), childToward(parent, restart)]
  if (toFrom === undefined || toRestart === undefined || toFrom === toRestart) return false
  const composite = parent === undefined ? workflow : find<Node>(workflow, items, parent)?.definition
  if (composite === undefined || 'each' in composite) return false
  if ('groups' in composite)
    return neededBy(composite.groups as Wave['groups'], [nameOf(toFrom)]).has(nameOf(toRestart))
  const [index, restarted] = [toFrom, toRestart].map((unit) => indexOfStep(composite.steps ?? [], nameOf(unit)) ?? -1)
  return index !== undefined && restarted !== undefined && restarted < index
}

const inSequence = (
  steps: ReadonlyArray<Node>,
  { parent, from, restart, toFrom, toRestart, isBefore, touched }: LevelTargets
): OfPart => {
  const indexOf = (unit: Unit | undefined): number =>
    unit === undefined ? Infinity : (indexOfStep(steps, nameOf(unit)) ?? Infinity)
  const restarted = indexOf(toRestart)
  const start = toFrom === undefined && !isBefore ? Infinity : Math.min(indexOf(toFrom), restarted)
  const isTarget = (index: number): boolean =>
    (toFrom === from && index === indexOf(toFrom)) || (toRestart === restart && index === restarted)
  if (start !== Infinity)
    return (index) => (index < start ? 'assumed' : index === start && !isTarget(index) ? 'none' : FORCED)
  const again = touched.size === 0 ? -1 : steps.findIndex(({ name }) => touched.has(join(parent, name)))
  const first = Math.min(restarted, again === -1 ? Infinity : again)
  const reason = after(join(parent, steps[first]?.name ?? ''))
  return (index) => {
    if (index === restarted && toRestart === restart) return FORCED
    return index > first ? reason : 'none'
  }
}

const inWave = (
  groups: Wave['groups'],
  { parent, from, restart, toFrom, toRestart, isBefore, touched }: LevelTargets
): OfPart => {
  const demands = new Map<string, Demand>()
  const again = groups.filter(({ name }) => touched.has(join(parent, name)))
  const restarted = toRestart === undefined ? [] : [nameOf(toRestart)]
  const causes = new Set([...again.map(({ name }) => name), ...restarted])
  const [cause = ''] = causes
  // A reason names one unit: the group that runs again, or, if there are several, the wave.
  const reason = after(parent === undefined || causes.size === 1 ? join(parent, cause) : parent)
  for (const name of needing(groups, [...causes])) demands.set(name, reason)
  // A task whose own evidence is missing or changed keeps that reason.
  for (const { _tag, name } of again) if (_tag === 'Task') demands.delete(name)
  const before = toFrom === undefined ? new Set<string>() : neededBy(groups, [nameOf(toFrom)])
  for (const name of before) demands.set(name, 'assumed')
  if (isBefore || restarted.some((name) => before.has(name))) {
    for (const name of restarted) demands.set(name, 'none')
    for (const name of needing(groups, restarted)) demands.set(name, FORCED)
  }
  if (toFrom !== undefined) for (const name of needing(groups, [nameOf(toFrom)])) demands.set(name, FORCED)
  for (const [toward, target] of [
    [toFrom, from],
    [toRestart, restart]
  ])
    if (toward !== undefined && toward === target) demands.set(nameOf(toward), FORCED)
  return (_, name) => demands.get(name) ?? (isBefore ? 'assumed' : 'none')
}

const inMap = ({ parent, from, restart, toFrom, toRestart, isBefore }: LevelTargets): OfPart => {
  return (_, name) => {
    const item = join(parent, name)
    if ((toFrom === from && toFrom === item) || (toRestart === restart && toRestart === item)) return FORCED
    return isBefore && toRestart !== item ? 'assumed' : 'none'
  }
}
