/** Schemas of scalars. */
import * as O from 'fp-ts/lib/Option.js'
import type { ReadonlyNonEmptyArray } from 'fp-ts/lib/ReadonlyNonEmptyArray.js'
import type { Json } from '../../../domain/data/Json.js'
import * as Duration from '../Duration.js'
import type { Report } from '../Problem.js'
import type { Entry, Node, Scalar } from '../Source.js'
import { kindOf } from '../Source.js'
import { didYouMean, orList } from '../../../domain/data/Suggestion.js'
import * as Variable from '../Variable.js'
import type { Schema } from './Schema.js'
import { named, quoting, refined, wrong } from './Schema.js'

const scalarOf = ({ value }: Entry): Scalar['value'] | undefined => (value._tag === 'Scalar' ? value.value : undefined)

/** No command and no environment can hold a NUL character. `expected`: for messages, with what else the key takes. */
export const textOr = (expected: string): Schema<string> => ({
  decode: (reading, entry) => {
    const value = scalarOf(entry)
    if (typeof value !== 'string') return wrong(reading, entry, expected)
    const problem =
      value.trim() === '' ? 'must not be empty' : value.includes('\0') ? 'contains a NUL character' : undefined
    return problem === undefined ? value : void reading.report(entry.value.at, `"${entry.key}" ${problem}`)
  },
  json: () => ({ type: 'string', pattern: '\\S' })
})

export const text = textOr('a string')

/** `what`: the kind of name, for messages. */
export const nameIn = (what: string): Schema<string> => ({
  decode: ({ report }, { key, value }) =>
    value._tag === 'Scalar' && typeof value.value === 'string'
      ? value.value
      : void report(value.at, `"${key}" lists ${what}, not ${kindOf(value)}${quoting(value)}`),
  json: () => ({ type: 'string' })
})

/** `what`: the kind of name, for messages. */
export const variable = (schema: Schema<string>, what: string): Schema<string> =>
  named('variable', () =>
    refined(schema, Variable.JSON_SCHEMA, (name) => {
      const why = Variable.objection(name)
      return O.isSome(why) ? `"${name}" cannot be a ${what}: ${why.value}` : undefined
    })
  )

export const flag: Schema<boolean> = {
  decode: (reading, entry) => {
    const value = scalarOf(entry)
    return typeof value === 'boolean' ? value : wrong(reading, entry, 'true or false')
  },
  json: () => ({ type: 'boolean' })
}

/** `beside`: alternatives, in words. */
export const number = (
  { from, to, whole }: { readonly from: number; readonly to: number; readonly whole: boolean },
  beside = ''
): Schema<number> => ({
  decode: (reading, entry) => {
    const value = scalarOf(entry)
    return typeof value === 'number' && value >= from && value <= to && (!whole || Number.isInteger(value))
      ? value
      : wrong(reading, entry, `${beside}a ${whole ? 'whole number' : 'number'} from ${from} to ${to}`)
  },
  json: () => ({ type: whole ? 'integer' : 'number', minimum: from, maximum: to })
})

const durationBy = (
  parse: (text: string) => O.Option<number>,
  beside: string,
  examples: string,
  ...patterns: ReadonlyNonEmptyArray<string>
): Schema<number> => ({
  decode: (reading, entry) => {
    const value = scalarOf(entry)
    const millis = typeof value === 'string' ? parse(value) : O.none
    return O.isSome(millis) ? millis.value : wrong(reading, entry, `${beside}a duration like ${examples}`)
  },
  json: () => ({ type: 'string', pattern: patterns.join('|') })
})

export const durationOr = (beside: string): Schema<number> =>
  durationBy(Duration.parse, beside, '250ms, 5s, 2m or 1h', Duration.PATTERN)

export const duration = durationOr('')

/** Also in days. */
export const longDuration = durationBy(Duration.parseAge, '', '30s, 10m, 12h or 14d', Duration.PATTERN, Duration.DAYS)

export const word = <W extends string>(...words: ReadonlyArray<W>): Schema<W> => ({
  decode: ({ report }, entry) => {
    const value = scalarOf(entry)
    const found = words.find((one) => one === value)
    if (found !== undefined) return found
    const given = typeof value === 'string' ? `"${value}"${didYouMean(value, words)}` : kindOf(entry.value)
    report(entry.value.at, `"${entry.key}" must be ${orList(words)}, not ${given}`)
    return undefined
  },
  json: () => ({ enum: words })
})

/** Steps get numbers as text, so a number must be written as it will be read. */
export const json: Schema<Json> = { decode: ({ report }, { value }) => jsonOf(report, value), json: () => ({}) }

const jsonOf = (report: Report, node: Node): Json => {
  switch (node._tag) {
    case 'Scalar':
      return scalarJson(report, node)
    case 'List':
      return node.items.map((item) => jsonOf(report, item))
    case 'Mapping':
      return Object.fromEntries(node.entries.map(({ key, value }) => [key, jsonOf(report, value)]))
  }
}

const scalarJson = (report: Report, { at, value, source }: Scalar): Json => {
  if (typeof value === 'string' && value.includes('\0')) report(at, 'a value cannot contain a NUL character')
  if (typeof value === 'number' && String(value) !== source) {
    report(at, `${source} is read as the number ${value}; write that, or put it in quotes`)
  }
  return value
}
