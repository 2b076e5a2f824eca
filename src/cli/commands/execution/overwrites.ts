/** Finds the user's changes that a forced run would overwrite, and words what a run would overwrite or repeat. */
import * as E from 'fp-ts/lib/Either.js'
import { describeEvidence } from '../../../domain/checkpoint/CompletedStep.js'
import { listed } from '../../../domain/data/listed.js'
import type { Overwrite, PlanOf } from '../../../domain/plan/repeats.js'
import { forcedUnits, overwritesOf, repeatsOf } from '../../../domain/plan/repeats.js'
import { isTop } from '../../../domain/workflow/Unit.js'
import type { Workflow } from '../../../domain/workflow/Workflow.js'
import { collectEvidence } from '../../../executor/workspace/evidence.js'
import { counted } from '../../../view/text.js'
import { describe, notDone } from '../../CliError.js'
import type { Context, Flags } from '../Context.js'
import { environmentFor } from '../Context.js'
import { repeatWarning } from './checks.js'
import type { CommandPlan } from './commandPlan.js'

/** The forced units whose changes no answer covers, or why they are unknown. */
export const findOverwrites = async (
  context: Context,
  { checkpoint, options, workspaceFound, plan, program, tree }: CommandPlan
): Promise<E.Either<string, ReadonlyArray<Overwrite>>> => {
  if (E.isLeft(plan) || forcedUnits(plan.right).length === 0 || !workspaceFound) return E.right([])
  const evidence = await collectEvidence(checkpoint)(environmentFor(context, { tree }))()
  if (E.isRight(evidence))
    return E.right(overwritesOf(program, { checkpoint, options, plan: plan.right }, evidence.right))
  const why = describe(notDone(evidence.left)).join(' ')
  return E.left(`cannot read the evidence of steps, so changes to it are unknown: ${why}`)
}

export const overwriteWarning = (overwrites: ReadonlyArray<Overwrite>): string => {
  const namesOf = (areCommits: boolean): ReadonlyArray<string> =>
    overwrites.flatMap(({ unit, reason }) => {
      const changed = reason.changed.filter(({ was }) => (was._tag === 'Commit') === areCommits)
      return changed.length === 0 ? [] : [`${changed.map(({ was }) => describeEvidence(was)).join(', ')} of ${unit}`]
    })
  const [files, commits] = [namesOf(false), namesOf(true)]
  const parts = [
    ...(files.length === 0 ? [] : [`overwrite changes to ${listed(files)}`]),
    ...(commits.length === 0 ? [] : [`make ${listed(commits)} again`])
  ]
  return `This would ${parts.join(', and ')}.`
}

/** What a resume asks before it repeats work; with `--yes` it does not ask. */
export const repeatWarnings = (workflow: Workflow, planned: PlanOf, { force }: Flags): ReadonlyArray<string> => {
  const { completed, harmful, inDoubt } = repeatsOf(workflow, planned)
  const what = completed.every(isTop) ? 'completed step' : 'completed task'
  return [
    ...(harmful.length === 0 ? [] : [repeatWarning(harmful)]),
    ...(inDoubt.length === 0 ? [] : [repeatWarning(inDoubt, false)]),
    ...(force === true && completed.length > 0 ? [`--force runs ${counted(completed.length, what)} again.`] : [])
  ]
}
