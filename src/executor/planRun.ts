/**
 * Plans a stored run from its state, input, workspace and evidence. All planning of the executor goes through this module; it claims, runs and
 * writes nothing.
 */
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import type { Checkpoint } from '../domain/checkpoint/Checkpoint.js'
import { status } from '../domain/checkpoint/Checkpoint.js'
import { unitsToCheck } from '../domain/plan/evidenceToCheck.js'
import type { Json } from '../domain/data/Json.js'
import type { Check } from '../domain/data/Options.js'
import { flag } from '../domain/data/Options.js'
import type { Confirm, PlanOptions, ResumePlan } from '../domain/plan/Plan.js'
import type { PlanError, PlanProblem } from '../domain/plan/PlanProblem.js'
import { hashPlan, openQuestions } from '../domain/plan/Plan.js'
import { PLAN_OPTIONS } from '../domain/plan/planOptions.js'
import { planResume } from '../domain/plan/planResume.js'
import type { Workflow } from '../domain/workflow/Workflow.js'
import type { Found } from '../ports/CheckpointStorage.js'
import { collectEvidence } from './workspace/evidence.js'
import type { Executor } from './ExecutorCall.js'
import { callProblems, unless } from './arguments.js'
import { encodedInput, optionsWithInput } from './input.js'
import { redactingInput } from './secrets.js'
import type { Program } from './program/Program.js'
import { problems as problemsOf } from './program/Program.js'
import type { RunError } from './errors/RunError.js'
import { viewRun } from './storage/runs.js'
import { runMoved } from './storage/stored.js'
import { hasWorkspace, requireWorkspace } from './workspace/workspace.js'

/**
 * A plan of a stored run, and its inputs.
 *
 * - `options`: the caller's, with the evidence that was found and the replacing input;
 * - `questions`: the questions that a resume asks first, in document order;
 * - `hash`: the hash of the plan; `ResumeOptions.planHash` executes only this plan.
 *
 * @category model
 */
export interface Planned {
  readonly runId: string
  readonly checkpoint: Checkpoint
  /** How the state was found: exact, or recovered from an older one. */
  readonly found: Found
  readonly options: PlanOptions
  readonly plan: ResumePlan
  readonly questions: ReadonlyArray<Confirm>
  readonly hash: string
}

/**
 * The options of planning a run, as for a resume. Without the option `evidence`, the evidence is collected.
 *
 * @category model
 */
export interface PlanRunOptions<Input = Json> extends Omit<PlanOptions, 'input' | 'recovered'> {
  /** With `fromStep`: replaces the input for that step and all later ones. */
  readonly input?: Input | undefined
  /** Plan the run although it was cancelled. */
  readonly reopen?: boolean
}

export type TryPlanOptions = PlanOptions & Pick<PlanRunOptions, 'reopen'>

/**
 * Returns what a resume would do, and why. Runs and writes nothing. Fails if the run or its workspace is missing (`NoSuchRun`,
 * `WorkspaceMissing`, `NoWorkspaces`), if the run was cancelled or moved (`RunCancelled`, `RunMoved`), if there is no plan (`PlanError`,
 * `InvalidInput`, `InputChanged`, `InvalidOptions`), or if the storage or the evidence cannot be read. It does not claim the run, and reads its
 * secrets only to redact `InvalidInput`: a resume may still fail with `HeldBy` or `SecretsMissing`. While a process owns the run, the plan is
 * that of a resume if the process ended now. Of the requests it counts only answers: if a cancel was requested, a resume records it and runs nothing.
 *
 * @example
 * import * as E from 'fp-ts/lib/Either.js'
 * import { pipe } from 'fp-ts/lib/function.js'
 * import * as TE from 'fp-ts/lib/TaskEither.js'
 * import { explain, planRun, Program, run } from 'dogear'
 * import { memoryStorage } from 'dogear/memory'
 * import { nodeEnvironment } from 'dogear/node'
 * import assert from 'node:assert/strict'
 *
 * const program = pipe(
 *   Program.start('broken'),
 *   Program.step('build', { run: () => TE.left(new Error('no compiler')) })
 * )
 * const environment = nodeEnvironment(memoryStorage())
 * await run(program, 'broken-1', {})(environment)()
 * const planned = await planRun(program, 'broken-1')(environment)()
 * assert.ok(E.isRight(planned))
 * assert.match(explain(planned.right.plan), /failed: no compiler/)
 *
 * @category running
 */
export const planRun = <Outputs, Input>(
  program: Program<Outputs, Input, unknown, unknown>,
  runId: string,
  options: PlanRunOptions<Input> = {}
): Executor<Planned> =>
  unless(callProblems(options, PLAN_RUN), () => redactingInput(program, planNow(program, runId, options)))

export const PLAN_RUN: Readonly<Record<keyof PlanRunOptions | 'recovered', Check>> = { ...PLAN_OPTIONS, reopen: flag }

const planNow =
  <Outputs, Input>(
    program: Program<Outputs, Input, unknown, unknown>,
    runId: string,
    options: PlanRunOptions<Input>
  ): Executor<Planned> =>
  (environment) =>
  async () => {
    const runnable = checkDefinition(program)
    if (E.isLeft(runnable)) return runnable
    const given = options.input === undefined ? E.right(undefined) : encodedInput(program, options.input)
    if (E.isLeft(given)) return given
    const view = await viewRun(runId)(environment)()
    if (E.isLeft(view)) return view
    if (O.isNone(view.right)) return E.left({ _tag: 'NoSuchRun', runId })
    const wanted = optionsWithInput(view.right.value.checkpoint, options, given.right)
    return E.isLeft(wanted) ? wanted : await planStored(program, view.right.value, wanted.right)(environment)()
  }

export type FoundState = Pick<Planned, 'checkpoint' | 'found'>

/** A state with its plan, or why it has none. `workspaceFound`: the workspace exists, or the run has none; if false, no evidence was collected. */
export interface PlanResult extends FoundState {
  readonly options: PlanOptions
  readonly workspaceFound: boolean
  readonly plan: E.Either<PlanError, ResumePlan>
}

/** A program, or the recorded definition of one. */
type Plannable = Workflow & Pick<Program<unknown, never>, 'decodeInput'>

/** Reads what a plan of a loaded state needs, and plans. Refuses a moved run, and without `reopen` a cancelled one. */
export const tryPlan =
  (program: Plannable, { checkpoint, found }: FoundState, given: TryPlanOptions): Executor<PlanResult> =>
  (environment) =>
  async () => {
    if (checkpoint.moved !== undefined) return E.left(runMoved(checkpoint.runId, checkpoint.moved))
    if (status(checkpoint, false) === 'cancelled' && given.reopen !== true)
      return E.left({ _tag: 'RunCancelled', runId: checkpoint.runId })
    const input = program.decodeInput(given.input === undefined ? checkpoint.input : given.input)
    if (E.isLeft(input)) return E.left({ _tag: 'InvalidInput', ...input.left })
    const workspaceFound = await hasWorkspace(checkpoint)(environment)()
    if (E.isLeft(workspaceFound)) return workspaceFound
    const known = workspaceFound.right ? given.evidence : []
    const evidence =
      known === undefined
        ? await collectEvidence(unitsToCheck(checkpoint, program, given))(environment)()
        : E.right(known)
    if (E.isLeft(evidence)) return evidence
    const options = { ...given, evidence: evidence.right, recovered: found._tag === 'Recovered' }
    const plan = planResume(checkpoint, program, options)
    return E.right({ checkpoint, found, options, workspaceFound: workspaceFound.right, plan })
  }

/** Returns the plan, or why the run cannot be resumed: the plan has problems, or the workspace is missing. */
export const requirePlan = ({
  checkpoint,
  found,
  options,
  workspaceFound,
  plan
}: PlanResult): E.Either<RunError, Planned> => {
  if (E.isLeft(plan)) return plan
  const missing = requireWorkspace(checkpoint, plan.right, workspaceFound)
  if (E.isLeft(missing)) return missing
  return E.right({
    runId: checkpoint.runId,
    checkpoint,
    found,
    options,
    plan: plan.right,
    questions: openQuestions(plan.right),
    get hash() {
      return hashPlan(plan.right)
    }
  })
}

/** Refuses a plan with open questions. */
export const requireNoQuestions = (planned: Planned): E.Either<RunError, Planned> => {
  const [question, ...more] = planned.questions
  return question === undefined ? E.right(planned) : E.left({ _tag: 'Unconfirmed', questions: [question, ...more] })
}

export const planStored =
  (program: Plannable, state: FoundState, given: TryPlanOptions): Executor<Planned> =>
  (environment) =>
  async () => {
    const planResult = await tryPlan(program, state, given)(environment)()
    return E.isLeft(planResult) ? planResult : requirePlan(planResult.right)
  }

/** Refuses an invalid program before anything is loaded or claimed. */
export const checkDefinition = (
  program: Pick<Program<unknown, never>, 'name' | 'steps' | 'secrets' | 'onSuccess' | 'problems'>
): E.Either<RunError, void> => {
  const [problem, ...more] = problemsOf(program).map((problem): PlanProblem => ({ _tag: 'InvalidWorkflow', problem }))
  return problem === undefined ? E.right(undefined) : E.left({ _tag: 'PlanError', problems: [problem, ...more] })
}
