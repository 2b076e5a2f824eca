/**
 * What a checkpoint remembers of the workflow that ran: enough to tell, on resume, what was edited.
 *
 * @module
 * @since 0.1.0
 */
import { fingerprint } from './Digest.js'
import type { Step, Workflow } from './Workflow.js'
import { groupNamed } from './Workflow.js'

// ---------------------------------------------------------------------------------------------------------------------
// model
// ---------------------------------------------------------------------------------------------------------------------

/**
 * A task as it was defined.
 *
 * @category model
 * @since 0.1.0
 */
export interface TaskIdentity {
  readonly name: string
  readonly kind: 'task'
  readonly fingerprint: string
  readonly idempotent: boolean
}

/**
 * A wave as it was defined.
 *
 * @category model
 * @since 0.1.0
 */
export interface WaveIdentity {
  readonly name: string
  readonly kind: 'wave'
  readonly fingerprint: string
  readonly groups: ReadonlyArray<TaskIdentity>
}

/**
 * A step as it was defined.
 *
 * @category model
 * @since 0.1.0
 */
export type StepIdentity = TaskIdentity | WaveIdentity

/**
 * A workflow as it was defined; `path` is the file it came from, if it came from one; `secrets` the names of its secrets, if it
 * has any.
 *
 * @category model
 * @since 0.1.0
 */
export interface WorkflowIdentity {
  readonly name: string
  readonly path?: string
  readonly fingerprint: string
  readonly secrets?: ReadonlyArray<string>
  readonly steps: ReadonlyArray<StepIdentity>
}

// ---------------------------------------------------------------------------------------------------------------------
// constructors
// ---------------------------------------------------------------------------------------------------------------------

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
 * @since 0.1.0
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

/**
 * The fingerprint of a whole workflow: of its name, of its steps' fingerprints, in order, and of the names of its secrets.
 *
 * @category constructors
 * @since 0.1.0
 */
export const fingerprintOf = (workflow: Workflow): string =>
  fingerprint({ name: workflow.name, steps: workflow.steps.map((step) => step.fingerprint), ...secretsOf(workflow) })

const ofStep = (step: Step): StepIdentity =>
  step._tag === 'Task'
    ? { name: step.name, kind: 'task', fingerprint: step.fingerprint, idempotent: step.idempotent }
    : {
        name: step.name,
        kind: 'wave',
        fingerprint: step.fingerprint,
        groups: step.groups.map((group) => ({
          name: group.name,
          kind: 'task',
          fingerprint: group.fingerprint,
          idempotent: group.idempotent
        }))
      }

// ---------------------------------------------------------------------------------------------------------------------
// destructors
// ---------------------------------------------------------------------------------------------------------------------

/**
 * A group of a step; a task has none.
 *
 * @category destructors
 * @since 0.1.0
 */
export const groupOf = (step: StepIdentity, name: string): TaskIdentity | undefined =>
  step.kind === 'wave' ? groupNamed(step, name) : undefined
