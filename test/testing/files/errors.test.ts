/** Each call that the JSON store makes fails, once and from there on, and what is there then is enough to go on. */
import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { failEverywhere, flipEverywhere, stopEverywhere } from './accidents.js'
import { isSweep, opening, SEED, TIMEOUT_MILLIS, withoutTime } from './lives.js'

withoutTime()

// In a normal run every call fails in every tenth one or so; which of them depends on the seed.
const CODES = ['EIO', 'ENOSPC', 'EMFILE', 'SHORT']
const STRIDE = 40

describe('after an error', { timeout: TIMEOUT_MILLIS }, () => {
  for (const [index, code] of CODES.entries()) {
    test(`(${code}) at any call, what was acknowledged last, or was under way, is there exactly, also after a power cut`, async () => {
      const first = (SEED + index * 10) % STRIDE
      const errors = isSweep ? { stride: 1, limit: 4 } : { stride: STRIDE, first, limit: 2 }
      const { states, violation } = await failEverywhere(opening(), { codes: [code], ...errors })
      assert.equal(violation, undefined)
      assert.ok(states > 10, `${states} errors are too few`)
    })
  }

  test('of a sync, a later sync that goes well is no reason to trust what was written before it', async () => {
    const errors = {
      codes: ['EIO', 'ENOSPC'],
      call: 'fdatasync',
      stride: isSweep ? 1 : 4,
      limit: isSweep ? 200 : 8
    } as const
    assert.equal((await failEverywhere(opening(), errors)).violation, undefined)
  })
})

describe('an owner that is stopped at any call, and taken for dead,', { timeout: TIMEOUT_MILLIS }, () => {
  test('is told so, and nothing that was acknowledged to it is lost', async () => {
    const { states, violation } = await stopEverywhere(opening())
    assert.equal(violation, undefined)
    assert.ok(states > 50, `${states} calls are too few`)
  })
})

describe('a bit that is another than was written', { timeout: TIMEOUT_MILLIS }, () => {
  test('is never loaded as what was saved', async () => {
    assert.equal((await flipEverywhere(opening(), isSweep ? 20_000 : 300)).violation, undefined)
  })
})
