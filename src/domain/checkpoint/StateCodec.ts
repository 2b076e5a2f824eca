/** Codecs of a checkpoint's parts. */
import * as t from 'io-ts'
import type { CheckpointState, FailedAttempt, Failure, InFlight, InterruptReason } from './CheckpointState.js'
import type { Outcome } from '../data/StepFailure.js'
import type { Move, Origin } from './Checkpoint.js'
import type { Evidence } from './CompletedStep.js'
import type { PendingUnit, RejectedAnswer, Submission, Wait } from './Pending.js'
import type { Item } from './Items.js'
import { checked, fields, json, list, millis, natural, oneOf, optional, tagged, time } from '../data/JsonCodec.js'
import type { StepError } from '../data/StepError.js'
import type { SubStep } from './SubStep.js'
import type { Plain } from './Units.js'
import type { WaitKind } from '../workflow/Workflow.js'
import type { StepIdentity, WorkflowIdentity } from '../workflow/WorkflowIdentity.js'
import type { Workspace } from '../workflow/Workspace.js'

export const stepError: t.Type<StepError> = fields<StepError>('an error', {
  name: t.string,
  message: t.string,
  code: optional(t.string),
  stack: optional(t.string),
  data: optional(json)
})

export const outcome: t.Type<Outcome> = oneOf('notApplied', 'unknown')

export const inFlight: t.Type<InFlight> = fields<InFlight>('an attempt in flight', {
  unit: t.string,
  attempt: natural,
  suspended: optional(t.literal(true)),
  edited: optional(t.literal(true)),
  confirmed: optional(list(t.string))
})

const failedAttempt: t.Type<FailedAttempt> = fields<FailedAttempt>('a failed attempt', {
  attempt: natural,
  startedAt: time,
  failedAt: time,
  error: stepError,
  outcome,
  delayBeforeNextMillis: optional(millis)
})

const waitKind: t.Type<WaitKind> = oneOf('Timer', 'Answer')

export const subStep: t.Type<SubStep> = fields<SubStep>('a sub-step', {
  input: optional(t.string),
  version: optional(t.string),
  idempotent: optional(t.literal(false)),
  wait: optional(waitKind),
  transient: optional(t.literal(true))
})

const failure: t.Type<Failure> = fields<Failure>('a failure', {
  unit: t.string,
  error: stepError,
  outcome,
  attempts: list(failedAttempt),
  subStep: optional(subStep)
})

export const origin: t.Type<Origin> = fields<Origin>('the origin of a fork', {
  runId: t.string,
  revision: natural,
  unit: t.string
})

export const move: t.Type<Move> = fields<Move>('a move', {
  way: oneOf<Move['way']>('to', 'from'),
  store: t.string
})

export const interruptReason: t.Type<InterruptReason> = oneOf('signal', 'aborted', 'paused', 'pending', 'cancelled')

const standing = { stepIndex: natural, step: t.string }

const open = { ...standing, inFlight: list(inFlight), failures: list(failure) }

export const checkpointState: t.Type<Plain<CheckpointState>> = tagged('a checkpoint state', '_tag', {
  BeforeStep: open,
  Completed: standing,
  Failed: { ...open, retryable: t.boolean },
  Interrupted: { ...open, inProgress: t.boolean, reason: interruptReason }
})

const content = { size: natural, sha256: t.string }

export const evidence: t.Type<Evidence> = tagged('evidence', '_tag', {
  Artifact: { path: t.string, ...content },
  Commit: { hash: t.string },
  File: { path: t.string },
  Stored: { id: t.string, ...content }
})

const timer = { wakeAt: time }

const rejected = fields<RejectedAnswer>('a rejected answer', { by: t.string, path: t.string, expected: t.string })

const answer = { question: optional(t.string), until: optional(time), rejected: optional(rejected) }

export const wait: t.Type<Wait> = tagged('a wait', '_tag', { Timer: timer, Answer: answer })

const waiting = { unit: t.string, startedAt: time }

export const pending: t.Type<PendingUnit> = tagged('a pending unit', '_tag', {
  Job: { unit: t.string, key: t.string, job: optional(json), attempt: optional(natural), submittedAt: time },
  Timer: { ...timer, ...waiting },
  Answer: { ...answer, ...waiting }
})

export const submission: t.Type<Submission> = fields<Submission>('a submission', { unit: t.string, key: t.string })

const folder = { path: t.string }

export const workspace: t.Type<Workspace> = tagged('a workspace', 'kind', {
  none: folder,
  directory: folder,
  worktree: {
    path: t.string,
    root: t.string,
    repository: t.string,
    branch: t.string,
    commit: t.string,
    into: optional(t.string)
  }
})

const definition = { name: t.string, fingerprint: t.string, needs: optional(list(t.string)) }

const composite = { ...definition, ownFingerprint: t.string }

/** Makes the codec of a step from the codec of its parts. */
export const stepOf = (part: t.Type<StepIdentity>): t.Type<StepIdentity> =>
  tagged<StepIdentity, '_tag'>('a step', '_tag', {
    Task: {
      ...definition,
      idempotent: t.boolean,
      captures: optional(list(t.string)),
      wait: optional(waitKind)
    },
    Sequence: { ...composite, steps: list(part) },
    Wave: { ...composite, groups: list(part) },
    Map: { ...composite, each: part }
  })

const stepIdentity: t.Type<StepIdentity> = t.recursion('a step', () => stepOf(stepIdentity))

export const item: t.Type<Item> = fields<Item>('an item', { key: t.string, value: json })

/** A workflow identity with steps of another type. */
export type WorkflowOf<S> = Omit<WorkflowIdentity, 'steps'> & { readonly steps: ReadonlyArray<S> }

/** Makes the codec of a workflow from the codec of its steps. */
export const workflowOf = <S>(step: t.Type<S>): t.Type<WorkflowOf<S>> =>
  checked(
    fields<WorkflowOf<S>>('a workflow', {
      name: t.string,
      path: optional(t.string),
      fingerprint: t.string,
      secrets: optional(list(t.string)),
      steps: list(step)
    })
  )

export const workflowIdentity: t.Type<WorkflowIdentity> = workflowOf(stepIdentity)
