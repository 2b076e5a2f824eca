/** What a run keeps of an error: plain data, bounded, whatever was thrown. */
import * as E from 'fp-ts/lib/Either.js'
import type { Json } from './Json.js'
import { fromUnknown as jsonFromUnknown } from './Json.js'

/**
 * A stored error: at most 65,536 bytes of JSON in all. `code` is the machine-readable kind (`ECONNRESET`, `503`), `data` whatever else the
 * error carried as JSON.
 */
export interface StepError {
  readonly name: string
  readonly message: string
  readonly code?: string
  readonly stack?: string
  readonly data?: Json
}

/** The bound on a stored error, in UTF-8 bytes of its JSON: 64 KiB. */
export const MAX_BYTES = 65_536

const MAX_NAME = 512
const MAX_MESSAGE = 20_000
const MAX_STACK = 20_000
const MAX_DATA = 20_000
const MAX_NOTE = 40
const WIDEST = 6

/**
 * Makes a stored error, cutting what is too long.
 *
 * @example
 * import { StepError } from 'dogear'
 * import assert from 'node:assert/strict'
 *
 * assert.deepEqual(StepError.make('HttpError', 'Service Unavailable', { code: '503' }), {
 *   name: 'HttpError',
 *   message: 'Service Unavailable',
 *   code: '503'
 * })
 *
 * @category constructors
 */
export const make = (
  name: string,
  message: string,
  details: { readonly code?: string; readonly stack?: string; readonly data?: Json } = {}
): StepError => ({
  name: cut(name, MAX_NAME),
  message: cut(message, MAX_MESSAGE),
  ...(details.code === undefined ? {} : { code: cut(details.code, MAX_NAME) }),
  ...(details.stack === undefined ? {} : { stack: cut(details.stack, MAX_STACK) }),
  ...(details.data === undefined || !fits(JSON.stringify(details.data), MAX_DATA) ? {} : { data: details.data })
})

/**
 * Reads whatever was thrown or rejected with, and what its causes say. Never throws itself, even on objects whose
 * properties do.
 *
 * @example
 * import { StepError } from 'dogear'
 * import assert from 'node:assert/strict'
 *
 * const cause = Object.assign(new Error('socket hang up'), { code: 'ECONNRESET' })
 * const error = StepError.fromUnknown(new TypeError('fetch failed', { cause }))
 * assert.equal(error.message, 'fetch failed: socket hang up')
 * assert.equal(error.code, 'ECONNRESET')
 * assert.equal(StepError.fromUnknown('no').message, 'no')
 *
 * @category constructors
 */
export const fromUnknown = (thrown: unknown): StepError => {
  if (typeof thrown === 'string') return make('Error', thrown)
  if (typeof thrown !== 'object' || thrown === null) return make('Error', attempt(() => String(thrown)) ?? 'unknown')
  const name = text(thrown, 'name') ?? text(thrown, '_tag') ?? 'Error'
  const stack = text(thrown, 'stack')
  const json = attempt(() => jsonFromUnknown({ ...thrown }))
  const data =
    json !== undefined && E.isRight(json) && Object.keys(json.right as object).length > 0 ? json.right : undefined
  const [code] = signs(thrown).flatMap(({ code, status }) => code ?? status ?? [])
  return make(name, messageOf(thrown) ?? attempt(() => JSON.stringify(thrown)) ?? name, {
    ...(code === undefined ? {} : { code }),
    ...(stack === undefined ? {} : { stack }),
    ...(data === undefined ? {} : { data })
  })
}

/** How many causes behind one another are looked at, and how many errors beside one another. */
const MAX_CAUSES = 8

/** A message, and behind it those of the causes that it does not repeat. */
const messageOf = (thrown: object): string | undefined => {
  const [first, ...more] = chain(thrown).flatMap((error) => [text(error, 'message') ?? [], ...besides(error)].flat())
  return first === undefined
    ? undefined
    : more.reduce((said, next) => (next === '' || said.includes(next) ? said : `${said}: ${next}`), first)
}

/** The messages of an `AggregateError`'s errors. */
const besides = (error: object): ReadonlyArray<string> => {
  const errors = attempt(() => (error as { readonly errors?: unknown }).errors)
  return Array.isArray(errors)
    ? errors.slice(0, MAX_CAUSES).flatMap((one) => text(Object(one) as object, 'message') ?? [])
    : []
}

/** An error and its causes, outermost first. */
const chain = (thrown: unknown): ReadonlyArray<object> => {
  const found: Array<object> = []
  let at = thrown
  while (found.length < MAX_CAUSES && typeof at === 'object' && at !== null) {
    const from: object = at
    found.push(from)
    at = attempt(() => (from as { readonly cause?: unknown }).cause)
  }
  return found
}

/** By what an error may be told: its HTTP `status`, its `code`, and the `names` of its kind. */
export interface Signs {
  readonly status: string | undefined
  readonly code: string | undefined
  readonly names: ReadonlyArray<string>
}

/** The signs of an error and of its causes, outermost first: `status` or `statusCode`; `code`; `name` and `type`. */
export const signs = (thrown: unknown): ReadonlyArray<Signs> =>
  chain(thrown).map((error) => ({
    status: text(error, 'status') ?? text(error, 'statusCode'),
    // The number of a DOMException says nothing that its name does not, and means something else to most readers.
    code: attempt(() => error instanceof DOMException) === true ? undefined : text(error, 'code'),
    names: ['name', 'type'].flatMap((key) => text(error, key) ?? [])
  }))

/** A property as text, if it is text or a number. */
const text = (from: object, key: string): string | undefined => {
  const value = attempt(() => (from as Record<string, unknown>)[key])
  return typeof value === 'string' ? value : typeof value === 'number' ? String(value) : undefined
}

const attempt = <A>(read: () => A): A | undefined => {
  try {
    return read()
  } catch {
    return undefined
  }
}

/** The longest beginning that takes at most so many bytes as JSON, with a note of how long the whole was. */
const cut = (value: string, bytes: number): string => {
  if (fits(value, bytes)) return value
  const note = `… (${value.length} characters)`
  return `${value.slice(0, unitsWithin(value, bytes - MAX_NOTE))}${note}`
}

const fits = (value: string, bytes: number): boolean =>
  value.length * WIDEST <= bytes || unitsWithin(value, bytes) === value.length

/** How many UTF-16 units of a text fit into so many bytes of JSON; a pair of units is not parted. */
const unitsWithin = (value: string, bytes: number): number => {
  let left = bytes
  for (let at = 0; at < value.length; at++) {
    left -= widthOf(value.charCodeAt(at))
    if (left < 0) return isHighSurrogate(value.charCodeAt(at - 1)) ? at - 1 : at
  }
  return value.length
}

/** The bytes that a UTF-16 unit takes in JSON text, at most: escaped, or in UTF-8. */
const widthOf = (unit: number): number => {
  if (unit < 0x20 || (unit >= 0xd800 && unit < 0xe000)) return WIDEST
  if (unit < 0x80) return unit === 0x22 || unit === 0x5c ? 2 : 1
  return unit < 0x800 ? 2 : 3
}

const isHighSurrogate = (unit: number): boolean => unit >= 0xd800 && unit < 0xdc00

/** The error without its stack and data, for the list of attempts: the newest attempt's error is kept whole beside it. */
export const brief = (self: StepError): StepError =>
  make(self.name, self.message.slice(0, 1024), self.code === undefined ? {} : { code: self.code })
