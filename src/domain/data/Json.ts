/**
 * Plain JSON values: the only data that a run records. {@link fromUnknown} checks everything before it is recorded, so that a step receives
 * the same values after a resume as in an undisturbed run.
 *
 * @module
 */
import * as E from 'fp-ts/lib/Either.js'
import { withArticle } from './Suggestion.js'

// --- model

/** A value that survives `JSON.parse(JSON.stringify(value))` unchanged. */
export type Json = null | boolean | number | string | JsonArray | JsonObject

/** A JSON array. */
export type JsonArray = ReadonlyArray<Json>

/** A JSON object. */
export interface JsonObject {
  readonly [key: string]: Json
}

/**
 * A value that JSON cannot hold: `path` is where (`$.items[3].when`), `found` describes the value (`a Date`).
 *
 * @category model
 */
export interface NotJson {
  readonly _tag: 'NotJson'
  readonly path: string
  readonly found: string
}

/** The maximum nesting. JSON routines of engines recurse, and overflow at some thousand levels. */
export const MAX_DEPTH = 500

// --- constructors

/**
 * Copies a value into plain JSON, or returns the first value in it that is not JSON, with its path.
 *
 * Drops properties that are `undefined`, not enumerable or named by a symbol, and turns `-0` into `0`, as `JSON.stringify` does. Refuses
 * everything else that would change silently: `NaN`, `Date`, `Map`, class instances, arrays with properties, `undefined` in an array, cycles,
 * nesting over {@link MAX_DEPTH}, and properties that throw. Later changes of the argument do not reach the copy.
 *
 * @example
 * import * as E from 'fp-ts/lib/Either.js'
 * import { Json } from 'dogear'
 * import assert from 'node:assert/strict'
 *
 * assert.deepEqual(Json.fromUnknown({ a: 1, b: undefined }), E.right({ a: 1 }))
 * assert.deepEqual(
 *   Json.fromUnknown({ items: [1, Number.NaN] }),
 *   E.left({ _tag: 'NotJson', path: '$.items[1]', found: 'NaN' })
 * )
 *
 * @category constructors
 */
export const fromUnknown = (value: unknown): E.Either<NotJson, Json> => copy(value, { key: '', parent: undefined }, 0)

/** The position of the walk as a linked list; the path is only built for an error. */
interface Place {
  readonly key: string | number
  readonly value?: unknown
  readonly parent: Place | undefined
}

const pathOf = (place: Place): string => {
  const parts: Array<string> = []
  for (let at: Place | undefined = place; at?.parent !== undefined; at = at.parent) parts.push(segment(at.key))
  return `$${parts.reverse().join('')}`
}

/** One segment of a path: `.name`, `["odd name"]` or `[3]`. */
export const segment = (key: string | number): string =>
  typeof key === 'number' ? `[${key}]` : /^[A-Za-z_$][\w$]*$/.test(key) ? `.${key}` : `[${JSON.stringify(key)}]`

const refuse = (place: Place, found: string): E.Either<NotJson, never> =>
  E.left({ _tag: 'NotJson', path: pathOf(place), found })

const copy = (value: unknown, place: Place, depth: number): E.Either<NotJson, Json> => {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return E.right(value)
    case 'number':
      return Number.isFinite(value) ? E.right(value === 0 ? 0 : value) : refuse(place, String(value))
    case 'object':
      return value === null ? E.right(null) : copyObject(value, { ...place, value }, depth)
    case 'undefined':
      return refuse(place, 'undefined')
    case 'bigint':
    case 'function':
    case 'symbol':
      return refuse(place, `a ${typeof value}`)
  }
}

/** Getters and proxies run foreign code, which may throw. */
const copyObject = (value: object, place: Place, depth: number): E.Either<NotJson, Json> => {
  try {
    return copyReadable(value, place, depth)
  } catch {
    return refuse(place, 'an object whose properties throw')
  }
}

const copyReadable = (value: object, place: Place, depth: number): E.Either<NotJson, Json> => {
  if (depth >= MAX_DEPTH) return refuse(place, `nesting deeper than ${MAX_DEPTH} levels`)
  for (let at = place.parent; at !== undefined; at = at.parent) if (at.value === value) return refuse(place, 'a cycle')
  if (Array.isArray(value)) return copyArray(value, place, depth)
  const prototype: unknown = Object.getPrototypeOf(value)
  if (!isPlainPrototype(prototype)) return refuse(place, withArticle(nameOf(prototype)))
  const out: Record<string, Json> = {}
  for (const key of Object.keys(value)) {
    const at: Place = { key, parent: place }
    const field = read(value, key)
    if (E.isLeft(field)) return refuse(at, 'a property that throws when read')
    if (field.right === undefined) continue
    const copied = copy(field.right, at, depth + 1)
    if (E.isLeft(copied)) return copied
    setOwn(out, key, copied.right)
  }
  return E.right(out)
}

const read = (value: object, key: string): E.Either<unknown, unknown> =>
  E.tryCatch(
    () => (value as Record<string, unknown>)[key],
    (error) => error
  )

/** An array with properties, or of another class, would be restored as a plain array. */
const copyArray = (value: ReadonlyArray<unknown>, place: Place, depth: number): E.Either<NotJson, Json> => {
  const prototype: unknown = Object.getPrototypeOf(value)
  if (!isListPrototype(prototype)) return refuse(place, withArticle(nameOf(prototype)))
  if (Object.keys(value).length > value.length) return refuse(place, 'an array with properties')
  const out: Array<Json> = []
  for (let key = 0; key < value.length; key++) {
    const copied = copy(value[key], { key, parent: place }, depth + 1)
    if (E.isLeft(copied)) return copied
    out.push(copied.right)
  }
  return E.right(out)
}

/** Detects `Object.prototype` of this or another realm (such as a `vm` context), or null. */
const isPlainPrototype = (prototype: unknown): boolean =>
  prototype === null ||
  prototype === Object.prototype ||
  (typeof prototype === 'object' &&
    Object.getPrototypeOf(prototype) === null &&
    Object.hasOwn(prototype, 'hasOwnProperty'))

/** Detects `Array.prototype` of this or another realm. */
const isListPrototype = (prototype: unknown): boolean =>
  prototype === Array.prototype || (Array.isArray(prototype) && Object.hasOwn(prototype, 'concat'))

const nameOf = (prototype: unknown): string => {
  const name: unknown = (prototype as { readonly constructor?: { readonly name?: unknown } }).constructor?.name
  return typeof name === 'string' && name !== '' ? name : 'class instance'
}

/** Assigning `__proto__` would set the prototype. */
const setOwn = (target: Record<string, Json>, key: string, value: Json): void => {
  if (key === '__proto__')
    Object.defineProperty(target, key, { value, enumerable: true, configurable: true, writable: true })
  else target[key] = value
}

/** Returns the value of a JSON text, or undefined if the text is not JSON. */
export const parsed = (text: string): Json | undefined => {
  try {
    return JSON.parse(text) as Json
  } catch {
    return undefined
  }
}

// --- destructors

/**
 * Returns the canonical string for a JSON value: keys sorted by UTF-16 code unit, no whitespace (after RFC 8785). Equal values have equal
 * strings.
 *
 * @example
 * import { Json } from 'dogear'
 * import assert from 'node:assert/strict'
 *
 * assert.equal(Json.canonical({ b: [1, 'x'], a: null }), '{"a":null,"b":[1,"x"]}')
 *
 * @category destructors
 */
export const canonical = (value: Json): string => {
  if (typeof value === 'string') return quoted(value)
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  let text = ''
  if (isArray(value)) {
    if (value.every((item) => typeof item === 'string')) return JSON.stringify(value)
    for (const item of value) text += `${text === '' ? '[' : ','}${canonical(item)}`
    return text === '' ? '[]' : `${text}]`
  }
  for (const key of Object.keys(value).sort())
    text += `${text === '' ? '{' : ','}${quoted(key)}:${canonical(value[key] as Json)}`
  return text === '' ? '{}' : `${text}}`
}

/** Most strings need no escape, and testing for that is faster than `JSON.stringify`. */
const quoted = (text: string): string => (PLAIN.test(text) ? `"${text}"` : JSON.stringify(text))

const PLAIN = /^[ !#-[\]-~]*$/

/**
 * Returns whether two JSON values are equal; key order does not matter.
 *
 * @example
 * import { Json } from 'dogear'
 * import assert from 'node:assert/strict'
 *
 * assert.equal(Json.equals({ a: 1, b: 2 }, { b: 2, a: 1 }), true)
 *
 * @category instances
 */
export const equals = (a: Json, b: Json): boolean => same(a, b, 0)

/** Values deeper than {@link MAX_DEPTH} equal only themselves. */
const same = (a: Json, b: Json, depth: number): boolean => {
  if (a === b) return true
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null || depth >= MAX_DEPTH) return false
  if (isArray(a) || isArray(b)) {
    return (
      isArray(a) && isArray(b) && a.length === b.length && a.every((item, at) => same(item, b[at] as Json, depth + 1))
    )
  }
  const keys = Object.keys(a)
  if (keys.length !== Object.keys(b).length) return false
  for (const key of keys) if (!Object.hasOwn(b, key) || !same(a[key] as Json, b[key] as Json, depth + 1)) return false
  return true
}

// --- refinements

/** `Array.isArray` does not narrow readonly arrays. */
const isArray = (value: Json): value is JsonArray => Array.isArray(value)

/** Detects a JSON object: neither null nor an array. */
export const isObject = (value: Json): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
