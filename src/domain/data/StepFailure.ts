/**
 * Failures of steps: whether a retry may help, and whether the attempt may have had an effect.
 *
 * @module
 */
import * as E from 'fp-ts/lib/Either.js'
import { fromUnknown as jsonFromUnknown } from './Json.js'
import * as StepError from './StepError.js'

// --- model

/** What is known of the effects of a failed attempt. `notApplied`: the step knows that nothing happened outside. */
export type Outcome = 'notApplied' | 'unknown'

/** A retry may succeed: overload, a timeout, a lost connection. */
export interface Transient {
  readonly _tag: 'Transient'
  readonly error: StepError.StepError
  readonly outcome: Outcome
}

/** A retry cannot help: bad input, missing rights, a bug. */
export interface Permanent {
  readonly _tag: 'Permanent'
  readonly error: StepError.StepError
  readonly outcome: Outcome
}

/** A failure of a step. */
export type StepFailure = Transient | Permanent

// --- constructors

/**
 * Makes a transient failure. `outcome` is `unknown` unless the step knows that nothing happened outside.
 *
 * @category constructors
 */
export const transient = (error: StepError.StepError, outcome: Outcome = 'unknown'): Transient => ({
  _tag: 'Transient',
  error,
  outcome
})

/**
 * Makes a permanent failure.
 *
 * @category constructors
 */
export const permanent = (error: StepError.StepError, outcome: Outcome = 'unknown'): Permanent => ({
  _tag: 'Permanent',
  error,
  outcome
})

/**
 * Classifies any thrown value by its code, never by its message. HTTP 408, 425, 429 and 5xx, timeouts, overload, and lost or refused
 * connections are transient; everything else is permanent. Reads `status` or `statusCode`, `code`, `name` and `type` of the error, then of
 * its causes; the first that decides wins.
 *
 * The outcome is `unknown`: only the step knows whether a request took effect, and says so with {@link transient} or {@link permanent}.
 *
 * @example
 * import { StepFailure } from 'dogear'
 * import assert from 'node:assert/strict'
 *
 * assert.equal(StepFailure.fromUnknown({ status: 503, message: 'try later' })._tag, 'Transient')
 * assert.equal(
 *   StepFailure.fromUnknown(new TypeError('fetch failed', { cause: { code: 'ECONNREFUSED' } }))._tag,
 *   'Transient'
 * )
 * assert.equal(StepFailure.fromUnknown(new Error('HTTP 500 in the text'))._tag, 'Permanent')
 *
 * @category constructors
 */
export const fromUnknown = (thrown: unknown): StepFailure => {
  if (isStepFailure(thrown)) return bounded(thrown)
  const error = StepError.fromUnknown(thrown)
  return isTransient(StepError.errorTraits(thrown)) ? transient(error) : permanent(error)
}

/** The outermost error with an HTTP error status, or with a transient code or name, decides. */
const isTransient = (chain: ReadonlyArray<StepError.ErrorTraits>): boolean => {
  for (const { status, code, names } of chain) {
    if (status !== undefined && /^[45]\d\d$/.test(status)) return status.startsWith('5') || TRANSIENT.has(status)
    if (SERVER_ERROR.test(code ?? '') || [code ?? '', ...names].some((one) => TRANSIENT.has(one))) return true
  }
  return false
}

/** Bounds a failure that a step built itself. */
const bounded = (made: StepFailure): StepFailure => {
  try {
    const { _tag, error, outcome } = made
    const { name, message, code, stack, data }: Partial<StepError.StepError> = Object(error) as object
    const json = data === undefined ? undefined : jsonFromUnknown(data)
    return (_tag === 'Transient' ? transient : permanent)(
      StepError.make(String(name ?? 'Error'), String(message ?? 'a failure without a message'), {
        ...(code === undefined ? {} : { code: String(code) }),
        ...(stack === undefined ? {} : { stack: String(stack) }),
        ...(json === undefined || E.isLeft(json) ? {} : { data: json.right })
      }),
      outcome === 'notApplied' ? outcome : 'unknown'
    )
  } catch {
    return permanent(StepError.make('Error', 'an error that cannot be read'))
  }
}

const TRANSIENT: ReadonlySet<string> = new Set([
  'ECONNRESET',
  'ECONNREFUSED',
  'ECONNABORTED',
  'ENETDOWN',
  'ENETUNREACH',
  'ENETRESET',
  'EHOSTUNREACH',
  'EPIPE',
  'ETIMEDOUT',
  'ENOTFOUND',
  'EAI_AGAIN',
  'UND_ERR_CONNECT_TIMEOUT',
  'UND_ERR_HEADERS_TIMEOUT',
  'UND_ERR_BODY_TIMEOUT',
  'UND_ERR_SOCKET',
  'TimeoutError',
  'TIMEOUT',
  'overloaded_error',
  'rate_limit_error',
  '408',
  '425',
  '429'
])

/** 500 to 529 and 590 to 599. As a bare code the others are permanent: FTP and mail use them, for a wrong password or path. */
const SERVER_ERROR = /^5([0-2]|9)\d$/

// --- refinements

/** Detects a failure that a step returned. Returns false if its properties throw. */
export const isStepFailure = (value: unknown): value is StepFailure => {
  try {
    return (
      typeof value === 'object' &&
      value !== null &&
      '_tag' in value &&
      (value._tag === 'Transient' || value._tag === 'Permanent') &&
      'error' in value &&
      'outcome' in value
    )
  } catch {
    return false
  }
}
