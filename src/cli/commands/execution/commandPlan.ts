/** Plans a stored run for a command, in the folder where the run works. */
import { relative } from 'node:path'
import { defined } from '../../../domain/data/defined.js'
import * as E from 'fp-ts/lib/Either.js'
import { workingTree } from '../../../adapters/node/index.js'
import type { Planned, FoundState, PlanResult, TryPlanOptions } from '../../../executor/planRun.js'
import { tryPlan, requirePlan } from '../../../executor/planRun.js'
import type { Decision } from '../../../domain/plan/Plan.js'
import { hashPlan } from '../../../domain/plan/Plan.js'
import { planResume } from '../../../domain/plan/planResume.js'
import type { Unit } from '../../../domain/workflow/Unit.js'
import type { WorkingTree } from '../../../ports/WorkingTree.js'
import { notDone } from '../../CliError.js'
import type { Context, Flags, Result } from '../Context.js'
import { environmentFor } from '../Context.js'
import { planOptions } from './planFlags.js'
import { replacementOf, withoutSecrets } from './input.js'
import type { AnyProgram } from '../../workflow/toProgram.js'
import { ofPlanError } from '../hints/ofPlan.js'

/** Excludes the state folder. */
export const treeAt = ({ home }: Pick<Context, 'home'>, folder: string): WorkingTree => {
  const inside = relative(folder, home)
  return workingTree(folder, inside === '' || inside.startsWith('..') ? [] : [inside])
}

export const treeFor = (context: Context, { checkpoint }: Pick<FoundState, 'checkpoint'>): WorkingTree =>
  treeAt(context, checkpoint.workspace?.path ?? context.folder)

/**
 * A plan, and what it was made from. `flags`: as typed, without secrets; `tree`: the same for all plans of a command, so that each file is hashed
 * once.
 */
export interface CommandPlan extends PlanResult {
  readonly program: AnyProgram
  readonly flags: Flags
  readonly tree: WorkingTree
}

export const planForCommand = async (
  context: Context,
  program: AnyProgram,
  state: FoundState,
  flagsWithSecrets: Flags,
  given: TryPlanOptions = {}
): Promise<Result<CommandPlan>> => {
  const flags = withoutSecrets(context, program, flagsWithSecrets)
  const options = planOptions(flags, program)
  if (E.isLeft(options)) return options
  const input = replacementOf(context, program, state.checkpoint, flagsWithSecrets)
  if (E.isLeft(input)) return input
  const tree = treeFor(context, state)
  const wanted = { ...options.right, ...defined({ input: input.right }), ...given }
  const planResult = await tryPlan(program, state, wanted)(environmentFor(context, { tree }))()
  return E.isLeft(planResult)
    ? E.left(notDone(planResult.left, [], state.checkpoint))
    : E.right({ ...planResult.right, program, flags, tree })
}

export const usablePlan = (context: Context, planResult: CommandPlan): Result<Planned> => {
  const planned = requirePlan(planResult)
  if (E.isRight(planned)) return planned
  const { left: error } = planned
  const hints = error._tag === 'PlanError' ? ofPlanError(context, planResult, error.problems) : []
  return E.left(notDone(error, hints, planResult.checkpoint))
}

/** Leaves out answers without effect, about completed steps, so that printed commands do not repeat them. Warns of `again`, which runs nothing. */
export const withoutIdleAnswers = ({ screen }: Context, planResult: CommandPlan, planned: Planned): Flags => {
  const { program, flags } = planResult
  const { checkpoint, options, plan } = planned
  if (flags.confirm === undefined) return flags
  const completed = new Set(plan.decisions.flatMap(({ unit, reason }) => (COMPLETED.has(reason._tag) ? [unit] : [])))
  const kept = new Map(options.confirm)
  const isIdle = (unit: Unit): boolean => {
    const others = new Map([...kept].filter(([one]) => one !== unit))
    const without = planResume(checkpoint, program, { ...options, confirm: others })
    return E.isRight(without) && hashPlan(without.right) === hashPlan(plan)
  }
  for (const [unit, { _tag }] of [...kept]) {
    if (!completed.has(unit) || !isIdle(unit)) continue
    kept.delete(unit)
    if (_tag === 'Again')
      screen.warn(
        `--confirm ${unit}=again has no effect: ${unit} has completed. To run it again, use --from-step ${unit}`
      )
  }
  return { ...flags, confirm: flags.confirm.filter((text) => kept.has(text.slice(0, text.indexOf('=')))) }
}

const COMPLETED: ReadonlySet<Decision['reason']['_tag']> = new Set(['Completed', 'AcceptedDespiteChange'])
