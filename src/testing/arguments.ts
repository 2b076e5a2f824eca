/** Refuses invalid arguments of the kit: an ignored option, or one that selects nothing, would test less than its caller believes. */
import { strict as assert } from 'node:assert'
import type { Check, OptionTable } from '../domain/data/Options.js'
import { describeOption, fieldsOf, kindOf, optionProblems } from '../domain/data/Options.js'
import { likeliest, orList } from '../domain/data/Suggestion.js'

/** The table of all options of a call. */
export type TableOf<Options> = Readonly<Record<keyof Options, Check>> & OptionTable

export const problemsOf = (
  options: unknown,
  table: OptionTable,
  required: ReadonlyArray<string> = []
): ReadonlyArray<string> => optionProblems(options, table, { required }).map((problem) => describeOption(problem))

/** Throws if there are problems. */
export const refuse = (call: string, problems: ReadonlyArray<string>): void =>
  assert.ok(problems.length === 0, `${call}: ${problems.join('; ')}`)

export const isWorkflow = (value: unknown): boolean => Array.isArray(fieldsOf(value)['steps'])

/** A message lists at most this number of names. */
const MOST_NAMES = 5

/** Accepts an array of known names. An empty one, or one with an unknown name, selects less than its caller believes. */
export const selection =
  (what: string, known: ReadonlyArray<string>): Check =>
  (value) => {
    if (!Array.isArray(value) || value.length === 0)
      return `an array of at least one ${what}${Array.isArray(value) ? '' : `, not ${kindOf(value)}`}`
    const at = value.findIndex((one) => !known.includes(one as string))
    if (at < 0) return undefined
    const unknown: unknown = value[at]
    const meant = typeof unknown === 'string' ? likeliest(unknown, known) : undefined
    const use = known.length > MOST_NAMES ? `one such as "${known[0] ?? ''}"` : orList(known)
    const remedy = meant === undefined ? `use ${use}` : `did you mean "${meant}"?`
    return `an array of at least one ${what}; ${kindOf(unknown)} is unknown; ${remedy}`
  }

/** Accepts the path that a result of fast-check reports. */
export const resultPath: Check = (value) =>
  typeof value === 'string' && /^(\d+(:\d+)*)?$/.test(value) ? undefined : 'the path of a result, such as "12:0:3"'

/** Accepts an object whose values pass a test. */
export const recordOf =
  (isValue: (value: unknown) => boolean, expected: string): Check =>
  (value) => {
    if (typeof value !== 'object' || value === null) return `${expected}, not ${kindOf(value)}`
    const [wrong] = Object.entries(fieldsOf(value)).filter(([, one]) => one !== undefined && !isValue(one))
    return wrong === undefined ? undefined : `${expected}; that of "${wrong[0]}" is ${kindOf(wrong[1])}`
  }
