/** Finds unset variables in `run:` steps before anything runs. */
import { listed } from '../../domain/data/listed.js'
import type { Position, Problem } from './Problem.js'
import { MAX_SHOWN } from './Problem.js'
import * as Template from './Template.js'
import { didYouMean } from '../../domain/data/Suggestion.js'
import type {
  Action,
  Argument,
  ChecksEntry,
  GroupEntry,
  StepEntry,
  TaskEntry,
  WaitEntry,
  WorkflowFile
} from './WorkflowFile.js'
import { actionsOf, isLeaf, partsOf } from './WorkflowFile.js'
import { ITEM } from './items.js'
import { ancestry } from './ancestry.js'

interface Named {
  readonly at: Position
  readonly name: string
}

/** The variables known at a position; `names` is slower than `has`. */
interface Scope {
  readonly has: (name: string) => boolean
  readonly names: () => ReadonlyArray<string>
}

/** A step knows the input and earlier captures; a group also those of the groups that it needs. */
export const unknownVariables = (file: WorkflowFile, input: Iterable<string>): ReadonlyArray<Problem> => {
  const problems: Array<Problem> = []
  const look = (names: ReadonlyArray<Named>, scope: Scope): void => {
    for (const { at, name } of names) {
      if (scope.has(name)) continue
      // Only listed problems need advice.
      const isListed = problems.length < MAX_SHOWN
      problems.push({ at, message: isListed ? messageFor(file, name, scope) : unknown(name) })
    }
  }
  const visit = (step: StepEntry, scope: Scope): Captured => {
    if (isLeaf(step)) {
      if (step._tag === 'Task') look(inTask(step), scope)
      return capturedIn(step)
    }
    look([...inForEach(step), ...(step.checks?.before.flatMap(inAction) ?? [])], scope)
    const captured = inside(step, scope)
    if (step.checks !== undefined) look(atEnd(step.checks, undefined), adding(scope, captured))
    return captured
  }
  const inOrder = (steps: ReadonlyArray<StepEntry>, scope: Scope): Captured => {
    const captured: Array<string> = []
    const known = adding(scope, NOTHING)
    for (const step of steps) {
      const more = visit(step, known)
      known.add(more)
      captured.push(...more)
    }
    return captured
  }
  const inside = (step: Exclude<StepEntry, TaskEntry | WaitEntry>, scope: Scope): Captured => {
    switch (step._tag) {
      case 'Sequence':
        return inOrder(step.steps, scope)
      case 'Wave':
        return inParallel(step.groups, scope)
      case 'Map':
        visit(step.each, adding(scope, [ITEM]))
        return NOTHING
    }
  }
  const inParallel = (groups: ReadonlyArray<GroupEntry>, scope: Scope): Captured => {
    const scopeOf = scopesIn(groups, scope)
    return groups.flatMap((group) => visit(group, scopeOf(group)))
  }
  inOrder(file.steps, adding({ has: () => false, names: () => [] }, [...input]))
  return problems
}

type Captured = ReadonlyArray<string>

const NOTHING: Captured = []

const adding = (scope: Scope, more: Captured): Scope & { readonly add: (names: Captured) => void } => {
  const own = new Set(more)
  return {
    has: (name) => own.has(name) || scope.has(name),
    names: () => [...scope.names(), ...own],
    add: (names) => {
      for (const name of names) own.add(name)
    }
  }
}

const scopesIn = (groups: ReadonlyArray<GroupEntry>, before: Scope): ((group: GroupEntry) => Scope) => {
  const needs = ancestry(groups)
  const captured = new Map(groups.flatMap((group) => capturedIn(group).map((variable) => [variable, group.name])))
  return (group) => ({
    has: (name) => {
      const by = captured.get(name)
      return before.has(name) || (by !== undefined && needs(group.name, by))
    },
    names: () => [...before.names(), ...[...captured].flatMap(([name, by]) => (needs(group.name, by) ? [name] : []))]
  })
}

/** Captures in the items of a map stay there. */
const capturedIn = (step: StepEntry): Captured => {
  if (isLeaf(step)) return step.capture === undefined ? NOTHING : [step.capture]
  return step._tag === 'Map' ? NOTHING : partsOf(step).flatMap(capturedIn)
}

const inForEach = (step: StepEntry): ReadonlyArray<Named> =>
  step._tag === 'Map' && step.forEach._tag === 'Variable' ? [step.forEach] : []

/** The evidence of a task may name its own capture. */
const inTask = (task: TaskEntry): ReadonlyArray<Named> => {
  const { capture, checks } = task
  return [
    ...actionsOf(task).flatMap(inAction),
    ...(checks === undefined ? [] : [...checks.before.flatMap(inAction), ...atEnd(checks, capture)])
  ]
}

const inAction = (action: Action): ReadonlyArray<Named> =>
  action._tag === 'Argv' ? action.argv.flatMap(inArgument) : []

const inArgument = ({ at, template }: Argument): ReadonlyArray<Named> =>
  Template.variables(template).map((name) => ({ at, name }))

/** The evidence, and the checks `after`; without the capture of their own task. */
const atEnd = ({ artifacts, commits, files, after }: ChecksEntry, capture: string | undefined): ReadonlyArray<Named> =>
  [...[...artifacts, ...commits, ...files].flatMap(inArgument), ...after.flatMap(inAction)].filter(
    ({ name }) => name !== capture
  )

const unknown = (name: string): string => `unknown variable "${name}"`

const messageFor = ({ input, secrets }: WorkflowFile, name: string, scope: Scope): string => {
  if (secrets.includes(name))
    return `"${name}" is a secret, and other users can see the arguments of a command; read it from the environment, or use "shell"`
  if (Object.hasOwn(input, name)) return `${unknown(name)}. The run keeps its input, which does not set it`
  const known = scope.names()
  const near = didYouMean(name, known)
  if (near !== '') return `${unknown(name)}${near}`
  return known.length === 0
    ? `${unknown(name)}. No variable is set here; pass it with --input, or capture it in an earlier step`
    : `${unknown(name)}. Set here: ${listed(known)}`
}
