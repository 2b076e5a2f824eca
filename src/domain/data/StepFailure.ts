/**
 * How a step fails: whether trying again may help, and whether something may have happened outside.
 *
 * @module
 */
import * as E from 'fp-ts/lib/Either.js'
import { fromUnknown as jsonFromUnknown } from './Json.js'
import * as StepError from './StepError.js'

// --- model

/** What is known of the effects of a failed attempt. `notApplied`: the step knows that nothing happened outside. */
export type Outcome = 'notApplied' | 'unknown'

/** The same attempt may succeed later: overload, a timeout, a lost connection. */
export interface Transient {
  readonly _tag: 'Transient'
  readonly error: StepError.StepError
  readonly outcome: Outcome
}

/** Trying again as it is makes no sense: bad input, missing rights, a bug. */
export interface Permanent {
  readonly _tag: 'Permanent'
  readonly error: StepError.StepError
  readonly outcome: Outcome
}

/** How a step fails. */
export type StepFailure = Transient | Permanent

// --- constructors

/**
 * A failure that may pass. `outcome` is `unknown` unless the step knows that nothing happened outside.
 *
 * @category constructors
 */
export const transient = (error: StepError.StepError, outcome: Outcome = 'unknown'): Transient => ({
  _tag: 'Transient',
  error,
  outcome
})

/**
 * A failure that stays.
 *
 * @category constructors
 */
export const permanent = (error: StepError.StepError, outcome: Outcome = 'unknown'): Permanent => ({
  _tag: 'Permanent',
  error,
  outcome
})

/**
 * Classifies whatever was thrown, by its code and never by searching its text: HTTP 408, 425, 429 and 5xx, timeouts,
 * overload, and lost or refused connections are transient; everything else is permanent. Looked at are `status` or
 * `statusCode`, `code`, `name` and `type`, of the error and then of its causes: the first that says something decides.
 *
 * The outcome is always `unknown`: a connection that was refused says nothing of the request before it. Only the step
 * knows; it says so with {@link transient} or {@link permanent}.
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
  return isTransient(StepError.signs(thrown)) ? transient(error) : permanent(error)
}

/** The outermost that says anything decides: behind a refusal there may well be a lost connection. */
const isTransient = (chain: ReadonlyArray<StepError.Signs>): boolean => {
  for (const { status, code, names } of chain) {
    if (status !== undefined && /^[45]\d\d$/.test(status)) return status.startsWith('5') || TRANSIENT.has(status)
    if (SERVER_ERROR.test(code ?? '') || [code ?? '', ...names].some((one) => TRANSIENT.has(one))) return true
  }
  return false
}

/** A step can make its failure by hand: what is kept of it is plain data within bounds all the same. */
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
    return permanent(StepError.make('Error', 'an error that can not be read'))
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

/** As a status every 5xx is transient; as a mere code not 53x and 55x: so FTP says that a password or a path is wrong. */
const SERVER_ERROR = /^5([0-2]|9)\d$/

// --- refinements

/** Whether a value is a failure that a step returned on purpose. Nothing is, that throws when it is looked at. */
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
