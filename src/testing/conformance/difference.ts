/** Describes the first difference of two values. A full diff of two values of 10 MB takes minutes. */
import { strict as assert } from 'node:assert'

/** Asserts that two values are the same JSON, regardless of prototypes and key order. */
export const assertSame = (found: unknown, expected: unknown, what: string): void => {
  const difference = differenceOf(found, expected, '')
  if (difference !== undefined) assert.fail(`${what}: ${difference}`)
}

export const assertAtLeast = (found: number, least: number, what: string, words: string): void =>
  assert.ok(found >= least, `${what}: expected at least ${least}${words}, found ${found}`)

const differenceOf = (found: unknown, expected: unknown, path: string): string | undefined => {
  if (found === expected) return undefined
  const at = path === '' ? '' : `at ${path}: `
  if (Array.isArray(expected) && Array.isArray(found)) {
    const shared = Math.min(found.length, expected.length)
    for (let n = 0; n < shared; n++) {
      const difference = differenceOf(found[n], expected[n], `${path}[${n}]`)
      if (difference !== undefined) return difference
    }
    return found.length === expected.length
      ? undefined
      : `${at}expected ${expected.length} elements, found ${found.length}: expected ${inWords(expected)}, found ${inWords(found)}`
  }
  if (isPlain(expected) && isPlain(found) && valueOf(expected, '_tag') === valueOf(found, '_tag')) {
    for (const key of new Set([...Object.keys(expected), ...Object.keys(found)])) {
      const difference = differenceOf(valueOf(found, key), valueOf(expected, key), `${path}${keyed(key)}`)
      if (difference !== undefined) return difference
    }
    return undefined
  }
  return `${at}${pair(found, expected)}`
}

/** Accepts objects of any realm. */
const isPlain = (value: unknown): value is object => {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === null || prototype === Object.prototype
}

const valueOf = (value: object, key: string): unknown => Object.getOwnPropertyDescriptor(value, key)?.value

const keyed = (key: string): string => (/^[A-Za-z_]\w*$/.test(key) ? `.${key}` : `[${JSON.stringify(key)}]`)

/** Long strings are shown from their first difference. */
const pair = (found: unknown, expected: unknown): string => {
  if (typeof found !== 'string' || typeof expected !== 'string' || expected.length < 100)
    return `expected ${inWords(expected)}, found ${inWords(found)}`
  let same = 0
  while (same < found.length && found[same] === expected[same]) same += 1
  const rest = (string: string): string => inWords(string.slice(same, same + 20))
  return `expected a string of ${expected.length} characters, found one of ${found.length}; from character ${same}: expected ${rest(expected)}, found ${rest(found)}`
}

export const inWords = (value: unknown): string => {
  try {
    const isText = typeof value === 'string'
    const text = JSON.stringify(isText ? value.slice(0, 400) : value, replaced) ?? String(value)
    const named = value instanceof Error ? String(value) : value instanceof Date ? `Date ${String(value)}` : text
    return named.length > 300 ? `${named.slice(0, 300)}…` : named
  } catch {
    return String(value)
  }
}

/** A replacer for `JSON.stringify` that keeps numbers and errors that JSON cannot represent. */
const replaced = (_: string, value: unknown): unknown => {
  if (typeof value === 'bigint') return `${value}n`
  if (typeof value === 'number' && !Number.isFinite(value)) return String(value)
  return value instanceof Error ? String(value) : value
}

const messageOf = (error: unknown): string => {
  if (error instanceof assert.AssertionError) return error.message
  return error instanceof Error ? (error.stack ?? error.message) : `it rejected with ${inWords(error)}`
}

export const reasonOf = (error: unknown): string => {
  const reason = messageOf(error)
  return reason.length > 4_000 ? `${reason.slice(0, 4_000)}…` : reason
}
