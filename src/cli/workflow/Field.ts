/** The values of a workflow file's keys, each of its kind: what is of another kind is reported where it stands. */
import * as O from 'fp-ts/lib/Option.js'
import type { Json } from '../../domain/data/Json.js'
import * as Duration from './Duration.js'
import type { Report } from './Problem.js'
import type { Entry, List, Mapping, Node, Scalar } from './Source.js'
import { didYouMean } from './Suggestion.js'

/** The entries of a mapping by key. */
export type Fields = ReadonlyMap<string, Entry>

/** The entries of a mapping. Keys that are not among the known ones are reported; `of` says whose keys they are. */
export const fieldsOf = (report: Report, node: Mapping, known: ReadonlyArray<string>, of: string): Fields => {
  const fields = new Map<string, Entry>()
  for (const entry of node.entries) {
    if (known.includes(entry.key)) fields.set(entry.key, entry)
    else {
      const others = known.map((key) => `"${key}"`).join(', ')
      const hint = didYouMean(entry.key, known) || `. It may have ${others}`
      report(entry.at, `${of} has no key "${entry.key}"${hint}`)
    }
  }
  return fields
}

/** What a node is, for messages. */
export const kindOf = (node: Node): string => {
  switch (node._tag) {
    case 'List':
      return 'a list'
    case 'Mapping':
      return 'a mapping'
    case 'Scalar':
      return node.value === null
        ? 'nothing'
        : typeof node.value === 'string'
          ? `the text ${JSON.stringify(node.value.length > 40 ? `${node.value.slice(0, 39)}…` : node.value)}`
          : `the ${typeof node.value} ${node.source}`
  }
}

const wrong = (report: Report, { key, value }: Entry, expected: string): O.Option<never> => {
  const quoted = value._tag === 'Scalar' && value.value !== null && typeof value.value !== 'string'
  const hint = quoted && expected.startsWith('text') ? ': put it in quotes' : ''
  report(value.at, `"${key}" must be ${expected}, not ${kindOf(value)}${hint}`)
  return O.none
}

/** Text, not empty and without NUL characters, which no command and no environment can hold. */
export const text = (report: Report, entry: Entry | undefined): O.Option<string> => {
  if (entry === undefined) return O.none
  const { value } = entry
  if (value._tag !== 'Scalar' || typeof value.value !== 'string') return wrong(report, entry, 'text')
  if (value.value.trim() === '') {
    report(value.at, `"${entry.key}" must not be empty`)
    return O.none
  }
  if (value.value.includes('\0')) {
    report(value.at, `"${entry.key}" contains a NUL character`)
    return O.none
  }
  return O.some(value.value)
}

/** `true` or `false`. */
export const flag = (report: Report, entry: Entry | undefined): O.Option<boolean> => {
  if (entry === undefined) return O.none
  const { value } = entry
  return value._tag === 'Scalar' && typeof value.value === 'boolean'
    ? O.some(value.value)
    : wrong(report, entry, 'true or false')
}

/** A number in a range. `beside`: what else might stand there, in words. */
export const number = (
  report: Report,
  entry: Entry | undefined,
  range: { readonly from: number; readonly to: number; readonly whole: boolean },
  beside = ''
): O.Option<number> => {
  if (entry === undefined) return O.none
  const value = entry.value._tag === 'Scalar' ? entry.value.value : undefined
  const fits =
    typeof value === 'number' && value >= range.from && value <= range.to && (!range.whole || Number.isInteger(value))
  return fits
    ? O.some(value)
    : wrong(report, entry, `${beside}a ${range.whole ? 'whole number' : 'number'} from ${range.from} to ${range.to}`)
}

/** A duration, in milliseconds. */
export const duration = (report: Report, entry: Entry | undefined): O.Option<number> => {
  if (entry === undefined) return O.none
  const value = entry.value._tag === 'Scalar' ? entry.value.value : undefined
  const millis = typeof value === 'string' ? Duration.parse(value) : O.none
  return O.isSome(millis) ? millis : wrong(report, entry, 'a duration like 250ms, 5s, 2m or 1h')
}

/** One of some words. */
export const word = <W extends string>(
  report: Report,
  entry: Entry | undefined,
  words: ReadonlyArray<W>
): O.Option<W> => {
  if (entry === undefined) return O.none
  const value = entry.value._tag === 'Scalar' ? entry.value.value : undefined
  const found = words.find((one) => one === value)
  if (found !== undefined) return O.some(found)
  const given = typeof value === 'string' ? `"${value}"${didYouMean(value, words)}` : kindOf(entry.value)
  report(entry.value.at, `"${entry.key}" must be ${orList(words)}, not ${given}`)
  return O.none
}

const orList = (words: ReadonlyArray<string>): string =>
  words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} or ${words.at(-1)}`

/** A list. */
export const list = (report: Report, entry: Entry | undefined): O.Option<List> => {
  if (entry === undefined) return O.none
  return entry.value._tag === 'List' ? O.some(entry.value) : wrong(report, entry, 'a list')
}

/** A mapping. */
export const mapping = (report: Report, entry: Entry | undefined): O.Option<Mapping> => {
  if (entry === undefined) return O.none
  return entry.value._tag === 'Mapping' ? O.some(entry.value) : wrong(report, entry, 'a mapping')
}

/** Any value, as JSON. Since it will reach the steps as text, a number has to be written as it will read there. */
export const json = (report: Report, node: Node): Json => {
  switch (node._tag) {
    case 'Scalar':
      return scalarJson(report, node)
    case 'List':
      return node.items.map((item) => json(report, item))
    case 'Mapping':
      return Object.fromEntries(node.entries.map(({ key, value }) => [key, json(report, value)]))
  }
}

const scalarJson = (report: Report, { at, value, source }: Scalar): Json => {
  if (typeof value === 'string' && value.includes('\0')) report(at, 'a value can not contain a NUL character')
  if (typeof value === 'number' && String(value) !== source) {
    report(at, `${source} is the number ${value}. Write that, or put it in quotes to keep it as it is`)
  }
  return value
}
