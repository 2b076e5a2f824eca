/**
 * The changes of a run, as facts. A checkpoint is the sum of its changes. Each is plain JSON, which an appending store writes.
 *
 * @module
 */
import type { InFlight, InterruptReason } from '../checkpoint/CheckpointState.js'
import type { Outcome } from '../data/StepFailure.js'
import type { Move, Origin, Started } from '../checkpoint/Checkpoint.js'
import type { Evidence } from '../checkpoint/CompletedStep.js'
import type { Item } from '../checkpoint/Items.js'
import type { Json } from '../data/Json.js'
import type { Submission, Wait } from '../checkpoint/Pending.js'
import type { StepError } from '../data/StepError.js'
import type { SubStep } from '../checkpoint/SubStep.js'
import type { Unit } from '../workflow/Unit.js'
import type { WorkflowIdentity } from '../workflow/WorkflowIdentity.js'

export type { Started } from '../checkpoint/Checkpoint.js'

/** `at`: when it happened, UTC, ISO 8601. */
interface Fact {
  readonly at: string
}

interface UnitFact extends Fact {
  readonly unit: Unit
}

/**
 * The run starts from the records of another one, which `from` names: the change of revision 0, in place of `Started`.
 */
export interface Forked extends Fact {
  readonly _tag: 'Forked'
  readonly runId: string
  readonly from: Origin
}

/**
 * The run moves between stores. `to`: its copy in the old store, which cannot be resumed any more. `from`: its copy in the new store, which
 * cannot be resumed yet: this change is its revision 0, in place of `Started`. `here`: the run has moved, and this copy can be resumed.
 */
export interface Moved extends Fact {
  readonly _tag: 'Moved'
  readonly way: Move['way'] | 'here'
  readonly store: string
}

/**
 * The run adopts an edited definition, as the accepted plan decided. Records of units that still exist stay, except those of composites that
 * gained a part. A unit whose record stays counts as completed under the new definition; the record keeps the fingerprint of the definition
 * that ran. `abandons`: the units whose pending jobs this abandons.
 */
export interface WorkflowEdited extends Fact {
  readonly _tag: 'WorkflowEdited'
  readonly workflow: WorkflowIdentity
  readonly abandons?: ReadonlyArray<Unit>
}

/** The run continues from a recovered checkpoint: what was lost, and who agreed. */
export interface Recovered extends Fact {
  readonly _tag: 'Recovered'
  readonly from: string
  readonly lost: string
  readonly agreedBy: string
}

/** Replaces the run's input for everything that runs later. Records stay unchanged. */
export interface InputReplaced extends Fact {
  readonly _tag: 'InputReplaced'
  readonly input: Json
}

/** The items of a map are recorded. They hold until a rewind names the map or a unit around it, or an edit removes the map. */
export interface Expanded extends UnitFact {
  readonly _tag: 'Expanded'
  readonly items: ReadonlyArray<Item>
}

/**
 * Attempts of one step are about to start; durable before the first starts. Of sub-steps, `attempts` has only those that are not idempotent.
 * `submissions`: the keys of attempts that submit a job.
 */
export interface AttemptStarted extends Fact {
  readonly _tag: 'AttemptStarted'
  readonly attempts: ReadonlyArray<InFlight>
  readonly submissions?: ReadonlyArray<Submission>
}

/**
 * An attempt failed, and another follows after `delayBeforeNextMillis`. Of a sub-step: it was stopped before it did anything, and is no
 * longer in flight. `dropped`: the open waits that the code of the task started; the next attempt starts them again.
 */
export interface AttemptFailed extends UnitFact {
  readonly _tag: 'AttemptFailed'
  readonly attempt: number
  readonly startedAt: string
  readonly error: StepError
  readonly outcome: Outcome
  readonly delayBeforeNextMillis: number
  readonly dropped?: ReadonlyArray<Unit>
}

/**
 * A unit completed: a task or sub-step with its output, or a composite whose parts all completed. `captured` and `evidence` are absent if they
 * are empty.
 */
export interface UnitCompleted extends UnitFact {
  readonly _tag: 'UnitCompleted'
  readonly output?: Json
  readonly captured?: ReadonlyArray<string>
  readonly attempts: number
  readonly startedAt: string
  readonly durationMillis: number
  readonly evidence?: ReadonlyArray<Evidence>
  readonly subStep?: SubStep
}

/**
 * A unit failed after its last retry, or a wait timed out. `last`: the last failed attempt, absent for a composite whose parts failed.
 * Siblings may still run, and so may the task of a sub-step. `dropped`: as in {@link AttemptFailed}.
 */
export interface UnitFailed extends UnitFact {
  readonly _tag: 'UnitFailed'
  readonly retryable: boolean
  readonly last?: Pick<AttemptFailed, 'attempt' | 'startedAt' | 'error' | 'outcome'>
  readonly subStep?: SubStep
  readonly dropped?: ReadonlyArray<Unit>
}

/** An attempt submitted its job: the attempt ends, the job is pending. `job`: what `submit` returned, absent if nothing. */
export interface JobSubmitted extends UnitFact {
  readonly _tag: 'JobSubmitted'
  readonly attempt: number
  readonly job?: Json
}

/** A pending job failed, is missing or returned an invalid result. Success is a `UnitCompleted`. */
export interface JobEnded extends UnitFact {
  readonly _tag: 'JobEnded'
  readonly error: StepError
  readonly outcome: Outcome
  readonly retryable: boolean
}

/** A unit waits, until a time or for an answer. After a rejected answer it is recorded again, which drops the answer. */
export interface WaitStarted extends UnitFact {
  readonly _tag: 'WaitStarted'
  readonly wait: Wait
}

/** An answer to a wait, which may not have started yet. The unit completes with it when it runs. */
export interface Answered extends UnitFact {
  readonly _tag: 'Answered'
  readonly value: Json
  readonly by: string
}

/**
 * An attempt of a task ended without an outcome, because its code only waits. The attempt is repeated when one of its open `waits` ends.
 * `dropped`: the waits that an earlier run of its code started, and this one did not.
 */
export interface Suspended extends UnitFact {
  readonly _tag: 'Suspended'
  readonly waits: ReadonlyArray<Unit>
  readonly dropped?: ReadonlyArray<Unit>
}

/** The run stopped in or before this top-level step: on request, or because only pending units are left (`reason: 'pending'`). */
export interface Interrupted extends UnitFact {
  readonly _tag: 'Interrupted'
  readonly reason: InterruptReason
}

/**
 * Drops the records, jobs and waits of these units and their parts, and the closing records of their ancestors, so that they run again.
 * Increments the generation. `abandons`: the units whose pending jobs this abandons.
 */
export interface Rewound extends Fact {
  readonly _tag: 'Rewound'
  readonly units: ReadonlyArray<Unit>
  readonly why: string
  readonly abandons?: ReadonlyArray<Unit>
}

/**
 * A user or host declares a unit done that has no record, or supplies the output that such a declaration lacked. `subStep`: the recorded call of
 * a sub-step; `abandons`: the units whose pending jobs this abandons.
 */
export interface Assumed extends UnitFact {
  readonly _tag: 'Assumed'
  readonly output?: Json
  readonly captured: ReadonlyArray<string>
  readonly abandons?: ReadonlyArray<Unit>
  readonly subStep?: SubStep
}

/**
 * A user or host decides that a unit in doubt runs again. With `evidence`, they accept the changed evidence of a completed unit, and it
 * replaces the record's. `replaced`: the evidence is no accepted change; a later unit, whose record is dropped, had replaced artifacts of
 * this one.
 */
export interface Confirmed extends UnitFact {
  readonly _tag: 'Confirmed'
  readonly evidence?: ReadonlyArray<Evidence>
  readonly replaced?: true
}

/**
 * A fact about a run.
 *
 * @category model
 */
export type Change =
  | Started
  | Forked
  | Moved
  | WorkflowEdited
  | Recovered
  | InputReplaced
  | Expanded
  | AttemptStarted
  | AttemptFailed
  | UnitCompleted
  | UnitFailed
  | JobSubmitted
  | JobEnded
  | WaitStarted
  | Answered
  | Suspended
  | Interrupted
  | Rewound
  | Assumed
  | Confirmed
