/**
 * Plain JSON values: the only data that a run keeps.
 *
 * The gate {@link fromUnknown} stands before everything that is written, so that what a step gets after a resume is
 * what it would have got in an undisturbed run.
 *
 * @module
 */
import * as E from 'fp-ts/lib/Either.js'

// --- model

/** A value that survives `JSON.parse(JSON.stringify(value))` unchanged. */
export type Json = null | boolean | number | string | JsonArray | JsonObject

/** A list of JSON values. */
export type JsonArray = ReadonlyArray<Json>

/** JSON values by key. */
export interface JsonObject {
  readonly [key: string]: Json
}

/**
 * A value that JSON cannot hold: `path` says where (`$.items[3].when`), `found` what stands there (`a Date`).
 *
 * @category model
 */
export interface NotJson {
  readonly _tag: 'NotJson'
  readonly path: string
  readonly found: string
}

/** How deep a value may nest. Engines' own JSON routines recurse; past some thousand levels they overflow. */
export const MAX_DEPTH = 500

// --- constructors

/**
 * Copies a value into plain JSON, or says what in it is not JSON and where.
 *
 * Properties that are `undefined` are dropped and `-0` becomes `0`, as `JSON.stringify` does. Everything else that
 * would change silently (`NaN`, `Date`, `Map`, class instances, lists with properties, `undefined` in a list, cycles, nesting over
 * {@link MAX_DEPTH}, properties that throw when they are read) is refused. The result is a copy: later changes of the
 * argument don't reach it.
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

/** Where the walk stands, as a list from the inside out: the path is only spelt when something is wrong. */
interface Place {
  readonly key: string | number
  readonly value?: unknown
  readonly parent: Place | undefined
}

const spell = (place: Place): string => {
  const parts: Array<string> = []
  for (let at: Place | undefined = place; at?.parent !== undefined; at = at.parent) parts.push(segment(at.key))
  return `$${parts.reverse().join('')}`
}

/** One step of a path: `.name`, `["odd name"]` or `[3]`. */
const segment = (key: string | number): string =>
  typeof key === 'number' ? `[${key}]` : /^[A-Za-z_$][\w$]*$/.test(key) ? `.${key}` : `[${JSON.stringify(key)}]`

const refuse = (place: Place, found: string): E.Either<NotJson, never> =>
  E.left({ _tag: 'NotJson', path: spell(place), found })

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

/** Getters and proxies run code of others, which may throw. */
const copyObject = (value: object, place: Place, depth: number): E.Either<NotJson, Json> => {
  try {
    return copyReadable(value, place, depth)
  } catch {
    return refuse(place, 'an object that throws when it is looked at')
  }
}

const copyReadable = (value: object, place: Place, depth: number): E.Either<NotJson, Json> => {
  if (depth >= MAX_DEPTH) return refuse(place, `nesting deeper than ${MAX_DEPTH} levels`)
  for (let at = place.parent; at !== undefined; at = at.parent) if (at.value === value) return refuse(place, 'a cycle')
  if (Array.isArray(value)) return copyArray(value, place, depth)
  const prototype: unknown = Object.getPrototypeOf(value)
  if (!isPlainPrototype(prototype)) return refuse(place, `a ${nameOf(prototype)}`)
  const out: Record<string, Json> = {}
  for (const key of Object.keys(value)) {
    const at: Place = { key, parent: place }
    const field = read(value, key)
    if (E.isLeft(field)) return refuse(at, 'a property that throws when it is read')
    if (field.right === undefined) continue
    const copied = copy(field.right, at, depth + 1)
    if (E.isLeft(copied)) return copied
    put(out, key, copied.right)
  }
  return E.right(out)
}

const read = (value: object, key: string): E.Either<unknown, unknown> =>
  E.tryCatch(
    () => (value as Record<string, unknown>)[key],
    (error) => error
  )

/** A list with properties of its own (what `match` gives), or of another class, would come back as a mere list. */
const copyArray = (value: ReadonlyArray<unknown>, place: Place, depth: number): E.Either<NotJson, Json> => {
  const prototype: unknown = Object.getPrototypeOf(value)
  if (!isListPrototype(prototype)) return refuse(place, `a ${nameOf(prototype)}`)
  if (Object.keys(value).length > value.length) return refuse(place, 'a list with properties')
  const out: Array<Json> = []
  for (let key = 0; key < value.length; key++) {
    const copied = copy(value[key], { key, parent: place }, depth + 1)
    if (E.isLeft(copied)) return copied
    out.push(copied.right)
  }
  return E.right(out)
}

/** `Object.prototype` of this realm or of another (a worker's `vm` context), or none. */
const isPlainPrototype = (prototype: unknown): boolean =>
  prototype === null ||
  prototype === Object.prototype ||
  (typeof prototype === 'object' &&
    Object.getPrototypeOf(prototype) === null &&
    Object.hasOwn(prototype, 'hasOwnProperty'))

/** `Array.prototype` of this realm or of another. */
const isListPrototype = (prototype: unknown): boolean =>
  prototype === Array.prototype || (Array.isArray(prototype) && Object.hasOwn(prototype, 'concat'))

const nameOf = (prototype: unknown): string => {
  const name: unknown = (prototype as { readonly constructor?: { readonly name?: unknown } }).constructor?.name
  return typeof name === 'string' && name !== '' ? name : 'class instance'
}

/** Plain assignment to `__proto__` would set the prototype; everything else takes the quick way. */
const put = (target: Record<string, Json>, key: string, value: Json): void => {
  if (key === '__proto__')
    Object.defineProperty(target, key, { value, enumerable: true, configurable: true, writable: true })
  else target[key] = value
}

// --- destructors

/**
 * The one text for a JSON value: keys sorted by UTF-16 code unit, no blanks (after RFC 8785). Equal values have equal
 * texts, whatever the order of their keys.
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
  if (isArray(value)) return `[${value.map(canonical).join(',')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const fields = Object.keys(value)
    .sort()
    .map((key) => `${JSON.stringify(key)}:${canonical(value[key] as Json)}`)
  return `{${fields.join(',')}}`
}

/**
 * Whether two JSON values are the same, whatever the order of their keys.
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

/** What nests deeper than {@link MAX_DEPTH} did not come through the gate: it equals nothing but itself. */
const same = (a: Json, b: Json, depth: number): boolean => {
  if (a === b) return true
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null || depth >= MAX_DEPTH) return false
  if (isArray(a) || isArray(b)) {
    return (
      isArray(a) && isArray(b) && a.length === b.length && a.every((item, at) => same(item, b[at] as Json, depth + 1))
    )
  }
  const keys = Object.keys(a)
  return (
    keys.length === Object.keys(b).length &&
    keys.every((key) => Object.hasOwn(b, key) && same(a[key] as Json, b[key] as Json, depth + 1))
  )
}

// --- refinements

/** `Array.isArray` does not narrow readonly arrays. */
const isArray = (value: Json): value is JsonArray => Array.isArray(value)

/** Whether a JSON value is an object: neither null nor a list. */
export const isObject = (value: Json): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
