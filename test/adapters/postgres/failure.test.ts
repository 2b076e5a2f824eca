import assert from 'node:assert/strict'
import { test } from 'vitest'
import { failureOf } from '../../../src/adapters/postgres/Failure.js'
import type { PostgresPool, PostgresStatement } from '../../../src/adapters/postgres/index.js'
import { postgresRequests, postgresStorage } from '../../../src/adapters/postgres/index.js'
import { describeStorage } from '../../../src/executor/errors/portErrors.js'
import { left, OWNER } from '../../../src/testing/conformance/fixtures.js'

test.each(['connect', 'getaddrinfo'])('a statement whose connection failed at %s had no effect', (syscall) => {
  const cause = Object.assign(new Error(syscall), {
    code: syscall === 'connect' ? 'ECONNREFUSED' : 'ENOTFOUND',
    syscall
  })
  assert.equal(failureOf(cause).effect, 'none')
})

test('a statement that could connect to no address of its host had no effect, and may be repeated', () => {
  const errors = ['::1', '127.0.0.1'].map((address) =>
    Object.assign(new Error(address), { code: 'ECONNREFUSED', syscall: 'connect', address })
  )
  const failure = failureOf(Object.assign(new AggregateError(errors), { code: 'ECONNREFUSED' }))
  assert.deepEqual([failure.effect, failure.isTransient], ['none', true])
})

/** The answers of a server whose run is free at each load and held at each claim. */
const ANSWERS: ReadonlyArray<readonly [statement: RegExp, row: object]> = [
  [/to_regclass/, { present: true, synchronous_commit: 'on', fsync: 'on' }],
  [/^WITH tables|^SELECT max\(version\)/, { version: '1', epoch: null }],
  [/^SELECT r\.format/, { format: 1, head: '-1', epoch: '1', token: null, key: null, state: 'free', at: null }]
]

test('a claim that always loses the race against another one fails with the advice to try again', async () => {
  const pool: PostgresPool = {
    query: ({ text }: PostgresStatement) =>
      Promise.resolve({ rows: ANSWERS.flatMap(([statement, row]) => (statement.test(text) ? [row] : [])) }),
    on: () => undefined,
    options: {}
  }
  const storage = postgresStorage(pool, { liveness: 'lease', retryMillis: 0 })
  const refused = await left(storage.claim('a', OWNER), 'WriteFailed')
  assert.match(describeStorage(refused), /55P03: the row of the run changes all the time; try again\. /)
  await storage.close()
})

test('a pause pointer that cannot be removed fails with the name of the statement', async () => {
  const pool: PostgresPool = {
    query: ({ text }: PostgresStatement) =>
      text.startsWith('DELETE')
        ? Promise.reject(Object.assign(new Error('no space'), { code: '53100', severity: 'ERROR' }))
        : Promise.resolve({ rows: ANSWERS.flatMap(([statement, row]) => (statement.test(text) ? [row] : [])) }),
    on: () => undefined,
    options: {}
  }
  const refused = await left(postgresRequests(pool, { retryMillis: 0 }).unpoint('a'), 'WriteFailed')
  assert.equal(refused.operation, 'DELETE pointer')
})
