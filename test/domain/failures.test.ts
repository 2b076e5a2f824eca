import assert from 'node:assert/strict'
import { inspect } from 'node:util'
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import * as fc from 'fast-check'
import { describe, test } from 'vitest'
import type { RetryPolicy } from '../../src/domain/workflow/RetryPolicy.js'
import * as Retry from '../../src/domain/workflow/RetryPolicy.js'
import * as Err from '../../src/domain/data/StepError.js'
import * as Failure from '../../src/domain/data/StepFailure.js'
import { law } from './law.js'

// ---------------------------------------------------------------------------------------------------------------------
// retry policies
// ---------------------------------------------------------------------------------------------------------------------

const delays = (policy: RetryPolicy, random = 0.5): ReadonlyArray<number> => {
  const found: Array<number> = []
  for (let attempt = 1; attempt <= Retry.MAX_ATTEMPTS; attempt++) {
    const next = Retry.delay(policy, { attempt, elapsedMillis: 0, random })
    if (O.isNone(next)) return found
    found.push(next.value)
  }
  return assert.fail('it never ends')
}

const made = (given: Partial<RetryPolicy>): RetryPolicy => {
  const policy = Retry.make(given)
  return E.isRight(policy) ? policy.right : assert.fail(policy.left.field)
}

const millis = fc.oneof(fc.nat({ max: 200_000 }), fc.double({ min: 0, max: 1e308, noNaN: true }))

const policies: fc.Arbitrary<RetryPolicy> = fc
  .record(
    {
      _tag: fc.constantFrom('Constant' as const, 'Linear' as const, 'Exponential' as const),
      attempts: fc.integer({ min: 1, max: Retry.MAX_ATTEMPTS }),
      delayMillis: millis,
      maxDelayMillis: millis,
      jitter: fc.double({ min: 0, max: 1, noNaN: true }),
      withinMillis: millis
    },
    { requiredKeys: ['_tag', 'attempts', 'delayMillis', 'maxDelayMillis', 'jitter'] }
  )
  .map(made)

const randoms = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true })

describe('the standard policy', () => {
  test('the standard policy waits 5, 10, 20, 40 and 80 seconds', () => {
    assert.deepEqual(delays(Retry.standard), [5_000, 10_000, 20_000, 40_000, 80_000])
  })

  law(
    'the standard policy varies each delay by up to 25 percent, and never waits longer than 120 seconds',
    randoms,
    (random) => {
      const plain = [5_000, 10_000, 20_000, 40_000, 80_000]
      const spread = delays(Retry.standard, random)
      assert.equal(spread.length, 5)
      for (const [at, delay] of spread.entries()) {
        assert.ok(Math.abs(delay - (plain[at] as number)) <= 0.25 * (plain[at] as number))
      }
      for (const delay of delays(made({ attempts: 20 }), random)) assert.ok(delay <= 120_000)
    }
  )

  test('the jitter of the standard policy covers its whole range', () => {
    assert.equal(delays(Retry.standard, 0)[0], 3_750)
    assert.equal(delays(Retry.standard, 1 - Number.EPSILON)[0], 6_250)
    assert.equal(delays(made({ attempts: 20 }), 0).at(-1), 90_000)
  })
})

describe('a policy', () => {
  test('a policy waits a constant, linear or exponential time', () => {
    const plain = { attempts: 5, delayMillis: 100, maxDelayMillis: 350, jitter: 0 }
    assert.deepEqual(delays(made({ ...plain, _tag: 'Constant' })), [100, 100, 100, 100])
    assert.deepEqual(delays(made({ ...plain, _tag: 'Linear' })), [100, 200, 300, 350])
    assert.deepEqual(delays(made({ ...plain, _tag: 'Exponential' })), [100, 200, 350, 350])
  })

  test('`RetryPolicy.never` never retries', () => {
    assert.deepEqual(delays(Retry.never), [])
    assert.deepEqual(Retry.make(Retry.never), E.right(Retry.never))
  })

  law(
    'a policy has one delay fewer than attempts, and each delay is a whole number from 0 to the maximum',
    fc.tuple(policies, randoms),
    ([policy, random]) => {
      const { withinMillis: _, ...unbounded } = policy
      const found = delays(unbounded, random)
      assert.equal(found.length, policy.attempts - 1)
      for (const delay of found) {
        assert.ok(delay >= 0 && delay <= Math.ceil(policy.maxDelayMillis), String(delay))
        assert.ok(Number.isFinite(delay))
        if (delay < Number.MAX_SAFE_INTEGER) assert.ok(Number.isInteger(delay))
      }
    },
    500
  )

  law(
    'a policy never starts an attempt after its time limit',
    fc.tuple(policies, randoms, fc.nat({ max: 999 }), millis),
    ([policy, random, at, elapsedMillis]) => {
      const attempt = at + 1
      const next = Retry.delay(policy, { attempt, elapsedMillis, random })
      const { withinMillis, ...unbounded } = policy
      const free = Retry.delay(unbounded, { attempt, elapsedMillis, random })
      const late = withinMillis !== undefined && O.isSome(free) && elapsedMillis + free.value > withinMillis
      assert.deepEqual(next, late ? O.none : free)
    }
  )

  const invalid: ReadonlyArray<readonly [field: string, given: unknown]> = [
    ...[0, -1, 1.5, Number.NaN, Infinity, 1001, '3'].map((attempts) => ['attempts', { attempts }] as const),
    ...[-1, Number.NaN, Infinity, '1'].flatMap((value) => [
      ['delayMillis', { delayMillis: value }] as const,
      ['maxDelayMillis', { maxDelayMillis: value }] as const,
      ['withinMillis', { withinMillis: value }] as const
    ]),
    ...[-0.1, 1.1, Number.NaN].map((jitter) => ['jitter', { jitter }] as const),
    ['_tag', { _tag: 'Fibonacci' }],
    ['attempt', { attempt: 3 }],
    ['delayMillis', { delayMillis: Symbol('soon') }],
    ['options', { options: 1 }],
    ['policy', null],
    ['policy', 'Constant']
  ]

  test.each(invalid.map(([field, given]) => [field, inspect(given), given] as const))(
    'a retry policy with an invalid %s is refused: %s',
    (field, _, given) => {
      const policy = Retry.make(given as Partial<RetryPolicy>)
      assert.ok(E.isLeft(policy))
      assert.deepEqual([policy.left._tag, policy.left.field], ['InvalidRetryPolicy', field])
      assert.ok(policy.left.expected.length > 0)
    }
  )

  test('a delay above the standard maximum raises the maximum', () => {
    assert.deepEqual(
      delays(made({ _tag: 'Constant', attempts: 3, delayMillis: 600_000, jitter: 0 })),
      [600_000, 600_000]
    )
    assert.equal(made({ delayMillis: 1_000 }).maxDelayMillis, Retry.standard.maxDelayMillis)
  })

  test('a policy may have up to 1,000 attempts, and a delay of 0', () => {
    assert.equal(delays(made({ attempts: 1000, delayMillis: 0, maxDelayMillis: 0 })).length, 999)
    assert.equal(E.isRight(Retry.make({ jitter: 1 })), true)
  })
})

// ---------------------------------------------------------------------------------------------------------------------
// failures
// ---------------------------------------------------------------------------------------------------------------------

/** The value as a title shows it: without the stack of an error. */
const titleOf = (value: unknown): string => {
  if (!(value instanceof Error)) return inspect(value)
  const { name, message, code } = value as Error & { readonly code?: unknown }
  return `${name}: ${message}${code === undefined || value instanceof DOMException ? '' : ` with the code ${inspect(code)}`}`
}

const coded = (code: string | number): Error => Object.assign(new Error('x'), { code })

describe('a thrown value', () => {
  const thrown: ReadonlyArray<readonly [thrown: unknown, tag: Failure.StepFailure['_tag'], outcome: 'unknown']> = [
    [{ status: 500 }, 'Transient', 'unknown'],
    [{ statusCode: 502 }, 'Transient', 'unknown'],
    [{ status: 503 }, 'Transient', 'unknown'],
    [coded('504'), 'Transient', 'unknown'],
    [coded(599), 'Transient', 'unknown'],
    [{ status: 529 }, 'Transient', 'unknown'],
    [{ status: 408 }, 'Transient', 'unknown'],
    [{ status: 425 }, 'Transient', 'unknown'],
    [{ status: 429 }, 'Transient', 'unknown'],
    [{ name: 'rate_limit_error' }, 'Transient', 'unknown'],
    [{ name: 'overloaded_error' }, 'Transient', 'unknown'],
    [coded('ECONNRESET'), 'Transient', 'unknown'],
    [coded('EPIPE'), 'Transient', 'unknown'],
    [coded('ETIMEDOUT'), 'Transient', 'unknown'],
    [coded('ECONNREFUSED'), 'Transient', 'unknown'],
    [coded('ENOTFOUND'), 'Transient', 'unknown'],
    [coded('EAI_AGAIN'), 'Transient', 'unknown'],
    [coded('UND_ERR_SOCKET'), 'Transient', 'unknown'],
    [coded('UND_ERR_CONNECT_TIMEOUT'), 'Transient', 'unknown'],
    [new DOMException('too late', 'TimeoutError'), 'Transient', 'unknown'],
    [new TypeError('fetch failed', { cause: { code: 'ECONNREFUSED' } }), 'Transient', 'unknown'],
    [{ code: 'rate_limit_exceeded', status: 429 }, 'Transient', 'unknown'],
    [{ code: 'ERR_BAD_RESPONSE', status: 502 }, 'Transient', 'unknown'],
    [{ name: 'Error', status: 503, cause: { status: 401 } }, 'Transient', 'unknown'],
    [{ status: 401, cause: { status: 503 } }, 'Permanent', 'unknown'],
    [{ status: 404, code: 'ECONNRESET' }, 'Permanent', 'unknown'],
    [coded(530), 'Permanent', 'unknown'],
    [new DOMException('not now', 'AbortError'), 'Permanent', 'unknown'],
    [{ status: 400 }, 'Permanent', 'unknown'],
    [{ status: 401 }, 'Permanent', 'unknown'],
    [{ status: 403 }, 'Permanent', 'unknown'],
    [{ status: 404 }, 'Permanent', 'unknown'],
    [{ status: 422 }, 'Permanent', 'unknown'],
    [{ status: 200 }, 'Permanent', 'unknown'],
    [{ status: 5000 }, 'Permanent', 'unknown'],
    [{ status: 50 }, 'Permanent', 'unknown'],
    [coded('ENOENT'), 'Permanent', 'unknown'],
    [coded('EACCES'), 'Permanent', 'unknown'],
    [coded('constructor'), 'Permanent', 'unknown'],
    [new Error('HTTP 500 in the text'), 'Permanent', 'unknown'],
    [new Error('ECONNRESET'), 'Permanent', 'unknown'],
    [{ message: 'rate limit 429', code: 'E_500' }, 'Permanent', 'unknown'],
    ['503', 'Permanent', 'unknown'],
    [503, 'Permanent', 'unknown'],
    [new TypeError('x is not a function'), 'Permanent', 'unknown'],
    [undefined, 'Permanent', 'unknown'],
    [null, 'Permanent', 'unknown']
  ]

  test.each(thrown.map(([one, tag, outcome]) => [titleOf(one), tag, one, outcome] as const))(
    'a thrown value is classified by its status, code or name, never by its message: %s is %s',
    (_, tag, thrown, outcome) => {
      const failure = Failure.fromUnknown(thrown)
      assert.deepEqual([failure._tag, failure.outcome], [tag, outcome])
    }
  )

  test('a thrown StepFailure stays unchanged', () => {
    const error = Err.make('Error', 'x')
    for (const failure of [Failure.transient(error, 'notApplied'), Failure.permanent(error)]) {
      assert.deepEqual(Failure.fromUnknown(failure), failure)
    }
    assert.equal(Failure.transient(error).outcome, 'unknown')
    assert.equal(Failure.fromUnknown({ _tag: 'Transient', message: 'of another library' })._tag, 'Permanent')
  })
})

// ---------------------------------------------------------------------------------------------------------------------
// errors
// ---------------------------------------------------------------------------------------------------------------------

const boom = (): never => {
  throw new Error('no')
}

const bytes = (error: Err.StepError): number => Buffer.byteLength(JSON.stringify(error))

describe('a stored error', () => {
  test('a stored error keeps name, message, code, stack and all other JSON', () => {
    const thrown = Object.assign(new RangeError('too far'), { code: 7, at: [1, { b: null }] })
    const error = Err.fromUnknown(thrown)
    assert.deepEqual([error.name, error.message, error.code], ['RangeError', 'too far', '7'])
    assert.equal(error.stack, thrown.stack)
    assert.deepEqual(error.data, { code: 7, at: [1, { b: null }] })
    assert.deepEqual(Err.fromUnknown({ _tag: 'NotFound', path: '/x' }), {
      name: 'NotFound',
      message: '{"_tag":"NotFound","path":"/x"}',
      data: { _tag: 'NotFound', path: '/x' }
    })
    assert.deepEqual(Err.fromUnknown({ message: 'x', when: new Date(0) }), { name: 'Error', message: 'x' })
  })

  test.each<readonly [unknown, string]>([
    ['text', 'text'],
    [7, '7'],
    [1n, '1'],
    [true, 'true'],
    [null, 'failed with null'],
    [undefined, 'failed with undefined'],
    [Symbol('x'), 'Symbol(x)'],
    [Object.create(null), '{}'],
    [[1, 2], '[1,2]']
  ])('a stored error has a message for any thrown value: %o', (thrown, message) => {
    assert.equal(Err.fromUnknown(thrown).message, message)
  })

  test('a stored error includes the messages of its causes, and takes their code if it has none', () => {
    const cause = Object.assign(new Error('connect ECONNREFUSED ::1:80'), { code: 'ECONNREFUSED' })
    const refused = Err.fromUnknown(new TypeError('fetch failed', { cause }))
    assert.deepEqual([refused.message, refused.code], ['fetch failed: connect ECONNREFUSED ::1:80', 'ECONNREFUSED'])
    const own = Err.fromUnknown(
      Object.assign(new Error('outer: inner', { cause: new Error('inner') }), { code: 'OWN' })
    )
    assert.deepEqual([own.message, own.code], ['outer: inner', 'OWN'])
    const all = Err.fromUnknown(new AggregateError([new Error('first'), new Error('second')], 'none worked'))
    assert.equal(all.message, 'none worked: first: second')
    assert.equal(Err.fromUnknown(new DOMException('too late', 'TimeoutError')).code, undefined)
    const circle = new Error('round')
    circle.cause = circle
    assert.equal(Err.fromUnknown(circle).message, 'round')
  })

  test('a stored error describes values whose properties throw, too', () => {
    const cyclic: Record<string, unknown> = { message: 'round' }
    cyclic['self'] = cyclic
    const getters = { get name() { return boom() }, get message() { return boom() }, get stack() { return boom() } } // prettier-ignore
    const handler = { get: boom, has: boom, ownKeys: boom, getPrototypeOf: boom, getOwnPropertyDescriptor: boom }
    const { proxy, revoke } = Proxy.revocable({}, {})
    revoke()
    const hostile: ReadonlyArray<unknown> = [
      getters,
      new Proxy({}, handler),
      new Proxy(boom, { ...handler, apply: boom }),
      proxy,
      cyclic,
      { toJSON: boom, toString: boom },
      { toJSON: () => undefined },
      { name: {}, message: [], code: {}, stack: 1n },
      Object.assign(Object.create(null) as object, { toString: boom }),
      { [Symbol.toPrimitive]: boom }
    ]
    for (const thrown of hostile) {
      const error = Err.fromUnknown(thrown)
      assert.equal(typeof error.name, 'string')
      assert.equal(typeof error.message, 'string')
      assert.ok(bytes(error) <= 65_536)
      assert.ok(['Transient', 'Permanent'].includes(Failure.fromUnknown(thrown)._tag))
    }
    assert.deepEqual(Err.fromUnknown(cyclic), { name: 'Error', message: 'round' })
  })

  test('errors that cannot be read are left out of the message', () => {
    const { proxy, revoke } = Proxy.revocable([], {})
    revoke()
    const hostile = [proxy, Object.defineProperty([], '0', { get: () => assert.fail('no') })]
    for (const errors of hostile) assert.equal(Err.fromUnknown({ message: 'm', errors }).message, 'm')
    assert.equal(Err.fromUnknown(Object.assign(new Error('m'), { cause: proxy })).message, 'm')
  })

  test.each(['x', '\n', '"', '\\', '\u0000', 'é', '漢', '😀', '\ud800', '\udc00'])(
    'a stored error has at most 64 KiB: a long string of %j',
    (unit) => {
      const long = unit.repeat(100_000)
      const error = Err.make(long, long, { code: long, stack: long, data: { long: unit.repeat(1000) } })
      assert.ok(bytes(error) <= 65_536, String(bytes(error)))
      assert.ok(error.message.startsWith(unit.repeat(1000)))
      assert.match(error.message, /… \(\d+ characters\)$/)
      assert.ok(bytes(error) > 10_000)
      assert.equal(Err.make('E', 'x', { data: long }).data, undefined)
      const whole = new RegExp(`^(${unit === '\\' ? '\\\\' : unit})+… \\(`)
      if (unit !== '\ud800' && unit !== '\udc00') assert.match(error.message, whole)
    }
  )

  law(
    'a short stored error stays unchanged',
    fc.tuple(fc.string({ maxLength: 80 }), fc.string()),
    ([name, message]) => {
      assert.deepEqual(Err.make(name, message), { name, message })
    }
  )

  law(
    'the size of a stored error is bounded, whatever was thrown',
    fc.anything({ withBigInt: true, withDate: true }),
    (thrown) => {
      assert.ok(bytes(Err.fromUnknown(thrown)) <= 65_536)
    }
  )

  test('a brief error has neither stack nor data, and a short message', () => {
    const brief = Err.brief(Err.make('E', 'x'.repeat(5000), { code: 'C', stack: 's', data: 1 }))
    assert.deepEqual(Object.keys(brief), ['name', 'message', 'code'])
    assert.equal(brief.message.length, 1024)
    assert.deepEqual(Err.brief(Err.make('E', 'x')), { name: 'E', message: 'x' })
  })
})
