/** Finds the user's changes that a forced run would overwrite, and the work that a run would repeat. */
import * as E from 'fp-ts/lib/Either.js'
import type { EvidenceChanged } from '../../../domain/plan/changedEvidence.js'
import { planEvidence } from '../../../domain/plan/changedEvidence.js'
import { demandsOf } from '../../../domain/plan/demands.js'
import { describeChanged } from '../../../domain/explain/Explain.js'
import { listed } from '../../../domain/data/listed.js'
import type { Confirm, Decision, PlanOptions, Run } from '../../../domain/plan/Plan.js'
import { runsAgain } from '../../../domain/plan/Plan.js'
import { find } from '../../../domain/checkpoint/Tree.js'
import type { Unit } from '../../../domain/workflow/Unit.js'
import { ancestors, isTop, isWithin } from '../../../domain/workflow/Unit.js'
import type { Step, Workflow } from '../../../domain/workflow/Workflow.js'
import { collectEvidence } from '../../../executor/workspace/evidence.js'
import type { Planned, Survey } from '../../../executor/planRun.js'
import type { WorkingTree } from '../../../ports/WorkingTree.js'
import { counted } from '../../../view/text.js'
import { describe, notDone } from '../../CliError.js'
import type { Context } from '../Context.js'
import { environmentFor } from '../Context.js'
import { nonIdempotent } from '../find/definitions.js'
import { repeatWarning } from './checks.js'
import type { PlanFlags } from './planFlags.js'

export type Overwrite = Confirm & { readonly reason: EvidenceChanged }

/** The forced units whose changes no answer covers, or why they are unknown. */
export const findOverwrites = async (
  context: Context,
  program: Workflow,
  { checkpoint, options, workspaceFound, plan }: Survey,
  tree: WorkingTree
): Promise<E.Either<string, ReadonlyArray<Overwrite>>> => {
  const forced = E.isLeft(plan) ? [] : plan.right.decisions.filter(({ reason }) => reason._tag === 'Forced')
  if (forced.length === 0 || !workspaceFound) return E.right([])
  const evidence = await collectEvidence(checkpoint)(environmentFor(context, { tree }))()
  if (E.isLeft(evidence))
    return E.left(
      `warning: cannot read the evidence of steps, so changes to it are unknown: ${describe(notDone(evidence.left)).join(' ')}`
    )
  const asked = { from: undefined, restart: undefined, rerun: new Map(), again: [] }
  const demands = demandsOf(program, checkpoint.items, asked)
  const { changedByUser } = planEvidence(checkpoint, program, { evidence: evidence.right }, demands)
  const isMap = ({ unit }: Decision): boolean => find<Step>(program, checkpoint.items, unit)?.definition._tag === 'Map'
  return E.right(
    forced.flatMap((decision): ReadonlyArray<Overwrite> => {
      const name = decision.unit
      if (options.confirm?.get(name)?._tag === 'Again') return []
      const changed = [...changedByUser].flatMap(([unit, reason]) =>
        unit === name || (isMap(decision) && isWithin(unit, name)) ? reason.changed : []
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

/** What a resume asks before it repeats work; with `--yes` it does not ask. */
export const repeatWarnings = (
  program: Workflow,
  { checkpoint, options, plan }: Pick<Planned, 'checkpoint' | 'options' | 'plan'>,
  { force }: Pick<PlanFlags, 'force'>
): ReadonlyArray<string> => {
  const repeated = runsAgain(plan, checkpoint)
  const twice = doneTwice(repeated, program, options)
  const what = repeated.every(({ unit }) => isTop(unit)) ? 'completed step' : 'completed unit'
  return [
    ...(twice.length === 0 ? [] : [repeatWarning(twice)]),
    ...(force === true && repeated.length > 0 ? [`--force runs ${counted(repeated.length, what)} again.`] : [])
  ]
}

const doneTwice = (
  repeated: ReadonlyArray<Run>,
  program: Workflow,
  { confirm }: PlanOptions
): ReadonlyArray<string> => {
  const units = new Set(nonIdempotent(program))
  const isOfMap = (unit: Unit): boolean => [...ancestors(unit)].some((one) => units.has(one))
  return repeated
    .filter(({ unit }) => units.has(unit) || isOfMap(unit))
    .map(({ unit }) => unit)
    .filter((name) => confirm?.get(name)?._tag !== 'Again')
}
