/**
 * How somebody edits a workflow.
 *
 * @since 0.1.0
 */
import * as fc from 'fast-check'
import type { Step, Task, TaskOptions, Workflow } from '../../domain/Workflow.js'
import * as W from '../../domain/Workflow.js'
import type { FlatGroup, FlatMap, FlatStep, FlatWave } from './flat.js'
import { flat } from './flat.js'

/** Objects like those that people write. */
const PLAIN = { noNullPrototype: true } as const

/**
 * How somebody edits a workflow: what they do, at which step (`at`), and in which way of many (`salt`). Both are taken modulo
 * what there is.
 *
 * - a step is changed, removed, added, renamed, moved; made idempotent or not (`flip`); made a wave or a task (`kind`);
 * - a group is added, removed, changed, renamed; or only a `summary` is.
 *
 * @category model
 * @since 0.1.0
 */
export interface WorkflowEdit {
  readonly kind: (typeof EDITS)[number]
  readonly at: number
  readonly salt: number
}

/**
 * The kinds of edits.
 *
 * @category model
 * @since 0.1.0
 */
export const EDITS = [
  'change',
  'remove',
  'add',
  'rename',
  'move',
  'flip',
  'kind',
  'addGroup',
  'removeGroup',
  'changeGroup',
  'renameGroup',
  'summary'
] as const

/**
 * An arbitrary edit.
 *
 * @example
 * import * as fc from 'fast-check'
 * import { Workflow } from 'dogear'
 * import { Arbitrary } from 'dogear/testing'
 * import assert from 'node:assert/strict'
 *
 * const release = { name: 'release', steps: [Workflow.task('build'), Workflow.task('publish')] }
 * fc.assert(
 *   fc.property(Arbitrary.workflowEdit, (edit) => {
 *     assert.deepEqual(Workflow.problems(Arbitrary.edit(release, edit).workflow), [])
 *   })
 * )
 *
 * @category arbitraries
 * @since 0.1.0
 */
export const workflowEdit: fc.Arbitrary<WorkflowEdit> = fc.record(
  {
    kind: fc.constantFrom(...EDITS),
    at: fc.nat({ max: 6 }),
    salt: fc.nat({ max: 99 })
  },
  PLAIN
)

/**
 * A workflow that was edited.
 *
 * @category model
 * @since 0.1.0
 */
export interface Edited {
  readonly workflow: Workflow
  readonly first: number
}

/**
 * An edited workflow, still valid, and the `first` step that is not as it was.
 *
 * @example
 * import { Workflow } from 'dogear'
 * import { Arbitrary } from 'dogear/testing'
 * import assert from 'node:assert/strict'
 *
 * const workflow = { name: 'release', steps: [Workflow.task('build'), Workflow.task('publish')] }
 * const { workflow: edited, first } = Arbitrary.edit(workflow, { kind: 'remove', at: 0, salt: 0 })
 * assert.deepEqual([edited.steps.map(({ name }) => name), first], [['publish'], 0])
 *
 * @category editing
 * @since 0.1.0
 */
export const edit = (before: Workflow, change: WorkflowEdit): Edited => {
  const { kind, at, salt } = change
  const steps = before.steps.map(flat)
  const first = at % steps.length
  const step = steps[first] as FlatStep
  const fresh = `new-${salt}`
  const taken = steps.some(({ name }) => name === fresh)
  const done = (edited: ReadonlyArray<Step>, from = first): Edited => ({
    workflow: { ...before, steps: edited },
    first: from
  })
  const put = (...now: ReadonlyArray<Step>): Edited =>
    done([...steps.slice(0, first), ...now, ...steps.slice(first + 1)])
  switch (kind) {
    case 'remove':
      return steps.length === 1 ? done(steps) : put()
    case 'add': {
      const place = at % (steps.length + 1)
      const added = W.task(taken ? `${fresh}-x` : fresh, { idempotent: salt % 2 === 0 })
      return taken && steps.some(({ name }) => name === `${fresh}-x`)
        ? done(steps, steps.length)
        : done([...steps.slice(0, place), added, ...steps.slice(place)], place)
    }
    case 'rename':
      return taken ? done(steps) : put(renamed(step, fresh))
    case 'move': {
      const rest = steps.filter((one) => one !== step)
      const to = salt % steps.length
      return done([...rest.slice(0, to), step, ...rest.slice(to)], Math.min(to, first))
    }
    default:
      return put(editedInPlace(step, kind, salt))
  }
}

/** The edits that leave a step where it is. */
type InPlace = Exclude<WorkflowEdit['kind'], 'remove' | 'add' | 'rename' | 'move'>

const editedInPlace = (step: FlatStep, kind: InPlace, salt: number): Step => {
  switch (step._tag) {
    case 'Task':
      return editedTask(step, kind, salt)
    case 'Wave':
      return editedWave(step, kind, salt)
    case 'Map':
      return editedMap(step, kind, salt)
  }
}

const editedMap = (map: FlatMap, kind: InPlace, salt: number): Step => {
  const { name, summary, each } = map
  switch (kind) {
    case 'change':
      return changed(map, salt)
    case 'flip':
      return W.mapOf(name, again(each, { idempotent: !each.idempotent }), summary)
    case 'kind':
      return W.wave(name, [W.group(again({ ...each, name: '1' }, {}))])
    case 'summary':
      return { ...map, summary: `${summary} (${salt})` }
    case 'addGroup':
    case 'removeGroup':
    case 'changeGroup':
    case 'renameGroup':
      return map
  }
}

const editedTask = (task: Task, kind: InPlace, salt: number): Step => {
  switch (kind) {
    case 'change':
      return changed(task, salt)
    case 'flip':
      return again(task, { idempotent: !task.idempotent })
    case 'kind':
      return W.wave(task.name, [W.group(again(task, {}))])
    case 'summary':
      return { ...task, summary: `${task.summary} (${salt})` }
    case 'addGroup':
    case 'removeGroup':
    case 'changeGroup':
    case 'renameGroup':
      return task
  }
}

const editedWave = (wave: FlatWave, kind: InPlace, salt: number): Step => {
  const { name, groups } = wave
  const fresh = `new-${salt}`
  switch (kind) {
    case 'change':
      return changed(wave, salt)
    case 'flip':
      return wave
    case 'kind':
      return again({ ...(groups[0] as Task), name }, {})
    case 'addGroup':
      return groups.some((group) => group.name === fresh)
        ? wave
        : W.wave(name, [...groups, W.group(W.task(fresh, { idempotent: salt % 2 === 0 }))])
    case 'removeGroup':
      return groups.length === 1 ? wave : withoutGroup(name, groups, salt)
    case 'changeGroup':
      return W.wave(
        name,
        groups.map((group, index) =>
          index === salt % groups.length ? W.group(again(group, { definition: salt }), group.needs) : group
        )
      )
    case 'renameGroup':
      return renamedGroup(name, groups, salt)
    case 'summary':
      return { ...wave, summary: `${wave.summary} (${salt})` }
  }
}

/** The same task, declared again with other options. */
const again = (task: Task, options: TaskOptions): Task =>
  W.task(task.name, {
    summary: task.summary,
    definition: task.fingerprint,
    idempotent: task.idempotent,
    captures: task.captures,
    accepts: task.accepts,
    ...(task.leaves === undefined ? {} : { leaves: task.leaves }),
    ...options
  })

const changed = (step: FlatStep, salt: number): Step => {
  const other = (task: Task): Task => again(task, { definition: [task.fingerprint, salt] })
  switch (step._tag) {
    case 'Task':
      return other(step)
    case 'Wave':
      return W.wave(
        step.name,
        step.groups.map((group) => W.group(other(group), group.needs))
      )
    case 'Map':
      return W.mapOf(step.name, other(step.each), step.summary)
  }
}

const renamed = (step: FlatStep, name: string): Step => {
  switch (step._tag) {
    case 'Task':
      return again({ ...step, name }, {})
    case 'Wave':
      return W.wave(name, step.groups)
    case 'Map':
      return W.mapOf(name, again({ ...step.each, name }, {}))
  }
}

const withoutGroup = (name: string, groups: ReadonlyArray<FlatGroup>, salt: number): Step => {
  const gone = groups[salt % groups.length] as FlatGroup
  const rest = groups.filter((group) => group !== gone)
  return W.wave(
    name,
    rest.map((group) => ({ ...group, needs: group.needs.filter((need) => need !== gone.name) }))
  )
}

const renamedGroup = (name: string, groups: ReadonlyArray<FlatGroup>, salt: number): Step => {
  const old = groups[salt % groups.length] as FlatGroup
  const fresh = `group-${salt}`
  if (groups.some((group) => group.name === fresh)) return W.wave(name, groups)
  const rename = (one: string): string => (one === old.name ? fresh : one)
  return W.wave(
    name,
    groups.map((group) => W.group(again({ ...group, name: rename(group.name) }, {}), group.needs.map(rename)))
  )
}
