/**
 * Variables that a `run:` step names and that nobody sets: found before anything runs.
 *
 * @since 0.1.0
 */
import type { Problem } from './Problem.js'
import * as Template from './Template.js'
import { didYouMean } from './Suggestion.js'
import type { GroupEntry, TaskEntry, WaveEntry, WorkflowFile } from './WorkflowFile.js'

/**
 * What is wrong with the variables of a workflow whose input has these fields. A step knows the input and what earlier
 * steps captured; a group also what the groups captured that it needs, and those that they need.
 *
 * @category decoding
 * @since 0.1.0
 */
export const unknownVariables = (file: WorkflowFile, input: Iterable<string>): ReadonlyArray<Problem> => {
  const known = new Set(input)
  return file.steps.flatMap((step) => {
    if (step._tag === 'Task') {
      const problems = problemsOf(step, known)
      if (step.capture !== undefined) known.add(step.capture)
      return problems
    }
    const problems = step.groups.flatMap((group) =>
      problemsOf(group, new Set([...known, ...capturedBefore(step, group)]))
    )
    for (const { capture } of step.groups) if (capture !== undefined) known.add(capture)
    return problems
  })
}

const problemsOf = ({ action }: TaskEntry, known: ReadonlySet<string>): ReadonlyArray<Problem> =>
  action._tag === 'Shell'
    ? []
    : action.argv.flatMap(({ at, template }) =>
        Template.variables(template)
          .filter((name) => !known.has(name))
          .map((name) => ({ at, message: `unknown variable "${name}"${hintFor(name, known)}` }))
      )

const hintFor = (name: string, known: ReadonlySet<string>): string => {
  const near = didYouMean(name, [...known])
  if (near !== '') return near
  return known.size === 0
    ? '. None is set here: give it with --input, or capture it in an earlier step'
    : `. Set here: ${[...known].join(', ')}`
}

const capturedBefore = (wave: WaveEntry, group: GroupEntry): ReadonlyArray<string> => {
  const byName = new Map(wave.groups.map((one) => [one.name, one]))
  const seen = new Set<string>()
  const queue = [...group.needs]
  for (let name = queue.pop(); name !== undefined; name = queue.pop()) {
    if (seen.has(name)) continue
    seen.add(name)
    queue.push(...(byName.get(name)?.needs ?? []))
  }
  return [...seen].flatMap((name) => byName.get(name)?.capture ?? [])
}
