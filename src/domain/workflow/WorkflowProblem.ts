/** The problems of a workflow definition: found before anything runs, and described as sentences. */
import * as E from 'fp-ts/lib/Either.js'
import { listed } from '../data/listed.js'
import { describeOption, fieldsOf, kindOf } from '../data/Options.js'
import { cycleIn } from './needs.js'
import { listedParts } from './Node.js'
import { join } from './Unit.js'
import type { MapStep, Step, Wave, Workflow } from './Workflow.js'
import { definitionExpected, MAX_DEPTH, tasks } from './Workflow.js'
import { wrongGroup, wrongStep } from './wrongStep.js'

/** The form of a name: letters, digits, `.`, `_` and `-`, first a letter or digit, at most 128 characters. */
export const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/

/**
 * A problem of a definition. `unit` is a path; `place` is a path or the name of the workflow, empty if it has none. `*` stands for the key
 * of an item. `isWorkflow`: the name is that of the workflow.
 *
 * @category model
 */
export type WorkflowProblem =
  | { readonly _tag: 'InvalidName'; readonly name: string; readonly isWorkflow?: true }
  | { readonly _tag: 'NoSteps'; readonly unit?: string }
  | { readonly _tag: 'NoGroups'; readonly unit: string }
  | { readonly _tag: 'TooDeep'; readonly unit: string }
  | { readonly _tag: 'TooManyUnits' }
  | { readonly _tag: 'DuplicateName'; readonly name: string; readonly within: string }
  | { readonly _tag: 'DuplicateCapture'; readonly variable: string; readonly places: ReadonlyArray<string> }
  | { readonly _tag: 'UnknownNeed'; readonly unit: string; readonly group: string; readonly need: string }
  | { readonly _tag: 'InvalidSetting'; readonly place: string; readonly field: string; readonly expected: string }
  | {
      readonly _tag: 'UnknownOption'
      readonly place: string
      readonly option: string
      readonly known: ReadonlyArray<string>
    }
  | { readonly _tag: 'NeedCycle'; readonly unit: string; readonly groups: ReadonlyArray<string> }

/** The maximum number of units in a workflow; the body of a map counts once. */
export const MAX_UNITS = 1_000_000

/**
 * Returns all problems of a definition; none if it can run. Linear time. Below 16 levels at most names and needs are examined, and nothing
 * after 1,000,000 units.
 *
 * @category validation
 */
export const problems = (workflow: Workflow): ReadonlyArray<WorkflowProblem> => {
  const wrong = notWorkflow(workflow)
  if (wrong !== undefined) return [wrong]
  const known = PROBLEMS.get(workflow) ?? problemsOf(workflow)
  PROBLEMS.set(workflow, known)
  return known
}

/** Returns a problem for a value that is not a workflow: untyped callers may pass anything. */
export const notWorkflow = (workflow: unknown): WorkflowProblem | undefined => {
  const { name, steps } = fieldsOf(workflow)
  if (Array.isArray(steps)) return undefined
  if (Object(workflow) !== workflow) return invalid('', WORKFLOW, `a Program or a Workflow, not ${kindOf(workflow)}`)
  return invalid(typeof name === 'string' ? name : '', 'steps', `an array of steps, not ${kindOf(steps)}`)
}

const invalid = (place: string, field: string, expected: string): WorkflowProblem => ({
  _tag: 'InvalidSetting',
  place,
  field,
  expected
})

/** A workflow never changes, and its executor and its planner both check it. */
const PROBLEMS = new WeakMap<Workflow, ReadonlyArray<WorkflowProblem>>()

const problemsOf = (workflow: Workflow): ReadonlyArray<WorkflowProblem> => {
  const found: Array<WorkflowProblem> = []
  let unreadable: WorkflowProblem | undefined
  let units = 0
  const add = (more: Iterable<WorkflowProblem>): void => {
    for (const problem of more) found.push(problem)
  }
  const visitLevel = (parts: ReadonlyArray<Step>, parent: string | undefined, depth: number): void => {
    units += parts.length
    if (units > MAX_UNITS) return
    unreadable ??= wrongAmong(parts, 'step', parent ?? workflow.name)
    if (unreadable !== undefined) return
    const names = parts.map(({ name }) => name)
    add(nameProblems(names))
    add(duplicates(names, parent ?? workflow.name))
    if (depth > MAX_DEPTH && parent !== undefined) found.push({ _tag: 'TooDeep', unit: parent })
    else
      for (const part of parts)
        // Most parts are valid tasks, which need no path.
        if (part._tag !== 'Task' || definitionExpected(part) !== undefined) visit(part, join(parent, part.name), depth)
  }
  const visit = (step: Step, unit: string, depth: number): void => {
    if (units > MAX_UNITS) return
    const expected = definitionExpected(step)
    if (expected !== undefined) found.push(invalid(unit, 'definition', expected))
    switch (step._tag) {
      case 'Task':
        return
      case 'Sequence':
        if (step.steps.length === 0) found.push({ _tag: 'NoSteps', unit })
        return visitLevel(step.steps, unit, depth + 1)
      case 'Wave':
        unreadable ??= wrongAmong(step.groups, 'group', unit)
        if (unreadable !== undefined) return
        add(waveProblems(step, unit))
        return visitLevel(step.groups, unit, depth + 1)
      case 'Map':
        units += 1
        unreadable ??= wrongBody(step, unit)
        if (unreadable !== undefined) return
        if (step.each._tag === 'Task' && step.each.captures.length > 0)
          found.push(invalid(unit, 'capture', NOT_CAPTURED))
        if (depth + 1 > MAX_DEPTH) found.push({ _tag: 'TooDeep', unit })
        else visit(step.each, `${unit}/*`, depth + 1)
    }
  }
  add(nameProblems([workflow.name], { isWorkflow: true }))
  if (workflow.steps.length === 0) found.push({ _tag: 'NoSteps' })
  visitLevel(workflow.steps, undefined, 1)
  if (unreadable !== undefined) return [unreadable]
  return units > MAX_UNITS
    ? [...found, { _tag: 'TooManyUnits' }]
    : [...found, ...captureProblems(workflow.steps), ...secretProblems(workflow)]
}

/** Returns a problem for the first value that is not a step or group. */
const wrongAmong = (
  all: ReadonlyArray<unknown>,
  kind: 'step' | 'group',
  place: string
): WorkflowProblem | undefined => {
  const wrongOne = kind === 'step' ? wrongStep : wrongGroup
  const at = all.findIndex((one) => wrongOne(one) !== undefined)
  return at === -1
    ? undefined
    : invalid(place, `${kind}s`, `an array of ${kind}s; ${kind} ${at + 1} is ${wrongOne(all[at]) ?? ''}`)
}

const wrongBody = ({ each }: MapStep, unit: string): WorkflowProblem | undefined => {
  const wrong = wrongStep(each)
  return wrong === undefined ? undefined : invalid(unit, 'each', `a step, not ${wrong}`)
}

/** Detects the problem of a workflow or part that has another type. It is then the only problem: nothing else can be read. */
export const isUnreadable = (problem: WorkflowProblem | undefined): boolean =>
  problem?._tag === 'InvalidSetting' && PARTS.has(problem.field)

const WORKFLOW = 'the workflow'

const PARTS: ReadonlySet<string> = new Set([WORKFLOW, 'steps', 'groups', 'each'])

const nameProblems = (
  names: ReadonlyArray<string>,
  of: { readonly isWorkflow?: true } = {}
): ReadonlyArray<WorkflowProblem> =>
  names
    .filter((name: unknown) => typeof name !== 'string' || !NAME.test(name))
    .map((name) => ({ _tag: 'InvalidName', name, ...of }))

const duplicates = (names: ReadonlyArray<string>, within: string): ReadonlyArray<WorkflowProblem> => {
  const seen = new Set(names)
  if (seen.size === names.length) return []
  const twice = new Set<string>()
  for (const name of names) if (!seen.delete(name)) twice.add(name)
  return [...twice].map((name) => ({ _tag: 'DuplicateName', name, within }))
}

const waveProblems = ({ groups }: Wave, unit: string): ReadonlyArray<WorkflowProblem> => {
  if (groups.length === 0) return [{ _tag: 'NoGroups', unit }]
  const known = new Set(groups.map(({ name }) => name))
  const unknown = groups.flatMap(({ name, needs }) =>
    needs.filter((need) => !known.has(need)).map((need) => ({ _tag: 'UnknownNeed', unit, group: name, need }) as const)
  )
  const cycle = cycleIn(groups)
  return cycle.length === 0 ? unknown : [...unknown, { _tag: 'NeedCycle', unit, groups: cycle }]
}

const NOT_CAPTURED = 'absent, because every item of a map would set the same variable'

/** The tasks that set each variable, in the workflow or in one body of a map. */
type Setters = Map<string, string | Array<string>>

/** Two tasks may set the same variable only in different bodies of maps: the variables of an item stay in the item. */
const captureProblems = (steps: ReadonlyArray<Step>): ReadonlyArray<WorkflowProblem> => {
  const top: Setters = new Map()
  const all = [top]
  const visit = (step: Step, place: string, setters: Setters, depth: number): void => {
    if (step._tag === 'Task') {
      for (const variable of step.captures) {
        const known = setters.get(variable)
        if (known === undefined) setters.set(variable, place)
        else if (typeof known === 'string') setters.set(variable, [known, place])
        else known.push(place)
      }
    } else if (depth >= MAX_DEPTH) return
    else if (step._tag === 'Map') {
      if (step.each._tag === 'Task') return
      const body: Setters = new Map()
      all.push(body)
      visit(step.each, `${place}/*`, body, depth + 1)
    } else for (const part of listedParts<Step>(step)) visit(part, join(place, part.name), setters, depth + 1)
  }
  for (const step of steps) visit(step, step.name, top, 1)
  const found: Array<WorkflowProblem> = []
  for (const setters of all)
    for (const [variable, places] of setters)
      if (typeof places !== 'string') found.push({ _tag: 'DuplicateCapture', variable, places })
  return found
}

/** A value recorded under a secret's name could be mistaken for the secret. */
const secretProblems = ({ name, steps, secrets = [] }: Workflow): ReadonlyArray<WorkflowProblem> => {
  const isList: boolean = Array.isArray(secrets)
  if (!isList) return [invalid(name, 'secrets', SECRET_NAMES)]
  if (secrets.length === 0) return []
  const known = new Set(secrets)
  return [
    ...(secrets.every(isSecretName) ? [] : [invalid(name, 'secrets', SECRET_NAMES)]),
    ...(known.size === secrets.length ? [] : [invalid(name, 'secrets', 'an array without duplicates')]),
    ...tasks(steps).flatMap(({ task, place }) =>
      task.captures
        .filter((variable) => known.has(variable))
        .map((variable) => invalid(place, 'capture', `a name other than "${variable}", which is the name of a secret`))
    )
  ]
}

const SECRET_NAME = /^[^\s\p{Cc}=]{1,128}$/u

const isSecretName = (name: unknown): boolean => typeof name === 'string' && SECRET_NAME.test(name)

const SECRET_NAMES = 'an array of names of 1 to 128 characters without whitespace or "="'

/**
 * Describes a problem as a sentence.
 *
 * @category destructors
 */
export const describeProblem = (problem: WorkflowProblem): string => {
  switch (problem._tag) {
    case 'InvalidName':
      return `"${problem.name}" is not a valid name${problem.isWorkflow === true ? ' of a workflow' : ''}: use letters, digits, ".", "_" and "-", first a letter or digit, at most 128 characters${
        problem.isWorkflow !== true && /\s/.test(problem.name) ? '; the "summary" of a step may have spaces' : ''
      }`
    case 'NoSteps':
      return problem.unit === undefined
        ? 'a workflow needs at least one step'
        : `sequence "${problem.unit}" needs at least one step`
    case 'NoGroups':
      return `wave "${problem.unit}" needs at least one group`
    case 'TooDeep':
      return `"${problem.unit}" is nested too deeply: a workflow has at most ${MAX_DEPTH} levels of steps; flatten it`
    case 'TooManyUnits':
      return `the workflow has more than ${MAX_UNITS} units; split it`
    case 'DuplicateName':
      return `the name "${problem.name}" is used more than once in "${problem.within}"; rename all but one`
    case 'DuplicateCapture':
      return `variable "${problem.variable}" is captured by more than one step; rename all but one: ${listed(problem.places)}`
    case 'UnknownNeed':
      return `group "${problem.group}" of wave "${problem.unit}" needs "${problem.need}", which is not a group of that wave; fix its needs`
    case 'InvalidSetting':
      return describeOption({ option: problem.field, expected: problem.expected }, problem.place || undefined)
    case 'UnknownOption':
      return describeOption(problem, problem.place)
    case 'NeedCycle':
      return problem.groups.length === 1
        ? `group "${listed(problem.groups)}" of wave "${problem.unit}" needs itself; remove it from its needs`
        : `groups ${listed(problem.groups)} of wave "${problem.unit}" depend on each other in a cycle; remove one of their needs`
  }
}

/**
 * Defines a workflow, or returns all its problems.
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
 */
export const define = (
  name: string,
  steps: ReadonlyArray<Step>
): E.Either<ReadonlyArray<WorkflowProblem>, Workflow> => {
  const workflow: Workflow = { name, steps }
  const found = problems(workflow)
  return found.length === 0 ? E.right(workflow) : E.left(found)
}
