/** Encoded requests and pointers can be decoded. */
import assert from 'node:assert/strict'
import * as E from 'fp-ts/lib/Either.js'
import { describe, test } from 'vitest'
import * as RequestCodec from '../../src/domain/request/RequestCodec.js'
import { join } from '../../src/domain/workflow/Unit.js'

const requestedAt = '2026-01-02T03:04:05.000Z'

const DEEP = Array.from({ length: 16 }, () => 'x'.repeat(128)).join('/')

describe('a path of any length', () => {
  test.each([
    ['of 16 names', DEEP],
    ['of a long sub-step with escapes', `${DEEP}/${join(undefined, 'ж'.repeat(4_000))}#2`]
  ])('a pause pointer accepts a path %s', (_, unit) => {
    const pointer = { runId: 'r', workflow: 'w', stepIndex: 0, unit, commits: [], pausedAt: requestedAt }
    assert.deepEqual(RequestCodec.decodePointer(RequestCodec.encode(pointer)), E.right(pointer))
    const request = { _tag: 'Answer', runId: 'r', unit, value: 1, by: 'ada', requestedAt } as const
    assert.deepEqual(RequestCodec.decodeRequest(RequestCodec.encode(request)), E.right(request))
  })

  test('the path of a pointer has no control characters', () => {
    const pointer = { runId: 'r', workflow: 'w', stepIndex: 0, unit: 'a\u001b[2J', commits: [], pausedAt: requestedAt }
    assert.ok(E.isLeft(RequestCodec.decodePointer(RequestCodec.encode(pointer))))
  })
})
