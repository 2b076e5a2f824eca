/** Finds what a plan repeats or overwrites, so that a user can agree to it first. */
import type { Checkpoint } from '../checkpoint/Checkpoint.js'
import { find } from '../checkpoint/Tree.js'
import { nonIdempotent } from '../workflow/Node.js'
import type { Unit } from '../workflow/Unit.js'
import { ancestors, fromTop, isWithin } from '../workflow/Unit.js'
import type { Step, Workflow } from '../workflow/Workflow.js'
import { toWorkflow } from '../workflow/WorkflowIdentity.js'
import type { EvidenceChanged } from './changedEvidence.js'
import { planEvidence } from './changedEvidence.js'
import { demandsOf } from './demands.js'
import type { Confirm, Decision, FoundEvidence, PlanOptions, ResumePlan } from './Plan.js'
import { runsAgain, uncovered } from './Plan.js'
import { allInDoubt, nonIdempotentSubSteps } from './subSteps.js'

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

/** Returns the forced units whose changes by the user no answer covers. */
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

/**
 * What a resume does a second time.
 *
 * - `completed`: the completed units that run again.
 * - `harmful`: those of them that are not idempotent, unless their answer is `again`.
 * - `inDoubt`: forced units that are not idempotent and may have taken effect, unless their answer is `again`.
 */
export interface Repeats {
  readonly completed: ReadonlyArray<Unit>
  readonly harmful: ReadonlyArray<Unit>
  readonly inDoubt: ReadonlyArray<Unit>
}

/** A step is idempotent only if its recorded definition says so, too. */
export const repeatsOf = (workflow: Workflow, { checkpoint, options, plan }: PlanOf): Repeats => {
  const completed = runsAgain(plan, checkpoint).map(({ unit }) => unit)
  const doubted = forcedInDoubt(plan, checkpoint)
  const due = new Set([...completed, ...doubted])
  const recorded = [...nonIdempotent(toWorkflow(checkpoint.workflow)), ...nonIdempotentSubSteps(checkpoint)]
  const actsTwice = new Set([...nonIdempotent(workflow), ...recorded])
  const once = new Set(recorded)
  const acted = [...[...checkpoint.completedSteps].map(({ unit }) => unit), ...allInDoubt(checkpoint)]
  const isUnlisted = (unit: Unit): boolean => !due.has(unit) && [unit, ...ancestors(unit)].some((one) => once.has(one))
  // A map whose items are computed again, or a task that was a wave, stands for what acted inside and is not listed itself.
  const standsFor = new Set(
    acted.filter(isUnlisted).flatMap((unit) => [...ancestors(unit)].filter((one) => due.has(one)))
  )
  // An answer about a map covers its items.
  const isHarmful = (unit: Unit): boolean => {
    const around = [unit, ...ancestors(unit)]
    const isOnce = standsFor.has(unit) || around.some((one) => actsTwice.has(one))
    return isOnce && !around.some((one) => options.confirm?.get(one)?._tag === 'Again')
  }
  const harmful = completed.filter(isHarmful)
  return { completed, harmful, inDoubt: doubted.filter((unit) => isHarmful(unit) && !harmful.includes(unit)) }
}

/** The units in doubt that a flag runs again: the plan takes the flag for consent, and asks nothing. */
const forcedInDoubt = (plan: ResumePlan, checkpoint: Checkpoint): ReadonlyArray<Unit> => {
  const doubts = allInDoubt(checkpoint)
  return plan.decisions.flatMap(({ _tag, unit, reason }, index) => {
    if (_tag !== 'Run' || reason._tag !== 'Forced') return []
    const inside = doubts.filter((one) => isWithin(one, unit))
    return uncovered(plan, index, inside).length === 0 ? [] : [unit]
  })
}
