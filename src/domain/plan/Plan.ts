/**
 * What a resume will do and why, as a value that can be read, shown, tested and pinned before anything runs.
 *
 * @module
 */
import type { ReadonlyNonEmptyArray } from 'fp-ts/lib/ReadonlyNonEmptyArray.js'
import type { Variables } from '../checkpoint/Checkpoint.js'
import type { InterruptReason } from '../checkpoint/CheckpointState.js'
import type { CompletedStep, Evidence } from '../checkpoint/CompletedStep.js'
import { sha256 } from '../data/Digest.js'
import type { Json } from '../data/Json.js'
import { canonical } from '../data/Json.js'
import type { Unit } from '../workflow/Unit.js'
import { ancestors, isWithin, parent } from '../workflow/Unit.js'
import type { WorkflowProblem } from '../workflow/Workflow.js'

/**
 * Evidence that exists but differs from the record: `was` is recorded, `is` is found. For a commit that HEAD no longer contains, `is` is
 * the current HEAD, and absent if there is none.
 */
export interface Changed {
  readonly was: Evidence
  readonly is?: Evidence
}

/**
 * Why a unit is skipped: it completed under the same fingerprint; it completed under another one and the changes are accepted; its evidence
 * changed and the current state is accepted; the user declared it done (`output`: the output they supplied). `evidence`: the record's
 * complete evidence from then on. `FailedBefore`: a sub-step failed in the attempt that is repeated, which meets the same error.
 */
export type SkipReason =
  | { readonly _tag: 'Completed' }
  | { readonly _tag: 'AcceptedDespiteChange'; readonly recorded: string }
  | {
      readonly _tag: 'EvidenceChanged'
      readonly changed: ReadonlyArray<Changed>
      readonly evidence: ReadonlyArray<Evidence>
    }
  | { readonly _tag: 'Assumed'; readonly output?: Json; readonly evidence?: ReadonlyArray<Evidence> }
  | { readonly _tag: 'FailedBefore'; readonly message: string }

/**
 * Why a unit runs: it never started; its evidence is missing; its evidence changed (`missing` lists what is missing besides); an earlier
 * step runs again or was taken as done; the user asked for it.
 */
export type RunReason =
  | { readonly _tag: 'NotStarted' }
  | { readonly _tag: 'EvidenceMissing'; readonly missing: ReadonlyArray<Evidence> }
  | {
      readonly _tag: 'EvidenceChanged'
      readonly changed: ReadonlyArray<Changed>
      readonly missing?: ReadonlyArray<Evidence>
    }
  | { readonly _tag: 'EarlierStepRunsAgain'; readonly step: Unit }
  | { readonly _tag: 'Forced' }

/** Why a unit runs once more: it failed, after so many attempts; it was in flight when the process ended; it was stopped. */
export type RetryReason =
  | { readonly _tag: 'Failed'; readonly message: string; readonly attempts: number }
  | { readonly _tag: 'InFlight'; readonly attempt: number }
  | { readonly _tag: 'Interrupted'; readonly reason: InterruptReason }

/** What a decision is about. `stepIndex`: the index of the top-level step; `fingerprint`: of the definition that is planned. */
interface About {
  readonly unit: Unit
  readonly stepIndex: number
  readonly summary: string
  readonly fingerprint: string
}

/** It is done: nothing runs. */
export interface Skip extends About {
  readonly _tag: 'Skip'
  readonly reason: SkipReason
}

/** It runs. `givesUp`: what it waited for until then, if it did; that is not looked for any more. */
export interface Run extends About {
  readonly _tag: 'Run'
  readonly reason: RunReason
  readonly givesUp?: PollReason
}

/**
 * It runs once more. `attempt` is the number of its next attempt, counted from 1: an attempt that was cut short is repeated, a spent budget
 * begins anew.
 */
export interface Retry extends About {
  readonly _tag: 'Retry'
  readonly attempt: number
  readonly reason: RetryReason
}

/**
 * Why a unit has to be asked about: why it runs, or runs once more; or it is not recorded, but newer state was lost; or its job is pending,
 * and would be submitted once more.
 */
export type ConfirmReason = RetryReason | RunReason | PollReason | { readonly _tag: 'MaybeLost' }

/**
 * The unit needs an answer before it may run: it is not idempotent and may have taken effect, or its evidence changed and running it would
 * overwrite the change.
 */
export interface Confirm extends About {
  readonly _tag: 'Confirm'
  readonly reason: ConfirmReason
}

/**
 * It waits, and neither runs nor is done: for a job, which `poll` polls; for a timer or an answer, which a resume checks. A wave waits if
 * none of its groups runs, and at least one waits; a task, if all that its code still had to do was to wait.
 */
export interface Poll extends About {
  readonly _tag: 'Poll'
  readonly reason: PollReason
}

/**
 * Why a unit waits: its job was submitted at this time; it sleeps until this time; or it waits for an answer, until then if that is limited
 * (UTC, ISO 8601). `answered`: the answer is recorded, and the unit takes it when the run resumes.
 */
export type PollReason =
  | { readonly _tag: 'JobPending'; readonly submittedAt: string; readonly job?: Json }
  | { readonly _tag: 'TimerPending'; readonly wakeAt: string }
  | {
      readonly _tag: 'AnswerPending'
      readonly question?: string
      readonly until?: string
      readonly answered?: true
    }

/**
 * What happens with one unit, and why.
 *
 * @category model
 */
export type Decision = Skip | Run | Retry | Confirm | Poll

/**
 * What a resume will do. The `decisions` decide: one for each unit in workflow order, that of a composite followed by those of its
 * parts, that of a task that is due by those of the sub-steps that are known of it. The rest is read off them:
 *
 * - `startIndex`: the first step that is not skipped, or the number of steps if there is none;
 * - `retryCurrent`: whether the step at `startIndex` is the one where the run stood, and is tried once more;
 * - `skipSteps`: the indices of the skipped steps;
 * - `variables`: the variables that the first step to run sees;
 * - `input`: the input that replaces the recorded one, if any.
 *
 * @category model
 */
export interface ResumePlan {
  readonly decisions: ReadonlyArray<Decision>
  readonly startIndex: number
  readonly retryCurrent: boolean
  readonly skipSteps: ReadonlySet<number>
  readonly variables: Variables
  readonly input?: Json
}

/**
 * An answer to a {@link Confirm}: run it again; count it as done, with this output; or keep changed evidence, which records the
 * current state without running anything.
 *
 * @category model
 */
export type Answer =
  { readonly _tag: 'Again' } | { readonly _tag: 'Keep' } | { readonly _tag: 'Done'; readonly output?: Json }

/**
 * Which edits of the workflow are fine. `strict`: none. `completed`: steps that did not complete may be changed, added,
 * removed or renamed. `ignore`: whatever changed, what completed counts.
 *
 * @category model
 */
export type Changes = 'strict' | 'completed' | 'ignore'

/** Evidence of a completed unit that is missing. */
export interface MissingEvidence {
  readonly unit: Unit
  readonly missing: ReadonlyNonEmptyArray<Evidence>
}

/** Evidence of a completed unit that exists but differs from the record. */
export interface ChangedEvidence {
  readonly unit: Unit
  readonly changed: ReadonlyNonEmptyArray<Changed>
}

/**
 * Evidence of a completed unit that is missing or changed.
 *
 * @category model
 */
export type FoundEvidence = MissingEvidence | ChangedEvidence

/**
 * What may be asked of a plan.
 *
 * - `fromStep` (the path of a unit): all earlier steps are taken as done, and it and everything after it runs.
 * - `input`: with `fromStep`, replaces the recorded input for all that is still to run. Without `fromStep`, it must equal the
 *   recorded input. A unit beside the named one that goes on where it was left (in flight, failed, or with a pending job) has begun
 *   with the recorded input: `InputInUse`.
 * - `restartWave` (the path of a sequence, wave or map): all its parts run, and everything after it.
 * - `changes`: default `completed`.
 * - `confirm`: answers, by the path of the unit.
 * - `outputs`: outputs, by the path of the unit, for tasks that `fromStep` takes as done and that have none recorded.
 * - `evidence`: missing or changed evidence, collected by the caller; the planner never reads files. Units with missing
 *   evidence run again. Changed evidence raises a question at the last unit that recorded it, unless the change is explained:
 *   a unit that leaves an artifact at the same path was in flight, failed or was interrupted since. `fromStep` keeps
 *   changes before that step.
 * - `onChanged`: the default for changed evidence without an answer: `refuse` (default) leaves the question open; `keep`
 *   accepts the current state.
 * - `recovered`: the newest state was lost, so what is not recorded may have been done; what is not idempotent is asked
 *   about.
 *
 * @category model
 */
export interface PlanOptions {
  readonly fromStep?: string
  readonly input?: Json
  readonly restartWave?: string
  readonly changes?: Changes
  readonly confirm?: ReadonlyMap<string, Answer>
  readonly outputs?: ReadonlyMap<string, Json>
  readonly evidence?: ReadonlyArray<FoundEvidence>
  readonly onChanged?: 'refuse' | 'keep'
  readonly recovered?: boolean
}

/** How a workflow was edited. `added` is refused by the `strict` policy alone. */
export type Edit = 'changed' | 'removed' | 'reordered' | 'insertedBefore' | 'added'

/**
 * Why no plan can be made.
 *
 * - `WrongWorkflow`: the checkpoint is of another workflow.
 * - `InvalidWorkflow`: the definition can't be run.
 * - `WorkflowChanged`: an edit that the policy refuses, with the recorded and the present fingerprint where there are such.
 *   Of a composite these cover what it is beside its parts; `movedTo`: where a removed task stands now, with `*` for the key of an item.
 *   With `inDoubt` the step did not complete but may have had its effect, so it may not just vanish; with `pending` its job
 *   is waited for, and was submitted as it was defined then.
 * - `NotAsked`: an answer declares a unit done that is due to run and not in doubt, or keeps evidence (`keep`) that did not
 *   change.
 * - `UnitPending`: an answer says that a unit is to run again or is done, but the unit is pending: it waits for a job, a timer or an
 *   answer of another kind.
 * - `UnknownStep`: an option names a step that there is not; `available` are those there are.
 * - `NotAWave`: `restartWave` does not name a sequence, wave or map; `available` are those there are, `steps` all steps.
 * - `InputWithoutStep`: the input differs from the recorded one, and `fromStep` is missing.
 * - `InputInUse`: the input differs from the recorded one, and a unit goes on that has begun with that.
 * - `StepOutOfRange`: the checkpoint stands at a step that its own workflow does not have.
 * - `InconsistentCheckpoint`: the checkpoint contradicts itself.
 * - `OutputNotDecodable`: a recorded output no longer fits its step, with the path into it.
 * - `AssumedOutputMissing`: a step taken as done has no output, or (`evidence`) its evidence is missing.
 *
 * @category errors
 */
export type PlanProblem =
  | { readonly _tag: 'WrongWorkflow'; readonly expected: string; readonly found: string }
  | { readonly _tag: 'InvalidWorkflow'; readonly problem: WorkflowProblem }
  | {
      readonly _tag: 'WorkflowChanged'
      readonly edit: Edit
      readonly unit: Unit
      readonly recorded?: string
      readonly present?: string
      readonly movedTo?: Unit
      readonly inDoubt?: true
      readonly pending?: true
    }
  | { readonly _tag: 'NotAsked'; readonly unit: Unit; readonly keep?: true }
  | { readonly _tag: 'UnitPending'; readonly unit: Unit }
  | { readonly _tag: 'UnknownStep'; readonly step: string; readonly available: ReadonlyArray<string> }
  | {
      readonly _tag: 'NotAWave'
      readonly step: string
      readonly available: ReadonlyArray<string>
      readonly steps: ReadonlyArray<string>
    }
  | { readonly _tag: 'InputWithoutStep' }
  | { readonly _tag: 'InputInUse'; readonly unit: Unit }
  | { readonly _tag: 'StepOutOfRange'; readonly stepIndex: number; readonly steps: number }
  | { readonly _tag: 'InconsistentCheckpoint'; readonly why: string }
  | {
      readonly _tag: 'OutputNotDecodable'
      readonly unit: Unit
      readonly path: string
      readonly expected: string
    }
  | {
      readonly _tag: 'AssumedOutputMissing'
      readonly unit: Unit
      readonly expected: string
      readonly evidence?: true
    }

/** Everything that stands against a plan, not just the first thing. */
export interface PlanError {
  readonly _tag: 'PlanError'
  readonly problems: ReadonlyNonEmptyArray<PlanProblem>
}

/**
 * All units of a plan that need an answer. A wave counts only if none of its groups does; the question is then about evidence of the wave
 * as a whole.
 */
export const confirms = (plan: ResumePlan): ReadonlyArray<Confirm> => {
  const found = plan.decisions.filter((decision) => decision._tag === 'Confirm')
  const above = new Set(found.map(({ unit }) => parent(unit)))
  return found.filter(({ unit }) => !above.has(unit))
}

/**
 * The questions to answer next before a plan can be executed: one for each unit with changed evidence; if there is none, one for
 * each unit that may have taken effect. Answers about changed evidence decide what else needs an answer.
 *
 * @category destructors
 */
export const openQuestions = (plan: ResumePlan): ReadonlyArray<Confirm> => {
  const all = confirms(plan)
  const edited = all.filter(({ reason }) => reason._tag === 'EvidenceChanged')
  return edited.length > 0 ? edited : all
}

/** A decision with those about the parts of its unit. */
export interface DecisionTree {
  readonly decision: Decision
  readonly parts: ReadonlyArray<DecisionTree>
}

/** The decisions of a plan as a tree: those about top-level steps, with those about their parts. */
export const decisionTrees = ({ decisions }: Pick<ResumePlan, 'decisions'>): ReadonlyArray<DecisionTree> => {
  const top: Array<DecisionTree> = []
  /** The parts of the units around the next decision, innermost last. */
  const open: Array<{ readonly unit: Unit | undefined; readonly parts: Array<DecisionTree> }> = [
    { unit: undefined, parts: top }
  ]
  for (const decision of decisions) {
    for (
      let above = open.at(-1)?.unit;
      above !== undefined && !isWithin(decision.unit, above);
      above = open.at(-1)?.unit
    )
      open.pop()
    const parts: Array<DecisionTree> = []
    open.at(-1)?.parts.push({ decision, parts })
    open.push({ unit: decision.unit, parts })
  }
  return top
}

/** Whether decisions about the parts of a unit follow its own. */
const hasParts = ({ decisions }: ResumePlan, index: number): boolean => {
  const [unit, next] = [decisions[index]?.unit, decisions[index + 1]?.unit]
  return unit !== undefined && next !== undefined && parent(next) === unit
}

/**
 * The completed steps and groups that a plan runs again: a wave's groups instead of the wave, and a map itself if its items are computed
 * again.
 */
export const runsAgain = (
  plan: ResumePlan,
  { completedSteps }: { readonly completedSteps: Iterable<CompletedStep> }
): ReadonlyArray<Run> => {
  const again = new Map<string, Run>()
  for (const [index, decision] of plan.decisions.entries())
    if (decision._tag === 'Run' && !hasParts(plan, index)) again.set(decision.unit, decision)
  if (again.size === 0) return []
  const recorded = new Set<string>()
  for (const { unit } of completedSteps) {
    recorded.add(unit)
    for (const above of ancestors(unit)) recorded.add(above)
  }
  return [...again].flatMap(([unit, decision]) => (recorded.has(unit) ? [decision] : []))
}

/**
 * A string that pins a plan: equal for equal plans, and different if a decision, a reason, a relevant definition, a variable or
 * the replacing input differs. 16 hex digits.
 *
 * @category destructors
 */
export const hashPlan = (plan: ResumePlan): string => {
  const input = plan.input === undefined ? {} : { input: plan.input }
  const seen = { decisions: plan.decisions, variables: Object.fromEntries(plan.variables), ...input }
  return sha256(canonical(seen as unknown as Json)).slice(0, 16)
}
