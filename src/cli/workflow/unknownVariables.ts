/**
 * Variables that a `run:` step names and that nobody sets: found before anything runs.
 *
 * @since 0.1.0
 */
import type { Position, Problem } from './Problem.js'
import * as Template from './Template.js'
import { didYouMean } from './Suggestion.js'
import type { Action, Argument, ChecksEntry, GroupEntry, MapEntry, TaskEntry, WorkflowFile } from './WorkflowFile.js'
import { actionsOf, tasksOf } from './WorkflowFile.js'
import { ITEM } from './items.js'

/**
 * What is wrong with the variables of a workflow whose input has these fields. A step knows the input and what earlier
 * steps captured; a group also what the groups captured that it needs, and those that they need.
 *
 * @category decoding
 * @since 0.1.0
 */
export const unknownVariables = (file: WorkflowFile, input: Iterable<string>): ReadonlyArray<Problem> => {
  const known = new Set(input)
  const problemsOf = (task: TaskEntry, here: ReadonlySet<string>): ReadonlyArray<Problem> =>
    named(task)
      .filter(({ name }) => !here.has(name))
      .map(({ at, name }) => ({ at, message: messageFor(file, name, here) }))
  return file.steps.flatMap((step) => {
    if (step._tag === 'Task') {
      const problems = problemsOf(step, known)
      if (step.capture !== undefined) known.add(step.capture)
      return problems
    }
    const before = [...(step._tag === 'Map' ? mapped(step) : []), ...(step.checks?.before.flatMap(namedBy) ?? [])]
    const unset = before.filter(({ name }) => !known.has(name))
    const byName = new Map(step._tag === 'Map' ? [] : step.groups.map((group) => [group.name, group]))
    const problems =
      step._tag === 'Map'
        ? problemsOf(step.each, new Set([...known, ITEM]))
        : step.groups.flatMap((group) => {
            const captured = capturedBefore(byName, group)
            return problemsOf(group, captured.length === 0 ? known : new Set([...known, ...captured]))
          })
    for (const { capture } of tasksOf(step)) if (capture !== undefined) known.add(capture)
    const late = step.checks === undefined ? [] : behind(step.checks, undefined).filter(({ name }) => !known.has(name))
    const ofWave = [...unset, ...late].map(({ at, name }) => ({ at, message: messageFor(file, name, known) }))
    return [...problems, ...ofWave]
  })
}

/** The variable that has the items of a map, if it has them from one. */
const mapped = ({ forEach }: MapEntry): ReadonlyArray<Named> => (forEach._tag === 'Variable' ? [forEach] : [])

/** A name of a variable, and where it stands. */
interface Named {
  readonly at: Position
  readonly name: string
}

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

const messageFor = ({ input, secrets }: WorkflowFile, name: string, known: ReadonlySet<string>): string => {
  if (secrets.includes(name))
    return `"${name}" is a secret, and others can see the arguments of a command: let it read its environment, or use "shell"`
  const unknown = `unknown variable "${name}"`
  if (Object.hasOwn(input, name)) return `${unknown}. The run keeps the input that it was started with, which had none`
  const near = didYouMean(name, [...known])
  if (near !== '') return `${unknown}${near}`
  return known.size === 0
    ? `${unknown}. None is set here: give it with --input, or capture it in an earlier step`
    : `${unknown}. Set here: ${[...known].join(', ')}`
}

const capturedBefore = (byName: ReadonlyMap<string, GroupEntry>, group: GroupEntry): ReadonlyArray<string> => {
  const seen = new Set<string>()
  const queue = [...group.needs]
  for (let name = queue.pop(); name !== undefined; name = queue.pop()) {
    if (seen.has(name)) continue
    seen.add(name)
    queue.push(...(byName.get(name)?.needs ?? []))
  }
  return [...seen].flatMap((name) => byName.get(name)?.capture ?? [])
}
