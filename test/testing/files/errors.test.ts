/** Each call of the JSON store fails, once and permanently, and a resume from the result works. */
import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { failEverywhere, flipEverywhere, stopEverywhere } from './accidents.js'
import { isSweep, opening, SEED, TIMEOUT_MILLIS, withoutTime } from './lives.js'

withoutTime()

// In a normal run about every tenth call fails; which ones depends on the seed.
const CODES = ['EIO', 'ENOSPC', 'EMFILE', 'SHORT']
const STRIDE = 40

describe('file system errors', { timeout: TIMEOUT_MILLIS }, () => {
  for (const [index, code] of CODES.entries()) {
    test(`after ${code} at any call, a run is exactly its last acknowledged save or the one in flight, even if a power cut follows`, async () => {
      const first = (SEED + index * 10) % STRIDE
      const errors = isSweep ? { stride: 1, limit: 4 } : { stride: STRIDE, first, limit: 2 }
      const { states, violation } = await failEverywhere(opening(), { codes: [code], ...errors })
      assert.equal(violation, undefined)
      assert.ok(states > 10, `${states} errors are too few`)
    })
  }

  test('after a failed sync, a later successful sync does not make earlier writes trusted', async () => {
    const errors = {
      codes: ['EIO', 'ENOSPC'],
      call: 'fdatasync',
      stride: isSweep ? 1 : 4,
      limit: isSweep ? 200 : 8
    } as const
    assert.equal((await failEverywhere(opening(), errors)).violation, undefined)
  })
})

describe('an owner that is suspended and superseded', { timeout: TIMEOUT_MILLIS }, () => {
  test('an owner suspended at any call and superseded is fenced, and no save acknowledged to this owner is lost', async () => {
    const { states, violation } = await stopEverywhere(opening())
    assert.equal(violation, undefined)
    assert.ok(states > 50, `${states} calls are too few`)
  })
})

describe('flipped bits on disk', { timeout: TIMEOUT_MILLIS }, () => {
  test('a flipped bit is never loaded as saved content', async () => {
    assert.equal((await flipEverywhere(opening(), isSweep ? 20_000 : 300)).violation, undefined)
  })
})
