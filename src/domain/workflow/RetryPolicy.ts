/**
 * Decides whether and when a failed attempt is retried (after retry-ts). It must not read a clock.
 *
 * @module
 */
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import type { Check, OptionProblem } from '../data/Options.js'
import { fieldsOf, inside, isRecord, kindOf, millis, oneOf, optionProblems, wholeFrom } from '../data/Options.js'

// --- model

/**
 * Delays between attempts. The first delay is `delayMillis`; `Linear` adds it each time, `Exponential` doubles it. `maxDelayMillis` caps
 * each delay. `jitter` (0 to 1) spreads each delay by that share to both sides. `attempts` is the maximum number of attempts.
 * `withinMillis` bounds the time from the start of the first failed attempt to the next start, waits and downtime included.
 */
export interface RetryPolicy {
  readonly _tag: 'Constant' | 'Linear' | 'Exponential'
  readonly attempts: number
  readonly delayMillis: number
  readonly maxDelayMillis: number
  readonly jitter: number
  readonly withinMillis?: number
}

/** The maximum of `attempts`. */
export const MAX_ATTEMPTS = 1000

/** The invalid field of a policy, and what it must be. */
export interface InvalidRetryPolicy {
  readonly _tag: 'InvalidRetryPolicy'
  readonly field: string
  readonly expected: string
}

// --- constructors

/**
 * Six attempts, 5, 10, 20, 40 and 80 seconds apart, each delay spread by a quarter, at most 2 minutes.
 *
 * @category constructors
 */
export const standard: RetryPolicy = {
  _tag: 'Exponential',
  attempts: 6,
  delayMillis: 5_000,
  maxDelayMillis: 120_000,
  jitter: 0.25
}

/**
 * One attempt.
 *
 * @category constructors
 */
export const never: RetryPolicy = { _tag: 'Constant', attempts: 1, delayMillis: 0, maxDelayMillis: 0, jitter: 0 }

/**
 * The policy of an option `retry`: omitted fields come from {@link standard}, and a longer `delayMillis` raises an omitted
 * `maxDelayMillis`. Without the option there is one attempt.
 */
export const policyOf = (
  given: { readonly [Field in keyof RetryPolicy]?: RetryPolicy[Field] | undefined } | undefined
): RetryPolicy => {
  if (given === undefined) return never
  const fields = fieldsOf(given)
  const present = Object.keys(FIELDS).filter((field) => fields[field] !== undefined)
  const delay = fields['delayMillis']
  const maxDelayMillis = Math.max(standard.maxDelayMillis, typeof delay === 'number' ? delay : 0)
  return { ...standard, maxDelayMillis, ...Object.fromEntries(present.map((field) => [field, fields[field]])) }
}

/**
 * Makes a policy, or returns its invalid field. Omitted fields come from {@link standard}; a longer `delayMillis` raises an omitted
 * `maxDelayMillis`.
 *
 * @example
 * import * as E from 'fp-ts/lib/Either.js'
 * import { RetryPolicy } from 'dogear'
 * import assert from 'node:assert/strict'
 *
 * assert.ok(E.isRight(RetryPolicy.make({ _tag: 'Constant', attempts: 3, delayMillis: 100 })))
 * assert.ok(E.isLeft(RetryPolicy.make({ attempts: 0 })))
 *
 * @category constructors
 */
export const make = (given: Partial<RetryPolicy>): E.Either<InvalidRetryPolicy, RetryPolicy> => {
  const isPolicy = given === undefined || isRecord(given)
  const [wrong] = isPolicy ? optionProblems(given, FIELDS) : [{ option: 'policy', expected: notPolicy(given) }]
  if (wrong === undefined) return E.right(policyOf(given))
  const expected = 'known' in wrong ? `a field of RetryPolicy: ${wrong.known.join(', ')}` : wrong.expected
  return E.left({ _tag: 'InvalidRetryPolicy', field: wrong.option, expected })
}

const FIELDS: Readonly<Record<keyof RetryPolicy, Check>> = {
  _tag: oneOf('Constant', 'Linear', 'Exponential'),
  attempts: (value) =>
    wholeFrom(1)(value) === undefined && (value as number) <= MAX_ATTEMPTS
      ? undefined
      : `a whole number from 1 to ${MAX_ATTEMPTS}`,
  delayMillis: millis,
  maxDelayMillis: millis,
  jitter: (value) => (typeof value === 'number' && value >= 0 && value <= 1 ? undefined : 'a number from 0 to 1'),
  withinMillis: millis
}

const NAMES = Object.keys(FIELDS) as ReadonlyArray<keyof RetryPolicy>

const EXPECTED = 'a RetryPolicy such as { attempts: 3 }'

const notPolicy = (given: unknown): string => `${EXPECTED}, not ${kindOf(given)}`

/**
 * Checks an option `retry`.
 *
 * @internal
 */
export const retryOption = inside('retry', FIELDS, EXPECTED)

/**
 * Returns the first wrong field of a policy that {@link policyOf} may not have made.
 *
 * @internal
 */
export const wrongField = (policy: RetryPolicy): OptionProblem | undefined => {
  const fields = fieldsOf(policy)
  for (const field of NAMES) {
    const value = fields[field]
    const expected = field === 'withinMillis' && value === undefined ? undefined : FIELDS[field](value)
    if (expected !== undefined) return { option: `retry.${field}`, expected }
  }
  return undefined
}

// --- deciding

/**
 * Returns the delay before the next attempt in milliseconds, or none if the policy allows no further attempt. `attempt`: the number of the
 * failed attempt, from 1; `elapsedMillis`: the time since the first attempt started; `random`: from 0 to below 1.
 *
 * @example
 * import * as O from 'fp-ts/lib/Option.js'
 * import { RetryPolicy } from 'dogear'
 * import assert from 'node:assert/strict'
 *
 * const delays = [1, 2, 5, 6].map((attempt) =>
 *   RetryPolicy.delay(RetryPolicy.standard, { attempt, elapsedMillis: 0, random: 0.5 })
 * )
 * assert.deepEqual(delays, [O.some(5_000), O.some(10_000), O.some(80_000), O.none])
 *
 * @category deciding
 */
export const delay = (
  policy: RetryPolicy,
  failed: { readonly attempt: number; readonly elapsedMillis: number; readonly random: number }
): O.Option<number> => {
  if (failed.attempt >= policy.attempts) return O.none
  const spread = 1 + policy.jitter * (2 * failed.random - 1)
  const millis = Math.round(
    Math.min(
      Math.min(delayWithoutLimits(policy, failed.attempt), policy.maxDelayMillis) * spread,
      policy.maxDelayMillis
    )
  )
  const isLate = policy.withinMillis !== undefined && failed.elapsedMillis + millis > policy.withinMillis
  return isLate || !Number.isFinite(millis) ? O.none : O.some(millis)
}

const delayWithoutLimits = (policy: RetryPolicy, attempt: number): number => {
  switch (policy._tag) {
    case 'Constant':
      return policy.delayMillis
    case 'Linear':
      return policy.delayMillis * attempt
    case 'Exponential':
      return policy.delayMillis * 2 ** Math.min(attempt - 1, 52)
  }
}
