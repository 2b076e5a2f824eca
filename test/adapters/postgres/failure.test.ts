import assert from 'node:assert/strict'
import { test } from 'vitest'
import { failureOf } from '../../../src/adapters/postgres/Failure.js'

test.each(['connect', 'getaddrinfo'])('a statement whose connection failed at %s had no effect', (syscall) => {
  const cause = Object.assign(new Error(syscall), {
    code: syscall === 'connect' ? 'ECONNREFUSED' : 'ENOTFOUND',
    syscall
  })
  assert.equal(failureOf(cause).effect, 'none')
})
