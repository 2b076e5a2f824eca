/** Checks a value that should be the spec of a store. */
import type { Check, OptionTable } from '../../domain/data/Options.js'
import { fieldsOf, kindOf } from '../../domain/data/Options.js'
import { didYouMean } from '../../domain/data/Suggestion.js'
import { problemsOf } from '../arguments.js'
import type { ToolTable } from './Spec.js'
import { TOOLS } from './Spec.js'

const functionThat =
  (does = ''): Check =>
  (value) =>
    typeof value === 'function' ? undefined : `a function${does}, not ${kindOf(value)}`

const name: Check = (value) =>
  typeof value === 'string' && value.trim() !== '' ? undefined : `a non-empty string, not ${kindOf(value)}`

const capabilitiesOf =
  (known: ReadonlyArray<string>): Check =>
  (value) => {
    const expected = `an array, possibly empty, of ${known.join(', ')}`
    if (!Array.isArray(value)) return `${expected}, not ${kindOf(value)}`
    const unknown: ReadonlyArray<unknown> = value.filter((one) => !known.some((each) => each === one))
    const hints = unknown.map((one) => (typeof one === 'string' ? didYouMean(one, known) : ''))
    return unknown.length === 0 ? undefined : `${expected}, not of ${unknown.map(kindOf).join(', ')}${hints.join('')}`
  }

const REQUIRED = ['name', 'create', 'reopen', 'capabilities']

const tableOf = (tools: ToolTable): OptionTable => ({
  name,
  create: functionThat(' that creates an empty place for runs'),
  reopen: functionThat(' that returns a new store on that place'),
  capabilities: capabilitiesOf(Object.keys(tools)),
  ...Object.fromEntries(['destroy', ...Object.values(tools).flat()].map((tool) => [tool, functionThat()]))
})

/** Returns whether a value is meant as a spec, even if it is invalid. */
export const isLikeSpec = (value: unknown): boolean => {
  const fields = fieldsOf(value)
  return 'create' in fields && 'reopen' in fields
}

/** Describes what is wrong with a spec. `tools`: the tools that a spec of this kind may have. */
export const specProblems = (value: unknown, tools: ToolTable = TOOLS): ReadonlyArray<string> => {
  if (typeof value !== 'object' || value === null) return [`it must be an object, not ${kindOf(value)}`]
  const table = tableOf(tools)
  const fields = fieldsOf(value)
  return problemsOf(Object.fromEntries(Object.keys(table).map((field) => [field, fields[field]])), table, REQUIRED)
}

/** A warning for each unknown field that resembles a known one. */
export const unknownFields = (spec: object): ReadonlyArray<string> => {
  const known = Object.keys(tableOf(TOOLS))
  return Object.keys(spec).flatMap((field) => {
    const hint = known.includes(field) ? '' : didYouMean(field, known)
    return hint === '' ? [] : [`a spec has no \`${field}\`${hint}`]
  })
}
