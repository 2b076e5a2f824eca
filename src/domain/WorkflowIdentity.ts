/**
 * What a checkpoint remembers of the workflow that ran: enough to tell, on resume, what was edited.
 *
 * @module
 * @since 0.1.0
 */
import { fingerprint } from './Digest.js'
import { indexed, indexOfStep } from './indexed.js'
import type { Json } from './Json.js'
import type { Unit } from './Unit.js'
import { join, nameOf, top } from './Unit.js'
import type { Step, Task, Workflow } from './Workflow.js'
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
 * A map as it was defined, while it is not known of which items.
 *
 * @category model
 * @since 0.1.0
 */
export interface MapIdentity {
  readonly name: string
  readonly kind: 'map'
  readonly fingerprint: string
  readonly each: Pick<TaskIdentity, 'fingerprint' | 'idempotent'>
}

/**
 * A map and the items that it has a group for, in their order.
 *
 * @category model
 * @since 0.1.0
 */
export interface ExpandedIdentity extends Omit<MapIdentity, 'kind'> {
  readonly kind: 'expanded'
  readonly items: ReadonlyArray<Item>
}

/**
 * An item of a map. `key`, a name that no other item of the map has, is that of its group.
 *
 * @category model
 * @since 0.1.0
 */
export interface Item {
  readonly key: string
  readonly value: Json
}

/**
 * A step as it was defined.
 *
 * @category model
 * @since 0.1.0
 */
export type StepIdentity = TaskIdentity | WaveIdentity | MapIdentity | ExpandedIdentity

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

const ofStep = (step: Step): StepIdentity => {
  const { name, fingerprint } = step
  switch (step._tag) {
    case 'Task':
      return ofTask(step)
    case 'Wave':
      return { name, kind: 'wave', fingerprint, groups: step.groups.map(ofTask) }
    case 'Map':
      return {
        name,
        kind: 'map',
        fingerprint,
        each: { fingerprint: step.each.fingerprint, idempotent: step.each.idempotent }
      }
  }
}

const ofTask = ({ name, fingerprint, idempotent }: Task): TaskIdentity => ({
  name,
  kind: 'task',
  fingerprint,
  idempotent
})

// ---------------------------------------------------------------------------------------------------------------------
// destructors
// ---------------------------------------------------------------------------------------------------------------------

/**
 * The groups of a step: those of a wave, or one for each item of a map. A task has none.
 *
 * @category destructors
 * @since 0.1.0
 */
export const groupsOf = (step: StepIdentity): ReadonlyArray<TaskIdentity> =>
  step.kind === 'wave' ? step.groups : step.kind === 'expanded' ? groupsOfItems(step) : NONE

const NONE: ReadonlyArray<never> = []

const GROUPS = new WeakMap<ExpandedIdentity, ReadonlyArray<TaskIdentity>>()

/** They are alike but for their names, so only those are stored; there may be many, so they are made once. */
const groupsOfItems = (step: ExpandedIdentity): ReadonlyArray<TaskIdentity> => {
  const known = GROUPS.get(step)
  if (known !== undefined) return known
  const groups = step.items.map(({ key }) => groupFor(step, key))
  GROUPS.set(step, groups)
  return groups
}

const groupFor = ({ each: { fingerprint, idempotent } }: ExpandedIdentity, name: string): TaskIdentity => ({
  name,
  kind: 'task',
  fingerprint,
  idempotent
})

/**
 * A group of a step; a task has none. Its name is that of the step's own text, not the equal one that was asked for.
 *
 * @category destructors
 * @since 0.1.0
 */
export const groupOf = (step: StepIdentity, name: string): TaskIdentity | undefined => {
  if (step.kind === 'wave') return groupNamed(step, name)
  const item = step.kind === 'expanded' ? itemNamed(step.items, name) : undefined
  return step.kind === 'expanded' && item !== undefined ? groupFor(step, item.key) : undefined
}

/**
 * The item of this key.
 *
 * @category destructors
 * @since 0.1.0
 */
export const itemNamed = (items: ReadonlyArray<Item>, key: string): Item | undefined =>
  indexed(items, ({ key }) => key).get(key)

/**
 * A unit of a workflow: its definition, and that and the index of the top-level step that it is, or is part of.
 *
 * @category model
 * @since 0.1.0
 */
export interface Found {
  readonly definition: StepIdentity
  readonly step: StepIdentity
  readonly stepIndex: number
}

/** The definition of a unit of a step; the step's own at its own path. */
export const definitionOf = (step: StepIdentity, unit: Unit): StepIdentity | undefined => {
  if (unit === step.name) return step
  const group = groupOf(step, nameOf(unit))
  // Every other path that ends in this name is longer.
  const isPlain = group !== undefined && unit.length === step.name.length + 1 + group.name.length
  return isPlain || unit === join(step.name, group?.name ?? '') ? group : undefined
}

/**
 * A unit of a workflow, if there is one at that path. `expected`: the usual index of its top-level step.
 *
 * @category destructors
 * @since 0.1.0
 */
export const find = ({ steps }: WorkflowIdentity, unit: Unit, expected = 0): Found | undefined => {
  const name = top(unit)
  const stepIndex = indexOfStep(steps, name, expected)
  const step = stepIndex === undefined ? undefined : steps[stepIndex]
  if (stepIndex === undefined || step === undefined) return undefined
  const definition = definitionOf(step, unit)
  return definition === undefined ? undefined : { definition, step, stepIndex }
}
