/** Arbitrary edits of workflows. */
import * as fc from 'fast-check'
import type { Step, Task, TaskOptions, Workflow } from '../../../domain/workflow/Workflow.js'
import { listedParts } from '../../../domain/workflow/Node.js'
import { defined } from '../../../domain/data/defined.js'
import { plainObject } from '../../arbitraryObjects.js'
import * as W from '../../../domain/workflow/Workflow.js'

/**
 * An edit of a workflow. `at` selects the step and `salt` the variant, both modulo their number. `inside` selects a
 * part of that step, a part of that part, and so on.
 *
 * - `change`, `remove`, `add`, `rename`, `move`: edits of the step among its siblings.
 * - `flip`: makes tasks idempotent or non-idempotent.
 * - `kind`: makes it another kind of step.
 * - `summary`: changes the summary only.
 *
 * @category model
 */
export interface WorkflowEdit {
  readonly kind: (typeof EDITS)[number]
  readonly at: number
  readonly salt: number
  readonly inside?: ReadonlyArray<number>
}

export const EDITS = ['change', 'remove', 'add', 'rename', 'move', 'flip', 'kind', 'summary'] as const

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
 */
export const workflowEdit: fc.Arbitrary<WorkflowEdit> = plainObject({
  kind: fc.constantFrom(...EDITS),
  at: fc.nat({ max: 6 }),
  salt: fc.nat({ max: 99 }),
  inside: fc.array(fc.nat({ max: 3 }), { maxLength: 4, size: 'max' })
})

/**
 * An edited workflow. Its top-level steps before the index `first` are unchanged: all of them, if `first` is their number.
 *
 * @category model
 */
export interface EditedWorkflow {
  readonly workflow: Workflow
  readonly first: number
}

/**
 * Applies an edit. The result is a valid workflow.
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
 */
export const edit = (before: Workflow, { inside = [], ...change }: WorkflowEdit): EditedWorkflow => {
  const { steps } = before
  const first = change.at % steps.length
  const [deeper, ...rest] = inside
  const step = steps[first] as Step
  if (deeper !== undefined && step._tag !== 'Task')
    return { workflow: { ...before, steps: replaced(steps, first, editedInside(step, change, deeper, rest)) }, first }
  const edited = editedAmong(steps, change)
  const moved = change.kind === 'move' ? Math.min(first, change.salt % steps.length) : first
  const place = change.kind === 'add' ? change.at % (steps.length + 1) : moved
  return { workflow: { ...before, steps: edited }, first: edited === steps ? steps.length : place }
}

type EditAmong = Omit<WorkflowEdit, 'inside'>

const replaced = <A>(all: ReadonlyArray<A>, index: number, ...by: ReadonlyArray<A>): ReadonlyArray<A> => [
  ...all.slice(0, index),
  ...by,
  ...all.slice(index + 1)
]

/** The parts of a composite; a map has one, its body. */
const partsOf = (step: Exclude<Step, Task>): ReadonlyArray<Step> =>
  step._tag === 'Map' ? [step.each] : listedParts<Step>(step)

type Compose = (name: string, parts: ReadonlyArray<Step>, summary: string) => Step

/** Groups keep their needs, except those that were removed. The body of a map captures nothing. */
const COMPOSE: Readonly<Record<Exclude<Step, Task>['_tag'], Compose>> = {
  Sequence: W.sequence,
  Wave: (name, parts, summary) => {
    const isThere = (need: string): boolean => parts.some((part) => part.name === need)
    const groups = parts.map((part) => W.group(part, needsOf(part).filter(isThere)))
    return W.wave(name, groups, summary)
  },
  Map: (name, parts, summary) => {
    const [each] = parts as readonly [Step]
    const captures = each._tag === 'Task' && each.captures.length > 0
    return W.mapOf(name, captures ? taskWith(each, { captures: [] }) : each, summary)
  }
}

/** A composite of this kind in place of a step. */
const composed = (of: Step, kind: Exclude<Step, Task>['_tag'], parts: ReadonlyArray<Step>): Step =>
  withNeedsOf(of, COMPOSE[kind](of.name, parts, of.summary))

const needsOf = (step: Step): ReadonlyArray<string> => ('needs' in step ? (step.needs as ReadonlyArray<string>) : [])

/** Keeps the needs if the replaced step was a group. */
const withNeedsOf = (of: Step, step: Step): Step => ('needs' in of ? W.group(step, needsOf(of)) : step)

/** The body of a map has no siblings. */
const editedInside = (
  step: Exclude<Step, Task>,
  change: EditAmong,
  at: number,
  inside: ReadonlyArray<number>
): Step => {
  const before = { name: step.name, steps: partsOf(step) }
  const { steps } = edit(before, { ...change, at: step._tag === 'Map' ? 0 : at, inside }).workflow
  return composed(step, step._tag, steps)
}

/** Returns the same steps if the edit does nothing. */
const editedAmong = (steps: ReadonlyArray<Step>, { kind, at, salt }: EditAmong): ReadonlyArray<Step> => {
  const first = at % steps.length
  const step = steps[first] as Step
  const fresh = `new-${salt}`
  const taken = steps.some(({ name }) => name === fresh)
  const everyTask = (options: (task: Task) => TaskOptions): ReadonlyArray<Step> => {
    const edited = eachTask(step, (task) => taskWith(task, options(task)))
    return replaced(steps, first, edited)
  }
  switch (kind) {
    case 'remove':
      return steps.length === 1 ? steps : replaced(steps, first)
    case 'add':
      if (taken) return steps
      return steps.toSpliced(at % (steps.length + 1), 0, W.task(fresh, { idempotent: salt % 2 === 0 }))
    case 'rename':
      if (taken) return steps
      return replaced(steps, first, renamed(step, fresh)).map((one) => {
        const needs = needsOf(one).map((name) => (name === step.name ? fresh : name))
        return 'needs' in one ? W.group(one, needs) : one
      })
    case 'move':
      return replaced(steps, first).toSpliced(salt % steps.length, 0, step)
    case 'change':
      return everyTask((task) => ({ definition: [task.fingerprint, salt] }))
    case 'flip':
      return everyTask((task) => ({ idempotent: !task.idempotent }))
    case 'kind':
      return replaced(steps, first, withNeedsOf(step, otherKind(step, salt)))
    case 'summary':
      return replaced(steps, first, { ...step, summary: `${step.summary} (${salt})` })
  }
}

const taskWith = (task: Omit<Task, 'wait'> & Partial<Pick<Task, 'wait'>>, options: TaskOptions): Task =>
  W.task(task.name, {
    summary: task.summary,
    definition: task.fingerprint,
    idempotent: task.idempotent,
    captures: task.captures,
    accepts: task.accepts,
    ...defined({ wait: task.wait, artifactPaths: task.artifactPaths }),
    ...options
  })

const eachTask = (step: Step, of: (task: Task) => Task): Step =>
  step._tag === 'Task'
    ? withNeedsOf(step, of(step))
    : composed(
        step,
        step._tag,
        partsOf(step).map((part) => eachTask(part, of))
      )

const renamed = (step: Step, name: string): Step =>
  step._tag === 'Task'
    ? withNeedsOf(step, taskWith({ ...step, name }, {}))
    : composed({ ...step, name }, step._tag, partsOf(step))

/** A task becomes a composite of itself, or swaps code and wait; a map becomes a wave; a wave or sequence the other, or its first task. */
const otherKind = (step: Step, salt: number): Step => {
  if (step._tag === 'Task') {
    const kind = (['Wave', 'Sequence', 'Map'] as const)[salt % 4]
    if (kind !== undefined) return composed(step, kind, [taskWith(step, {})])
    const { wait, ...task } = step
    const definition = [step.fingerprint, wait === undefined ? 'Answer' : 'code']
    return taskWith(task, wait === undefined ? { definition, wait: 'Answer', idempotent: true } : { definition })
  }
  if (step._tag === 'Map') return composed(step, 'Wave', [renamed(step.each, '1')])
  if (salt % 2 === 1) return composed(step, step._tag === 'Wave' ? 'Sequence' : 'Wave', partsOf(step))
  const [first] = W.tasks([step])
  return taskWith({ ...(first?.task as Task), name: step.name }, {})
}
