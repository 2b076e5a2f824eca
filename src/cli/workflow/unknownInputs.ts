/** Finds input names that a workflow does not know, which are probably mistyped. */
import { didYouMean } from '../../domain/data/Suggestion.js'
import type { Loaded } from './load.js'
import type { WorkflowFile } from './WorkflowFile.js'
import { captureOf, placed } from './WorkflowFile.js'

/** A file without `input` allows any name; any file allows those that its steps mention. Secrets are refused elsewhere. */
export const unknownInputs = ({ file, shown }: Loaded, names: ReadonlyArray<string>): ReadonlyArray<string> => {
  const { input, secrets, steps } = file
  const known = Object.keys(input)
  if (known.length === 0) return []
  return names
    .filter((name) => ![...known, ...secrets].includes(name) && !mentions(steps, new RegExp(`\\b${name}\\b`)))
    .map((name) => {
      const all = `. It has ${known.map((one) => `"${one}"`).join(', ')}; if a step reads "${name}", add it to "input" of the file`
      return `--input "${name}": ${shown} has no such input${didYouMean(name, known) || all}`
    })
}

const mentions = (value: unknown, name: RegExp): boolean =>
  typeof value === 'string'
    ? name.test(value)
    : typeof value === 'object' && value !== null && Object.values(value).some((one) => mentions(one, name))

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
