/** Encodes values up to a limit, and finds what makes one large. */
import * as E from 'fp-ts/lib/Either.js'
import type { Json } from './Json.js'
import { isObject, segment } from './Json.js'

/** The path of a value (`$.variables.report`), and its approximate bytes as JSON. */
export interface Sized {
  readonly path: string
  readonly bytes: number
}

/** A linked position, so that paths are built only for the values that are reported. */
interface Place {
  readonly parent: Place | undefined
  readonly key: string | number
}

interface Found {
  readonly place: Place
  readonly bytes: number
}

const MAX_REPORTED = 5

/** The approximate bytes of a value as JSON: escapes do not count, and a character of a key counts as one byte. */
export const bytesOf = (value: Json): number => measure(value, undefined, '$', 0, undefined)

/** The largest values inside a value, largest first. A container whose size comes mostly from one item is left out in favour of that item. */
export const biggest = (value: Json): ReadonlyArray<Sized> => {
  const found: Array<Found> = []
  measure(value, undefined, '$', 0, found)
  return found.map(({ place, bytes }) => ({ path: pathOf(place), bytes }))
}

/** A string and its UTF-8 bytes. */
export interface Measured {
  readonly text: string
  readonly bytes: number
}

export const measured = (text: string): Measured => ({ text, bytes: Buffer.byteLength(text) })

/** A value that is not encoded: it is too large, or `JSON.stringify` threw. */
export type NotEncoded =
  | { readonly _tag: 'TooLarge'; readonly bytes: number; readonly biggest: ReadonlyArray<Sized> }
  | { readonly _tag: 'NotJson'; readonly cause: unknown }

/** Encodes a value as JSON of at most `mostBytes`. */
export const encodeWithin = (value: Json, mostBytes: number): E.Either<NotEncoded, Measured> => {
  const tooLarge = (bytes: number): NotEncoded => ({ _tag: 'TooLarge', bytes, biggest: biggest(value) })
  try {
    const encoded = measured(JSON.stringify(value))
    return encoded.bytes > mostBytes ? E.left(tooLarge(encoded.bytes)) : E.right(encoded)
  } catch (cause) {
    const isTooLong = cause instanceof RangeError && cause.message === 'Invalid string length'
    return E.left(isTooLong ? tooLarge(bytesOf(value)) : { _tag: 'NotJson', cause })
  }
}

/**
 * Returns the bytes of a value, and adds its largest parts to `found`, if given. One pass that allocates only for candidates, because there
 * may be millions of values.
 */
const measure = (
  value: Json,
  parent: Place | undefined,
  key: string | number,
  depth: number,
  found: Array<Found> | undefined
): number => {
  if (typeof value !== 'object' || value === null) {
    const bytes = typeof value === 'string' ? Buffer.byteLength(value) + 2 : String(value).length
    if (found !== undefined && isAmong(found, bytes)) insert(found, { place: { parent, key }, bytes })
    return bytes
  }
  const place = { parent, key }
  const inside: Array<Found> | undefined = found === undefined ? undefined : []
  let bytes = 2
  let largest = 0
  const add = (item: Json, key: string | number, syntaxBytes: number): void => {
    const size = measure(item, place, key, depth + 1, inside)
    bytes += size + syntaxBytes
    largest = Math.max(largest, size)
  }
  if (isObject(value)) for (const key of Object.keys(value)) add(value[key] as Json, key, key.length + 4)
  else for (let index = 0; index < value.length; index++) add(value[index] as Json, index, 1)
  if (found === undefined || inside === undefined) return bytes
  // The outermost containers explain nothing, and neither do those that consist mostly of one item.
  const isDivided = depth < 2 ? inside.length > 0 : largest > bytes / 2
  for (const one of isDivided ? inside : [{ place, bytes }]) if (isAmong(found, one.bytes)) insert(found, one)
  return bytes
}

const isAmong = (found: ReadonlyArray<Found>, bytes: number): boolean =>
  found.length < MAX_REPORTED || bytes > (found[MAX_REPORTED - 1] as Found).bytes

const insert = (found: Array<Found>, one: Found): void => {
  const before = found.findIndex(({ bytes }) => bytes < one.bytes)
  found.splice(before === -1 ? found.length : before, 0, one)
  found.length = Math.min(found.length, MAX_REPORTED)
}

const pathOf = ({ parent, key }: Place): string =>
  parent === undefined ? String(key) : `${pathOf(parent)}${segment(key)}`
