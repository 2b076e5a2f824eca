import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { keepHead, keepTail } from '../../../src/adapters/node/output.js'

// Characters of one, two, three and four bytes.
const TEXT = 'aé漢👩'.repeat(3)
const BYTES = Buffer.from(TEXT)

/** Every way to cut the bytes in two. */
const halves = (bytes: Uint8Array): ReadonlyArray<ReadonlyArray<Uint8Array>> =>
  Array.from({ length: bytes.length + 1 }, (_, at) => [bytes.subarray(0, at), bytes.subarray(at)])

describe('limited output', () => {
  for (const [name, keep] of Object.entries({ head: keepHead, tail: keepTail })) {
    test(`within the limit, the ${name} is the whole output, in chunks of any size`, () => {
      for (const chunks of halves(BYTES)) {
        const keeper = keep(BYTES.length)
        chunks.forEach(keeper.add)
        assert.equal(keeper.text(), TEXT)
        assert.equal(keeper.truncatedBytes(), 0)
      }
    })

    test(`over the limit, the ${name} has as many whole characters as fit, and the dropped bytes are counted`, () => {
      for (let limit = 1; limit < BYTES.length; limit++) {
        for (const chunks of halves(BYTES)) {
          const keeper = keep(limit)
          chunks.forEach(keeper.add)
          const text = keeper.text()
          assert.ok(name === 'head' ? TEXT.startsWith(text) : TEXT.endsWith(text), `${limit}: ${text}`)
          const kept = Buffer.byteLength(text)
          assert.ok(kept <= limit && kept > limit - 4, `${kept} of ${limit}`)
          assert.equal(keeper.truncatedBytes(), BYTES.length - kept)
        }
      }
    })

    test(`invalid UTF-8 becomes replacement characters in the ${name}`, () => {
      const keeper = keep(4)
      keeper.add(Uint8Array.of(0x61, 0xff, 0x80, 0x62))
      assert.equal(keeper.text(), 'a\ufffd\ufffdb')
    })

    test(`the ${name} of invalid UTF-8 drops at most three bytes`, () => {
      for (const byte of [0x80, 0xbf, 0xc3, 0xff]) {
        const keeper = keep(16)
        keeper.add(new Uint8Array(100).fill(byte))
        assert.ok(keeper.truncatedBytes() <= 87, `${byte}: ${keeper.truncatedBytes()}`)
      }
    })
  }

  test('an unfinished character at the end of the output is kept as a replacement character', () => {
    const keeper = keepHead(10)
    keeper.add(BYTES.subarray(0, 2))
    assert.equal(keeper.text(), 'a\ufffd')
    assert.equal(keeper.truncatedBytes(), 0)
  })

  test('with a limit of 0, all bytes are counted and none are kept', () => {
    const keeper = keepHead(0)
    keeper.add(BYTES)
    assert.equal(keeper.text(), '')
    assert.equal(keeper.truncatedBytes(), BYTES.length)
  })

  test('keepTail copies each chunk', () => {
    const chunk = Buffer.from('abc')
    const keeper = keepTail(10)
    keeper.add(chunk)
    chunk.fill('x')
    assert.equal(keeper.text(), 'abc')
  })
})
