/**
 * Arbitrary workflows.
 *
 * @since 0.1.0
 */
import * as E from 'fp-ts/lib/Either.js'
import * as fc from 'fast-check'
import type { Step, Task, TaskOptions, Workflow } from '../../domain/Workflow.js'
import * as W from '../../domain/Workflow.js'

/** Outputs that a task may insist on. */
const ACCEPTED: Readonly<Record<string, Task['accepts']>> = {
  anything: () => E.right(undefined),
  something: (output) => (output === undefined ? E.left({ path: '$', expected: 'an output' }) : E.right(undefined)),
  number: (output) => (typeof output === 'number' ? E.right(undefined) : E.left({ path: '$', expected: 'number' })),
  object: (output) =>
    typeof output === 'object' && output !== null && 'n' in output
      ? E.right(undefined)
      : E.left({ path: '$.n', expected: 'number' })
}

interface TaskSpec {
  readonly idempotent: boolean
  readonly accepts: string
  readonly captures: number
  readonly version: number
  readonly leaves: boolean
}

const taskSpec: fc.Arbitrary<TaskSpec> = fc.record({
  idempotent: fc.boolean(),
  accepts: fc.constantFrom('anything', ...Object.keys(ACCEPTED)),
  captures: fc.constantFrom(0, 0, 1, 2),
  version: fc.nat({ max: 3 }),
  leaves: fc.constantFrom(false, false, true)
})

/** A task of this name. What it captures has a name of its own, at times a nasty one. */
const taskOf = (name: string, spec: TaskSpec, place: string): Task => {
  const { idempotent, accepts, captures, version, leaves } = spec
  const variables = place === '0' ? ['__proto__', 'constructor'] : [`${place}-a`, 'toString'.slice(0, captures) + place]
  const options: TaskOptions = {
    summary: `does ${name}`,
    definition: { accepts, version },
    idempotent,
    captures: variables.slice(0, captures),
    accepts: ACCEPTED[accepts] ?? (() => E.right(undefined)),
    ...(leaves ? { leaves: () => ['dist.tgz'] } : {})
  }
  return W.task(name, options)
}

interface StepSpec {
  readonly name: number
  readonly task: TaskSpec
  readonly groups: ReadonlyArray<{ readonly task: TaskSpec; readonly needs: number }>
  readonly map: boolean
}

const stepSpec: fc.Arbitrary<StepSpec> = fc.record({
  name: fc.nat({ max: 99 }),
  task: taskSpec,
  groups: fc.oneof(
    fc.constant([]),
    fc.array(fc.record({ task: taskSpec, needs: fc.nat({ max: 15 }) }), { minLength: 1, maxLength: 4 })
  ),
  map: fc.nat({ max: 5 }).map((n) => n === 5)
})

const GROUP_NAMES = ['unit', 'lint', 'constructor', 'toString']

const stepOf = ({ task, groups, map }: StepSpec, name: string, place: string): Step => {
  if (map) return W.mapOf(name, taskOf(name, { ...task, captures: 0 }, place))
  if (groups.length === 0) return taskOf(name, task, place)
  return W.wave(
    name,
    groups.map((group, index) =>
      W.group(
        taskOf(GROUP_NAMES[index] as string, group.task, `${place}.${index}`),
        GROUP_NAMES.slice(0, index).filter((_, other) => (group.needs & (1 << other)) !== 0)
      )
    )
  )
}

const NAMES = ['constructor', 'build', 'test', 'pack', 'publish', 'toString', 'deploy', 'notify']

/**
 * A valid workflow of 1 to `maxSteps` (6) tasks, waves and maps: with outputs that are insisted on, captured variables, needs, and
 * tasks that are not idempotent. `tasksOnly`: without waves and maps. Some names are those of properties that every object has.
 *
 * @example
 * import * as fc from 'fast-check'
 * import { Workflow } from 'dogear'
 * import { Arbitrary } from 'dogear/testing'
 * import assert from 'node:assert/strict'
 *
 * fc.assert(fc.property(Arbitrary.workflow(), (workflow) => assert.deepEqual(Workflow.problems(workflow), [])))
 *
 * @category arbitraries
 * @since 0.1.0
 */
export const workflow = (
  limits: { readonly maxSteps?: number; readonly tasksOnly?: boolean } = {}
): fc.Arbitrary<Workflow> =>
  fc.array(stepSpec, { minLength: 1, maxLength: limits.maxSteps ?? 6 }).map((specs) => ({
    name: 'release',
    steps: specs.map((spec, index) =>
      stepOf(
        limits.tasksOnly === true ? { ...spec, groups: [], map: false } : spec,
        NAMES[index] ?? `step-${index}`,
        String(index)
      )
    )
  }))
