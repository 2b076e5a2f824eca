/**
 * The recorded definition of a workflow. A resume compares it with the current one to find edits.
 *
 * @module
 */
import { fingerprint } from '../data/Digest.js'
import type { Step, WaitKind, Workflow } from './Workflow.js'

// --- model

/** The recorded definition of a task. `wait`: what it waits for, if it runs no code. */
export interface TaskIdentity {
  readonly _tag: 'Task'
  readonly name: string
  readonly fingerprint: string
  readonly idempotent: boolean
  readonly wait?: WaitKind
}

/** The recorded definition of a sequence. `ownFingerprint`: of its own settings, without its parts. */
export interface SequenceIdentity {
  readonly _tag: 'Sequence'
  readonly name: string
  readonly fingerprint: string
  readonly ownFingerprint: string
  readonly steps: ReadonlyArray<StepIdentity>
}

/** The recorded definition of a wave. */
export interface WaveIdentity {
  readonly _tag: 'Wave'
  readonly name: string
  readonly fingerprint: string
  readonly ownFingerprint: string
  readonly groups: ReadonlyArray<StepIdentity>
}

/** The recorded definition of a map. */
export interface MapIdentity {
  readonly _tag: 'Map'
  readonly name: string
  readonly fingerprint: string
  readonly ownFingerprint: string
  readonly each: StepIdentity
}

/** The recorded definition of a step. */
export type StepIdentity = TaskIdentity | SequenceIdentity | WaveIdentity | MapIdentity

/** The recorded definition of a workflow. `path`: the file it was read from, if any; `secrets`: the names of its secrets, if any. */
export interface WorkflowIdentity {
  readonly name: string
  readonly path?: string
  readonly fingerprint: string
  readonly secrets?: ReadonlyArray<string>
  readonly steps: ReadonlyArray<StepIdentity>
}

// --- constructors

/**
 * Returns the identity of a workflow.
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

/** Returns the fingerprint of a workflow: of its name, the fingerprints of its steps in order, and the names of its secrets. */
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

/** Returns the fingerprint to record for a unit: for a composite, its own without its parts. */
export const recordedFingerprint = (step: Step | StepIdentity): string =>
  'ownFingerprint' in step ? step.ownFingerprint : step.fingerprint
