/** The stored form of an error: plain data, bounded. */
import * as E from 'fp-ts/lib/Either.js'
import { noteOf } from './Cut.js'
import { defined } from './defined.js'
import type { Json } from './Json.js'
import { fromUnknown as jsonFromUnknown } from './Json.js'

/**
 * A stored error: at most 65,536 bytes of JSON in all. `code` is machine-readable (`ECONNRESET`, `503`); `data` holds the other properties
 * of the error that are JSON.
 */
export interface StepError {
  readonly name: string
  readonly message: string
  readonly code?: string
  readonly stack?: string
  readonly data?: Json
}

/** The maximum size of a stored error, in UTF-8 bytes of its JSON. */
export const MAX_BYTES = 65_536

const MAX_NAME = 512
const MAX_MESSAGE = 20_000
const MAX_STACK = 20_000
const MAX_DATA = 20_000
const MAX_NOTE = 40
/** As `\uXXXX`. */
const MAX_UNIT_BYTES = 6

/**
 * Makes a stored error. Strings that are too long are cut; `data` that is too large is omitted.
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
  name: cutBytes(name, MAX_NAME),
  message: cutBytes(message, MAX_MESSAGE),
  ...(details.code === undefined ? {} : { code: cutBytes(details.code, MAX_NAME) }),
  ...(details.stack === undefined ? {} : { stack: cutBytes(details.stack, MAX_STACK) }),
  ...(details.data === undefined || !fits(JSON.stringify(details.data), MAX_DATA) ? {} : { data: details.data })
})

/**
 * Makes a stored error from any thrown or rejected value, including the messages of its causes. Never throws.
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
  if (typeof thrown !== 'object' || thrown === null) {
    const said = unlessThrown(() => String(thrown as number | null)) ?? 'unknown'
    return make('Error', thrown === undefined || thrown === null ? `failed with ${said}` : said)
  }
  const name = text(thrown, 'name') ?? text(thrown, '_tag') ?? 'Error'
  const stack = text(thrown, 'stack')
  const json = unlessThrown(() => jsonFromUnknown({ ...thrown }))
  const data =
    json !== undefined && E.isRight(json) && Object.keys(json.right as object).length > 0 ? json.right : undefined
  const [code] = errorTraits(thrown).flatMap(({ code, status }) => code ?? status ?? [])
  const message = messageOf(thrown) ?? unlessThrown(() => JSON.stringify(thrown)) ?? name
  return make(name, message, defined({ code, stack, data }))
}

/** The maximum number of errors in a chain of causes, and of those read from an `AggregateError`. */
const MAX_ERRORS = 8

/** The message, followed by those of the causes that it does not contain. */
const messageOf = (thrown: object): string | undefined => {
  const [first, ...more] = chain(thrown).flatMap((error) => [text(error, 'message') ?? [], ...aggregated(error)].flat())
  return first === undefined
    ? undefined
    : more.reduce((said, next) => (next === '' || said.includes(next) ? said : `${said}: ${next}`), first)
}

/** The messages of the errors in an `AggregateError`. */
const aggregated = (error: object): ReadonlyArray<string> =>
  unlessThrown(() => {
    const { errors } = error as { readonly errors?: unknown }
    return Array.isArray(errors)
      ? errors.slice(0, MAX_ERRORS).flatMap((one) => text(Object(one) as object, 'message') ?? [])
      : []
  }) ?? []

/** An error and its causes, outermost first. */
const chain = (thrown: unknown): ReadonlyArray<object> => {
  const found: Array<object> = []
  let at = thrown
  while (found.length < MAX_ERRORS && typeof at === 'object' && at !== null) {
    const from: object = at
    found.push(from)
    at = unlessThrown(() => (from as { readonly cause?: unknown }).cause)
  }
  return found
}

/** What classifies an error. `status`: of HTTP. */
export interface ErrorTraits {
  readonly status: string | undefined
  readonly code: string | undefined
  readonly names: ReadonlyArray<string>
}

/** Returns the traits of an error and of its causes, outermost first: `status` or `statusCode`; `code`; `name` and `type`. */
export const errorTraits = (thrown: unknown): ReadonlyArray<ErrorTraits> =>
  chain(thrown).map((error) => ({
    status: text(error, 'status') ?? text(error, 'statusCode'),
    // The number of a DOMException repeats its name, and would read as a system code.
    code: unlessThrown(() => error instanceof DOMException) === true ? undefined : text(error, 'code'),
    names: ['name', 'type'].flatMap((key) => text(error, key) ?? [])
  }))

/** A property that is a string or number, as a string. */
const text = (from: object, key: string): string | undefined => {
  const value = unlessThrown(() => (from as Record<string, unknown>)[key])
  return typeof value === 'string' ? value : typeof value === 'number' ? String(value) : undefined
}

const unlessThrown = <A>(read: () => A): A | undefined => {
  try {
    return read()
  } catch {
    return undefined
  }
}

/** Returns a string that fits into `bytes` bytes of JSON: the same, or its start and a note of the full length. */
const cutBytes = (value: string, bytes: number): string => {
  if (fits(value, bytes)) return value
  return `${value.slice(0, unitsWithin(value, bytes - MAX_NOTE))}${noteOf(value)}`
}

const fits = (value: string, bytes: number): boolean =>
  value.length * MAX_UNIT_BYTES <= bytes || unitsWithin(value, bytes) === value.length

/** How many UTF-16 units of a string fit into `bytes` bytes of JSON; surrogate pairs stay whole. */
const unitsWithin = (value: string, bytes: number): number => {
  let left = bytes
  for (let at = 0; at < value.length; at++) {
    left -= widthOf(value.charCodeAt(at))
    if (left < 0) return isHighSurrogate(value.charCodeAt(at - 1)) ? at - 1 : at
  }
  return value.length
}

/** The maximum bytes of a UTF-16 unit in JSON: escaped, or in UTF-8. */
const widthOf = (unit: number): number => {
  if (unit < 0x20 || (unit >= 0xd800 && unit < 0xe000)) return MAX_UNIT_BYTES
  if (unit < 0x80) return unit === 0x22 || unit === 0x5c ? 2 : 1
  return unit < 0x800 ? 2 : 3
}

const isHighSurrogate = (unit: number): boolean => unit >= 0xd800 && unit < 0xdc00

/** The error without stack and data, and with a short message, for the list of attempts. The newest error is also stored whole. */
export const brief = (self: StepError): StepError =>
  make(self.name, self.message.slice(0, 1024), self.code === undefined ? {} : { code: self.code })
