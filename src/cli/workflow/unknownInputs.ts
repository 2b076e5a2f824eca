/** Finds input names that a workflow does not know, which are probably mistyped. */
import { didYouMean } from '../../domain/data/Suggestion.js'
import type { Action, StepEntry, WorkflowFile } from './WorkflowFile.js'
import { placed, tasksOf } from './WorkflowFile.js'

/** A file without input takes any name; a name that a step uses needs no default. */
export const unknownInputs = (
  { input, steps }: WorkflowFile,
  shown: string,
  names: ReadonlyArray<string>
): ReadonlyArray<string> => {
  const known = Object.keys(input)
  if (known.length === 0) return []
  const tasks = tasksOf(steps)
  const mapped = new Set(
    placed(steps).map(({ step }) => (step._tag === 'Map' && step.forEach._tag === 'Variable' ? step.forEach.name : ''))
  )
  return names
    .filter(
      (name) => !known.includes(name) && !mapped.has(name) && !tasks.some(({ action }) => isNamedIn(action, name))
    )
    .map((name) => {
      const hint = didYouMean(name, known) || `. It has ${known.map((one) => `"${one}"`).join(', ')}`
      return `--input "${name}": ${shown} has no such input${hint}`
    })
}

const isNamedIn = (action: Action, name: string): boolean => {
  if (action._tag === 'Reuse') return false
  const text = action._tag === 'Shell' ? action.script : action.argv.map((word) => word.text).join(' ')
  return new RegExp(`\\$\\{?${name}\\b`).test(text)
}

/** Inputs without an effect: a step before `fromStep`, whose record counts, captures a variable of that name. */
export const capturedInputs = (
  { steps }: WorkflowFile,
  fromStep: string,
  names: ReadonlyArray<string>
): ReadonlyArray<string> => {
  const first = steps.findIndex(({ name }) => fromStep === name || fromStep.startsWith(`${name}/`))
  const earlier = placed(steps.slice(0, Math.max(0, first)))
  return names.flatMap((name) => {
    const by = earlier.find(({ step }) => captureOf(step) === name)
    return by === undefined
      ? []
      : [`--input "${name}" has no effect: step "${by.place}" captures it, and its value wins`]
  })
}

const captureOf = (step: StepEntry): string | undefined => ('capture' in step ? step.capture : undefined)
