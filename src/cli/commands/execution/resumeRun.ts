/** Resumes a run: asks every question first, then executes the plan that was answered. */
import * as E from 'fp-ts/lib/Either.js'
import type { Checkpoint } from '../../../domain/checkpoint/Checkpoint.js'
import type { ResumePlan } from '../../../domain/plan/Plan.js'
import { resume } from '../../../executor/run.js'
import type { RunView } from '../../../executor/storage/runs.js'
import { notDone } from '../../CliError.js'
import type { Context, Flags, Result } from '../Context.js'
import { hintTo } from '../Context.js'
import type { Loaded } from '../../workflow/load.js'
import { printPosition } from '../find/pointer.js'
import { agreeToPlan, recoveringAs, userByFlag } from './consent.js'
import { execute, prepare, printWarnings } from './execution.js'
import { differencesFrom, inputOf, inputReplaced, withoutSecrets } from './input.js'
import { claimable } from './owner.js'
import { wordsOf } from './planFlags.js'
import { isCancelRequested } from './requestedCancel.js'
import { planForCommand } from './commandPlan.js'
import type { PromptContext } from './withPrompt.js'
import { warnOfOtherWorkspaceKind } from './workspace.js'

/** `pointed`: the run was found by the pointer of a pause. */
export const resumeRun = async (
  context: PromptContext,
  found: RunView,
  workflow: Loaded,
  flagsWithSecrets: Flags,
  pointed = false
): Promise<Result> => {
  const flags = withoutSecrets(context, workflow.file, flagsWithSecrets)
  const free = await claimable(context, found, flags)
  if (E.isLeft(free)) return free
  const { view, takeOver } = free.right
  const { runId, checkpoint } = view
  const execution = prepare(context, {
    workflow,
    runId,
    from: checkpoint,
    merging: flags,
    onPlanned: (plan) => {
      if (pointed) printPosition(context, checkpoint, plan)
      printInput(context, checkpoint, plan, flags)
    }
  })
  const { program } = execution
  const claim = takeOver ? { takeOver } : {}
  // Such a resume asks nothing: it records the cancel before it plans. Only a recovered state needs consent.
  if ((view.found._tag === 'Exact' || flags.yes === true) && (await isCancelRequested(context, view))) {
    const how = { ...claim, onRecovered: recoveringAs(view, userByFlag()) }
    return await execute(context, execution, resume(program, runId, how))
  }
  const planResult = await planForCommand(context, program, view, flagsWithSecrets)
  if (E.isLeft(planResult)) return planResult
  printWarnings(context, workflow, flagsWithSecrets)
  warnOfOtherWorkspaceKind(context, checkpoint, workflow)
  const agreed = await agreeToPlan(context, view, planResult.right)
  if (E.isLeft(agreed)) return agreed
  const how = { ...agreed.right, ...claim }
  const ended = await execute(context, { ...execution, tree: planResult.right.tree }, resume(program, runId, how))
  if (E.isRight(ended) || ended.left._tag !== 'NotDone' || ended.left.error._tag !== 'PlanChanged') return ended
  const review = hintTo(context, 'To see what a resume would do now:', ['plan', runId, ...wordsOf(flags)])
  return E.left(notDone(ended.left.error, [review], view))
}

const printInput = ({ screen }: Context, checkpoint: Checkpoint, plan: ResumePlan, flags: Flags): void => {
  const given = inputOf(flags.input ?? [])
  if (plan.input === undefined || E.isLeft(given)) return
  const from = flags.fromStep ?? plan.decisions[0]?.unit ?? ''
  screen.line(inputReplaced(from, differencesFrom(checkpoint, given.right)))
}
