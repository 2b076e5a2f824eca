/** The nesting of a line is checked before it is parsed. */
import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import * as E from 'fp-ts/lib/Either.js'
import * as fc from 'fast-check'
import { describe, test } from 'vitest'
import { decode, isDeeperThan, MAX_LINE_DEPTH } from '../../../src/adapters/json-file/journal/Line.js'
import { law } from '../../domain/law.js'

const depthOf = (value: unknown): number =>
  typeof value === 'object' && value !== null ? 1 + Math.max(0, ...Object.values(value).map(depthOf)) : 0

/** Strings whose content looks like their end or like a level. */
const confusing = fc.string({
  unit: fc.constantFrom('[', ']', '{', '}', '"', '\\', ',', '\n', 'a', 'é', '😀', '\ud800')
})

const { value: json } = fc.letrec<{ readonly value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 6, withCrossShrink: true },
    confusing,
    fc.constantFrom(null, true, 1.5),
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(confusing, tie('value'), { maxKeys: 3, noNullPrototype: true })
  )
}))

const lineOf = (body: string): Buffer => Buffer.from(`{"sum":"${hash('sha256', body, 'hex').slice(0, 32)}",${body}`)

describe('nesting of strings', () => {
  law(
    'the computed nesting depth of a string is that of its parsed value, however long it is and whatever its strings hold',
    fc.tuple(json, fc.nat(7), fc.constantFrom(0, 1), fc.boolean()),
    ([value, levels, indent, isAscii]) => {
      const plain = JSON.stringify(value, undefined, indent)
      const escaped = (char: string): string => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`
      const text = isAscii ? plain.replace(/[^\x00-\x7f]/g, escaped) : plain
      assert.equal(isDeeperThan(text, levels), depthOf(JSON.parse(text)) > levels)
    }
  )

  test.each(['[', '{"a":', '[{"a":'])(
    'unclosed brackets count as nesting, so one level above the limit is too deep: %s',
    (level) => {
      const levels = MAX_LINE_DEPTH / (level.match(/[[{]/g)?.length ?? 1)
      assert.equal(isDeeperThan(level.repeat(levels), MAX_LINE_DEPTH), false)
      assert.equal(isDeeperThan(level.repeat(levels + 1), MAX_LINE_DEPTH), true)
    }
  )
})

describe('lines', () => {
  const nested = (levels: number): string => `"a":${'['.repeat(levels)}${']'.repeat(levels)}}`

  test('a line may nest to the limit and no deeper', () => {
    assert.ok(E.isRight(decode(lineOf(nested(MAX_LINE_DEPTH - 1)))))
    assert.deepEqual(decode(lineOf(nested(MAX_LINE_DEPTH))), E.left('it nests deeper than 516 levels'))
  })

  test('a line longer than the longest string is refused', () => {
    const line = lineOf('"a":1}')
    const tooLong = (): never => {
      throw Object.assign(new Error('too long'), { code: 'ERR_STRING_TOO_LONG' })
    }
    const toText = line.toString.bind(line)
    line.toString = (encoding, ...range) => (encoding === 'utf8' ? tooLong() : toText(encoding, ...range))
    assert.deepEqual(decode(line), E.left('it is not JSON'))
  })
})
