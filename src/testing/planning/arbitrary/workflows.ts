/** Arbitrary workflows. */
import * as E from 'fp-ts/lib/Either.js'
import * as fc from 'fast-check'
import type { Step, Task, TaskOptions, Workflow } from '../../../domain/workflow/Workflow.js'
import * as W from '../../../domain/workflow/Workflow.js'

const ACCEPTED: Readonly<Record<string, Task['accepts']>> = {
  anything: () => E.right(undefined),
  something: (output) => (output === undefined ? E.left({ path: '$', expected: 'an output' }) : E.right(undefined)),
  number: (output) => (typeof output === 'number' ? E.right(undefined) : E.left({ path: '$', expected: 'number' })),
  object: (output) =>
    typeof output === 'object' && output !== null && 'n' in output
      ? E.right(undefined)
      : E.left({ path: '$.n', expected: 'number' })
}

/** Most tasks run code. */
const NO_WAITS = Array.from({ length: 12 }, () => 'none' as const)

const taskSpec = fc.record({
  idempotent: fc.boolean(),
  accepts: fc.constantFrom('anything', ...Object.keys(ACCEPTED)),
  captures: fc.constantFrom<number>(0, 0, 1, 2),
  version: fc.nat({ max: 3 }),
  hasArtifact: fc.constantFrom(false, false, true),
  wait: fc.constantFrom(...NO_WAITS, 'Timer', 'Answer')
})

type TaskSpec = typeof taskSpec extends fc.Arbitrary<infer Spec> ? Spec : never

/** Some captured variables have names that every object has. */
const taskOf = (name: string, spec: TaskSpec, place: string): Task => {
  const { wait } = spec
  if (wait === 'Timer')
    return W.task(name, { summary: `does ${name}`, definition: { version: spec.version, wait }, wait })
  const { idempotent, accepts, captures, version, hasArtifact } = spec
  const variables = place === '0' ? ['__proto__', 'constructor'] : [`${place}-a`, 'toString'.slice(0, captures) + place]
  const options: TaskOptions = {
    summary: `does ${name}`,
    definition: { accepts, version, ...(wait === 'none' ? {} : { wait }) },
    idempotent: idempotent || wait !== 'none',
    captures: variables.slice(0, captures),
    accepts: ACCEPTED[accepts] ?? (() => E.right(undefined)),
    ...(wait === 'none' ? {} : { wait }),
    ...(hasArtifact && wait === 'none' ? { artifactPaths: () => ['dist.tgz'] } : {})
  }
  return W.task(name, options)
}

/** A task has no parts; the body of a map is the first part. */
interface StepSpec {
  readonly task: TaskSpec
  readonly kind: 'Wave' | 'Sequence' | 'Map'
  readonly needs: number
  readonly parts: ReadonlyArray<StepSpec>
}

const KINDS = ['Wave', 'Wave', 'Sequence', 'Sequence', 'Map'] as const

/** Shrinks to a task. */
const stepSpec = (depth: number): fc.Arbitrary<StepSpec> => {
  const parts = (): fc.Arbitrary<ReadonlyArray<StepSpec>> => fc.array(stepSpec(depth - 1), { maxLength: 4 })
  return fc.record({
    task: taskSpec,
    kind: fc.constantFrom(...KINDS),
    needs: fc.nat({ max: 15 }),
    parts: depth === 1 ? fc.constant([]) : fc.oneof(fc.constant([]), parts())
  })
}

/** The maximum number of tasks in a workflow, except that each top-level step has at least one. */
const MAX_TASKS = 12

const PART_NAMES = ['unit', 'lint', 'constructor', 'toString']

type Sized = readonly [step: Step, tasks: number]

/** A composite gets only as many parts as there is `room` for tasks; without parts it becomes a task. */
const stepOf = (spec: StepSpec, name: string, place: string, room: number): Sized => {
  const { task, kind } = spec
  const steps: Array<Step> = []
  let size = 0
  for (const [index, part] of spec.parts.entries()) {
    if (size >= room || (kind === 'Map' && index > 0)) break
    const of = kind === 'Map' && part.parts.length === 0 ? { ...part, task: { ...part.task, captures: 0 } } : part
    const [step, tasks] = stepOf(of, PART_NAMES[index] as string, `${place}.${index}`, room - size)
    steps.push(step)
    size += tasks
  }
  const [first] = steps
  if (first === undefined) return [taskOf(name, task, place), 1]
  if (kind === 'Map') return [W.mapOf(name, first), size]
  if (kind === 'Sequence') return [W.sequence(name, steps), size]
  const needsOf = (index: number): ReadonlyArray<string> =>
    PART_NAMES.slice(0, index).filter((_, other) => ((spec.parts[index]?.needs ?? 0) & (1 << other)) !== 0)
  return [
    W.wave(
      name,
      steps.map((step, index) => W.group(step, needsOf(index)))
    ),
    size
  ]
}

const NAMES = ['constructor', 'build', 'test', 'pack', 'publish', 'toString', 'deploy', 'notify']

/**
 * A valid workflow of 1 to `maxSteps` (6) steps and at most `maxDepth` (5) levels: tasks, sequences, waves and maps,
 * with required outputs, captured variables, needs, and non-idempotent tasks. `tasksOnly`: tasks at the top level only.
 * Some names are those of properties that every object has.
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
 */
export const workflow = (
  limits: { readonly maxSteps?: number; readonly maxDepth?: number; readonly tasksOnly?: boolean } = {}
): fc.Arbitrary<Workflow> => {
  const depth = limits.tasksOnly === true ? 1 : (limits.maxDepth ?? 5)
  return fc.array(stepSpec(depth), { minLength: 1, maxLength: limits.maxSteps ?? 6 }).map((specs) => {
    let room = MAX_TASKS
    const steps = specs.map((spec, index) => {
      const name = NAMES[index] ?? `step-${index}`
      const [step, tasks] = stepOf(spec, name, String(index), Math.max(1, room))
      room -= tasks
      return step
    })
    return { name: 'release', steps }
  })
}
