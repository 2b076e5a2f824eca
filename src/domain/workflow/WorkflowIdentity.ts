/**
 * The recorded definition of a workflow. A resume compares it with the current one to find edits.
 *
 * @module
 */
import { fingerprint } from '../data/Digest.js'
import { equals } from '../data/Json.js'
import type { Group, Step, WaitKind, Workflow } from './Workflow.js'
import { acceptsAnything } from './Workflow.js'

// --- model

/** What every definition has. `needs`: the groups of the same wave that a group needs, if any. */
interface Defined {
  readonly name: string
  readonly fingerprint: string
  readonly needs?: ReadonlyArray<string>
}

/**
 * The recorded definition of a task. `captures`: the variables that its output is stored in, if any; `wait`: what it waits for, if it runs
 * no code.
 */
export interface TaskIdentity extends Defined {
  readonly _tag: 'Task'
  readonly idempotent: boolean
  readonly captures?: ReadonlyArray<string>
  readonly wait?: WaitKind
}

/** The recorded definition of a sequence. `ownFingerprint`: of its own settings, without its parts. */
export interface SequenceIdentity extends Defined {
  readonly _tag: 'Sequence'
  readonly ownFingerprint: string
  readonly steps: ReadonlyArray<StepIdentity>
}

/** The recorded definition of a wave. */
export interface WaveIdentity extends Defined {
  readonly _tag: 'Wave'
  readonly ownFingerprint: string
  readonly groups: ReadonlyArray<StepIdentity>
}

/** The recorded definition of a map. */
export interface MapIdentity extends Defined {
  readonly _tag: 'Map'
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
export const of = (workflow: Workflow): WorkflowIdentity => ({
  name: workflow.name,
  ...(workflow.path === undefined ? {} : { path: workflow.path }),
  fingerprint: fingerprintOf(workflow),
  ...secretsOf(workflow),
  steps: workflow.steps.map(ofStep)
})

const secretsOf = ({ secrets = [] }: Workflow): { readonly secrets?: ReadonlyArray<string> } =>
  secrets.length === 0 ? {} : { secrets }

/** Returns the fingerprint of a workflow: of its name, the names and fingerprints of its steps in order, and the names of its secrets. */
export const fingerprintOf = (workflow: Workflow): string => {
  // One array of strings, because a long workflow takes milliseconds as objects.
  const steps = workflow.steps.flatMap(({ name, fingerprint }) => [name, fingerprint])
  return fingerprint({ name: workflow.name, steps, ...secretsOf(workflow) })
}

const ofGroup = (group: Group): StepIdentity =>
  group.needs.length === 0 ? ofStep(group) : { ...ofStep(group), needs: group.needs }

const ofStep = (step: Step): StepIdentity => {
  const { name, fingerprint } = step
  switch (step._tag) {
    case 'Task': {
      const { idempotent, captures, wait } = step
      const task: TaskIdentity = { _tag: 'Task', name, fingerprint, idempotent }
      const capturing = captures.length === 0 ? task : { ...task, captures }
      return wait === undefined ? capturing : { ...capturing, wait }
    }
    case 'Sequence':
      return { _tag: 'Sequence', name, fingerprint, ownFingerprint: step.ownFingerprint, steps: step.steps.map(ofStep) }
    case 'Wave':
      return { _tag: 'Wave', name, fingerprint, ownFingerprint: step.ownFingerprint, groups: step.groups.map(ofGroup) }
    case 'Map':
      return { _tag: 'Map', name, fingerprint, ownFingerprint: step.ownFingerprint, each: ofStep(step.each) }
  }
}

// --- destructors

/** Returns the fingerprint to record for a unit: for a composite, its own without its parts. */
export const recordedFingerprint = (step: Step | StepIdentity): string =>
  'ownFingerprint' in step ? step.ownFingerprint : step.fingerprint

/** Returns whether a workflow is still the recorded one. Compares the steps one by one, because computing its fingerprint takes longer. */
export const isUnedited = (self: WorkflowIdentity, { name, path, secrets = [], steps }: Workflow): boolean =>
  self.name === name && self.path === path && equals(self.secrets ?? [], secrets) && areSame(self.steps, steps)

/** Returns the identity of a program as it is now: a copy that was given another name or other steps still has the original's `identity`. */
export const current = (self: Workflow & { readonly identity: WorkflowIdentity }): WorkflowIdentity =>
  isUnedited(self.identity, self) ? self.identity : of(self)

/** Compares names, too, because a fingerprint does not cover the name of its step. */
export const areSame = (was: ReadonlyArray<StepIdentity>, now: ReadonlyArray<Step>): boolean =>
  was.length === now.length &&
  was.every(({ name, fingerprint }, at) => now[at]?.name === name && now[at].fingerprint === fingerprint)

/** Rebuilds a workflow from the recorded definition. It accepts any output and has no artifact paths, which only code knows. */
export const toWorkflow = (identity: WorkflowIdentity): Workflow & { readonly identity: WorkflowIdentity } => ({
  name: identity.name,
  path: identity.path,
  secrets: identity.secrets ?? [],
  steps: identity.steps.map(toStep),
  identity
})

const toStep = ({ needs: _, ...step }: StepIdentity): Step => {
  const named = { summary: '', ...step } as StepIdentity & { readonly summary: string }
  switch (named._tag) {
    case 'Task':
      return { captures: [], numbered: false, accepts: acceptsAnything, ...named }
    case 'Sequence':
      return { ...named, steps: named.steps.map(toStep) }
    case 'Wave':
      return { ...named, groups: named.groups.map(({ needs = [], ...group }): Group => ({ ...toStep(group), needs })) }
    case 'Map':
      return { ...named, each: toStep(named.each) }
  }
}
