/**
 * What a run keeps of an error: plain data, bounded, whatever was thrown.
 *
 * @since 0.1.0
 */
import * as E from 'fp-ts/lib/Either.js'
import type { Json } from './Json.js'
import { fromUnknown as jsonFromUnknown } from './Json.js'

// ---------------------------------------------------------------------------------------------------------------------
// model
// ---------------------------------------------------------------------------------------------------------------------

/**
 * A stored error: at most {@link MAX_CHARS} characters in all. `code` is the machine-readable kind (`ECONNRESET`,
 * `503`), `data` whatever else the error carried as JSON.
 *
 * @category model
 * @since 0.1.0
 */
export interface StepError {
  readonly name: string
  readonly message: string
  readonly code?: string
  readonly stack?: string
  readonly data?: Json
}

/**
 * The bound on a stored error, in characters: 64 KiB of plain text.
 *
 * @category model
 * @since 0.1.0
 */
export const MAX_CHARS = 65_536

const MAX_NAME = 256
const MAX_MESSAGE = 16_384
const MAX_STACK = 16_384
const MAX_DATA = 16_384

// ---------------------------------------------------------------------------------------------------------------------
// constructors
// ---------------------------------------------------------------------------------------------------------------------

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
 * @since 0.1.0
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
  ...(details.data === undefined || JSON.stringify(details.data).length > MAX_DATA ? {} : { data: details.data })
})

/**
 * Reads whatever was thrown or rejected with. Never throws itself, even on objects whose properties do.
 *
 * @example
 * import { StepError } from 'dogear'
 * import assert from 'node:assert/strict'
 *
 * const error = StepError.fromUnknown(Object.assign(new Error('socket hang up'), { code: 'ECONNRESET' }))
 * assert.equal(error.message, 'socket hang up')
 * assert.equal(error.code, 'ECONNRESET')
 * assert.equal(StepError.fromUnknown('no').message, 'no')
 *
 * @category constructors
 * @since 0.1.0
 */
export const fromUnknown = (thrown: unknown): StepError => {
  if (typeof thrown === 'string') return make('Error', thrown)
  if (typeof thrown !== 'object' || thrown === null) return make('Error', attempt(() => String(thrown)) ?? 'unknown')
  const name = text(thrown, 'name') ?? text(thrown, '_tag') ?? 'Error'
  const code = text(thrown, 'code') ?? text(thrown, 'status') ?? text(thrown, 'statusCode')
  const stack = text(thrown, 'stack')
  const json = attempt(() => jsonFromUnknown({ ...thrown }))
  const data =
    json !== undefined && E.isRight(json) && Object.keys(json.right as object).length > 0 ? json.right : undefined
  return make(name, text(thrown, 'message') ?? attempt(() => JSON.stringify(thrown)) ?? name, {
    ...(code === undefined ? {} : { code }),
    ...(stack === undefined ? {} : { stack }),
    ...(data === undefined ? {} : { data })
  })
}

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

const cut = (value: string, limit: number): string =>
  value.length <= limit ? value : `${value.slice(0, limit - 24)}… (${value.length} characters)`

/**
 * The error without its stack and data, for the list of attempts: the newest attempt's error is kept whole beside it.
 *
 * @category combinators
 * @since 0.1.0
 */
export const brief = (self: StepError): StepError =>
  make(self.name, self.message.slice(0, 1024), self.code === undefined ? {} : { code: self.code })
