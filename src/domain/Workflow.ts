/**
 * The definition of what is to be done, as data that a planner can read. What runs is added by a Program, which is a
 * Workflow too.
 *
 * @module
 * @since 0.1.0
 */
import * as E from 'fp-ts/lib/Either.js'
import { fingerprint } from './Digest.js'
import type { Json } from './Json.js'
import { indexed } from './indexed.js'
import { listed } from './listed.js'
import { inCycle } from './needs.js'

// ---------------------------------------------------------------------------------------------------------------------
// model
// ---------------------------------------------------------------------------------------------------------------------

/**
 * Why a recorded output no longer fits its step: `path` into the output (`$.files[0]`), and what was expected there.
 *
 * @category model
 * @since 0.1.0
 */
export interface OutputMismatch {
  readonly path: string
  readonly expected: string
}

/**
 * One unit of work.
 *
 * - `fingerprint` tells whether the definition is the one that ran; `summary` is for people and not part of it.
 * - `idempotent: false` means that running it twice may do harm: if it may have taken effect, we ask before it runs again.
 * - `captures`: the variables that its output becomes.
 * - `numbered`: its name is only its number, so after an edit another task may bear it.
 * - `accepts` tells whether a recorded output (`undefined`: none) still fits.
 * - `leaves`: the paths of its artifacts, as far as they are known before it runs. While it is in flight or failed, changes at
 *   these paths are attributed to it.
 *
 * @category model
 * @since 0.1.0
 */
export interface Task {
  readonly _tag: 'Task'
  readonly name: string
  readonly summary: string
  readonly fingerprint: string
  readonly idempotent: boolean
  readonly captures: ReadonlyArray<string>
  readonly numbered: boolean
  /** Whether a recorded output (`undefined`: none) still fits. */
  readonly accepts: (output: Json | undefined) => E.Either<OutputMismatch, void>
  /** The paths of its artifacts, as far as they are known before it runs. */
  readonly leaves?: ((known: Known) => ReadonlyArray<string>) | undefined
}

/**
 * The values known before a task runs: the run's variables, and the item of a map's group.
 *
 * @category model
 * @since 0.1.0
 */
export interface Known {
  readonly variables: ReadonlyMap<string, Json>
  readonly item?: Json
}

/**
 * One task of a wave. It starts when the groups it needs have completed.
 *
 * @category model
 * @since 0.1.0
 */
export interface Group extends Task {
  readonly needs: ReadonlyArray<string>
}

/**
 * A step whose groups run in parallel. Its fingerprint covers those of its groups.
 *
 * @category model
 * @since 0.1.0
 */
export interface Wave {
  readonly _tag: 'Wave'
  readonly name: string
  readonly summary: string
  readonly fingerprint: string
  readonly groups: ReadonlyArray<Group>
}

/**
 * A wave whose groups come from data: one for each item that an earlier step has left, all doing what `each` says. Which
 * items there are is found out when the wave is due, and recorded; see `Expansion`. Its fingerprint covers `each`.
 *
 * @category model
 * @since 0.1.0
 */
export interface MapWave {
  readonly _tag: 'Map'
  readonly name: string
  readonly summary: string
  readonly fingerprint: string
  readonly each: Task
}

/**
 * A task, a wave, or a map.
 *
 * @category model
 * @since 0.1.0
 */
export type Step = Task | Wave | MapWave

/**
 * A named list of steps, done in order. `secrets`: the names of the secrets that the steps get; a checkpoint keeps these, and
 * never what they stand for.
 *
 * @category model
 * @since 0.1.0
 */
export interface Workflow {
  readonly name: string
  readonly steps: ReadonlyArray<Step>
  readonly secrets?: ReadonlyArray<string>
}

/**
 * What a name must look like: letters, digits, `.`, `_` and `-`, first a letter or digit, at most 128 characters.
 *
 * @category model
 * @since 0.1.0
 */
export const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/

/**
 * What is wrong with a definition. `place` is the step, `step/group` or the workflow itself.
 *
 * @category model
 * @since 0.1.0
 */
export type WorkflowProblem =
  | { readonly _tag: 'InvalidName'; readonly name: string }
  | { readonly _tag: 'NoSteps' }
  | { readonly _tag: 'NoGroups'; readonly step: string }
  | { readonly _tag: 'DuplicateName'; readonly name: string; readonly within: string }
  | { readonly _tag: 'DuplicateCapture'; readonly variable: string; readonly places: ReadonlyArray<string> }
  | { readonly _tag: 'UnknownNeed'; readonly step: string; readonly group: string; readonly need: string }
  | { readonly _tag: 'InvalidSetting'; readonly place: string; readonly field: string; readonly expected: string }
  | { readonly _tag: 'NeedCycle'; readonly step: string; readonly groups: ReadonlyArray<string> }

// ---------------------------------------------------------------------------------------------------------------------
// constructors
// ---------------------------------------------------------------------------------------------------------------------

/**
 * What a task is declared with. `definition` is what its fingerprint covers, beside its name and the other declared
 * options.
 *
 * @category model
 * @since 0.1.0
 */
export interface TaskOptions {
  readonly summary?: string
  readonly definition?: Json
  readonly idempotent?: boolean
  readonly captures?: ReadonlyArray<string>
  readonly numbered?: boolean
  /** Whether a recorded output (`undefined`: none) still fits. */
  readonly accepts?: (output: Json | undefined) => E.Either<OutputMismatch, void>
  /** The paths of its artifacts, as far as they are known before it runs. */
  readonly leaves?: (known: Known) => ReadonlyArray<string>
}

const ACCEPTED = E.right(undefined)

const acceptsAnything: Task['accepts'] = () => ACCEPTED

const NOTHING: ReadonlyArray<string> = []

const leavesNothing = (): ReadonlyArray<string> => NOTHING

/**
 * Declares a task.
 *
 * @example
 * import { Workflow } from 'dogear'
 * import assert from 'node:assert/strict'
 *
 * const build = Workflow.task('build', { definition: { shell: 'npm run build' } })
 * assert.equal(build.idempotent, true)
 * assert.notEqual(build.fingerprint, Workflow.task('build', { definition: { shell: 'make' } }).fingerprint)
 *
 * @category constructors
 * @since 0.1.0
 */
export const task = (name: string, options: TaskOptions = {}): Task => {
  const idempotent = options.idempotent ?? true
  const captures = options.captures ?? []
  return {
    _tag: 'Task',
    name,
    summary: options.summary ?? name,
    fingerprint: fingerprint({ kind: 'task', name, definition: options.definition ?? null, idempotent, captures }),
    idempotent,
    captures,
    numbered: options.numbered ?? false,
    accepts: options.accepts ?? acceptsAnything,
    leaves: options.leaves ?? leavesNothing
  }
}

/**
 * Declares a group of a wave: a task, and the names of the groups it needs.
 *
 * @category constructors
 * @since 0.1.0
 */
export const group = (of: Task, needs: ReadonlyArray<string> = []): Group => ({ ...of, needs })

/**
 * Declares a wave. `definition`: what of it beside its groups must not change once it has completed, if there is such.
 *
 * @example
 * import { Workflow } from 'dogear'
 * import assert from 'node:assert/strict'
 *
 * const checks = Workflow.wave('checks', [Workflow.group(Workflow.task('unit')), Workflow.group(Workflow.task('lint'))])
 * assert.deepEqual(checks.groups.map((group) => group.name), ['unit', 'lint'])
 *
 * @category constructors
 * @since 0.1.0
 */
export const wave = (name: string, groups: ReadonlyArray<Group>, summary: string = name, definition?: Json): Wave => ({
  _tag: 'Wave',
  name,
  summary,
  fingerprint: fingerprint({
    kind: 'wave',
    name,
    groups: groups.map(({ fingerprint, needs }) => ({ fingerprint, needs })),
    ...(definition === undefined ? {} : { definition })
  }),
  groups
})

/**
 * Declares a map. `definition`: what of it beside `each` must not change once it has completed, if there is such.
 *
 * @example
 * import { Workflow } from 'dogear'
 * import assert from 'node:assert/strict'
 *
 * const convert = Workflow.mapOf('convert', Workflow.task('convert', { definition: { shell: 'convert "$item"' } }))
 * assert.deepEqual(Workflow.problems({ name: 'pictures', steps: [convert] }), [])
 *
 * @category constructors
 * @since 0.1.0
 */
export const mapOf = (name: string, each: Task, summary: string = name, definition?: Json): MapWave => ({
  _tag: 'Map',
  name,
  summary,
  fingerprint: fingerprint({
    kind: 'map',
    name,
    each: each.fingerprint,
    ...(definition === undefined ? {} : { definition })
  }),
  each
})

/**
 * Defines a workflow, or lists everything that is wrong with it.
 *
 * @example
 * import * as E from 'fp-ts/lib/Either.js'
 * import { Workflow } from 'dogear'
 * import assert from 'node:assert/strict'
 *
 * assert.ok(E.isRight(Workflow.define('release', [Workflow.task('build'), Workflow.task('publish')])))
 * assert.deepEqual(
 *   Workflow.define('release', [Workflow.task('build'), Workflow.task('build')]),
 *   E.left([{ _tag: 'DuplicateName', name: 'build', within: 'release' }])
 * )
 *
 * @category constructors
 * @since 0.1.0
 */
export const define = (
  name: string,
  steps: ReadonlyArray<Step>
): E.Either<ReadonlyArray<WorkflowProblem>, Workflow> => {
  const workflow: Workflow = { name, steps }
  const found = problems(workflow)
  return found.length === 0 ? E.right(workflow) : E.left(found)
}

// ---------------------------------------------------------------------------------------------------------------------
// destructors
// ---------------------------------------------------------------------------------------------------------------------

/**
 * The groups of a step: those of a wave. A task has none, and a map has none until it is known of what.
 *
 * @category destructors
 * @since 0.1.0
 */
export const groupsOf = (step: Step): ReadonlyArray<Group> => (step._tag === 'Wave' ? step.groups : [])

/**
 * The tasks of a step: itself, or its groups.
 *
 * @category destructors
 * @since 0.1.0
 */
export const tasks = (step: Step): ReadonlyArray<Task> => (step._tag === 'Task' ? [step] : groupsOf(step))

/**
 * The group of a wave, or of what a checkpoint remembers of a wave, that has this name. Waves are wide, so their groups
 * are indexed when one is first looked for: linear once, constant from then on.
 *
 * @category destructors
 * @since 0.1.0
 */
export const groupNamed = <A extends { readonly name: string }>(
  wave: { readonly groups: ReadonlyArray<A> },
  name: string
): A | undefined => indexed(wave.groups, ({ name }) => name).get(name)

/**
 * Everything that is wrong with a definition; empty if it can be run. Linear time.
 *
 * @category destructors
 * @since 0.1.0
 */
export const problems = (workflow: Workflow): ReadonlyArray<WorkflowProblem> => {
  const names = workflow.steps.map((step) => step.name)
  return [
    ...nameProblems([workflow.name]),
    ...(workflow.steps.length === 0 ? [{ _tag: 'NoSteps' } as const] : []),
    ...nameProblems(names),
    ...duplicates(names, workflow.name),
    ...workflow.steps.filter((step) => step._tag === 'Wave').flatMap(waveProblems),
    ...workflow.steps.filter((step) => step._tag === 'Map').flatMap(mapProblems),
    ...captureProblems(workflow),
    ...secretProblems(workflow)
  ]
}

const nameProblems = (names: ReadonlyArray<string>): ReadonlyArray<WorkflowProblem> =>
  names.filter((name) => !NAME.test(name)).map((name) => ({ _tag: 'InvalidName', name }))

const duplicates = (names: ReadonlyArray<string>, within: string): ReadonlyArray<WorkflowProblem> => {
  const seen = new Set(names)
  if (seen.size === names.length) return []
  const twice = new Set<string>()
  for (const name of names) if (!seen.delete(name)) twice.add(name)
  return [...twice].map((name) => ({ _tag: 'DuplicateName', name, within }))
}

const waveProblems = (wave: Wave): ReadonlyArray<WorkflowProblem> => {
  const names = wave.groups.map((group) => group.name)
  const known = new Set(names)
  const unknown = wave.groups.flatMap((group) =>
    group.needs
      .filter((need) => !known.has(need))
      .map((need) => ({ _tag: 'UnknownNeed', step: wave.name, group: group.name, need }) as const)
  )
  const stuck = inCycle(wave.groups)
  return [
    ...(wave.groups.length === 0 ? [{ _tag: 'NoGroups', step: wave.name } as const] : []),
    ...nameProblems(names),
    ...duplicates(names, wave.name),
    ...unknown,
    ...(stuck.length === 0 ? [] : [{ _tag: 'NeedCycle', step: wave.name, groups: stuck } as const])
  ]
}

const mapProblems = ({ name, each }: MapWave): ReadonlyArray<WorkflowProblem> =>
  each.captures.length === 0 ? [] : [{ _tag: 'InvalidSetting', place: name, field: 'capture', expected: NOT_CAPTURED }]

const NOT_CAPTURED = 'left out: each item of a map would set the same variable'

const captureProblems = (workflow: Workflow): ReadonlyArray<WorkflowProblem> => {
  const seen = new Set<string>()
  const twice = new Map<string, Array<string>>()
  const see = ({ captures }: Task): void => {
    for (const variable of captures) {
      if (seen.has(variable)) twice.set(variable, [])
      else seen.add(variable)
    }
  }
  for (const step of workflow.steps) {
    if (step._tag === 'Task') see(step)
    else groupsOf(step).forEach(see)
  }
  if (twice.size === 0) return []
  for (const step of workflow.steps) {
    for (const one of tasks(step)) {
      const place = step._tag === 'Task' ? step.name : `${step.name}/${one.name}`
      for (const variable of one.captures) twice.get(variable)?.push(place)
    }
  }
  return [...twice].map(([variable, places]) => ({ _tag: 'DuplicateCapture', variable, places }))
}

/** What is recorded under the name of a secret would pass for it. */
const secretProblems = ({ name, steps, secrets = [] }: Workflow): ReadonlyArray<WorkflowProblem> => {
  if (secrets.length === 0) return []
  const known = new Set(secrets)
  const invalid = (place: string, field: string, expected: string): WorkflowProblem => ({
    _tag: 'InvalidSetting',
    place,
    field,
    expected
  })
  const captured = steps.flatMap((step) =>
    tasks(step).flatMap((one) =>
      one.captures
        .filter((variable) => known.has(variable))
        .map((variable) =>
          invalid(
            step._tag === 'Task' ? step.name : `${step.name}/${one.name}`,
            'capture',
            `another name than "${variable}", which is that of a secret`
          )
        )
    )
  )
  return [
    ...(secrets.every((one) => SECRET_NAME.test(one)) ? [] : [invalid(name, 'secrets', SECRET_NAMES)]),
    ...(known.size === secrets.length ? [] : [invalid(name, 'secrets', 'a list in which each name stands once')]),
    ...captured
  ]
}

const SECRET_NAME = /^[^\s\p{Cc}=]{1,128}$/u

const SECRET_NAMES = 'a list of names: 1 to 128 characters each, without blanks and "="'

/**
 * A problem as a sentence for people.
 *
 * @category destructors
 * @since 0.1.0
 */
export const describeProblem = (problem: WorkflowProblem): string => {
  switch (problem._tag) {
    case 'InvalidName':
      return `"${problem.name}" is not a valid name: use letters, digits, ".", "_" and "-", first a letter or digit, at most 128 characters`
    case 'NoSteps':
      return 'a workflow needs at least one step'
    case 'NoGroups':
      return `wave "${problem.step}" needs at least one group`
    case 'DuplicateName':
      return `the name "${problem.name}" is used more than once in "${problem.within}"`
    case 'DuplicateCapture':
      return `variable "${problem.variable}" is captured by more than one step: ${listed(problem.places)}`
    case 'UnknownNeed':
      return `group "${problem.group}" of wave "${problem.step}" needs "${problem.need}", which is no group of that wave`
    case 'InvalidSetting':
      return `${problem.field} of "${problem.place}" must be ${problem.expected}`
    case 'NeedCycle':
      return `groups of wave "${problem.step}" need one another in a circle: ${listed(problem.groups)}`
  }
}
