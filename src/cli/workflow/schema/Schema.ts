/** Schemas that decode values and describe them as JSON Schema. Knows nothing of steps. */
import { defined } from '../../../domain/data/defined.js'
import type { JsonObject } from '../../../domain/data/Json.js'
import type { Position, Problem, Report } from '../Problem.js'
import type { Entry, Node } from '../Source.js'
import { kindOf } from '../Source.js'
import { closest, didYouMean } from '../../../domain/data/Suggestion.js'
import type { Reading } from './Reading.js'

export interface Schema<A> {
  /** Reports a problem and returns undefined. */
  readonly decode: (reading: Reading, entry: Entry) => A | undefined
  /** JSON Schema, draft 7. It accepts whatever `decode` does. Schemas with a name are added to `definitions`. */
  readonly json: (definitions: Map<string, JsonObject>) => JsonObject
}

/** Words the problem of a value of another kind. */
type Otherwise = (kind: string, key: string) => string

const mustBe =
  (expected: string): Otherwise =>
  (kind, key) =>
    `"${key}" must be ${expected}, not ${kind}`

export const wrong = ({ report }: Reading, { key, value }: Entry, expected: string, hint = ''): undefined =>
  void report(value.at, `${mustBe(expected)(kindOf(value), key)}${hint}`)

const valid = <A>(all: ReadonlyArray<A | undefined>): ReadonlyArray<A> =>
  all.flatMap((one) => (one === undefined ? [] : [one]))

// ---------------------------------------------------------------------------------------------------------------------
// schemas from schemas
// ---------------------------------------------------------------------------------------------------------------------

export const mapped = <A, B>(
  { decode, json }: Schema<A>,
  turn: (value: A, reading: Reading, entry: Entry) => B | undefined
): Schema<B> => ({
  decode: (reading, entry) => {
    const value = decode(reading, entry)
    return value === undefined ? undefined : turn(value, reading, entry)
  },
  json
})

/** Adds keywords for what `decode` refuses anyway. */
export const limited = <A>({ decode, json }: Schema<A>, keywords: JsonObject): Schema<A> => ({
  decode,
  json: (definitions) => ({ ...json(definitions), ...keywords })
})

/** `keywords`: the same refusal in JSON Schema, as far as possible. */
export const refined = <A>(
  schema: Schema<A>,
  keywords: JsonObject,
  problem: (value: A, entry: Entry) => string | undefined
): Schema<A> =>
  limited(
    mapped(schema, (value, { report }, entry) => {
      const message = problem(value, entry)
      return message === undefined ? value : void report(entry.value.at, message)
    }),
    keywords
  )

/** For a value that neither accepts, editors report what `other` expects. */
export const either = <A, B>(fits: (node: Node) => boolean, one: Schema<A>, other: Schema<B>): Schema<A | B> => ({
  decode: (reading, entry) => (fits(entry.value) ? one : other).decode(reading, entry),
  json: (definitions) => ({ anyOf: [other.json(definitions), one.json(definitions)] })
})

export const isList = (node: Node): boolean => node._tag === 'List'

export const isScalar = (node: Node): boolean => node._tag === 'Scalar'

export const or = <C extends boolean | null, A>(constant: C, schema: Schema<A>): Schema<C | A> =>
  either(
    (node) => node._tag === 'Scalar' && node.value === constant,
    { decode: () => constant, json: () => ({ const: constant }) },
    schema
  )

/** JSON Schema refers to it by name, so it may contain itself. */
export const named = <A>(name: string, make: () => Schema<A>): Schema<A> => {
  let made: Schema<A> | undefined
  const schema = (): Schema<A> => (made ??= make())
  return {
    decode: (reading, entry) => schema().decode(reading, entry),
    json: (definitions) => {
      if (!definitions.has(name)) {
        definitions.set(name, {})
        definitions.set(name, schema().json(definitions))
      }
      return { $ref: `#/definitions/${name}` }
    }
  }
}

/** Omits invalid items. `otherwise`: the message for other kinds. */
export const list = <A>(item: Schema<A>, otherwise = mustBe('a list')): Schema<ReadonlyArray<A>> => ({
  decode: (reading, entry) => {
    const { value } = entry
    if (value._tag !== 'List') return void reading.report(value.at, otherwise(kindOf(value), entry.key))
    return valid(value.items.map((one) => item.decode(reading, { ...entry, at: one.at, value: one })))
  },
  json: (definitions) => ({ type: 'array', items: item.json(definitions) })
})

/** Omits invalid values. `names`: the JSON Schema of the keys. */
export const mapOf = <A>(names: JsonObject, item: Schema<A>): Schema<ReadonlyArray<A>> => ({
  decode: (reading, entry) => {
    const { value } = entry
    if (value._tag !== 'Mapping') return wrong(reading, entry, 'a mapping')
    return valid(value.entries.map((one) => item.decode(reading, one)))
  },
  json: (definitions) => ({ type: 'object', propertyNames: names, additionalProperties: item.json(definitions) })
})

// ---------------------------------------------------------------------------------------------------------------------
// mappings with known keys
// ---------------------------------------------------------------------------------------------------------------------

/** `about`: a line for editors; `missing`: the problem if the key is absent. */
export interface Field<A> {
  readonly schema: Schema<A>
  readonly about: string
  readonly missing?: string
}

export type Fields = Readonly<Record<string, Field<unknown>>>

/** A key that is present; `value` is undefined if it could not be read. */
export interface Found<A> {
  readonly entry: Entry
  readonly value: A | undefined
}

export type Read<F extends Fields> = {
  readonly [K in keyof F]: Found<F[K] extends Field<infer A> ? A : never> | undefined
}

export interface Rule<R> {
  readonly check: (read: R, reading: Reading, node: Node) => void
  readonly json: JsonObject
}

export const field = <A>(schema: Schema<A>, about: string, missing?: string): Field<A> => ({
  schema,
  about,
  ...defined({ missing })
})

/**
 * `of`: the owner of the keys in messages; `except`: keys that are not allowed here; `instead`: the key to use in place of an unknown one;
 * `foreign`: what to do in place of setting an unknown key.
 */
export const object = <F extends Fields>(
  of: string,
  fields: F,
  options: {
    readonly except?: ReadonlyArray<string>
    readonly rules?: ReadonlyArray<Rule<Read<F>>>
    readonly otherwise?: Otherwise
    readonly instead?: Readonly<Record<string, keyof F & string>>
    readonly foreign?: Readonly<Record<string, string>>
  } = {}
): Schema<Read<F>> => {
  const { except = [], rules = [], otherwise = mustBe('a mapping'), instead = {}, foreign = {} } = options
  const own = new Map(Object.entries(fields).filter(([key]) => !except.includes(key)))
  const known = [...own.keys()]
  const remedyFor = (key: string, given: ReadonlyArray<Entry>): string | undefined => {
    if (Object.hasOwn(foreign, key)) return foreign[key]
    if (!Object.hasOwn(instead, key)) return undefined
    const right = instead[key]
    return given.some((one) => one.key === right)
      ? `remove it, because "${right}" is there`
      : `use "${right}" in its place`
  }
  /** The key for which a wrong one stands. It counts as present: each mistake is reported once. */
  const meantBy = (key: string): string | undefined => {
    if (own.has(key)) return undefined
    if (Object.hasOwn(instead, key)) return instead[key]
    return Object.hasOwn(foreign, key) ? undefined : closest(key, known)
  }
  return {
    decode: (reading, entry) => {
      const { report } = reading
      const { value: node } = entry
      if (node._tag !== 'Mapping') return void report(node.at, otherwise(kindOf(node), entry.key))
      const found = new Map<string, Found<unknown>>()
      for (const one of node.entries) {
        const schema = own.get(one.key)?.schema
        if (schema !== undefined) found.set(one.key, { entry: one, value: schema.decode(reading, one) })
        else report(one.at, unknownKey(of, one.key, known, remedyFor(one.key, node.entries)))
      }
      const certain = Object.fromEntries(found) as Read<F>
      for (const one of node.entries) {
        const meant = meantBy(one.key)
        if (meant !== undefined && !found.has(meant)) found.set(meant, { entry: one, value: undefined })
      }
      for (const [key, { missing }] of own) if (missing !== undefined && !found.has(key)) report(entry.at, missing)
      const read = Object.fromEntries(found) as Read<F>
      const broken = brokenRules(rules, read, reading, node)
      // A rule is reported only if it is broken both with and without the misspelt keys, which are reported themselves.
      const also = Object.keys(certain).length === found.size ? broken : brokenRules(rules, certain, reading, node)
      for (const { at, message } of broken)
        if (also.some((one) => one.at === at && one.message === message)) report(at, message)
      return read
    },
    json: (definitions) => {
      const required = known.filter((key) => own.get(key)?.missing !== undefined)
      const properties = [...own].map(([key, { schema, about }]): readonly [string, JsonObject] => [
        key,
        { ...schema.json(definitions), description: about }
      ])
      return {
        title: of.replace(/^an? |"/g, ''),
        type: 'object',
        properties: Object.fromEntries(properties),
        additionalProperties: false,
        ...(required.length === 0 ? {} : { required }),
        ...(rules.length === 0 ? {} : { allOf: rules.map(({ json }) => json) })
      }
    }
  }
}

const brokenRules = <R>(
  rules: ReadonlyArray<Rule<R>>,
  read: R,
  reading: Reading,
  node: Node
): ReadonlyArray<Problem> => {
  const broken: Array<Problem> = []
  const report: Report = (at, message) => void broken.push({ at, message })
  for (const { check } of rules) check(read, { ...reading, report }, node)
  return broken
}

/** The maximum number of keys that a message lists. */
const MAX_KEYS = 8

const unknownKey = (of: string, key: string, known: ReadonlyArray<string>, remedy: string | undefined): string => {
  if (remedy !== undefined) return `${of} has no key "${key}"; ${remedy}`
  const listed = known.map((one) => `"${one}"`).join(', ')
  const all = known.length <= MAX_KEYS ? `; use one of ${listed}` : '; "dogear schema" prints the keys'
  const hint = didYouMean(key, known) || all
  return `${of} has no key "${key}"${hint}`
}

interface Variant<A> {
  readonly keys: ReadonlyArray<string>
  readonly schema: Schema<A>
}

/**
 * Decodes a mapping by the first variant, else by `last`, that has one of its keys; if none has, by the variant that has a misspelt one, else by
 * `last`. `known`: all keys of `last`.
 */
export const byKey = <A>(
  otherwise: (kind: string) => string,
  variants: ReadonlyArray<Variant<A>>,
  last: Variant<A> & { readonly known: ReadonlyArray<string> }
): Schema<A> => ({
  decode: (reading, entry) => {
    const { value: node } = entry
    if (node._tag !== 'Mapping') return void reading.report(node.at, otherwise(kindOf(node)))
    const given = node.entries.map(({ key }) => key)
    const fits = ({ keys }: Variant<A>): boolean => given.some((key) => keys.includes(key))
    const { schema } = [...variants, last].find(fits) ?? variantMeant(given, variants, last.known) ?? last
    return schema.decode(reading, entry)
  },
  json: (definitions) => ({
    type: 'object',
    ...variants.reduceRight<JsonObject>(
      (rest, { keys, schema }) => ({ if: hasAny(keys), then: schema.json(definitions), else: rest }),
      last.schema.json(definitions)
    )
  })
})

const variantMeant = <A>(
  given: ReadonlyArray<string>,
  variants: ReadonlyArray<Variant<A>>,
  others: ReadonlyArray<string>
): Variant<A> | undefined => {
  const known = [...others, ...variants.flatMap(({ keys }) => keys)]
  const meant = given.filter((key) => !known.includes(key)).map((key) => closest(key, known))
  return variants.find(({ keys }) => meant.some((key) => key !== undefined && keys.includes(key)))
}

// ---------------------------------------------------------------------------------------------------------------------
// rules
// ---------------------------------------------------------------------------------------------------------------------

const hasNone = (keys: ReadonlyArray<string>): JsonObject => ({
  properties: Object.fromEntries(keys.map((key) => [key, false]))
})

type Keyed<K extends string> = { readonly [key in K]: Found<unknown> | undefined }

export const hasAll = (...keys: ReadonlyArray<string>): JsonObject => ({
  properties: Object.fromEntries(keys.map((key) => [key, true])),
  required: keys
})

const hasAny = (keys: ReadonlyArray<string>): JsonObject => ({ anyOf: keys.map((key) => hasAll(key)) })

/** Reports only the first rule that is broken. */
export const firstOf = <R>(...rules: ReadonlyArray<Rule<R>>): Rule<R> => ({
  check: (read, reading, node) => {
    const [first] = brokenRules(rules, read, reading, node)
    if (first !== undefined) reading.report(first.at, first.message)
  },
  json: { allOf: rules.map(({ json }) => json) }
})

/** Reported at the mapping, unless `place` is given. */
export const atLeastOne = <K extends string>(
  keys: ReadonlyArray<K>,
  message: string,
  place = (_: Reading, node: Node): Position => node.at
): Rule<Keyed<K>> => ({
  check: (read, reading, node) => {
    if (keys.every((key) => read[key] === undefined)) reading.report(place(reading, node), message)
  },
  json: hasAny(keys)
})

/** Reported at the key. */
export const notWith = <K extends string>(key: K, others: ReadonlyArray<K>, message: string): Rule<Keyed<K>> =>
  atKey(key, message, hasNone(others), (read) => others.some((other) => read[other] !== undefined))

/** Reported at the key. */
export const onlyWith = <K extends string>(key: K, others: ReadonlyArray<K>, message: string): Rule<Keyed<K>> =>
  atKey(key, message, hasAny(others), (read) => others.every((other) => read[other] === undefined))

const atKey = <K extends string>(
  key: K,
  message: string,
  json: JsonObject,
  isBroken: (read: Keyed<K>) => boolean
): Rule<Keyed<K>> => ({
  check: (read, { report }) => {
    const found = read[key]
    if (found !== undefined && isBroken(read)) report(found.entry.at, message)
  },
  json: { dependencies: { [key]: json } }
})
