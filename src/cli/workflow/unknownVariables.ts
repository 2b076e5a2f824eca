/**
 * Variables that a `run:` step names and that nobody sets: found before anything runs.
 *
 * @since 0.1.0
 */
import { listed } from '../../domain/listed.js'
import type { Position, Problem } from './Problem.js'
import { MAX_TOLD } from './Problem.js'
import * as Template from './Template.js'
import { didYouMean } from './Suggestion.js'
import type { Action, Argument, ChecksEntry, GroupEntry, MapEntry, TaskEntry, WorkflowFile } from './WorkflowFile.js'
import { actionsOf, tasksOf } from './WorkflowFile.js'
import { ITEM } from './items.js'
import { ancestry } from './ancestry.js'

/** A variable's name and position. */
interface Named {
  readonly at: Position
  readonly name: string
}

/** The variables known at a position; `names` is slower than `has`. */
interface Scope {
  readonly has: (name: string) => boolean
  readonly names: () => ReadonlyArray<string>
}

/**
 * What is wrong with the variables of a workflow whose input has these fields. A step knows the input and what earlier
 * steps captured; a group also what the groups captured that it needs, and those that they need.
 *
 * @category decoding
 * @since 0.1.0
 */
export const unknownVariables = (file: WorkflowFile, input: Iterable<string>): ReadonlyArray<Problem> => {
  const known = new Set(input)
  const everywhere: Scope = { has: (name) => known.has(name), names: () => [...known] }
  const problems: Array<Problem> = []
  const add = ({ at, name }: Named, scope: Scope): void => {
    // Problems that are only counted need no advice.
    const isTold = problems.length < MAX_TOLD
    problems.push({ at, message: isTold ? messageFor(file, name, scope) : unknown(name) })
  }
  const look = (names: ReadonlyArray<Named>, scope: Scope = everywhere): void => {
    for (const one of names) if (!scope.has(one.name)) add(one, scope)
  }
  for (const step of file.steps) {
    if (step._tag === 'Task') look(named(step))
    else {
      const before = [...(step._tag === 'Map' ? mapped(step) : []), ...(step.checks?.before.flatMap(namedBy) ?? [])]
      const unset = before.filter(({ name }) => !known.has(name))
      if (step._tag === 'Map') look(named(step.each), withItem(everywhere))
      else {
        const scopeOf = scopesIn(step.groups, everywhere)
        for (const group of step.groups) look(named(group), scopeOf(group))
      }
      for (const one of unset) add(one, everywhere)
    }
    for (const { capture } of tasksOf(step)) if (capture !== undefined) known.add(capture)
    if (step._tag !== 'Task' && step.checks !== undefined) look(behind(step.checks, undefined))
  }
  return problems
}

// ---------------------------------------------------------------------------------------------------------------------
// scopes
// ---------------------------------------------------------------------------------------------------------------------

const withItem = (scope: Scope): Scope => ({
  has: (name) => name === ITEM || scope.has(name),
  names: () => [...scope.names(), ITEM]
})

/** The variables that each group of a wave knows in addition to `before`. */
const scopesIn = (groups: ReadonlyArray<GroupEntry>, before: Scope): ((group: GroupEntry) => Scope) => {
  const needs = ancestry(groups)
  const captured = new Map(
    groups.flatMap(({ name, capture }) => (capture === undefined ? [] : [[capture, name] as const]))
  )
  return (group) => ({
    has: (name) => {
      const by = captured.get(name)
      return before.has(name) || (by !== undefined && needs(group.name, by))
    },
    names: () => [...before.names(), ...[...captured].flatMap(([name, by]) => (needs(group.name, by) ? [name] : []))]
  })
}

// ---------------------------------------------------------------------------------------------------------------------
// names
// ---------------------------------------------------------------------------------------------------------------------

/** The variable that has the items of a map, if it has them from one. */
const mapped = ({ forEach }: MapEntry): ReadonlyArray<Named> => (forEach._tag === 'Variable' ? [forEach] : [])

/** Those that have to be set when a task starts: what it leaves behind may be named by what it captures itself. */
const named = (task: TaskEntry): ReadonlyArray<Named> => {
  const { capture, checks } = task
  return [
    ...actionsOf(task).flatMap(namedBy),
    ...(checks === undefined ? [] : [...checks.before.flatMap(namedBy), ...behind(checks, capture)])
  ]
}

const namedBy = (action: Action): ReadonlyArray<Named> => (action._tag !== 'Argv' ? [] : action.argv.flatMap(namesIn))

const namesIn = ({ at, template }: Argument): ReadonlyArray<Named> =>
  Template.variables(template).map((name) => ({ at, name }))

const behind = ({ artifacts, commits, files, after }: ChecksEntry, capture: string | undefined): ReadonlyArray<Named> =>
  [...[...artifacts, ...commits, ...files].flatMap(namesIn), ...after.flatMap(namedBy)].filter(
    ({ name }) => name !== capture
  )

// ---------------------------------------------------------------------------------------------------------------------
// messages
// ---------------------------------------------------------------------------------------------------------------------

const unknown = (name: string): string => `unknown variable "${name}"`

const messageFor = ({ input, secrets }: WorkflowFile, name: string, scope: Scope): string => {
  if (secrets.includes(name))
    return `"${name}" is a secret, and others can see the arguments of a command: let it read its environment, or use "shell"`
  if (Object.hasOwn(input, name)) return `${unknown(name)}. The run keeps its input, which does not set it`
  const known = scope.names()
  const near = didYouMean(name, known)
  if (near !== '') return `${unknown(name)}${near}`
  return known.length === 0
    ? `${unknown(name)}. No variable is set here; pass it with --input, or capture it in an earlier step`
    : `${unknown(name)}. Set here: ${listed(known)}`
}
