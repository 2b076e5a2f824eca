/** Schemas of scalars. */
import * as O from 'fp-ts/lib/Option.js'
import type { ReadonlyNonEmptyArray } from 'fp-ts/lib/ReadonlyNonEmptyArray.js'
import type { Json, JsonObject } from '../../../domain/data/Json.js'
import * as Duration from '../Duration.js'
import type { Report } from '../Problem.js'
import type { Node, Scalar } from '../Source.js'
import { kindOf } from '../Source.js'
import { didYouMean, orList } from '../../../domain/data/Suggestion.js'
import * as Variable from '../Variable.js'
import type { Schema } from './Schema.js'
import { named, refined, wrong } from './Schema.js'

/** `expected`: for messages; `read` returns undefined for another value. */
const scalar = <A>(expected: string, json: JsonObject, read: (value: Scalar['value']) => A | undefined): Schema<A> => ({
  decode: (reading, entry) => {
    const { value: node } = entry
    const value = node._tag === 'Scalar' ? read(node.value) : undefined
    return value === undefined ? wrong(reading, entry, expected) : value
  },
  json: () => json
})

/**
 * No command and no environment can hold a NUL character. For messages: `expected`, with what else the key takes; `ifEmpty`; and `remedy` for what
 * YAML reads as a number or boolean.
 */
export const textOr = (
  expected: string,
  { ifEmpty = 'must not be empty', remedy = '; put it in quotes' } = {}
): Schema<string> => ({
  decode: (reading, entry) => {
    const { key, value: node } = entry
    const text = node._tag === 'Scalar' ? node.value : undefined
    const hint = text === undefined || text === null ? '' : remedy
    if (typeof text !== 'string') return wrong(reading, entry, expected, hint)
    const problem = text.trim() === '' ? ifEmpty : text.includes('\0') ? 'contains a NUL character' : undefined
    return problem === undefined ? text : void reading.report(node.at, `"${key}" ${problem}`)
  },
  json: () => ({ type: 'string', pattern: '\\S' })
})

export const text = textOr('a string')

/** An entry of a list. `what`: the kind of names, for messages. */
export const nameIn = (what: string): Schema<string> =>
  textOr(`a list of ${what}`, { ifEmpty: 'must not list an empty name' })

/** `what`: the kind of name, for messages. */
export const variable = (schema: Schema<string>, what: string): Schema<string> =>
  named('variable', () =>
    refined(schema, Variable.JSON_SCHEMA, (name) => {
      const why = Variable.objection(name)
      return O.isSome(why) ? `"${name}" cannot be a ${what}: ${why.value}` : undefined
    })
  )

export const flag = scalar('true or false', { type: 'boolean' }, (value) =>
  typeof value === 'boolean' ? value : undefined
)

/** `beside`: alternatives, in words. */
export const number = (
  { from, to, whole }: { readonly from: number; readonly to: number; readonly whole: boolean },
  beside = ''
): Schema<number> =>
  scalar(
    `${beside}a ${whole ? 'whole number' : 'number'} from ${from} to ${to}`,
    { type: whole ? 'integer' : 'number', minimum: from, maximum: to },
    (value) =>
      typeof value === 'number' && value >= from && value <= to && (!whole || Number.isInteger(value))
        ? value
        : undefined
  )

const durationBy = (
  parse: (text: string) => O.Option<number>,
  beside: string,
  examples: string,
  ...patterns: ReadonlyNonEmptyArray<string>
): Schema<number> =>
  scalar(`${beside}a duration like ${examples}`, { type: 'string', pattern: patterns.join('|') }, (value) =>
    typeof value === 'string' ? O.toUndefined(parse(value)) : undefined
  )

export const durationOr = (beside: string): Schema<number> =>
  durationBy(Duration.parse, beside, '250ms, 5s, 2m or 1h', Duration.PATTERN)

export const duration = durationOr('')

/** Also in days. */
export const longDuration = durationBy(Duration.parseAge, '', '30s, 10m, 12h or 14d', Duration.PATTERN, Duration.DAYS)

export const word = <W extends string>(...words: ReadonlyArray<W>): Schema<W> => ({
  decode: ({ report }, entry) => {
    const value = entry.value._tag === 'Scalar' ? entry.value.value : undefined
    const found = words.find((one) => one === value)
    if (found !== undefined) return found
    const given = typeof value === 'string' ? `"${value}"${didYouMean(value, words)}` : kindOf(entry.value)
    return void report(entry.value.at, `"${entry.key}" must be ${orList(words)}, not ${given}`)
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
