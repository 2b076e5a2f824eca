/**
 * What happens to a run, as facts. A checkpoint is the sum of its changes, and each change is plain JSON: what an
 * appending store writes.
 *
 * @module
 */
import type { InFlight, InterruptReason } from '../checkpoint/CheckpointState.js'
import type { Outcome } from '../data/StepFailure.js'
import type { Started } from '../checkpoint/Checkpoint.js'
import type { Evidence } from '../checkpoint/CompletedStep.js'
import type { Item } from '../checkpoint/Items.js'
import type { Json } from '../data/Json.js'
import type { Submission, Wait } from '../checkpoint/Pending.js'
import type { StepError } from '../data/StepError.js'
import type { SubStep } from '../checkpoint/SubStep.js'
import type { Unit } from '../workflow/Unit.js'
import type { WorkflowIdentity } from '../workflow/WorkflowIdentity.js'

export type { Started } from '../checkpoint/Checkpoint.js'

/** What every fact says: when it happened, UTC, ISO 8601. */
interface Fact {
  readonly at: string
}

/** A fact about one unit. */
interface UnitFact extends Fact {
  readonly unit: Unit
}

/**
 * The run adopts an edited definition. Records carry over by name and count as completed under the new definition, because the accepted
 * plan said so; they keep the fingerprint of the definition that ran.
 */
export interface WorkflowEdited extends Fact {
  readonly _tag: 'WorkflowEdited'
  readonly workflow: WorkflowIdentity
}

/** The run goes on from a checkpoint that was recovered from damage: what was lost, and who agreed to go on without. */
export interface Recovered extends Fact {
  readonly _tag: 'Recovered'
  readonly from: string
  readonly lost: string
  readonly agreedBy: string
}

/** Replaces the run's input from the named step on. Records before that step stay unchanged. */
export interface InputReplaced extends Fact {
  readonly _tag: 'InputReplaced'
  readonly input: Json
}

/** It is known for which items a map has groups. Holds until the map, or a step before it, is done anew. */
export interface Expanded extends UnitFact {
  readonly _tag: 'Expanded'
  readonly items: ReadonlyArray<Item>
}

/**
 * Attempts of units of one step are about to start. Durable before the first of them starts. `submissions`: the keys under which those of
 * them submit that hand their work over as a job. A sub-step is named only if it is not idempotent.
 */
export interface AttemptStarted extends Fact {
  readonly _tag: 'AttemptStarted'
  readonly attempts: ReadonlyArray<InFlight>
  readonly submissions?: ReadonlyArray<Submission>
}

/** An attempt failed and another is to follow after `delayBeforeNextMillis`. */
export interface AttemptFailed extends UnitFact {
  readonly _tag: 'AttemptFailed'
  readonly attempt: number
  readonly startedAt: string
  readonly error: StepError
  readonly outcome: Outcome
  readonly delayBeforeNextMillis: number
}

/** A unit ended well: a task or a sub-step with its output, or a composite all of whose parts did. */
export interface UnitCompleted extends UnitFact {
  readonly _tag: 'UnitCompleted'
  readonly output?: Json
  readonly captured: ReadonlyArray<string>
  readonly attempts: number
  readonly startedAt: string
  readonly durationMillis: number
  readonly evidence: ReadonlyArray<Evidence>
  readonly subStep?: SubStep
}

/**
 * A unit ended badly, its retries spent. `last`: the last failed attempt, absent for a composite whose parts failed. Siblings of a group
 * may still run, and so may the task of a sub-step.
 */
export interface UnitFailed extends UnitFact {
  readonly _tag: 'UnitFailed'
  readonly retryable: boolean
  readonly last?: {
    readonly attempt: number
    readonly startedAt: string
    readonly error: StepError
    readonly outcome: Outcome
  }
  readonly subStep?: SubStep
}

/**
 * An attempt of a unit has handed its work over: it is in flight no more, and its job is pending. `job`: what the submission gave, absent
 * if it gave nothing.
 */
export interface JobSubmitted extends UnitFact {
  readonly _tag: 'JobSubmitted'
  readonly attempt: number
  readonly job?: Json
}

/**
 * A pending unit failed: its job failed, is missing or returned what cannot be stored, or nobody answered in time. One that ended well is a
 * `UnitCompleted` like any other.
 */
export interface JobEnded extends UnitFact {
  readonly _tag: 'JobEnded'
  readonly error: StepError
  readonly outcome: Outcome
  readonly retryable: boolean
}

/** A unit waits: until a time, or for an answer. It waits anew if an answer did not fit, which is dropped. */
export interface WaitStarted extends UnitFact {
  readonly _tag: 'WaitStarted'
  readonly wait: Wait
}

/** Somebody answered a unit that waits, or will. The unit takes the answer, and completes with it, when it runs. */
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

/**
 * The run stopped in or before this top-level step: somebody asked for it, or all that is left waits (`reason: 'pending'`) for a job, a
 * timer or an answer.
 */
export interface Interrupted extends UnitFact {
  readonly _tag: 'Interrupted'
  readonly reason: InterruptReason
}

/**
 * Completed work is to be done again, by decision: the records of these units and of all that they are made of are dropped, and the jobs
 * that they wait for. So are the records of what they are part of. Raises the generation.
 */
export interface Rewound extends Fact {
  readonly _tag: 'Rewound'
  readonly units: ReadonlyArray<Unit>
  readonly why: string
}

/** The user declares a unit done that has no record. `subStep`: what is known of the call, if it is a sub-step. */
export interface Assumed extends UnitFact {
  readonly _tag: 'Assumed'
  readonly output?: Json
  readonly captured: ReadonlyArray<string>
  readonly subStep?: SubStep
}

/**
 * The user decides that a unit in doubt runs again; with `evidence`, that a completed unit's changed evidence is accepted. `evidence` then
 * replaces the recorded list.
 */
export interface Confirmed extends UnitFact {
  readonly _tag: 'Confirmed'
  readonly evidence?: ReadonlyArray<Evidence>
}

/**
 * A fact about a run.
 *
 * @category model
 */
export type Change =
  | Started
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
