/**
 * What a checkpoint remembers of the workflow that ran: enough to tell, on resume, what was edited.
 *
 * @module
 */
import { fingerprint } from '../data/Digest.js'
import type { Step, WaitKind, Workflow } from './Workflow.js'

// --- model

/** A task as it was defined. `wait`: what it waits for, if waiting is all that it does. */
export interface TaskIdentity {
  readonly _tag: 'Task'
  readonly name: string
  readonly fingerprint: string
  readonly idempotent: boolean
  readonly wait?: WaitKind
}

/** A sequence as it was defined. `own`: the fingerprint of what it was beside its parts, as in all composites. */
export interface SequenceIdentity {
  readonly _tag: 'Sequence'
  readonly name: string
  readonly fingerprint: string
  readonly ownFingerprint: string
  readonly steps: ReadonlyArray<StepIdentity>
}

/** A wave as it was defined. */
export interface WaveIdentity {
  readonly _tag: 'Wave'
  readonly name: string
  readonly fingerprint: string
  readonly ownFingerprint: string
  readonly groups: ReadonlyArray<StepIdentity>
}

/** A map as it was defined, with what it does for each item. */
export interface MapIdentity {
  readonly _tag: 'Map'
  readonly name: string
  readonly fingerprint: string
  readonly ownFingerprint: string
  readonly each: StepIdentity
}

/** A step as it was defined. */
export type StepIdentity = TaskIdentity | SequenceIdentity | WaveIdentity | MapIdentity

/**
 * A workflow as it was defined; `path` is the file it came from, if it came from one; `secrets` the names of its secrets, if it has any.
 */
export interface WorkflowIdentity {
  readonly name: string
  readonly path?: string
  readonly fingerprint: string
  readonly secrets?: ReadonlyArray<string>
  readonly steps: ReadonlyArray<StepIdentity>
}

// --- constructors

/**
 * The identity of a workflow.
 *
 * @example
 * import { Workflow, WorkflowIdentity } from 'dogear'
 * import assert from 'node:assert/strict'
 *
 * const workflow = { name: 'release', steps: [Workflow.task('build')] }
 * assert.deepEqual(WorkflowIdentity.of(workflow).steps.map((step) => step.name), ['build'])
 *
 * @category constructors
 */
export const of = (workflow: Workflow, path?: string): WorkflowIdentity => ({
  name: workflow.name,
  ...(path === undefined ? {} : { path }),
  fingerprint: fingerprintOf(workflow),
  ...secretsOf(workflow),
  steps: workflow.steps.map(ofStep)
})

const secretsOf = ({ secrets = [] }: Workflow): { readonly secrets?: ReadonlyArray<string> } =>
  secrets.length === 0 ? {} : { secrets }

/** The fingerprint of a whole workflow: of its name, of its steps' fingerprints, in order, and of the names of its secrets. */
export const fingerprintOf = (workflow: Workflow): string =>
  fingerprint({ name: workflow.name, steps: workflow.steps.map((step) => step.fingerprint), ...secretsOf(workflow) })

const ofStep = (step: Step): StepIdentity => {
  const { name, fingerprint } = step
  switch (step._tag) {
    case 'Task':
      return step.wait === undefined
        ? { _tag: 'Task', name, fingerprint, idempotent: step.idempotent }
        : { _tag: 'Task', name, fingerprint, idempotent: step.idempotent, wait: step.wait }
    case 'Sequence':
      return { _tag: 'Sequence', name, fingerprint, ownFingerprint: step.ownFingerprint, steps: step.steps.map(ofStep) }
    case 'Wave':
      return { _tag: 'Wave', name, fingerprint, ownFingerprint: step.ownFingerprint, groups: step.groups.map(ofStep) }
    case 'Map':
      return { _tag: 'Map', name, fingerprint, ownFingerprint: step.ownFingerprint, each: ofStep(step.each) }
  }
}

// --- destructors

/** The fingerprint that the record of a unit keeps: of a composite that of what it is beside its parts, which have records of their own. */
export const recordedFingerprint = (step: Step | StepIdentity): string =>
  'ownFingerprint' in step ? step.ownFingerprint : step.fingerprint
