/**
 * The basic io-ts codecs. `is` is an order of magnitude faster than `validate`, so `validate` only runs to explain a failure. Decoding
 * copies nothing.
 */
import * as t from 'io-ts'
import * as E from 'fp-ts/lib/Either.js'
import type { Json, JsonObject } from './Json.js'
import { segment } from './Json.js'
import type { Malformed } from './Malformed.js'

/** Makes a codec that calls `validate` only if `is` fails. */
export const checked = <A>(codec: t.Type<A>): t.Type<A> =>
  new t.Type<A>(
    codec.name,
    codec.is,
    (value, context) => (codec.is(value) ? t.success(value) : codec.validate(value, context)),
    t.identity
  )

/** Decodes a value, or returns the first error. */
export const decodeWith =
  <A>(codec: t.Type<A>) =>
  (value: unknown): E.Either<Malformed, A> => {
    if (codec.is(value)) return E.right(value)
    const decoded = codec.decode(value)
    return E.isRight(decoded) ? decoded : E.left(malformed(decoded.left))
  }

const malformed = (errors: t.Errors): Malformed => {
  const context = errors[0]?.context ?? []
  const keys = context.slice(1).flatMap(({ key }) => (key === '' ? [] : /^\d+$/.test(key) ? Number(key) : key))
  const last = context.at(-1)
  const expected = last?.type.name ?? 'something else'
  return { _tag: 'Malformed', path: `$${keys.map(segment).join('')}`, expected: expected.slice(0, 200) }
}

/** A field that may be absent. */
export interface Optional<A> {
  readonly optional: t.Type<A>
}

/** A codec for each field of an interface; a field is optional exactly if the interface says so. */
export type Spec<A> = {
  readonly [K in keyof A]-?: object extends Pick<A, K> ? Optional<Exclude<A[K], undefined>> : t.Type<A[K]>
}

/** Marks a field as optional. */
export const optional = <A>(codec: t.Type<A>): Optional<A> => ({ optional: codec })

/** An object with these fields. Unknown fields are ignored: the format number protects against newer writers. */
export const fields = <A>(name: string, spec: Spec<A>): t.Type<A> => {
  const entries = Object.entries(spec as Record<string, t.Type<unknown> | Optional<unknown>>).map(([key, field]) => {
    const isRequired = !('optional' in field)
    const codec = isRequired ? field : field.optional
    return { key, codec, isValid: codec.is, isRequired }
  })
  const is = (value: unknown): value is A => {
    if (!isRecord(value)) return false
    // A loop by index: `for … of` takes longer until it is compiled, and this decodes all that a fresh process reads.
    for (let at = 0; at < entries.length; at++) {
      const { key, isValid, isRequired } = entries[at] as (typeof entries)[number]
      const field = value[key]
      if (field === undefined ? isRequired : !isValid(field)) return false
    }
    return true
  }
  return new t.Type<A>(
    name,
    is,
    (value, context) => {
      if (!isRecord(value)) return t.failure(value, context)
      for (const { key, codec, isRequired } of entries) {
        const field = value[key]
        if (field === undefined && !isRequired) continue
        const found = codec.validate(field, t.appendContext(context, key, codec, field))
        if (E.isLeft(found)) return found
      }
      return t.success(value as A)
    },
    t.identity
  )
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Makes a codec from a predicate; values are not copied. */
const refined = <A>(name: string, is: (value: unknown) => boolean): t.Type<A> => {
  const isA = is as (value: unknown) => value is A
  return new t.Type<A>(
    name,
    isA,
    (value, context) => (isA(value) ? t.success(value) : t.failure(value, context)),
    t.identity
  )
}

/** A whole number from 0 to `Number.MAX_SAFE_INTEGER`. */
export const natural: t.Type<number> = refined(
  'a whole number ≥ 0',
  (value) => Number.isSafeInteger(value) && (value as number) >= 0
)

/** A finite number of milliseconds, 0 or more. */
export const millis: t.Type<number> = refined(
  'milliseconds ≥ 0',
  (value) => Number.isFinite(value) && (value as number) >= 0
)

/** A string that satisfies a predicate. */
export const matching = (name: string, is: (text: string) => boolean): t.Type<string> =>
  refined(name, (value) => typeof value === 'string' && is(value))

const TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/

/** A UTC time, ISO 8601 with milliseconds: `2026-01-02T03:04:05.678Z`. */
export const time: t.Type<string> = refined(
  'a UTC time like 2026-01-02T03:04:05.678Z',
  (value) => typeof value === 'string' && TIME.test(value)
)

/** Any JSON value: input was parsed from JSON text, so only a missing field is invalid. */
export const json: t.Type<Json> = refined('a JSON value', (value) => value !== undefined)

/** A JSON object. */
export const jsonObject: t.Type<JsonObject> = refined('a JSON object', isRecord)

/** An array. */
export const list = <A>(item: t.Type<A>): t.Type<ReadonlyArray<A>> =>
  checked(t.readonlyArray(item, `an array, each element ${item.name}`))

/** A value of a codec that also satisfies a predicate; `requirement`: the predicate in words, for messages. */
export const suchThat = <A>(requirement: string, codec: t.Type<A>, holds: (value: A) => boolean): t.Type<A> =>
  new t.Type<A>(
    `${codec.name}, ${requirement}`,
    (value): value is A => codec.is(value) && holds(value),
    (value, context) => {
      const found = codec.validate(value, context)
      return E.isRight(found) && !holds(found.right) ? t.failure(value, context) : found
    },
    t.identity
  )

/** An array that is omitted if it is empty, so that each value has one form. */
export const nonEmpty = <A>(item: t.Type<A>): t.Type<ReadonlyArray<A>> =>
  suchThat('omitted if empty', list(item), ({ length }) => length > 0)

/** A string, or a value of a codec. */
export const textOr = <A>(codec: t.Type<A>): t.Type<string | A> =>
  new t.Type<string | A>(
    codec.name,
    (value): value is string | A => typeof value === 'string' || codec.is(value),
    (value, context) => (typeof value === 'string' ? t.success(value) : codec.validate(value, context)),
    t.identity
  )

/** One of some strings. */
export const oneOf = <A extends string>(...texts: ReadonlyArray<A>): t.Type<A> =>
  refined(texts.join(' | '), (value) => (texts as ReadonlyArray<unknown>).includes(value))

/** A union of objects. `members`: the fields of each beside `field`, by the value of `field`. Errors come from the member with that value. */
export const tagged = <A, F extends keyof A & string>(
  name: string,
  field: F,
  members: { readonly [Tag in A[F] & string]: Spec<Omit<Extract<A, Readonly<Record<F, Tag>>>, F>> }
): t.Type<A> => {
  const byTag = new Map<unknown, t.Type<A>>(
    Object.entries(members).map(([tag, spec]) => [tag, fields<A>(tag, spec as Spec<A>)])
  )
  const memberOf = (value: unknown): t.Type<A> | undefined => (isRecord(value) ? byTag.get(value[field]) : undefined)
  return new t.Type<A>(
    `${name}: ${Object.keys(members).join(' | ')}`,
    (value): value is A => memberOf(value)?.is(value) ?? false,
    (value, context) => memberOf(value)?.validate(value, context) ?? t.failure(value, context),
    t.identity
  )
}
