/**
 * Which values make a checkpoint big.
 *
 * @since 0.1.0
 */
import type { Json } from '../../domain/Json.js'
import { isObject } from '../../domain/Json.js'

/**
 * A value, by its path (`$.variables.report`), and how long its JSON text is.
 *
 * @category model
 * @since 0.1.0
 */
export interface Sized {
  readonly path: string
  readonly bytes: number
}

interface Part extends Sized {
  readonly value: Json
}

const NAMED = 5

/**
 * How many bytes the JSON text of a value has; escapes aside.
 *
 * @category destructors
 * @since 0.1.0
 */
export const bytesOf = (value: Json): number => {
  if (typeof value === 'string') return Buffer.byteLength(value) + 2
  if (typeof value !== 'object' || value === null) return String(value).length
  if (!isObject(value)) return value.reduce<number>((sum, item) => sum + bytesOf(item) + 1, 2)
  return Object.keys(value).reduce((sum, key) => sum + key.length + 4 + bytesOf(value[key] as Json), 2)
}

/**
 * The biggest values in a value, biggest first. What is big only because of one thing in it is left out for that thing.
 *
 * @category destructors
 * @since 0.1.0
 */
export const biggest = (value: Json): ReadonlyArray<Sized> => {
  let parts: ReadonlyArray<Part> = [{ path: '$', bytes: bytesOf(value), value }]
  for (;;) {
    const open = parts.find(isDivisible)
    if (open === undefined) break
    parts = [...parts.filter((part) => part !== open), ...partsOf(open)].sort(bySize).slice(0, 4 * NAMED)
  }
  return parts.slice(0, NAMED).map(({ path, bytes }) => ({ path, bytes }))
}

const bySize = (a: Sized, b: Sized): number => b.bytes - a.bytes

/** The containers at the top say nothing, and neither do those with one thing in them that is most of it. */
const isDivisible = (part: Part): boolean => {
  const depth = part.path.split(/[.[]/).length - 1
  return depth < 2 ? partsOf(part).length > 0 : (partsOf(part)[0]?.bytes ?? 0) > part.bytes / 2
}

const partsOf = ({ path, value }: Part): ReadonlyArray<Part> => {
  if (typeof value !== 'object' || value === null) return []
  const parts = isObject(value)
    ? Object.keys(value).map((key) => part(`${path}.${key}`, value[key] as Json))
    : value.map((item, index) => part(`${path}[${index}]`, item))
  return parts.sort(bySize)
}

const part = (path: string, value: Json): Part => ({ path, bytes: bytesOf(value), value })
