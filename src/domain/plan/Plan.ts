/**
 * Plans: what a resume will do and why, as a value to read, show, test and pin before anything runs.
 *
 * @module
 */
import type { ReadonlyNonEmptyArray } from 'fp-ts/lib/ReadonlyNonEmptyArray.js'
import type { Variables } from '../checkpoint/Checkpoint.js'
import type { InterruptReason } from '../checkpoint/CheckpointState.js'
import type { Evidence } from '../checkpoint/CompletedStep.js'
import { defined } from '../data/defined.js'
import { sha256 } from '../data/Digest.js'
import type { Json } from '../data/Json.js'
import type { PendingJob } from '../checkpoint/Pending.js'
import { canonical } from '../data/Json.js'
import type { Unit } from '../workflow/Unit.js'
import { isWithin, parent } from '../workflow/Unit.js'

/**
 * Evidence that exists but differs from the record: `was` is recorded, `is` is found. For a commit that HEAD no longer contains, `is` is
 * the current HEAD, and absent if there is none.
 */
export interface Changed {
  readonly was: Evidence
  readonly is?: Evidence
}

/**
 * Why a unit is skipped.
 *
 * - `Completed`: it completed with the same fingerprint.
 * - `AcceptedDespiteChange`: it completed with another fingerprint, and the edit is accepted.
 * - `EvidenceChanged`: its evidence changed, and the current state is accepted. `evidence`: the new evidence of its record.
 * - `Assumed`: the user declared it done. `output`: the supplied output.
 * - `FailedBefore`: a sub-step failed in the attempt that is repeated, and throws the same error.
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
 * Why a unit runs: it never started; its evidence is missing; its evidence changed (`missing`: the evidence that is missing too); an
 * earlier step runs again or is assumed done; the user forced it. `answered`: its wait already has an answer. `parts`, of a composite
 * that is partly done: how many of its parts are. `unfinished`: it is a map, and not all its items have completed.
 */
export type RunReason =
  | {
      readonly _tag: 'NotStarted'
      readonly answered?: true
      readonly parts?: { readonly done: number; readonly total: number }
    }
  | { readonly _tag: 'EvidenceMissing'; readonly missing: ReadonlyArray<Evidence> }
  | {
      readonly _tag: 'EvidenceChanged'
      readonly changed: ReadonlyArray<Changed>
      readonly missing?: ReadonlyArray<Evidence>
      readonly unfinished?: true
    }
  | { readonly _tag: 'EarlierStepRunsAgain'; readonly step: Unit }
  | { readonly _tag: 'Forced' }

/**
 * Why a unit is retried: it failed, was in flight when the process ended, or was interrupted. `inDoubt`: no attempt failed; a call of the
 * sub-step was refused, because it may have run (`message`).
 */
export type RetryReason =
  | { readonly _tag: 'Failed'; readonly message: string; readonly attempts: number; readonly inDoubt?: true }
  | { readonly _tag: 'InFlight'; readonly attempt: number }
  | { readonly _tag: 'Interrupted'; readonly reason: InterruptReason }

/** The unit of a decision. `stepIndex`: the index of its top-level step; `fingerprint`: of the planned definition. */
interface DecisionBase {
  readonly unit: Unit
  readonly stepIndex: number
  readonly summary: string
  readonly fingerprint: string
}

/** The unit is skipped. */
export interface Skip extends DecisionBase {
  readonly _tag: 'Skip'
  readonly reason: SkipReason
}

/** The unit runs. */
export interface Run extends DecisionBase {
  readonly _tag: 'Run'
  readonly reason: RunReason
}

/**
 * The unit is retried. `attempt`: the number of the next attempt, from 1. An interrupted attempt keeps its number; if all
 * attempts were used up, counting restarts at 1.
 */
export interface Retry extends DecisionBase {
  readonly _tag: 'Retry'
  readonly attempt: number
  readonly reason: RetryReason
}

/**
 * Why a unit needs confirmation. `MaybeLost`: it has no record, and the newest state is damaged. `MayHaveRun`: an edit put it in place of a unit
 * that ran or may have run, or a record names it as a sub-step in doubt.
 */
export type ConfirmReason = RetryReason | RunReason | PollReason | { readonly _tag: 'MaybeLost' | 'MayHaveRun' }

/**
 * The unit needs an answer before it may run: it is not idempotent and may have taken effect, or its evidence changed.
 */
export interface Confirm extends DecisionBase {
  readonly _tag: 'Confirm'
  readonly reason: ConfirmReason
}

/**
 * The unit waits: for a job, which `poll` polls, or for a timer or an answer, which a resume checks. A wave or map waits if none of
 * its groups runs and at least one waits; a sequence, if its next step waits; a task, if its code only waits.
 */
export interface Poll extends DecisionBase {
  readonly _tag: 'Poll'
  readonly reason: PollReason
}

/**
 * Why a unit waits: its job is pending; it sleeps until a time; or it waits for an answer, at most `until` (UTC, ISO 8601). `answered`: the
 * answer is recorded, and the unit takes it when the run resumes.
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
 * The decision about one unit, and its reason.
 *
 * @category model
 */
export type Decision = Skip | Run | Retry | Confirm | Poll

/**
 * What a resume will do. `decisions` has one entry for each unit of the workflow in document order, a composite before its parts; after a task that
 * runs, one for each of its recorded sub-steps. The other fields summarize it:
 *
 * - `startIndex`: the first step that is not skipped, or the number of steps;
 * - `retryCurrent`: true if `startIndex` is the step in the `state` of the checkpoint, and that state is `BeforeStep`, `Failed` with
 *   `retryable`, or `Interrupted` with `inProgress`. With `BeforeStep` the step may not have started: its decision says whether it is retried;
 * - `skipSteps`: the indices of the skipped steps;
 * - `variables`: the variables that the first step to run sees;
 * - `abandons`: the pending jobs that the plan gives up: their units run again, are assumed done, or an edit removed them or made them units
 *   that poll no job. Nothing waits for these jobs any more, and nothing cancels them; absent without such jobs;
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
  readonly abandons?: ReadonlyArray<PendingJob>
  readonly input?: Json
}

/**
 * An answer to a {@link Confirm}: run the unit again; count it as done, with this output; or keep changed evidence, which records the
 * current state and runs nothing.
 *
 * @category model
 */
export type Answer =
  { readonly _tag: 'Again' } | { readonly _tag: 'Keep' } | { readonly _tag: 'Done'; readonly output?: Json }

/**
 * Which edits of the workflow a plan accepts. `strict`: none. `completed`: edits of steps that did not complete, unless one may have taken effect and
 * is not idempotent; no step inserted before a completed one. `ignore`: all edits but two: another kind of step in place of a completed one, because
 * the record holds no result of that kind; and code in place of a pending job, because nothing could poll that job. No policy accepts another name of
 * the workflow.
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
 * The options of `planResume`.
 *
 * - `fromStep` (the path of a unit): assumes all earlier steps done; the unit and everything after it runs.
 * - `input`: with `fromStep`, replaces the recorded input for everything that still runs. Without `fromStep`, it must equal the recorded
 *   input. Refused with `InputInUse` if a unit that `fromStep` does not run again has already started with the recorded input (in
 *   flight, failed or pending).
 * - `restartWave` (the path of a sequence, wave or map): all its parts and everything after it run.
 * - `changes`: default `completed`.
 * - `confirm`: answers, by unit. Ignored for a unit whose record is kept, so that a resume can be repeated with them; but `Done` with another
 *   output than the recorded one is refused. `Done` can also correct an earlier `Done`: it supplies the output of a task that has no valid one,
 *   and replaces the output of a sub-step.
 * - `outputs`: outputs, by unit, for tasks that `fromStep` assumes done and that have none recorded, for tasks that were declared done
 *   without an output that fits, or that an edit makes capture a variable, and for sub-steps that were declared done.
 * - `evidence`: missing or changed evidence, collected by the caller; the planner never reads files. Units with missing evidence run again.
 *   Changed evidence raises a question at the last unit that recorded it, unless it is explained: a unit with the same artifact path was in
 *   flight, failed, interrupted or pending since. `fromStep` keeps changes before that step.
 * - `onChanged`: the default for changed evidence without an answer: `refuse` (default) leaves the question open; `keep` accepts the
 *   current state.
 * - `recovered`: the newest state is damaged; units that are not idempotent and have no record need confirmation.
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

/** Returns all units of a plan that need an answer. A composite is included only if none of its parts is: its own evidence then changed. */
export const confirms = (plan: ResumePlan): ReadonlyArray<Confirm> => {
  const found = plan.decisions.filter((decision) => decision._tag === 'Confirm')
  const above = new Set(found.map(({ unit }) => parent(unit)))
  return found.filter(({ unit }) => !above.has(unit))
}

/**
 * Returns the questions to answer next before a plan can run: one for each unit with changed evidence; if there is none, one for each unit
 * that may have taken effect. Answers about changed evidence decide what else needs an answer.
 *
 * @category destructors
 */
export const openQuestions = (plan: ResumePlan): ReadonlyArray<Confirm> => {
  const all = confirms(plan)
  const edited = all.filter(({ reason }) => reason._tag === 'EvidenceChanged')
  return edited.length > 0 ? edited : all
}

/**
 * Returns which answers a question takes. Only changed evidence can be kept, and that of a map only once all its items have completed.
 *
 * @category destructors
 */
export const answersTo = ({ reason }: Confirm): ReadonlyArray<Answer['_tag']> =>
  reason._tag === 'EvidenceChanged' && reason.unfinished !== true ? ['Again', 'Keep', 'Done'] : ['Again', 'Done']

/** Returns whether running a unit again would overwrite changes. A step that makes a commit again overwrites none. */
export const wouldOverwrite = ({ reason }: Pick<Confirm, 'reason'>): boolean =>
  reason._tag === 'EvidenceChanged' && reason.changed.some(({ was }) => was._tag !== 'Commit')

/** A decision with the decisions about the parts of its unit. */
export interface DecisionTree {
  readonly decision: Decision
  readonly parts: ReadonlyArray<DecisionTree>
}

/** Returns the decisions of a plan as a tree. Cached: a plan never changes. */
export const decisionTrees = ({ decisions }: Pick<ResumePlan, 'decisions'>): ReadonlyArray<DecisionTree> => {
  const known = TREES.get(decisions) ?? treesOf(decisions)
  TREES.set(decisions, known)
  return known
}

const TREES = new WeakMap<ReadonlyArray<Decision>, ReadonlyArray<DecisionTree>>()

const treesOf = (decisions: ReadonlyArray<Decision>): ReadonlyArray<DecisionTree> => {
  const top: Array<DecisionTree> = []
  /** The units around the next decision, innermost last. */
  const open: Array<{ readonly unit: Unit; readonly parts: Array<DecisionTree> }> = []
  decisions.forEach((decision, index) => {
    const { unit } = decision
    while (open.length > 0 && !isWithin(unit, open.at(-1)?.unit as Unit)) open.pop()
    const next = decisions[index + 1]?.unit
    const parts: Array<DecisionTree> | undefined = next !== undefined && isWithin(next, unit) ? [] : undefined
    ;(open.at(-1)?.parts ?? top).push({ decision, parts: parts ?? NO_PARTS })
    if (parts !== undefined) open.push({ unit, parts })
  })
  return top
}

const NO_PARTS: ReadonlyArray<never> = []

/**
 * Returns a hash that pins a plan, 16 hex digits: it differs if a decision, a reason, a relevant definition, a variable, an abandoned job or the
 * replacing input differs.
 *
 * @category destructors
 */
export const hashPlan = (plan: ResumePlan): string => {
  const { decisions, variables, abandons, input } = plan
  const pinned = { decisions, variables: Object.fromEntries(variables), ...defined({ abandons, input }) }
  return sha256(canonical(pinned as unknown as Json)).slice(0, 16)
}
