/** Codecs of a checkpoint's parts. */
import * as t from 'io-ts'
import type {
  BeforeStep,
  CheckpointState,
  Completed,
  Failed,
  FailedAttempt,
  Failure,
  InFlight,
  Interrupted,
  InterruptReason
} from './CheckpointState.js'
import type { Outcome } from '../data/StepFailure.js'
import type { Move, Origin } from './Checkpoint.js'
import type { CompletedStep, Evidence } from './CompletedStep.js'
import type { PendingUnit, PendingJob, PendingWait, Submission, Wait } from './Pending.js'
import type { Item } from './Items.js'
import { checked, fields, json, list, millis, natural, oneOf, optional, tagged, time } from '../data/JsonCodec.js'
import type { StepError } from '../data/StepError.js'
import type { SubStep } from './SubStep.js'
import type { Plain } from './Units.js'
import type {
  MapIdentity,
  SequenceIdentity,
  StepIdentity,
  TaskIdentity,
  WaveIdentity,
  WorkflowIdentity
} from '../workflow/WorkflowIdentity.js'
import type { InPlace, OwnFolder, Worktree, Workspace } from '../workflow/Workspace.js'

export const stepError: t.Type<StepError> = fields<StepError>('an error', {
  name: t.string,
  message: t.string,
  code: optional(t.string),
  stack: optional(t.string),
  data: optional(json)
})

export const outcome: t.Type<Outcome> = oneOf<Outcome>('notApplied', 'unknown')

export const inFlight: t.Type<InFlight> = fields<InFlight>('an attempt in flight', {
  unit: t.string,
  attempt: natural,
  suspended: optional(t.literal(true)),
  edited: optional(t.literal(true))
})

const failedAttempt: t.Type<FailedAttempt> = fields<FailedAttempt>('a failed attempt', {
  attempt: natural,
  startedAt: time,
  failedAt: time,
  error: stepError,
  outcome,
  delayBeforeNextMillis: optional(millis)
})

export const subStep: t.Type<SubStep> = fields<SubStep>('a sub-step', {
  input: optional(t.string),
  version: optional(t.string),
  idempotent: optional(t.literal(false)),
  wait: optional(oneOf<'Timer' | 'Answer'>('Timer', 'Answer')),
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

export const interruptReason: t.Type<InterruptReason> = oneOf<InterruptReason>(
  'signal',
  'aborted',
  'paused',
  'pending',
  'cancelled'
)

const beforeStep: t.Type<Plain<BeforeStep>> = fields<Plain<BeforeStep>>('BeforeStep', {
  _tag: t.literal('BeforeStep'),
  stepIndex: natural,
  step: t.string,
  inFlight: list(inFlight),
  failures: list(failure)
})

const completed: t.Type<Completed> = fields<Completed>('Completed', {
  _tag: t.literal('Completed'),
  stepIndex: natural,
  step: t.string
})

const failed: t.Type<Plain<Failed>> = fields<Plain<Failed>>('Failed', {
  _tag: t.literal('Failed'),
  stepIndex: natural,
  step: t.string,
  inFlight: list(inFlight),
  failures: list(failure),
  retryable: t.boolean
})

const interrupted: t.Type<Plain<Interrupted>> = fields<Plain<Interrupted>>('Interrupted', {
  _tag: t.literal('Interrupted'),
  stepIndex: natural,
  step: t.string,
  inProgress: t.boolean,
  inFlight: list(inFlight),
  failures: list(failure),
  reason: interruptReason
})

export const checkpointState: t.Type<Plain<CheckpointState>> = tagged<Plain<CheckpointState>>(
  'a checkpoint state',
  '_tag',
  {
    BeforeStep: beforeStep as t.Type<Plain<CheckpointState>>,
    Completed: completed as t.Type<Plain<CheckpointState>>,
    Failed: failed as t.Type<Plain<CheckpointState>>,
    Interrupted: interrupted as t.Type<Plain<CheckpointState>>
  }
)

export const evidence: t.Type<Evidence> = tagged<Evidence>('evidence', '_tag', {
  Artifact: fields<Evidence & { _tag: 'Artifact' }>('Artifact', {
    _tag: t.literal('Artifact'),
    path: t.string,
    size: natural,
    sha256: t.string
  }) as t.Type<Evidence>,
  Commit: fields<Evidence & { _tag: 'Commit' }>('Commit', {
    _tag: t.literal('Commit'),
    hash: t.string
  }) as t.Type<Evidence>,
  File: fields<Evidence & { _tag: 'File' }>('File', { _tag: t.literal('File'), path: t.string }) as t.Type<Evidence>,
  Stored: fields<Evidence & { _tag: 'Stored' }>('Stored', {
    _tag: t.literal('Stored'),
    id: t.string,
    size: natural,
    sha256: t.string
  }) as t.Type<Evidence>
})

export const completedStep: t.Type<CompletedStep> = fields<CompletedStep>('a completed step', {
  unit: t.string,
  stepIndex: natural,
  fingerprint: t.string,
  output: optional(json),
  captured: list(t.string),
  attempts: natural,
  startedAt: time,
  completedAt: time,
  durationMillis: millis,
  evidence: list(evidence),
  assumed: optional(t.literal(true)),
  subStep: optional(subStep),
  inDoubt: optional(list(t.string))
})

const timer = { _tag: t.literal('Timer'), wakeAt: time }

const answer = { _tag: t.literal('Answer'), question: optional(t.string), until: optional(time) }

export const wait: t.Type<Wait> = tagged<Wait>('a wait', '_tag', {
  Timer: fields<Wait & { _tag: 'Timer' }>('Timer', timer) as t.Type<Wait>,
  Answer: fields<Wait & { _tag: 'Answer' }>('Answer', answer) as t.Type<Wait>
})

export const pending: t.Type<PendingUnit> = tagged<PendingUnit>('a pending unit', '_tag', {
  Job: fields<PendingJob>('Job', {
    _tag: t.literal('Job'),
    unit: t.string,
    key: t.string,
    job: optional(json),
    attempt: optional(natural),
    submittedAt: time
  }) as t.Type<PendingUnit>,
  Timer: fields<PendingWait & { _tag: 'Timer' }>('Timer', {
    ...timer,
    unit: t.string,
    startedAt: time
  }) as t.Type<PendingUnit>,
  Answer: fields<PendingWait & { _tag: 'Answer' }>('Answer', {
    ...answer,
    unit: t.string,
    startedAt: time
  }) as t.Type<PendingUnit>
})

export const submission: t.Type<Submission> = fields<Submission>('a submission', { unit: t.string, key: t.string })

export const workspace: t.Type<Workspace> = tagged<Workspace>('a workspace', 'kind', {
  none: fields<InPlace>('a folder', { kind: t.literal('none'), path: t.string }) as t.Type<Workspace>,
  directory: fields<OwnFolder>('a folder', { kind: t.literal('directory'), path: t.string }) as t.Type<Workspace>,
  worktree: fields<Worktree>('a worktree', {
    kind: t.literal('worktree'),
    path: t.string,
    root: t.string,
    repository: t.string,
    branch: t.string,
    commit: t.string,
    into: optional(t.string)
  }) as t.Type<Workspace>
})

const needs = optional(list(t.string))

const taskIdentity: t.Type<TaskIdentity> = fields<TaskIdentity>('a task', {
  _tag: t.literal('Task'),
  name: t.string,
  fingerprint: t.string,
  needs,
  idempotent: t.boolean,
  captures: optional(list(t.string)),
  wait: optional(oneOf<Wait['_tag']>('Timer', 'Answer'))
})

const stepIdentity: t.Type<StepIdentity> = t.recursion('a step', () =>
  tagged<StepIdentity>('a step', '_tag', {
    Task: taskIdentity as t.Type<StepIdentity>,
    Sequence: fields<SequenceIdentity>('a sequence', {
      _tag: t.literal('Sequence'),
      name: t.string,
      fingerprint: t.string,
      needs,
      ownFingerprint: t.string,
      steps: list(stepIdentity)
    }) as t.Type<StepIdentity>,
    Wave: fields<WaveIdentity>('a wave', {
      _tag: t.literal('Wave'),
      name: t.string,
      fingerprint: t.string,
      needs,
      ownFingerprint: t.string,
      groups: list(stepIdentity)
    }) as t.Type<StepIdentity>,
    Map: fields<MapIdentity>('a map', {
      _tag: t.literal('Map'),
      name: t.string,
      fingerprint: t.string,
      needs,
      ownFingerprint: t.string,
      each: stepIdentity
    }) as t.Type<StepIdentity>
  })
)

export const item: t.Type<Item> = fields<Item>('an item', { key: t.string, value: json })

export const workflowIdentity: t.Type<WorkflowIdentity> = checked(
  fields<WorkflowIdentity>('a workflow', {
    name: t.string,
    path: optional(t.string),
    fingerprint: t.string,
    secrets: optional(list(t.string)),
    steps: list(stepIdentity)
  })
)
