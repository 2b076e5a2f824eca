/** Finds what a plan repeats or overwrites, so that a user can agree to it first. */
import type { Checkpoint } from '../checkpoint/Checkpoint.js'
import { find } from '../checkpoint/Tree.js'
import * as Units from '../checkpoint/Units.js'
import type { Node } from '../workflow/Node.js'
import { mayReplace } from '../workflow/Node.js'
import type { Unit } from '../workflow/Unit.js'
import { ancestors, childToward, fromTop, isWithin, parent } from '../workflow/Unit.js'
import type { Step, Workflow } from '../workflow/Workflow.js'
import type { StepIdentity } from '../workflow/WorkflowIdentity.js'
import type { EvidenceChanged } from './changedEvidence.js'
import { planEvidence } from './changedEvidence.js'
import { demandsOf } from './demands.js'
import type { Confirm, Decision, FoundEvidence, PlanOptions, ResumePlan, Run } from './Plan.js'
import type { SubStepsByTask } from './subSteps.js'
import { allInDoubt, nonIdempotentSubSteps, subStepsOf } from './subSteps.js'

export type Overwrite = Confirm & { readonly reason: EvidenceChanged }

/** The plan of a checkpoint, and what it was made with. */
export interface PlanOf {
  readonly checkpoint: Checkpoint
  readonly options: PlanOptions
  readonly plan: ResumePlan
}

/** Returns the units that an override forces to run. */
export const forcedUnits = ({ decisions }: ResumePlan): ReadonlyArray<Decision> =>
  decisions.filter(({ reason }) => reason._tag === 'Forced')

/** Returns the forced units that would overwrite a user's changes, unless their answer is `again`. */
export const overwritesOf = (
  workflow: Workflow,
  { checkpoint, options, plan }: PlanOf,
  evidence: ReadonlyArray<FoundEvidence>
): ReadonlyArray<Overwrite> => {
  const noTargets = { from: undefined, restart: undefined, rerun: new Map(), again: [] }
  const demands = demandsOf(workflow, checkpoint.items, noTargets)
  const { changedByUser } = planEvidence(checkpoint, workflow, { evidence }, demands)
  const isMap = ({ unit }: Decision): boolean => find<Step>(workflow, checkpoint.items, unit)?.definition._tag === 'Map'
  const decided = new Set(plan.decisions.map(({ unit }) => unit))
  return forcedUnits(plan).flatMap((decision): ReadonlyArray<Overwrite> => {
    const name = decision.unit
    if (options.confirm?.get(name)?._tag === 'Again') return []
    const changed = [...changedByUser].flatMap(([unit, reason]) =>
      unit === name || (isMap(decision) && fromTop(unit).findLast((one) => decided.has(one)) === name)
        ? reason.changed
        : []
    )
    const { stepIndex, summary, fingerprint } = decision
    const of = { unit: name, stepIndex, summary, fingerprint }
    return changed.length === 0 ? [] : [{ _tag: 'Confirm', ...of, reason: { _tag: 'EvidenceChanged', changed } }]
  })
}

/** Returns whether decisions about the parts of a unit follow its own. */
const hasParts = ({ decisions }: ResumePlan, index: number): boolean => {
  const [unit, next] = [decisions[index]?.unit, decisions[index + 1]?.unit]
  return unit !== undefined && next !== undefined && parent(next) === unit
}

/**
 * Of the units inside a decided one, returns those that no decision about its parts covers, such as the items of a former map. If the unit
 * has parts now, it is returned itself only if it was a task without recorded sub-steps.
 */
const uncoveredIn = (
  plan: ResumePlan,
  checkpoint: Checkpoint
): ((index: number, inside: ReadonlyArray<Units.OfUnit>) => ReadonlyArray<Unit>) => {
  let subSteps: SubStepsByTask | undefined
  const wasTask = (unit: Unit): boolean => {
    subSteps ??= subStepsOf(checkpoint)
    return find(checkpoint.workflow, checkpoint.items, unit)?.definition._tag === 'Task' && !subSteps.has(unit)
  }
  return (index, inside) => {
    const all = inside.map(({ unit }) => unit)
    if (all.length === 0 || !hasParts(plan, index)) return all
    const { unit } = plan.decisions[index] as Decision
    const parts = new Set<Unit>()
    for (let at = index + 1; isWithin(plan.decisions[at]?.unit ?? '', unit); at++)
      parts.add((plan.decisions[at] as Decision).unit)
    return all.filter((one) => (one === unit ? wasTask(unit) : !parts.has(childToward(unit, one) ?? '')))
  }
}

/**
 * Returns the completed units that a plan runs again: the parts of a composite instead of the composite, unless the parts that ran have no
 * decision. A plan has no parts of a map whose items are computed again: such a map is returned if it completed, else its completed items,
 * each with the decision of the map.
 */
export const runsAgain = (plan: ResumePlan, checkpoint: Checkpoint): ReadonlyArray<Run> => {
  const uncovered = uncoveredIn(plan, checkpoint)
  return plan.decisions.flatMap((decision, index) => {
    if (decision._tag !== 'Run' || decision.reason._tag === 'NotStarted') return []
    const inside = uncovered(index, Units.within(checkpoint.completedSteps, decision.unit))
    if (inside.length > 0 && hasParts(plan, index)) return [decision]
    return outermost(inside).map((unit) => ({ ...decision, unit }))
  })
}

/**
 * What a resume does a second time.
 *
 * - `completed`: the completed units that run again.
 * - `harmful`: those of them that are not idempotent, and completed ones that a new step may repeat ({@link removedIn}), unless their answer is
 *   `again`.
 * - `inDoubt`: such units that may have taken effect: forced ones, and those that a new step may repeat.
 */
export interface Repeats {
  readonly completed: ReadonlyArray<Unit>
  readonly harmful: ReadonlyArray<Unit>
  readonly inDoubt: ReadonlyArray<Unit>
}

/** A step is idempotent only if its recorded definition says so, too. */
export const repeatsOf = (workflow: Workflow, { checkpoint, options, plan }: PlanOf): Repeats => {
  const completed = runsAgain(plan, checkpoint).map(({ unit }) => unit)
  const jobs = Units.all(checkpoint.pending).flatMap(({ _tag, unit }) => (_tag === 'Job' ? [unit] : []))
  const doubts = Units.from([...allInDoubt(checkpoint), ...jobs].map((unit) => ({ unit })))
  const uncovered = uncoveredIn(plan, checkpoint)
  const once = new Set(nonIdempotentSubSteps(checkpoint))
  const isOnce = (unit: Unit): boolean =>
    once.has(unit) ||
    [workflow, checkpoint.workflow].some(
      (one) => find<Node>(one, checkpoint.items, unit)?.definition.idempotent === false
    )
  const isWithinOnce = (unit: Unit): boolean => fromTop(unit).some(isOnce)
  const inDoubt: Array<Unit> = []
  /** A map whose items are computed again, or a task that was a wave, stands for what acted inside. */
  const standsFor = new Set<Unit>()
  plan.decisions.forEach(({ _tag, unit, reason }, index) => {
    if (_tag !== 'Run' || reason._tag === 'NotStarted') return
    const doubted = uncovered(index, Units.within(doubts, unit))
    // To a plan, a flag is consent: it asks nothing.
    if (doubted.length > 0 && reason._tag === 'Forced') inDoubt.push(unit)
    for (const one of [...doubted, ...uncovered(index, Units.within(checkpoint.completedSteps, unit))]) {
      if (isWithinOnce(one)) for (const above of fromTop(one)) if (isWithin(above, unit)) standsFor.add(above)
    }
  })
  // An answer about a map covers its items.
  const isHarmful = (unit: Unit): boolean => {
    const isAnswered = fromTop(unit).some((one) => options.confirm?.get(one)?._tag === 'Again')
    return (standsFor.has(unit) || isWithinOnce(unit)) && !isAnswered
  }
  const removed = removedIn(workflow, { checkpoint, plan })
  const withRemoved = (units: ReadonlyArray<Unit>, all: Units.Units<Units.OfUnit>): ReadonlyArray<Unit> => [
    ...new Set(outermost([...units.filter(isHarmful), ...removed(all).filter(isHarmful).map(mapAround(checkpoint))]))
  ]
  const harmful = withRemoved(completed, checkpoint.completedSteps)
  const doubted = withRemoved(inDoubt, doubts)
  return { completed, harmful, inDoubt: doubted.filter((unit) => !harmful.includes(unit)) }
}

/** Returns the units without those that are inside another one. */
export const outermost = (units: ReadonlyArray<Unit>): ReadonlyArray<Unit> => {
  const all = new Set(units)
  return units.filter((unit) => ![...ancestors(unit)].some((above) => all.has(above)))
}

/** Names the map in place of an item or its parts. */
const mapAround =
  ({ items }: Checkpoint) =>
  (unit: Unit): Unit =>
    fromTop(unit).find((one) => items.has(one)) ?? unit

/** Returns the units that an edit removed, if a step that may do the same runs because of a flag or an earlier step. */
const removedIn = (
  workflow: Workflow,
  { checkpoint, plan }: Pick<PlanOf, 'checkpoint' | 'plan'>
): ((units: Units.Units<Units.OfUnit>) => ReadonlyArray<Unit>) => {
  const was = (unit: Unit): StepIdentity | undefined => find(checkpoint.workflow, checkpoint.items, unit)?.definition
  const now = (unit: Unit): Step | undefined => find<Step>(workflow, checkpoint.items, unit)?.definition
  const isAdded = ({ _tag, unit, reason }: Decision): boolean => {
    if (_tag !== 'Run' || reason._tag === 'NotStarted') return false
    const definition = now(unit)
    return definition !== undefined && mayReplace(was(unit), definition)
  }
  if (!plan.decisions.some(isAdded)) return () => []
  return (units) =>
    Units.all(units).flatMap(({ unit }) => (was(unit) !== undefined && now(unit) === undefined ? [unit] : []))
}
