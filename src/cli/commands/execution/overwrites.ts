/** Finds the user's changes that a forced run would overwrite, and the work that a run would repeat. */
import * as E from 'fp-ts/lib/Either.js'
import type { EvidenceChanged } from '../../../domain/plan/changedEvidence.js'
import { planEvidence } from '../../../domain/plan/changedEvidence.js'
import { demandsOf } from '../../../domain/plan/demands.js'
import { describeChanged } from '../../../domain/explain/Explain.js'
import { listed } from '../../../domain/data/listed.js'
import type { Confirm, Decision, PlanOptions, ResumePlan } from '../../../domain/plan/Plan.js'
import { hasParts, runsAgain } from '../../../domain/plan/Plan.js'
import { allInDoubt, harmfulSubSteps } from '../../../domain/plan/subSteps.js'
import type { Checkpoint } from '../../../domain/checkpoint/Checkpoint.js'
import { find } from '../../../domain/checkpoint/Tree.js'
import type { Unit } from '../../../domain/workflow/Unit.js'
import { ancestors, fromTop, isTop, isWithin } from '../../../domain/workflow/Unit.js'
import type { Step, Workflow } from '../../../domain/workflow/Workflow.js'
import { toWorkflow } from '../../../domain/workflow/WorkflowIdentity.js'
import { collectEvidence } from '../../../executor/workspace/evidence.js'
import type { Planned } from '../../../executor/planRun.js'
import { counted } from '../../../view/text.js'
import { describe, notDone } from '../../CliError.js'
import type { Context, Flags } from '../Context.js'
import { environmentFor } from '../Context.js'
import { nonIdempotent } from '../find/definitions.js'
import { repeatWarning } from './checks.js'
import type { Surveyed } from './survey.js'

export type Overwrite = Confirm & { readonly reason: EvidenceChanged }

/** The forced units whose changes no answer covers, or why they are unknown. */
export const findOverwrites = async (
  context: Context,
  { checkpoint, options, workspaceFound, plan, program, tree }: Surveyed
): Promise<E.Either<string, ReadonlyArray<Overwrite>>> => {
  const forced = E.isLeft(plan) ? [] : plan.right.decisions.filter(({ reason }) => reason._tag === 'Forced')
  if (forced.length === 0 || !workspaceFound) return E.right([])
  const evidence = await collectEvidence(checkpoint)(environmentFor(context, { tree }))()
  if (E.isLeft(evidence))
    return E.left(
      `cannot read the evidence of steps, so changes to it are unknown: ${describe(notDone(evidence.left)).join(' ')}`
    )
  const noTargets = { from: undefined, restart: undefined, rerun: new Map(), again: [] }
  const demands = demandsOf(program, checkpoint.items, noTargets)
  const { changedByUser } = planEvidence(checkpoint, program, { evidence: evidence.right }, demands)
  const isMap = ({ unit }: Decision): boolean => find<Step>(program, checkpoint.items, unit)?.definition._tag === 'Map'
  const decided = new Set(E.isLeft(plan) ? [] : plan.right.decisions.map(({ unit }) => unit))
  return E.right(
    forced.flatMap((decision): ReadonlyArray<Overwrite> => {
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
  )
}

export const overwriteWarning = (overwrites: ReadonlyArray<Overwrite>): string => {
  const names = overwrites.map((one) => `${describeChanged(one.reason.changed)} of ${one.unit}`)
  return `This would overwrite changes to ${listed(names)}.`
}

/** What a resume asks before it repeats work; with `--yes` it does not ask. A step is idempotent only if its recorded definition says so, too. */
export const repeatWarnings = (
  program: Workflow,
  { checkpoint, options, plan }: Planned,
  { force }: Flags
): ReadonlyArray<string> => {
  const repeated = runsAgain(plan, checkpoint)
  const names = repeated.map(({ unit }) => unit)
  const inDoubt = forcedInDoubt(plan, checkpoint)
  const subSteps = harmfulSubSteps(checkpoint)
  const due = new Set([...names, ...inDoubt])
  const harmful = new Set([
    ...[program, toWorkflow(checkpoint.workflow)].flatMap(nonIdempotent),
    ...subSteps,
    // A map whose items are computed again repeats the sub-steps of all items.
    ...subSteps.flatMap((unit) => [...ancestors(unit)].filter((one) => due.has(one)))
  ])
  const twice = actTwice(names, harmful, options)
  const doubted = actTwice(inDoubt, harmful, options).filter((unit) => !twice.includes(unit))
  const what = repeated.every(({ unit }) => isTop(unit)) ? 'completed step' : 'completed unit'
  return [
    ...(twice.length === 0 ? [] : [repeatWarning(twice)]),
    ...(doubted.length === 0 ? [] : [repeatWarning(doubted, false)]),
    ...(force === true && repeated.length > 0 ? [`--force runs ${counted(repeated.length, what)} again.`] : [])
  ]
}

/** The units in doubt that a flag runs again: the plan takes the flag for consent, and asks nothing. */
const forcedInDoubt = (plan: ResumePlan, checkpoint: Checkpoint): ReadonlyArray<Unit> => {
  const doubts = allInDoubt(checkpoint)
  return plan.decisions.flatMap(({ _tag, unit, reason }, index) =>
    _tag === 'Run' && reason._tag === 'Forced' && !hasParts(plan, index) && doubts.some((one) => isWithin(one, unit))
      ? [unit]
      : []
  )
}

/** Those that are not idempotent, unless their answer is `again`. An answer about a map covers its items. */
const actTwice = (
  units: ReadonlyArray<Unit>,
  harmful: ReadonlySet<Unit>,
  { confirm }: PlanOptions
): ReadonlyArray<Unit> =>
  units.filter((unit) => {
    const around = [unit, ...ancestors(unit)]
    return around.some((one) => harmful.has(one)) && !around.some((one) => confirm?.get(one)?._tag === 'Again')
  })
